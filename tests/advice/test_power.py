"""How many judgments reach a goal: against closed forms, and against what studies then reach."""

import json
from pathlib import Path

import numpy as np
import pytest

import aggcal
from aggcal.advice.power import Assumptions, Continued, Curve, Goal
from aggcal.assessment.studies import Power

TAU, TOP, WIDE = (Goal.of(text) for text in ("tau=0.8", "top-3=0.8", "half-width=0.5"))


@pytest.fixture(scope="module")
def planned() -> Power:
    return aggcal.power("half-width=0.8", items=6, annotators=4, method="btl", studies=5, seed=1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("taux=0.5", "did you mean 'tau'"),
        ("tau", "give such as tau=0.8"),
        ("top=0.5", "is unknown"),
        ("tau=high", "'high' is not a number"),
        ("tau=1.2", "between 0 and 1"),
        ("half-width=0", "above 0"),
        ("top-0=0.5", "the first 0 items"),
    ],
)
def test_goals_that_are_none_are_refused(text: str, said: str) -> None:
    with pytest.raises(aggcal.AggcalError, match=said):
        Goal.of(text)


def test_what_is_measured() -> None:
    rows = [("u", a, b) for a, b in ("ab", "ac", "ad", "bc", "bd", "cd")] * 3
    fit, ids = aggcal.aggregate(rows, warn=False), np.array(list("abcde"), dtype=object)
    truth = np.array([5.0, 4.0, 2.0, 1.0, 3.0])  # nobody judged the last: it is in the middle
    assert TAU.measured(fit, ids, truth) == pytest.approx(1.0)
    assert TAU.measured(fit, ids, -truth) == pytest.approx(-1.0)
    assert TOP.measured(fit, ids, np.array([1.0, 5.0, 2.0, 3.0, 4.0])) == pytest.approx(2 / 3)
    known, prior = fit.uncertainty, fit.prior
    assert known is not None
    assert prior is not None
    wide = 1.959964 * (known.se.sum() + prior.score_sd) / 5  # and as uncertain as the prior
    assert WIDE.measured(fit, ids, truth) == pytest.approx(wide)


def test_the_answer_is_on_the_line_through_what_studies_reach() -> None:
    """Half-widths of 4/√N: the goal of 0.5 takes 64 judgments, whatever was simulated."""
    numbers = np.array([40.0, 60.0, 90.0])
    random = np.random.default_rng(0)
    values = 4.0 / np.sqrt(numbers) + 1e-4 * random.standard_normal((8, 3))
    curve = Curve(WIDE, numbers, values)
    assert curve.needed() == pytest.approx(64.0, rel=0.01)
    assert curve.likely() == pytest.approx(64.0, rel=0.01)
    assert np.allclose(curve.interval(), 64.0, rtol=0.01)
    # Of a study that has 50 already, 14 more.
    grown = Curve(WIDE, numbers - 35.0, 4.0 / np.sqrt(numbers + 15.0) + 0.0 * values, begun=50)
    assert grown.needed() == pytest.approx(14.0, rel=0.01)
    # Beyond what was simulated nothing is said, and before it the least number.
    assert Curve(Goal.of("half-width=0.1"), numbers, values).needed() is None
    assert Curve(Goal.of("half-width=2"), numbers, values).needed() == 40.0


def test_tau_rises_on_a_line_too() -> None:
    """Normal scores: sin²(πτ/2) is the reliability, whose odds rise with the judgments."""
    numbers = np.array([100.0, 200.0, 400.0])
    kept = numbers / (numbers + 30.0)
    values = np.tile(2.0 / np.pi * np.arcsin(np.sqrt(kept)), (5, 1))
    wanted = np.sin(0.4 * np.pi) ** 2
    needed = Curve(TAU, numbers, values).needed()
    assert needed == pytest.approx(30.0 * wanted / (1.0 - wanted), rel=0.01)


def test_a_study_grows() -> None:
    plan = Assumptions(items=12, annotators=4, ties=0.3)
    study = plan.drawn(400, seed=3)
    half, whole = study.first(200), study.first(400)
    assert (half.n_judgments, whole.n_judgments) == (200, 400)
    many = Assumptions(items=12, annotators=200, ties=0.3).drawn(5000, seed=1)
    tied = np.mean(np.asarray(many.judgments.outcome) == 0.5)
    assert tied == pytest.approx(0.3, abs=0.04)
    by = Assumptions(items=12, per_annotator=40)
    assert by.drawn(400, seed=3).first(80).n_annotators <= 3
    assert by.annotators_for(401) == 11
    assert np.std(Assumptions(items=200, score_sd=2.0).drawn(9, 0).truth) == pytest.approx(2.0)


