"""Rows and frames in memory: a first look at them, and their cells as JSON would hold them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from aggcal.io.formats._sample import Sample, of_records


def look_at(data: Any, *, tuples: bool) -> Sample:
    """Look at a frame or at rows; tuples are looked into only when the user named a format."""
    if isinstance(data, Mapping):
        columns = frozenset(str(name).strip().lower() for name in data)
        first = [list(column)[:20] for column in data.values()]
        rows = [dict(zip(data, row, strict=True)) for row in zip(*first, strict=False)]
        return replace(of_records("judgments", rows), columns=columns)
    if isinstance(data, list | tuple):
        mappings = bool(data) and isinstance(data[0], Mapping)
        return of_records("judgments", _plain_lists(data) if mappings or tuples else ())
    import narwhals as nw

    frame: Any = nw.from_native(data, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.head(20).collect()
    if not isinstance(frame, nw.DataFrame):
        return Sample("judgments")
    looked = of_records("judgments", list(frame.head(20).rows(named=True)))
    return replace(looked, columns=frozenset(str(c).strip().lower() for c in frame.columns))


def whole(texts: list[str]) -> list[str]:
    """Replace the halves of characters that are left where a tool cut a text.

    DuckDB refuses them, or (1.5) does nothing more on that connection.
    """
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return [t.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for t in texts]
    return texts


def native(value: Any) -> Any:
    """Return a cell of a frame as JSON would hold it: arrays as lists, NaN as nothing."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list):
        return [native(entry) for entry in value]
    if isinstance(value, Mapping):
        return {name: native(entry) for name, entry in value.items()}
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124


def _plain_lists(rows: Sequence[Any]) -> list[Any]:
    return [_listed(row) for row in rows[:50]]


def _listed(value: Any) -> Any:
    return [_listed(v) for v in value] if isinstance(value, list | tuple) else value


def frame_rows(data: Any) -> Iterator[dict[str, Any]]:
    """Go through a frame or a mapping of columns, lists in its cells as they are.

    Examples
    --------
    >>> list(frame_rows({"a": [1, 2], "b": ["x", "y"]}))
    [{'a': 1, 'b': 'x'}, {'a': 2, 'b': 'y'}]
    """
    if isinstance(data, Mapping):
        for row in zip(*data.values(), strict=True):
            yield dict(zip(data, row, strict=True))
        return
    import narwhals as nw

    frame: Any = nw.from_native(data, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    yield from frame.iter_rows(named=True)
