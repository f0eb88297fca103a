"""Numbers as text, as Python writes them, many at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from aggcal._core.kernels import at, library

_WHOLE, _NUMBER, _ROUNDED, _TEXT = range(4)  # what columns hold, as the kernel numbers them
_LONGEST = 25  # characters of a number and the comma after it
_LEAST_POWER, _MOST_POWER = -292, 324  # of ten, that doubles are multiplied with
_BITS = 128  # of each of these powers
_BYTES = 8  # of the largest numbers that the kernel takes


def written(
    columns: Sequence[np.ndarray | list[str]],
    *,
    end: str = "\n",
    missing: str = "",
    rounded: bool = False,
) -> str | None:
    r"""Return the rows of a table, commas between their cells; None where there is no kernel.

    Parameters
    ----------
    columns
        Arrays of whole numbers or floats, or texts as they are to be written, without a NUL.
    end
        The character after each row.
    missing
        What is written for NaN: no longer than a number.
    rounded
        Write floats without a fraction: they are whole numbers, and fit into 64 bits.

    Examples
    --------
    >>> written([np.array([0.1, np.nan]), ["a", "b"], np.array([1, 2])])
    '0.1,a,1\n,b,2\n'
    >>> written([np.array([2.0, np.nan])], end=",", missing="null", rounded=True)
    '2,null,'
    """
    kernels = library()
    if kernels is None or not all(isinstance(each, list) or is_written(each) for each in columns):
        return None
    held = [_held(column, rounded=rounded) for column in columns]
    rows = len(columns[0])
    if any(len(column) != rows for column in columns):
        raise ValueError("the columns differ in length")
    room = sum(len(array) if kind == _TEXT else _LONGEST * rows for kind, array in held)
    out = np.empty(room, dtype=np.uint8)
    kinds = np.array([kind for kind, _ in held], dtype=np.int32)
    where = np.array(at(*(array for _, array in held)), dtype=np.uintp)
    used = kernels.aggcal_written(
        rows, len(held), *at(kinds, where, _powers()), missing.encode(), end.encode(), *at(out)
    )
    return str(out[:used].data, "utf-8")


def is_written(column: np.ndarray) -> bool:
    """Tell whether a column is of numbers that the kernel writes.

    Examples
    --------
    >>> is_written(np.zeros(1)), is_written(np.array([True])), is_written(np.array(["a"]))
    (True, False, False)
    """
    kind, size = column.dtype.kind, column.dtype.itemsize
    return (kind in "if" and size <= _BYTES) or (kind == "u" and size < _BYTES)


def _held(column: np.ndarray | list[str], *, rounded: bool) -> tuple[int, np.ndarray]:
    """Return what a column holds, and its memory."""
    if isinstance(column, list):
        # Half a character becomes a sign, as in every file that is written.
        texts = ("\0".join(column) + "\0").encode("utf-8", "replace")
        return _TEXT, np.frombuffer(texts, dtype=np.uint8)
    if column.dtype.kind == "f":
        return _ROUNDED if rounded else _NUMBER, np.ascontiguousarray(column, dtype=np.float64)
    return _WHOLE, np.ascontiguousarray(column, dtype=np.int64)


@cache
def _powers() -> npt.NDArray[np.uint64]:
    """Return powers of ten, rounded up to as many bits: the high half of each, then the low one."""
    found: list[int] = []
    for power in range(_LEAST_POWER, _MOST_POWER + 1):
        above, below = (10**power, 1) if power >= 0 else (1, 10**-power)
        # Shifted by the logarithm of the power, so that its highest bit is the first.
        shift = _BITS - 1 - (power * 1741647 >> 19)
        above, below = (above << shift, below) if shift >= 0 else (above, below << -shift)
        found += divmod(-(-above // below), 1 << _BITS // 2)
    return np.array(found, dtype=np.uint64)
