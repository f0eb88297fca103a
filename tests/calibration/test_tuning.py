"""Anchors mend level and scale, and intervals that they give hold the truth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import aggcal
from aggcal import datasets
from aggcal._core.arrays import FloatArray
from aggcal._core.tables import aligned, as_text
from aggcal.aggregation.covariance import DenseCovariance
from aggcal.calibration.anchors import Untuned, full_conformal, tune
from aggcal.calibration.calibrators import Mixing, find
from aggcal.calibration.inputs import Anchors, Inputs
from aggcal.calibration.intervals import calibrated_intervals


def made(
    seed: int, *, slope: float = 1.0, bias: float = 0.0, items: int = 30
) -> tuple[Inputs, FloatArray]:
    random = np.random.default_rng(seed)
    exact = random.standard_normal(items)
    truth = 50.0 + 10.0 * exact
    model = 50.0 + bias + slope * 10.0 * exact + 3.0 * random.standard_normal(items)
    seen = exact + 0.2 * random.standard_normal(items)
    covariance = DenseCovariance(0.04 * np.eye(items))
    ids, even = as_text(range(items)), np.ones(items)
    inputs = Inputs(ids, model, seen, covariance, even, None, None, None, 0.9, seed)
    where = np.sort(random.choice(items, 12, replace=False))
    return replace(inputs, anchors=(where, truth[where])), truth


def anchors_of(inputs: Inputs) -> Anchors:
    assert inputs.anchors is not None
    return inputs.anchors


def off(inputs: Inputs, truth: FloatArray, method: str) -> float:
    rest = np.setdiff1d(np.arange(len(truth)), anchors_of(inputs)[0])
    return float(np.mean(np.square(find(method).calibrate(inputs).values - truth)[rest]))


def test_fits_along_the_last_axis_are_the_same_one_by_one() -> None:
    random = np.random.default_rng(1)
    base, residual, truth = random.standard_normal((3, 6, 9))
    together = tune(base, residual, 3.0 * base + truth)
    for k in range(6):
        alone = tune(base[k], residual[k], 3.0 * base[k] + truth[k])
        for name in ("weight", "slope", "centre", "shift"):
            assert getattr(alone, name) == pytest.approx(getattr(together, name)[k])


def test_a_slope_that_chance_explains_is_1_and_a_clear_one_is_found() -> None:
    random = np.random.default_rng(2)
    slopes = []
    for _ in range(200):
        base = random.standard_normal(12)
        noise = random.standard_normal(12)
        slopes.append(float(tune(base, np.zeros(12), base + noise).slope))
        clear = tune(base, np.zeros(12), 2.0 * base + 0.05 * noise)
        assert clear.slope == pytest.approx(2.0, abs=0.2)
    assert np.mean(np.array(slopes) == 1.0) > 0.85


def test_a_slope_fades_beyond_the_anchors_unless_it_is_a_change_of_unit() -> None:
    base = np.append(np.arange(10.0), [11.0, 1000.0])
    known = np.arange(10)
    found = Untuned(base, np.zeros(12)).tuned((known, 1.8 * base[:10]))
    assert found.slope == pytest.approx(1.8)
    assert found(base)[-2:] == pytest.approx([1.8 * 11.0, 1000.0 + 0.8 * 4.5], abs=1e-6)
    other = Untuned(base, np.zeros(12)).tuned((known, 10.0 * base[:10]))
    np.testing.assert_allclose(other(base), 10.0 * base)


def test_anchors_that_say_nothing_change_nothing() -> None:
    for residual in (np.zeros(8), np.ones(8)):
        base = np.full(8, 3.0)
        found = tune(base, residual, base)
        np.testing.assert_allclose(found(base, residual), base)


def test_fused_learns_the_scale_and_all_learn_the_level() -> None:
    shrunk, biased = [], []
    for seed in range(8):
        inputs, truth = made(seed, slope=0.5)
        shrunk.append((off(inputs, truth, "fused"), off(inputs, truth, "atc")))
        inputs, truth = made(seed, bias=20.0)
        stated = replace(inputs, variances=np.full(30, 9.0))
        biased.append([off(stated, truth, name) for name in ("atc", "fused", "safe")])
    fused, atc = np.mean(shrunk, axis=0)
    assert fused < 0.5 * atc
    assert (np.mean(biased, axis=0) < 15.0).all(), "they were 400 and more"


@pytest.mark.parametrize("method", ["atc", "safe"])
def test_a_shift_keeps_the_order_and_is_spoken_of(method: str) -> None:
    inputs, _ = made(3, bias=20.0)
    inputs = replace(inputs, variances=np.full(30, 9.0))
    calibrator = find(method)
    with_, without = (calibrator.calibrate(i).values for i in (inputs, inputs.with_anchors(None)))
    moved = with_ - without
    assert moved[0] == pytest.approx(-20.0, abs=3.0)
    np.testing.assert_allclose(moved, moved[0])
    claims = calibrator.claims(inputs, weighted=False, measured=True)
    assert all("Before the shift: " in claim.claim for claim in claims)


def test_dots_with_ten_anchors() -> None:
    """The mean squared error of the others was 11.3 before anchors told the scale."""
    dots = datasets.load("dots")
    assert dots.truth is not None
    consensus = aggcal.aggregate(dots.judgments, warn=False)
    truth = aligned(dots.truth.values, dots.truth.item_ids, consensus.item_ids)
    assert dots.scores is not None
    plain = aggcal.calibrate(dots.scores, consensus, method="fused", warn=False).inputs
    errors = []
    for seed in range(30):
        where = np.sort(np.random.default_rng(seed).choice(30, 10, replace=False))
        inputs = plain.with_anchors((where, truth[where]))
        errors.append(off(inputs, truth, "fused"))
    assert np.mean(errors) < 3.0


# ----------------------------------------------------------------------------- intervals


@pytest.mark.parametrize("method", ["atc", "fused"])
@pytest.mark.parametrize("slope", [1.0, 0.5])
def test_intervals_hold_the_truth_though_every_anchor_tunes(method: str, slope: float) -> None:
    inside = []
    for seed in range(25):
        inputs, truth = made(seed, slope=slope, bias=5.0)
        calibrator = find(method)
        found = calibrated_intervals(calibrator, inputs, calibrator.calibrate(inputs))
        assert found.covers == "coverage of the truth"
        assert found.how.startswith("full conformal")
        assert found.low is not None
        assert found.high is not None
        rest = np.setdiff1d(np.arange(30), anchors_of(inputs)[0])
        held = (found.low <= truth) & (truth <= found.high)
        inside.append(held[rest].mean())
    assert np.mean(inside) > 0.86


def test_full_conformal_is_what_trying_every_value_gives() -> None:
    inputs, _ = made(4)
    anchors = anchors_of(inputs)
    fused = find("fused")
    assert isinstance(fused, Mixing)
    untuned = fused.untuned(inputs)
    ends = full_conformal(untuned, anchors, 0.9)
    assert ends is not None
    where, truth = anchors
    grid = np.linspace(0.0, 100.0, 2001)
    for item in (0, 7, 21):
        kept = []
        for value in grid:
            joined = np.append(where, item), np.append(truth, value)
            error = np.abs(joined[1] - untuned.values(joined)[joined[0]])
            kept.append((error[:-1] < error[-1]).sum() < np.ceil(0.9 * 13))
        inside = grid[np.array(kept)]
        assert ends[0][item] == pytest.approx(inside.min(), abs=0.06)
        assert ends[1][item] == pytest.approx(inside.max(), abs=0.06)


def test_too_few_anchors_give_none() -> None:
    untuned = Untuned(np.arange(20.0))
    anchors = np.arange(8), np.arange(8.0)
    assert full_conformal(untuned, anchors, 0.9) is None


# ---------------------------------------------------------------------- chosen anchors


def test_chosen_anchors_improve_scores_and_claim_nothing(tmp_path: Path) -> None:
    study = aggcal.simulate(items=30, annotators=10, judgments=900, model_bias=9.0, seed=2)
    found = aggcal.suggest_anchors(study.judgments, study.scores, n=10)
    assert len(set(found.item_ids)) == 10
    truth = dict(zip(study.item_ids, study.truth, strict=True))
    sheet = tmp_path / "anchors.csv"
    rows = [f"{item},{truth[item]},aggcal suggest" for item in found.item_ids]
    sheet.write_text("\n".join(["item,truth,chosen_by", *rows]) + "\n", encoding="utf-8")
    consensus = aggcal.aggregate(study.judgments, warn=False)
    options = {"method": "fused", "level": 0.8, "warn": False}
    with_ = aggcal.calibrate(study.scores, consensus, anchors=sheet, **options)  # type: ignore[arg-type]  # three kinds
    without = aggcal.calibrate(study.scores, consensus, **options)  # type: ignore[arg-type]  # three kinds

    def error(made: aggcal.Calibration) -> float:
        exact = aligned(study.truth, study.item_ids, made.item_ids)
        return float(np.nanmean(np.square(made.calibrated - exact)))

    assert error(with_) < 0.5 * error(without)
    assert with_.gain is None
    assert with_.covers == "sampling uncertainty of the consensus"
    assert any("not drawn at random" in str(w) for w in with_.warnings)
    drawn = sheet.read_text(encoding="utf-8").replace("aggcal suggest", "")
    sheet.write_text(drawn, encoding="utf-8")
    again = aggcal.calibrate(study.scores, consensus, anchors=sheet, **options)  # type: ignore[arg-type]  # three kinds
    assert again.covers == "coverage of the truth"
    alone = aggcal.suggest_anchors(study.judgments, n=40)
    assert len(alone) == 30, "there are no more items"
