"""Whether weights above 1 look like numbers of answers, which is what a fit takes them for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal.data.judgments import Judgments

_MATTERS = 1.1
"""Ratio of variances from which something is said: below, intervals are 5% too narrow at most."""
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
        weight, count = judgments.weight, judgments.count
        if count.strides == weight.strides == (0,):
            weight, count = weight[:1], count[:1]
        whole = bool((count <= 1).all() and (weight == np.round(weight)).all())
        if not whole or weight.max(initial=0.0) <= 1.0:
            return cls(whole, 0, 0)
        starts, up, heavy = _questions(judgments)
        low, high = np.minimum.reduceat(up, starts), np.maximum.reduceat(up, starts)
        repeated = np.add.reduceat(heavy, starts) > 1.0
        return cls(whole, int(repeated.sum()), int((low < high)[repeated].sum()))

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

    each = weight / count
    if each.max() <= 1.0:  # as in most studies
        return None
    total = float(weight.sum())
    divisor = float(weight @ each) / total
    if divisor < _MATTERS or Tally.of(judgments).counts:
        return None
    return Heavy(total, divisor)


def _questions(judgments: Judgments) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return where each question to an annotator begins, by question, and answers and weights.

    How far an answer is for one item is told. The same pair on other sides is another question
    where sides are known.
    """
    n, left, right = judgments.n_items, judgments.left, judgments.right
    outcome, weight = judgments.outcome, judgments.weight
    if not judgments.sided:
        outcome = np.where(left < right, outcome, 1.0 - outcome)
        left, right = np.minimum(left, right), np.maximum(left, right)
    question = (judgments.annotator.astype(np.int64) * n + left) * n + right
    if judgments.context is not None:
        question = question * (int(judgments.context.max()) + 2) + judgments.context + 1
    new = question[1:] != question[:-1]
    if not (question[1:] >= question[:-1]).all():
        order = np.argsort(question, kind="stable")
        question, outcome, weight = question[order], outcome[order], weight[order]
        new = question[1:] != question[:-1]
    return np.concatenate([[0], np.flatnonzero(new) + 1]), outcome, weight
