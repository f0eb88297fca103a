"""With which probability each item is among the first k: by the draws that give rank intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from aggcal._core.arrays import FloatArray

if TYPE_CHECKING:
    from aggcal.aggregation.uncertainty.summary import Uncertainty

NEARLY = 0.999
"""The highest probability that is stated, and 1 less it the lowest: a thousand draws that all say
the same do not make anything certain."""

_CROWDED = 0.01
"""Share of the places that items never drawn may have together: with more, the chances of
thousands of them would add up to more than there are places."""
_REACH, _HALVINGS = 4.0, 80
"""Standard errors beyond all scores where the k-th is looked for, and halvings of that interval:
all the digits there are."""


def stated(share: FloatArray, least: float = 1.0 - NEARLY) -> FloatArray:
    """Return shares of draws as probabilities: none is certain, or impossible.

    Examples
    --------
    >>> stated(np.array([0.0, 0.5, 1.0]))
    array([0.001, 0.5  , 0.999])
    """
    return np.clip(share, least, NEARLY)


def top_chances(known: Uncertainty, k: int) -> FloatArray | None:
    """Return with which probability each item is among the first k.

    None where there are several components, whose items nothing orders.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("bob", "a", "b"), ("ann", "b", "c"), ("bob", "a", "c")]
    >>> top_chances(aggcal.aggregate(rows, warn=False).uncertainty, 2).round(1)
    array([0.9, 0.7, 0.4])
    """
    if known.component is not None:
        return None
    least = min(1.0 - NEARLY, _CROWDED * k / len(known.scores))
    found = known.top_probabilities(np.array([k]))
    if found is not None:
        return stated(found[:, 0], least)
    return stated(_among_many(known.scores, known.order_se, k), least)


def _among_many(scores: FloatArray, se: FloatArray, k: int) -> FloatArray:
    """Return the probabilities of many items, the score of the k-th taken as known.

    Among so many it hardly varies; it is where the probabilities add up to k.

    Examples
    --------
    >>> _among_many(np.array([9.0, 0.0, 0.0]), np.ones(3), 1).round(2)
    array([1., 0., 0.])
    """
    low, high = float(np.min(scores - _REACH * se)), float(np.max(scores + _REACH * se))
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        above = float(ndtr((scores - middle) / se).sum())
        low, high = (middle, high) if above > k else (low, middle)
    return np.asarray(ndtr((scores - low) / se))
