"""Names for the array types that the whole package speaks."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import added, each_range, even, in_turn

FloatArray: TypeAlias = npt.NDArray[np.float64]
"""Real numbers."""

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
    return np.broadcast_to(np.float64(value), (length,))


def sums(index: CodeArray | IntArray, values: FloatArray | IntArray, length: int) -> FloatArray:
    """Add up ``values`` by their index.

    Examples
    --------
    >>> sums(np.array([0, 2, 2]), np.array([1.0, 2.0, 3.0]), 4)
    array([1., 0., 5., 0.])
    """
    total = np.zeros(length)
    if len(index) and values.strides == (0,):
        _count(index, total)
        return total * float(values[0])
    # In pieces: NumPy copies what it sums, and the rows may be a large part of the memory.
    begins = range(0, len(index), _PIECE)
    kernels = library() if len(begins) > 1 and _compact(index, values) else None
    if kernels is None:
        for k in begins:
            total += np.bincount(index[k : k + _PIECE], values[k : k + _PIECE], length)
        return total

    def work(begin: int) -> FloatArray:
        own, part = np.zeros(length), slice(begin, begin + _PIECE)
        kernels.aggcal_sums(len(index[part]), *at(index[part], values[part], own))
        return own

    for part in in_turn(work, begins):  # in this order, whichever is done first
        total += part
    return total


def _compact(index: CodeArray | IntArray, values: FloatArray | IntArray) -> bool:
    """Whether a kernel can read these as they are."""
    kinds = index.dtype == np.int32 and values.dtype == np.float64
    return kinds and index.flags.c_contiguous and values.flags.c_contiguous


def grouped(code: CodeArray, n_codes: int) -> tuple[IntArray, IntArray]:
    """Return the positions of each code, in their order, and where each code's begin.

    Examples
    --------
    >>> grouped(np.array([1, 0, 1], dtype=np.int32), 3)
    (array([1, 0, 2]), array([0, 1, 3, 3]))
    """
    sizes = sums(code, constant(1.0, len(code)), n_codes).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    kernels = library()
    if kernels is None or code.dtype != np.int32 or not code.flags.c_contiguous:
        return np.argsort(code, kind="stable"), starts
    order, following = np.empty(len(code), dtype=np.int64), starts[:-1].copy()
    kernels.aggcal_by_code(len(code), *at(code, following, order))
    return order, starts


def _count(index: CodeArray | IntArray, total: FloatArray) -> None:
    """Add to ``total`` how often each index occurs."""
    kernels = library()
    if kernels is not None and index.dtype == np.int32 and index.flags.c_contiguous:

        def work(begin: int, end: int) -> FloatArray:
            counts = np.zeros(len(total))
            kernels.aggcal_count(end - begin, *at(index[begin:end], counts))
            return counts

        total += added(each_range(work, even(len(index))))
        return
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
    return float((x * y).sum())


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
