"""Bounds on the variances of gaps: never too small, hardly too large; and when a matrix is made."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import FloatArray, IntArray
from aggcal.aggregation.methods import Estimator
from aggcal.aggregation.uncertainty.certified import Certified
from aggcal.aggregation.uncertainty.covariance import ALWAYS_DENSE, DenseCovariance
from aggcal.aggregation.uncertainty.gap_bounds import GapBounds, bounded
from aggcal.aggregation.uncertainty.matrix_free import MatrixFreeCovariance, independent
from aggcal.models.information import Information
from aggcal.models.links import link
from aggcal.models.rows import rows_of
from aggcal.models.thurstone import Thurstone


def pairs_of(design: str, n: int, number: int, random: np.random.Generator) -> IntArray:
    """Return a row of left and right items for each judgment; every item is judged."""
    left = np.concatenate([np.arange(n), random.integers(0, n, number - n)])
    if design == "star":
        right = np.zeros(number, dtype=np.int64)
    elif design == "chain":
        right = left + 1
    elif design == "couples":  # each item with one other only, and few of them with the rest
        right = np.where(np.arange(number) % 9, left ^ 1, left + random.integers(1, n, number))
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


def information_of(design: str, people: int, sd: float, random: np.random.Generator) -> Information:
    """Return the information of some study, its location and its unit held."""
    n, number = 40, 500
    left, right = pairs_of(design, n, number, random)
    annotator = np.sort(
        np.concatenate([np.arange(people), random.integers(0, people, number - people)])
    )
    up = random.random(number) < 0.5
    judgments = aggcal.Judgments.of_codes(
        annotator, np.where(up, left, right), np.where(up, right, left)
    )
    problem = Thurstone(rows_of(judgments), link("logistic"), sd**-2, 1.0)
    found = Information(
        problem, random.normal(size=n) * 2.0, np.exp(0.7 * random.normal(size=people))
    )
    found.fix_location()
    found.fix_unit(np.ones(people))
    return found


@pytest.mark.parametrize("design", ["random", "star", "chain", "couples", "blocks"])
@pytest.mark.parametrize("people", [2, 5, 60])
@pytest.mark.parametrize("sd", [0.3, 2.0, 30.0])
def test_no_gap_varies_more_than_its_bound(design: str, people: int, sd: float) -> None:
    random = np.random.default_rng(people)
    information = information_of(design, people, sd, random)
    covariance = np.linalg.inv(information.dense()[0])
    variances = np.diag(covariance)
    exact = variances[:, None] + variances - 2.0 * covariance
    every = np.arange(len(variances))
    bounds = GapBounds.of(
        bounded(variances, information.held_diagonal(), information.fixed_diagonal())
    )
    found = bounds.between(every[:, None], every)
    other = ~np.eye(len(every), dtype=bool)
    assert (found[other] >= exact[other] * (1.0 - 1e-9)).all()
    assert (found <= 2.0 * (variances[:, None] + variances) * (1.0 + 1e-9)).all()


def test_conventions_that_outweigh_judgments_leave_the_bound_true() -> None:
    random = np.random.default_rng(0)
    for strength in (0.1, 1.0, 10.0, 1000.0):
        information = information_of("random", 5, 1.0, random)
        information.constraints.append(strength * random.normal(size=40))
        covariance = np.linalg.inv(information.dense()[0])
        variances = np.diag(covariance)
        exact = variances[:, None] + variances - 2.0 * covariance
        every = np.arange(40)
        found = GapBounds.of(
            bounded(variances, information.held_diagonal(), information.fixed_diagonal())
        )
        other = ~np.eye(40, dtype=bool)
        assert (found.between(every[:, None], every) >= exact * (1.0 - 1e-9))[other].all()


def test_the_diagonal_with_annotators_held_is_that_of_the_joint_information() -> None:
    information = information_of("random", 5, 1.0, np.random.default_rng(1))
    schur, carried = information.dense()
    assert carried is not None
    joint = schur + carried.toarray() @ (carried.toarray() * information.inner).T
    np.testing.assert_allclose(information.held_diagonal(), np.diag(joint), rtol=1e-5)
    expected = sum(np.square(fixed) for fixed in information.constraints)
    np.testing.assert_allclose(information.fixed_diagonal(), expected)


@pytest.mark.parametrize("pieces", [1, 3])
def test_pairs_are_counted_as_they_are_listed(pieces: int) -> None:
    random = np.random.default_rng(4)
    n = 700
    variances = random.gamma(3.0, 0.01, n)
    covariance = MatrixFreeCovariance(variances, lambda v: variances * v, bounds=1.2 * variances)
    component = None if pieces == 1 else random.integers(0, pieces, n)
    found = Certified(random.normal(size=n), covariance, 0.95, component=component)
    assert found.count == sum(1 for _ in found.pairs()) > 0
    order = np.argsort(-found.scores, kind="stable")
    if component is None:
        assert found.count == sum(len(above) for above in found.above(order))


def test_independent_scores_have_the_sum_of_their_variances() -> None:
    sd = np.full(4000, 2.0)
    found = independent(sd).gap_bound(np.array([0, 5]), np.array([1, 9]))
    np.testing.assert_allclose(found, 8.0)


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
    found = aggcal.aggregate(judgments, estimator=estimator, warn=False).quantify().uncertainty
    for home in ("laplace", "marginal"):
        monkeypatch.setattr(f"aggcal.aggregation.uncertainty.{home}.ALWAYS_DENSE", 1000)
    exact = aggcal.aggregate(judgments, estimator=estimator, warn=False).quantify().uncertainty
    assert found is not None
    assert exact is not None
    assert isinstance(found.covariance, MatrixFreeCovariance)
    assert isinstance(exact.covariance, DenseCovariance)
    np.testing.assert_allclose(found.se, exact.se, rtol=0.03)
    assert 0.93 < found.certified().count / exact.certified().count <= 1.0
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
    found = aggcal.aggregate(judgments, estimator=estimator, warn=False).quantify().uncertainty
    assert found is not None
    assert isinstance(found.covariance, DenseCovariance)
