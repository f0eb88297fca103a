"""Tables in the shape the user brought them: pandas, polars, arrow, or plain columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, TextArray
from aggcal._core.frames import PLAIN, library_of

Columns: TypeAlias = dict[str, np.ndarray]


def as_frame(columns: Columns, backend: str | None) -> Any:
    """Give ``columns`` back as a frame, or as they are (see `library_of` for ``backend``).

    Examples
    --------
    >>> as_frame({"item": np.array(["a"], dtype=object)}, "columns")
    {'item': array(['a'], dtype=object)}
    """
    library: Any = library_of(backend)
    if library == PLAIN:
        return columns
    import narwhals as nw

    data = {name: cells(column) for name, column in columns.items()}
    return nw.from_dict(data, backend=library).to_native()


def cells(column: np.ndarray) -> list[Any]:
    """Return a column as a list in which None stands for what is not there.

    Examples
    --------
    >>> cells(np.array([1.0, np.nan]))
    [1.0, None]
    """
    values: list[Any] = column.tolist()
    if column.dtype.kind == "f" and np.isnan(column).any():
        return [None if value != value else value for value in values]  # noqa: PLR0124  # NaN
    return values


def as_text(labels: Iterable[object]) -> TextArray:
    """Return an object array of ``str``: NumPy's own text arrays would pad and truncate.

    Examples
    --------
    >>> as_text([1, "b"])
    array(['1', 'b'], dtype=object)
    """
    # Most are text already, and there may be millions: of a list, Python asks them sooner.
    if isinstance(labels, np.ndarray) and set(map(type, labels.tolist())) <= {str}:
        return labels.astype(object)
    texts = [str(label) for label in labels]
    array: TextArray = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array


def positions(ids: Sequence[str] | TextArray, among: Sequence[str] | TextArray) -> IntArray:
    """Return where each id is among others, −1 where it is not.

    Examples
    --------
    >>> positions(["b", "c"], ["a", "b"])
    array([ 1, -1])
    """
    lookup = dict(zip(among, range(len(among)), strict=True))
    return np.fromiter(map(lookup.get, ids, repeat(-1)), np.int64, len(ids))


def aligned(values: FloatArray, ids: Sequence[str] | TextArray, to: TextArray) -> FloatArray:
    """Reorder ``values`` of ``ids`` to the ids of ``to``; NaN where an id has none.

    Examples
    --------
    >>> aligned(np.array([1.0, 2.0]), ["a", "b"], as_text(["b", "c"]))
    array([ 2., nan])
    """
    return taken(values, positions(to, ids))


def taken(values: FloatArray, where: IntArray) -> FloatArray:
    """Return the values at some positions; NaN where a position is −1.

    Examples
    --------
    >>> taken(np.array([1.0, 2.0]), np.array([1, -1]))
    array([ 2., nan])
    """
    there = where >= 0
    if there.all():
        return np.asarray(values[where], dtype=np.float64)
    found = np.full(len(where), np.nan)
    found[there] = values[where[there]]
    return found
