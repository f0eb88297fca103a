r"""Which unknowns each row touches: m = Z x, x = (s, q, δ, β) stacked in blocks.

A row's gap is (s_i − s_j) + (q_ic − q_jc) + (δ_gi − δ_gj) + xᵀβ: scores, what an item does in this
context, what it does in each category, and what is held equal. Every row has the same number of
entries, so that Z is two tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from aggcal._core.arrays import BoolArray, CodeArray, FloatArray, IntArray, side_by_side
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import each_range, even
from aggcal.models.general.rows import GeneralRows

SCORES, CONTROL = "scores", "control"
_PAIR = np.array([1.0, -1.0])


@dataclass(frozen=True, eq=False)
class Block:
    """Unknowns of one kind: where they stand, and the item and group of each."""

    name: str
    begin: int
    end: int
    item: IntArray
    group: IntArray

    @property
    def where(self) -> slice:
        """Their part of the vector."""
        return slice(self.begin, self.end)


@dataclass(frozen=True, eq=False)
class Design:
    """The map Z from the unknowns to the rows' gaps."""

    columns: CodeArray
    """Rows by entries: which unknowns a row touches; the first two are those of its items."""
    values: FloatArray
    """By what factor."""
    size: int
    blocks: dict[str, Block] = field(default_factory=dict)

    @property
    def paired(self) -> bool:
        """Whether a row's gap is a difference of two unknowns."""
        return self.columns.shape[1] == len(_PAIR) and self.values.strides[0] == 0

    @cached_property
    def matrix(self) -> Any:
        """Z, rows by unknowns."""
        from scipy import sparse

        n, each = self.columns.shape
        edges = np.arange(0, n * each + 1, each)
        shape = (n, self.size)
        return sparse.csr_array((self.values.ravel(), self.columns.ravel(), edges), shape=shape)

    @cached_property
    def transposed(self) -> Any:
        """Z', unknowns by rows."""
        return self.matrix.T.tocsr()

    def taken(self, kept: BoolArray) -> Design:
        """Return the map to some of the rows."""
        n = int(kept.sum())
        values = np.broadcast_to(_PAIR, (n, len(_PAIR))) if self.paired else self.values[kept]
        return replace(self, columns=self.columns[kept], values=values)

    @cached_property
    def _tables(self) -> tuple[CodeArray, FloatArray | None]:
        """What the kernels read: columns, and values unless they are 1 and −1."""
        values = None if self.paired else np.ascontiguousarray(self.values)
        return np.ascontiguousarray(self.columns), values

    def gaps(self, unknowns: FloatArray) -> FloatArray:
        """Return m = Z x."""
        kernels, (n, each) = library(), self.columns.shape
        if kernels is None:
            return np.asarray(self.matrix @ unknowns)
        unknowns, found = np.ascontiguousarray(unknowns), np.empty(n)
        tables = at(*self._tables, unknowns)

        def work(begin: int, end: int) -> None:
            kernels.aggcal_general_gaps(begin, end, each, *tables, *at(found))

        each_range(work, even(n))
        return found

    def row_sds(self, covariance: FloatArray, cap: float) -> np.ndarray:
        """Return the sd of each row's gap, at most a cap, from a covariance or its diagonal."""
        kernels, (n, each) = library(), self.columns.shape
        if kernels is None or covariance.ndim > 1:
            return np.minimum(np.sqrt(self.variances(covariance)), cap)
        covariance, found = np.ascontiguousarray(covariance), np.empty(n, dtype=np.float32)
        tables = at(*self._tables, covariance)

        def work(begin: int, end: int) -> None:
            kernels.aggcal_general_row_sds(begin, end, each, *tables, cap, *at(found))

        each_range(work, even(n))
        return found

    def variances(self, covariance: FloatArray) -> FloatArray:
        """Return the variance of each row's gap, from a covariance matrix or its diagonal."""
        columns, values, n = self.columns, self.values, len(self.columns)
        total = np.zeros(n)
        for a in range(columns.shape[1]):
            if covariance.ndim == 1:
                total += values[:, a] ** 2 * covariance[columns[:, a]]
                continue
            for b in range(a, columns.shape[1]):
                both = values[:, a] * values[:, b] * covariance[columns[:, a], columns[:, b]]
                total += both if a == b else 2.0 * both
        return np.maximum(total, 0.0)


def design(
    rows: GeneralRows,
    cells: list[str],
    control: FloatArray | None = None,
    numbers: Mapping[str, IntArray] | None = None,
) -> Design:
    """Lay out the unknowns of some rows.

    Parameters
    ----------
    rows
        What was asked.
    cells
        Names of the rows' keys in which items have an effect of their own.
    control
        What is held equal: rows by covariates.
    numbers
        Of each of the cells, the pairs of a group and an item that have an unknown (group × items +
        item), where others than those of these rows do.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal.models.general.rows import general_rows
    >>> both = aggcal.read_judgments([("ann", "a", "b"), ("ann", "b", "c")])
    >>> rows = general_rows(both, ties=False, sides=False, keys=False)
    >>> design(rows, []).gaps(np.array([3.0, 1.0, 0.0]))
    array([2., 1.])
    """
    n = rows.n_items
    every = np.arange(n)
    blocks = {SCORES: Block(SCORES, 0, n, every, np.zeros(n, dtype=np.int64))}
    columns: list[np.ndarray] = [rows.left, rows.right]
    if not cells and control is None:
        pair = np.broadcast_to(_PAIR, (len(rows), len(_PAIR)))
        return Design(side_by_side(columns, np.int32), pair, n, blocks)
    values, size = [np.full(len(rows), sign) for sign in _PAIR], n
    for name in cells:
        group = rows.keys[name].astype(np.int64)
        known: BoolArray = group >= 0
        sides = [np.where(known, group * n + side, -1) for side in (rows.left, rows.right)]
        if numbers is None:
            found = np.unique(np.concatenate([side[known] for side in sides]))
        else:
            found = numbers[name]
        for side, sign in zip(sides, (1.0, -1.0), strict=True):
            columns.append(size + np.where(known, np.searchsorted(found, side), 0))
            values.append(np.where(known, sign, 0.0))
        blocks[name] = Block(name, size, size + len(found), found % n, found // n)
        size += len(found)
    if control is not None:
        width = control.shape[1]
        columns += [np.full(len(rows), size + k) for k in range(width)]
        values += list(control.T)
        none = np.full(width, -1)
        blocks[CONTROL] = Block(CONTROL, size, size + width, none, np.arange(width))
        size += width
    return Design(side_by_side(columns, np.int32), side_by_side(values, np.float64), size, blocks)
