"""Invert large symmetric matrices in threads, by products of blocks."""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.compiled_scipy import dtrtrs
from aggcal._core.kernels.threads import each_range
from aggcal._core.triangles import inverse_of_factor, mirrored, upper_inverse
from aggcal.aggregation.solve.linear import upper_factor

_BLOCK = 256  # rows that are factored as they are: fewer make products too small for threads
_LARGE = 600
"""Rows from which blocks pay: smaller matrices are inverted as soon by one thread."""
_STRIPS, _LEAST = 8, 60
"""Strips of a product, and rows of each: more keep more threads busy, and multiply smaller pieces.
"""


def inverse_and_errors(matrix: FloatArray, normal: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Invert a positive definite matrix, and give rows of normal numbers its inverse as covariance.

    Examples
    --------
    >>> inverse, errors = inverse_and_errors(np.array([[4.0, 2.0], [2.0, 2.0]]), np.ones((1, 2)))
    >>> inverse, errors
    (array([[ 0.5, -0.5],
           [-0.5,  1. ]]), array([[0., 1.]]))
    """
    if len(matrix) >= _LARGE:
        root = inverse_root(matrix)
        return _gram(root), normal @ root
    factor = _factor(matrix)
    errors = dtrtrs(factor, normal.T, lower=False)[0].T
    return inverse_of_factor(factor), errors


def inverse_root(matrix: FloatArray) -> FloatArray:
    """Return the inverse W of the Cholesky factor of a matrix A, so that WᵀW = A⁻¹.

    By halves: with A = [[A₁, Bᵀ], [B, A₂]] and W₁ that of A₁, C = B W₁ᵀ is the factor's lower
    block, W₂ that of A₂ − C Cᵀ, and −W₂ C W₁ what stands below W₁.

    Examples
    --------
    >>> inverse_root(np.array([[4.0, 2.0], [2.0, 2.0]]))
    array([[ 0.5,  0. ],
           [-0.5,  1. ]])
    """
    n = len(matrix)
    if n <= _BLOCK:
        return factor_inverse(matrix)
    half = n // 2
    found, across, rest = np.zeros((n, n)), np.empty((n - half, half)), np.empty((n - half, half))
    first, lower = inverse_root(matrix[:half, :half]), matrix[half:, :half]

    # What is beside a triangle is not multiplied: the last of each product is as wide as the first
    # alone would be. Of a symmetric matrix only the lower triangle is ever read.
    def along(begin: int, end: int) -> None:
        np.matmul(lower[:, :end], first[begin:end, :end].T, out=across[:, begin:end])

    def carried(begin: int, end: int) -> None:
        np.matmul(across[:, begin:], first[begin:, begin:end], out=rest[:, begin:end])

    each_range(along, _strips(half))
    each_range(carried, _strips(half))
    left = np.empty((n - half, n - half))

    def less(begin: int, end: int) -> None:
        known = across[begin:end] @ across[:end].T
        own = matrix[half + begin : half + end, half : half + end]
        np.subtract(own, known, out=left[begin:end, :end])

    each_range(less, _strips(n - half))
    second = inverse_root(left)
    found[:half, :half], found[half:, half:] = first, second

    def below(begin: int, end: int) -> None:
        found[half + begin : half + end, :half] = -(second[begin:end, :end] @ rest[:end])

    each_range(below, _strips(n - half))
    return found


def factor_inverse(matrix: FloatArray) -> FloatArray:
    """Return the same by LAPACK alone: sooner of a small matrix, or where threads are taken.

    Of the matrix only the lower triangle is read.

    Examples
    --------
    >>> factor_inverse(np.array([[4.0, 2.0], [2.0, 2.0]]))
    array([[ 0.5,  0. ],
           [-0.5,  1. ]])
    """
    factor = _factor(matrix)
    upper_inverse(factor)
    return np.tril(factor.T)


def _factor(matrix: FloatArray) -> FloatArray:
    factor = upper_factor(matrix)
    if factor is None:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return factor


def _gram(root: FloatArray) -> FloatArray:
    """Return WᵀW of a lower triangle W: what is beside the triangle is not multiplied."""
    n = len(root)
    found = np.empty((n, n))

    def strip(begin: int, end: int) -> None:
        # Rows of W above the strip are 0 in it, and of the product one triangle is enough.
        np.matmul(root[begin:, begin:end].T, root[begin:, :end], out=found[begin:end, :end])
        found[:begin, begin:end] = found[begin:end, :begin].T
        found[begin:end, begin:end] = mirrored(found[begin:end, begin:end])

    each_range(strip, _strips(n))
    return found


def _strips(rows: int) -> list[int]:
    """Cut rows into strips, by their number alone: the bits do not depend on the threads."""
    number = max(1, min(_STRIPS, rows // _LEAST))
    return [rows * k // number for k in range(number + 1)]
