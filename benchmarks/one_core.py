"""Processes that keep to one core each: simulated studies by the hundred need no threads."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor


def on_one_core_each(number: int | None = None) -> ProcessPoolExecutor:
    """Return so many processes, or one for each core.

    Where each used all of the cores, they would wait for each other most of the time.
    """
    return ProcessPoolExecutor(number, initializer=_on_one_core)


def _on_one_core() -> None:
    if hasattr(os, "sched_setaffinity"):
        mine = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {mine[os.getpid() % len(mine)]})
