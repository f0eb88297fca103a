"""The scale of crowd mixtures: wide, skewed, and part of every interval of a score."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from aggcal._core.arrays import FloatArray
from aggcal.aggregation.methods import HRA, CrowdBT
from aggcal.data.judgments import Judgments


def study(
    random: np.random.Generator, items: int, annotators: int, each: int
) -> tuple[Judgments, FloatArray, FloatArray]:
    """Return judgments by crowd-bt's own model, the true scores and probabilities of honesty."""
    scores, honest = random.standard_normal(items), random.beta(4.0, 1.0, annotators)
    owner = np.repeat(np.arange(annotators), each)
    first = random.integers(items, size=len(owner))
    second = (first + random.integers(1, items, size=len(owner))) % items
    seen = random.random(len(owner)) < expit(scores[first] - scores[second])
    won = seen == (random.random(len(owner)) < honest[owner])
    codes = owner, np.where(won, first, second), np.where(won, second, first)
    judgments = Judgments.of_codes(*(c.astype(np.int32) for c in codes))
    return judgments, scores - scores.mean(), honest


def exact(judgments: Judgments, alpha: float, beta: float) -> FloatArray:
    """Return the posterior sds of three centred scores, log σ ~ N(0, 1), on a grid."""
    axis = np.linspace(-12.0, 12.0, 121)
    u, v = np.meshgrid(axis, axis, indexing="ij")
    # Orthonormal coordinates of scores about their mean.
    scores = np.stack([u / 2**0.5 + v / 6**0.5, -u / 2**0.5 + v / 6**0.5, -2.0 * v / 6**0.5])
    eta = (np.arange(30) + 0.5) / 30
    prior = eta ** (alpha - 1.0) * (1.0 - eta) ** (beta - 1.0)
    log_sd = np.linspace(-4.0, 4.0, 81)[:, None, None]
    spread = -0.5 * (u * u + v * v) * np.exp(-2.0 * log_sd) - 2.0 * log_sd - 0.5 * log_sd**2
    log_density = np.log(np.exp(spread).sum(axis=0))
    left = np.asarray(judgments.outcome) == 1.0
    winner = np.where(left, judgments.left, judgments.right)
    loser = np.where(left, judgments.right, judgments.left)
    for one in range(judgments.n_annotators):
        mine = np.asarray(judgments.annotator) == one
        logs = np.zeros((len(eta), *u.shape))
        for i in range(3):
            for j in range(3):
                times = np.count_nonzero(mine & (winner == i) & (loser == j))
                if times:
                    ahead = expit(scores[i] - scores[j])
                    logs += times * np.log(
                        np.multiply.outer(eta, ahead) + np.multiply.outer(1.0 - eta, 1.0 - ahead)
                    )
        most = logs.max(axis=0)
        log_density += most + np.log(np.tensordot(prior, np.exp(logs - most), 1))
    weight = np.exp(log_density - log_density.max())
    weight /= weight.sum()
    means = (weight * scores).sum(axis=(1, 2))
    return np.asarray(np.sqrt((weight * (scores - means[:, None, None]) ** 2).sum(axis=(1, 2))))


def test_standard_errors_are_those_of_the_exact_posterior() -> None:
    """The curvature alone gives 0.7 of them."""
    ratios = []
    for seed in range(6):
        judgments, _, _ = study(np.random.default_rng(seed), 3, 5, 80)
        found = CrowdBT().fit(judgments).quantify("laplace").uncertainty
        assert found is not None
        ratios.append(found.se / exact(judgments, 4.0, 1.0))
    assert 0.9 < np.mean(ratios) < 1.1


@pytest.mark.slow
def test_intervals_of_few_annotators_cover() -> None:
    scores, annotators = [], []
    for seed in range(24):
        judgments, truth, honest = study(np.random.default_rng(seed), 10, 5, 60)
        known = CrowdBT().fit(judgments).quantify("laplace", level=0.9).uncertainty
        assert known is not None
        assert known.reliability_low is not None
        assert known.reliability_high is not None
        scores.append(np.mean((known.low <= truth) & (truth <= known.high)))
        inside = (known.reliability_low <= honest) & (honest <= known.reliability_high)
        annotators.append(np.mean(inside))
    # Means of 24 studies are known to about 0.015 and 0.03.
    assert 0.86 <= np.mean(scores) <= 0.96
    assert 0.84 <= np.mean(annotators) <= 0.96


def test_the_scale_widens_scores_and_no_order() -> None:
    judgments, _, _ = study(np.random.default_rng(3), 10, 5, 60)
    known = CrowdBT().fit(judgments).quantify("laplace").uncertainty
    assert known is not None
    assert known.scale is not None
    assert np.all(known.se >= known.order_se)
    farthest = np.argmax(np.abs(known.scores))
    assert known.se[farthest] > 1.05 * known.order_se[farthest]
    drawn = known.draws()
    assert drawn is not None
    place = np.argsort(np.argsort(-drawn, axis=1), axis=1) + 1
    assert known.rank_draws is not None
    assert np.array_equal(np.sort(place, axis=0), np.asarray(known.rank_draws))


def test_where_the_unit_is_a_convention_there_is_no_scale() -> None:
    judgments, _, _ = study(np.random.default_rng(3), 10, 5, 60)
    known = HRA().fit(judgments).quantify("laplace").uncertainty
    assert known is not None
    assert known.scale is None
    assert np.array_equal(known.se, known.order_se)
