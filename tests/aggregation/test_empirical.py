"""Reliabilities integrated out: against brute force, another implementation, and known truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_expit

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal.aggregation.empirical import Model, Problem
from aggcal.aggregation.families import RELIABILITY, Adjacent, Advantage
from aggcal.aggregation.modes import mode_rows
from aggcal.simulation import simulate


def density(rho: float, sign: float, gap: FloatArray, weight: FloatArray) -> float:
    """Likelihood and prior of one annotator's strength, times e^60."""
    fit = float(weight @ log_expit(sign * rho * gap))
    return float(np.exp(fit + 60.0 - 2.0 * (rho - 1.0) ** 2) * np.sqrt(2.0 / np.pi))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_evidence_is_the_integral_over_reliabilities(weighted: bool) -> None:
    study = simulate(items=9, annotators=6, judgments=240, reversed_share=0.2, seed=3)
    columns = dict(study.judgments)
    if weighted:
        columns["weight"] = np.random.default_rng(1).uniform(0.3, 2.0, 240)
    judgments = aggcal.read_judgments(columns)
    rows, scores = mode_rows(judgments), np.linspace(-1.5, 1.5, 9)
    model = Model(rows, Advantage((RELIABILITY,), Adjacent()), judgments.graph.component)
    posterior = Problem(model).at(model.first_state(scores, share=0.1)).posterior
    total = 0.0
    for u in range(rows.n_annotators):
        mine = slice(rows.starts[u], rows.starts[u + 1])
        gap, weight = scores[rows.left[mine]] - scores[rows.right[mine]], rows.answers.weight[mine]
        halves = [
            quad(density, -4.0, 7.0, args=(sign, gap, weight), limit=200)[0] for sign in (1.0, -1.0)
        ]
        whole = 0.9 * halves[0] + 0.1 * halves[1]
        total += np.log(whole) - 60.0
        # Three nodes of either half do not see every corner of it.
        assert posterior.reversed[u] == pytest.approx(0.1 * halves[1] / whole, abs=0.02)
    assert posterior.log_evidence == pytest.approx(total, abs=0.05)


def test_the_typical_annotator_has_reliability_1_and_nobody_is_at_an_end() -> None:
    """1,000 items, 50 annotators: at the joint mode the mean is 1.73 where the truth is 1."""
    study = simulate(items=1000, annotators=50, judgments=20_000, seed=2)
    found = aggcal.aggregate(study.judgments, warn=False)
    shares = found.judgments_per_annotator / found.n_judgments
    assert np.abs(found.reliabilities) @ shares == pytest.approx(1.0, abs=0.02)
    known = found.uncertainty
    assert known is not None
    assert known.reliability_low is not None
    assert known.reliability_high is not None
    assert (known.reliability_low < found.reliabilities).all()
    assert (found.reliabilities < known.reliability_high).all()
    np.testing.assert_allclose(known.low + known.high, 2.0 * found.scores, atol=1e-9)


def test_errors_are_those_of_equal_annotators_where_they_are_equal() -> None:
    study = simulate(items=25, annotators=20, judgments=4000, reliability_sd=0.0, seed=1)
    apart, alike = (aggcal.aggregate(study.judgments, m, warn=False) for m in ("hra-g", "btl"))
    assert apart.uncertainty is not None
    assert alike.uncertainty is not None
    ratio = apart.uncertainty.se / alike.uncertainty.se
    assert 0.9 < ratio.min() <= ratio.max() < 1.15


@pytest.mark.parametrize("spread", [0.3, 3.0])
def test_the_spread_is_found(spread: float) -> None:
    random = np.random.default_rng(4)
    scores = spread * random.standard_normal(60)
    u = np.repeat(np.arange(30), 150)
    i = random.integers(60, size=4500)
    j = (i + random.integers(1, 60, size=4500)) % 60
    wins = random.random(4500) < 1.0 / (1.0 + np.exp(-(scores[i] - scores[j])))
    codes = (u, np.where(wins, i, j), np.where(wins, j, i))
    judgments = aggcal.Judgments.of_codes(*(c.astype(np.int32) for c in codes))
    for method in ("hra-g", "btl"):
        prior = aggcal.aggregate(judgments, method, warn=False).prior
        assert prior is not None
        assert prior.score_sd == pytest.approx(spread, rel=0.3)


@pytest.mark.parametrize("annotators", [1000, 4000])
def test_five_judgments_each_lead_nobody_astray(annotators: int) -> None:
    study = simulate(items=60, annotators=annotators, judgments=5 * annotators, seed=5)
    found = aggcal.aggregate(study.judgments, prior="auto", warn=False)
    assert found.prior is not None
    assert 0.3 < found.prior.reliability_sd < 0.8
    assert found.prior.score_sd == pytest.approx(1.0, abs=0.25)


