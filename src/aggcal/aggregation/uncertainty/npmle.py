"""Posteriors of scores under a prior whose shape is estimated (nonparametric maximum likelihood).

A normal prior promises too much where scores fall into tight clusters: there it pulls items apart
less than chance does. The nonparametric maximum-likelihood prior (Kiefer and Wolfowitz, 1956)
follows them, and is too unsure where scores are normal. Half of every probability comes from either
(see `Uncertainty`): orders then came true as often as they were said to, on ten shapes of scores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from aggcal._core.arrays import BoolArray, FloatArray, IntArray
from aggcal._core.text import brief

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
        *,
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

        >>> found = Npmle.of(np.array([1.0, 1.0, -1.0, -1.0, -1.0, -0.7]), np.full(6, 0.1), 1.0)
        >>> found.order_probability(np.array([0, 5]), np.array([5, 4]), np.zeros(2)).round(1)
        array([1. , 0.6])
        """
        # What the judgments alone say of an item: the posterior less the prior.
        precision = np.maximum(1.0 / variances - prior_sd**-2, _LEAST_INFORMATION * prior_sd**-2)
        seen = scores / variances / precision
        variances, precision = variances if widened is None else widened, precision / factor
        reach, furthest = _REACH * float(np.sqrt(variances.max())), _FURTHEST * prior_sd
        low = max(float(seen.min()) - reach, -furthest)
        high = min(float(seen.max()) + reach, furthest)
        grid, step = np.linspace(low, high, _POINTS, retstep=True)
        off = np.clip(seen, low, high)[:, None] - grid
        likelihood = np.exp(-0.5 * np.minimum(precision, step**-2)[:, None] * np.square(off))
        normal = np.exp(-0.5 * np.square(grid / prior_sd))
        normal /= normal.sum()
        some = likelihood
        if len(seen) > _MOST:
            spaced = ((np.arange(_MOST) + 0.5) * len(seen) / _MOST).astype(np.int64)
            some = likelihood[np.argsort(seen, kind="stable")[spaced]]
        prior = normal
        for _ in range(_STEPS):
            prior = prior * ((1.0 / (some @ prior)) @ some) + normal
            prior /= prior.sum()
        below = np.cumsum(likelihood * prior, axis=1)
        below = np.insert(below / below[:, -1:], 0, 0.0, axis=1)
        return cls(grid, below, scores, np.sqrt(variances), precision * step**2 > 1.0)

    def draws(self, number: int, random: np.random.Generator) -> FloatArray:
        """Draw scores, one row each, every item by itself.

        Examples
        --------
        >>> found = Npmle.of(np.array([-1.0, 1.0]), np.full(2, 0.01), 1.0)
        >>> drawn = found.draws(100, np.random.default_rng(0))
        >>> drawn.shape, bool((drawn[:, 0] < drawn[:, 1]).all())
        ((100, 2), True)
        """
        return self.drawn(self.sd * random.standard_normal((number, len(self.scores))))

    def drawn(self, deviations: FloatArray) -> FloatArray:
        """Turn deviations drawn from the normal posterior into scores, each of its own marginal.

        Examples
        --------
        >>> found = Npmle.of(np.array([-1.0, 1.0]), np.full(2, 0.01), 1.0)
        >>> found.drawn(np.zeros((1, 2))).round(1)
        array([[-1.,  1.]])
        """
        found = self.scores + deviations
        step = self.grid[1] - self.grid[0]
        edges = np.append(self.grid - 0.5 * step, self.grid[-1] + 0.5 * step)
        loose = np.flatnonzero(~self.sharp)
        chance = ndtr(deviations.T[loose] / self.sd[loose, None])
        for k, quantile in zip(loose.tolist(), chance, strict=True):
            found[:, k] = np.interp(quantile, self.below[k], edges)
        return found

    def order_probability(self, i: IntArray, j: IntArray, correlation: FloatArray) -> FloatArray:
        """Return the probability that i is above j for each pair of positions.

        Parameters
        ----------
        i, j
            Positions of items.
        correlation
            Of the errors of their scores.
        """
        first, second, points = np.minimum(i, j), np.maximum(i, j), len(self.grid)
        normal, found = ndtri(_QUANTILES), np.empty(len(i))
        items, which = np.unique(first, return_inverse=True)
        # Where the first of two items is, in steps from the lowest edge, at each quantile.
        steps = np.arange(points + 1.0)
        of_items = np.array([np.interp(_QUANTILES, self.below[k], steps) for k in items])
        for start in range(0, len(i), _PAIRS):
            part = slice(start, start + _PAIRS)
            at = of_items[which[part]]
            cell = np.minimum(at.astype(np.int64), points - 1)
            rows = second[part, None]
            share = at - cell
            below = (1.0 - share) * self.below[rows, cell] + share * self.below[rows, cell + 1]
            together = correlation[part, None]
            apart = np.sqrt(np.maximum(1.0 - np.square(together), 1e-9))
            found[part] = ndtr((ndtri(below) - together * normal) / apart) @ _WEIGHTS
        return np.where(i > j, 1.0 - found, found)
