"""The first pairs of a study, on paper and in the tools that ask them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import aggcal
from aggcal.advice.suggest.first import first_pairs
from aggcal.errors import DisconnectedWarning, InputError
from conftest import Command, table

SIZES = [2, 3, 4, 5, 6, 7, 8, 11, 12, 15, 30, 41]


def numbers(n_items: int) -> list[int]:
    most = n_items * (n_items - 1) // 2
    wanted = {1, n_items // 2, n_items - 1, n_items, n_items + 1, 3 * n_items // 2, 2 * n_items}
    return sorted(n for n in wanted | {most // 2, most - 1, most, most + 1, 2 * most + 3} if n)


def pieces(n_items: int, one: Any, other: Any) -> int:
    graph = coo_array((np.ones(len(one)), (one, other)), shape=(n_items, n_items))
    return int(connected_components(graph, directed=False)[0])


@pytest.mark.parametrize("n_items", SIZES)
def test_designs_are_balanced_connected_and_without_repeats(n_items: int) -> None:
    most = n_items * (n_items - 1) // 2
    for n in numbers(n_items):
        one, other = first_pairs(n_items, n, np.random.default_rng(n))
        assert len(one) == n
        assert (one != other).all()
        keys = np.minimum(one, other) * n_items + np.maximum(one, other)
        for part in range(1, n + 1):
            asked = np.bincount(np.r_[one[:part], other[:part]], minlength=n_items)
            assert np.ptp(asked) <= 1 + n_items % 2, (n, part)
            assert np.unique(keys[:part], return_counts=True)[1].max() <= -(-part // most)
        left = np.bincount(one, minlength=n_items) - np.bincount(other, minlength=n_items)
        assert np.abs(left).max() <= 3
        for part in (n, min(n, n_items - 1)):  # as few pairs as join all items
            assert pieces(n_items, one[:part], other[:part]) == max(1, n_items - part)


def test_a_seed_gives_the_same_pairs_again() -> None:
    found = [
        aggcal.suggest_pairs(None, items=[f"i{k}" for k in range(20)], n=30, seed=seed)
        for seed in (1, 1, 2)
    ]
    assert found[0].to_dict() == found[1].to_dict() != found[2].to_dict()
    assert found[0].to_dict()["pairs"][0]["information"] is None


def test_pairs_are_dealt_out_evenly_and_nobody_gets_one_twice() -> None:
    people = ["ann", "bob", "cem"]
    found = aggcal.suggest_pairs(None, items=list("abcd"), n=15, new_annotators=people, repeat=True)
    assert found.annotator is not None
    rows = list(zip(found.annotator, found.left, found.right, strict=True))
    assert len({(who, *sorted(pair)) for who, *pair in rows}) == 15
    assert [list(found.annotator).count(who) for who in people] == [5, 5, 5]
    each = aggcal.suggest_pairs(None, items=list("abcd"), new_annotators=people, per_annotator=2)
    assert len(each) == 6


def test_items_may_come_with_a_models_scores() -> None:
    found = aggcal.suggest_pairs(None, [("a", 1.0), ("b", 2.0)], items=["c"])
    assert {*found.left, *found.right} == {"a", "b", "c"}
    assert len(found) == 3


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"items": None}, "neither judgments nor items"),
        ({"items": ["a"]}, "at least two"),
        ({"n": 4}, "allow only 3"),
        ({"n": 3, "per_item": 1}, "raise per_item="),
        ({"annotators": ["ann"]}, "name who can be asked with new_annotators="),
        ({"explore": 0.5}, "leave explore= out"),
        ({"new_annotators": ["a", "a"]}, "duplicate annotators"),
        ({"new_annotators": ["a"], "n": 3, "per_annotator": 2}, "more than 1 annotator"),
        ({"about": "scores"}, "need the model's scores"),
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        aggcal.suggest_pairs(None, **({"items": list("abc")} | wrong))


def test_too_few_pairs_to_join_all_items_are_noticed() -> None:
    warnings = aggcal.suggest_pairs(None, items=list("abcdef"), n=4).warnings
    assert [type(warning) for warning in warnings] == [DisconnectedWarning]
    assert not aggcal.suggest_pairs(None, items=list("abcdef"), n=5).warnings


@pytest.fixture
def items(tmp_path: Path) -> Path:
    rows = "".join(f"essay {k},Text {k}\n" for k in range(1, 31))
    (tmp_path / "items.csv").write_text(f"item,text\n{rows}")
    return tmp_path


def better(left: str, right: str) -> str:
    """Answer as if higher numbers were better."""
    return "left" if int(left.split()[1]) > int(right.split()[1]) else "right"


def test_a_sheet_goes_back_in(items: Path, command: Command) -> None:
    done = command("suggest", "--items", "items.csv", "-n", "60", "-o", "sheet.csv")
    assert done.returncode == 0, done.stderr
    assert "outcome with left, right, tie or skip" in done.stderr
    rows = table(items / "sheet.csv")
    assert list(rows[0]) == ["annotator", "left", "right", "outcome", "why"]
    assert {row["outcome"] for row in rows} == {""}
    for row in rows:
        row["outcome"] = better(row["left"], row["right"])
    rows[0]["outcome"] = "skip"
    with (items / "sheet.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    judgments = aggcal.read_judgments(items / "sheet.csv")
    assert judgments.n_items == 30
    assert judgments.n_judgments == 59
    assert list(judgments.unfitted.reason) == ["skip"]  # not why the pair was asked
    done = command("suggest", "sheet.csv", "-n", "3", "-o", "next.csv")
    assert done.returncode == 0, done.stderr
    again = table(items / "next.csv")
    assert {row["annotator"] for row in again} == {"annotator 1"}
    assert list(again[0])[3:] == ["outcome", "information", "probability", "why"]


def test_label_studio_tasks_come_back(items: Path, command: Command) -> None:
    done = command(
        *("suggest", "--items", "items.csv", "--texts", "items.csv", "-n", "40"),
        *("--to", "label-studio", "-o", "tasks.json"),
    )
    assert done.returncode == 0, done.stderr
    assert '<Pairwise name="outcome"' in done.stderr
    tasks = json.loads((items / "tasks.json").read_text())
    assert tasks[0]["data"]["left_text"] == "Text " + tasks[0]["data"]["left_id"].split()[1]
    for k, task in enumerate(tasks):
        selected = better(task["data"]["left_id"], task["data"]["right_id"])
        result = {"type": "pairwise", "from_name": "outcome", "value": {"selected": selected}}
        task["id"] = k
        task["annotations"] = [{"id": k, "completed_by": 7, "result": [result]}]
    check_answers(aggcal.read_judgments(written(items / "export.json", tasks)))


@pytest.mark.parametrize("form", ["nested", "flat", "server", "ranking"])
def test_argilla_records_come_back(items: Path, command: Command, form: str) -> None:
    done = command(
        *("suggest", "--items", "items.csv", "-n", "40", "--to", "argilla", "-o", "records.json"),
    )
    assert done.returncode == 0, done.stderr
    exported = []
    for record in json.loads((items / "records.json").read_text()):
        ids = record["metadata"]
        side = better(ids["left_id"], ids["right_id"])
        flat = {"id": record["id"], **record["fields"], **ids, "status": "completed"}
        value: Any = side
        if form == "ranking":
            value = ["left", "right"] if side == "left" else ["right", "left"]
        answer = {"value": value, "user_id": "u1"}
        said = {"user_id": "u1", "status": "submitted", "values": {"outcome": {"value": side}}}
        whole = {**record, "status": "completed", "suggestions": {}, "vectors": {}}
        exported.append(
            {
                "nested": {**whole, "responses": {"outcome": [answer]}},
                "ranking": {**whole, "responses": {"outcome": [answer]}},
                "server": {**whole, "responses": [said]},
                "flat": {
                    **flat,
                    "outcome.responses": [side],
                    "outcome.responses.users": ["u1"],
                    "outcome.responses.status": ["submitted"],
                },
            }[form]
        )
    check_answers(aggcal.read_judgments(written(items / "export.json", exported)))


def written(path: Path, data: Any) -> Path:
    path.write_text(json.dumps(data))
    return path


def check_answers(judgments: aggcal.Judgments) -> None:
    assert (judgments.n_items, judgments.n_judgments) == (30, 40)
    assert len(judgments.annotator_ids) == 1
    scores = aggcal.aggregate(judgments, "btl", warn=False)
    items = [int(item.split()[1]) for item in scores.item_ids]
    assert np.corrcoef(items, scores.scores)[0, 1] > 0.7


def test_forms_that_exclude_each_other_are_refused(items: Path, command: Command) -> None:
    for options in (("--json",), ("--spreadsheet-safe",)):
        done = command("suggest", "--items", "items.csv", "--to", "argilla", *options)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
    done = command("suggest", "--items", "items.csv", "--to", "labelstudio")
    assert "did you mean 'label-studio'?" in done.stderr
    assert (items / "items.csv").exists()
