"""How likely each answer is: derivatives, sums of probabilities, arguments far out."""

from __future__ import annotations

import numpy as np
import pytest

from aggcal._core.arrays import FloatArray
from aggcal.models.general.outcomes import (
    Answers,
    Outcomes,
    adjacent,
    adjacent_probabilities,
    grade_terms,
    rao_kupper,
    rao_kupper_probabilities,
)

ETA, NU = (
    grid.ravel() for grid in np.meshgrid(np.linspace(-6.0, 6.0, 13), np.linspace(-4.0, 3.0, 8))
)
GRADES = {1: np.ones(1), 2: np.array([1.0, 0.4]), 3: np.array([1.0, 0.7, 1.3])}
MODELS = [(adjacent, 1), (adjacent, 2), (adjacent, 3), (rao_kupper, 1)]
STEP = 1e-5


def answered(top: int, n: int = len(ETA)) -> Answers:
    """Weights of all answers at once: both sides in every grade, and ties."""
    random = np.random.default_rng(top)
    left, right = (random.uniform(0.1, 2.0, (top, n)) for _ in range(2))
    tied = random.uniform(0.1, 2.0, n)
    steps = 0.5 * np.arange(1, top + 1)
    return Answers((left + right).sum(axis=0) + tied, steps @ (left - right), tied)


def change(
    outcomes: Outcomes, part: int, grades: FloatArray, answers: Answers, *, of_nu: bool
) -> FloatArray:
    """Central difference of a part of the terms in η or in ν."""
    moves = (0.0, STEP) if of_nu else (STEP, 0.0)
    high, low = (
        outcomes(ETA + sign * moves[0], NU + sign * moves[1], answers, grades)[part]
        for sign in (1.0, -1.0)
    )
    return np.asarray((high - low) / (2.0 * STEP))


@pytest.mark.parametrize(("outcomes", "top"), MODELS)
def test_pulls_are_derivatives_of_the_loss(outcomes: Outcomes, top: int) -> None:
    answers, grades = answered(top), GRADES[top]
    found = outcomes(ETA, NU, answers, grades)
    for pull, of_nu in ((found.pull, False), (found.tie_pull, True)):
        np.testing.assert_allclose(
            pull, change(outcomes, 0, grades, answers, of_nu=of_nu), rtol=1e-7, atol=1e-8
        )
    np.testing.assert_allclose(
        found.curve, change(outcomes, 1, grades, answers, of_nu=False), rtol=1e-7, atol=1e-8
    )


@pytest.mark.parametrize("top", [1, 2, 3])
def test_curvatures_of_adjacent_categories_are_observed_ones(top: int) -> None:
    answers, grades = answered(top), GRADES[top]
    found = adjacent(ETA, NU, answers, grades)
    for got, part, of_nu in ((found.tie_curve, 3, True), (found.cross, 1, True)):
        np.testing.assert_allclose(
            got, change(adjacent, part, grades, answers, of_nu=of_nu), rtol=1e-7, atol=1e-8
        )


def test_curvatures_of_rao_and_kupper_are_expected_ones() -> None:
    left, right, tie = rao_kupper_probabilities(ETA, NU).T
    expected = Answers(np.ones(len(ETA)), 0.5 * (left - right), tie)
    found = rao_kupper(ETA, NU, expected, GRADES[1])
    np.testing.assert_allclose(found.pull, 0.0, atol=1e-12)
    np.testing.assert_allclose(found.tie_pull, 0.0, atol=1e-12)
    for got, part in ((found.tie_curve, 3), (found.cross, 1)):
        numeric = change(rao_kupper, part, GRADES[1], expected, of_nu=True)
        np.testing.assert_allclose(got, numeric, rtol=1e-6, atol=1e-8)
    assert (found.curve * found.tie_curve >= found.cross**2 * (1.0 - 1e-9)).all()


@pytest.mark.parametrize("top", [1, 2, 3])
def test_probabilities_of_adjacent_categories(top: int) -> None:
    found = adjacent_probabilities(ETA, NU, GRADES[top])
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)
    turned = adjacent_probabilities(-ETA, NU, GRADES[top])
    np.testing.assert_allclose(found, turned[:, [1, 0, 2]], rtol=1e-14)
    levels = np.sum(grade_terms(ETA, NU, GRADES[top]), axis=0)
    np.testing.assert_allclose(levels, found[:, 0] + found[:, 1], rtol=1e-12)
    # By the definition of the weights.
    steps = np.arange(1, top + 1)
    left = (np.exp(0.5 * np.outer(ETA, steps)) * GRADES[top]).sum(axis=1)
    right = (np.exp(-0.5 * np.outer(ETA, steps)) * GRADES[top]).sum(axis=1)
    np.testing.assert_allclose(found[:, 0] / found[:, 1], left / right, rtol=1e-10)
    np.testing.assert_allclose(found[:, 2] / found[:, 1], np.exp(NU) / right, rtol=1e-10)


@pytest.mark.parametrize("outcomes", [adjacent, rao_kupper])
def test_the_loss_of_an_answer_is_minus_its_log_probability(outcomes: Outcomes) -> None:
    one, none = np.ones(len(ETA)), np.zeros(len(ETA))
    if outcomes is adjacent:
        chances = adjacent_probabilities(ETA, NU, GRADES[1])
    else:
        chances = rao_kupper_probabilities(ETA, NU)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-13)
    answers = [Answers(one, 0.5 * one, none), Answers(one, -0.5 * one, none)]
    for k, answer in enumerate([*answers, Answers(one, none, one)]):
        loss = outcomes(ETA, NU, answer, GRADES[1]).loss
        np.testing.assert_allclose(loss, -np.log(chances[:, k]), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("outcomes", "top"), MODELS)
def test_arguments_far_out_give_finite_terms(outcomes: Outcomes, top: int) -> None:
    far = np.array([-3000.0, -800.0, -40.0, 0.0, 40.0, 800.0, 3000.0])
    eta, nu = (grid.ravel() for grid in np.meshgrid(far, np.clip(far, -800.0, 300.0)))
    answers = answered(top, len(eta))
    found = outcomes(eta, nu, answers, GRADES[top])
    for part in found:
        assert np.isfinite(part).all()
    for curve in (found.curve, found.tie_curve):
        assert (curve >= 0.0).all()
    chances = (
        adjacent_probabilities(eta, nu, GRADES[top])
        if outcomes is adjacent
        else rao_kupper_probabilities(eta, nu)
    )
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-12)
    # Far out the loss is a straight line.
    losing = Answers(np.ones(1), np.full(1, -0.5 * top), np.zeros(1))
    steps = [
        float(outcomes(np.array([x]), np.array([-1.0]), losing, GRADES[top]).loss[0])
        for x in (900.0, 1000.0)
    ]
    assert steps[1] - steps[0] == pytest.approx(100.0 * top)


def test_ties_far_out_are_as_unlikely_as_they_are() -> None:
    tied = Answers(np.ones(1), np.zeros(1), np.ones(1))
    for outcomes, slope in ((adjacent, 0.5), (rao_kupper, 1.0)):
        near, far = (
            outcomes(np.array([x]), np.array([0.0]), tied, np.ones(1)) for x in (900.0, 1000.0)
        )
        assert float(far.loss[0] - near.loss[0]) == pytest.approx(100.0 * slope)
        assert float(far.pull[0]) == pytest.approx(slope)
