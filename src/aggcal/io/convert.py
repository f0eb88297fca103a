"""Judgments of any format, written in ours or in that of another tool."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import numpy as np

from aggcal._core.tables import Columns
from aggcal.errors import (
    OptionError,
    TooLittleDataError,
    count,
    option,
    some,
)
from aggcal.io.choices import Choices
from aggcal.io.columns import Column, number, stacked
from aggcal.io.folders import Given, PathLike, files_of
from aggcal.io.formats.preflib import KINDS, preflib_lines
from aggcal.io.judgments import Parts, parts_of
from aggcal.io.naming import UNSIDED, Part
from aggcal.io.outcomes import NOT_ANSWERED
from aggcal.io.saving import Writer, refuse_existing, refuse_overwriting, write_file
from aggcal.io.table_files import TABLES, TEXT, refuse_ending, table_file
from aggcal.registry import CROWD_KIT, PREFLIB

OPTIONAL = ("weight", "criterion", "seconds", "ranking", "reason", "sided")
"""Columns of our own that a table need not have."""
_NUMBERS = ("weight", "seconds")
_LONG = ("annotator", "left", "right", "outcome")
_WRITTEN = ("aggcal", CROWD_KIT, PREFLIB)
_NO_ANSWER = ("skip", "failed", "")

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


def convert_judgments(
    inputs: Sequence[PathLike],
    output: Path | str,
    *,
    to: str | None = None,
    format_name: str | None = None,
    choices: Choices | None = None,
    criterion: str | None = None,
    overwrite: bool = True,
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
    to = to or (PREFLIB if output.suffix.lstrip(".") in KINDS else "aggcal")
    _check(to, output, spreadsheet_safe=spreadsheet_safe)
    if str(output) != "-":
        refuse_existing(output, force=overwrite)
    refuse_overwriting(output.parent, [output.name], inputs)
    given = files_of(list(inputs)) or Given(())
    refuse_overwriting(output.parent, [output.name], given.files)
    with parts_of(list(given.files), choices, format_name) as read:
        table = _table(read, criterion, named_columns(choices))
        notes = [*given.notes, *read.notes]
        if criterion is not None:
            notes.append(f"only judgments of the criterion '{criterion}' are written")
        rows = len(table["annotator"])
        if not rows:
            raise TooLittleDataError(f"{', '.join(map(str, given.files))}: no judgment to write.")
        if "left" in table and any(part.short for part in read.parts):
            notes.append(
                "winners of judgments without sides are written on the left: read the files "
                f"together, with {option('judgments')}, where the side of the screen matters"
            )
        if to == CROWD_KIT:
            table = _crowd_kit(_long(table))
        kept = len(next(iter(table.values())))
        write: Writer | bytes
        if to == PREFLIB:
            kept, write = _preflib(_long(table), output.name)
        else:
            columns = _columns(table, typed=output.suffix.lower() not in TEXT)
            write = table_file(output, columns, spreadsheet_safe=spreadsheet_safe)
        if str(output) != "-":
            write_file(output, write, force=overwrite)
        elif not isinstance(write, bytes):
            write(sys.stdout)
    return Conversion(output, to, kept, rows - kept, tuple(notes))


def _check(to: str, output: Path, *, spreadsheet_safe: bool) -> None:
    """Refuse what cannot be written, before anything is read."""
    if to not in _WRITTEN:
        raise OptionError(f"cannot write '{to}'; choose one of {', '.join(_WRITTEN)}.")
    if spreadsheet_safe and to == PREFLIB:
        raise OptionError(
            f"{option('spreadsheet-safe')} only applies to tables, not to PrefLib; leave it out."
        )
    orders = tuple(f".{kind}" for kind in KINDS)
    if str(output) != "-":
        refuse_ending(output, (*orders, *TEXT) if to == PREFLIB else (*TEXT, *TABLES))


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


def _table(read: Parts, criterion: str | None, named: Mapping[str, str]) -> Table:
    """Return the judgments of all files as one table."""
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
    if "weight" in table:
        table["weight"] = table["weight"].map(str, blank="1")
    if all(part.short for part in read.parts):
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
    _refuse_criteria(table, CROWD_KIT)
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
