"""Strongly connected pieces, found without SciPy where that is quick, as SciPy finds them."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from aggcal.data import graph


def test_strong_pieces_are_those_of_scipy() -> None:
    random, seen = np.random.default_rng(0), 0
    for _ in range(600):
        n = int(random.integers(2, 40))
        number = int(random.integers(1, 5 * n))
        score = random.normal(size=n) * random.choice([0.0, 1.0, 5.0])
        one = random.integers(0, n, number)
        other = (one + random.integers(1, n, number)) % n
        won = random.random(number) < 1.0 / (1.0 + np.exp(score[other] - score[one]))
        winner, loser = np.where(won, one, other), np.where(won, other, one)
        found = graph._one_strong_piece(winner.astype(np.int32), loser.astype(np.int32), n)
        if found is None:
            continue
        seen += 1
        edges = coo_array((np.ones(number), (winner, loser)), shape=(n, n)).tocsr()
        wanted = connected_components(edges, directed=True, connection="strong")[1]
        # The same pieces, whatever their numbers, and the largest is 0.
        assert len(set(zip(found, wanted, strict=True))) == len(set(found)) == len(set(wanted))
        sizes = np.bincount(found)
        assert sizes[0] == sizes.max() == np.bincount(wanted).max()
    assert seen > 150


def test_a_long_chain_is_left_to_scipy() -> None:
    n = 200
    winner, loser = np.arange(n, dtype=np.int32), np.roll(np.arange(n, dtype=np.int32), 1)
    assert graph._one_strong_piece(winner, loser, n) is None
