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


UNREAD = [
    (
        "WorkerId,Input.left,Input.right,Answer.choice.left,Answer.choice.right\n"
        "w1,e1,e2,true,false\nw2,e2,e3,false,true\n"
    ),
    "left,right,Anna,Bob\ne1,e2,A,A\ne2,e3,B,tie\n",
    "ResponseId,Q1,Q2\nR_1,A,B\nR_2,B,B\n",
    ",A,B,C\nA,0,3,2\nB,1,0,4\nC,2,0,0\n",
    "Reviewer,Paper,Decision\nR1,p1,Accept\nR1,p2,Reject\n",
    "Respondent ID,Rate the posters,,\n,Poster A,Poster B,Other\n118,5,3,\n119,4,4,\n",
    "judge,x,y,z\na,1,2,3\nb,2,1,3\n",
    "Email Address,Rank [A],Rank [B]\na@x,Top,Low\nb@x,Low,Top\n",
]


@pytest.mark.parametrize("text", UNREAD)
def test_what_is_laid_out_otherwise_is_told_what_to_do(tmp_path: Path, text: str) -> None:
    with pytest.raises(AggcalError, match="cannot tell what its columns are") as caught:
        _read(tmp_path, text)
    assert text.partition(",")[0] in str(caught.value)
    assert ("(found: Top,Low)" in str(caught.value)) == ("Top" in text)


def test_what_a_survey_adds_is_no_rating(tmp_path: Path) -> None:
    text = "StartDate,Response ID,Last page,Poster A,Poster B\n2024,R_1,3,5,3\n2023,R_2,3,1,2\n"
    found = _read(tmp_path, text, format="ratings", order="highest")
    assert found.item_ids.tolist() == ["Poster A", "Poster B"]
    assert any("are not used: 'StartDate', 'Last page'" in note for note in found.notes)


def test_items_may_be_called_a_b_and_c(tmp_path: Path) -> None:
    found = _read(tmp_path, "voter,A,B,C\nv1,1,2,3\nv2,2,1,\n", format="ratings", order="lowest")
    assert (found.item_ids.tolist(), found.n_judgments) == (["A", "B", "C"], 4)


def test_a_rating_that_does_not_apply_is_blank(tmp_path: Path) -> None:
    found = _read(tmp_path, "reviewer,paper,rating\nR1,p1,3\nR1,p2,N/A\nR1,p3,4\n")
    assert (found.n_judgments, found.unfitted.counts) == (1, {"not answered": 1})


def test_rejected_work_is_read_and_said(tmp_path: Path) -> None:
    text = "WorkerId,AssignmentStatus,left,right,choice\nA,Approved,a,b,left\nB,{},a,b,right\n"
    said = "rows that are 'Rejected' in the column 'assignmentstatus' are read like the others"
    assert said in _read(tmp_path, text.format("Rejected")).notes
    assert said not in _read(tmp_path, text.format("Submitted")).notes


def test_how_often_is_no_weight_unasked(tmp_path: Path) -> None:
    text = "annotator,winner,loser,{}\nu,a,b,3\nu,b,c,1\n"
    said = "the column 'count' is not used; columns={'weight': 'count'} weighs by it"
    assert said in _read(tmp_path, text.format("count")).notes
    longer = text.replace("winner,loser", "chosen,rejected").format("count")
    assert said in _read(tmp_path, longer).notes
    asked = _read(tmp_path, text.format("count"), columns={"weight": "count"})
    assert (asked.weight.tolist(), asked.notes) == ([3.0, 1.0], ())
    assert not _read(tmp_path, text.format("count").replace("3", "1")).notes


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
        (("1.0", "2.0"), r"'2.0'\); merge them with normalize_ids=True, or .* aliases=FILE\.$"),
    ],
)
def test_ids_as_a_spreadsheet_writes_them(ids: tuple[str, str], said: str) -> None:
    votes = [("u", "1", "2"), ("v", "2", "1")]
    with pytest.raises(TooLittleDataError, match=said):
        aggcal.assess(votes, dict.fromkeys(ids, 1.0), warn=False)
