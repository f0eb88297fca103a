"""Likely ranks: between which places an item lies with a probability, under the model.

An item that nothing compares with n' others may have all of them above it or none: its interval
within its own component, [a, b], becomes [a, b + n'].
"""

from __future__ import annotations

from math import inf, isinf
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from aggcal._core.arrays import FloatArray, IntArray, ranks
from aggcal._core.kernels.threads import each_range, even, in_turn
from aggcal.aggregation.uncertainty.components import members
from aggcal.aggregation.uncertainty.covariance import MOST_DENSE, Covariance
from aggcal.aggregation.uncertainty.npmle import Npmle
from aggcal.aggregation.uncertainty.t_distribution import quantile

_DRAWS = 1000
"""Of the scores: the ends of rank intervals are off by chance with fewer, slow with more."""
_LONG = 1 << 15
"""Items from which ranks are not short integers, which sort in a third of the time."""
_GRID = 4001  # points of the scale of scores: coarser ones blur ranks
_FOURIER = 1 << 14  # a power of two with room for twice the grid


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
    *,
    degrees_of_freedom: float = inf,
    npmle: Npmle | None = None,
    component: IntArray | None = None,
) -> RankIntervals:
    """Return the lowest and the highest rank of each item at this level; 1 is the best rank.

    For a moderate number of items, quantiles of the ranks in draws of all scores: normal ones and,
    half of them, of the posterior under a prior of estimated shape (see `npmle`). For many items,
    the expected ranks at the ends of each item's own interval (the number of others above a given
    score then hardly varies).

    Examples
    --------
    >>> from aggcal.aggregation.uncertainty.covariance import DenseCovariance
    >>> found = rank_intervals(np.array([9.0, 0.0, 0.1]), DenseCovariance(np.eye(3)), 0.9, 0)
    >>> found.low, found.high
    (array([1, 2, 2]), array([1, 3, 3]))

    Nothing compares the first item with the others:

    >>> alone = np.array([1, 0, 0])
    >>> rank_intervals(np.array([9.0, 0.0, 9.0]), DenseCovariance(np.eye(3)), 0.9, 0,
    ...                component=alone)[:2]
    (array([1, 2, 1]), array([3, 3, 2]))
    """
    n = len(scores)
    low, high = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    random = np.random.default_rng(seed)
    drawn = kept = None
    if n <= MOST_DENSE or npmle is not None:
        drawn = drawn_scores(scores, covariance, degrees_of_freedom, npmle, random)
    for own in members(component, n):
        if drawn is not None:
            in_draws = sorted_ranks(drawn if len(own) == n else drawn[:, own])
            kept = in_draws if len(own) == n else None
            ends = _around(scores[own], *rank_quantiles(in_draws, level))
        elif len(own) > MOST_DENSE:
            critical_value = quantile(0.5 * (1.0 + level), degrees_of_freedom)
            ends = _by_expectation(scores[own], np.sqrt(covariance.variances[own]), critical_value)
        else:
            # Few items of very many: their correlation is not at hand, and leaving it out widens.
            some = random.standard_normal((_DRAWS, len(own))) * np.sqrt(covariance.variances[own])
            ends = _around(scores[own], *rank_quantiles(sorted_ranks(scores[own] + some), level))
        low[own], high[own] = ends[0], ends[1] + (n - len(own))
    return RankIntervals(low, high, kept)


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
    if not isinf(degrees_of_freedom):
        chance = random.chisquare(degrees_of_freedom, (_DRAWS, 1))
        deviations /= np.sqrt(chance / degrees_of_freedom)
    return np.concatenate([shaped, scores + deviations[len(shaped) :]])


def sorted_ranks(drawn: FloatArray) -> IntArray:
    """Return the ranks of each item in draws of all scores, sorted from the best to the worst.

    Examples
    --------
    >>> sorted_ranks(np.array([[2.0, 1.0], [1.0, 2.0], [2.0, 1.0]])).tolist()
    [[1, 1], [1, 2], [2, 2]]
    """
    n = drawn.shape[1]
    found = np.empty(drawn.shape, dtype=np.int16 if n < _LONG else np.int64)
    order = np.argsort(-drawn, axis=1)
    np.put_along_axis(found, order, np.arange(1, n + 1, dtype=found.dtype)[None, :], axis=1)
    found.sort(axis=0)
    return found


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


def _by_expectation(
    scores: FloatArray, se: FloatArray, critical_value: float
) -> tuple[IntArray, IntArray]:
    widest = 5.0 * float(se.max())
    grid = np.linspace(scores.min() - widest, scores.max() + widest, _GRID)
    step = grid[1] - grid[0]
    # Items fall into bins of score and of width: within a bin they count as one.
    widths = np.unique(np.quantile(se, np.linspace(0.0, 1.0, 33)))
    which = np.clip(np.searchsorted(widths, se), 0, len(widths) - 1)
    position = np.rint((scores - grid[0]) / step).astype(np.int64)
    reachable = np.arange(-_GRID + 1, _GRID) * step

    def of_width(k: int) -> FloatArray | None:
        counts = np.bincount(position[which == k], minlength=_GRID)
        if not counts.any():
            return None
        smear = ndtr(reachable / max(widths[k], step))
        flipped = np.fft.rfft(counts[::-1], _FOURIER) * np.fft.rfft(smear, _FOURIER)
        return np.asarray(np.fft.irfft(flipped, _FOURIER)[_GRID - 1 : 2 * _GRID - 1][::-1])

    above, n = np.zeros(_GRID), len(scores)
    for part in in_turn(of_width, range(len(widths))):
        above += 0.0 if part is None else part
    low, high = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)

    def find(begin: int, end: int) -> None:
        part = slice(begin, end)
        reach = critical_value * se[part]
        best = 1.0 + np.interp(scores[part] + reach, grid, above)
        worst = 1.0 + np.interp(scores[part] - reach, grid, above)
        low[part], high[part] = np.clip(np.floor(best), 1, n), np.clip(np.ceil(worst), 1, n)

    each_range(find, even(n))
    return _around(scores, low, high)


def _around(scores: FloatArray, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Let the interval hold the estimated rank itself: tied items share the best of theirs."""
    rank = ranks(scores)
    return np.minimum(low, rank), np.maximum(high, rank)
