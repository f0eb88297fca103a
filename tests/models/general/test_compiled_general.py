"""The compiled kernels of the general model against its NumPy sums: the same numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggcal._core.arrays import FloatArray
from aggcal._core.kernels import library
from aggcal.aggregation.general.fit import fit_general
from aggcal.aggregation.general.problem import Problem, State
from aggcal.models import borders
from aggcal.models.general import compiled, compiled_sums, packed
from aggcal.models.general.annotators import (
    POSITION,
    READINESS,
    RELIABILITY,
    STANCE,
    Integration,
    Known,
    Pairs,
    Point,
)
from aggcal.models.general.compiled import CompiledIntegration, integration
from aggcal.models.general.design import design
from aggcal.models.general.outcomes import Answers, adjacent, rao_kupper
from aggcal.models.general.rows import GeneralRows
from aggcal.models.general.sums import Layout, Sums

pytestmark = pytest.mark.skipif(library() is None, reason="no C compiler when aggcal was installed")

ALL = (RELIABILITY, POSITION, READINESS, STANCE)
NAMES = [(RELIABILITY,), (RELIABILITY, READINESS), ALL[:3], ALL, (POSITION, READINESS)]
N_ITEMS, N_CONTEXTS = 12, 5


def made_rows(
    sizes: list[int], seed: int, *, ties: float = 0.3, weighted: bool = False, top: int = 1
) -> GeneralRows:
    """Rows with random answers; weights are 1, or 0, 1 and 3."""
    rng, n = np.random.default_rng(seed), sum(sizes)
    left = rng.integers(0, N_ITEMS, n)
    right = (left + rng.integers(1, N_ITEMS, n)) % N_ITEMS
    weight = rng.choice([0.0, 1.0, 3.0], n) if weighted else np.ones(n)
    tie = rng.random(n) < ties
    grade = rng.integers(1, top + 1, n)
    side = rng.choice([-0.5, 0.5], n)
    answers = Answers(weight, np.where(tie, 0.0, side * grade * weight), np.where(tie, weight, 0.0))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    context = rng.integers(-1, N_CONTEXTS, n).astype(np.int32)
    codes = left.astype(np.int32), right.astype(np.int32)
    return GeneralRows(*codes, answers, weight[None], starts, N_ITEMS, {"context": context})


def point_of(
    rows: GeneralRows, names: tuple[str, ...], seed: int, *, scale: float, sd: float
) -> Point:
    rng, n, m = np.random.default_rng(seed), len(rows), rows.n_annotators
    means = rng.normal(size=(m, len(names)))
    return Point(
        scale * rng.normal(size=n),
        # The kernels keep these in float32.
        (sd * rng.random(n)).astype(np.float32).astype(np.float64),
        means,
        rng.uniform(0.2, 1.0, len(names)),
        (float(np.log(0.8)), float(np.log(0.2))),
        axis=rng.normal(size=n) if STANCE in names else None,
        offset=rng.normal(size=n) if READINESS in names else None,
        hopeless=rng.random(m) < 0.3 if RELIABILITY in names else None,
    )


def both(
    rows: GeneralRows, names: tuple[str, ...], point: Point
) -> list[tuple[Known, list[FloatArray]]]:
    """What either finds: the posterior, and what its nodes do to rows."""
    found = []
    fast = CompiledIntegration(rows, names, adjacent)
    fast.exact = True
    for kind in (Integration(rows, names, adjacent), fast):
        known, sums = kind.evaluate(point), kind.found
        if isinstance(kind, CompiledIntegration):
            sums = sums.full(rows.sizes)
        live = rows.per_row(known.weights).T > 0.0
        tables = [
            np.where(live, table, 0.0)
            for table in (sums.pulls, sums.tie_pulls)
            if table is not None
        ]
        found.append((known, [*tables, *sums.curves.values()]))
    return found


def assert_twins(rows: GeneralRows, names: tuple[str, ...], point: Point) -> None:
    (slow, tables), (fast, fast_tables) = both(rows, names, point)
    assert fast.log_evidence == pytest.approx(slow.log_evidence, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(fast.weights, slow.weights, atol=1e-7)
    live = (slow.weights > 0.0)[:, :, None]
    np.testing.assert_allclose(live * fast.nodes, live * slow.nodes, rtol=1e-7, atol=1e-7)
    for one, two in zip(fast_tables, tables, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-6 * np.abs(two).max(initial=1.0))


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sd", [0.0, 0.8])
@pytest.mark.parametrize("top", [1, 3])
def test_kernels_agree_with_numpy(
    names: tuple[str, ...], weighted: bool, sd: float, top: int
) -> None:
    """Few rows are looked at at all points at once, many in stretches."""
    rows = made_rows([1, 7, 30, 700], 1, weighted=weighted, top=top)
    point = point_of(rows, names, 2, scale=1.0, sd=sd)
    grades = np.array([1.0, 0.7, 1.3])[:top]
    assert_twins(rows, names, replace(point, grades=grades))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=6),
    names=st.sampled_from(NAMES),
    scale=st.sampled_from([0.0, 1.0, 30.0, 2000.0]),
    ready=st.sampled_from([-40.0, 0.0, 40.0]),
    ties=st.sampled_from([0.0, 0.3, 1.0]),
    weighted=st.booleans(),
)
def test_they_agree_on_bad_inputs(  # noqa: PLR0917
    seed: int,
    sizes: list[int],
    names: tuple[str, ...],
    scale: float,
    ready: float,
    ties: float,
    weighted: bool,
) -> None:
    """Huge gaps, readiness far out, only ties or none, weights of 0, one row or annotator."""
    rows = made_rows(sizes, seed, ties=ties, weighted=weighted)
    point = point_of(rows, names, seed, scale=scale, sd=1.0)
    if READINESS in names:
        point.means[:, names.index(READINESS)] = ready
    (slow, _), (fast, _) = both(rows, names, point)
    assert np.isfinite(fast.log_evidence)
    assert fast.log_evidence == pytest.approx(slow.log_evidence, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(fast.weights, slow.weights, atol=1e-7)


def test_derivatives_replace_points_where_gaps_vary_little() -> None:
    rows = made_rows([40] * 20, 3)
    names = ALL[:3]
    point = replace(point_of(rows, names, 4, scale=1.0, sd=0.15), close=1e-14)
    exact, quick = (CompiledIntegration(rows, names, adjacent) for _ in range(2))
    exact.exact = True
    one, two = exact.evaluate(point), quick.evaluate(point)
    assert two.log_evidence != one.log_evidence
    assert two.log_evidence == pytest.approx(one.log_evidence, rel=1e-7)
    for found, expected in (
        (quick.found.pulls, exact.found.pulls),
        (quick.found.tie_pulls, exact.found.tie_pulls),
        *((quick.found.curves[c], exact.found.curves[c]) for c in exact.found.curves),
    ):
        np.testing.assert_allclose(found, expected, atol=2e-4)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("contexts", [False, True])
def test_derivatives_stand_beside_points_where_few_gaps_vary_much(
    *, weighted: bool, contexts: bool
) -> None:
    """Of annotators with a few rows, with some hundred, and with nearly all rows uncertain."""
    rows, names = made_rows([7, 40, 300, 600, 40], 3, weighted=weighted), ALL[:3]
    point = point_of(rows, names, 4, scale=1.0, sd=0.1)
    sd = np.where(np.arange(len(rows)) % 13 == 0, 1.0, point.row_sd)
    sd[rows.starts[4] :] = 0.9
    offset = point.offset if contexts else None
    point = replace(point, row_sd=sd.astype(np.float32), close=1e-14, offset=offset)
    exact, quick, rough = (CompiledIntegration(rows, names, adjacent) for _ in range(3))
    exact.exact, rough.roughly = True, True
    one, two, three = (each.evaluate(point) for each in (exact, quick, rough))
    assert two.log_evidence == pytest.approx(one.log_evidence, rel=1e-7)
    assert three.log_evidence == pytest.approx(one.log_evidence, rel=1e-5)
    np.testing.assert_allclose(two.nodes, one.nodes, atol=2e-4)
    np.testing.assert_allclose(two.weights, one.weights, atol=2e-4)
    np.testing.assert_allclose(three.nodes, one.nodes, atol=5e-3)
    most = 3.0 if weighted else 1.0
    np.testing.assert_allclose(quick.found.pulls, exact.found.pulls, atol=5e-5 * most)
    for pair, curve in exact.found.curves.items():
        np.testing.assert_allclose(quick.found.curves[pair], curve, atol=1e-3 * most)


@pytest.mark.parametrize("names", [(RELIABILITY,), ALL[:3:2], ALL[:3]])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("sd", "right"), [(0.0, 1e-6), (0.05, 5e-6), (0.15, 2e-4)])
@pytest.mark.parametrize("floats", [False, True])
def test_plain_rows_take_a_loop_of_their_own(
    *, names: tuple[str, ...], weighted: bool, sd: float, right: float, floats: bool
) -> None:
    """One grade, no stance, no contexts; by no derivatives, by one pair of them, and by two."""
    rows = made_rows([3, 40, 300, 600], 3, weighted=weighted)
    close = 1e-8 if floats else 1e-14
    point = point_of(rows, names, 4, scale=1.0, sd=sd)
    point = replace(point, close=close, offset=None)
    exact, quick = (CompiledIntegration(rows, names, adjacent) for _ in range(2))
    exact.exact, quick.floats = True, floats
    one, two = exact.evaluate(point), quick.evaluate(point)
    right = max(right, 3e-5) if floats else right
    assert two.log_evidence == pytest.approx(one.log_evidence, rel=1e-6 if floats else 1e-7)
    np.testing.assert_allclose(two.nodes, one.nodes, atol=10.0 * right)
    np.testing.assert_allclose(quick.found.pulls, exact.found.pulls, atol=10.0 * right)
    for pair, curve in exact.found.curves.items():
        np.testing.assert_allclose(quick.found.curves[pair], curve, atol=10.0 * right)
    if sd == 0.0:
        assert_twins(rows, names, point)


@pytest.mark.parametrize("sd", [0.0, 0.3])
def test_gaps_are_made_of_pairs_where_they_are_used(sd: float) -> None:
    rows, names = made_rows([5, 300, 40], 7, weighted=True), ALL[:3:2]
    layout = Layout(rows, design(rows, []), names)
    rng = np.random.default_rng(1)
    unknowns, variances = rng.normal(size=N_ITEMS), sd**2 * rng.uniform(0.2, 3.0, N_ITEMS)
    point = replace(point_of(rows, names, 4, scale=1.0, sd=0.0), offset=None)
    gaps, row_sd = layout.design.gaps(unknowns), layout.design.row_sds(variances, 0.5)
    pairs, none = Pairs(layout.design.columns, unknowns, variances, 0.5), np.empty(0)
    first, second = (CompiledIntegration(rows, names, adjacent) for _ in range(2))
    one = first.evaluate(replace(point, gaps=gaps, row_sd=row_sd))
    two = second.evaluate(replace(point, gaps=none, row_sd=none, pairs=pairs))
    assert one.log_evidence == two.log_evidence
    np.testing.assert_array_equal(first.found.pulls, second.found.pulls)
    np.testing.assert_array_equal(one.nodes, two.nodes)


def test_several_forms_in_one_sweep() -> None:
    rows = made_rows([5, 30, 60, 9], 11)
    layout = Layout(rows, design(rows, []), ALL[:3])
    state, sums = sums_at(problems(layout)[1], 2)
    rng = np.random.default_rng(0)
    values = sums.weights * rng.normal(size=(3, *sums.weights.shape))
    along = rng.normal(size=layout.size)
    found = sums.forms_of(values, state.covariance, along)
    for each, (square, product) in zip(values, found, strict=True):
        border = sums.borders(each).toarray()
        np.testing.assert_allclose(square, (border**2) @ state.covariance, rtol=1e-5)
        np.testing.assert_allclose(product, border @ along, rtol=1e-5, atol=1e-6)


def problems(layout: Layout) -> list[Problem]:
    """The same problem in NumPy and compiled."""
    found = [Problem(layout, np.zeros(N_ITEMS, dtype=np.int64)) for _ in range(2)]
    found[0].integration = Integration(layout.rows, layout.names, adjacent)
    fast = CompiledIntegration(layout.rows, layout.names, adjacent)
    fast.exact = True
    found[1].integration = fast
    return found


def sums_at(problem: Problem, seed: int) -> tuple[State, Sums]:
    rng, layout = np.random.default_rng(seed), problem.layout
    state = problem.first_state(rng.normal(size=N_ITEMS), {})
    unknowns = state.unknowns + 0.3 * rng.normal(size=layout.size)
    covariance = 0.2 * rng.random(layout.size)
    state = replace(state, unknowns=unknowns, covariance=covariance)
    hopeless = np.arange(layout.rows.n_annotators) % 3 == 0
    return state, problem.integrate(state, hopeless=hopeless)


def facts(problem: Problem, state: State, sums: Sums) -> list[FloatArray]:
    known, size = problem.known, problem.layout.size
    curvature = problem.curvature(state, sums)
    vector = np.sin(np.arange(size))
    matrix = np.eye(size) + 0.1 * np.outer(vector, vector)
    values = known.weights * known.off(known.of(known.names[-1]))
    whole, held = sums.dense()
    np.testing.assert_allclose(
        whole @ vector, sums.product(vector), atol=1e-6 * np.abs(whole).max()
    )
    return [
        sums.gradient, sums.unit_pull, curvature.diagonal(), sums.product(vector), whole, held,
        *sums.forms(values, np.abs(vector), vector), *sums.forms(values, matrix, vector),
        sums.borders(values).toarray(),
    ]  # fmt: skip


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("cells", [False, True])
@pytest.mark.parametrize(("crowded", "rows_each"), [(-1.0, 16), (2.0, 1 << 14), (2.0, 16)])
def test_sums_agree_with_numpy(
    names: tuple[str, ...],
    cells: bool,
    crowded: float,
    rows_each: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compiled_sums, "_CROWDED", crowded)
    monkeypatch.setattr(packed, "_ROWS_EACH", rows_each)
    monkeypatch.setattr(packed, "_RANGES", 2)
    rows = made_rows([1, 9, 300, 40, 8], 5)
    control = np.random.default_rng(6).normal(size=(len(rows), 2)) if cells else None
    layout = Layout(
        rows, design(rows, ["context"] if cells else [], control), names, STANCE in names,
        N_CONTEXTS if cells and READINESS in names else 0,
    )  # fmt: skip
    slow, fast = problems(layout)
    expected, found = (facts(problem, *sums_at(problem, 7)) for problem in (slow, fast))
    for one, two in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-6 * np.abs(two).max(initial=1e-3))


def test_other_outcomes_and_many_grades_stay_in_numpy() -> None:
    rows = made_rows([20, 20], 8, top=4)
    assert type(integration(rows, ALL[:3], rao_kupper)) is Integration
    fast, slow = CompiledIntegration(rows, ALL[:3], adjacent), Integration(rows, ALL[:3], adjacent)
    point = replace(point_of(rows, ALL[:3], 9, scale=1.0, sd=0.5), grades=np.ones(4))
    assert fast.evaluate(point).log_evidence == slow.evaluate(point).log_evidence


def test_the_bits_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges are cut by the data alone, and added up in their order."""
    rows = made_rows([100] * 500, 10)
    layout = Layout(rows, design(rows, []), ALL[:3])

    def found() -> list[FloatArray]:
        problem = Problem(layout, np.zeros(N_ITEMS, dtype=np.int64))
        _, sums = sums_at(problem, 11)
        vector = np.cos(np.arange(layout.size))
        return [problem.known.weights, sums.gradient, sums.product(vector), sums.dense()[0]]

    threaded = found()
    for module in (compiled, compiled_sums, packed, borders):
        monkeypatch.setattr(module, "each_range", lambda work, cut: list(map(work, cut, cut[1:])))
    for one, two in zip(threaded, found(), strict=True):
        np.testing.assert_array_equal(one, two)


