"""Work in threads, in the order in which it was given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event, current_thread
from time import sleep

import pytest

from aggcal._core.kernels import threads
from aggcal._core.kernels.threads import beside, each_range, in_turn


@pytest.mark.parametrize("most", [1, 2, None])
def test_no_more_is_taken_than_may_be_done_at_a_time(most: int | None) -> None:
    taken: list[int] = []
    done: list[int] = []

    def given() -> Iterator[int]:
        for k in range(1, 50):
            taken.append(k)
            yield k

    for result in in_turn(lambda k: 10 * k, given(), most=most):
        done.append(result)
        if most is not None:
            assert len(taken) <= len(done) + most
    assert done == [10 * k for k in range(1, 50)]


def test_work_beside_the_main_one_is_begun_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "cores", lambda: 2)
    begun, seen = Event(), []

    def work() -> str:
        begun.set()
        return current_thread().name

    result = beside(work)
    assert begun.wait(60.0)
    seen.append(result())
    assert seen != [current_thread().name]


def test_errors_beside_the_main_work_are_raised_where_it_is_asked_for() -> None:
    def fail() -> None:
        raise ValueError("not today")

    result = beside(fail)
    with pytest.raises(ValueError, match="not today"):
        result()


def test_work_beside_the_main_one_uses_threads_and_does_not_wait_for_its_like(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """More of it than there are threads, and all of it with ranges; inside of it, all in turn."""
    monkeypatch.setattr(threads, "cores", lambda: 2)

    def work() -> list[list[int]]:
        inner = [beside(lambda: each_range(lambda begin, end: end - begin, [0, 3, 4]))]
        return [each_range(lambda begin, end: begin + end, [0, 1, 2, 3]), *(one() for one in inner)]

    every = [beside(work) for _ in range(20)]
    assert [each() for each in every] == 20 * [[[1, 3, 5], [3, 1]]]


def test_with_one_core_it_is_done_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "cores", lambda: 1)
    done = []
    result = beside(lambda: done.append(1))
    assert not done
    result()
    assert done == [1]


@pytest.mark.parametrize(
    "asked", [lambda work: each_range(work, [0, 1, 2]), lambda work: list(in_turn(work, [0, 1]))]
)
def test_an_interrupt_waits_for_what_is_being_done(asked: Callable[..., object]) -> None:
    """It works on arrays that are let go with the fault."""
    working, done = Event(), []

    def work(begin: int, _: int = 0) -> None:
        if begin == 0:
            working.wait(5.0)
            raise KeyboardInterrupt
        working.set()
        sleep(0.3)
        done.append(begin)

    with pytest.raises(KeyboardInterrupt):
        asked(work)
    assert done == [1]
