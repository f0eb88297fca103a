"""Compiled sums and integrals are those of the reference in NumPy."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from aggcal._core.kernels import library, stage1
from aggcal.aggregation import native
from aggcal.aggregation.annotators import Annotators, Beta, Normal, Point
from aggcal.aggregation.families import (
    POSITION,
    READINESS,
    RELIABILITY,
    STANCE,
    Adjacent,
    Advantage,
    Family,
    Mixture,
    Wins,
)
from aggcal.aggregation.links import link
from aggcal.aggregation.rows import AXIS, GAP, TIE, Answers, Block, Channel, Rows
from aggcal.aggregation.tape import Mean

pytestmark = pytest.mark.skipif(library() is None, reason="no compiled kernels")

ITEMS, CONTEXTS = 9, 3
BOTH = (RELIABILITY, POSITION, READINESS)
GRADES = (1.0, 0.8, 0.5)


def rows_of(annotators: int = 12, each: int = 40, *, wide: bool = False, seed: int = 0) -> Rows:
    """Return rows with a gap, an axis and contexts; a wide gap has an effect of contexts."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 2 * each, annotators)
    n = int(sizes.sum())
    left = rng.integers(0, ITEMS, n).astype(np.int32)
    right = ((left + rng.integers(1, ITEMS, n)) % ITEMS).astype(np.int32)
    weight = rng.integers(1, 4, n).astype(float)
    tied = np.minimum(weight, rng.integers(0, 2, n))
    lean = 0.5 * (weight - tied) * rng.choice([-1.0, 1.0], n, p=[0.3, 0.7])
    size = 2 * ITEMS + CONTEXTS
    gap = Channel.difference(left, right, size)
    if wide:
        columns = np.column_stack([left, right, np.full(n, size - 1)]).astype(np.int32)
        gap = Channel(columns, np.column_stack([np.ones(n), -np.ones(n), rng.normal(size=n)]), size)
    context = rng.integers(0, CONTEXTS, n).astype(np.int32)[:, None] + np.int32(2 * ITEMS)
    channels = {
        GAP: gap,
        AXIS: Channel.difference(left, right, size, ITEMS),
        TIE: Channel(context, np.ones((n, 1)), size),
    }
    block = Block(slice(0, size), np.arange(size), np.full(size, -1))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    answers = Answers(weight, lean, tied)
    return Rows(left, right, answers, starts, ITEMS, weight[None], {}, channels, {"all": block})


def won(rows: Rows) -> Rows:
    """Return the same rows as wins of their left items."""
    answers = Answers(rows.answers.weight, 0.5 * rows.answers.weight, 0.0 * rows.answers.tied)
    return Rows(**{**rows.__dict__, "answers": answers})


def point_of(rows: Rows, names: tuple[str, ...], *, dense: bool = False, sd: float = 0.3) -> Point:
    """Return a place at which nothing is special."""
    rng = np.random.default_rng(1)
    size, means = (
        rows.size,
        np.tile([1.0 if name == RELIABILITY else -0.1 for name in names], (rows.n_annotators, 1)),
    )
    root = rng.normal(size=(size, size)) * sd / np.sqrt(size)
    covariance = root @ root.T
    return Point(
        rng.normal(size=size),
        covariance if dense else np.diag(covariance).copy(),
        Normal(means, np.linspace(0.5, 0.8, len(names))),
        2.0,
        reversed_share=0.1 if RELIABILITY in names else None,
        close=1e-18,
    )


FAMILIES = [
    Advantage((RELIABILITY,), Adjacent()),
    Advantage((RELIABILITY, POSITION), Adjacent()),
    Advantage((RELIABILITY, READINESS), Adjacent()),
    Advantage(BOTH, Adjacent()),
    Advantage((POSITION, READINESS), Adjacent()),
    Advantage(BOTH, Adjacent(), (GAP, TIE)),
    Advantage((RELIABILITY, STANCE), Adjacent(), (GAP, AXIS)),
    Advantage((*BOTH, STANCE), Adjacent(), (GAP, AXIS, TIE)),
    Advantage((RELIABILITY,), Adjacent(), (GAP, TIE)),
    Advantage(BOTH, Adjacent(GRADES[:2])),
    Advantage((RELIABILITY, POSITION), Adjacent(GRADES)),
    Advantage((RELIABILITY, READINESS), Adjacent(GRADES), (GAP, TIE)),
]
NAMES = ("logistic", "normal", "laplace")


def close(one: Any, two: Any, tolerance: float) -> None:
    """Compare relative to the largest."""
    np.testing.assert_allclose(one, two, rtol=0.0, atol=tolerance * np.abs(two).max(initial=1e-9))


