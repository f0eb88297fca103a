"""A DuckDB database that is begun before it is needed: to start one takes as long as to read."""

from __future__ import annotations

from concurrent.futures import Future
from importlib import import_module
from threading import Thread
from types import ModuleType
from typing import TYPE_CHECKING

from aggcal._core.machine import OURS, cores

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

CONFIG = {"autoinstall_known_extensions": "false"}
_begun: list[Future[DuckDBPyConnection]] = []


def driver() -> ModuleType:
    """Return DuckDB's compiled module, which has connections and errors.

    The package around it takes 0.1 s to load. From version 2 on that is for relations, which only
    large tables need here; who needs them imports the package, which then adds them.
    """
    try:
        return import_module("_duckdb")
    except ImportError:  # a DuckDB that is arranged in another way
        return import_module("duckdb")


def begin() -> None:
    """Start a database in a thread, for the first who asks for one.

    Only for a process that is the command's own: one that forks would leave it to a child without
    its threads.
    """
    if cores() == 1 or _begun:
        return
    loaded = driver()  # here: two threads that load modules would wait for each other
    future: Future[DuckDBPyConnection] = Future()

    def work() -> None:
        try:
            future.set_result(loaded.connect(config=dict(CONFIG)))
        except BaseException as error:  # noqa: BLE001  # for whoever asks
            future.set_exception(error)

    _begun.append(future)
    Thread(target=work, name=f"{OURS}-database", daemon=True).start()


def begun() -> DuckDBPyConnection | None:
    """Return the database that was begun, the first time; what went wrong is raised here."""
    return _begun.pop().result() if _begun else None
