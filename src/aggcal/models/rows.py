"""The rows that a likelihood sums over: winners, losers and weights, sorted by annotator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, singledispatch
from weakref import WeakKeyDictionary, ref

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, SingleArray, constant, joined, sums
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import balanced, between_annotators, each_range, even
from aggcal._core.triangles import mirrored
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments
from aggcal.models.laid_out import Judged

_WORTH_MERGING = 4  # pairs for each row: beyond, few rows are of one pair
_MANY_ITEMS = 1 << 15  # whose sums leave the cache
_LARGEST = 2**62  # number of combinations of codes that one integer tells apart
_TILE, _TILES = 13, 4  # bits: tiles of items that fit the cache, and how many at most


@dataclass(frozen=True, eq=False)
class Rows:
    """Weighted wins: annotator u's are rows ``starts[u]`` to ``starts[u + 1]``.

    Every annotator has at least one row and, unless they are a shard of others, every item is in
    at least one.
    """

    winner: CodeArray
    loser: CodeArray
    weight: FloatArray
    starts: IntArray
    n_items: int
    whole: bool = True
    """Whether threads may share them; a shard is summed in one go, beside others."""
    item_weights: FloatArray | None = None
    """The total weight of each item's comparisons, where it is known already."""
    item_wins: FloatArray | None = None
    """The same of those that it won."""

    def __len__(self) -> int:
        return len(self.winner)

    @property
    def n_annotators(self) -> int:
        """How many annotators the rows belong to."""
        return len(self.starts) - 1

    @cached_property
    def degrees(self) -> FloatArray:
        """Total weight of the comparisons of each item."""
        n = self.n_items
        if self.item_weights is not None:
            return self.item_weights
        return sums(self.winner, self.weight, n) + sums(self.loser, self.weight, n)

    @cached_property
    def won(self) -> FloatArray:
        """Total weight of the comparisons that each item won."""
        if self.item_wins is not None:
            return self.item_wins
        return sums(self.winner, self.weight, self.n_items)

    @cached_property
    def given(self) -> FloatArray:
        """Total weight of the comparisons of each annotator."""
        starts, weight = self.starts, self.weight
        if not len(weight) or (weight.strides == (0,) and float(weight[0]) == 1.0):
            return np.diff(starts).astype(np.float64)
        return sums_between(weight, starts)

    def scatter(self, values: FloatArray) -> FloatArray:
        """Add what flows through each row to its winner, and take it from its loser."""
        return scatter(self.winner, self.loser, values, self.n_items)

    def laplacian(self, weight: FloatArray) -> FloatArray:
        """Return Σ weight·(e_i − e_j)(e_i − e_j)' over the rows, as a dense matrix."""
        return laplacian_of(self.winner, self.loser, weight, self.n_items)

    def alone(self, annotator: int) -> Rows:
        """Return the rows of one annotator."""
        mine = slice(self.starts[annotator], self.starts[annotator + 1])
        starts = np.array([0, mine.stop - mine.start])
        columns = self.winner[mine], self.loser[mine], self.weight[mine]
        return Rows(*columns, starts, self.n_items)

    def every(self, step: int) -> Rows:
        """Return the rows of every so many annotators."""
        sizes = np.diff(self.starts)
        kept = np.repeat(np.arange(self.n_annotators) % step == 0, sizes)
        starts = np.concatenate([[0], np.cumsum(sizes[::step])])
        return Rows(self.winner[kept], self.loser[kept], self.weight[kept], starts, self.n_items)

    def turned(self, annotator: int) -> Rows:
        """Return the rows with one annotator's answers turned round."""
        mine = slice(self.starts[annotator], self.starts[annotator + 1])
        winner, loser = self.winner.copy(), self.loser.copy()
        winner[mine], loser[mine] = self.loser[mine], self.winner[mine]
        return replace(self, winner=winner, loser=loser, item_wins=None)

    def ranges(self, starts: IntArray, fewest: int | None = None) -> list[int]:
        """Cut annotators (or pieces) that begin at ``starts`` into what each thread sums."""
        if not self.whole:
            return [0, len(starts) - 1]
        return balanced(starts) if fewest is None else balanced(starts, fewest)

    def pooled(self) -> Rows:
        """Forget who judged: one annotator (for models without γ), equal pairs merged.

        Where there are far more pairs than rows, few rows are equal and merging them would cost
        more than it saves: they are then left as they are.
        """
        n = self.n_items
        if n * n > _WORTH_MERGING * len(self):
            return self._tiled()
        total = sums(self.winner.astype(np.int64) * n + self.loser, self.weight, n * n)
        pairs = np.flatnonzero(total)
        winner, loser = np.divmod(pairs, n)
        starts = np.array([0, len(pairs)])
        columns = winner.astype(np.int32), loser.astype(np.int32), total[pairs]
        return Rows(*columns, starts, n, self.whole, self.item_weights)

    def _tiled(self) -> Rows:
        """Forget who judged, and order rows so that those near each other ask for near items.

        Scores of many items do not fit into the cache: sweeps in this order took half the time
        or two thirds of it with 100,000 items, which the sorting costs once.
        """
        n, kernels, starts = self.n_items, library(), np.array([0, len(self)])
        if n < _MANY_ITEMS or kernels is None:
            return replace(self, starts=starts)
        shift = max(_TILE, (n - 1).bit_length() - _TILES)
        side = ((n - 1) >> shift) + 1
        winner, loser = (np.ascontiguousarray(c, dtype=np.int32) for c in (self.winner, self.loser))
        weight = None if self.weight.strides == (0,) else np.ascontiguousarray(self.weight)
        ordered = np.empty_like(winner), np.empty_like(loser)
        weights = None if weight is None else np.empty_like(weight)
        position = np.zeros(side * side, dtype=np.int64)
        old, new = at(winner, loser, weight), at(position, *ordered, weights)
        kernels.aggcal_tile(len(self), *old, shift, side, *new)
        columns = *ordered, self.weight if weights is None else weights
        return Rows(*columns, starts, n, self.whole, self.item_weights)


