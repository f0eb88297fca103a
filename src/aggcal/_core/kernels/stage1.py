"""How the kernels of Stage 1 are called: where arrays lie, on processors or on a GPU."""

from __future__ import annotations

import struct
from ctypes import c_char_p, c_int64
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from aggcal._core.arrays import on_gpu
from aggcal._core.kernels import address, library
from aggcal._core.machine import cores

MEMBERS = {
    "annotators": (
        "m", "starts", "blocks", "channels", "unknowns", "covariance", "covariance_size",
        "largest_sd", "weight", "lean", "tied", "grades", "role", "parameters", "halves", "points",
        "log_weights", "each", "means", "sds", "log_shares", "upright", "close", "modes", "nodes",
        "weights", "values", "pulls", "curves", "curvatures", "theta", "inverse", "force",
    ),
    "sums": (
        "m", "nodes", "starts", "blocks", "channels", "channel", "pulls", "weights", "centred",
        "size", "means", "force", "curves", "values", "vector", "covariance", "covariance_size",
        "extra", "scratch", "out", "more",
    ),
}  # fmt: skip
"""Of what kernels take: `Integral` and `Sums` in ``stage1.h``."""
_TEAMS = ((128, 0, 1 << 13), (512, 1 << 13, 1 << 62))
"""Of a GPU: threads for an annotator of so many rows, and of fewer than so many."""
_COMPILING = Lock()


def launch(
    kernel: str, members: str, like: Any, *variant: int, teams: int = 0, **values: Any
) -> None:
    """Run a kernel where an array lies.

    Parameters
    ----------
    kernel
        Its name; on a GPU, what it is there called in C++.
    members, values
        What it takes: numbers, arrays, lists of these, and None; what is left out is 0.
    like
        The array.
    variant
        What further arguments the library's kernel takes.
    teams
        Of a GPU, that share the annotators; by default there is one for each.
    """
    kept: list[Any] = []  # until the kernel has run

    def slot(value: Any) -> int:
        if isinstance(value, int):
            return value
        if isinstance(value, float):
            return int(struct.unpack("q", struct.pack("d", value))[0])
        if isinstance(value, list):
            value = np.array([*map(slot, value)], np.int64)
        kept.append(lying(value, like))
        return _address(kept[-1])

    slots = [slot(values.get(name, 0)) for name in MEMBERS[members]]
    record = struct.pack(f"{len(slots)}q", *slots)
    if not on_gpu(like):
        further = map(c_int64, variant)
        getattr(library(), f"stage1_{kernel}")(c_int64(cores()), c_char_p(record), *further)
        return
    there = lying(np.frombuffer(record, np.int64), like)
    with _COMPILING:
        run = _for_gpu(kernel)
    for threads, *rows in _TEAMS:
        run((max(teams or values["m"], 1),), (threads,), (there, *map(np.int64, rows)))


def lying(array: Any, like: Any) -> Any:
    """Return an array (or None) in one piece, where another one lies."""
    if array is None or not on_gpu(like):
        return None if array is None else np.asarray(array, order="C")
    return np.asarray(array, order="C", like=like)


def _address(array: Any) -> int:
    if array is None:
        return 0
    return int(array.data.ptr) if on_gpu(array) else address(array)


@cache
def _for_gpu(kernel: str) -> Any:
    import cupy

    header, source = (Path(__file__).with_suffix(end).read_text() for end in (".h", ".cu"))
    module = cupy.RawModule(
        code=source.replace('#include "stage1.h"', header),
        options=("-std=c++17", "-default-device", "--disable-warnings"),
        name_expressions=[kernel],
    )
    return module.get_function(kernel)
