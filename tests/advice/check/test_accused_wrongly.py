"""Honest annotators of unusual kinds are accused of nothing that they do not do."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import FloatArray, IntArray
from aggcal.advice.check import Check, check
from aggcal.aggregation.links import LOGISTIC
from aggcal.simulation import simulate


def answered(
    random: np.random.Generator,
    scores: FloatArray,
    slopes: FloatArray,
    who: IntArray,
    *,
    readiness: FloatArray | None = None,
    side: FloatArray | None = None,
) -> dict[str, Any]:
    """Answer random pairs: ``scores`` has a row for each annotator, ``readiness`` is to tie.

    ``side`` is what the left one is worth to each annotator.
    """
    n, size = scores.shape[1], len(who)
    left = random.integers(n, size=size)
    right = (left + 1 + random.integers(n - 1, size=size)) % n
    gap = slopes[who] * (scores[who, left] - scores[who, right])
    chance = LOGISTIC.probability(gap if side is None else gap + side[who])
    outcome = np.where(random.random(size) < chance, "left", "right").astype(object)
    if readiness is not None:
        odds = np.exp(readiness[who]) * np.sqrt(chance * (1.0 - chance))
        outcome[random.random(size) < odds / (1.0 + odds)] = "tie"
    named = np.array([f"u{u:02d}" for u in range(len(scores))], dtype=object)
    items = np.array([f"i{i:02d}" for i in range(n)], dtype=object)
    return {
        "annotator": named[who],
        "left": items[left],
        "right": items[right],
        "outcome": outcome,
    }


def looked_at(table: dict[str, Any]) -> Check:
    return check(aggcal.read_judgments(table), quick=True, with_precision=False)


def named(found: Check, *codes: str) -> set[str]:
    given = [f.details.get("annotators", []) for f in found.findings if f.code in codes]
    return {name for names in given for name in names}


def evenly(random: np.random.Generator, annotators: int, judgments: int) -> IntArray:
    return random.permutation(np.arange(judgments) % annotators)


@pytest.mark.parametrize("seed", range(4))
def test_many_careless_beside_careful_ones_do_not_guess(seed: int) -> None:
    random = np.random.default_rng([1, seed])
    scores = np.tile(random.normal(size=25), (20, 1))
    slopes = np.where(np.arange(20) % 2, 0.25, 3.0)
    found = looked_at(answered(random, scores, slopes, evenly(random, 20, 2000)))
    assert not named(found, "guessing")


def test_who_guesses_beside_careful_ones_is_still_named() -> None:
    caught = 0
    for seed in range(4):
        random = np.random.default_rng([2, seed])
        scores = np.tile(random.normal(size=12), (6, 1))
        slopes = np.array([0.0, 0.0, 1.0, 1.0, 1.0, 1.0])
        found = looked_at(answered(random, scores, slopes, evenly(random, 6, 3600)))
        assert named(found, "guessing") <= {"u00", "u01"}
        caught += len(named(found, "guessing"))
    assert caught >= 4


def test_few_answers_by_an_order_of_ones_own_are_rarely_called_guesses() -> None:
    accused = 0
    for seed in (3, 6, 9, 17):  # of 24 studies, those in which anybody was called guessing
        random = np.random.default_rng([3, seed])
        scores = np.tile(random.normal(size=40), (40, 1))
        scores[:5] = random.normal(size=(5, 40))
        slopes = np.exp(0.4 * random.normal(size=40))
        found = looked_at(answered(random, scores, slopes, evenly(random, 40, 4000)))
        accused += len(named(found, "guessing"))
    assert accused <= 3  # of 120 such annotators; it was 6


@pytest.mark.parametrize("seed", range(6))
def test_an_order_that_runs_against_the_others_by_chance_is_not_their_opposite(seed: int) -> None:
    random = np.random.default_rng([4, seed])
    common = random.normal(size=25)
    common /= common.std()
    other = random.normal(size=25)
    other -= np.polyval(np.polyfit(common, other, 1), common)
    scores = np.tile(common, (12, 1))
    scores[0] = other / other.std() - 0.4 * common
    who = np.concatenate([np.zeros(400, dtype=np.int64), 1 + evenly(random, 11, 1600)])
    found = looked_at(answered(random, scores, np.ones(12), who))
    assert not named(found, "reversed-annotators", "guessing")


@pytest.mark.parametrize("seed", range(4))
def test_whoever_is_slow_to_decide_is_not_erratic(seed: int) -> None:
    random = np.random.default_rng([5, seed])
    scores = np.tile(1.5 * random.normal(size=15), (12, 1))
    slopes = np.exp(0.4 * random.normal(size=12))
    readiness = np.where(np.arange(12) % 2, 3.0, -4.0)
    found = looked_at(
        answered(random, scores, slopes, evenly(random, 12, 2400), readiness=readiness)
    )
    assert "erratic" not in {finding.code for finding in found.findings}


@pytest.mark.parametrize("seed", range(4))
def test_answers_that_hardly_count_are_not_called_erratic(seed: int) -> None:
    """Of those who weigh little, the reliability is hardly known: it may be far from the usual."""
    random = np.random.default_rng([7, seed])
    scores = np.tile(1.5 * random.normal(size=20), (10, 1))
    slopes = np.where(np.arange(10) % 2, 0.4, 1.6)
    who = evenly(random, 10, 1000)
    table = answered(random, scores, slopes, who)
    weights = np.where(slopes < 1.0, 0.02, 1.0)
    assert not named(looked_at(table | {"weight": weights[who]}), "erratic")


def test_no_side_is_named_where_annotators_prefer_different_ones() -> None:
    random = np.random.default_rng(6)
    side = np.zeros(20)
    side[:4] = 2.0, -2.0, 2.0, -2.0
    scores = np.tile(random.normal(size=25), (20, 1))
    found = looked_at(answered(random, scores, np.ones(20), evenly(random, 20, 2400), side=side))
    [note] = [finding for finding in found.findings if finding.code == "side-preferred"]
    assert note.title == "Annotators' preferences for a side are taken out of the scores"
    assert named(found, "position-bias") == {"u00", "u01", "u02", "u03"}


def test_who_follows_another_order_is_not_called_inattentive() -> None:
    random = np.random.default_rng([4, 0])
    scores = np.tile(random.normal(size=25), (12, 1))
    scores[0] = random.normal(size=25)
    who = np.concatenate([np.zeros(400, dtype=np.int64), 1 + evenly(random, 11, 1600)])
    found = looked_at(answered(random, scores, np.ones(12), who))
    [own] = [finding for finding in found.findings if finding.code == "own-order"]
    assert named(found, "own-order") == {"u00"}
    assert "agree with each other" in own.message


@pytest.mark.parametrize("noisy", [0.5, 0.75])
def test_one_noisy_person_beside_others_who_hardly_err_does_not_guess(noisy: float) -> None:
    """Beside those, the answers look like coins; but they follow the others, if weakly."""
    for seed in range(6):
        random = np.random.default_rng([7, seed])
        scores = np.tile(random.normal(size=25), (10, 1))
        slopes = np.where(np.arange(10) == 0, noisy, 20.0)
        found = looked_at(answered(random, scores, slopes, evenly(random, 10, 500)))
        assert not named(found, "guessing", "reversed-annotators", "contradicting")


def test_who_guesses_beside_others_who_hardly_err_is_still_named() -> None:
    caught = 0
    for seed in range(6):
        random = np.random.default_rng([8, seed])
        scores = np.tile(random.normal(size=12), (10, 1))
        slopes = np.where(np.arange(10) == 0, 0.0, 20.0)
        found = looked_at(answered(random, scores, slopes, evenly(random, 10, 2000)))
        caught += "u00" in named(found, "guessing")
    assert caught >= 4


def test_one_with_an_order_of_their_own_is_rarely_called_guessing() -> None:
    accused = 0
    for seed in (2, 15, 20, 30, 44, 79, 93, 109):  # of 120 studies, those in which it happened
        study = simulate(
            items=60, annotators=40, judgments=8000, reliability_sd=0.4, camp_share=0.025, seed=seed
        )
        accused += bool(named(looked_at(study.shown), "guessing"))
    assert accused <= 3  # it was 8


@pytest.mark.parametrize(
    ("method", "prior", "seed"),
    [("btl", "default", 6), ("btl", "default", 20), ("hra-g", None, 4), ("hra-g", None, 22)],
)
def test_nobody_is_accused_because_of_how_the_consensus_was_fitted(
    method: str, prior: Literal["default"] | None, seed: int
) -> None:
    """Four honest people of unequal care, who answered every question twice.

    By scores that take people to be alike they repeated their answers more than the scores explain;
    by scores without a prior they contradicted themselves.
    """
    random = np.random.default_rng(seed)
    truth, care = 2.0 * random.normal(size=40), np.exp(random.normal(size=4))
    rows = []
    for person in range(4):
        for _ in range(60):
            i, j = random.choice(40, 2, replace=False)
            chance = 1.0 / (1.0 + np.exp(care[person] * (truth[j] - truth[i])))
            for _ in range(2):
                above, below = (i, j) if random.random() < chance else (j, i)
                rows.append((f"person {person}", f"item {above}", f"item {below}"))
    judgments = aggcal.read_judgments(rows)
    consensus = aggcal.aggregate(judgments, method, prior=prior, warn=False)
    found = {each.code for each in aggcal.check(judgments, consensus=consensus).findings}
    accusing = {"guessing", "reversed-annotators"}
    assert not found & (accusing | {"contradicting"})
