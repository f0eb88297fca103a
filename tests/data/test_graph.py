"""Strongly connected pieces, in which a tie is a win of both."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import aggcal


def test_a_tie_is_a_win_of_both() -> None:
    random = np.random.default_rng(2)
    for _ in range(20):
        n, number = int(random.integers(2, 40)), int(random.integers(60, 400))
        left = random.integers(0, n, number)
        right = (left + random.integers(1, n, number)) % n
        outcome = random.choice([0.0, 0.5, 1.0], number, p=[0.01, 0.02, 0.97])
        left, right = np.minimum(left, right), np.maximum(left, right)
        said = [{0.0: "right", 0.5: "tie", 1.0: "left"}[y] for y in outcome.tolist()]
        rows = zip(range(number), left.tolist(), right.tolist(), said, strict=True)
        judgments = aggcal.read_judgments([(f"u{u}", i, j, y) for u, i, j, y in rows])
        up, down = judgments.outcome > 0.0, judgments.outcome < 1.0
        winner = np.concatenate([judgments.left[up], judgments.right[down]])
        loser = np.concatenate([judgments.right[up], judgments.left[down]])
        shape = judgments.n_items, judgments.n_items
        edges = coo_array((np.ones(len(winner)), (winner, loser)), shape=shape).tocsr()
        wanted = connected_components(edges, directed=True, connection="strong")[1]
        found = judgments.graph.strong
        assert len(set(zip(found, wanted, strict=True))) == len(set(found)) == len(set(wanted))
