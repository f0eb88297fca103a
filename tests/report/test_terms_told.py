"""What the report and the files say of ties, sides, categories, control and the common ground."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aggcal._core.tables import as_text
from aggcal.aggregation.families import Adjacent, RaoKupper
from aggcal.assessment import assess
from aggcal.cli import main
from aggcal.errors import FileError
from aggcal.report.annotators import tie_shares
from aggcal.report.method import terms_said
from aggcal.report.report import RENDERERS, report
from aggcal.report.results import FEWEST_ROWS
from aggcal.report.run import Run, load_run
from conftest import table
from documents import blocks, document, listing, section, visible, words
from terms_studies import NAMES, bridged, controlled, rows

SUMMARY = {
    "version": "0", "method": "own", "n_items": 1, "n_annotators": 1, "n_judgments": 1,
    "warnings": [],
}  # fmt: skip


def rendered(run: Run, ending: str) -> str:
    return RENDERERS[ending](report(run))


def by_category(run: Run) -> dict[str, dict[str, list[Any]]]:
    """Return what each category's rows of the report hold, by the columns of their table."""
    columns = listing(json.loads(rendered(run, "json")), "by-category")
    labels = columns["category"]["values"]
    return {
        label: {
            key: [value for value, own in zip(each["values"], labels, strict=True) if own == label]
            for key, each in columns.items()
            if "values" in each
        }
        for label in dict.fromkeys(labels)
    }


def move_of(before: float, after: float) -> str:
    move = int(before) - int(after)
    return f"{'up' if move > 0 else 'down'} {abs(move)}" if move else "same"


def test_shares_are_those_of_the_model() -> None:
    """What the report says of equal items is what the likelihood says of them."""
    for nu in (-2.0, 0.0, 1.3):
        for grades in (np.ones(1), np.array([1.0, 0.4])):
            known = {"ties": "davidson", "grades": grades.tolist()}
            tie = Adjacent(tuple(grades)).probabilities(np.zeros(1), np.array([nu]))[0, 2]
            assert tie_shares(nu, known) == pytest.approx(tie, rel=1e-12)
        tie = RaoKupper().probabilities(np.zeros(1), np.array([nu]))[0, 2]
        assert tie_shares(nu, {"ties": "rao-kupper"}) == pytest.approx(tie, rel=1e-12)


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
    read, fresh = load_run(tmp_path), result.to_run()
    for ending in ("md", "html"):
        assert visible(rendered(read, ending)) == visible(rendered(fresh, ending))


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
    result = controlled()
    run, said = result.to_run(), document(result, check=False)
    page = visible(result.report(check=False))
    assert re.search(r"pick the left one (5[6-9]|6[0-8]) times in 100 decided answers", page)
    assert re.search(r"call a tie in (1\d|2\d|3\d)% of cases", page)
    shown = listing(said, "annotator-table")
    # What verdicts count stands beside the estimate for equal items.
    keys = ["left_share", "position", "tie_readiness"]
    assert [key for key in shown if key in keys] == keys
    order = {name: k for k, name in enumerate(run.annotators["annotator"].tolist())}
    for name, left in zip(shown["annotator"]["values"], shown["position"]["values"], strict=True):
        p = float(run.annotators["position"][order[name]])
        assert left == pytest.approx(100.0 / (1.0 + np.exp(-p)), abs=0.5)


def test_method_says_what_was_fitted_and_what_was_not_found() -> None:
    run = controlled().to_run()
    fitted = terms_said(run)
    assert set(fitted) == {"Ties", "Sides", "Held equal"}
    assert "The scores allow for both" in fitted["Sides"]
    page, text = visible(rendered(run, "html")), rendered(run, "md")
    for label, sentence in fitted.items():
        assert f"{label} {sentence}" in page
        assert f"- {label}: {sentence}" in text
    known = dict(run.summary["terms"]) | {"position": None, "position_evidence": -4.0}
    other = replace(run, summary={**run.summary, "terms": known})
    assert "No sign of a preference for a side was found" in rendered(other, "md")


