"""Solve symmetric systems that should be positive definite, and may not be."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from aggcal._core.arrays import FloatArray, dot
from aggcal._core.compiled_scipy import dpotrf, dpotri, dpotrs


def definite_inverse(matrix: FloatArray, instead: FloatArray) -> FloatArray:
    """Invert a symmetric matrix, or another where it is not positive definite.

    Examples
    --------
    >>> definite_inverse(np.diag([-1.0, 1.0]), np.diag([2.0, 4.0]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    if not np.isfinite(matrix).all():
        return np.full(matrix.shape, np.nan)
    for candidate in (matrix, instead):
        factor, failed = dpotrf(candidate, lower=True)
        if failed:
            continue
        # A third of the work of solving for the columns of the identity; one triangle is filled,
        # and the other is zero.
        half = dpotri(factor, lower=True, overwrite_c=True)[0]
        whole = half + half.T
        whole.flat[:: len(whole) + 1] *= 0.5
        return np.asarray(whole)
    values, vectors = np.linalg.eigh(instead)
    return np.asarray((vectors / np.maximum(np.abs(values), 1e-8 * values[-1])) @ vectors.T)


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
