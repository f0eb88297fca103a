"""Tails and many tests at once, against brute force and closed forms."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from aggcal.advice.check.testing import (
    benjamini_hochberg,
    odds_against,
    probability_of_at_least,
)


def test_tail_of_unequal_coins_is_that_of_enumeration() -> None:
    chances = np.array([0.1, 0.4, 0.5, 0.85, 0.99])
    for least in range(7):
        whole = 0.0
        for heads in product((0, 1), repeat=5):
            if sum(heads) >= least:
                each = np.where(np.array(heads) == 1, chances, 1.0 - chances)
                whole += float(np.prod(each))
        assert probability_of_at_least(least, chances) == pytest.approx(whole, abs=1e-12)


def test_many_coins_take_the_normal_tail() -> None:
    exact = probability_of_at_least(1060, np.full(2000, 0.5))
    assert probability_of_at_least(1060, np.full(2001, 0.5)) == pytest.approx(exact, rel=0.1)


def test_nothing_is_discovered_among_even_chances(random: np.random.Generator) -> None:
    alarms = [benjamini_hochberg(random.random(50), 0.05).any() for _ in range(2000)]
    assert np.mean(alarms) == pytest.approx(0.05, abs=0.015)


def test_what_is_rare_is_said_in_words() -> None:
    assert odds_against(0.5) == "with probability 1 in 2"
    assert odds_against(1e-300) == "with probability below one in a million"
