"""Files as tables: CSV and TSV, JSON and JSON lines, Parquet and folders of it."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from aggcal._core.database import driver
from aggcal.errors import FileError
from aggcal.io.formats._sample import Sample, of_json, of_table
from aggcal.io.tables.database import lacks_room
from aggcal.io.tables.delimited import header_of, load_csv, table_start, with_header
from aggcal.io.tables.parquet import load_parquet, look_at_parquet
from aggcal.io.tables.prepared import Prepared
from aggcal.io.tables.reading import HEAD_BYTES, File, decoded, is_json, peek, said
from aggcal.io.tables.source import Source, cell, exactly, fill, present_columns, quoted

if TYPE_CHECKING:
    import duckdb

_MOST_LOOKED_AT = 1 << 26
"""Bytes that are read in search of a first record: more take longer, fewer miss a long one."""


def load_file(
    connection: duckdb.DuckDBPyConnection,
    given: Prepared,
    names: Mapping[str, str],
    scratch: Path,
    checked: Container[str] | None = None,
) -> Source:
    """Load a file, of the kind that its content says it is, under the name that the user knows.

    ``checked`` are the columns of a sheet whose cells must be what they look like; by default all
    that are loaded.
    """
    source = _loaded(connection, given, names, scratch)
    notes, sheet = list(given.notes), given.sheet
    if sheet is None:
        return replace(source, notes=(*notes, *source.notes))
    used = {
        column: position
        for position, column in enumerate(source.found)
        if names.get(column.strip().lower()) in source.columns
        and (checked is None or column.strip().lower() in checked)
    }
    notes += sheet.check_columns(used, given.name)
    return replace(source, notes=(*notes, *source.notes), first_row=sheet.first_row)


def _loaded(
    connection: duckdb.DuckDBPyConnection, given: Prepared, names: Mapping[str, str], scratch: Path
) -> Source:
    duck = driver()
    path, name = given.path, given.name
    if given.is_folder:
        return load_parquet(connection, path, name, names, scratch)
    head = peek(path, name)
    plain = exactly(path, scratch)
    file = File(path, name, plain, head)
    with said(name):
        try:
            if head.startswith(b"PAR1"):
                return load_parquet(connection, path, name, names, scratch)
            if is_json(head):
                return _load_json(connection, file, names)
            return load_csv(connection, file, names)
        except duck.Error as error:
            if lacks_room(error):
                raise
            if is_json(head):
                raise FileError(
                    f"{name}: is not valid JSON throughout, perhaps cut off; export the file again."
                ) from None
            reason = str(error).split("\n", 1)[0].replace(plain, name)
            raise FileError(f"{name}: cannot be read as a table ({reason}).") from None


def look(
    connection: duckdb.DuckDBPyConnection, given: Prepared, known: Mapping[str, str], scratch: Path
) -> Sample:
    """Look at the head of a file; ``known`` are the columns that tell a table's delimiter."""
    path, name = given.path, given.name
    if given.is_folder:
        return look_at_parquet(connection, path, name, known, scratch)
    head = peek(path, name)
    if head.startswith(b"PAR1"):
        return look_at_parquet(connection, path, name, known, scratch)
    if is_json(head):
        size = HEAD_BYTES
        sample = of_json(name, decoded(head, cut=len(head) == size))
        # One record may hold whole conversations: read on until there is one to look at.
        while not sample.records and len(head) == size and size < _MOST_LOOKED_AT:
            size *= 8
            head = peek(path, name, size)
            sample = of_json(name, decoded(head, cut=len(head) == size))
        if sample.text.strip() == "[]":
            raise FileError(f"{name}: holds no records; export it again.")
        return sample
    head, _ = with_header(path, name, head)
    text = decoded(head, cut=True)
    text = text[table_start(text, known) :]
    delimiter, found = header_of(text, known)
    return of_table(name, found, text, delimiter)


def _load_json(
    connection: duckdb.DuckDBPyConnection, file: File, names: Mapping[str, str]
) -> Source:
    array = file.head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
    layout = "array" if array else "newline_delimited"
    keys = connection.execute(
        "SELECT DISTINCT unnest(json_keys(json)) FROM (SELECT json FROM read_json_objects("
        f"{quoted(file.plain)}, format='{layout}', compression='{file.compression}', "
        "hive_partitioning=false)) ORDER BY 1"
    ).fetchall()
    found = tuple(str(k) for (k,) in keys)
    present = present_columns(found, names, file.name)
    if present:
        kinds = ", ".join(f"{quoted(found[k])}: 'VARCHAR'" for k in present.values())
        relation = (
            f"read_json({quoted(file.plain)}, format='{layout}', columns={{{kinds}}}, "
            f"compression='{file.compression}', hive_partitioning=false)"
        )
        fill(connection, {n: cell(found[k]) for n, k in present.items()}, relation)
    records = (
        f"SELECT hash(json::VARCHAR) AS h FROM read_json_objects({quoted(file.plain)}, "
        f"format='{layout}', compression='{file.compression}', hive_partitioning=false)"
    )
    return Source(
        connection,
        file.name,
        frozenset(present),
        found,
        None,
        file.path,
        everything=lambda: records,
    )
