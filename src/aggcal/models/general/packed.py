"""What annotators pull the unknowns by, packed: the unknowns of each, in order, and their numbers.

Sums over pairs of unknowns go through a matrix a few rows at a time, for all annotators: those rows
stay in the cache, and the matrix need not be filled for each thread anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, joined
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import each_range, even
from aggcal._core.triangles import mirrored
from aggcal.models.general.sums import Layout

_ROWS_EACH = 1 << 14  # of the judgments, that a thread packs: fewer wake more threads for less
_RANGES = 16  # that are packed together: more take more memory
_UNKNOWNS_EACH = 96  # rows of a matrix that a thread sums


class Packed(NamedTuple):
    """The unknowns that some annotators touch."""

    first: int
    """The first of the annotators."""
    starts: CodeArray
    items: CodeArray
    values: FloatArray
    ranks: CodeArray
    """How many vectors each annotator has, where that differs."""

    @property
    def annotators(self) -> slice:
        """Whose they are."""
        return slice(self.first, self.first + len(self.starts) - 1)


class Room(NamedTuple):
    """Where a kernel writes what it packs, and what it needs to work in."""

    numbers: CodeArray
    items: CodeArray
    ranks: CodeArray
    zeros: tuple[np.ndarray, ...]


Pack = Callable[[int, int, Room], tuple[int, FloatArray]]
"""Packs a range of annotators; returns how many unknowns, and their numbers."""


def packed(layout: Layout, pack: Pack) -> Iterator[Packed]:
    """Pack annotators, in threads, some at a time.

    Parameters
    ----------
    layout
        Whose rows touch which unknowns.
    pack
        What packs a range of annotators.
    """
    starts = layout.rows.starts
    cuts = np.searchsorted(starts, np.arange(0, int(starts[-1]), _ROWS_EACH)).tolist()
    cuts = sorted({0, *cuts, len(starts) - 1})

    def work(begin: int, end: int) -> tuple[CodeArray, CodeArray, FloatArray, CodeArray]:
        room = _room(layout, begin, end)
        total, values = pack(begin, end, room)
        return room.numbers, room.items[:total], values, room.ranks

    for k in range(0, len(cuts) - 1, _RANGES):
        some = cuts[k : k + _RANGES + 1]
        numbers, items, values, ranks = zip(*each_range(work, some), strict=True)
        each = np.concatenate([[0], np.cumsum(joined(numbers))]).astype(np.int32)
        together = values[0] if len(values) == 1 else np.concatenate(values, axis=-1)
        yield Packed(some[0], each, joined(items), together, joined(ranks))


def _room(layout: Layout, begin: int, end: int) -> Room:
    most, size = most_touched(layout, begin, end), layout.size
    zeros = np.zeros(size), np.zeros(size, np.uint8), np.zeros(size // 64 + 1, np.uint64)
    numbers, ranks = np.empty(end - begin, np.int32), np.empty(end - begin, np.int32)
    return Room(numbers, np.empty(most, np.int32), ranks, zeros)


def most_touched(layout: Layout, begin: int, end: int) -> int:
    """Return how many unknowns a range of annotators touches at most, each by itself."""
    each = int(layout.design.columns.shape[1]) + 2 * layout.axis + (layout.contexts > 0)
    rows = int(layout.rows.starts[end] - layout.rows.starts[begin])
    return min(each * rows + len(layout.means) * (end - begin), layout.size * (end - begin))


def squares(parts: Iterator[Packed], size: int, wide: int) -> FloatArray:
    """Return Σ v v' over all vectors of all annotators, those of one `wide` apart."""
    kernels, total = library(), np.zeros((size, size))
    assert kernels is not None  # noqa: S101  # they packed the vectors
    for part in parts:
        number = len(part.starts) - 1

        def rows(begin: int, end: int, part: Packed = part, number: int = number) -> None:
            position = np.empty(number, np.int32)
            arrays = at(part.starts, part.items, part.ranks, part.values, position, total)
            kernels.aggcal_packed_square(begin, end, number, size, wide, *arrays)

        each_range(rows, even(size, _UNKNOWNS_EACH))
    return mirrored(total)
