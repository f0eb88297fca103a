"""What annotators are like, where one of them is as sure as numbers can say."""

from __future__ import annotations

import numpy as np
import pytest

from aggcal.advice.check.annotator_mixture import _shares


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_shares_of_kinds_that_are_far_less_likely_than_one_that_may_not_be() -> None:
    kinds = np.array([[-2000.0, -1500.0, 0.0], [-1.0, -5.0, -9.0]])
    shares, fit = _shares(kinds, (True, True, False))
    assert shares.sum() == pytest.approx(1.0)
    assert shares[2] == 0.0
    # By hand: the likelihood of the two that may be, at these shares.
    whole = np.logaddexp.reduce(kinds[:, :2] + np.log(shares[:2]), axis=1).sum()
    assert fit == pytest.approx(whole + 6.0 * np.log(shares[0]))
