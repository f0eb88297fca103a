"""The comparison graph: its pieces, and the items at its edges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, TextArray, sums
from aggcal._core.kernels import at, library
from aggcal.data.base import AnyJudgments


class ComparisonGraph:
    """Which items were compared, and which way.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("ann", "b", "a"), ("ann", "c", "d")]
    >>> graph = ComparisonGraph(aggcal.read_judgments(rows))
    >>> graph.component_sizes, graph.never_win
    (array([2, 2]), ['d'])
    """

    def __init__(self, judgments: AnyJudgments) -> None:
        self._judgments = judgments

    @property
    def item_ids(self) -> TextArray:
        """The items."""
        return self._judgments.item_ids

    @property
    def component(self) -> IntArray:
        """Number of the connected piece of each item, the largest piece being 0."""
        return self._judgments.component

    @cached_property
    def strong(self) -> IntArray:
        """Number of the strongly connected piece of each item, the largest being 0.

        In such a piece each item beats each other through a chain; a plain maximum-likelihood
        estimate exists only if there is one.
        """
        judgments = self._judgments.on_one_machine("following chains of wins and losses")
        ahead, behind = judgments.outcome > 0.0, judgments.outcome < 1.0  # ties go both ways
        left, right = judgments.left, judgments.right
        winner = np.concatenate([left[ahead], right[behind]])
        loser = np.concatenate([right[ahead], left[behind]])
        return _largest_first(_pieces(winner, loser, judgments.n_items, connection="strong"))

    @property
    def component_sizes(self) -> IntArray:
        """Items in each connected piece, the largest first."""
        return np.bincount(self.component).astype(np.int64)

    @property
    def strong_sizes(self) -> IntArray:
        """Items in each strongly connected piece, the largest first."""
        return np.bincount(self.strong).astype(np.int64)

    @property
    def never_win(self) -> list[str]:
        """Items without as much as half a win."""
        return list(self.item_ids[self._judgments.wins_and_losses[0] == 0.0])

    @property
    def never_lose(self) -> list[str]:
        """Items without as much as half a loss."""
        return list(self.item_ids[self._judgments.wins_and_losses[1] == 0.0])


def net_flow(winner: CodeArray, loser: CodeArray, values: FloatArray, n_items: int) -> FloatArray:
    """Return the sum of values over the rows that each item won, less those that it lost.

    Examples
    --------
    >>> net_flow(np.array([0, 1]), np.array([1, 2]), np.array([1.0, 2.0]), 3)
    array([ 1.,  1., -2.])
    """
    return sums(winner, values, n_items) - sums(loser, values, n_items)


def laplacian(winner: CodeArray, loser: CodeArray, weight: FloatArray, n_items: int) -> FloatArray:
    """Return the Laplacian of the graph of items whose edges are rows of these weights.

    Examples
    --------
    >>> laplacian(np.array([0, 1, 0]), np.array([1, 0, 1]), np.ones(3), 2)
    array([[ 3., -3.],
           [-3.,  3.]])
    """
    pairs = sums(winner.astype(np.int64) * n_items + loser, weight, n_items * n_items)
    return laplacian_of_pairs(pairs.reshape(n_items, n_items))


def laplacian_of_pairs(pairs: FloatArray) -> FloatArray:
    """Return the Laplacian of a graph whose edges have these weights, in either direction.

    Examples
    --------
    >>> laplacian_of_pairs(np.array([[0.0, 2.0], [1.0, 0.0]]))
    array([[ 3., -3.],
           [-3.,  3.]])
    """
    matrix = -(pairs + pairs.T)
    matrix[np.diag_indices(len(pairs))] = pairs.sum(axis=0) + pairs.sum(axis=1)
    return matrix


@dataclass(frozen=True, eq=False)
class Forest:
    """Which items some comparisons connect; forests of parts of the judgments add up.

    ``parent`` names, for each item, one of its piece: the same for all of the piece.

    Examples
    --------
    >>> one, other = Forest(np.array([0, 0, 2, 3])), Forest(np.array([0, 1, 1, 3]))
    >>> (one + other).component
    array([0, 0, 0, 1])
    """

    parent: CodeArray | IntArray

    @classmethod
    def of(cls, one: CodeArray, other: CodeArray, n_items: int) -> Forest:
        """Connect the items of each pair.

        Examples
        --------
        >>> Forest.of(np.array([0, 2]), np.array([1, 1]), 4).component
        array([0, 0, 0, 1])
        """
        kernels = library()
        if kernels is None:
            piece = _pieces(one, other, n_items, directed=False)
            return cls(np.unique(piece, return_index=True)[1].astype(np.int32)[piece])
        ends = [np.ascontiguousarray(column, dtype=np.int32) for column in (one, other)]
        parent = np.empty(n_items, dtype=np.int32)
        first, second, out = at(*ends, parent)
        kernels.aggcal_components(len(one), first, second, n_items, out)
        return cls(parent)

    def __add__(self, other: Forest) -> Forest:
        item, n = np.arange(len(self.parent), dtype=self.parent.dtype), len(self.parent)
        ends = np.concatenate([item, item]), np.concatenate([self.parent, other.parent])
        return self.of(*ends, n)

    @property
    def component(self) -> IntArray:
        """Number of the connected piece of each item, the largest piece being 0."""
        if not (self.parent != self.parent[:1]).any():  # one piece, as nearly always
            return np.zeros(len(self.parent), dtype=np.int64)
        return _largest_first(np.unique(self.parent, return_inverse=True)[1])


def _pieces(one: CodeArray | IntArray, other: CodeArray | IntArray, n: int, **how: Any) -> IntArray:
    """Return a number of its connected piece for each of the items."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges = coo_array((np.ones(len(one), dtype=np.float32), (one, other)), shape=(n, n))
    return np.asarray(connected_components(edges.tocsr(), **how)[1])


def _largest_first(labels: np.ndarray) -> IntArray:
    order = np.argsort(-np.bincount(labels), kind="stable")
    position: IntArray = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    return np.asarray(position[labels])
