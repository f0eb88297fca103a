"""A third of the annotators answer the other way round: the ranking must not turn with them."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import FloatArray

Study = tuple[aggcal.Judgments, FloatArray]


@pytest.mark.parametrize(
    ("items", "people", "each", "seed"),
    # Upside down, or with a spread of reliabilities that takes nobody for reversed, where only the
    # first fit is mirrored or optima are compared by what they reached.
    [(60, 12, 300, 16), (100, 30, 400, 9), (600, 30, 400, 0), (600, 30, 400, 28)],
)
def test_a_third_of_them_turns_no_ranking(items: int, people: int, each: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    scores = random.standard_normal(items)
    slopes = np.abs(1.0 + 0.5 * random.standard_normal(people))
    slopes[: people // 3] *= -1.0
    owner, left = np.repeat(np.arange(people), each), random.integers(0, items, people * each)
    left[:items] = np.arange(items)
    right = (left + random.integers(1, items, len(left))) % items
    chance = 1.0 / (1.0 + np.exp(-slopes[owner] * (scores[left] - scores[right])))
    up = random.random(len(left)) < chance
    codes = owner, np.where(up, left, right), np.where(up, right, left)
    judgments = aggcal.Judgments.of_codes(*(code.astype(np.int32) for code in codes))
    found = aggcal.aggregate(judgments, warn=False)
    assert np.corrcoef(found.scores, scores)[0, 1] > 0.85
    assert found.prior is not None
    assert found.prior.reliability_sd < 0.9
    assert (found.reliabilities[: people // 3] < 0.0).mean() > 0.8
    # Who is reversed counts with their strength: a typical one is 1.
    assert np.abs(found.reliabilities).mean() == pytest.approx(1.0, abs=0.1)
    assert not any(warning.code == "divided" for warning in found.warnings)


def study(seed: int, items: int, people: int, number: int, turned: int, *, guess: int = 0) -> Study:
    """Some answer the other way round, some at random; a few gave most of the answers."""
    random = np.random.default_rng(seed)
    scores, slopes = random.standard_normal(items), np.exp(0.5 * random.standard_normal(people))
    slopes[:turned] *= -1.0
    slopes[turned : turned + guess] = 0.0
    active = random.pareto(1.5, people) + 0.3
    owner = np.sort(random.choice(people, number, p=active / active.sum()))
    owner[: 3 * people] = np.repeat(np.arange(people), 3)
    owner.sort()
    left = random.integers(0, items, number)
    left[:items] = np.arange(items)
    right = (left + random.integers(1, items, number)) % items
    up = random.random(number) < 1.0 / (
        1.0 + np.exp(-slopes[owner] * (scores[left] - scores[right]))
    )
    codes = owner, np.where(up, left, right), np.where(up, right, left)
    return aggcal.Judgments.of_codes(*(code.astype(np.int32) for code in codes)), scores


def test_the_mode_says_where_it_may_be_upside_down() -> None:
    found = []
    for seed in range(60):
        judgments, scores = study(seed, 20, 5, 2000, 2)
        fit = aggcal.aggregate(judgments, estimator="mode", warn=False)
        told = any(warning.code == "divided" for warning in fit.warnings)
        found.append((np.corrcoef(fit.scores, scores)[0, 1] < 0.0, told))
    assert sum(down for down, _ in found) >= 3
    assert not any(down and not told for down, told in found)


@pytest.mark.parametrize(("turned", "guess"), [(0, 0), (4, 0), (0, 10), (0, 14)])
def test_the_mode_says_so_only_there(turned: int, guess: int) -> None:
    for seed in range(10):
        judgments, scores = study(seed, 30, 20, 1500, turned, guess=guess)
        fit = aggcal.aggregate(judgments, estimator="mode", warn=False)
        assert not any(warning.code == "divided" for warning in fit.warnings)
        assert np.corrcoef(fit.scores, scores)[0, 1] > 0.0
