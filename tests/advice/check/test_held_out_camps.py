"""Camps are told only where they predict answers that they were not made from."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal.advice.check import camps
from aggcal.advice.check.camps import held_out_gain


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
        assert held_out_gain(judgments, sides, seed=seed) < 0.3


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

    def gain(*_: object, seed: int) -> float:
        seeds.append(seed)
        return gains[len(seeds) - 1]

    monkeypatch.setattr(camps, "held_out_gain", gain)
    judgments = aggcal.read_judgments([("u", "a", "b")])
    assert camps._predict(judgments, [], 7) == found
    assert seeds == [7, 8][:asked]
