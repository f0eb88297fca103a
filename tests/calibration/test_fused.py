"""The calibrators beyond the paper's: what they gain, on simulated and on real judgments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal._core.tables import aligned, as_text
from aggcal.aggregation.covariance import DenseCovariance
from aggcal.calibration.calibrators import Fused
from aggcal.calibration.expected import expected
from aggcal.calibration.inputs import Inputs
from aggcal.calibration.moments import moments
from aggcal.io.items import read_truth
from aggcal.metrics import kendall
from aggcal.registry.literals import CalibratorName
from aggcal.simulation import Simulation, simulate


def error(found: aggcal.Calibration, study: Simulation, truth: FloatArray) -> float:
    exact = aligned(truth, study.item_ids, found.item_ids)
    return float(np.nanmean(np.square(found.calibrated - exact)))  # not every item is judged


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw little: for tests of scores, of which no interval or warning is looked at."""
    for number in ("MANY_DRAWS", "DRAWS", "_TOSSES"):
        monkeypatch.setattr(f"aggcal.calibration.draws.{number}", 10)
    # Full conformal intervals take six times as long as the scores.
    monkeypatch.setattr("aggcal.calibration.intervals.MOST_FITTED", 0)


# ------------------------------------------------------------------------------ parts


def test_the_base_is_increasing_and_follows_lines_and_curves(random: np.random.Generator) -> None:
    x = np.sort(random.normal(size=300))
    line = expected(x, 2.0 * x + 0.5 * random.normal(size=300))
    curve = expected(x, np.where(x > 0.0, 5.0, 0.0) + 0.1 * random.normal(size=300))
    assert line.straight > 0.5
    assert curve.straight < 0.3
    grid = np.linspace(-2.0, 2.0, 101)
    for base in (line, curve):
        assert (np.diff(base(grid)) >= -1e-12).all()
    np.testing.assert_allclose(line(grid), 2.0 * grid, atol=0.4)


def test_moments_find_what_is_identified_and_no_more(random: np.random.Generator) -> None:
    x = random.normal(size=5000)
    crowd, noise = (sd * random.normal(size=5000) for sd in (2.0, 3.0))
    truth = 5.0 * x + crowd
    alone = moments(truth + noise, x, None)
    assert alone.slope == pytest.approx(5.0, abs=0.2)
    assert alone.residual == pytest.approx(13.0, rel=0.1)
    assert alone.known is None
    assert alone.hedged is not None
    assert alone.crowd == pytest.approx(alone.hedged * alone.residual)
    assert alone.hedged < 0.01, "with an exact consensus of 5,000 items there is nothing to hedge"
    stated = moments(truth + noise, x, None, model_variance=9.0)
    assert stated.crowd == pytest.approx(4.0, abs=1.0)
    overstated = moments(truth + noise, x, None, model_variance=100.0)
    assert overstated.crowd == 0.0
    assert overstated.noise == 100.0, "it is taken at its word"


# ------------------------------------------------------------------- simulated regimes


@pytest.mark.usefixtures("few_draws")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("judgments", "model_sd", "crowd_sd", "most"),
    [(300, 3.0, 0.0, 0.5), (1500, 10.0, 0.0, 0.9), (7500, 10.0, 0.0, 0.6), (1500, 3.0, 5.0, 0.95)],
)
def test_fused_beats_the_projection(
    judgments: int, model_sd: float, crowd_sd: float, most: float
) -> None:
    """Regimes of degree 6, 30 and 150, a good and a poor model, and a biased crowd."""
    plain, fused, known = [], [], []
    for seed in range(8):
        study = simulate(
            items=100, annotators=30, judgments=judgments, model_sd=model_sd, seed=50 + seed
        )
        random = np.random.default_rng(seed)
        truth = study.truth + crowd_sd * random.standard_normal(100)
        model = dict(zip(study.item_ids, study.model + truth - study.truth, strict=True))
        consensus = aggcal.aggregate(study.judgments, warn=False)

        def made(
            method: CalibratorName,
            sd: float | None = None,
            *,
            model: dict[str, float] = model,
            consensus: aggcal.Consensus = consensus,
        ) -> aggcal.Calibration:
            return aggcal.calibrate(model, consensus, method=method, model_sd=sd, warn=False)

        plain.append(error(made("atc"), study, truth))
        fused.append(error(made("fused"), study, truth))
        known.append(error(made("fused", model_sd), study, truth))
    assert np.mean(fused) < most * np.mean(plain)
    assert np.mean(known) < most * np.mean(plain)


