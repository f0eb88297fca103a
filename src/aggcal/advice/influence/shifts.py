"""How far each score moves without each annotator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.text import brief


@dataclass(frozen=True, eq=False)
class Shifts:
    """Moves of the scores, annotators by items: only cells that move, sorted by annotator, by item.

    Examples
    --------
    >>> cells = np.array([0, 1]), np.array([1, 1]), np.array([0.3, -0.4])
    >>> found = Shifts(*cells, 2, 2)
    >>> found.deciders(), found.of_items(np.array([1])).ravel()
    ((array([0, 1]), array([ 0. , -0.4])), array([ 0.3, -0.4]))
    """

    who: IntArray
    item: IntArray
    shift: FloatArray
    n_annotators: int
    n_items: int

    __repr__ = brief

    @classmethod
    def of_all(cls, table: FloatArray) -> Shifts:
        """Return the moves of a whole table."""
        who, item = (np.ravel(each) for each in np.indices(table.shape))
        return cls(who, item, table.ravel(), *table.shape)

    def sizes(self) -> FloatArray:
        """Return the root mean square move without each annotator."""
        square = np.bincount(self.who, np.square(self.shift), self.n_annotators)
        return np.sqrt(square / self.n_items)

    def largest(self, error: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return which item moves most in standard errors without each annotator, and how far."""
        size = np.abs(self.shift) / error[self.item]
        return self._most(self.who, self.item, size, self.n_annotators)

    def deciders(self) -> tuple[IntArray, FloatArray]:
        """Return without whom each item moves most, and how far."""
        return self._most(self.item, self.who, np.abs(self.shift), self.n_items)

    def _most(
        self, by: IntArray, other: IntArray, size: FloatArray, number: int
    ) -> tuple[IntArray, FloatArray]:
        """Return the other end of the largest move of each of a number, and the move itself."""
        order = np.argsort(by, kind="stable")
        sorted_by, sorted_size = by[order], size[order]
        first = np.flatnonzero(np.r_[True, sorted_by[1:] != sorted_by[:-1]])
        most = np.repeat(np.maximum.reduceat(sorted_size, first), np.diff([*first, len(order)]))
        best = order[sorted_size == most]
        found, moves = np.zeros(number, dtype=np.int64), np.zeros(number)
        best = best[::-1]  # of equal ones, the first stays
        found[by[best]], moves[by[best]] = other[best], self.shift[best]
        return found, moves

    def of_items(self, items: IntArray) -> FloatArray:
        """Return the moves of some items, annotators by items."""
        column = np.full(self.n_items, -1)
        column[items] = np.arange(len(items))
        mine = column[self.item] >= 0
        found = np.zeros((self.n_annotators, len(items)))
        found[self.who[mine], column[self.item[mine]]] = self.shift[mine]
        return found

    def without(self, annotator: int) -> FloatArray:
        """Return the moves of all items without one annotator."""
        found, edges = np.zeros(self.n_items), [annotator, annotator + 1]
        begin, end = np.searchsorted(self.who, edges)
        found[self.item[begin:end]] = self.shift[begin:end]
        return found

    def replaced(self, known: dict[int, FloatArray]) -> Shifts:
        """Return the same with the moves without some annotators known better."""
        kept = ~np.isin(self.who, list(known))
        every = np.arange(self.n_items)
        who = [self.who[kept], *(np.full(self.n_items, u) for u in known)]
        item = [self.item[kept], *(every for _ in known)]
        shift = [self.shift[kept], *known.values()]
        one, other, moves = (np.concatenate(each) for each in (who, item, shift))
        order = np.lexsort((other, one))
        sizes = self.n_annotators, self.n_items
        return Shifts(one[order], other[order], moves[order], *sizes)
