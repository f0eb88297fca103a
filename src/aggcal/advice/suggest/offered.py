"""The items of which pairs are made, where the judgments do not tell them all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aggcal._core.arrays import TextArray
from aggcal._core.tables import as_text
from aggcal.data.scores import Scores
from aggcal.errors import OptionError
from aggcal.io.items import read_items


def offered(scores: Scores | None, further: TextArray) -> TextArray:
    """Return the items of a study that nobody has judged, each once."""
    return as_text(dict.fromkeys([*([] if scores is None else scores.item_ids), *further]))


def ids_of(items: Any) -> TextArray:
    """Return the ids of further items, from a list, a path or a table.

    Examples
    --------
    >>> ids_of(["a", "b"])
    array(['a', 'b'], dtype=object)
    """
    if items is None:
        return as_text([])
    if isinstance(items, list | tuple | np.ndarray) and all(isinstance(x, str) for x in items):
        return as_text(items)
    if isinstance(items, str | Path) or not isinstance(items, Sequence):
        return read_items(items)
    raise OptionError("items are given as a list of ids, a path, or a table with a column 'item'.")
