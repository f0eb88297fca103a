"""Parquet: a file, or all those in a folder."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aggcal._core.database import driver
from aggcal.errors import FileError, TableError
from aggcal.io.formats._sample import Sample, of_records
from aggcal.io.tables.database import lacks_room
from aggcal.io.tables.source import Source, cell, exactly, fill, present_columns, quoted

if TYPE_CHECKING:
    import duckdb

_ROWS = 1_000  # at a time: more take more memory


def look_at_parquet(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    name: str,
    known: Mapping[str, str],
    scratch: Path,
) -> Sample:
    """Look at the first rows, lists and structures as they are; ``known`` columns are wanted."""
    with _in_words(name):
        relation = _relation(_files(path, scratch))
        first = connection.execute(f"SELECT * FROM {relation} LIMIT 20")
        names = [str(column[0]) for column in first.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in first.fetchall()]
    _refuse_partitions(path, name, {column.strip().lower() for column in names}, known)
    looked = of_records(name, rows)
    return replace(looked, columns=frozenset(n.strip().lower() for n in names))


@dataclass(frozen=True)
class Described:
    """Parquet as a relation of DuckDB: its columns, their types, and which are wanted."""

    files: tuple[str, ...]
    """Its parts, by names that DuckDB takes as they are."""
    found: tuple[str, ...]
    kinds: tuple[str, ...]
    present: Mapping[str, int]
    """Where each wanted column stands."""

    @property
    def relation(self) -> str:
        """The SQL of it."""
        return _relation(self.files)

    @property
    def everything(self) -> str:
        """The SQL of what tells rows apart by all their columns."""
        return f"hash({', '.join(map(cell, self.found))})"


def described_parquet(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    name: str,
    names: Mapping[str, str],
    scratch: Path,
) -> Described:
    """Look at the columns of a file or a folder."""
    files = _files(path, scratch)
    with _in_words(name):
        described = connection.execute(f"DESCRIBE SELECT * FROM {_relation(files)}").fetchall()
        found = tuple(str(row[0]) for row in described)
        _refuse_partitions(path, name, {column.strip().lower() for column in found}, names)
        present = present_columns(found, names, name)
    return Described(files, found, tuple(str(row[1]) for row in described), present)


def load_parquet(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    name: str,
    names: Mapping[str, str],
    scratch: Path,
) -> Source:
    """Load the wanted columns as text."""
    table = described_parquet(connection, path, name, names, scratch)
    if table.present:
        with _in_words(name):
            cells = {
                n: text_of(cell(table.found[k]), table.kinds[k]) for n, k in table.present.items()
            }
            fill(connection, cells, table.relation)
    return Source(
        connection,
        name,
        frozenset(table.present),
        table.found,
        None,
        path,
        everything=lambda: f"SELECT {table.everything} AS h FROM {table.relation}",
    )


def parquet_rows(
    connection: duckdb.DuckDBPyConnection, path: Path, name: str, scratch: Path
) -> Iterator[dict[str, Any]]:
    """Go through the rows, lists and structures as they are."""
    relation = _relation(_files(path, scratch))
    with _in_words(name):
        found = connection.cursor().execute(f"SELECT * FROM {relation}")
        names = [str(column[0]) for column in found.description or ()]
        while batch := found.fetchmany(_ROWS):
            for row in batch:
                yield dict(zip(names, row, strict=True))


@contextmanager
def _in_words(name: str) -> Iterator[None]:
    duck = driver()
    try:
        yield
    except duck.Error as error:
        if lacks_room(error):
            raise
        if "schema mismatch" in str(error):
            raise FileError(
                f"{name}: the Parquet files in this folder and below it have different columns; "
                "give a folder that holds the parts of one table only."
            ) from None
        reason = re.sub(r"[^\s\"']*/named-\w+", name, str(error).split("\n", 1)[0])
        raise FileError(f"{name}: cannot be read as a table ({reason}).") from None


def parts_of(path: Path) -> list[Path]:
    """Return the files that make up a table: those in a folder, or the one file."""
    return sorted(p for p in path.rglob("*.parquet") if p.is_file()) if path.is_dir() else [path]


def _files(path: Path, scratch: Path) -> tuple[str, ...]:
    parts = parts_of(path)
    if not parts:
        raise FileError(f"{path}: is a directory without Parquet files; give the file in it.")
    return tuple(exactly(part, scratch) for part in parts)


def _relation(files: tuple[str, ...]) -> str:
    return f"read_parquet([{', '.join(map(quoted, files))}], hive_partitioning=false)"


def _refuse_partitions(path: Path, name: str, found: set[str], names: Mapping[str, str]) -> None:
    if path.is_dir():
        inside = (str(part.relative_to(path)) for part in parts_of(path))
        refuse_partitions(inside, name, {key for key in names if key not in found})


def refuse_partitions(files: Iterable[str], name: str, wanted: Collection[str]) -> None:
    """Refuse a folder that keeps a wanted column in the names of its folders (Hive's layout).

    Such a name is not read: it would replace the column of the files, or add one, unasked.

    Examples
    --------
    >>> refuse_partitions(["annotator=ann/part.parquet"], "votes", {"annotator"})
    Traceback (most recent call last):
    aggcal.errors.TableError: votes: has the column 'annotator' in the names of its folders...
    """
    for folder in {folder for file in files for folder in file.split("/")[:-1]}:
        column, equals, _ = folder.partition("=")
        if equals and column.strip().lower() in wanted:
            raise TableError(
                f"{name}: has the column '{column}' in the names of its folders ('{folder}'), "
                "which are not read; write it as a column into the files and rename the folders."
            )


def text_of(column: str, kind: str) -> str:
    """Write the SQL of a typed column as text, as `aggcal._core.tables.cell_text` does."""
    if kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION")):
        return f"to_json({column})"
    if kind in ("DOUBLE", "FLOAT"):
        whole = f"{column} = trunc({column}) AND abs({column}) < 2.0**53"
        # DuckDB may cast what is no whole number, too, before it looks at the conditions.
        as_whole = f"try_cast({column} AS BIGINT)::VARCHAR"
        return (
            f"(CASE WHEN isnan({column}) THEN NULL WHEN {whole} THEN {as_whole} "
            f"ELSE {column}::VARCHAR END)"
        )
    return column
