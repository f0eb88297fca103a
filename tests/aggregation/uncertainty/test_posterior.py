"""Covariances of fits: Lemma 3.1, corrected, the expected information, and many items."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal.aggregation.annotators import Annotators, Beta, Normal, Prior
from aggcal.aggregation.covariance import DenseCovariance
from aggcal.aggregation.empirical import Fit, Model
from aggcal.aggregation.families import HONESTY, RELIABILITY, Advantage, Family, Mixture, Wins
from aggcal.aggregation.links import link
from aggcal.aggregation.modes import mode_rows
from aggcal.aggregation.newton import Convergence
from aggcal.aggregation.posterior import FitPosterior, ModeProblem
from aggcal.aggregation.rows import GAP, SCORES, Rows
from aggcal.simulation import simulate

RELIABLE = Advantage((RELIABILITY,), Wins(link("logistic")))


def at_mode(scores: FloatArray, slopes: FloatArray, rows: Rows, precision: float = 0.0) -> Fit:
    """The posterior at these scores and reliabilities, by default without any prior."""
    m = len(slopes)
    prior = Normal(np.ones((m, 1)), np.array([max(precision, 1e-9) ** -0.5]))

    def penalty(x: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        return 0.5 * precision * float(x @ x), precision * x, np.full(len(x), precision)

    component = np.zeros(len(scores), dtype=np.int64)
    fixed = frozenset({SCORES})
    model = Model(rows, RELIABLE, component, fixed=fixed, penalty=penalty, located=True)
    record = Convergence(True, 0, 0.0, 0.0, 0.0)  # noqa: FBT003
    return ModeProblem(model, slopes, prior, equally=True).fit(scores, record)


def some_rows() -> tuple[FloatArray, FloatArray, Rows]:
    study = simulate(items=8, annotators=4, judgments=600, seed=3)
    return study.latent, study.reliability, mode_rows(aggcal.read_judgments(study.judgments))


def whole(fit: Fit) -> FloatArray:
    """Return the joint information of scores and reliabilities."""
    own = fit.posterior.variance(fit.posterior.of(RELIABILITY))
    difference = np.outer(0.5 / np.sqrt(own), [-1.0, 1.0])
    tape = fit.curvature.tape
    border = tape.table(difference).toarray().T
    scores = tape.dense()[1] + np.diag(fit.curvature.precision)
    return np.block([[scores, border], [border.T, np.diag(1.0 / own)]])


def on_constraints(joint: FloatArray, constraints: FloatArray) -> FloatArray:
    basis = np.linalg.svd(constraints)[2][len(constraints) :].T
    return np.asarray(basis @ np.linalg.inv(basis.T @ joint @ basis) @ basis.T)


def test_without_priors_location_and_scale_are_both_free() -> None:
    scores, slopes, rows = some_rows()
    schur = at_mode(scores, slopes, rows).curvature.tape.dense()[0]
    size = np.linalg.norm(schur)
    assert np.abs(schur @ np.ones(8)).max() < 1e-9 * size
    assert np.abs(schur @ scores).max() < 1e-9 * size
    values = np.linalg.eigvalsh(schur)
    assert np.count_nonzero(values < 1e-8 * values[-1]) == 2, "rank n - 2, not n - 1 as printed"


@pytest.mark.parametrize("precision", [0.0, 2.0])
def test_the_inverse_is_the_one_on_both_constraints(precision: float) -> None:
    scores, slopes, rows = some_rows()
    n, m = len(scores), len(slopes)
    fit = at_mode(scores, slopes, rows, precision)
    constraints = np.zeros((2, n + m))
    constraints[0, n:] = constraints[1, :n] = 1.0
    # With a prior the mean of the scores has a place; variances are about it.
    expected = on_constraints(whole(fit), constraints[: 1 if precision else 2])
    found = FitPosterior(fit).result()
    assert isinstance(found.covariance, DenseCovariance)
    centre = np.eye(n) - 1.0 / n
    centred = centre @ expected[:n, :n] @ centre
    np.testing.assert_allclose(found.covariance.matrix, centred, atol=1e-7)
    assert found.reliability_variances is not None
    np.testing.assert_allclose(found.reliability_variances, np.diag(expected)[n:], atol=1e-7)


@pytest.mark.parametrize(
    ("family", "theta"),
    [
        *((replace(RELIABLE, law=Wins(link(name))), 0.7) for name in ("logistic", "normal")),
        (Mixture(link("logistic")), 0.8),
        (Mixture(link("normal"), 1.4), 0.3),
    ],
)
def test_the_information_is_the_mean_curvature_over_the_answers(
    family: Family, theta: float
) -> None:
    _, _, rows = some_rows()
    scores, m = np.linspace(-1.0, 1.5, 8), rows.n_annotators
    thetas = theta + 0.1 * np.arange(m) / m
    mixture = family.names == (HONESTY,)
    prior: Prior = Beta(3.0, 0.5, m) if mixture else Normal(np.ones((m, 1)), np.array([0.5]))
    tape, posterior = Annotators(rows, family).expected(scores, thetas, prior)
    name, gap = family.names[0], rows.channels[GAP].gather(scores)
    by_row = {name: rows.per_row(thetas)}
    won, lost = (family.terms({GAP: way}, by_row, rows.answers) for way in (gap, -gap))
    share = np.exp(-won.loss / rows.answers.weight)

    def mean(one: str, two: str, sign: float = 1.0) -> FloatArray:
        return np.asarray(
            share * won.curvature[one, two] + sign * (1.0 - share) * lost.curvature[one, two]
        )

    np.testing.assert_allclose(tape.score[GAP], won.score[GAP])
    np.testing.assert_allclose(tape.curvature[GAP, GAP], mean(GAP, GAP), rtol=1e-9)
    precision = rows.by_annotator(mean(name, name)) + prior.terms(thetas[:, None])[2][:, 0]
    variances = posterior.variance(posterior.of(name))
    np.testing.assert_allclose(variances, 1.0 / precision, rtol=1e-9)
    moved = rows.per_row(variances) * mean(GAP, name, -1.0)
    together = (rows.per_row(posterior.deviation(posterior.of(name))).T * tape.responses[GAP]).mean(
        0
    )
    np.testing.assert_allclose(together, -moved, rtol=1e-8, atol=1e-12)


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
            rows = mode_rows(aggcal.Judgments.of_codes(*codes))
            schur = at_mode(found.scores, found.reliabilities, rows).curvature.tape.dense()[0]
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
    for home in ("posterior", "ranks", "uncertainty"):
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