def test_many_reversed_annotators_do_not_spoil_the_order() -> None:
    random = np.random.default_rng(7)
    scores = random.standard_normal(60)
    slopes = np.abs(1.0 + 0.5 * random.standard_normal(200))
    slopes[:66] *= -1.0
    u = np.repeat(np.arange(200), 5)
    i = random.integers(60, size=1000)
    j = (i + random.integers(1, 60, size=1000)) % 60
    wins = random.random(1000) < 1.0 / (1.0 + np.exp(-slopes[u] * (scores[i] - scores[j])))
    codes = (u, np.where(wins, i, j), np.where(wins, j, i))
    judgments = aggcal.Judgments.of_codes(*(c.astype(np.int32) for c in codes))
    marginal, mode = (
        np.corrcoef(aggcal.aggregate(judgments, estimator=e, warn=False).scores, scores)[0, 1]
        for e in ("marginal", "mode")
    )
    assert marginal > 0.75
    assert marginal > mode + 0.05


def test_one_careless_majority_does_not_turn_the_others_round() -> None:
    """Six thousand answers that are nearly random against five people who agree with each other.

    Comparing the two optima with the multiplier of the constraint would choose the mirrored one.
    """
    random = np.random.default_rng(5)
    first = random.integers(20, size=10_000)
    second = (first + random.integers(1, 20, size=10_000)) % 20
    who = np.repeat(np.arange(6), [6000, 800, 800, 800, 800, 800])
    wrong = random.random(10_000) < np.where(who == 0, 0.53, 0.25)
    better, worse = np.maximum(first, second), np.minimum(first, second)
    codes = (who, np.where(wrong, worse, better), np.where(wrong, better, worse))
    judgments = aggcal.Judgments.of_codes(*(c.astype(np.int32) for c in codes))
    found = aggcal.aggregate(judgments, warn=False)
    assert (found.reliabilities[1:] > 0.0).all()
    assert np.corrcoef(found.scores, np.arange(20))[0, 1] > 0.9


def test_probabilities_of_judgments_are_averaged_and_calibrated() -> None:
    study = simulate(items=40, annotators=15, judgments=1800, seed=6)
    early, late = (
        {name: column[part] for name, column in study.judgments.items()}
        for part in (slice(0, 900), slice(900, None))
    )
    found = aggcal.aggregate(early, warn=False)
    rows = aggcal.read_judgments(late)
    chance = found.judgment_probabilities(rows)
    gap = found.scores[:, None] - found.scores[None, :]
    plugged = 1.0 / (
        1.0 + np.exp(-found.reliabilities[rows.annotator] * gap[rows.left, rows.right])
    )
    said, bare = (
        float(rows.count @ (rows.outcome * np.log(p) + (1.0 - rows.outcome) * np.log1p(-p)))
        for p in (chance, plugged)
    )
    assert said > bare
    sure = np.where(chance > 0.5, chance, 1.0 - chance)
    right = np.where(chance > 0.5, rows.outcome, 1.0 - rows.outcome)
    assert np.average(right, weights=rows.count) == pytest.approx(
        float(np.average(sure, weights=rows.count)), abs=0.05
    )
    both = aggcal.read_judgments([("nobody", "new", str(found.item_ids[0]))])
    assert 0.0 < found.judgment_probabilities(both)[0] < 1.0


def test_an_unknown_estimator_is_refused_and_so_is_one_without_use() -> None:
    rows = [("ann", "a", "b")]
    with pytest.raises(aggcal.errors.OptionError, match="marginal, mode"):
        aggcal.aggregate(rows, estimator="map")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(aggcal.errors.OptionError, match="no reliabilities"):
        aggcal.aggregate(rows, "btl", estimator="mode")


def test_scores_of_each_component_add_up_to_nothing() -> None:
    rows = [("u", "a", "b"), ("v", "b", "c"), ("u", "x", "y"), ("v", "y", "x"), ("u", "a", "c")]
    found = aggcal.aggregate(rows, warn=False)
    scores = dict(zip(found.item_ids, found.scores, strict=True))
    assert scores["a"] + scores["b"] + scores["c"] == pytest.approx(0.0, abs=1e-6)
    assert scores["x"] + scores["y"] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    ("items", "annotators", "each", "seed"), [(60, 40, 5, 902), (200, 10, 30, 907)]
)
def test_derivatives_give_way_where_rows_vary_too_much(
    items: int, annotators: int, each: int, seed: int
) -> None:
    """On the way of these fits averages by derivatives curve the wrong way."""
    study = simulate(items=items, annotators=annotators, judgments=each * annotators, seed=seed)
    consensus = aggcal.aggregate(study.judgments, warn=False)
    assert consensus.convergence is not None
    assert consensus.convergence.converged
    assert np.isfinite(consensus.scores).all()


@pytest.mark.parametrize("answers", [1, 400])
def test_one_annotator_who_never_contradicts_themselves_is_fitted(answers: int) -> None:
    fit = aggcal.aggregate([("ann", "a", "b")] * answers, warn=False)
    assert fit.convergence is not None
    assert fit.convergence.converged
    assert fit.reliabilities[0] == pytest.approx(1.0, abs=0.1)
