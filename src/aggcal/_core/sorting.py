"""Order and ties of columns of numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def in_order(
    values: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the positions of numbers from the lowest on, equal ones as they were, and the numbers.

    Examples
    --------
    >>> in_order(np.array([3.0, 1.0, 3.0, 2.0]))
    (array([1, 3, 0, 2]), array([1., 2., 3., 3.]))
    """
    order = np.argsort(values, kind="stable")
    return order, values[order]


def levels(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return how many different numbers are below each number.

    Examples
    --------
    >>> levels(np.array([3.0, 1.0, 3.0, 2.0]))
    array([2, 0, 2, 1])
    """
    return np.unique(values, return_inverse=True)[1]
