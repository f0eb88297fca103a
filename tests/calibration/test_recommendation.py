"""The recommended calibrator, and several models as one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import aggcal
from aggcal._core.tables import aligned
from aggcal.calibration.moments import moments, pool
from aggcal.cli import main
from aggcal.errors import OptionError
from aggcal.registry.literals import CalibratorName
from aggcal.simulation import Simulation, simulate


@pytest.fixture(scope="module")
def study() -> Simulation:
    return simulate(items=30, annotators=10, judgments=900, model_sd=8.0, seed=5)


@pytest.fixture(scope="module")
def consensus(study: Simulation) -> aggcal.Consensus:
    return aggcal.aggregate(study.judgments, warn=False)


def error(found: aggcal.Calibration, study: Simulation) -> float:
    exact = aligned(study.truth, study.item_ids, found.item_ids)
    return float(np.nanmean(np.square(found.calibrated - exact)))


def test_auto_is_the_recommended_one_and_says_why(
    study: Simulation, consensus: aggcal.Consensus
) -> None:
    anchors = dict(zip(study.item_ids[:12], study.truth[:12].tolist(), strict=True))
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({}, "nothing is known"),
        ({"model_sd": 8.0}, "model sd"),
        ({"anchors": anchors}, "12 anchors"),
    )
    for known, words in cases:
        found = aggcal.recommend_calibrator(study.scores, consensus, **known)
        assert words in found.reason
        assert found.reason.count(". ") == 0
        auto = aggcal.calibrate(study.scores, consensus, method="auto", warn=False, **known)
        named = aggcal.calibrate(
            study.scores,
            consensus,
            method=cast("CalibratorName", found.calibrator),
            warn=False,
            **known,
        )
        np.testing.assert_array_equal(auto.calibrated, named.calibrated)
        assert (auto.method, auto.recommendation) == (found.calibrator, found)
        assert auto.to_dict()["recommendation"]["why"] == found.reason
        assert "recommendation" not in named.to_dict()


def test_a_consensus_that_falls_with_the_model_is_not_followed(study: Simulation) -> None:
    turned = {"annotator": study.judgments["annotator"]}
    turned |= {"winner": study.judgments["loser"], "loser": study.judgments["winner"]}
    consensus = aggcal.aggregate(turned, warn=False)
    found = aggcal.calibrate(study.scores, consensus, method="auto", warn=False)
    assert found.recommendation is not None
    assert "do not rise with the consensus" in found.recommendation.reason
    np.testing.assert_allclose(found.calibrated, found.model, atol=1e-6)


def test_fused_is_offered_with_its_figure_where_anchors_show_it_to_be_better(
    study: Simulation, consensus: aggcal.Consensus
) -> None:
    anchors = dict(zip(study.item_ids[:15], study.truth[:15].tolist(), strict=True))
    best = aggcal.recommend_calibrator(study.scores, consensus, anchors=anchors).evidence
    found = aggcal.calibrate(study.scores, consensus, anchors=anchors, warn=False)
    said = [warning for warning in found.warnings if warning.code == "better-calibrator"]
    assert found.gain is not None
    assert found.gain.mean > 0.0
    assert (best["fused"] <= 0.95 * best["atc"]) == (len(said) == 1)
    for warning in said:
        assert f"{1.0 - best['fused'] / best['atc']:.0%} smaller" in warning.what
        assert "calibrator='fused'" in str(warning)
    assert not any(w.code == "harmful" for w in found.warnings)


def test_no_other_calibrator_may_be_called_auto(consensus: aggcal.Consensus) -> None:
    class Own:
        name = "auto"

        def calibrate(self, inputs: object) -> np.ndarray:
            raise NotImplementedError

    with pytest.raises(OptionError, match="built-in"):
        aggcal.calibrate({"a": 1.0}, consensus, method=Own())


def test_the_reason_is_in_output_report_and_summary(
    study: Simulation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("judgments", "scores"):
        columns = getattr(study, name)
        rows = zip(*columns.values(), strict=True)
        text = "\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)])
        (tmp_path / f"{name}.csv").write_text(text + "\n", encoding="utf-8")
    files = [str(tmp_path / f"{name}.csv") for name in ("judgments", "scores")]
    out = tmp_path / "out"
    assert main(["run", *files, "-o", str(out), "--calibrator", "auto", "--no-check"]) == 0
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    why = summary["recommendation"]["why"]
    assert summary["calibrator"] == summary["recommendation"]["calibrator"]
    said = " ".join("".join(capsys.readouterr()).split())
    assert why in said
    assert why.split(":")[0] in (out / "report.md").read_text(encoding="utf-8")
    assert "Choice of calibrator" in (out / "report.html").read_text(encoding="utf-8")
    sheet = tmp_path / "sheet.csv"
    assert main(["suggest", *files, "--true-scores", "4", "-o", str(sheet), "--quiet"]) == 0
    lines = sheet.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "item,truth,score,gain,reason,chosen_by"
    assert len(lines) == 5
    assert main(["suggest", *files, "--true-scores", "4", "-n", "3"]) == 2
    assert "--pairs is about pairs" in "".join(capsys.readouterr())


# --------------------------------------------------------------------------------- hedge


def test_the_hedge_is_small_where_it_costs_and_large_where_nothing_relates() -> None:
    random = np.random.default_rng(3)
    x = random.standard_normal(200)
    noise = random.standard_normal(200)
    related, strange = moments(x + noise, x, None).hedged, moments(x + 6.0 * noise, x, None).hedged
    against = moments(noise - 2.0 * x, x, None).hedged
    assert related is not None
    assert strange is not None
    assert related < 0.05 < strange < 0.2
    assert against == 1.0
    assert moments(x + noise, x, None, model_variance=1.0).hedged is None


# ------------------------------------------------------------------------ several models


def test_models_are_weighed_by_their_own_errors() -> None:
    random = np.random.default_rng(4)
    x, common = random.standard_normal((2, 4000))
    truth = x + 0.5 * common
    models = [truth + sd * random.standard_normal(4000) for sd in (1.0, 0.5, 2.0)]
    models[1] = 70.0 + 20.0 * models[1]
    models[2][:1000] = np.nan
    found = pool(tuple(models), x, 0.0)
    assert found is not None
    assert found.crowd == pytest.approx(0.25, abs=0.05)
    np.testing.assert_allclose(np.sqrt(found.errors), [1.0, 0.5, 2.0], rtol=0.1)
    assert found.noise[2000] == pytest.approx(1.0 / (1.0 + 4.0 + 0.25), rel=0.2)
    assert found.noise[0] > found.noise[2000]
    off = [np.mean(np.square(m - m.mean() - truth)) for m in (found.model, models[0])]
    assert off[0] < 0.3 * off[1]


def test_a_model_that_knows_nothing_is_left_out(
    study: Simulation, consensus: aggcal.Consensus
) -> None:
    random = np.random.default_rng(6)
    guess = aggcal.Scores(study.item_ids, random.permutation(study.model) * -1.0)
    good = aggcal.Scores(study.item_ids, 5.0 + 2.0 * study.truth + random.standard_normal(30))
    one = aggcal.calibrate(study.scores, consensus, method="fused", second_model=good, warn=False)
    both = aggcal.calibrate(
        study.scores, consensus, method="fused", second_model=[good, guess], warn=False
    )
    alone = aggcal.calibrate(study.scores, consensus, method="fused", warn=False)
    assert error(one, study) < 0.6 * error(alone, study)
    np.testing.assert_allclose(both.calibrated, one.calibrated)
    errors = both.to_dict()["fused"]["model_errors"]
    assert errors[2] is None
    assert errors[1] < errors[0]
    assert any("further model 2 is not used" in str(w) for w in both.warnings)


def test_features_stand_in_for_a_model() -> None:
    study = simulate(items=60, annotators=10, judgments=240, seed=7)
    consensus = aggcal.aggregate(study.judgments, warn=False)
    latent = aligned(study.latent, study.item_ids, consensus.item_ids)
    random = np.random.default_rng(8)
    features = {
        "item": consensus.item_ids,
        "length": latent + 0.3 * random.standard_normal(len(latent)),
    }
    features["noise"] = random.standard_normal(len(latent))
    model = aggcal.model_from_features(features, consensus)
    found = aggcal.calibrate(model, consensus, method="fused", warn=False)
    fused = aligned(found.calibrated, found.item_ids, consensus.item_ids)
    before, after = (np.corrcoef(v, latent)[0, 1] for v in (consensus.scores, fused))
    assert after > before + 0.05
    with pytest.raises(aggcal.AggcalError, match="at least 10"):
        aggcal.model_from_features([("a", 1.0)], {"a": 1.0})
