"""The Thurstone objective by compiled sums, in threads."""

from __future__ import annotations

import numpy as np

from aggcal.arrays import FloatArray, dot
from aggcal.kernels import at, library
from aggcal.kernels.threads import added, balanced, each_range
from aggcal.models.links import Link
from aggcal.models.objective import Point
from aggcal.models.rows import Rows
from aggcal.models.thurstone import Thurstone, stiffness

_CODES = {"logistic": 0, "normal": 1, "laplace": 2}
_PIECE = 2048
_TIGHT, _LOOSE = 1e-12, 1e-3


class CompiledThurstone(Thurstone):
    """`Thurstone` whose sums run in the compiled kernels; the numbers are the same."""

    def __init__(
        self,
        rows: Rows,
        link: Link,
        score_precision: float,
        reliability_precision: float | None,
    ) -> None:
        super().__init__(rows, link, score_precision, reliability_precision)
        kernels = library()
        if kernels is None:
            raise RuntimeError("the compiled kernels are not there")
        self._kernels = kernels
        self._winner = np.ascontiguousarray(rows.winner, dtype=np.int32)
        self._loser = np.ascontiguousarray(rows.loser, dtype=np.int32)
        plain = rows.weight.strides == (0,) and len(rows) > 0 and rows.weight[0] == 1.0
        self._weight = None if plain else np.ascontiguousarray(rows.weight)
        if self.heterogeneous:
            self._starts = np.ascontiguousarray(rows.starts, dtype=np.int64)
        else:
            # Without reliabilities rows may be cut anywhere: into pieces that stay in cache.
            self._starts = np.append(np.arange(0, len(rows), _PIECE), len(rows)).astype(np.int64)
        self._ranges = balanced(self._starts)
        self._near32 = np.empty(len(rows), dtype=np.float32)
        self._cross32 = np.empty(len(rows) if self.heterogeneous else 0, dtype=np.float32)
        self._slope_gradient = np.zeros(rows.n_annotators)
        self._last_norm = 1.0
        """Of the scores' part of the gradient."""
        self._item_curvature = np.full(rows.n_items, score_precision)

    def evaluate(self, scores: FloatArray) -> Point:
        """Eliminate γ at these scores; return value, reduced gradient and Jacobi diagonal."""
        self.data_passes += 1
        rows, precision = self.rows, self.reliability_precision
        scores = np.ascontiguousarray(scores)
        slopes = self.reliabilities.copy()
        # Early on γ need not be exact: what is left of its gradient is in the norm.
        tolerance = min(_LOOSE, max(_TIGHT, 1e-2 * self._last_norm))

        def work(begin: int, end: int) -> tuple[float, FloatArray]:
            sums = np.zeros((rows.n_items, 2))
            value = self._kernels.aggcal_evaluate(
                _CODES[self.link.name], begin, end, *at(self._winner, self._loser, self._weight),
                *at(self._starts, scores, self._annotator_size),
                -1.0 if precision is None else precision, tolerance,
                *at(slopes, self._slope_gradient, self.inner, sums, self._near32, self._cross32),
            )  # fmt: skip
            return value, sums

        parts = each_range(work, self._ranges)
        value = sum(part[0] for part in parts)
        total = added([part[1] for part in parts])
        gradient = total[:, 0] + self.score_precision * scores
        self.diagonal = total[:, 1] + self.score_precision
        value += 0.5 * self.score_precision * dot(scores, scores)
        self._last_norm = norm = float(np.max(np.abs(gradient) / self._item_size))
        if precision is None:
            return Point(value, gradient, self.diagonal, norm)
        self.reliabilities = slopes
        norm = max(norm, float(np.max(np.abs(self._slope_gradient) / self._annotator_size)))
        known = stiffness(
            scores,
            slopes,
            self._slope_gradient,
            self.inner,
            score_precision=self.score_precision,
            slope_precision=precision,
        )
        return Point(value, gradient, self.diagonal, norm, known)

    def product(self, vector: FloatArray) -> FloatArray:
        """Multiply by the curvature at the last point: (A − B D⁻¹ Bᵀ) v."""
        self.products += 1
        vector = np.ascontiguousarray(vector)
        cross = self._cross32 if self.heterogeneous else None

        def work(begin: int, end: int) -> FloatArray:
            out = np.zeros(self.rows.n_items)
            self._kernels.aggcal_product(
                begin, end, *at(self._winner, self._loser, self._starts, self._near32, cross,
                                 self.inner, vector, out),
            )  # fmt: skip
            return out

        return added(each_range(work, self._ranges)) + self.score_precision * vector

    def _row_curvature(self) -> tuple[FloatArray, FloatArray]:
        return self._near32.astype(np.float64), self._cross32.astype(np.float64)


def thurstone(
    rows: Rows, link: Link, score_precision: float, reliability_precision: float | None
) -> Thurstone:
    """Return the objective with compiled sums where they are there, else in NumPy."""
    kind = Thurstone if library() is None else CompiledThurstone
    return kind(rows, link, score_precision, reliability_precision)
