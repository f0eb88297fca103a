"""What a card reads is what the processors read, to the bit; the card here is one of NumPy's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from quick_tables import LONG, SHORT, Readers, same, study, texts, write_folder, write_parquet

from aggcal._core.database import driver
from aggcal._core.kernels import library
from aggcal.data.acts import not_recognised
from aggcal.data.judgments import Judgments
from aggcal.errors.voice import spoken
from aggcal.io import read_judgments
from aggcal.io.quick import carded, hashed
from aggcal.io.quick.carded import Cells, on_card
from aggcal.io.quick.streams import NotPlain

pytestmark = pytest.mark.skipif(library() is None, reason="there are no compiled kernels")


NOT_RECOGNISED = spoken(not_recognised("The graphics card"))


class PretendCard:
    """Reads Parquet with PyArrow, and computes with NumPy."""

    arrays = np

    def __init__(self, fault: type[Exception] | None = None) -> None:
        self.read, self._fault = 0, fault

    def columns(self, files: Sequence[str], names: Sequence[str]) -> list[Cells]:
        if self._fault is not None:
            raise self._fault("Interrupted")
        whole = pa.concat_tables([pq.read_table(file, columns=list(names)) for file in files])
        found = []
        for name in names:
            column = whole[name].combine_chunks()
            if column.null_count:
                raise NotPlain
            coded = column.dictionary_encode()
            cells = coded.dictionary
            found.append(Cells(len(cells), partial(_texts, cells), np.asarray(coded.indices)))
        self.read += 1
        return found

    def back(self, array: Any) -> Any:
        return array.copy()


def _texts(cells: pa.Array) -> Any:
    found = np.empty(len(cells), dtype=object)
    found[:] = [cell if isinstance(cell, str) else repr(cell) for cell in cells.to_pylist()]
    return found


@pytest.fixture(autouse=True)
def any_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carded, "FEWEST", 1)


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> Readers:
    return Readers(monkeypatch)


def agree(readers: Readers, path: Path, card: PretendCard) -> Any:
    """Compare what both read; that the card does not recognise acts is said besides."""
    with on_card(card):
        found = readers.quick(path)
    wanted = readers.general(path)
    if isinstance(found, Judgments):
        found = replace(found, notes=tuple(n for n in found.notes if n != NOT_RECOGNISED))
    same(found, wanted)
    return found


@pytest.mark.parametrize("kind", ["parquet", "folder"])
@pytest.mark.parametrize(("columns", "weighted"), [(SHORT, False), (LONG, False), (LONG, True)])
def test_a_card_reads_plain_tables(
    kind: str, columns: tuple[str, ...], *, weighted: bool, tmp_path: Path, readers: Readers
) -> None:
    table, card = study(300, columns, weighted=weighted), PretendCard()
    path = (write_folder if kind == "folder" else write_parquet)(table, tmp_path)
    found = agree(readers, path, card)
    assert isinstance(found, Judgments)
    assert found.n_merged > 0
    assert card.read == 1


def test_rows_that_are_not_fitted_are_listed_in_the_same_way(
    tmp_path: Path, readers: Readers
) -> None:
    table, card = study(200, weighted=True), PretendCard()
    table["outcome"][7] = table["outcome"][50] = "skip"
    table["outcome"][8] = "failed"
    for k in (9, 50, 120):
        table["right"][k] = table["left"][k]
    table["weight"][10] = table["weight"][120] = 0.0
    found = agree(readers, write_parquet(table, tmp_path), card)
    assert card.read == 1
    assert sorted(found.unfitted.reason) == [
        "failed", "self-pair", "self-pair", "skip", "skip", "zero weight"
    ]  # fmt: skip


SPELT = ["a", " a", "b", "B", "1", "01", "10", "9", "1.0", "é", "e\u0301", "\u00a0a", "a\nb"]
SAID = ["left", "right", "tie", "Left", " tie", "skip", "failed", "1", "0.25", "left+", "-0", "2"]
WEIGHED = [1.0, 0.1, 0.30000000000000004, 3.0, 0.0, -0.0, 1e9, 1e-9, 1e10, -1.0, float("nan")]


@st.composite
def tables(draw: st.DrawFn) -> dict[str, pa.Array]:
    """Cells in many spellings and types, now and then some that must be refused."""
    ids = st.one_of(
        st.lists(st.sampled_from(SPELT), min_size=2, max_size=6, unique=True),
        st.lists(st.integers(-3, 12), min_size=2, max_size=6, unique=True),
    )
    people, things, rows = draw(ids), draw(ids), draw(st.integers(1, 40))
    usual = draw(st.integers(0, 4))
    said: list[Any] = draw(st.sampled_from([SAID[: 9 if usual else 12], [0.0, 1.0, 0.5], [0, 1]]))
    weights: list[Any] = draw(st.sampled_from([WEIGHED[: 5 if usual else 11], [1, 2, 3]]))
    drawn = {"annotator": people, "left": things, "right": things, "outcome": said}
    drawn |= {"weight": weights} if draw(st.booleans()) else {}
    drawn |= {"note": ["x", "y"]} if draw(st.booleans()) else {}
    seed = draw(st.randoms(use_true_random=False))
    found = {name: [seed.choice(cells) for _ in range(rows)] for name, cells in drawn.items()}
    if not draw(st.integers(0, 5)):
        found[draw(st.sampled_from(sorted(found)))][0] = None
    return {name: pa.array(cells) for name, cells in found.items()}


@settings(
    max_examples=30, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(table=tables())
def test_messy_tables_are_read_alike(table: dict[str, pa.Array], readers: Readers) -> None:
    with TemporaryDirectory() as folder:
        agree(readers, write_parquet(table, Path(folder)), PretendCard())


@pytest.mark.parametrize("fault", [RuntimeError, MemoryError, ValueError, NotPlain])
def test_the_processors_read_what_a_card_cannot(
    fault: type[Exception], tmp_path: Path, readers: Readers
) -> None:
    card = PretendCard(fault)
    assert isinstance(agree(readers, write_parquet(study(100), tmp_path), card), Judgments)
    assert readers.was_quick


def test_the_processors_read_what_a_card_is_not_asked_for(
    tmp_path: Path, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    card, table = PretendCard(), study(100, weighted=True)
    agree(readers, write_parquet(texts(table), tmp_path), card)  # weights as texts
    floats = table | {"annotator": (np.arange(100.0) % 7).tolist()}
    agree(readers, write_parquet(floats, tmp_path), card)
    monkeypatch.setattr(carded, "FEWEST", 101)
    agree(readers, write_parquet(table, tmp_path), card)
    assert not card.read


def test_too_many_weights_for_codes_are_read_by_the_processors(
    tmp_path: Path, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carded, "MOST_WEIGHTS", 3)
    monkeypatch.setattr(hashed, "MOST_WEIGHTS", 3)
    agree(readers, write_parquet(study(100, weighted=True), tmp_path), PretendCard())
    assert readers.was_quick


def test_an_interrupt_is_not_taken_for_a_fault_of_the_card(tmp_path: Path) -> None:
    stopped = PretendCard(driver().InterruptException)
    path = write_parquet(study(2000), tmp_path)
    with on_card(stopped), pytest.raises(KeyboardInterrupt):
        read_judgments(path)
