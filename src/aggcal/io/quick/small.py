"""Small plain tables of judgments, read without DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aggcal._core.arrays import CodeArray
from aggcal._core.kernels import library
from aggcal.data.judgments import Judgments
from aggcal.errors.voice import spoken
from aggcal.io.quick.keys import Codes, Keys, judgments_of
from aggcal.io.quick.numbering import Ids, Kind, Outcomes, Weights, plainly
from aggcal.io.quick.streams import NotPlain
from aggcal.io.rows import SHAPES
from aggcal.io.tables.cells import Cells, is_own_table, small_cells
from aggcal.registry import TABLE

_NAMES = {
    name: name for name in ("annotator", "left", "right", "outcome", "winner", "loser", "weight")
}


def small_judgments(data: Any, left_out: Sequence[str] = ()) -> Judgments | None:
    """Read a small table that has no columns but ours; None for all others.

    Parameters
    ----------
    data
        A path, or rows or columns in memory.
    left_out
        What is told of files that were not read.

    Examples
    --------
    >>> small_judgments([("ann", "a", "b"), ("bob", "b", "c")])
    Judgments(3 items, 2 annotators, 2 judgments)
    >>> small_judgments([("ann", "a", " ")]) is None
    True
    """
    kernels = library()
    if kernels is None:
        return None
    cells = small_cells(data, _NAMES, "judgments", SHAPES)
    if cells is None or not is_own_table(cells.columns.keys()) or _has_more(cells):
        return None
    try:
        return _read(kernels, cells, left_out)
    except NotPlain:
        return None


def _has_more(cells: Cells) -> bool:
    """Whether there are no rows, other columns, or one that may hold both items, as 'a vs b'."""
    both = any(not column or " v" in column[0].lower() for column in cells.columns.values())
    return both or len(cells.found) > len(cells.columns)


def _read(kernels: Any, cells: Cells, left_out: Sequence[str]) -> Judgments:
    texts = cells.columns
    sided, weighted = "outcome" in texts, "weight" in texts
    left, right = (texts[name] for name in (("left", "right") if sided else ("winner", "loser")))
    annotators, who = _coded(Ids, texts["annotator"])
    items, both = _coded(Ids, left + right)
    said = weights = None
    columns: list[CodeArray | None] = [None] * 5
    columns[:3] = who, both[: len(left)], both[len(left) :]
    if sided:
        said, columns[3] = _coded(Outcomes, texts["outcome"])
    codes = Codes(items, annotators, said)
    as_written = codes.as_written
    if weighted:
        weights, columns[4] = _coded(Weights, texts["weight"])
        codes = codes.with_weights(weights.values)
        as_written = as_written and weights.as_written
    keys = Keys(kernels, codes, len(left), weighted=weighted)
    if weights is not None and keys.weight is not None:
        keys.weight[:] = weights.values[columns[4]]
        columns[4] = None
    keys.fill(0, columns)
    keys.recognise_acts("information")
    merged = keys.merged(1)
    if weighted and merged.again and not as_written:
        raise NotPlain  # whether rows are duplicates, their cells tell
    return judgments_of(
        keys,
        merged,
        source=Path(cells.name).name if cells.text else cells.name,
        backend=None,
        sided=sided,
        format=TABLE.name,
        notes=tuple(map(spoken, dict.fromkeys(left_out))),
        duplicates=merged.again if weighted else None,
    )


def _coded(kind: type[Kind], column: list[str]) -> tuple[Kind, CodeArray]:
    """Give the different cells of a column their codes, and each cell that of its text."""
    different: list[str] = list(dict.fromkeys(column))
    found: Kind | None = plainly(kind, different)
    if found is None:
        raise NotPlain
    code = dict(zip(different, found.by_cell.tolist(), strict=True))
    return found, np.array(list(map(code.__getitem__, column)), dtype=np.int32)
