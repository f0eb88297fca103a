"""Whether intervals cover what they say they cover, as often as they say."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal._core.tables import aligned
from aggcal.advice.check.precision import precision
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.calibration.project import project
from aggcal.registry.literals import CalibratorName
from aggcal.simulation import Simulation, simulate


def fitted(
    study: Simulation, level: float, seed: int
) -> tuple[aggcal.Consensus, Uncertainty, FloatArray]:
    judgments = aggcal.read_judgments(study.judgments)
    consensus = aggcal.aggregate(judgments, warn=False).quantify(level=level, seed=seed)
    assert consensus.uncertainty is not None
    # In the unit of the fit: the typical annotator has reliability 1.
    truth = typical(study, consensus) * aligned(study.latent, study.item_ids, consensus.item_ids)
    return consensus, consensus.uncertainty, truth - truth.mean()


def typical(study: Simulation, consensus: aggcal.Consensus) -> float:
    gamma = aligned(study.reliability, study.annotator_ids, consensus.annotator_ids)
    weights = consensus.judgments_per_annotator
    return float(np.abs(gamma) @ weights / weights.sum())


@pytest.mark.slow
@pytest.mark.parametrize("each", [5, 30, 200])
@pytest.mark.parametrize(("items", "annotators"), [(60, 40), (100, 30)])
def test_intervals_of_the_consensus(each: int, items: int, annotators: int) -> None:
    check_coverage(items, annotators, each, range(24 if items < 100 else 12))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("items", "annotators", "each"), [(20, 600, 5), (200, 10, 30), (50, 120, 30), (30, 10, 30)]
)
def test_intervals_of_lopsided_studies(items: int, annotators: int, each: int) -> None:
    """Far more annotators than items, far fewer, and few of both."""
    check_coverage(items, annotators, each, range(24 if items < 50 else 12))


def check_coverage(items: int, annotators: int, each: int, seeds: range) -> None:
    by_error: dict[float, list[float]] = {0.9: [], 0.95: []}
    by_interval, by_rank, by_reliability = [], [], []
    for seed in seeds:
        study = simulate(
            items=items, annotators=annotators, judgments=each * annotators, seed=900 + seed
        )
        consensus, known, truth = fitted(study, 0.9, seed)
        off = np.abs(consensus.scores - truth)
        for level, critical_value in ((0.9, 1.6449), (0.95, 1.96)):
            by_error[level].append(float(np.mean(off <= critical_value * known.se)))
        by_interval.append(float(np.mean((known.low <= truth) & (truth <= known.high))))
        rank = len(truth) - np.argsort(np.argsort(truth))
        by_rank.append(float(np.mean((known.rank_low <= rank) & (rank <= known.rank_high))))
        gamma = aligned(study.reliability, study.annotator_ids, consensus.annotator_ids)
        gamma = gamma / typical(study, consensus)
        assert known.reliability_low is not None
        assert known.reliability_high is not None
        inside = (known.reliability_low <= gamma) & (gamma <= known.reliability_high)
        by_reliability.append(float(np.mean(inside)))
    # Reliabilities are log-normal here, which the model does not suppose; five judgments each are
    # few, and a study has one scale.
    least = 0.84 if each < 10 else 0.86
    assert least <= np.mean(by_error[0.9]) <= 0.94
    assert least + 0.05 <= np.mean(by_error[0.95]) <= 0.98
    assert least <= np.mean(by_interval) <= 0.94
    assert least <= np.mean(by_rank) <= 0.985
    assert 0.85 <= np.mean(by_reliability) <= 0.965


@pytest.mark.slow
@pytest.mark.parametrize(
    ("items", "annotators", "judgments", "studies"), [(60, 30, 1500, 20), (200, 10, 300, 12)]
)
def test_order_probabilities_are_frequencies(
    items: int, annotators: int, judgments: int, studies: int
) -> None:
    said, right = [], []
    random = np.random.default_rng(0)
    for seed in range(studies):
        study = simulate(items=items, annotators=annotators, judgments=judgments, seed=300 + seed)
        _, known, truth = fitted(study, 0.9, seed)
        i, j = random.integers(len(truth), size=(2, 400))
        pairs = (i != j) & (known.scores[i] > known.scores[j])
        said.append(known.order_probability(i[pairs], j[pairs]))
        right.append(truth[i[pairs]] > truth[j[pairs]])
    claimed, true = np.concatenate(said), np.concatenate(right)
    for low, high in ((0.5, 0.65), (0.65, 0.8), (0.8, 0.9), (0.9, 0.97), (0.97, 1.0)):
        band = (claimed >= low) & (claimed < high)
        # With three judgments an item the spread of a study is uncertain, and so is all it claims.
        near = 0.06 if judgments > 1000 else 0.08
        if band.sum() < 200:  # too few pairs to tell
            continue
        assert np.mean(true[band]) == pytest.approx(np.mean(claimed[band]), abs=near)


def test_certified_pairs_are_all_right_together() -> None:
    wrong, some = 0, 0
    for seed in range(40):
        study = simulate(items=20, annotators=20, judgments=1500, seed=700 + seed)
        consensus, _, truth = fitted(study, 0.9, seed)
        claims = consensus.claims()
        assert claims is not None
        assert claims.above is not None
        i, j = np.nonzero(claims.above)
        some += len(i)
        wrong += bool((truth[i] < truth[j]).any())
    assert some > 40 * 30
    assert wrong <= 8  # 4 expected at most; 9 or more would happen once in 50 times


@pytest.mark.slow
def test_calibrated_intervals_cover_the_projection_onto_the_exact_order() -> None:
    inside = []
    for seed in range(28):
        study = simulate(items=80, annotators=30, judgments=3000, model_sd=6.0, seed=seed)
        consensus, _, truth = fitted(study, 0.9, seed)
        found = aggcal.calibrate(study.scores, consensus, seed=seed, warn=False)
        assert found.covers == "sampling uncertainty of the consensus"
        exact = aligned(truth, consensus.item_ids, found.item_ids)
        target, _ = project(exact, found.model)
        assert found.low is not None
        assert found.high is not None
        inside.append(np.mean((found.low - 1e-9 <= target) & (target <= found.high + 1e-9)))
    assert 0.85 <= np.mean(inside) <= 0.95


@pytest.mark.slow
def test_conformal_intervals_cover_the_truth_even_if_annotators_are_wrong_together() -> None:
    inside: dict[CalibratorName, list[float]] = {"atc": [], "fused": []}
    for seed in range(20):
        study = simulate(items=120, annotators=20, judgments=4000, model_sd=8.0, seed=seed)
        random = np.random.default_rng(seed)
        # What the annotators see is not the truth, and nothing in their answers shows it.
        truth = dict(
            zip(study.item_ids, study.truth + 7.0 * random.standard_normal(120), strict=True)
        )
        chosen = random.choice(study.item_ids, 30, replace=False)
        consensus = aggcal.aggregate(study.judgments, warn=False)
        for method, share in inside.items():
            found = aggcal.calibrate(
                study.scores,
                consensus,
                method=method,
                anchors={item: truth[item] for item in chosen},
                level=0.9,
                seed=seed,
                warn=False,
            )
            assert found.covers == "coverage of the truth"
            assert found.low is not None
            assert found.high is not None
            others = ~np.isin(found.item_ids, chosen)
            value = np.array([truth[item] for item in found.item_ids])
            share.append(float(np.mean(((found.low <= value) & (value <= found.high))[others])))
    for method, share in inside.items():
        assert 0.87 <= np.mean(share) <= 0.97, method


def test_too_few_anchors_for_the_level_are_said_so() -> None:
    study = simulate(items=40, annotators=10, judgments=800, seed=1)
    anchors = dict(zip(study.item_ids[:8], study.truth[:8], strict=True))
    consensus = aggcal.aggregate(study.judgments, warn=False)
    found = aggcal.calibrate(study.scores, consensus, anchors=anchors, level=0.95, warn=False)
    assert found.covers == "sampling uncertainty of the consensus"
    assert "at least 19" in next(str(w) for w in found.warnings if w.code == "anchors")


def test_orders_inside_tight_clusters_are_promised_less() -> None:
    """Within a cluster order is a coin toss."""
    said, right, chance, true = [], [], [], []
    for seed in range(6):
        random = np.random.default_rng(seed)
        truth = np.repeat([-2.0, 2.0], 10) + random.normal(0.0, 0.1, 20)
        pairs = np.array([random.choice(20, 2, replace=False) for _ in range(300)])
        odds = np.exp(truth[pairs[:, 1]] - truth[pairs[:, 0]])
        left = random.random(300) < 1.0 / (1.0 + odds)
        rows = [
            (f"u{k % 15:02}", f"i{i:02}", f"i{j:02}", "left" if won else "right")
            for k, ((i, j), won) in enumerate(zip(pairs, left, strict=True))
        ]
        judgments = aggcal.read_judgments(rows)
        consensus = aggcal.aggregate(judgments, warn=False)
        known = consensus.uncertainty
        assert known is not None
        i, j = np.triu_indices(20, 1)
        first = np.where(known.scores[i] > known.scores[j], i, j)
        second = i + j - first
        within = truth[first] * truth[second] > 0.0
        said.append(known.order_probability(first, second)[within])
        right.append((truth[first] > truth[second])[within])
        found = precision(judgments, consensus)
        assert found is not None
        chance.append(found.right_order)
        true.append(np.mean(truth[first] > truth[second]))
    # Half of a probability comes from a normal prior, which cannot know of clusters.
    assert np.mean(np.concatenate(said)) < np.mean(np.concatenate(right)) + 0.15
    assert np.mean(chance) == pytest.approx(np.mean(true), abs=0.07)
