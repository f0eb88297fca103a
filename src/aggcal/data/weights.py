"""Whether weights above 1 look like numbers of answers, which is what a fit takes them for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggcal.data.judgments import Judgments

_MATTERS = 1.1
"""Ratio of variances from which something is said: below, intervals are 5% too narrow at most."""
_BOTH_WAYS = 0.05
"""Share of the questions of weight 2 and more with answers both ways from which weights are taken
for numbers of answers. People who answer again at random would have about a third of them."""


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
    each = np.asarray(weight / count)
    if float(each.max(initial=0.0)) <= 1.0:
        return None
    total = float(weight.sum())
    divisor = float((weight * each).sum()) / total
    whole = bool((each == np.round(each)).all())
    if divisor < _MATTERS or (whole and _answered_both_ways(judgments)):
        return None
    return Heavy(total, divisor)


def _answered_both_ways(judgments: Judgments) -> bool:
    """Whether rows look counted: none equals another, and answers to one question differ."""
    if int(judgments.count.max()) > 1:
        return False
    n, left, right = judgments.n_items, judgments.left, judgments.right
    question = judgments.annotator.astype(np.int64) * n + np.minimum(left, right)
    question = question * n + np.maximum(left, right)
    if judgments.context is not None:
        question = question * (int(judgments.context.max()) + 2) + judgments.context + 1
    _, which = np.unique(question, return_inverse=True)
    times, weights = np.bincount(which), np.bincount(which, judgments.weight)
    repeated = weights > 1.0
    return float((times[repeated] > 1).mean()) > _BOTH_WAYS
