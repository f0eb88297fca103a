"""Sums over rows of products of two sparse rows, of which only the factors change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, sums

MOST = 1_000_000
"""Products whose places are kept: more of them take memory, and sparse matrices then take little
longer."""


@dataclass(frozen=True, eq=False)
class Crossed:
    """A'diag(c)B for any c, in a tenth of the time of sparse matrices.

    Those find out anew where the products belong, which for some thousand rows takes most of it. Of
    entries that are 1 and −1 the sums are the same bits.

    Examples
    --------
    >>> from scipy import sparse
    >>> one = sparse.csr_array(np.array([[1.0, -1.0], [0.0, 2.0]]))
    >>> Crossed.of(one, one).sums(np.array([1.0, 3.0]))
    array([[ 1., -1.],
           [-1., 13.]])
    """

    row: IntArray
    first: FloatArray
    second: FloatArray
    place: IntArray
    shape: tuple[int, int]

    @staticmethod
    def number(one: Any, two: Any) -> int:
        """Return how many products two sparse tables with the same rows have."""
        return int(np.diff(one.indptr).astype(np.int64) @ np.diff(two.indptr).astype(np.int64))

    @classmethod
    def of(cls, one: Any, two: Any) -> Crossed:
        """Find the places of all products of two sparse tables with the same rows."""
        n, shape = one.shape[0], (one.shape[1], two.shape[1])
        size, other = np.diff(one.indptr).astype(np.int64), np.diff(two.indptr).astype(np.int64)
        row = np.repeat(np.arange(n), size)
        times = other[row]  # each entry of the first meets all of the second in its row
        at = np.repeat(np.arange(len(row)), times)
        begins = np.cumsum(times) - times
        there = np.arange(len(at)) - begins[at] + two.indptr[row[at]].astype(np.int64)
        place = one.indices[at].astype(np.int64) * shape[1] + two.indices[there]
        return cls(row[at], one.data[at], two.data[there], place, shape)

    def sums(self, factors: FloatArray) -> FloatArray:
        """Return A'diag(c)B."""
        products = self.first * (factors[self.row] * self.second)
        return sums(self.place, products, self.shape[0] * self.shape[1]).reshape(self.shape)
