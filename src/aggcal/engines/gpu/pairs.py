"""Pairs of items with weights, multiplied by vectors on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray
from aggcal._core.records import dataclass
from aggcal.engines.gpu.copies import to_device
from aggcal.engines.gpu.layout import ROOM, TINY, each_of


@dataclass(frozen=True, eq=False)
class DevicePairs:
    """`WeightedPairs` in the memory of a GPU: the same sums but for rounding."""

    columns: tuple[Any, Any, Any]
    n_items: int
    heaviest: float
    """The largest sum of the weights of an item's pairs: it bounds the sums to come."""

    @classmethod
    def of(cls, left: CodeArray, right: CodeArray, weight: FloatArray, n: int) -> DevicePairs:
        """Move pairs of n items to the device."""
        ends = to_device(left, np.int32), to_device(right, np.int32)
        pairs = cls((*ends, to_device(weight, np.float32)), n, len(left) * float(weight.max()))
        return cls(pairs.columns, n, float(pairs.neighbours(np.ones(n)).max()))

    def neighbours(self, vector: FloatArray) -> FloatArray:
        """Return, for each item, the weighted sum of a vector over the items it is paired with."""
        import cupy

        left, right, weight = self.columns
        scale = ROOM / max(1.1 * self.heaviest * float(np.abs(vector).max()), TINY)
        total = cupy.zeros(self.n_items, dtype=cupy.int64)
        given = cupy.asarray(vector, dtype=cupy.float64)
        each_of(len(left), "neighbours", left, right, weight, given, np.float64(scale), total)
        return np.asarray((total / scale).get())
