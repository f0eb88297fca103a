"""What the report and the files say of ties, sides, categories, control and the common ground."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from aggcal._core.tables import as_text
from aggcal.assessment import assess
from aggcal.cli import main
from aggcal.errors import FileError
from aggcal.models.general.outcomes import adjacent_probabilities, rao_kupper_probabilities
from aggcal.report import terms
from aggcal.report.annotators import AnnotatorRows
from aggcal.report.categories import MOST_CATEGORIES, MOST_ROWS, Categories
from aggcal.report.ground import NOTHING
from aggcal.report.html import RENDERERS, html
from aggcal.report.loading import load_report
from terms_studies import NAMES, bridged, controlled, rows


def visible(page: str) -> str:
    bare = re.sub(r"(?s)<(script|style)\b.*?</\1>", " ", page)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", bare)).split())


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_shares_are_those_of_the_model() -> None:
    """What the report says of equal items is what the likelihood says of them."""
    for nu in (-2.0, 0.0, 1.3):
        for grades in (np.ones(1), np.array([1.0, 0.4])):
            known = {"ties": "davidson", "grades": grades.tolist()}
            tie = adjacent_probabilities(np.zeros(1), np.array([nu]), grades)[0, 2]
            assert terms.tie_share(nu, known) == pytest.approx(tie, rel=1e-12)
        tie = rao_kupper_probabilities(np.zeros(1), np.array([nu]))[0, 2]
        assert terms.tie_share(nu, {"ties": "rao-kupper"}) == pytest.approx(tie, rel=1e-12)
        left, right, _ = adjacent_probabilities(np.array([nu]), np.zeros(1), np.ones(1))[0]
        assert terms.share(nu) == pytest.approx(left / (left + right), rel=1e-12)


def test_categories_have_a_file(tmp_path: Path) -> None:
    result = bridged()
    result.save(tmp_path, check=False)
    found = table(tmp_path / "categories.csv")
    assert list(found[0]) == [
        "column", "category", "item", "score", "se", "low", "high", "rank", "n_judgments",
            "rank_low", "rank_high",
    ]  # fmt: skip
    effects = result.consensus.effects  # type: ignore[union-attr]
    known = effects.categories[0]  # type: ignore[union-attr]
    assert {(row["column"], row["category"]) for row in found} == {
        ("topic", "parks"), ("topic", "roads"),
    }  # fmt: skip
    assert {row["category"]: float(row["n_judgments"]) for row in found} == dict(
        zip(known.ids.tolist(), known.judgments.tolist(), strict=True)
    )
    assert result.consensus is not None
    place = {item: k for k, item in enumerate(result.consensus.item_ids.tolist())}
    for row in found:
        g = known.ids.tolist().index(row["category"])
        assert float(row["score"]) == pytest.approx(known.scores[g, place[row["item"]]])
        assert float(row["low"]) < float(row["score"]) < float(row["high"])
        above = [r for r in found if r["category"] == row["category"]]
        better = sum(float(r["score"]) > float(row["score"]) for r in above)
        assert int(row["rank"]) == better + 1


def test_columns_are_added_at_the_end(tmp_path: Path) -> None:
    bridged().save(tmp_path / "b", check=False)
    controlled().save(tmp_path / "c", check=False)
    bridge, control = table(tmp_path / "b" / "items.csv"), table(tmp_path / "c" / "items.csv")
    assert list(bridge[0])[-4:] == ["common_ground", "common_ground_se", "axis", "axis_se"]
    assert list(control[0])[-2:] == ["consensus_uncontrolled", "rank_uncontrolled"]
    who = list(table(tmp_path / "b" / "annotators.csv")[0])
    at = who.index("position")
    assert who[at : at + 9] == [
        f"{name}{end}" for name in ("position", "tie_readiness", "stance")
        for end in ("", "_low", "_high")
    ]  # fmt: skip
    ranks = sorted(int(row["rank_uncontrolled"]) for row in control)
    assert ranks == list(range(1, len(NAMES) + 1))
    assert not (tmp_path / "c" / "categories.csv").exists()


def test_categories_csv_goes_when_it_is_outdated(tmp_path: Path) -> None:
    bridged().save(tmp_path, check=False)
    controlled().save(tmp_path, check=False)
    assert not (tmp_path / "categories.csv").exists()


@pytest.mark.parametrize("which", ["bridge", "control"])
def test_a_report_of_files_says_the_same(which: str, tmp_path: Path) -> None:
    """Whatever is said of terms comes back from the files, word for word."""
    result = bridged() if which == "bridge" else controlled()
    result.save(tmp_path, check=False)
    read = load_report(tmp_path)
    fresh = result.to_report()
    for ending in ("md", "html"):
        assert visible(RENDERERS[ending](read)) == visible(RENDERERS[ending](fresh))
    assert json.loads(RENDERERS["json"](read))["terms"] == dict(fresh.terms)


def test_terms_are_complete_and_plain() -> None:
    known = json.loads(json.dumps(bridged().to_dict()["terms"], allow_nan=False))
    outcomes = rows(camps=True)["outcome"]
    assert known["n_ties"] == sum(one == "tie" for one in outcomes)
    assert known["categories"]["topic"]["categories"] == ["parks", "roads"]
    assert sum(known["categories"]["topic"]["judgments"]) == len(outcomes)
    assert known["axis"]["stands_out"] is True
    assert 0.2 < known["axis"]["share"] < 0.9
    low, high = known["axis"]["ends"]
    assert known["axis"]["middle"] == pytest.approx((low + high) / 2)


def test_sides_and_ties_are_told_as_people_count() -> None:
    report = controlled().to_report()
    said, page = terms.annotators_said(report.summary), visible(html(report))
    assert said in page
    assert re.search(r"pick the left one (5[6-9]|6[0-8]) times in 100 decided answers", said)
    assert re.search(r"call a tie in (1\d|2\d|3\d)% of cases", said)
    listing = report.annotator_listing
    assert listing is not None
    left, ties = listing.column("position"), listing.column("tie_readiness")
    assert left is not None
    assert ties is not None
    # What verdicts count is drawn, the estimate for equal items is written beside it.
    counted = listing.column("left_share")
    assert counted is not None
    assert list(AnnotatorRows(listing).charts) == ["reliability", "agreement", "left_share"]
    assert list(AnnotatorRows(listing).numbers) == ["position", "tie_readiness"]
    order = {name: k for k, name in enumerate(report.annotators["annotator"].tolist())}
    for k, name in enumerate(listing.names.values):
        p = float(report.annotators["position"][order[name]])
        assert left.values[k] == pytest.approx(100.0 / (1.0 + np.exp(-p)))
    assert 'data-key="position"' in html(report)
    assert 'data-key="tie_readiness"' in html(report)


def test_method_says_what_was_fitted_and_what_was_not_found() -> None:
    report = controlled().to_report()
    said = dict(report.terms)
    assert set(said) == {"Ties", "Sides", "Held equal"}
    assert "taken out of the scores" in said["Sides"]
    page, text = visible(html(report)), RENDERERS["md"](report)
    for label, sentence in said.items():
        assert f"{label} {sentence}" in page
        assert f"**{label}:** " in text
    known = dict(report.summary["terms"]) | {"position": None, "position_evidence": -4.0}
    other = dict(terms.sentences(dict(report.summary) | {"terms": known}))
    assert other["Sides"].startswith("No sign of a preference for a side was found")


def test_contexts_are_told() -> None:
    known = {"name": "prompt", "number": 13, "fitted": True, "sd": 0.5}
    said = dict(terms.sentences({"terms": {"ties": "halves", "contexts": known}}))
    assert "13 contexts (prompt)" in said["Contexts"]
    known |= {"fitted": False, "sd": None}
    summary = {"terms": {"ties": "halves", "contexts": known}}
    assert "intervals allow for answers in one" in dict(terms.sentences(summary))["Contexts"]


def test_both_orders_are_side_by_side() -> None:
    report = controlled().to_report()
    control, page = report.control, visible(html(report))
    assert control.known
    for row in control.rows:
        move = int(row["without"]) - int(row["rank"])
        assert row["move"] == (f"{'up' if move > 0 else 'down'} {abs(move)}" if move else "same")
    far = max(abs(int(row["without"]) - int(row["rank"])) for row in control.rows)
    first = control.moved[0]
    assert abs(int(first["without"]) - int(first["rank"])) == far > 0
    assert f"the largest move is {far}" in page
    assert "also removes quality that goes with it" in page
    words = report.summary["terms"]["control"]["words"]
    wins = 100.0 / (1.0 + np.exp(-words["value"]))
    assert f"wins {wins:.0f} of 100 decided answers" in page
    assert 55 < wins < 75  # 0.6 · 1.3 by simulation, shrunk to the typical reliability's unit
    assert "With words held equal" in page


def test_common_ground_is_fair_to_both_ends() -> None:
    report = bridged().to_report()
    ground, page = report.ground, visible(html(report))
    assert ground.found
    assert ground.says in page
    axis = dict(zip(report.items["item"], report.items["axis"], strict=True))
    (a, first), (b, second) = ground.ends
    assert (a, b) == ("A", "B")
    assert all(axis[item] < 0 for item in first)
    assert all(axis[item] > 0 for item in second)
    scores = [float(row["score"].replace("−", "-")) for row in ground.rows]
    assert scores == sorted(scores, reverse=True)
    for row in ground.divides:
        if abs(int(row["a"]) - int(row["b"])) > 2:
            assert (int(row["a"]) < int(row["b"])) == (axis[row["item"]] < 0)
    # Whoever turns the axis round turns the letters round, and nothing else.
    summary = json.loads(json.dumps(dict(report.summary)))
    known = summary["terms"]["axis"]
    known["ends"] = [-known["ends"][1], -known["ends"][0]]
    known["middle"] = -known["middle"]
    turned = replace(
        report,
        summary=summary,
        items=report.items | {"axis": -report.items["axis"]},
        annotators=report.annotators | {"stance": -report.annotators["stance"]},
    ).ground
    assert [row["item"] for row in turned.rows] == [row["item"] for row in ground.rows]
    assert [(row["b"], row["a"]) for row in turned.rows] == [
        (row["a"], row["b"]) for row in ground.rows
    ]


def test_nothing_is_shown_where_no_axis_stands_out() -> None:
    report = bridged(camps=False).to_report()
    assert report.ground.looked
    assert not report.ground.found
    page, text = html(report), RENDERERS["md"](report)
    assert NOTHING in visible(page)
    assert NOTHING in text
    assert "End A" not in visible(page)
    assert 'id="ground"' not in page


def test_a_category_is_compared_with_the_overall_order() -> None:
    report = bridged().to_report()
    overall = dict(zip(report.items["item"], report.items["rank"], strict=True))
    views = report.by.views
    assert [view["key"] for view in views] == ["parks", "roads"]
    for view in views:
        assert view["n"] == len(NAMES)
        for row in view["rows"]:
            move = int(overall[row["item"]]) - int(row["rank"])
            assert row["move"] == (
                f"{'up' if move > 0 else 'down'} {abs(move)}" if move else "same"
            )
    page, text = html(report), RENDERERS["md"](report)
    for view in views:
        assert f'data-by="{view["key"]}"' in page
        assert f"### topic: {view['label']}" in text


def test_many_items_and_categories_do_not_make_the_page_heavy() -> None:
    n, groups = 2_000, MOST_CATEGORIES + 5
    ids = as_text(f"i{k}" for k in range(n))
    cells = {
        "column": as_text("c" for _ in range(n * groups)),
        "category": as_text(f"g{g}" for g in range(groups) for _ in range(n)),
        "item": np.tile(ids, groups),
        "score": np.tile(-np.arange(n, dtype=float), groups),
        "rank": np.tile(np.arange(1, n + 1), groups),
        "n_judgments": np.repeat(np.arange(groups), n),
    }
    shown = Categories(cells, {"item": ids, "rank": np.arange(1, n + 1)})
    assert sum(len(view["rows"]) for view in shown.views) <= MOST_ROWS
    assert len(shown.views) == MOST_CATEGORIES
    assert "g0" not in {view["label"] for view in shown.views}  # it has the fewest judgments
    assert "categories.csv has all" in shown.left_out


def test_one_name_in_two_columns_has_two_links() -> None:
    cells = {
        "column": as_text(("topic", "place")),
        "category": as_text(("north", "north")),
        "item": as_text(("a", "a")),
        "score": np.zeros(2),
        "rank": np.ones(2),
    }
    views = Categories(cells, {"item": as_text(("a",)), "rank": np.ones(1)}).views
    assert [view["key"] for view in views] == ["topic=north", "place=north"]


def test_categories_of_other_items_are_refused(tmp_path: Path) -> None:
    bridged().save(tmp_path, check=False)
    path = tmp_path / "categories.csv"
    path.write_text(path.read_text().replace("Plan 03", "Somebody else's"))
    with pytest.raises(FileError, match=r"is not in items\.csv"):
        load_report(tmp_path, force=True)
    assert main(["report", str(tmp_path), "-q"]) == 2  # the digest does not fit


def test_folders_without_terms_are_still_read(tmp_path: Path) -> None:
    """As an earlier version wrote them: no such columns, no such keys, no such file."""
    bridged().save(tmp_path, check=False)
    summary = json.loads((tmp_path / "summary.json").read_text())
    known = summary["terms"]
    for key in ("n_ties", "contexts", "axis"):
        del known[key]
    known["categories"] = {}
    summary["files"] = {}
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    (tmp_path / "categories.csv").unlink()
    for name, drop in (("items.csv", 4), ("annotators.csv", 0)):
        lines = [line.split(",") for line in (tmp_path / name).read_text().splitlines()]
        kept = [line[: len(line) - drop] for line in lines]
        (tmp_path / name).write_text("".join(",".join(line) + "\n" for line in kept))
    report = load_report(tmp_path)
    assert not report.ground.looked
    assert not report.by.views
    assert "Common ground" not in visible(html(report))
    del summary["terms"]
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    assert load_report(tmp_path).terms == []


def test_names_of_columns_cannot_break_the_page() -> None:
    odd = "</script><b>&"
    report = bridged().to_report()
    cells = report.categories | {
        "column": as_text(odd for _ in report.categories["column"]),
        "category": as_text(f"{one}|{odd}" for one in report.categories["category"]),
    }
    page = html(replace(report, categories=cells))
    assert "<b>&" not in page
    assert odd in visible(page)


def test_comparison_says_that_terms_differ(tmp_path: Path) -> None:
    bridged().save(tmp_path / "a", check=False)
    controlled().save(tmp_path / "b", check=False)
    out = tmp_path / "c.md"
    folders = [str(tmp_path / name) for name in "ab"]
    assert main(["report", *folders, "--format", "md", "-o", str(out), "-q"]) == 0
    assert "The terms of the fits differ" in out.read_text()


def test_json_has_all_of_it() -> None:
    held = json.loads(RENDERERS["json"](controlled().to_report()))["held_equal"]
    ground = json.loads(RENDERERS["json"](bridged().to_report()))["common_ground"]
    assert held["moved"]
    assert held["coefficients"][0]["name"] == "words"
    assert sorted(ground["order"]) == NAMES


def test_a_plain_fit_says_once_that_no_side_is_preferred() -> None:
    random = np.random.default_rng(3)
    left = random.integers(6, size=300)
    right = (left + random.integers(1, 6, 300)) % 6
    won = random.random(300) < 1.0 / (1.0 + np.exp(0.5 * (right - left)))
    table_ = {
        "annotator": [f"u{k % 10}" for k in range(300)],
        "left": [f"i{k}" for k in left],
        "right": [f"i{k}" for k in right],
        "outcome": ["left" if y else "right" for y in won],
    }
    report = assess(table_, warn=False).to_report()
    assert report.summary["terms"] is None
    assert report.summary["position_evidence"] < 2.0
    said = "No sign of a preference for a side was found"
    assert visible(html(report)).count(said) == 1
    assert RENDERERS["md"](report).count(said) == 1
