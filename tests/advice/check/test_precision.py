"""The number of judgments that is foretold, against studies of that size."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.precision import precision
from aggcal.errors import OptionError
from aggcal.metrics import kendall
from aggcal.simulation import simulate


def fitted_study(judgments: int, seed: int) -> tuple[Fitted, np.ndarray]:
    study = simulate(items=40, annotators=20, judgments=judgments, reliability_sd=0.3, seed=seed)
    return Fitted.of(aggcal.read_judgments(study.judgments)), study.latent


def test_the_chance_of_a_right_order_is_that_of_the_truth() -> None:
    """With enough items the limit of the scores is the truth that made the judgments."""
    claimed, true = [], []
    for seed in range(4):
        fitted, latent = fitted_study(1000, seed)
        found = precision(fitted)
        assert found is not None
        claimed.append(found.right_order)
        true.append(0.5 + 0.5 * kendall(fitted.scores, latent)[0])
    assert np.mean(claimed) == pytest.approx(np.mean(true), abs=0.02)


def test_as_many_judgments_as_foretold_reach_the_aim() -> None:
    needed = []
    for seed in range(3):
        found = precision(fitted_study(1000, seed)[0])
        assert found is not None
        assert found.needed is not None
        needed.append(found.needed)
    reached = []
    for seed in range(10, 13):
        fitted, latent = fitted_study(round(float(np.mean(needed))), seed)
        reached.append(0.5 + 0.5 * kendall(fitted.scores, latent)[0])
    # Where scores may be in clusters, rather too many judgments are foretold than too few.
    assert 0.885 <= np.mean(reached) <= 0.925


def test_a_wanted_standard_error_is_reached_when_foretold() -> None:
    found = precision(fitted_study(1000, 1)[0], 0.15)
    assert found is not None
    assert found.needed is not None
    later = precision(fitted_study(found.needed, 2)[0], 0.15)
    assert later is not None
    assert later.standard_error == pytest.approx(0.15, rel=0.12)
    assert "more judgments" in str(found)


def test_impossible_aims_are_refused() -> None:
    fitted = fitted_study(200, 1)[0]
    with pytest.raises(OptionError, match="above 0"):
        precision(fitted, 0.0)
