"""Open whatever the user brought: a path, a data frame, or rows."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aggcal.errors import OptionError, TableError
from aggcal.io.files import load_file
from aggcal.io.source import Source, fill, quoted
from aggcal.tables import Columns, frame_columns, row_columns

if TYPE_CHECKING:
    import duckdb

_EVERY = 0.3
_WHOLE = 100.0


@contextmanager
def opened(
    data: Any,
    wanted: Sequence[str] | Mapping[str, str],
    *,
    what: str,
    shapes: Mapping[int, Sequence[str]],
    aliases: Mapping[str, str] | None = None,
) -> Iterator[Source]:
    """Load ``data`` (a path, a data frame, or rows) and close everything afterwards.

    Parameters
    ----------
    data
        A path to CSV, TSV, JSON lines, JSON or Parquet (each may be gzipped but the last);
        a pandas, polars or arrow frame; a list of tuples or mappings; a mapping of columns.
    wanted
        The columns the reader knows, or a mapping of what they are called in the table (in small
        letters) to the reader's own names; others are not loaded.
    what
        What the table holds, for messages: ``"judgments"`` or ``"scores"``.
    shapes
        The column names of tuples, by their length.
    aliases
        Wanted columns that go by another name in this table.
    """
    renamed = {other.strip().lower(): own for own, other in (aliases or {}).items()}
    names: Mapping[str, str] = (
        wanted
        if isinstance(wanted, Mapping)
        else {w: w for w in wanted if w not in renamed.values()} | renamed
    )
    with connected() as (connection, scratch):
        if isinstance(data, str | Path):
            yield load_file(connection, Path(data), names, scratch)
        else:
            yield load_memory(connection, data, names, what, shapes)


@contextmanager
def connected(
    memory: str | None = None,
    on_progress: Callable[[float], None] | None = None,
    threads: int | None = None,
) -> Iterator[tuple[duckdb.DuckDBPyConnection, Path]]:
    """Open a DuckDB connection and a folder for its scratch, and clear both away afterwards.

    Parameters
    ----------
    memory
        DuckDB's limit, beyond which it works on disk.
    on_progress
        Called now and then, from a thread, with the percentage done of the step under way.
    threads
        How many DuckDB may use; by default as many as there are cores.
    """
    import duckdb  # 0.15 s that --help must not pay

    with tempfile.TemporaryDirectory(prefix="aggcal-") as scratch:
        connection = duckdb.connect(
            config={"temp_directory": scratch, "autoinstall_known_extensions": "false"}
        )
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


def load_memory(
    connection: duckdb.DuckDBPyConnection,
    data: Any,
    names: Mapping[str, str],
    what: str,
    shapes: Mapping[int, Sequence[str]],
) -> Source:
    """Load a data frame or rows."""
    backend: str | None = None
    framed = frame_columns(data, names)
    columns: Columns
    if framed is not None:
        columns, backend, found = framed
    else:
        try:
            columns, found = row_columns(data, shapes, what)
        except TypeError:
            raise TableError(
                f"{what} cannot be read from {type(data).__name__!r}; give a path, a pandas, "
                "polars or arrow frame, or a list of rows."
            ) from None
    present = {names[key]: column for key, column in columns.items() if key in names}
    if present:
        import duckdb

        connection.register("given", {f"c{k}": c for k, c in enumerate(present.values())})
        try:
            fill(connection, {n: f"c{k}" for k, n in enumerate(present)}, "given")
        except duckdb.InvalidInputException:
            raise TableError(
                f"the {what} hold text that is not valid Unicode (half of a character); clean it."
            ) from None
    return Source(connection, what, frozenset(present), tuple(found), backend)
