"""The comparison graph: its pieces, and the items at its edges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from aggcal._core.arrays import CodeArray, IntArray, TextArray
from aggcal._core.kernels import at, library
from aggcal.data.base import AnyJudgments

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class ComparisonGraph:
    """Which items were compared, and which way.

    Parameters
    ----------
    judgments
        The comparisons.
    component
        Number of the connected piece of each item, the largest being 0, where an engine knows it.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("ann", "b", "a"), ("ann", "c", "d")]
    >>> graph = ComparisonGraph(aggcal.read_judgments(rows))
    >>> graph.component_sizes, graph.never_win
    (array([2, 2]), ['d'])
    """

    def __init__(self, judgments: AnyJudgments, component: IntArray | None = None) -> None:
        self._judgments, self._component = judgments, component

    @property
    def item_ids(self) -> TextArray:
        """The items."""
        return self._judgments.item_ids

    @cached_property
    def component(self) -> IntArray:
        """Number of the connected piece of each item, the largest piece being 0."""
        if self._component is not None:
            return self._component
        judgments, kernels = self._judgments.on_one_machine("finding connected items"), library()
        if kernels is None:
            from scipy.sparse.csgraph import connected_components

            return _largest_first(connected_components(self._edges(), directed=False)[1])
        left, right = (np.ascontiguousarray(c) for c in (judgments.left, judgments.right))
        parent = np.empty(judgments.n_items, dtype=np.int32)
        rows, (a, b, c) = len(left), at(left, right, parent)
        kernels.aggcal_components(rows, a, b, judgments.n_items, c)
        return Forest(parent).component

    @cached_property
    def strong(self) -> IntArray:
        """Number of the strongly connected piece of each item, the largest being 0.

        In such a piece each item beats each other through a chain; a plain maximum-likelihood
        estimate exists only if there is one.
        """
        from scipy.sparse.csgraph import connected_components

        found = connected_components(self._edges(), directed=True, connection="strong")
        return _largest_first(found[1])

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

    def _edges(self) -> csr_array:
        """Return the matrix of who beat whom."""
        from scipy.sparse import coo_array

        judgments = self._judgments.on_one_machine("following chains of wins and losses")
        n = judgments.n_items
        ahead, behind = judgments.outcome > 0.0, judgments.outcome < 1.0
        winner = np.concatenate([judgments.left[ahead], judgments.right[behind]])
        loser = np.concatenate([judgments.right[ahead], judgments.left[behind]])
        one = np.ones(len(winner), dtype=np.float32)
        return coo_array((one, (winner, loser)), shape=(n, n)).tocsr()


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

    def __add__(self, other: Forest) -> Forest:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        n = len(self.parent)
        item = np.arange(n, dtype=self.parent.dtype)
        ends = np.concatenate([item, item]), np.concatenate([self.parent, other.parent])
        edges = coo_array((np.ones(2 * n, dtype=np.float32), ends), shape=(n, n))
        piece = connected_components(edges.tocsr(), directed=False)[1]
        return Forest(np.unique(piece, return_index=True)[1].astype(np.int32)[piece])

    @property
    def component(self) -> IntArray:
        """Number of the connected piece of each item, the largest piece being 0."""
        return _largest_first(np.unique(self.parent, return_inverse=True)[1])


def _largest_first(labels: np.ndarray) -> IntArray:
    order = np.argsort(-np.bincount(labels), kind="stable")
    place: IntArray = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return np.asarray(place[labels])
