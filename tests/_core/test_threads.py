"""Work in threads, in the order in which it was given."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aggcal._core.kernels.threads import in_turn


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
