"""What weighting annotators is worth: nothing is said of annotators who may all be alike."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal.aggregation.uncertainty.efficiency import sd_beyond_noise
from aggcal.simulation import simulate


def consensus_of(seed: int, spread: float) -> aggcal.Consensus:
    study = simulate(items=40, annotators=20, judgments=2500, reliability_sd=spread, seed=seed)
    return aggcal.aggregate(aggcal.read_judgments(study.judgments), warn=False)


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_said_where_all_are_equally_reliable(seed: int) -> None:
    """Estimates of equal reliabilities differ by a fifth or so, by chance alone."""
    consensus = consensus_of(seed, 0.0)
    assert consensus.reliabilities.std() > 0.1
    assert consensus.efficiency() is None


@pytest.mark.parametrize("seed", range(2))
def test_real_differences_are_told(seed: int) -> None:
    found = consensus_of(seed, 0.8).efficiency()
    assert found is not None
    assert found["first_order_factor"] == pytest.approx(1.0 + found["cv"] ** 2)
    assert 0.2 < found["cv"] < 1.2


def test_what_is_left_is_the_spread_of_the_true_reliabilities() -> None:
    random = np.random.default_rng(0)
    true = 1.0 + 0.3 * random.standard_normal(4000)
    error = random.uniform(0.1, 0.4, 4000)
    seen = true + error * random.standard_normal(4000)
    critical_value = 1.959964 * error
    found = sd_beyond_noise(seen, seen - critical_value, seen + critical_value, 0.95, np.inf)
    assert found == pytest.approx(0.3, abs=0.02)


def test_equal_annotators_seldom_seem_to_differ() -> None:
    random = np.random.default_rng(1)
    told = 0
    for _ in range(2000):
        seen = 1.0 + 0.2 * random.standard_normal(6)
        critical_value = 1.959964 * 0.2
        told += (
            sd_beyond_noise(seen, seen - critical_value, seen + critical_value, 0.95, np.inf)
            is not None
        )
    assert told <= 2000 * 0.02
