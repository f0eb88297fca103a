"""Scores in categories, and in criteria, taken together: how far the orders agree.

The fit shrinks all categories toward one common score alike. For correlations that is taken out
again: of each item there remains what its judgments say, normal, with precision Λ_i and mean
Λ_i⁻¹ h_i, and to that scores t_i ~ N(0, Σ) with any correlation are fitted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, TextArray
from aggcal.aggregation.effects import Correlations
from aggcal.models.general.design import Block

_MOST_CATEGORIES = 20
"""Categories up to which each is held against each: more are no table that anybody reads."""
_FEWEST_ITEMS = 4
"""Items that were compared in both categories: of fewer, a correlation says nothing."""
_LEAST = 1e-6
"""Least precision, relative to the prior's, that is taken for something: below is rounding."""
_WIDE = 2.0
"""Prior standard deviation of the inverse hyperbolic tangent of a correlation: it matters only
where the data would have the correlation be 1."""
_STEP = 1e-3
"""Change of a parameter by which second derivatives are taken."""


def correlations(
    ids: TextArray,
    block: Block,
    unknowns: FloatArray,
    covariance: FloatArray,
    sds: tuple[float, float],
) -> Correlations | None:
    """Return the correlations of s + δ between categories.

    Parameters
    ----------
    ids, block
        The categories, and where what items do in them stands.
    unknowns, covariance
        Posterior means and covariance of all unknowns; the latter a matrix or its diagonal.
    sds
        Prior standard deviations of the scores, and of what items do in categories.
    """
    if not 1 < len(ids) <= _MOST_CATEGORIES:
        return None
    precision, pull, seen = _evidence(len(ids), block, unknowns, covariance, sds)
    shape = len(ids), len(ids)
    values, errors = np.full(shape, np.nan), np.full(shape, np.nan)
    for a in range(len(ids)):
        values[a, a], errors[a, a] = 1.0, 0.0
        for b in range(a):
            both, pair = seen[:, a] & seen[:, b], np.array([a, b])
            if both.sum() < _FEWEST_ITEMS:
                continue
            parts = precision[both][:, pair[:, None], pair], pull[both][:, pair]
            z, se = _fitted(*parts, float(np.hypot(*sds)))
            values[a, b] = values[b, a] = np.tanh(z)
            errors[a, b] = errors[b, a] = se
    return Correlations(ids, values, errors)


