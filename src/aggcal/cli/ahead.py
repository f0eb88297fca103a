"""What a command needs later, prepared in threads while the main one imports, reads and fits.

Only where the whole process is the command's own: a program that calls it may fork, or count its
threads. Nothing that goes wrong is told here: whoever needs what is prepared is told then.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Event, Thread

from aggcal._core import database
from aggcal._core.machine import OURS, cores

_alone = False


def this_process_is_ours() -> None:
    """Allow threads that outlive what began them."""
    global _alone  # noqa: PLW0603  # a process has one owner
    _alone = True


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
                return
            try:
                import_module(name)
            except Exception:  # noqa: BLE001  # it is raised again where the module is needed
                return

    if _alone and cores() > 1:
        # No daemon: Python may end in the midst of what those do, a module of C's perhaps.
        Thread(target=load, name=f"{OURS}-loader").start()
    try:
        yield
    finally:
        over.set()
