"""Camps in files and pages: who is in which, what each thinks, and what is fair to all."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from aggcal.report.report import RENDERERS, report
from aggcal.report.run import Run, load_run
from conftest import table
from terms_studies import NAMES, camped


def rendered(run: Run, ending: str) -> str:
    return RENDERERS[ending](report(run))


def with_camps(**camps: Any) -> Run:
    """The study, but its summary says this of camps."""
    run = camped().to_run()
    known = {"stands_out": False, "kind": "one order", "names": [], "shares": []} | camps
    return replace(run, summary={**run.summary, "terms": {**run.summary["terms"], "camps": known}})


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


def test_the_report_is_the_same_from_files(tmp_path: Path) -> None:
    camped().save(tmp_path, check=False)
    for ending in ("html", "md"):
        assert rendered(load_run(tmp_path), ending) == rendered(camped().to_run(), ending)


def test_the_first_screen_speaks_of_the_order_it_shows() -> None:
    run = camped().to_run()
    assert "divided" in [each["code"] for each in run.summary["check"]["findings"]]
    first_screen = rendered(run, "md").partition("## Results")[0]
    assert "**Use with care**" in first_screen
    assert "that of one camp" not in first_screen
    assert "the common ground is fair to every camp" in first_screen
    ground = run.number("common_ground")
    assert ground is not None
    leader = run.names[int(np.argmax(ground))]
    assert f"On the common ground, {leader} leads</a>" in rendered(run, "html")
    # Without a common ground to go to, divided annotators are a reason to wait.
    terms = {**run.summary["terms"], "camps": None}
    alone = rendered(replace(run, summary={**run.summary, "terms": terms}), "md")
    assert "**Not ready**" in alone
    assert "that of one camp" in alone


def test_the_page_says_who_differs_about_what() -> None:
    run = camped().to_run()
    page, text = rendered(run, "html"), rendered(run, "md")
    assert "16 annotators: " in text
    assert "8 annotators: " in text
    assert "Rank in A" in text
    assert "two camps of annotators (67%, 33%)" in text.lower()
    assert "Divides most" in page
    scores = {letter: run.number(f"camp_{letter.lower()}") for letter in "AB"}
    for letter, other in (("A", "B"), ("B", "A")):
        of_camp = text.partition(f"Camp {letter}")[2]
        named = of_camp.partition("Puts higher than the other camp: ")[2].partition(".")[0]
        higher, lower = scores[letter], scores[other]
        assert higher is not None
        assert lower is not None
        for item in named.split(", "):
            k = run.names.index(item)
            assert higher[k] > lower[k]


def test_nothing_is_said_of_camps_that_are_not_there() -> None:
    for kind, says in (
        ("one order", "one order explains the answers as well"),
        ("an axis", "as well by one axis along which people stand anywhere"),
    ):
        text = rendered(with_camps(kind=kind), "md")
        ground = text.partition("## Common ground")[2].partition("## ")[0]
        assert "No camps stand out: " in ground
        assert says in ground
        assert "Camp A" not in rendered(with_camps(kind=kind), "html")
        assert text.count("No camps stand out: ") == 2  # in the common ground, and in the method


def test_it_is_said_that_nobody_looked_and_what_other_results_follow() -> None:
    run = camped().to_run()
    for ending in ("html", "md"):
        said = "only predicted judgments are by the camp of the annotator"
        assert said in rendered(run, ending)
    text = rendered(with_camps(not_looked="there are only 5 annotators; it takes 6"), "md")
    said = "Camps of annotators were not looked for: there are only 5 annotators; it takes 6."
    assert text.count(said) == 2  # in the common ground, and in how it was made


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
    first = cells[0]
    shown = f"{first['rank_low']}–{first['rank_high']}"
    expected = shown if first["rank_low"] != first["rank_high"] else first["rank_low"]
    page = rendered(load_run(tmp_path), "html").partition('id="by-view"')[2]
    assert f">{expected}</td>" in page
