"""What judgments add up to, by item and by annotator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, sums
from aggcal._core.text import brief

if TYPE_CHECKING:
    from aggcal.data.judgments import Judgments

_TIE = 0.5
"""What a tie counts for the left side."""


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
        n, left, right = judgments.n_items, judgments.left, judgments.right
        outcome, count = judgments.outcome, judgments.count

        def by_annotator(number: IntArray) -> IntArray:
            return sums(judgments.annotator, number, judgments.n_annotators).astype(np.int64)

        judged = (sums(left, count, n) + sums(right, count, n)).astype(np.int64)
        ahead, back = judgments.weight * outcome, judgments.weight * (1.0 - outcome)
        wins = sums(left, ahead, n) + sums(right, back, n)
        losses = sums(left, back, n) + sums(right, ahead, n)
        some = (np.where(each, count, 0) for each in (outcome != _TIE, outcome > _TIE))
        return cls(wins, losses, judged, by_annotator(count), *map(by_annotator, some))
