"""Blank answers and scores are counted as not given, or refused on request."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import aggcal
from aggcal.errors import ScoreError
from aggcal.io.convert import convert_judgments

LONG = "annotator,left,right,outcome\nann,a,b,left\nann,b,c,\nbob,a,c,right\n,b,a,\n"


def _file(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_blank_outcomes_are_counted(tmp_path: Path) -> None:
    found = aggcal.read_judgments(_file(tmp_path, "votes.csv", LONG))
    assert found.n_judgments == 2
    assert found.unfitted.counts == {"not answered": 2}
    assert found.unfitted.location.tolist() == ["row 4", "row 2"]
    said = aggcal.aggregate(found, warn=False).warnings
    assert any("(2 not answered" in w.what for w in said)
    assert aggcal.check(found).counts["not_fitted"] == {"not answered": 2}


def test_null_in_json_is_blank(tmp_path: Path) -> None:
    rows = [
        {"annotator": "ann", "left": "a", "right": "b", "outcome": None},
        {"annotator": "ann", "left": "a", "right": "b", "outcome": "left"},
    ]
    for name, text in (
        ("a.json", json.dumps(rows)),
        ("a.jsonl", "\n".join(map(json.dumps, rows))),
    ):
        found = aggcal.read_judgments(_file(tmp_path, name, text))
        assert found.unfitted.counts == {"not answered": 1}
    scores = _file(tmp_path, "s.json", '[{"item": "a", "score": null}, {"item": "b", "score": 2}]')
    assert aggcal.read_scores(scores).item_ids.tolist() == ["b"]


@pytest.mark.parametrize("more", [{}, {"comment": ["x", "y", "z"]}])
def test_nan_in_parquet_is_blank(tmp_path: Path, more: dict[str, list[str]]) -> None:
    votes = {"annotator": ["ann"] * 3, "left": ["a", "b", "a"], "right": ["b", "c", "c"], **more}
    outcome = pa.array([1.0, float("nan"), 0.25])  # NaN, which Parquet tells from null
    pq.write_table(pa.table({**votes, "outcome": outcome}), tmp_path / "votes.parquet")
    found = aggcal.read_judgments(tmp_path / "votes.parquet")
    assert found.outcome.tolist() == [1.0, 0.25]
    assert found.unfitted.counts == {"not answered": 1}
    scores = pa.table({"item": ["a", "b", "c"], "score": pa.array([1.5, float("nan"), 3.0])})
    pq.write_table(scores, tmp_path / "scores.parquet")
    read = aggcal.read_scores(tmp_path / "scores.parquet")
    assert dict(zip(read.item_ids.tolist(), read.values.tolist(), strict=True)) == {
        "a": 1.5,
        "c": 3.0,
    }


def test_blank_scores(tmp_path: Path) -> None:
    path = _file(tmp_path, "scores.csv", "item,score\na,1\nb,\nc,NA\n")
    found = aggcal.read_scores(path)
    assert found.item_ids.tolist() == ["a"]
    expected = "2 items have a blank score and count as items without one ('b', 'c')"
    assert found.notes == (expected,)
    with pytest.raises(ScoreError, match="line 3, item 'b': the score is missing"):
        aggcal.read_scores(path, blank="error")
    with pytest.raises(ScoreError, match="blank in every row"):
        aggcal.read_scores(_file(tmp_path, "none.csv", "item,score\na,\n"))


def test_blank_answers_stay_blank_when_converted(tmp_path: Path) -> None:
    path, target = _file(tmp_path, "votes.csv", LONG), tmp_path / "again.csv"
    convert_judgments([path], target)
    assert target.read_text(encoding="utf-8") == LONG
