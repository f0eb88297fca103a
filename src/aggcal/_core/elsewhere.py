"""Arrays that may be in the memory of a GPU.

CuPy's arrays answer to NumPy's functions, so that one text serves both; it must only put what comes
from here beside them, and fetch what is wanted here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray


def is_here(array: Any) -> bool:
    """Tell whether an array is in the memory of this machine.

    Examples
    --------
    >>> is_here(np.ones(2))
    True
    """
    return isinstance(array, np.ndarray)


def beside(array: np.ndarray, other: Any) -> Any:
    """Return an array where another one is.

    Examples
    --------
    >>> beside(np.zeros(2), np.ones(3))
    array([0., 0.])
    """
    return np.asarray(array, like=other)


def fetched(array: Any) -> FloatArray:
    """Return an array as NumPy's.

    Examples
    --------
    >>> fetched(np.ones(2))
    array([1., 1.])
    """
    return np.asarray(array if is_here(array) else array.get())
