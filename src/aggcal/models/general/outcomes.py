r"""How likely each answer is: left, right and tie, in one or more grades.

With η the advantage of the left item and ν the readiness to call a tie, the answers have weights

    left by g grades: exp(g η/2 + κ_g),   right: exp(−g η/2 + κ_g),   tie: exp(ν),   κ_1 = 0.

One grade is Davidson's model; without ties it is Bradley–Terry's, P(left) = F(η). More grades are
the model of adjacent categories. `rao_kupper` is the other usual model of ties.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from aggcal._core.arrays import FloatArray

_NEVER = -1e300
"""A readiness below this is none: the answers are left and right only."""
_WIDEST, _NARROWEST = 5.0, 30.0
"""Largest logarithm of Rao and Kupper's threshold, beyond which every answer is a tie to rounding,
and minus the smallest, beyond which none is."""

_POINTS, _HALVINGS = 8, 30
_LEAST_TYPICAL, _MOST_TYPICAL = -12.0, 8.0
"""Between which a typical readiness is looked for."""


class Answers(NamedTuple):
    """What was answered, row by row: sums of weights."""

    weight: FloatArray
    lean: FloatArray
    """Half the grades for the left item, less half those for the right one."""
    tied: FloatArray


class RowTerms(NamedTuple):
    """The loss of each row, and its derivatives in the advantage η and the readiness ν."""

    loss: FloatArray
    pull: FloatArray
    curve: FloatArray
    tie_pull: FloatArray
    tie_curve: FloatArray
    cross: FloatArray


Outcomes = Callable[[FloatArray, FloatArray, Answers, FloatArray], RowTerms]
"""Of advantages, readiness, answers and the weights exp(κ_g) of the grades."""


def adjacent(
    advantage: FloatArray, readiness: FloatArray, answers: Answers, grades: FloatArray
) -> RowTerms:
    """Return the terms of adjacent categories: Davidson's where there is one grade.

    The loss leaves out what does not depend on η and ν: Σ κ_g of the answers.

    Examples
    --------
    Without ties and with one grade it is the logistic loss:

    >>> won = Answers(np.ones(1), np.full(1, 0.5), np.zeros(1))
    >>> found = adjacent(np.array([1.0]), np.array([-np.inf]), won, np.ones(1))
    >>> round(float(found.loss[0]), 6), round(float(np.log1p(np.exp(-1.0))), 6)
    (0.313262, 0.313262)
    """
    w = answers.weight
    chances = _chances(advantage, readiness, grades)
    loss = w * chances.log_total - answers.lean * advantage
    loss = loss - answers.tied * np.where(readiness > _NEVER, readiness, 0.0)
    mean, tie = chances.mean, chances.tie
    return RowTerms(
        loss,
        w * mean - answers.lean,
        w * (chances.square - mean * mean),
        w * tie - answers.tied,
        w * tie * (1.0 - tie),
        -w * tie * mean,
    )


class _Chances(NamedTuple):
    log_total: FloatArray
    mean: FloatArray
    """Expected lean: E a, a = ±g/2."""
    square: FloatArray
    tie: FloatArray
    levels: list[FloatArray]
    """Probability of each grade, for either side."""


def _chances(advantage: FloatArray, readiness: FloatArray, grades: FloatArray) -> _Chances:
    top, size = len(grades), np.abs(advantage)
    # All is divided by the largest weight of a decided answer, exp(top |η|/2).
    small = np.exp(-0.5 * size)
    tie = np.exp(np.minimum(readiness, 600.0)) * small**top
    total, gap, square = tie.copy(), np.zeros_like(size), np.zeros_like(size)
    levels = []
    for g, share in enumerate(grades.tolist(), 1):
        ahead, behind = share * small ** (top - g), share * small ** (top + g)
        total += ahead + behind
        gap += 0.5 * g * (ahead - behind)
        square += 0.25 * g * g * (ahead + behind)
        levels.append(ahead + behind)
    return _Chances(
        0.5 * top * size + np.log(total),
        np.sign(advantage) * gap / total,
        square / total,
        tie / total,
        [level / total for level in levels],
    )


def adjacent_probabilities(
    advantage: FloatArray, readiness: FloatArray, grades: FloatArray
) -> FloatArray:
    """Return the probabilities of left, right and tie, rows by answers; grades are added up.

    Examples
    --------
    >>> adjacent_probabilities(np.zeros(1), np.zeros(1), np.ones(1)).round(3)
    array([[0.333, 0.333, 0.333]])
    """
    top, size = len(grades), np.abs(advantage)
    small = np.exp(-0.5 * size)
    tie = np.exp(np.minimum(readiness, 600.0)) * small**top
    ahead = sum(share * small ** (top - g) for g, share in enumerate(grades.tolist(), 1))
    behind = sum(share * small ** (top + g) for g, share in enumerate(grades.tolist(), 1))
    left = np.where(advantage >= 0.0, ahead, behind)
    right = np.where(advantage >= 0.0, behind, ahead)
    found = np.stack([left, right, tie])
    return np.asarray(found / found.sum(axis=0)).T


def grade_terms(
    advantage: FloatArray, readiness: FloatArray, grades: FloatArray
) -> list[FloatArray]:
    """Return the probability of each grade, for either side."""
    return _chances(advantage, readiness, grades).levels


def rao_kupper(
    advantage: FloatArray,
    readiness: FloatArray,
    answers: Answers,
    grades: FloatArray,  # noqa: ARG001  # there is one
) -> RowTerms:
    r"""Return the terms of Rao and Kupper: P(left) = F(η − c), P(right) = F(−η − c), c = exp(ν).

    Curvatures in ν are expected ones, which are positive.

    Examples
    --------
    >>> won = Answers(np.ones(1), np.full(1, 0.5), np.zeros(1))
    >>> found = rao_kupper(np.array([1.0]), np.array([0.0]), won, np.ones(1))
    >>> round(float(np.exp(-found.loss[0])), 3)
    0.5
    """
    cut = _cut(readiness)
    left, right, tie = rao_kupper_probabilities(advantage, readiness).T
    won = 0.5 * (answers.weight - answers.tied) + answers.lean
    lost = 0.5 * (answers.weight - answers.tied) - answers.lean
    loss = won * np.logaddexp(0.0, cut - advantage) + lost * np.logaddexp(0.0, cut + advantage)
    # P(tie) = F(c − η) F(c + η) (1 − exp(−2c)).
    beyond = np.logaddexp(0.0, advantage - cut) + np.logaddexp(0.0, -advantage - cut)
    loss = loss + answers.tied * (beyond - np.log(-np.expm1(-2.0 * cut)))
    steep_left, steep_right = left * (1.0 - left), right * (1.0 - right)
    # Derivatives of the three probabilities' logarithms in η and in c.
    in_eta = (1.0 - left), -(1.0 - right), right - left
    narrow = 2.0 * np.exp(-2.0 * cut) / -np.expm1(-2.0 * cut)
    in_cut = -(1.0 - left), -(1.0 - right), left + right + narrow
    counts = won, lost, answers.tied
    w, chances = answers.weight, (left, right, tie)
    pull = -sum(c * d for c, d in zip(counts, in_eta, strict=True))
    cut_pull = -sum(c * d for c, d in zip(counts, in_cut, strict=True))
    curve = won * steep_left + lost * steep_right
    curve = curve + answers.tied * (steep_left + steep_right)
    cut_curve = w * sum(p * d * d for p, d in zip(chances, in_cut, strict=True))
    cross = w * sum(p * d * e for p, d, e in zip(chances, in_eta, in_cut, strict=True))
    return RowTerms(
        np.asarray(loss),
        np.asarray(pull),
        np.asarray(curve),
        np.asarray(cut * cut_pull),
        np.asarray(cut * cut * cut_curve),
        np.asarray(cut * cross),
    )


def rao_kupper_probabilities(advantage: FloatArray, readiness: FloatArray) -> FloatArray:
    """Return the probabilities of left, right and tie, rows by answers.

    Examples
    --------
    >>> rao_kupper_probabilities(np.zeros(1), np.zeros(1)).round(3)
    array([[0.269, 0.269, 0.462]])
    """
    cut = _cut(readiness)
    tie = -np.expm1(-2.0 * cut) * expit(cut - advantage) * expit(cut + advantage)
    return np.stack([expit(advantage - cut), expit(-advantage - cut), tie]).T


def typical_readiness(
    share: float, outcomes: Outcomes, grades: FloatArray, gap_sd: float, sd: float
) -> float:
    """Return the mean readiness at which a share of the answers are ties.

    Parameters
    ----------
    share
        That share.
    outcomes, grades
        How likely each answer is.
    gap_sd, sd
        Spreads of the advantages and of the readiness, both taken to be normal.

    Examples
    --------
    >>> round(typical_readiness(1 / 3, adjacent, np.ones(1), 0.0, 0.0), 3)
    0.0
    """
    return _typical(share, outcomes, tuple(grades.tolist()), gap_sd, sd)


@lru_cache(maxsize=32)  # the same study is begun with several times
def _typical(
    share: float, outcomes: Outcomes, levels: tuple[float, ...], gap_sd: float, sd: float
) -> float:
    grades = np.array(levels)
    points, weights = np.polynomial.hermite_e.hermegauss(_POINTS)
    advantage, off = (each.ravel() for each in np.meshgrid(gap_sd * points, sd * points))
    chance = np.outer(weights, weights).ravel() / weights.sum() ** 2
    low, high = _LEAST_TYPICAL, _MOST_TYPICAL
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if outcomes is rao_kupper:
            found = rao_kupper_probabilities(advantage, middle + off)
        else:
            found = adjacent_probabilities(advantage, middle + off, grades)
        low, high = (low, middle) if chance @ found[:, 2] > share else (middle, high)
    return 0.5 * (low + high)


def _cut(readiness: FloatArray) -> FloatArray:
    return np.asarray(np.exp(np.clip(readiness, -_NARROWEST, _WIDEST)))
