"""The unit of the scores, which the reliabilities could take over: what is uncertain within it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol

import numpy as np

from aggcal._core.arrays import FloatArray, dot

_LEAST_ROOM = 1e-12
"""Smallest variance of the typical reliability that is divided by."""
_FURTHEST, _NEAR = 0.5, 0.05
"""How far a step of the tilt may move the reliability of anybody: further, their curvature has
changed. Up to a step of the unknowns of so many spreads of the scores it is reckoned from what
their judgments leave open; before, as if nobody had judged: first steps would tilt those who judge
most out of their wits. A wider bound later on saves many steps where few annotators judge much."""


class Room(NamedTuple):
    """How far the unit gives way to a tilt."""

    room: float
    """Var(Σ w ρ), of shares w and strengths ρ."""
    give: float
    """max w_u Var(ρ_u): how far the tilt moves the reliability that it moves most."""
    most_give: float
    """The same before anybody judged."""


NO_UNIT = Room(1.0, 1.0, 1.0)
"""Where there is nothing to hold."""


def room_of(shares: FloatArray, variances: FloatArray, sd: float) -> Room:
    """Return how far the unit gives way, of strengths with these variances, sd² beforehand.

    Examples
    --------
    >>> room_of(np.array([0.5, 0.5]), np.array([0.1, 0.3]), 1.0)
    Room(room=0.1, give=0.15, most_give=0.5)
    """
    room = max(dot(shares**2, variances), _LEAST_ROOM)
    return Room(room, float((shares * variances).max()), sd**2 * float(shares.max()))


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
    gives: Room

    @property
    def room(self) -> float:
        """Var(Σ w ρ)."""
        return self.gives.room

    @property
    @abstractmethod
    def annotators(self) -> Forms:
        """What sums over the annotators' nodes."""

    def tilt(self, off: float, step: FloatArray, far: float) -> float:
        """Return how the tilt moves in a step of Newton's method, that of the constraint.

        It gives back what the unknowns move the unit by.

        Parameters
        ----------
        off
            How far the typical reliability is above 1.
        step
            Of the unknowns.
        far
            The largest of it, in spreads of the scores.
        """
        found = -off / self.room - dot(self.unit, step) / np.sqrt(self.room)
        give = self.gives.give if far < _NEAR else self.gives.most_give
        most = _FURTHEST / max(give, _LEAST_ROOM)
        return float(np.clip(found, -most, most))

    def carried(self, covariance: FloatArray) -> FloatArray:
        """Return what a unit of the tilt moves the unknowns by."""
        toward = self.unit * np.sqrt(self.room)
        return np.asarray(covariance @ toward if covariance.ndim > 1 else covariance * toward)

    def variances_of(
        self,
        values: FloatArray,
        own: FloatArray,
        with_unit: FloatArray,
        covariance: FloatArray,
        forms: tuple[FloatArray, FloatArray] | None = None,
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
        forms
            What `Forms.forms` makes of the values and of `carried`, where it is known.
        """
        toward, carried = self.unit * np.sqrt(self.room), self.carried(covariance)
        square, along = forms or self.annotators.forms(values, covariance, carried)
        share = with_unit / self.room
        total = square - 2.0 * share * along + share**2 * dot(toward, carried)
        return np.asarray(np.maximum(total + own - with_unit * share, 1e-12))
