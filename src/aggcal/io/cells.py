"""How tables and plain data are written as text: CSV with all digits, JSON without NaN."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

import numpy as np

from aggcal._core.kernels.threads import in_turn
from aggcal._core.tables import Columns

_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""How a cell begins that some spreadsheet takes for a formula (OWASP's list, wide forms too)."""
_NEEDS_QUOTES = re.compile(r'[",\r\n]')
_AT_ONCE = 1 << 13  # rows of a table whose cells are held as texts: more take more memory


def csv_cell(value: object) -> str:
    r"""Write a cell of a CSV file, in quotation marks if it needs them.

    Python's own writer does not quote a lone CR, and then no reader finds the row again.

    Examples
    --------
    >>> csv_cell("a"), csv_cell('an "a" here'), csv_cell("a\rb"), csv_cell(None)
    ('a', '"an ""a"" here"', '"a\rb"', '')
    """
    # A text may hold a NUL, a CSV may not; and NaN is the one value that differs from itself.
    text = "" if value is None or value != value else str(value).replace("\0", "\ufffd")  # noqa: PLR0124
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text


def spreadsheet_cell(value: object) -> str:
    """Write a cell as `csv_cell` does; what a spreadsheet would run as a formula is marked as text.

    Numbers are none. The apostrophe stays when the file is read by another program.

    Examples
    --------
    >>> spreadsheet_cell("=1+1"), spreadsheet_cell("a=b"), spreadsheet_cell(-1.5)
    ("'=1+1", 'a=b', '-1.5')
    """
    formula = isinstance(value, str) and value.startswith(_FORMULAS)
    return csv_cell(f"'{value}" if formula else value)


def table_rows(columns: Sequence[np.ndarray], cell: Callable[[object], str]) -> str:
    r"""Return the rows of a table as they are written; numbers never need quotation marks.

    Examples
    --------
    >>> table_rows([np.array([0.1, np.nan]), np.array(["a,b", None], dtype=object)], csv_cell)
    '0.1,"a,b"\n,\n'
    """
    cells = (_texts(column, cell) for column in columns)
    return "".join(f"{','.join(row)}\n" for row in zip(*cells, strict=True))


def _texts(column: np.ndarray, cell: Callable[[object], str]) -> list[str]:
    cells: list[Any] = column.tolist()
    if set(map(type, cells)) != {str}:
        return list(map(cell, cells))
    by_text = {text: cell(text) for text in set(cells)}  # of sentences there are few
    return [by_text[text] for text in cells]


def csv_writer(columns: Columns, *, spreadsheet_safe: bool = False) -> Callable[[IO[str]], object]:
    """Return a writer of columns as CSV; numbers keep all their digits, NaN and None are blank.

    Parameters
    ----------
    columns
        The table.
    spreadsheet_safe
        Write an apostrophe before texts that a spreadsheet would take for a formula.

    Examples
    --------
    >>> import sys
    >>> _ = csv_writer({"item": np.array(["a", "b"]), "score": np.array([0.1, np.nan])})(sys.stdout)
    item,score
    a,0.1
    b,
    """
    cell = spreadsheet_cell if spreadsheet_safe else csv_cell

    def rows(start: int) -> str:
        part = slice(start, start + _AT_ONCE)
        return table_rows([column[part] for column in columns.values()], cell)

    def write(file: IO[str]) -> None:
        file.write(",".join(map(cell, columns)) + "\n")
        starts = range(0, max(map(len, columns.values()), default=0), _AT_ONCE)
        file.writelines(in_turn(rows, starts))

    return write


def json_writer(data: Any) -> Callable[[IO[str]], object]:
    """Return a writer of plain data as JSON; what is not a finite number becomes null.

    Examples
    --------
    >>> import sys
    >>> _ = json_writer({"kl": float("nan")})(sys.stdout)
    {
      "kl": null
    }
    """
    return lambda file: file.write(to_json(data) + "\n")


def to_json(data: Any) -> str:
    """Write plain data as JSON text.

    Examples
    --------
    >>> print(to_json([1, float("inf")]))
    [
      1,
      null
    ]
    """
    return json.dumps(_finite(data), indent=2, ensure_ascii=False, allow_nan=False)


def _finite(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    if isinstance(data, float):
        return data if np.isfinite(data) else None
    return data
