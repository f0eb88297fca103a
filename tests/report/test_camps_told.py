"""Camps in files and pages: who is in which, what each thinks, and what is fair to all."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from aggcal.report.camp_ground import NO_CAMPS, NO_SIGN, NOT_LOOKED, CampGround
from aggcal.report.headline import CARE, NOT_READY
from aggcal.report.html import RENDERERS
from aggcal.report.loading import load_report
from conftest import table
from terms_studies import NAMES, camped


def test_files_tell_who_is_in_which_camp(tmp_path: Path) -> None:
    camped().save(tmp_path, check=False)
    people = table(tmp_path / "annotators.csv")
    assert [name for name in people[0] if "camp" in name] == ["camp", "p_camp_a", "p_camp_b"]
    for row in people:
        assert float(row["p_camp_a"]) + float(row["p_camp_b"]) > 0.999
        assert (row["camp"] == "A") == (int(row["annotator"][-2:]) < 16)
    items = {row["item"]: row for row in table(tmp_path / "items.csv")}
    last = ["common_ground", "common_ground_se", "camp_a", "camp_b"]
    known = [name for name in items[NAMES[0]] if name.startswith(("camp", "common"))]
    assert known == [*last, "camps_apart", "camps_apart_se"]
    cells = table(tmp_path / "camps.csv")
    assert list(cells[0]) == ["camp", "share", "item", "score", "se", "low", "high", "rank"]
    assert len(cells) == 2 * len(NAMES)
    for row in cells:
        assert float(row["score"]) == float(items[row["item"]][f"camp_{row['camp'].lower()}"])
        assert float(row["low"]) < float(row["score"]) < float(row["high"])
    for row in items.values():
        middle = 0.5 * (float(row["camp_a"]) + float(row["camp_b"]))
        assert abs(float(row["common_ground"]) - middle) < 1e-9
    known = json.loads((tmp_path / "summary.json").read_text())["terms"]["camps"]
    assert known["kind"] == "two camps"
    assert known["held_out_gain"]["two camps"]["value"] > 10.0


def test_the_page_is_the_same_from_files(tmp_path: Path) -> None:
    camped().save(tmp_path, check=False)
    report, again = camped().to_report(), load_report(tmp_path)
    assert isinstance(again.ground, CampGround)
    assert again.ground.found
    assert again.ground.to_dict() == report.ground.to_dict()
    assert again.ground.members("B") == report.ground.members("B")


def test_the_first_screen_speaks_of_the_order_it_shows() -> None:
    report = camped().to_report()
    codes = [each["code"] for each in report.summary["check"]["findings"]]
    assert "divided" in codes
    assert report.trust.state == CARE
    assert not any("that of one camp" in reason for reason in report.trust.reasons)
    assert report.ground.order_said in report.trust.reasons
    said = f"on the common ground, {report.ground.leader} leads"
    assert (said, "#common") in report.asides
    # Without a common ground to go to, divided annotators are a reason to wait.
    summary = {**report.summary, "terms": {**report.summary["terms"], "camps": None}}
    alone = replace(report, summary=summary)
    assert alone.trust.state == NOT_READY
    assert any("that of one camp" in reason for reason in alone.trust.reasons)


def test_the_page_says_who_differs_about_what() -> None:
    report = camped().to_report()
    ground, page, text = report.ground, RENDERERS["html"](report), RENDERERS["md"](report)
    assert "<h3>Camp A</h3>" in page
    assert "16 annotators: " in text
    assert "8 annotators: " in text
    assert all(row["short"] in page for row in ground.divides)
    score = {
        name: np.asarray(report.items[f"camp_{name.lower()}"], float) for name in ground.letters
    }
    place = {str(item): k for k, item in enumerate(report.items["item"])}
    for name, other in (("A", "B"), ("B", "A")):
        for item in dict(ground.ends)[name]:
            assert score[name][place[item]] > score[other][place[item]]
    assert "Rank in A" in page
    assert "two camps of annotators (67%, 33%)" in " ".join(dict(report.terms).values()).lower()


def test_nothing_is_said_of_camps_that_are_not_there() -> None:
    report = camped().to_report()
    for kind, says in (("one order", NO_SIGN), ("an axis", NO_CAMPS)):
        none = {"stands_out": False, "kind": kind, "names": [], "shares": []}
        summary = {**report.summary, "terms": {**report.summary["terms"], "camps": none}}
        bare = replace(report, summary=summary)
        assert bare.ground.looked
        assert not bare.ground.found
        assert bare.ground.says.startswith(says)
        assert "Camp A" not in RENDERERS["html"](bare)
        assert "none stand out" in dict(bare.terms)["Disagreement"]


def test_it_is_said_that_nobody_looked_and_what_other_results_follow() -> None:
    report = camped().to_report()
    for page in (RENDERERS["html"](report), RENDERERS["md"](report)):
        assert "only predicted judgments are by the camp of the annotator" in page
    why = "there are only 5 annotators; it takes 6"
    none = {"stands_out": False, "kind": "one order", "not_looked": why, "names": [], "shares": []}
    summary = {**report.summary, "terms": {**report.summary["terms"], "camps": none}}
    bare = replace(report, summary=summary)
    assert bare.ground.says == f"{NOT_LOOKED}: {why}."
    assert dict(bare.terms)["Disagreement"] == f"{NOT_LOOKED}: {why}."


def test_nobody_is_called_reversed_for_being_in_the_other_camp() -> None:
    result = camped()
    assert result.consensus is not None
    assert result.verdicts is not None
    assert result.consensus.reversed_ids == []
    assert result.verdicts.counts["reversed"] == 0
    assert not any(type(each).__name__ == "ReversedWarning" for each in result.warnings)


def test_categories_have_rank_intervals(tmp_path: Path) -> None:
    camped().save(tmp_path, check=False)
    cells = table(tmp_path / "categories.csv")
    assert list(cells[0])[-2:] == ["rank_low", "rank_high"]
    for row in cells:
        assert 1 <= int(row["rank_low"]) <= int(row["rank"]) <= int(row["rank_high"]) <= len(NAMES)
    wide = [int(row["rank_high"]) - int(row["rank_low"]) for row in cells]
    assert 0 < np.mean(wide) < len(NAMES) - 2
    page = RENDERERS["html"](load_report(tmp_path))
    first = cells[0]
    shown = f"{first['rank_low']}–{first['rank_high']}"
    expected = shown if first["rank_low"] != first["rank_high"] else first["rank_low"]
    assert f'<td class="c-ranks">{expected}</td>' in page
