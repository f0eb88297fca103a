"""Lemmas 3.1 and 3.2 and Theorem 3.3: closed forms, finite differences and simulation.

In judgment l annotator u compares items i and j: a = e_i − e_j, d = a's, x = γ_u d. Matrices are
dense. Everything is a sum over judgments: the paper divides both its blocks and its covariances by
N, which cannot be right. The lemmas are true with a fix each, the theorem is false;
docs/explanation/theory.md says why. The paper's γ₀ is 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import FloatArray, IntArray
from aggcal.aggregation.links import LOGISTIC, Link, link

_STEPS, _SMALL = 100, 1e-12
"""Newton's steps at most, and the one after which the next changes nothing: a few are enough."""
_NULL = 1e-10  # share of the largest eigenvalue below which one is a rounded 0


@dataclass(frozen=True, eq=False)
class Design:
    """Who compared what: one row for each judgment, whatever was answered."""

    annotator: IntArray
    left: IntArray
    right: IntArray
    n_items: int

    @property
    def differences(self) -> FloatArray:
        """A row a = e_i − e_j for each judgment."""
        item = np.eye(self.n_items)
        return np.asarray(item[self.left] - item[self.right])


def information(
    design: Design, link: Link, scores: FloatArray, reliabilities: FloatArray
) -> FloatArray:
    """Return the Fisher information of (s, γ): Σ W ∇x ∇x' with W = f²/(F(1 − F))."""
    differences = design.differences
    gap, slope = differences @ scores, reliabilities[design.annotator]
    by_annotator = np.eye(len(reliabilities))[design.annotator]
    gradient = np.hstack([slope[:, None] * differences, gap[:, None] * by_annotator])
    weight = link.terms(slope * gap)[1] * link.terms(-slope * gap)[1]
    return np.asarray(gradient.T @ (weight[:, None] * gradient))


def published_heterogeneous(joint: FloatArray, n_items: int) -> FloatArray:
    """Return S⁺ of Lemma 3.1 as printed, S the Schur complement of γ in the information.

    S has two null directions, 1 and s, not one: S⁺ is the covariance of scores whose *length* is
    held, which is not how the paper fits them.
    """
    cross, own = joint[:n_items, n_items:], joint[n_items:, n_items:]
    schur = joint[:n_items, :n_items] - cross @ np.linalg.solve(own, cross.T)
    return _pseudo_inverse(schur)


def heterogeneous(
    joint: FloatArray, scores: FloatArray, held: Literal["reliability", "length"] = "reliability"
) -> FloatArray:
    """Return the covariance of Lemma 3.1 under both of its constraints: U (U' J U)⁻¹ U'.

    Σ s = 0, and either the mean of γ (as the paper fits) or the length of s is held; U spans what
    moves neither.
    """
    n, m = len(scores), len(joint) - len(scores)
    unit = {"reliability": [np.zeros(n), np.ones(m)], "length": [scores, np.zeros(m)]}[held]
    constraints = [np.r_[np.ones(n), np.zeros(m)], np.concatenate(unit)]
    free = np.linalg.svd(np.array(constraints))[2][2:].T
    covariance = free @ np.linalg.solve(free.T @ joint @ free, free.T)
    return np.asarray(covariance[:n, :n])


def limit(design: Design, link: Link, probabilities: FloatArray) -> FloatArray:
    """Return s_* of Lemma 3.2, to which the homogeneous fit converges, by Newton's method.

    Parameters
    ----------
    design, link
        The judgments and F.
    probabilities
        Of the left item in each judgment. Answers, 0 or 1, in their place give the fit itself.
    """
    differences, scores = design.differences, np.zeros(design.n_items)
    for _ in range(_STEPS):
        pull, curvature, _ = _slopes(design, link, scores, probabilities)
        step = _pseudo_inverse(curvature) @ (differences.T @ pull)
        scores = scores + step
        if np.abs(step).max() < _SMALL:
            return scores
    raise RuntimeError(f"Newton's method did not end in {_STEPS} steps.")


