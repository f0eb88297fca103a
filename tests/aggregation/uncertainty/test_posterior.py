"""Covariances of fits: without a prior, and of many items."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest

import aggcal
from aggcal.simulation import simulate


@pytest.mark.slow
def test_without_a_prior_errors_are_those_that_repeated_studies_show() -> None:
    """Six items, four annotators, 600 judgments each: Var(s_6 − s_1); as printed it is .4 of it."""
    random = np.random.default_rng(0)
    latent = np.linspace(-1.5, 1.5, 6)
    slopes = np.array([0.5, 0.8, 1.2, 1.5])
    gaps, formula = [], []
    for k in range(150):
        i = random.integers(6, size=2400)
        j = (i + random.integers(1, 6, size=2400)) % 6
        u = np.repeat(np.arange(4), 600)
        wins = random.random(2400) < 1.0 / (1.0 + np.exp(-slopes[u] * (latent[i] - latent[j])))
        codes = [np.asarray(c, np.int32) for c in (u, np.where(wins, i, j), np.where(wins, j, i))]
        found = aggcal.aggregate(aggcal.Judgments.of_codes(*codes), prior=None, warn=False)
        gaps.append(found.scores[5] - found.scores[0])
        if k < 20:
            known = found.uncertainty
            assert known is not None
            formula.append(known.covariance.gap_variance(np.array([5]), np.array([0]))[0])
    assert np.mean(formula) == pytest.approx(np.var(gaps, ddof=1), rel=0.35)


def test_few_judgments_each_and_no_prior_are_warned_of() -> None:
    study = simulate(items=6, annotators=60, judgments=600, seed=2)
    judgments = aggcal.read_judgments(study.judgments)
    found = aggcal.aggregate(judgments, prior=None, warn=False)
    assert any(w.code == "few-judgments" for w in found.warnings)
    assert not any(
        w.code == "few-judgments" for w in aggcal.aggregate(judgments, warn=False).warnings
    )


@pytest.mark.parametrize(
    ("method", "prior"),
    # The crowd mixtures need a prior.
    [*product(("hra-g", "hra-n", "btl"), ("default", None)), ("crowd-bt", "default")],
)
def test_no_matrix_gives_the_same_errors(
    method: str, prior: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = simulate(items=300, annotators=40, judgments=15_000, seed=5)
    judgments = aggcal.read_judgments(study.judgments)
    exact = (
        aggcal.aggregate(judgments, method, prior=prior, warn=False).quantify("laplace").uncertainty
    )
    assert exact is not None
    low, high = exact.rank_low, exact.rank_high
    for home in ("posterior", "uncertainty"):
        monkeypatch.setattr(f"aggcal.aggregation.{home}.MOST_DENSE", 10)
    # A fit keeps its posterior: another one is made without a matrix.
    free_ = (
        aggcal.aggregate(judgments, method, prior=prior, warn=False).quantify("laplace").uncertainty
    )
    assert free_ is not None
    np.testing.assert_allclose(free_.se, exact.se, rtol=0.1)
    i, j = np.array([0, 5]), np.array([7, 9])
    np.testing.assert_allclose(
        free_.covariance.gap_variance(i, j), exact.covariance.gap_variance(i, j), rtol=0.02
    )
    assert free_.covariance.dense() is None
    again = pickle.loads(pickle.dumps(free_)).covariance  # noqa: S301
    np.testing.assert_allclose(again.variances, free_.covariance.variances)
    # Without a matrix ranks are those of a normal prior, with one of an estimated shape.
    assert np.abs(free_.rank_low - low).max() <= 45
    assert np.abs(free_.rank_high - high).max() <= 45
    if exact.reliability_low is not None and free_.reliability_low is not None:
        np.testing.assert_allclose(free_.reliability_low, exact.reliability_low, atol=0.05)