# ------------------------------------------------------------------------- real data


@pytest.mark.usefixtures("few_draws")
@pytest.mark.slow
def test_reading_level(reading_level: Path, reading_judgments: aggcal.Judgments) -> None:
    """Model = truth + N(0, 5²), twenty draws: their mean errors are known to 0.08."""
    consensus = aggcal.aggregate(reading_judgments, warn=False)
    ids = consensus.item_ids
    table, _ = read_truth(reading_level / "items.csv")
    truth = aligned(table.values, table.item_ids, ids)
    results: dict[str, list[dict[str, float]]] = {}
    for seed in range(20):
        random = np.random.default_rng(seed)
        scores = aggcal.Scores(ids, truth + 5.0 * random.standard_normal(len(ids)))
        chosen = random.choice(len(ids), 30, replace=False)
        anchors = dict(zip(ids[chosen], truth[chosen], strict=True))
        options: dict[str, dict[str, object]] = {
            "atc": {},
            "fused": {"method": "fused"},
            "sd": {"method": "fused", "model_sd": 5.0},
            "anchors": {"method": "fused", "anchors": anchors},
            "safe": {"method": "safe", "model_sd": 5.0},
        }
        for name, option in options.items():
            found = aggcal.calibrate(scores, consensus, seed=seed, warn=False, **option)  # type: ignore[arg-type]  # three kinds
            value = aligned(found.calibrated, found.item_ids, ids)
            tau_a, tau_b = kendall(value, truth)
            mse = float(np.mean(np.square(value - truth)))
            results.setdefault(name, []).append({"mse": mse, "tau_a": tau_a, "tau_b": tau_b})

    def mean(name: str, metric: str) -> float:
        return float(np.mean([row[metric] for row in results[name]]))

    assert mean("atc", "mse") == pytest.approx(7.5, abs=0.3)
    assert mean("sd", "mse") <= 6.1
    assert mean("anchors", "mse") <= 6.2
    assert mean("safe", "mse") <= 6.3
    assert mean("fused", "mse") <= mean("atc", "mse")
    for name in ("sd", "anchors"):
        assert mean(name, "tau_b") >= 0.46
        assert mean(name, "tau_a") >= 0.43


# -------------------------------------------------------------------- recommendations


def test_a_good_model_and_a_poor_ranking_are_pointed_out() -> None:
    study = simulate(items=80, annotators=20, judgments=240, model_sd=2.0, seed=4)
    consensus = aggcal.aggregate(study.judgments, warn=False)
    for known in ({}, {"model_sd": 2.0}):
        found = aggcal.calibrate(study.scores, consensus, warn=False, **known)  # type: ignore[arg-type]  # one kind
        said = [str(w) for w in found.warnings if w.code == "harmful"]
        assert len(said) == 1, known
        assert "calibrator='fused'" in said[0]
    anchors = dict(zip(study.item_ids[:40], study.truth[:40], strict=True))
    found = aggcal.calibrate(study.scores, consensus, anchors=anchors, warn=False)
    assert found.gain is not None
    assert found.gain.mean < 0.0
    assert any("anchors the calibrated scores have a larger" in str(w) for w in found.warnings)


def test_a_poor_model_and_a_good_ranking_are_not() -> None:
    study = simulate(items=60, annotators=20, judgments=6000, model_sd=10.0, seed=4)
    consensus = aggcal.aggregate(study.judgments, warn=False)
    found = aggcal.calibrate(study.scores, consensus, model_sd=10.0, warn=False)
    assert not [w for w in found.warnings if w.code == "harmful"]


def test_safe_needs_the_models_sd_and_says_when_it_differs() -> None:
    study = simulate(items=20, annotators=5, judgments=300, seed=2)
    consensus = aggcal.aggregate(study.judgments, warn=False)
    with pytest.raises(aggcal.AggcalError, match="model_sd="):
        aggcal.calibrate(study.scores, consensus, method="safe")
    uneven = aggcal.Scores(study.item_ids, study.model.copy(), np.linspace(1.0, 9.0, 20))
    found = aggcal.calibrate(uneven, consensus, method="safe", warn=False)
    assert any("differs between items by a factor of 9.0" in str(w) for w in found.warnings)


