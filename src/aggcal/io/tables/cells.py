"""Small plain tables as lists of texts: DuckDB takes longer to start than they take to read.

What is odd in a table (a quotation mark, a line too short, a byte that is no UTF-8) is left to the
readers that explain it; what is read here, they would read in the same way.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from aggcal._core.tables import row_columns
from aggcal.errors import TableError, printable
from aggcal.io.tables.delimited import header_of

_LARGEST = 2_000_000
"""Bytes of a small file: DuckDB's threads are the quicker ones from there on, once it is there."""
_FEW_ROWS = 50_000  # as many as such a file has
_MOST_COLUMNS = 1_000  # wider tables take longer to take apart than to load
_LISTS = (list, tuple, np.ndarray)
PLAIN_NUMBER = re.compile(r"-?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:[eE][-+]?[0-9]{1,2})?")
"""A number that DuckDB and Python read as the same one."""

_PAIRS = ({"left", "right", "outcome"}, {"winner", "loser"})


def is_own_table(columns: AbstractSet[str]) -> bool:
    """Whether columns are those of a table of judgments in aggcal's own form, and no others.

    Examples
    --------
    >>> is_own_table({"annotator", "winner", "loser"}), is_own_table({"annotator", "winner"})
    (True, False)
    """
    return "annotator" in columns and columns - {"annotator", "weight"} in _PAIRS


class Cells(NamedTuple):
    """The wanted columns of a table, every cell as it is written."""

    name: str
    """What the user calls it."""
    found: tuple[str, ...]
    """The names of all columns."""
    columns: dict[str, list[str]]
    """By the reader's own names; none is missing a cell."""
    text: str = ""
    delimiter: str = ","


def small_cells(
    data: Any, names: Mapping[str, str], what: str, shapes: Mapping[int, Sequence[str]]
) -> Cells | None:
    """Read the wanted columns of a small table; None for all that is large or not plain.

    Parameters
    ----------
    data
        A path, or rows or columns in memory.
    names
        What wanted columns are called in the table, in small letters, and by the reader.
    what
        What the table holds, for messages.
    shapes
        The column names of tuples, by their length.

    Examples
    --------
    >>> names = {"item": "item", "score": "value"}
    >>> small_cells([("a", 1.5), ("b", 2.0)], names, "scores", {2: ("item", "score")}).columns
    {'item': ['a', 'b'], 'value': ['1.5', '2']}
    """
    if isinstance(data, str | Path):
        return _of_file(data, names)
    if isinstance(data, Mapping):
        few = all(isinstance(part, _LISTS) and len(part) <= _FEW_ROWS for part in data.values())
    else:
        few = isinstance(data, list | tuple) and 0 < len(data) <= _FEW_ROWS
        few = few and all(isinstance(row, list | tuple | dict) for row in data)
    if not few:
        return None
    try:
        columns, found = row_columns(data, shapes, what)
    except (TableError, TypeError):
        return None
    present = {names[key]: column.tolist() for key, column in columns.items() if key in names}
    whole = len(columns) == len(found) and not any(None in column for column in present.values())
    return Cells(what, tuple(found), present) if whole else None


def _of_file(data: str | Path, names: Mapping[str, str]) -> Cells | None:
    text = _plain_text(Path(data))
    if not text:
        return None
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    delimiter, found = header_of(lines[0], names)
    width, rows = len(found), lines[1:]
    keys = [names.get(cell.lower()) for cell in found]
    wanted = [key for key in keys if key is not None]
    even = all(line.count(delimiter) == width - 1 for line in rows)
    if not rows or not 1 < width <= _MOST_COLUMNS or len({*wanted}) < len(wanted) or not even:
        return None
    cells = delimiter.join(rows).split(delimiter)
    columns = {key: cells[k::width] for k, key in enumerate(keys) if key is not None}
    return Cells(printable(str(data)), found, columns, text, delimiter)


def _plain_text(path: Path) -> str | None:
    """Return the text of a small file whose lines are its rows."""
    try:
        # What is of no size may be of the system's files, some of which never end.
        if not path.is_file() or not 0 < path.stat().st_size <= _LARGEST:
            return None
        held = path.read_bytes()
        if len(held) > _LARGEST or held.startswith(BOM_UTF8) or b'"' in held or b"\0" in held:
            return None
        text = held.decode()
    except (OSError, ValueError):
        return None
    if "\r" in text:
        if not text.count("\r") == text.count("\r\n") == text.count("\n"):
            return None
        text = text.replace("\r\n", "\n")
    return text
