"""Small plain tables of numbers, one row per item, read without DuckDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from aggcal._core.arrays import FloatArray, TextArray
from aggcal._core.tables import as_text
from aggcal.data.scores import LARGEST
from aggcal.io.formats._sheets import SUMMARIES
from aggcal.io.tables.cells import PLAIN_NUMBER, Cells, small_cells


class SmallItems(NamedTuple):
    """The ids and the columns of a small table, all of them plain."""

    cells: Cells
    item_ids: TextArray
    numbers: dict[str, FloatArray]
    """By the reader's own names; NaN where a cell is blank."""


def small_items(
    data: Any,
    wanted: Mapping[str, str],
    what: str,
    shapes: Mapping[int, Sequence[str]],
    *,
    columns: Sequence[str],
    blank: bool = False,
) -> SmallItems | None:
    """Read a small table with a column ``item`` and columns of numbers; None if it is not plain.

    Parameters
    ----------
    data, wanted, what, shapes
        As for `aggcal.io.tables.opening.opened`.
    columns
        The reader's own names of the columns that hold numbers, where they are there.
    blank
        Whether a number may be blank.

    Examples
    --------
    >>> wanted = {"item": "item", "score": "value"}
    >>> how = {"columns": ["value"]}
    >>> small_items({"item": ["a"], "score": [2.5]}, wanted, "scores", {}, **how).numbers
    {'value': array([2.5])}
    >>> small_items({"item": ["a"], "score": ["1,5"]}, wanted, "scores", {}, **how) is None
    True
    """
    cells = small_cells(data, wanted, what, shapes)
    if cells is None or not _are_plain(cells.columns.get("item", [])):
        return None
    found: dict[str, FloatArray] = {}
    for name in columns:
        if name in cells.columns:
            numbers = _numbers(cells.columns[name], blank=blank)
            if numbers is None:
                return None
            found[name] = numbers
    return SmallItems(cells, as_text(cells.columns["item"]), found)


def _are_plain(items: Sequence[str]) -> bool:
    """Whether ids are all different, as they are shown, and none is what a spreadsheet made."""
    return 0 < len(items) == len({*items}) and all(map(_is_plain, items))


def _is_plain(text: str) -> bool:
    if not text.isprintable() or not text or text.strip() != text:
        return False
    if text[0] in "#0123456789":  # errors, and long numbers that were abbreviated
        return text.isdecimal()
    return text.lower().strip(" :") not in SUMMARIES


def _numbers(cells: Sequence[str], *, blank: bool) -> FloatArray | None:
    """Return plain numbers; the last may not be blank, as that of a note below a table is."""
    there = [text for text in cells if text] if blank and cells[-1] else cells
    if not all(map(PLAIN_NUMBER.fullmatch, there)):
        return None
    numbers = np.array([float(text) if text else np.nan for text in cells])
    return None if (np.abs(numbers) > LARGEST).any() else numbers
