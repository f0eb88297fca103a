"""Functions of LAPACK and BLAS as SciPy wraps them, except that other threads may work meanwhile.

SciPy keeps Python to itself while they work: threads that each factor a matrix would take turns,
and one that loads modules would wait. Here the same compiled functions are called through `ctypes`,
which lets go of Python. Arguments and results are SciPy's, as far as they are used here.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

_Matrix = npt.NDArray[Any]
_Result = tuple[_Matrix, int]
_CLEANED = 32
"""Columns that are cleared together: fewer are told apart more often, more are copied."""
_LENGTH = ctypes.c_size_t(1)  # of a text of one letter: Fortran is told after all else


class _Function:
    """A compiled function of LAPACK, of one precision."""

    def __init__(self, wrapped: Any, dtype: type[np.floating[Any]]) -> None:
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        address = pointer(wrapped._cpointer, None)  # noqa: SLF001  # f2py's name for it
        self._call = ctypes.CFUNCTYPE(None)(address)
        self.dtype = dtype

    def own(self, given: Any, *, overwrite: bool) -> _Matrix:
        """Return an array by columns that LAPACK may write to: the given one, if it may.

        That may be part of a matrix: LAPACK is told how far one column is from the next.
        """
        kept = overwrite and isinstance(given, np.ndarray) and given.dtype == self.dtype
        if kept and given.flags.writeable and _has_columns(given):
            return given  # type: ignore[no-any-return]
        return np.array(given, self.dtype, order="F")

    def __call__(self, *given: bytes | float | _Matrix) -> int:
        """Call one of LAPACK's with letters, numbers and matrices; return what it says."""
        # A number that is read as one of 32 bits is the lower half of these.
        info = ctypes.c_int64(0)
        self._call(*map(_passed, given), ctypes.byref(info), *_lengths(given))
        return ctypes.c_int32(info.value & 0xFFFFFFFF).value

    def silent(self, *given: bytes | float | _Matrix) -> None:
        """Call one of BLAS's, which says nothing of itself."""
        self._call(*map(_passed, given), *_lengths(given))


def _passed(given: bytes | float | _Matrix) -> Any:
    """Return an argument as Fortran takes it: where it is."""
    if isinstance(given, np.ndarray):
        return ctypes.c_void_p(given.ctypes.data)
    if isinstance(given, bytes):
        return ctypes.c_char_p(given)
    return ctypes.byref(ctypes.c_int64(given) if isinstance(given, int) else ctypes.c_double(given))


def _lengths(given: tuple[Any, ...]) -> list[ctypes.c_size_t]:
    return [_LENGTH] * sum(isinstance(each, bytes) for each in given)


def _has_columns(matrix: _Matrix) -> bool:
    """Whether numbers of a column are side by side, and columns after each other."""
    if matrix.flags.f_contiguous or matrix.ndim != 2:  # noqa: PLR2004
        return matrix.flags.f_contiguous
    down, along = matrix.strides
    return down == matrix.itemsize and along >= down * len(matrix) and along % down == 0


def _apart(matrix: _Matrix) -> int:
    """How far a column is from the next."""
    contiguous = matrix.flags.f_contiguous
    return len(matrix) if contiguous else matrix.strides[1] // matrix.itemsize


def released(name: str, wrapped: Any) -> Callable[..., Any]:
    """Return a function of LAPACK that lets other threads work; SciPy's own where that cannot be.

    Examples
    --------
    >>> from aggcal._core.compiled_scipy import dpotrf
    >>> dpotrf(np.array([[4.0, 2.0], [2.0, 2.0]]), lower=True)
    (array([[2., 0.],
           [1., 1.]]), 0)
    """
    if sys.byteorder != "little" or not hasattr(wrapped, "_cpointer"):
        return wrapped  # type: ignore[no-any-return]
    function = _Function(wrapped, np.float32 if name.startswith("s") else np.float64)
    return {
        "lauum": _potri,  # which takes the same
        "potrf": _potrf,
        "potri": _potri,
        "potrs": _potrs,
        "trmm": _trmm,
        "trtri": _trtri,
        "trtrs": _trtrs,
    }[name[1:]](function, wrapped)


def _uplo(lower: bool) -> bytes:  # noqa: FBT001
    return b"L" if lower else b"U"


