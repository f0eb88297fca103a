"""Items that meet others of a level that was known beforehand: told, and told apart from others."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import FloatArray, IntArray

CODE = "paired-by-level"
Study = tuple[aggcal.Judgments, FloatArray]


def answered(
    left: IntArray, right: IntArray, scores: FloatArray, random: np.random.Generator
) -> Study:
    people = 15
    slopes = np.exp(0.4 * random.standard_normal(people))
    who = np.sort(random.integers(0, people, len(left)))
    who[:people] = np.arange(people)
    who.sort()
    up = random.random(len(left)) < 1.0 / (
        1.0 + np.exp(-slopes[who] * (scores[left] - scores[right]))
    )
    codes = who, np.where(up, left, right), np.where(up, right, left)
    return aggcal.Judgments.of_codes(*(code.astype(np.int32) for code in codes)), scores


def next_to_each_other(n: int, each: int, within: int, noise: float | None, seed: int) -> Study:
    """Pairs by a guess of the level; without noise given, by an order that is nobody's level."""
    random = np.random.default_rng(seed)
    scores, rows = random.standard_normal(n), n * each // 2
    guess = np.arange(n) if noise is None else scores + noise * random.standard_normal(n)
    order = np.argsort(guess)
    left = np.concatenate([np.arange(n), random.integers(0, n, rows - n)])
    place = np.argsort(order)[left]
    step = random.integers(1, within + 1, rows) * random.choice([-1, 1], rows)
    inside = (place + step >= 0) & (place + step < n)
    return answered(left, order[np.where(inside, place + step, place - step)], scores, random)


def at_random(n: int, each: int, seed: int) -> Study:
    random = np.random.default_rng(seed)
    left = np.concatenate([np.arange(n), random.integers(0, n, n * each // 2 - n)])
    right = (left + random.integers(1, n, len(left))) % n
    return answered(left, right, random.standard_normal(n), random)


def swiss(n: int, rounds: int, seed: int) -> Study:
    """Pairs by how often each has won so far."""
    random = np.random.default_rng(seed)
    scores, won = random.standard_normal(n), np.zeros(n)
    columns: list[list[IntArray]] = [[], []]
    for _ in range(rounds):
        order = np.argsort(won + 0.01 * random.random(n))
        one, other = order[0::2], order[1::2]
        up = random.random(n // 2) < 1.0 / (1.0 + np.exp(scores[other] - scores[one]))
        winner, loser = np.where(up, one, other), np.where(up, other, one)
        won += np.bincount(winner, minlength=n)
        columns[0].append(winner)
        columns[1].append(loser)
    winner, loser = map(np.concatenate, columns)
    everybody = np.zeros(len(winner), dtype=np.int32)
    everybody[len(winner) // 2 :] = 1
    codes = everybody, winner, loser
    return aggcal.Judgments.of_codes(*(code.astype(np.int32) for code in codes)), scores


def warned(judgments: aggcal.Judgments) -> bool:
    known = aggcal.aggregate(judgments, warn=False).quantify().uncertainty
    assert known is not None
    return any(warning.code == CODE for warning in known.warnings)


@pytest.mark.parametrize(("n", "each", "within"), [(60, 40, 12), (200, 30, 30)])
def test_pairs_by_a_guess_of_the_level_are_told(n: int, each: int, within: int) -> None:
    studies = [next_to_each_other(n, each, within, 0.5, seed) for seed in range(6)]
    assert sum(warned(judgments) for judgments, _ in studies) >= 5
    for judgments, scores in studies:
        # What the warning says: the order is much worse than it need be, and how to have it.
        usual = aggcal.aggregate(judgments, warn=False).scores
        plain = aggcal.aggregate(judgments, "btl", prior=None, warn=False).scores
        correlations = [np.corrcoef(found, scores)[0, 1] for found in (usual, plain)]
        assert correlations[1] > max(correlations[0] + 0.02, 0.8)


def test_a_model_that_chose_the_pairs_is_told_where_the_answers_do_not_tell() -> None:
    told = {"guess": 0, "answers": 0, "other": 0}
    for seed in range(8):
        judgments, scores = next_to_each_other(60, 40, 3, 0.3, seed)
        random = np.random.default_rng(seed)
        random.standard_normal(60)
        guess = scores + 0.3 * random.standard_normal(60)
        fit = aggcal.aggregate(judgments, warn=False).quantify()
        told["answers"] += any(warning.code == CODE for warning in fit.warnings)
        other = np.random.default_rng(99 + seed).standard_normal(60)
        for name, model in (("guess", guess), ("other", other)):
            scored = {"item": judgments.item_ids, "score": model}
            found = aggcal.calibrate(scored, fit, warn=False)
            told[name] += any(warning.code == CODE for warning in (*found.warnings, *fit.warnings))
    assert told["guess"] == 8
    assert told["other"] == told["answers"] < 8


@pytest.mark.parametrize("seed", range(6))
def test_other_designs_are_not(seed: int) -> None:
    assert not warned(at_random(60, 14, seed)[0])
    assert not warned(at_random(12, 20, seed)[0])
    assert not warned(at_random(20, 6, seed)[0])
    assert not warned(at_random(40, 6, seed)[0])
    assert not warned(next_to_each_other(60, 40, 3, None, seed)[0])
    assert not warned(next_to_each_other(200, 30, 5, None, seed)[0])
    assert not warned(swiss(60, 20, seed)[0])


def test_the_check_tells_it_too() -> None:
    judgments, _ = next_to_each_other(60, 40, 12, 0.5, 1)
    fit = aggcal.aggregate(judgments, warn=False).quantify()
    found = aggcal.check(judgments, consensus=fit)
    assert CODE in {finding.code for finding in found.findings}
