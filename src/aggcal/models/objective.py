r"""The penalised likelihood of judgments with one parameter per annotator, as the solver sees it.

    Σ w·ℓ(s_i − s_j, θ_u)  +  λ/2 Σ s_i²  +  Σ penalty(θ_u)

Given s, each θ_u has a convex problem of its own, so the annotators' parameters are eliminated
exactly (a one-dimensional Newton iteration each) and the solver sees a function of s only: its
gradient is that of s at the eliminated θ, its curvature the Schur complement A − B D⁻¹ Bᵀ.
What ℓ and its derivatives are is each model's own business.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from aggcal._core.arrays import FloatArray, dot, sums
from aggcal.models.borders import eliminated
from aggcal.models.links import Link
from aggcal.models.rows import Rows

if TYPE_CHECKING:
    from scipy import sparse

_INNER_STEPS = 200  # far more than any study took
_INNER_TOLERANCE = 1e-12  # relative gradient: the outer steps trust it
_INNER_ROUNDING = 1e-9  # step from which only rounding is left
_LOOSE = 1e-3  # far from the optimum exact steps do not pay


@dataclass(frozen=True)
class Point:
    """The objective and its derivatives at one vector of scores."""

    value: float
    gradient: FloatArray
    diagonal: FloatArray
    gradient_norm: float
    """Largest element of the whole gradient (scores and annotators), each relative to the size it
    would have if every judgment pulled the same way."""
    stiffness: float | None = None
    """x'Hx at the point x itself, where it is known without a product."""


@dataclass(frozen=True)
class Sums:
    """What the judgments add to the objective at one vector of scores; sums of shards add up.

    The annotators' penalties are part of it, that of the scores is not.
    """

    value: float
    gradient: FloatArray
    diagonal: FloatArray
    left: float
    """What is left of the annotators' gradient, the largest, each relative to its size."""
    stiffness: float | None = None
    """The curvature along the scores themselves, where it is known without a product."""

    def __add__(self, other: Sums) -> Sums:
        known = self.stiffness is not None and other.stiffness is not None
        return Sums(
            self.value + other.value,
            self.gradient + other.gradient,
            self.diagonal + other.diagonal,
            max(self.left, other.left),
            (self.stiffness or 0.0) + (other.stiffness or 0.0) if known else None,
        )


class RowTerms(NamedTuple):
    """The loss of each row and its derivatives in the gap d = s_i − s_j and in θ."""

    loss: FloatArray
    d: FloatArray
    dd: FloatArray
    theta: FloatArray
    theta_theta: FloatArray
    d_theta: FloatArray