@pytest.mark.parametrize(
    ("fitted", "said"), [(True, "13 contexts (prompt)"), (False, "intervals allow for answers in")]
)
def test_contexts_are_told(fitted: bool, said: str) -> None:
    known = {"name": "prompt", "number": 13, "fitted": fitted, "sd": 0.5 if fitted else None}
    run = Run({"terms": {"ties": "halves", "contexts": known}}, {})
    assert said in terms_said(run)["Contexts"]


def test_both_orders_are_side_by_side_the_largest_move_first() -> None:
    result = controlled()
    run, held = result.to_run(), section(document(result, check=False), "held")
    effects, orders = blocks(held, "table")
    moves = []
    for item, without, rank, move in orders["rows"]:
        k = run.names.index(item["text"])
        assert (rank, without) == tuple(
            f"{run.items[name][k]}" for name in ("rank", "rank_uncontrolled")
        )
        assert move == move_of(float(without), float(rank))
        moves.append(abs(int(without) - int(rank)))
    assert len(moves) == len(run.names)
    assert moves == sorted(moves, reverse=True)
    assert f"the largest move is {moves[0]}" in held["heading"]
    assert "also removes quality that goes with it" in words(held)
    wins = 100.0 / (1.0 + np.exp(-run.summary["terms"]["control"]["words"]["value"]))
    assert f"Wins {wins:.0f} of 100 decided answers" in words(effects)
    assert 55 < wins < 75  # 0.6 · 1.3 by simulation, shrunk to the typical reliability's unit
    assert "With words held equal</a>" in result.report(check=False)


def test_common_ground_is_fair_to_both_ends() -> None:
    run = bridged().to_run()
    said = json.loads(rendered(run, "json"))
    shown, ground = listing(said, "ground"), section(said, "common")
    axis = dict(zip(run.items["item"], run.items["axis"], strict=True))
    (ends,) = (group for group in blocks(ground, "group") if group.get("style") == "ends")
    for sign, end in zip((-1.0, 1.0), ends["blocks"], strict=True):
        named = [link["text"] for link in blocks(end, "link")]
        assert named
        assert all(sign * axis[item] > 0 for item in named)
    scores = shown["score"]["values"]
    assert scores == sorted(scores, reverse=True)
    ranks = {letter: shown[f"rank_{letter}"]["values"] for letter in "AB"}
    (divides,) = blocks(ground, "bullets")
    for line in divides["lines"]:
        k = shown["item"]["values"].index(line[0]["text"])
        if abs(ranks["A"][k] - ranks["B"][k]) > 2:
            assert (ranks["A"][k] < ranks["B"][k]) == (axis[line[0]["text"]] < 0)
    # Whoever turns the axis round turns the letters round, and nothing else.
    summary = json.loads(json.dumps(dict(run.summary)))
    known = summary["terms"]["axis"]
    known["ends"] = [-known["ends"][1], -known["ends"][0]]
    known["middle"] = -known["middle"]
    turned = replace(
        run,
        summary=summary,
        items={**run.items, "axis": -run.items["axis"]},
        annotators={**run.annotators, "stance": -run.annotators["stance"]},
    )
    other = listing(json.loads(rendered(turned, "json")), "ground")
    assert other["item"]["values"] == shown["item"]["values"]
    assert (other["rank_B"]["values"], other["rank_A"]["values"]) == (ranks["A"], ranks["B"])


def test_nothing_is_shown_where_no_axis_stands_out() -> None:
    run = bridged(camps=False).to_run()
    page, text = rendered(run, "html"), rendered(run, "md")
    for each in (visible(page), text):
        assert "No axis of disagreement stands out" in each
        assert "End A" not in each
    assert 'id="ground"' not in page


