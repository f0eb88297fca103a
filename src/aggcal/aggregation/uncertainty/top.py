"""The first k items: how probable each of them is, and the best set of k.

Both come from the draws of all scores that the rank intervals come from.
"""

from __future__ import annotations

from collections import Counter
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.compiled_scipy import ndtr
from aggcal._core.records import dataclass
from aggcal._core.text import brief

if TYPE_CHECKING:
    from aggcal.aggregation.uncertainty.summary import Uncertainty

NEARLY = 0.999
"""The highest probability that is stated, and 1 less it the lowest: a thousand draws that all say
the same do not make anything certain."""

_CROWDED = 0.01
"""Share of the places that items never drawn may have together: with more, the chances of
thousands of them would add up to more than there are places."""
_CLEARLY = 3.0
"""Standard errors by which the set that was drawn most often must beat that of the likeliest items:
a smaller number takes for the best what was drawn twice by chance."""
_REACH, _HALVINGS = 4.0, 80
"""Standard errors beyond all scores where the k-th is looked for, and halvings of that interval:
all the digits there are."""


@dataclass(frozen=True, eq=False)
class BestSet:
    """The set of items that is most probably the first k, as positions, the likeliest first.

    ``right`` is the expected number of its items that are among the first k.
    """

    items: IntArray
    probability: float
    right: float

    __repr__ = brief


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


def best_set(known: Uncertainty, k: int) -> BestSet | None:
    """Return the set that is most probably the first k; None where that is not known.

    It is that of the k likeliest items, unless another was clearly drawn more often: items of which
    little is known may be likely one by one and still replace each other.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("bob", "a", "b"), ("ann", "b", "c"), ("bob", "a", "c")]
    >>> found = best_set(aggcal.aggregate(rows * 9, warn=False).uncertainty, 1)
    >>> found.items, round(found.probability, 1)
    (array([0]), 1.0)
    """
    chances, drawn = top_chances(known, k), known.draws()
    if chances is None or drawn is None:
        return None
    likeliest = np.lexsort((-known.scores, -chances))
    first = np.argpartition(-drawn, min(k, drawn.shape[1]) - 1, axis=1)[:, :k]
    times = Counter(np.sort(row).tobytes() for row in first)
    best = np.sort(likeliest[:k]).astype(first.dtype).tobytes()
    other, most = times.most_common(1)[0]
    if most - times[best] > _CLEARLY * sqrt(most + times[best]):
        best = other
    inside = np.isin(likeliest, np.frombuffer(best, dtype=first.dtype))
    probability = stated(np.array([times[best] / len(drawn)]))[0]
    return BestSet(likeliest[inside], float(probability), float(chances[likeliest[inside]].sum()))


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
