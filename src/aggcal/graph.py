"""The comparison graph: its pieces, and the items at its edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggcal.arrays import FloatArray, IntArray, TextArray, sums
from aggcal.judgments import Judgments


@dataclass(frozen=True)
class ComparisonGraph:
    """Which items were compared, and which way.

    ``component`` numbers the connected pieces, the largest first. ``strong`` numbers the
    strongly connected ones (each item beats each other through a chain): a plain
    maximum-likelihood estimate exists only if there is one.
    """

    item_ids: TextArray
    component: IntArray
    strong: IntArray
    wins: FloatArray
    losses: FloatArray

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
        return list(self.item_ids[self.wins == 0.0])

    @property
    def never_lose(self) -> list[str]:
        """Items without as much as half a loss."""
        return list(self.item_ids[self.losses == 0.0])


def comparison_graph(judgments: Judgments) -> ComparisonGraph:
    """Build the comparison graph of some judgments.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("ann", "b", "a"), ("ann", "c", "d")]
    >>> graph = comparison_graph(aggcal.read_judgments(rows))
    >>> graph.component_sizes, graph.never_win
    (array([2, 2]), ['d'])
    """
    from scipy.sparse import coo_array  # a third of a second
    from scipy.sparse.csgraph import connected_components

    n = judgments.n_items
    left, right, outcome = judgments.left, judgments.right, judgments.outcome
    ahead, behind = outcome > 0.0, outcome < 1.0
    winner = np.concatenate([left[ahead], right[behind]])
    loser = np.concatenate([right[ahead], left[behind]])
    edges = coo_array((np.ones(len(winner), dtype=np.int8), (winner, loser)), shape=(n, n)).tocsr()
    _, component = connected_components(edges, directed=False)
    _, strong = connected_components(edges, directed=True, connection="strong")
    wins = sums(left, judgments.weight * outcome, n)
    wins += sums(right, judgments.weight * (1.0 - outcome), n)
    losses = sums(left, judgments.weight * (1.0 - outcome), n)
    losses += sums(right, judgments.weight * outcome, n)
    return ComparisonGraph(
        judgments.item_ids, _largest_first(component), _largest_first(strong), wins, losses
    )


def _largest_first(labels: np.ndarray) -> IntArray:
    order = np.argsort(-np.bincount(labels), kind="stable")
    place: IntArray = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return np.asarray(place[labels])
