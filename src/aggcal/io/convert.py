"""Judgments of any format, written in ours or in that of another tool."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, Self, TypeAlias

import numpy as np

from aggcal.errors import OptionError, TooLittleDataError, count, some
from aggcal.io.formats._base import Blank, Choices, refuse_options
from aggcal.io.formats.preflib import KINDS, preflib_lines
from aggcal.io.row_checks import NOT_ANSWERED, checked, unused_labels
from aggcal.io.rows import Reading, opened_rows
from aggcal.io.tables.source import no_room, quoted
from aggcal.io.writing.write import (
    csv_cell,
    refuse_existing,
    refuse_overwriting,
    spreadsheet_cell,
    write_file,
)
from aggcal.registry import CROWD_KIT, PREFLIB

_AT_ONCE = 5_000
_IN_MEMORY = 1 << 24
"""Bytes of rows that wait in memory; more wait on disk, which is slower only where it is slow."""
_NUMBERS = ("outcome", "weight", "seconds")
_NO_ANSWER = ("skip", "failed", "")
_OPTIONAL = ("weight", "criterion", "seconds", "ranking", "reason")

JudgmentRow: TypeAlias = dict[str, str]
"""One judgment under our own names; what is not known is not there."""


@dataclass(frozen=True)
class Conversion:
    """What was written, and what should be known about it."""

    path: Path
    format: str
    n_rows: int
    n_left_out: int
    notes: tuple[str, ...]


def convert_judgments(
    inputs: Sequence[Path | str],
    output: Path | str,
    *,
    to: str | None = None,
    format_name: str | None = None,
    choices: Choices | None = None,
    criterion: str | None = None,
    overwrite: bool = True,
    memory: str | None = None,
    spreadsheet_safe: bool = False,
    on_progress: Callable[[float], None] | None = None,
) -> Conversion:
    r"""Read files of judgments and write them, row by row, as one file.

    Parameters
    ----------
    inputs
        Files of any format that `read_judgments` knows.
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
        Whether a file that is there already may be replaced.
    memory
        Memory limit for reading, such as ``"2GB"``; beyond it, and while rows wait to be written,
        the disk is used. (Of PrefLib, the different orders are kept in memory.)
    spreadsheet_safe
        Write an apostrophe before texts that a spreadsheet would take for a formula. They are
        then no longer the ids that were read.
    on_progress
        Called now and then with the percentage done of the step under way.

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
    output = Path(output)
    to = to or (PREFLIB.name if output.suffix.lstrip(".") in KINDS else "aggcal")
    if to not in _WRITERS:
        raise OptionError(f"cannot write '{to}'; choose one of {', '.join(_WRITERS)}.")
    if spreadsheet_safe and to == PREFLIB.name:
        raise OptionError("--spreadsheet-safe is for tables, and PrefLib is none; leave it out.")
    if str(output) != "-":
        refuse_existing(output, force=overwrite)
    refuse_overwriting(output.parent, [output.name], inputs)
    choices = choices or Choices()
    notes: list[str] = []
    mapped = False
    with _Waiting(criterion) as rows:
        for path in inputs:
            with opened_rows(
                path, choices, format_name=format_name, memory=memory, on_progress=on_progress
            ) as found:
                if len(inputs) == 1:  # of several, an option may be meant for one
                    refuse_options(found.format, choices, found.source.name)
                rows.add(_rows(found, choices.outcomes, choices.blank))
                mapped |= "outcome" in found.source.columns
                said = f"{path}: read as {found.format.info.name}"
                told = (*found.notes, *unused_labels(found, choices.outcomes))
                notes += [said, *(f"{path}: {note}" for note in told)]
        if choices.outcomes and not mapped:
            raise OptionError("there are winners and losers but no outcome to map; leave it out.")
        if criterion is not None:
            notes.append(f"only judgments of the criterion '{criterion}' are written")
        rows.refuse_none(inputs)
        cell = spreadsheet_cell if spreadsheet_safe else csv_cell
        kept, write = _WRITERS[to](rows, output.name, cell)
        if str(output) == "-":
            write(sys.stdout)
        else:
            write_file(output, write, force=overwrite)
    return Conversion(output, to, kept, len(rows) - kept, tuple(notes))


