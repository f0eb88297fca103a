"""Data frames of pandas, Polars and Arrow, by their own codes where they have some."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from aggcal.errors import TableError
from aggcal.io.columns import Column
from aggcal.io.tables import LOOKED_AT, Table, text_of


def of_frame(data: Any, what: str) -> Table:
    """Open a data frame; refuse what is none."""
    import narwhals as nw

    frame: Any = nw.from_native(data, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        raise TableError(
            f"{what} cannot be read from {type(data).__name__!r}; give a path, a pandas, "
            "polars or arrow frame, or a list of rows."
        )
    return Frame(what, frame)


class Frame(Table):
    """A data frame."""

    def __init__(self, what: str, frame: Any) -> None:
        super().__init__(
            what, [*map(str, frame.columns)], frame, backend=frame.implementation.name.lower()
        )

    @cached_property
    def head(self) -> list[dict[str, Any]]:
        """The first rows, under small letters."""
        rows = self.rows.head(LOOKED_AT).iter_rows(named=True)
        return [{str(k).strip().lower(): _native(v) for k, v in row.items()} for row in rows]

    def load(self, names: Iterable[str]) -> dict[str, Column]:
        """Return columns by their names in small letters."""
        return {n: _column(self.rows[self.columns[n]]) for n in names}

    def records(self) -> Iterator[tuple[str, Any]]:
        """Go through the rows, with their places."""
        for k, row in enumerate(self.rows.iter_rows(named=True)):
            yield self.place(k), {str(n): _native(v) for n, v in row.items()}

    def whole(self, rows: np.ndarray) -> list[Any]:
        """Return what tells rows apart by all their columns."""
        return [repr(row) for row in self.rows[rows].iter_rows()]


def _column(series: Any) -> Column:
    """Return a series as a column, by the codes that its library gives it."""
    native, library = series.to_native(), series.implementation.name.lower()
    try:
        if library == "pandas":
            codes, distinct = native.factorize()
            values = distinct.tolist()
        elif library == "pyarrow":
            encoded = native.combine_chunks().dictionary_encode()
            values = encoded.dictionary.to_pylist()
            codes = encoded.indices.fill_null(-1).to_numpy(False)  # noqa: FBT003
        else:
            distinct = native.unique(maintain_order=True)
            values = distinct.to_list()
            numbers = distinct.to_frame("value").with_row_index("code")
            pairs = native.to_frame("value").with_row_index("row").join(numbers, "value", "left")
            codes = pairs.sort("row")["code"].cast(int).fill_null(-1).to_numpy()
    except Exception:  # noqa: BLE001  # lists and mappings have no codes, and each library says so
        return Column.of(map(text_of, series.to_list()))
    return Column.tidy([text_of(value) for value in values], codes)


def _native(value: Any) -> Any:
    """Return a cell as JSON would hold it."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list):
        return [_native(one) for one in value]
    if isinstance(value, Mapping):
        return {key: _native(one) for key, one in value.items()}
    return None if value != value else value  # noqa: PLR0124  # NaN
