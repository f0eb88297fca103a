"""Long columns copied to a GPU by way of pinned memory, which the card reads by itself.

From other memory a copy is several times as slow: the driver puts every piece into pinned memory of
its own first, on one core. Here threads fill two buffers in turn, and the card reads one while the
other is filled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from aggcal._core.kernels.threads import each_range, even

_BUFFER = 1 << 25
"""Bytes of each of the two buffers: larger ones take longer to get than they save."""


def to_device(column: Any, kind: type[np.generic]) -> Any:
    """Return a column on the device, as numbers of a kind; a column that is there stays there."""
    import cupy

    if not isinstance(column, np.ndarray):
        return cupy.asarray(column, dtype=kind)
    long = len(column) * np.dtype(kind).itemsize > _BUFFER
    buffers = _pinned(kind) if long else None
    if buffers is None:
        return cupy.asarray(np.ascontiguousarray(column, dtype=kind), dtype=kind)
    found, stream = cupy.empty(len(column), dtype=kind), cupy.cuda.get_current_stream()
    size, read = len(buffers[0]), [cupy.cuda.Event(disable_timing=True) for _ in buffers]
    try:
        for turn, begin in enumerate(range(0, len(column), size)):
            buffer, event = buffers[turn % 2], read[turn % 2]
            if turn >= len(buffers):
                event.synchronize()  # until the card has read what the buffer had before
            part = column[begin : begin + size]
            _fill(buffer, part)
            found[begin : begin + len(part)].set(buffer[: len(part)], stream=stream)
            event.record(stream)
    finally:
        stream.synchronize()  # the buffers go when this function ends
    return found


def _fill(buffer: np.ndarray, part: np.ndarray) -> None:
    def some(begin: int, end: int) -> None:
        buffer[begin:end] = part[begin:end]

    each_range(some, even(len(part)))


def _pinned(kind: type[np.generic]) -> list[np.ndarray] | None:
    """Return two buffers of pinned memory; None where there is none to be had."""
    import cupy

    try:
        memory = [cupy.cuda.alloc_pinned_memory(_BUFFER) for _ in range(2)]
    except cupy.cuda.runtime.CUDARuntimeError:
        return None
    count = _BUFFER // np.dtype(kind).itemsize
    return [np.frombuffer(one, dtype=kind, count=count) for one in memory]
