"""Measures of predictions against brute force, and standard errors against resampling."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit
from studies import read, table

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal.aggregation.selection import Influence, estimate, measured


def random_chances(rows: int, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).dirichlet(np.ones(3), rows)


def weighted(judgments: aggcal.Judgments, seed: int = 1) -> aggcal.Judgments:
    weight = np.random.default_rng(seed).uniform(0.2, 2.0, len(judgments.weight))
    return replace(judgments, weight=weight)


def test_losses_and_accuracy_are_weighted_means() -> None:
    judgments = weighted(read(table(tie_sd=1.0)))
    chances = random_chances(len(judgments.weight))
    found = measured(judgments, chances)
    loss, decided, hits, total, some = 0.0, 0.0, 0.0, 0.0, 0.0
    for (left, right, tie), answer, weight in zip(
        chances.tolist(), judgments.outcome.tolist(), judgments.weight.tolist(), strict=True
    ):
        total += weight
        loss -= weight * np.log({1.0: left, 0.0: right, 0.5: tie}[answer])
        if answer != 0.5:
            some += weight
            decided -= weight * np.log((left if answer else right) / (left + right))
            hits += weight * ((left > right) == (answer == 1.0))
    assert found["log_loss"].value == pytest.approx(loss / total)
    assert found["decided_log_loss"].value == pytest.approx(decided / some)
    assert found["accuracy"].value == pytest.approx(hits / some)


def test_where_nobody_ties_a_tie_is_not_looked_at() -> None:
    judgments = read(table())
    chances = random_chances(len(judgments.weight))
    without = chances.copy()
    without[:, 2] = 0.0
    for name, found in measured(judgments, chances).items():
        assert found.value == pytest.approx(measured(judgments, without)[name].value), name


def test_equal_probabilities_are_half_a_hit() -> None:
    judgments = read(table())
    half = np.tile([0.5, 0.5 + 1e-13, 0.0], (len(judgments.weight), 1))
    assert measured(judgments, half)["accuracy"].value == 0.5


def test_an_impossible_answer_costs_much_and_not_everything() -> None:
    judgments = read(table(tie_sd=0.0))
    never = np.tile([0.5, 0.5, 0.0], (len(judgments.weight), 1))
    assert 1.0 < measured(judgments, never)["log_loss"].value < 30.0


def test_the_slope_is_that_of_a_logistic_regression() -> None:
    judgments = weighted(read(table(2, tie_sd=1.0)))
    chances = random_chances(len(judgments.weight), 3)
    x = np.log(chances[:, 0] / chances[:, 1])
    kept = judgments.outcome != 0.5

    def loss(slope: float) -> float:
        p = expit(slope * x[kept])
        y = judgments.outcome[kept]
        return float(-judgments.weight[kept] @ (y * np.log(p) + (1 - y) * np.log1p(-p)))

    best = minimize_scalar(loss, bracket=(-1.0, 1.0), tol=1e-12).x
    assert measured(judgments, chances)["calibration"].value == pytest.approx(best, abs=1e-6)


def test_nothing_depends_on_which_item_is_called_left() -> None:
    judgments = read(table(3, tie_sd=1.0))
    chances = random_chances(len(judgments.weight), 4)
    turned = measured(judgments.swapped(), chances[:, [1, 0, 2]])
    for name, found in measured(judgments, chances).items():
        assert turned[name].value == pytest.approx(found.value), name
        np.testing.assert_allclose(turned[name].rows, found.rows, atol=1e-12)


@pytest.mark.parametrize(("power", "wanted"), [(1.0, 1.0), (2.0, 0.5), (0.5, 2.0)])
def test_predictions_that_are_too_extreme_have_a_low_slope(power: float, wanted: float) -> None:
    random = np.random.default_rng(5)
    truth = expit(random.standard_normal(20_000))
    won = random.random(20_000) < truth
    codes = np.zeros(20_000, dtype=np.int32)
    judgments = aggcal.Judgments.of_codes(codes, codes, codes + 1)
    judgments = replace(judgments, outcome=won.astype(float))
    said = expit(power * logit(truth))
    found = measured(judgments, np.stack([said, 1 - said, np.zeros(20_000)], axis=1))["calibration"]
    assert found.value == pytest.approx(wanted, abs=5 * estimate(found, (np.arange(20_000),)).se)


def test_a_slope_without_end_is_none() -> None:
    judgments = read(table(6))
    right = np.where(judgments.outcome[:, None] == 1.0, [[0.9, 0.1, 0.0]], [[0.1, 0.9, 0.0]])
    assert np.isnan(measured(judgments, right)["calibration"].value)
    even = np.full((len(judgments.weight), 3), 1.0 / 3.0)
    assert np.isnan(measured(judgments, even)["calibration"].value)


@pytest.mark.parametrize("name", ["log_loss", "decided_log_loss", "accuracy", "calibration"])
def test_standard_errors_are_those_of_resampled_annotators(name: str) -> None:
    judgments = read(table(7, annotators=60, judgments=2_000, tie_sd=1.5))
    chances = random_chances(len(judgments.weight), 8)
    other = random_chances(len(judgments.weight), 9)
    difference = measured(judgments, chances)[name].minus(measured(judgments, other)[name])
    found = estimate(difference, (judgments.annotator.astype(np.int64),))
    random = np.random.default_rng(0)
    draws = []
    rows = [np.flatnonzero(judgments.annotator == u) for u in range(60)]
    for _ in range(300):
        at = np.concatenate([rows[u] for u in random.integers(60, size=60)])
        part = replace(judgments, weight=np.bincount(at, minlength=len(chances)).astype(float))
        draws.append(measured(part, chances)[name].value - measured(part, other)[name].value)
    assert found.se == pytest.approx(np.std(draws), rel=0.2)
    assert found.clusters == 60
    assert found.low < found.value < found.high


def test_the_larger_standard_error_counts_and_few_clusters_widen_the_interval() -> None:
    random = np.random.default_rng(9)
    rows = random.standard_normal(90) / 90
    many, few = np.arange(90), np.arange(90) % 3
    found = Influence(0.0, rows - rows.mean(), np.ones(90, dtype=bool))
    both = estimate(found, (many, few))
    alone = [estimate(found, (code,)) for code in (many, few)]
    assert both.se == max(one.se for one in alone)
    assert alone[0].high == pytest.approx(1.987 * alone[0].se, rel=1e-3)
    assert alone[1].high == pytest.approx(4.303 * alone[1].se, rel=1e-3)
    assert np.isnan(estimate(found, (np.zeros(90, dtype=np.int64),)).se)
