"""Simulation: the promised moments, and the chances that the link says."""

from __future__ import annotations

import numpy as np
import pytest

from aggcal.errors import OptionError
from aggcal.models.links import link
from aggcal.simulate import simulate


@pytest.mark.parametrize("name", ["logistic", "normal", "laplace"])
def test_judgments_follow_the_link(name: str) -> None:
    made = simulate(items=4, annotators=2, judgments=200_000, link=name, seed=2)
    chance = link(name).probability
    for u in range(2):
        for i in range(4):
            for j in range(i):
                ahead = np.sum((made.annotator == u) & (made.winner == i) & (made.loser == j))
                behind = np.sum((made.annotator == u) & (made.winner == j) & (made.loser == i))
                gap = made.reliability[u] * (made.latent[i] - made.latent[j])
                expected = float(chance(np.array([gap]))[0])
                n = ahead + behind
                error = 4.5 * np.sqrt(expected * (1 - expected) / n)
                assert ahead / n == pytest.approx(expected, abs=error)


def test_moments_are_exact_and_seeds_repeat() -> None:
    made, again = simulate(seed=4), simulate(seed=4)
    assert made.latent.mean() == pytest.approx(0.0, abs=1e-12)
    assert made.latent.std() == pytest.approx(1.0)
    assert made.reliability.mean() == pytest.approx(1.0)
    np.testing.assert_allclose(made.truth, 50 + 10 * made.latent)
    np.testing.assert_array_equal(made.winner, again.winner)
    assert (made.winner != made.loser).all()
    assert not np.array_equal(made.winner, simulate(seed=5).winner)


def test_reversed_share_and_model_error() -> None:
    made = simulate(
        annotators=20,
        reversed_share=0.25,
        items=5000,
        model_sd=3.0,
        model_bias=2.0,
        model_slope=0.5,
    )
    assert (made.reliability < 0).sum() == 5
    error = made.model - (50 + 2 + 0.5 * (made.truth - 50))
    assert error.std() == pytest.approx(3.0, rel=0.05)


@pytest.mark.parametrize(
    "wrong", [{"items": 1}, {"judgments": 0}, {"reversed_share": 1.5}, {"model_sd": -1.0}]
)
def test_impossible_studies_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(OptionError, match="give"):
        simulate(**wrong)  # type: ignore[arg-type]  # on purpose
