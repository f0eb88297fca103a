"""A user's own calibrator goes wherever aggcal's own go, and is taken at no more than its word."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal.advice.guarantees import guarantees
from aggcal.calibration.calibrators import Calibrated, FullCalibrator, Fused
from aggcal.calibration.inputs import Inputs
from aggcal.calibration.intervals import interval
from aggcal.calibration.project import project
from aggcal.calibration.says import Guarantee
from aggcal.cli import main
from aggcal.errors import OptionError
from aggcal.registry.literals import CalibratorName
from aggcal.simulation import Simulation, simulate


class Line:
    """The consensus, on the scale of the model: no more than the protocol."""

    name = "line"

    def calibrate(self, inputs: Inputs) -> FloatArray:
        x = inputs.consensus - inputs.consensus.mean()
        return np.asarray(inputs.model.mean() + x * (inputs.model.std() / max(x.std(), 1e-9)))


class Projection:
    """What atc does, by the least that an object can say."""

    name = "projection"

    def calibrate(self, inputs: Inputs) -> FloatArray:
        return project(inputs.consensus, inputs.model, inputs.weight)[0]


class Mixture:
    """What fused does to its anchors."""

    name = "mixture"
    tuned_by_anchors = True

    def calibrate(self, inputs: Inputs) -> FloatArray:
        return Fused().calibrate(inputs).values


@dataclass
class Cheat:
    """The truth where it is shown, else the model."""

    tuned_by_anchors: bool
    name: str = "cheat"

    def calibrate(self, inputs: Inputs) -> FloatArray:
        values = inputs.model.copy()
        if inputs.anchors is not None:
            where, truth = inputs.anchors
            values[where] = truth
        return values


@pytest.fixture(scope="module")
def study() -> Simulation:
    return simulate(items=20, annotators=8, judgments=300, model_sd=8.0, seed=3)


@pytest.fixture(scope="module")
def consensus(study: Simulation) -> aggcal.Consensus:
    return aggcal.aggregate(study.judgments, "btl", warn=False)


@pytest.fixture(scope="module")
def anchors(study: Simulation) -> dict[str, float]:
    return dict(zip(study.item_ids[:15], study.truth[:15].tolist(), strict=True))


def test_the_protocol_is_a_name_and_one_method() -> None:
    assert isinstance(Line(), aggcal.Calibrator)
    assert not isinstance(object(), aggcal.Calibrator)


def test_its_scores_and_intervals_are_what_it_makes_of_the_consensus_and_of_draws(
    study: Simulation, consensus: aggcal.Consensus
) -> None:
    found = aggcal.calibrate(study.scores, consensus, method=Line(), level=0.8, warn=False)
    inputs = found.inputs
    values = Line().calibrate(inputs)
    assert inputs.knowledge is not None
    draws = inputs.knowledge.draws(0)
    low, high = interval(draws, values, lambda s: aggcal_line(s, inputs.model), 0.8)
    order = np.argsort(-inputs.consensus)
    np.testing.assert_array_equal(found.calibrated, values[order])
    np.testing.assert_allclose(found.items["calibrated_low"], low[order])
    np.testing.assert_allclose(found.items["calibrated_high"], high[order])
    assert (high > low).all()
    assert (np.diff(found.calibrated) <= 0.0).all(), "the line keeps the order"
    assert (found.method, found.kept, found.blocks) == ("line", None, 20)


def aggcal_line(drawn: FloatArray, model: FloatArray) -> FloatArray:
    x = drawn - drawn.mean()
    return np.asarray(model.mean() + x * (model.std() / x.std()))


@pytest.mark.parametrize(("own", "ours"), [(Projection(), "atc"), (Mixture(), "fused")])
def test_it_is_measured_and_drawn_as_ours_are(
    study: Simulation,
    consensus: aggcal.Consensus,
    anchors: dict[str, float],
    own: aggcal.Calibrator,
    ours: CalibratorName,
) -> None:
    """Draws of fused hold more than an object that says so little, and anchors tune ours."""
    anchored = ours == "fused"
    options: dict[str, Any] = {"anchors": anchors if anchored else None, "level": 0.8}
    a = aggcal.calibrate(study.scores, consensus, method=own, warn=False, **options)
    b = aggcal.calibrate(study.scores, consensus, method=ours, warn=False, **options)
    ends = () if anchored else ("calibrated_low", "calibrated_high")
    for column in ("calibrated", *ends):
        np.testing.assert_allclose(a.items[column], b.items[column], atol=1e-9)
    assert a.gain == b.gain
    assert a.covers == b.covers
    assert a.how.startswith("split conformal") is anchored


def test_anchors_that_tuned_it_do_not_measure_it(
    study: Simulation, consensus: aggcal.Consensus, anchors: dict[str, float]
) -> None:
    """Else a calibrator that copies the truths would have no error at all."""
    open_, hidden = (
        aggcal.calibrate(
            study.scores, consensus, method=Cheat(told), anchors=anchors, level=0.8, warn=False
        )
        for told in (True, False)
    )
    at = np.isin(open_.item_ids, list(anchors))
    truth = np.array([anchors[item] for item in open_.item_ids[at]])
    np.testing.assert_array_equal(open_.calibrated[at], truth)
    np.testing.assert_array_equal(hidden.calibrated, hidden.model)
    for found in (open_, hidden):
        assert found.gain is not None
        assert found.gain.mean == 0.0, "held-out anchors keep the model's score"
        assert found.low is not None
        assert found.high is not None
        assert (found.high > found.low).all()


def test_it_goes_through_both_stages_the_report_and_the_files(
    study: Simulation, tmp_path: Path
) -> None:
    result = aggcal.assess(
        study.judgments, study.scores, method="btl", calibrator=Line(), warn=False
    )
    assert set(result.guarantees.to_dict()) >= {"unidentified", "interval"}
    for theirs in ("gain", "sure", "safe"):
        assert theirs not in result.guarantees, "a theorem about another calibrator"
    assert "annotators' exact consensus would give" in result.guarantees["interval"].says
    result.save(tmp_path / "out", check=False)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["calibrator"] == "line"
    page = (tmp_path / "out" / "report.html").read_text()
    assert "from a custom calibrator" in page
    assert "isotonic" not in page
    assert "never contradict" not in page
    assert "moved as little as possible" not in page
    short = (tmp_path / "out" / "report.md").read_text()
    assert "Calibration: line" in short
    assert "--calibrator" not in page + short, "no command line knows it"
    assert main(["report", str(tmp_path / "out"), "-o", str(tmp_path / "again.html")]) == 0
    assert (tmp_path / "again.html").read_text() == page


class Talkative(FullCalibrator):
    """One that says all there is to say, hostile where it can."""

    name = "<b>mine</b>"
    does = "<i>half</i> of both"
    covers = ""

    def calibrate(self, inputs: Inputs, /) -> Calibrated:
        line = Line().calibrate(inputs)
        half = np.full(len(line), 0.5)
        return Calibrated(0.5 * (line + inputs.model), kept=half)

    def claims(self, inputs: Inputs, /, *, weighted: bool, measured: bool) -> list[Guarantee]:
        del weighted, measured
        return [Guarantee("half", "Half", "It is half.", "model", "identity", {"n": inputs.seed})]

    def to_dict(self, inputs: Inputs, /) -> dict[str, Any]:
        return {"items": len(inputs.model)}


def test_what_it_says_of_itself_is_told(study: Simulation) -> None:
    result = aggcal.assess(
        study.judgments, study.scores, method="btl", calibrator=Talkative(), warn=False
    )
    summary, page = result.to_dict(), result.report("html", check=False)
    assert summary["<b>mine</b>"] == {"items": 20}
    assert summary["kept"] == 0.5
    assert "&lt;i&gt;half&lt;/i&gt; of both" in page
    assert "<b>mine</b>" not in page
    assert "It is half." in page
    assert "It is half." in result.report("md", check=False)
    assert "calibrated_low" not in result.items
    assert "only gives intervals with enough anchors" in result.guarantees["interval"].says


def test_its_name_does_not_change_the_summary(study: Simulation) -> None:
    mine = Talkative()
    mine.name = "n_items"
    result = aggcal.assess(study.judgments, study.scores, calibrator=mine, warn=False)
    assert result.to_dict()["n_items"] == 20


class Needy(Line):
    """One that wants to know the model's error, and no second model."""

    name = "needy"
    needs_model_sd = True


