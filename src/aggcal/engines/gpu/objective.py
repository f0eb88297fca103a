"""The Thurstone objective on a GPU; the vectors that the solver works with stay there, too."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.engines.gpu.layout import ROOM, TINY, DeviceRows, Layout, pointer
from aggcal.models.compiled import thurstone as on_this_machine
from aggcal.models.links import Link
from aggcal.models.objective import Point
from aggcal.models.thurstone import Thurstone, stiffness
from aggcal.registry import LINKS, NORMAL

CODES: dict[str, int] = {name: known.code for name, known in LINKS.items()}
"""The kernels' names of the links."""

_TIGHT, _LOOSE = 1e-12, 1e-3  # of the gradient: exact steps pay only near the optimum
_INNER_STEPS = 200  # far more than any study took
_ROUNDING = 1e-9  # step from which only rounding is left
_KEEP_DIAGONAL = 1e-3  # gradient below which the diagonal changes too little to make anew


class Curvature:
    """The curvature of each row, and sums that are linear in a vector.

    Parameters
    ----------
    layout
        The rows.
    free
        Whether annotators have slopes.
    """

    def __init__(self, layout: Layout, *, free: bool) -> None:
        import cupy

        self.layout, self.free = layout, free
        self.gap_curvature = layout.column(cupy.float32)
        self.cross_curvature: Any = layout.column(cupy.float32) if free else None
        self.inner = cupy.ones(layout.n_annotators)
        """D."""
        self.bounds = cupy.zeros(8, dtype=cupy.float32)
        """Largest sizes: of a vector, of the annotators' shares (each vector has a copy of its
        own), of near, cross and b."""

    def curvature_product(self, vector: Any) -> Any:
        """Multiply by A − B D⁻¹ Bᵀ."""
        import cupy

        return self.curvature_products(cupy.asarray(vector)[None])[0]

    def curvature_products(self, vectors: Any) -> Any:
        """Multiply vectors, a row each, by A − B D⁻¹ Bᵀ."""
        singles, bounds = self._singles(vectors)
        shares = self._shares(self._borders(singles, bounds), bounds) if self.free else None
        return self._scattered(singles, shares, bounds)

    def carry(self, vector: Any) -> Any:
        """Multiply a vector over annotators by B D⁻¹."""
        import cupy

        singles, bounds = self._singles(cupy.zeros((1, self.layout.n_items)))
        return self._scattered(singles, self._shares(-vector[None], bounds), bounds)[0]

    def predicted(self, moved: Any) -> Any:
        """Return D⁻¹ Bᵀ v: by how much the slopes fall when the scores move by v."""
        return self.borders(moved[None])[0] / self.inner

    def borders(self, vectors: Any) -> Any:
        """Return Bᵀ v of vectors v, a row each."""
        return self._borders(*self._singles(vectors))

    def _borders(self, singles: Any, bounds: Any) -> Any:
        import cupy

        layout = self.layout
        total = cupy.zeros((len(singles), layout.n_annotators), dtype=cupy.int64)
        scale = ROOM / layout.most_of_annotator
        for single, bound, into in zip(singles, bounds, total, strict=True):
            layout.launch(
                "border", 8, layout.pair, layout.annotator, np.int32(layout.span),
                np.int32(layout.n_items), single, self.cross_curvature, np.float64(scale),
                bound, into,
            )  # fmt: skip
        exact = bounds.astype(cupy.float64)
        return total * (2.0 * exact[:, 0] * exact[:, 3] / scale)[:, None]

    def diagonal(self) -> Any:
        """Return the diagonal of A."""
        import cupy

        layout = self.layout
        total = cupy.zeros(layout.n_items, dtype=cupy.int64)
        scale = ROOM / layout.most_of_item
        layout.launch(
            "column_sums", 8, layout.pair, np.int32(layout.span), self.gap_curvature,
            np.float64(scale), self.bounds, total,
        )  # fmt: skip
        return total * (self.bounds[2].astype(cupy.float64) / scale)

    def _singles(self, vectors: Any) -> tuple[Any, Any]:
        """Round to single precision and note the sizes, which bound the sums to come."""
        import cupy

        singles = cupy.ascontiguousarray(vectors, dtype=cupy.float32)
        bounds = cupy.empty((len(singles), len(self.bounds)), dtype=cupy.float32)
        bounds[:] = self.bounds
        bounds[:, 0] = cupy.maximum(cupy.abs(singles).max(axis=1), np.float32(1e-30))
        return singles, bounds

    def _shares(self, pulls: Any, bounds: Any) -> Any:
        import cupy

        shares = (pulls / self.inner).astype(cupy.float32)
        bounds[:, 1] = cupy.abs(shares).max(axis=1)
        return shares

    def _scattered(self, singles: Any, shares: Any, bounds: Any) -> Any:
        import cupy

        layout = self.layout
        total = cupy.zeros((len(singles), layout.n_items), dtype=cupy.int64)
        scale = ROOM / layout.most_of_item
        for k, single in enumerate(singles):
            layout.launch(
                "product<false>" if shares is None else "product<true>", 16, layout.pair,
                layout.annotator, np.int32(layout.span), np.int32(layout.n_items), single,
                self.gap_curvature, pointer(self.cross_curvature),
                pointer(None if shares is None else shares[k]), np.float64(scale), bounds[k],
                total[k],
            )  # fmt: skip
        exact = bounds.astype(cupy.float64)
        most = 2.0 * exact[:, 0] * exact[:, 2]
        if shares is not None:
            most = most + exact[:, 1] * exact[:, 3]
        return total * (most / scale)[:, None]


