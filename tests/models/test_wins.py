"""The compiled layout of wins against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from aggcal._core.arrays import FloatArray
from aggcal._core.kernels import library
from aggcal.models.rows import Rows, wins_of

OUTCOMES = {"decided": [0.0, 1.0], "ties": [0.0, 0.5, 1.0], "degrees": [0.0, 0.2, 0.75, 1.0]}


def layout(sizes: list[int], outcomes: list[float], items: int, *, weighted: bool) -> Rows:
    random = np.random.default_rng(sum(sizes) + items)
    rows = sum(sizes)
    annotator = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    left = random.integers(items, size=rows).astype(np.int32)
    right = ((left + random.integers(1, items, rows)) % items).astype(np.int32)
    outcome = random.choice(outcomes, rows)
    weight: FloatArray = random.uniform(0.1, 3.0, rows) if weighted else np.ones(rows)
    return wins_of(annotator, left, right, outcome, weight, items)


@pytest.mark.skipif(library() is None, reason="no C compiler when aggcal was installed")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outcomes", OUTCOMES.values(), ids=OUTCOMES)
@pytest.mark.parametrize(
    ("sizes", "items"),
    [([1], 2), ([3, 1, 40], 3), ([11, 12, 13, 24, 25, 500], 9), ([30_000, 7, 30_000], 200)],
)
def test_compiled_wins_are_those_of_numpy(
    sizes: list[int],
    items: int,
    outcomes: list[float],
    weighted: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = layout(sizes, outcomes, items, weighted=weighted)
    monkeypatch.setattr("aggcal.models.rows.library", lambda: None)
    expected = layout(sizes, outcomes, items, weighted=weighted)
    for name in ("winner", "loser", "starts"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    np.testing.assert_allclose(found.weight, expected.weight, rtol=1e-15)
    assert len(found) < 2 * sum(sizes)
