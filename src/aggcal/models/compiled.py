"""The Thurstone objective by compiled sums, in threads."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import added, each_range
from aggcal.models.links import Link
from aggcal.models.objective import Sums
from aggcal.models.rows import Rows
from aggcal.models.thurstone import Thurstone, stiffness
from aggcal.registry import LINKS

_CODES: dict[str, int] = {name: known.code for name, known in LINKS.items()}
_PIECE = 2048  # rows that share one slope: they stay in the cache


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
        self._ranges = rows.ranges(self._starts)
        self._near32 = np.empty(len(rows), dtype=np.float32)
        self._cross32 = np.empty(len(rows) if self.heterogeneous else 0, dtype=np.float32)
        self._slope_gradient = np.zeros(rows.n_annotators)
        # Small studies ask so often that looking the addresses up is felt.
        self._at_rows = at(self._winner, self._loser, self._weight)
        (self._at_starts,) = at(self._starts)
        self._at_curvature = at(self._near32, self._cross32)
        self._last: FloatArray | None = None

    def sums(self, scores: FloatArray, tolerance: float) -> Sums:
        """Eliminate γ at these scores, to a relative gradient of ``tolerance`` or better."""
        self.data_passes += 1
        rows, precision = self.rows, self.reliability_precision
        scores = np.ascontiguousarray(scores)
        slopes = self._theta.copy()
        # How the scores moved says where the slopes should go: one sweep less for each annotator.
        moved = None if self._last is None or not self.heterogeneous else scores - self._last
        self._last = scores.copy()
        points = *self._at_rows, self._at_starts, *at(scores, moved, self._annotator_size)
        limits = -1.0 if precision is None else precision, tolerance
        kept = at(slopes, self._slope_gradient, self._inner)

        def work(begin: int, end: int) -> tuple[float, FloatArray]:
            sums = np.zeros((rows.n_items, 2))
            out = *kept, *at(sums), *self._at_curvature
            link = _CODES[self.link.name]
            value = self._kernels.aggcal_evaluate(link, begin, end, *points, *limits, *out)
            return value, sums

        parts = each_range(work, self._ranges)
        value = sum(part[0] for part in parts)
        total = added([part[1] for part in parts])
        if precision is None:
            return Sums(value, total[:, 0], total[:, 1], 0.0)
        self._theta, rest = slopes, self._slope_gradient
        left = float(np.max(np.abs(rest) / self._annotator_size))
        known = stiffness(slopes, rest, self.inner, precision)
        return Sums(value, total[:, 0], total[:, 1], left, known)

    def curvature_product(self, vector: FloatArray) -> FloatArray:
        """Multiply by the judgments' part of the curvature at the last point."""
        vector = np.ascontiguousarray(vector)
        near, cross = self._at_curvature
        given = near, cross if self.heterogeneous else None, *at(self._inner, vector)

        def work(begin: int, end: int) -> FloatArray:
            out = np.zeros(self.rows.n_items)
            rows = *self._at_rows[:2], self._at_starts
            self._kernels.aggcal_product(begin, end, *rows, *given, *at(out))
            return out

        return added(each_range(work, self._ranges))

    def _row_curvature(self) -> tuple[FloatArray, FloatArray]:
        return self._near32.astype(np.float64), self._cross32.astype(np.float64)


@singledispatch
def thurstone(
    rows: Rows, link: Link, score_precision: float, reliability_precision: float | None
) -> Thurstone:
    """Return the objective of the Thurstone family for a fit.

    Its sums are compiled where they can be, else in NumPy; rows that lie elsewhere register theirs.
    """
    kind = Thurstone if library() is None else CompiledThurstone
    return kind(rows, link, score_precision, reliability_precision)
