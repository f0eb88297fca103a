"""Open whatever the user brought: a path, a data frame, or rows."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aggcal.errors import OptionError, TableError
from aggcal.io.files import load_file
from aggcal.io.source import Source, fill, quoted
from aggcal.tables import Columns, frame_columns, row_columns

if TYPE_CHECKING:
    import duckdb


@contextmanager
def opened(
    data: Any,
    wanted: Sequence[str],
    *,
    what: str,
    shapes: Mapping[int, Sequence[str]],
    aliases: Mapping[str, str] | None = None,
    memory: str | None = None,
) -> Iterator[Source]:
    """Load ``data`` (a path, a data frame, or rows) and close everything afterwards.

    Parameters
    ----------
    data
        A path to CSV, TSV, JSON lines, JSON or Parquet (each may be gzipped but the last);
        a pandas, polars or arrow frame; a list of tuples or mappings; a mapping of columns.
    wanted
        The columns the reader knows; others are not loaded.
    what
        What the table holds, for messages: ``"judgments"`` or ``"scores"``.
    shapes
        The column names of tuples, by their length.
    aliases
        Wanted columns that go by another name in this table.
    memory
        DuckDB's limit, beyond which it works on disk.
    """
    import duckdb  # 0.15 s that --help must not pay

    renamed = {other.strip().lower(): own for own, other in (aliases or {}).items()}
    names = {w: w for w in wanted if w not in renamed.values()} | renamed
    with tempfile.TemporaryDirectory(prefix="aggcal-") as scratch:
        connection = duckdb.connect(
            config={"temp_directory": scratch, "autoinstall_known_extensions": "false"}
        )
        try:
            if memory is not None:
                _limit_memory(connection, memory)
            if isinstance(data, str | Path):
                yield load_file(connection, Path(data), names, Path(scratch))
            else:
                yield _load_memory(connection, data, names, what, shapes)
        except (duckdb.InterruptException, RuntimeError) as error:
            if "interrupt" in str(error).lower():
                raise KeyboardInterrupt from None
            raise
        finally:
            connection.close()


def _limit_memory(connection: duckdb.DuckDBPyConnection, memory: str) -> None:
    import duckdb

    try:
        connection.execute(f"SET memory_limit = {quoted(memory)}")
    except duckdb.Error:
        raise OptionError(f"memory '{memory}' is not a size; write 2GB or 500MB.") from None


def _load_memory(
    connection: duckdb.DuckDBPyConnection,
    data: Any,
    names: Mapping[str, str],
    what: str,
    shapes: Mapping[int, Sequence[str]],
) -> Source:
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
        connection.register("given", {f"c{k}": c for k, c in enumerate(present.values())})
        fill(connection, {n: f"c{k}" for k, n in enumerate(present)}, "given")
    return Source(connection, what, frozenset(present), tuple(found), backend)
