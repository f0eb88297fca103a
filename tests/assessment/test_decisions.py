"""Decisions: probabilities, verdicts, grades, and where nothing is claimed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal.aggregation.covariance import independent
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.calibration.anchors import Measured
from aggcal.errors import OptionError
from documents import blocks, document, words


@pytest.fixture(scope="module")
def study() -> Any:
    made = aggcal.simulate(items=12, annotators=6, judgments=260, seed=4)
    return aggcal.read_judgments(made.judgments)


@pytest.fixture(scope="module")
def result(study: Any) -> Any:
    model = {item: 50.0 + 3.0 * k for k, item in enumerate(study.item_ids.tolist())}
    return aggcal.assess(study, list(model.items()), warn=False)


def test_chances_of_the_top_add_up_to_its_places(result: Any) -> None:
    for k in (1, 4, 11):
        chances = result.decide(top=k).columns["p_top_k"]
        assert chances.sum() == pytest.approx(k, abs=0.02)
        assert ((chances > 0.0) & (chances < 1.0)).all()


def test_chances_are_those_of_the_joint_draws(result: Any) -> None:
    known = result.consensus.uncertainty
    first = np.argsort(-known.draws(), axis=1)[:, :3]
    share = np.array([np.mean((first == item).any(axis=1)) for item in range(12)])
    assert known.top_probabilities(np.array([3]))[:, 0] == pytest.approx(share)


def test_the_best_set_is_of_the_likeliest_items(result: Any) -> None:
    found = result.decide(top=4)
    chances = dict(zip(found.item_ids, found.columns["p_top_k"], strict=True))
    assert [chances[item] for item in found.best] == sorted(chances.values(), reverse=True)[:4]
    assert found.best_right == pytest.approx(sum(chances[item] for item in found.best))


def test_chances_of_very_many_items_add_up_and_follow_the_draws() -> None:
    random = np.random.default_rng(0)
    scores, se = random.standard_normal(4000), random.uniform(0.1, 0.5, 4000)
    known = Uncertainty.of("laplace", 0.95, scores, independent(se))
    every: Any = known.top_probabilities(np.array([400]))
    chances = every[:, 0]
    drawn = np.argsort(-(scores + se * random.standard_normal((1000, 4000))), axis=1)
    share = np.bincount(drawn[:, :400].ravel(), minlength=4000) / 1000
    assert np.abs(chances - share).max() < 0.07
    assert chances.sum() == pytest.approx(400, rel=0.01)
    assert (chances > 0.0).all()


def test_verdicts_on_the_top_are_what_is_claimed_at_any_true_scores(result: Any) -> None:
    for error in (0.01, 0.05, 0.3):
        found, claims = result.decide(top=4, error=error), result.consensus.claims(1.0 - error)
        verdict = dict(zip(found.item_ids, found.columns["verdict"], strict=True))
        for k, item in enumerate(result.consensus.item_ids):
            wanted = "in" if claims.worst[k] <= 4 else "out" if claims.best[k] > 4 else "open"
            assert verdict[item] == wanted
        inside, out = claims.inside(4).sum(), claims.outside(4).sum()
        assert found.counts == {"in": inside, "open": 12 - inside - out, "out": out}
        assert f"surely not: {out} item" in found.says[0]
        assert f"the other {12 - inside - out} cannot be told" in found.says[0]
        assert f"({100 * (1 - error):g}% confidence for each)" in found.says[0]


def test_no_single_item_is_called_the_most_probable(result: Any) -> None:
    assert not any("probabl" in said for said in result.decide(top=1).says)


def test_in_both_means_both(result: Any) -> None:
    top, cut = result.decide(top=6, error=0.1), result.decide(cut=60.0, error=0.1)
    found = result.decide(top=6, cut=60.0, error=0.2)
    both = found.columns["verdict"]
    assert found.says[1].startswith("Top 6 and above 60: ")
    for k, verdict in enumerate(both):
        alone = {top.columns["verdict"][k], cut.columns["verdict"][k]}
        if verdict == "in":
            assert alone == {"in"}
        assert ("out" in alone) == (verdict == "out")


def test_chances_above_a_cut_fall_with_the_cut_and_hold_the_interval(result: Any) -> None:
    cuts = np.linspace(40.0, 95.0, 12)
    chances = np.array([result.decide(cut=cut).columns["p_above"] for cut in cuts])
    assert (np.diff(chances, axis=0) <= 0.0).all()
    low, high = result.items["calibrated_low"], result.items["calibrated_high"]
    for k in range(len(low)):
        inside = chances[(cuts > low[k]) & (cuts < high[k]), k]
        assert (chances[cuts < low[k] - 1e-9, k] >= 0.9).all()
        assert (chances[cuts > high[k] + 1e-9, k] <= 0.1).all()
        assert ((inside > 0.0) & (inside < 1.0)).all()


def test_a_cut_of_the_consensus_is_read_on_its_scale(study: Any) -> None:
    plain: Any = aggcal.assess(study, warn=False)
    elo: Any = plain.with_scale("elo")
    at = elo.scale.of(np.array([0.4]))[0]
    assert np.array_equal(
        plain.decide(cut=0.4).columns["p_above"], elo.decide(cut=at).columns["p_above"]
    )
    ends = plain.decide(grades=[-0.5, 0.5]).columns["uncertain"]
    scaled = elo.decide(grades=elo.scale.of(np.array([-0.5, 0.5])).tolist()).columns["uncertain"]
    assert ends.tolist() == scaled.tolist()


def test_chances_of_the_truth_are_uniform_over_the_gaps_of_the_errors() -> None:
    """Exchangeable errors: each of k + 1 gaps is as likely, so chances are calibrated."""
    random = np.random.default_rng(1)
    stated, came = [], []
    for _ in range(4000):
        errors = random.exponential(size=10)
        stated.append(Measured(np.zeros(1), errors[:9]).above(0.7)[0])
        came.append(errors[9] > 0.7)
    assert np.mean(stated) == pytest.approx(np.mean(came), abs=0.03)
    assert Measured(np.array([0.0]), np.array([1.0, 2.0])).above(5.0) == pytest.approx(1 / 6)


def test_anchors_alone_give_chances_of_the_truth(study: Any) -> None:
    consensus = aggcal.aggregate(study, warn=False)
    known = {
        str(item): 60.0 + 10.0 * score
        for item, score in zip(consensus.item_ids, consensus.scores, strict=True)
    }
    found = aggcal.assess(study, anchors=known, level=0.5, warn=False).decide(cut=60.0)
    above = found.columns["p_above"]
    truth = np.array([known[str(item)] for item in found.item_ids])
    assert (above[truth > 62.0] > 0.5).all()
    assert (above[truth < 58.0] < 0.5).all()


def test_grades_and_doubts(result: Any) -> None:
    found, items = result.decide(grades=[55, 65, 75]), result.items
    for k, (grade, odd) in enumerate(
        zip(found.columns["grade"], found.columns["uncertain"], strict=True)
    ):
        score = items["calibrated"][k]
        place = sum(score >= end for end in (55, 65, 75))
        assert grade == ["below 55", "55 to 65", "65 to 75", "75 and above"][place]
        low, high = items["calibrated_low"][k], items["calibrated_high"][k]
        assert odd == any(low < end <= high for end in (55, 65, 75))
    assert found.uncertain == [
        i for i, odd in zip(found.item_ids, found.columns["uncertain"], strict=True) if odd
    ]


def test_no_probability_is_given_across_components() -> None:
    rows = [(u, *pair) for u in ("ann", "bob") for pair in ("ab", "cd", "dc")]
    found = aggcal.assess(rows * 9, warn=False).decide(top=1, cut=0.0, grades=[0.0])
    assert np.isnan(found.columns["p_top_k"]).all()
    assert np.isnan(found.columns["p_above"]).all()
    assert set(found.columns["uncertain"]) == {True}, "nothing says that they are not"
    assert found.best_right is None
    assert set(found.unclaimed) == {"top", "cut", "grades"}
    assert "2 connected components" in found.says[-1]
    # That b is not the first holds all the same: a is above it.
    alone = aggcal.assess(rows * 20, warn=False).decide(top=1)
    verdict = dict(zip(alone.item_ids, alone.columns["verdict"], strict=True))
    assert verdict == {"a": "open", "b": "out", "c": "open", "d": "open"}


def test_a_check_of_the_data_changes_no_decision() -> None:
    """Not even one that finds copies: errors allow for answers that depend on each other."""
    random = np.random.default_rng(0)
    asked = [tuple(random.permutation(10)[:2]) for _ in range(80)]
    rows = [
        (f"u{u}", f"i{min(pair)}", f"i{max(pair)}")
        if random.random() < 0.8
        else (f"u{u}", f"i{max(pair)}", f"i{min(pair)}")
        for u in range(4)
        for pair in asked
    ]
    copied = [("copy", a, b) for u, a, b in rows if u == "u0"]
    result: Any = aggcal.assess(rows + copied, warn=False).with_decisions(top=3)
    checked: Any = result.with_advice()
    assert "copies" in {finding.code for finding in checked.advice.check.findings}
    assert np.array_equal(checked.item_columns()["p_top_k"], result.item_columns()["p_top_k"])
    assert checked.decisions.to_dict() == result.decisions.to_dict()
    assert checked.guarantees.to_dict() == result.guarantees.to_dict()


def test_grades_beside_a_model_that_runs_the_other_way_are_all_doubtful() -> None:
    study = aggcal.simulate(items=20, annotators=6, judgments=600, seed=4)
    turned = dict(zip(study.item_ids, (100.0 - study.model).tolist(), strict=True))
    found = aggcal.assess(study.judgments, turned, warn=False).decide(grades=[50])
    assert set(found.columns["uncertain"]) == {True}
    assert any("the model's scores fall where the consensus rises" in one for one in found.says)
    assert not any("0 of 20 marks" in one for one in found.says)


def test_decisions_are_in_the_files_and_in_the_report(result: Any, tmp_path: Path) -> None:
    told: Any = result.with_decisions(top=4, cut=60.0, grades=[55, 65])
    told.save(tmp_path / "out", check=False)
    header = (tmp_path / "out" / "items.csv").read_text().splitlines()[0].split(",")
    assert header[-5:] == ["p_top_k", "p_above", "verdict", "grade", "uncertain"]
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["decisions"]["says"] == told.decisions.says
    report = document(told, check=False)
    table = next(each for each in blocks(report, "listing") if each["id"] == "items")
    top = table["top"]
    assert top["stops"][top["first"]] == 4
    states = [
        "in" if worst <= 4 else "out" if best > 4 else "open"
        for best, worst in zip(top["best"], top["worst"], strict=True)
    ]
    alone = result.decide(top=4).columns["verdict"]
    assert states == alone.tolist()
    doubtful = next(each for each in blocks(report, "group") if each.get("id") == "doubtful")
    rows = next(blocks(doubtful, "table"))["rows"]
    assert [words(row[0]) for row in rows] == told.decisions.uncertain
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Best set of 4" in page
    assert "Doubtful marks" in page


@pytest.mark.parametrize(
    ("wish", "about"),
    [
        ({"top": 0}, "1 or more"),
        ({"top": 2.5}, "whole number"),
        ({"top": 12}, "only 12 items"),
        ({"cut": float("inf")}, "cut is inf"),
        ({"grades": [2, 1]}, "do not rise"),
        ({"top": 2, "error": 0.5}, "between 0 and 0.5"),
    ],
)
def test_wishes_that_cannot_be(result: Any, wish: dict[str, object], about: str) -> None:
    with pytest.raises(OptionError, match=about):
        result.decide(**wish)
