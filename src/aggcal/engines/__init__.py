"""Where sums over judgments are computed: on this machine, on a cluster, on a GPU.

`aggcal.engines.base` says what an engine is and how a further one plugs in.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments
from aggcal.engines.base import Engine
from aggcal.engines.remote import RemoteJudgments
from aggcal.errors import NoGpuWarning, check_choice
from aggcal.io import read_judgments
from aggcal.registry import DASK, ENGINES, GPU, LOCAL

if TYPE_CHECKING:
    from aggcal.engines.dask import Dask

__all__ = ["Dask", "Engine", "RemoteJudgments", "named", "prepare"]


def named(name: str) -> Engine | None:
    """Start the engine of a name; None for this machine, which needs none.

    Where there is no GPU, this machine takes its place, with a warning.

    Examples
    --------
    >>> named("local") is None
    True
    """
    check_choice("engine", name, ENGINES)
    if name == DASK:
        from aggcal.engines.dask import Dask

        return Dask()
    if name == GPU:
        from aggcal.engines.gpu import GpuEngine, missing

        reason = missing()
        if reason is None:
            return GpuEngine()
        what, to_do = reason
        warnings.warn(NoGpuWarning(what, "", to_do), stacklevel=2)
    return None


def prepare(judgments: Any, engine: str | Engine = LOCAL) -> AnyJudgments:
    """Return judgments, read if need be, where an engine wants them.

    Those that an engine holds already stay there.

    Examples
    --------
    >>> prepare([("ann", "a", "b")])
    Judgments(2 items, 1 annotators, 1 judgments)
    """
    if isinstance(judgments, AnyJudgments) and judgments.on_engine:
        return judgments
    found = named(engine) if isinstance(engine, str) else engine
    if found is None:
        return judgments if isinstance(judgments, Judgments) else read_judgments(judgments)
    if isinstance(judgments, str | Path):
        return found.read(str(judgments))
    if not isinstance(judgments, Judgments):
        judgments = read_judgments(judgments)
    return found.distribute(judgments)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "Dask":  # what no run on this machine needs
            from aggcal.engines.dask import Dask

            return Dask
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
