r"""What is fitted by the general model: the force on its unknowns and their curvature at a state.

The unit is that of `aggregation.solve.marginal_problem`: Σ_u w_u E ρ_u = 1, held by a tilt of the
prior means of the reliabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, dot, sums
from aggcal._core.text import brief
from aggcal._core.triangles import add_squares
from aggcal.aggregation.newton import definite_inverse
from aggcal.aggregation.solve.unit import NO_UNIT, Room, UnitHeld, room_of
from aggcal.models.general.annotators import (
    POSITION,
    READINESS,
    RELIABILITY,
    STANCE,
    Known,
)
from aggcal.models.general.at import Place, integrate
from aggcal.models.general.compiled import integration
from aggcal.models.general.design import CONTROL, SCORES
from aggcal.models.general.outcomes import Outcomes, adjacent, typical_readiness
from aggcal.models.general.sums import Layout, Sums

AXIS_SD, TIE_CONTEXT_SD = "axis", "tie context"
FIRST_SDS = {RELIABILITY: 0.5, POSITION: 0.5, READINESS: 1.0, STANCE: 1.0}
"""Spreads of the annotators' parameters to begin with, about what real studies show."""
BLOCK_SDS = {SCORES: 1.0, "context": 0.5, CONTROL: 10.0, AXIS_SD: 0.2, TIE_CONTEXT_SD: 0.5}
"""Spreads of the other unknowns: measured on real studies (the effects of a context), or so wide
that they do not matter (coefficients)."""
CATEGORY_SD = 0.5
"""Spread of what an item does in a category, to begin with."""
MEAN_PRIORS = {POSITION: (0.0, 1.0), READINESS: (-1.0, 3.0)}
"""Prior mean and sd of the mean position (on the logit scale) and of the mean readiness: wide."""
_ROW_CAP = 2.0
"""Largest sd of a row's gap that is averaged over: quadrature is good up to it."""
_CLOSE = 1e-10
"""How near modes are looked for where nothing else is said: see `Point`."""
_PINNED = 10.0
"""How stiffly the mean readiness of the contexts is held at 0, for each annotator: it is then below
a hundredth. More would only make steps harder to solve for."""


@dataclass(frozen=True, eq=False)
class State:
    """Where a fit is."""

    unknowns: FloatArray
    sds: FloatArray
    """Of the annotators' parameters."""
    block_sds: dict[str, float]
    reversed_share: float
    covariance: FloatArray
    """Of the unknowns: a matrix, or its diagonal."""
    tilt: float = 0.0
    grades: FloatArray = field(default_factory=lambda: np.ones(1))

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Curvature(UnitHeld):
    """The inverse posterior covariance of the unknowns at a point, the unit held."""

    sums: Sums
    precision: FloatArray
    unit: FloatArray
    gives: Room
    pin: FloatArray
    """What holds the sum of the contexts' readiness at 0: see `Problem.pin`."""

    def product(self, vector: FloatArray) -> FloatArray:
        """Multiply a vector by it."""
        rest = self.precision * vector + self.unit * dot(self.unit, vector)
        return self.sums.product(vector) + rest + self.pin * dot(self.pin, vector)

    def diagonal(self) -> FloatArray:
        """Return its diagonal, nearly: as if nobody met an unknown twice."""
        held, loose = self.sums.diagonals
        # Where the annotators' part exceeds the unknowns' own the matrix is not definite.
        found = held - loose + self.precision + np.square(self.unit)
        return np.maximum(found, self.precision) + np.square(self.pin)

    def solver(self) -> Callable[[FloatArray], FloatArray]:
        """Return a function that solves a similar system: what preconditions steps.

        It is the diagonal, and what couples the score of an item to what the item does in each
        context or category (of the block that has most): an arrow.
        """
        diagonal, blocks = self.diagonal(), self.sums.layout.design.blocks
        cells = [b for name, b in blocks.items() if name != SCORES and (b.item >= 0).all()]
        if not cells:
            return lambda vector: vector / diagonal
        block, scores = max(cells, key=lambda b: b.end - b.begin), blocks[SCORES].where
        own = diagonal[block.where]
        coupled = (own - self.precision[block.where]) / own
        n = len(diagonal[scores])
        rest = diagonal[scores] - sums(block.item, coupled**2 * own, n)
        rest = np.maximum(rest, self.precision[scores])

        def solve(vector: FloatArray) -> FloatArray:
            found = vector / diagonal
            pulled = vector[scores] - sums(block.item, coupled * vector[block.where], n)
            found[scores] = pulled / rest
            found[block.where] -= coupled * found[scores][block.item]
            return found

        return solve

    def inverse(self) -> FloatArray:
        """Invert it as a matrix; where it is not definite, with the annotators' part left out."""
        whole, held = self.sums.dense()
        for matrix in (whole, held):
            matrix[np.diag_indices(len(matrix))] += self.precision
        return definite_inverse(
            add_squares(whole, self.pin, self.unit), add_squares(held, self.pin)
        )

    @property
    def annotators(self) -> Sums:
        """The annotators, integrated out."""
        return self.sums