def _is_square(matrix: Any) -> bool:
    """Whether LAPACK can take it; SciPy says what is wrong with another."""
    shape = np.shape(matrix)
    return len(shape) == 2 and shape[0] == shape[1] > 0  # noqa: PLR2004


def _potrf(function: _Function, wrapped: Any) -> Callable[..., _Result]:
    def potrf(
        a: Any, *, lower: bool = False, clean: bool = True, overwrite_a: bool = False
    ) -> _Result:
        if not _is_square(a):
            return wrapped(a, lower=lower, clean=clean, overwrite_a=overwrite_a)  # type: ignore[no-any-return]
        c = function.own(a, overwrite=overwrite_a)
        n = len(c)
        info = function(_uplo(lower), n, c, _apart(c))
        if clean:
            _clean(c if lower else c.T)
        return c, info

    return potrf


def _clean(lower: _Matrix) -> None:
    """Write zeros above a lower triangle, some columns at a time."""
    for begin in range(0, len(lower), _CLEANED):
        end = begin + _CLEANED
        lower[:begin, begin:end] = 0.0
        lower[begin:end, begin:end] = np.tril(lower[begin:end, begin:end])


def _potri(function: _Function, wrapped: Any) -> Callable[..., _Result]:
    def potri(c: Any, *, lower: bool = False, overwrite_c: bool = False) -> _Result:
        if not _is_square(c):
            return wrapped(c, lower=lower, overwrite_c=overwrite_c)  # type: ignore[no-any-return]
        found = function.own(c, overwrite=overwrite_c)
        return found, function(_uplo(lower), len(found), found, _apart(found))

    return potri


def _potrs(function: _Function, wrapped: Any) -> Callable[..., _Result]:
    def potrs(c: Any, b: Any, *, lower: bool = False, overwrite_b: bool = False) -> _Result:
        if not _is_square(c) or not np.size(b) or len(b) != len(c):
            return wrapped(c, b, lower=lower, overwrite_b=overwrite_b)  # type: ignore[no-any-return]
        factor, x = function.own(c, overwrite=True), function.own(b, overwrite=overwrite_b)
        n = len(factor)
        return x, function(_uplo(lower), n, x.size // n, factor, _apart(factor), x, _apart(x))

    return potrs


def _trtri(function: _Function, wrapped: Any) -> Callable[..., _Result]:
    def trtri(c: Any, *, lower: bool = False, overwrite_c: bool = False) -> _Result:
        if not _is_square(c):
            return wrapped(c, lower=lower, overwrite_c=overwrite_c)  # type: ignore[no-any-return]
        found = function.own(c, overwrite=overwrite_c)
        return found, function(_uplo(lower), b"N", len(found), found, _apart(found))

    return trtri


def _trtrs(function: _Function, wrapped: Any) -> Callable[..., _Result]:
    def trtrs(
        a: Any, b: Any, *, lower: bool = False, trans: int = 0, overwrite_b: bool = False
    ) -> _Result:
        if not _is_square(a) or not np.size(b) or len(b) != len(a):
            return wrapped(a, b, lower=lower, trans=trans, overwrite_b=overwrite_b)  # type: ignore[no-any-return]
        factor, x = function.own(a, overwrite=True), function.own(b, overwrite=overwrite_b)
        n, turned = len(factor), b"T" if trans else b"N"
        sizes = n, x.size // n
        return x, function(_uplo(lower), turned, b"N", *sizes, factor, _apart(factor), x, _apart(x))

    return trtrs


def _trmm(function: _Function, wrapped: Any) -> Callable[..., _Matrix]:
    def trmm(
        alpha: float, a: Any, b: Any, *, side: int = 0, lower: int = 0, overwrite_b: int = 0
    ) -> _Matrix:
        if not _is_square(a) or np.ndim(b) != 2 or not np.size(b) or np.shape(b)[side] != len(a):  # noqa: PLR2004
            options = {"side": side, "lower": lower, "overwrite_b": overwrite_b}
            return wrapped(alpha, a, b, **options)  # type: ignore[no-any-return]
        factor, x = function.own(a, overwrite=True), function.own(b, overwrite=bool(overwrite_b))
        letters = b"R" if side else b"L", _uplo(bool(lower)), b"N", b"N"
        function.silent(*letters, *x.shape, float(alpha), factor, _apart(factor), x, _apart(x))
        return x

    return trmm
