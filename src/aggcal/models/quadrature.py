"""Integrate reliabilities out by quadrature: the points, and the sums in NumPy.

The compiled sums (`_core.kernels`) are the same up to rounding, save where rows vary little.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray
from aggcal.models.beliefs import NODES, Beliefs
from aggcal.models.links import Link
from aggcal.models.rows import Rows

POINTS = np.array([0.0, 3**0.5, -(3**0.5)])
_POINT_WEIGHTS = np.array([2 / 3, 1 / 6, 1 / 6])
"""Where a reliability is looked at on either side, and the weights of that."""

GAPS, GAP_WEIGHTS = np.polynomial.hermite_e.hermegauss(5)
GAP_WEIGHTS = GAP_WEIGHTS / GAP_WEIGHTS.sum()
"""Where a row's gap is looked at: exact for polynomials of degree 9, good up to an sd of two."""

_MODE_STEPS = 50  # far more than any annotator took


@dataclass(frozen=True, eq=False)
class Point:
    """Where the reliabilities are integrated out, and how exactly."""

    scores: FloatArray
    row_sd: np.ndarray
    means: FloatArray
    precision: float
    shares: FloatArray
    """Logarithms of the shares of those who answer as asked, and the other way round."""
    hopeless: BoolArray | None
    close: float


@dataclass(frozen=True, eq=False)
class _Half:
    """The strengths of annotators if all answered as asked, or all the other way round."""

    rows: Rows
    link: Link
    point: Point
    gaps: FloatArray
    """Of each row, points by rows, in the direction of this half."""
    shares: FloatArray
    """Weights of those."""
    log_share: float
    """Logarithm of the share of such annotators."""

    def per_row(self, values: FloatArray) -> FloatArray:
        """Give each row what is its annotator's."""
        return np.repeat(values, np.diff(self.rows.starts))

    def by_annotator(self, values: FloatArray) -> FloatArray:
        """Add up points and rows."""
        return np.asarray(np.add.reduceat(values.sum(axis=0), self.rows.starts[:-1]))

    def find_modes(self, mode: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return where the modes are, nearly, the curvature there, and a step that is left."""
        for _ in range(_MODE_STEPS):
            _, pull, curve = self.link.terms(self.per_row(mode) * self.gaps)
            bend = self.point.precision + self.by_annotator(self.shares * curve * self.gaps**2)
            rise = self.by_annotator(self.shares * pull * self.gaps)
            rise -= self.point.precision * (mode - self.point.means)
            step = np.clip(rise / bend, -1.0, 1.0)
            if float((step**2 * bend).max()) < self.point.close:
                break
            mode = mode + step
        return mode, bend, step

    def look_at(self, strength: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return log posteriors of strengths, and what they pull rows and bend them by."""
        loss, pull, curve = self.link.terms(self.per_row(strength) * self.gaps)
        prior = 0.5 * self.point.precision * (strength - self.point.means) ** 2
        pulls = self.per_row(strength) * (self.shares * pull).sum(axis=0)
        curves = self.per_row(strength**2) * (self.shares * curve).sum(axis=0)
        return self.log_share - self.by_annotator(self.shares * loss) - prior, pulls, curves


def integrate(
    rows: Rows, link: Link, point: Point, modes: FloatArray
) -> tuple[Beliefs, FloatArray, FloatArray]:
    """Return the posterior of every reliability, and what its nodes pull rows and bend them by.

    ``modes``, annotators by halves, are where to look for the modes, and where they are found.
    """
    m, n = rows.n_annotators, len(rows)
    gap = point.scores[rows.winner] - point.scores[rows.loser]
    gaps, shares = gap + GAPS[:, None] * point.row_sd, GAP_WEIGHTS[:, None] * rows.weight
    nodes, logs = np.zeros((m, NODES)), np.full((m, NODES), -np.inf)
    pulls, curves = np.zeros((NODES, n)), np.zeros((NODES, n))
    for half, sign in enumerate((1.0, -1.0)):
        side = _Half(rows, link, point, sign * gaps, shares, point.shares[half])
        mode, bend, step = side.find_modes(modes[:, half])
        modes[:, half] = mode + step
        scale = 0.5 * np.log(point.precision / bend)
        for t, (at, weight) in enumerate(zip(POINTS, _POINT_WEIGHTS, strict=True)):
            k = half * len(POINTS) + t
            strength = mode + at / np.sqrt(bend)
            found, pull, curves[k] = side.look_at(strength)
            nodes[:, k], pulls[k] = sign * strength, sign * pull
            logs[:, k] = found + log(weight) + 0.5 * at**2 + scale
    if point.hopeless is not None:
        logs[point.hopeless, len(POINTS) :] = -np.inf
    most = logs.max(axis=1, keepdims=True)
    weights = np.where(logs > most - 700.0, np.exp(logs - most), 0.0)
    total = weights.sum(axis=1, keepdims=True)
    weights /= total
    return Beliefs(nodes, weights, float((most + np.log(total)).sum())), pulls, curves
