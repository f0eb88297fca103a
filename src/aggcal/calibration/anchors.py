"""Anchors: items whose truth is known, and what they tell about the others."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, sqrt
from typing import TypeAlias

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray

Anchors: TypeAlias = tuple[IntArray, FloatArray]
"""Positions of items whose truth is known, and their truths."""

FEWEST_ANCHORS = 5
"""Anchors that tell anything: of fewer, neither a share nor its error can be estimated."""


_GUARD = 2.0
"""Squared standard errors that are taken off the square of a shift. Fewer let noise move scores
that have no common error; more leave some of a true shift of two or three standard errors."""


@dataclass(frozen=True)
class Gain:
    """What calibration gained on the anchors: the mean drop of the squared error, and its se.

    Anchors drawn at random make it an unbiased estimate for all items (the gain identity,
    ‖model − truth‖² − ‖calibrated − truth‖² = ‖r‖² − 2⟨r, truth − calibrated⟩ + …, item by item).
    """

    mean: float
    se: float
    n: int
    how: str = ""
    """How anchors that also tuned the scores were kept from measuring themselves."""


def gain_on_anchors(model: FloatArray, calibrated: FloatArray, truth: FloatArray) -> Gain:
    """Compare the squared errors of model and calibrated scores on anchors.

    Examples
    --------
    >>> found = gain_on_anchors(np.array([2.0, 4.0]), np.array([1.0, 3.0]), np.array([1.0, 3.0]))
    >>> found.mean, found.se
    (1.0, 0.0)
    """
    drop = np.square(model - truth) - np.square(calibrated - truth)
    n = len(drop)
    se = float(drop.std(ddof=1)) / sqrt(n) if n > 1 else inf
    return Gain(float(drop.mean()), se, n)


def shrunk_mean(values: FloatArray) -> FloatArray:
    """Return the mean along the last axis, shrunk towards 0 by as much of it as may be chance.

    Examples
    --------
    >>> float(shrunk_mean(np.array([-1.0, 1.2]))), float(shrunk_mean(np.full(9, 2.0)))
    (0.0, 2.0)
    """
    n, mean = values.shape[-1], values.mean(axis=-1)
    if n < 2:  # noqa: PLR2004
        return np.zeros_like(mean)
    noise_variance = _GUARD * values.var(axis=-1, ddof=1) / n
    square = np.maximum(np.square(mean), np.finfo(np.float64).tiny)
    return np.asarray(mean * np.maximum(0.0, 1.0 - noise_variance / square))


def conformal_radius(errors: FloatArray, level: float) -> float:
    """Return half the width of a split-conformal interval.

    With k anchors exchangeable with a new item, an interval of this radius holds the new item's
    truth with probability ``level`` at least, whatever the distribution; infinite where k is too
    small for the level.

    Examples
    --------
    >>> conformal_radius(np.arange(1.0, 20.0), 0.9), conformal_radius(np.arange(5.0), 0.9)
    (18.0, inf)
    """
    position = ceil(level * (len(errors) + 1) - 1e-9)
    if position > len(errors):
        return inf
    return float(np.sort(np.abs(errors))[max(position, 1) - 1])


def fewest_anchors(level: float) -> int:
    """Return how many anchors a finite conformal interval needs.

    Examples
    --------
    >>> fewest_anchors(0.95), fewest_anchors(0.9)
    (19, 9)
    """
    return ceil(level / (1.0 - level) - 1e-9)


def split(number: int, level: float, seed: int) -> tuple[IntArray, IntArray]:
    """Divide anchors into those that tune and those that measure; the latter come first.

    Examples
    --------
    >>> tune, measure = split(30, 0.95, 0)
    >>> len(tune), len(measure)
    (11, 19)
    """
    order = np.random.default_rng(seed).permutation(number)
    measuring = min(number, max(fewest_anchors(level), number // 2))
    return order[measuring:], order[:measuring]
