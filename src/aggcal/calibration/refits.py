"""The shapes of a base, fitted again to one draw of the consensus after another.

Intervals of small studies take hundreds of draws. What is the same for all of them is worked out
once, and all bent lines, and all curves of random halves, are fitted together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.text import brief
from aggcal.calibration.bend import BENDS
from aggcal.calibration.isotonic import isotonic
from aggcal.calibration.shapes import CURVE, GROUPS, STEPS, MixedBase
from aggcal.calibration.within import deviations, levelled

_BAGS = 6
"""Curves that are averaged for each draw: more are smoother and take longer."""

_NO_WEIGHT = 1e-4
"""Shapes of less weight are left out: they cost time and change nothing."""


@dataclass(frozen=True, eq=False)
class Refits:
    """Fits the shapes of a base to y at other x, with their weights held.

    Examples
    --------
    >>> from aggcal.calibration.shapes import mixed_base
    >>> x, y = np.linspace(0.0, 1.0, 50), np.linspace(0.0, 2.0, 50)
    >>> again = Refits(mixed_base(x, y), y)
    >>> again(3.0 * x + 1.0)[[0, 25, 49]].round(2)
    array([0.  , 1.02, 2.  ])
    """

    base: MixedBase
    y: FloatArray
    seed: int = 0

    __repr__ = brief

    def __call__(self, x: FloatArray) -> FloatArray:
        """Fit the shapes to y at x, and evaluate them there."""
        order = np.argsort(x, kind="stable")
        ordered = x[order]
        if (ordered[1:] == ordered[:-1]).any():
            found = self.one_by_one(x)
        else:
            found = self._lines(x)
            if self._weights[CURVE]:
                found += self._weights[CURVE] * self._curve(x)
            if self._weights[STEPS]:
                found[order] += self._weights[STEPS] * isotonic(self.y[order], self._ones)[0]
            if self._weights[GROUPS]:
                found[order] += self._weights[GROUPS] * _groups(self.y[order])
        return levelled(found, self.y, self.base.component)

    def one_by_one(self, x: FloatArray) -> FloatArray:
        """Fit each shape by itself; this is for items whose places are equal."""
        found, part = np.zeros(len(x)), self.base.component
        for weight, fit in zip(self._weights.tolist(), self.base.fits, strict=False):
            if weight:
                found += weight * fit(x, self.y, _BAGS, self.seed, part).at(x)
        return found

    @cached_property
    def _weights(self) -> FloatArray:
        """The weight of each shape, 0 for those of next to none and those that were not fitted."""
        kept = np.where(self.base.weights >= _NO_WEIGHT, self.base.weights, 0.0)
        return np.append(kept / kept.sum(), np.zeros(GROUPS + 1 - len(kept)))

    @cached_property
    def _ones(self) -> FloatArray:
        return np.ones(len(self.y))

    @cached_property
    def _bent(self) -> IntArray:
        """The bent lines that have a weight."""
        return np.flatnonzero(self._weights[1 : 1 + len(BENDS)])

    @cached_property
    def _halves(self) -> IntArray:
        """Items of each half; they are the same ones for all draws."""
        random, n = np.random.default_rng(self.seed), len(self.y)
        return np.array([random.choice(n, max(2, n // 2), replace=False) for _ in range(_BAGS)])

    @cached_property
    def _steps_apart(self) -> FloatArray:
        """What keeps halves from sharing a block where all are fitted in one go."""
        apart = 2.0 * (float(np.ptp(self.y)) or 1.0)
        return np.asarray(apart * np.arange(_BAGS, dtype=np.float64)[:, None])

    def _lines(self, x: FloatArray) -> FloatArray:
        """Average the straight line and the bent ones."""
        scale, shares = float(x.std()), self._weights[: 1 + len(BENDS)]
        if not scale > 0.0:
            return np.full(len(x), shares.sum() * self.y.mean())
        u = (x - x.mean()) / scale
        z = np.empty((1 + len(self._bent), len(x)))
        z[0] = u
        np.expm1(np.array(BENDS)[self._bent, None] * u, out=z[1:])
        # A bend is steeper by a factor that a slope takes back; but for a c below 0 it falls.
        z[1:] *= np.sign(np.array(BENDS)[self._bent, None])
        z -= z.mean(axis=1, keepdims=True)
        part = self.base.component
        within = z if part is None else np.array([deviations(each, part) for each in z])
        scatter = np.square(within).sum(axis=1)
        slope = np.maximum(within @ self.y / np.where(scatter > 0.0, scatter, 1.0), 0.0)
        slope[scatter <= 0.0] = 0.0
        weights = shares[np.append(0, 1 + self._bent)]
        return np.asarray(shares.sum() * self.y.mean() + (weights * slope) @ z)

    def _curve(self, x: FloatArray) -> FloatArray:
        """Average centred isotonic curves of random halves (see `smooth_base.bagged`)."""
        halves = x[self._halves]
        order = np.argsort(halves, axis=1)
        places = np.take_along_axis(halves, order, axis=1).ravel()
        y = np.take_along_axis(self.y[self._halves], order, axis=1) + self._steps_apart
        fitted, starts = isotonic(y.ravel(), np.ones(y.size))
        knots = np.add.reduceat(places, starts[:-1]) / np.diff(starts)
        values = fitted[starts[:-1]]
        ends = np.searchsorted(starts[:-1], np.arange(_BAGS + 1) * y.shape[1])
        total = np.zeros(len(x))
        for k, apart in enumerate(self._steps_apart[:, 0].tolist()):
            own = slice(ends[k], ends[k + 1])
            total += np.interp(x, knots[own], values[own] - apart)
        return total / _BAGS


def _groups(y: FloatArray) -> FloatArray:
    """Fit two levels to ordered values (see `shapes`)."""
    n, total = len(y), np.cumsum(y)
    below = np.arange(1, n)
    low, high = total[:-1] / below, (total[-1] - total[:-1]) / (n - below)
    gained = below * (n - below) * np.square(np.maximum(high - low, 0.0))
    k = int(gained.argmax())
    if not gained[k] > 0.0:
        return np.full(n, y.mean())
    return np.repeat([low[k], high[k]], [k + 1, n - k - 1])
