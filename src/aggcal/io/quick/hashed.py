"""Parquet: DuckDB hashes the ids where they lie, and a table of all ids gives hashes their codes.

One scan finds the different ids, a second one streams the hashes of every row. Ids of the same
hash, and hashes that the first scan has not seen (another program wrote the file in between), are
left to the reader that compares texts.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from aggcal._core.arrays import CodeArray
from aggcal._core.kernels import at
from aggcal._core.kernels.threads import in_turn
from aggcal.io.quick.keys import Codes, Keys
from aggcal.io.quick.merging import KeyArray
from aggcal.io.quick.numbering import Ids, Outcomes, Weights, trimmed
from aggcal.io.quick.streams import Batch, NotPlain, batches, take_numbers
from aggcal.io.quick.twins import Twins
from aggcal.io.tables.parquet import Described, text_of
from aggcal.io.tables.source import cell

if TYPE_CHECKING:
    import duckdb

_HASH = "hash({})"
_NESTED = ("STRUCT", "MAP", "UNION")
EXACT = ("DOUBLE", "TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER")
"""Types of which every number is one of double precision."""
_FEW_IDS = 1 << 15
"""Ids whose hashes are tried with 32 bits, which take half the memory on the way out of DuckDB; of
more ids two would have the same ones soon."""
MOST_WEIGHTS = 1 << 12
"""Different weights that have codes in keys; more would widen keys by more than they save."""
_NUMBERS = (*EXACT, "FLOAT", "BIGINT", "UBIGINT")


class _Table(NamedTuple):
    """The codes of hashes, for a kernel."""

    places: np.ndarray
    bits: int
    short: bool
    """Whether the upper halves of the hashes are enough to tell them apart."""


class Hashed:
    """A table of Parquet whose judgments are read by hashes."""

    def __init__(
        self,
        kernels: Any,
        connection: duckdb.DuckDBPyConnection,
        table: Described,
        pair: tuple[str, str],
    ) -> None:
        self.kernels, self.connection, self.table = kernels, connection, table
        self.columns = ["annotator", *pair]
        self.columns += [name for name in ("outcome", "weight") if name in table.present]
        self.found = table.found
        self.notes: tuple[str, ...] = ()
        self._outcome, self._weight = "outcome" in self.columns, "weight" in self.columns
        used = [table.kinds[k] for k in table.present.values()]
        nested = any(kind.endswith("]") or kind.startswith(_NESTED) for kind in used)
        if nested or self._kind(pair[0]) != self._kind(pair[1]):
            raise NotPlain
        self.backend: str | None = None
        self.weights_as_written = not self._weight or self._kind("weight") in _NUMBERS

    def _kind(self, column: str) -> str:
        return self.table.kinds[self.table.present[column]]

    def _cell(self, column: str) -> str:
        return cell(self.table.found[self.table.present[column]])

    def rows(self) -> int:
        """How many rows there are, which Parquet tells without being read."""
        found = self.connection.execute(f"SELECT count(*) FROM {self.table.relation}").fetchall()
        return int(found[0][0])

    def keys(self, threads: int | None = None) -> Keys:
        """Read the rows."""
        keys = Keys(self.kernels, self._coded[0], self.rows(), weighted=self._weight)

        def fill(batch: Batch) -> int:
            with batch:
                return self._fill(keys, batch, batch.begin)

        self._each(fill, self._query(), threads)
        return keys

    def twins(self, repeated: KeyArray, threads: int | None = None) -> int:
        """Count the rows with one of these keys that repeat another one in every column."""
        found = Twins(self.kernels, repeated)

        def take(batch: Batch) -> int:
            with batch:
                part = Keys(self.kernels, self._coded[0], batch.length, weighted=self._weight)
                self._fill(part, batch, 0)
                return found.take(part, batch.columns[-1].natural_numbers())

        self._each(take, self._query(self.table.everything), threads)
        return found.number

    def _each(
        self, work: Callable[[Batch], int], query: tuple[str, str], threads: int | None
    ) -> None:
        rows = self.rows()
        found = batches(self.connection, *query, rows)
        if sum(map(work, found) if threads == 1 else in_turn(work, found)) != rows:
            raise NotPlain

    @cached_property
    def _coded(self) -> tuple[Codes, list[_Table | None]]:
        """The codes of the different cells of each column, and tables of their hashes."""
        annotator, left, right = self.columns[:3]
        items = " UNION ALL ".join(f"SELECT * FROM {self._cells(side)}" for side in (left, right))
        with ExitStack() as stack:
            held = partial(self._held, stack)
            code = _HASH.format("raw")
            who = held("annotators", self._cells(annotator))
            annotators = Ids.of(self.connection, who, self._text(annotator), code)
            what = held("items", f"(SELECT DISTINCT raw FROM ({items}))")
            found = Ids.of(self.connection, what, self._text(left), code)
            said = None
            if self._outcome:
                labels = held("outcomes", self._cells("outcome"))
                said = Outcomes.of(self.connection, labels, self._text("outcome"), code)
            codes, weights = Codes(found, annotators, said), None
            if self._weight:
                measured = held("weights", self._cells("weight"), MOST_WEIGHTS + 1)
                if self._number(measured) <= MOST_WEIGHTS:
                    weights = Weights.of(self.connection, measured, self._text("weight"), code)
                    codes = codes.with_weights(weights.values)
                    self.weights_as_written = weights.as_written
        tables: list[_Table | None] = [self._table(annotators), *[self._table(found)] * 2]
        tables.append(None if said is None else self._table(said))
        coded = None if codes.weights is None else weights
        tables.append(None if coded is None else self._table(coded))
        return codes, tables

    def _number(self, cells: str) -> int:
        return int(self.connection.execute(f"SELECT count(*) FROM {cells}").fetchall()[0][0])

    def _held(self, stack: ExitStack, name: str, cells: str, most: int | None = None) -> str:
        """Keep different cells in a table: they are asked for more than once."""
        name, limit = f"quick_{name}", "" if most is None else f" LIMIT {most}"
        self.connection.execute(f"CREATE TEMP TABLE {name} AS SELECT raw FROM {cells}{limit}")
        stack.callback(self.connection.execute, f"DROP TABLE {name}")
        return name

    def _cells(self, column: str) -> str:
        return f"(SELECT DISTINCT {self._cell(column)} AS raw FROM {self.table.relation})"

    def _text(self, column: str) -> str:
        return text_of("raw", self._kind(column))

    def _table(self, coded: Ids | Outcomes | Weights) -> _Table:
        # Places to spare save looks beside the first; in a large table they leave the cache.
        spare = 8 if len(coded.code) <= _FEW_IDS // 8 else 2
        bits = (spare * len(coded.code) + 1).bit_length()
        places = np.zeros((1 << bits, 2), dtype=np.uint64)
        hashes = np.ascontiguousarray(coded.cell, dtype=np.uint64)
        upper = hashes >> np.uint64(32)
        short = len(hashes) <= _FEW_IDS and len(np.unique(upper)) == len(hashes)
        hashes = upper if short else hashes
        if self.kernels.aggcal_hash_table(len(hashes), *at(hashes, coded.code), bits, *at(places)):
            raise NotPlain  # two of the same hash
        return _Table(places, bits, short=short)

    def _query(self, more: str = "") -> tuple[str, str]:
        """Write the SQL of what is read of each row, and the kinds of its columns."""
        coded = self._coded[0].weights is not None
        hashed = [column for column in self.columns if coded or column != "weight"]
        tables = [table for table in self._coded[1] if table is not None]
        each = [(_HASH.format(self._cell(c)), t) for c, t in zip(hashed, tables, strict=True)]
        cells = [f"({cell} >> 32)::UINTEGER" if table.short else cell for cell, table in each]
        kinds = "".join("I" if table.short else "L" for table in tables)
        if self._weight and not coded:
            kind, weight = self._kind("weight"), self._cell("weight")
            text = trimmed(text_of(weight, kind))
            cells.append(f"{weight}::DOUBLE" if kind in EXACT else f"try_cast({text} AS DOUBLE)")
            kinds += "g"
        cells += [more] if more else []
        return f"SELECT {', '.join(cells)} FROM {self.table.relation}", kinds + "L" * bool(more)

    def _fill(self, keys: Keys, batch: Batch, begin: int) -> int:
        columns: list[CodeArray | None] = [None] * 5
        room, given = keys.scratch.codes(batch.length), iter(batch.columns)
        for k, table in enumerate(self._coded[1]):
            if table is None:
                continue
            code = columns[k] = room[k]
            kernel = self.kernels.aggcal_look_up
            hashes = next(given).values(4 if table.short else 8)
            if table.short:
                kernel = self.kernels.aggcal_look_up_short
            if kernel(batch.length, hashes, table.bits, *at(table.places, code)):
                raise NotPlain
        if keys.weight is not None:
            take_numbers(next(given), keys.weight[begin : begin + batch.length])
        keys.fill(begin, columns)
        return batch.length
