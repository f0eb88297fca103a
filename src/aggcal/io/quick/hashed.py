"""Parquet: DuckDB hashes the ids where they lie, and a table of all ids gives hashes their codes.

One scan finds the different ids, a second one streams the hashes of every row. Ids of the same
hash, and hashes that the first scan has not seen (another program wrote the file in between), are
left to the reader that compares texts.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from aggcal._core.arrays import CodeArray
from aggcal._core.kernels import at
from aggcal._core.kernels.threads import in_turn
from aggcal.io.quick.keys import Codes, Keys
from aggcal.io.quick.merging import KeyArray
from aggcal.io.quick.numbering import Ids, Outcomes, trimmed
from aggcal.io.quick.streams import Batch, NotPlain, batches, take_numbers
from aggcal.io.quick.twins import Twins
from aggcal.io.tables.parquet import Described, text_of
from aggcal.io.tables.source import cell

if TYPE_CHECKING:
    import duckdb

_HASH = "hash({})"
_NESTED = ("STRUCT", "MAP", "UNION")
_EXACT = ("DOUBLE", "TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER")
"""Types of which every number is one of double precision."""
_NUMBERS = (*_EXACT, "FLOAT", "BIGINT", "UBIGINT")


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
                return found.take(part.key, batch.columns[-1].natural_numbers())

        self._each(take, self._query(self.table.everything), threads)
        return found.number

    def _each(
        self, work: Callable[[Batch], int], query: tuple[str, str], threads: int | None
    ) -> None:
        found = batches(self.connection, *query)
        if sum(map(work, found) if threads == 1 else in_turn(work, found)) != self.rows():
            raise NotPlain

    @cached_property
    def _coded(self) -> tuple[Codes, list[np.ndarray]]:
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
        tables = [self._table(annotators), *[self._table(found)] * 2]
        return Codes(found, annotators, said), tables + (
            [] if said is None else [self._table(said)]
        )

    def _held(self, stack: ExitStack, name: str, cells: str) -> str:
        """Keep different cells in a table: they are asked for more than once."""
        name = f"quick_{name}"
        self.connection.execute(f"CREATE TEMP TABLE {name} AS SELECT raw FROM {cells}")
        stack.callback(self.connection.execute, f"DROP TABLE {name}")
        return name

    def _cells(self, column: str) -> str:
        return f"(SELECT DISTINCT {self._cell(column)} AS raw FROM {self.table.relation})"

    def _text(self, column: str) -> str:
        return text_of("raw", self._kind(column))

    def _table(self, coded: Ids | Outcomes) -> np.ndarray:
        bits = max(2 * len(coded.code), 2).bit_length()
        table = np.zeros((1 << bits, 2), dtype=np.uint64)
        hashes = np.ascontiguousarray(coded.cell, dtype=np.uint64)
        if self.kernels.aggcal_hash_table(len(hashes), *at(hashes, coded.code), bits, *at(table)):
            raise NotPlain  # two of the same hash
        return table

    def _query(self, more: str = "") -> tuple[str, str]:
        """Write the SQL of what is read of each row, and the kinds of its columns."""
        hashed = [column for column in self.columns if column != "weight"]
        cells, kinds = [_HASH.format(self._cell(column)) for column in hashed], "L" * len(hashed)
        if self._weight:
            kind, weight = self._kind("weight"), self._cell("weight")
            text = trimmed(text_of(weight, kind))
            cells.append(f"{weight}::DOUBLE" if kind in _EXACT else f"try_cast({text} AS DOUBLE)")
            kinds += "g"
        cells += [more] if more else []
        return f"SELECT {', '.join(cells)} FROM {self.table.relation}", kinds + "L" * bool(more)

    def _fill(self, keys: Keys, batch: Batch, begin: int) -> int:
        columns: list[CodeArray | None] = [None] * 4
        room = keys.scratch.codes(batch.length)
        for k, table in enumerate(self._coded[1]):
            code = room[k]
            bits = len(table).bit_length() - 1
            hashes = batch.columns[k].values(8)
            if self.kernels.aggcal_look_up(batch.length, hashes, bits, *at(table, code)):
                raise NotPlain
            columns[k] = code
        if keys.weight is not None:
            to = keys.weight[begin : begin + batch.length]
            take_numbers(batch.columns[len(self._coded[1])], to)
        keys.fill(begin, columns)
        return batch.length
