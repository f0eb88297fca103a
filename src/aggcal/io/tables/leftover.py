"""Lines of a table that are none of its rows: notes below it, and what Qualtrics puts above."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from aggcal.errors import count, some
from aggcal.io.formats._sample import ADDED_BY_QUALTRICS
from aggcal.io.tables.source import cell, quoted, unpacked

if TYPE_CHECKING:
    import duckdb

_LONGEST_TAIL = 1 << 16
"""Bytes below the last row that may be notes: more are a table that is broken."""
_WIDE = 4
"""Columns from which on a row with one cell is no row: with fewer, the others may be blank, as of
an annotator who named no winner, or an item without a score."""
_BLANK_LINE = b"\r\n\r\n"  # at most so long, with the end of the line before it
QUALTRICS = b'{""ImportId"":'
"""What the third line of every export of Qualtrics is full of, as CSV writes it."""
ADDED = 2
"""Rows below the header that Qualtrics adds: the questions, and its numbers of them."""
_OF_QUALTRICS = f"{ADDED_BY_QUALTRICS}%"
_SHOWN = 40  # characters of a note


def notes_below(path: Path, position: int, delimiter: str, width: int) -> list[str] | None:
    """Return the lines from a position to the end of a file, if each has but one cell.

    None where they have more, so that they are rows with a fault; and below a narrow table where
    no blank line parts them from it.
    """
    with unpacked(path) as file:
        start = max(0, position - len(_BLANK_LINE))
        file.seek(start)
        tail = file.read(_LONGEST_TAIL + 1)
    before, tail = tail[: position - start], tail[position - start :]
    # DuckDB counts an end of a line now to the line before it, now to the one after it.
    first = len(tail) - len(tail.lstrip(b"\r\n"))
    ends = before + tail[:first]
    apart = ends[len(ends.rstrip(b"\r\n")) :].count(b"\n") > 1
    if len(tail) > _LONGEST_TAIL or (width < _WIDE and not apart):
        return None
    lines = [line for line in tail.decode("utf-8", "replace").splitlines() if line.strip()]
    rows = list(csv.reader(lines, delimiter=delimiter))
    filled = [[one.strip() for one in row if one.strip()] for row in rows]
    return [one for (one,) in filled] if all(len(row) == 1 for row in filled) else None


def drop_added(connection: duckdb.DuckDBPyConnection, columns: Sequence[str]) -> list[str]:
    """Delete the two rows of questions and numbers that Qualtrics adds to ``raw``; say so."""
    marked = " OR ".join(f"{cell(name)} LIKE {quoted(_OF_QUALTRICS)}" for name in columns)
    run = connection.execute
    found = run(f"SELECT rowid FROM raw WHERE rowid < {ADDED} AND ({marked})").fetchall()
    if found != [(ADDED - 1,)]:
        return []
    run(f"DELETE FROM raw WHERE rowid < {ADDED}")
    return [f"the {ADDED} rows below the header that Qualtrics adds are left out"]


def drop_notes(connection: duckdb.DuckDBPyConnection, columns: Sequence[str]) -> list[str]:
    """Delete the rows at the end that have one cell, notes below a table; say so.

    The rows of ``raw`` that are left keep their numbers.
    """
    cells = [cell(name) for name in columns]
    number = " + ".join(f"({one} IS NOT NULL)::INTEGER" for one in cells)
    last = "SELECT max(rowid) FROM raw"
    few = connection.execute(f"SELECT {number} < 2 FROM raw WHERE rowid = ({last})").fetchone()
    if len(cells) < 2 or few is None or not few[0]:  # noqa: PLR2004  # a list has but one column
        return []
    end = connection.execute(f"SELECT max(rowid) FROM raw WHERE {number} > 1").fetchone()
    if end is None or end[0] is None:
        return []
    start = connection.execute(f"SELECT min(rowid) FROM raw WHERE rowid > {end[0]}").fetchone()
    apart = (
        start is not None and start[0] > end[0] + 1
    )  # blank rows are gone, their numbers are not
    if len(cells) < _WIDE and not apart:
        return []
    texts = connection.execute(
        f"DELETE FROM raw WHERE rowid > {end[0]} RETURNING coalesce({', '.join(cells)}, '')"
    ).fetchall()
    return [left_out([str(text) for (text,) in texts if text])] if texts else []


def left_out(notes: Sequence[str]) -> str:
    """Say which lines below a table are no rows of it.

    Examples
    --------
    >>> left_out(["Note: ann was away."])
    "1 line below the table is no row and is left out: 'Note: ann was away.'"
    """
    shown = some([note if len(note) <= _SHOWN else f"{note[:_SHOWN]}..." for note in notes])
    verb = "is no row and is" if len(notes) == 1 else "are no rows and are"
    return f"{count(len(notes), 'line')} below the table {verb} left out: {shown}"
