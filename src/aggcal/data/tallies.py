"""What judgments add up to, by item and by annotator: all of it in one sweep over the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, halves, sums
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import each_range, even, in_turn
from aggcal._core.records import dataclass
from aggcal._core.text import brief

if TYPE_CHECKING:
    from aggcal.data.judgments import Judgments

_TIE = 0.5
"""What a tie counts for the left side."""
_OF_ITEM, _OF_ANNOTATOR = 5, 3
"""Sums that the kernel adds up of each."""
_PIECE = 1 << 22
"""Rows at a time: as many as `sums` takes, so that either adds numbers up in the same order."""


@dataclass(frozen=True, eq=False)
class Tallies:
    """Sums over all judgments."""

    wins: FloatArray
    """What each item won, by weight; a tie is half of it."""
    losses: FloatArray
    """What each item lost."""
    judged: IntArray
    """How many judgments each item is part of."""
    given: IntArray
    """How many judgments each annotator gave."""
    decided: IntArray
    """How many of them are no ties."""
    lefts: IntArray
    """How many are for the left side."""

    __repr__ = brief

    @property
    def n_ties(self) -> int:
        """How many judgments are ties."""
        return int(self.given.sum() - self.decided.sum())

    @classmethod
    def of(cls, judgments: Judgments) -> Tallies:
        """Add up what each item won and lost, and what each annotator said.

        Examples
        --------
        >>> import aggcal
        >>> both = aggcal.read_judgments([("ann", "a", "b", "left"), ("ann", "a", "c", "tie")])
        >>> found = Tallies.of(both)
        >>> found.wins, found.losses, found.judged
        (array([1.5, 0. , 0.5]), array([0.5, 1. , 0.5]), array([2, 1, 1]))
        >>> found.given, found.decided, found.lefts
        (array([2]), array([1]), array([1]))
        """
        codes = judgments.annotator, judgments.left, judgments.right
        if judgments.decided_for_left:
            wins, losses = (sums(side, judgments.weight, judgments.n_items) for side in codes[1:])
            given = _by_annotator(judgments, judgments.count)
            return cls(wins, losses, _judged(judgments, wins, losses), given, given, given)
        found = _swept(judgments) if all(map(readable, codes)) else None
        if found is None:
            return cls._of_columns(judgments)
        (on_left, lost, on_right, behind, both), own = found
        return cls(on_left + on_right, lost + behind, both.astype(np.int64), *own)

    @classmethod
    def of_wins(cls, wins: FloatArray, losses: FloatArray, given: FloatArray) -> Tallies:
        """Return what judgments that weigh 1 each and are for the left side add up to.

        Examples
        --------
        >>> Tallies.of_wins(np.array([2.0, 0.0]), np.array([0.0, 2.0]), np.array([2.0])).judged
        array([2, 2])
        """
        whole = given.astype(np.int64)
        return cls(wins, losses, np.rint(wins + losses).astype(np.int64), whole, whole, whole)

    @classmethod
    def _of_columns(cls, judgments: Judgments) -> Tallies:
        """Do with NumPy what the kernel does."""
        n, left, right = judgments.n_items, judgments.left, judgments.right
        outcome, count = judgments.outcome, judgments.count
        ahead, back = halves(judgments.weight, outcome)
        wins = sums(left, ahead, n) + sums(right, back, n)
        losses = sums(left, back, n) + sums(right, ahead, n)
        decided, lefts = (
            _by_annotator(judgments, np.where(some, count, 0))
            for some in (outcome != _TIE, outcome > _TIE)
        )
        given = _by_annotator(judgments, count)
        return cls(wins, losses, _judged(judgments, wins, losses), given, decided, lefts)


def _judged(judgments: Judgments, wins: FloatArray, losses: FloatArray) -> IntArray:
    n, weight, count = judgments.n_items, judgments.weight, judgments.count
    once = len(count) > 0 and weight.strides == count.strides == (0,)
    if once and weight[0] == count[0] == 1:
        return np.rint(wins + losses).astype(np.int64)
    both = sums(judgments.left, count, n) + sums(judgments.right, count, n)
    return both.astype(np.int64)


def _by_annotator(judgments: Judgments, count: IntArray) -> IntArray:
    return sums(judgments.annotator, count, judgments.n_annotators).astype(np.int64)


def readable(column: CodeArray) -> bool:
    """Whether kernels can read a column of codes as it is.

    Examples
    --------
    >>> readable(np.array([0, 1], dtype=np.int32)), readable(np.array([0, 1]))
    (True, False)
    """
    return column.dtype == np.int32 and column.flags.c_contiguous


def _swept(judgments: Judgments) -> tuple[FloatArray, IntArray] | None:
    """Let the kernel sweep over the rows: a row for each sum by item, and by annotator.

    None where there is no kernel, or where rows are not sorted by annotator.
    """
    kernels = library()
    if kernels is None:
        return None
    codes, n = (judgments.annotator, judgments.left, judgments.right), len(judgments.left)
    outcome = np.ascontiguousarray(judgments.outcome, dtype=np.float64)
    weight, heavy = _column(judgments.weight, np.float64)
    count, often = _column(judgments.count, np.int64)

    def work(begin: int) -> tuple[int, FloatArray, int, IntArray]:
        some, found = slice(begin, min(begin + _PIECE, n)), np.zeros((judgments.n_items, _OF_ITEM))
        first, last = (int(judgments.annotator[k]) for k in (begin, some.stop - 1))
        own = np.zeros((max(last - first + 1, 0), _OF_ANNOTATOR), dtype=np.int64)
        given = [None if column is None else column[some] for column in (weight, count)]
        columns = at(*(code[some] for code in codes), outcome[some])
        at_weight, at_count = at(*given)
        done = kernels.aggcal_tallies(
            some.stop - begin, *columns, at_weight, float(heavy), at_count, int(often), len(own),
            *at(found, own),
        )  # fmt: skip
        return done, found, first, own

    by_item = np.zeros((judgments.n_items, _OF_ITEM))
    by_annotator = np.zeros((judgments.n_annotators, _OF_ANNOTATOR), dtype=np.int64)
    # In this order, whoever is first.
    for done, part, first, own in in_turn(work, range(0, n, _PIECE)):
        if not done:
            return None
        by_item += part
        by_annotator[first : first + len(own)] += own
    return np.ascontiguousarray(by_item.T), np.ascontiguousarray(by_annotator.T)


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
