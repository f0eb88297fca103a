"""The Fisher information against numerical derivatives, and its parts against its matrix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from aggcal._core.arrays import FloatArray
from aggcal._core.kernels import library
from aggcal.models.coins import LANES
from aggcal.models.crowd import Crowd
from aggcal.models.information import Information
from aggcal.models.links import link
from aggcal.models.objective import Objective
from aggcal.models.rows import Rows
from aggcal.models.thurstone import Thurstone

ITEMS, ANNOTATORS = 5, 3
TRUTH = np.array([-0.7, 0.1, 0.4, 1.2, -0.3])
SLOPES = np.array([0.6, 1.4, -0.5])
CHANCES = np.array([0.9, 0.6, 0.2])


def expected_rows(chance: Callable[[float, int], float]) -> Rows:
    """Every annotator sees every pair; each outcome weighs as much as it is likely."""
    winner, loser, weight, starts = [], [], [], [0]
    for u in range(ANNOTATORS):
        for i in range(ITEMS):
            for j in range(i):
                p = chance(float(TRUTH[i] - TRUTH[j]), u)
                winner += [i, j]
                loser += [j, i]
                weight += [p, 1.0 - p]
        starts.append(len(winner))
    won, lost = np.array(winner, dtype=np.int32), np.array(loser, dtype=np.int32)
    return Rows(won, lost, np.array(weight), np.array(starts), ITEMS)


def problems() -> list[tuple[str, Objective, FloatArray]]:
    made: list[tuple[str, Objective, FloatArray]] = []

    def chance(name: str, x: float) -> float:
        return float(link(name).probability(np.array([x]))[0])

    for name in ("logistic", "normal", "laplace"):

        def sloped(d: float, u: int, name: str = name) -> float:
            return chance(name, float(SLOPES[u]) * d)

        rows = expected_rows(sloped)
        made.append((name, Thurstone(rows, link(name), 0.8, 4.0), SLOPES))

    def mixed(d: float, u: int) -> float:
        p = chance("logistic", d)
        return float(CHANCES[u] * p + (1.0 - CHANCES[u]) * (1.0 - p))

    crowd = Crowd(
        expected_rows(mixed), link("logistic"), 0.8, alpha=4.0, beta=1.0, width=1.0, virtual=0.0
    )
    made.append(("crowd", crowd, CHANCES))
    return made


def whole_hessian(problem: Objective, scores: FloatArray, theta: FloatArray) -> FloatArray:
    """Differentiate the objective in all parameters, numerically."""
    rows = problem.rows
    owner = np.repeat(np.arange(ANNOTATORS), np.diff(rows.starts))

    def value(x: FloatArray) -> float:
        s, t = x[:ITEMS], x[ITEMS:]
        loss = problem.row_terms(s[rows.winner] - s[rows.loser], t[owner]).loss
        return float(rows.weight @ loss) + problem.item_penalty(s)[0] + problem.penalty(t)[0]

    at, step = np.concatenate([scores, theta]), 1e-4
    n = len(at)
    hessian = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            total = 0.0
            for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                x = at.copy()
                x[i] += a * step
                x[j] += b * step
                total += a * b * value(x)
            hessian[i, j] = total / (4.0 * step * step)
    return hessian


@pytest.mark.parametrize("case", problems(), ids=lambda case: case[0])
def test_the_information_is_the_expected_curvature(
    case: tuple[str, Objective, FloatArray],
) -> None:
    _, problem, theta = case
    hessian = whole_hessian(problem, TRUTH, theta)
    a, b, d = hessian[:ITEMS, :ITEMS], hessian[:ITEMS, ITEMS:], hessian[ITEMS:, ITEMS:]
    expected = a - b @ np.linalg.solve(d, b.T)
    information = Information(problem, TRUTH, theta)
    schur, carried = information.dense()
    np.testing.assert_allclose(schur, expected, rtol=1e-5, atol=2e-5)
    np.testing.assert_allclose(information.inner, np.diag(d), rtol=1e-5, atol=2e-5)
    assert carried is not None
    np.testing.assert_allclose(carried.toarray(), b / np.diag(d), rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("case", problems(), ids=lambda case: case[0])
def test_products_diagonal_border_and_probes_are_those_of_the_matrix(
    case: tuple[str, Objective, FloatArray], compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if compiled and library() is None:
        pytest.skip("no C compiler when aggcal was installed")
    if not compiled:
        monkeypatch.setattr("aggcal.models.information.library", lambda: None)
    _, problem, theta = case
    information = Information(problem, TRUTH, theta)
    schur, carried = information.dense()
    vector = np.random.default_rng(1).normal(size=ITEMS)
    np.testing.assert_allclose(information.product(vector), schur @ vector, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(information.diagonal(), np.diag(schur), rtol=1e-5)
    assert carried is not None
    others = np.random.default_rng(4).normal(size=(ITEMS, LANES)).astype(np.float32)
    np.testing.assert_allclose(information.products(others), schur @ others, rtol=1e-4, atol=1e-5)
    ones = information.product_of_ones()
    np.testing.assert_allclose(ones, schur.sum(axis=1), rtol=1e-5, atol=1e-6)
    weights = np.array([0.5, 2.0, -1.0])
    np.testing.assert_allclose(information.shared(weights), carried @ weights, rtol=1e-4, atol=1e-5)
    borders = (carried.toarray() * information.inner).T @ others
    np.testing.assert_allclose(information.borders(others), borders, rtol=1e-4, atol=1e-5)
    random = np.random.default_rng(2)
    drawn = np.concatenate([information.probes(random).T for _ in range(1500)])
    np.testing.assert_allclose(
        drawn.T @ drawn / len(drawn), schur, atol=0.06 * float(np.diag(schur).max())
    )


@pytest.mark.skipif(library() is None, reason="no C compiler when aggcal was installed")
def test_compiled_probes_are_those_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    _, problem, theta = problems()[0]
    information = Information(problem, TRUTH, theta)
    information.fix_location()
    some = information.probes(np.random.default_rng(3))
    monkeypatch.setattr("aggcal.models.information.library", lambda: None)
    np.testing.assert_allclose(information.probes(np.random.default_rng(3)), some, atol=1e-5)