def homogeneous(
    design: Design,
    link: Link,
    probabilities: FloatArray,
    drawn: Literal["judgments", "answers"] = "judgments",
) -> FloatArray:
    """Return the sandwich A⁺ B A⁺ of Lemma 3.2 at s_*.

    The printed B is right where whole judgments are drawn anew. Where the same pairs are asked of
    the same annotators again, only their answers vary, and by less.
    """
    differences, scores = design.differences, limit(design, link, probabilities)
    _, curvature, (ahead, behind) = _slopes(design, link, scores, probabilities)
    p = probabilities
    varies = {
        "judgments": p * ahead**2 + (1.0 - p) * behind**2,
        "answers": p * (1.0 - p) * (ahead + behind) ** 2,
    }[drawn]
    bread = _pseudo_inverse(curvature)
    return np.asarray(bread @ differences.T @ (varies[:, None] * differences) @ bread)


def excess(homogeneous: FloatArray, heterogeneous: FloatArray) -> FloatArray:
    """Return by how much more the homogeneous fit varies in each direction but 1.

    Theorem 3.3 says that all of these eigenvalues are positive, which is false.
    """
    inside = np.linalg.svd(np.ones((1, len(homogeneous))))[2][1:].T
    return np.linalg.eigvalsh(inside.T @ (homogeneous - heterogeneous) @ inside)


def _slopes(
    design: Design, link: Link, scores: FloatArray, probabilities: FloatArray
) -> tuple[FloatArray, FloatArray, tuple[FloatArray, FloatArray]]:
    """Return the expected gradient in each gap, A, and the pulls of either answer."""
    differences = design.differences
    gap = differences @ scores
    (_, ahead, bent), (_, behind, bent_back) = link.terms(gap), link.terms(-gap)
    curvature = probabilities * bent + (1.0 - probabilities) * bent_back
    pull = probabilities * ahead - (1.0 - probabilities) * behind
    return pull, differences.T @ (curvature[:, None] * differences), (ahead, behind)


def _pseudo_inverse(matrix: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.pinv(matrix, rcond=_NULL, hermitian=True))


LATENT = np.array([-1.5, -0.6, 0.0, 0.6, 1.5])
SLOPES = np.array([0.4, 1.0, 1.6])  # of mean 1, as the paper has it


def every_pair(times: int, n_items: int, n_annotators: int) -> Design:
    """Every annotator judges every pair so many times."""
    left, right = np.triu_indices(n_items, 1)
    per_annotator = times * len(left)
    annotator = np.repeat(np.arange(n_annotators), per_annotator)
    whole = times * n_annotators
    return Design(annotator, np.tile(left, whole), np.tile(right, whole), n_items)


def chosen(design: Design, rows: IntArray) -> Design:
    """Return some of the judgments."""
    return Design(design.annotator[rows], design.left[rows], design.right[rows], design.n_items)


def chances(design: Design, latent: FloatArray, slopes: FloatArray) -> FloatArray:
    """Return the probability of the left item in each judgment."""
    gap = latent[design.left] - latent[design.right]
    return LOGISTIC.probability(slopes[design.annotator] * gap)


def along(covariance: FloatArray) -> float:
    """Return the variance of the gap of the first and the last item."""
    gap = np.zeros(len(covariance))
    gap[[0, -1]] = -1.0, 1.0
    return float(gap @ covariance @ gap)


# ------------------------------------------------------------------------- Lemma 3.1


@pytest.mark.parametrize("name", ["logistic", "normal", "laplace"])
def test_the_information_is_the_curvature_of_the_expected_likelihood(name: str) -> None:
    """And its blocks are the paper's: the two sign errors there cancel."""
    own, design = link(name), every_pair(1, 5, 3)
    at = np.concatenate([LATENT, SLOPES])

    def x(point: FloatArray) -> FloatArray:
        return point[5:][design.annotator] * (point[design.left] - point[design.right])

    p = own.probability(x(at))

    def lost(point: FloatArray) -> float:
        return float(p @ own.terms(x(point))[0] + (1.0 - p) @ own.terms(-x(point))[0])

    step = 1e-3 * np.eye(8)
    found = np.array(
        [
            [
                lost(at + a + b) - lost(at + a - b) - lost(at - a + b) + lost(at - a - b)
                for b in step
            ]
            for a in step
        ]
    )
    joint = information(design, own, LATENT, SLOPES)
    np.testing.assert_allclose(joint, found / 4e-6, atol=2e-5 * joint.max())