def same(
    rows: Rows,
    family: Family,
    point: Point,
    tolerance: float,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> None:
    """Compare everything that a tape is asked for."""
    annotators = native.annotators_of(rows, family, bounds)
    assert isinstance(annotators, native.NativeAnnotators)
    (tape, posterior), (twin, reference) = (
        each.integrated(point) for each in (annotators, Annotators(rows, family, bounds))
    )
    close(posterior.log_evidence, reference.log_evidence, tolerance)
    close(posterior.weights, reference.weights, 10 * tolerance)
    likely = reference.weights > 1e-6
    close(posterior.nodes[likely], reference.nodes[likely], 10 * tolerance)
    rng = np.random.default_rng(2)
    if POSITION in family.names:
        pulls = reference.deviation(reference.of(POSITION))
        for each in (tape, twin):
            each.means = [Mean(rows.size, pulls, pulls.sum(axis=1), 3.0)]
    values = reference.weights * rng.normal(size=reference.weights.shape)
    vector = rng.normal(size=twin.size)
    root = rng.normal(size=(twin.size, twin.size))
    for name in family.channels:
        close(tape.score[name], twin.score[name], 20 * tolerance)
        live = np.repeat(likely, rows.sizes, axis=0).T
        close(tape.responses[name] * live, twin.responses[name] * live, 20 * tolerance)
    assert set(tape.curvature) == set(twin.curvature)
    for pair, curve in twin.curvature.items():
        close(tape.curvature[pair], curve, 20 * tolerance)
    close(tape.weighted(values), twin.weighted(values), 20 * tolerance)
    close(tape.gradient, twin.gradient, 20 * tolerance)
    close(tape.product(vector), twin.product(vector), 20 * tolerance)
    for one, two in zip(tape.diagonals(), twin.diagonals(), strict=True):
        close(one, two, 20 * tolerance)
    for one, two in zip(tape.dense(), twin.dense(), strict=True):
        close(one, two, 20 * tolerance)
    for covariance in (root @ root.T, np.square(root[0])):
        results = zip(
            tape.forms(values, covariance, vector),
            twin.forms(values, covariance, vector),
            strict=True,
        )
        for one, two in results:
            close(one, two, 20 * tolerance)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize(
    "family", FAMILIES, ids=lambda family: " ".join((*family.names, *family.channels))
)
def test_laws_of_ties(family: Advantage, wide: bool, dense: bool) -> None:
    rows = rows_of(wide=wide)
    same(rows, family, point_of(rows, family.names, dense=dense), 1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_links(name: str) -> None:
    rows, family = won(rows_of()), Advantage((RELIABILITY,), Wins(link(name)))
    same(
        rows,
        family,
        point_of(rows, family.names),
        1e-6 if name != "logistic" else 2e-5,
    )


@pytest.mark.parametrize("name", ["logistic", "normal"])
def test_mixtures(name: str) -> None:
    rows, family = won(rows_of()), Mixture(link(name), 1.3, logit=True)
    point = point_of(rows, family.names)
    prior = Beta(4.0, 1.0, rows.n_annotators, logit=True)
    same(rows, family, dataclasses.replace(point, prior=prior), 1e-6, (-12.0, 12.0))


@pytest.mark.parametrize("names", [(RELIABILITY,), BOTH])
def test_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]) -> None:
    rows = rows_of(500, 300)
    point, vector = point_of(rows, names), np.random.default_rng(0).normal(size=rows.size)
    results = []
    for threads in (1, 4):
        monkeypatch.setattr(stage1, "cores", lambda threads=threads: threads)
        tape, posterior = native.annotators_of(rows, Advantage(names, Adjacent())).integrated(point)
        forms = tape.forms(posterior.weights, np.ones(rows.size), vector)
        results.append(
            (posterior.weights, tape.responses[GAP], tape.gradient, tape.product(vector), *forms)
        )
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("names", [(RELIABILITY,), BOTH])
def test_single_precision_is_near(names: tuple[str, ...]) -> None:
    rows = rows_of(200, 100)
    point, family = point_of(rows, names), Advantage(names, Adjacent())
    assert len(rows) > native._MANY_ROWS
    point = dataclasses.replace(point, close=1e-8)
    one, of_one = native.annotators_of(rows, family).integrated(point)
    two, of_two = Annotators(rows, family).integrated(point)
    close(of_one.log_evidence, of_two.log_evidence, 1e-6)
    close(of_one.weights, of_two.weights, 1e-3)
    close(one.gradient, two.gradient, 1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_joint_modes(name: str) -> None:
    rows, family = won(rows_of()), Advantage((RELIABILITY,), Wins(link(name)))
    unknowns = np.random.default_rng(1).normal(size=rows.size)
    prior = Normal(np.ones((rows.n_annotators, 1)), np.array([0.5]))
    annotators, reference = native.annotators_of(rows, family), Annotators(rows, family)
    for scores in (unknowns, 1.1 * unknowns):  # the second time from the modes of the first
        tape, twin = annotators.maximised(scores, prior), reference.maximised(scores, prior)
        assert isinstance(tape, native.NativeTape)
        close(annotators.theta, reference.theta, 1e-10)
        close(tape.value, twin.value, 1e-12)
        close(tape.gradient, twin.gradient, 1e-12)
        close(tape.product(unknowns), twin.product(unknowns), 1e-6)
        for one, two in zip(tape.diagonals(), twin.diagonals(), strict=True):
            close(one, two, 1e-6)
        for one, two in zip(tape.dense(), twin.dense(), strict=True):
            close(one, two, 1e-6)
