"""Whatever a person brings, as a table: its columns, its first rows, and where each row stands."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from aggcal.errors import TableError, count, printable
from aggcal.io.charset import UTF8, as_utf8, charset_of
from aggcal.io.columns import Column
from aggcal.io.files import (
    HEAD,
    in_words,
    refuse_documents,
    regular,
    split_sheet,
    text_lines,
    text_start,
    unpacked,
)
from aggcal.io.words import NAMES

LOOKED_AT = 50
"""Rows by which the kind of a table is told."""
MOST_COLUMNS = 10_000
_EXACT = 2.0**53
"""Beyond it a float does not hold every whole number."""
SHAPES = {
    2: ("winner", "loser"),
    3: ("annotator", "winner", "loser"),
    4: ("annotator", "left", "right", "outcome"),
    5: ("annotator", "left", "right", "outcome", "weight"),
}
"""The columns of judgments that are tuples, by their length."""


def text_of(value: Any) -> str | None:
    """Write a cell as text: a list or a mapping as JSON, a number without a needless fraction.

    Examples
    --------
    >>> text_of(3.0), text_of(2.5), text_of(["a", 1]), text_of(float("nan"))
    ('3', '2.5', '["a", 1]', None)
    """
    if isinstance(value, str):
        return value
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or value != value:  # noqa: PLR0124  # NaN
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    if isinstance(value, list | tuple | Mapping):
        return json.dumps(value, ensure_ascii=False, default=_plain)
    return str(value)


def _plain(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


class Table:
    """A table: ``load`` gives its columns, ``records`` its rows, ``place`` where a row stands.

    This one has its rows in memory, as mappings or anything else.

    Parameters
    ----------
    name
        What the user calls it.
    header
        The names of the columns as they are written.
    rows
        The rows, or a function that goes through them with their places anew.
    places
        Where each row stands, in words.
    notes
        What was done to read it, in words.
    path
        The file, if it is one.
    delimiter
        What parts the values, if it is a text with lines.
    backend
        The library whose frame it is.
    """

    above: str = ""
    """What stands above the header: a title, or what the numbers mean."""

    def __init__(
        self,
        name: str,
        header: Sequence[str],
        rows: Any = (),
        *,
        places: Callable[[int], str] | None = None,
        notes: Sequence[str] = (),
        path: Path | None = None,
        delimiter: str | None = None,
        backend: str | None = None,
    ) -> None:
        self.name, self.header, self.rows, self.notes = name, tuple(header), rows, [*notes]
        self.path, self.delimiter, self.backend = path, delimiter, backend
        self.place = places or (lambda row: f"row {row + 1}")
        if len(self.header) > MOST_COLUMNS:
            raise TableError(
                f"{name}: has {len(self.header):,} columns, and at most {MOST_COLUMNS:,} are read; "
                "leave out those that are not needed."
            )

    @property
    def is_text(self) -> bool:
        """Whether its rows are lines of a text that is no table."""
        return not self.header and isinstance(self.rows, list) and isinstance(self.rows[0], str)

    @cached_property
    def columns(self) -> dict[str, str]:
        """The names of the columns by small letters, each once: the first that is so called."""
        last_first = {name.strip().lower(): name for name in reversed(self.header)}
        return dict(reversed(last_first.items()))

    @cached_property
    def head(self) -> list[dict[str, Any]]:
        """The first rows, under small letters."""
        rows = (row for row in self.rows[:LOOKED_AT] if isinstance(row, Mapping))
        return [{str(k).strip().lower(): v for k, v in row.items()} for row in rows]

    def first(self, column: str) -> list[str]:
        """Return what the first rows hold in a column."""
        return [str(row[column]).strip() for row in self.head if row.get(column) not in (None, "")]

    def __len__(self) -> int:
        return len(self.rows)

    def refuse_twice(self, names: Collection[str]) -> None:
        """Refuse columns, named in small letters, that stand twice in the header."""
        small = [name.strip().lower() for name in self.header]
        for key, name in zip(small, self.header, strict=True):
            if key in names and small.count(key) > 1:
                raise TableError(
                    f"{self.name}: duplicate column '{name}' in the header; rename one."
                )

    def load(self, names: Iterable[str]) -> dict[str, Column]:
        """Return columns by their names in small letters."""
        return {n: Column.of(text_of(row.get(self.columns[n])) for row in self.rows) for n in names}

    def records(self) -> Iterator[tuple[str, Any]]:
        """Go through the rows as they are, with their places."""
        return ((self.place(k), row) for k, row in enumerate(self.rows))

    def whole(self, rows: np.ndarray) -> list[Any]:
        """Return what tells rows apart by all their columns."""
        return [repr(self.rows[k]) for k in rows.tolist()]


class Cells(Table):
    """A table whose rows are lists of texts: lines of a small file, a sheet of a workbook."""

    @cached_property
    def head(self) -> list[dict[str, Any]]:
        """The first rows, under small letters."""
        names = [name.strip().lower() for name in self.header]
        return [dict(zip(names, row, strict=False)) for row in self.rows[:LOOKED_AT]]

    def load(self, names: Iterable[str]) -> dict[str, Column]:
        """Return columns by their names in small letters."""
        at = {n: self.header.index(self.columns[n]) for n in names}
        return {n: Column.of(row[k] for row in self.rows) for n, k in at.items()}

    def records(self) -> Iterator[tuple[str, Any]]:
        """Go through the rows, with their places."""
        for k, row in enumerate(self.rows):
            where = self.place(k) if self.delimiter is None else f"row {k + 1}"
            cells = zip(self.header, row, strict=True)
            yield where, {n: cell.strip() or None for n, cell in cells if n.strip()}


def opened(
    data: Any,
    scratch: Path,
    *,
    names: Collection[str] = NAMES,
    shapes: Mapping[int, Sequence[str]] = SHAPES,
    what: str = "judgments",
    is_text: Callable[[str], bool] = lambda _: False,
) -> Table:
    """Open a path, a data frame, rows or columns as a table.

    Parameters
    ----------
    data
        A path to CSV, TSV, JSON lines, JSON (each may be gzipped), a workbook or Parquet; a
        pandas, polars or arrow frame; a list of tuples or mappings; a mapping of columns.
    scratch
        A folder for copies.
    names
        Columns that tell a header, a delimiter or a sheet, in small letters.
    shapes
        The columns of tuples, by their length.
    what
        What the table holds, for messages.
    is_text
        Whether the head of a text is that of no table: its lines are then the rows.
    """
    if isinstance(data, str | Path):
        return _of_path(Path(data), {*names}, scratch, is_text)
    if isinstance(data, Mapping):
        return _of_columns(data, what)
    if isinstance(data, Iterator):
        data = list(data)
    if isinstance(data, list | tuple):
        return _of_rows(data, shapes, what)
    from aggcal.io.frames import of_frame

    return of_frame(data, what)


def _of_path(path: Path, names: set[str], scratch: Path, is_text: Callable[[str], bool]) -> Table:
    name = printable(str(path))
    given, sheet = split_sheet(path)
    if os.path.isdir(given):  # noqa: PTH112  # which, unlike Path's, asks no permission
        from aggcal.io.parquet import of_parquet

        return of_parquet(given, name, names, scratch)
    file = regular(given, scratch)
    with in_words(name):
        with file.open("rb") as raw:
            start = raw.read(8)
        if start.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
            from aggcal.io.workbooks import of_sheet

            return of_sheet(file, printable(str(given)), sheet, names, scratch)
        with unpacked(file) as text:
            head = text.read(HEAD)
        if head.startswith(b"PAR1"):
            from aggcal.io.parquet import of_parquet

            return of_parquet(file, name, names, scratch)
        refuse_documents(head, name)
        (codec, example), notes = charset_of(file, name), []
        if codec not in UTF8:
            file, said = as_utf8(file, codec, example, name, scratch)
            notes = [said]
            with file.open("rb") as raw:
                head = raw.read(HEAD)
        if is_text(head.decode("utf-8-sig", "replace")):
            lines = text_lines(file, name)
            return Table(name, (), lines, places=lambda row: f"line {row + 1}", path=path)
        if text_start(head)[:1] in (b"{", b"["):
            from aggcal.io.jsons import of_json

            return of_json(file, name, notes)
        from aggcal.io.delimited import of_lines

        return of_lines(file, name, head, names, notes)


def _of_columns(data: Mapping[Any, Any], what: str) -> Table:
    lengths = {str(name).strip().lower(): len(column) for name, column in data.items()}
    if len({*lengths.values()}) > 1:
        found = ", ".join(f"{name}: {number}" for name, number in lengths.items())
        raise TableError(f"the columns of the {what} differ in length ({found}).")
    rows = [[text_of(cell) or "" for cell in row] for row in zip(*data.values(), strict=True)]
    return Cells(what, [*map(str, data)], rows)


def _of_rows(data: Sequence[Any], shapes: Mapping[int, Sequence[str]], what: str) -> Table:
    if not data:
        raise TableError(f"the {what} are empty: there is no row to read.")
    if isinstance(data[0], Mapping):
        return Table(what, [*dict.fromkeys(str(k) for row in data for k in row)], list(data))
    if not isinstance(data[0], list | tuple):
        return Table(what, (), list(data))
    header = shapes.get(len(data[0]), ())
    if not header:
        return Table(what, (), [[*row] for row in data])
    for k, row in enumerate(data, 1):
        if len(row) != len(header):
            raise TableError(
                f"row {k} of the {what} has {len(row)} values, the first row has "
                f"{len(header)}; give every row the same columns."
            )
    return Cells(what, header, [[text_of(cell) or "" for cell in row] for row in data])


def listed(names: Sequence[str]) -> str:
    """Name the columns of a table, cut where it is no table at all.

    Examples
    --------
    >>> listed(["item", "score"])
    'item, score'
    """
    shown = ", ".join(name if len(name) <= 40 else f"{name[:40]}..." for name in names[:20])  # noqa: PLR2004
    return shown if len(names) <= 20 else f"{shown} and {len(names) - 20:,} more"  # noqa: PLR2004


def such(number: int) -> str:
    """Say how many rows are wrong in the same way."""
    return f"{count(number, 'such row')} in total"