def test_what_contradicts_the_data_is_pointed_out() -> None:
    study = simulate(items=60, annotators=20, judgments=3000, model_sd=5.0, seed=6)
    consensus = aggcal.aggregate(study.judgments, warn=False)
    model = dict(zip(study.item_ids, study.model, strict=True))
    truth = dict(zip(study.item_ids[:20], study.truth[:20], strict=True))

    def said(**known: object) -> str:
        found = aggcal.calibrate(model, consensus, method="fused", warn=False, **known)  # type: ignore[arg-type]  # three kinds
        return " ".join(str(w) for w in found.warnings)

    assert said(model_sd=5.0, anchors=truth) == ""
    assert "Check its unit" in said(model_sd=50.0)
    assert "nearly those of the first" in said(second_model=model)
    turned = {item: -value for item, value in model.items()}
    assert "do not clearly rise with the consensus" in said(second_model=turned)
    tiny = {item: value / 1000.0 for item, value in truth.items()}
    assert "outside the range of the model's scores" in said(anchors=tiny)
    other = {item: 100.0 - value for item, value in truth.items()}
    assert "fall where the consensus rises" in said(anchors=other)
    bare = aggcal.calibrate(model, dict(zip(study.item_ids, study.latent, strict=True)),
                            method="fused", warn=False)  # fmt: skip
    assert "treats it as exact" in str(bare.warnings[0])


@pytest.mark.parametrize("method", ["atc", "fused", "safe"])
def test_scores_that_say_nothing_and_units_that_are_odd(method: CalibratorName) -> None:
    study = simulate(items=20, annotators=6, judgments=400, seed=1)
    consensus = aggcal.aggregate(study.judgments, warn=False)
    flat = dict.fromkeys(study.item_ids, 5.0)
    found = aggcal.calibrate(flat, consensus, method=method, model_sd=1.0, warn=False)
    np.testing.assert_allclose(found.calibrated, 5.0)
    truth = dict(zip(study.item_ids, study.truth, strict=True))
    results = []
    for unit in (1.0, 1e-9, 1e9):
        model = {i: unit * v for i, v in zip(study.item_ids, study.model, strict=True)}
        made = aggcal.calibrate(
            model,
            consensus,
            method=method,
            model_sd=10.0 * unit,
            anchors={i: unit * truth[i] for i in study.item_ids[:8]},
            warn=False,
        )
        results.append(made.calibrated / unit)
    np.testing.assert_allclose(results[1], results[0], rtol=1e-6)
    np.testing.assert_allclose(results[2], results[0], rtol=1e-6)


def test_a_second_model_of_pure_noise_is_not_believed(random: np.random.Generator) -> None:
    study = simulate(items=80, annotators=20, judgments=3000, model_sd=10.0, seed=2)
    consensus = aggcal.aggregate(study.judgments, warn=False)
    noise = dict(zip(study.item_ids, random.standard_normal(80), strict=True))
    options = {"method": "fused", "warn": False}
    alone = aggcal.calibrate(study.scores, consensus, **options)  # type: ignore[arg-type]  # two kinds
    both = aggcal.calibrate(study.scores, consensus, second_model=noise, **options)  # type: ignore[arg-type]  # two kinds
    np.testing.assert_allclose(both.calibrated, alone.calibrated)
    assert any(w.code == "second-model" for w in both.warnings)


# ----------------------------------------------------------------------- unseen items


@pytest.mark.usefixtures("few_draws")
def test_unseen_items_are_put_on_the_scale_of_the_others() -> None:
    better, raw = [], []
    for seed in range(12):
        study = simulate(items=200, annotators=30, judgments=4000, model_sd=10.0, seed=seed)
        seen = set(study.item_ids[:150])
        rows = [row for row in zip(*study.judgments.values(), strict=True) if {*row[1:]} <= seen]
        consensus = aggcal.aggregate(rows, warn=False)
        model = dict(zip(study.item_ids, study.model, strict=True))
        known = {i: model[i] for i in study.item_ids[:150]}
        new = {i: model[i] for i in study.item_ids[150:]}
        found = aggcal.calibrate(known, consensus, warn=False).predict(new)
        better.append(np.mean(np.square(found.predicted - study.truth[150:])))
        raw.append(np.mean(np.square(study.model[150:] - study.truth[150:])))
        order = np.argsort(found.model)
        assert (np.diff(found.predicted[order]) >= -1e-9).all(), "the order cannot change"
    assert np.mean(better) < 0.75 * np.mean(raw)


