"""Symmetric matrices in place: inverses by triangles, as one half says all, and sums."""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.compiled_scipy import dlauum, dtrmm, dtrtri
from aggcal._core.kernels import at, library

_ROWS = 64  # of a matrix that are added to at a time: they stay in the cache
_LEAF = 64  # rows that LAPACK inverts as they are: fewer take more calls, more are slower


def upper_inverse(factor: FloatArray) -> None:
    """Invert an upper triangle that is stored by columns; what is below it may be anything.

    By halves, which are multiplied as fast as any matrices: LAPACK's own function takes three
    quarters longer for 500 rows, and a third longer for 1,000.

    Examples
    --------
    >>> factor = np.array([[2.0, 1.0], [7.0, 1.0]], order="F")
    >>> upper_inverse(factor)
    >>> factor
    array([[ 0.5, -0.5],
           [ 7. ,  1. ]])
    """
    n = len(factor)
    if n <= _LEAF:
        _keep(factor, dtrtri(factor, lower=False, overwrite_c=True)[0])
        return
    half = n // 2
    first, across, second = factor[:half, :half], factor[:half, half:], factor[half:, half:]
    upper_inverse(first)
    upper_inverse(second)
    _keep(across, dtrmm(-1.0, first, across, side=0, lower=0, overwrite_b=1))
    _keep(across, dtrmm(1.0, second, across, side=1, lower=0, overwrite_b=1))


def inverse_of_factor(factor: FloatArray) -> FloatArray:
    """Return (UᵀU)⁻¹ of an upper triangle U that is stored by columns, and overwrite it.

    Examples
    --------
    >>> inverse_of_factor(np.array([[2.0, 1.0], [0.0, 1.0]], order="F"))
    array([[ 0.5, -0.5],
           [-0.5,  1. ]])
    """
    upper_inverse(factor)
    # What LAPACK has by columns NumPy reads by rows: the upper triangle is a lower one.
    return mirrored(dlauum(factor, lower=False, overwrite_c=True)[0].T)


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


def _keep(part: FloatArray, found: FloatArray) -> None:
    """Copy a result to its place in a matrix, unless LAPACK wrote it there."""
    if found is not part:
        part[...] = found
