"""Camps are told only where they predict answers that they were not made from."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal.advice.check import camps
from aggcal.advice.check.camp_signs import first_sign
from aggcal.advice.check.camps import HeldOut, held_out
from aggcal.advice.check.context import Fitted
from aggcal.aggregation.links import LOGISTIC


def test_many_ties_do_not_make_camps_of_annotators_who_agree() -> None:
    """The consensus was on the scale of a model of ties, the camps on that of halves.

    Whatever the division, camps then seemed to predict better, by the most that is possible.
    """
    random = np.random.default_rng(1)
    scores = random.normal(size=12)
    rows = []
    for k in range(1500):
        a, b = random.choice(12, 2, replace=False)
        p = 1.0 / (1.0 + np.exp(scores[b] - scores[a]))
        tie = random.random() < 3.6 * p * (1.0 - p)
        answer = "tie" if tie else "left" if random.random() < p else "right"
        rows.append((f"u{k % 5}", f"i{a}", f"i{b}", answer))
    judgments = aggcal.read_judgments(rows)
    sides = [np.array([True, True, False, False, True]), np.array([True, False, True, False, True])]
    for seed in range(2):
        assert held_out(judgments, sides, seed=seed).gain < 0.3


@pytest.mark.parametrize(
    ("gains", "asked", "found"),
    [
        ([0.5, 0.2], 2, True),
        ([0.2, 0.3], 2, False),
        ([-2.9, 3.6], 2, True),
        ([-3.1, 99.0], 1, False),
    ],
)
def test_splits_are_averaged_unless_the_first_is_hopeless(
    gains: list[float], asked: int, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds: list[int] = []

    def gain(*_: object, seed: int) -> HeldOut:
        seeds.append(seed)
        return HeldOut(gains[len(seeds) - 1], np.zeros(1), np.zeros(1))

    monkeypatch.setattr(camps, "held_out", gain)
    judgments = aggcal.read_judgments([("u", "a", "b")])
    assert (camps._predicted(judgments, [], 7)[0] >= camps._GAIN) == found
    assert seeds == [7, 8][:asked]


def answers_about(
    random: np.random.Generator, items: int, judgments: int, side: FloatArray, *, fixed: bool
) -> aggcal.Judgments:
    """Answers by one order; annotators prefer a side, and items may keep theirs."""
    m = len(side)
    who = random.permutation(np.arange(judgments) % m)
    left = random.integers(items, size=judgments)
    right = (left + 1 + random.integers(items - 1, size=judgments)) % items
    if fixed:
        left, right = np.minimum(left, right), np.maximum(left, right)
    scores, slopes = random.normal(size=items), np.exp(0.4 * random.normal(size=m))
    chance = LOGISTIC.probability(slopes[who] * (scores[left] - scores[right]) + side[who])
    return aggcal.read_judgments(
        {
            "annotator": who.astype(str),
            "left": left.astype(str),
            "right": right.astype(str),
            "outcome": np.where(random.random(judgments) < chance, "left", "right"),
        }
    )


@pytest.mark.parametrize("seed", range(6))
def test_who_puts_three_items_in_the_same_order_is_in_no_camp(seed: int) -> None:
    random = np.random.default_rng([1, seed])
    judgments = answers_about(random, 3, 3000, np.zeros(8), fixed=False)
    assert camps.camps(Fitted.of(judgments), set())[0] is None


@pytest.mark.parametrize("seed", range(6))
def test_who_prefers_a_side_shares_no_taste_where_items_keep_their_sides(seed: int) -> None:
    random = np.random.default_rng([2, seed])
    side = 0.7 + 0.7 * random.normal(size=12)
    judgments = answers_about(random, 20, 2000, side, fixed=True)
    assert not first_sign(Fitted.of(judgments), []).patterned
