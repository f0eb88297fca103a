"""What a side is worth over a study: told only where the scores leave enough of it."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import starts_of
from aggcal.advice.check import side_of_study
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.row_sums import Shifted


def fitted_of(one_sided: float) -> Fitted:
    """Seven items against eight others; a share of the pairs show one of the seven on the left."""
    random, number = np.random.default_rng(4), 900
    scores = random.normal(size=15)
    one, other = random.integers(7, size=number), random.integers(7, 15, size=number)
    turned = random.random(number) >= 0.5 * (1.0 + one_sided)
    left, right = np.where(turned, other, one), np.where(turned, one, other)
    won = random.random(number) < 1.0 / (1.0 + np.exp(-(scores[left] - scores[right])))
    table = {
        "annotator": [f"u{u}" for u in random.integers(12, size=number)],
        "left": [f"i{k:02}" for k in left],
        "right": [f"i{k:02}" for k in right],
        "outcome": np.where(won, "left", "right").tolist(),
    }
    return Fitted.of(aggcal.read_judgments(table))


@pytest.mark.parametrize("one_sided", [0.0, 0.6, 0.9, 0.97, 1.0])
def test_a_side_is_told_where_a_weaker_prior_leaves_enough(one_sided: float) -> None:
    """The bound that spares a second solution never decides otherwise than the solution."""
    fitted = fitted_of(one_sided)
    judgments = fitted.judgments
    decided = np.ones(len(judgments.count), dtype=bool)
    number = judgments.count.astype(np.float64)
    offset = fitted.population.slopes[judgments.annotator] * fitted.gap
    rows = Shifted(starts_of(judgments.annotator, 12), offset, judgments.outcome, number)
    whole, error = side_of_study.advantage_of_all(fitted, decided, rows)
    at = 0.0  # what the side is worth, by steps of Newton's method
    for _ in range(20):
        pull, curves = rows.sums(np.full(12, at))
        at += float(pull.sum() / curves.sum())
    p = 1.0 / (1.0 + np.exp(-(offset + at)))
    doubt = number * p * (1.0 - p)
    imbalance = side_of_study._imbalance(fitted, decided, doubt)
    information = side_of_study._information(fitted, decided, doubt)
    kept, weaker = (
        1.0 - imbalance @ np.linalg.solve(information + prior * np.eye(15), imbalance) / doubt.sum()
        for prior in (fitted.precision, 0.25 * fitted.precision)
    )
    assert (error == inf) == (weaker < 0.2) == (one_sided > 0.95)
    assert whole == pytest.approx(0.0 if error == inf else at / kept, rel=1e-6)


@pytest.mark.parametrize("joined", [1.0, 1e-7])
def test_what_scores_take_is_the_same_in_steps_and_by_a_factor(
    monkeypatch: pytest.MonkeyPatch, joined: float
) -> None:
    """Two halves of the items that are hardly joined take more steps than are tried."""
    random, n = np.random.default_rng(7), 60
    weight = np.triu(random.random((n, n)) < 0.2, 1) * random.uniform(0.5, 1.5, (n, n))
    weight[:30, 30:] *= joined
    information = np.diag((weight + weight.T).sum(axis=0)) - weight - weight.T
    imbalance = information @ random.normal(size=n)
    imbalance[:30] += 1.0
    by_factor = side_of_study._taken_by_scores(information, 1e-6, imbalance)
    monkeypatch.setattr(side_of_study, "_FOR_STEPS", 10)
    in_steps = side_of_study._taken_by_scores(information, 1e-6, imbalance)
    assert in_steps == pytest.approx(by_factor, rel=1e-9)
