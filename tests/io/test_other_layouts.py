"""Tables as people and their tools lay them out: read, or asked for in words that lead on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from workbooks import write_xlsx

import aggcal
from aggcal.errors import AggcalError, OptionError, OutcomeError, TableError

HEAD = "annotator,left,right,outcome\n"
ROWS = "ann,e1,e2,left\nbob,e2,e3,right\n"


def _read(folder: Path, text: str, **options: Any) -> Any:
    path = folder / "table.csv"
    path.write_text(text, encoding="utf-8")
    return aggcal.read_judgments(path, **options)


def _above(judgments: Any) -> set[tuple[str, ...]]:
    """Who put what above what."""
    who, what = judgments.annotator_ids, judgments.item_ids
    rows = zip(judgments.annotator, judgments.left, judgments.right, judgments.outcome, strict=True)
    return {
        (str(who[a]), *map(str, (what[i], what[j]) if y > 0.5 else (what[j], what[i])))
        for a, i, j, y in rows
    }


@pytest.mark.parametrize(
    "below", ["\nExported by a tool\n", "Note: ann was away,,,\n", "\n\nn.b.\n"]
)
def test_notes_below_a_table_are_no_rows(tmp_path: Path, below: str) -> None:
    found = _read(tmp_path, HEAD + ROWS + below)
    assert found.annotator_ids.tolist() == ["ann", "bob"]
    assert not found.unfitted.counts
    assert any("1 line below the table is no row" in note for note in found.notes)


def test_notes_below_a_sheet_and_duplicates_above(tmp_path: Path) -> None:
    rows = [line.split(",") for line in (HEAD + ROWS + ROWS).split()]
    book = write_xlsx(tmp_path / "b.xlsx", {"S": [*rows, [], ["Note: ann was away."]]})
    found = aggcal.read_judgments(book)
    assert found.annotator_ids.tolist() == ["ann", "bob"]
    assert any("'Note: ann was away.'" in note for note in found.notes)
    timed = HEAD.replace("outcome", "outcome,at") + "ann,e1,e2,left,1\nann,e1,e2,left,1\nend\n"
    assert _read(tmp_path, timed).duplicates == 1


def test_in_a_narrow_table_a_blank_line_comes_before_a_note(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    for end in ("\n", "\r\n"):
        path.write_bytes(f"item,score{end}a,1{end}b,2{end}{end}made in May{end}".encode())
        assert aggcal.read_scores(path).item_ids.tolist() == ["a", "b"]
        path.write_bytes(f"item,score{end}a,1{end}b{end}".encode())
        with pytest.raises(TableError, match="line 3 has too few"):
            aggcal.read_scores(path)


def test_an_annotator_without_an_answer_is_no_note(tmp_path: Path) -> None:
    found = _read(tmp_path, "annotator,winner,loser\nann,a,b\nbob,,\n")
    assert found.unfitted.counts == {"not answered": 1}


@pytest.mark.parametrize(
    ("text", "said"),
    [("ann,e1\n", "too few values"), ("ann,e1\nann,e2\n", r"\(2 such lines in total\)")],
)
def test_broken_lines_are_counted_once_each(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(TableError, match=said) as caught:
        _read(tmp_path, HEAD + ROWS + text)
    assert ("in total" in str(caught.value)) == (text.count("\n") > 1)


QUALTRICS = (
    "StartDate,ResponseId,left,right,choice\nStart Date,Response ID,left,right,Better?\n"
    '"{""ImportId"":""a""}","{""ImportId"":""b""}","{""ImportId"":""c""}","{""ImportId"":""d""}",'
    '"{""ImportId"":""e""}"\n2024,R_1,e1,e2,left\n2024,R_2,e2,e3,right\n'
)


def test_qualtrics(tmp_path: Path) -> None:
    found = _read(tmp_path, QUALTRICS)
    assert _above(found) == {("R_1", "e1", "e2"), ("R_2", "e3", "e2")}
    assert any("Qualtrics" in note for note in found.notes)
    named = QUALTRICS.replace("left,right,choice", "x,winner,loser")
    assert _read(tmp_path, named).annotator_ids.tolist() == ["R_1", "R_2"]


NAMED = {
    "WorkerId,Input.left,Input.right,Answer.choice\nw,e1,e2,left\nv,e2,e3,right\n": (
        'annotator = "WorkerId", left = "Input.left", right = "Input.right", '
        'outcome = "Answer.choice"'
    ),
    "INPUT:image_a,INPUT:image_b,OUTPUT:result,ASSIGNMENT:worker_id\ne1,e2,a,w\ne2,e3,b,v\n": (
        'annotator = "ASSIGNMENT:worker_id", left = "INPUT:image_a", right = "INPUT:image_b", '
        'outcome = "OUTPUT:result" (a = left, b = right)'
    ),
    "PROLIFIC_PID,stimulus_left,stimulus_right,response,rt\nw,e1,e2,left,9\nv,e2,e3,right,8\n": (
        'annotator = "PROLIFIC_PID", left = "stimulus_left", right = "stimulus_right", '
        'outcome = "response"'
    ),
    "Prüfer;links;rechts;Ergebnis\nw;e1;e2;links\nv;e2;e3;rechts\n": (
        'annotator = "Prüfer", left = "links", right = "rechts", '
        'outcome = "Ergebnis" (links = left, rechts = right)'
    ),
    "judge,essay 1,essay 2,winner\nw,e1,e2,e1\nv,e2,e3,e3\n": (
        'annotator = "judge", left = "essay 1", right = "essay 2", '
        'outcome = "winner" (the item that won)'
    ),
    "judge,Option A,Option B,Preferred\nw,e1,e2,Option A\nv,e2,e3,Option B\n": (
        'annotator = "judge", left = "Option A", right = "Option B", '
        'outcome = "Preferred" (Option A = left, Option B = right)'
    ),
    "Judge,Left script,Right script,Verdict\nw,e1,e2,A\nv,e2,e3,B\nv,e1,e3,C\n": (
        'annotator = "Judge", left = "Left script", right = "Right script", '
        'outcome = "Verdict" (A = left, B = right, C = tie)'
    ),
    "Judge,Script Won,Script Lost\nw,e1,e2\nv,e3,e2\n": (
        'annotator = "Judge", winner = "Script Won", loser = "Script Lost"'
    ),
    "juge,gauche,droite,prefers_gauche\nw,e1,e2,True\nv,e2,e3,False\n": (
        'annotator = "juge", left = "gauche", right = "droite", outcome = "prefers_gauche" '
        "(False = right, True = left)"
    ),
}


@pytest.mark.parametrize("text", NAMED)
def test_other_names_of_columns_are_read_and_said(tmp_path: Path, text: str) -> None:
    found = _read(tmp_path, text)
    assert found.notes[0] == f"read as: {NAMED[text]}"
    assert {("w", "e1", "e2"), ("v", "e3", "e2")} <= _above(found)


@pytest.mark.parametrize(
    "text",
    [
        "Juror,Film,Platz\nann,A,1\nann,B,2\nbob,B,2\nbob,A,1\n",
        "voter,ballot\nann,A > B\nbob,A > B\n",
        "Grader;Essay;Points of 20\nann;A;12,5\nann;B;9\nbob;A;8\nbob;B;7\n",
        "Prüferin,Klausur,Punkte\nann,A,9\nann,B,8\nbob,A,7\nbob,B,3\n",
        "Judge,Wine,Verdict\nann,A,1 - excellent\nann,B,5 - poor\nbob,A,2 - good\nbob,B,4\n",
        "Username,Rank [A],Rank [B]\nann,1st choice,2nd choice\nbob,1st choice,2nd choice\n",
        "Email,Rate (1 bad; 5 good) [A],Rate (1 bad; 5 good) [B]\nann,5,1\nbob,4,2\n",
        "id,annotator,rank[1],rank[2]\n1,ann,A,B\n2,bob,A,B\n",
        "essay,Mr Hall,Ms Khan,Average\nA,9,8,8.5\nB,1,7,4\nMean,5,7.5,6\n",
    ],
)
def test_ratings_and_ranks_are_read_where_they_have_one_reading(tmp_path: Path, text: str) -> None:
    text = text.replace("of 20", "out of 20")
    found = _read(tmp_path, text)
    assert {pair[1:] for pair in _above(found)} == {("A", "B")}
    assert found.n_annotators == 2


@pytest.mark.parametrize("name", ["loser", "Which is weaker?", "least preferred", "schlechter"])
@pytest.mark.parametrize("values", [("left", "right"), ("e1", "e3")])
def test_who_lost_did_not_win(tmp_path: Path, name: str, values: tuple[str, str]) -> None:
    found = _read(tmp_path, f"judge,left,right,{name}\nw,e1,e2,{values[0]}\nw,e2,e3,{values[1]}\n")
    assert _above(found) == {("w", "e2", "e1"), ("w", "e2", "e3")}
    assert any("the other one won" in note for note in found.notes)


@pytest.mark.parametrize("name", ["swapped", "is_flipped", "shown_first"])
def test_sides_that_were_exchanged_are_asked_for(tmp_path: Path, name: str) -> None:
    text = f"judge,item_a,item_b,{name},choice\nw,e1,e2,0,A\nw,e2,e3,1,B\n"
    with pytest.raises(OptionError, match="in the other order in some rows"):
        _read(tmp_path, text)
    found = _read(tmp_path, text, columns={"outcome": "choice"})
    assert _above(found) == {("w", "e1", "e2"), ("w", "e3", "e2")}


def test_counts_beside_winners_are_weights_where_nobody_is_named(tmp_path: Path) -> None:
    found = _read(tmp_path, "winner,loser,count\na,b,7\nb,a,2\n")
    assert sorted(found.weight.tolist()) == [2.0, 7.0]


def test_of_two_columns_of_people_one_is_constant(tmp_path: Path) -> None:
    text = "judge,worker_id,left,right,outcome\nv1,w,a,b,left\nv1,v,b,c,left\nv1,w,a,c,left\n"
    assert _read(tmp_path, text).annotator_ids.tolist() == ["v", "w"]


def test_guesses_are_refused_where_asked(tmp_path: Path) -> None:
    text = "Judge,Left script,Right script,Chosen\nw,e1,e2,left\nv,e2,e3,right\n"
    with pytest.raises(OptionError, match="if this is right, read it with") as caught:
        _read(tmp_path, text, strict=True)
    columns = eval(str(caught.value).partition("columns=")[2].rstrip("."))  # noqa: S307
    found = _read(tmp_path, text, columns=columns, strict=True)
    assert _above(found) == {("w", "e1", "e2"), ("v", "e3", "e2")}


def test_records_in_records(tmp_path: Path) -> None:
    pairs = [("ann", "e1", "e2", "left"), ("bob", "e2", "e3", "right")]
    records = [
        {"by": who, "items": {"left": {"id": a}, "right": {"id": b}}, "answer": {"winner": side}}
        for who, a, b, side in pairs
    ]
    path = tmp_path / "x.json"
    path.write_text(json.dumps(records))
    found = aggcal.read_judgments(path)
    assert _above(found) == {("ann", "e1", "e2"), ("bob", "e3", "e2")}
    assert 'left = "items.left.id"' in found.notes[0]


@pytest.mark.parametrize(
    "text",
    [
        "trial,rt_left,rt_right,response\n1,300,200,left\n2,200,100,right\n",
        "marked by teacher,second juror,script 1,script 2,choice\n1,ann,e1,e2,1\n2,bob,e2,e3,2\n",
        "left,right,left_better,right_better\ne1,e2,1,0\ne2,e3,0,1\n",
        "annotator,item,rank\nann,e1,0\nann,e2,1\n",
    ],
)
def test_what_has_no_reading_or_two_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(AggcalError):
        _read(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ann,e1,e2,left\nbob,e2,e3,right\n", "the first line must name them"),
        ("annotator left right outcome\nann e1 e2 left\n", "found: annotator left right outcome"),
        ("| annotator | left |\n|---|---|\n| ann | e1 |\n", "a table in Markdown"),
        ("name,A vs B,B vs C\nann,A,C\nbob,A,C\n", "Make a row of each comparison"),
        ("annotator,pair,winner\nann,e1 vs e2,e1\n", "found: annotator, pair, winner"),
        ("judge,item,position\nann,A,1\nann,B,2\n", "or rank"),
    ],
)
def test_what_is_laid_out_otherwise_is_told_how(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(AggcalError, match=said):
        _read(tmp_path, text)


def test_ranks_under_another_name_are_not_turned_round(tmp_path: Path) -> None:
    text = "judge,item,position\nann,A,1st\nann,B,2nd\n"
    found = _read(tmp_path, text, columns={"rank": "position"})
    assert _above(found) == {("ann", "A", "B")}


@pytest.mark.parametrize(
    "header",
    [
        "Timestamp,Email Address,Rank [1st choice],Rank [2nd choice]",
        "At,Name,First choice,Second choice",
    ],
)
def test_places_in_forms(tmp_path: Path, header: str) -> None:
    found = _read(tmp_path, f"{header}\n9:00,ann,A,B\n9:01,bob,B,A\n")
    assert _above(found) == {("ann", "A", "B"), ("bob", "B", "A")}


GRID = "Timestamp,Email Address,Rate [Poster A],Rate [Poster B]\n9:00,ann,5,2\n9:01,bob,1,4\n"


def test_a_column_for_each_item(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"order='lowest' or order='highest'"):
        _read(tmp_path, GRID)
    best = {("ann", "Poster A", "Poster B"), ("bob", "Poster B", "Poster A")}
    assert _above(_read(tmp_path, GRID, format="ratings", order="highest")) == best
    turned = _above(_read(tmp_path, GRID, format="ratings", order="lowest"))
    assert turned == {(who, b, a) for who, a, b in best}


WIDE = "paper,Reviewer 1,Reviewer 2\np1,4,3\np2,5,4\np3,1,2\n"


@pytest.mark.parametrize("row", ["Average,3.3,3", "Total:,10,9", "median,4,3"])
def test_rows_that_add_up_the_others_are_no_items(tmp_path: Path, row: str) -> None:
    found = _read(tmp_path, f"{WIDE}{row}\n", order="highest")
    assert found.item_ids.tolist() == ["p1", "p2", "p3"]
    assert any("adds up the rows above" in note for note in found.notes)


def test_an_item_may_be_called_total(tmp_path: Path) -> None:
    assert "Total" in _read(tmp_path, f"{WIDE}Total,2,5\n", order="highest").item_ids


def test_columns_beside_ratings_are_nobodys(tmp_path: Path) -> None:
    text = "paper;Ada;Bob;Mean;Ada confidence\np1;4,5;3;3,75;1\np2;5;5;5;2\np3;1;2;1,5;3\n"
    found = _read(tmp_path, text, format="ratings")
    assert found.annotator_ids.tolist() == ["Ada", "Bob"]
    assert ("Ada", "p1", "p3") in _above(found)


def test_an_answer_of_label_studio_is_not_blank(tmp_path: Path) -> None:
    head = "annotation_id,annotator,id,pw,text1,text2\n"
    rows = '1,1,1,"{""selected"": ""left""}",e1,e2\n2,1,2,left,e2,e3\n'
    with pytest.raises(OutcomeError, match="'pw' is 'left'"):
        _read(tmp_path, head + rows)


def _scores(folder: Path, text: str, **options: Any) -> Any:
    path = folder / "scores.csv"
    path.write_text(text, encoding="utf-8")
    return aggcal.read_scores(path, **options)


@pytest.mark.parametrize("name", ["Essay", "Paper ID", "student", "ID", "Model"])
def test_items_of_scores_under_a_usual_name(tmp_path: Path, name: str) -> None:
    found = _scores(tmp_path, f"Scores of May\n\n{name},Score\na,1\nb,3\nAverage,2\n")
    assert found.item_ids.tolist() == ["a", "b"]
    assert f"column '{name.lower()}' names the items" in found.notes
    assert "'Average' adds up the other rows and is left out" in found.notes


def test_a_scored_item_may_be_called_total(tmp_path: Path) -> None:
    assert len(_scores(tmp_path, "item,score\na,1\nb,3\nTotal,2.5\n")) == 3


def test_names_of_items_and_ids_side_by_side(tmp_path: Path) -> None:
    assert _scores(tmp_path, "id,paper,score\n7,x,1\n8,y,2\n").item_ids.tolist() == ["x", "y"]
    assert len(aggcal.read_scores({"model": ["a", "b"], "score": [1.0, 2.0]})) == 2
    with pytest.raises(TableError, match="name the column of the ids with item="):
        _scores(tmp_path, "id,model,score\n7,x,1\n8,y,2\n")
    assert _scores(tmp_path, "item,paper,score\na,x,1\nb,y,2\n").item_ids.tolist() == ["a", "b"]
    with pytest.raises(TableError, match="column 'item' missing"):
        _scores(tmp_path, "essay,paper,score\na,x,1\nb,y,2\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title,shop\na,x\nb,y\n", "has no column of numbers: check whether two files are swapped"),
        ("a,1.5\nb,2\n", "the first line holds data; add a first line item,score"),
    ],
)
def test_scores_under_other_names(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(TableError, match=said):
        _scores(tmp_path, text)


@pytest.mark.parametrize(
    "lines",
    [
        "annotator,winner,loser;a,e1,e2;annotator,winner,loser;b,e2,e3",
        "Judge,Chosen,Rejected;a,e1,e2;Judge,Chosen,Rejected;b,e2,e3",
        "annotator,r1,r2;a,e1,e2;annotator,r1,r2;b,e2,e3",
        "annotator,left,right,outcome;a,e1,e2,left;annotator,left,right,outcome;b,e2,e3,left",
        "annotator,left,right,winner;a,e1,e2,e1;annotator,left,right,winner;b,e2,e3,e3",
        "annotator,item,rating;a,e1,3;a,e2,4;annotator,item,rating",
    ],
)
def test_a_repeated_header_is_no_judgment(tmp_path: Path, lines: str) -> None:
    with pytest.raises(TableError, match=r"repeats the header \("):
        _read(tmp_path, lines.replace(";", "\n"))
