"""CSV: one scan, in which a table of the texts that were met gives each cell its code.

Texts are compared byte by byte, so that no two can be taken for one. Codes are in the order in
which threads met the texts; when all are known they are translated into their numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, TextArray
from aggcal._core.kernels import at
from aggcal._core.kernels.threads import in_turn
from aggcal.io.quick.keys import Codes, Keys
from aggcal.io.quick.merging import KeyArray
from aggcal.io.quick.numbering import Ids, Outcomes, Weights, numbered
from aggcal.io.quick.streams import Batch, NotPlain, batches, take_numbers
from aggcal.io.quick.twins import Twins
from aggcal.io.tables.delimited import Lines

if TYPE_CHECKING:
    import duckdb

_MOST_IDS = (1 << 31) - 2  # codes have 32 bits
_MOST_OUTCOMES = 1 << 20
_MOST_WEIGHTS = 1 << 16
"""Different texts of weights; more are measurements, which DuckDB turns into numbers quicker."""
_BLOCK = 1 << 22
"""Rows whose codes are kept together: fewer would stay in the process when they are let go, more
take memory that short tables do not need."""


class _ManyWeights(Exception):  # noqa: N818  # no error: they are read in another way
    """Weights are all different."""


class _Table:
    """Different texts, held by the kernels."""

    def __init__(self, kernels: Any, most: int) -> None:
        self._kernels = kernels
        self._texts = kernels.aggcal_texts_new(most)
        if not self._texts:
            raise MemoryError

    def __del__(self) -> None:
        if getattr(self, "_texts", None):
            self._kernels.aggcal_texts_free(self._texts)

    def codes(self, batch: Batch, column: int, code: CodeArray, *, adding: bool = True) -> bool:
        """Write the codes of a column; whether there was room."""
        held = batch.columns[column]
        offsets, texts = held.texts
        return bool(
            self._kernels.aggcal_texts_codes(
                self._texts, batch.length, offsets, texts, held.valid, held.first, adding, *at(code)
            )
        )

    def texts(self) -> TextArray:
        """Return the texts in the order of their codes."""
        number = self._kernels.aggcal_texts_number(self._texts)
        size = self._kernels.aggcal_texts_bytes(self._texts)
        held, start = np.empty(size, dtype=np.uint8), np.empty(number + 1, dtype=np.int64)
        self._kernels.aggcal_texts_copy(self._texts, *at(held, start))
        every, ends = held.tobytes(), start.tolist()
        found: TextArray = np.empty(number, dtype=object)
        found[:] = [every[a:b].decode() for a, b in pairwise(ends)]
        return found


class _Slot(NamedTuple):
    """Where the codes of a batch go."""

    batch: Batch
    codes: CodeArray
    numbers: FloatArray | None


class _Known(NamedTuple):
    """What texts mean, once all were met."""

    tables: list[_Table]
    codes: Codes
    lists: tuple[CodeArray | None, ...]
    """The code of each text of a column, by its code in the table."""
    weights: FloatArray | None
    """The numbers that weights are written as, where keys have no room for their codes."""


class Texts:
    """A table of lines whose judgments are read by their texts."""

    def __init__(
        self,
        kernels: Any,
        connection: duckdb.DuckDBPyConnection,
        lines: Lines,
        pair: tuple[str, str],
    ) -> None:
        self.kernels, self.connection, self.lines = kernels, connection, lines
        self.columns = ["annotator", *pair]
        self.columns += [name for name in ("outcome", "weight") if name in lines.present]
        self.found, self.notes = lines.found, lines.notes
        self._relation = lines.relation(strict=True, longest=lines.usual, again=True)
        self._measured = False
        self._known: _Known | None = None
        self.backend: str | None = None
        self.weights_as_written = True

    def rows(self) -> int:
        """Return about how many rows there are, from how long the first ones are."""
        if self.lines.file.compression != "uncompressed":
            raise NotPlain
        head = self.lines.file.head
        return self.lines.file.path.stat().st_size * (head.count(b"\n") + 1) // len(head)

    def keys(self, threads: int | None = None) -> Keys:
        """Read the rows."""
        try:
            return self._keys(threads)
        except _ManyWeights:
            self._measured, self.weights_as_written = True, False
            return self._keys(threads)

    def _keys(self, threads: int | None) -> Keys:
        tables = self._tables()
        blocks: list[list[_Slot]] = []
        rows = self._each(partial(self._fill, tables), self._slots(blocks), threads)
        known = self._known = self._coded(tables)
        keys = Keys(self.kernels, known.codes, rows, weighted="weight" in self.columns)
        blocks.reverse()
        while blocks:
            for slot in blocks.pop():
                self._write(keys, slot, slot.batch.begin)
        return keys

    def twins(self, repeated: KeyArray, threads: int | None = None) -> int:
        """Count the rows with one of these keys that repeat another one in every column."""
        found, known = Twins(self.kernels, repeated), self._known
        if known is None:
            raise NotPlain
        coded = len(known.tables)

        def take(batch: Batch) -> int:
            codes = np.empty((coded, batch.length), dtype=np.int32)
            slot = _Slot(batch, codes, np.empty(batch.length) if self._measured else None)
            whole = batch.columns[-1].natural_numbers()
            self._fill(known.tables, slot, adding=False)
            weighted = "weight" in self.columns
            part = Keys(self.kernels, known.codes, batch.length, weighted=weighted)
            self._write(part, slot, 0)
            return found.take(part, whole)

        self._each(take, batches(self.connection, *self._query(self.lines.everything)), threads)
        return found.number

    def _each(self, work: Callable[[Any], int], given: Iterator[Any], threads: int | None) -> int:
        return sum(map(work, given) if threads == 1 else in_turn(work, given))

    def _tables(self) -> list[_Table]:
        """Return the table that each column is looked up in; both sides in the same one."""
        items = _Table(self.kernels, _MOST_IDS)
        most = {"annotator": _MOST_IDS, "outcome": _MOST_OUTCOMES, "weight": _MOST_WEIGHTS}
        columns = self.columns[: -1 if self._measured else None]
        return [_Table(self.kernels, most[c]) if c in most else items for c in columns]

    def _query(self, more: str = "") -> tuple[str, str]:
        cells = [f"c{self.lines.present[column]}" for column in self.columns]
        kinds = ["u"] * len(cells)
        if self._measured:
            cells[-1], kinds[-1] = f"try_cast({cells[-1]} AS DOUBLE)", "g"
        chosen = ", ".join([*cells, *([more] if more else [])])
        return f"SELECT {chosen} FROM {self._relation}", "".join(kinds) + "L" * bool(more)

    def _slots(self, blocks: list[list[_Slot]]) -> Iterator[_Slot]:
        """Go through the table, and find a place for each batch."""
        room = 0
        coded = len(self.columns) - self._measured
        for batch in batches(self.connection, *self._query()):
            if room < batch.length:
                room = max(_BLOCK, batch.length)
                codes = np.empty((coded, room), dtype=np.int32)
                numbers = np.empty(room) if self._measured else None
                blocks.append([])
            part = slice(codes.shape[1] - room, codes.shape[1] - room + batch.length)
            slot = _Slot(batch, codes[:, part], None if numbers is None else numbers[part])
            blocks[-1].append(slot)
            room -= batch.length
            yield slot

    def _fill(self, tables: list[_Table], slot: _Slot, *, adding: bool = True) -> int:
        with slot.batch as batch:
            for k, table in enumerate(tables):
                if not table.codes(batch, k, slot.codes[k], adding=adding):
                    raise _ManyWeights if adding and self.columns[k] == "weight" else NotPlain
            if slot.numbers is not None:
                take_numbers(batch.columns[len(tables)], slot.numbers)
            return batch.length

    def _coded(self, tables: list[_Table]) -> _Known:
        """Give numbers to the texts that were met."""
        annotators, items = (numbered(self.connection, Ids, tables[k].texts()) for k in (0, 1))
        said = outcomes = weights = None
        if "outcome" in self.columns:
            said = numbered(self.connection, Outcomes, tables[3].texts())
            outcomes = np.append(np.int32(said.missing), said.by_cell)
        codes, weighs = Codes(items, annotators, said), None
        if "weight" in self.columns and not self._measured:
            found = numbered(self.connection, Weights, tables[-1].texts())
            self.weights_as_written = found.as_written
            codes, weighs = codes.with_weights(found.values), found.by_cell
            weights = found.values if codes.weights is None else None
        lists = (annotators.by_cell, items.by_cell, items.by_cell, outcomes, weighs)
        return _Known(tables, codes, lists, weights)

    def _write(self, keys: Keys, slot: _Slot, begin: int) -> None:
        """Write the keys of a batch whose texts all have their numbers."""
        known, end = self._known, begin + slot.batch.length
        if known is None:
            raise NotPlain
        if keys.weight is not None:
            weights = slot.numbers
            if known.weights is not None:
                if int(slot.codes[-1].min(initial=0)) < 0:
                    raise NotPlain  # one is missing
                weights = known.weights[np.asarray(known.lists[-1])[slot.codes[-1]]]
            keys.weight[begin:end] = weights
        said = slot.codes[3] if "outcome" in self.columns else None
        weigh = slot.codes[-1] if known.codes.weights is not None else None
        keys.fill(begin, [*slot.codes[:3], said, weigh], known.lists)
