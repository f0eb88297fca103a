"""Parquet: DuckDB hashes the ids where they lie, and a table of all ids gives hashes their codes.

One scan finds the different ids, a second one streams the hashes of every row. Ids of the same
hash, and hashes that the first scan has not seen (another program wrote the file in between), are
left to the reader that compares texts.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from aggcal._core.arrays import CodeArray
from aggcal._core.kernels import at
from aggcal._core.kernels.threads import in_turn
from aggcal.io.quick.keys import Codes, Keys
from aggcal.io.quick.numbering import Ids, Outcomes, trimmed
from aggcal.io.quick.streams import Batch, NotPlain, batches, take_numbers
from aggcal.io.tables.parquet import Described, parts_of, text_of
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
        path: Path,
    ) -> None:
        self.kernels, self.connection, self.table = kernels, connection, table
        self.columns = ["annotator", *pair]
        self.columns += [name for name in ("outcome", "weight") if name in table.present]
        self.found, self.notes = table.found, ()
        self._outcome, self._weight = "outcome" in self.columns, "weight" in self.columns
        self._path = path
        self._as_it_was = _state(path)
        used = [table.kinds[k] for k in table.present.values()]
        nested = any(kind.endswith("]") or kind.startswith(_NESTED) for kind in used)
        if nested or self._kind(pair[0]) != self._kind(pair[1]):
            raise NotPlain
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
        codes, tables = self._codes()
        keys = Keys(self.kernels, codes, self.rows(), weighted=self._weight)
        fill = partial(self._fill, keys, tables)
        every = batches(self.connection, self._hashes(), "L" * len(tables) + "g" * self._weight)
        rows = sum(map(fill, every) if threads == 1 else in_turn(fill, every))
        if rows != len(keys.key) or _state(self._path) != self._as_it_was:
            raise NotPlain
        return keys

    def _codes(self) -> tuple[Codes, list[np.ndarray]]:
        """Find the different cells of each column and give them codes, by their hashes."""
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

    def _hashes(self) -> str:
        hashed = [column for column in self.columns if column != "weight"]
        cells = [_HASH.format(self._cell(column)) for column in hashed]
        if self._weight:
            kind, weight = self._kind("weight"), self._cell("weight")
            text = trimmed(text_of(weight, kind))
            cells.append(f"{weight}::DOUBLE" if kind in _EXACT else f"try_cast({text} AS DOUBLE)")
        return f"SELECT {', '.join(cells)} FROM {self.table.relation}"

    def _fill(self, keys: Keys, tables: list[np.ndarray], batch: Batch) -> int:
        try:
            columns: list[CodeArray | None] = [None] * 4
            for k, table in enumerate(tables):
                code = np.empty(batch.length, dtype=np.int32)
                bits = len(table).bit_length() - 1
                hashes = batch.columns[k].values(8)
                if self.kernels.aggcal_look_up(batch.length, hashes, bits, *at(table, code)):
                    raise NotPlain
                columns[k] = code
            if keys.weight is not None:
                take_numbers(batch, -1, keys.weight[batch.begin : batch.begin + batch.length])
            keys.fill(batch.begin, columns)
            return batch.length
        finally:
            batch.let_go()


def _state(path: Path) -> list[tuple[str, int, int, int]]:
    """Return by what files are known to be the same."""
    try:
        states = [(str(part), part.stat()) for part in parts_of(path)]
    except OSError:
        raise NotPlain from None
    return [(name, s.st_size, s.st_mtime_ns, s.st_ino) for name, s in states]
