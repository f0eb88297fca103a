"""CSV: one scan, in which a table of the texts that were met gives each cell its code.

Texts are compared byte by byte, so that no two can be taken for one. Codes are in the order in
which threads met the texts; when all are known they are translated into their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, TextArray
from aggcal._core.kernels import at
from aggcal._core.kernels.threads import in_turn
from aggcal.io.quick.keys import Codes, Keys
from aggcal.io.quick.numbering import Ids, Outcomes, trimmed
from aggcal.io.quick.streams import Batch, NotPlain, batches, take_numbers
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
        self.weights_as_written = True

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
        fill = partial(self._fill, tables)
        slots = self._slots(blocks)
        rows = sum(map(fill, slots) if threads == 1 else in_turn(fill, slots))
        codes, lists = self._codes(tables)
        weights = None
        if "weight" in self.columns and not self._measured:
            weights = self._weights(tables[-1].texts())
        tables.clear()
        keys = Keys(self.kernels, codes, rows, weighted="weight" in self.columns)
        blocks.reverse()
        while blocks:
            for slot in blocks.pop():
                self._write(keys, slot, lists, weights)
        return keys

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

    def _fill(self, tables: list[_Table], slot: _Slot) -> int:
        batch = slot.batch
        try:
            for k, table in enumerate(tables):
                if not table.codes(batch, k, slot.codes[k]):
                    raise _ManyWeights if self.columns[k] == "weight" else NotPlain
            if slot.numbers is not None:
                take_numbers(batch, -1, slot.numbers)
            return batch.length
        finally:
            batch.let_go()

    def _codes(self, tables: list[_Table]) -> tuple[Codes, tuple[CodeArray | None, ...]]:
        """Give numbers to the texts that were met; return also what each code becomes."""
        annotators, items = (self._numbered(Ids, tables[k]) for k in (0, 1))
        said = self._numbered(Outcomes, tables[3]) if "outcome" in self.columns else None
        outcomes = None if said is None else np.append(np.int32(said.missing), _list(said))
        item = _list(items)
        return Codes(items, annotators, said), (_list(annotators), item, item, outcomes)

    def _numbered(self, kind: Any, table: _Table) -> Any:
        texts = table.texts()
        self.connection.register("quick_texts", {"raw": texts, "k": np.arange(len(texts))})
        try:
            return kind.of(self.connection, "quick_texts", "raw", "k")
        finally:
            self.connection.unregister("quick_texts")

    def _weights(self, texts: TextArray) -> FloatArray:
        """Return the weight that each text means."""
        self.connection.register("quick_texts", {"raw": texts, "k": np.arange(len(texts))})
        try:
            found = self.connection.execute(
                f"SELECT try_cast({trimmed('raw')} AS DOUBLE) AS w FROM quick_texts ORDER BY k"
            ).fetchnumpy()["w"]
        finally:
            self.connection.unregister("quick_texts")
        weights = np.ma.filled(np.ma.asarray(found, dtype=np.float64), np.nan)
        self.weights_as_written = len(np.unique(weights)) == len(weights)
        return weights

    def _write(
        self, keys: Keys, slot: _Slot, lists: tuple[CodeArray | None, ...], weights: Any
    ) -> None:
        begin, end = slot.batch.begin, slot.batch.begin + slot.batch.length
        if keys.weight is not None:
            if weights is not None and int(slot.codes[-1].min(initial=0)) < 0:
                raise NotPlain  # one is missing
            keys.weight[begin:end] = slot.numbers if weights is None else weights[slot.codes[-1]]
        said = slot.codes[3] if "outcome" in self.columns else None
        keys.fill(begin, [*slot.codes[:3], said], lists)


def _list(coded: Ids | Outcomes) -> CodeArray:
    """Return the code of each cell by its number."""
    found = np.empty(len(coded.code), dtype=np.int32)
    found[coded.cell] = coded.code
    return found
