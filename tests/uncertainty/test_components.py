"""Nothing is claimed of two items that nothing compares, not even through others."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import aggcal
from aggcal.cli import main
from aggcal.errors import OptionError
from aggcal.simulate import simulate
from aggcal.uncertainty import Uncertainty
from aggcal.uncertainty.certified import Certified
from aggcal.uncertainty.covariance import DenseCovariance, independent
from aggcal.uncertainty.ranks import rank_intervals


def islands(number: int = 3, items: int = 8, judgments: int = 400) -> list[tuple[str, str, str]]:
    """Return judgments of several studies whose items were never compared with each other's."""
    rows = []
    for k in range(number):
        study = simulate(items=items, annotators=6, judgments=judgments, seed=k)
        columns = study.judgments
        rows += [
            (str(u), f"{k}:{w}", f"{k}:{x}")
            for u, w, x in zip(
                columns["annotator"], columns["winner"], columns["loser"], strict=True
            )
        ]
    return rows


def uncertainty(rows: list[tuple[str, str, str]]) -> tuple[aggcal.Consensus, Uncertainty]:
    consensus = aggcal.aggregate(rows, warn=False)
    assert consensus.uncertainty is not None
    return consensus, consensus.uncertainty


def test_no_pair_across_components_is_certified() -> None:
    consensus, known = uncertainty(islands())
    home = [str(item).split(":")[0] for item in consensus.item_ids]
    found = known.certified()
    pairs = list(found.pairs())
    assert len(pairs) == found.count > 20
    assert all(home[i] == home[j] for i, j in pairs)
    assert found.n_pairs == 3 * (8 * 7 // 2)
    assert found.share == found.count / found.n_pairs


def test_the_union_bound_runs_over_the_pairs_that_can_be_certified() -> None:
    scores, covariance = np.arange(6.0), DenseCovariance(np.eye(6))
    component = np.array([0, 0, 0, 1, 1, 1])
    whole = Certified(scores, covariance, 0.95)
    parts = Certified(scores, covariance, 0.95, component=component)
    alone = Certified(np.arange(4.0), DenseCovariance(np.eye(4)), 0.95)
    assert (whole.n_pairs, parts.n_pairs, alone.n_pairs) == (15, 6, 6)
    assert parts.reach == alone.reach < whole.reach


def test_certified_pairs_are_counted_alike_with_and_without_a_matrix() -> None:
    random = np.random.default_rng(3)
    scores, component = 9.0 * random.standard_normal(60), random.integers(4, size=60)
    found = Certified(scores, independent(np.ones(60)), 0.95, component=component)
    pairs = list(found.pairs())
    assert found.count == len(pairs) > 100
    assert all(component[i] == component[j] and scores[i] > scores[j] for i, j in pairs)


def test_a_component_of_its_own_leaves_every_place_open() -> None:
    rows = [("ann", "a", "b")] * 3 + [("bob", "c", "d")] * 2
    consensus, known = uncertainty([*rows, ("bob", "a", "b"), ("ann", "c", "d")])
    place = dict(zip(consensus.item_ids, zip(known.rank_low, known.rank_high, strict=True)))
    assert place["a"][0] == 1
    assert place["a"][1] >= 3
    assert place["d"][1] == 4
    assert place["d"][0] <= 2


def test_rank_intervals_hold_every_interleaving_of_the_components() -> None:
    """Brute force: shift components at random, and no rank leaves its interval.

    Within a component the scores are exact, so that its own ranks are certain.
    """
    random = np.random.default_rng(8)
    component = random.integers(3, size=12)
    scores = random.permutation(12).astype(float)
    exact = DenseCovariance(1e-12 * np.eye(12))
    low, high = rank_intervals(scores, exact, 0.95, 0, component=component)
    seen_low, seen_high = np.full(12, 99), np.zeros(12, dtype=int)
    for _ in range(4000):
        shifted = scores + 12.0 * random.standard_normal(3)[component]
        rank = 1 + (shifted[None, :] > shifted[:, None]).sum(axis=1)
        seen_low, seen_high = np.minimum(seen_low, rank), np.maximum(seen_high, rank)
    np.testing.assert_array_equal(low, seen_low)
    np.testing.assert_array_equal(high, seen_high)


def test_components_of_very_many_items_have_intervals_of_their_own() -> None:
    random = np.random.default_rng(1)
    n = 3600
    component = np.where(np.arange(n) < 3500, 0, 1 + np.arange(n) // 50)
    scores, covariance = random.standard_normal(n), independent(np.full(n, 0.1))
    low, high = rank_intervals(scores, covariance, 0.95, 0, component=component)
    rank = 1 + (scores[None, :] > scores[:, None]).sum(axis=1)
    assert (low <= rank).all()
    assert (rank <= high).all()
    assert (high[3500:] >= n - 50).all()
    assert np.median(high[:3500] - low[:3500]) < 1000


def test_order_probabilities_across_components_are_refused() -> None:
    consensus, known = uncertainty([("ann", "a", "b"), ("bob", "c", "d")])
    assert consensus.order_probability("a", "b") > 0.5
    with pytest.raises(OptionError, match="nothing compares 'a' with 'c'"):
        consensus.order_probability("a", "c")
    chance = known.order_probability(np.array([0, 0]), np.array([1, 2]))
    assert np.isfinite(chance[0])
    assert np.isnan(chance[1])
    assert known.wrong_order_bound() == 1.0


def test_a_connected_study_is_as_it_was() -> None:
    study = simulate(items=12, annotators=6, judgments=300, seed=4)
    consensus = aggcal.aggregate(study.judgments, warn=False)
    known = consensus.uncertainty
    assert known is not None
    assert known.component is None
    assert known.certified().n_pairs == 66
    again = rank_intervals(known.scores, known.covariance, known.level, 0)
    np.testing.assert_array_equal(known.rank_low, again[0])
    np.testing.assert_array_equal(known.rank_high, again[1])


def test_features_relate_what_nobody_compared() -> None:
    features = aggcal.read_features([("a", 3.0), ("b", 1.0), ("c", 3.1), ("d", 0.9)])
    rows = [("ann", "a", "b"), ("bob", "c", "d"), ("bob", "a", "b")]
    related = aggcal.aggregate(rows, "gppl", features=features, warn=False)
    assert 0.5 < related.order_probability("a", "d") < 1.0
    apart = aggcal.aggregate(rows, "gppl", features="identity", warn=False)
    with pytest.raises(OptionError, match="nothing compares"):
        apart.order_probability("a", "d")
