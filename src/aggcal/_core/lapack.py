"""LAPACK's functions as SciPy wraps them, except that other threads may work meanwhile.

SciPy keeps Python to itself while LAPACK works: threads that each factor a matrix would take turns,
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
        """Return an array by columns that LAPACK may write to: the given one, if it may."""
        kept = overwrite and isinstance(given, np.ndarray) and given.dtype == self.dtype
        if kept and given.flags.f_contiguous and given.flags.writeable:
            return given  # type: ignore[no-any-return]
        return np.array(given, self.dtype, order="F")

    def __call__(self, *given: bytes | int | _Matrix) -> int:
        """Call it with letters, numbers and matrices, and return what it says of itself."""
        # A number that is read as one of 32 bits is the lower half of these.
        info = ctypes.c_int64(0)
        passed = [
            each.ctypes.data_as(ctypes.c_void_p)
            if isinstance(each, np.ndarray)
            else ctypes.byref(ctypes.c_int64(each))
            if isinstance(each, int)
            else ctypes.c_char_p(each)
            for each in given
        ]
        letters = sum(isinstance(each, bytes) for each in given)
        self._call(*passed, ctypes.byref(info), *[_LENGTH] * letters)
        return ctypes.c_int32(info.value & 0xFFFFFFFF).value


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
    return {"potrf": _potrf, "potri": _potri, "potrs": _potrs, "trtri": _trtri, "trtrs": _trtrs}[
        name[1:]
    ](function, wrapped)


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
        info = function(_uplo(lower), n, c, n)
        if clean:
            for k in range(n):
                c[slice(0, k) if lower else slice(k + 1, n), k] = 0.0
        return c, info

    return potrf


def _potri(function: _Function, wrapped: Any) -> Callable[..., _Result]:
    def potri(c: Any, *, lower: bool = False, overwrite_c: bool = False) -> _Result:
        if not _is_square(c):
            return wrapped(c, lower=lower, overwrite_c=overwrite_c)  # type: ignore[no-any-return]
        found = function.own(c, overwrite=overwrite_c)
        return found, function(_uplo(lower), len(found), found, len(found))

    return potri


def _potrs(function: _Function, wrapped: Any) -> Callable[..., _Result]:
    def potrs(c: Any, b: Any, *, lower: bool = False, overwrite_b: bool = False) -> _Result:
        if not _is_square(c) or not np.size(b) or len(b) != len(c):
            return wrapped(c, b, lower=lower, overwrite_b=overwrite_b)  # type: ignore[no-any-return]
        factor, x = function.own(c, overwrite=True), function.own(b, overwrite=overwrite_b)
        n = len(factor)
        return x, function(_uplo(lower), n, x.size // n, factor, n, x, n)

    return potrs


def _trtri(function: _Function, wrapped: Any) -> Callable[..., _Result]:
    def trtri(c: Any, *, lower: bool = False, overwrite_c: bool = False) -> _Result:
        if not _is_square(c):
            return wrapped(c, lower=lower, overwrite_c=overwrite_c)  # type: ignore[no-any-return]
        found = function.own(c, overwrite=overwrite_c)
        return found, function(_uplo(lower), b"N", len(found), found, len(found))

    return trtri


def _trtrs(function: _Function, wrapped: Any) -> Callable[..., _Result]:
    def trtrs(
        a: Any, b: Any, *, lower: bool = False, trans: int = 0, overwrite_b: bool = False
    ) -> _Result:
        if not _is_square(a) or not np.size(b) or len(b) != len(a):
            return wrapped(a, b, lower=lower, trans=trans, overwrite_b=overwrite_b)  # type: ignore[no-any-return]
        factor, x = function.own(a, overwrite=True), function.own(b, overwrite=overwrite_b)
        n, turned = len(factor), b"T" if trans else b"N"
        return x, function(_uplo(lower), turned, b"N", n, x.size // n, factor, n, x, n)

    return trtrs
