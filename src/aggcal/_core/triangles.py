"""Symmetric matrices in place: from one triangle, and sums."""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.kernels import at, library

_ROWS = 64  # of a matrix that are added to at a time: they stay in the cache


def mirrored(lower: FloatArray) -> FloatArray:
    """Fill the upper triangle of a matrix from the lower one, and return it.

    Examples
    --------
    >>> mirrored(np.array([[1.0, 7.0], [2.0, 3.0]]))
    array([[1., 2.],
           [2., 3.]])
    """
    kernels = library()
    if kernels is not None and lower.flags.c_contiguous and lower.flags.writeable:
        kernels.aggcal_mirror(len(lower), *at(lower))
        return lower
    return np.asarray(np.tril(lower) + np.tril(lower, -1).T)


def add_squares(matrix: FloatArray, *vectors: FloatArray) -> FloatArray:
    """Add vv' of some vectors to a matrix, in place, without another matrix; return it.

    Examples
    --------
    >>> add_squares(np.eye(2), np.array([1.0, 2.0]), np.zeros(2))
    array([[2., 2.],
           [2., 5.]])
    """
    some = np.array([vector for vector in vectors if vector.any()])
    for begin in range(0, len(matrix) if len(some) else 0, _ROWS):
        matrix[begin : begin + _ROWS] += some[:, begin : begin + _ROWS].T @ some
    return matrix
