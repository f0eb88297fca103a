"""Solve symmetric systems that should be positive definite, and may not be."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from aggcal._core.arrays import FloatArray, dot
from aggcal._core.triangles import mirrored


def definite_inverse(matrix: FloatArray, instead: FloatArray) -> FloatArray:
    """Invert a symmetric matrix, or another where it is not positive definite.

    Examples
    --------
    >>> definite_inverse(np.diag([-1.0, 1.0]), np.array([[4.0, 2.0], [2.0, 2.0]]))
    array([[ 0.5, -0.5],
           [-0.5,  1. ]])
    """
    factor = upper_factor(matrix)
    if factor is None and not np.isfinite(matrix).all():
        return np.full(matrix.shape, np.nan)
    factor = upper_factor(instead) if factor is None else factor
    if factor is not None:
        return inverse_of_factor(factor)
    values, vectors = np.linalg.eigh(instead)
    return np.asarray((vectors / np.maximum(np.abs(values), 1e-8 * values[-1])) @ vectors.T)


def inverse_of_factor(factor: FloatArray) -> FloatArray:
    """Return (UᵀU)⁻¹ of an upper triangle U that is stored by columns, and overwrite it.

    Examples
    --------
    >>> inverse_of_factor(np.array([[2.0, 1.0], [0.0, 1.0]], order="F"))
    array([[ 0.5, -0.5],
           [-0.5,  1. ]])
    """
    # What LAPACK has by columns NumPy reads by rows: the upper triangle is a lower one.
    return mirrored(dpotri(factor, lower=False, overwrite_c=True)[0].T)


def upper_factor(matrix: FloatArray, *, overwrite: bool = False) -> FloatArray | None:
    """Return U by columns with UᵀU = A, anything below it; None where A is not positive definite.

    Of the matrix only the lower triangle is read, or overwritten, if it may be.

    Examples
    --------
    >>> np.triu(upper_factor(np.array([[4.0, 2.0], [2.0, 2.0]])))
    array([[2., 1.],
           [0., 1.]])
    """
    # What NumPy has by rows LAPACK reads by columns: the lower triangle as an upper one.
    factor, failed = dpotrf(matrix.T, lower=False, clean=False, overwrite_a=overwrite)
    # A number that is not finite spoils the pivot of its row.
    return None if failed or not np.isfinite(np.diag(factor)).all() else np.asarray(factor)


def definite_solve(matrix: FloatArray, target: FloatArray) -> FloatArray:
    """Solve a symmetric system that should be positive definite: half the work of any other.

    Examples
    --------
    >>> definite_solve(np.diag([2.0, 4.0]), np.ones(2))
    array([0.5 , 0.25])
    """
    factor, failed = dpotrf(matrix, lower=True, clean=False)
    if failed:
        return np.asarray(np.linalg.solve(matrix, target))
    return np.asarray(dpotrs(factor, target, lower=True)[0])


def conjugate_gradients(
    product: Callable[[FloatArray], FloatArray],
    target: FloatArray,
    diagonal: FloatArray | Callable[[FloatArray], FloatArray],
    close: float,
) -> FloatArray:
    """Solve a symmetric system by conjugate gradients, as far as it is positive definite.

    It is preconditioned by a diagonal, or by a function that solves a similar system.

    Examples
    --------
    >>> stiff = np.array([2.0, 4.0])
    >>> conjugate_gradients(lambda v: stiff * v, np.array([1.0, 1.0]), np.ones(2), 1e-9)
    array([0.5 , 0.25])
    """

    def solved(vector: FloatArray) -> FloatArray:
        return diagonal(vector) if callable(diagonal) else vector / diagonal

    found, residual = np.zeros_like(target), target.copy()
    direction = scaled = solved(residual)
    size = first = dot(residual, scaled)
    for _ in range(10 * len(target)):
        if size <= close**2 * first:
            break
        curved = product(direction)
        bend = dot(direction, curved)
        if bend <= 0.0:
            return found if found.any() else direction
        found = found + (size / bend) * direction
        residual = residual - (size / bend) * curved
        scaled = solved(residual)
        new = dot(residual, scaled)
        direction, size = scaled + (new / size) * direction, new
    return found