def _evidence(
    number: int,
    block: Block,
    unknowns: FloatArray,
    covariance: FloatArray,
    sds: tuple[float, float],
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return Λ_i and h_i of every item, and where it was compared, items by categories."""
    n, (sd, own_sd) = int(block.item.max()) + 1, sds
    seen = np.zeros((n, number), dtype=bool)
    seen[block.item, block.group] = True
    mean = np.tile(unknowns[:n], (number, 1))
    mean[block.group, block.item] += unknowns[block.where]
    posterior = _blocks(block, seen, covariance, own_sd)
    centred = (mean - mean.mean(axis=1, keepdims=True)).T
    alike = sd**2 * np.ones((number, number)) + own_sd**2 * np.eye(number)
    prior = np.linalg.inv((1.0 - 1.0 / n) * alike)
    whole = np.linalg.inv(posterior)
    values, vectors = np.linalg.eigh(whole - prior)
    values = np.where(values > _LEAST * np.abs(prior).max(), values, 0.0)
    precision = (vectors * values[:, None, :]) @ vectors.transpose(0, 2, 1)
    return precision, (whole @ centred[:, :, None])[:, :, 0], seen


def _blocks(block: Block, seen: BoolArray, covariance: FloatArray, own_sd: float) -> FloatArray:
    """Return the posterior covariance of each item's scores, about the mean of each category."""
    (n, number), own = seen.shape, np.arange(block.begin, block.end)
    if covariance.ndim == 1:  # of many items: what they share is next to nothing
        found = np.tile(covariance[:n, None, None], (1, number, number))
        more = np.full((n, number), own_sd**2)
        more[block.item, block.group] = covariance[own]
        found[:, np.arange(number), np.arange(number)] += more
        return found
    every, cell = np.tile(np.arange(n), number), block.group * n + block.item
    joint = covariance[np.ix_(every, every)]
    joint[np.ix_(cell, cell)] += covariance[np.ix_(own, own)]
    cross = covariance[np.ix_(every, own)]
    joint[:, cell] += cross
    joint[cell] += cross.T
    unseen = np.flatnonzero(~seen.T.ravel())
    joint[unseen, unseen] += own_sd**2
    # The mean of each category is a convention: only its prior knows it.
    table = joint.reshape(number, n, number, n)
    table = table - table.mean(axis=1, keepdims=True)
    table = table - table.mean(axis=3, keepdims=True)
    return np.asarray(np.einsum("aibi->iab", table))


def _fitted(precision: FloatArray, pull: FloatArray, sd: float) -> tuple[float, float]:
    """Return the inverse hyperbolic tangent of the correlation, and its standard error."""
    from scipy.optimize import minimize

    def loss(theta: FloatArray) -> float:
        return _loss(theta, precision, pull, sd)

    best = minimize(loss, np.zeros(3), method="L-BFGS-B", bounds=[(-6.0, 3.0)] * 2 + [(-6.0, 6.0)])
    steps = _STEP * np.eye(3)
    bend = np.array(
        [
            [
                loss(best.x + a + b) - loss(best.x + a - b) - loss(best.x - a + b)
                + loss(best.x - a - b)
                for b in steps
            ]
            for a in steps
        ]
    ) / (4.0 * _STEP**2)  # fmt: skip
    values, vectors = np.linalg.eigh(bend)
    along = np.square(vectors[2]) / np.maximum(values, 1e-3)
    # Fisher's 1/(n − 3), where the curvature has 1/n.
    few = len(pull) / (len(pull) - 3.0)
    return float(best.x[2]), float(np.sqrt(few * along.sum()))


def _loss(theta: FloatArray, precision: FloatArray, pull: FloatArray, sd: float) -> float:
    """Minus the log posterior of log spreads, over sd, and of the correlation.

    Beforehand, log spreads are N(0, 1), and the inverse hyperbolic tangent of the correlation is
    N(0, 2²).
    """
    one, two = sd * np.exp(theta[:2])
    rho = np.tanh(theta[2])
    sigma = np.array([[one**2, rho * one * two], [rho * one * two, two**2]])
    inner = np.eye(2) + precision @ sigma
    # (Λ + Σ⁻¹)⁻¹ = Σ (I + Λ Σ)⁻¹, which needs no inverse of Σ.
    spread = sigma @ np.linalg.solve(inner, pull[:, :, None])
    fit = 0.5 * float((pull[:, :, None] * spread).sum())
    size = 0.5 * float(np.log(np.linalg.det(inner)).sum())
    prior = 0.5 * float(theta[:2] @ theta[:2]) + 0.5 * float(theta[2] / _WIDE) ** 2
    return size - fit + prior


def weighted(
    block: Block, weights: tuple[float, ...], unknowns: FloatArray, n: int
) -> tuple[FloatArray, Any]:
    """Return the weighted mean of each item's scores by criterion, and the map to it.

    The weights add up to 1: it is s_i + Σ_c w_c δ_ic, with δ_ic = 0 where nobody compared the item.
    """
    from scipy import sparse

    own = np.arange(block.begin, block.end)
    rows, columns = np.r_[np.arange(n), block.item], np.r_[np.arange(n), own]
    values = np.r_[np.ones(n), np.array(weights)[block.group]]
    map_ = sparse.csr_array((values, (rows, columns)), shape=(n, len(unknowns)))
    found = np.asarray(map_ @ unknowns)
    return found - found.mean(), map_


def weighted_covariance(
    block: Block, weights: tuple[float, ...], map_: Any, covariance: FloatArray, own_sd: float
) -> FloatArray:
    """Return the covariance of the weighted means.

    A criterion in which nobody compared an item adds what is known of it beforehand.
    """
    n, share = map_.shape[0], np.square(weights)
    known = np.bincount(block.item, share[block.group], n)
    unknown = own_sd**2 * (share.sum() - known)
    if covariance.ndim == 1:
        return np.asarray(map_.power(2) @ covariance + unknown)
    return np.asarray((map_ @ (map_ @ covariance).T) + np.diag(unknown))
