"""Errors on easy pairs: found where answers are tossed, and nowhere else."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal.advice.check import check

ITEMS, ANNOTATORS, EACH = 20, 10, 400


def answered(
    random: np.random.Generator,
    tossed: FloatArray,
    *,
    times: int = 1,
    heavy: bool = False,
) -> dict[str, Any]:
    """Answer random pairs, a share of each annotator's answers by a coin, each so many times.

    Those who toss none have a reliability about 1, the others 5. ``heavy`` are errors that become
    rare far more slowly than those of a logistic curve.
    """
    size = ANNOTATORS * EACH
    who = np.repeat(np.arange(ANNOTATORS), EACH)
    left = random.integers(ITEMS, size=size)
    right = (left + random.integers(1, ITEMS, size=size)) % ITEMS
    scores = 1.5 * random.normal(size=ITEMS)
    slopes = np.where(tossed > tossed.min(), 5.0, np.exp(0.4 * random.normal(size=ANNOTATORS)))
    gap = slopes[who] * (scores[left] - scores[right])
    chance = 0.5 + np.arctan(1.5 * gap) / np.pi if heavy else expit(gap)
    chance = (1.0 - tossed[who]) * chance + 0.5 * tossed[who]
    up = random.random(size) < chance
    rows = {
        "annotator": who.astype(str),
        "left": left.astype(str),
        "right": right.astype(str),
        "outcome": np.where(up, "left", "right").astype(object),
    }
    return {name: np.repeat(column, times) for name, column in rows.items()}


def erratic(table: dict[str, Any]) -> set[str]:
    found = check(aggcal.read_judgments(table), quick=True, with_precision=False).findings
    return {name for f in found if f.code == "erratic" for name in f.details["annotators"]}


def alike(share: float) -> FloatArray:
    return np.full(ANNOTATORS, share)


def test_who_tosses_some_answers_is_found_and_nobody_else() -> None:
    found = []
    for seed in range(4):
        tossed = alike(0.0)
        tossed[3] = 0.25
        found.append(erratic(answered(np.random.default_rng([1, seed]), tossed)))
    assert set.union(*found) == {"3"}
    assert sum(map(len, found)) >= 2


@pytest.mark.parametrize("seed", range(4))
def test_where_all_toss_some_nobody_is_named_for_it(seed: int) -> None:
    assert not erratic(answered(np.random.default_rng([2, seed]), alike(0.1)))


@pytest.mark.parametrize("seed", range(4))
def test_errors_of_another_curve_are_held_against_nobody(seed: int) -> None:
    assert not erratic(answered(np.random.default_rng([3, seed]), alike(0.0), heavy=True))


@pytest.mark.parametrize("seed", range(4))
def test_one_error_told_five_times_is_one(seed: int) -> None:
    """Honest answers of which each is in the table many times."""
    assert not erratic(answered(np.random.default_rng([4, seed]), alike(0.0), times=5))


@pytest.mark.parametrize("seed", range(4))
def test_who_sees_one_item_in_another_way_does_not_lapse(seed: int) -> None:
    """Careful answers, but the best item is the worst to one of them."""
    random = np.random.default_rng([5, seed])
    size = ANNOTATORS * EACH
    who = np.repeat(np.arange(ANNOTATORS), EACH)
    left = random.integers(ITEMS, size=size)
    right = (left + random.integers(1, ITEMS, size=size)) % ITEMS
    scores = np.tile(np.linspace(2.0, -2.0, ITEMS), (ANNOTATORS, 1))
    scores[4, 0] = -2.5
    gap = 2.0 * (scores[who, left] - scores[who, right])
    rows = {
        "annotator": who.astype(str),
        "left": left.astype(str),
        "right": right.astype(str),
        "outcome": np.where(random.random(size) < expit(gap), "left", "right").astype(object),
    }
    assert not erratic(rows)


@pytest.mark.parametrize("seed", range(4))
def test_pairs_of_long_rankings_are_not_taken_for_lapses(seed: int) -> None:
    """Each of eight puts twenty items in order twice; the table does not say so."""
    random = np.random.default_rng([6, seed])
    scores, rows = 1.5 * random.normal(size=ITEMS), []
    for who in range(8):
        slope = np.exp(0.4 * random.normal())
        for _ in range(2):
            order = np.argsort(-(slope * scores + random.gumbel(size=ITEMS)))
            rows += [(f"u{who}", f"i{a}", f"i{b}") for a, b in combinations(order, 2)]
    annotator, winner, loser = np.array(rows, dtype=object).T
    assert not erratic({"annotator": annotator, "winner": winner, "loser": loser})


def test_two_annotators_are_not_held_against_each_other() -> None:
    tossed = alike(0.0)
    tossed[1] = 0.3
    table = answered(np.random.default_rng(7), tossed)
    two = np.isin(table["annotator"], ["0", "1"])
    assert not erratic({name: column[two] for name, column in table.items()})
