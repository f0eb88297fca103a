"""The judgments seen pair by pair: who said what about which two items, however they were shown."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, sums
from aggcal.data.judgments import Judgments

TIE = 0.5  # outcome between right (0) and left (1)


@dataclass(frozen=True, eq=False)
class Answers:
    """Judgments with the two items of each pair in a fixed order.

    ``first`` and ``second`` are the items of each distinct pair, ``first`` the one with the
    smaller code; ``pair`` is the pair of each row of the judgments and ``up`` its outcome, 1
    where the first item was put above.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b", "left"), ("bob", "b", "a", "left"), ("bob", "a", "c", "tie")]
    >>> answers = Answers.of(aggcal.read_judgments(rows))
    >>> answers.pair, answers.up
    (array([0, 1, 0]), array([1. , 0.5, 0. ]))
    """

    judgments: Judgments
    first: IntArray
    second: IntArray
    pair: IntArray
    up: FloatArray

    @classmethod
    def of(cls, judgments: Judgments) -> Answers:
        """Sort the two items of every row."""
        low = np.minimum(judgments.left, judgments.right)
        high = np.maximum(judgments.left, judgments.right)
        key = low.astype(np.int64) * judgments.n_items + high
        codes, pair = np.unique(key, return_inverse=True)
        first, second = np.divmod(codes, judgments.n_items)
        up = np.where(judgments.left < judgments.right, judgments.outcome, 1 - judgments.outcome)
        return cls(judgments, first, second, pair.ravel(), up)

    @property
    def n_pairs(self) -> int:
        """Distinct pairs that were judged."""
        return len(self.first)

    @property
    def first_is_left(self) -> BoolArray:
        """Of each row, whether the first item of the pair was shown on the left."""
        return self.judgments.left < self.judgments.right

    @cached_property
    def grouped(self) -> Grouped:
        """What each annotator said of each pair, all their answers to it taken together."""
        judgments = self.judgments
        key = judgments.annotator.astype(np.int64) * self.n_pairs + self.pair
        codes, group = np.unique(key, return_inverse=True)
        group = group.ravel()
        number = sums(group, judgments.count, len(codes))
        ups = sums(group, judgments.count * self.up, len(codes))
        return Grouped(*np.divmod(codes, self.n_pairs), number, ups / number, group)

    @cached_property
    def asked(self) -> Grouped:
        """The same by question: where contexts are known, a pair in two of them is two questions.

        Examples
        --------
        >>> import aggcal
        >>> names = ("annotator", "winner", "loser", "prompt")
        >>> rows = [dict(zip(names, row, strict=True)) for row in ("uab1", "uba2", "uba2")]
        >>> Answers.of(aggcal.read_judgments(rows, context="prompt")).asked.number
        array([1., 2.])
        """
        judgments = self.judgments
        if judgments.context is None:
            return self.grouped
        contexts = int(judgments.context.max(initial=-1)) + 2
        key = self.grouped.of_row * contexts + judgments.context + 1
        codes, group = np.unique(key, return_inverse=True)
        entry = codes // contexts
        number = sums(group.ravel(), judgments.count, len(codes))
        ups = sums(group.ravel(), judgments.count * self.up, len(codes))
        owner, pair = self.grouped.annotator[entry], self.grouped.pair[entry]
        return Grouped(owner, pair, number, ups / number, group.ravel())

    @cached_property
    def question(self) -> IntArray:
        """The number of the question of each entry of `asked`: its pair, or pair and context."""
        context = self.judgments.context
        if context is None:
            return self.grouped.pair
        contexts = int(context.max(initial=-1)) + 2
        by_row = self.pair.astype(np.int64) * contexts + context + 1
        first = np.unique(self.asked.of_row, return_index=True)[1]
        return np.asarray(np.unique(by_row[first], return_inverse=True)[1].ravel())

    @cached_property
    def decided(self) -> tuple[IntArray, IntArray]:
        """Decided answers of each entry of `asked`, for the first item and for the second.

        Examples
        --------
        >>> import aggcal
        >>> rows = [("ann", "a", "b"), ("ann", "a", "b"), ("ann", "b", "a"), ("bob", "a", "b")]
        >>> Answers.of(aggcal.read_judgments(rows)).decided
        (array([2, 1]), array([1, 0]))
        """
        number, size = self.judgments.count, len(self.asked.pair)
        ups = sums(self.asked.of_row, np.where(self.up > TIE, number, 0), size)
        downs = sums(self.asked.of_row, np.where(self.up < TIE, number, 0), size)
        return ups.astype(np.int64), downs.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Grouped:
    """One entry for each annotator and pair: how many answers, and their mean ``up``.

    ``of_row`` is the entry that each row of the judgments belongs to.
    """

    annotator: IntArray
    pair: IntArray
    number: FloatArray
    up: FloatArray
    of_row: IntArray
