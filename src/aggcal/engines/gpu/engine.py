"""Judgments on this machine whose sums are made on its GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aggcal._core.arrays import CodeArray, FloatArray
from aggcal._core.kernels.threads import begun
from aggcal.data.judgments import Judgments
from aggcal.engines.gpu.columns import card
from aggcal.engines.gpu.layout import DeviceRows, compiled
from aggcal.engines.gpu.objective import DeviceLikelihood, DeviceThurstone
from aggcal.engines.remote import RemoteJudgments
from aggcal.engines.sharded import general as _general  # noqa: F401  # it registers its kinds
from aggcal.io import read_judgments
from aggcal.io.quick.carded import on_card
from aggcal.models.compiled import thurstone
from aggcal.models.rows import rows_of
from aggcal.models.thurstone import likelihood

thurstone.register(DeviceRows, DeviceThurstone)
likelihood.register(DeviceRows, DeviceLikelihood)

class GpuEngine:
    """Moves rows to the GPU of this machine, which has them, too."""

    name = "gpu"
    integrates = False

    def distribute(self, judgments: Judgments, /) -> RemoteJudgments:
        """Move the rows of judgments to the device."""
        return RemoteJudgments.of_local(judgments, DeviceRows.of(rows_of(judgments)), self)

    def read(
        self,
        path: str,
        /,
        *,
        on_progress: Callable[[float], None] | None = None,
        **options: Any,
    ) -> RemoteJudgments:
        """Read judgments, and move their rows to the device."""
        # A new machine has the kernels compiled first, which takes seconds and one core.
        ready = begun(compiled)
        with on_card(card()):
            judgments = read_judgments(path, on_progress=on_progress, **options)
        ready()
        return self.distribute(judgments)

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
