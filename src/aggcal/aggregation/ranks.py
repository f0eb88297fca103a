"""Likely ranks and orders: with which probability, under the model.

A normal prior promises too much where scores fall into tight clusters: there it pulls items apart
less than chance does. The nonparametric maximum-likelihood prior (Kiefer and Wolfowitz, 1956)
follows them, and is too unsure where scores are normal. Half of every probability comes from
either: orders then came true as often as they were said to, on ten shapes of scores.

Intervals of ranks are quantiles of the ranks in draws of all scores. Of very many items they are
the expected ranks at the ends of each item's own interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from scipy.special import ndtr, ndtri

from aggcal._core.arrays import BoolArray, FloatArray, IntArray
from aggcal._core.text import brief
from aggcal.aggregation.covariance import Covariance

_DRAWS = 1000
"""Of the scores: the ends of rank intervals are off by chance with fewer, slow with more."""
_LONG = 1 << 15
"""Items from which ranks are not short integers, which sort in a third of the time."""
_STAND_INS = (np.arange(9) + 0.5) / 9
"""Quantiles of a score's distribution that stand for it where the scores above one are counted."""
NEARLY = 0.999
"""The highest probability that is stated, and 1 less it the lowest: a thousand draws that all say
the same do not make anything certain."""
_POINTS, _STEPS = 201, 300
"""Points of the grid and steps of the EM algorithm: more change no probability by .01."""
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
        prior = normal
        for _ in range(_STEPS):
            prior = prior * ((1.0 / (likelihood @ prior)) @ likelihood) + normal
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


def sorted_ranks(drawn: FloatArray) -> IntArray:
    """Return the ranks of each item in draws of all scores, sorted from the best to the worst.

    Examples
    --------
    >>> sorted_ranks(np.array([[3.0, 1.0, 2.0], [1.0, 3.0, 2.0]])).tolist()
    [[1, 1, 2], [3, 3, 2]]
    """
    n = drawn.shape[1]
    in_draws = np.empty(drawn.shape, dtype=np.int16 if n < _LONG else np.int64)
    order = np.argsort(-drawn, axis=1)
    np.put_along_axis(in_draws, order, np.arange(1, n + 1, dtype=in_draws.dtype)[None, :], axis=1)
    in_draws.sort(axis=0)
    return in_draws


def rank_ends(in_draws: IntArray, level: float) -> tuple[IntArray, IntArray]:
    """Return quantiles of ranks in draws: the best and the worst at this level."""
    tail = 0.5 * (1.0 - level) * (len(in_draws) - 1)
    return in_draws[int(np.floor(tail))], in_draws[int(np.ceil(len(in_draws) - 1 - tail))]


def expected_ranks(
    scores: FloatArray, sd: FloatArray, reach: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the expected ranks at the ends of intervals; quantiles stand for each score.

    The number of others above a given score hardly varies among many items.
    """
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