class Returns:
    """Something that is no calibrator's answer."""

    def __init__(self, values: Any, name: Any = "odd") -> None:
        self.values, self.name = values, name

    def calibrate(self, inputs: Inputs) -> Any:
        del inputs
        return self.values


@pytest.mark.parametrize(
    ("method", "options", "says"),
    [
        (Returns(np.zeros(3)), {}, "'odd' did not return a finite number for each of 2 items"),
        (Returns(np.array([1.0, np.nan])), {}, "did not return a finite number"),
        (Returns(np.zeros(2), ""), {}, "is not a text"),
        (Returns(np.zeros(2), 7), {}, "is not a text"),
        (Returns(np.zeros(2), "safe"), {}, "give your own calibrator another name"),
        (Line, {}, "has no name and calibrate"),
        (object(), {}, "has no name and calibrate"),
        (None, {}, "has no name and calibrate"),
        (
            Line(),
            {"second_model": {"a": 1.0}},
            "only 'fused' can use a second model; leave it out for 'line'",
        ),
        (Needy(), {}, "the needy calibrator needs the standard deviation"),
    ],
)
def test_what_is_no_calibrator_is_refused_in_a_sentence(
    method: Any, options: dict[str, Any], says: str
) -> None:
    scores = [("a", 1.0), ("b", 2.0)]
    with pytest.raises(OptionError, match=says):
        aggcal.calibrate(scores, {"a": 2, "b": 1}, method=method, **options)
    with pytest.raises(OptionError, match=says):
        aggcal.assess([("ann", "a", "b")], scores, calibrator=method, warn=False, **options)


def test_it_cannot_change_what_it_is_given() -> None:
    class Vandal(Line):
        def calibrate(self, inputs: Inputs) -> FloatArray:
            inputs.model[:] = 0.0
            return inputs.model

    with pytest.raises(ValueError, match="read-only"):
        aggcal.calibrate({"a": 1.0, "b": 2.0}, {"a": 2, "b": 1}, method=Vandal())


def test_guarantees_of_a_weighted_projection_leave_out_the_plain_identities(
    study: Simulation, consensus: aggcal.Consensus
) -> None:
    rows = [(item, score, 1.0 + k % 3) for k, (item, score) in enumerate(
        zip(study.item_ids, study.model, strict=True))]  # fmt: skip
    weighted = aggcal.calibrate(rows, consensus, warn=False)
    plain = aggcal.calibrate(rows, consensus, weights=None, warn=False)
    assert "gain" not in guarantees(None, weighted)
    assert {"gain", "sure"} <= set(guarantees(None, plain).to_dict())
