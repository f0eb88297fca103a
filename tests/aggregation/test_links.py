"""Links: against mpmath-free closed forms, finite differences and each other's symmetry."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from aggcal.aggregation.links import link
from aggcal.errors import OptionError

LINKS = ("logistic", "normal", "laplace")
GRID = np.concatenate([np.linspace(-40, 40, 161), np.array([-1e-9, 0.0, 1e-9])])


@pytest.mark.parametrize("name", LINKS)
def test_derivatives_agree_with_finite_differences(name: str) -> None:
    x = np.linspace(-12, 12, 97)
    h = 1e-5
    terms = link(name).terms
    loss_up, pull_up, _ = terms(x + h)
    loss_down, pull_down, _ = terms(x - h)
    _, pull, curve = terms(x)
    np.testing.assert_allclose(-(loss_up - loss_down) / (2 * h), pull, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(-(pull_up - pull_down) / (2 * h), curve, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("name", LINKS)
def test_loss_is_minus_log_of_the_probability_and_f_is_symmetric(name: str) -> None:
    chosen = link(name)
    x = np.linspace(-30, 30, 121)
    loss, _, _ = chosen.terms(x)
    np.testing.assert_allclose(np.exp(-loss), chosen.probability(x), rtol=1e-10)
    np.testing.assert_allclose(chosen.probability(x) + chosen.probability(-x), 1.0, atol=1e-15)


@pytest.mark.parametrize("name", LINKS)
def test_tails_stay_finite_and_curvature_is_never_negative(name: str) -> None:
    x = np.array([-1e8, -1e4, -2e3, -700.0, -40.0, 0.0, 40.0, 700.0, 1e4, 1e8])
    loss, pull, curve = link(name).terms(x)
    for column in (loss, pull, curve):
        assert np.isfinite(column).all()
    assert (pull >= 0).all()
    assert (curve >= 0).all()
    assert (np.diff(loss) <= 0).all()
    assert loss[-1] == 0.0


@pytest.mark.parametrize("name", LINKS)
def test_the_stated_sd_is_that_of_the_distribution(name: str) -> None:
    chosen = link(name)
    # Var = 4 ∫ x (1 - F(x)) dx over x > 0 for a symmetric distribution.
    area, _ = integrate.quad(lambda x: x * chosen.probability(np.array([-x]))[0], 0, 80)
    assert np.sqrt(4 * area) == pytest.approx(chosen.sd, rel=1e-6)


def test_laplace_is_the_difference_of_two_laplace_noises() -> None:
    def chance(x: float) -> float:
        return float(
            integrate.quad(
                lambda t: stats.laplace.pdf(t) * stats.laplace.cdf(x + t), -40, 40, points=[0.0, -x]
            )[0]
        )

    x = np.array([-2.5, -0.3, 0.0, 1.0, 4.0])
    expected = [chance(float(v)) for v in x]
    np.testing.assert_allclose(link("laplace").probability(x), expected, rtol=1e-7)


def test_unknown_link_lists_the_known_ones() -> None:
    with pytest.raises(OptionError, match="logistic, normal, laplace"):
        link("cauchit")
