"""Tables in the shape the user brought them: pandas, polars, arrow, or plain columns."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, TextArray
from aggcal._core.frames import PLAIN, library_of
from aggcal._core.positions import positions
from aggcal.errors import TableError

Columns: TypeAlias = dict[str, np.ndarray]

_EXACT = 2.0**53  # beyond it a float does not hold every whole number


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


def frame_columns(data: Any, wanted: Container[str]) -> tuple[Columns, str, list[str]] | None:
    """Take the wanted columns out of a data frame, whatever library made it.

    Returns the columns (by their lower-case names), the name of the library and all the
    column names there are; None when ``data`` is not a data frame.
    """
    if isinstance(data, Mapping | list | tuple):
        return None
    import narwhals as nw

    frame: Any = nw.from_native(data, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        return None
    columns: Columns = {}
    for name in frame.columns:
        key = str(name).strip().lower()
        if key in wanted:
            if key in columns:
                raise TableError(f"column '{key}' occurs twice in the data frame; rename one.")
            columns[key] = _series(frame[name])
    return columns, frame.implementation.name.lower(), [str(c) for c in frame.columns]


def _series(series: Any) -> np.ndarray:
    if series.dtype.is_numeric() and not series.is_null().any():
        numbers = np.asarray(series.to_numpy())
        return numbers.astype(np.int64) if _are_whole(numbers) else numbers
    missing = series.is_null().to_list()
    values = zip(series.to_list(), missing, strict=True)
    return _objects(None if gone else value for value, gone in values)


def _are_whole(numbers: np.ndarray) -> bool:
    # Beyond 2^53 a float no longer tells which whole number it was.
    whole: bool = numbers.dtype.kind == "f" and bool(
        np.all((np.abs(numbers) < _EXACT) & (numbers == np.trunc(numbers)))
    )
    return whole


def cell_text(value: object) -> str | None:
    """Write a cell as text: a list or a mapping as JSON, a number without a needless fraction.

    A column of ids turns into floats as soon as one is missing; they are still the same ids.

    Examples
    --------
    >>> cell_text(3.0), cell_text(2.5), cell_text(["a", 1]), cell_text(float("nan"))
    ('3', '2.5', '["a", 1]', None)
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or value != value:  # noqa: PLR0124  # NaN
        return None
    if isinstance(value, float) and abs(value) < _EXACT and value.is_integer():
        return str(int(value))
    if isinstance(value, list | tuple | Mapping):
        return json.dumps(value, ensure_ascii=False, default=_plain)
    return str(value)


def _plain(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def row_columns(
    rows: Iterable[Any], shapes: Mapping[int, Sequence[str]], what: str
) -> tuple[Columns, list[str]]:
    """Turn rows (tuples of a known length, or mappings) or a mapping of columns into columns.

    Parameters
    ----------
    rows
        An iterable of tuples or of mappings, or one mapping of column name to values.
    shapes
        The column names that tuples of each length have.
    what
        What the rows are, for the error message.

    Examples
    --------
    >>> columns, _ = row_columns([("a", 1.5)], {2: ("item", "score")}, "scores")
    >>> columns["score"]
    array(['1.5'], dtype=object)
    """
    if isinstance(rows, Mapping):
        columns = {str(k).strip().lower(): _objects(v) for k, v in rows.items()}
        if len({len(c) for c in columns.values()}) > 1:
            lengths = ", ".join(f"{k}: {len(c)}" for k, c in columns.items())
            raise TableError(f"the columns of the {what} differ in length ({lengths}).")
        return columns, [str(k) for k in rows]
    every = list(rows)
    if not every:
        raise TableError(f"the {what} are empty: there is no row to read.")
    if isinstance(every[0], Mapping):
        names = list(dict.fromkeys(str(k) for row in every for k in row))
        return {n.strip().lower(): _objects([r.get(n) for r in every]) for n in names}, names
    names = list(shapes.get(len(every[0]), ()))
    if not names:
        known = " or ".join(f"({', '.join(s)})" for s in shapes.values())
        raise TableError(f"row 1 of the {what} has {len(every[0])} values; give {known}.")
    ragged = next((k for k, row in enumerate(every, 1) if len(row) != len(names)), None)
    if ragged is not None:
        raise TableError(
            f"row {ragged} of the {what} has {len(every[ragged - 1])} values, the first row has "
            f"{len(names)}; give every row the same columns."
        )
    return {n: _objects(c) for n, c in zip(names, zip(*every, strict=True), strict=True)}, names


def as_texts(values: Iterable[object]) -> TextArray:
    """Return cells as text, None where there is nothing.

    Examples
    --------
    >>> as_texts([3.0, "a", None])
    array(['3', 'a', None], dtype=object)
    """
    return _objects(values)


def frame_cells(data: Any) -> Iterator[Iterable[object]]:
    """Go through all columns of a data frame."""
    import narwhals as nw

    frame: Any = nw.from_native(data, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    for k in range(frame.shape[1]):
        yield _series(frame[:, k])


def _objects(values: Iterable[object]) -> TextArray:
    # Most cells are text already, and a table may have millions.
    texts = [value if type(value) is str else cell_text(value) for value in values]
    array: TextArray = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array
