"""The compiled kernels: sums over rows that NumPy would need temporaries for.

They are compiled when the package is installed, where there is a C compiler; without them
everything works as before, only slower.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

_VERSION = 33  # raised with every change of the kernels: an older library is not loaded
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
    number, count, array = ctypes.c_double, ctypes.c_int64, ctypes.c_void_p
    kernels.aggcal_evaluate.restype = number
    kernels.aggcal_evaluate.argtypes = [
        ctypes.c_int, count, count, *([array] * 7), number, number, *([array] * 6)
    ]  # fmt: skip
    kernels.aggcal_product.restype = None
    kernels.aggcal_product.argtypes = [count, count, *([array] * 8)]
    kernels.aggcal_diagonal.restype = None
    kernels.aggcal_diagonal.argtypes = [count, count, *([array] * 8)]
    kernels.aggcal_tile.restype = None
    kernels.aggcal_tile.argtypes = [count, *([array] * 3), ctypes.c_int, count, *([array] * 4)]
    kernels.aggcal_components.restype = None
    kernels.aggcal_components.argtypes = [count, array, array, ctypes.c_int32, array]
    kernels.aggcal_integrate.restype = number
    kernels.aggcal_integrate.argtypes = [
        ctypes.c_int, count, count, count, *([array] * 8), number, number, ctypes.c_int,
        *([array] * 10)
    ]  # fmt: skip
    kernels.aggcal_integrated_product.restype = None
    kernels.aggcal_integrated_product.argtypes = [count, count, count, *([array] * 8)]
    kernels.aggcal_pull_covariance.restype = None
    kernels.aggcal_pull_covariance.argtypes = [
        *([count] * 4), *([array] * 5), ctypes.c_int, *([array] * 4)
    ]  # fmt: skip
    kernels.aggcal_row_sd.restype = None
    kernels.aggcal_row_sd.argtypes = [count, count, *([array] * 3), number, array]
    kernels.aggcal_pull_forms.restype = None
    kernels.aggcal_pull_forms.argtypes = [*([count] * 4), *([array] * 13)]
    _declare_blocks(kernels)
    _declare_codes(kernels)
    _declare_isotonic(kernels)
    _declare_general(kernels)
    _declare_reading(kernels)
    _declare_checks(kernels)
    _declare_layout(kernels)
    _declare_borders(kernels)
    _declare_written(kernels)
    _declare_updates(kernels)
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


def _declare_blocks(kernels: ctypes.CDLL) -> None:
    """Say what the kernels take that work on several vectors at once."""
    count, array = ctypes.c_int64, ctypes.c_void_p
    for name, arrays in (("products", 8), ("borders", 6)):
        kernel = getattr(kernels, f"aggcal_{name}")
        kernel.restype, kernel.argtypes = None, [count, count, *([array] * arrays)]
    for kernel in (kernels.aggcal_information, kernels.aggcal_information_exact):
        kernel.restype, kernel.argtypes = None, [count, count, *([array] * 9)]
    kernels.aggcal_probes.restype = None
    kernels.aggcal_probes.argtypes = [count, count, *([array] * 7), ctypes.c_uint64, array]


def _declare_codes(kernels: ctypes.CDLL) -> None:
    """Say what the kernels take that sum by code, and sort by it."""
    count, array = ctypes.c_int64, ctypes.c_void_p
    for name, arrays in (("count", 2), ("sums", 3)):
        kernel = getattr(kernels, f"aggcal_{name}")
        kernel.restype, kernel.argtypes = None, [count, *([array] * arrays)]
    kernels.aggcal_acts.restype = None
    kernels.aggcal_acts.argtypes = [
        count, array, array, array, count, *([array] * 5)
    ]  # fmt: skip
    kernels.aggcal_by_code.restype = None
    kernels.aggcal_by_code.argtypes = [count, count, array, array, array]


def _declare_isotonic(kernels: ctypes.CDLL) -> None:
    """Say what the kernels take that sort and project, where the library has them."""
    if hasattr(kernels, "aggcal_isotonic"):
        kernels.aggcal_isotonic.restype = ctypes.c_int64
        kernels.aggcal_isotonic.argtypes = [ctypes.c_int64, *([ctypes.c_void_p] * 3)]
    if hasattr(kernels, "aggcal_projected_rows"):
        count, array = ctypes.c_int64, ctypes.c_void_p
        kernels.aggcal_projected_rows.restype = ctypes.c_int
        kernels.aggcal_projected_rows.argtypes = [
            count, count, array, count, array, count, array, array
        ]  # fmt: skip
    if hasattr(kernels, "aggcal_sort"):
        kernels.aggcal_sort.restype = ctypes.c_int
        kernels.aggcal_sort.argtypes = [ctypes.c_int64, *([ctypes.c_void_p] * 3)]


def _declare_layout(kernels: ctypes.CDLL) -> None:
    """Say what the kernels take that lay judgments out as rows."""
    count, array, whole = ctypes.c_int64, ctypes.c_void_p, ctypes.c_int
    kernels.aggcal_wins.restype = count
    kernels.aggcal_wins.argtypes = [array, count, count, *([array] * 4)]
    kernels.aggcal_questions.restype = count
    kernels.aggcal_questions.argtypes = [array, count, count, whole, whole, *([array] * 7)]


def _declare_borders(kernels: ctypes.CDLL) -> None:
    """Say what the kernels take that sum over pairs of items."""
    count, array = ctypes.c_int64, ctypes.c_void_p
    kernels.aggcal_border_laplacian.restype = None
    kernels.aggcal_border_laplacian.argtypes = [count, count, *([array] * 4)]
    kernels.aggcal_border_columns.restype = count
    kernels.aggcal_border_columns.argtypes = [count, count, *([array] * 9)]
    kernels.aggcal_border_square.restype = None
    kernels.aggcal_border_square.argtypes = [*([count] * 4), *([array] * 6)]
    kernels.aggcal_border_forms.restype = None
    kernels.aggcal_border_forms.argtypes = [*([count] * 6), *([array] * 6)]
    kernels.aggcal_packed_square.restype = None
    kernels.aggcal_packed_square.argtypes = [*([count] * 5), *([array] * 6)]
    kernels.aggcal_mirror.restype, kernels.aggcal_mirror.argtypes = None, [count, array]


def _declare_written(kernels: ctypes.CDLL) -> None:
    """Say what the kernel takes that writes numbers as text."""
    count, array = ctypes.c_int64, ctypes.c_void_p
    kernels.aggcal_written.restype = count
    kernels.aggcal_written.argtypes = [
        count, count, *([array] * 3), ctypes.c_char_p, ctypes.c_char, array
    ]  # fmt: skip


def _declare_updates(kernels: ctypes.CDLL) -> None:
    """Say what the kernels take that update matrices by pairs that were asked."""
    number, count, array = ctypes.c_double, ctypes.c_int64, ctypes.c_void_p
    for precision in ("", "_single"):
        kernel = getattr(kernels, f"aggcal_caught_up{precision}")
        kernel.restype = None
        kernel.argtypes = [count, array, count, count, count, *([array] * 7)]
        kernel = getattr(kernels, f"aggcal_lowered{precision}")
        kernel.restype = None
        kernel.argtypes = [count, *([array] * 3), count, count, array, number, *([array] * 3)]
        kernel = getattr(kernels, f"aggcal_chosen{precision}")
        kernel.restype = count
        kernel.argtypes = [
            count, *([array] * 4), ctypes.c_int, number, count, count, array, count, count, count,
            *([array] * 7), number, *([array] * 5)
        ]  # fmt: skip


def _declare_general(kernels: ctypes.CDLL) -> None:
    """Say what the kernels of the general model take."""
    number, count, array = ctypes.c_double, ctypes.c_int64, ctypes.c_void_p
    kernels.aggcal_general_integrate.restype = number
    kernels.aggcal_general_integrate.argtypes = [array, count, count, array, array, array]
    kernels.aggcal_general_gaps.restype = None
    kernels.aggcal_general_gaps.argtypes = [count, count, count, *([array] * 4)]
    kernels.aggcal_general_row_sds.restype = None
    kernels.aggcal_general_row_sds.argtypes = [
        count, count, count, *([array] * 3), number, array
    ]  # fmt: skip
    for name, arrays in (("gather", 2), ("product", 2)):
        kernel = getattr(kernels, f"aggcal_general_{name}")
        kernel.restype, kernel.argtypes = None, [array, count, count, *([array] * arrays)]
    for name, numbers, arrays in (("borders", 3, 2), ("forms", 5, 8)):
        kernel = getattr(kernels, f"aggcal_general_{name}")
        kernel.restype, kernel.argtypes = None, [array, *([count] * numbers), *([array] * arrays)]
    for name, numbers, arrays in (("packed", 6, 9), ("roots", 4, 8)):
        kernel = getattr(kernels, f"aggcal_general_{name}")
        kernel.restype, kernel.argtypes = count, [array, *([count] * numbers), *([array] * arrays)]


def _declare_checks(kernels: ctypes.CDLL) -> None:
    """Say what the kernels take that a check sums with."""
    count, array = ctypes.c_int64, ctypes.c_void_p
    kernels.aggcal_slope_losses.restype = None
    kernels.aggcal_slope_losses.argtypes = [count, count, *([array] * 3), count, array, array]
    kernels.aggcal_shifted.restype = None
    kernels.aggcal_shifted.argtypes = [count, count, *([array] * 7)]
    kernels.aggcal_agreeing.restype = None
    kernels.aggcal_agreeing.argtypes = [
        count, count, *([array] * 7), count, array, array, count, *([array] * 3)
    ]  # fmt: skip
    kernels.aggcal_numbered.restype = count
    kernels.aggcal_numbered.argtypes = [count, *([array] * 5)]


def _declare_reading(kernels: ctypes.CDLL) -> None:
    """Say what the kernels take that number ids, and sort and merge rows."""
    count, array, whole = ctypes.c_int64, ctypes.c_void_p, ctypes.c_int
    number = ctypes.c_uint64
    kernels.aggcal_hash_table.restype = count
    kernels.aggcal_hash_table.argtypes = [count, array, array, whole, array]
    for kernel in (kernels.aggcal_look_up, kernels.aggcal_look_up_short):
        kernel.restype, kernel.argtypes = count, [count, array, whole, array, array]
    kernels.aggcal_texts_new.restype, kernels.aggcal_texts_new.argtypes = array, [count]
    kernels.aggcal_texts_free.restype, kernels.aggcal_texts_free.argtypes = None, [array]
    for name in ("number", "bytes"):
        kernel = getattr(kernels, f"aggcal_texts_{name}")
        kernel.restype, kernel.argtypes = count, [array]
    kernels.aggcal_texts_copy.restype = None
    kernels.aggcal_texts_copy.argtypes = [array, array, array]
    kernels.aggcal_texts_codes.restype = whole
    kernels.aggcal_texts_codes.argtypes = [array, count, *([array] * 3), count, whole, array]
    kernels.aggcal_keys.restype = count
    kernels.aggcal_keys.argtypes = [count, *([array] * 13), number, *([array] * 3)]
    kernels.aggcal_digits.restype = None
    kernels.aggcal_digits.argtypes = [count, array, whole, number, array]
    kernels.aggcal_deal.restype = None
    kernels.aggcal_deal.argtypes = [count, array, array, whole, number, *([array] * 3)]
    kernels.aggcal_stir.restype, kernels.aggcal_stir.argtypes = None, [count, array]
    kernels.aggcal_runs.restype, kernels.aggcal_runs.argtypes = count, [count, array, whole]
    kernels.aggcal_merge.restype = count
    kernels.aggcal_merge.argtypes = [count, *([array] * 13)]


def at(*arrays: np.ndarray | None) -> list[int | None]:
    """Return the addresses of arrays, for a kernel."""
    return [None if array is None else _address(array) for array in arrays]


def _address(array: np.ndarray) -> int:
    """Return where an array is: small studies ask so often that NumPy's own way is felt."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]  # it is one
    except (TypeError, ValueError):  # read-only, empty, or not in one piece
        return array.ctypes.data
