"""How far each score moves without each annotator: a table, or only its cells that move."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.records import dataclass
from aggcal._core.text import brief


class Shifts(ABC):
    """Moves of the scores, annotators by items."""

    @abstractmethod
    def sizes(self) -> FloatArray:
        """Return the root mean square move without each annotator."""

    @abstractmethod
    def largest(self, error: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return which item moves most in standard errors without each annotator, and how far."""

    @abstractmethod
    def deciders(self) -> tuple[IntArray, FloatArray]:
        """Return without whom each item moves most, and how far."""

    @abstractmethod
    def of_items(self, items: IntArray) -> FloatArray:
        """Return the moves of some items, annotators by items."""

    @abstractmethod
    def without(self, annotator: int) -> FloatArray:
        """Return the moves of all items without one annotator."""

    @abstractmethod
    def replaced(self, known: dict[int, FloatArray]) -> Shifts:
        """Return the same with the moves without some annotators known better."""


@dataclass(frozen=True, eq=False)
class DenseShifts(Shifts):
    """A table of all moves.

    Examples
    --------
    >>> found = DenseShifts(np.array([[0.1, -0.3], [0.2, 0.0]]))
    >>> found.largest(np.ones(2)), found.deciders()
    ((array([1, 0]), array([-0.3,  0.2])), (array([1, 0]), array([ 0.2, -0.3])))
    """

    table: FloatArray

    __repr__ = brief

    def sizes(self) -> FloatArray:
        """Return the root mean square move without each annotator."""
        return np.asarray(np.sqrt(np.mean(np.square(self.table), axis=1)))

    def largest(self, error: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return which item moves most in standard errors without each annotator, and how far."""
        item = np.argmax(np.abs(self.table) / error, axis=1)
        return item, self.table[np.arange(len(item)), item]

    def deciders(self) -> tuple[IntArray, FloatArray]:
        """Return without whom each item moves most, and how far."""
        who = np.argmax(np.abs(self.table), axis=0)
        return who, self.table[who, np.arange(len(who))]

    def of_items(self, items: IntArray) -> FloatArray:
        """Return the moves of some items, annotators by items."""
        return self.table[:, items]

    def without(self, annotator: int) -> FloatArray:
        """Return the moves of all items without one annotator."""
        return np.asarray(self.table[annotator])

    def replaced(self, known: dict[int, FloatArray]) -> Shifts:
        """Return the same with the moves without some annotators known better."""
        table = self.table.copy()
        for who, moves in known.items():
            table[who] = moves
        return DenseShifts(table)


@dataclass(frozen=True, eq=False)
class SparseShifts(Shifts):
    """Only what moves: sorted by annotator, then by item.

    Examples
    --------
    >>> cells = np.array([0, 1]), np.array([1, 1]), np.array([0.3, -0.4])
    >>> found = SparseShifts(*cells, 2, 2)
    >>> found.deciders(), found.of_items(np.array([1])).ravel()
    ((array([0, 1]), array([ 0. , -0.4])), array([ 0.3, -0.4]))
    """

    who: IntArray
    item: IntArray
    shift: FloatArray
    n_annotators: int
    n_items: int

    __repr__ = brief

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
        return SparseShifts(one[order], other[order], moves[order], *sizes)
