r"""What is fitted with the annotators integrated out: its force and its curvature at a state.

For reliabilities the likelihood does not change along (c·s, γ/c): the unit is fixed by a constraint
that the data determine,

    Σ_u w_u E ρ_u = 1,   w_u the share of the judgments that annotator u gave,

in which a reversed annotator counts with their strength. A tilt η of the prior means holds it,
μ_u = 1 + τ² η w_u, and the curvature gains vv'/Var(Σ w ρ), v = Σ_u w_u Cov_k(ρ, g_uk): what is
uncertain is so within the unit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, dot
from aggcal._core.text import brief
from aggcal._core.triangles import add_squares
from aggcal.aggregation.newton import definite_inverse
from aggcal.aggregation.solve.unit import NO_UNIT, Room, UnitHeld, room_of
from aggcal.models.beliefs import Population
from aggcal.models.crowd import Crowd
from aggcal.models.marginal import EXACT, Integrated
from aggcal.models.rows import Rows


@dataclass(frozen=True, eq=False)
class Curvature(UnitHeld):
    """The inverse posterior covariance of the scores at a point, the unit held."""

    integral: Integrated
    precision: FloatArray
    """Of the scores' prior, item by item."""
    unit: FloatArray
    """v/√Var(Σ w ρ)."""
    gives: Room

    def product(self, vector: FloatArray) -> FloatArray:
        """Multiply a vector by it."""
        rest = self.precision * vector + self.unit * dot(self.unit, vector)
        return self.integral.product(vector) + rest

    def diagonal(self) -> FloatArray:
        """Return its diagonal, nearly: as if nobody judged an item twice."""
        found = self.integral.held_diagonal - self.integral.loose_diagonal
        # Where the annotators' part exceeds the items' own the matrix is not definite.
        return np.maximum(found + self.precision + np.square(self.unit), self.precision)

    @cached_property
    def exact_diagonal(self) -> FloatArray:
        """Its diagonal."""
        return self.integral.diagonal() + self.precision + np.square(self.unit)

    @property
    def held_diagonal(self) -> FloatArray:
        """The same with the reliabilities held."""
        return self.integral.held_diagonal + self.precision + np.square(self.unit)

    def inverse(self) -> FloatArray:
        """Invert it as a matrix; where it is not definite, with the annotators' part left out."""
        whole, held = self.integral.dense()
        where = np.diag_indices(len(whole))
        whole[where] += self.precision
        held[where] += self.precision
        return definite_inverse(add_squares(whole, self.unit), held)

    @property
    def annotators(self) -> Integrated:
        """The annotators, integrated out."""
        return self.integral


@dataclass(frozen=True, eq=False)
class MarginalProblem:
    """What is fitted: a likelihood with the annotators integrated out, and the scores' prior."""

    integral: Integrated
    component: IntArray
    """Connected component of each item: the mean of each is a convention."""
    default_sd: float
    """The default spread of the scores."""
    has_unit: bool = True
    """Whether the annotators' parameters could take over the scale of the scores."""
    virtual: Crowd | None = None
    """A mixture whose virtual annotator adds to the scores' prior."""
    row_cap: float = 2.0
    """Largest sd of a row's gap that is averaged over, in units of the default spread."""

    @property
    def rows(self) -> Rows:
        """The judgments."""
        return self.integral.rows

    @property
    def shares(self) -> FloatArray:
        """w_u."""
        return self.integral.shares

    def every(self, step: int) -> MarginalProblem:
        """Return the same problem for every so many annotators."""
        return replace(self, integral=self.integral.every(step))

    def integrate(
        self, state: State, *, close: float = EXACT, hopeless: BoolArray | None = None
    ) -> None:
        """Integrate the annotators out at a state."""
        means = 1.0 + state.population.reliability_sd**2 * state.tilt * self.shares
        row_sd = self.integral.row_sds(state.row_variances, self.row_cap * self.default_sd)
        self.integral.evaluate(state.scores, row_sd, state.population, means, hopeless, close=close)

    def curvature(self, state: State) -> Curvature:
        """Return the curvature where the annotators were last integrated out."""
        found, n = self.integral.beliefs, self.rows.n_items
        precision = np.full(n, state.population.score_sd**-2)
        if self.virtual is not None:
            precision += self.virtual.item_penalty(state.scores)[2]
        if not self.has_unit:
            return Curvature(self.integral, precision, np.zeros(n), NO_UNIT)
        gives = room_of(self.shares, found.strength_variance, state.population.reliability_sd)
        unit = self.integral.unit_pull / np.sqrt(gives.room)
        return Curvature(self.integral, precision, unit, gives)

    def off(self) -> float:
        """Return how far the typical reliability is above 1."""
        return dot(self.shares, self.integral.beliefs.strength) - 1.0 if self.has_unit else 0.0

    def force(self, state: State, curvature: Curvature) -> FloatArray:
        """Return the force on the scores, that of the unit included."""
        prior = state.scores / state.population.score_sd**2
        if self.virtual is not None:
            prior = prior + self.virtual.item_penalty(state.scores)[1]
        unit = curvature.unit * (self.off() / np.sqrt(curvature.room))
        return np.asarray(self.integral.gradient - prior - unit)


@dataclass(frozen=True, eq=False)
class State:
    """Where a fit stands."""

    scores: FloatArray
    population: Population
    tilt: float
    row_variances: FloatArray
    """What the sd of rows' gaps is made of: a covariance matrix or its diagonal."""

    __repr__ = brief
