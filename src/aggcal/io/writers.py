"""Judgments in our own format and in those of other tools, as they are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import IO, Protocol, TypeAlias

import numpy as np

from aggcal.errors import OptionError, count, some
from aggcal.io.cells import csv_cell
from aggcal.io.formats._base import Choices
from aggcal.io.formats._parting import wished
from aggcal.io.formats.preflib import preflib_lines
from aggcal.registry import CROWD_KIT, PREFLIB

_NUMBERS = ("outcome", "weight", "seconds")
_NO_ANSWER = ("skip", "failed", "")
OPTIONAL = ("weight", "criterion", "seconds", "ranking", "reason", "sided")
"""Columns of our own that a table need not have."""

JudgmentRow: TypeAlias = dict[str, str]
"""One judgment under our own names; what is not known is not there."""


def named_columns(choices: Choices) -> dict[str, str]:
    """Return what the columns by which rows are parted are called in a table of ours.

    Categories keep their names, in small letters. What is written anyway is not written twice.

    Examples
    --------
    >>> named_columns(Choices(context="prompt", by=("Language", "criterion")))
    {'context': 'context', 'by_1': 'language'}
    """
    written = {"annotator", "left", "right", "outcome", "winner", "loser", *OPTIONAL}
    return {
        own: "context" if own == "context" else name.strip().lower()
        for own, name in wished(choices).items()
        if own == "context" or name.strip().lower() not in written
    }


class Rows(Protocol):
    """Judgments that are to be written, and the columns that some of them have."""

    columns: set[str]
    parting: tuple[str, ...]
    """The columns of the context and the categories, in the order in which they were wanted."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[JudgmentRow]: ...


_Pair: TypeAlias = tuple[str, str, str]
"""The items of a judgment and its outcome."""

Cell: TypeAlias = Callable[[object], str]
"""How a cell of text is written."""


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
    def kept() -> Iterator[JudgmentRow]:
        return (row for row in map(_long, rows) if row["outcome"] not in _NO_ANSWER)

    unsaid = sum(row["outcome"] not in ("left", "right") for row in kept())
    if unsaid:
        raise OptionError(
            f"crowd-kit has no ties or strengths ({count(unsaid, 'such judgment')}); leave "
            "ties out with --outcome tie=skip."
        )
    if any(float(row.get("weight", 1)) != 1.0 for row in kept()):
        raise OptionError(
            "crowd-kit has no weights; for rankings give each pair full weight with "
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
    return _table(written, ("worker", "left", "right", "label"), named, cell)


def _refuse_criteria(criteria: set[str], who: str) -> None:
    if len(criteria) > 1:
        raise OptionError(
            f"{who} has no criteria ({some(sorted(criteria))}); write one of them with "
            "--criterion NAME."
        )


def _preflib(rows: Rows, title: str, cell: Cell, before: Sequence[str]) -> Written:  # noqa: ARG001
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
            f"PrefLib has no strengths between left and right ({count(soft, 'such judgment')})."
        )
    if weighted:
        raise OptionError("PrefLib has no weights except whole numbers of voters.")
    if voters:
        raise OptionError("so many voters were read as weights; they cannot be written again.")
    _refuse_criteria(criteria, "PrefLib")
    orders = chain(
        (_order([pair], "", "") for pair in alone.elements()),
        (_order(pairs, *key) for key, pairs in rankings.items()),
    )
    lines = list(preflib_lines(orders, title))
    return Written(written, lambda file: file.writelines(f"{line}\n" for line in lines))


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
            f"PrefLib only has complete orders, and '{ranking}' of {annotator} is not one (a "
            "choice of the best, ratings that tie at a distance, or more items than are compared "
            "in pairs)."
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
