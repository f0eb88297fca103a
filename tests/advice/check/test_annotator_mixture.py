"""What annotators are like, where one of them is as sure as numbers can say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal._core.kernels import library
from aggcal.advice.check import annotator_mixture
from aggcal.advice.check.annotator_mixture import Population, _mixtures, _shares
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.reliability import strays
from aggcal.advice.check.row_sums import Seen
from aggcal.simulation import simulate


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_shares_of_kinds_that_are_far_less_likely_than_one_that_may_not_be() -> None:
    kinds = np.array([[-2000.0, -1500.0, 0.0], [-1.0, -5.0, -9.0]])
    shares, fit = _shares(kinds, (True, True, False))
    assert shares.sum() == pytest.approx(1.0)
    assert shares[2] == 0.0
    # By hand: the likelihood of the two that may be, at these shares.
    whole = np.logaddexp.reduce(kinds[:, :2] + np.log(shares[:2]), axis=1).sum()
    assert fit == pytest.approx(whole + 6.0 * np.log(shares[0]))


def test_shares_by_many_laws_are_the_same_compiled_and_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Likelihoods that differ by little and by more than numbers can say; laws for threads."""
    if library() is None:
        pytest.skip("there is no kernel")
    random, (laws, m) = np.random.default_rng(4), (30, 2500)
    along, against = random.normal(-40.0, 30.0, (2, laws, m))
    guess = random.normal(-40.0, 30.0, m)
    along[0], against[1, :5] = along[0] - 5000.0, -1e5
    compiled = _mixtures(along, guess, against)
    monkeypatch.setattr(annotator_mixture, "library", lambda: None)
    plain = _mixtures(along, guess, against)
    for one, other in zip(compiled, plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-14)
    assert np.ptp(plain[0][:, 0]) > 0.1


def test_a_chance_is_worked_out_in_full_wherever_it_is_small() -> None:
    random, full = np.random.default_rng(3), []
    for _ in range(60):
        m, rows = 30, int(random.integers(1, 60))
        wrong, right = random.exponential(5.0, m), random.exponential(9.0, m)
        plain = -np.abs(random.normal(size=(m, 40)).cumsum(axis=1))
        known = Population._fitted(wrong, right, plain, np.full(m, 20.0))
        pairs = random.integers(0, 20, (2, rows), dtype=np.int32)
        size, gap = np.abs(random.normal(size=rows)), random.normal(1.0, 0.5, rows)
        errors = random.normal(0.0, 0.4, (20, 48))
        left, right = pairs
        starts, once = np.array([0, rows]), np.ones(rows)
        seen = Seen(starts, left, right, gap, once, size, errors, np.ones(1))
        total, who = random.normal(-3.0, 3.0, 1), np.zeros(1, dtype=np.int64)
        whole, quick = (
            known.p_values_if_honest(
                total,
                seen,
                who,
                inflation=np.ones(1),
                degrees_of_freedom=np.full(1, 9.0),
                enough=np.full(1, enough),
            )[0]
            for enough in (np.inf, 0.01)
        )
        assert quick == whole if whole <= 0.01 else 0.01 < quick <= whole
        full.append(whole <= 0.01)
    assert 10 < sum(full) < 50


@pytest.mark.parametrize(
    "fault", [{}, {"guessing_share": 0.2}, {"reversed_share": 0.1}, {"camp_share": 0.2}]
)
def test_chances_that_decide_nothing_need_not_be_worked_out(
    monkeypatch: pytest.MonkeyPatch, fault: dict[str, Any]
) -> None:
    """Who is named is the same as if every chance were exact, and so is the chance that is told."""
    whole, stopped = Population.p_values_if_honest, 0

    def exactly(self: Population, total: Any, seen: Any, who: Any, **given: Any) -> Any:
        enough = np.full(len(self.wrong), np.inf)
        return whole(self, total, seen, who, **(given | {"enough": enough}))

    for seed in range(4):
        study = simulate(items=25, annotators=40, judgments=1600, seed=seed, **fault)
        fitted = Fitted.of(aggcal.read_judgments(study.judgments))
        early = strays(fitted)
        with monkeypatch.context() as patched:
            patched.setattr(Population, "p_values_if_honest", exactly)
            exact = strays(fitted)
        for name in ("reversed", "guessing", "doubtful", "perhaps_reversed", "own_order"):
            assert getattr(early, name).tolist() == getattr(exact, name).tolist()
        named = early.named
        np.testing.assert_array_equal(early.p_value[named], exact.p_value[named])
        assert (early.p_value <= exact.p_value + 1e-12).all()
        stopped += int((early.p_value < exact.p_value).sum())
    assert stopped > 0
