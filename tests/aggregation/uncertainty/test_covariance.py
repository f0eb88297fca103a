"""Covariances as matrices, from draws and without either: the same errors."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import FloatArray, IntArray
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.aggregation.uncertainty.covariance import ALWAYS_DENSE, DenseCovariance
from aggcal.aggregation.uncertainty.matrix_free import MatrixFreeCovariance
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


@pytest.mark.parametrize("n", [2, 5, 80, 400])
def test_draws_in_single_precision_are_those_in_double(n: int) -> None:
    known, exact = covariance(n), covariance(n)
    vars(exact)["_single_root"] = None
    one, other = (each.draws(200, np.random.default_rng(1)) for each in (known, exact))
    off = np.abs(one - other) / np.sqrt(known.variances)
    # In double precision a trace of noise stands for what the last score has none of.
    assert off[:, :-1].max() < 1e-5
    assert off.max() < 0.01
    assert np.abs(one.sum(axis=1)).max() < 1e-9


def test_scores_that_others_tell_are_drawn_in_double_precision() -> None:
    # Two groups that hardly anything joins: within each, items differ a million times less.
    together = np.kron(np.eye(2), np.ones((4, 4)))
    known = DenseCovariance(1e6 * together + np.eye(8))
    drawn = known.draws(2000, np.random.default_rng(0))
    assert np.var(drawn[:, 0] - drawn[:, 1]) == pytest.approx(2.0, rel=0.15)


def test_what_draws_gain_is_what_an_estimate_gains() -> None:
    known, random = covariance(60), np.random.default_rng(3)
    residual = random.standard_normal((60, 7))
    for noise in (1.0, 1e-2, 1e-300):
        given = 1.3, 0.1 * noise, np.full(60, noise), residual
        np.testing.assert_allclose(known.gained(*given), known.gain(*given)[0], atol=1e-4)


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
    judgments, _ = study("random", ALWAYS_DENSE + 150, 30_000, 1)
    found = by_model(judgments, estimator)
    for home in ("laplace", "marginal"):
        monkeypatch.setattr(f"aggcal.aggregation.uncertainty.{home}.ALWAYS_DENSE", 1000)
    exact = by_model(judgments, estimator)
    assert found is not None
    assert exact is not None
    assert isinstance(found.covariance, MatrixFreeCovariance)
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
    # Whoever asks for all of it gets the same matrix.
    matrix = found.covariance.dense()
    assert matrix is not None
    np.testing.assert_allclose(matrix.matrix, exact.covariance.matrix, atol=1e-9)
    again = pickle.loads(pickle.dumps(found)).covariance  # noqa: S301
    np.testing.assert_allclose(again.dense().matrix, matrix.matrix)
    some = np.arange(100)
    np.testing.assert_allclose(
        found.order_probability(some, some + 1), exact.order_probability(some, some + 1), atol=0.03
    )


@pytest.mark.parametrize("design", ["chain", "blocks", "levels"])
@pytest.mark.parametrize("estimator", ["marginal", "mode"])
def test_a_matrix_is_made_where_scores_hang_together(design: str, estimator: Estimator) -> None:
    judgments, _ = study(design, ALWAYS_DENSE + 150, 12_000, 2)
    found = by_model(judgments, estimator)
    assert found is not None
    assert isinstance(found.covariance, DenseCovariance)