class _Waiting:
    """Rows that wait to be written, on disk where they are many, and what is known of them.

    Which columns there are is known only after the last row, so all of them have to wait.
    """

    def __init__(self, criterion: str | None) -> None:
        self.criterion = criterion
        self.criteria: set[str] = set()
        self.columns: set[str] = set()
        self._number = 0
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY, "w+", encoding="utf-8")  # noqa: SIM115

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[JudgmentRow]:
        self._file.seek(0)
        for line in self._file:
            yield from json.loads(line)

    def refuse_none(self, inputs: Sequence[Path | str]) -> None:
        """Refuse to write nothing."""
        if self.criterion is not None and self.criterion not in self.criteria:
            raise OptionError(
                f"no judgment has the criterion '{self.criterion}'; there are "
                f"{some(sorted(self.criteria)) or 'none'}."
            )
        if not len(self):
            raise TooLittleDataError(f"{', '.join(map(str, inputs))}: no judgment to write.")

    def add(self, rows: Iterator[JudgmentRow]) -> None:
        """Let rows wait, if they are of the criterion that is wanted."""
        self._file.seek(0, os.SEEK_END)
        try:
            # In batches, a line each: a row at a time takes twice as long.
            while batch := list(islice(rows, _AT_ONCE)):
                self.criteria.update(row.get("criterion", "") for row in batch)
                kept = [
                    row
                    for row in batch
                    if self.criterion is None or row.get("criterion", "") == self.criterion
                ]
                self.columns.update(*kept)
                self._number += len(kept)
                self._file.write(json.dumps(kept) + "\n")
        except OSError as error:
            raise no_room(error) from None


def _rows(
    reading: Reading, outcomes: Mapping[str, str | float], blank: Blank
) -> Iterator[JudgmentRow]:
    source = reading.source
    pair, means = checked(reading, outcomes if "outcome" in source.columns else {}, blank)
    names = ["annotator", *pair]
    cells = [f'"{name}"' for name in names]
    if means is not None:
        names.append("outcome")
        cells.append(f"CASE {means} WHEN {quoted(NOT_ANSWERED)} THEN '' ELSE {means} END")
    optional = [name for name in _OPTIONAL if name in source.columns]
    names += optional
    cells += [f'"{name}"::VARCHAR' for name in optional]
    found = source.connection.execute(f"SELECT {', '.join(cells)} FROM raw ORDER BY rowid")
    while batch := found.fetchmany(_AT_ONCE):
        for values in batch:
            yield {n: v for n, v in zip(names, values, strict=True) if v is not None}


_Pair: TypeAlias = tuple[str, str, str]
"""The items of a judgment and its outcome."""

_Cell: TypeAlias = Callable[[object], str]
"""How a cell of text is written."""

_Written: TypeAlias = tuple[int, Callable[[IO[str]], object]]
"""How many rows are written, and what writes them."""


def _own(rows: _Waiting, title: str, cell: _Cell) -> _Written:  # noqa: ARG001
    long = not rows.columns.isdisjoint(("outcome", "left"))
    columns = (
        ["annotator", "left", "right", "outcome"] if long else ["annotator", "winner", "loser"]
    )
    columns += [name for name in _OPTIONAL if name in rows.columns]
    lines = (_long(row) for row in rows) if long else iter(rows)
    if "weight" in columns:
        lines = ({"weight": "1", **row} for row in lines)
    return len(rows), _csv(columns, lines, cell)


def _crowd_kit(rows: _Waiting, title: str, cell: _Cell) -> _Written:  # noqa: ARG001
    def kept() -> Iterator[JudgmentRow]:
        return (row for row in map(_long, rows) if row["outcome"] not in _NO_ANSWER)

    unsaid = sum(row["outcome"] not in ("left", "right") for row in kept())
    if unsaid:
        raise OptionError(
            f"crowd-kit knows no ties and no strengths ({count(unsaid, 'such judgment')}); leave "
            "ties out with --outcome tie=skip."
        )
    if any(float(row.get("weight", 1)) != 1.0 for row in kept()):
        raise OptionError(
            "crowd-kit knows no weights; for rankings give each pair full weight with "
            "--ranking-weight pair."
        )
    _refuse_criteria({row.get("criterion", "") for row in kept()}, CROWD_KIT.name)
    named = (
        {
            "worker": row["annotator"],
            "left": row["left"],
            "right": row["right"],
            "label": row[row["outcome"]],
        }
        for row in kept()
    )
    written = sum(1 for _ in kept())
    return written, _csv(("worker", "left", "right", "label"), named, cell)


