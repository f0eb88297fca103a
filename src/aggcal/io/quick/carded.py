"""Parquet on a graphics card: ids get their numbers, and keys are sorted, in its memory.

What a card does not read (missing cells, nested columns, more different weights than keys have
codes for), or has no memory for, is read by the processors, with the same result to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from aggcal._core.arrays import CodeArray, TextArray
from aggcal._core.database import driver
from aggcal.io.quick.hashed import EXACT, MOST_WEIGHTS, Hashed
from aggcal.io.quick.keys import Codes, Keys
from aggcal.io.quick.merging import KeyArray
from aggcal.io.quick.numbering import MOST_OUTCOMES, Ids, Outcomes, Weights, numbered
from aggcal.io.quick.streams import NotPlain

FEWEST = 20_000_000
"""Rows from which a card reads: of fewer, to load its library takes longer than to read them."""
_TEXT = "VARCHAR"
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
_WHOLE_NUMBERS = (*_WHOLE, *(f"U{kind}" for kind in _WHOLE))


@dataclass(frozen=True)
class Cells:
    """A column on a card: how many different cells it has, and which of them each row has."""

    number: int
    texts: Callable[[], TextArray]
    """Returns the different cells."""
    code: Any
    """In the memory of the card."""


class Card(Protocol):
    """A graphics card that reads Parquet."""

    @property
    def arrays(self) -> Any:
        """What computes in its memory as NumPy does here."""
        ...

    def columns(self, files: Sequence[str], names: Sequence[str]) -> list[Cells]:
        """Read columns of files, one after the other; fails where a cell is missing."""
        ...

    def back(self, array: Any) -> Any:
        """Copy an array from its memory."""
        ...


_CARD: ContextVar[Card | None] = ContextVar("card", default=None)


@contextmanager
def on_card(card: Card | None) -> Iterator[None]:
    """Have large tables of Parquet read by a card meanwhile, if there is one."""
    before = _CARD.set(card)
    try:
        yield
    finally:
        _CARD.reset(before)


class Carded(Hashed):
    """A table of Parquet that a card reads, where there is one (see `on_card`)."""

    def keys(self, threads: int | None = None) -> Keys:
        """Read the rows, by the processors where the card does not."""
        card, rows = _CARD.get(), self.rows()
        if card is not None and rows >= FEWEST and self._readable():
            try:
                return self._by_card(card, rows)
            except driver().InterruptException:
                raise
            except Exception:  # noqa: BLE001, S110 - whatever a card or its library lacks
                pass
        return super().keys(threads)

    def _readable(self) -> bool:
        """Whether the card takes the cells of all columns for the same texts as DuckDB does."""
        ids = all(self._kind(name) in (_TEXT, *_WHOLE_NUMBERS) for name in self.columns[:3])
        said = not self._outcome or self._kind("outcome") in (_TEXT, *EXACT)
        weighed = not self._weight or self._kind("weight") in EXACT
        return ids and said and weighed and not any("." in name for name in self._names)

    @property
    def _names(self) -> list[str]:
        return [self.table.found[self.table.present[column]] for column in self.columns]

    def _by_card(self, card: Card, rows: int) -> Keys:
        columns = card.columns(self.table.files, self._names)
        found = dict(zip(self.columns, columns, strict=True))
        if any(len(column.code) != rows for column in found.values()):
            raise NotPlain
        who, left, right = (found[name] for name in self.columns[:3])
        annotators = numbered(self.connection, Ids, who.texts())
        items, lefts, rights = self._items(left.texts(), right.texts())
        codes, said = Codes(items, annotators, None), found.get("outcome")
        lists = [annotators.by_cell, lefts, rights]
        if said is not None:
            if said.number > MOST_OUTCOMES:
                raise NotPlain
            outcomes = numbered(self.connection, Outcomes, said.texts())
            if not len(outcomes.values):
                raise NotPlain
            codes = Codes(items, annotators, outcomes)
            lists.append(outcomes.by_cell)
        weights = self._weights(found.get("weight"))
        if weights is not None:
            codes = codes.with_weights(weights.values)
            if codes.weights is None:
                raise NotPlain
            self.weights_as_written = weights.as_written
            lists.append(weights.by_cell)
        keys = Keys(self.kernels, codes, 0, weighted=self._weight)
        moved = [card.arrays.asarray(each) for each in lists]
        coded = [known[column.code] for column, known in zip(columns, moved, strict=True)]
        keys.take_sorted(*self._sorted(card, codes, coded))
        return keys

    def _items(self, left: TextArray, right: TextArray) -> tuple[Ids, CodeArray, CodeArray]:
        """Give items their numbers; return those of the cells of both sides, too."""
        place = {text: k for k, text in enumerate(left.tolist())}
        at = [place.setdefault(text, len(place)) for text in right.tolist()]
        every: TextArray = np.empty(len(place), dtype=object)
        every[:] = list(place)
        items = numbered(self.connection, Ids, every)
        number = items.by_cell
        return items, number[: len(left)], number[at]

    def _weights(self, weight: Cells | None) -> Weights | None:
        if weight is None:
            return None
        if weight.number > MOST_WEIGHTS:
            raise NotPlain
        return numbered(self.connection, Weights, weight.texts())

    def _sorted(self, card: Card, codes: Codes, columns: list[Any]) -> tuple[KeyArray, CodeArray]:
        """Make and sort keys; return them, and the rows that are not fitted, from the card.

        This is what the kernel ``aggcal_keys`` does, and a sort.
        """
        layout, xp, back = codes.layout, card.arrays, card.back
        who, left, right, *others = columns
        said = others.pop(0) if self._outcome else None
        key = who.astype(np.uint64) << np.uint64(layout.annotator)
        key |= left.astype(np.uint64) << np.uint64(layout.left)
        key |= right.astype(np.uint64) << np.uint64(layout.right)
        why = xp.zeros(len(key), dtype=np.int32)
        if codes.weights is not None and others:
            zero = xp.asarray(codes.weights == 0.0)[others[0]]
            why[zero] = -2
        why[left == right] = -1
        if said is not None:
            key |= said.astype(np.uint64)
            why = xp.where(said >= layout.fitted, said, why)
        if others:
            key <<= np.uint64(layout.weight)
            key |= others[0].astype(np.uint64)
        rows = xp.flatnonzero(why)
        key[rows] = np.uint64(layout.nothing)
        cells = [back(column[rows]) for column in (who, left, right, why)]
        aside = np.stack([back(rows), *cells], axis=1).astype(np.int32)
        key.sort()
        return back(key), aside
