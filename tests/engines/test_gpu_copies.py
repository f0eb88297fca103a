"""Columns are copied to a GPU through two buffers, none of which is filled before it was read.

The device here is a stand-in, which copies as late as a device may: when somebody waits for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from aggcal.engines.gpu.engine import missing

from aggcal.engines.gpu import copies


class Stream:
    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []
        self.done = 0

    def synchronize(self, until: int | None = None) -> None:
        end = len(self.waiting) if until is None else until
        for copy in self.waiting[self.done : end]:
            copy()
        self.done = max(self.done, end)


class Event:
    def __init__(self, *, disable_timing: bool) -> None:
        self.timed = not disable_timing
        self.at: tuple[Stream, int] | None = None

    def record(self, stream: Stream) -> None:
        self.at = stream, len(stream.waiting)

    def synchronize(self) -> None:
        assert self.at is not None
        self.at[0].synchronize(self.at[1])


class OnDevice:
    def __init__(self, held: np.ndarray) -> None:
        self.held = held

    def __getitem__(self, where: slice) -> OnDevice:
        return OnDevice(self.held[where])

    def set(self, source: np.ndarray, stream: Stream) -> None:
        assert self.held.dtype == source.dtype
        assert self.held.shape == source.shape
        stream.waiting.append(lambda: self.held.__setitem__(slice(None), source))


class OutOfMemoryError(Exception):
    pass


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Any:
    stream = Stream()
    module = SimpleNamespace(
        stream=stream,
        asarray=lambda column, dtype: OnDevice(np.array(column, dtype=dtype)),
        empty=lambda size, dtype: OnDevice(np.full(size, -1, dtype=dtype)),
        cuda=SimpleNamespace(
            Event=Event,
            get_current_stream=lambda: stream,
            alloc_pinned_memory=bytearray,
            runtime=SimpleNamespace(CUDARuntimeError=OutOfMemoryError),
        ),
    )
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setattr(copies, "_BUFFER", 64)
    return module


@pytest.mark.parametrize("rows", [0, 1, 8, 9, 16, 17, 31, 100])
@pytest.mark.parametrize("kind", [np.int32, np.float64])
def test_every_entry_arrives(device: Any, rows: int, kind: type[np.generic]) -> None:
    column = np.arange(rows) * 3
    found = copies.to_device(column, kind)
    assert found.held.dtype == kind
    assert found.held.tolist() == column.tolist()
    buffers = -(-rows * np.dtype(kind).itemsize // 64)
    assert len(device.stream.waiting) == (buffers if buffers > 1 else 0)


def test_without_pinned_memory_columns_are_copied_as_they_are(device: Any) -> None:
    def refused(size: int) -> None:
        raise OutOfMemoryError(size)

    device.cuda.alloc_pinned_memory = refused
    assert copies.to_device(np.arange(99), np.float64).held.tolist() == list(range(99))
    assert not device.stream.waiting


@pytest.mark.skipif(missing() is not None, reason="needs a GPU and CuPy")
@pytest.mark.parametrize("kind", [np.int32, np.float64])
def test_every_entry_arrives_on_a_gpu(
    monkeypatch: pytest.MonkeyPatch, kind: type[np.generic]
) -> None:
    monkeypatch.setattr(copies, "_BUFFER", 1 << 16)
    column = np.random.default_rng(0).integers(0, 1 << 30, 300_001).astype(kind)
    for _ in range(3):
        assert copies.to_device(column, kind).get().tobytes() == column.tobytes()
