"""Nothing is claimed of two items that nothing compares, not even through others."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import aggcal
from aggcal.advice.check import check
from aggcal.aggregation.claims import claims_of
from aggcal.aggregation.covariance import DenseCovariance, independent
from aggcal.aggregation.groups import n_components
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.cli import main
from aggcal.data.graph import ComparisonGraph
from aggcal.errors import OptionError
from aggcal.simulation import simulate


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
    consensus, _ = uncertainty(islands())
    home = np.array([str(item).split(":")[0] for item in consensus.item_ids])
    found = consensus.claims()
    assert found is not None
    assert found.above is not None
    i, j = np.nonzero(found.above)
    assert len(i) == found.count > 20
    assert (home[i] == home[j]).all()
    assert found.n_pairs == 3 * (8 * 7 // 2)
    assert found.share == found.count / found.n_pairs
    # Each may be the best whose own component has none above it, and no tier parts components.
    assert set(home[found.first]) == {"0", "1", "2"}
    assert found.n_tiers == 1
    assert (found.high >= 17).all()


def test_components_are_claimed_alike_with_and_without_a_matrix() -> None:
    random = np.random.default_rng(3)
    scores, component = 3.0 * random.standard_normal(60), random.integers(4, size=60)
    dense = claims_of(scores, DenseCovariance(0.04 * np.eye(60)), 0.95, component=component)
    wide = independent(np.full(3600, 0.2))
    many = np.concatenate([scores, np.full(3540, 0.0)])
    label = np.concatenate([component, np.full(3540, 9)])
    free = claims_of(many, wide, 0.95, component=label)
    assert dense.above is not None
    assert free.above is None
    assert 0.5 * dense.count < free.count < dense.count
    assert (dense.low >= free.low[:60]).all()
    assert (free.high[:60] - 3540 >= dense.high).all()
    assert free.first[60:].all()


def test_rank_intervals_hold_every_interleaving_of_the_components() -> None:
    """Brute force: shift components at random, and no rank leaves its interval.

    Within a component the scores are exact, so that its own ranks are certain.
    """
    random = np.random.default_rng(8)
    component = random.integers(3, size=12)
    scores = random.permutation(12).astype(float)
    exact = DenseCovariance(1e-12 * np.eye(12))
    known = Uncertainty.of("laplace", 0.95, scores, exact, component=component)
    low, high = known.rank_low, known.rank_high
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
    known = Uncertainty.of("laplace", 0.95, scores, covariance, component=component)
    low, high = known.rank_low, known.rank_high
    rank = 1 + (scores[None, :] > scores[:, None]).sum(axis=1)
    assert (low <= rank).all()
    assert (rank <= high).all()
    assert (high[3500:] >= n - 50).all()
    assert np.median(high[:3500] - low[:3500]) < 1000


def test_order_probabilities_across_components_are_refused() -> None:
    consensus, known = uncertainty([("ann", "a", "b"), ("bob", "c", "d")])
    assert consensus.order_probability("a", "b") > 0.5
    with pytest.raises(OptionError, match="no chain of comparisons links 'a' and 'c'"):
        consensus.order_probability("a", "c")
    chance = known.order_probability(np.array([0, 0]), np.array([1, 2]))
    assert np.isfinite(chance[0])
    assert np.isnan(chance[1])


def test_features_relate_what_nobody_compared() -> None:
    features = aggcal.read_features([("a", 3.0), ("b", 1.0), ("c", 3.1), ("d", 0.9)])
    rows = [("ann", "a", "b"), ("bob", "c", "d"), ("bob", "a", "b")]
    related = aggcal.aggregate(rows, "gppl", features=features, warn=False)
    assert 0.5 < related.order_probability("a", "d") < 1.0
    apart = aggcal.aggregate(rows, "gppl", features="identity", warn=False)
    with pytest.raises(OptionError, match="no chain of comparisons"):
        apart.order_probability("a", "d")


def test_the_sentences_say_so(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    lines = ("annotator,winner,loser", *(",".join(row) for row in islands()))
    rows.write_text("\n".join(lines))
    assert main(["aggregate", str(rows), "-o", str(tmp_path / "out"), "--quiet"]) == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    claims, said = summary["guarantees"], summary["check"]["precision"]
    assert claims["certified_pairs"]["values"]["pairs"] == 84
    assert claims["certified_pairs"]["values"]["pairs_across_components"] == 192
    assert "192 pairs across the 3 connected components" in claims["certified_pairs"]["says"]
    assert "arbitrary" in claims["rank_intervals"]["says"]
    assert said["components"] == 3
    assert said["not_compared"] == pytest.approx(192 / 276)
    assert "No comparisons link 70% of all pairs" in said["says"]
    with (tmp_path / "out" / "items.csv").open() as file:
        table = list(csv.DictReader(file))
    assert {(row["item"].split(":")[0], row["component"]) for row in table} == {
        ("0", "1"), ("1", "2"), ("2", "3"),
    }  # fmt: skip
    pairs = summary["suggestions"]["pairs"]
    joining = [pair for pair in pairs if pair["reason"] == "connects components"]
    assert len(joining) == 2
    assert pairs[:2] == joining
    assert all(pair["probability"] is None for pair in joining)
    assert all(pair["left"][0] != pair["right"][0] for pair in joining)
    assert main(["report", str(tmp_path / "out"), "--quiet"]) == 0


def _classes(
    seed: int, *, groups: int = 2, each: int = 8, bridges: int = 8, gap: float = 4.0
) -> tuple[list[tuple[str, str, str, str]], np.ndarray]:
    """Return answers of 10 annotators within classes, a few across, and the true scores."""
    random = np.random.default_rng(seed)
    label = np.repeat(np.arange(groups), each)
    truth = gap * label + random.normal(size=groups * each)
    pairs = [
        random.choice(np.flatnonzero(label == k % groups), 2, replace=False) for k in range(600)
    ]
    for k in range(bridges):
        first = k % (groups - 1)
        pairs.append(each * np.array([first, first + 1]) + random.integers(each, size=2))
    answers = random.random(len(pairs))
    rows = [
        (
            f"u{k // 2 % 10}",
            f"i{i:02}",
            f"i{j:02}",
            "left" if answer < 1 / (1 + np.exp(truth[j] - truth[i])) else "right",
        )
        for k, ((i, j), answer) in enumerate(zip(pairs, answers, strict=True))
    ]
    return rows, truth


@pytest.mark.parametrize("groups", [2, 3])
def test_nothing_is_claimed_across_groups_that_few_judgments_join(groups: int) -> None:
    for seed in range(4):
        rows, truth = _classes(seed, groups=groups)
        known = aggcal.aggregate(rows, warn=False).quantify()
        found = known.uncertainty
        assert found is not None
        assert found.component is not None
        assert found.component.tolist() == np.repeat(np.arange(groups), 8).tolist()
        claims = known.claims()
        assert claims is not None
        assert claims.above is not None
        i, j = np.nonzero(claims.above)
        assert len(i)
        assert (truth[i] > truth[j]).all()
        ranks = len(truth) - np.argsort(np.argsort(truth))
        assert np.mean((found.rank_low <= ranks) & (ranks <= found.rank_high)) >= 0.9
        [warning] = [w for w in known.warnings if w.code == "weakly-joined"]
        assert f"Only 8 of 608 judgments connect {groups} groups" in warning.what
        looked = check(aggcal.read_judgments(rows), consensus=known)
        assert "weakly-joined" in {finding.code for finding in looked.findings}


def test_groups_with_enough_judgments_across_are_one() -> None:
    rows, _ = _classes(0, bridges=150)
    found = aggcal.aggregate(rows, warn=False).uncertainty
    assert found is not None
    assert found.component is None


@pytest.mark.parametrize(
    ("items", "judgments", "design"),
    [(300, 600, "random"), (300, 300, "random"), (30, 300, "chain"), (12, 1000, "chain"),
     (20, 900, "random"), (30, 60, "random"), (30, 300, "near")],
)  # fmt: skip
def test_sparse_but_evenly_joined_designs_are_not_split(
    items: int, judgments: int, design: str
) -> None:
    for seed in range(2):
        random = np.random.default_rng(seed)
        truth = np.sort(random.normal(size=items))
        rows = []
        for k in range(judgments):
            i, j = random.choice(items, 2, replace=False)
            if design != "random":
                step = 1 if design == "chain" else int(random.integers(1, 4))
                i = int(random.integers(items - step))
                j = i + step
            left = random.random() < 1 / (1 + np.exp(truth[j] - truth[i]))
            rows.append((f"u{k % 10}", f"i{i:03}", f"i{j:03}", "left" if left else "right"))
        table = aggcal.read_judgments(rows)
        found = aggcal.aggregate(table, warn=False).uncertainty
        assert found is not None
        pieces = ComparisonGraph(table).component
        assert n_components(found.component) == len(np.unique(pieces))
