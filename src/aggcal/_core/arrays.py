"""Names for the array types that the whole package speaks."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from aggcal._core.kernels.threads import each_range, even

FloatArray: TypeAlias = npt.NDArray[np.float64]
"""Real numbers."""

SingleArray: TypeAlias = npt.NDArray[np.float32]
"""Real numbers in single precision."""

IntArray: TypeAlias = npt.NDArray[np.int64]
"""Counts, ranks and positions."""

CodeArray: TypeAlias = npt.NDArray[np.int32]
"""Items or annotators, each by its number."""

GradeArray: TypeAlias = npt.NDArray[np.int8]
"""Steps of strength, by their sign left or right."""

BoolArray: TypeAlias = npt.NDArray[np.bool_]
"""Yes or no."""

TextArray: TypeAlias = npt.NDArray[np.object_]
"""Ids: Python strings in an object array."""


Scalar = TypeVar("Scalar", bound=np.generic)

_LARGEST_KEY = 2**62  # combinations of numbers that one integer tells apart
_PIECE = 1 << 22  # elements at a time: fewer take longer, more take more memory


def constant(value: float, length: int) -> FloatArray:
    """Return a read-only column that repeats one value and takes no memory.

    Examples
    --------
    >>> constant(1.0, 3)
    array([1., 1., 1.])
    >>> constant(1.0, 10**9).strides
    (0,)
    """
    # What `numpy.broadcast_to` does, in less time: small studies ask often.
    return frozen(np.ndarray((length,), np.float64, np.array(value, np.float64), 0, (0,)))


def elementwise(
    function: Callable[..., FloatArray | tuple[FloatArray, ...]],
    *columns: np.ndarray,
    results: int = 1,
) -> list[FloatArray]:
    """Return what a function makes of columns, element by element; of long ones, in threads.

    Long columns are worked on in pieces, so that what lies between stays in the cache.

    Parameters
    ----------
    function
        Takes a piece of each column, and returns as many columns as there are results.
    columns
        Of the same length.
    results
        How many columns the function returns.

    Examples
    --------
    >>> total, apart = elementwise(
    ...     lambda x, y: (x + y, x - y), np.array([1.0, 2.0]), np.ones(2), results=2
    ... )
    >>> total, apart
    (array([2., 3.]), array([0., 1.]))
    """
    rows = len(columns[0])
    found = [np.empty(rows) for _ in range(results)]

    def part(begin: int, end: int) -> None:
        made = function(*(column[begin:end] for column in columns))
        for whole, piece in zip(found, made if isinstance(made, tuple) else (made,), strict=True):
            whole[begin:end] = piece

    each_range(part, even(rows))
    return found


def on_gpu(array: object) -> bool:
    """Whether an array is one of CuPy's.

    Examples
    --------
    >>> on_gpu(np.ones(1))
    False
    """
    return not isinstance(array, np.ndarray)


def special_of(array: npt.NDArray[np.generic]) -> Any:
    """Return the special functions of such arrays: SciPy's, or CuPy's for those of a GPU."""
    here = isinstance(array, np.ndarray | np.generic)
    return import_module("scipy.special" if here else "cupyx.scipy.special")


def segment_sums(values: FloatArray, starts: IntArray) -> FloatArray:
    """Add up the last axis from each start to the next; each has at least one entry.

    Examples
    --------
    >>> segment_sums(np.array([1.0, 2.0, 4.0]), np.array([0, 2, 3]))
    array([3., 4.])
    """
    if not on_gpu(values):
        return np.asarray(np.add.reduceat(values, starts[:-1], axis=-1))
    # A GPU has no such function; sums of all up to each end would lose digits.
    n = len(starts) - 1
    owner = np.repeat(np.arange(n), np.diff(starts))
    owner = np.asarray(owner, like=values)
    rows = values.reshape(-1, values.shape[-1])
    added: Any = np.stack([np.bincount(owner, row, n) for row in rows])
    total: FloatArray = added.reshape(*values.shape[:-1], n)
    return total


def starts_of(code: CodeArray | IntArray, n_codes: int) -> IntArray:
    """Return where the rows of each code begin, where codes only rise; last, where they all end.

    Examples
    --------
    >>> starts_of(np.array([0, 0, 2], dtype=np.int32), 3)
    array([0, 2, 2, 3])
    """
    # Numbers of another size would have NumPy copy the whole column.
    return np.asarray(np.searchsorted(code, np.arange(n_codes + 1, dtype=code.dtype)))


def sums(index: CodeArray | IntArray, values: FloatArray | IntArray, length: int) -> FloatArray:
    """Add up ``values`` by their index.

    Examples
    --------
    >>> sums(np.array([0, 2, 2]), np.array([1.0, 2.0, 3.0]), 4)
    array([1., 0., 5., 0.])
    """
    if on_gpu(index):
        return np.asarray(np.bincount(index, values, length), dtype=np.float64, like=index)
    total = np.zeros(length)
    if len(index) and values.strides == (0,):
        _count(index, total)
        return total * float(values[0])
    for k in range(0, len(index), _PIECE):  # NumPy copies what it sums
        total += np.bincount(index[k : k + _PIECE], values[k : k + _PIECE], length)
    return total


def order_by(columns: Sequence[npt.NDArray[np.integer]]) -> IntArray:
    """Return the order of rows by columns of whole numbers, the first before the others.

    Equal rows stay in their order.

    Examples
    --------
    >>> order_by((np.array([1, 0, 0]), np.array([0, 2, 1])))
    array([2, 1, 0])
    """
    largest, key = 1, np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        least = int(column.min(initial=0))
        numbers = int(column.max(initial=0)) - least + 1
        largest *= numbers
        if largest > _LARGEST_KEY:
            return np.lexsort(tuple(columns)[::-1])
        # One key for all columns is sorted in a third of the time.
        key = key * numbers + (column.astype(np.int64) - least)
    return np.argsort(key, kind="stable")


def _count(index: CodeArray | IntArray, total: FloatArray) -> None:
    """Add to ``total`` how often each index occurs."""
    for k in range(0, len(index), _PIECE):
        total += np.bincount(index[k : k + _PIECE], minlength=len(total))


def ranks(scores: FloatArray) -> IntArray:
    """Rank scores: 1 is the highest, tied ones share the best.

    Examples
    --------
    >>> ranks(np.array([0.5, 2.0, 0.5, 0.1]))
    array([2, 1, 2, 4])
    """
    return len(scores) + 1 - np.searchsorted(np.sort(scores), scores, side="right")


def dot(x: FloatArray, y: FloatArray) -> float:
    """Inner product whose bits do not depend on the number of threads, as those of BLAS do.

    Examples
    --------
    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return float(np.add.reduce(x * y))


def frozen(array: np.ndarray) -> np.ndarray:
    """Return a view of ``array`` that cannot be written to.

    The array itself may be the caller's, and stays as writable as it was.

    Examples
    --------
    >>> theirs = np.arange(3)
    >>> frozen(theirs).flags.writeable, theirs.flags.writeable
    (False, True)
    """
    view = array.view()
    view.flags.writeable = False
    return view
