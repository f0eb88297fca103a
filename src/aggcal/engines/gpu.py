"""Judgments on this machine whose sums are made on its GPU, by CuPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from aggcal._core.machine import cores
from aggcal.data.judgments import Judgments
from aggcal.engines.base import Engine, Shard, ThreadedShards, refuse_ratings
from aggcal.engines.remote import RemoteJudgments, cuts, pieces

_ROWS = 1 << 22
"""Rows of a shard at least: each core lays one out, and calls the kernels for it."""


class DeviceShard(Shard):
    """Judgments here, whose rows are laid out on the GPU: NumPy's functions call CuPy's there."""

    def place(self, rows: Any) -> Any:
        """Return rows whose answers and channels are on the GPU."""
        answers, channels = self.inward((rows.answers, rows.channels))
        return replace(rows, answers=answers, channels=channels)

    def inward(self, value: Any) -> Any:
        """Return the same with all arrays on the GPU."""
        import cupy

        return _moved(value, cupy.asarray)

    def outward(self, value: Any) -> Any:
        """Return the same with all arrays on this machine."""
        return _moved(value, lambda array: array if isinstance(array, np.ndarray) else array.get())


def _moved(value: Any, move: Callable[[Any], Any]) -> Any:
    """Return the same with all arrays moved.

    Examples
    --------
    >>> _moved((np.ones(2), {"a": np.ones(1)}, 3), np.negative)
    (array([-1., -1.]), {'a': array([-1.])}, 3)
    """
    if isinstance(value, dict):
        return {name: _moved(each, move) for name, each in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_moved(each, move) for each in value))
    if isinstance(value, tuple | list):
        return type(value)(_moved(each, move) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {part.name: _moved(getattr(value, part.name), move) for part in fields(value)}
        return replace(value, **parts)
    return move(value) if hasattr(value, "__array_function__") else value


class GpuEngine(Engine):
    """Lays rows out on the GPU of this machine; the judgments stay in the machine's memory, too."""

    name = "gpu"

    def distribute(self, judgments: Judgments, /) -> RemoteJudgments:
        """Let rows be laid out, in threads, and put on the device."""
        refuse_ratings(judgments)
        number = min(cores(), -(-len(judgments.count) // _ROWS))
        cut = cuts(judgments.judgments_per_annotator, number)
        shards = [*pieces(judgments, cut, DeviceShard)]
        return RemoteJudgments.of_local(judgments, self, ThreadedShards(shards, number))

    def close(self) -> None:
        """Let the device's memory go."""
        import cupy

        cupy.get_default_memory_pool().free_all_blocks()


def missing() -> tuple[str, str] | None:
    """Say why there is no GPU to work with, and what to do; None if there is one.

    Examples
    --------
    >>> reason = missing()
    >>> reason is None or len(reason) == 2
    True
    """
    try:
        import cupy
    except ImportError:
        what = "the engine 'gpu' needs CuPy, which is not installed: the processor took its place"
        what_to_do = "install aggcal with its extra gpu (in its folder: pip install '.[gpu]'), or "
        return what, what_to_do + "leave the engine out"
    try:
        cupy.zeros(1).sum().get()
    except Exception as fault:  # noqa: BLE001 - the driver, the runtime or the compiler may fail
        said = " ".join(str(fault).split())
        what = f"the engine 'gpu' finds no GPU that works ({said}): the processor took its place"
        return what, "see that nvidia-smi lists one, or leave the engine out"
    return None
