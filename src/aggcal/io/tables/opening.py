"""Open whatever the user brought: a path, a data frame, or rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aggcal._core.database import driver
from aggcal._core.tables import Columns, frame_cells, frame_columns, row_columns
from aggcal.errors import TableError
from aggcal.io.duplicates import registered
from aggcal.io.tables.database import connected
from aggcal.io.tables.files import load_file
from aggcal.io.tables.prepared import prepared
from aggcal.io.tables.source import Source, fill

if TYPE_CHECKING:
    import duckdb


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
        A path to CSV, TSV, JSON lines, JSON (each may be gzipped), a workbook or Parquet;
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
    with connected(data) as (connection, scratch):
        if isinstance(data, str | Path):
            yield load_file(connection, prepared(data, names, scratch), names, scratch)
        else:
            yield load_memory(connection, data, names, what, shapes)


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
        duck = driver()
        halves = TableError(
            f"the {what} hold text that is not valid Unicode (half of a character); clean it."
        )
        # DuckDB 1 would not refuse them, but do nothing more on this connection.
        if duck.__version__.startswith("1.") and any(map(_has_halves, present.values())):
            raise halves
        connection.register("given", {f"c{k}": c for k, c in enumerate(present.values())})
        try:
            fill(connection, {n: f"c{k}" for k, n in enumerate(present)}, "given")
        except duck.InvalidInputException:
            raise halves from None

    def everything() -> str:
        return registered(connection, columns.values() if framed is None else frame_cells(data))

    return Source(
        connection,
        what,
        frozenset(present),
        tuple(found),
        backend,
        everything=everything,
    )


def _has_halves(column: Any) -> bool:
    """Whether a text among the cells of a column holds half of a character."""
    if getattr(getattr(column, "dtype", None), "kind", None) != "O":
        return False
    try:
        for cell in column:
            if isinstance(cell, str):
                cell.encode()
    except UnicodeEncodeError:
        return True
    return False
