"""Rows that repeat another one in every column, where the columns that are read do not tell."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggcal._core.arrays import CodeArray, IntArray
from aggcal._core.kernels import at
from aggcal.io.quick.keys import Keys
from aggcal.io.quick.merging import KeyArray, Merged


def repeated_keys(keys: Keys, merged: Merged) -> KeyArray:
    """Return the keys that more than one row has, without weights."""
    if merged.count is None:
        return np.empty(0, dtype=np.uint64)
    rows = np.flatnonzero(merged.count > 1)
    layout, said = keys.layout, keys.codes.outcomes
    found: KeyArray = np.zeros(len(rows), dtype=np.uint64)
    for column, place in (
        (merged.annotator, layout.annotator),
        (merged.left, layout.left),
        (merged.right, layout.right),
    ):
        found |= column[rows].astype(np.uint64) << np.uint64(place)
    if said is not None:
        outcome = 1.0 if merged.outcome is None else merged.outcome[rows]
        found |= np.searchsorted(said.values, outcome).astype(np.uint64)
    return found


class Twins:
    """The rows that have one of the repeated keys, and what tells them apart."""

    def __init__(self, kernels: Any, repeated: KeyArray) -> None:
        self._kernels = kernels
        # Keys lie close together: stirred they spread over a table, and none becomes another.
        known = self._stirred(repeated)
        self._bits = max(2 * len(known), 2).bit_length()
        self._table = np.zeros((1 << self._bits, 2), dtype=np.uint64)
        number = np.arange(len(known), dtype=np.int32)
        kernels.aggcal_hash_table(len(known), *at(known, number), self._bits, *at(self._table))
        self._found: list[tuple[CodeArray, np.ndarray]] = []

    def _stirred(self, key: KeyArray) -> KeyArray:
        key = key.copy()
        self._kernels.aggcal_stir(len(key), *at(key))
        return key

    def among(self, keys: Keys) -> tuple[IntArray, CodeArray]:
        """Return which rows have one of the keys, and which of them it is."""
        key = self._stirred(keys.key >> np.uint64(keys.layout.weight))
        code = np.empty(len(key), dtype=np.int32)
        self._kernels.aggcal_look_up(len(key), *at(key), self._bits, *at(self._table, code))
        rows = np.flatnonzero(code >= 0)
        return rows, code[rows]

    def take(self, keys: Keys, whole: np.ndarray) -> int:
        """Take rows, told apart by all their columns; return how many were given."""
        rows, which = self.among(keys)
        self._found.append((which, whole[rows]))
        return len(keys.key)

    @property
    def number(self) -> int:
        """How many rows have the key and all cells of another one."""
        which, whole = (np.concatenate(parts) for parts in zip(*self._found, strict=True))
        return number_of_twins(which, whole)


def number_of_twins(which: CodeArray, whole: np.ndarray) -> int:
    """Count the rows that have the key and all cells of one before them.

    Examples
    --------
    >>> number_of_twins(np.array([0, 0, 1, 0], dtype=np.int32), np.array([7, 8, 7, 7]))
    1
    """
    order = np.lexsort((whole, which))
    which, whole = which[order], whole[order]
    return int(((which[1:] == which[:-1]) & (whole[1:] == whole[:-1])).sum())