def test_a_category_is_compared_with_the_overall_order() -> None:
    run = bridged().to_run()
    overall = dict(zip(run.names, run.items["rank"], strict=True))
    shown = by_category(run)
    assert list(shown) == ["topic: parks", "topic: roads"]
    for columns in shown.values():
        items, ranks = columns["item"], columns["rank"]
        assert sorted(items) == NAMES
        moves = [move_of(overall[name], rank) for name, rank in zip(items, ranks, strict=True)]
        assert columns["move"] == moves
    text = rendered(run, "md")
    assert re.findall(r"### (topic: \w+): \d[\d,]* judgments", text) == list(shown)


def test_many_items_and_categories_do_not_make_the_page_heavy() -> None:
    n, groups = 2_000, 150
    ids = as_text(f"i{k}" for k in range(n))
    cells = {
        "column": as_text("c" for _ in range(n * groups)),
        "category": as_text(f"g{g}" for g in range(groups) for _ in range(n)),
        "item": np.tile(ids, groups),
        "score": np.tile(-np.arange(n, dtype=float), groups),
        "rank": np.tile(np.arange(1, n + 1), groups),
        "n_judgments": np.repeat(np.arange(groups), n),
    }
    items = {"item": ids, "rank": np.arange(1, n + 1), "consensus": -np.arange(n, dtype=float)}
    run = Run(SUMMARY, items, categories=cells)
    shown = by_category(run)
    assert {len(columns["item"]) for columns in shown.values()} == {FEWEST_ROWS}
    assert len(shown) == groups
    assert "categories.csv has all" in visible(rendered(run, "html"))


def test_categories_of_other_items_are_refused(tmp_path: Path) -> None:
    bridged().save(tmp_path, check=False)
    path = tmp_path / "categories.csv"
    path.write_text(path.read_text().replace("Plan 03", "Somebody else's"))
    with pytest.raises(FileError, match=r"is not in items\.csv"):
        load_run(tmp_path, force=True)
    assert main(["report", str(tmp_path), "-q"]) == 2  # the digest does not fit


def test_folders_without_terms_say_nothing_of_them(tmp_path: Path) -> None:
    bridged().save(tmp_path, check=False)
    summary = json.loads((tmp_path / "summary.json").read_text())
    summary["terms"], summary["files"] = None, {}
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    (tmp_path / "categories.csv").unlink()
    run = load_run(tmp_path)
    assert not run.categories
    assert "Common ground" not in rendered(run, "md").partition("## Results")[0]
    assert 'id="common"' not in rendered(run, "html")


def test_names_of_columns_cannot_break_the_page() -> None:
    odd = "</script><b>&"
    run = bridged().to_run()
    cells = {
        **run.categories,
        "column": as_text(odd for _ in run.categories["column"]),
        "category": as_text(f"{one}|{odd}" for one in run.categories["category"]),
    }
    page = rendered(replace(run, categories=cells), "html")
    assert "<b>&" not in page
    assert odd in visible(page)


def test_comparison_says_that_terms_differ(tmp_path: Path) -> None:
    bridged().save(tmp_path / "a", check=False)
    controlled().save(tmp_path / "b", check=False)
    out = tmp_path / "c.md"
    folders = [str(tmp_path / name) for name in "ab"]
    assert main(["report", *folders, "-o", str(out), "-q"]) == 0
    assert "The terms of the fits differ" in out.read_text()


def test_json_has_all_of_it() -> None:
    held = section(document(controlled(), check=False), "held")
    assert next(blocks(held, "table"))["rows"][0][0] == "words"
    ground = listing(document(bridged(), check=False), "ground")
    assert sorted(ground["item"]["values"]) == NAMES


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
    run = assess(table_, warn=False).to_run()
    assert run.summary["terms"] is None
    assert run.summary["position_evidence"] < 2.0
    said = "No sign of a preference for a side was found"
    assert visible(rendered(run, "html")).count(said) == 1
    assert rendered(run, "md").count(said) == 1
