"""Simulation: the promised moments, and the chances that the link says."""

from __future__ import annotations

import numpy as np
import pytest

from aggcal.errors import OptionError
from aggcal.models.links import link
from aggcal.simulation import simulate


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


def test_faults_are_put_in_as_asked_and_leave_the_rest_as_it_was() -> None:
    clean = simulate(annotators=40, judgments=4000, seed=9)
    made = simulate(
        annotators=40,
        judgments=4000,
        guessing_share=0.1,
        left_share=0.1,
        copied_share=0.1,
        camp_share=0.2,
        camp_correlation=-1.0,
        seed=9,
    )
    assert [int((made.role == r).sum()) for r in ("guesses", "left", "copies", "camp")] == [
        4, 4, 4, 8,
    ]  # fmt: skip
    assert (made.winner == made.left)[(made.role == "left")[made.annotator]].all()
    np.testing.assert_allclose(made.camp_latent, -made.latent)
    honest = (made.role == "honest")[made.annotator]
    np.testing.assert_array_equal(made.winner[honest], clean.winner[honest])
    for one, other in made.copied.items():
        mine, theirs = (
            np.flatnonzero(made.annotator == one),
            np.flatnonzero(made.annotator == other),
        )
        size = min(len(mine), len(theirs))
        np.testing.assert_array_equal(made.winner[mine[:size]], made.winner[theirs[:size]])


def test_a_camp_may_have_any_correlation() -> None:
    made = simulate(items=50, camp_share=0.5, camp_correlation=0.3, seed=1)
    assert np.corrcoef(made.latent, made.camp_latent)[0, 1] == pytest.approx(0.3)
    with pytest.raises(OptionError, match="at most 1"):
        simulate(camp_share=0.6, left_share=0.6)
