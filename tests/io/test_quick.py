"""The quick readers return what the general one does, to the bit, or leave the table to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from quick_tables import (
    LONG,
    SHORT,
    Readers,
    Table,
    arrow_coded,
    pandas_coded,
    polars_coded,
    same,
    study,
    texts,
    write_csv,
    write_folder,
    write_parquet,
    write_quoted,
)

from aggcal._core.kernels import library
from aggcal.data.judgments import Judgments
from aggcal.io import quick, read_judgments
from aggcal.io.formats._base import Choices
from aggcal.io.judgments import read_part
from aggcal.io.quick import hashed, merging, numbering
from aggcal.io.quick import texts as quick_texts
from aggcal.io.quick.streams import NotPlain

pytestmark = pytest.mark.skipif(library() is None, reason="there are no compiled kernels")


@pytest.fixture(autouse=True)
def many_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables are cut for threads as large ones are, and DuckDB gives memory back."""
    monkeypatch.setattr(quick, "_MANY_ROWS", 1)
    monkeypatch.setattr(merging, "_ROWS_PER_RANGE", 3)
    monkeypatch.setattr(merging, "cores", lambda: 5)


@pytest.fixture
def readers() -> Iterator[Readers]:
    with pytest.MonkeyPatch.context() as patch:
        yield Readers(patch)


WRITERS: dict[str, Callable[[Table, Path], Any]] = {
    "parquet": lambda table, folder: write_parquet(texts(table), folder, 7),
    "typed": write_parquet,
    "folder": lambda table, folder: write_folder(texts(table), folder),
    "csv": write_csv,
    "quoted": write_quoted,
    "tsv.gz": lambda table, folder: write_csv(table, folder, delimiter="\t", packed=True),
    "arrow": lambda table, _: arrow_coded(table),
    "pandas": lambda table, _: pandas_coded(table),
    "polars": lambda table, _: polars_coded(table),
    "pandas texts": lambda table, _: pd.DataFrame(table),
    "polars texts": lambda table, _: pl.DataFrame(table),
}


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize(("columns", "weighted"), [(SHORT, False), (LONG, True)])
def test_plain_tables_are_read_quickly(
    kind: str, columns: tuple[str, ...], *, weighted: bool, tmp_path: Path, readers: Readers
) -> None:
    table = study(300, columns, weighted=weighted)
    found = readers.agree(WRITERS[kind](table, tmp_path))
    assert readers.was_quick
    assert isinstance(found, Judgments)
    assert found.n_judgments == 300
    assert found.n_merged > 0


def test_large_tables_are_read_in_many_batches(
    tmp_path: Path, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick_texts, "_BLOCK", 1000)
    monkeypatch.setattr(merging, "_ROWS_PER_RANGE", 30_000)
    table = study(140_000)
    table["outcome"][135_000] = "skip"
    for path in (write_parquet(table, tmp_path, 50_000), write_csv(table, tmp_path)):
        found = readers.quick(path)
        assert readers.was_quick
        assert isinstance(found, Judgments)
        assert found.unfitted.location.tolist() == ["row 135001"]
    same(found, readers.general(path))


# --- messy tables --------------------------------------------------------------------------------

IDS = st.one_of(
    st.sampled_from(["a", " a", "b", "B", "1", "01", "10", "9", "1.0", "é", "e\u0301", "\u00a0a"]),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=12),
)
RARE_IDS = st.one_of(IDS, st.sampled_from(["", " ", "#N/A", "1E+12", 'say "x", y', "a\nb"]))
OUTCOMES = st.sampled_from(["left", "right", "tie", "Left", " tie", "skip", "failed", "1", "0.25"])
RARE_OUTCOMES = st.sampled_from(
    ["", "left", "1", "1.0", "0", "-0", "2", "a", "left+", "0,5", "n/a", "inf", "nan", "1e-400"]
)
WEIGHTS = st.sampled_from(["1", "1.0", "0.1", "0.2", "0.30000000000000004", "3", "0", " 2", "1e3"])
RARE_WEIGHTS = st.sampled_from(["", "x", "-1", "1e-10", "1e10", "inf", "1e9", "1e-9", "0,5", "nan"])


