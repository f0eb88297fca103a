"""Likely ranks and orders: with which probability, under the model.

A normal prior promises too much where scores fall into tight clusters: there it pulls items apart
less than chance does. The nonparametric maximum-likelihood prior (Kiefer and Wolfowitz, 1956)
follows them, and is too unsure where scores are normal. Half of every probability comes from
either: orders then came true as often as they were said to, on ten shapes of scores.

An item that nothing compares with n' others may have all of them above it or none: its interval
within its own component, [a, b], becomes [a, b + n'].
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, ranks
from aggcal._core.text import brief
from aggcal.aggregation.covariance import MOST_DENSE, Covariance
from aggcal.aggregation.groups import members

if TYPE_CHECKING:
    from aggcal.aggregation.uncertainty import Uncertainty

_DRAWS = 1000
"""Of the scores: the ends of rank intervals are off by chance with fewer, slow with more."""
_LONG = 1 << 15
"""Items from which ranks are not short integers, which sort in a third of the time."""
_STAND_INS = (np.arange(9) + 0.5) / 9
"""Quantiles of a score's distribution that stand for it where the scores above one are counted."""
NEARLY = 0.999
"""The highest probability that is stated, and 1 less it the lowest: a thousand draws that all say
the same do not make anything certain."""
_CROWDED = 0.01
"""Share of the top k that items never drawn may have together: with more, the probabilities of
thousands of them would add up to more than k."""
_POINTS, _STEPS = 201, 300
"""Points of the grid and steps of the EM algorithm: more change no probability by .01."""
_MOST = 1000
"""Items that the shape is estimated from at most, evenly spaced in their order."""
_REACH, _FURTHEST = 3.0, 6.0
"""Standard errors by which the grid reaches beyond all items, and spreads of the prior beyond which
it never does."""
_LEAST_INFORMATION = 1e-3
"""Smallest part of the prior's precision that the judgments of an item are taken to add."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_QUANTILES, _WEIGHTS = 0.5 * (1.0 + _NODES), 0.5 * _WEIGHTS
"""Quantiles of an item's score at which another is compared with it, and their weights: a
probability is off by .0001 on average, and by .001 at most."""
_PAIRS = 4096
"""Pairs worked out at a time."""


@dataclass(frozen=True, eq=False)
class Npmle:
    """The posterior of each score on a grid, and a Gaussian copula of them all."""

    grid: FloatArray
    below: FloatArray
    """Probability that each item's score is below each edge between points (a row an item)."""
    scores: FloatArray
    sd: FloatArray
    sharp: BoolArray
    """Items known to less than a step of the grid: what the prior is like does not matter."""

    __repr__ = brief

    @classmethod
    def of(
        cls,
        scores: FloatArray,
        variances: FloatArray,
        prior_sd: float,
        factor: float = 1.0,
        widened: FloatArray | None = None,
    ) -> Npmle:
        """Estimate the shape by the EM algorithm, the normal prior counting as one more item.

        Parameters
        ----------
        scores, variances
            Posterior means and variances under a normal prior.
        prior_sd
            Spread of that prior.
        factor, widened
            How many times as large the variances of what the judgments tell are because answers
            depend on each other, and the posterior variances with it.

        Examples
        --------
        Two items at 1 and many at -1: a third that seems to be between is drawn to them.

        >>> prior = Npmle.of(np.array([1.0, 1.0, -1.0, -1.0, -1.0, -0.7]), np.full(6, 0.1), 1.0)
        >>> prior.order_probability(np.array([0, 5]), np.array([5, 4]), np.zeros(2)).round(1)
        array([1. , 0.6])
        """
        # What the judgments alone say of an item: the posterior less the prior.
        precision = np.maximum(1.0 / variances - prior_sd**-2, _LEAST_INFORMATION * prior_sd**-2)
        estimate = scores / variances / precision
        variances, precision = variances if widened is None else widened, precision / factor
        reach, furthest = _REACH * float(np.sqrt(variances.max())), _FURTHEST * prior_sd
        low = max(float(estimate.min()) - reach, -furthest)
        high = min(float(estimate.max()) + reach, furthest)
        grid, step = np.linspace(low, high, _POINTS, retstep=True)
        off = np.clip(estimate, low, high)[:, None] - grid
        likelihood = np.exp(-0.5 * np.minimum(precision, step**-2)[:, None] * np.square(off))
        normal = np.exp(-0.5 * np.square(grid / prior_sd))
        normal /= normal.sum()
        some = likelihood
        if len(estimate) > _MOST:
            spaced = ((np.arange(_MOST) + 0.5) * len(estimate) / _MOST).astype(np.int64)
            some = likelihood[np.argsort(estimate, kind="stable")[spaced]]
        prior = normal
        for _ in range(_STEPS):
            prior = prior * ((1.0 / (some @ prior)) @ some) + normal
            prior /= prior.sum()
        below = np.cumsum(likelihood * prior, axis=1)
        below = np.insert(below / below[:, -1:], 0, 0.0, axis=1)
        return cls(grid, below, scores, np.sqrt(variances), precision * step**2 > 1.0)

    def drawn(self, deviations: FloatArray) -> FloatArray:
        """Turn deviations drawn from the normal posterior into scores, each of its own marginal.

        Examples
        --------
        >>> prior = Npmle.of(np.array([-1.0, 1.0]), np.full(2, 0.01), 1.0)
        >>> prior.drawn(np.zeros((1, 2))).round(1)
        array([[-1.,  1.]])
        """
        scores = self.scores + deviations
        step = self.grid[1] - self.grid[0]
        edges = np.append(self.grid - 0.5 * step, self.grid[-1] + 0.5 * step)
        loose = np.flatnonzero(~self.sharp)
        probability = ndtr(deviations.T[loose] / self.sd[loose, None])
        for k, own in zip(loose.tolist(), probability, strict=True):
            scores[:, k] = np.interp(own, self.below[k], edges)
        return scores

    def order_probability(self, i: IntArray, j: IntArray, correlation: FloatArray) -> FloatArray:
        """Return the probability that i is above j for each pair of positions.

        Parameters
        ----------
        i, j
            Positions of items.
        correlation
            Of the errors of their scores.
        """
        first, second, last = np.minimum(i, j), np.maximum(i, j), len(self.grid)
        normal, probability = ndtri(_QUANTILES), np.empty(len(i))
        items, which = np.unique(first, return_inverse=True)
        # Where the first of two items is, in steps from the lowest edge, at each quantile.
        of_items = np.array(
            [np.interp(_QUANTILES, self.below[k], np.arange(last + 1)) for k in items]
        )
        for start in range(0, len(i), _PAIRS):
            part = slice(start, start + _PAIRS)
            position, rows = of_items[which[part]], second[part, None]
            cell = np.minimum(position.astype(np.int64), last - 1)
            below, above = self.below[rows, cell], self.below[rows, cell + 1]
            conditional = ndtri(below + (position - cell) * (above - below))
            conditional -= correlation[part, None] * normal
            conditional /= np.sqrt(np.maximum(1.0 - np.square(correlation[part, None]), 1e-9))
            probability[part] = ndtr(conditional) @ _WEIGHTS
        return np.where(i > j, 1.0 - probability, probability)


