"""Sums over rows with the annotators integrated out: against brute force, and each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from aggcal._core.arrays import FloatArray
from aggcal._core.kernels import library
from aggcal.aggregation.general.problem import MEAN_PRIORS, Problem, State
from aggcal.models.general.annotators import POSITION, READINESS, RELIABILITY, STANCE
from aggcal.models.general.design import design
from aggcal.models.general.outcomes import Answers, Outcomes, adjacent, rao_kupper
from aggcal.models.general.rows import GeneralRows
from aggcal.models.general.sums import Layout

FULL = (RELIABILITY, POSITION, READINESS)
ITEMS, CONTEXTS = 3, 2
_POINTS, _REACH = 21, 6.5
"""Of the grid on each axis, and how many posterior standard deviations it reaches."""


def some_rows(weight: float, annotators: int = 3, top: int = 1, seed: int = 5) -> GeneralRows:
    """Every annotator answers every ordered pair in every context, in all ways at once."""
    random = np.random.default_rng(seed)
    pairs = [
        (i, j, c) for i in range(ITEMS) for j in range(ITEMS) for c in range(CONTEXTS) if i != j
    ]
    left, right, context = np.tile(np.array(pairs), (annotators, 1)).T
    n, truth = len(left), np.array([1.0, 0.2, -1.0])
    own = np.repeat(np.linspace(0.7, 1.4, annotators), len(pairs))
    chance = 1.0 / (1.0 + np.exp(-own * (truth[left] - truth[right]) - 0.3))
    share = np.clip(chance + random.uniform(-0.1, 0.1, n), 0.02, 0.98)
    tied = random.uniform(0.1, 0.4, n)
    levels = (1.0 - tied) * random.dirichlet(np.ones(top), n).T
    lean = 0.5 * np.arange(1, top + 1) @ (levels * (2.0 * share - 1.0))
    answers = Answers(np.full(n, weight), weight * lean, weight * tied)
    starts = np.arange(0, n + 1, len(pairs))
    keys = {"context": context.astype(np.int32)}
    left, right = left.astype(np.int32), right.astype(np.int32)
    return GeneralRows(left, right, answers, weight * levels, starts, ITEMS, keys)


def layout_of(
    rows: GeneralRows, names: tuple[str, ...], *, cells: bool = False, control: bool = False
) -> Layout:
    held = np.random.default_rng(2).normal(size=(len(rows), 1)) if control else None
    ties = READINESS in names and cells
    return Layout(
        rows,
        design(rows, ["context"] if cells else [], held),
        names,
        STANCE in names,
        CONTEXTS if ties else 0,
    )


def begun(problem: Problem) -> State:
    """A state where no unknown is 0, and rows are certain."""
    first = problem.first_state(np.array([0.9, 0.1, -1.0]), {}, reversed_share=0.2)
    off = np.random.default_rng(3).normal(size=problem.layout.size)
    unknowns = first.unknowns + 0.2 * off
    grades = np.array([1.0, 0.5, 0.3])[: len(first.grades)]
    return replace(first, unknowns=unknowns, tilt=0.1, grades=grades)


def log_marginal(problem: Problem, state: State) -> float:
    """The marginal log-likelihood by brute force: a tensor grid over each annotator's parameters.

    Where the grid lies is taken from `Problem.known`; the integral does not depend on it.
    """
    every = range(problem.layout.rows.n_annotators)
    halves = [[_log_half(problem, state, u, half) for u in every] for half in range(2)]
    return float(np.logaddexp(np.array(halves[0]), np.array(halves[1])).sum())


def _log_half(problem: Problem, state: State, u: int, half: int) -> float:
    layout, rows, x, known = problem.layout, problem.layout.rows, state.unknowns, problem.known
    mine = slice(rows.starts[u], rows.starts[u + 1])
    sign, n = (1.0, -1.0)[half], known.weights.shape[1] // 2
    if not known.weights[u, half * n : half * n + n].any():
        return -np.inf  # reversed with a negative strength: the other half has it
    spots = known.nodes[u, half * n : half * n + n]
    at = np.linspace(-_REACH, _REACH, _POINTS)
    theta, log_prior, width = {}, np.zeros(()), 1.0
    grids = np.meshgrid(*[at] * len(layout.names), indexing="ij")
    for k, name in enumerate(layout.names):
        mean = 1.0 + state.sds[k] ** 2 * state.tilt * problem.shares[u]
        if name in MEAN_PRIORS:
            mean = x[layout.at_means + layout.means.index(name)]
        mean = 0.0 if name == STANCE else mean
        nodes = spots[:, k] * (sign if name == RELIABILITY else 1.0)
        middle, sd = nodes.mean(), (nodes.max() - nodes.min()) / (2.0 * 3.0**0.5)
        theta[name] = middle + sd * grids[k].ravel()
        off = (theta[name] - mean) / state.sds[k]
        log_prior = log_prior - 0.5 * off**2 - np.log(state.sds[k] * np.sqrt(2.0 * np.pi))
        width *= sd * (at[1] - at[0])
    gaps = layout.design.matrix @ x[: layout.design.size]
    eta = np.outer(gaps[mine], sign * theta[RELIABILITY]) + theta.get(POSITION, 0.0)
    if layout.axis:
        eta += np.outer(np.asarray(layout.axis_gaps(x))[mine], theta[STANCE])
    nu = np.full(eta.shape, -np.inf)
    if READINESS in theta:
        offset = layout.readiness(x)
        nu = theta[READINESS] + (np.zeros(len(gaps)) if offset is None else offset)[mine, None]
    answers = Answers(*(np.repeat(part[mine], eta.shape[1]) for part in rows.answers))
    terms = problem.integration.outcomes(eta.ravel(), nu.ravel(), answers, state.grades)
    logs, share = log_prior - terms.loss.reshape(eta.shape).sum(axis=0), state.reversed_share
    total = float(np.exp(logs - logs.max()).sum()) * width
    return float(logs.max() + np.log(total) + np.log(share if half else 1.0 - share))


def moved(state: State, direction: FloatArray, step: float) -> State:
    return replace(state, unknowns=state.unknowns + step * direction)


def directions(size: int, number: int = 3) -> list[FloatArray]:
    return list(np.random.default_rng(8).normal(size=(number, size)))


@pytest.fixture(params=["numpy", "compiled"])
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "numpy":
        for module in ("compiled", "design"):
            monkeypatch.setattr(f"aggcal.models.general.{module}.library", lambda: None)
    elif library() is None:
        pytest.skip("nothing is compiled here")
    return str(request.param)


def problem_of(layout: Layout, outcomes: Outcomes = adjacent) -> Problem:
    return Problem(layout, np.zeros(ITEMS, dtype=np.int64), outcomes)


MODELS = [
    ((RELIABILITY,), False, adjacent, 1),
    ((RELIABILITY, POSITION), True, adjacent, 1),
    ((RELIABILITY, READINESS), True, adjacent, 1),
    ((RELIABILITY, STANCE), False, adjacent, 1),
    ((RELIABILITY, READINESS), False, adjacent, 3),
    ((RELIABILITY, READINESS), False, rao_kupper, 1),
    (FULL, True, adjacent, 1),
]
_IDS = [f"{'+'.join(m[0])}{' contexts' * m[1]} {m[2].__name__} {m[3]}" for m in MODELS]


def errors(
    names: tuple[str, ...], cells: bool, outcomes: Outcomes, top: int, weight: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Of evidence, gradient and curvature; the latter two over the curvature, annotators held."""
    layout = layout_of(some_rows(weight, 2, top), names, cells=cells, control=not cells)
    problem = problem_of(layout, outcomes)
    state = begun(problem)
    found = problem.integrate(state)
    here, evidence, step = log_marginal(problem, state), problem.known.log_evidence, 1e-3
    slopes, bends = [], []
    for along in directions(layout.size, 2):
        ends = [log_marginal(problem, moved(state, along, sign * step)) for sign in (1.0, -1.0)]
        size = float(along @ found.dense()[1] @ along)
        slopes.append((found.gradient @ along - (ends[0] - ends[1]) / (2.0 * step)) / size)
        bend = along @ found.product(along) + (sum(ends) - 2.0 * here) / step**2
        bends.append(bend / size)
    return np.array([evidence - here]), np.array(slopes), np.array(bends)


