"""Ranks and orders under a prior whose shape is estimated too.

Ranks drawn from normal posteriors promise too much inside tight clusters of items: there a normal
prior pulls items apart less than noise does. So the shape of the scores' distribution is estimated
on a grid (the nonparametric maximum-likelihood prior, with the normal one as a few pseudo-items),
and items are drawn from their posteriors under it.
"""

from __future__ import annotations

from math import log

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray
from aggcal._core.compiled_scipy import expit, ndtr
from aggcal._core.kernels.threads import each_range, even
from aggcal._core.records import dataclass
from aggcal._core.text import brief
from aggcal._core.unmasked import median
from aggcal.aggregation.uncertainty.draw_sums import ranks_in_draws, shape_steps, shaped

_GRID = 201
_STEPS = 400
_SHAPED = 1000
"""Items that the shape is estimated from at most, evenly spaced in their order: more hardly change
it, and take longer."""
_BASE = 0.2
"""Items that the normal prior counts as: keeps the whole grid possible."""
_COLUMNS = 64
"""Items whose ranks are sorted by one thread at a time."""
_PAIRS = 4096
"""Pairs worked out at a time."""
_FURTHEST = 6.0
_FLEXIBLE = 6.0
"""Log-likelihood that the shape gains by its freedom alone, at least: 0.2 to 5 for normal scores
that are known to a third of their spread; for tight clusters it gains 3 to 25. A higher number is
too sure inside clusters, a lower one too unsure of normal scores."""
_BY_FREEDOM, _BY_ITEMS, _MARGIN = 0.25, 0.29, 1.15
"""The sharper n normal scores are known (their spread is r errors), the more the shape can follow
each of them: it gained (0.25 + 0.29 log n) r on average (n from 5 to 200, r from 1 to 12). With
this margin orders came true as often as claimed for normal scores of three times the usual spread
(.85 → .89, without it .64 → .81) and in clusters (8 items: .86 on average → .85); a larger one is
too sure inside clusters, a smaller one too unsure of normal scores."""
_LEAST_TOLD = 1e-3
"""Smallest part of the prior's precision that the judgments of an item are taken to add."""