class Objective(ABC):
    """A model with one parameter per annotator; subclasses say what its rows contribute.

    Parameters
    ----------
    rows
        The weighted wins.
    link
        The distribution function F.
    score_precision
        λ; 0 for none, and the scores are then free up to a constant.
    first
        The annotators' parameter to begin with.
    heterogeneous
        Whether that parameter is fitted at all.
    annotator_precision
        The size of its penalty.
    bounds
        The interval it lies in.
    """

    def __init__(
        self,
        rows: Rows,
        link: Link,
        score_precision: float,
        *,
        first: float,
        heterogeneous: bool,
        annotator_precision: float,
        bounds: tuple[float, float] = (-inf, inf),
    ) -> None:
        self.rows = rows
        self.link = link
        self.score_precision = score_precision
        self.heterogeneous = heterogeneous
        self._theta: FloatArray = np.full(rows.n_annotators, first)
        self.data_passes = 0
        self.products = 0
        # The size a gradient would have if every judgment pulled the same way: the measure of
        # convergence is relative to it, item by item and annotator by annotator.
        self._item_size = link.pull_at_zero * rows.degrees + score_precision
        self._annotator_size = link.pull_at_zero * rows.given + annotator_precision
        self._sizes = np.diff(rows.starts)
        self._bounds = bounds
        self._gap_curvature: FloatArray
        self._cross_curvature: FloatArray = np.empty(0)
        self._last_norm = 1.0
        """Of the scores' part of the gradient."""
        self._item_curvature: FloatArray
        self._inner: FloatArray = np.ones(rows.n_annotators)
        self.diagonal: FloatArray
        """Diagonal of A (in size), the curvature in s for fixed θ."""

    @property
    def reliabilities(self) -> FloatArray:
        """θ of each annotator at the last point."""
        return self._theta

    @property
    def inner(self) -> FloatArray:
        """D: the curvature in each θ_u at the last point; infinite where θ_u is at a bound."""
        return self._inner

    def begin_with(self, theta: FloatArray) -> None:
        """Look for each θ from here (NaN: from where all begin); it changes the time only.

        Where the sums are computed elsewhere, so are the θ, and nothing changes.
        """
        self._theta = np.where(np.isnan(theta), self._theta, theta)

    def to_device(self, vector: FloatArray) -> FloatArray:
        """Return a vector where the solver is to work with it: here, unless sums are elsewhere."""
        return vector

    def fetch(self, vector: FloatArray) -> FloatArray:
        """Return a vector of the solver's as NumPy's."""
        return vector

    @abstractmethod
    def row_terms(self, gap: FloatArray, theta: FloatArray) -> RowTerms:
        """Loss and derivatives of rows with these gaps and parameters."""

    @abstractmethod
    def row_information(self, gap: FloatArray, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Roots of a row's Fisher information in the gap and in θ: it is (a, b)(a, b)'."""

    @abstractmethod
    def penalty(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Penalty of the annotators' parameters: its sum, and each one's two derivatives."""

    def item_penalty(self, scores: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Penalty of the scores: its sum, and each one's two derivatives."""
        precision = self.score_precision
        if not precision:
            nothing = np.zeros(scores.shape)
            return 0.0, nothing, nothing
        value = 0.5 * precision * dot(scores, scores)
        return value, precision * scores, np.full(scores.shape, precision)

    def evaluate(self, scores: FloatArray) -> Point:
        """Eliminate θ at these scores; return value, reduced gradient and Jacobi diagonal."""
        # Early on θ need not be exact: what is left of its gradient is in the norm.
        tolerance = min(_LOOSE, max(_INNER_TOLERANCE, 1e-2 * self._last_norm))
        found = self.sums(scores, tolerance)
        value, slope, self._item_curvature = self.item_penalty(scores)
        gradient = found.gradient + slope
        self.diagonal = found.diagonal + self._item_curvature
        self._last_norm = norm = float(np.max(np.abs(gradient) / self._item_size))
        stiffness = found.stiffness
        if stiffness is not None:
            stiffness += dot(scores, self._item_curvature * scores)
        norm = max(norm, found.left)
        return Point(found.value + value, gradient, self.diagonal, norm, stiffness)

    def product(self, vector: FloatArray) -> FloatArray:
        """Multiply by the curvature at the last point: (A − B D⁻¹ Bᵀ) v."""
        self.products += 1
        return self.curvature_product(vector) + self._item_curvature * vector

    def sums(self, scores: FloatArray, tolerance: float) -> Sums:  # noqa: ARG002
        """Eliminate θ at these scores, to a relative gradient of ``tolerance`` or better."""
        rows, weight, n = self.rows, self.rows.weight, self.rows.n_items
        gap = scores[rows.winner] - scores[rows.loser]
        terms, left_over = self._eliminate(gap)
        value = dot(weight, terms.loss)
        force = weight * terms.d
        self._gap_curvature = weight * terms.dd
        left = 0.0
        if self.heterogeneous:
            self._cross_curvature = weight * terms.d_theta
            # What is left of θ's gradient after the inner iteration enters to first order.
            force -= self._cross_curvature * np.repeat(left_over / self._inner, self._sizes)
            value += self.penalty(self._theta)[0]
            left = float(np.max(np.abs(left_over) / self._annotator_size))
        size = np.abs(self._gap_curvature)
        diagonal = sums(rows.winner, size, n) + sums(rows.loser, size, n)
        return Sums(value, self.rows.scatter(force), diagonal, left)

    def curvature_product(self, vector: FloatArray) -> FloatArray:
        """Multiply by the judgments' part of the curvature at the last point."""
        rows = self.rows
        gap = vector[rows.winner] - vector[rows.loser]
        curvature_product = self._gap_curvature * gap
        if self.heterogeneous:
            shared = np.add.reduceat(self._cross_curvature * gap, rows.starts[:-1]) / self._inner
            curvature_product -= self._cross_curvature * np.repeat(shared, self._sizes)
        return self.rows.scatter(curvature_product)

    def carry(self, vector: FloatArray) -> FloatArray:
        """Multiply a vector over annotators by B D⁻¹."""
        _, cross = self._row_curvature()
        return self.rows.scatter(cross * np.repeat(vector / self._inner, self._sizes))

    def curvature(self) -> tuple[FloatArray, sparse.csc_array | None, FloatArray | None]:
        """Return the Schur complement as a dense matrix, B as a sparse one, and D."""
        schur, border = self.dense_curvature()
        schur[np.diag_indices(len(schur))] += self._item_curvature
        return schur, border, self.inner if self.heterogeneous else None

    def dense_curvature(self) -> tuple[FloatArray, sparse.csc_array | None]:
        """Return the judgments' part of the Schur complement as a dense matrix, and B."""
        rows, (near, cross) = self.rows, self._row_curvature()
        winner, loser = (np.asarray(c, np.int32, order="C") for c in (rows.winner, rows.loser))
        starts = np.ascontiguousarray(rows.starts, dtype=np.int64)
        curved = np.ascontiguousarray(near, dtype=np.float64)
        crossed = np.ascontiguousarray(cross, dtype=np.float64) if self.heterogeneous else None
        return eliminated(rows.n_items, [(winner, loser, starts, curved, crossed)], self._inner)

    def penalties(self, scores: FloatArray) -> float:
        """Return what of the objective is not the likelihood, at the annotators' current state."""
        value = self.item_penalty(scores)[0]
        return value + self.penalty(self.reliabilities)[0] if self.heterogeneous else value

    def _row_curvature(self) -> tuple[FloatArray, FloatArray]:
        """Second derivatives of the rows at the last point: in the gap twice, and in gap and θ."""
        return self._gap_curvature, self._cross_curvature

    def _eliminate(self, gap: FloatArray) -> tuple[RowTerms, FloatArray]:
        """Solve each annotator's convex problem in θ_u by a bracketed, projected Newton iteration.

        Returns the rows' terms there and what is left of the gradient (0 at a bound).
        """
        rows, theta = self.rows, self._theta
        begins, weight = rows.starts[:-1], rows.weight
        if not self.heterogeneous:
            self.data_passes += 1
            return self.row_terms(gap, np.repeat(theta, self._sizes)), np.zeros(1)
        low, high = np.full(theta.shape, -inf), np.full(theta.shape, inf)
        before = inf
        for _ in range(_INNER_STEPS):
            self.data_passes += 1
            terms = self.row_terms(gap, np.repeat(theta, self._sizes))
            _, slope, bend = self.penalty(theta)
            gradient = slope + np.add.reduceat(weight * terms.theta, begins)
            self._inner = bend + np.add.reduceat(weight * terms.theta_theta, begins)
            newton = np.clip(theta - gradient / self._inner, *self._bounds)
            size = float(np.max(np.abs(newton - theta) / (1.0 + np.abs(theta))))
            left = np.abs(gradient) * (newton != theta)
            done = float(np.max(left / self._annotator_size)) <= _INNER_TOLERANCE
            # Done, or so close that only rounding is left to fight with.
            if done or _INNER_ROUNDING > size >= 0.5 * before:
                break
            before = size
            # The gradient is increasing in θ: each sign tightens the bracket of the root.
            low = np.where(gradient < 0.0, theta, low)
            high = np.where(gradient > 0.0, theta, high)
            inside = (newton > low) & (newton < high)
            bounded = np.isfinite(low) & np.isfinite(high)
            middle = 0.5 * (np.where(bounded, low, 0.0) + np.where(bounded, high, 0.0))
            theta = np.where(inside | ~bounded, newton, middle)
        self._theta = theta
        lower, upper = self._bounds
        stuck = ((theta <= lower) & (gradient > 0.0)) | ((theta >= upper) & (gradient < 0.0))
        self._inner = np.where(stuck, inf, self._inner)
        return terms, np.where(stuck, 0.0, gradient)
