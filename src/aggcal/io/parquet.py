"""Parquet: a file, or all those in a folder."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aggcal.errors import FileError
from aggcal.io.database import connected
from aggcal.io.formats.sample import Sample, of_records
from aggcal.io.source import Source, cell, fill, present_columns, quoted

if TYPE_CHECKING:
    import duckdb

_ROWS = 1_000


def look_at_parquet(path: Path, name: str) -> Sample:
    """Look at the first rows, lists and structures as they are."""
    relation = _relation(path)
    with _in_words(name), connected(()) as (connection, _):
        first = connection.execute(f"SELECT * FROM {relation} LIMIT 20")
        names = [str(column[0]) for column in first.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in first.fetchall()]
    looked = of_records(name, rows)
    return replace(looked, columns=frozenset(n.strip().lower() for n in names))


def load_parquet(
    connection: duckdb.DuckDBPyConnection, path: Path, name: str, names: Mapping[str, str]
) -> Source:
    """Load the wanted columns as text."""
    relation = _relation(path)
    with _in_words(name):
        described = connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
        found = tuple(str(row[0]) for row in described)
        present = present_columns(found, names, name)
        if present:
            kinds = [str(row[1]) for row in described]
            cells = {n: _text(cell(found[k]), kinds[k]) for n, k in present.items()}
            fill(connection, cells, relation)
    every = ", ".join(map(cell, found))
    return Source(
        connection,
        name,
        frozenset(present),
        found,
        None,
        path,
        everything=lambda: f"SELECT hash({every}) AS h FROM {relation}",
    )


def parquet_rows(
    connection: duckdb.DuckDBPyConnection, path: Path, name: str
) -> Iterator[dict[str, Any]]:
    """Go through the rows, lists and structures as they are."""
    relation = _relation(path)
    with _in_words(name):
        found = connection.cursor().execute(f"SELECT * FROM {relation}")
        names = [str(column[0]) for column in found.description or ()]
        while batch := found.fetchmany(_ROWS):
            for row in batch:
                yield dict(zip(names, row, strict=True))


@contextmanager
def _in_words(name: str) -> Iterator[None]:
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        reason = str(error).split("\n", 1)[0]
        raise FileError(f"{name}: cannot be read as a table ({reason}).") from None


def _relation(path: Path) -> str:
    parts = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    if not parts:
        raise FileError(f"{path}: is a directory without Parquet files; give the file in it.")
    # In a name DuckDB would take stars and brackets for a pattern.
    literal = [re.sub(r"[*?\[]", r"[\g<0>]", str(part)) for part in parts]
    return f"read_parquet([{', '.join(map(quoted, literal))}])"


def _text(column: str, kind: str) -> str:
    """Write the SQL of a typed column as text, in the same way as `aggcal.tables.cell_text`."""
    if kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION")):
        return f"to_json({column})"
    if kind in ("DOUBLE", "FLOAT"):
        whole = f"{column} = trunc({column}) AND abs({column}) < 2.0**53"
        return (
            f"(CASE WHEN isnan({column}) THEN NULL WHEN {whole} THEN {column}::BIGINT::VARCHAR "
            f"ELSE {column}::VARCHAR END)"
        )
    return column
