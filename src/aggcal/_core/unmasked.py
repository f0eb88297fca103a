"""Functions of plain arrays whose namesakes in NumPy load its masked arrays.

They do so to see that what they are given is none, which takes longer than all that a small study
asks of them.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

_MANY = 100_000
"""Values from which NumPy's table of those it has met is quicker than sorting all."""

_Value = TypeVar("_Value", bound=np.generic)


def distinct(values: npt.NDArray[_Value]) -> npt.NDArray[_Value]:
    """Return the different values in their order; NaN differs from NaN.

    Examples
    --------
    >>> distinct(np.array([3, 1, 3]))
    array([1, 3])
    """
    if values.size >= _MANY:
        return np.unique(values, equal_nan=False)
    found = np.sort(values, axis=None)
    new = np.ones(len(found), dtype=bool)
    np.not_equal(found[1:], found[:-1], out=new[1:])
    return found[new]


def median(values: npt.ArrayLike) -> float:
    """Return the median, as `numpy.median` does to the bit; NaN if a value is.

    Examples
    --------
    >>> median([3, 1, 4, 2]), median([5.0])
    (2.5, 5.0)
    """
    given = np.asarray(values, dtype=np.float64).ravel()
    if not given.size or np.isnan(given).any():
        return float("nan")
    middle = [(given.size - 1) // 2, given.size // 2]
    return float(np.partition(given, middle)[middle].mean())


def quantiles(values: npt.ArrayLike, shares: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the values that these shares are below, as `numpy.quantile` does to the bit.

    Examples
    --------
    >>> quantiles([3, 1, 4, 2], [0.5, 1.0])
    array([2.5, 4. ])
    """
    given = np.sort(np.asarray(values, dtype=np.float64), axis=None)
    if np.isnan(given[-1]):
        return np.full(np.shape(shares), np.nan)
    place = (given.size - 1) * np.asarray(shares, dtype=np.float64)
    before = np.floor(place).astype(np.int64)
    low, high = given[before], given[np.minimum(before + 1, given.size - 1)]
    along, apart = place - before, high - low
    # From whichever is nearer: so that a share of 1 gives the last value itself.
    return np.where(along < 0.5, low + apart * along, high - apart * (1.0 - along))  # noqa: PLR2004
