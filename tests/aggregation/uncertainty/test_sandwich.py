"""The sandwich of the homogeneous models against simulation, for each design."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import FloatArray, IntArray
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.registry.literals import UncertaintyName

LATENT = np.array([-2.0, -0.8, 0.0, 0.8, 2.0])
SLOPES = np.array([0.3, 0.6, 1.2, 2.4])


def judged(random: np.random.Generator, u: IntArray, i: IntArray, j: IntArray) -> aggcal.Judgments:
    wins = random.random(len(u)) < 1.0 / (1.0 + np.exp(-SLOPES[u] * (LATENT[i] - LATENT[j])))
    w, l = np.where(wins, i, j), np.where(wins, j, i)  # noqa: E741
    return aggcal.Judgments.of_codes(*(np.asarray(c, dtype=np.int32) for c in (u, w, l)))


def design(random: np.random.Generator, rows: int) -> tuple[IntArray, IntArray, IntArray]:
    u = np.sort(random.integers(4, size=rows))
    i = random.integers(5, size=rows)
    return u, i, (i + random.integers(1, 5, size=rows)) % 5


def variances(kind: UncertaintyName, judgments: aggcal.Judgments) -> FloatArray:
    found = aggcal.aggregate(judgments, "btl", prior=None, warn=False).quantify(kind).uncertainty
    assert found is not None
    return found.covariance.variances


@pytest.mark.slow
def test_fixed_and_random_designs_differ_as_they_should() -> None:
    random = np.random.default_rng(1)
    rows = design(random, 2000)
    fixed, drawn, by_fixed, by_random = [], [], [], []
    for k in range(250):
        one, other = judged(random, *rows), judged(random, *design(random, 2000))
        fixed.append(aggcal.aggregate(one, "btl", prior=None, warn=False).scores)
        drawn.append(aggcal.aggregate(other, "btl", prior=None, warn=False).scores)
        if k < 10:
            by_fixed.append(variances("sandwich-fixed", one))
            by_random.append(variances("sandwich-random", other))
    of_fixed, of_random = np.var(fixed, axis=0, ddof=1), np.var(drawn, axis=0, ddof=1)
    np.testing.assert_allclose(np.mean(by_fixed, axis=0), of_fixed, rtol=0.3)
    np.testing.assert_allclose(np.mean(by_random, axis=0), of_random, rtol=0.3)
    # A fixed design varies less: the published lemma has the other one for both.
    assert of_fixed.sum() < of_random.sum()
    assert np.mean(by_fixed) < np.mean(by_random)


def many_annotators(random: np.random.Generator) -> aggcal.Judgments:
    slopes = np.exp(0.8 * random.standard_normal(40))
    opinions = LATENT + 0.5 * random.standard_normal((40, 5))
    u = np.repeat(np.arange(40), 50)
    i = random.integers(5, size=2000)
    j = (i + random.integers(1, 5, size=2000)) % 5
    gap = slopes[u] * (opinions[u, i] - opinions[u, j])
    wins = random.random(2000) < 1.0 / (1.0 + np.exp(-gap))
    w, l = np.where(wins, i, j), np.where(wins, j, i)  # noqa: E741
    return aggcal.Judgments.of_codes(*(np.asarray(c, dtype=np.int32) for c in (u, w, l)))


@pytest.mark.slow
def test_annotators_as_a_sample_by_sandwich_and_bootstrap() -> None:
    """Annotators with opinions of their own: judgments of one are not independent."""
    random = np.random.default_rng(2)
    scores, clustered, naive, boot = [], [], [], []
    for k in range(200):
        judgments = many_annotators(random)
        found = aggcal.aggregate(judgments, "btl", warn=False)
        scores.append(found.scores)
        if k < 8:
            clustered.append(found.quantify("sandwich").uncertainty)
            naive.append(found.quantify("laplace").uncertainty)
            boot.append(found.quantify("bootstrap", draws=100, seed=k).uncertainty)
    actual = np.var(scores, axis=0, ddof=1)

    def mean(kind: list[Uncertainty | None]) -> FloatArray:
        every = [u.covariance.variances for u in kind if u is not None]
        return np.asarray(np.mean(every, axis=0))

    np.testing.assert_allclose(mean(clustered), actual, rtol=0.35)
    np.testing.assert_allclose(mean(boot), actual, rtol=0.35)
    assert mean(naive).sum() < 0.6 * actual.sum()


def test_many_items_need_no_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    found = aggcal.aggregate(many_annotators(random), "btl", warn=False)
    exact = found.quantify("sandwich").uncertainty
    monkeypatch.setattr("aggcal.aggregation.uncertainty.sandwich.MOST_DENSE", 2)
    drawn = found.quantify("sandwich").uncertainty
    assert exact is not None
    assert drawn is not None
    np.testing.assert_allclose(drawn.se, exact.se, rtol=0.15)


def test_sandwich_is_for_models_without_reliabilities(study_judgments: aggcal.Judgments) -> None:
    found = aggcal.aggregate(study_judgments, warn=False)
    with pytest.raises(aggcal.AggcalError, match="choose laplace or bootstrap"):
        found.quantify("sandwich")