@st.composite
def messy_tables(draw: st.DrawFn) -> Table:
    """Ids and outcomes in many spellings; now and then a cell that must be refused."""
    odd = draw(st.integers(0, 9)) == 0
    columns = draw(st.sampled_from([SHORT, LONG]))
    few = draw(st.lists(RARE_IDS if odd else IDS, min_size=2, max_size=6, unique=True))
    rows = draw(st.integers(1, 40))
    cells: dict[str, Any] = dict.fromkeys(columns[:3], st.sampled_from(few))
    cells["outcome"] = RARE_OUTCOMES if odd else OUTCOMES
    cells["weight"] = RARE_WEIGHTS if odd and draw(st.booleans()) else WEIGHTS
    cells["note"] = st.sampled_from(["", "x", "y"])
    more = draw(st.sets(st.sampled_from(["weight", "note"])))
    names = [*columns, *(name for name in ("weight", "note") if name in more)]
    seed = draw(st.randoms(use_true_random=False))
    drawn = {name: draw(st.lists(cells[name], min_size=8, max_size=8)) for name in names}
    return {name: [seed.choice(drawn[name]) for _ in range(rows)] for name in names}


@settings(
    max_examples=40, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(
    kind=st.sampled_from(["parquet", "csv", "quoted", "arrow", "pandas", "polars", "polars texts"]),
    table=messy_tables(),
)
def test_messy_tables_are_read_alike(kind: str, table: Table, readers: Readers) -> None:
    with TemporaryDirectory() as folder:
        readers.agree(WRITERS[kind](table, Path(folder)))


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ("weight", pa.array([1.0, 0.1, 2.5e8, 0.0, 3.0], pa.float64())),
        ("weight", pa.array([0.1, 0.2, 0.3, 1.0, 3.0], pa.float32())),
        ("weight", pa.array([1, 2, 3, 1, 2], pa.int64())),
        ("weight", pa.array(["1", "1.0", "2", " 2", "1"])),
        ("weight", pa.array([1.0, None, 1.0, 1.0, 1.0])),
        ("weight", pa.array([1.0, np.nan, 1.0, 1.0, 1.0])),
        ("outcome", pa.array([1.0, 0.5, 0.0, 0.1, None])),
        ("outcome", pa.array([1.0, 0.5, np.nan, 0.1, 0.0])),
        ("outcome", pa.array([0.1, 0.2, 0.3, 1.0, 0.0], pa.float32())),
        ("outcome", pa.array([1.0, -0.0, 0.0, 1.0, 0.0])),
        ("outcome", pa.array([1, 0, 1, 1, 0], pa.int8())),
        ("outcome", pa.array([True, False, True, True, False])),
        ("annotator", pa.array([3.0, 1.0, 2.5, 1.0, 3.0])),
        ("annotator", pa.array([10, 9, 9, 10, 10], pa.int16())),
        ("annotator", pa.array([[1], [2], [2], [1], [1]])),
        ("left", pa.array([1, 2, 3, 1, 2])),
    ],
)
def test_columns_of_parquet_may_have_types(
    column: str, cells: pa.Array, tmp_path: Path, readers: Readers
) -> None:
    table = pa.table(study(5)).append_column("weight", pa.array([1.0] * 5))
    path = tmp_path / "t.parquet"
    pq.write_table(table.set_column(table.schema.get_field_index(column), column, cells), path)
    readers.agree(path)


