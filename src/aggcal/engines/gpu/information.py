"""The Fisher information on a GPU, for standard errors of any number of items."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, SingleArray
from aggcal.engines.gpu.layout import ROOM, TINY, DeviceRows, pointer
from aggcal.engines.gpu.objective import CODES, Curvature
from aggcal.models.information import Information

_CHUNK = 1 << 27  # entries: more take more of the card's memory, fewer more launches
_APART = 0xD1342543DE82EF95  # between the keys of random vectors; no small multiple of rows' steps


class DeviceInformation(Information):
    """`Information` whose sums are made on a GPU; its random draws are others than elsewhere."""

    _rows: DeviceRows

    def _take(self) -> FloatArray:
        import cupy

        layout, link = self._rows.layout, self.problem.link
        self._held = held = Curvature(layout, free=self.heterogeneous)
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

    def curvature_products(self, vectors: SingleArray) -> SingleArray:
        """Multiply some vectors by the judgments' part of S, one after the other."""
        import cupy

        columns = cupy.asarray(np.ascontiguousarray(vectors.T))
        found = [self._held.curvature_product(column) for column in columns]
        return np.asarray(cupy.stack(found, axis=1).astype(cupy.float32).get())

    def borders(self, vectors: SingleArray) -> FloatArray:
        """Return B'v of some vectors: a row per annotator, a column per vector."""
        found = [self._held.border(column.astype(np.float64)).get() for column in vectors.T]
        return np.stack(found, axis=1)

    def sample_noise(self, key: int, noise: FloatArray) -> SingleArray:
        """Return the judgments' part of random vectors of covariance S."""
        keys = [(key + lane * _APART) % (1 << 64) for lane in range(noise.shape[1])]
        found = [self._noise_of(*each) for each in zip(keys, noise.T, strict=True)]
        return np.stack(found, axis=1, dtype=np.float32, casting="same_kind")

    def _noise_of(self, key: int, noise: FloatArray) -> FloatArray:
        import cupy

        layout, held = self._rows.layout, self._held
        bounds = held.bounds.get().astype(float)
        shares, most = None, float(np.sqrt(bounds[2]))
        if self.heterogeneous:
            total = cupy.zeros(layout.n_annotators, dtype=cupy.int64)
            scale = ROOM / (layout.most_of_annotator * max(bounds[4], TINY))
            layout.launch(
                "tossed_slopes", 0, layout.annotator, held.gap_curvature, held.cross_curvature,
                np.uint64(key), np.float64(scale), total,
            )  # fmt: skip
            pulls = (total / scale + cupy.asarray(noise)) / held.inner
            shares = pulls.astype(cupy.float32)
            most += bounds[3] * float(cupy.abs(shares).max())
        most = max(most, TINY)
        out = cupy.zeros(layout.n_items, dtype=cupy.int64)
        scale = ROOM / (layout.most_of_item * most)
        layout.launch(
            f"tossed_items<{_flag(self.heterogeneous)}>", 8, layout.pair, layout.annotator,
            np.int32(layout.span), held.gap_curvature, pointer(held.cross_curvature),
            pointer(shares), np.uint64(key), np.float64(most), np.float64(scale), out,
        )  # fmt: skip
        return np.asarray((out / scale).get())

    def curvature_diagonal(self, *, held: bool = False) -> FloatArray:
        """Return the diagonal of A, and unless annotators are held less Σ_u B_iu²/D_u."""
        total = self._held.diagonal()
        if self.heterogeneous and not held:
            total = total - self._shared_squares()
        return np.asarray(total.get())

    def _shared_squares(self) -> Any:
        """Return Σ_u B_iu²/D_u, from the entries of B of some annotators at a time."""
        import cupy

        layout, n = self._rows.layout, self._rows.n_items
        winner, loser = (layout.column(cupy.uint32) for _ in range(2))
        layout.launch("items_of", 0, layout.pair, winner, loser)
        # Fixed point: whole numbers add up to the same in any order.
        diagonal = self._held.diagonal()
        scale = ROOM / max(float(diagonal.max()), TINY)
        total = cupy.zeros(n, dtype=cupy.uint64)
        ends = np.asarray(cupy.cumsum(cupy.bincount(layout.annotator[: layout.n_rows])).get())
        first = 0
        while first < layout.n_annotators:
            done = int(ends[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(ends, done + _CHUNK, side="right")))
            mine = layout.annotator[: layout.n_rows]
            at = cupy.flatnonzero((mine >= first) & (mine < last))
            owner = (mine[at] - np.uint32(first)).astype(cupy.uint64) * np.uint64(n)
            key = cupy.concatenate([owner + winner[at], owner + loser[at]])
            cross_curvature = self._held.cross_curvature[at].astype(cupy.float64)
            value = cupy.concatenate([cross_curvature, -cross_curvature])
            del owner, cross_curvature, at
            order = cupy.argsort(key)
            key, value = key[order], value[order]
            new = cupy.flatnonzero(cupy.concatenate([cupy.ones(1, bool), key[1:] != key[:-1]]))
            running = cupy.concatenate([cupy.zeros(1), cupy.cumsum(value)])
            entry = cupy.diff(running[cupy.concatenate([new, cupy.array([len(key)])])])
            whose, item = cupy.divmod(key[new], np.uint64(n))
            part = entry * entry / self._held.inner[first + whose.astype(cupy.int64)]
            cupy.add.at(total, item.astype(cupy.int64), cupy.rint(part * scale).astype("u8"))
            del key, value, order, new, running, entry, whose, item, part
            first = last
        return total / scale


def _flag(value: bool) -> str:  # noqa: FBT001
    return "true" if value else "false"
