"""Names for the array types that the whole package speaks."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
"""Real numbers."""

IntArray: TypeAlias = npt.NDArray[np.int64]
"""Counts, ranks and positions."""

CodeArray: TypeAlias = npt.NDArray[np.int32]
"""Items or annotators, each by its number."""

TextArray: TypeAlias = npt.NDArray[np.object_]
"""Ids: Python strings in an object array."""


def constant(value: float, length: int) -> FloatArray:
    """Return a read-only column that repeats one value and takes no memory.

    Examples
    --------
    >>> constant(1.0, 3)
    array([1., 1., 1.])
    >>> constant(1.0, 10**9).strides
    (0,)
    """
    return np.broadcast_to(np.float64(value), (length,))


def sums(index: CodeArray | IntArray, values: FloatArray, length: int) -> FloatArray:
    """Add up ``values`` by their index.

    Examples
    --------
    >>> sums(np.array([0, 2, 2]), np.array([1.0, 2.0, 3.0]), 4)
    array([1., 0., 5., 0.])
    """
    return np.asarray(np.bincount(index, values, length), dtype=np.float64)


def frozen(array: np.ndarray) -> np.ndarray:
    """Return ``array`` as it is, no longer writable.

    Examples
    --------
    >>> frozen(np.arange(3)).flags.writeable
    False
    """
    array.flags.writeable = False
    return array