class DeviceLikelihood(Thurstone):
    """The formulae of the Thurstone family; its information is taken on the device."""

    rows: DeviceRows


class DeviceThurstone(DeviceLikelihood):
    """`Thurstone` whose sums are made on a GPU: the same numbers, and the same bits every time."""

    def __init__(
        self, rows: DeviceRows, link: Link, score_precision: float, precision: float | None
    ) -> None:
        import cupy

        super().__init__(rows, link, score_precision, precision)
        self._layout = rows.layout
        self._item_curvature = np.full(rows.n_items, score_precision)
        self._item_sizes = cupy.asarray(self._item_size)
        self._annotator_sizes = cupy.asarray(self._annotator_size)
        self._slopes = cupy.ones(rows.n_annotators)
        self._rows_curvature = Curvature(rows.layout, free=self.heterogeneous)
        self._last: Any = None
        self.slope_passes = 0

    def to_device(self, vector: FloatArray) -> Any:
        """Return a vector on the device."""
        import cupy

        return cupy.asarray(vector, dtype=cupy.float64)

    def fetch(self, vector: Any) -> FloatArray:
        """Return a vector of the device as NumPy's."""
        return np.asarray(vector.get())

    @property
    def reliabilities(self) -> FloatArray:
        """γ of each annotator at the last point."""
        return np.asarray(self._slopes.get())

    @property
    def inner(self) -> FloatArray:
        """D: the curvature in each γ_u at the last point."""
        return np.asarray(self._rows_curvature.inner.get())

    def evaluate(self, scores: Any) -> Point:
        """Eliminate γ at these scores; return value, reduced gradient and Jacobi diagonal."""
        import cupy

        layout, curvature, precision = self._layout, self._rows_curvature, self.score_precision
        scores = self.to_device(scores)
        reach = float(scores.max() - scores.min())
        if self.heterogeneous:
            self._slopes = self._eliminated(scores, reach)
        steepest = float(cupy.abs(self._slopes).max())
        pull = self._largest_pull(steepest * reach)
        most = max(steepest * pull * layout.largest_weight, TINY)
        scale = ROOM / (layout.most_of_item * most)
        scales = self._slope_scales(pull, reach)
        loss = cupy.empty(layout.n_units)
        force = cupy.zeros(layout.n_items, dtype=cupy.int64)
        pulls, bends = (cupy.zeros(layout.n_annotators, dtype=cupy.int64) for _ in range(2))
        curvature.bounds.fill(0.0)
        self.data_passes += 1
        free = "true" if self.heterogeneous else "false"
        layout.launch(
            f"evaluate<{CODES[self.link.name]}, {self._weighted}, {free}>", 32, layout.pair,
            layout.annotator, pointer(layout.weight), np.int32(layout.span),
            np.int32(layout.n_items), scores, self._slopes, np.float64(scale), *scales,
            np.float64(most), loss, force, pulls, bends, curvature.gap_curvature,
            pointer(curvature.cross_curvature), curvature.bounds[2:], file="sums.cu",
        )  # fmt: skip
        self._last = scores
        gradient = force / scale + precision * scores
        value = float(loss.sum() + 0.5 * precision * (scores * scores).sum())
        self._last_norm = norm = float((cupy.abs(gradient) / self._item_sizes).max())
        # As a preconditioner it need not be new once steps are small.
        if self.data_passes == 1 or norm > _KEEP_DIAGONAL:
            self._jacobi = curvature.diagonal() + precision
        if self.reliability_precision is None:
            return Point(value, gradient, self._jacobi, norm)
        excess = self._slopes - 1.0
        left = self.reliability_precision * excess - pulls / scales[0]
        curvature.inner = self.reliability_precision + bends / scales[1]
        value += 0.5 * self.reliability_precision * float((excess * excess).sum())
        norm = max(norm, float((cupy.abs(left) / self._annotator_sizes).max()))
        known = stiffness(self._slopes, left, curvature.inner, self.reliability_precision)
        known += precision * float((scores * scores).sum())
        return Point(value, gradient, self._jacobi, norm, known)

    def product(self, vector: Any) -> Any:
        """Multiply by the curvature at the last point; a vector of NumPy's comes back as one."""
        self.products += 1
        if isinstance(vector, np.ndarray):
            return (
                self.fetch(self._rows_curvature.curvature_product(vector))
                + self.score_precision * vector
            )
        return self._rows_curvature.curvature_product(vector) + self.score_precision * vector

    def carry(self, vector: FloatArray) -> FloatArray:
        """Multiply a vector over annotators by B D⁻¹."""
        return self.fetch(self._rows_curvature.carry(self.to_device(vector)))

    def dense_curvature(self) -> Any:
        """Return the judgments' part of the Schur complement as a dense matrix, and B."""
        problem = on_this_machine(
            self.rows.here(), self.link, self.score_precision, self.reliability_precision
        )
        problem.evaluate(self.fetch(self._last))
        return problem.dense_curvature()

    @property
    def diagonal(self) -> FloatArray:  # type: ignore[override]  # elsewhere it is at hand
        """Diagonal of A, the curvature in s for fixed γ."""
        return self.fetch(self._rows_curvature.diagonal()) + self.score_precision

    @property
    def _weighted(self) -> str:
        return "false" if self._layout.weight is None else "true"

    def _largest_pull(self, farthest: float) -> float:
        """Bound f/F: 1 for the links with exponential tails, growing in the normal one."""
        return 1.0 + farthest if self.link.name == NORMAL.name else 1.0

    def _slope_scales(self, pull: float, reach: float) -> tuple[np.float64, np.float64]:
        """Scale the annotators' sums so that none can overflow."""
        layout, far = self._layout, max(reach, TINY)
        most = layout.most_of_annotator * layout.largest_weight * far
        return np.float64(ROOM / (most * pull)), np.float64(ROOM / (most * far))

    def _eliminated(self, scores: Any, reach: float) -> Any:
        """Solve each annotator's convex problem by bracketed Newton steps, all at once."""
        import cupy

        layout, precision = self._layout, self.reliability_precision or 0.0
        # The gradient is not corrected for what is left of γ's: that must be below what is left of
        # the scores' after the next step, which is about the square of what is left now.
        tolerance = min(_LOOSE, max(_TIGHT, 0.1 * self._last_norm**2))
        slope = self._slopes
        if self._last is not None:
            room = 0.5 * (0.5 + cupy.abs(slope))
            moved = self._rows_curvature.predicted(scores - self._last)
            slope = slope - cupy.clip(moved, -room, room)
        low, high = cupy.full(slope.shape, -np.inf), cupy.full(slope.shape, np.inf)
        before = np.inf
        for _ in range(_INNER_STEPS):
            steepest = float(cupy.abs(slope).max())
            scales = self._slope_scales(self._largest_pull(steepest * reach), reach)
            pulls, bends = (cupy.zeros(layout.n_annotators, dtype=cupy.int64) for _ in range(2))
            self.slope_passes += 1
            layout.launch(
                f"slopes<{CODES[self.link.name]}, {self._weighted}>", 16, layout.pair,
                layout.annotator, pointer(layout.weight), np.int32(layout.span),
                np.int32(layout.n_items), scores, slope, *scales, pulls, bends, file="sums.cu",
            )  # fmt: skip
            gradient = precision * (slope - 1.0) - pulls / scales[0]
            change = gradient / (precision + bends / scales[1])
            left = float((cupy.abs(gradient) / self._annotator_sizes).max())
            size = float((cupy.abs(change) / (1.0 + cupy.abs(slope))).max())
            # Done, or so close that only rounding is left to fight with.
            if left <= tolerance or _ROUNDING > size >= 0.5 * before:
                break
            before = size
            low = cupy.where(gradient < 0.0, slope, low)
            high = cupy.where(gradient > 0.0, slope, high)
            step = slope - change
            outside = ~((step > low) & (step < high)) & cupy.isfinite(low) & cupy.isfinite(high)
            slope = cupy.where(outside, 0.5 * (low + high), step)
            # Newton squares what is left: the sweep to come will see that it is small.
            if left * left <= 0.1 * tolerance:
                break
        return slope
