"""Rows as keys: how a key is made up, and keys sorted and merged by threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from aggcal._core.arrays import BoolArray, CodeArray, FloatArray, IntArray
from aggcal._core.kernels import at
from aggcal._core.kernels.threads import each_range
from aggcal._core.machine import cores
from aggcal.io.quick.streams import NotPlain

KeyArray = npt.NDArray[np.uint64]

_WIDEST = 64  # bits of a key
_WIDEST_DIGIT = 11
"""Bits of a digit of the sort: more take fewer passes, until their 2048 places leave the cache."""
_FULL = 0.95
"""How full memory must be to be kept for a column: less wastes more of it, more takes other."""
_ROWS_PER_RANGE = 100_000  # fewer spread over more cores, and start more threads


@dataclass(frozen=True)
class Layout:
    """Which bits of a key hold what: annotator, left, right and outcome, from the highest on.

    Where there are few different weights, the code of one has the bits below all these.
    """

    right: int
    left: int
    annotator: int
    bits: int
    fitted: int
    """How many codes of outcomes are values: the others are reasons not to fit a row."""
    nothing: int
    """The key of a row that is not fitted: above all others."""
    weight: int = 0
    """Bits of the code of a weight."""

    @classmethod
    def of(
        cls, annotators: int, items: int, outcomes: int, fitted: int, *, weights: int = 0
    ) -> Layout:
        """Divide the bits among so many codes.

        Examples
        --------
        >>> Layout.of(3, 5, 2, 2, weights=4)
        Layout(right=1, left=4, annotator=7, bits=11, fitted=2, nothing=1536, weight=2)
        """
        right = max(outcomes - 1, 0).bit_length()
        left = right + max(items - 1, 1).bit_length()
        annotator = 2 * left - right
        weight = max(weights - 1, 0).bit_length()
        bits = annotator + annotators.bit_length() + weight
        if bits > _WIDEST:
            raise NotPlain
        nothing = annotators << (annotator + weight)
        return cls(right, left, annotator, bits, fitted, nothing, weight)

    @property
    def array(self) -> CodeArray:
        """As a kernel takes it."""
        places = (self.right, self.left, self.annotator, self.fitted, self.weight)
        return np.array(places, dtype=np.int32)


@dataclass(frozen=True)
class Merged:
    """Rows, sorted, equal ones as one; None for a column that is not there or all 1."""

    annotator: CodeArray
    left: CodeArray
    right: CodeArray
    outcome: FloatArray | None
    weight: FloatArray | None
    count: IntArray | None
    again: int
    """Rows that are equal to another one in weight, too."""
    judged: BoolArray
    """Which items occur."""
    judging: BoolArray
    """Which annotators do."""


def sorted_keys(
    kernels: Any, key: KeyArray, weight: FloatArray | None, bits: int, threads: int | None = None
) -> tuple[KeyArray, FloatArray | None, list[FloatArray]]:
    """Sort keys, weights along with them, by their digits from the lowest on.

    Each thread has a stretch of the rows, and what it deals goes after what those before it deal,
    so that the order is that of one thread. Both arrays are used up. Returned is also memory that
    the sort needs no more: to take other memory instead would cost as much as a pass.
    """
    passes = -(-bits // _WIDEST_DIGIT)
    width = -(-bits // passes)
    ranges = _ranges(len(key), threads)
    other, others = np.empty_like(key), None if weight is None else np.empty_like(weight)
    for bit in range(0, bits, width):
        mask = (1 << width) - 1

        def digits(begin: int, end: int, key: KeyArray = key, bit: int = bit) -> IntArray:
            number = np.zeros(mask + 1, dtype=np.int64)  # noqa: B023
            kernels.aggcal_digits(end - begin, *at(key[begin:end]), bit, mask, *at(number))  # noqa: B023
            return number

        numbers = np.stack(each_range(digits, ranges))
        if (numbers.sum(axis=0) == len(key)).any():
            continue  # all have the same digit
        ends = np.cumsum(numbers.T.ravel()).reshape(numbers.T.shape).T
        places = np.ascontiguousarray(ends - numbers)

        def deal(begin: int, end: int, bit: int = bit, places: IntArray = places) -> None:
            rows = slice(begin, end)
            some = None if weight is None else weight[rows]  # noqa: B023
            kernels.aggcal_deal(
                end - begin, *at(key[rows], some), bit, mask,  # noqa: B023
                *at(places[ranges.index(begin)], other, others),  # noqa: B023
            )  # fmt: skip

        each_range(deal, ranges)
        key, other = other, key
        weight, others = others, weight
    rooms = [other.view(np.float64)]
    return key, weight, rooms if others is None else [*rooms, others]


def merged_rows(
    kernels: Any,
    key: KeyArray,
    weight: FloatArray | None,
    layout: Layout,
    *,
    values: FloatArray | None,
    sizes: tuple[int, int],
    measure: FloatArray | None,
    rooms: list[FloatArray],
    threads: int | None = None,
) -> Merged:
    """Merge equal rows of sorted keys.

    Parameters
    ----------
    kernels
        The compiled ones.
    key, weight
        The rows; weights are used up.
    layout
        How keys are made up.
    values
        The outcome of each of its codes.
    sizes
        How many items and annotators have a code.
    measure
        The weight of each of its codes, where keys hold these.
    rooms
        Memory for columns, which is taken from the list.
    threads
        How many may be used.
    """
    # No run is cut in two.
    lowest = np.uint64(layout.weight)
    first = key[_ranges(len(key), threads)[1:-1]] >> lowest << lowest
    cuts = np.unique(np.searchsorted(key, first))
    ranges = [0, *(int(cut) for cut in cuts if cut), len(key)]

    def counted(begin: int, end: int) -> int:
        return int(kernels.aggcal_runs(end - begin, *at(key[begin:end]), layout.weight))

    runs = each_range(counted, ranges)
    starts = dict(zip(ranges[:-1], np.cumsum([0, *runs]).tolist(), strict=False))
    rows = sum(runs)
    codes = [np.empty(rows, dtype=np.int32) for _ in range(3)]
    outcome = None if values is None else _room(rooms, rows)
    weighted = weight is not None or measure is not None
    total = _room(rooms, rows) if weighted else None
    count = None if rows == len(key) else np.empty(rows, dtype=np.int64)
    judged, judging = (np.zeros(size, dtype=np.uint8) for size in sizes)
    form = layout.array

    def merge(begin: int, end: int) -> int:
        to = slice(starts[begin], None)
        columns = [None if c is None else c[to] for c in (*codes, outcome, total, count)]
        some = None if weight is None else weight[begin:end]
        found = kernels.aggcal_merge(
            end - begin, *at(key[begin:end], some, measure, form, values, *columns, judged, judging)
        )
        return int(found)

    again = sum(each_range(merge, ranges))
    annotator, left, right = codes
    return Merged(
        annotator,
        left,
        right,
        None if outcome is None or bool((outcome == 1.0).all()) else outcome,
        None if total is None or bool((total == 1.0).all()) else total,
        count,
        again,
        judged.view(np.bool_),
        judging.view(np.bool_),
    )


def _room(rooms: list[FloatArray], rows: int) -> FloatArray:
    """Return a column of so many rows, in memory that is there if little of it is left over."""
    fits = bool(rooms) and rows >= _FULL * len(rooms[-1])
    return rooms.pop()[:rows] if fits else np.empty(rows)


def _ranges(rows: int, threads: int | None) -> list[int]:
    number = int(np.clip(rows // _ROWS_PER_RANGE, 1, threads or cores()))
    return [rows * k // number for k in range(number + 1)]