class RankIntervals(NamedTuple):
    """The lowest and the highest rank of each item, and its ranks in draws of all scores.

    ``draws`` has a row a draw, each column sorted; None for many items, and where nothing compares
    some items with others.
    """

    low: IntArray
    high: IntArray
    draws: IntArray | None


def rank_intervals(
    scores: FloatArray,
    covariance: Covariance,
    level: float,
    seed: int,
    degrees_of_freedom: float = inf,
    *,
    npmle: Npmle | None = None,
    component: IntArray | None = None,
) -> RankIntervals:
    """Return the lowest and the highest rank of each item at this level; 1 is the best rank.

    For a moderate number of items, quantiles of the ranks in draws of all scores: normal ones and,
    half of them, of the posterior under a prior of estimated shape. For many items, the expected
    ranks at the ends of each item's own interval (the number of others above a given score then
    hardly varies).

    Examples
    --------
    >>> from aggcal.aggregation.covariance import DenseCovariance
    >>> ranks = rank_intervals(np.array([9.0, 0.0, 0.1]), DenseCovariance(np.eye(3)), 0.9, 0)
    >>> ranks.low, ranks.high
    (array([1, 2, 2]), array([1, 3, 3]))

    Nothing compares the first item with the others:

    >>> alone = np.array([1, 0, 0])
    >>> rank_intervals(np.array([9.0, 0.0, 9.0]), DenseCovariance(np.eye(3)), 0.9, 0,
    ...                component=alone)[:2]
    (array([1, 2, 1]), array([3, 3, 2]))
    """
    n = len(scores)
    low, high = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    random, all_ranks, drawn = np.random.default_rng(seed), None, None
    if n <= MOST_DENSE:
        drawn = drawn_scores(scores, covariance, degrees_of_freedom, npmle, random)
    for own in members(component, n):
        sd = np.sqrt(covariance.variances[own])
        if drawn is None and len(own) > MOST_DENSE:
            reach = float(stdtrit(degrees_of_freedom, 0.5 * (1.0 + level))) * sd
            best, worst = _expected_ranks(scores[own], sd, reach)
        else:
            # Few items of very many: leaving out their correlation widens.
            if drawn is None:
                some = scores[own] + random.standard_normal((_DRAWS, len(own))) * sd
            else:
                some = drawn[:, own]
            sorted_ranks = _sorted_ranks(some)
            all_ranks = sorted_ranks if len(own) == n else None
            tail = 0.5 * (1.0 - level) * (len(some) - 1)
            best = sorted_ranks[int(np.floor(tail))]
            worst = sorted_ranks[int(np.ceil(len(some) - 1 - tail))]
        # The interval holds the estimated rank itself: tied items share the best of theirs.
        rank = ranks(scores[own])
        low[own] = np.minimum(best, rank)
        high[own] = np.maximum(worst, rank) + (n - len(own))
    return RankIntervals(low, high, all_ranks)


