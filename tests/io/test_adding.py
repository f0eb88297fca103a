"""Adding judgments to others gives what reading all of them at once gives."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aggcal
from aggcal.data.base import Unfitted
from aggcal.data.judgments import Judgments
from aggcal.engines import prepare
from aggcal.engines.local import LocalEngine

_IDS = st.sampled_from(["a", "b", "10", "9", "c d", "é", "-3"])
_WEIGHTS = st.sampled_from([1.0, 2.0, 0.25])
_OUTCOMES = st.sampled_from(["left", "right", "tie", "skip", "failed", "0.75"])
_ROW = st.tuples(_IDS, _IDS, _IDS, _OUTCOMES, _WEIGHTS)
_FIRM = [("ann", "a", "b", "left", 1.0), ("ann", "b", "z", "right", 1.0)]


def _table(rows: list[tuple[str, str, str, str, float]]) -> list[dict[str, Any]]:
    return [
        dict(zip(("annotator", "left", "right", "outcome", "weight"), row, strict=True))
        for row in rows
    ]


def _assert_alike(found: Judgments, expected: Judgments) -> None:
    for name in ("item_ids", "annotator_ids", "annotator", "left", "right", "outcome", "count"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)
    np.testing.assert_allclose(found.weight, expected.weight, rtol=1e-15)
    for column in fields(Unfitted):
        if column.name != "location":
            np.testing.assert_array_equal(
                getattr(found.unfitted, column.name), getattr(expected.unfitted, column.name)
            )
    assert (found.sided, found.format) == (expected.sided, expected.format)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.lists(_ROW, max_size=30), st.lists(_ROW, max_size=30))
def test_as_if_read_from_one_table(
    first: list[tuple[str, str, str, str, float]], second: list[tuple[str, str, str, str, float]]
) -> None:
    first, second = _FIRM + first, second + _FIRM
    found = aggcal.add_judgments(aggcal.read_judgments(_table(first)), _table(second))
    _assert_alike(found, aggcal.read_judgments(_table(first + second)))


def test_many_short_rows_keep_their_compact_columns() -> None:
    random = np.random.default_rng(3)
    rows = [
        (f"u{u}", str(i), str(j))
        for u, i, j in random.integers(0, 400, (6000, 3)).tolist()
        if i != j
    ]
    found = aggcal.add_judgments(aggcal.read_judgments(rows[:5000]), rows[5000:])
    _assert_alike(found, aggcal.read_judgments(rows))
    assert found.decided_for_left
    assert found.left.dtype == np.int32


def test_rows_of_codes_are_sorted_and_merged() -> None:
    random = np.random.default_rng(4)
    owner = np.sort(random.integers(0, 5, 300)).astype(np.int32)
    left = random.integers(0, 6, 300).astype(np.int32)
    right = ((left + random.integers(1, 6, 300)) % 6).astype(np.int32)
    codes = Judgments.of_codes(owner, left, right)
    found = aggcal.add_judgments(codes, codes)
    expected = Counter(zip(owner.tolist(), left.tolist(), right.tolist(), strict=True))
    rows = zip(found.annotator.tolist(), found.left.tolist(), found.right.tolist(), strict=True)
    assert dict(zip(rows, found.weight, strict=True)) == {k: 2 * n for k, n in expected.items()}
    assert found.n_judgments == 600


def test_batches_with_nothing_to_fit_are_counted(tmp_path: Path) -> None:
    first = [("ann", "a", "b", "left"), ("bob", "b", "a", "tie")]
    for more in (
        [("eve", "a", "z", "skip")],
        [("eve", "a", "a", "left"), ("bob", "b", "c", "failed")],
    ):
        found = aggcal.add_judgments(first, more)
        _assert_alike(found, aggcal.read_judgments(first + more))
        assert found.n_rows == len(first) + len(more)
    empty = tmp_path / "quiet-day.csv"
    empty.write_text("annotator,left,right,outcome\n")
    assert aggcal.add_judgments(first, empty).n_rows == 2
    assert aggcal.add_judgments(first, []).n_rows == 2


def test_times_and_places_of_both() -> None:
    first = [("ann", "a", "b", "left", 4.0), ("ann", "b", "a", "skip", 4.0)]
    second = [("ann", "b", "c", "left", 1.0), ("ann", "c", "d", "left", 1.0),
              ("bob", "a", "b", "tie", 9.0), ("bob", "a", "b", "skip", 9.0)]  # fmt: skip
    names = ("annotator", "left", "right", "outcome", "seconds")
    old, new = ([dict(zip(names, row, strict=True)) for row in part] for part in (first, second))
    found = aggcal.add_judgments(aggcal.read_judgments(old), new)
    assert found.seconds is not None
    assert found.seconds.tolist() == [2.0, 9.0]
    assert found.unfitted.location.tolist() == ["row 2", "judgments: row 4"]
    assert found.source == "judgments and others"


def test_rows_on_an_engine_are_refused() -> None:
    rows = [("ann", "a", "b"), ("bob", "b", "c")]
    with pytest.raises(aggcal.AggcalError, match="lie on an engine"):
        aggcal.add_judgments(prepare(rows, LocalEngine(2)), rows)
