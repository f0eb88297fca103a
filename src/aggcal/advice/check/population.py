"""What annotators are like: the posterior of each on a grid of slopes and lapses.

An annotator answers by λ/2 + (1 − λ) F(γ · gap): who is honest has a slope γ above 0, who guesses
γ = 0, who answers the other way round γ below 0; λ is the share of answers given without looking.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logsumexp

from aggcal._core.arrays import FloatArray
from aggcal.advice.check.cells import Cells

HONEST, GUESSING, REVERSED = 0, 1, 2
_SLOPES = np.geomspace(0.1, 7.0, 11)
_LAPSES = np.array([0.0, 0.12, 0.3])
SLOPE = np.concatenate([np.repeat(_SLOPES, len(_LAPSES)), [0.0], -_SLOPES])
LAPSE = np.concatenate([np.tile(_LAPSES, len(_SLOPES)), np.zeros(1 + len(_SLOPES))])
KIND = np.repeat([HONEST, GUESSING, REVERSED], [len(_SLOPES) * len(_LAPSES), 1, len(_SLOPES)])
_EACH, _WHICH = np.unique(SLOPE.astype(np.float32), return_inverse=True)
_HALVES, _LOOKED = (LAPSE / 2.0).astype(np.float32), (1.0 - LAPSE).astype(np.float32)
_LEAST = np.float32(1e-6)
"""Chance of any answer, at least. Tables of cells by grid are in single precision: they are large,
and sums of a thousand logarithms are exact to a thousandth."""
_SPREADS = 0.25, 0.4, 0.6, 0.85, 1.1
"""Sds of log γ that are tried."""
_USUAL, _HOW_USUAL = 0.45, 0.5
"""Prior of the log of that sd: few annotators tell little of it."""
_BEFOREHAND = np.array([4.0, 1.0, 1.0, 0.0, 0.0])
"""Annotators that the prior counts as, by kind: honest without and with lapses, guessing,
reversed."""
_MOST_REVERSED = 0.4
"""Share of them at most: with more nobody could say who is reversed."""
_ROUNDS = 20  # of EM, whose shares have settled


def _log_densities(spread: float) -> FloatArray:
    density = -0.5 * np.square(np.log(_SLOPES) / spread)
    return np.asarray(density - logsumexp(density))


def log_prior(likelihood: FloatArray) -> FloatArray:
    """Return the log prior on the grid that explains annotators best, by EM.

    Parameters
    ----------
    likelihood
        The log-likelihood of each annotator (row) at each point of the grid (column).
    """
    honest = likelihood[:, KIND == HONEST].reshape(len(likelihood), -1, len(_LAPSES))
    best, found = -np.inf, np.zeros(len(SLOPE))
    for spread in _SPREADS:
        density = _log_densities(spread)
        parts = np.column_stack(
            [
                logsumexp(honest + density[:, None], axis=1),
                likelihood[:, KIND == GUESSING],
                logsumexp(likelihood[:, KIND == REVERSED] + density, axis=1),
            ]
        )
        top = parts.max(axis=1, keepdims=True)
        relative, shares = np.exp(parts - top), np.array([0.6, 0.17, 0.17, 0.03, 0.03])
        for _ in range(_ROUNDS):
            each = relative * shares
            each = (each / each.sum(axis=1, keepdims=True)).sum(axis=0) + _BEFOREHAND
            each[-1] = min(each[-1], _MOST_REVERSED * each.sum())
            shares = each / each.sum()
        shares = np.maximum(shares, 1e-4)
        value = float((np.log(relative @ shares) + top[:, 0]).sum() + _BEFOREHAND @ np.log(shares))
        value -= 0.5 * (np.log(spread / _USUAL) / _HOW_USUAL) ** 2
        if value > best:
            best, lapses = value, np.log(shares[: len(_LAPSES)])
            guess, turned = np.log(shares[len(_LAPSES) :])
            found = np.concatenate([(density[:, None] + lapses).ravel(), [guess], density + turned])
    return found


def chances(cells: Cells, scores: FloatArray, habit: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the chance that the lower item wins, cells by grid, and its slope in the logit."""
    habits = (habit[cells.who] * cells.side).astype(np.float32)
    logit = np.outer(cells.gap(scores).astype(np.float32), _EACH) + habits[:, None]
    curve = expit(logit)[:, _WHICH]
    chance = np.clip(_HALVES + _LOOKED * curve, _LEAST, 1.0 - _LEAST)
    return chance, _LOOKED * curve * (1.0 - curve)


def log_likelihood(cells: Cells, chance: FloatArray, won: FloatArray) -> FloatArray:
    """Return the log-likelihood of each annotator at each point of the grid."""
    lost = (cells.evidence * (cells.number - won)).astype(np.float32)
    logs = (cells.evidence * won).astype(np.float32)[:, None] * np.log(chance)
    logs += lost[:, None] * np.log1p(-chance)
    return np.asarray(cells.by_who @ logs)


def normalised(logs: FloatArray) -> FloatArray:
    """Return probabilities that add up to 1 along the last axis."""
    found = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(found / found.sum(axis=-1, keepdims=True))
