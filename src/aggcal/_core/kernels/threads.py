"""Threads for the kernels: ranges of annotators, each summed on its own."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from threading import current_thread
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from aggcal._core.machine import OURS, cores
from aggcal._core.progress import report_part

_ROWS_PER_RANGE = 20_000  # fewer spread over more cores, and start more threads
_MOST_RANGES = 16  # more use more cores, and more memory for their sums
_ROWS_OF_MANY, _MANY_RANGES = 1_000_000, 64  # more even out what each takes, where all take long
_TAPER = 1.5
"""How much larger the first of many ranges is than the mean: the last ones are small, and threads
end at about the same time."""
_WORKER = f"{OURS}-worker"

Given = TypeVar("Given")
Result = TypeVar("Result")


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores(), thread_name_prefix=_WORKER)


# Threads do not survive a fork: a child makes its own.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)


def _is_worker() -> bool:
    """Whether this is a thread that works on ranges: it must not wait for its like."""
    return current_thread().name.startswith(_WORKER)


def beside(work: Callable[[], Result]) -> Callable[[], Result]:
    """Begin a piece of work in a thread beside this one; return what waits for its result.

    With one core, or in a thread of ours, it is done when it is asked for. The work must not
    import anything.

    Examples
    --------
    >>> begun = beside(lambda: 6 * 7)
    >>> begun()
    42
    """
    if cores() == 1 or current_thread().name.startswith(OURS):
        return work
    return begun(work)


def balanced(
    starts: npt.NDArray[np.int64], fewest: int = _ROWS_PER_RANGE, most: int = _MOST_RANGES
) -> list[int]:
    """Cut the annotators into ranges of about as many rows, ``fewest`` or more; ``most`` at most.

    Where there are many ranges, the first are the largest. The cut depends on the data alone, not
    on the number of cores, and ranges are added up in their order: the same data give the same bits
    on any number of threads.

    Examples
    --------
    >>> balanced(np.array([0, 15_000, 30_000, 45_000]))
    [0, 2, 3]
    """
    rows = int(starts[-1])
    ranges = max(1, min(rows // fewest, most))
    if ranges == 1:  # small studies ask often
        return sorted({0, len(starts) - 1})
    shares = np.linspace(0.0, 1.0, ranges + 1)
    if ranges > _MOST_RANGES:
        shares = 1.0 - (1.0 - shares) ** _TAPER
    cuts = np.searchsorted(starts, rows * shares)
    cuts[0], cuts[-1] = 0, len(starts) - 1
    return [int(cut) for cut in np.unique(cuts)]


def even(rows: int, fewest: int | None = None) -> list[int]:
    """Cut rows that need not stay together into ranges of about as many, ``fewest`` or more.

    Examples
    --------
    >>> even(40_000)
    [0, 20000, 40000]
    """
    most = min(max(rows // _ROWS_OF_MANY, _MOST_RANGES), _MANY_RANGES)
    ranges = min(max(rows // (fewest or _ROWS_PER_RANGE), 1), most)
    return [rows * k // ranges for k in range(ranges + 1)]


def each_range(work: Callable[[int, int], Result], ranges: list[int]) -> list[Result]:
    """Call ``work`` with the ends of each range, in threads; return what it returned, in order.

    Examples
    --------
    >>> each_range(lambda begin, end: end - begin, [0, 2, 3])
    [2, 1]
    """
    number = len(ranges) - 1
    # For one range no thread is worth waking.
    if number == 1 or _is_worker():
        return list(map(work, ranges[:-1], ranges[1:]))
    pool, left, found = _threads(), deque(range(number)), dict[int, Result]()

    def take() -> None:
        """Work on what nobody has taken yet: a thread is woken once, however many ranges."""
        while True:
            try:
                k = left.popleft()
            except IndexError:
                return
            found[k] = work(ranges[k], ranges[k + 1])
            report_part(len(found), number)

    others = [pool.submit(take) for _ in range(min(number, cores()) - 1)]
    try:
        take()
        for other in others:
            if not other.cancel():
                other.result()
    finally:
        left.clear()
        _ended(others)
    return [found[k] for k in range(number)]


def in_turn(
    work: Callable[[Given], Result], given: Iterable[Given], *, most: int | None = None
) -> Iterator[Result]:
    """Yield what ``work`` returns for each of what is given, in order, some of it done ahead.

    Little more is taken from ``given`` than there are threads to work on it, so that large things
    may be made one after the other; ``most`` of them at a time, if that is fewer.

    Examples
    --------
    >>> list(in_turn(lambda k: k * k, range(4)))
    [0, 1, 4, 9]
    """
    if _is_worker():
        yield from map(work, given)
        return
    pool, waiting = _threads(), deque[Future[Result]]()
    ahead = pool._max_workers  # noqa: SLF001  # it has no other name
    ahead = ahead if most is None else min(ahead, most)
    try:
        for each in given:
            waiting.append(pool.submit(work, each))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        _ended(waiting)


def _ended(futures: Iterable[Future[Result]]) -> None:
    """Give up what has not begun, and wait for the rest: it works on arrays that go with a fault.

    An interrupt would otherwise free them under a kernel.
    """
    wait([future for future in futures if not future.cancel()])


def begun(work: Callable[[], Result]) -> Callable[[], Result]:
    """Begin work in a thread of its own; return what waits for its result.

    The threads of the kernels stay free meanwhile: what takes long would keep others waiting.

    Examples
    --------
    >>> begun(lambda: 6 * 7)()
    42
    """
    own = ThreadPoolExecutor(1, thread_name_prefix=OURS)
    future = own.submit(work)
    own.shutdown(wait=False)
    return future.result
