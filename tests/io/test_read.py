"""Reading: both table forms, every kind of file and frame, ids as text, no row lost."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import aggcal
from aggcal.errors import (
    FileError,
    InputError,
    OptionError,
    OutcomeError,
    ScoreError,
    TableError,
    WeightError,
)

SHORT = {"annotator": ["u", "u", "v"], "winner": ["007", "b", "b"], "loser": ["b", "007", "1.0"]}
LONG = {
    "annotator": ["u", "u", "v", "v", "w", "w"],
    "left": ["a", "a", "b", "c", "a", "b"],
    "right": ["b", "c", "c", "a", "b", "a"],
    "outcome": ["left", "tie", "0.25", "right", "skip", "failed"],
}


def write(path: Path, columns: dict[str, list[str]], delimiter: str = ",") -> Path:
    lines = [delimiter.join(columns), *map(delimiter.join, zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def described(judgments: aggcal.Judgments) -> set[tuple[str, str, str, float, float, int]]:
    return {
        (
            judgments.annotator_ids[u],
            judgments.item_ids[i],
            judgments.item_ids[j],
            float(p),
            float(w),
            int(n),
        )
        for u, i, j, p, w, n in zip(
            judgments.annotator,
            judgments.left,
            judgments.right,
            judgments.outcome,
            judgments.weight,
            judgments.count,
            strict=True,
        )
    }


EXPECTED = {
    ("u", "007", "b", 1.0, 1.0, 1),
    ("u", "b", "007", 1.0, 1.0, 1),
    ("v", "b", "1.0", 1.0, 1.0, 1),
}


def jsonl(path: Path) -> Path:
    rows = [dict(zip(SHORT, row, strict=True)) for row in zip(*SHORT.values(), strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def make(kind: str, folder: Path) -> Any:
    if kind in ("csv", "tsv", "semicolon", "odd[name]*.csv"):
        delimiter = {"tsv": "\t", "semicolon": ";"}.get(kind, ",")
        return write(folder / (kind if "odd" in kind else f"j.{kind}"), SHORT, delimiter)
    if kind == "csv.gz":
        plain = write(folder / "j.csv", SHORT)
        (folder / "j.csv.gz").write_bytes(gzip.compress(plain.read_bytes()))
        return folder / "j.csv.gz"
    if kind == "excel":
        text = write(folder / "j.csv", SHORT).read_text(encoding="utf-8").replace("\n", "\r\n")
        (folder / "x.csv").write_bytes(b"\xef\xbb\xbf" + text.encode() + b",,\r\n\r\n")
        return folder / "x.csv"
    if kind == "mixed line ends":
        text = write(folder / "j.csv", SHORT).read_text(encoding="utf-8")
        (folder / "x.csv").write_bytes(text.replace("\n", "\r\n", 1).encode())
        return folder / "x.csv"
    if kind == "jsonl":
        return jsonl(folder / "j.jsonl")
    if kind == "json":
        rows = jsonl(folder / "j.jsonl").read_text(encoding="utf-8").splitlines()
        (folder / "j.json").write_text("[" + ",\n".join(rows) + "]", encoding="utf-8")
        return folder / "j.json"
    if kind == "parquet":
        pq.write_table(pa.table(SHORT), folder / "j.parquet")
        return folder / "j.parquet"
    made: dict[str, Callable[[], Any]] = {
        "pandas": lambda: pd.DataFrame(SHORT),
        "categories": lambda: pd.DataFrame(SHORT).astype("category"),
        "polars": lambda: pl.DataFrame(SHORT),
        "lazy": lambda: pl.LazyFrame(SHORT),
        "arrow": lambda: pa.table(SHORT),
        "tuples": lambda: list(zip(*SHORT.values(), strict=True)),
        "mappings": lambda: pd.DataFrame(SHORT).to_dict("records"),
        "columns": lambda: SHORT,
    }
    return made[kind]()


KINDS = (
    "csv",
    "tsv",
    "semicolon",
    "odd[name]*.csv",
    "csv.gz",
    "excel",
    "mixed line ends",
    "jsonl",
    "json",
    "parquet",
    "pandas",
    "categories",
    "polars",
    "lazy",
    "arrow",
    "tuples",
    "mappings",
    "columns",
)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_judgments_come_from_every_source(kind: str, tmp_path: Path) -> None:
    assert described(aggcal.read_judgments(make(kind, tmp_path))) == EXPECTED


def test_path_may_be_a_text(tmp_path: Path) -> None:
    assert aggcal.read_judgments(str(write(tmp_path / "j.csv", SHORT))).n_judgments == 3


def test_long_form_knows_ties_soft_outcomes_skips_and_failures(tmp_path: Path) -> None:
    judgments = aggcal.read_judgments(write(tmp_path / "j.csv", LONG))
    assert described(judgments) == {
        ("u", "a", "b", 1.0, 1.0, 1),
        ("u", "a", "c", 0.5, 1.0, 1),
        ("v", "b", "c", 0.25, 1.0, 1),
        ("v", "c", "a", 0.0, 1.0, 1),
    }
    assert judgments.unfitted.counts == {"failed": 1, "skip": 1}
    assert judgments.n_rows == 6
    assert "w" not in judgments.annotator_ids


def test_equal_rows_merge_and_weights_add() -> None:
    rows = [
        ("u", "a", "b", "left", 0.5),
        ("u", "a", "b", "left", 2.0),
        ("u", "a", "b", "1", 1.0),
        ("u", "a", "b", "right", 0.0),
    ]
    judgments = aggcal.read_judgments(rows)
    assert described(judgments) == {("u", "a", "b", 1.0, 3.5, 3)}
    assert judgments.n_repeated == 2
    assert judgments.unfitted.counts == {"zero weight": 1}


def test_extra_columns_capitals_and_spaces_are_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "j.csv"
    path.write_text('when, Winner ,LOSER,"note, long",Annotator\n1, a ,b,"x,\ny",u\n')
    assert described(aggcal.read_judgments(path)) == {("u", "a", "b", 1.0, 1.0, 1)}


def test_integer_ids_are_text_in_natural_order() -> None:
    judgments = aggcal.read_judgments(
        pd.DataFrame({"annotator": [1, 1, 2], "winner": [10, 9, 2], "loser": [9, 2, 10]})
    )
    assert judgments.item_ids.tolist() == ["2", "9", "10"]


def test_unicode_ids_survive(tmp_path: Path) -> None:
    path = write(tmp_path / "j.csv", {"annotator": ["Ünal"], "winner": ["日本"], "loser": ["é"]})
    assert described(aggcal.read_judgments(path)) == {("Ünal", "日本", "é", 1.0, 1.0, 1)}


def test_criterion_is_chosen_or_pooled_with_a_warning() -> None:
    columns = {**{k: v[:3] for k, v in LONG.items()}, "criterion": ["style", "style", "fact"]}
    assert aggcal.read_judgments(columns, criterion="style").n_judgments == 2
    assert aggcal.read_judgments(columns).criteria == ("fact", "style")
    consensus = aggcal.aggregate(aggcal.read_judgments(columns), warn=False)
    assert any("2 criteria" in str(w) for w in consensus.warnings)
    with pytest.raises(OptionError, match="fact, style"):
        aggcal.read_judgments(columns, criterion="tone")
    with pytest.raises(OptionError, match="no column 'criterion'"):
        aggcal.read_judgments(SHORT, criterion="style")


def test_outcome_labels_can_be_mapped() -> None:
    rows = [("u", "a", "b", "Both Odd"), ("u", "b", "c", "mostly A"), ("u", "c", "a", "LEFT")]
    judgments = aggcal.read_judgments(rows, outcomes={"both odd": "tie", "mostly A": 0.9})
    assert sorted(judgments.outcome.tolist()) == [0.5, 0.9, 1.0]
    with pytest.raises(OutcomeError, match=r"'Both Odd' \(2 of 3 rows"):
        aggcal.read_judgments(rows)
    with pytest.raises(OptionError, match="'draw'"):
        aggcal.read_judgments(rows, outcomes={"both bad": "draw"})


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_tables_come_back_in_the_users_library(kind: str, tmp_path: Path) -> None:
    judgments = aggcal.read_judgments(make(kind, tmp_path))
    consensus = aggcal.aggregate(judgments, warn=False)
    kinds = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.Table}
    assert isinstance(consensus.items, kinds[kind])
    assert isinstance(consensus.annotators, kinds[kind])
    frame = {"item": ["007", "b", "1.0"], "score": [1.0, 2.0, 3.0]}
    scores = aggcal.read_scores(
        {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}[kind](frame)
    )
    assert isinstance(aggcal.calibrate(scores, consensus).items, kinds[kind])


def test_scores_and_their_sd_keep_every_digit(tmp_path: Path) -> None:
    numbers = [0.1 + 0.2, 1e-300, -123456789.123456789]
    path = tmp_path / "s.csv"
    path.write_text("item,score,sd\n" + "".join(f"i{k},{v!r},0.5\n" for k, v in enumerate(numbers)))
    scores = aggcal.read_scores(path)
    assert scores.values.tolist() == numbers
    assert scores.sd is not None
    assert scores.sd.tolist() == [0.5] * 3
    assert aggcal.read_scores(path, column="sd").values.tolist() == [0.5] * 3


def test_scores_may_be_a_mapping_of_item_to_score() -> None:
    scores = aggcal.read_scores({"a": 1, "b": 2.5})
    assert dict(zip(scores.item_ids, scores.values, strict=True)) == {"a": 1.0, "b": 2.5}


def test_blank_lines_before_the_header_are_no_row(tmp_path: Path) -> None:
    path = tmp_path / "j.csv"
    path.write_text("\n  \nannotator,winner,loser\nu,a,b\nv,b,a\n")
    assert aggcal.read_judgments(path).n_rows == 2
    path.write_text("\n  \nannotator,winner,loser\nu,a,b\nv,,a\n")
    with pytest.raises(TableError, match="line 5"):
        aggcal.read_judgments(path)


def test_parquet_files_of_different_tables_are_refused_in_a_sentence(tmp_path: Path) -> None:
    pq.write_table(pa.table(SHORT), tmp_path / "a.parquet")
    pq.write_table(pa.table({"price": [1.0, 2.0]}), tmp_path / "b.parquet")
    with pytest.raises(FileError, match="different columns; give a folder") as told:
        aggcal.read_judgments(tmp_path)
    assert "Error:" not in str(told.value)


def test_a_folder_of_parquet_files_is_one_table(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for k, part in enumerate(("a.parquet", "deep/b.parquet")):
        columns = {"annotator": [f"u{k}"], "winner": ["a"], "loser": ["b"]}
        pq.write_table(pa.table(columns), tmp_path / part)
    assert aggcal.read_judgments(tmp_path).annotator_ids.tolist() == ["u0", "u1"]


def test_keys_that_appear_late_are_read(tmp_path: Path) -> None:
    rows = [{"annotator": "u", "winner": "a", "loser": "b", "weight": 1.0}] * 3
    plain = [{k: v for k, v in row.items() if k != "weight"} for row in rows] * 700
    path = tmp_path / "j.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in [*plain, rows[0] | {"weight": -7}]))
    with pytest.raises(WeightError, match="no weight"):
        aggcal.read_judgments(path)
    with pytest.raises(WeightError, match="no weight"):
        aggcal.read_judgments([*plain, rows[0] | {"weight": -7}])


def test_a_row_with_other_columns_only_is_not_blank(tmp_path: Path) -> None:
    path = tmp_path / "j.csv"
    path.write_text("annotator,winner,loser,note\nu,a,b,\n,,,someone lost this\n,,,\n")
    with pytest.raises(TableError, match="line 3 has no value"):
        aggcal.read_judgments(path)


def test_gzip_is_known_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "j.csv"
    path.write_bytes(gzip.compress(b"annotator,winner,loser\nu,a,b\nv,b,a\n"))
    assert aggcal.read_judgments(path).n_rows == 2


def test_old_line_ends_and_long_cells_are_read(tmp_path: Path) -> None:
    path = tmp_path / "j.csv"
    path.write_bytes(b"annotator,winner,loser\ru,a,b\rv,b,a\r")
    assert aggcal.read_judgments(path).n_rows == 2
    path.write_text(f"annotator,winner,loser,note\nu,a,b,{'x' * 200_000}\nu,,b,y\n")
    with pytest.raises(TableError, match="line 3"):
        aggcal.read_judgments(path)


def test_rows_of_other_criteria_are_counted() -> None:
    columns = {**{k: v[:3] for k, v in LONG.items()}, "criterion": ["style", "style", "fact"]}
    judgments = aggcal.read_judgments(columns, criterion="style")
    assert judgments.unfitted.counts == {"other criterion": 1}


def test_bad_frames_and_rows_are_refused_in_words() -> None:
    with pytest.raises(TableError, match="found: annotator, winner"):
        aggcal.read_judgments(pd.DataFrame({"annotator": ["u"], "winner": ["a"]}))
    with pytest.raises(TableError, match="row 2 has no value in column 'winner'"):
        aggcal.read_judgments([("u", "a", "b"), ("u", None, "b")])
    with pytest.raises(TableError, match="row 2 of the judgments has 2 values"):
        aggcal.read_judgments([("u", "a", "b"), ("u", "b")])
    with pytest.raises(TableError, match="empty"):
        aggcal.read_judgments([])
    with pytest.raises(TableError, match="not valid Unicode"):
        aggcal.read_judgments([("u\ud800", "a", "b")])
    with pytest.raises(TableError, match="cannot be read from 'int'"):
        aggcal.read_judgments(3)
    with pytest.raises(TableError, match="differ in length"):
        aggcal.read_scores({"item": ["a"], "score": [1.0, 2.0]})
    with pytest.raises(ScoreError, match="duplicate item 'a'"):
        aggcal.read_scores([("a", 1.0), ("a", 2.0)])
    with pytest.raises(ScoreError, match="missing"):
        aggcal.read_scores([("a", 1.0), ("b", float("nan"))], blank="error")


def test_the_order_of_rows_does_not_matter(random: np.random.Generator) -> None:
    columns = {
        "annotator": random.integers(0, 9, 500),
        "left": random.integers(0, 50, 500),
        "right": random.integers(50, 99, 500),
        "outcome": random.choice([0.0, 0.5, 1.0], 500),
    }
    shuffled = {
        k: v[random.permutation(500) * 0 + np.arange(500)[::-1]] for k, v in columns.items()
    }
    one, other = (aggcal.read_judgments(pd.DataFrame(c)) for c in (columns, shuffled))
    for name in ("annotator", "left", "right", "outcome", "weight", "count"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_real_data_with_ties_in_the_long_form(data_folder: Path) -> None:
    judgments = aggcal.read_judgments(data_folder / "llmfao" / "battles.csv")
    assert judgments.n_rows == 13_209
    assert judgments.n_items == 59
    assert int(judgments.count[judgments.outcome == 0.5].sum()) == 3_731


def test_a_line_may_be_long(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    long = "x" * 5_000_000
    path.write_text(f"annotator,winner,loser,text\nu,a,b,{long}\nv,b,c,short\nv,{long},a,\n")
    judgments = aggcal.read_judgments(path)
    assert judgments.n_judgments == 3
    assert sorted(map(len, judgments.item_ids)) == [1, 1, 1, 5_000_000]


def test_parquet_of_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "part*[1] {a,b}?"
    folder.mkdir()
    path = folder / "x[2]*.parquet"
    pd.DataFrame({"annotator": ["u"], "winner": ["a"], "loser": ["b"]}).to_parquet(path)
    assert aggcal.read_judgments(path).n_judgments == 1
    assert aggcal.read_judgments(folder).n_judgments == 1


@pytest.mark.parametrize(
    ("name", "what"),
    [("x.csv", "is not a text file; save"), ("x.parquet", "is not a Parquet file, or a damaged")],
)
def test_bytes_that_are_no_text_are_refused_by_what_they_are_called(
    tmp_path: Path, name: str, what: str
) -> None:
    (tmp_path / name).write_bytes(bytes(range(256)) * 8)
    with pytest.raises(FileError, match=what):
        aggcal.read_judgments(tmp_path / name)


def test_a_damaged_parquet_file_without_zeros_is_not_taken_for_text_either(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(bytes(range(1, 256)) * 4)
    with pytest.raises(FileError, match="is not a Parquet file, or a damaged"):
        aggcal.read_judgments(tmp_path / "x.parquet")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Essay,AI mark\na,1\nb,2\n", "read as: item = 'Essay', score = 'AI mark'"),
        ("Aufsatz;Punkte\na;1,0\nb;2,0\n", "read as: item = 'Aufsatz', score = 'Punkte'"),
        ("title,mark,year\na,1,2020\nb,2,2021\n", "read as: item = 'title', score = 'mark'"),
        ('{"a": 1, "b": 2}', "read as: each name is an item, and its number the score"),
    ],
)
def test_scores_of_one_reading_are_read(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / ("scores.json" if text.startswith("{") else "scores.csv")
    path.write_text(text)
    scores = aggcal.read_scores(path)
    assert said in scores.notes
    assert (scores["a"], scores["b"]) == (1.0, 2.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("item,rank\na,1\nb,2\n", "'rank' is probably best where it is lowest"),
        ("model,loss\na,1\nb,2\n", "'loss' is probably best where it is lowest"),
        ("name,bleu,rouge\na,1,3\nb,2,4\n", "column=: 'bleu', 'rouge'"),
        ("a,1\nb,2\n", "the first line holds data"),
        ("item,score\na,80\nb,-999\nc,45\n", "'-999' looks like a code for a missing number"),
        ("item,score\na,3\nb,-9\nc,5\n", "'-9' looks like a code"),
    ],
)
def test_scores_are_not_guessed(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        aggcal.read_scores(path)