def test_the_readiness_of_contexts_stays_near_0() -> None:
    """Only the prior tells it from the mean readiness: errors of cubature must not add up."""
    rows = made_rows([60] * 300, 12)
    rows.keys["context"] %= N_CONTEXTS
    problem = Problem(
        Layout(rows, design(rows, []), ALL[:3], contexts=N_CONTEXTS), np.zeros(N_ITEMS, int)
    )
    fit = fit_general(problem, problem.first_state(np.zeros(N_ITEMS), {}))
    assert fit.convergence.converged
    assert abs(fit.state.unknowns[problem.layout.where_ties].mean()) < 0.02


def test_on_the_way_nodes_are_worked_out_in_floats() -> None:
    """What a fit sums up before its end is right to the rounding of float32."""
    rows = made_rows([1, 9, 300, 40, 8], 5)
    for names in NAMES:
        layout = Layout(rows, design(rows, []), names, STANCE in names)
        rough, fine = (problems(layout)[1] for _ in range(2))
        fast = rough.integration
        assert isinstance(fast, CompiledIntegration)
        fast.floats = True
        state, _ = sums_at(fine, 7)
        sums, exactly = rough.integrate(state, close=1e-9), fine.integrate(state, close=1e-9)
        most = float(np.abs(exactly.gradient).max())
        np.testing.assert_allclose(sums.gradient, exactly.gradient, rtol=0.0, atol=2e-6 * most)
        np.testing.assert_allclose(rough.known.weights, fine.known.weights, atol=1e-5)
        evidence = fine.known.log_evidence
        np.testing.assert_allclose(rough.known.log_evidence, evidence, rtol=1e-6)
        assert not np.array_equal(rough.known.weights, fine.known.weights)


def test_more_ties_than_floats_can_count() -> None:
    """A readiness that overflows float32 is worked out in float64."""
    rows = made_rows([2, 3], 5)  # too few for them to say otherwise
    layout = Layout(rows, design(rows, []), ALL[:3])
    found = []
    for floats in (False, True):
        problem = problems(layout)[1]
        problem.integration.floats = floats  # type: ignore[attr-defined]
        state, _ = sums_at(problem, 7)
        unknowns = state.unknowns.copy()
        unknowns[layout.at_means :] = 200.0
        state = replace(state, unknowns=unknowns, covariance=np.zeros_like(state.covariance))
        problem.integration.restart()
        sums = problem.integrate(state, close=1e-4)
        found.append((problem.known, problem.curvature(state, sums).diagonal()))
    (known, diagonal), (quick, rough) = found
    assert known.of(READINESS).max() > 100.0
    np.testing.assert_allclose(quick.log_evidence, known.log_evidence, rtol=1e-5)
    np.testing.assert_allclose(quick.nodes, known.nodes, rtol=1e-3)
    np.testing.assert_allclose(rough, diagonal, rtol=1e-4)
