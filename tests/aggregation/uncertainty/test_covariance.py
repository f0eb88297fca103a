"""Covariances as matrices, from draws and without either: the same errors."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import FloatArray, IntArray
from aggcal.aggregation.covariance import DenseCovariance
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.registry.literals import Estimator


def by_model(judgments: aggcal.Judgments, estimator: Estimator) -> Uncertainty | None:
    """Return the errors that the model alone gives."""
    found = aggcal.aggregate(judgments, estimator=estimator, warn=False)
    return found.quantify("laplace").uncertainty


def covariance(n: int, seed: int = 0) -> DenseCovariance:
    """That of a study: some items are better known than others, and all depend on each other."""
    random = np.random.default_rng(seed)
    rows = random.standard_normal((n, 3 * n)) * random.uniform(0.5, 2.0, (n, 1))
    return DenseCovariance(np.asarray(np.linalg.inv(rows @ rows.T / n + 0.1 * np.eye(n)), float))


def test_scores_that_others_determine_are_drawn_exactly() -> None:
    # Two groups that hardly anything joins: within each, items differ a million times less.
    together = np.kron(np.eye(2), np.ones((4, 4)))
    known = DenseCovariance(1e6 * together + np.eye(8))
    drawn = known.draws(2000, np.random.default_rng(0))
    assert np.var(drawn[:, 0] - drawn[:, 1]) == pytest.approx(2.0, rel=0.15)


def test_gaps_of_a_table_of_pairs_are_those_of_each_pair() -> None:
    known, some = covariance(12), np.array([3, 0, 11, 3])
    every = np.arange(12)[::-1]
    for i, j in ((some[:, None], every), (every, some[:, None]), (some[:, None], every[None, :])):
        one, other = np.broadcast_arrays(i, j)
        found = known.gap_variance(i, j)
        by_pair = known.gap_variance(one.ravel(), other.ravel())
        np.testing.assert_allclose(found.ravel(), by_pair, rtol=1e-12, atol=1e-15)


def pairs_of(design: str, n: int, number: int, random: np.random.Generator) -> IntArray:
    """Return a row of left and right items for each judgment; every item is judged."""
    left = np.concatenate([np.arange(n), random.integers(0, n, number - n)])
    if design == "chain":
        right = left + 1
    elif design == "levels":  # items meet those that are near them in some order
        at = random.permutation(n)
        right = np.argsort(at)[(at[left] + random.integers(1, 31, number)) % n]
    elif design == "blocks":
        right = left // 10 * 10 + (left + random.integers(1, 10, number)) % 10
        right = np.where(np.arange(number) % 25, right, left + 10)
    else:
        right = left + random.integers(1, n, number)
    right = right % n
    return np.stack([left, np.where(left == right, (left + 1) % n, right)])


def study(design: str, n: int, number: int, seed: int) -> tuple[aggcal.Judgments, FloatArray]:
    random = np.random.default_rng(seed)
    left, right = pairs_of(design, n, number, random)
    scores, slopes = random.normal(size=n), np.exp(0.5 * random.normal(size=30))
    annotator = np.sort(random.integers(0, 30, number))
    up = random.random(number) < 1.0 / (
        1.0 + np.exp(-slopes[annotator] * (scores[left] - scores[right]))
    )
    codes = annotator, np.where(up, left, right), np.where(up, right, left)
    return aggcal.Judgments.of_codes(*(code.astype(np.int32) for code in codes)), scores


@pytest.mark.parametrize("estimator", ["marginal", "mode"])
def test_without_a_matrix_nearly_as_much_is_certified(
    estimator: Estimator, monkeypatch: pytest.MonkeyPatch
) -> None:
    judgments, _ = study("random", 550, 30_000, 1)
    exact = by_model(judgments, estimator)
    monkeypatch.setattr("aggcal.aggregation.posterior.MOST_DENSE", 500)
    found = by_model(judgments, estimator)
    assert found is not None
    assert exact is not None
    assert found.covariance.dense() is None
    assert isinstance(exact.covariance, DenseCovariance)
    np.testing.assert_allclose(found.se, exact.se, rtol=0.03)
    assert (np.abs(found.rank_low - exact.rank_low) < 40).all()
    widths = [
        known.reliability_high - known.reliability_low
        for known in (found, exact)
        if known.reliability_low is not None and known.reliability_high is not None
    ]
    assert len(widths) == 2
    np.testing.assert_allclose(widths[0], widths[1], rtol=0.03)
    again = pickle.loads(pickle.dumps(found)).covariance  # noqa: S301
    np.testing.assert_allclose(again.variances, found.covariance.variances)
    some = np.arange(100)
    np.testing.assert_allclose(
        found.order_probability(some, some + 1), exact.order_probability(some, some + 1), atol=0.03
    )
