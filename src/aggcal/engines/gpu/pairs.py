"""Pairs of items with weights, multiplied by vectors on a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray
from aggcal.engines.gpu.copies import to_device
from aggcal.engines.gpu.layout import ROOM, TINY, each_of


@dataclass(frozen=True, eq=False)
class DevicePairs:
    """`WeightedPairs` in the memory of a GPU: the same sums but for rounding."""

    left: Any
    right: Any
    weight: Any
    n_items: int
    heaviest: float
    """The largest sum of the weights of an item's pairs: it bounds the sums to come."""

    @classmethod
    def of(cls, left: CodeArray, right: CodeArray, weight: FloatArray, n: int) -> DevicePairs:
        """Move pairs of n items to the device."""
        import cupy

        ends = to_device(left, np.int32), to_device(right, np.int32)
        moved = to_device(weight, np.float32)
        pairs = cls(*ends, moved, n, len(left) * float(weight.max()))
        return cls(*ends, moved, n, float(pairs.neighbours(cupy.ones(n)).max()))

    def neighbours(self, vector: Any) -> Any:
        """Return, for each item, the weighted sum of a vector over the items it is paired with."""
        import cupy

        scale = ROOM / max(1.1 * self.heaviest * float(cupy.abs(vector).max()), TINY)
        total = cupy.zeros(self.n_items, dtype=cupy.int64)
        columns = self.left, self.right, self.weight
        each_of(len(self.left), "neighbours", *columns, vector, np.float64(scale), total)
        return total / scale
