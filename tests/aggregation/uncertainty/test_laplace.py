"""Lemma 3.1, corrected: two constraints, and what goes wrong with one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal.aggregation.covariance import DenseCovariance
from aggcal.aggregation.laplace import inverse, laplace
from aggcal.models.information import Information
from aggcal.models.links import link
from aggcal.models.rows import Rows, rows_of
from aggcal.models.thurstone import Thurstone
from aggcal.simulation import simulate


def free(scores: FloatArray, slopes: FloatArray, rows: Rows) -> Information:
    """The information without any prior."""
    return Information(Thurstone(rows, link("logistic"), 0.0, 0.0), scores, slopes)


def some_rows() -> tuple[FloatArray, FloatArray, Rows]:
    study = simulate(items=8, annotators=4, judgments=600, seed=3)
    return study.latent, study.reliability, rows_of(aggcal.read_judgments(study.judgments))


def whole(information: Information) -> FloatArray:
    """Return the joint information of scores and reliabilities."""
    schur, carried = information.dense()
    assert carried is not None
    border = carried.toarray() * information.inner
    scores = schur + border @ (border / information.inner).T
    return np.block([[scores, border], [border.T, np.diag(information.inner)]])


def test_without_priors_location_and_scale_are_both_free() -> None:
    scores, slopes, rows = some_rows()
    schur, _ = free(scores, slopes, rows).dense()
    size = np.linalg.norm(schur)
    assert np.abs(schur @ np.ones(8)).max() < 1e-10 * size
    assert np.abs(schur @ scores).max() < 1e-10 * size
    values = np.linalg.eigvalsh(schur)
    assert np.count_nonzero(values < 1e-9 * values[-1]) == 2, "rank n - 2, not n - 1 as printed"


def test_the_constrained_inverse_is_the_one_with_both_constraints() -> None:
    scores, slopes, rows = some_rows()
    n, m = len(scores), len(slopes)
    joint = whole(free(scores, slopes, rows))
    constraints = np.zeros((2, n + m))
    constraints[0, :n] = 1.0
    constraints[1, n:] = 1.0
    basis = np.linalg.svd(constraints)[2][2:].T
    expected = basis @ np.linalg.inv(basis.T @ joint @ basis) @ basis.T
    covariance, spread = laplace(free(scores, slopes, rows), unit=np.ones(m))
    assert isinstance(covariance, DenseCovariance)
    np.testing.assert_allclose(covariance.matrix, expected[:n, :n], atol=1e-9)
    assert spread is not None
    np.testing.assert_allclose(spread, np.diag(expected)[n:], atol=1e-9)


def test_with_priors_it_is_the_inverse_of_the_whole(study_judgments: aggcal.Judgments) -> None:
    consensus = aggcal.aggregate(study_judgments, warn=False)
    problem = Thurstone(rows_of(study_judgments), link("logistic"), 1.0, 4.0)
    information = Information(problem, consensus.scores, consensus.reliabilities)
    n = len(consensus.scores)
    inverse = np.linalg.inv(whole(information))
    covariance, spread = laplace(information)
    assert isinstance(covariance, DenseCovariance)
    centre = np.eye(n) - 1.0 / n
    np.testing.assert_allclose(covariance.matrix, centre @ inverse[:n, :n] @ centre, atol=1e-9)
    assert spread is not None
    np.testing.assert_allclose(spread, np.diag(inverse)[n:], atol=1e-9)


@pytest.mark.slow
def test_the_published_formula_is_wrong_for_the_published_normalisation() -> None:
    """Six items, four annotators, 600 judgments each, mean reliability 1: Var(s_6 − s_1)."""
    random = np.random.default_rng(0)
    latent = np.linspace(-1.5, 1.5, 6)
    slopes = np.array([0.5, 0.8, 1.2, 1.5])
    gaps, formula, published = [], [], []
    for k in range(150):
        i = random.integers(6, size=2400)
        j = (i + random.integers(1, 6, size=2400)) % 6
        u = np.repeat(np.arange(4), 600)
        wins = random.random(2400) < 1.0 / (1.0 + np.exp(-slopes[u] * (latent[i] - latent[j])))
        w, l = np.where(wins, i, j), np.where(wins, j, i)  # noqa: E741
        codes = [np.asarray(c, dtype=np.int32) for c in (u, w, l)]
        found = aggcal.aggregate(aggcal.Judgments.of_codes(*codes), prior=None, warn=False)
        gaps.append(found.scores[5] - found.scores[0])
        if k < 20:
            known = found.uncertainty
            assert known is not None
            formula.append(known.covariance.gap_variance(np.array([5]), np.array([0]))[0])
            rows = rows_of(aggcal.Judgments.of_codes(*codes))
            schur, _ = free(found.scores, found.reliabilities, rows).dense()
            inverse = np.linalg.pinv(schur, rcond=1e-8, hermitian=True)
            published.append(inverse[5, 5] + inverse[0, 0] - 2 * inverse[5, 0])
    actual = np.var(gaps, ddof=1)
    assert np.mean(formula) == pytest.approx(actual, rel=0.35)
    assert np.mean(published) < 0.4 * actual


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
    for home in ("laplace", "ranks", "uncertainty", "marginal_posterior"):
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
    # Without a matrix ranks are those of a normal prior, with one of an estimated shape.
    assert np.abs(free_.rank_low - exact.rank_low).max() <= 45
    assert np.abs(free_.rank_high - exact.rank_high).max() <= 45
    if exact.reliability_low is not None and free_.reliability_low is not None:
        np.testing.assert_allclose(free_.reliability_low, exact.reliability_low, atol=0.05)


@pytest.mark.parametrize("flat", [False, True])  # a Cholesky factor, and the root where none exists
def test_draws_have_the_covariance_they_are_drawn_from(flat: bool) -> None:
    random, n = np.random.default_rng(9), 300
    root = random.normal(size=(n, n)) / np.sqrt(n)
    matrix = root @ root.T + 0.1 * np.eye(n)
    if flat:
        matrix -= 1e-4 * np.trace(matrix) * np.eye(n) - np.diag(np.linspace(0.0, 5.0, n))
        matrix[0, 0] = -1e-3
    covariance = DenseCovariance(matrix)
    drawn = covariance.draws(20_000, np.random.default_rng(10))
    found = drawn.T @ drawn / len(drawn)
    expected = covariance.matrix
    if flat:
        with pytest.raises(np.linalg.LinAlgError):
            np.linalg.cholesky(expected + 1e-9 * covariance.variances.mean() * np.eye(n))
        values, vectors = np.linalg.eigh(expected)
        expected = (vectors * np.maximum(values, 0.0)) @ vectors.T
    np.testing.assert_allclose(found, expected, atol=0.05 * float(np.diag(expected).max()))


@pytest.mark.parametrize("flat", [False, True])
def test_an_inverse_in_place_is_the_same(flat: bool) -> None:
    root = np.random.default_rng(3).normal(size=(90, 80 if flat else 120))
    matrix = root @ root.T
    given = matrix.copy()
    kept, overwritten = inverse(given), inverse(matrix.copy(), overwrite=True)
    np.testing.assert_array_equal(given, matrix)
    np.testing.assert_allclose(overwritten, kept, rtol=1e-9)
    if not flat:
        np.testing.assert_allclose(kept @ matrix, np.eye(90), atol=1e-9)


def test_an_information_that_is_not_finite_is_refused() -> None:
    for at in ((0, 0), (3, 1)):
        matrix = 5.0 * np.eye(5)
        matrix[at] = matrix[at[::-1]] = np.nan
        for overwrite in (False, True):
            with pytest.raises(ValueError, match="not finite"):
                inverse(matrix.copy(), overwrite=overwrite)
