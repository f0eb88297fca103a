"""Frames: columns that are categorical have their codes already; texts are made so.

The libraries number texts themselves, quicker than anything that has to look at each cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, TextArray
from aggcal._core.tables import as_texts, frame_cells
from aggcal.io.duplicates import mixed
from aggcal.io.quick.keys import Codes, Keys
from aggcal.io.quick.merging import KeyArray
from aggcal.io.quick.numbering import Ids, Outcomes, numbered
from aggcal.io.quick.streams import NotPlain
from aggcal.io.quick.twins import Twins, number_of_twins
from aggcal.io.tables.source import present_columns

if TYPE_CHECKING:
    import duckdb

_AT_ONCE = 1 << 20
"""Rows whose keys are written at a time: fewer take longer, more take more memory."""
_EXACT = ("int8", "int16", "int32", "uint8", "uint16", "uint32", "float64")
"""Types of which every number is one of double precision, and written so as text."""


class Frame:
    """A frame whose judgments are read by the codes of its columns."""

    notes: tuple[str, ...] = ()
    weights_as_written = True

    def __init__(
        self,
        kernels: Any,
        connection: duckdb.DuckDBPyConnection,
        frame: Any,
        names: Mapping[str, str],
    ) -> None:
        self.kernels, self.connection, self._frame = kernels, connection, frame
        self.found = tuple(map(str, frame.columns))
        self.present = present_columns(self.found, names, "judgments")
        self.backend = frame.implementation.name.lower()

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        order = ("annotator", "left", "right", "winner", "loser", "outcome", "weight")
        return [name for name in order if name in self.present]

    def rows(self) -> int:
        """How many rows there are."""
        return len(self._frame)

    def keys(self, threads: int | None = None) -> Keys:  # noqa: ARG002  # as the other readers
        """Read the rows."""
        codes, columns, lists = self._coded
        keys = Keys(self.kernels, codes, self.rows(), weighted="weight" in self.present)
        if keys.weight is not None:
            keys.weight[:] = self._weights()
        for begin in range(0, self.rows(), _AT_ONCE):
            rows = slice(begin, begin + _AT_ONCE)
            part = [None if column is None else _as_codes(column[rows]) for column in columns]
            keys.fill(begin, part, lists)
        return keys

    def twins(self, repeated: KeyArray, threads: int | None = None) -> int:
        """Count the rows with one of these keys that repeat another one in every column."""
        found = Twins(self.kernels, repeated)
        rows, which = found.among(self.keys(threads))
        total = np.zeros(len(rows), dtype=np.int64)
        for column in frame_cells(self._frame[rows.tolist()].to_native()):
            cells = [hash(text) for text in as_texts(column)]
            total = mixed(total, np.array(cells, dtype=np.int64))
        return number_of_twins(which, total)

    @cached_property
    def _coded(self) -> tuple[Codes, list[np.ndarray | None], tuple[CodeArray | None, ...]]:
        """Give the categories of all columns their codes, those of both sides together."""
        who, one, other = (self._categorical(name) for name in self.columns[:3])
        annotators = numbered(self.connection, Ids, who[1])
        # A text that both sides have is one cell.
        place: dict[str | None, int] = {}
        cells = [place.setdefault(text, len(place)) for text in (*one[1], *other[1])]
        items = numbered(self.connection, Ids, np.array([*place], dtype=object))
        both = items.by_cell[cells]
        lists: list[CodeArray | None] = [
            annotators.by_cell, both[: len(one[1])], both[len(one[1]) :], None, None
        ]  # fmt: skip
        columns: list[np.ndarray | None] = [who[0], one[0], other[0], None, None]
        said = None
        if "outcome" in self.present:
            code, labels = self._categorical("outcome")
            if not np.bincount(code + 1, minlength=len(labels) + 1)[1:].all():
                raise NotPlain  # of a category without rows nothing is said
            columns[3] = code
            said = numbered(self.connection, Outcomes, labels)
            lists[3] = np.append(np.int32(said.missing), said.by_cell)
        return Codes(items, annotators, said), columns, tuple(lists)

    def _categorical(self, column: str) -> tuple[np.ndarray, TextArray]:
        """Return the codes of a column, -1 for no cell, and the text of each."""
        import narwhals as nw

        series = self._frame[:, self.present[column]]
        if series.dtype == nw.String:
            series = series.cast(nw.Categorical)
        elif series.dtype not in (nw.Categorical, nw.Enum):
            raise NotPlain
        native: Any = series.to_native()
        if self.backend == "pandas" and hasattr(native.dtype, "categories"):
            code, named = native.cat.codes.to_numpy(), native.cat.categories
        elif self.backend == "pyarrow":
            whole = native.unify_dictionaries().combine_chunks()
            whole = whole.chunk(0) if hasattr(whole, "chunk") else whole
            indices = whole.indices.cast("int64").fill_null(-1)
            code, named = indices.to_numpy(), whole.dictionary.to_pylist()
        elif self.backend == "polars":
            return _of_polars(native)
        else:
            raise NotPlain
        return code, as_texts(named)

    def _weights(self) -> FloatArray:
        series = self._frame[:, self.present["weight"]]
        if not series.dtype.is_numeric() or series.is_null().any():
            raise NotPlain
        numbers = np.asarray(series.to_numpy())
        if numbers.dtype.name not in _EXACT and numbers.dtype.name not in ("int64", "uint64"):
            raise NotPlain
        return numbers.astype(np.float64)


def _of_polars(series: Any) -> tuple[np.ndarray, TextArray]:
    """Return codes and texts of a categorical column; polars may number them among others'."""
    there = series.drop_nulls().unique()
    used = there.to_physical().to_numpy().astype(np.int64)
    place = np.full(int(used.max(initial=-1)) + 2, -1, dtype=np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    code = series.to_physical().cast(int).fill_null(-1).to_numpy()
    return place[code], as_texts(there.cast(str).to_list())


def _as_codes(column: np.ndarray) -> CodeArray:
    return np.ascontiguousarray(column, dtype=np.int32)
