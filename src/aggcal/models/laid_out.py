"""Judgments laid out as rows by compiled kernels, in threads: a fifth of the time of NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, closed_up, joined
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import between_annotators, each_range

_WHOLE = 1 << 53
"""Pairs of items that a float tells apart."""
_COUNT, _NUMBER, _ARRAY = ctypes.c_int64, ctypes.c_double, ctypes.c_void_p
Filled = tuple[list[np.ndarray], IntArray]
"""Columns, and how many rows each annotator has."""


class _Judged(ctypes.Structure):
    """`Judged` of ``layout.c``."""

    _fields_ = (
        ("items", _COUNT),
        ("heavy", _NUMBER),
        *((name, _ARRAY) for name in ("annotator", "left", "right", "outcome", "weight")),
    )


@dataclass(frozen=True, eq=False)
class Judged:
    """The columns of judgments that are sorted by annotator."""

    annotator: CodeArray
    left: CodeArray
    right: CodeArray
    outcome: FloatArray
    weight: FloatArray
    n_items: int

    def wins(self) -> Filled | None:
        """Return winners, losers and weights; None where there is no kernel for it.

        Examples
        --------
        >>> none = np.zeros(0, dtype=np.int32)
        >>> Judged(none, none, none, np.zeros(0), np.zeros(0), 0).wins()
        """
        outcome = self.outcome

        def twice(begin: int, end: int) -> int:
            ahead, behind = outcome[begin:end] > 0.0, outcome[begin:end] < 1.0
            return int(np.count_nonzero(np.logical_and(ahead, behind, out=ahead)))

        more = each_range(twice, between_annotators(self.annotator))
        return self._filled("wins", (), (np.int32, np.int32, np.float64), more)

    def questions(self, *, sides: bool, ties: bool) -> Filled | None:
        """Return items, weights, leans, ties and the rest; None where there is no kernel for it.

        ``sides``: whether left and right matter; ``ties``: whether a tie is an answer of its own.
        """
        kinds = np.int32, np.int32, *([np.float64] * 4)
        return self._filled("questions", (int(sides), int(ties)), kinds)

    def _filled(
        self, name: str, how: tuple[int, ...], kinds: tuple[Any, ...], more: list[int] | None = None
    ) -> Filled | None:
        """Let a kernel fill columns; ``more`` rows of each range than there are judgments."""
        kernel: Callable[..., int] | None = getattr(library(), f"aggcal_{name}", None)
        n = len(self.annotator)
        if kernel is None or n == 0 or self.n_items**2 >= _WHOLE:
            return None
        codes = [
            np.ascontiguousarray(column, dtype=np.int32)
            for column in (self.annotator, self.left, self.right)
        ]
        alike = self.weight.strides == (0,)
        weight = None if alike else np.ascontiguousarray(self.weight, dtype=np.float64)
        inputs = *codes, np.ascontiguousarray(self.outcome, dtype=np.float64), weight
        job = _Judged(self.n_items, float(self.weight[0]), *at(*inputs))
        ranges, annotator = between_annotators(self.annotator), codes[0]
        rooms = np.diff(ranges) + (0 if more is None else np.array(more))
        begins = dict(zip(ranges, np.concatenate([[0], np.cumsum(rooms)]).tolist(), strict=True))
        columns = [np.empty(begins[n], dtype=kind) for kind in kinds]

        def work(begin: int, end: int) -> tuple[int, IntArray]:
            sizes = np.zeros(int(annotator[end - 1]) - int(annotator[begin]) + 1, dtype=np.int64)
            mine = at(*(column[begins[begin] :] for column in columns), sizes)
            return kernel(ctypes.byref(job), begin, end, *how, *mine), sizes

        numbers, sizes = zip(*each_range(work, ranges), strict=True)
        if min(numbers) < 0:
            return None
        if sum(numbers) < begins[n]:
            at_begin = [begins[begin] for begin in ranges[:-1]]
            columns = [closed_up(column, at_begin, numbers) for column in columns]
        return columns, joined(list(sizes))