def _refuse_criteria(criteria: set[str], who: str) -> None:
    if len(criteria) > 1:
        raise OptionError(
            f"{who} knows no criteria ({some(sorted(criteria))}); write one of them with "
            "--criterion NAME."
        )


def _preflib(rows: _Waiting, title: str, cell: _Cell) -> _Written:  # noqa: ARG001
    soft = written = 0
    weighted = voters = False
    criteria = set()
    # Of judgments that are no rankings only the different ones are kept.
    alone: Counter[_Pair] = Counter()
    rankings: dict[tuple[str, str], list[_Pair]] = {}
    for row in map(_long, rows):
        if not (_is_of_one(row) or _is_answered(row)):
            continue
        written += 1
        soft += row["outcome"] not in ("left", "right", "tie", "skip")
        criteria.add(row.get("criterion", ""))
        voters |= "voters)" in row["annotator"]
        pair = row["left"], row.get("right", ""), row["outcome"]
        if "ranking" in row:
            rankings.setdefault((row["annotator"], row["ranking"]), []).append(pair)
        else:
            weighted |= float(row.get("weight", 1)) != 1.0
            alone[pair] += 1
    if soft:
        raise OptionError(
            f"PrefLib knows no strengths between left and right ({count(soft, 'such judgment')})."
        )
    if weighted:
        raise OptionError("PrefLib knows no weights but whole numbers of voters.")
    if voters:
        raise OptionError("so many voters were read as weights; they cannot be written again.")
    _refuse_criteria(criteria, "PrefLib")
    orders = chain(
        (_order([pair], "", "") for pair in alone.elements()),
        (_order(pairs, *key) for key, pairs in rankings.items()),
    )
    lines = list(preflib_lines(orders, title))
    return written, lambda file: file.writelines(f"{line}\n" for line in lines)


def _is_answered(row: JudgmentRow) -> bool:
    return row["outcome"] not in _NO_ANSWER and row["left"] != row["right"]


def _is_of_one(row: JudgmentRow) -> bool:
    """Whether a row is an order of one item, which compares nothing."""
    return row["outcome"] == "skip" and "ranking" in row and "left" in row and "right" not in row


def _order(pairs: list[_Pair], annotator: str, ranking: str) -> tuple[tuple[str, ...], ...]:
    """Put a ranking together again from its pairs: items with as many wins are one tier."""
    if pairs[0][2] == "skip":
        return ((pairs[0][0],),)
    wins: dict[str, float] = {}
    for left, right, outcome in pairs:
        won = {"left": 1.0, "right": 0.0, "tie": 0.5}[outcome]
        wins[left] = wins.get(left, 0.0) + won
        wins[right] = wins.get(right, 0.0) + 1.0 - won
    # Only from all of its pairs, and none against another, can the order be told.
    said = {"left": 1, "right": -1, "tie": 0}
    kept = all(np.sign(wins[left] - wins[right]) == said[each] for left, right, each in pairs)
    if not kept or len(pairs) != len(wins) * (len(wins) - 1) // 2:
        raise OptionError(
            f"PrefLib knows only whole orders, and '{ranking}' of {annotator} is none (a choice "
            "of the best, ratings that tie at a distance, or more items than are compared in "
            "pairs)."
        )
    tiers: dict[float, list[str]] = {}
    for item, number in wins.items():
        tiers.setdefault(number, []).append(item)
    return tuple(tuple(sorted(tiers[number])) for number in sorted(tiers, reverse=True))


def _long(row: JudgmentRow) -> JudgmentRow:
    if not {"winner", "loser"} & row.keys():
        return {"outcome": "", **row}
    rest = {name: value for name, value in row.items() if name not in ("winner", "loser")}
    return {"left": row["winner"], "right": row["loser"], "outcome": "left", **rest}


def _csv(
    columns: Sequence[str], rows: Iterable[JudgmentRow], cell: _Cell
) -> Callable[[IO[str]], object]:
    kinds = [csv_cell if name in _NUMBERS else cell for name in columns]

    def write(file: IO[str]) -> None:
        file.write(",".join(columns) + "\n")
        for row in rows:
            cells = (kind(row.get(name, "")) for name, kind in zip(columns, kinds, strict=True))
            file.write(",".join(cells) + "\n")

    return write


_WRITERS: dict[str, Callable[[_Waiting, str, _Cell], _Written]] = {
    "aggcal": _own,
    CROWD_KIT.name: _crowd_kit,
    PREFLIB.name: _preflib,
}
"""Who writes which format."""
