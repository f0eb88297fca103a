"""Ranks under a prior whose shape is estimated too.

Ranks drawn from normal posteriors promise too much inside tight clusters of items: there a normal
prior pulls items apart less than noise does. So the shape of the scores' distribution is estimated
on a grid (the nonparametric maximum-likelihood prior, with the normal one as a few pseudo-items),
and items are drawn from their posteriors under it.
"""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray

_GRID = 201
_STEPS = 400
_BASE = 0.2
"""Items that the normal prior counts as: keeps the whole grid possible."""
_FURTHEST = 6.0
_LEAST_TOLD = 1e-3
"""Smallest part of the prior's precision that the judgments of an item are taken to add."""


def shaped_draws(
    scores: FloatArray, variances: FloatArray, sd: float, draws: int, random: np.random.Generator
) -> FloatArray:
    """Draw scores under a prior of estimated shape, one row each.

    Parameters
    ----------
    scores, variances
        Posterior means and variances under a normal prior.
    sd
        Standard deviation of that prior.
    draws
        How many draws to make.
    random
        Source of the random numbers.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> drawn = shaped_draws(np.array([-1.0, 1.0]), np.full(2, 0.01), 1.0, 100, random)
    >>> drawn.shape, bool((drawn[:, 0] < drawn[:, 1]).all())
    ((100, 2), True)
    """
    # What the judgments alone say of an item: the posterior less the prior.
    told = np.maximum(1.0 / variances - sd**-2, _LEAST_TOLD * sd**-2)
    seen = scores / variances / told
    low, high = max(seen.min(), -_FURTHEST * sd), min(seen.max(), _FURTHEST * sd)
    if not high > low:
        low, high = low - sd, high + sd
    grid = np.linspace(low, high, _GRID)
    step = grid[1] - grid[0]
    likelihood = np.exp(
        -0.5 * np.minimum(told, step**-2)[:, None] * (np.clip(seen, low, high)[:, None] - grid) ** 2
    )
    base = np.exp(-0.5 * (grid / sd) ** 2)
    base /= base.sum()
    # Single precision is enough for a shape, and takes half the time.
    rough, prior, small = likelihood.astype(np.float32), base.astype(np.float32), np.float32(1e-30)
    pull = (_BASE * base).astype(np.float32)
    for _ in range(_STEPS):
        weight = prior * (rough.T @ (1.0 / np.maximum(rough @ prior, small)))
        prior = (weight + pull) / np.float32(len(scores) + _BASE)
    below = np.cumsum(likelihood * prior, axis=1)
    below /= below[:, -1:]
    uniform = random.random((len(scores), draws))
    at = np.empty(uniform.shape, dtype=np.intp)
    for k in range(len(scores)):
        at[k] = below[k].searchsorted(uniform[k])
    drawn = grid[np.minimum(at, _GRID - 1).T]
    drawn += step * (random.random(drawn.shape) - 0.5)
    # Of an item that is known to less than a step the shape of the prior says nothing.
    sharp = told * step**2 > 1.0
    normal = random.standard_normal((draws, int(sharp.sum())))
    drawn[:, sharp] = scores[sharp] + np.sqrt(variances[sharp]) * normal
    return drawn


def rank_quantiles(drawn: FloatArray, level: float) -> tuple[IntArray, IntArray]:
    """Return the equal-tailed interval of each item's rank in draws, rounded outwards.

    Examples
    --------
    >>> rank_quantiles(np.array([[2.0, 1.0], [1.0, 2.0], [2.0, 1.0]]), 0.9)
    (array([1, 1]), array([2, 2]))
    """
    draws, n = drawn.shape
    # Short integers sort in a third of the time.
    ranks = np.empty(draws * n, dtype=np.int16 if n < 1 << 15 else np.int64)
    order = np.argsort(-drawn, axis=1) + n * np.arange(draws)[:, None]
    ranks[order.ravel()] = np.tile(np.arange(1, n + 1, dtype=ranks.dtype), draws)
    ranks = np.sort(ranks.reshape(draws, n), axis=0)
    last, outside = draws - 1, 0.5 * (1.0 - level)
    low, high = int(np.floor(outside * last)), int(np.ceil((1.0 - outside) * last))
    return ranks[low].astype(np.int64), ranks[high].astype(np.int64)
