"""What more judgments would change: how often two items would be in the right order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.special import chdtrc, ndtr

from aggcal._core.arrays import FloatArray, IntArray, sums
from aggcal.advice.check.annotator_mixture import effective
from aggcal.aggregation.groups import apart
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.data.graph import Forest, laplacian_of_pairs, net_flow

if TYPE_CHECKING:
    from aggcal.advice.check.context import Fitted

_PAIRS = 20_000
"""Pairs that stand for all, or drawn gaps of fewer pairs: an error of 0.003. More take longer."""
_LEAST_TOLD = 1e-3
"""Smallest part of the prior's precision that the judgments of a pair are taken to add."""
_FOR_A_FACTOR = 200  # items: of fewer, eigenvectors are found as soon
_LEAST_PIVOT = 1e-6  # part of the largest pivot: below it, rounding may decide what is told of
_CHANCE = 0.05
"""Share of studies of equal items for which a number of judgments is foretold nevertheless. A
lower one foretells none for items that differ little."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of items of the same component: their gaps, as the judgments tell them."""

    gap: FloatArray
    variance: FloatArray
    information: FloatArray
    """What the judgments alone say of each gap, without the prior."""
    right: float
    """Mean posterior probability that a pair is in the order of its scores."""
    drawn: FloatArray
    clustered: FloatArray
    """Gaps drawn under a prior of estimated shape; as many as ``drawn``, or none."""

    @classmethod
    def of(cls, known: Uncertainty, prior_precision: float) -> Pairs:
        """Take the posterior of the scores, and the precision of their normal prior."""
        random = np.random.default_rng(0)
        i, j, again = _chosen(known, random)
        gap = known.scores[i] - known.scores[j]
        variance = known.covariance.gap_variance(i, j)
        ahead = known.order_probability(i, j)
        i, j = np.tile(i, again), np.tile(j, again)
        gap, variance, ahead = (np.tile(each, again) for each in (gap, variance, ahead))
        least = max(_LEAST_TOLD * prior_precision, 1e-12)
        variance = np.maximum(variance, 1e-300)
        told = np.maximum(1.0 / variance - 0.5 * prior_precision, least)
        drawn = gap + np.sqrt(variance) * random.standard_normal(len(gap))
        clustered = np.zeros(0)
        if known.npmle is not None and len(gap):
            normal = random.standard_normal((200, len(known.scores)))
            scores = known.npmle.drawn(known.npmle.sd * normal)
            at = random.integers(len(scores), size=len(gap))
            clustered = scores[at, i] - scores[at, j]
        right = float(np.mean(np.maximum(ahead, 1.0 - ahead))) if len(gap) else 1.0
        return cls(gap, variance, told, right, drawn, clustered)

    @cached_property
    def _towards(self) -> FloatArray:
        """What the judgments so far say of each gap."""
        return np.asarray(self.gap / self.variance)

    def right_order(self, times: float) -> float:
        """Return how often pairs will be ordered correctly with so many times the judgments.

        Examples
        --------
        >>> many = np.full(1000, 0.5)
        >>> pairs = Pairs(many, 2 * many, 2 * many, 0.69, many, np.zeros(0))
        >>> [round(pairs.right_order(f), 2) for f in (1.0, 5.0, 50.0)]
        [0.69, 0.89, 1.0]
        """
        if times == 1.0 or not len(self.gap):
            return self.right
        more = (times - 1.0) * self.information

        def right(drawn: FloatArray) -> float:
            towards = np.where(drawn < 0.0, -1.0, 1.0) * (self._towards + drawn * more)
            return float(np.mean(ndtr(towards / np.sqrt(more))))

        normal = right(self.drawn)
        return 0.5 * (normal + right(self.clustered)) if len(self.clustered) else normal


def _chosen(known: Uncertainty, random: np.random.Generator) -> tuple[IntArray, IntArray, int]:
    """Return pairs of positions, at random where there are many, and how often to take each."""
    n = len(known.scores)
    if n * (n - 1) // 2 <= _PAIRS:
        i, j = np.triu_indices(n, 1)
        within = ~apart(known.component, i, j)
        i, j = i[within], j[within]
        return i, j, max(1, _PAIRS // max(1, len(i)))
    i, j = random.integers(n, size=(2, _PAIRS))
    within = (i != j) & ~apart(known.component, i, j)
    return i[within], j[within], 1


def items_differ(fitted: Fitted) -> bool:
    """Tell whether the answers show that any two items of a component differ.

    The score test of equal items, each annotator's answers weighted by how far, and which way, they
    follow the others. Of very many items it is taken for granted.
    """
    judgments, n = fitted.judgments, fitted.judgments.n_items
    if fitted.others.information is None:
        return True
    slope = fitted.population.slopes[judgments.annotator]
    force = effective(judgments) * slope * (judgments.outcome - 0.5)
    weight = force * slope * (judgments.outcome - 0.5)
    pairs = sums(judgments.left.astype(np.int64) * n + judgments.right, weight, n * n)
    information = laplacian_of_pairs(pairs.reshape(n, n))
    telling = np.flatnonzero(weight > 0.0)
    forest = Forest.of(judgments.left[telling], judgments.right[telling], n)
    force = net_flow(judgments.left, judgments.right, force, n)
    told, square = _score_test(information, force, forest.component)
    return bool(told and chdtrc(told, square) < _CHANCE)


def _score_test(
    information: FloatArray, force: FloatArray, component: IntArray
) -> tuple[int, float]:
    """Return how many directions the information tells of, and the square of the force in them.

    Of many items by a factor of the matrix, in which a shift of all items of a component is given
    some information, that there is no force in. Where the factor leaves doubts, and of few items,
    by the eigenvectors.

    Examples
    --------
    >>> one = np.array([[2.0, -2.0], [-2.0, 2.0]])
    >>> told, square = _score_test(one, np.array([2.0, -2.0]), np.zeros(2, dtype=np.int64))
    >>> told, round(square, 6)
    (1, 2.0)
    """
    n = len(force)
    if n >= _FOR_A_FACTOR:
        sizes = np.bincount(component)
        usual = float(np.trace(information)) / n
        shifted = np.where(component[:, None] == component, usual / sizes[component], 0.0)
        factor, failed = dpotrf(information + shifted, lower=True, clean=False)
        pivots = np.square(np.diag(factor))
        if not failed and pivots.min() > _LEAST_PIVOT * pivots.max():
            return n - len(sizes), float(force @ dpotrs(factor, force, lower=True)[0])
    values, vectors = np.linalg.eigh(information)
    told = values > 1e-9 * max(float(values[-1]), 1e-300)
    squares = np.square(vectors[:, told].T @ force) / values[told]
    return int(told.sum()), float(squares.sum())
