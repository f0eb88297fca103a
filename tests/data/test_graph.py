"""Strongly connected pieces, found without SciPy where that is quick, as SciPy finds them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import aggcal
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


@pytest.mark.parametrize("apart", [False, True])
def test_a_part_of_many_rows_tells_what_all_tell(
    monkeypatch: pytest.MonkeyPatch, apart: bool
) -> None:
    random, n, number = np.random.default_rng(1), 12, 3_000
    left = random.integers(0, n - 1, number)
    right = (left + random.integers(1, n - 1, number)) % (n - 1)
    left[-100:], right[-100:] = (n - 1, 0) if apart else (left[-100:], right[-100:])
    rows = zip(range(number), left.tolist(), right.tolist(), strict=True)
    judgments = aggcal.read_judgments([(f"u{u:04}", f"i{i}", f"i{j}") for u, i, j in rows])
    whole = graph.ComparisonGraph(judgments).strong
    assert whole.any() == apart  # one item is never beaten
    joined, steps = graph.ComparisonGraph._joined, []

    def counted(self: graph.ComparisonGraph, label: np.ndarray, step: int) -> object:
        steps.append(step)
        return joined(self, label, step)

    monkeypatch.setattr(graph, "_MANY", 100)
    monkeypatch.setattr(graph.ComparisonGraph, "_joined", counted)
    assert graph.ComparisonGraph(judgments).strong.tolist() == whole.tolist()
    assert steps == ([31, 3, 1] if apart else [34])


def test_pieces_are_joined_as_all_rows_would(monkeypatch: pytest.MonkeyPatch) -> None:
    random, seen = np.random.default_rng(2), []
    monkeypatch.setattr(graph, "_MANY", 10)
    monkeypatch.setattr(graph, "_FOLLOWED", 10)
    monkeypatch.setattr(graph, "_FEW_ROWS", (1, 2))
    for _ in range(60):
        n, number = int(random.integers(2, 40)), int(random.integers(60, 400))
        score = random.normal(size=n) * random.choice([1.0, 5.0])
        left = random.integers(0, n, number)
        right = (left + random.integers(1, n, number)) % n
        won = random.random(number) < 1.0 / (1.0 + np.exp(score[right] - score[left]))
        tied = random.random(number) < 0.02
        said = np.where(tied, "tie", np.where(won, "left", "right")).tolist()
        rows = zip(range(number), left.tolist(), right.tolist(), said, strict=True)
        judgments = aggcal.read_judgments(
            [(f"u{u:04}", f"i{i}", f"i{j}", y) for u, i, j, y in rows]
        )
        found = judgments.graph.strong
        winner, loser = judgments.graph._beats()
        wanted = graph._strong_pieces(winner, loser, judgments.n_items)
        assert len(set(zip(found, wanted, strict=True))) == len(set(found)) == len(set(wanted))
        assert np.bincount(found).tolist() == np.bincount(wanted).tolist()
        assert (found > 0).tolist() == (wanted > 0).tolist()
        seen.append(len(set(found.tolist())))
    assert seen.count(1) > 5
    assert len(set(seen)) > 5
