"""What a query returns, batch by batch, where DuckDB wrote it: Arrow's C interface, no copy.

The interface is two structures and a few functions, so that no Arrow library is needed. A few rows
are copied instead: the part of DuckDB that offers the interface takes longer to load.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from aggcal._core.arrays import FloatArray

if TYPE_CHECKING:
    import duckdb


class NotPlain(Exception):  # noqa: N818  # no error: another reader takes over
    """A table holds what the quick readers leave to the one that can explain it."""


class _Array(ctypes.Structure):
    pass


class _Schema(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


_Released = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.POINTER(_Array)),
    ("release", _Released),
    ("private_data", ctypes.c_void_p),
]
_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.POINTER(_Schema)),
    ("release", _Released),
    ("private_data", ctypes.c_void_p),
]
_Asked = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_Stream._fields_ = [
    ("get_schema", _Asked),
    ("get_next", _Asked),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
    ("release", _Released),
    ("private_data", ctypes.c_void_p),
]

_pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)

_FEW = 100_000
"""Rows that are copied at most."""
_TYPES = {"I": np.uint32, "L": np.uint64, "g": np.float64}


class Column:
    """A column of a batch: addresses of its buffers, for a kernel."""

    def __init__(self, length: int, first: int, valid: int | None, *buffers: int | None) -> None:
        self.length, self.first = length, first
        self.valid = valid
        """Where the bits are that tell which cells are there; None if all are."""
        self._values, *self._bytes = buffers
        self._kept: np.ndarray | None = None

    @classmethod
    def of_arrow(cls, array: Any) -> Column:
        """Take a column of Arrow's, which is there as long as its batch."""
        valid, *others = (array.buffers[k] for k in range(array.n_buffers))
        return cls(
            int(array.length), int(array.offset), valid if array.null_count else None, *others
        )

    @classmethod
    def of_cells(cls, cells: Any, kind: str) -> Column:
        """Take a copied column of numbers; see `batches` for its kind."""
        if cells.dtype != _TYPES[kind] or hasattr(cells, "mask"):  # some are missing
            raise NotPlain
        found = cls(len(cells), 0, None, cells.ctypes.data)
        found._kept = cells
        return found

    def values(self, size: int) -> int:
        """Return the address of cells of so many bytes each."""
        return int(self._values or 0) + self.first * size

    @property
    def texts(self) -> tuple[int, int]:
        """Where the texts begin, as offsets of 32 bits, and the address of their bytes."""
        return self.values(4), int(self._bytes[0] or 0)

    def natural_numbers(self) -> npt.NDArray[np.uint64]:
        """Return a copy of cells that are natural numbers of 64 bits."""
        held = (ctypes.c_uint64 * self.length).from_address(self.values(8))
        return np.ctypeslib.as_array(held).copy()

    def all_there(self) -> bool:
        """Whether no cell is missing."""
        if self.valid is None:
            return True
        size = (self.first + self.length + 7) // 8
        held = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(self.valid))
        bits = np.unpackbits(held, bitorder="little")[self.first : self.first + self.length]
        return bool(bits.all())


class Batch:
    """Some rows of a result, in order; they are there until they are let go."""

    def __init__(self, columns: list[Column], begin: int, length: int, array: Any = None) -> None:
        self.columns, self.begin, self.length = columns, begin, length
        self._array = array

    @classmethod
    def of_arrow(cls, array: Any, begin: int) -> Batch:
        """Take a batch of Arrow's."""
        columns = [Column.of_arrow(array.children[k].contents) for k in range(array.n_children)]
        return cls(columns, begin, int(array.length), array)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.let_go()

    def __del__(self) -> None:
        self.let_go()  # one that nobody got to work on

    def let_go(self) -> None:
        """Give the memory back."""
        if self._array is not None and self._array.release:
            self._array.release(ctypes.addressof(self._array))


def batches(
    connection: duckdb.DuckDBPyConnection, query: str, kinds: str, rows: int = 0
) -> Iterator[Batch]:
    """Run a query and go through its batches, in the order of the rows.

    Parameters
    ----------
    connection, query
        What to ask, and where.
    kinds
        How Arrow writes the type of each column: I a natural number of 32 bits, L one of 64, g a
        number of double precision, u text.
    rows
        How many there are; where texts are asked for, that need not be known.

    Examples
    --------
    >>> import duckdb
    >>> found = batches(duckdb.connect(), "SELECT range::UBIGINT FROM range(5)", "L", 5)
    >>> [(batch.begin, batch.length) for batch in found]
    [(0, 5)]
    """
    if rows <= _FEW and "u" not in kinds:
        whole = _copied(connection, query, kinds)
        return iter([whole] if whole.length else [])
    return _streamed(connection, query, kinds)


def _copied(connection: duckdb.DuckDBPyConnection, query: str, kinds: str) -> Batch:
    """Return all rows as one batch."""
    names = ", ".join(f"k{k}" for k in range(len(kinds)))
    found = connection.execute(f"SELECT * FROM ({query}) AS found({names})").fetchnumpy()
    columns = [Column.of_cells(found[f"k{k}"], kind) for k, kind in enumerate(kinds)]
    return Batch(columns, 0, columns[0].length)


def _streamed(connection: duckdb.DuckDBPyConnection, query: str, kinds: str) -> Iterator[Batch]:
    import duckdb  # noqa: F401  # from version 2 on it is this that adds relations to a connection

    capsule = connection.sql(query).__arrow_c_stream__(None)
    address = _pointer_in(capsule, b"arrow_array_stream")
    stream = _Stream.from_address(address)
    if _formats(stream, address) != list(kinds):
        raise NotPlain
    begin = 0
    while True:
        array = _Array()
        if stream.get_next(address, ctypes.addressof(array)):
            said = stream.get_last_error(address) or b""
            if b"nterrupt" in said:
                raise KeyboardInterrupt
            raise NotPlain(said.decode(errors="replace"))
        if not array.release:
            return
        yield Batch.of_arrow(array, begin)
        begin += int(array.length)


def _formats(stream: Any, address: int) -> list[str]:
    schema = _Schema()
    if stream.get_schema(address, ctypes.addressof(schema)):
        raise NotPlain
    try:
        children = (schema.children[k].contents for k in range(schema.n_children))
        return [child.format.decode() for child in children]
    finally:
        with suppress(TypeError):
            schema.release(ctypes.addressof(schema))


def take_numbers(column: Column, to: FloatArray) -> None:
    """Copy a column of numbers, none of which may be missing."""
    if not column.all_there() or column.length != len(to):
        raise NotPlain
    source = (ctypes.c_double * column.length).from_address(column.values(8))
    to[:] = np.ctypeslib.as_array(source)
