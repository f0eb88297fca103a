"""Tables of results: which data frame they are, and that they are those of the files."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import aggcal
from aggcal._core import frames
from aggcal._core.frames import Frame, FrameOption
from aggcal.advice.suggest import Suggestions
from aggcal.errors import OptionError
from aggcal.simulation import simulate

KINDS: dict[str, Any] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.Table,
    "columns": dict,
}
FRAMES: tuple[Frame, ...] = get_args(Frame)


@dataclass(frozen=True)
class Study:
    judgments: dict[str, Any]
    scores: dict[str, Any]
    result: aggcal.Assessment
    comparison: aggcal.assessment.studies.MethodComparison
    pairs: Suggestions


@pytest.fixture(scope="module")
def made() -> Study:
    """A study in which one item is scored and never judged, and one judged and never scored."""
    drawn = simulate(items=8, annotators=4, judgments=120, seed=4)
    scores = {"item": [*drawn.item_ids[1:], "unseen"], "score": [*drawn.model[1:], 50.0]}
    found = aggcal.assess(drawn.judgments, scores, warn=False)
    return Study(
        drawn.judgments,
        scores,
        found,
        aggcal.compare_methods(drawn.judgments, ["btl"], folds=2),
        aggcal.suggest_pairs(drawn.judgments, n=3),
    )


@pytest.fixture
def default() -> Iterator[None]:
    """What a user finds who has set nothing."""
    frames.installed.cache_clear()
    with aggcal.options.using(frame="auto"):
        yield
    frames.installed.cache_clear()


def tables(made: Study) -> dict[str, Callable[[], Any]]:
    """Every table of every result."""
    consensus, calibration = made.result.consensus, made.result.calibration
    assert consensus is not None
    assert calibration is not None
    return {
        "consensus items": lambda: consensus.items,
        "consensus annotators": lambda: consensus.annotators,
        "calibration items": lambda: calibration.items,
        "items": lambda: made.result.items,
        "annotators": lambda: made.result.annotators,
        "categories": lambda: made.result.categories,
        "predictions": lambda: calibration.predict_unjudged().items,
        "comparison": lambda: made.comparison.table,
        "pairs": lambda: made.pairs.pairs,
        "scores": lambda: aggcal.Scores.of({"a": 1.0}).items,
    }


def names(table: Any) -> list[str]:
    if isinstance(table, dict):
        return list(table)
    return list(table.column_names if isinstance(table, pa.Table) else table.columns)


def values(column: Any) -> list[Any]:
    """The cells of a column of any library, None where there is nothing."""
    cells = column.to_pylist() if isinstance(column, pa.ChunkedArray) else list(column)
    return [None if pd.isna(cell) else cell for cell in cells]


@pytest.mark.usefixtures("default")
@pytest.mark.parametrize(
    ("missing", "kind"),
    [((), pd.DataFrame), (("pandas",), pl.DataFrame), (("pandas", "polars"), dict)],
)
def test_a_table_is_a_frame_of_the_first_library_that_is_installed(
    made: Study, missing: tuple[str, ...], kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in missing:
        monkeypatch.setitem(sys.modules, library, None)
    for name, table in tables(made).items():
        assert isinstance(table(), kind), name


@pytest.mark.parametrize("frame", FRAMES)
def test_the_option_decides_and_the_cells_are_the_same(made: Study, frame: Frame) -> None:
    plain = {name: table() for name, table in tables(made).items()}
    with aggcal.options.using(frame=frame):
        found = {name: table() for name, table in tables(made).items()}
    for name, table in found.items():
        assert isinstance(table, KINDS[frame]), name
        assert names(table) == list(plain[name]), name
        for column, cells in plain[name].items():
            assert values(table[column]) == values(cells), (name, column)


@pytest.mark.parametrize("frame", FRAMES)
def test_the_argument_goes_before_the_input_and_that_before_the_option(
    made: Study, frame: Frame
) -> None:
    judgments, scores = pl.DataFrame(made.judgments), pl.DataFrame(made.scores)
    options: dict[str, Any] = {"frame": frame, "warn": False}
    consensus = aggcal.aggregate(judgments, **options)
    both = aggcal.assess(judgments, scores, **options)
    given: dict[str, Any] = {
        "aggregate": consensus.items,
        "annotators": consensus.annotators,
        "calibrate": aggcal.calibrate(scores, consensus, **options).items,
        "assess": both.items,
        "assess annotators": both.annotators,
        "stage 1": aggcal.assess(judgments, **options).items,
        "compare": aggcal.compare_methods(judgments, ["btl"], folds=2, frame=frame).table,
        "suggest": aggcal.suggest_pairs(judgments, n=2, frame=frame).pairs,
        "first": aggcal.suggest_pairs(None, scores, n=8, frame=frame).pairs,
    }
    for name, table in given.items():
        assert isinstance(table, KINDS[frame]), name
    with aggcal.options.using(frame=frame):
        assert isinstance(aggcal.aggregate(judgments, warn=False).items, pl.DataFrame)
        assert isinstance(aggcal.suggest_pairs(None, scores, n=8).pairs, pl.DataFrame)
        assert isinstance(aggcal.compare_methods(judgments, ["btl"], folds=2).table, pl.DataFrame)
        rows = aggcal.aggregate(made.judgments, warn=False)
        assert isinstance(rows.items, KINDS[frame])


def test_tables_have_the_columns_of_the_files(made: Study, tmp_path: Path) -> None:
    made.result.save(tmp_path, check=False)
    made.comparison.save(tmp_path / "compared")
    files = {}
    for path in (*tmp_path.glob("*.csv"), *tmp_path.glob("*/*.csv")):
        with path.open(encoding="utf-8") as file:
            files[path.stem] = next(csv.reader(file))
    found = {name: names(table()) for name, table in tables(made).items()}
    for name in ("items", "annotators", "predictions", "comparison"):
        assert found[name] == files[name]
    # A stage alone knows less, but calls it the same.
    assert set(found["consensus items"]) < set(files["items"])
    assert set(found["calibration items"]) < set(files["items"])
    assert set(found["consensus annotators"]) < set(files["annotators"])
    alone = aggcal.assess(made.judgments, warn=False)
    assert alone.consensus is not None
    assert set(alone.consensus.items) < set(alone.items) < set(files["items"])
    np.testing.assert_array_equal(alone.consensus.items["consensus"], alone.items["consensus"])


def test_what_is_no_frame_is_refused_before_anything_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrong: Any = "panda"
    for call in (aggcal.assess, aggcal.aggregate, aggcal.compare_methods, aggcal.suggest_pairs):
        with pytest.raises(OptionError, match=r"frame 'panda' is unknown \(did you mean 'pandas'"):
            call("nowhere.csv", frame=wrong)
    with pytest.raises(OptionError, match="frame 'panda'"):
        aggcal.calibrate("nowhere.csv", {}, frame=wrong)
    with pytest.raises(OptionError, match="choose auto, pandas"):
        aggcal.options.frame = wrong
    monkeypatch.setattr(frames, "find_spec", lambda _: None)
    with pytest.raises(OptionError, match="frame 'polars' needs polars: pip install polars"):
        aggcal.options.frame = "polars"
    assert aggcal.options.frame == "columns"  # as the tests have it


def test_options_are_set_for_a_while() -> None:
    kinds: tuple[FrameOption, ...] = get_args(FrameOption)
    assert set(kinds) == {*FRAMES, "auto"}
    before = aggcal.options.frame
    with aggcal.options.using(frame="polars"):
        assert repr(aggcal.options) == "aggcal.options(frame='polars')"
    with pytest.raises(KeyError), aggcal.options.using(frame="pandas"):
        raise KeyError
    assert aggcal.options.frame == before