def test_a_few_judgments_place_a_new_item_near_where_a_refit_would() -> None:
    study = simulate(items=60, annotators=20, judgments=6000, seed=8)
    new = set(study.item_ids[:5])
    every = list(zip(*study.judgments.values(), strict=True))
    old = [row for row in every if row[1] not in new and row[2] not in new]
    later = [row for row in every if (row[1] in new) != (row[2] in new)]
    before = aggcal.aggregate(old, warn=False)
    placed = before.place(aggcal.read_judgments(later))
    whole = aggcal.aggregate(every, warn=False)
    refitted = aligned(whole.scores, whole.item_ids, placed.item_ids)
    assert set(placed.item_ids) == new
    np.testing.assert_allclose(placed.values, refitted, atol=0.25)
    model = dict(zip(study.item_ids, study.model, strict=True))
    calibration = aggcal.calibrate({i: model[i] for i in model if i not in new}, before, warn=False)
    found = calibration.predict({i: model[i] for i in new}, judgments=later)
    truth = aligned(study.truth, study.item_ids, found.item_ids)
    blind = calibration.predict({i: model[i] for i in new})
    assert found.judged.all()
    assert not blind.judged.any()
    assert np.mean(np.square(found.predicted - truth)) < np.mean(np.square(blind.predicted - truth))


def test_outside_what_was_seen_is_flagged_and_flat() -> None:
    study = simulate(items=50, annotators=10, judgments=2000, seed=3)
    consensus = aggcal.aggregate(study.judgments, warn=False)
    calibration = aggcal.calibrate(study.scores, consensus, warn=False)
    found = calibration.predict({"far": 1e4, "further": 1e6, "inside": 50.0})
    assert dict(zip(found.item_ids, found.outside, strict=True)) == {
        "far": True,
        "further": True,
        "inside": False,
    }
    assert found.predicted[0] == found.predicted[1]
    assert np.isnan(found.low).all()
    with pytest.raises(aggcal.AggcalError, match="every item is calibrated already"):
        calibration.predict(study.scores)


@pytest.mark.usefixtures("few_draws")
@pytest.mark.slow
def test_anchors_repair_level_and_scale_of_predictions_and_cover_the_truth() -> None:
    errors, inside = [], []
    for seed in range(12):
        study = simulate(
            items=300, annotators=30, judgments=4000, model_sd=5.0, model_bias=20.0, seed=seed
        )
        random = np.random.default_rng(seed)
        seen = study.item_ids[:200]
        keep = set(seen)
        rows = [row for row in zip(*study.judgments.values(), strict=True) if {*row[1:]} <= keep]
        truth = dict(zip(study.item_ids, study.truth, strict=True))
        model = dict(zip(study.item_ids, study.model, strict=True))
        anchors = {i: truth[i] for i in random.choice(seen, 40, replace=False)}
        found = aggcal.calibrate(
            {i: model[i] for i in seen},
            aggcal.aggregate(rows, warn=False),
            anchors=anchors,
            level=0.9,
            seed=seed,
            warn=False,
        ).predict({i: model[i] for i in study.item_ids[200:]})
        exact = np.array([truth[i] for i in found.item_ids])
        errors.append(np.mean(np.square(found.predicted - exact)))
        inside.append(np.mean((found.low <= exact) & (exact <= found.high)))
    assert np.mean(errors) < 40.0  # the model's own: 20² + 5²
    assert np.mean(inside) >= 0.88


def test_intervals_draw_the_same_mixture_of_another_consensus() -> None:
    """With each item's own share alone, intervals of 3 to 10 items had another centre."""
    random = np.random.default_rng(5)
    exact, shared = random.standard_normal((2, 6))
    covariance = DenseCovariance(0.3 * np.eye(6) + np.outer(shared, shared))
    model = 50.0 + 10.0 * (exact + 0.5 * random.standard_normal(6))
    inputs = Inputs(
        as_text(range(6)), model, exact, covariance, np.ones(6), np.full(6, 400.0), None, None,
        0.9, 0,
    )  # fmt: skip
    made = Fused().calibrate(inputs)
    at = Fused().on_exact(inputs, made)
    np.testing.assert_allclose(at(exact), made.values)
    wide, noise = inputs.base.rise(exact), np.full(6, 400.0)
    signal = wide[:, None] * covariance.matrix * wide + inputs.moments.crowd * np.eye(6)
    kept = signal @ np.linalg.inv(signal + np.diag(noise))
    drawn = exact + random.standard_normal(6)
    base = inputs.base(drawn)
    np.testing.assert_allclose(at(drawn), base + kept @ (model - base))