@dataclass(frozen=True, eq=False)
class Shaped:
    """The posterior of each score under a prior of estimated shape."""

    grid: FloatArray
    below: FloatArray
    """Probability that each item's score is at most each grid point plus half a step."""
    scores: FloatArray
    sd: FloatArray
    sharp: BoolArray
    """Items known to less than a step: of these the shape of the prior says nothing."""
    share: float
    """Probability that the shape is the right prior, not the normal one."""

    __repr__ = brief

    @classmethod
    def of(cls, scores: FloatArray, variances: FloatArray, sd: float) -> Shaped:
        """Estimate the shape.

        Parameters
        ----------
        scores, variances
            Posterior means and variances under a normal prior.
        sd
            Of that prior.

        Examples
        --------
        Two items at 1 and many at -1: a third that seems to be between is drawn to them.

        >>> found = Shaped.of(np.array([1.0, 1.0, -1.0, -1.0, -1.0, -0.7]), np.full(6, 0.1), 1.0)
        >>> found.order_probability(np.array([0, 5]), np.array([5, 4])).round(1)
        array([1. , 0.5])
        """
        # What the judgments alone say of an item: the posterior less the prior.
        precision = np.maximum(1.0 / variances - sd**-2, _LEAST_TOLD * sd**-2)
        seen = scores / variances / precision
        low, high = max(seen.min(), -_FURTHEST * sd), min(seen.max(), _FURTHEST * sd)
        if not high > low:
            low, high = low - sd, high + sd
        grid = np.linspace(low, high, _GRID)
        step = grid[1] - grid[0]
        off = np.clip(seen, low, high)[:, None] - grid
        likelihood = np.exp(-0.5 * np.minimum(precision, step**-2)[:, None] * off**2)
        base = np.exp(-0.5 * (grid / sd) ** 2)
        base /= base.sum()
        some = likelihood
        if len(seen) > _SHAPED:
            chosen = (np.arange(_SHAPED) + 0.5) * len(seen) / _SHAPED
            some = likelihood[np.argsort(seen, kind="stable")[chosen.astype(np.int64)]]
        prior = shape_steps(some, base, _BASE, _STEPS)
        below = np.cumsum(likelihood * prior, axis=1)
        below /= below[:, -1:]
        with np.errstate(divide="ignore"):
            better = float(np.sum(np.log(likelihood @ prior) - np.log(likelihood @ base)))
        share = float(expit(better - _by_chance(precision, sd))) if np.isfinite(better) else 1.0
        return cls(grid, below, scores, np.sqrt(variances), precision * step**2 > 1.0, share)

    def draws(self, number: int, random: np.random.Generator) -> FloatArray:
        """Draw scores, one row each, every item by itself.

        Examples
        --------
        >>> found = Shaped.of(np.array([-1.0, 1.0]), np.full(2, 0.01), 1.0)
        >>> drawn = found.draws(100, np.random.default_rng(0))
        >>> drawn.shape, bool((drawn[:, 0] < drawn[:, 1]).all())
        ((100, 2), True)
        """
        return self.drawn(self.sd * random.standard_normal((number, len(self.scores))))

    def drawn(self, apart: FloatArray) -> FloatArray:
        """Turn deviations drawn from the normal posterior into scores drawn from this one.

        Each item's score follows its own posterior, and they depend on each other as the deviations
        do (a Gaussian copula).

        Examples
        --------
        >>> found = Shaped.of(np.array([-1.0, 1.0]), np.full(2, 0.01), 1.0)
        >>> found.drawn(np.zeros((1, 2))).round(1)
        array([[-1.,  1.]])
        """
        step = self.grid[1] - self.grid[0]
        edges = np.append(self.grid - 0.5 * step, self.grid[-1] + 0.5 * step)
        below = np.zeros((len(self.below), len(edges)))
        below[:, 1:] = self.below
        return shaped(apart, self.scores, self.sd, self.sharp, below=below, edges=edges)

    def order_probability(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return the probability that i is above j for each pair of positions, exactly.

        Items are drawn independently of each other, as in `draws`. It is 1 and 0 where both are
        sharp: what then counts is the normal posterior.
        """
        at_most = self.below.copy()
        edges = self.grid + 0.5 * (self.grid[1] - self.grid[0])
        for k in np.flatnonzero(self.sharp).tolist():
            at_most[k] = ndtr((edges - self.scores[k]) / self.sd[k])
            at_most[k, -1] = 1.0
        cell = np.diff(at_most, axis=1, prepend=0.0)
        middle = at_most - 0.5 * cell
        found = np.empty(len(i))
        for k in range(0, len(i), _PAIRS):
            part = slice(k, k + _PAIRS)
            found[part] = np.einsum("kg,kg->k", cell[i[part]], middle[j[part]])
        both = self.sharp[i] & self.sharp[j]
        return np.where(both, self.scores[i] > self.scores[j], found)


def _by_chance(precision: FloatArray, sd: float) -> float:
    """Return the log-likelihood that the shape may gain where scores are normal.

    Examples
    --------
    >>> round(_by_chance(np.full(20, 9.0), 1.0), 1), round(_by_chance(np.full(20, 100.0), 1.0), 1)
    (6.0, 12.9)
    """
    sharp = sd * float(np.sqrt(median(precision)))
    return max(_FLEXIBLE, _MARGIN * (_BY_FREEDOM + _BY_ITEMS * log(len(precision))) * sharp)


def sorted_ranks(drawn: FloatArray) -> IntArray:
    """Return the ranks of each item in draws of all scores, sorted from the best to the worst.

    Examples
    --------
    >>> sorted_ranks(np.array([[2.0, 1.0], [1.0, 2.0], [2.0, 1.0]])).tolist()
    [[1, 1], [1, 2], [2, 2]]
    """
    ranks = ranks_in_draws(drawn)
    each_range(lambda begin, end: ranks[:, begin:end].sort(axis=0), even(ranks.shape[1], _COLUMNS))
    return ranks


def rank_quantiles(ranks: IntArray, level: float) -> tuple[IntArray, IntArray]:
    """Return the equal-tailed interval of each item's sorted ranks, rounded outwards.

    Examples
    --------
    >>> rank_quantiles(sorted_ranks(np.array([[2.0, 1.0], [1.0, 2.0], [2.0, 1.0]])), 0.9)
    (array([1, 1]), array([2, 2]))
    """
    last, outside = len(ranks) - 1, 0.5 * (1.0 - level)
    low, high = int(np.floor(outside * last)), int(np.ceil((1.0 - outside) * last))
    return ranks[low].astype(np.int64), ranks[high].astype(np.int64)


def top_shares(ranks: IntArray, stops: IntArray) -> FloatArray:
    """Return the share of draws in which each item is among the first k, for each k of ``stops``.

    Examples
    --------
    >>> top_shares(np.array([[1, 2], [1, 2], [2, 3]]), np.array([1, 2])).round(2).tolist()
    [[0.67, 1.0], [0.0, 0.67]]
    """
    found = [np.searchsorted(column, stops, side="right") for column in ranks.T]
    return np.array(found, dtype=np.float64).reshape(ranks.shape[1], len(stops)) / len(ranks)
