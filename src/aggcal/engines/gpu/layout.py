"""Rows in the memory of a GPU, in the order in which its kernels read them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.engines.gpu.copies import to_device
from aggcal.errors import OptionError
from aggcal.models.rows import Rows

ROOM = float(1 << 61)
"""The largest total that the kernels' integer sums may reach."""
TINY = 1e-100  # keeps 0 out of the denominators of their scales

_SPAN = 7168
"""Items of a side of a tile at most: they fill the fast memory of a processor of an H200."""
_MOST_PER_ITEM, _SPARE = 32, 1024
"""Bytes of an item of a side in the sweep that takes most, and what kernels have beside."""
_LOCAL = 13
_THREADS = 1024
_BIGGEST_UNIT, _SMALLEST_UNIT, _UNITS = 1 << 17, 1 << 12, 2048
_PRODUCTS = (
    *("border", "column_sums", "tossed_slopes", "degrees<false>", "degrees<true>"),
    *("product<false>", "product<true>", "tossed_items<false>", "tossed_items<true>"),
)
_BYTES = 40
"""Of a row at most, while rows are sorted: two columns, a key, its copy, and room to sort."""
_UNIT = np.dtype(
    [
        ("begin", "i8"),
        ("end", "i8"),
        ("winners", "i4"),
        ("losers", "i4"),
        ("most", "i4"),
        ("", "i4"),
    ]
)


@cache
def _module(file: str, names: tuple[str, ...]) -> Any:
    import cupy

    here = Path(__file__).parent
    source = "\n".join(here.joinpath(part).read_text("utf-8") for part in ("shared.cuh", file))
    options = ("-std=c++17", f"-DTHREADS={_THREADS}")
    return cupy.RawModule(code=source, options=options, name_expressions=names)


@cache
def _fast_memory() -> int:
    """Bytes that a block of threads may have of a processor's fast memory."""
    import cupy

    return int(cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]) - _SPARE


@cache
def _kernel(file: str, name: str) -> Any:
    # Those of sums.cu are many: each is compiled when it is asked for. CuPy keeps them on disk.
    kernel = _module(file, _PRODUCTS if file == "products.cu" else (name,)).get_function(name)
    kernel.max_dynamic_shared_size_bytes = _fast_memory()
    return kernel


def compiled() -> None:
    """Have the kernels compiled, or loaded, that lay rows out."""
    _kernel("products.cu", "sort_key")


