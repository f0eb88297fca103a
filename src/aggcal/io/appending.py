"""Rows added to the end of a table that is there, whose columns must fit them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from aggcal.errors import OptionError, OutputError, TooLittleDataError, count, printable, some
from aggcal.io.choices import Choices
from aggcal.io.judgments import Parts, parts_of
from aggcal.io.outcomes import NOT_ANSWERED
from aggcal.registry import CROWD_KIT, TABLE

_PIECE = 1 << 20
"""Characters that are copied at a time: fewer take longer, more take more memory."""
_COMPARED = ("annotator", "left", "right", "outcome", "criterion", "seconds", "reason")
"""By what judgments are compared. Names of rankings are made up, and weights may be."""


@dataclass(frozen=True)
class Existing:
    """A table that is there: how it is written, and its state when it was looked at."""

    path: Path
    columns: tuple[str, ...]
    delimiter: str
    newline: str
    ended: bool
    """Whether its last line has an end."""
    state: tuple[int, ...]

    @classmethod
    def at(cls, path: Path, to: str) -> Existing | None:
        """Look at a file, and refuse one to which no rows can be added; None if it is empty."""
        state = _state(path)
        if not path.stat().st_size:
            return None
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(-1, os.SEEK_END)
            ended = file.read(1) in (b"\n", b"\r")
        with parts_of([path], Choices(), lenient=True) as read:
            part = read.parts[0]
            table, kind = part.table, part.form.info.name
            if packed or part.path != path or part.delimiter is None:
                raise _unfit(path, "is no CSV file in UTF-8")
            if table is None or kind != (TABLE.name if to != CROWD_KIT.name else to):
                raise _unfit(path, f"holds {kind} judgments, and those of {to} would be added")
            with path.open("r", encoding="utf-8", newline="") as text:
                newline = "\r\n" if text.readline().endswith("\r\n") else "\n"
            columns = tuple(column.strip().lower() for column in table.header)
            return cls(path, columns, part.delimiter, newline, ended, state)

    def refuse_missing(self, needed: Iterable[str]) -> None:
        """Refuse rows for which there is no column."""
        missing = [column for column in needed if column not in self.columns]
        if missing:
            noun = "column" if len(missing) == 1 else "columns"
            raise _unfit(
                self.path,
                f"has no {noun} {some(missing)} for the new judgments (found: "
                f"{', '.join(self.columns)})",
            )

    def rows(self, parting: Sequence[str] = ()) -> Iterator[dict[str, str]]:
        """Go through the judgments that it holds, in the long form, with these further columns."""
        by = tuple(name for name in parting if name in self.columns)
        try:
            with parts_of([self.path], Choices(by=by)) as read:
                yield from _long_rows(read, by)
        except TooLittleDataError:
            return  # it has a header and no row

    def writer(
        self, rows: Iterable[Mapping[str, str]], cell: Callable[[str, str], str]
    ) -> Callable[[IO[str]], None]:
        """Return what writes the table as it was, and the rows after it."""

        def write(file: IO[str]) -> None:
            with self.path.open("r", encoding="utf-8", newline="") as before:
                while piece := before.read(_PIECE):
                    file.write(piece)
            file.write("" if self.ended else self.newline)
            for row in rows:
                cells = (cell(name, row.get(name, "")) for name in self.columns)
                file.write(self.delimiter.join(map(self._delimited, cells)) + self.newline)
            if _state(self.path) != self.state:
                raise OutputError(
                    f"{printable(str(self.path))}: was changed in the meantime; nothing was added. "
                    "Run the command again."
                )

        return write

    def _delimited(self, cell: str) -> str:
        return f'"{cell}"' if self.delimiter in cell and not cell.startswith('"') else cell


def _long_rows(read: Parts, by: Sequence[str]) -> Iterator[dict[str, str]]:
    own = {name: name for name in (*_COMPARED, "ranking")}
    own |= {f"by_{k}": name for k, name in enumerate(by, 1)}
    for part in read.parts:
        columns = {own[name]: each.cells() for name, each in part.columns.items() if name in own}
        for cells in zip(*columns.values(), strict=True):
            yield {n: cell for n, cell in zip(columns, cells, strict=True) if cell is not None}


class Copies:
    """What new judgments say, by file, to be looked for among those that are there.

    Whoever is not named in a file is called after it, unless it was the first one in the table: so
    they are looked for under both names, but all under the same.
    """

    def __init__(self, parting: Sequence[str] = ()) -> None:
        self._parting = tuple(parting)
        self._new: dict[tuple[str, str], set[int]] = {}
        self._called_after: set[str] = set()

    def add(self, label: str, rows: Iterable[Mapping[str, str]]) -> None:
        """Take note of rows of a file."""
        for row in rows:
            for suffix in ("", f" ({label})"):
                mark = fingerprint(row, suffix, self._parting)
                self._new.setdefault((label, suffix), set()).add(mark)
            if _is_called_after(row, label):
                self._called_after.add(label)

    def found_in(self, table: Existing) -> list[str]:
        """Say how many of them a table holds; refuse a file of which it holds all."""
        found: dict[tuple[str, str], set[int]] = {known: set() for known in self._new}
        taken: set[str] = set()
        for row in table.rows(self._parting):
            mark = fingerprint(row, "", self._parting)
            for known, new in self._new.items():
                if mark in new:
                    found[known].add(mark)
            taken.update(label for label in self._called_after if _is_called_after(row, label))
        name = printable(str(table.path))
        for (label, suffix), new in self._new.items():
            if found[label, suffix] == new:
                raise OptionError(
                    f"{name} already contains every judgment of {label}; leave {label} out, or "
                    f"write both to a new file with 'aggcal convert {name} {label} -o NEW'."
                )
        if taken:
            raise OptionError(
                f"{name} has rankings or annotators called after a file {min(taken)} already; "
                "rename the new file, so that they are told apart."
            )
        most: dict[str, int] = {}
        for (label, _), old in found.items():
            most[label] = max(most.get(label, 0), len(old))
        return [
            f"{name} holds {count(number, 'judgment')} of {label} already, which count twice now"
            for label, number in most.items()
            if number
        ]


def _is_called_after(row: Mapping[str, str], label: str) -> bool:
    return any(row.get(name, "").endswith(f" ({label})") for name in ("annotator", "ranking"))


def fingerprint(row: Mapping[str, str], suffix: str = "", parting: Sequence[str] = ()) -> int:
    """Return a number for what a judgment says, equal for equal ones.

    ``suffix`` is taken off the annotator's name; ``parting`` are further columns to compare.

    Examples
    --------
    >>> row = {"annotator": "voter 1 (b.soc)", "left": "a", "right": "b", "outcome": "left"}
    >>> fingerprint(row, " (b.soc)") == fingerprint({**row, "annotator": "voter 1"})
    True
    """
    if "winner" in row:
        row = {**row, "left": row["winner"], "right": row.get("loser", ""), "outcome": "left"}
    cells = {name: row.get(name) or "" for name in (*_COMPARED, *parting)}
    cells["annotator"] = cells["annotator"].removesuffix(suffix)
    cells["outcome"] = cells["outcome"].replace(NOT_ANSWERED, "")
    for name in ("outcome", "seconds"):
        try:
            cells[name] = repr(float(cells[name]))
        except ValueError:
            continue
    return hash(tuple(cells.values()))


def _unfit(path: Path, why: str) -> OptionError:
    name = printable(str(path))
    return OptionError(
        f"{name}: {why}; write all of them to a new file, as in 'aggcal convert {name} IN -o NEW'."
    )


def _state(path: Path) -> tuple[int, ...]:
    known = path.stat()
    return known.st_dev, known.st_ino, known.st_size, known.st_mtime_ns
