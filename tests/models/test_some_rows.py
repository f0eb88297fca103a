"""Rows that a fit begins with are some of all, and lead to the same end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal.models import some_rows as module
from aggcal.models.rows import rows_of
from aggcal.models.some_rows import some_rows


@pytest.fixture(scope="module")
def judgments() -> aggcal.Judgments:
    """Answers with ties and weights of 40 annotators, some of whom gave next to none."""
    rng = np.random.default_rng(5)
    n, m, size = 15, 40, 12_000
    scores, strength = rng.normal(size=n), np.exp(rng.normal(0.0, 0.5, m))
    who = np.minimum((m * rng.random(size) ** 3).astype(int), m - 1)
    who[:m] = np.arange(m)
    left = rng.integers(0, n, size)
    right = (left + rng.integers(1, n, size)) % n
    chance = 1.0 / (1.0 + np.exp(-strength[who] * (scores[left] - scores[right])))
    said = np.where(rng.random(size) < 0.1, 0.5, rng.random(size) < chance)
    columns = {
        "annotator": [f"u{u}" for u in who],
        "left": [f"i{i}" for i in left],
        "right": [f"i{i}" for i in right],
        "outcome": said,
        "weight": rng.integers(1, 4, size).astype(float),
    }
    return aggcal.read_judgments(columns)


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a few thousand judgments for many."""
    monkeypatch.setattr(module, "_ALL", 2_000)


def wins(rows: Any) -> dict[tuple[int, int, int], float]:
    """Return the weight of each annotator's wins of one item over another."""
    owner = np.repeat(np.arange(rows.n_annotators), np.diff(rows.starts))
    keys = zip(owner.tolist(), rows.winner.tolist(), rows.loser.tolist(), strict=True)
    return dict(zip(keys, rows.weight.tolist(), strict=True))


@pytest.mark.usefixtures("many")
def test_they_are_part_of_all_and_of_every_annotator(judgments: aggcal.Judgments) -> None:
    found = some_rows(judgments)
    assert found is not None
    rows, times = found
    all_of_them, drawn = wins(rows_of(judgments)), wins(rows)
    assert all(weight <= all_of_them[key] for key, weight in drawn.items())
    assert (np.diff(rows.starts) > 0).all()
    assert rows.n_annotators == judgments.n_annotators
    assert times == pytest.approx(sum(all_of_them.values()) / sum(drawn.values()), rel=0.05)
    assert 5.0 < times <= 6.0


def test_of_few_there_are_none(judgments: aggcal.Judgments) -> None:
    assert some_rows(judgments) is None


def test_a_fit_that_begins_with_some_ends_where_others_do(
    judgments: aggcal.Judgments, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_all = aggcal.aggregate(judgments, warn=False)
    monkeypatch.setattr(module, "_ALL", 2_000)
    assert some_rows(judgments) is not None
    of_some = aggcal.aggregate(judgments, warn=False)
    assert of_some.convergence is not None
    assert of_some.convergence.converged
    np.testing.assert_allclose(of_some.scores, of_all.scores, atol=2e-4)
    np.testing.assert_allclose(of_some.reliabilities, of_all.reliabilities, atol=1e-3)
    assert not np.array_equal(of_some.scores, of_all.scores)
