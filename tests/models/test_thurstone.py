"""The objective: its gradient and curvature against finite differences of a naive sum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal.models.crowd import Crowd
from aggcal.models.links import link
from aggcal.models.rows import rows_of
from aggcal.models.thurstone import Thurstone

ROWS: list[tuple[str, str, str, str | float, float]] = [
    ("u", "a", "b", "left", 1.0),
    ("u", "b", "c", "tie", 2.0),
    ("u", "c", "d", 0.2, 1.0),
    ("v", "a", "d", "right", 1.5),
    ("v", "b", "d", "left", 1.0),
    ("w", "d", "c", "left", 0.5),
    ("w", "a", "c", "left", 1.0),
]
LAMBDA, PRECISION = 0.7, 3.0


def naive(name: str, scores: FloatArray, gammas: FloatArray) -> float:
    """The penalised loss written as the formula says, one judgment at a time."""
    total = 0.5 * LAMBDA * float(scores @ scores)
    total += 0.5 * PRECISION * float(np.sum((gammas - 1.0) ** 2))
    strength = {"left": 1.0, "right": 0.0, "tie": 0.5}
    for u, i, j, outcome, weight in ROWS:
        p = strength[outcome] if isinstance(outcome, str) else outcome
        x = gammas["uvw".index(u)] * (scores["abcd".index(i)] - scores["abcd".index(j)])
        chance = float(link(name).probability(np.array([x]))[0])
        total -= weight * (p * np.log(chance) + (1 - p) * np.log1p(-chance))
    return float(total)


def reduced(name: str, scores: FloatArray) -> float:
    """The naive loss with γ eliminated by an independent optimiser."""

    def loss(gammas: FloatArray) -> float:
        return naive(name, scores, gammas)

    found = minimize(loss, np.ones(3), method="BFGS", tol=1e-10)
    return float(found.fun)


@pytest.fixture
def problem_scores(random: np.random.Generator) -> FloatArray:
    return random.normal(size=4)


@pytest.mark.parametrize("name", ["logistic", "normal", "laplace"])
def test_value_gradient_and_curvature_of_the_reduced_objective(
    name: str, problem_scores: FloatArray
) -> None:
    s = problem_scores
    problem = Thurstone(rows_of(aggcal.read_judgments(ROWS)), link(name), LAMBDA, PRECISION)
    point = problem.evaluate(s)
    assert point.value == pytest.approx(naive(name, s, problem.reliabilities), rel=1e-12)
    assert point.value == pytest.approx(reduced(name, s), rel=1e-9)
    h, unit = 1e-5, np.eye(4)
    numeric = [(reduced(name, s + h * e) - reduced(name, s - h * e)) / (2 * h) for e in unit]
    np.testing.assert_allclose(point.gradient, numeric, atol=1e-5)
    columns = []
    for e in unit:
        up = problem.evaluate(s + h * e).gradient
        down = problem.evaluate(s - h * e).gradient
        columns.append((up - down) / (2 * h))
    problem.evaluate(s)
    products = np.array([problem.product(e) for e in unit])
    np.testing.assert_allclose(products, np.array(columns), atol=1e-6)
    schur, _, _ = problem.curvature()
    np.testing.assert_allclose(schur, products, atol=1e-12)


def test_half_judgments_equal_a_tie_and_rows_merge() -> None:
    tie = rows_of(aggcal.read_judgments([("u", "a", "b", "tie")]))
    two = rows_of(
        aggcal.read_judgments([("u", "a", "b", "left", 0.5), ("u", "b", "a", "left", 0.5)])
    )
    for column in ("winner", "loser", "weight", "starts"):
        np.testing.assert_array_equal(getattr(tie, column), getattr(two, column))


def test_pooling_forgets_who_judged() -> None:
    rows = rows_of(aggcal.read_judgments([("u", "a", "b"), ("v", "a", "b"), ("v", "b", "a")]))
    pooled = rows.pooled()
    assert pooled.n_annotators == 1
    assert dict(zip(pooled.winner.tolist(), pooled.weight.tolist(), strict=True)) == {
        0: 2.0,
        1: 1.0,
    }


@pytest.mark.parametrize("width", [1.0, 2.0**0.5])
@pytest.mark.parametrize("beta", [1.0, 2.0])
@pytest.mark.parametrize("virtual", [0.0, 0.7])
def test_crowd_gradient_and_curvature_agree_with_finite_differences(
    width: float, beta: float, virtual: float, problem_scores: FloatArray
) -> None:
    rows = rows_of(aggcal.read_judgments(ROWS))
    name = "logistic" if width == 1.0 else "normal"
    problem = Crowd(rows, link(name), LAMBDA, alpha=2.0, beta=beta, width=width, virtual=virtual)
    s, h, unit = problem_scores, 1e-5, np.eye(4)
    point = problem.evaluate(s)
    up = [problem.evaluate(s + h * e) for e in unit]
    down = [problem.evaluate(s - h * e) for e in unit]
    values = [(a.value - b.value) / (2 * h) for a, b in zip(up, down, strict=True)]
    np.testing.assert_allclose(point.gradient, values, atol=1e-6)
    slopes = [(a.gradient - b.gradient) / (2 * h) for a, b in zip(up, down, strict=True)]
    problem.evaluate(s)
    np.testing.assert_allclose([problem.product(e) for e in unit], slopes, atol=1e-5)
