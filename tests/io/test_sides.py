"""Columns called left and right that hold winner and loser."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import aggcal
from aggcal.simulation import simulate


@pytest.fixture(scope="module")
def winners() -> list[tuple[str, str, str]]:
    """Annotator, winner and loser of every judgment of a study."""
    study = aggcal.read_judgments(simulate(items=12, annotators=8, judgments=600, seed=3).judgments)
    first = np.where(study.outcome > 0.5, study.left, study.right)
    other = np.where(study.outcome > 0.5, study.right, study.left)
    names = study.annotator_ids[study.annotator], study.item_ids[first], study.item_ids[other]
    return [
        row for row, n in zip(zip(*names, strict=True), study.count, strict=True) for _ in range(n)
    ]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("file", [True, False])
def test_a_side_that_always_wins_is_none(
    winners: list[tuple[str, str, str]], side: str, *, file: bool, tmp_path: Path
) -> None:
    """The order is that of the same judgments as winners and losers, not a preference."""
    rows = [(u, *((a, b) if side == "left" else (b, a)), side) for u, a, b in winners]
    data: object = rows
    if file:
        data = tmp_path / "answers.csv"
        with Path(data).open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([("annotator", "left", "right", "outcome"), *rows])
    found = aggcal.read_judgments(data)
    assert not found.sided
    assert f"Every decided judgment is for the {side} item" in found.notes[-1]
    plain = aggcal.aggregate(winners, warn=False)
    with_sides = aggcal.aggregate(found, warn=False)
    assert with_sides.effects is None
    np.testing.assert_allclose(with_sides.scores, plain.scores, atol=1e-9)
    assert not any(w.code == "side-preferred" for w in aggcal.check(found).findings)


def test_one_answer_for_the_other_side_tells_that_they_are_sides(
    winners: list[tuple[str, str, str]],
) -> None:
    rows = [(u, a, b, "left") for u, a, b in winners]
    u, a, b = winners[0]
    assert aggcal.read_judgments([*rows, (u, b, a, "right")]).sided
    assert aggcal.read_judgments(rows[:11]).sided
