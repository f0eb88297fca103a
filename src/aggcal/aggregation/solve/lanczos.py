"""The lowest eigenvalues of a matrix that is known by its products."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from aggcal._core.arrays import FloatArray

_TINY = 1e-4
"""What is left of a vector when all directions were taken, of the largest part so far: products may
have the digits of single precision only."""


def lowest_eigenvalues(
    product: Callable[[FloatArray], FloatArray], n: int, steps: int, number: int
) -> FloatArray:
    """Return the lowest eigenvalues of a symmetric matrix, from above, by Lanczos' method.

    Parameters
    ----------
    product
        Multiplies a vector by the matrix.
    n
        Its rows.
    steps
        Products at most: more come closer.
    number
        How many eigenvalues; fewer come back where there are fewer.

    Examples
    --------
    >>> stiff = np.array([0.1, 1.0, 1.1, 1.2])
    >>> lowest_eigenvalues(lambda v: stiff * v, 4, 4, 2)
    array([0.1, 1. ])
    """
    vector = np.random.default_rng(0).standard_normal(n)
    steps = min(steps, n)
    basis, diagonal, beside = np.empty((steps, n)), np.empty(steps), np.empty(steps)
    size, taken, largest = float(np.sqrt(vector @ vector)), 0, 0.0
    while taken < steps and size > _TINY * largest:
        basis[taken] = vector / size
        vector = product(basis[taken])
        diagonal[taken] = basis[taken] @ vector
        vector = vector - (basis[: taken + 1] @ vector) @ basis[: taken + 1]
        size = beside[taken] = float(np.sqrt(vector @ vector))
        largest = max(largest, abs(float(diagonal[taken])), size)
        taken += 1
    small = np.diag(diagonal[:taken])
    small += np.diag(beside[: taken - 1], 1) + np.diag(beside[: taken - 1], -1)
    return np.asarray(np.linalg.eigvalsh(small)[:number])