def each_of(number: int, name: str, *arguments: Any) -> None:
    """Run a kernel of products.cu for each of so many rows."""
    kernel = _kernel("products.cu", name)
    kernel((-(-number // 256),), (256,), (np.int64(number), *arguments))


class Layout:
    """Rows sorted by tile and annotator: 8 bytes each, and 8 if they are weighted.

    Parameters
    ----------
    rows
        The rows; their columns may be NumPy's or already on the device.
    """

    def __init__(self, rows: Rows) -> None:
        import cupy

        self.n_items, self.n_annotators, self.n_rows = rows.n_items, rows.n_annotators, len(rows)
        side = -(-self.n_items // min(_SPAN, _fast_memory() // _MOST_PER_ITEM))
        self.span = -(-self.n_items // side)
        _check_room(self.n_rows)
        plain = rows.weight.strides == (0,) and float(rows.weight[0]) == 1.0
        weight = None if plain else to_device(rows.weight, np.float64)
        starts = cupy.asarray(rows.starts, dtype=cupy.int64)
        bits = max(1, (self.n_annotators - 1).bit_length())
        if (side * side - 1).bit_length() + bits + 2 * _LOCAL > 64:  # noqa: PLR2004
            raise OptionError(
                f"{self.n_items:,} items by {self.n_annotators:,} annotators are too many for the "
                "engine 'gpu'; choose the engine 'local' or 'dask'."
            )
        keys = cupy.empty(self.n_rows, dtype=cupy.uint64)
        columns = (to_device(column, np.int32) for column in (rows.winner, rows.loser))
        each_of(
            self.n_rows, "sort_key", *columns, starts, np.int32(self.n_annotators),
            np.int32(self.span), np.uint64(side), np.int32(bits), keys,
        )  # fmt: skip
        self.weight = None
        if weight is None:
            keys.sort()
        else:
            order = cupy.argsort(keys)
            keys, self.weight = keys[order], weight[order]
            del order
        edges = cupy.arange(side * side + 1, dtype=cupy.uint64) << np.uint64(bits + 2 * _LOCAL)
        tiles = cupy.searchsorted(keys, edges).get()
        tiles[-1] = self.n_rows  # the last edge may lie beyond 64 bits
        # Threads read four rows at a time, also at the end.
        self.pair, self.annotator = (self.column(cupy.uint32) for _ in range(2))
        each_of(self.n_rows, "split", keys, np.uint64((1 << bits) - 1), self.pair, self.annotator)
        del keys
        cupy.get_default_memory_pool().free_all_blocks()
        cupy.get_default_pinned_memory_pool().free_all_blocks()
        units = _units(tiles, side, self.span)
        self.n_units = len(units)
        self.units = cupy.asarray(units.view(np.uint8))
        self._sum_weights(weight, starts)

    def _sum_weights(self, weight: Any, starts: Any) -> None:
        """Sum what each item and each annotator has, for the scales of the kernels' sums."""
        import cupy

        self.launch("crowding", 8, self.pair, np.int32(self.span))
        self.largest_weight = 1.0 if self.weight is None else float(self.weight.max())
        counts = self._degrees(None, 1.0)
        self.most_of_item = int(counts.max())
        self.degrees = counts.astype(cupy.float64)
        sizes = cupy.diff(starts)
        self.most_of_annotator = int(sizes.max())
        self.given = sizes.astype(cupy.float64)
        if weight is not None:
            scale = ROOM / (self.most_of_item * self.largest_weight)
            self.degrees = self._degrees(self.weight, scale) / scale
            self.given = cupy.diff(cupy.concatenate([cupy.zeros(1), cupy.cumsum(weight)])[starts])

    def launch(
        self, name: str, bytes_per_item: int, *arguments: Any, file: str = "products.cu"
    ) -> None:
        """Run a kernel over all units, with so many bytes of fast memory per item of a side."""
        room = bytes_per_item * self.span
        kernel = _kernel(file, name)
        kernel((self.n_units,), (_THREADS,), (self.units, *arguments), shared_mem=room)

    def column(self, kind: Any) -> Any:
        """Return room for a number per row, as the kernels read it."""
        import cupy

        return cupy.zeros(self.n_rows + 4, dtype=kind)

    def _degrees(self, weight: Any, scale: float) -> Any:
        import cupy

        total = cupy.zeros(self.n_items, dtype=cupy.int64)
        name = "degrees<false>" if weight is None else "degrees<true>"
        self.launch(
            name, 8, self.pair, pointer(weight), np.int32(self.span), np.float64(scale), total
        )
        return total


def _check_room(n_rows: int) -> None:
    """Refuse rows that the device's memory does not hold, before any is moved."""
    import cupy

    pool = cupy.get_default_memory_pool()
    free = cupy.cuda.runtime.memGetInfo()[0] + pool.total_bytes() - pool.used_bytes()
    wanted = _BYTES * n_rows
    if wanted > free:
        raise OptionError(
            f"{n_rows:,} rows take some {wanted / 1e9:,.1f} GB of the GPU's memory, of which "
            f"{free / 1e9:,.1f} GB are free; choose the engine 'local' or 'dask'."
        )


def pointer(array: Any) -> Any:
    """Return what a kernel takes for an array that may be None."""
    return np.uintp(0) if array is None else array


def _units(tiles: Any, side: int, span: int) -> Any:
    """Cut the tiles' rows into units: enough of them to keep the device busy to the end."""
    size = int(np.clip(tiles[-1] // _UNITS, _SMALLEST_UNIT, _BIGGEST_UNIT))
    counts = -(-np.diff(tiles) // size)
    tile = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(tile)) - np.repeat(np.cumsum(counts) - counts, counts)
    units = np.zeros(len(tile), dtype=_UNIT)
    units["begin"] = tiles[tile] + within * size
    units["end"] = np.minimum(units["begin"] + size, tiles[tile + 1])
    units["winners"], units["losers"] = (tile // side) * span, (tile % side) * span
    return units


@dataclass(frozen=True, eq=False)
class DeviceRows(Rows):
    """Rows that were moved to a GPU, once."""

    layout: Layout = field(kw_only=True)

    @classmethod
    def of(cls, rows: Rows) -> DeviceRows:
        """Move rows to the device."""
        return cls(
            rows.winner, rows.loser, rows.weight, rows.starts, rows.n_items, layout=Layout(rows)
        )

    @cached_property
    def degrees(self) -> FloatArray:
        """Total weight of the comparisons of each item."""
        return np.asarray(self.layout.degrees.get())

    @cached_property
    def won(self) -> FloatArray:
        """Half of all, as if nobody knew: a card iterates sooner than this machine counts."""
        return np.asarray(0.5 * self.degrees)

    @cached_property
    def given(self) -> FloatArray:
        """Total weight of the comparisons of each annotator."""
        given = np.asarray(self.layout.given.get())
        return given if self.n_annotators == self.layout.n_annotators else given.sum(keepdims=True)

    def here(self) -> Rows:
        """Return the rows for the processors of this machine."""
        return Rows(self.winner, self.loser, self.weight, self.starts, self.n_items)

    def turned(self, annotator: int) -> Rows:
        """Return the rows with one annotator's answers turned round, on this machine.

        The layout has them as they were; this is asked of small studies only.
        """
        return self.here().turned(annotator)

    def pooled(self) -> Rows:
        """Forget who judged; the layout serves both."""
        starts = np.array([0, len(self)])
        columns = self.winner, self.loser, self.weight
        return DeviceRows(*columns, starts, self.n_items, layout=self.layout)
