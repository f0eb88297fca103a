"""Rows are duplicates only where every column of the file is equal."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aggcal
from aggcal.advice.check import check
from aggcal.data.warnings import data_warnings

Rows = list[dict[str, Any]]

NAMES = ("annotator", "left", "right", "outcome", "Prompt", "when")
# Of the first five, two are equal in all columns; the others differ in the time or the prompt.
ROWS: Rows = [
    dict(zip(NAMES, row, strict=True))
    for row in [
        ("u", "a", "b", "left", "why, then?", 1.5),
        ("u", "a", "b", "left", "why, then?", 1.5),
        ("u", "a", "b", "left", "why, then?", 2.5),
        ("u", "a", "b", "left", "how", 1.5),
        ("u", "a", "b", "left", None, None),
        ("u", "a", "b", "right", "why, then?", 1.5),
        ("v", "a", "b", "left", "why, then?", 1.5),
        ("v", "c", "c", "left", "why, then?", 1.5),
        ("v", "c", "c", "left", "why, then?", 1.5),
        ("v", "c", "b", "skip", "why, then?", 1.5),
        ("v", "c", "b", "skip", "why, then?", 1.5),
        ("v", "c", "b", "tie", "why, then?", 1.5),
    ]
]
DUPLICATES, REPEATED = 1, 3


def to_csv(rows: Rows) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _csv(rows: Rows, folder: Path) -> Path:
    path = folder / "x.csv"
    path.write_text(to_csv(rows))
    return path


def _blank_lines(rows: Rows, folder: Path) -> Path:
    lines = to_csv(rows).splitlines()
    path = folder / "x.csv"
    path.write_text("\n".join(["", *lines[:2], ",,,,,", "", *lines[2:4], ",,,,,", *lines[4:]]))
    return path


def _mixed_ends(rows: Rows, folder: Path) -> Path:
    path = folder / "x.csv"
    path.write_bytes(to_csv(rows).replace("\n", "\r\n", 3).encode())
    return path


def _gzip(rows: Rows, folder: Path) -> Path:
    path = folder / "x.csv.gz"
    path.write_bytes(gzip.compress(to_csv(rows).encode()))
    return path


def _jsonl(rows: Rows, folder: Path) -> Path:
    path = folder / "x.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _array(rows: Rows, folder: Path) -> Path:
    path = folder / "x.json"
    path.write_text(json.dumps(rows, indent=1))
    return path


def _parquet(rows: Rows, folder: Path) -> Path:
    path = folder / "x.parquet"
    pl.DataFrame(rows).write_parquet(path)
    return path


def _folder(rows: Rows, folder: Path) -> Path:
    for k in range(3):
        pl.DataFrame(rows).slice(4 * k, 4).write_parquet(folder / f"{k}.parquet")
    return folder


WAYS: dict[str, Callable[[Rows, Path], Any]] = {
    "csv": _csv,
    "csv with blank lines": _blank_lines,
    "csv with mixed line ends": _mixed_ends,
    "csv, gzipped": _gzip,
    "json lines": _jsonl,
    "json array": _array,
    "parquet": _parquet,
    "folder of parquet": _folder,
    "pandas": lambda rows, _: pd.DataFrame(rows),
    "polars": lambda rows, _: pl.DataFrame(rows),
    "arrow": lambda rows, _: pa.Table.from_pylist(rows),
    "mappings": lambda rows, _: rows,
    "columns": lambda rows, _: {name: [row[name] for row in rows] for name in rows[0]},
}


@pytest.mark.parametrize("way", WAYS)
def test_every_column_is_looked_at_in_every_way_of_reading(way: str, tmp_path: Path) -> None:
    found = aggcal.read_judgments(WAYS[way](ROWS, tmp_path))
    assert (found.n_duplicates, found.n_repeated, found.n_merged) == (1, 3, 4)
    assert found.n_judgments == 8


@pytest.mark.parametrize("way", ["csv with blank lines", "json lines", "polars"])
def test_tables_under_other_names_too(way: str, tmp_path: Path) -> None:
    names = dict(zip(NAMES, ("judge", "model_a", "model_b", "winner", "p", "t"), strict=True))
    rows = [{names[name]: value for name, value in row.items()} for row in ROWS]
    found = aggcal.read_judgments(WAYS[way](rows, tmp_path))
    assert found.format == "arena"
    assert (found.n_duplicates, found.n_repeated) == (1, 3)


@pytest.mark.parametrize("way", ["csv", "json lines", "parquet", "pandas", "mappings", "columns"])
def test_without_other_columns_equal_rows_are_duplicates(way: str, tmp_path: Path) -> None:
    rows = [{name: row[name] for name in NAMES[:4]} for row in ROWS]
    found = aggcal.read_judgments(WAYS[way](rows, tmp_path))
    assert (found.n_duplicates, found.n_repeated) == (4, 0)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(*(st.sampled_from(letters) for letters in ("uv", "abc", "abc", "xyz", "12"))),
        min_size=2,
        max_size=30,
    ).filter(lambda rows: any(row[1] != row[2] for row in rows))
)
def test_duplicates_are_those_that_brute_force_finds(rows: list[tuple[str, ...]]) -> None:
    names = ("annotator", "winner", "loser", "prompt", "when")
    found = aggcal.read_judgments([dict(zip(names, row, strict=True)) for row in rows])
    fitted = [row for row in rows if row[1] != row[2]]
    assert found.n_duplicates == sum(n - 1 for n in Counter(fitted).values())
    assert found.n_merged == sum(n - 1 for n in Counter(row[:3] for row in fitted).values())


def test_records_of_exports_are_compared_whole(tmp_path: Path) -> None:
    game: dict[str, Any] = {
        "model_1": "a",
        "model_2": "b",
        "g1_winner": "model_1",
        "g2_winner": "model_1",
    }
    game |= {"judge": "j", "turn": 1}
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (game, game | {"turn": 2}, game)))
    found = aggcal.read_judgments(path)
    # Two judgments a record: the third record repeats the first, the second only its answers.
    assert (found.n_duplicates, found.n_repeated) == (2, 2)


def test_answers_to_two_questions_in_one_record_are_no_duplicates(tmp_path: Path) -> None:
    def answer(control: str) -> dict[str, Any]:
        return {"type": "pairwise", "from_name": control, "value": {"selected": "left"}}

    note = {"id": 1, "completed_by": 7, "result": [answer("style"), answer("content")]}
    task = {"id": 1, "data": {"text1": "a", "text2": "b"}, "annotations": [note]}
    path = tmp_path / "x.json"
    path.write_text(json.dumps([task, task | {"id": 2}]))
    found = aggcal.read_judgments(path)
    assert (found.n_duplicates, found.n_repeated) == (0, 3)
    path.write_text(json.dumps([task, task]))
    found = aggcal.read_judgments(path)
    assert (found.n_duplicates, found.n_repeated) == (2, 1)


def test_rankings_of_a_table_that_are_recorded_twice(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("annotator,r1,r2,day\nu,a,b,1\nu,a,b,2\nu,a,b,1\n")
    found = aggcal.read_judgments(path, format="rankings", columns={"criterion": "day"})
    assert found.n_merged == 2
    assert found.n_duplicates == 1


def test_a_repeated_question_is_no_call_to_remove() -> None:
    rows = [row for row in ROWS if row["outcome"] != "skip" and row["left"] != row["right"]]
    judgments = aggcal.read_judgments(rows)
    assert "duplicate-rows" not in {warning.code for warning in data_warnings(judgments)}
    found = check(judgments)
    assert found.counts["duplicate_rows"] == 1
    # Of six answers of u to a and b, one is a duplicate and one the first.
    assert found.counts["repeated_questions"] == 4
    assert not {"duplicate-rows", "repeat"} & {finding.code for finding in found.findings}


def _recorded(rows: list[tuple[str, str, str]], **more: Any) -> set[str]:
    names = ("annotator", "winner", "loser")
    table = {
        name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }
    return {warning.code for warning in data_warnings(aggcal.read_judgments(table | more))}


def test_duplicates_are_warned_of_with_evidence_alone() -> None:
    rows = [("u", "a", "b"), ("u", "b", "c"), ("u", "a", "b"), ("v", "c", "a"), ("v", "b", "a")]
    assert "duplicate-rows" not in _recorded(rows)
    assert "duplicate-rows" not in _recorded(rows, language=["de"] * 5)
    assert "duplicate-rows" not in _recorded(rows, time=[1, 2, 3, 4, 5])
    assert "duplicate-rows" in _recorded(rows, time=[1, 2, 1, 4, 5])
    assert "duplicate-rows" in _recorded([*rows, *rows])


def test_parts_that_are_added_keep_their_duplicates() -> None:
    first = aggcal.read_judgments(ROWS)
    both = aggcal.add_judgments(first, ROWS)
    # Nothing is known of the other columns of rows in different parts.
    assert (both.n_merged, both.n_duplicates) == (2 * 4 + 4, 2)
    plain = [("u", "a", "b"), ("u", "a", "b")]
    assert aggcal.add_judgments(plain, plain).n_duplicates == 3
