"""Parquet that cuDF reads on a GPU, beside what the processors read of it; and what it is told."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import aggcal
from aggcal.engines import gpu_columns as columns
from aggcal.engines.gpu import GpuEngine, missing
from aggcal.io.quick import carded

by_cudf = pytest.mark.skipif(
    missing() is not None or columns.card() is None, reason="needs a GPU, CuPy and cuDF"
)
WORDS = "['left', 'right', 'tie', 'Left', 'skip']"


def written(path: Path, select: str, rows: int = 20_000) -> Path:
    connection = duckdb.connect()
    connection.execute("SELECT setseed(0.5)")
    connection.execute(f"COPY (SELECT {select} FROM range({rows})) TO '{path}' (FORMAT parquet)")
    connection.close()
    return path


def study(person: str = "'worker ' || n", item: str = "'é' || n", **more: str) -> str:
    """Write the SQL of random rows."""
    cells = {
        "annotator": person.replace("n", "(random() * 300)::INTEGER"),
        "left": item.replace("n", "(random() * 500)::INTEGER"),
        "right": item.replace("n", "(random() * 500)::INTEGER"),
        "outcome": f"{WORDS}[1 + (random() * 3)::INTEGER]",
        **more,
    }
    return ", ".join(f"{cell} AS {name}" for name, cell in cells.items())


@by_cudf
@pytest.mark.parametrize(
    "select",
    [
        study(),
        study(weight="[0.5, 1.0, 3.0, 0.0][1 + (random() * 3)::INTEGER]::DOUBLE"),
        study(person="(n)::BIGINT", item="(n)::USMALLINT", weight="(random() * 3)::INTEGER"),
        study(outcome="(random() * 4)::INTEGER / 4.0::DOUBLE", note="random()"),
        study(person="'   ' || n", item="CASE WHEN n % 2 = 0 THEN 'a' ELSE ' a' END || n"),
    ],
)
def test_cudf_reads_what_the_processors_read(
    select: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carded, "FEWEST", 1)
    file, used = written(tmp_path / "t.parquet", select), []

    def sorted_there(self: Any, *given: Any) -> Any:
        used.append(True)
        return there(self, *given)

    there = vars(carded.Carded)["_sorted"]
    monkeypatch.setattr(carded.Carded, "_sorted", sorted_there)
    with carded.on_card(columns.card()):
        found = aggcal.read_judgments(file)
    assert used
    same(found, aggcal.read_judgments(file))


def same(one: Any, other: Any) -> None:
    for field in dataclasses.fields(one):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if dataclasses.is_dataclass(mine):
            same(mine, theirs)
        elif isinstance(mine, np.ndarray):
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(mine, theirs)
        else:
            assert mine == theirs, field.name


@by_cudf
@pytest.mark.parametrize(
    "more",
    [
        {"annotator": "nullif('a' || (random() * 9)::INTEGER, 'a3')"},
        {"weight": "random() + 0.1"},
        {"left": "[(random() * 9)::INTEGER]", "right": "[(random() * 9)::INTEGER]"},
        {"outcome": "nullif('left', CASE WHEN random() < 0.1 THEN 'left' END)"},
    ],
)
def test_the_processors_read_what_cudf_does_not(
    more: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carded, "FEWEST", 1)
    file, said = written(tmp_path / "t.parquet", study(**more)), list[Any]()
    for card in (None, columns.card()):
        with carded.on_card(card):
            try:
                said.append(aggcal.read_judgments(file))
            except aggcal.errors.InputError as error:
                said.append(str(error))
    if isinstance(said[0], str):
        assert said[0] == said[1]
    else:
        same(*said)


@by_cudf
def test_a_folder_and_a_damaged_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carded, "FEWEST", 1)
    for name in ("a", "b"):
        written(tmp_path / f"{name}.parquet", study())
    with carded.on_card(columns.card()):
        found = aggcal.read_judgments(tmp_path)
    same(found, aggcal.read_judgments(tmp_path))
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(whole[: len(whole) // 2])
    for card in (None, columns.card()):
        with carded.on_card(card), pytest.raises(aggcal.errors.InputError, match=r"[pP]arquet"):
            aggcal.read_judgments(tmp_path / "a.parquet")


def test_the_engine_has_a_card_read_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[object] = []
    here = object()

    def reading(*_: Any, **__: Any) -> aggcal.Judgments:
        found.append(vars(carded)["_CARD"].get())
        return aggcal.read_judgments([("ann", "a", "b")])

    monkeypatch.setattr("aggcal.engines.gpu.card", lambda: here)
    monkeypatch.setattr("aggcal.engines.gpu.read_judgments", reading)
    monkeypatch.setattr(GpuEngine, "distribute", lambda _, judgments: judgments)
    GpuEngine().read("study.parquet")
    assert found == [here]
    assert vars(carded)["_CARD"].get() is None


def test_texts_come_back_as_they_were() -> None:
    words = ["", "a", "é", "worker-7", "\U0001f600"]
    for some in (words, ["b", "cc"]):
        letters = np.frombuffer("".join(some).encode(), dtype=np.uint8)
        ends = np.cumsum([0, *(len(word.encode()) for word in some)])
        assert vars(columns)["_texts"](letters, ends).tolist() == some
    numbers = np.array([0.1, 3.0])
    assert vars(columns)["_texts"](numbers, None).tolist() == ["0.1", "3.0"]
