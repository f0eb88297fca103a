"""The unit of the scores, which the reliabilities could take over: what is uncertain within it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np

from aggcal._core.arrays import FloatArray, dot

_LEAST_ROOM = 1e-12
"""Smallest variance of the typical reliability that is divided by."""


def room_of(shares: FloatArray, variances: FloatArray) -> float:
    """Return Var(Σ w ρ), of shares w and strengths ρ with these variances.

    Examples
    --------
    >>> room_of(np.array([0.5, 0.5]), np.array([0.1, 0.3]))
    0.1
    """
    return max(dot(shares**2, variances), _LEAST_ROOM)


class Forms(Protocol):
    """Annotators integrated out."""

    def forms(
        self, values: FloatArray, covariance: FloatArray, along: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return b'Cb and b'x for each annotator, b = Σ_k values_uk g_uk."""
        ...


class UnitHeld(ABC):
    """A curvature of which the unit is held by Σ_u w_u E ρ_u = 1."""

    unit: FloatArray
    """v/√Var(Σ w ρ)."""
    room: float
    """Var(Σ w ρ)."""

    @property
    @abstractmethod
    def annotators(self) -> Forms:
        """What sums over the annotators' nodes."""

    def tilt(self, off: float, step: FloatArray, sd: float, shares: FloatArray) -> float:
        """Return how the tilt moves in a step of Newton's method, that of the constraint.

        It gives back what the unknowns move the unit by.

        Parameters
        ----------
        off
            How far the typical reliability is above 1.
        step
            Of the unknowns.
        sd, shares
            The spread of the reliabilities, and the share of the judgments of each annotator: they
            bound how far the tilt may move.
        """
        found = -off / self.room - dot(self.unit, step) / np.sqrt(self.room)
        most = 0.5 / (sd**2 * float(shares.max()))
        return float(np.clip(found, -most, most))

    def variances_of(
        self, values: FloatArray, own: FloatArray, with_unit: FloatArray, covariance: FloatArray
    ) -> FloatArray:
        """Return Var x_u of an annotator's quantity x, the unknowns uncertain and the unit held.

        Parameters
        ----------
        values
            p_k (x_k − x̄): Σ_k values g_uk is how x̄_u moves with the unknowns.
        own
            Variance with the unknowns held.
        with_unit
            w_u Cov(x_u, ρ_u).
        covariance
            Of the unknowns: a matrix, or its diagonal.
        """
        toward = self.unit * np.sqrt(self.room)
        carried = covariance @ toward if covariance.ndim > 1 else covariance * toward
        square, along = self.annotators.forms(values, covariance, carried)
        share = with_unit / self.room
        total = square - 2.0 * share * along + share**2 * dot(toward, carried)
        return np.asarray(np.maximum(total + own - with_unit * share, 1e-12))