def test_a_study_that_goes_on_keeps_what_it_has() -> None:
    rows = aggcal.read_judgments(
        [("ann", "a", "b", 1), ("bob", "b", "c", 0.5), ("bob", "a", "c", 1)]
    )
    fit = aggcal.aggregate(rows, warn=False)
    study = Continued(rows, fit).drawn(20, seed=1)
    now, then = study.first(0), study.first(20)
    assert now.n_judgments == 3
    assert then.n_judgments == 23
    assert aggcal.aggregate(now, warn=False).scores == pytest.approx(fit.scores, abs=1e-6)


def test_the_number_reaches_the_goal(planned: Power) -> None:
    assert planned.needed is not None
    low, high = planned.needed_interval
    assert low <= planned.needed
    assert high is None or planned.needed <= high
    plan = Assumptions(items=6, annotators=4)
    goal, values = planned.goal, []
    for seed in range(100, 108):
        study = plan.drawn(planned.needed, seed)
        fit = aggcal.aggregate(study.first(planned.needed), "btl", warn=False)
        values.append(goal.measured(fit, study.item_ids, study.truth))
    assert np.mean(values) == pytest.approx(goal.value, rel=0.1)


def test_the_same_seed_gives_the_same_answer(planned: Power) -> None:
    again = aggcal.power("half-width=0.8", items=6, annotators=4, method="btl", studies=5, seed=1)
    assert again.to_dict() == planned.to_dict()


def test_what_is_said_and_written(planned: Power, tmp_path: Path) -> None:
    assert str(planned).splitlines()[0].split()[:4] == ["judgments", "per", "item", "half-width"]
    assert f"{planned.needed:,} judgments" in planned.says
    paths = planned.save(tmp_path / "out")
    assert {path.name for path in paths} == {*Power.FILES, "summary.json"}
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["needed"] == planned.needed
    assert len(summary["points"]) == len(planned.table["judgments"])
    figure = planned.figure()
    assert figure.count('class="dot"') == len(planned.curve.numbers)
    assert f"about {planned.needed:,} judgments" in figure


def test_after_a_study_how_many_more() -> None:
    study = aggcal.simulate(items=6, annotators=4, judgments=80, seed=2)
    found = aggcal.power("half-width=0.5", study.judgments, method="btl", studies=4)
    assert found.columns["more"][0] == 0
    assert found.needed is not None
    assert found.needed > 0
    assert "With its 80 judgments" in found.says
    done = aggcal.power("half-width=2", study.judgments, method="btl", studies=4)
    assert done.needed == 0
    assert "is reached" in done.says


def test_a_pilot_tells_what_to_assume() -> None:
    study = aggcal.simulate(items=30, annotators=10, judgments=1500, latent_sd=2.0, seed=4)
    found = aggcal.power("half-width=2", study.judgments, pilot=True, items=60, studies=4)
    plan = found.plan
    assert isinstance(plan, Assumptions)
    assert (plan.items, plan.annotators) == (60, 10)
    assert plan.score_sd == pytest.approx(2.0, rel=0.25)
    assert 0.05 < plan.score_sd_error < 0.3
    with pytest.raises(aggcal.AggcalError, match="too few judgments"):
        aggcal.power("half-width=2", [("a", "x", "y")], pilot=True, method="btl")


def test_options_that_do_not_fit_are_refused() -> None:
    rows = [("ann", "a", "b"), ("bob", "b", "c")]
    with pytest.raises(aggcal.AggcalError, match="items is for a new study"):
        aggcal.power("tau=0.8", rows, items=9)
    with pytest.raises(aggcal.AggcalError, match="a pilot is a file of judgments"):
        aggcal.power("tau=0.8", pilot=True)
    with pytest.raises(aggcal.AggcalError, match="top 9 are no choice"):
        aggcal.power("top-9=0.8", items=5)
    with pytest.raises(aggcal.AggcalError, match="4 or more"):
        aggcal.power("tau=0.8", studies=1)


def test_many_items_are_simulated_by_fewer(planned: Power, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aggcal.advice.power._MOST_ITEMS", 6)
    monkeypatch.setattr("aggcal.advice.power._FEWEST_ANNOTATORS", 1)
    how = {"method": "btl", "studies": 5, "seed": 1}
    found = aggcal.power("half-width=0.8", items=12, annotators=8, **how)  # type: ignore[arg-type]
    assert "6 of the 12 items" in found.notes[0]
    assert planned.needed is not None
    assert found.needed == pytest.approx(2 * planned.needed, rel=0.05)