_KNOWN: WeakKeyDictionary[Judgments, ref[Rows]] = WeakKeyDictionary()
"""Rows of judgments for as long as somebody has them: the fit, the errors and the check all ask."""


def sums_between(values: FloatArray, starts: IntArray) -> FloatArray:
    """Add up the values from each start to the next, in threads: the same bits as in one go.

    Examples
    --------
    >>> sums_between(np.array([1.0, 2.0, 4.0]), np.array([0, 2, 3]))
    array([3., 4.])
    """

    def some(begin: int, end: int) -> FloatArray:
        mine = values[starts[begin] : starts[end]]
        return np.asarray(np.add.reduceat(mine, starts[begin:end] - starts[begin]))

    return joined(each_range(some, balanced(starts)))


def scatter(winner: CodeArray, loser: CodeArray, values: FloatArray, n: int) -> FloatArray:
    """Return the sum of values over the rows that each of n items won, less those that it lost.

    Examples
    --------
    >>> scatter(np.array([0, 1]), np.array([1, 2]), np.array([1.0, 2.0]), 3)
    array([ 1.,  1., -2.])
    """
    return sums(winner, values, n) - sums(loser, values, n)


def laplacian_of(
    winner: CodeArray, loser: CodeArray, weight: FloatArray | SingleArray, n: int
) -> FloatArray:
    """Return the Laplacian of a graph of n items whose edges are rows of these weights.

    Examples
    --------
    >>> laplacian_of(np.array([0, 1, 0]), np.array([1, 0, 1]), np.ones(3), 2)
    array([[ 3., -3.],
           [-3.,  3.]])
    """
    kernels = library()
    if kernels is not None:
        found = np.zeros((n, n))
        codes = [np.ascontiguousarray(code, dtype=np.int32) for code in (winner, loser)]
        exact = np.ascontiguousarray(weight, dtype=np.float64)
        kernels.aggcal_border_laplacian(len(exact), n, *at(*codes, exact, found))
        return mirrored(found)
    pairs = sums(winner.astype(np.int64) * n + loser, weight.astype(np.float64), n * n)
    return laplacian(pairs.reshape(n, n))


def laplacian(pairs: FloatArray) -> FloatArray:
    """Return the Laplacian of a graph whose edges have these weights, in either direction.

    Examples
    --------
    >>> laplacian(np.array([[0.0, 2.0], [1.0, 0.0]]))
    array([[ 3., -3.],
           [-3.,  3.]])
    """
    found = -(pairs + pairs.T)
    found[np.diag_indices(len(pairs))] = pairs.sum(axis=0) + pairs.sum(axis=1)
    return found


def row_deviations(rows: Rows, variances: FloatArray, cap: float) -> np.ndarray:
    """Return the sd of each row's gap, from a covariance matrix or its diagonal."""
    kernels = library()
    if variances.ndim == 1 and kernels is not None and rows.winner.dtype == np.int32:
        found = np.empty(len(rows), dtype=np.float32)
        columns = [np.ascontiguousarray(c) for c in (rows.winner, rows.loser, variances)]

        def work(begin: int, end: int) -> None:
            kernels.aggcal_row_sd(begin, end, *at(*columns), cap, *at(found))

        each_range(work, even(len(rows)))
        return found
    diagonal = np.diag(variances) if variances.ndim > 1 else variances
    total = diagonal[rows.winner] + diagonal[rows.loser]
    if variances.ndim > 1:
        total = total - 2.0 * variances[rows.winner, rows.loser]
    return np.minimum(np.sqrt(np.maximum(total, 0.0)), cap)


