r"""What anchors tell of scores: their level, their scale, and how much of the model to keep.

    truth ≈ centre + slope (base − centre) + weight · residual + shift

The base is a score that was made without anchors, the residual is what the model says beyond it. A
few anchors tell the level best and the scale worst, so each is moved only as far as they are clear
about it: what chance may explain of the shift is taken off, and a slope within two standard errors
of 1 is 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.text import brief
from aggcal.calibration.anchors import Anchors, shrunk_mean

_PSEUDO_ANCHORS = 6.0
"""Anchors that a weight of 0 counts as: more make few anchors matter less. Between 3
and 15, errors on real and simulated data differed by 3% at most."""

_GUARD = 4.0
"""Squared standard errors that are taken off the square of what a slope differs from 1 by. On
Reading Level with 20 anchors, 1 costs 2% of the error and 4 nothing; on Dots with 10, where the
slope is wrong by a third, 4 gains 96% of what 1 does."""

_BEYOND = 0.25
"""The share of the anchors' range by which their slope is taken to hold beyond it. With more, a few
items far above all anchors are moved far on the word of the others; with less, ten anchors do not
reach the ends of an even range."""

_FADED = 2.0 / 3.0
"""The share of that wider range after which nothing of the slope is left: one range of the anchors.
In populations most anchors are small, and what they show of the scale says nothing of the giants:
on Country Population with nine anchors it took a fifth off the error. With less, scores just beyond
the anchors lose a scale that is right."""

_OTHER_UNIT = 1.0
"""What a slope must exceed 1 by to be a change of unit, which holds everywhere, and no correction
of a scale. Corrections of less than a factor of 2 are common, and doubtful beyond the anchors."""

_PARAMETERS = 3
"""Level, slope and weight: what the errors of a fit lose in degrees of freedom."""

_FEWEST_FOR_SLOPE = 5
"""Anchors that a slope is estimated from: of fewer, its error is as large as itself."""

_SCARCE = 3.0
"""The factor of a variance estimated from two degrees of freedom or fewer, whose reciprocal has no
mean: a larger one ignores slopes that six anchors show."""

_EXACT, _TINY = 1e-12, 1e-100
"""Shares and sums below these are rounding: they keep divisions from failing where a residual or a
base is the same for all anchors."""

Numbers: TypeAlias = FloatArray | float


@dataclass(frozen=True, eq=False)
class Tuned:
    """What a fit to anchors found; for one fit numbers, for several columns of them."""

    weight: FloatArray
    slope: FloatArray
    centre: FloatArray
    shift: FloatArray
    low: FloatArray
    high: FloatArray

    __repr__ = brief

    def __call__(self, base: FloatArray, residual: Numbers = 0.0) -> FloatArray:
        """Return the tuned scores of items.

        Beyond ``low`` and ``high`` the slope fades: a scale that anchors show among many small
        scores says nothing of a few large ones.
        """
        within = np.clip(base, self.low, self.high)
        beyond = np.abs(base - within) / (_FADED * (self.high - self.low) + _TINY)
        bent = (self.slope - 1.0) * (within - self.centre) * np.maximum(1.0 - beyond, 0.0)
        return np.asarray(base + bent + self.weight * residual + self.shift)

    def columns(self, base: FloatArray, residual: Numbers) -> FloatArray:
        """Return the tuned scores of items along the last axis, of several fits."""
        parts = (self.weight, self.slope, self.centre, self.shift, self.low, self.high)
        return Tuned(*(part[..., None] for part in parts))(base, residual)


@dataclass(frozen=True, eq=False)
class Untuned:
    """Scores of all items before anchors are looked at.

    Parameters
    ----------
    base
        What is kept in any case.
    residual
        What the model says beyond it, of which anchors tell the share to keep; None where anchors
        only tell the level, so that the order of the scores stays.
    least
        The least share, below 0 where the base has some of the model in it that can be taken out.
    """

    base: FloatArray
    residual: FloatArray | None = None
    least: float = 0.0

    __repr__ = brief

    def features(self, where: IntArray) -> tuple[FloatArray, FloatArray | None]:
        """Return base and residual of some items."""
        return self.base[where], None if self.residual is None else self.residual[where]

    def tuned(self, anchors: Anchors) -> Tuned:
        """Fit to anchors.

        Examples
        --------
        >>> base = np.arange(20.0)
        >>> every = np.arange(20)
        >>> found = Untuned(base, np.zeros(20)).tuned((every, 0.5 * base + 3.0))
        >>> round(float(found.slope), 6), found(np.array([10.0])).round(6)
        (0.5, array([8.]))
        """
        where, truth = anchors
        return tune(*self.features(where), truth, self.least)

    def values(self, anchors: Anchors) -> FloatArray:
        """Return the scores of all items, tuned to anchors."""
        return self.tuned(anchors)(self.base, 0.0 if self.residual is None else self.residual)


def tune(
    base: FloatArray, residual: FloatArray | None, truth: FloatArray, least: float = 0.0
) -> Tuned:
    """Fit truths of anchors, which are along the last axis; other axes are fits of their own.

    Parameters
    ----------
    base, residual, truth
        Of each anchor. Without residuals only the level is fitted.
    least
        The least weight.
    """
    error = truth - base
    none = np.zeros(error.shape[:-1])
    if residual is None:
        return Tuned(none, none + 1.0, none, np.asarray(shrunk_mean(error)), none, none)
    n = base.shape[-1]
    x, r, y = (part - part.mean(axis=-1, keepdims=True) for part in (base, residual, error))
    xx, xr, xy = (_product(x, other) + _TINY for other in (x, r, y))
    pseudo = _PSEUDO_ANCHORS / n * _product(r, r) + _EXACT * xx
    own, wanted = _product(r, r) + pseudo, _product(r, y)
    bent = none
    if n >= _FEWEST_FOR_SLOPE:
        size = np.maximum(xx * own - np.square(xr), _EXACT * xx * own)
        bent, weight = (xy * own - xr * wanted) / size, (xx * wanted - xr * xy) / size
        left = y - bent[..., None] * x - weight[..., None] * r
        freedom = n - _PARAMETERS
        variance = _product(left, left) / freedom * own / size
        bent = _guarded(bent, variance * (freedom / (freedom - 2) if freedom > 2 else _SCARCE))  # noqa: PLR2004
    weight = np.clip((wanted - bent * xr) / own, least, 1.0 + np.maximum(bent, 0.0))
    left = error - bent[..., None] * x - weight[..., None] * residual
    ends = base.min(axis=-1), base.max(axis=-1)
    beyond = np.where(bent > _OTHER_UNIT, np.inf, _BEYOND * (ends[1] - ends[0]))
    shift = np.asarray(shrunk_mean(left))
    return Tuned(weight, 1.0 + bent, base.mean(axis=-1), shift, ends[0] - beyond, ends[1] + beyond)


def _guarded(bent: FloatArray, variance: FloatArray) -> FloatArray:
    """Take off what chance may explain, and never turn the scores round."""
    square = np.square(bent) + _TINY
    return np.maximum(bent * np.maximum(0.0, 1.0 - _GUARD * variance / square), -1.0)


def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray((a * b).sum(axis=-1))


def level_of(values: FloatArray, anchors: Anchors | None) -> float:
    """Return what anchors move all of some scores by; 0 without anchors.

    Examples
    --------
    >>> level_of(np.array([1.0, 2.0, 4.0]), (np.array([0, 1, 2]), np.array([6.0, 7.0, 9.0])))
    5.0
    """
    return 0.0 if anchors is None else float(Untuned(values).tuned(anchors).shift)
