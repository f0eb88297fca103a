"""Leaving an annotator out in closed form, against fitting without them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal.advice.check import leave_one_out
from aggcal.simulation import simulate


def left_out(judgments: aggcal.Judgments, u: int) -> np.ndarray:
    """The gaps of an annotator's rows, in a fit in which they weigh nothing."""
    mine = judgments.annotator == u
    weight = np.where(mine, 1e-9 * judgments.weight, judgments.weight)
    scores = (
        aggcal.methods.BTL(prior=aggcal.Prior(1.0, 0.5))
        .fit(replace(judgments, weight=weight))
        .scores
    )
    return np.asarray(scores[judgments.left[mine]] - scores[judgments.right[mine]])


@pytest.mark.parametrize("shape", [(12, 8, 400), (40, 10, 300)])
def test_it_is_what_a_fit_without_the_annotator_gives(shape: tuple[int, int, int]) -> None:
    """Both ways of solving are used: more rows than items, and fewer."""
    items, annotators, number = shape
    study = simulate(items=items, annotators=annotators, judgments=number, seed=3)
    judgments = aggcal.read_judgments(study.judgments)
    scores = aggcal.methods.BTL(prior=aggcal.Prior(1.0, 0.5)).fit(judgments).scores
    found = leave_one_out.consensus_of_others(judgments, scores, np.ones(annotators), 1.0)
    gap = scores[judgments.left] - scores[judgments.right]
    for u in range(annotators):
        mine = judgments.annotator == u
        wanted = left_out(judgments, u)
        before, after = np.abs(gap[mine] - wanted), np.abs(found.gap[mine] - wanted)
        assert after.mean() < 0.15 * before.mean()


def test_for_many_items_the_shortcut_is_near(monkeypatch: pytest.MonkeyPatch) -> None:
    study = simulate(items=40, annotators=10, judgments=3000, seed=3)
    judgments = aggcal.read_judgments(study.judgments)
    scores = aggcal.methods.BTL(prior=aggcal.Prior(1.0, 0.5)).fit(judgments).scores
    whole = leave_one_out.consensus_of_others(judgments, scores, np.ones(10), 1.0)
    monkeypatch.setattr(leave_one_out, "MOST_ITEMS", 10)
    short = leave_one_out.consensus_of_others(judgments, scores, np.ones(10), 1.0)
    gap = scores[judgments.left] - scores[judgments.right]
    assert short.information is None
    assert np.corrcoef(whole.gap - gap, short.gap - gap)[0, 1] > 0.9
    assert np.median(short.variance / whole.variance) == pytest.approx(1.0, abs=0.2)


def some_left_out(number: int, rows: int, seed: int) -> tuple[Any, np.ndarray]:
    """Annotators who judged among 30 items, and the information with what others know of these."""
    random, n = np.random.default_rng(seed), 30
    left: Any = random.integers(n, size=(number, rows), dtype=np.int32)
    right: Any = (left + random.integers(1, n, left.shape, dtype=np.int32)) % n
    pull, curve = random.normal(size=left.shape), random.random(left.shape)
    curve[:, :3] = 0.0, 1e-12, 1e-5  # answers that tell nothing, and next to nothing
    whole = np.eye(n)
    for i, j, w in zip(left.ravel(), right.ravel(), curve.ravel(), strict=True):
        whole[[i, j, i, j], [i, j, j, i]] += w * np.array([1.0, 1.0, -1.0, -1.0])
    return (left, right, pull, curve), whole


def test_both_ways_of_solving_agree() -> None:
    """By rows of several at once, by rows of one, and by items."""
    own, whole = some_left_out(3, 20, 2)
    covariance = np.asarray(np.linalg.inv(whole), dtype=np.float64)
    found = leave_one_out.by_rows(covariance, own)
    for k in range(3):
        one = tuple(column[k : k + 1] for column in own)
        for way in (leave_one_out.by_rows(covariance, one), leave_one_out.by_items(whole, one)):
            for part, whole_part in zip(way, found, strict=True):
                np.testing.assert_allclose(part[0], whole_part[k], rtol=1e-9, atol=1e-12)
