"""A third of the annotators answer the other way round: the ranking must not turn with them."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal


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
