"""Rows are laid out by ranges of annotators: where the cuts lie changes nothing, not even a bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import aggcal
from aggcal._core.kernels import threads
from aggcal.models import rows as plain
from aggcal.models.general import rows as general


@pytest.fixture(scope="module")
def judgments() -> aggcal.Judgments:
    random = np.random.default_rng(8)
    n = 900
    left = random.integers(12, size=n)
    return aggcal.read_judgments(
        {
            "annotator": [f"u{k}" for k in random.integers(40, size=n)],
            "left": [f"i{k}" for k in left],
            "right": [f"i{k}" for k in (left + random.integers(1, 12, n)) % 12],
            "outcome": random.choice(["left", "right", "tie", "left+"], n),
            "weight": random.uniform(0.1, 3.0, n),
            "prompt": random.choice(["p", "q", "r"], n),
        },
        context="prompt",
    )


@pytest.fixture(params=[1, 5, 40])
def cuts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut into so many ranges."""

    def even(rows: int) -> list[int]:
        return [rows * k // request.param for k in range(request.param + 1)]

    monkeypatch.setattr(threads, "even", even)


@pytest.mark.usefixtures("cuts")
def test_weighted_wins(judgments: aggcal.Judgments) -> None:
    rows = plain.rows_of(judgments)
    expected: dict[tuple[int, int, int], float] = {}
    columns = (judgments.annotator, judgments.left, judgments.right)
    answers = list(zip(*columns, judgments.outcome, judgments.weight, strict=True))
    for u, i, j, outcome, weight in answers:
        if outcome > 0.0:
            expected[u, i, j] = expected.get((u, i, j), 0.0) + weight * outcome
    for u, i, j, outcome, weight in answers:
        if outcome < 1.0:
            expected[u, j, i] = expected.get((u, j, i), 0.0) + weight * (1.0 - outcome)
    owner = np.repeat(np.arange(judgments.n_annotators), np.diff(rows.starts))
    found = list(zip(owner.tolist(), rows.winner.tolist(), rows.loser.tolist(), strict=True))
    assert found == sorted(expected)
    assert rows.weight == pytest.approx([expected[row] for row in found], rel=1e-15)


def _bytes(rows: general.GeneralRows) -> list[bytes]:
    parts = (rows.left, rows.right, *rows.answers, rows.levels, rows.starts, *rows.keys.values())
    return [np.ascontiguousarray(part).tobytes() for part in parts]


LAYOUTS: list[Callable[[aggcal.Judgments], general.GeneralRows]] = [
    lambda rows: general.general_rows(rows, ties=True, sides=True, keys=True),
    lambda rows: general.general_rows(rows, ties=False, sides=False, keys=False, grades=False),
    lambda rows: general.general_rows(rows, ties=True, sides=False, keys=True, top=4),
]


@pytest.mark.parametrize("lay_out", LAYOUTS)
def test_rows_of_the_general_model(
    judgments: aggcal.Judgments,
    lay_out: Callable[[aggcal.Judgments], general.GeneralRows],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = lay_out(judgments)
    for number in (5, 40):
        ends = [len(judgments.weight) * k // number for k in range(number + 1)]
        monkeypatch.setattr(threads, "even", lambda _, ends=ends: ends)
        assert _bytes(lay_out(judgments)) == _bytes(whole)