def test_weights_that_are_all_different_are_read(
    tmp_path: Path, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick_texts, "_MOST_WEIGHTS", 10)
    weights = np.random.default_rng(1).uniform(0.1, 3.0, 60).tolist()
    table = study(60) | {"weight": weights}
    path = write_csv({name: [*column, *column[:20]] for name, column in table.items()}, tmp_path)
    found = readers.agree(path)
    assert readers.was_quick
    assert isinstance(found, Judgments)
    assert found.duplicates == 20


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_key_without_room_for_weights(
    kind: str, tmp_path: Path, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = study(300, weighted=True)
    bits = merging.Layout.of(len({*table["annotator"]}), 25, 6, 3).bits
    monkeypatch.setattr(merging, "_WIDEST", bits)
    readers.agree(WRITERS[kind](table, tmp_path))
    assert readers.was_quick


def test_weights_are_added_from_the_smallest_on(tmp_path: Path, readers: Readers) -> None:
    rng = np.random.default_rng(5)
    rows = 5000
    table: Table = {"annotator": ["ann"] * rows, "left": ["a"] * rows, "right": ["b"] * rows}
    table |= {"outcome": ["left"] * rows, "weight": rng.uniform(1e-6, 1.0, rows).tolist()}
    table["right"][0] = "c"
    readers.agree(write_parquet(table, tmp_path))
    assert readers.was_quick


@pytest.mark.parametrize("kind", ["parquet", "csv", "pandas"])
def test_duplicates_are_told_by_all_columns(kind: str, tmp_path: Path, readers: Readers) -> None:
    table = study(400) | {"note": [f"n{k % 3}" for k in range(400)]}
    found = readers.agree(WRITERS[kind](table, tmp_path))
    assert readers.was_quick
    assert isinstance(found, Judgments)
    assert found.duplicates
    assert 0 < found.duplicates < found.n_merged


@pytest.mark.parametrize(
    "how",
    [
        {"columns": {"annotator": "coder"}},
        {"criterion": "style"},
        {"context": "coder"},
        {"by": "coder"},
        {"outcomes": {"tie": "skip"}},
        {"blank": "error"},
        {"normalize_ids": True},
        {"annotator": "me"},
        {"format": "table"},
    ],
)
def test_options_are_obeyed(how: dict[str, Any], tmp_path: Path, readers: Readers) -> None:
    table = study(60)
    table["coder"] = table["annotator"]
    if "columns" in how:
        del table["annotator"]
    readers.agree(write_csv(table, tmp_path), **how)
    assert readers.was_quick == bool({"columns", "format"} & {*how})


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_little_memory_leaves_the_table_to_the_reader_that_spills(
    kind: str, tmp_path: Path, readers: Readers
) -> None:
    path = WRITERS[kind](study(3000, weighted=True), tmp_path)
    readers.agree(path, memory="200MB")
    assert readers.was_quick
    readers.quick(path, memory="230kB")
    assert not readers.was_quick


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_part_is_read_with_one_thread(kind: str, tmp_path: Path) -> None:
    path = WRITERS[kind](study(200, weighted=True), tmp_path)
    part = read_part(path, Choices(), threads=1)
    same(part, read_judgments(path))


# --- what must not be read quickly ---------------------------------------------------------------


def test_ids_of_one_hash_are_told_apart(
    tmp_path: Path, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_parquet(study(200), tmp_path)
    monkeypatch.setattr(hashed, "_HASH", "(hash({}) % 16)::UBIGINT")
    readers.agree(path)
    assert not readers.was_quick


def test_many_ids_have_longer_hashes(
    tmp_path: Path, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_parquet(study(200, weighted=True), tmp_path)
    for hashes in ("(hash({}) >> 32)", "hash({})"):  # the upper halves are all 0, then too many
        monkeypatch.setattr(hashed, "_HASH", hashes)
        readers.agree(path)
        assert readers.was_quick
        monkeypatch.setattr(hashed, "_FEW_IDS", 20)


def test_texts_of_one_hash_are_told_apart(tmp_path: Path, readers: Readers) -> None:
    # Of texts below 4 bytes the hash sees the first, the middle and the last byte.
    table = study(300)
    table["left"] = [f"{k % 7}{k % 13}{k % 5}" + "x" * (k % 40) for k in range(300)]
    found = readers.agree(write_csv(table, tmp_path))
    assert readers.was_quick
    assert isinstance(found, Judgments)


def test_a_key_of_more_than_64_bits_is_not_made() -> None:
    assert merging.Layout.of(2**20, 2**20, 4, 4).bits == 63
    with pytest.raises(NotPlain):
        merging.Layout.of(2**22, 2**20, 4, 4)


@pytest.mark.parametrize("other", ["new ids", "same ids", "fewer rows"])
def test_a_file_that_is_exchanged_between_two_scans(
    other: str, tmp_path: Path, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_parquet(study(200), tmp_path)
    (tmp_path / "new").mkdir()
    table = study(150 if other == "fewer rows" else 200, seed=3)
    if other == "new ids":
        table["annotator"] = [f"new-{who}" for who in table["annotator"]]
    new = write_parquet(table, tmp_path / "new")
    ask = hashed.Hashed._query

    def exchanged(self: hashed.Hashed, more: str = "") -> tuple[str, str]:
        if new.exists():
            os.replace(new, path)  # noqa: PTH105  # what another program does
        return ask(self, more)

    monkeypatch.setattr(hashed.Hashed, "_query", exchanged)
    found = readers.quick(path)
    assert not readers.was_quick
    same(found, readers.general(path))


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_damaged_files_are_read_or_refused_alike(
    kind: str, tmp_path: Path, readers: Readers
) -> None:
    path: Path = WRITERS[kind](study(40, weighted=True), tmp_path)
    whole = path.read_bytes()
    rng = np.random.default_rng(7)
    for _ in range(12):
        data = bytearray(whole)
        for at in rng.integers(4, len(data), rng.integers(1, 4)):
            data[at] = rng.choice(np.frombuffer(b'\0\n\r,"\xff a1', dtype=np.uint8))
        cut = int(rng.integers(len(data) // 2, len(data))) if rng.random() < 0.2 else len(data)
        path.write_bytes(bytes(data[:cut]))
        readers.agree(path)


def test_too_many_outcomes_are_left_to_the_general_reader(
    tmp_path: Path, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numbering, "MOST_OUTCOMES", 3)
    table = study(50)
    table["outcome"] = [k / 50 for k in range(50)]
    readers.agree(write_parquet(table, tmp_path))
    assert not readers.was_quick