@singledispatch
def rows_of(judgments: AnyJudgments) -> Rows:
    """Turn judgments into weighted wins; an outcome between 0 and 1 is part of a win each way.

    An engine registers where it has the rows of its own judgments.

    Examples
    --------
    >>> import aggcal
    >>> rows = rows_of(aggcal.read_judgments([("ann", "a", "b", 0.75)]))
    >>> rows.winner, rows.weight
    (array([0, 1], dtype=int32), array([0.75, 0.25]))
    """
    return _in_memory(judgments.on_one_machine("summing rows"))


@rows_of.register
def _in_memory(judgments: Judgments) -> Rows:
    known = _KNOWN.get(judgments)
    rows = None if known is None else known()
    if rows is None:
        rows = _laid_out(judgments)
        _KNOWN[judgments] = ref(rows)
    return rows


def _laid_out(judgments: Judgments) -> Rows:
    outcome, weight = judgments.outcome, judgments.weight
    if judgments.decided_for_left:
        wins, losses = judgments.wins_and_losses
        return Rows(
            judgments.left,
            judgments.right,
            weight,
            judgments.starts,
            judgments.n_items,
            item_weights=wins + losses,
            item_wins=wins,
        )
    columns = judgments.annotator, judgments.left, judgments.right, outcome, weight
    return wins_of(*columns, judgments.n_items)


def wins_of(  # noqa: PLR0917  # columns
    annotator: CodeArray,
    left: CodeArray,
    right: CodeArray,
    outcome: FloatArray,
    weight: FloatArray,
    n_items: int,
) -> Rows:
    """Return the rows of judgments that are sorted by annotator; of each there is at least one."""
    annotator = np.asarray(annotator)
    found = Judged(annotator, left, right, outcome, weight, n_items).wins()
    if found is None:

        def merged(begin: int, end: int) -> tuple[CodeArray, CodeArray, FloatArray, IntArray]:
            part = slice(begin, end)
            return _merged(annotator[part], left[part], right[part], outcome[part], weight[part])

        # Equal rows are of one annotator: ranges of annotators are merged apart.
        parts = each_range(merged, between_annotators(annotator))
        *columns, counted = (joined(part) for part in zip(*parts, strict=True))
        found = columns, counted
    (winner, loser, total), sizes = found
    if all(each_range(lambda i, j: bool((total[i:j] == 1.0).all()), even(len(total)))):
        total = constant(1.0, len(total))
    return Rows(winner, loser, total, np.concatenate([[0], np.cumsum(sizes)]), n_items)


def _merged(
    owner: CodeArray, left: CodeArray, right: CodeArray, outcome: FloatArray, weight: FloatArray
) -> tuple[CodeArray, CodeArray, FloatArray, IntArray]:
    """Return winners, losers and weights, equal rows as one, and how many each annotator has."""
    forward, backward = outcome > 0.0, outcome < 1.0
    owner = np.concatenate([owner[forward], owner[backward]])
    winner = np.concatenate([left[forward], right[backward]])
    loser = np.concatenate([right[forward], left[backward]])
    given = np.concatenate([(weight * outcome)[forward], (weight * (1.0 - outcome))[backward]])
    order = order_by((owner, winner, loser))
    owner, winner, loser = owner[order], winner[order], loser[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (owner[1:] != owner[:-1]) | (winner[1:] != winner[:-1]) | (loser[1:] != loser[:-1])
    first = np.flatnonzero(new)
    sizes = np.bincount(owner[first] - owner[:1])
    return winner[first], loser[first], np.add.reduceat(given[order], first), sizes


def order_by(columns: Sequence[CodeArray]) -> IntArray:
    """Return the order of rows by columns of codes, the first before the others.

    Codes are −1 or more. Equal rows stay in their order.

    Examples
    --------
    >>> order_by((np.array([1, 0, 0]), np.array([0, 2, 1])))
    array([2, 1, 0])
    """
    room, key = 1, np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        most = int(column.max(initial=0)) + 2
        room *= most
        if room > _LARGEST:
            return np.lexsort(tuple(columns)[::-1])
        # One key for all columns is sorted in a third of the time.
        key *= most
        key += column
        key += 1
    return np.argsort(key, kind="stable")
