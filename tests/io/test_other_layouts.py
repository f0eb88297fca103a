"""Tables as people and their tools lay them out: read, or asked for in words that lead on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from workbooks import write_xlsx

import aggcal
from aggcal.errors import OptionError, TableError

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
    with pytest.raises(TableError, match="call the column of the ids"):
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
