"""Tables as tools export them, with answers, annotators or headers where nobody expects them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from workbooks import write_xlsx

import aggcal
from aggcal.errors import AggcalError, TooLittleDataError


def _read(folder: Path, text: str, **options: Any) -> Any:
    path = folder / "table.csv"
    path.write_text(text, encoding="utf-8")
    return aggcal.read_judgments(path, **options)


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("annotator,left,right,outcome", "a,e1,e3,letf"),
        ("judge,left,right,outcome", "a,e1,e3,letf"),
        ("judge,item,rating,x", "a,e3,letf,"),
        ("judge,winner,loser,weight", "a,e3,e1,letf"),
    ],
)
def test_rows_are_counted_as_the_spreadsheet_does(tmp_path: Path, header: str, row: str) -> None:
    good = row.replace("letf", "1" if "letf," in row or "weight" in header else "left")
    lines = [header, good.replace("e3", "e2"), ",,,", row]
    book = write_xlsx(
        tmp_path / "b.xlsx", {"S": [[c or None for c in x.split(",")] for x in lines]}
    )
    with pytest.raises(AggcalError, match=r"b\.xlsx: row 4"):
        aggcal.read_judgments(book)


def _task(kind: str, value: dict[str, Any]) -> dict[str, Any]:
    answer = {"from_name": "better", "to_name": "a", "type": kind, "value": value}
    note = {"id": 1, "completed_by": 3, "result": [answer]}
    return {"id": 1, "data": {"a": "e1", "b": "e2"}, "annotations": [note]}


def test_other_controls_of_label_studio(tmp_path: Path) -> None:
    choices = _task("choices", {"choices": ["Left is better"]})
    with pytest.raises(AggcalError, match=r"kind 'choices' .* export the project as CSV"):
        _read(tmp_path, json.dumps([choices]))
    both = [choices, _task("pairwise", {"selected": "left"})]
    assert _read(tmp_path, json.dumps(both)).n_judgments == 1
    table = "annotation_id,annotator,choice,id,a,b\n5,1,Left is better,1,e1,e2\n"
    assert _read(tmp_path, table).outcome.tolist() == [1.0]


def test_sides_of_argilla_need_their_items(tmp_path: Path) -> None:
    said = [{"value": "response2", "user_id": "u", "status": "submitted"}]
    record = {"id": "1", "fields": {"response1": "x"}, "responses": {"preference": said}}
    with pytest.raises(AggcalError, match="give each record the metadata left_id and right_id"):
        _read(tmp_path, json.dumps([record]))
    named = record | {"metadata": {"model_a": "m1", "model_b": "m2"}}
    found = _read(tmp_path, json.dumps([named]))
    assert (found.item_ids.tolist(), found.outcome.tolist()) == (["m1", "m2"], [0.0])


def test_a_first_column_without_a_name(tmp_path: Path) -> None:
    path = tmp_path / "leaderboard.csv"
    path.write_text(",win_rate\ngpt4,95.28\nm1,50\n", encoding="utf-8")
    with pytest.raises(AggcalError, match="write 'item' above it"):
        aggcal.read_scores(path)


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        (("001", "002"), "they differ in leading zeros, which spreadsheets drop"),
        (("1.0", "2.0"), r"'2.0'; merge them with normalize_ids=True, or .* aliases=FILE\.$"),
    ],
)
def test_ids_as_a_spreadsheet_writes_them(ids: tuple[str, str], said: str) -> None:
    votes = [("u", "1", "2"), ("v", "2", "1")]
    with pytest.raises(TooLittleDataError, match=said):
        aggcal.assess(votes, dict.fromkeys(ids, 1.0), warn=False)
