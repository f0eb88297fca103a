"""What judgments add up to, item by item: all of it in one sweep over the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, halves, sums
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import each_range, even, in_turn

if TYPE_CHECKING:
    from aggcal.data.judgments import Judgments

_TIE = 0.5
"""What a tie counts for the left side."""
_LANES = 5
"""Sums of an item that the kernel adds up."""
_PIECE = 1 << 22
"""Rows at a time: as many as `sums` takes, so that either adds numbers up in the same order."""


class Tallies(NamedTuple):
    """Sums over all judgments."""

    wins: FloatArray
    """What each item won, by weight; a tie is half of it."""
    losses: FloatArray
    """What each item lost."""
    judged: IntArray
    """How many judgments each item is part of."""
    n_ties: int
    """How many judgments are ties."""

    @classmethod
    def of(cls, judgments: Judgments) -> Tallies:
        """Add up what each item won and lost.

        Examples
        --------
        >>> import aggcal
        >>> both = aggcal.read_judgments([("ann", "a", "b", "left"), ("bob", "a", "b", "tie")])
        >>> Tallies.of(both)
        Tallies(wins=array([1.5, 0.5]), losses=array([0.5, 1.5]), judged=array([2, 2]), n_ties=1)
        """
        n, left, right = judgments.n_items, judgments.left, judgments.right
        weight, count, outcome = judgments.weight, judgments.count, judgments.outcome
        if judgments.decided_for_left:
            wins, losses = sums(left, weight, n), sums(right, weight, n)
            judged, ties = _judged(judgments, wins, losses), 0
        elif library() is not None and _readable(left) and _readable(right):
            (on_left, lost, on_right, behind, both), ties = _swept(judgments)
            wins, losses, judged = on_left + on_right, lost + behind, both.astype(np.int64)
        else:
            ahead, back = halves(weight, outcome)
            wins = sums(left, ahead, n) + sums(right, back, n)
            losses = sums(left, back, n) + sums(right, ahead, n)
            judged = _judged(judgments, wins, losses)
            ties = int(count[outcome == _TIE].sum())
        return cls(wins, losses, judged, ties)


def _judged(judgments: Judgments, wins: FloatArray, losses: FloatArray) -> IntArray:
    n, weight, count = judgments.n_items, judgments.weight, judgments.count
    if weight.strides == (0,) and count.strides == (0,) and weight[0] == count[0] == 1:
        return np.rint(wins + losses).astype(np.int64)
    both = sums(judgments.left, count, n) + sums(judgments.right, count, n)
    return both.astype(np.int64)


def _readable(column: CodeArray) -> bool:
    return column.dtype == np.int32 and column.flags.c_contiguous


def _swept(judgments: Judgments) -> tuple[FloatArray, int]:
    """Let the kernel sweep over the rows: a row for each of its sums, and the number of ties."""
    kernels = library()
    if kernels is None:
        raise RuntimeError("the compiled kernels are not there")
    codes, n = (judgments.left, judgments.right), len(judgments.left)
    outcome = np.ascontiguousarray(judgments.outcome, dtype=np.float64)
    weight, heavy = _column(judgments.weight, np.float64)
    count, often = _column(judgments.count, np.int64)

    def work(begin: int) -> tuple[FloatArray, int]:
        some, found = slice(begin, min(begin + _PIECE, n)), np.zeros((judgments.n_items, _LANES))
        given = [None if column is None else column[some] for column in (weight, count)]
        columns = at(*(code[some] for code in codes), outcome[some])
        at_weight, at_count = at(*given)
        ties = kernels.aggcal_tallies(
            some.stop - begin, *columns, at_weight, float(heavy), at_count, int(often), *at(found)
        )
        return found, ties

    total, ties = np.zeros((judgments.n_items, _LANES)), 0
    for part, tied in in_turn(work, range(0, n, _PIECE)):  # in this order, whoever is first
        total += part
        ties += tied
    return np.ascontiguousarray(total.T), ties


def _column(values: np.ndarray, kind: type) -> tuple[np.ndarray | None, float]:
    """Return a column as the kernel reads it; None, and the one value, where all are the same."""
    if values.strides == (0,):
        return None, values[0] if len(values) else 0
    return np.ascontiguousarray(values, dtype=kind), 0


def total(count: IntArray) -> int:
    """Add up whole numbers, in threads.

    Examples
    --------
    >>> total(np.array([1, 2])), total(np.broadcast_to(np.int64(2), (3,)))
    (3, 6)
    """
    if count.strides == (0,) and len(count):
        return len(count) * int(count[0])
    return sum(each_range(lambda begin, end: int(count[begin:end].sum()), even(len(count))))
