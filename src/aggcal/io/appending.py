"""Rows added to the end of a table that is there, whose columns must fit them."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeAlias

from aggcal.errors import OptionError, OutputError, TableError, count, printable, some
from aggcal.io.formats._base import Choices
from aggcal.io.row_checks import checked
from aggcal.io.rows import known_columns, opened_rows
from aggcal.io.tables.charset import charset_of
from aggcal.io.tables.delimited import header_of, table_start
from aggcal.io.tables.reading import HEAD_BYTES, decoded, peek

JudgmentRow: TypeAlias = dict[str, str]
"""One judgment under our own names; what is not known is not there."""

_PIECE = 1 << 20
"""Characters that are copied at a time."""
_COMPARED = ("annotator", "left", "right", "outcome", "weight", "criterion", "seconds", "reason")
_APART = "convert both into a new file instead, as in aggcal convert {0} IN -o NEW"


@dataclass(frozen=True)
class Table:
    """A table that rows are to be added to: how it is written, and what it held when looked at."""

    path: Path
    columns: tuple[str, ...]
    delimiter: str
    newline: str
    ends: bool
    """Whether its last line is ended."""
    held: tuple[int, int, int]

    @classmethod
    def look(cls, path: Path, format_name: str) -> Table:
        """Look at a file, and refuse one that is no such table."""
        name = printable(str(path))
        with path.open("rb") as file:
            packed = file.read(4).startswith((b"PK", b"\x1f\x8b", b"PAR1", b"\xd0\xcf"))
        head = b"" if packed else peek(path, name)
        if packed or head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
            raise OutputError(f"{name}: is no CSV file, and only to one rows are added; {_apart(name)}.")
        if not charset_of(path, name).is_utf8:
            raise OutputError(f"{name}: is not UTF-8, which is what would be added; {_apart(name)}.")
        text = decoded(head, cut=len(head) == HEAD_BYTES)
        known = known_columns()
        start = table_start(text, known)
        delimiter, columns = header_of(text[start:], known)
        newline = "\r\n" if "\r\n" in text[start:] else "\n"
        with path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            ends = file.read(1) in b"\r\n"
        _refuse_other(path, format_name)
        return cls(path, columns, delimiter, newline, ends, _state(path))

    def fit(self, needed: Sequence[str], optional: Iterable[str]) -> list[str]:
        """Return the columns under the names of the rows; refuse those that lack one."""
        own = [column.strip().lower() for column in self.columns]
        missing = [column for column in (*needed, *optional) if column not in own]
        if missing:
            name = printable(str(self.path))
            noun = "column" if len(missing) == 1 else "columns"
            raise OptionError(
                f"{name}: has no {noun} {some(missing)} (found: {', '.join(self.columns)}), which "
                f"the new judgments need; {_apart(name)}."
            )
        return own

    def rows(self, memory: str | None = None) -> Iterator[JudgmentRow]:
        """Go through the judgments that it holds."""
        with opened_rows(self.path, Choices(), memory=memory) as found:
            source = found.source
            if not source.rows():
                return
            pair, means = checked(found, {})
            names = ["annotator", "left", "right", "outcome"]
            cells = ["annotator", *(f'"{side}"' for side in pair), means or "'left'"]
            for name in ("weight", "criterion", "seconds", "reason", "ranking"):
                if name in source.columns:
                    names.append(name)
                    cells.append(f'"{name}"::VARCHAR')
            run = source.connection.execute(f"SELECT {', '.join(cells)} FROM raw ORDER BY rowid")
            while batch := run.fetchmany(10_000):
                for values in batch:
                    yield {n: v for n, v in zip(names, values, strict=True) if v is not None}

    def writer(self, write: Callable[[IO[str]], object]) -> Callable[[IO[str]], None]:
        """Return what writes the table as it was, and then what is added to it."""

        def whole(file: IO[str]) -> None:
            with self.path.open("r", encoding="utf-8", newline="") as before:
                while piece := before.read(_PIECE):
                    file.write(piece)
            if not self.ends:
                file.write(self.newline)
            write(file)
            if _state(self.path) != self.held:
                raise OutputError(
                    f"{printable(str(self.path))}: was changed by somebody else meanwhile; nothing "
                    "was added, try again."
                )

        return whole

    def line(self, cells: Iterable[str]) -> str:
        """Write the cells of a row, which may hold the delimiter of this table."""
        quoted = (
            f'"{cell}"' if self.delimiter in cell and not cell.startswith('"') else cell
            for cell in cells
        )
        return self.delimiter.join(quoted) + self.newline


def compared(row: JudgmentRow, label: str) -> int:
    """Return a number for what a judgment says, whichever file its annotator was named after."""
    values = [row.get(name, "1" if name == "weight" else "") for name in _COMPARED]
    values[0] = values[0].removesuffix(f" ({label})")
    for k, name in enumerate(_COMPARED):
        if name in ("weight", "seconds") and values[k]:
            values[k] = repr(float(values[k]))
    return hash(tuple(values))
