"""Rank intervals: between which places an item lies."""

from __future__ import annotations

from math import inf, isinf

import numpy as np

from aggcal.arrays import FloatArray, IntArray
from aggcal.uncertainty.covariance import MOST_DENSE, Covariance
from aggcal.uncertainty.shape import rank_quantiles, shaped_draws
from aggcal.uncertainty.student import quantile

_DRAWS = 1000
_GRID = 4001


def rank_intervals(
    scores: FloatArray,
    covariance: Covariance,
    level: float,
    seed: int,
    *,
    freedom: float = inf,
    prior_sd: float | None = None,
) -> tuple[IntArray, IntArray]:
    """Return the lowest and the highest rank of each item at this level; 1 is the best rank.

    For a moderate number of items, quantiles of the ranks in draws of all scores: joint normal
    ones, or, where the scores have a normal prior of sd ``prior_sd``, draws under a prior whose
    shape is estimated, too (see `uncertainty.shape`). For many items, the expected ranks at the
    ends of each item's own interval (the number of others above a given score then hardly varies).

    Examples
    --------
    >>> from aggcal.uncertainty.covariance import DenseCovariance
    >>> low, high = rank_intervals(np.array([9.0, 0.0, 0.1]), DenseCovariance(np.eye(3)), 0.9, 0)
    >>> low, high
    (array([1, 2, 2]), array([1, 3, 3]))
    """
    if len(scores) > MOST_DENSE:
        reach = quantile(0.5 * (1.0 + level), freedom)
        return _by_expectation(scores, np.sqrt(covariance.variances), reach)
    random = np.random.default_rng(seed)
    if prior_sd is not None:
        drawn = shaped_draws(scores, covariance.variances, prior_sd, _DRAWS, random)
    else:
        apart = covariance.draws(_DRAWS, random)
        if not isinf(freedom):
            apart /= np.sqrt(random.chisquare(freedom, (_DRAWS, 1)) / freedom)
        drawn = scores + apart
    return _around(scores, *rank_quantiles(drawn, level))


def _by_expectation(scores: FloatArray, se: FloatArray, reach: float) -> tuple[IntArray, IntArray]:
    from scipy.special import ndtr

    widest = 5.0 * float(se.max())
    grid = np.linspace(scores.min() - widest, scores.max() + widest, _GRID)
    step = grid[1] - grid[0]
    # Items fall into bins of score and of width: within a bin they count as one.
    widths = np.unique(np.quantile(se, np.linspace(0.0, 1.0, 33)))
    which = np.clip(np.searchsorted(widths, se), 0, len(widths) - 1)
    place = np.rint((scores - grid[0]) / step).astype(np.int64)
    above = np.zeros(_GRID)
    reachable = np.arange(-_GRID + 1, _GRID) * step
    for k, width in enumerate(widths):
        counts = np.bincount(place[which == k], minlength=_GRID)
        if counts.any():
            smear = ndtr(reachable / max(width, step))
            above += np.convolve(counts[::-1], smear)[_GRID - 1 : 2 * _GRID - 1][::-1]
    low = 1.0 + np.interp(scores + reach * se, grid, above)
    high = 1.0 + np.interp(scores - reach * se, grid, above)
    n = len(scores)
    ends = (np.clip(np.floor(low), 1, n), np.clip(np.ceil(high), 1, n))
    return _around(scores, ends[0].astype(np.int64), ends[1].astype(np.int64))


def _around(scores: FloatArray, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Let the interval hold the estimated rank itself: tied items share the best of theirs."""
    ordered = np.sort(scores)
    rank = len(scores) + 1 - np.searchsorted(ordered, scores, side="right")
    return np.minimum(low, rank), np.maximum(high, rank)
