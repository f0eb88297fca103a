"""How a cell of a table is written as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from aggcal._core.written import is_written, written

_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""How a cell begins that some spreadsheet takes for a formula (OWASP's list, wide forms too)."""
_NEEDS_QUOTES = re.compile(r'[",\r\n]')


def csv_cell(value: object) -> str:
    r"""Write a cell of a CSV file, in quotation marks if it needs them.

    Python's own writer does not quote a lone CR, and then no reader finds the row again.

    Examples
    --------
    >>> csv_cell("a"), csv_cell('an "a" here'), csv_cell("a\rb"), csv_cell(None)
    ('a', '"an ""a"" here"', '"a\rb"', '')
    """
    # A text may hold a NUL, a CSV may not.
    text = "" if value is None else str(value).replace("\0", "\ufffd")
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
    held = [column if is_written(column) else _texts(column, cell) for column in columns]
    found = written(held)
    if found is not None:
        return found
    texts = [each if isinstance(each, list) else _numbers(each) for each in held]
    return "".join(f"{','.join(row)}\n" for row in zip(*texts, strict=True))


def _numbers(column: np.ndarray) -> list[str]:
    """Write numbers with all their digits, and nothing for NaN."""
    texts = list(map(repr, column.tolist()))
    for k in np.flatnonzero(np.isnan(column)).tolist() if column.dtype.kind == "f" else ():
        texts[k] = ""
    return texts


def _texts(column: np.ndarray, cell: Callable[[object], str]) -> list[str]:
    """Write the cells of a column that is not of numbers alone."""
    cells: list[Any] = column.tolist()
    if set(map(type, cells)) != {str}:
        return list(map(cell, cells))
    if cell is csv_cell:
        # Few tables have a text that needs quotation marks: one look at all of them tells.
        together = "".join(cells)
        if "\0" not in together and not _NEEDS_QUOTES.search(together):
            return cells
    known = {text: cell(text) for text in set(cells)}  # of sentences there are few
    return [known[text] for text in cells]
