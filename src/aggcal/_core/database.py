"""A DuckDB database that is begun before it is needed: to start one takes as long as to read."""

from __future__ import annotations

from concurrent.futures import Future
from threading import Thread
from typing import TYPE_CHECKING

from aggcal._core.machine import OURS, cores

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

CONFIG = {"autoinstall_known_extensions": "false"}
_begun: list[Future[DuckDBPyConnection]] = []


def begin() -> None:
    """Start a database in a thread, for the first who asks for one.

    Only for a process that is the command's own: one that forks would leave it to a child without
    its threads.
    """
    if cores() == 1 or _begun:
        return
    import duckdb  # here: two threads that load modules would wait for each other

    future: Future[DuckDBPyConnection] = Future()

    def work() -> None:
        try:
            future.set_result(duckdb.connect(config=dict(CONFIG)))
        except BaseException as error:  # noqa: BLE001  # for whoever asks
            future.set_exception(error)

    _begun.append(future)
    Thread(target=work, name=f"{OURS}-database", daemon=True).start()


def begun() -> DuckDBPyConnection | None:
    """Return the database that was begun, the first time; what went wrong is raised here."""
    return _begun.pop().result() if _begun else None