def drawn_scores(
    scores: FloatArray,
    covariance: Covariance,
    degrees_of_freedom: float,
    npmle: Npmle | None,
    random: np.random.Generator,
) -> FloatArray:
    """Draw all scores, a row a draw: half of them with the marginals of ``npmle``."""
    deviations = covariance.draws(_DRAWS, random)
    shaped = np.empty((0, len(scores))) if npmle is None else npmle.drawn(deviations[: _DRAWS // 2])
    if degrees_of_freedom < inf:
        chance = random.chisquare(degrees_of_freedom, (_DRAWS, 1))
        deviations /= np.sqrt(chance / degrees_of_freedom)
    return np.concatenate([shaped, scores + deviations[len(shaped) :]])


def _sorted_ranks(drawn: FloatArray) -> IntArray:
    """Return the ranks of each item in draws of all scores, sorted from the best to the worst."""
    n = drawn.shape[1]
    in_draws = np.empty(drawn.shape, dtype=np.int16 if n < _LONG else np.int64)
    order = np.argsort(-drawn, axis=1)
    np.put_along_axis(in_draws, order, np.arange(1, n + 1, dtype=in_draws.dtype)[None, :], axis=1)
    in_draws.sort(axis=0)
    return in_draws


def _expected_ranks(
    scores: FloatArray, sd: FloatArray, reach: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the expected ranks at the ends of intervals; quantiles stand for each score."""
    points = np.sort((scores[:, None] + sd[:, None] * ndtri(_STAND_INS)).ravel())
    ends = (points.size - np.searchsorted(points, scores + way * reach) for way in (1.0, -1.0))
    best, worst = (1.0 + above / len(_STAND_INS) for above in ends)
    return np.floor(best), np.minimum(np.ceil(worst), len(scores))


def stated(share: FloatArray, least: float = 1.0 - NEARLY) -> FloatArray:
    """Return shares of draws as probabilities: none is certain, or impossible.

    Examples
    --------
    >>> stated(np.array([0.0, 0.5, 1.0]))
    array([0.001, 0.5  , 0.999])
    """
    return np.clip(share, least, NEARLY)


def top_probabilities(uncertainty: Uncertainty, k: int) -> FloatArray | None:
    """Return with which probability each item is among the first k.

    None where there are several components, whose items nothing orders. Of many items, the score of
    the k-th is taken as known: it hardly varies, and is where the probabilities add up to k.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("bob", "a", "b"), ("ann", "b", "c"), ("bob", "a", "c")]
    >>> top_probabilities(aggcal.aggregate(rows, warn=False).uncertainty, 2).round(1)
    array([0.9, 0.7, 0.4])
    """
    if uncertainty.component is not None:
        return None
    scores, se = uncertainty.scores, uncertainty.order_se
    least = min(1.0 - NEARLY, _CROWDED * k / len(scores))
    shares = uncertainty.top_probabilities(np.array([k]))
    if shares is not None:
        return stated(shares[:, 0], least)
    from scipy.optimize import brentq

    low, high = float(np.min(scores - 9.0 * se)), float(np.max(scores + 9.0 * se))
    number = min(k, len(scores) - 1e-9)
    cut = brentq(lambda x: float(ndtr((scores - x) / se).sum()) - number, low, high)
    return stated(np.asarray(ndtr((scores - cut) / se)), least)
