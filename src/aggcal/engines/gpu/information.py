"""The Fisher information on a GPU, for standard errors of any number of items."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.engines.gpu.layout import ROOM, TINY, DeviceRows, each_of, pointer
from aggcal.engines.gpu.objective import CODES, Curvature
from aggcal.models.coins import LANES
from aggcal.models.information import Information

_CHUNK = 1 << 27  # entries: more take more of the card's memory, fewer more launches
_LARGEST, _MOST_ENTRIES = float((1 << 29) - 1), 1 << 34
"""What a row adds to an entry of B, as a whole number, and how many entries there are at most: both
are in one word, which is sorted."""
_TOGETHER = 1 << 24
"""Numbers of random vectors that are made and solved together: more take more of the card's memory,
fewer more launches."""
_APART = 0xD1342543DE82EF95  # between the keys of random vectors; no small multiple of rows' steps


class DeviceInformation(Information):
    """`Information` whose sums are made on a GPU; its random draws are others than elsewhere."""

    _rows: DeviceRows

    def _take(self) -> FloatArray:
        import cupy

        layout, link = self._rows.layout, self.problem.link
        self._held = held = Curvature(layout, free=self.heterogeneous)
        self._moved: dict[int, tuple[FloatArray, Any]] = {}
        scores = cupy.asarray(self._scores, dtype=cupy.float64)
        theta = cupy.asarray(self._theta, dtype=cupy.float64)
        reach = max(float(scores.max() - scores.min()), TINY)
        # f²/(F(1 − F)) is at most 1 for all three links.
        most = layout.most_of_annotator * layout.largest_weight * reach**2
        total = cupy.zeros(layout.n_annotators, dtype=cupy.int64)
        flags = ("false" if layout.weight is None else "true", _flag(self.heterogeneous))
        layout.launch(
            f"information<{CODES[link.name]}, {', '.join(flags)}, {_flag(self._observed)}>", 16,
            layout.pair, layout.annotator, pointer(layout.weight), np.int32(layout.span),
            np.int32(layout.n_items), scores, theta, np.float64(ROOM / most), total,
            held.gap_curvature, pointer(held.cross_curvature), held.bounds[2:], file="sums.cu",
        )  # fmt: skip
        if not self.heterogeneous:
            return np.ones(1)
        held.inner = total / (ROOM / most) + cupy.asarray(self._annotator_prior)
        return np.asarray(held.inner.get())

    def shared(self, weights: FloatArray) -> FloatArray:
        """Return B D⁻¹ w for weights of the annotators."""
        import cupy

        return np.asarray(self._held.carry(cupy.asarray(weights)).get())

    def curvature_product(self, vector: FloatArray) -> FloatArray:
        """Multiply by the judgments' part of S."""
        return np.asarray(self._held.curvature_product(vector).get())

    def products(self, vectors: Any) -> Any:
        """Multiply some vectors on the device by S, a column each."""
        import cupy

        found = self._held.curvature_products(vectors.T)
        found += self._there(self.prior) * vectors.T
        for fixed in map(self._there, self.constraints):
            found += cupy.outer(fixed @ vectors, fixed)
        return found.astype(cupy.float32).T

    def borders(self, vectors: Any) -> Any:
        """Return B'v of some vectors on the device: a row per annotator, a column per vector."""
        return self._held.borders(vectors.T).T

    def probes(self, random: np.random.Generator, most: int = LANES) -> Any:
        """Return random vectors of mean 0 and covariance S, there, a column each."""
        import cupy

        number = max(1, min(most, _TOGETHER // max(self.n_items, len(self.inner))))
        found = cupy.sqrt(self._there(self.prior)) * _signs(random, number, self.n_items)
        noise = _signs(random, number, len(self.inner))
        noise *= cupy.sqrt(self._there(self._annotator_prior))
        for fixed in map(self._there, self.constraints):
            found += _signs(random, number, 1) * fixed
        found += self._noise_of_rows(int(random.integers(1 << 63)), noise)
        return found.astype(cupy.float32).T

    def _noise_of_rows(self, key: int, noise: Any) -> Any:
        """Return the judgments' part of random vectors of covariance S, a row each."""
        import cupy

        layout, held = self._rows.layout, self._held
        keys = [np.uint64((key + lane * _APART) % (1 << 64)) for lane in range(len(noise))]
        bounds = held.bounds.get().astype(float)
        shares, most = None, np.full(len(keys), np.sqrt(bounds[2]))
        if self.heterogeneous:
            total = cupy.zeros((len(keys), layout.n_annotators), dtype=cupy.int64)
            scale = ROOM / (layout.most_of_annotator * max(bounds[4], TINY))
            for each, into in zip(keys, total, strict=True):
                layout.launch(
                    "tossed_slopes", 0, layout.annotator, held.gap_curvature,
                    held.cross_curvature, each, np.float64(scale), into,
                )  # fmt: skip
            shares = ((total / scale + noise) / held.inner).astype(cupy.float32)
            most += bounds[3] * cupy.abs(shares).max(axis=1).get()
        most = np.maximum(most, TINY)
        scales = ROOM / (layout.most_of_item * most)
        out = cupy.zeros((len(keys), layout.n_items), dtype=cupy.int64)
        for k, each in enumerate(keys):
            layout.launch(
                f"tossed_items<{_flag(self.heterogeneous)}>", 8, layout.pair, layout.annotator,
                np.int32(layout.span), held.gap_curvature, pointer(held.cross_curvature),
                pointer(None if shares is None else shares[k]), each, most[k], scales[k], out[k],
            )  # fmt: skip
        return out / cupy.asarray(scales)[:, None]

    def _there(self, vector: FloatArray) -> Any:
        """Return a vector of this machine's on the device, to which it is moved once."""
        import cupy

        known = self._moved.get(id(vector))
        if known is None:
            known = self._moved[id(vector)] = vector, cupy.asarray(vector)
        return known[1]

    def curvature_diagonal(self) -> FloatArray:
        """Return the diagonal of S: of A, less Σ_u B_iu²/D_u."""
        total = self._held.diagonal()
        if self.heterogeneous:
            total = total - self._shared_squares()
        return np.asarray(total.get())

    def _shared_squares(self) -> Any:
        """Return Σ_u B_iu²/D_u, from the entries of B of some annotators at a time."""
        import cupy

        layout, held, n = self._rows.layout, self._held, self._rows.n_items
        winner, loser = (layout.column(cupy.uint32) for _ in range(2))
        layout.launch("items_of", 0, layout.pair, winner, loser)
        every = [
            column[: layout.n_rows]
            for column in (layout.annotator, winner, loser, held.cross_curvature)
        ]
        # Fixed point: whole numbers add up to the same in any order.
        step = _LARGEST / max(float(held.bounds[3]), TINY)
        scale = ROOM / max(float(held.diagonal().max()), TINY)
        total = cupy.zeros(n, dtype=cupy.int64)
        starts, first = self._rows.starts, 0
        while first < layout.n_annotators:
            enough = int(np.searchsorted(starts, starts[first] + _CHUNK, side="right")) - 1
            last = min(max(enough, first + 1), first + _MOST_ENTRIES // n, layout.n_annotators)
            some = every
            if last - first < layout.n_annotators:
                at = cupy.flatnonzero((every[0] >= first) & (every[0] < last))
                some = [column[at] for column in every]
            key = cupy.empty(2 * len(some[0]), dtype=cupy.uint64)
            whose = np.uint32(first), np.uint64(n)
            each_of(len(some[0]), "border_keys", *some, *whose, np.float64(step), key)
            key.sort()
            running = cupy.empty(len(key), dtype=cupy.int64)
            each_of(len(key), "border_values", key, running)
            running = cupy.cumsum(running)
            sizes = np.float64(1.0 / step), np.float64(scale)
            inner = held.inner[first:]
            each_of(len(key), "border_squares", key, running, whose[1], inner, *sizes, total)
            del some, key, running
            first = last
        return total / scale


def _signs(random: np.random.Generator, rows: int, columns: int) -> Any:
    """Return random signs, on the device."""
    import cupy

    bits = np.frombuffer(random.bytes(-(-rows * columns // 8)), dtype=np.uint8)
    some = cupy.unpackbits(cupy.asarray(bits))[: rows * columns]
    return 1.0 - 2.0 * some.reshape(rows, columns)


def _flag(value: bool) -> str:  # noqa: FBT001
    return "true" if value else "false"
