"""Connections to DuckDB, in which tables are read and merged."""

from __future__ import annotations

import atexit
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aggcal.errors import OptionError
from aggcal.io.source import quoted

if TYPE_CHECKING:
    import duckdb

_SMALL_FILE = 4_000_000
_FEW_ROWS = 100_000
_EVERY = 0.3
_WHOLE = 100.0
_CONFIG = {"autoinstall_known_extensions": "false"}

_one_at_a_time = threading.Lock()


@contextmanager
def connected(
    data: Any,
    memory: str | None = None,
    on_progress: Callable[[float], None] | None = None,
    threads: int | None = None,
) -> Iterator[tuple[duckdb.DuckDBPyConnection, Path]]:
    """Open a DuckDB connection and a folder for its scratch, and clear both away afterwards.

    Tables and views that are made temporary are the connection's own.

    Parameters
    ----------
    data
        What is to be read: a path, or anything that has a length.
    memory
        DuckDB's limit, beyond which it works on disk.
    on_progress
        Called now and then, from a thread, with the percentage done of the step under way.
    threads
        How many DuckDB may use; by default as many as there are cores.
    """
    import duckdb  # 0.15 s that --help must not pay

    with tempfile.TemporaryDirectory(prefix="aggcal-") as scratch:
        # Limits are those of a whole database; and one that has held much keeps the memory.
        if memory is None and threads is None and _is_small(data):
            with _one_at_a_time:
                connection = _database()[0].cursor()
        else:
            connection = duckdb.connect(config={"temp_directory": scratch, **_CONFIG})
        # A slow query would draw a bar on standard output.
        connection.execute("SET enable_progress_bar_print = false")
        stop_watching = _watched(connection, on_progress)
        try:
            if memory is not None:
                _limit_memory(connection, memory)
            if threads is not None:
                connection.execute(f"SET threads = {threads:d}")
            yield connection, Path(scratch)
        except (duckdb.InterruptException, RuntimeError) as error:
            if "interrupt" in str(error).lower():
                raise KeyboardInterrupt from None
            raise
        finally:
            stop_watching()
            connection.close()


def _is_small(data: Any) -> bool:
    try:
        if isinstance(data, str | Path):
            return Path(data).is_file() and Path(data).stat().st_size <= _SMALL_FILE
        # Columns, unless it is a number for each item.
        parts = data.values() if isinstance(data, Mapping) else ()
        longest = max((len(p) for p in parts if hasattr(p, "__len__")), default=0)
        return max(longest, len(data)) <= _FEW_ROWS
    except (OSError, TypeError):
        return False


@cache
def _database() -> tuple[duckdb.DuckDBPyConnection, tempfile.TemporaryDirectory[str]]:
    """Return this process's database: to start one takes longer than to read a small table."""
    import duckdb

    scratch = tempfile.TemporaryDirectory(prefix="aggcal-")
    return duckdb.connect(config={"temp_directory": scratch.name, **_CONFIG}), scratch


def _close() -> None:
    if _database.cache_info().currsize:
        database, scratch = _database()
        _database.cache_clear()
        database.close()
        scratch.cleanup()


def _close_for_a_fork() -> None:
    """Close it: a child would have it without its threads, and hang or abort in the end."""
    _one_at_a_time.acquire()
    _close()


atexit.register(_close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_close_for_a_fork,
        after_in_parent=_one_at_a_time.release,
        after_in_child=_one_at_a_time.release,
    )


def _watched(
    connection: duckdb.DuckDBPyConnection, on_progress: Callable[[float], None] | None
) -> Callable[[], None]:
    """Report the progress of what runs on a connection until what is returned is called."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_EVERY):
            # Asked between two queries, or as the connection closes, DuckDB may object.
            with suppress(Exception):
                done = float(connection.query_progress())
                if 0.0 < done <= _WHOLE and on_progress is not None:
                    on_progress(done)

    watcher = threading.Thread(target=watch, daemon=True)

    def stop() -> None:
        over.set()
        if on_progress is not None:
            # One that still holds the connection when Python ends makes DuckDB complain of leaks.
            watcher.join()

    if on_progress is not None:
        # DuckDB measures its progress only for a bar.
        connection.execute("SET enable_progress_bar = true")
        connection.execute("SET progress_bar_time = 0")
        watcher.start()
    return stop


def _limit_memory(connection: duckdb.DuckDBPyConnection, memory: str) -> None:
    import duckdb

    try:
        connection.execute(f"SET memory_limit = {quoted(memory)}")
    except duckdb.Error:
        raise OptionError(f"memory '{memory}' is not a size; write 2GB or 500MB.") from None
