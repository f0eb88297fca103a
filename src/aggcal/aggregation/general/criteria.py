"""Scores in categories, and in criteria, taken together: correlations, and weighted sums."""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import FloatArray, TextArray
from aggcal.aggregation.effects import Correlations
from aggcal.models.general.design import Block

_DRAWS = 1000
"""Draws that a correlation is worked out from: its standard error is then right to 2%."""
_MOST_CATEGORIES = 20
"""Categories up to which each is held against each: more are no table that anybody reads."""
_FEWEST_ITEMS = 4
"""Items that were compared in both categories: of fewer, a correlation says nothing."""
_NEAR_ONE = 1.0 - 1e-9


def correlations(
    ids: TextArray, block: Block, unknowns: FloatArray, covariance: FloatArray
) -> Correlations | None:
    """Return the correlations of s + δ between categories, over items compared in both.

    Scores that shrink toward each other would look too alike, and noise in them would make them
    look too different: the correlation is that of draws from the posterior, which has both.

    Parameters
    ----------
    ids, block
        The categories, and where what items do in them stands.
    unknowns, covariance
        Posterior means and covariance of all unknowns; the latter a matrix or its diagonal.
    """
    if not 1 < len(ids) <= _MOST_CATEGORIES:
        return None
    n = int(block.item.max()) + 1
    draws = _draws(block, n, unknowns, covariance)
    tables = np.full((len(draws), len(ids), n), np.nan)
    tables[:, block.group, block.item] = draws
    seen = np.isfinite(tables[0])
    shape = len(ids), len(ids)
    values, errors = np.full(shape, np.nan), np.full(shape, np.nan)
    for a in range(len(ids)):
        values[a, a], errors[a, a] = 1.0, 0.0
        for b in range(a):
            both = seen[a] & seen[b]
            if both.sum() < _FEWEST_ITEMS:
                continue
            z = np.arctanh(_NEAR_ONE * _correlation(tables[:, a, both], tables[:, b, both]))
            values[a, b] = values[b, a] = np.tanh(z.mean())
            errors[a, b] = errors[b, a] = z.std()
    return Correlations(ids, values, errors)


def _draws(block: Block, n: int, unknowns: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return draws of s_i + δ_ic, draws by cells."""
    base, own = block.item, np.arange(block.begin, block.end)
    random = np.random.default_rng(0)
    mean = unknowns[base] + unknowns[own]
    if covariance.ndim == 1:
        scores = random.standard_normal((_DRAWS, n)) * np.sqrt(covariance[:n])
        cells = random.standard_normal((_DRAWS, len(own))) * np.sqrt(covariance[own])
        return np.asarray(mean + scores[:, base] + cells)
    both = covariance[np.ix_(base, base)] + covariance[np.ix_(own, own)]
    cross = covariance[np.ix_(base, own)]
    values, vectors = np.linalg.eigh(both + cross + cross.T)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(mean + random.standard_normal((_DRAWS, len(mean))) @ root.T)


def _correlation(one: FloatArray, two: FloatArray) -> FloatArray:
    """Return the correlation of each draw."""
    one, two = (each - each.mean(axis=1, keepdims=True) for each in (one, two))
    size = np.sqrt((one**2).sum(axis=1) * (two**2).sum(axis=1))
    return np.asarray((one * two).sum(axis=1) / np.maximum(size, 1e-300))
