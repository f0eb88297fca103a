"""The compiled kernels: sums over rows that NumPy would need temporaries for.

They are compiled when the package is installed, where there are compilers of C and C++; without
them NumPy computes the same, only slower.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

_VERSION = 36  # raised with every change of the kernels: an older library is not loaded
_LIBRARY = Path(__file__).with_name("kernels.so")
_WIDE = {4: "kernels-v4.so", 3: "kernels-v3.so"}
"""The same for the levels of x86 processors that have wider vectors: compilers must assume the
oldest."""


@cache
def library() -> ctypes.CDLL | None:
    """Load the compiled kernels; None where they were not built (or are switched off).

    ``AGGCAL_KERNELS=off`` switches them off.
    """
    if os.environ.get("AGGCAL_KERNELS", "").lower() == "off" or not _LIBRARY.exists():
        return None
    try:
        kernels = _loaded(_LIBRARY)
    except (OSError, AttributeError):  # built for another machine, or from another source
        return None
    kernels = _widest(kernels)
    count, array = ctypes.c_int64, ctypes.c_void_p
    kernels.aggcal_components.restype = None
    kernels.aggcal_components.argtypes = [count, array, array, ctypes.c_int32, array]
    kernels.aggcal_isotonic.restype = count
    kernels.aggcal_isotonic.argtypes = [count, array, array, array]
    _declare_acts(kernels)
    _declare_columns(kernels)
    return kernels


def _widest(kernels: ctypes.CDLL) -> ctypes.CDLL:
    """Load the library for the widest vectors that this processor has, where it was built."""
    level = kernels.aggcal_level()
    for needed, name in _WIDE.items():
        if needed <= level:
            with suppress(OSError, AttributeError):
                return _loaded(_LIBRARY.with_name(name))
    return kernels


def _loaded(path: Path) -> ctypes.CDLL:
    """Load a library of this version."""
    found = ctypes.CDLL(str(path))
    if found.aggcal_version() != _VERSION:
        raise OSError(f"{path.name} is of another version")
    return found


def _declare_acts(kernels: ctypes.CDLL) -> None:
    """Say what the kernels take that find acts."""
    count, array = ctypes.c_int64, ctypes.c_void_p
    kernels.aggcal_acts.restype = None
    kernels.aggcal_acts.argtypes = [
        count, array, array, array, count, *([array] * 5)
    ]  # fmt: skip


def _declare_columns(kernels: ctypes.CDLL) -> None:
    """Say what the kernels take that number cells."""
    count, array, whole = ctypes.c_int64, ctypes.c_void_p, ctypes.c_int
    kernels.aggcal_columns_new.restype, kernels.aggcal_columns_new.argtypes = array, [count]
    kernels.aggcal_columns_free.restype = None
    kernels.aggcal_columns_free.argtypes = [array, count]
    kernels.aggcal_column_texts.restype = count
    kernels.aggcal_column_texts.argtypes = [array, count, array, array]
    kernels.aggcal_lines.restype = count
    kernels.aggcal_lines.argtypes = [
        ctypes.c_char_p, count, whole, ctypes.c_char, count, array, array, count, array, count,
        *([array] * 3)
    ]  # fmt: skip
    kernels.aggcal_look_among.restype = count
    kernels.aggcal_look_among.argtypes = [count, array, count, array, array]


def at(*arrays: np.ndarray | None) -> list[int | None]:
    """Return the addresses of arrays, for a kernel."""
    return [None if array is None else address(array) for array in arrays]


def address(array: np.ndarray) -> int:
    """Return where an array is: small studies ask so often that NumPy's own way is felt."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]  # it is one
    except (TypeError, ValueError):  # read-only, empty, or not in one piece
        return array.ctypes.data