@pytest.mark.parametrize(("names", "cells", "outcomes", "top"), MODELS, ids=_IDS)
def test_sums_are_those_of_the_marginal_likelihood(
    names: tuple[str, ...], cells: bool, outcomes: Outcomes, top: int
) -> None:
    # A few nodes see the third moments of a posterior only in part: the mixed ones are left out.
    # The unknowns are then off by a hundredth with 12 judgments an annotator, by less with more.
    few = errors(names, cells, outcomes, top, 1.0)
    bend = 0.5 if STANCE in names else 0.1
    for found, most in zip(few, (0.06, 0.02, bend), strict=True):
        assert np.abs(found).max() < most
    many = errors(names, cells, outcomes, top, 144.0)
    for less, more in zip(few, many, strict=True):
        assert np.abs(more).max() < 0.5 * np.abs(less).max()


@pytest.mark.parametrize("names", [(RELIABILITY,), FULL, (*FULL, STANCE)], ids="+".join)
@pytest.mark.parametrize("cells", [False, True])
@pytest.mark.parametrize("control", [False, True])
def test_products_are_those_of_the_dense_matrix(
    names: tuple[str, ...], cells: bool, control: bool, kernels: str
) -> None:
    problem = problem_of(layout_of(some_rows(1.0), names, cells=cells, control=control))
    state = begun(problem)
    sums = problem.integrate(replace(state, covariance=np.full(problem.layout.size, 0.1)))
    dense, held = sums.dense()
    exact = 1e-12 if kernels == "numpy" else 1e-6  # compiled pulls are kept in float32
    size = np.abs(held).max()
    products = np.stack([sums.product(each) for each in np.eye(problem.layout.size)])
    np.testing.assert_allclose(products, dense, atol=exact * size)
    np.testing.assert_allclose(products, products.T, atol=exact * size)
    np.testing.assert_allclose(np.diag(held), sums.diagonals[0], atol=exact * size)
    # Annotators only take away from what is known with their parameters held.
    assert np.linalg.eigvalsh(held - dense).min() > -1e-6 * size
