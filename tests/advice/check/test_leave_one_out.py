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
    scores = aggcal.BTL(prior=aggcal.Prior(1.0, 0.5)).fit(replace(judgments, weight=weight)).scores
    return np.asarray(scores[judgments.left[mine]] - scores[judgments.right[mine]])


@pytest.mark.parametrize("shape", [(12, 8, 400), (40, 10, 300)])
def test_it_is_what_a_fit_without_the_annotator_gives(shape: tuple[int, int, int]) -> None:
    """Both ways of solving are used: more rows than items, and fewer."""
    items, annotators, number = shape
    study = simulate(items=items, annotators=annotators, judgments=number, seed=3)
    judgments = aggcal.read_judgments(study.judgments)
    scores = aggcal.BTL(prior=aggcal.Prior(1.0, 0.5)).fit(judgments).scores
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
    scores = aggcal.BTL(prior=aggcal.Prior(1.0, 0.5)).fit(judgments).scores
    whole = leave_one_out.consensus_of_others(judgments, scores, np.ones(10), 1.0)
    monkeypatch.setattr(leave_one_out, "MOST_ITEMS", 10)
    short = leave_one_out.consensus_of_others(judgments, scores, np.ones(10), 1.0)
    gap = scores[judgments.left] - scores[judgments.right]
    assert not short.exact
    assert np.corrcoef(whole.gap - gap, short.gap - gap)[0, 1] > 0.9
    assert np.median(short.variance / whole.variance) == pytest.approx(1.0, abs=0.2)


def test_all_ways_of_solving_agree() -> None:
    """By LU of several at once, by Cholesky of one, and by the inverse without the annotator."""
    random, n, rows = np.random.default_rng(2), 30, 20
    left: Any = random.integers(n, size=(3, rows))
    right: Any = (left + random.integers(1, n, left.shape)) % n
    pull, curve = random.normal(size=left.shape), random.random(left.shape)
    whole = np.eye(n)
    for i, j, w in zip(left.ravel(), right.ravel(), curve.ravel(), strict=True):
        whole[[i, j, i, j], [i, j, j, i]] += w * np.array([1.0, 1.0, -1.0, -1.0])
    inverse = np.asarray(np.linalg.inv(whole), dtype=np.float64)
    found = leave_one_out._by_lu(inverse, leave_one_out._Left(left, right, pull, curve))
    for k in range(3):
        one = leave_one_out._Left(left[[k]], right[[k]], pull[[k]], curve[[k]])
        for moved, variance in (
            leave_one_out._by_cholesky(inverse, one),
            leave_one_out._refitted(whole, one),
        ):
            np.testing.assert_allclose(moved[0], found[0][k], rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(variance[0], found[1][k], rtol=1e-9)


def test_everybody_is_in_one_batch() -> None:
    sizes = np.array([3, 0, 3, 90, 1, 3, 500])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    parts = leave_one_out._batches(starts, 100)
    assert sorted(np.concatenate([part.ravel() for part in parts])) == list(range(sizes.sum()))
    assert max(len(part) for part in parts) == 3
