"""Columns of Parquet in the memory of the GPU, by cuDF: ten times as fast as by the processors.

cuDF is optional (the extra ``cudf``); it decodes the files, and numbers the different cells of a
column, on the device.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np

from aggcal._core.arrays import TextArray
from aggcal.io.quick.carded import Cells
from aggcal.io.quick.streams import NotPlain


def card() -> CardColumns | None:
    """Return what reads Parquet on the GPU; None where cuDF is not installed.

    Examples
    --------
    >>> found = card()
    >>> found is None or hasattr(found, "columns")
    True
    """
    return CardColumns() if find_spec("pylibcudf") and find_spec("cupy") else None


class CardColumns:
    """Reads columns into the memory of the GPU."""

    @property
    def arrays(self) -> Any:
        """CuPy."""
        import cupy

        return cupy

    def columns(self, files: Sequence[str], names: Sequence[str]) -> list[Cells]:
        """Read columns of files, one after the other."""
        import pylibcudf

        parquet = pylibcudf.io.parquet
        source = pylibcudf.io.SourceInfo(list(files))
        options = parquet.ParquetReaderOptions.builder(source).column_names(list(names)).build()
        with _memory():
            read = parquet.read_parquet(options)
            if read.column_names() != list(names) or any(c.null_count() for c in read.columns):
                raise NotPlain
            given = list(read.columns)
            del read
            # Each column is let go as soon as it is numbered: texts take most of the memory.
            return [self._numbered(given.pop(0)) for _ in names]

    def back(self, array: Any) -> Any:
        """Copy an array from the GPU."""
        return array.get()

    def _numbered(self, column: Any) -> Cells:
        import pylibcudf

        keys, code = pylibcudf.transform.encode(pylibcudf.Table([column]))
        (different,) = keys.columns()
        own = self._held(code, np.dtype(np.int32)).copy()  # in CuPy's memory, which stays
        return Cells(different.size(), partial(_texts, *self._back(different)), own)

    def _back(self, column: Any) -> tuple[Any, Any]:
        """Copy different cells: letters and where texts begin among them, or numbers and None."""
        import pylibcudf

        kind = column.type().id()
        if kind == pylibcudf.TypeId.STRING:
            ends, letters = column.child(0), np.dtype(np.uint8)
            size = np.dtype(np.int64 if ends.type().id() == pylibcudf.TypeId.INT64 else np.int32)
            return self.back(self._held(column, letters)), self.back(self._held(ends, size))
        return self.back(self._held(column, np.dtype(kind.name.lower()))), None

    def _held(self, column: Any, kind: Any) -> Any:
        """Return the memory of a column as an array of CuPy."""
        xp, span = self.arrays, column.data()
        if span is None or column.offset():
            raise NotPlain
        memory = xp.cuda.UnownedMemory(span.ptr, span.size, span)
        pointer = xp.cuda.MemoryPointer(memory, 0)
        return xp.ndarray(span.size // kind.itemsize, kind, pointer)


def _texts(letters: Any, ends: Any) -> TextArray:
    """Return texts that lie one after the other, or numbers as texts."""
    if ends is None:
        found = [repr(cell) for cell in letters.tolist()]
    else:
        whole, cuts = letters.tobytes(), list(pairwise(ends.tolist()))
        if whole.isascii():
            text = whole.decode("ascii")
            found = [text[begin:end] for begin, end in cuts]
        else:
            found = [whole[begin:end].decode() for begin, end in cuts]
    cells: TextArray = np.empty(len(found), dtype=object)
    cells[:] = found
    return cells


@contextmanager
def _memory() -> Iterator[None]:
    """Give cuDF memory that is handed back afterwards: the fit needs it."""
    from rmm import mr

    before = mr.get_current_device_resource()
    mr.set_current_device_resource(mr.CudaAsyncMemoryResource())
    try:
        yield
    finally:
        mr.set_current_device_resource(before)
