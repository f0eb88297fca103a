"""Connections to DuckDB, in which tables are read and merged."""

from __future__ import annotations

import atexit
import ctypes
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from aggcal._core.database import CONFIG, begun, driver
from aggcal._core.machine import OURS
from aggcal.errors import OptionError
from aggcal.io.saving import scratch_folder
from aggcal.io.tables.source import no_room, quoted

if TYPE_CHECKING:
    import duckdb

_SMALL_FILE = 4_000_000
_FEW_CELLS = 300_000
_FEW_FILES = 10
"""Limits of what the common database reads: it keeps the memory that it once took."""
_PACKED = (b"PA", b"\x1f\x8b")
"""How Parquet and gzip begin."""
_SIZED = (list, tuple, np.ndarray)
_EVERY = 0.3  # seconds: progress more often would flicker
_WHOLE = 100.0  # percent

_lock = threading.Lock()
_cursors: set[int] = set()


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
    limit = None if memory is None else _size(memory)
    with _scratch() as scratch, _in_words():
        # Limits are those of a whole database; and one that has held much keeps the memory.
        if memory is None and threads is None and _is_small(data):
            with _lock:
                connection = _database()[0].cursor()
                _cursors.add(id(connection))
        else:
            connection = _opened(scratch)
        # A slow query would draw a bar on standard output.
        connection.execute("SET enable_progress_bar_print = false")
        stop_watching = _watched(connection, on_progress)
        try:
            if limit is not None:
                connection.execute(f"SET memory_limit = {quoted(limit)}")
            if threads is not None:
                connection.execute(f"SET threads = {threads:d}")
            yield connection, scratch
        finally:
            stop_watching()
            connection.close()
            with _lock:
                _cursors.discard(id(connection))


@contextmanager
def _in_words() -> Iterator[None]:
    """Take DuckDB's interrupts for the user's, and say what to do where it has too little room."""
    duck = driver()
    try:
        yield
    except (duck.InterruptException, RuntimeError) as error:
        if "interrupt" in str(error).lower():
            raise KeyboardInterrupt from None
        raise
    except duck.Error as error:
        if lacks_room(error):
            reason = str(error).split("\n", 1)[0]
            raise OptionError(
                f"there is too little memory or disk to read this ({reason}); allow more with "
                "--memory, or set TMPDIR to a folder with more room."
            ) from None
        raise


def _is_small(data: Any) -> bool:
    """Whether reading takes little memory, as far as can be told without looking at it."""
    if isinstance(data, str | Path):
        return _is_small_file(data)
    if isinstance(data, Mapping):
        # Columns, or a number for each item.
        cells = sum(len(part) if isinstance(part, _SIZED) else 1 for part in data.values())
        return cells <= _FEW_CELLS
    if isinstance(data, list | tuple) and data and all(isinstance(f, str | Path) for f in data):
        return len(data) <= _FEW_FILES and all(map(_is_small_file, data))
    if isinstance(data, list | tuple):
        width = len(data[0]) if data and isinstance(data[0], Mapping | tuple | list) else 1
        return len(data) * width <= _FEW_CELLS
    shape = getattr(data, "shape", None)
    known = isinstance(shape, tuple) and all(isinstance(n, int) for n in shape)
    return known and prod(shape or ()) <= _FEW_CELLS


def _is_small_file(given: str | Path) -> bool:
    try:
        path = Path(given)
        if not path.is_file() or not 0 < path.stat().st_size <= _SMALL_FILE:
            return False  # a file of the system has no size, and may wait for ever
        with path.open("rb") as file:
            return file.read(2) not in _PACKED
    except (OSError, ValueError):
        return False


@cache
def _database() -> tuple[duckdb.DuckDBPyConnection, Path]:
    """Return this process's database: to start one takes longer than to read a small table.

    DuckDB makes its folder only when it needs one, which is hardly ever.
    """
    scratch = Path(tempfile.gettempdir()) / f"aggcal-{uuid4().hex}"
    return _opened(scratch), scratch


def _opened(scratch: Path) -> duckdb.DuckDBPyConnection:
    """Start a database, or take the one that was begun."""
    found = begun()
    if found is None:
        new: duckdb.DuckDBPyConnection = driver().connect(
            config={"temp_directory": str(scratch), **CONFIG}
        )
        return new
    found.execute(f"SET temp_directory = {quoted(str(scratch))}")
    return found


def _close() -> None:
    if _database.cache_info().currsize:
        database, scratch = _database()
        _database.cache_clear()
        database.close()
        shutil.rmtree(scratch, ignore_errors=True)


def _before_a_fork() -> None:
    """Close the database if nobody reads: a child would have it without its threads."""
    _lock.acquire()
    if not _cursors:
        _close()


def _in_a_child() -> None:
    """Forget a database that somebody was reading in, without the destruction that would abort."""
    if _database.cache_info().currsize:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(_database()[0]))
        _database.cache_clear()
    _cursors.clear()
    _lock.release()


atexit.register(_close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_a_fork, after_in_parent=_lock.release, after_in_child=_in_a_child
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

    watcher = threading.Thread(target=watch, name=f"{OURS}-watcher", daemon=True)

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


def lacks_room(error: Exception) -> bool:
    """Whether DuckDB had too little memory or disk, which is no fault of the file."""
    duck = driver()
    full = isinstance(error, duck.IOException) and "No space left" in str(error)
    return full or isinstance(error, duck.OutOfMemoryException)


def _size(memory: str) -> str:
    """Check a size: DuckDB would take -1 for no limit at all, and many a mistake for nothing."""
    found = re.fullmatch(r"\s*(\d{1,6}(?:\.\d+)?)\s*([KMGT]i?B)\s*", memory, re.IGNORECASE)
    if found is None or float(found[1]) <= 0.0:
        raise OptionError(f"memory '{memory}' is not a size; write 2GB or 500MB.")
    return f"{found[1]}{found[2]}"


def bytes_of(memory: str) -> int:
    """Return a size in bytes.

    Examples
    --------
    >>> bytes_of("1.5kB"), bytes_of("2 MiB")
    (1500, 2097152)
    """
    text = _size(memory).lower()
    number, power = float(text.rstrip("kmgtib")), 1 + "kmgt".index(text.lstrip("0123456789.")[0])
    return int(number * (1024 if "i" in text else 1000) ** power)


@contextmanager
def _scratch() -> Iterator[Path]:
    """Make a folder for temporary files, and take it away afterwards."""
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(scratch_folder())
        except OSError as error:
            raise no_room(error) from None
        yield folder
