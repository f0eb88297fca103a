"""One verdict for each annotator: what it takes, what it never rests on; all counts agree."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import aggcal
from aggcal.advice.check import check
from aggcal.advice.verdicts import REVERSED, TOO_FEW, VERDICTS, Accused, Verdicts, left_shares
from aggcal.aggregation.uncertainty import wilson_interval
from aggcal.data.judgments import Judgments
from aggcal.errors import ReversedWarning
from aggcal.registry.literals import FittedName
from aggcal.simulation import simulate


@pytest.mark.parametrize(("part", "whole"), [(0, 5), (3, 10), (643, 1072), (40, 40)])
def test_the_interval_of_a_share_inverts_the_score_test(part: int, whole: int) -> None:
    low, high = wilson_interval(np.array([float(part)]), np.array([float(whole)]))
    for end in (float(low[0]), float(high[0])):
        if 0.0 < end < 1.0:
            z = (part / whole - end) / np.sqrt(end * (1.0 - end) / whole)
            assert abs(z) == pytest.approx(1.959964, abs=1e-5)


def biased(share: float, number: int, seed: int) -> Judgments:
    """Ten annotators of equal items, one of whom chooses the left one with this chance."""
    random = np.random.default_rng(seed)
    rows = []
    for u in range(10):
        for _ in range(number if u == 0 else 200):
            a, b = random.choice(40, 2, replace=False)
            chance = share if u == 0 else 1.0 / (1.0 + np.exp(-(a - b) / 10.0))
            rows.append(
                (f"u{u}", f"i{a}", f"i{b}", "left" if random.random() < chance else "right")
            )
    return aggcal.read_judgments(rows)


def test_two_thirds_left_in_a_thousand_answers_are_reported() -> None:
    assert not check(biased(0.6, 1072, 1), with_precision=False, quick=True).accused.named
    judgments = biased(0.7, 1072, 1)
    found = check(judgments, with_precision=False, quick=True)
    details = next(f.details for f in found.findings if f.code == "position-bias")
    assert details["annotators"] == ["u0"]
    assert found.accused.named["u0"][0] == "one-sided"
    columns = left_shares(judgments)
    assert columns["left_share_low"][0] < 0.7 < columns["left_share_high"][0]
    assert columns["left_share_low"][0] > 0.65


def screens(per_screen: int, n_screens: int) -> Judgments:
    """Seven honest annotators, and one who turned every pair of a few screens round."""
    random = np.random.default_rng(3)
    columns: dict[str, list[str]] = {"annotator": [], "winner": [], "loser": [], "screen": []}
    for u in range(8):
        for k in range(per_screen * n_screens):
            a, b = sorted(random.choice(20, 2, replace=False))
            slip = random.random() < 0.1
            turned = u == 0 or slip
            winner, loser = (b, a) if turned else (a, b)
            columns["annotator"].append(f"u{u}")
            columns["winner"].append(f"i{winner}")
            columns["loser"].append(f"i{loser}")
            columns["screen"].append(f"s{k // per_screen}")
    return aggcal.read_judgments({name: np.array(c, dtype=object) for name, c in columns.items()})


def reversed_of(judgments: Judgments) -> list[str]:
    accused = check(judgments, with_precision=False).accused
    return [name for name, (verdict, _) in accused.named.items() if verdict == REVERSED]


def test_an_accusation_does_not_rest_on_two_or_three_screens() -> None:
    few = screens(20, 3)
    assert few.screen is not None
    assert len(few.screen) == few.n_judgments
    assert reversed_of(few) == []
    # The same answers, each on a screen of its own, leave no doubt.
    assert reversed_of(replace(few, screen=None)) == ["u0"]
    assert reversed_of(screens(4, 15)) == ["u0"]


def test_47_percent_agreement_is_not_the_opposite() -> None:
    """However many answers there are, and however surely it is below one half."""
    random = np.random.default_rng(5)
    columns: dict[str, list[str]] = {"annotator": [], "winner": [], "loser": []}
    for u in range(6):
        for _ in range(6000 if u == 0 else 800):
            a, b = sorted(random.choice(20, 2, replace=False))
            wrong = random.random() < (0.53 if u == 0 else 0.25)
            winner, loser = (b, a) if wrong else (a, b)
            columns["annotator"].append(f"u{u}")
            columns["winner"].append(f"i{winner}")
            columns["loser"].append(f"i{loser}")
    table = {name: np.array(c, dtype=object) for name, c in columns.items()}
    assert reversed_of(aggcal.read_judgments(table)) == []


def test_without_a_check_nobody_is_accused_and_the_fit_says_whom_it_inverts() -> None:
    study = simulate(items=12, annotators=10, judgments=300, reversed_share=0.2, seed=6)
    consensus = aggcal.aggregate(study.judgments, warn=False).quantify()
    assert consensus.uncertainty is not None
    high = consensus.uncertainty.reliability_high
    assert high is not None
    turned = set(consensus.annotator_ids[high < 0.0])
    assert turned == set(consensus.reversed_ids)
    assert turned
    found = Verdicts.of(consensus)
    assert found.counts[REVERSED] == 0
    reasons = dict(zip(found.annotator_ids.tolist(), found.reason.tolist(), strict=True))
    assert all("but the data check was not made" in reasons[who] for who in turned)
    [warning] = [w for w in consensus.warnings if isinstance(w, ReversedWarning)]
    assert set(warning.annotators) == turned


def test_what_the_check_says_comes_first_and_few_judgments_are_told() -> None:
    rows = [("ann", "a", "b"), ("bob", "a", "b"), ("eve", "b", "a")]
    consensus = aggcal.aggregate(rows, warn=False)
    found = Verdicts.of(consensus, Accused(against_others=True, named={"eve": ("guessing", "why")}))
    assert found.verdict.tolist() == [TOO_FEW, TOO_FEW, "guessing"]
    assert sum(found.counts.values()) == 3
    assert list(found.counts) == list(VERDICTS)


def test_one_count_of_reversed_annotators_everywhere(tmp_path: Path) -> None:
    study = simulate(items=20, annotators=12, judgments=2400, reversed_share=0.17, seed=2)
    result = aggcal.assess(study.shown, study.scores, warn=False).with_advice()
    result.save(tmp_path)
    turned = set(study.annotator_ids[study.reliability < 0])
    summary = json.loads((tmp_path / "summary.json").read_text())
    with (tmp_path / "annotators.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {r["annotator"] for r in rows if r["verdict"] == "reversed"} == turned
    assert all(r["reason"] for r in rows)
    assert {"left_share", "left_share_low", "left_share_high"} <= set(rows[0])
    assert set(summary["reversed_annotators"]) == turned
    assert summary["verdicts"]["reversed"] == len(turned)
    (finding,) = [f for f in summary["check"]["findings"] if f["code"] == "reversed-annotators"]
    assert set(finding["details"]["annotators"]) == turned
    # What the fit says of them is said with a check and without.
    plain = aggcal.assess(study.shown, study.scores, warn=False)
    assert summary["warnings"] == [str(warning) for warning in plain.warnings]
    assert any("against the consensus" in warning for warning in summary["warnings"])
    assert result.to_run().verdicts.count("reversed") == len(turned)
    page = (tmp_path / "report.html").read_text()
    assert page.count(f"{len(turned)} annotators seem to have reversed the question</a>") == 1
    assert page.count(f'"label":"Reversed {len(turned)}"') == 1


def test_the_fit_turns_round_only_whose_reliability_is_negative() -> None:
    study = simulate(items=20, annotators=12, judgments=2400, reversed_share=0.1, seed=2)
    told: dict[FittedName, str] = {"hra-g": "hra-g inverts these answers", "btl": "does not invert"}
    for method, said in told.items():
        found = check(aggcal.read_judgments(study.judgments), method=method, with_precision=False)
        [message] = [f.message for f in found.findings if f.code == "reversed-annotators"]
        assert said in message


def test_llmfao_has_one_verdict_for_each_annotator(data_folder: Path) -> None:
    result = aggcal.assess(str(data_folder / "llmfao" / "judgments.csv"), warn=False).with_advice()
    assert result.verdicts is not None
    verdict = dict(zip(result.verdicts.annotator_ids, result.verdicts.verdict, strict=True))
    assert result.to_dict()["reversed_annotators"] == []
    # Hundreds of answers without any agreement; 7 and 14 answers tell nothing for sure.
    assert verdict["w20"] in {"guessing", "unclear"}
    assert not {verdict[u] for u in ("w77", "w34")} & {"reversed", "guessing"}
    # Those of two agree no more with the others, but they choose item 56 in 149 of 154 judgments.
    assert {verdict["w15"], verdict["w70"]} == {"unclear"}


def contradicting(orders: list[list[float]], number: int, seed: int) -> Judgments:
    """Annotators, each with scores of its own, who judge random pairs."""
    random = np.random.default_rng(seed)
    rows = []
    for u, scores in enumerate(orders):
        for _ in range(number):
            a, b = random.choice(len(scores), 2, replace=False)
            left = random.random() < 1.0 / (1.0 + np.exp(scores[b] - scores[a]))
            rows.append((f"u{u}", f"i{a}", f"i{b}", "left" if left else "right"))
    return aggcal.read_judgments(rows)


@pytest.mark.parametrize("seed", [1, 2])
def test_of_two_who_contradict_each_other_neither_is_accused(seed: int) -> None:
    """The fit follows one of them, and which one is as good as a coin toss."""
    scores = np.linspace(-2.0, 2.0, 8)
    judgments = contradicting([list(scores), list(-scores)], 300, seed)
    result = aggcal.assess(judgments, warn=False)
    assert result.consensus is not None
    assert result.consensus.uncertainty is not None
    assert result.consensus.uncertainty.reliability_high is not None
    assert (result.consensus.uncertainty.reliability_high < 0.0).sum() == 1
    for one in (result, result.with_advice()):
        assert one.verdicts is not None
        assert one.verdicts.verdict.tolist() == ["unclear", "unclear"]
        assert "either may be" in one.verdicts.reason[0]
        assert not any(isinstance(w, ReversedWarning) for w in one.warnings)


def test_nobody_is_called_reversed_where_camps_leave_no_consensus() -> None:
    """One page said that nobody was held against the others, and that somebody is reversed."""
    random = np.random.default_rng(202)
    one = random.normal(size=20)
    other = random.permutation(one)
    judgments = contradicting([list(each) for each in (one, other) * 5], 200, 4)
    result = aggcal.assess(judgments, warn=False).with_advice()
    assert result.advice is not None
    codes = {f.code for f in result.advice.check.findings if f.severity == "problem"}
    assert "divided" in codes
    assert "reversed-annotators" not in codes
    assert result.verdicts is not None
    assert set(result.verdicts.verdict) == {"unclear"}
    assert "(blank)" not in result.report("md")
