"""Judgments of any format, written in ours or in that of another tool, or added to a table."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np

from aggcal.errors import OptionError, TooLittleDataError, count, some
from aggcal.io.appending import Copies, Existing
from aggcal.io.cells import csv_cell, spreadsheet_cell
from aggcal.io.choices import Choices
from aggcal.io.columns import Column
from aggcal.io.folders import Given, PathLike, files_of, labels_of
from aggcal.io.formats.preflib import KINDS, preflib_lines
from aggcal.io.judgments import Parts, parts_of
from aggcal.io.naming import UNSIDED, Part
from aggcal.io.outcomes import NOT_ANSWERED
from aggcal.io.saving import refuse_existing, refuse_overwriting, write_file
from aggcal.registry import CROWD_KIT, PREFLIB

OPTIONAL = ("weight", "criterion", "seconds", "ranking", "reason", "sided")
"""Columns of our own that a table need not have."""
_NUMBERS = ("outcome", "weight", "seconds")
_AT_ONCE = 5_000  # rows as Python objects: more take more memory
_NO_ANSWER = ("skip", "failed", "")
_SIDES = (
    "winners of judgments without sides are written on the left: read the files together, with "
    "--judgments, where the side of the screen matters"
)

JudgmentRow: TypeAlias = dict[str, str]
"""One judgment under our own names; what is not known is not there."""
Cell: TypeAlias = Callable[[object], str]
"""How a cell of text is written."""


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
        rows = Rows(read, criterion, choices)
        notes = [*given.notes, *read.notes]
        if criterion is not None:
            notes.append(f"only judgments of the criterion '{criterion}' are written")
        if not len(rows):
            raise TooLittleDataError(f"{', '.join(map(str, given.files))}: no judgment to write.")
        there = before.columns if before else ()
        mixed = "winner" in rows.columns and "left" in {*rows.columns, *there}
        if mixed or (there and "sided" in rows.columns and "sided" not in there):
            notes.append(_SIDES)
        cell = spreadsheet_cell if spreadsheet_safe else csv_cell
        written = WRITERS[to](rows, output.name, cell, there)
        write = written.write
        if before is not None:
            before.refuse_missing(written.columns)
            copies = Copies(rows.parting)
            for part, label in zip(read.parts, labels_of(given.files), strict=False):
                copies.add(label, rows.of(part))
            notes += copies.found_in(before)
            write = before.writer(written.lines, cell_writer(cell))
        if str(output) == "-":
            write(sys.stdout)
        else:
            write_file(output, write, force=overwrite or append)
    kept = written.rows
    return Conversion(output, to, kept, len(rows) - kept, tuple(notes), before is not None)


def _check(to: str, output: Path, *, append: bool, spreadsheet_safe: bool) -> None:
    """Refuse what cannot be written, before anything is read."""
    if to not in WRITERS:
        raise OptionError(f"cannot write '{to}'; choose one of {', '.join(WRITERS)}.")
    if spreadsheet_safe and to == PREFLIB.name:
        raise OptionError(
            "--spreadsheet-safe only applies to tables, not to PrefLib; leave it out."
        )
    if append and (to == PREFLIB.name or str(output) == "-"):
        what = "standard output" if str(output) == "-" else "a PrefLib file"
        raise OptionError(f"rows can only be added to a table, not to {what}; leave --append out.")


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


class Rows:
    """Judgments that are to be written, and the columns that some of them have."""

    def __init__(self, read: Parts, criterion: str | None, choices: Choices) -> None:
        self.parting = tuple(named_columns(choices).values())
        self._criterion, self._named = criterion, named_columns(choices)
        self._columns = [(part, self._texts(part)) for part in read.parts]
        self.columns = {
            name
            for _, columns in self._columns
            for name, column in columns.items()
            if name not in OPTIONAL or not column.blank.all()
        }
        every = {text for part in read.parts if (c := part.columns.get("criterion"))
                 for text in c.texts}  # fmt: skip
        if criterion is not None and criterion not in every:
            raise OptionError(
                f"no judgment has the criterion '{criterion}'; there are "
                f"{some(sorted(every)) or 'none'}."
            )

    def __len__(self) -> int:
        return sum(len(columns["annotator"]) for _, columns in self._columns)

    def __iter__(self) -> Iterator[JudgmentRow]:
        return chain.from_iterable(self.of(part) for part, _ in self._columns)

    def of(self, wanted: Part) -> Iterator[JudgmentRow]:
        """Go through the judgments of one file."""
        columns = next(columns for part, columns in self._columns if part is wanted)
        for begin in range(0, len(columns["annotator"]), _AT_ONCE):
            some = slice(begin, begin + _AT_ONCE)
            cells = [column.rows(some).cells() for column in columns.values()]
            for row in zip(*cells, strict=True):
                yield {n: cell for n, cell in zip(columns, row, strict=True) if cell is not None}

    def _texts(self, part: Part) -> dict[str, Column]:
        """Return the columns of a part as a table of ours has them."""
        columns, rows = dict(part.columns), len(part)
        columns["outcome"] = columns["outcome"].map(lambda t: None if t == NOT_ANSWERED else t)
        if "ranking" in columns:
            columns["ranking"] = columns["ranking"].map(part.choices.made_up)
        elif not part.short and not part.sided and "sided" not in columns:
            columns["sided"] = Column.fill(UNSIDED, rows)
        for name in part.numbers.keys() - columns.keys():
            values, codes = np.unique(part.numbers[name], return_inverse=True)
            texts = [None if v != v else repr(v) for v in values.tolist()]  # noqa: PLR0124  # NaN
            columns[name] = Column.tidy(texts, codes)
        ours = {"annotator": "annotator", "left": "left", "right": "right", "outcome": "outcome"}
        if part.short:
            ours = {"annotator": "annotator", "left": "winner", "right": "loser"}
        ours |= {name: name for name in OPTIONAL} | self._named
        chosen: Any = slice(None)
        if self._criterion is not None:
            criterion = columns.get("criterion") or Column.fill(None, rows)
            chosen = criterion.has(self._criterion.__eq__)
        return {name: columns[own].rows(chosen) for own, name in ours.items() if own in columns}


# -------------------------------------------------------------------- formats that are written


@dataclass(frozen=True)
class Written:
    """How many judgments are written, and what writes them: a table also row by row."""

    rows: int
    write: Callable[[IO[str]], object]
    columns: Sequence[str] = ()
    lines: Iterable[JudgmentRow] = ()


def _own(rows: Rows, title: str, cell: Cell, before: Sequence[str]) -> Written:  # noqa: ARG001
    # Rows that are added to a table with outcomes have one, too.
    long = not {*rows.columns, *before}.isdisjoint(("outcome", "left"))
    columns = (
        ["annotator", "left", "right", "outcome"] if long else ["annotator", "winner", "loser"]
    )
    columns += [name for name in (*OPTIONAL, *rows.parting) if name in rows.columns]
    if before and "sided" in columns and "sided" not in before:
        columns.remove("sided")
    lines = (_long(row) for row in rows) if long else iter(rows)
    if "weight" in {*columns, *before}:
        lines = ({"weight": "1", **row} for row in lines)
    return _table(len(rows), columns, lines, cell)


def _crowd_kit(rows: Rows, title: str, cell: Cell, before: Sequence[str]) -> Written:  # noqa: ARG001
    kept = [row for row in map(_long, rows) if row["outcome"] not in _NO_ANSWER]
    unsaid = sum(row["outcome"] not in ("left", "right") for row in kept)
    if unsaid:
        raise OptionError(
            f"crowd-kit has no ties or strengths ({count(unsaid, 'such judgment')}); leave "
            "ties out with --outcome tie=skip."
        )
    if any(float(row.get("weight", 1)) != 1.0 for row in kept):
        raise OptionError(
            "crowd-kit has no weights; for rankings give each pair full weight with "
            "--ranking-weight pair."
        )
    _refuse_criteria({row.get("criterion", "") for row in kept}, CROWD_KIT.name)
    lines = (
        {"worker": row["annotator"], "left": row["left"], "right": row["right"],
         "label": row[row["outcome"]]} for row in kept
    )  # fmt: skip
    return _table(len(kept), ("worker", "left", "right", "label"), lines, cell)


def _refuse_criteria(criteria: set[str], who: str) -> None:
    if len(criteria) > 1:
        raise OptionError(
            f"{who} has no criteria ({some(sorted(criteria))}); write one of them with "
            "--criterion NAME."
        )


def _preflib(rows: Rows, title: str, cell: Cell, before: Sequence[str]) -> Written:  # noqa: ARG001
    kept = [row for row in map(_long, rows) if _is_of_one(row) or _is_answered(row)]
    soft = sum(row["outcome"] not in ("left", "right", "tie", "skip") for row in kept)
    if soft:
        raise OptionError(
            f"PrefLib has no strengths between left and right ({count(soft, 'such judgment')})."
        )
    if any("ranking" not in row and float(row.get("weight", 1)) != 1.0 for row in kept):
        raise OptionError("PrefLib has no weights except whole numbers of voters.")
    if any("voters)" in row["annotator"] for row in kept):
        raise OptionError("so many voters were read as weights; they cannot be written again.")
    _refuse_criteria({row.get("criterion", "") for row in kept}, "PrefLib")
    # Of judgments that are no rankings only the different ones are kept.
    alone: Counter[tuple[str, str, str]] = Counter()
    rankings: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
    for row in kept:
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
    return Written(len(kept), lambda file: file.writelines(f"{line}\n" for line in lines))


def _is_answered(row: JudgmentRow) -> bool:
    return row["outcome"] not in _NO_ANSWER and row["left"] != row["right"]


def _is_of_one(row: JudgmentRow) -> bool:
    """Whether a row is an order of one item, which compares nothing."""
    return row["outcome"] == "skip" and "ranking" in row and "left" in row and "right" not in row


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
    for item, number in wins.items():
        tiers.setdefault(number, []).append(item)
    return tuple(tuple(sorted(tiers[number])) for number in sorted(tiers, reverse=True))


def _long(row: Mapping[str, str]) -> JudgmentRow:
    if not {"winner", "loser"} & row.keys():
        return {"outcome": "", **row}
    rest = {name: value for name, value in row.items() if name not in ("winner", "loser")}
    return {"left": row["winner"], "right": row["loser"], "outcome": "left", **rest}


def cell_writer(cell: Cell) -> Callable[[str, str], str]:
    """Return what writes a cell of a column: numbers are never taken for formulas.

    Examples
    --------
    >>> cell_writer(lambda text: f"'{text}")("weight", "-1")
    '-1'
    """
    return lambda name, value: csv_cell(value) if name in _NUMBERS else cell(value)


def _table(
    number: int, columns: Sequence[str], lines: Iterable[JudgmentRow], cell: Cell
) -> Written:
    in_column = cell_writer(cell)

    def write(file: IO[str]) -> None:
        file.write(",".join(columns) + "\n")
        for row in lines:
            cells = (in_column(name, row.get(name, "")) for name in columns)
            file.write(",".join(cells) + "\n")

    return Written(number, write, columns, lines)


WRITERS: dict[str, Callable[[Rows, str, Cell, Sequence[str]], Written]] = {
    "aggcal": _own,
    CROWD_KIT.name: _crowd_kit,
    PREFLIB.name: _preflib,
}
"""Who writes which format: rows, a title, how a cell is written, and the columns of the table that
they are added to."""
