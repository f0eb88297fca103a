"""Any table as text columns in DuckDB.

A reader asks for the columns it knows; what it gets is a DuckDB table ``raw`` of trimmed text
(NULL where a cell is empty) whose ``rowid`` is the position of the row, so that the reader can
check and encode millions of rows without a Python loop and still name the line of a bad one.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple
from uuid import uuid4

from aggcal.errors import FileError, TableError, count, some

if TYPE_CHECKING:
    import duckdb


FILE_ROW = "_file_row"
"""A column of the numbers that rows had before blank ones were taken out."""
_LONGEST, _MOST = 40, 20
MOST_COLUMNS = 10_000
"""Columns of a table that is read: each takes DuckDB a buffer of 32 KiB and some time to bind."""
_SPECIAL = re.compile(r"[*?\[\]{}\\\x00-\x1f\x7f\ud800-\udfff]")
"""What DuckDB takes for a pattern or an escape, and what is not UTF-8."""


class Offending(NamedTuple):
    """Rows that cannot be read as they are."""

    number: int
    location: str
    """Of the first."""
    value: str
    """What it holds."""

    @property
    def total(self) -> str:
        """How many there are, in words."""
        return f"{count(self.number, 'such row')} in total"


@dataclass(frozen=True)
class Source:
    """A table loaded into DuckDB as text, with what is needed to speak about it."""

    connection: duckdb.DuckDBPyConnection
    name: str
    columns: frozenset[str]
    found: tuple[str, ...]
    backend: str | None = None
    path: Path | None = None
    delimiter: str | None = None
    everything: Callable[[], str] | None = None
    """What tells rows apart by all columns of the table; see `aggcal.io.duplicates`."""
    notes: tuple[str, ...] = ()
    """What was done to read the file, in words."""
    first_row: int | None = None
    """The number of the first row in its sheet; None for what is no sheet."""
    row_number: str = "rowid"
    """The column that numbers the rows as the file does."""
    titles: int = 0
    """Lines above the header that are no part of the table."""
    steps: dict[str, str] = field(default_factory=dict, compare=False)
    """What outcomes were taken for that say how much better an item is."""

    @property
    def columns_found(self) -> str:
        """The columns of the file for a message, cut where the file is no table at all."""
        return listed(self.found)

    def rows(self) -> int:
        """How many rows there are."""
        return self.one("count(*)")

    def has(self, column: str, value: str) -> bool:
        """Whether a row holds this value, in small letters, in a column that may be there."""
        return column in self.columns and bool(
            self.one("count(*)", f"lower({cell(column)}) = {quoted(value)}")
        )

    def one(self, expression: str, where: str = "true") -> int:
        """Evaluate one integer aggregate over the rows."""
        # All of it: DuckDB 2 does nothing else while a result is not fetched to its end.
        ((value,),) = self.connection.execute(
            f"SELECT {expression} FROM raw WHERE {where}"
        ).fetchall()
        return int(value or 0)

    def any_row(self, conditions: Iterable[str]) -> bool:
        """Whether some row meets one of the conditions: one question for faults that are rare."""
        return self.one("count(*)", " OR ".join(f"({where})" for where in conditions)) > 0

    def frequencies(self, expression: str, where: str) -> list[tuple[str, int]]:
        """Return the distinct values of an expression with their counts, most frequent first."""
        found = self.connection.execute(
            f"SELECT {expression} AS v, count(*) FROM raw WHERE {where} "
            "GROUP BY v ORDER BY 2 DESC, 1"
        ).fetchall()
        return [(str(v), int(n)) for v, n in found]

    def first(self, where: str, column: str) -> tuple[str, str]:
        """Say where the first offending row is, and what its ``column`` holds."""
        location = "location" if "location" in self.columns else "NULL"
        row = self.connection.execute(
            f"SELECT {self.row_number}, {column}, {location} FROM raw "
            f"WHERE {where} ORDER BY rowid LIMIT 1"
        ).fetchone()
        if row is None:
            raise LookupError(where)
        said = str(row[2]) if row[2] is not None else self._place(int(row[0]))
        return said, "" if row[1] is None else str(row[1])

    def offending(self, where: str, column: str = "1") -> Offending | None:
        """Return how many rows meet a condition, where the first is and its cell; None for none."""
        number = self.one("count(*)", where)
        return Offending(number, *self.first(where, column)) if number else None

    def require(self, names: Sequence[str], remedy: str) -> None:
        """Refuse a table that lacks one of the named columns."""
        missing = [n for n in names if n not in self.columns]
        if missing:
            noun = "column" if len(missing) == 1 else "columns"
            raise TableError(
                f"{self.name}: {noun} {some(missing)} missing (found: {self.columns_found}); "
                f"{remedy}"
            )

    def _place(self, record: int) -> str:
        if self.first_row is not None:
            return f"row {self.first_row + record}"
        if self.path is None or self.delimiter is None:
            return f"row {record + 1}"
        # Only walked when there is something to complain about: blank lines and line breaks
        # inside quotes make the number of a record and of its line differ.
        with unpacked(self.path) as binary:
            text = io.TextIOWrapper(binary, "utf-8-sig", errors="replace", newline="")
            csv.field_size_limit(sys.maxsize)
            for _ in range(self.titles):
                text.readline()
            reader = csv.reader(text, delimiter=self.delimiter)
            next(reader, None)
            start = reader.line_num + 1
            for row in reader:
                if row:
                    if record == 0:
                        return f"line {self.titles + start}"
                    record -= 1
                start = reader.line_num + 1
        return f"row {record + 1}"


def listed(columns: Sequence[str]) -> str:
    """Name the columns of a file for a message, cut where they are long or many.

    Examples
    --------
    >>> listed(["a", "b"]), len(listed(["x" * 1000] * 1000))
    ('a, b', 911)
    """
    named = [c if len(c) <= _LONGEST else f"{c[:_LONGEST]}..." for c in columns[:_MOST]]
    more = f" and {len(columns) - _MOST:,} more" if len(columns) > _MOST else ""
    return ", ".join(named) + more


def fill(
    connection: duckdb.DuckDBPyConnection,
    present: Mapping[str, str],
    relation: str,
    every: Sequence[str] = (),
) -> None:
    """Create the table ``raw`` from a relation; rows of blank cells are no rows."""
    cells = ", ".join(f"nullif(trim({c}::VARCHAR), '') AS \"{n}\"" for n, c in present.items())
    blank = f"trim(concat({', '.join(every)})) = ''" if every else "false"
    chosen = f"SELECT {cells}, {blank} AS _blank FROM {relation}"
    connection.execute(f"CREATE TEMP TABLE raw AS {chosen}")
    # Spreadsheets leave rows of empty cells behind: those are blank lines, not judgments.
    connection.execute("DELETE FROM raw WHERE _blank")


def quoted(text: str) -> str:
    """Write a text as an SQL literal.

    Examples
    --------
    >>> quoted("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def exactly(path: Path, scratch: Path) -> str:
    """Return a name by which DuckDB reads this very file and no other.

    A relative name may begin as an address does (``file:``, ``s3:``) or with ``~``, so it is made
    absolute; one with signs that have a meaning for DuckDB is replaced by a link in ``scratch``.

    Examples
    --------
    >>> exactly(Path("/data/judgments.csv"), Path("/scratch"))
    '/data/judgments.csv'
    """
    whole = path.absolute()  # which, unlike resolving, keeps '..' for the file system
    if not _SPECIAL.search(whole.as_posix()):
        return whole.as_posix()
    link = scratch / f"named-{uuid4().hex}"
    if _SPECIAL.search(link.as_posix()):
        raise FileError(
            f"{scratch.parent}: the folder for temporary files has special characters in its name; "
            "set TMPDIR to another."
        )
    link.symlink_to(whole)
    return link.as_posix()


def _temporary() -> str:
    try:
        return tempfile.gettempdir()
    except OSError:
        return "the folder for temporary files"


def no_room(error: OSError) -> FileError:
    """Say that a temporary file could not be written.

    Examples
    --------
    >>> print(str(no_room(OSError(28, "No space left on device")))[-76:])
    (No space left on device); free some space or set TMPDIR to another folder.
    """
    return FileError(
        f"{_temporary()}: a temporary file cannot be written ({error.strerror or error}); "
        "free some space or set TMPDIR to another folder."
    )


@contextmanager
def unpacked(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, unpacking it if it is gzipped."""
    with path.open("rb") as file:
        magic = file.read(2)
        file.seek(0)
        if magic == b"\x1f\x8b":
            with gzip.open(file, "rb") as unpacked:
                yield unpacked  # type: ignore[misc]  # GzipFile reads like any binary file
        else:
            yield file


def present_columns(found: Sequence[str], names: Mapping[str, str], name: str) -> dict[str, int]:
    """Return where each wanted column stands in the header, and refuse one that is twice."""
    present: dict[str, int] = {}
    for position, column in enumerate(found):
        key = names.get(column.strip().lower())
        if key is None:
            continue
        if key in present:
            raise TableError(f"{name}: duplicate column '{column}' in the header; rename one.")
        present[key] = position
    if len(present) > MOST_COLUMNS:
        raise too_many_columns(name, len(present))
    return present


def too_many_columns(name: str, number: int) -> TableError:
    """Say that a table is too wide."""
    return TableError(
        f"{name}: has {number:,} columns, and at most {MOST_COLUMNS:,} are read; leave out those "
        "that are not needed."
    )


def cell(name: str) -> str:
    """Write the name of a column for SQL.

    Examples
    --------
    >>> print(cell('left id'))
    "left id"
    """
    return '"' + name.replace('"', '""') + '"'


def number_or_nan(text: str) -> str:
    """Write the SQL of a text's number, NaN if it is none: NULL would make NumPy load masks.

    Examples
    --------
    >>> number_or_nan("x")
    "coalesce(try_cast(x AS DOUBLE), 'nan'::DOUBLE)"
    """
    return f"coalesce(try_cast({text} AS DOUBLE), 'nan'::DOUBLE)"
