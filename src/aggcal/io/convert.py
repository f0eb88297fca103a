"""Judgments of any format, written in ours or in that of another tool, or added to a table."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, TypeAlias

import numpy as np

from aggcal._core.tables import Columns
from aggcal.errors import (
    OptionError,
    OutputError,
    TooLittleDataError,
    count,
    option,
    printable,
    some,
)
from aggcal.io.cells import csv_cell, spreadsheet_cell
from aggcal.io.choices import Choices
from aggcal.io.columns import Column, number, stacked
from aggcal.io.folders import Given, PathLike, files_of
from aggcal.io.formats.preflib import KINDS, preflib_lines
from aggcal.io.judgments import Parts, parts_of
from aggcal.io.naming import UNSIDED, Part
from aggcal.io.outcomes import NOT_ANSWERED
from aggcal.io.saving import Writer, refuse_existing, refuse_overwriting, write_file
from aggcal.io.table_files import TABLES, TEXT, refuse_ending, table_file
from aggcal.registry import CROWD_KIT, PREFLIB, TABLE

OPTIONAL = ("weight", "criterion", "seconds", "ranking", "reason", "sided")
"""Columns of our own that a table need not have."""
_NUMBERS = ("weight", "seconds")
_LONG = ("annotator", "left", "right", "outcome")
_WRITTEN = ("aggcal", CROWD_KIT.name, PREFLIB.name)
_NO_ANSWER = ("skip", "failed", "")
_PIECE = 1 << 20
"""Characters that are copied at a time: fewer take longer, more take more memory."""
_COMPARED = ("annotator", "left", "right", "outcome", "criterion", "seconds", "reason")
"""By what judgments are compared. Names of rankings are made up, and weights may be."""

Table: TypeAlias = dict[str, Column]
"""Judgments under our own names; what none of them says is not there."""


@dataclass(frozen=True)
class Conversion:
    """What was written, and what should be known about it."""

    path: Path
    format: str
    n_rows: int
    n_left_out: int
    notes: tuple[str, ...]
    appended: bool = False
    """Whether the judgments were added to a table that was there."""


def convert_judgments(
    inputs: Sequence[PathLike],
    output: Path | str,
    *,
    to: str | None = None,
    format_name: str | None = None,
    choices: Choices | None = None,
    criterion: str | None = None,
    overwrite: bool = True,
    append: bool = False,
    spreadsheet_safe: bool = False,
) -> Conversion:
    r"""Read files of judgments and write them, row by row, as one file.

    Parameters
    ----------
    inputs
        Files of any format that `read_judgments` knows, and folders of them.
    output
        The file to write; ``-`` is standard output.
    to
        ``"aggcal"`` (a CSV that loses nothing), ``"crowd-kit"`` or ``"preflib"``; told from the
        name of the output if it is not given.
    format_name, choices
        What is known about the inputs, as in `read_judgments`.
    criterion
        Write only the judgments of this criterion.
    overwrite
        Whether a file that already exists may be replaced.
    append
        Add the judgments to the table that is there. Its columns must fit them; it is replaced, as
        a whole and at once, by itself and the new rows.
    spreadsheet_safe
        Write an apostrophe before texts that a spreadsheet would take for a formula. They are
        then no longer the ids that were read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source, target = Path(folder, "votes.csv"), Path(folder, "judgments.csv")
    ...     _ = source.write_text("worker,left,right,label\nw1,a,b,a\n")
    ...     _ = convert_judgments([source], target)
    ...     print(target.read_text())
    annotator,left,right,outcome
    w1,a,b,left
    """
    output, choices = Path(output), choices or Choices()
    to = to or (PREFLIB.name if output.suffix.lstrip(".") in KINDS else "aggcal")
    _check(to, output, append=append, spreadsheet_safe=spreadsheet_safe)
    if str(output) != "-":
        refuse_existing(output, force=overwrite or append)
    refuse_overwriting(output.parent, [output.name], inputs)
    given = files_of(list(inputs)) or Given(())
    refuse_overwriting(output.parent, [output.name], given.files)
    before = Existing.at(output, to) if append and output.exists() else None
    with parts_of(list(given.files), choices, format_name, beside=before is not None) as read:
        there = before.columns if before else ()
        parting = named_columns(choices)
        table = _table(read, criterion, parting, there)
        notes = [*given.notes, *read.notes]
        if criterion is not None:
            notes.append(f"only judgments of the criterion '{criterion}' are written")
        rows = len(table["annotator"])
        if not rows:
            raise TooLittleDataError(f"{', '.join(map(str, given.files))}: no judgment to write.")
        long = "left" in table
        if (long and any(part.short for part in read.parts)) or (
            there and "sided" in table and "sided" not in there
        ):
            notes.append(
                "winners of judgments without sides are written on the left: read the files "
                f"together, with {option('judgments')}, where the side of the screen matters"
            )
            table.pop("sided" if there else "", None)
        if to == CROWD_KIT.name:
            table = _crowd_kit(_long(table))
        kept = len(next(iter(table.values())))
        write: Writer | bytes
        if before is not None:
            before.refuse_missing(table)
            notes += before.copies(read, parting)
            write = before.writer(table, safe=spreadsheet_safe)
        elif to == PREFLIB.name:
            kept, write = _preflib(_long(table), output.name)
        else:
            columns = _columns(table, typed=output.suffix.lower() not in TEXT)
            write = table_file(output, columns, spreadsheet_safe=spreadsheet_safe)
        if str(output) != "-":
            write_file(output, write, force=overwrite or append)
        elif not isinstance(write, bytes):
            write(sys.stdout)
    return Conversion(output, to, kept, rows - kept, tuple(notes), before is not None)


def _check(to: str, output: Path, *, append: bool, spreadsheet_safe: bool) -> None:
    """Refuse what cannot be written, before anything is read."""
    if to not in _WRITTEN:
        raise OptionError(f"cannot write '{to}'; choose one of {', '.join(_WRITTEN)}.")
    if spreadsheet_safe and to == PREFLIB.name:
        raise OptionError(
            f"{option('spreadsheet-safe')} only applies to tables, not to PrefLib; leave it out."
        )
    if append and (to == PREFLIB.name or str(output) == "-"):
        what = "standard output" if str(output) == "-" else "a PrefLib file"
        raise OptionError(
            f"rows can only be added to a table, not to {what}; leave {option('append')} out."
        )
    orders = tuple(f".{kind}" for kind in KINDS)
    if str(output) != "-" and not (append and output.exists()):
        refuse_ending(output, (*orders, *TEXT) if to == PREFLIB.name else (*TEXT, *TABLES))


def named_columns(choices: Choices) -> dict[str, str]:
    """Return what the columns by which rows are parted are called in a table of ours.

    Categories keep their names, in small letters. What is written anyway is not written twice.

    Examples
    --------
    >>> named_columns(Choices(context="prompt", by=("Language", "criterion")))
    {'context': 'context', 'by_1': 'language'}
    """
    written = {"annotator", "left", "right", "outcome", "winner", "loser", *OPTIONAL}
    named = {own: name.strip().lower() for own, name in choices.wished.items()}
    return {
        own: "context" if own == "context" else name
        for own, name in named.items()
        if own == "context" or name not in written
    }


def _part(part: Part, named: Mapping[str, str]) -> Table:
    """Return the judgments of a file as a table of ours has them, in the long form."""
    columns, rows = dict(part.columns), len(part)
    columns["outcome"] = columns["outcome"].map(lambda t: None if t == NOT_ANSWERED else t)
    if part.short:
        columns["outcome"] = Column.fill("left", rows)
    if "ranking" in columns:
        columns["ranking"] = columns["ranking"].map(part.choices.made_up)
    elif not part.short and not part.sided and "sided" not in columns:
        columns["sided"] = Column.fill(UNSIDED, rows)
    for name in part.numbers.keys() - columns.keys():
        values, codes = np.unique(part.numbers[name], return_inverse=True)
        texts = [None if v != v else repr(v) for v in values.tolist()]  # noqa: PLR0124  # NaN
        columns[name] = Column.tidy(texts, codes)
    ours = {name: name for name in (*_LONG, *OPTIONAL)} | {**named}
    return {name: columns[own] for own, name in ours.items() if own in columns}


def _table(
    read: Parts, criterion: str | None, named: Mapping[str, str], there: Sequence[str]
) -> Table:
    """Return the judgments of all files as one table, which fits the columns that are there."""
    parts = [_part(part, named) for part in read.parts]
    names = [n for n in (*_LONG, *OPTIONAL, *named.values()) if any(n in part for part in parts)]
    table = {
        name: stacked([part.get(name) or Column.fill(None, len(part["annotator"]))
                       for part in parts]) for name in names
    }  # fmt: skip
    if criterion is not None:
        criteria = table.get("criterion") or Column.of(())
        chosen = criteria.has(criterion.__eq__)
        if not chosen.any():
            raise OptionError(
                f"no judgment has the criterion '{criterion}'; there are "
                f"{some(sorted(criteria.texts)) or 'none'}."
            )
        table = {name: column.rows(chosen) for name, column in table.items()}
    table = {n: c for n, c in table.items() if n not in OPTIONAL or not c.blank.all()}
    if "weight" in {*table, *there}:
        weight = table.get("weight") or Column.fill(None, len(table["annotator"]))
        table["weight"] = weight.map(str, blank="1")
    if all(part.short for part in read.parts) and not {"left", "outcome"} & {*there}:
        own = {"left": "winner", "right": "loser"}
        table = {own.get(name, name): c for name, c in table.items() if name != "outcome"}
    return table


def _long(table: Table) -> Table:
    if "left" in table:
        return table
    outcome = Column.fill("left", len(table["annotator"]))
    return {"left": table["winner"], "right": table["loser"], "outcome": outcome, **table}


def _columns(table: Table, *, typed: bool) -> Columns:
    """Return columns as they are written: those of numbers as such, where a file has types."""
    return {
        name: np.array([number(text) for text in column.cells()])
        if typed and name in _NUMBERS
        else column.look_up(column.texts, None if typed else "", object)
        for name, column in table.items()
    }


# -------------------------------------------------------------------- formats of other tools


def _refuse_criteria(table: Table, who: str) -> None:
    criteria = table["criterion"].compact().texts if "criterion" in table else []
    if len(criteria) > 1:
        raise OptionError(
            f"{who} has no criteria ({some(sorted(criteria))}); write one of them with "
            f"{option('criterion', 'NAME')}."
        )


def _crowd_kit(table: Table) -> Table:
    answered = ~(table["outcome"].blank | table["outcome"].has(_NO_ANSWER.__contains__))
    table = {name: column.rows(answered) for name, column in table.items()}
    unsaid = ~table["outcome"].has(("left", "right").__contains__)
    if unsaid.any():
        raise OptionError(
            f"crowd-kit has no ties or strengths ({count(int(unsaid.sum()), 'such judgment')}); "
            f"leave ties out with {option('outcome', 'tie=skip')}."
        )
    if "weight" in table and table["weight"].has(lambda text: number(text) != 1.0).any():
        raise OptionError(
            "crowd-kit has no weights; for rankings give each pair full weight with "
            f"{option('ranking-weight', 'pair')}."
        )
    _refuse_criteria(table, CROWD_KIT.name)
    won = table["outcome"].has("left".__eq__)
    label = stacked([table["left"], table["right"]])
    rows = np.arange(len(won))
    return {
        "worker": table["annotator"],
        "left": table["left"],
        "right": table["right"],
        "label": label.rows(np.where(won, rows, rows + len(won))),
    }


def _preflib(table: Table, title: str) -> tuple[int, Writer]:
    """Return how many judgments PrefLib has a place for, and what writes them."""
    rows = [
        {name: cell for name, cell in zip(table, cells, strict=True) if cell is not None}
        for cells in zip(*(column.cells() for column in table.values()), strict=True)
    ]
    rows = [row for row in rows if _is_of_one(row) or _is_answered(row)]
    soft = sum(row["outcome"] not in ("left", "right", "tie", "skip") for row in rows)
    if soft:
        raise OptionError(
            f"PrefLib has no strengths between left and right ({count(soft, 'such judgment')})."
        )
    if any("ranking" not in row and float(row.get("weight", 1)) != 1.0 for row in rows):
        raise OptionError("PrefLib has no weights except whole numbers of voters.")
    if any("voters)" in row["annotator"] for row in rows):
        raise OptionError("so many voters were read as weights; they cannot be written again.")
    _refuse_criteria(table, "PrefLib")
    # Of judgments that are no rankings only the different ones are kept.
    alone: Counter[tuple[str, str, str]] = Counter()
    rankings: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
    for row in rows:
        pair = row["left"], row.get("right", ""), row["outcome"]
        if "ranking" in row:
            rankings.setdefault((row["annotator"], row["ranking"]), []).append(pair)
        else:
            alone[pair] += 1
    orders = chain(
        (_order([pair], "", "") for pair in alone.elements()),
        (_order(pairs, *key) for key, pairs in rankings.items()),
    )
    lines = list(preflib_lines(orders, title))
    return len(rows), lambda file: file.writelines(f"{line}\n" for line in lines)


def _is_answered(row: Mapping[str, str]) -> bool:
    return row.get("outcome", "") not in _NO_ANSWER and row["left"] != row["right"]


def _is_of_one(row: Mapping[str, str]) -> bool:
    """Whether a row is an order of one item, which compares nothing."""
    single = "ranking" in row and "left" in row and "right" not in row
    return single and row.get("outcome") == "skip"


def _order(
    pairs: Sequence[tuple[str, str, str]], annotator: str, ranking: str
) -> tuple[tuple[str, ...], ...]:
    """Put a ranking together again from its pairs: items with as many wins are one tier."""
    if pairs[0][2] == "skip":
        return ((pairs[0][0],),)
    wins: Counter[str] = Counter()
    for left, right, outcome in pairs:
        won = {"left": 2, "right": 0, "tie": 1}[outcome]
        wins[left] += won
        wins[right] += 2 - won
    # Only from all of its pairs, and none against another, can the order be told.
    said = {"left": 1, "right": -1, "tie": 0}
    kept = all(np.sign(wins[left] - wins[right]) == said[each] for left, right, each in pairs)
    if not kept or len(pairs) != len(wins) * (len(wins) - 1) // 2:
        raise OptionError(
            f"PrefLib only has complete orders, and '{ranking}' of {annotator} is not one (a "
            "choice of the best, ratings that tie at a distance, or more items than are compared "
            "in pairs)."
        )
    tiers: dict[int, list[str]] = {}
    for item, won in wins.items():
        tiers.setdefault(won, []).append(item)
    return tuple(tuple(sorted(tiers[won])) for won in sorted(tiers, reverse=True))


# -------------------------------------------------------------------- tables that grow


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

    def copies(self, read: Parts, named: Mapping[str, str]) -> list[str]:
        """Say how many judgments of new files it holds; refuse a file of which it holds all.

        Whoever is not named in a file is called after it, unless it was the first one in the
        table: so judgments are looked for under both names, but all under the same.
        """
        parting = [name for name in named.values() if name in self.columns]
        by = {f"by_{k}": name for k, name in enumerate(parting, 1)}
        try:
            with parts_of([self.path], Choices(by=tuple(parting))) as before:
                held = _part(before.parts[0], by)
        except TooLittleDataError:
            return []  # it has a header and no row
        old, name, notes = _sayings(held, named), printable(str(self.path)), list[str]()
        for part in read.parts:
            table, label = _part(part, named), part.label
            after = f" ({label})"
            new = [_sayings(table, named, suffix) for suffix in ("", after)]
            if any(each <= old for each in new):
                raise OptionError(
                    f"{name} already contains every judgment of {label}; leave {label} out, or "
                    f"write both to a new file with 'aggcal convert {name} {label} -o NEW'."
                )
            if _called(table, after) and _called(held, after):
                raise OptionError(
                    f"{name} has rankings or annotators called after a file {label} already; "
                    "rename the new file, so that they are told apart."
                )
            if number := max(len(each & old) for each in new):
                notes.append(
                    f"{name} holds {count(number, 'judgment')} of {label} already, which count "
                    "twice now"
                )
        return notes

    def writer(self, table: Table, *, safe: bool) -> Writer:
        """Return what writes the table as it was, and new rows after it."""
        cell = spreadsheet_cell if safe else csv_cell
        rows = len(next(iter(table.values())))
        columns = [table.get(name) or Column.fill(None, rows) for name in self.columns]
        lines = zip(*(each.map(lambda t: self._delimited(cell(t))).cells() for each in columns),
                    strict=True)  # fmt: skip

        def write(file: IO[str]) -> None:
            with self.path.open("r", encoding="utf-8", newline="") as before:
                while piece := before.read(_PIECE):
                    file.write(piece)
            file.write("" if self.ended else self.newline)
            file.writelines(
                self.delimiter.join(text or "" for text in line) + self.newline for line in lines
            )
            if _state(self.path) != self.state:
                raise OutputError(
                    f"{printable(str(self.path))}: was changed in the meantime; nothing was added. "
                    "Run the command again."
                )

        return write

    def _delimited(self, cell: str) -> str:
        return f'"{cell}"' if self.delimiter in cell and not cell.startswith('"') else cell


def _sayings(table: Table, named: Mapping[str, str], suffix: str = "") -> set[int]:
    """Return a number for what each judgment says; the suffix is taken off annotators' names."""
    changed = {"annotator": lambda t: t.removesuffix(suffix), "outcome": _plain, "seconds": _plain}
    blank = Column.fill(None, len(table["annotator"]))
    columns = (
        table.get(name, blank).map(changed.get(name, str)).cells()
        for name in (*_COMPARED, *named.values())
    )
    return {*map(hash, zip(*columns, strict=True))}


def _plain(text: str) -> str:
    value = number(text)
    return text if np.isnan(value) else repr(value)


def _called(table: Table, after: str) -> bool:
    """Whether annotators or rankings are called after a file."""
    columns = (table[name] for name in ("annotator", "ranking") if name in table)
    return any(text.endswith(after) for column in columns for text in column.texts)


def _unfit(path: Path, why: str) -> OptionError:
    name = printable(str(path))
    return OptionError(
        f"{name}: {why}; write all of them to a new file, as in 'aggcal convert {name} IN -o NEW'."
    )


def _state(path: Path) -> tuple[int, ...]:
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
