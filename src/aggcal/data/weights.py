"""Whether weights above 1 look like numbers of answers, which is what a fit takes them for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.kernels.threads import between_annotators, each_range, even
from aggcal.data.judgments import Judgments

_MATTERS = 1.1
"""Ratio of variances from which something is said: below, intervals are 5% too narrow at most."""
_PIECE = 1 << 16
"""Rows that are looked at together: they stay in the cache."""
_BOTH_WAYS = 0.05
"""Share of the questions of weight 2 and more with answers both ways from which weights are taken
for numbers of answers. People who answer again at random would have about a third of them."""


def answers(judgments: Judgments) -> FloatArray:
    """Return how many independent answers each row stands for: its rows, or its weight if less.

    A weight above 1 makes an answer more important, not more numerous; pairs of one ranking weigh
    less than 1 each, and together count as much as the ranking.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b", "left", 0.5), ("bob", "a", "b", "left", 3)]
    >>> answers(aggcal.read_judgments(rows))
    array([0.5, 1. ])
    """
    return np.minimum(judgments.count, judgments.weight).astype(np.float64)


class Tally(NamedTuple):
    """What tells numbers of answers from other weights; of several annotators, added up."""

    whole: bool
    """Whether every weight is a whole number, and no row equals another."""
    repeated: int
    """Questions to one annotator that weigh more than 1."""
    both_ways: int
    """Those of them with different answers."""

    @classmethod
    def of(cls, judgments: Judgments) -> Tally:
        """Look at judgments.

        Examples
        --------
        >>> import aggcal
        >>> rows = [("ann", "a", "b", "left", 3), ("ann", "a", "b", "right", 1)]
        >>> Tally.of(aggcal.read_judgments(rows))
        Tally(whole=True, repeated=1, both_ways=1)
        """
        whole, heaviest = _sizes(judgments)
        if not whole or heaviest <= 1.0:
            return cls(whole, 0, 0)

        def between(begin: int, end: int) -> Tally:
            starts, up, heavy = _questions(judgments, slice(begin, end))
            low, high = np.minimum.reduceat(up, starts), np.maximum.reduceat(up, starts)
            repeated = np.add.reduceat(heavy, starts) > 1.0
            return cls(whole, int(repeated.sum()), int((low < high)[repeated].sum()))

        first, *others = each_range(between, between_annotators(judgments.annotator))
        return sum(others, first)

    def __add__(self, other: Tally) -> Tally:  # type: ignore[override]
        return Tally(
            self.whole and other.whole,
            self.repeated + other.repeated,
            self.both_ways + other.both_ways,
        )

    @property
    def counts(self) -> bool:
        """Whether weights look like numbers of answers."""
        return self.whole and self.both_ways > _BOTH_WAYS * self.repeated


class Heavy(NamedTuple):
    """Weights that are larger than the numbers of answers that they seem to stand for."""

    counted: float
    """What all rows weigh together: as many answers they count as."""
    divisor: float
    """What weights are to be divided by so that rows count as much as their answers tell.

    Weights w make the variance of a sum of answers Σw² times that of one, where a fit expects Σw.
    """


def heavy(judgments: Judgments) -> Heavy | None:
    """Return what is to be said of weights; None where they may well be numbers of answers.

    Weights of rankings are their reader's, and fit their pairs.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b", "left", 3), ("bob", "a", "c", "right", 1)]
    >>> heavy(aggcal.read_judgments(rows))
    Heavy(counted=4.0, divisor=2.5)
    """
    weight, count = judgments.weight, judgments.count
    if judgments.screen is not None or (weight.strides == (0,) and count.strides == (0,)):
        return None

    def top(begin: int, end: int) -> float:
        pieces = (slice(k, min(k + _PIECE, end)) for k in range(begin, end, _PIECE))
        return max((float((weight[some] / count[some]).max()) for some in pieces), default=0.0)

    def summed(begin: int, end: int) -> tuple[float, float]:
        each = weight[begin:end] / count[begin:end]
        return float(weight[begin:end].sum()), float((weight[begin:end] * each).sum())

    ranges = even(len(weight))
    if max(each_range(top, ranges)) <= 1.0:  # as in most studies
        return None
    totals, squares = zip(*each_range(summed, ranges), strict=True)
    total = sum(totals)
    divisor = sum(squares) / total
    if divisor < _MATTERS or Tally.of(judgments).counts:
        return None
    return Heavy(total, divisor)


def _sizes(judgments: Judgments) -> tuple[bool, float]:
    """Return whether weights are whole numbers and no row equals another; and the largest weight.

    The latter only where they are.
    """
    weight, count = judgments.weight, judgments.count
    if count.strides == weight.strides == (0,):
        weight, count = weight[:1], count[:1]

    def some(begin: int, end: int) -> tuple[bool, float]:
        if np.max(count[begin:end], initial=1) > 1:
            return False, 0.0
        here = weight[begin:end]
        return bool((here == np.round(here)).all()), float(here.max(initial=0.0))

    whole, heaviest = zip(*each_range(some, even(len(weight))), strict=True)
    return all(whole), max(heaviest)


def _questions(judgments: Judgments, rows: slice) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return where each question to an annotator begins, by question, and answers and weights.

    How far an answer is for one item is told. The same pair on other sides is another question
    where sides are known.
    """
    n, left, right = judgments.n_items, judgments.left[rows], judgments.right[rows]
    outcome, weight = np.asarray(judgments.outcome[rows]), np.asarray(judgments.weight[rows])
    if not judgments.sided:
        outcome = np.where(left < right, outcome, 1.0 - outcome)
        left, right = np.minimum(left, right), np.maximum(left, right)
    question = (judgments.annotator[rows].astype(np.int64) * n + left) * n + right
    if judgments.context is not None:
        question = question * (int(judgments.context.max()) + 2) + judgments.context[rows] + 1
    new = question[1:] != question[:-1]
    if not (question[1:] >= question[:-1]).all():
        order = np.argsort(question, kind="stable")
        question, outcome, weight = question[order], outcome[order], weight[order]
        new = question[1:] != question[:-1]
    return np.concatenate([[0], np.flatnonzero(new) + 1]), outcome, weight