def test_two_directions_are_not_identified() -> None:
    joint = information(every_pair(1, 5, 3), LOGISTIC, LATENT, SLOPES)
    inverse = published_heterogeneous(joint, 5)
    assert np.linalg.matrix_rank(inverse) == 5 - 2
    np.testing.assert_allclose(inverse @ np.ones(5), 0.0, atol=1e-9)
    np.testing.assert_allclose(inverse @ LATENT, 0.0, atol=1e-9)
    # So the printed formula is the covariance of scores of a given length.
    np.testing.assert_allclose(inverse, heterogeneous(joint, LATENT, "length"), atol=1e-9)
    # Of two items it says that their gap is known exactly.
    two = information(every_pair(1, 2, 3), LOGISTIC, LATENT[:2], SLOPES)
    np.testing.assert_allclose(published_heterogeneous(two, 2), 0.0, atol=1e-9)


def test_two_items_and_one_annotator_have_a_closed_form() -> None:
    """γ = 1 is then known, and the gap has the variance 1/(k p (1 − p)) of a logit."""
    joint = information(every_pair(50, 2, 1), LOGISTIC, LATENT[:2], np.ones(1))
    p = float(LOGISTIC.probability(np.diff(LATENT[:2]))[0])
    found = heterogeneous(joint, LATENT[:2])
    assert along(found) == pytest.approx(1.0 / (50 * p * (1.0 - p)))


@pytest.mark.slow
def test_fits_vary_as_both_constraints_say_and_far_more_than_printed() -> None:
    random, design = np.random.default_rng(0), every_pair(60, 5, 3)
    p = chances(design, LATENT, SLOPES)
    fits = []
    for _ in range(200):
        left = random.random(len(p)) < p
        winner, loser = (
            np.where(left, one, other).astype(np.int32)
            for one, other in ((design.left, design.right), (design.right, design.left))
        )
        judgments = aggcal.Judgments.of_codes(design.annotator.astype(np.int32), winner, loser)
        fits.append(aggcal.aggregate(judgments, prior=None, estimator="mode", warn=False).scores)
    joint = information(design, LOGISTIC, LATENT, SLOPES)
    held = heterogeneous(joint, LATENT)
    np.testing.assert_allclose(np.cov(fits, rowvar=False), held, atol=0.2 * held.max())
    # With their length held, fits vary as is printed: the first and the last by a fifteenth.
    scaled = np.array(fits)
    scaled *= np.linalg.norm(LATENT) / np.linalg.norm(scaled, axis=1, keepdims=True)
    printed = published_heterogeneous(joint, 5)
    np.testing.assert_allclose(np.cov(scaled, rowvar=False), printed, atol=0.2 * printed.max())
    assert along(held) / along(printed) == pytest.approx(15.0, abs=0.5)


# ------------------------------------------------------------------------- Lemma 3.2


def test_two_items_of_a_homogeneous_fit_have_a_closed_form() -> None:
    """The fit is the logit of a mean: f² times its variance is the mean's."""
    design = every_pair(40, 2, 3)
    p = chances(design, LATENT[:2], SLOPES)
    mean = p.mean()
    gap = limit(design, LOGISTIC, p) @ [1.0, -1.0]
    assert gap == pytest.approx(np.log(mean / (1.0 - mean)))
    slope, rows = mean * (1.0 - mean), len(p)
    assert along(homogeneous(design, LOGISTIC, p)) == pytest.approx(1.0 / (rows * slope))
    fixed = homogeneous(design, LOGISTIC, p, "answers")
    assert along(fixed) == pytest.approx((p * (1.0 - p)).sum() / (rows * slope) ** 2)


@pytest.mark.parametrize("name", ["logistic", "normal", "laplace"])
def test_where_all_are_alike_it_is_the_inverse_of_the_information(name: str) -> None:
    own, design = link(name), every_pair(2, 5, 3)
    p = own.probability(LATENT[design.left] - LATENT[design.right])
    np.testing.assert_allclose(limit(design, own, p), LATENT, atol=1e-10)
    inverse = np.linalg.pinv(information(design, own, LATENT, np.ones(3))[:5, :5], rcond=1e-10)
    np.testing.assert_allclose(homogeneous(design, own, p), inverse, atol=1e-10)
    np.testing.assert_allclose(homogeneous(design, own, p, "answers"), inverse, atol=1e-10)


