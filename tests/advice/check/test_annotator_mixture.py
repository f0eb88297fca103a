"""What annotators are like, where one of them is as sure as numbers can say."""

from __future__ import annotations

import numpy as np
import pytest

from aggcal.advice.check.annotator_mixture import _shares


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_shares_of_kinds_that_are_far_less_likely_than_one_that_may_not_be() -> None:
    kinds = np.array([[-2000.0, -1500.0, 0.0], [-1.0, -5.0, -9.0]])
    (shares,), (fit,) = _shares(kinds[None], (True, True, False))
    assert shares.sum() == pytest.approx(1.0)
    assert shares[2] == 0.0
    # By hand: the likelihood of the two that may be, at these shares.
    whole = np.logaddexp.reduce(kinds[:, :2] + np.log(shares[:2]), axis=1).sum()
    assert fit == pytest.approx(whole + 6.0 * np.log(shares[0]))


def test_shares_by_many_laws_are_those_by_each() -> None:
    """Likelihoods that differ by little and by more than numbers can say."""
    kinds = np.random.default_rng(4).normal(-40.0, 30.0, (30, 500, 3))
    kinds[0, :, 0] -= 5000.0
    kinds[1, :5, 2] = -1e5
    shares, fits = _shares(kinds, (True, True, True))
    assert np.ptp(shares[:, 0]) > 0.1
    for k in range(30):
        one, fit = _shares(kinds[k : k + 1], (True, True, True))
        np.testing.assert_allclose(shares[k], one[0], atol=1e-3)
        assert fits[k] == pytest.approx(fit[0], abs=0.01)
