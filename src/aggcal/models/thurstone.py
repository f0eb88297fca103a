r"""The Thurstone family: P(u puts i above j) = F(γ_u (s_i − s_j)).

The objective is the penalised negative log-likelihood

    Σ w·(−log F(γ_u (s_i − s_j)))  +  λ/2 Σ s_i²  +  1/(2τ²) Σ (γ_u − 1)².

Given s it is strictly convex in each γ_u alone, so the reliabilities are eliminated exactly (a
one-dimensional Newton iteration per annotator) and the solver sees a function of s only: its
gradient is that of s at the eliminated γ, its curvature the Schur complement A − B D⁻¹ Bᵀ.
With γ ≡ 1 (Bradley–Terry, Thurstone's case V) there is nothing to eliminate.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from aggcal.arrays import FloatArray, sums
from aggcal.models.links import Link, Terms
from aggcal.models.rows import Rows

if TYPE_CHECKING:
    from scipy import sparse

_INNER_STEPS = 200
_INNER_TOLERANCE = 1e-12
_INNER_ROUNDING = 1e-9


@dataclass(frozen=True)
class Point:
    """The objective and its derivatives at one vector of scores."""

    value: float
    gradient: FloatArray
    diagonal: FloatArray
    gradient_norm: float
    """Norm of the whole gradient (scores and reliabilities), relative to its natural size."""


class Thurstone:
    """The objective as a function of the scores, for the solver.

    Parameters
    ----------
    rows
        The weighted wins.
    link
        The distribution function F.
    score_precision
        λ; 0 for none, and the scores are then free up to a constant.
    reliability_precision
        1/τ²; None for a model without reliabilities (γ ≡ 1).
    """

    def __init__(
        self,
        rows: Rows,
        link: Link,
        score_precision: float,
        reliability_precision: float | None,
    ) -> None:
        self.rows = rows
        self.link = link
        self.score_precision = score_precision
        self.reliability_precision = reliability_precision
        self.reliabilities: FloatArray = np.ones(rows.n_annotators)
        self.data_passes = 0
        self.products = 0
        degrees = rows.degrees
        self._natural_size = link.pull_at_zero * float(np.sqrt(degrees @ degrees))
        self._sizes = np.diff(rows.starts)
        self._near: FloatArray
        self._cross: FloatArray
        self.inner: FloatArray
        """D: the curvature in each γ_u at the last point."""
        self.diagonal: FloatArray
        """Diagonal of A, the curvature in s for fixed γ."""

    @property
    def heterogeneous(self) -> bool:
        """Whether annotators have reliabilities of their own."""
        return self.reliability_precision is not None

    def evaluate(self, scores: FloatArray) -> Point:
        """Eliminate γ at these scores; return value, reduced gradient and Jacobi diagonal."""
        rows, weight = self.rows, self.rows.weight
        gap = scores[rows.winner] - scores[rows.loser]
        slope, (loss, pull, curve), slope_gradient = self._eliminate(gap)
        weighted_pull, weighted_curve = weight * pull, weight * curve
        self._near = slope * slope * weighted_curve
        value = float(np.dot(weight, loss)) + 0.5 * self.score_precision * float(scores @ scores)
        force = slope * weighted_pull
        norm = 0.0
        if self.reliability_precision is not None:
            self._cross = slope * weighted_curve * gap - weighted_pull
            shrink = slope_gradient / self.inner
            # What is left of γ's gradient after the inner iteration enters to first order.
            force += self._cross * np.repeat(shrink, self._sizes)
            excess = self.reliabilities - 1.0
            value += 0.5 * self.reliability_precision * float(excess @ excess)
            norm = float(slope_gradient @ slope_gradient)
        gradient = self._spread(-force) + self.score_precision * scores
        n = rows.n_items
        diagonal = sums(rows.winner, self._near, n) + sums(rows.loser, self._near, n)
        self.diagonal = diagonal + self.score_precision
        norm = sqrt(norm + float(gradient @ gradient)) / self._natural_size
        return Point(value, gradient, self.diagonal, norm)

    def product(self, vector: FloatArray) -> FloatArray:
        """Multiply by the curvature at the last point: (A − B D⁻¹ Bᵀ) v."""
        self.products += 1
        rows = self.rows
        gap = vector[rows.winner] - vector[rows.loser]
        flow = self._near * gap
        if self.heterogeneous:
            shared = np.add.reduceat(self._cross * gap, rows.starts[:-1]) / self.inner
            flow -= self._cross * np.repeat(shared, self._sizes)
        return self._spread(flow) + self.score_precision * vector

    def carry(self, vector: FloatArray) -> FloatArray:
        """Multiply a vector over annotators by B D⁻¹."""
        _, cross = self._row_curvature()
        return self._spread(cross * np.repeat(vector / self.inner, self._sizes))

    def curvature(self) -> tuple[FloatArray, sparse.csr_array | None, FloatArray | None]:
        """Return the Schur complement as a dense matrix, B as a sparse one, and D."""
        from scipy import sparse

        rows, n = self.rows, self.rows.n_items
        near_weight, cross = self._row_curvature()
        flat = rows.winner.astype(np.int64) * n + rows.loser
        near = sums(flat, near_weight, n * n).reshape(n, n)
        schur = -(near + near.T)
        schur[np.diag_indices(n)] = self.diagonal
        if not self.heterogeneous:
            return schur, None, None
        owner = np.repeat(np.arange(rows.n_annotators), self._sizes)
        border = sparse.coo_array(
            (
                np.concatenate([cross, -cross]),
                (np.concatenate([rows.winner, rows.loser]), np.concatenate([owner, owner])),
            ),
            shape=(n, rows.n_annotators),
        ).tocsr()
        schur -= (border @ sparse.diags_array(1.0 / self.inner) @ border.T).toarray()
        return schur, border, self.inner

    def log_likelihood(self, scores: FloatArray) -> float:
        """Σ w log F(γ_u (s_i − s_j)) at the current reliabilities."""
        rows = self.rows
        slope = np.repeat(self.reliabilities, self._sizes)
        loss, _, _ = self.link.terms(slope * (scores[rows.winner] - scores[rows.loser]))
        return -float(np.dot(rows.weight, loss))

    def _row_curvature(self) -> tuple[FloatArray, FloatArray]:
        """Second derivatives of the rows at the last point: in the gap twice, and in gap and γ."""
        return self._near, self._cross

    def _spread(self, flow: FloatArray) -> FloatArray:
        rows, n = self.rows, self.rows.n_items
        return sums(rows.winner, flow, n) - sums(rows.loser, flow, n)

    def _eliminate(self, gap: FloatArray) -> tuple[FloatArray, Terms, FloatArray]:
        """Solve each annotator's strictly convex problem in γ_u by a bracketed Newton iteration."""
        rows, precision = self.rows, self.reliability_precision
        if precision is None:
            self.data_passes += 1
            return np.ones(1), self.link.terms(gap), np.zeros(1)
        gamma = self.reliabilities
        low, high = np.full(gamma.shape, -np.inf), np.full(gamma.shape, np.inf)
        before = np.inf
        weighted_gap = rows.weight * gap
        weighted_square = weighted_gap * gap
        for _ in range(_INNER_STEPS):
            self.data_passes += 1
            slope = np.repeat(gamma, self._sizes)
            terms = self.link.terms(slope * gap)
            gradient = precision * (gamma - 1.0) - np.add.reduceat(
                weighted_gap * terms[1], rows.starts[:-1]
            )
            inner = precision + np.add.reduceat(weighted_square * terms[2], rows.starts[:-1])
            self.inner = inner
            step = gradient / inner
            size = float(np.max(np.abs(step) / (1.0 + np.abs(gamma))))
            # Done, or so close that only rounding is left to fight with.
            if size <= _INNER_TOLERANCE or _INNER_ROUNDING > size >= 0.5 * before:
                break
            before = size
            # The gradient is increasing in γ: each sign tightens the bracket of the root.
            low = np.where(gradient < 0.0, gamma, low)
            high = np.where(gradient > 0.0, gamma, high)
            newton = gamma - step
            inside = (newton > low) & (newton < high)
            bounded = np.isfinite(low) & np.isfinite(high)
            middle = 0.5 * (np.where(bounded, low, 0.0) + np.where(bounded, high, 0.0))
            gamma = np.where(inside | ~bounded, newton, middle)
        self.reliabilities = gamma
        return slope, terms, gradient