@pytest.mark.slow
def test_fits_vary_less_where_only_answers_are_drawn_than_where_judgments_are() -> None:
    """The published lemma has the second for both."""
    random, whole = np.random.default_rng(1), every_pair(40, 5, 4)
    slopes = np.array([0.3, 0.6, 1.2, 2.4])
    p = chances(whole, LATENT, slopes)
    fixed, drawn = [], []
    for _ in range(600):
        fixed.append(limit(whole, LOGISTIC, (random.random(len(p)) < p).astype(float)))
        rows = random.integers(len(p), size=len(p))
        part = chosen(whole, rows)
        drawn.append(limit(part, LOGISTIC, (random.random(len(p)) < p[rows]).astype(float)))
    of_answers = homogeneous(whole, LOGISTIC, p, "answers")
    of_judgments = homogeneous(whole, LOGISTIC, p)
    for fits, said in ((fixed, of_answers), (drawn, of_judgments)):
        np.testing.assert_allclose(np.cov(fits, rowvar=False), said, atol=0.12 * said.max())
    assert np.trace(of_answers) < 0.95 * np.trace(of_judgments)


# ------------------------------------------------- Theorem 3.3: efficiency of weighting


def test_weighting_annotators_is_not_always_more_efficient() -> None:
    """γ = (0.2, 0.6): the homogeneous limit is a shrunken s, and varies *less* everywhere."""
    latent, slopes = np.linspace(-2.0, 2.0, 6), np.array([0.2, 0.6])
    design = every_pair(1, 6, 2)
    p = chances(design, latent, slopes)
    assert (np.abs(limit(design, LOGISTIC, p)) < np.abs(latent)).all()
    weighted = heterogeneous(information(design, LOGISTIC, latent, slopes), latent)
    for drawn in ("judgments", "answers"):
        difference = excess(homogeneous(design, LOGISTIC, p, drawn), weighted)
        assert (difference < 0.0).all(), "the published order is reversed in every direction"


def bound_of_the_limit(design: Design, latent: FloatArray, slopes: FloatArray) -> FloatArray:
    """Return D J⁻ D', the Cramér–Rao bound of what the homogeneous fit estimates."""
    at, step = np.concatenate([latent, slopes]), 1e-5
    n = len(latent)

    def estimated(point: FloatArray) -> FloatArray:
        return limit(design, LOGISTIC, chances(design, point[:n], point[n:]))

    moved = [estimated(at + d) - estimated(at - d) for d in step * np.eye(len(at))]
    slope = np.array(moved).T / (2.0 * step)
    joint = information(design, LOGISTIC, latent, slopes)
    return np.asarray(slope @ np.linalg.pinv(joint, rcond=1e-10, hermitian=True) @ slope.T)


@pytest.mark.parametrize("seed", range(5))
def test_the_homogeneous_fit_obeys_the_bound_for_its_own_target(seed: int) -> None:
    random = np.random.default_rng(seed)
    whole = every_pair(3, 5, 3)
    rows = random.permutation(len(whole.left))[:60]
    design = chosen(whole, rows)
    latent, slopes = random.standard_normal(5), np.exp(0.5 * random.standard_normal(3))
    p = chances(design, latent, slopes)
    found = homogeneous(design, LOGISTIC, p, "answers")
    assert excess(found, bound_of_the_limit(design, latent, slopes)).min() > -1e-7


def test_with_one_design_and_small_gaps_equal_weights_cost_the_variation_of_reliabilities() -> None:
    """Σ of the homogeneous fit = (1 + CV²(γ)) Σ, but for scale and location, to first order."""
    latent, slopes = 1e-3 * LATENT, SLOPES
    design = every_pair(1, 5, 3)
    found = homogeneous(design, LOGISTIC, chances(design, latent, slopes))
    weighted = heterogeneous(information(design, LOGISTIC, latent, slopes), latent)
    inside = np.linalg.svd(np.vstack([np.ones(5), latent]))[2][2:].T
    factor = 1.0 + slopes.var() / slopes.mean() ** 2
    np.testing.assert_allclose(
        inside.T @ found @ inside, factor * (inside.T @ weighted @ inside), rtol=1e-4, atol=1e-6
    )
