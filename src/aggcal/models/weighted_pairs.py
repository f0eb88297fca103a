"""Pairs of items with weights, multiplied by vectors in threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, sums
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import added, balanced, each_range
from aggcal.data.base import AnyJudgments

_TOGETHER = 2048  # pairs that the kernel takes at once: they stay in the cache
_LEAST = 100_000  # pairs of a thread: fewer take less time than to wake one


class Pairs(Protocol):
    """The edges of a graph of items; vectors are where their weights are."""

    @property
    def weight(self) -> Any:
        """The weights."""

    def neighbours(self, vector: Any, /) -> Any:
        """Return, for each item, the weighted sum of a vector over the items it is paired with."""


MakePairs: TypeAlias = Callable[[CodeArray, CodeArray, FloatArray, int], Pairs]
"""Takes the two ends of each pair, their weights, and how many items there are."""


@dataclass(frozen=True, eq=False)
class WeightedPairs:
    """The edges of a graph of items, their weights in single precision."""

    left: CodeArray
    right: CodeArray
    weight: npt.NDArray[np.float32]
    degree: FloatArray
    """The sum of the weights of each item's pairs."""
    starts: IntArray

    @classmethod
    def of(cls, left: CodeArray, right: CodeArray, weight: FloatArray, n: int) -> WeightedPairs:
        """Take pairs of n items.

        Examples
        --------
        >>> ends = np.array([0, 1], dtype=np.int32), np.array([1, 2], dtype=np.int32)
        >>> WeightedPairs.of(*ends, np.array([1.0, 2.0]), 3).degree
        array([1., 3., 2.])
        """
        single = weight.astype(np.float32)
        exact = single.astype(np.float64)
        degree = sums(left, exact, n) + sums(right, exact, n)
        starts = np.append(np.arange(0, len(left), _TOGETHER), len(left))
        ends = [np.ascontiguousarray(side, dtype=np.int32) for side in (left, right)]
        return cls(ends[0], ends[1], single, degree, starts)

    def neighbours(self, vector: FloatArray) -> FloatArray:
        """Return, for each item, the weighted sum of a vector over the items it is paired with.

        Examples
        --------
        >>> ends = np.array([0, 1], dtype=np.int32), np.array([1, 2], dtype=np.int32)
        >>> pairs = WeightedPairs.of(*ends, np.array([1.0, 2.0]), 3)
        >>> pairs.neighbours(np.array([1.0, 10.0, 100.0]))
        array([ 10., 201.,  20.])
        """
        kernels, n = library(), len(self.degree)
        if kernels is None:
            mine = self.weight * vector[self.right], self.weight * vector[self.left]
            return sums(self.left, mine[0], n) + sums(self.right, mine[1], n)
        given = np.ascontiguousarray(vector)

        def work(begin: int, end: int) -> FloatArray:
            out = np.zeros(n)
            columns = at(self.left, self.right, self.starts, self.weight, None, None, given, out)
            kernels.aggcal_product(begin, end, *columns)
            return out

        # The kernel multiplies by the Laplacian: degrees less neighbours.
        return self.degree * given - added(each_range(work, balanced(self.starts, _LEAST)))


@singledispatch
def pairs_of(judgments: AnyJudgments) -> MakePairs:  # noqa: ARG001
    """Return what makes pairs of these judgments; an engine registers where it is quicker."""
    return WeightedPairs.of