class Problem:
    """A general model and its rows.

    Parameters
    ----------
    layout
        The rows, the unknowns and how they depend on each other.
    component
        Connected component of each item.
    outcomes
        How likely each answer is.
    """

    def __init__(self, layout: Layout, component: IntArray, outcomes: Outcomes = adjacent) -> None:
        self.layout, self.component = layout, component
        self.integration = integration(layout.rows, layout.names, outcomes)
        self.known: Known
        self.roughly = False
        """Whether modes are looked for roughly: see `Integration.roughly`."""
        given = layout.rows.given
        self.shares: FloatArray = given / given.sum()
        self.means: FloatArray
        self._last: tuple[State, float, Sums] | None = None

    @property
    def has_unit(self) -> bool:
        """Whether reliabilities could take over the scale of the scores."""
        return RELIABILITY in self.layout.names

    def sample(self, step: int) -> Problem:
        """Return the same problem for about one of so many rows."""
        return Problem(self.layout.sample(step), self.component, self.integration.outcomes)

    def first_state(self, scores: FloatArray, sds: dict[str, float], **known: float) -> State:
        """Return a state with these scores and everything else at its default.

        The readiness to tie is what the share of ties suggests.
        """
        layout = self.layout
        unknowns = np.zeros(layout.size)
        unknowns[: len(scores)] = scores
        unknowns[layout.at_means :] = [MEAN_PRIORS[name][0] for name in layout.means]
        if READINESS in layout.means:
            outcomes, levels = self.integration.outcomes, np.ones(len(layout.rows.levels))
            gap_sd, sd = 2**0.5 * float(np.std(scores)), FIRST_SDS[READINESS]
            unknowns[layout.at_means + layout.means.index(READINESS)] = typical_readiness(
                layout.rows.tied_share, outcomes, levels, gap_sd, sd
            )
        blocks = dict.fromkeys(layout.design.blocks, CATEGORY_SD) | BLOCK_SDS | sds
        spreads = FIRST_SDS | sds
        if layout.fixed_means:
            spreads = spreads | {name: sd for name, (_, sd) in MEAN_PRIORS.items()}
        return State(
            unknowns,
            np.array([spreads[name] for name in layout.names]),
            blocks,
            known.get("reversed_share", 0.3),
            np.zeros(layout.size),
            grades=np.ones(len(layout.rows.levels)),
        )

    def with_annotators(self, state: State, told: Mapping[str, tuple[float, float]]) -> State:
        """Return a state with other means and spreads of some of the annotators' parameters."""
        layout, unknowns, sds = self.layout, state.unknowns.copy(), state.sds.copy()
        for j, name in enumerate(layout.means):
            unknowns[layout.at_means + j] = told[name][0]
            sds[layout.names.index(name)] = told[name][1]
        return replace(state, unknowns=unknowns, sds=sds)

    def precision(self, state: State) -> FloatArray:
        """Return the prior precision of the unknowns."""
        layout, found = self.layout, np.zeros(self.layout.size)
        for name, block in layout.design.blocks.items():
            found[block.where] = state.block_sds[name] ** -2.0
        found[layout.where_axis] = state.block_sds[AXIS_SD] ** -2.0
        found[layout.where_ties] = state.block_sds[TIE_CONTEXT_SD] ** -2.0
        found[layout.at_means :] = [MEAN_PRIORS[name][1] ** -2.0 for name in layout.means]
        return found

    @cached_property
    def pin(self) -> FloatArray:
        """Return p: p'z = 0 is held, the readiness of the contexts adding up to 0.

        The judgments do not tell a readiness of all contexts from the mean one of the annotators.
        Only the prior would, and it is weaker than the errors of cubature, which add up over the
        annotators: the two would drift apart.
        """
        found, contexts = np.zeros(self.layout.size), self.layout.contexts
        if contexts and READINESS in self.layout.means:
            stiff = _PINNED * self.layout.rows.n_annotators
            found[self.layout.where_ties] = np.sqrt(stiff) / contexts
        return found

    def centre(self) -> FloatArray:
        """Return the prior mean of the unknowns."""
        found = np.zeros(self.layout.size)
        found[self.layout.at_means :] = [MEAN_PRIORS[name][0] for name in self.layout.means]
        return found

    def integrate(
        self, state: State, *, close: float = _CLOSE, hopeless: BoolArray | None = None
    ) -> Sums:
        """Integrate the annotators out at a state."""
        share = state.reversed_share
        place = Place(
            state.unknowns,
            _gap_part(state.covariance, self.layout.design.size),
            _ROW_CAP * BLOCK_SDS[SCORES],
            state.sds,
            state.tilt,
            (log(1.0 - share), log(share)),
            state.grades,
            {name: mean for name, (mean, _) in MEAN_PRIORS.items()},
            hopeless,
            close,
            self.roughly,
        )
        found, self.means = integrate(self.integration, self.layout, self.shares, place)
        self.known = found.known
        self._last = (state, close, found)
        return found

    def integrated(self, state: State, known: Known) -> Sums:
        """Integrate where a fit ended, unless that was the last that was done.

        Parameters
        ----------
        state, known
            Where, and what is known of the annotators there.
        """
        if self._last is not None and self._last[0] is state and self._last[1] <= _CLOSE:
            return self._last[2]
        return self.integrate(state, hopeless=known.reversed == 0.0)

    def curvature(self, state: State, sums: Sums) -> Curvature:
        """Return the curvature where the annotators were last integrated out."""
        precision = self.precision(state)
        if not self.has_unit:
            return Curvature(sums, precision, np.zeros(len(precision)), NO_UNIT, self.pin)
        known = self.known
        variance = known.mean(known.off(known.strengths) ** 2)
        gives = room_of(self.shares, variance, float(state.sds[0]))
        unit = sums.unit_pull / np.sqrt(gives.room)
        return Curvature(sums, precision, unit, gives, self.pin)

    def off(self) -> float:
        """Return how far the typical reliability is above 1."""
        known = self.known
        return dot(self.shares, known.mean(known.strengths)) - 1.0 if self.has_unit else 0.0

    def force(self, state: State, curvature: Curvature) -> FloatArray:
        """Return the force on the unknowns, that of the unit included."""
        prior = curvature.precision * (state.unknowns - self.centre())
        unit = curvature.unit * (self.off() / np.sqrt(curvature.room))
        pinned = self.pin * dot(self.pin, state.unknowns)
        return np.asarray(curvature.sums.gradient - prior - unit - pinned)

    def rescaled(self, state: State, factor: float) -> State:
        """Return the state with everything that the reliabilities multiply made larger."""
        unknowns = state.unknowns.copy()
        unknowns[: self.layout.design.size] *= factor
        self.integration.rescale(factor)
        return replace(state, unknowns=unknowns)


def _gap_part(covariance: FloatArray, size: int) -> FloatArray:
    return covariance[:size] if covariance.ndim == 1 else covariance[:size, :size]
