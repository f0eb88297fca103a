"""What a command needs later, prepared in threads while the main one imports, reads and fits.

Threads that outlive what began them only where the whole process is the command's own: a program
that calls it may fork, or count its threads.
Nothing that goes wrong is told here: whoever needs what is prepared is told then.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Event, Thread
from typing import TYPE_CHECKING

from aggcal._core import database
from aggcal._core.machine import OURS, cores

if TYPE_CHECKING:
    from aggcal.aggregation.consensus import Consensus
    from aggcal.data.base import AnyJudgments

_BRIEFLY = 0.00001
"""Seconds that a thread which waits for another to let go of Python waits at most. With Python's
own 0.005, a fit would wait after each of its sums for modules that are loaded beside it."""

_alone = False


def this_process_is_ours() -> None:
    """Allow threads that outlive what began them."""
    global _alone  # noqa: PLW0603  # a process has one owner
    _alone = True


def process_is_ours() -> bool:
    """Tell whether the whole process is the command's own, and ends with it."""
    return _alone


def begin_database() -> None:
    """Begin to start the database that reads the judgments."""
    if _alone:
        database.begin()


@contextmanager
def loaded_ahead(*modules: str) -> Iterator[None]:
    """Load modules in a thread, in turn, until this ends.

    They may load nothing of SciPy's: see `aggcal._core.compiled_scipy`. An interrupted command
    ends, at the latest, with the module that is being loaded.
    """
    over = Event()

    def load() -> None:
        for name in modules:
            if over.is_set():
                break
            try:
                import_module(name)
            except Exception:  # noqa: BLE001  # it is raised again where the module is needed
                break
        if collecting:  # modules stay, and need not be looked through for garbage
            gc.freeze()
            gc.enable()

    usual, collecting = sys.getswitchinterval(), gc.isenabled()
    if _alone and cores() > 1:
        sys.setswitchinterval(_BRIEFLY)
        gc.disable()
        # No daemon: Python may end in the midst of what those do, a module of C's perhaps.
        Thread(target=load, name=f"{OURS}-loader").start()
    try:
        yield
    finally:
        over.set()
        sys.setswitchinterval(usual)


@contextmanager
def check_begun(*, wanted: bool) -> Iterator[None]:
    """Begin the check of what is fitted meanwhile as soon as there is a fit."""
    if not wanted:
        yield
        return
    from aggcal.assessment.following import following

    with following(_begin_check):
        yield


def _begin_check(judgments: AnyJudgments, consensus: Consensus, seed: int) -> None:
    # The package first: a thread that imports a part of one which another thread is loading holds
    # what the other will wait for, and Python then hands out a part that is not finished.
    import_module("aggcal.advice.check")
    from aggcal.advice.check.ahead import begin

    begin(judgments, consensus, seed)
