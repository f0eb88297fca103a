"""Small plain tables are read without DuckDB as they are with it, to the bit, or left to it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from quick_tables import (
    LONG,
    SHORT,
    Readers,
    Table,
    same,
    study,
    texts,
    write_csv,
    write_parquet,
    write_quoted,
)

from aggcal._core.kernels import library
from aggcal.data.scores import Scores
from aggcal.door.items import read_item_columns, read_scores, read_truth
from aggcal.errors import InputError
from aggcal.io.formats import formats
from aggcal.io.formats._sample import Sample
from aggcal.io.tables import cells
from aggcal.io.tables.cells import is_own_table
from aggcal.registry import TABLE

pytestmark = pytest.mark.skipif(library() is None, reason="there are no compiled kernels")

PLAIN = ["a", "B", "ab c", "é", "東京", "10", "9", "007", "-3", "e5", "inf", "nan", "true", "left"]
ODD = [
    " a",
    "a ",
    "",
    "1.0",
    "1e3",
    "0x1F",
    "1_0",
    "#N/A",
    "1E+12",
    "a\u200b",
    "\u00a0a",
    "²",
    "+5",
]
OUTCOMES = ["left", "right", "tie", "Left", "skip", "failed", "1", "0.25", "0.30000000000000004"]
ODD_OUTCOMES = ["", "-0", "2", "left+", "n/a", ".5", " tie", "-0.0"]
WEIGHTS = ["1", "0.1", "1.0", "3.5", "1e3", "0"]
ODD_WEIGHTS = ["", "x", "-1", "1e-10", "nan"]


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> Readers:
    return Readers(monkeypatch)


def rows_of(table: Table) -> list[dict[str, Any]]:
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


WAYS: dict[str, Callable[[Table, Path], Any]] = {
    "csv": write_csv,
    "semicolons": lambda table, folder: write_csv(table, folder, delimiter=";"),
    "mapping": lambda table, _: table,
    "mappings": lambda table, _: rows_of(table),
    "tuples": lambda table, _: [tuple(row.values()) for row in rows_of(table)],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("columns", "weighted"), [(SHORT, False), (LONG, True)])
def test_plain_tables_are_read_without_duckdb(
    way: str, columns: tuple[str, ...], *, weighted: bool, tmp_path: Path, readers: Readers
) -> None:
    table = study(200, columns, weighted=weighted)
    found, expected = readers.small(data := WAYS[way](table, tmp_path)), readers.general(data)
    assert readers.was_quick
    same(found, expected)


def test_tables_of_all_kinds_are_read_alike(tmp_path: Path, readers: Readers) -> None:
    rng = np.random.default_rng(3)
    taken = 0

    def drawn(plain: list[str], odd: list[str], rows: int, *, messy: bool) -> list[str]:
        few = rng.choice([*plain, *odd] if messy else plain, 5)
        return [str(text) for text in rng.choice(few, rows)]

    for k in range(32):
        messy, rows = k % 4 == 0, int(rng.integers(1, 30))
        names = rng.permutation([*(LONG if k % 3 else SHORT), *(["weight"] if k % 2 else [])])
        table = {str(name): drawn(PLAIN, ODD, rows, messy=messy) for name in names}
        if "outcome" in table:
            table["outcome"] = drawn(OUTCOMES, ODD_OUTCOMES, rows, messy=messy)
        if "weight" in table:
            table["weight"] = drawn(WEIGHTS, ODD_WEIGHTS, rows, messy=messy)
        ways = ["csv", "semicolons", "mapping", "mappings"]
        data = WAYS[ways[k % 4 if k % 8 else 0]](table, tmp_path)
        found = readers.small(data)
        taken += readers.was_quick
        same(found, readers.general(data))
    assert taken > 8


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "\n\n",
        "annotator",
        "annotator,winner,loser\nann,a,b\n\nann,b,c\n",
        "annotator,winner,loser\nann,a\nann,b,c\n",
        "annotator,winner,loser\nann,a,b,c\n",
        "annotator,winner,loser\r\nann,a,b\nann,b,c\r\n",
        "annotator,winner,loser\rann,a,b\rann,b,c\r",
        "annotator,winner,loser\n",
        "annotator,winner,loser",
        "annotator,winner,winner\nann,a,b\n",
        "annotator,winner,loser,note\nann,a,b,x\nann,a,b,y\n",
        'annotator,winner,loser\nann,"a",b\nann,b,c\n',
        "\ufeffannotator,winner,loser\nann,a,b\nann,b,c\n",
        "sep=,\nannotator,winner,loser\nann,a,b\nann,b,c\n",
        "annotator,winner,loser\nann,a,b\nann,a,b\nann,c,c\n",
        "annotator,winner,loser\nann,a,a\n",
        "annotator,left,right,outcome\nann,a vs b,c vs d,left\nann,b vs a,c vs d,left\n",
        "annotator,winner,loser\nann,a,b\nNote: the end,,\n",
        " Annotator , WINNER,loser\r\nann,a,b\r\nann,b,c",
    ],
)
def test_files_are_read_or_refused_alike(text: str, tmp_path: Path, readers: Readers) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8", newline="")
    same(readers.small(path), readers.general(path))


def test_other_encodings_are_left_to_the_others(tmp_path: Path, readers: Readers) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("annotator,winner,loser\nann,café,b\nann,b,c\n".encode("latin-1"))
    found = readers.small(path)
    assert not readers.was_quick
    same(found, readers.general(path))


def test_large_tables_are_left_to_duckdb(
    tmp_path: Path, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells, "_LARGEST", 100)
    monkeypatch.setattr(cells, "_FEW_ROWS", 3)
    for way in ("csv", "mapping", "tuples"):
        readers.small(WAYS[way](study(20), tmp_path))
        assert not readers.was_quick


@pytest.mark.parametrize(
    "how", [{"criterion": "x"}, {"by": "left"}, {"outcomes": {"tie": "skip"}}, {"memory": "1GB"}]
)
def test_options_are_left_to_the_others(how: Any, tmp_path: Path, readers: Readers) -> None:
    readers.small(write_csv(study(20), tmp_path), **how)
    assert not readers.was_quick


def test_no_other_format_knows_a_table_of_our_columns() -> None:
    for columns in (SHORT, LONG, (*SHORT, "weight"), (*LONG, "weight")):
        records = tuple(rows_of(texts(study(50, columns, weighted=len(columns) > len(LONG)))))
        sample = Sample("t.csv", frozenset(columns), records, ",".join(columns))
        claimed = [known.info.name for known in formats() if known.is_mine(sample)]
        assert claimed == [TABLE.name]
        assert is_own_table(sample.columns)


def test_a_run_of_a_small_study_does_not_load_duckdb(tmp_path: Path) -> None:
    write_csv(study(60), tmp_path)
    (tmp_path / "s.csv").write_text(
        "item,score\n" + "".join(f"item_{k},{k / 7}\n" for k in range(25))
    )
    said = "import sys; from aggcal.cli import main; main(); print('_duckdb' in sys.modules)"
    words = ["run", "t.csv", "s.csv", "-o", "out", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-c", said, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"


@pytest.mark.parametrize("kind", ["quoted", "csv", "empty", "parquet"])
def test_the_command_says_nothing_of_leaks_as_it_ends(kind: str, tmp_path: Path) -> None:
    table = study(40)
    write = {"quoted": write_quoted, "csv": write_csv, "parquet": write_parquet}.get(kind)
    path = tmp_path / "empty.csv" if write is None else write(table, tmp_path)
    if write is None:
        path.write_text("")
    done = subprocess.run(
        [sys.executable, "-m", "aggcal", "convert", str(path), "-o", "out.csv", "--quiet"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    expected = f"aggcal: error: {path}: is empty; the first line must name the columns.\n"
    assert (done.returncode, done.stderr) == ((2, expected) if write is None else (0, ""))


def test_a_run_says_nothing_of_leaks_as_it_ends(tmp_path: Path) -> None:
    """What was loaded before DuckDB is kept from the garbage collector, and DuckDB must not be."""
    path = write_parquet(study(40), tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "aggcal", "aggregate", str(path), "-o", "out", "--quiet"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    said = done.stderr.splitlines()
    assert [line for line in said if not line.startswith("warning: ")] == []


# --- numbers of items ----------------------------------------------------------------------------

SMALL: dict[str, Callable[[Any], Any]] = {
    "score": read_scores,
    "truth": read_truth,
    "model": lambda data: read_item_columns(data, ["model", "calibrated"]),
}


def shown(found: Any) -> Any:
    """Write what was read so that it can be compared to the bit."""
    if isinstance(found, Scores):
        return [shown(value) for value in vars(found).values()]
    if isinstance(found, np.ndarray):
        return found.tolist() if found.dtype == object else (str(found.dtype), found.tobytes())
    if isinstance(found, dict):
        return {name: shown(value) for name, value in found.items()}
    return [shown(value) for value in found] if isinstance(found, tuple) else found


def said(read: Callable[[Any], Any], data: Any) -> Any:
    try:
        return shown(read(data))
    except InputError as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("text", ["", "\n", "item\n", "item,score", "item,score\n\n", "\r\n"])
def test_files_without_rows_are_refused_in_words(text: str, tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text(text, newline="")
    for read in SMALL.values():
        assert "Error: " in said(read, path)


def test_scores_of_a_model_are_the_same_bits(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(0.0, 1e3, 500)
    table = {"item": [f"i{k}" for k in range(500)], "score": values.tolist()}
    plain = read_scores(write_csv(table, tmp_path))
    quoted = read_scores(write_quoted(table, tmp_path))
    assert plain.values.tobytes() == quoted.values.tobytes() == values.tobytes()
