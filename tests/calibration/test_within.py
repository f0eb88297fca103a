"""Several connected components: each is calibrated by itself, the model alone compares them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.tables import as_text
from aggcal.aggregation.covariance import DenseCovariance
from aggcal.aggregation.groups import members, several
from aggcal.calibration.calibrators import find
from aggcal.calibration.components import changing_place, located, means
from aggcal.calibration.draws import agreement
from aggcal.calibration.inputs import Inputs
from aggcal.calibration.intervals import calibrated_intervals
from aggcal.calibration.moments import moments
from aggcal.calibration.project import project
from aggcal.calibration.says import contradictions, direction_warnings
from aggcal.errors import AggcalWarning

METHODS = ("atc", "fused", "safe")
FAR = (6,) * 10


def made(
    sizes: tuple[int, ...], seed: int, *, sd: float = 8.0, apart: float = 2.0, error: float = 0.5
) -> tuple[Inputs, FloatArray, FloatArray]:
    """Return inputs of components that differ, their truth, and the exact consensus."""
    random = np.random.default_rng(seed)
    part = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    n = len(part)
    exact = random.standard_normal(n)
    truth = 50.0 + 10.0 * (exact + apart * random.standard_normal(len(sizes))[part])
    model = truth + sd * random.standard_normal(n)
    estimate = exact + error * random.standard_normal(n)
    component = several(part)
    covariance = DenseCovariance(error**2 * np.eye(n))
    inputs = Inputs(
        as_text([f"i{k}" for k in range(n)]), model, located(estimate, model, component),
        covariance if component is None else covariance.within(component),
        np.ones(n), None, None, None, 0.9, seed, component=component,
    )  # fmt: skip
    return inputs, truth, exact


def with_sd(inputs: Inputs, sd: float = 8.0) -> Inputs:
    return replace(inputs, variances=np.full(len(inputs.model), sd**2))


def alone(inputs: Inputs, own: IntArray) -> Inputs:
    """Return one component by itself, of which nothing else is known."""
    variances = None if inputs.variances is None else inputs.variances[own]
    assert inputs.covariance is not None
    return replace(
        inputs, item_ids=inputs.item_ids[own], model=inputs.model[own], variances=variances,
        consensus=inputs.consensus[own], covariance=inputs.covariance.of(own),
        weight=inputs.weight[own], component=None,
    )  # fmt: skip


def nearest(heights: FloatArray, values: FloatArray, weights: FloatArray) -> FloatArray:
    """Solve isotonic regression as a problem in increments, which must not be below 0."""
    levels = np.unique(heights)
    columns = (heights[:, None] >= levels).astype(float)
    root = np.sqrt(weights)
    low = np.concatenate([[-np.inf], np.zeros(len(levels) - 1)])
    found = lsq_linear(columns * root[:, None], values * root, (low, np.inf), tol=1e-14)
    return np.asarray(columns @ found.x)


@given(st.integers(0, 10**6))
def test_the_projection_solves_the_partial_order(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 25))
    component = random.integers(0, random.integers(1, 6), n)
    heights, values = random.integers(0, 8, n) / 2.0, random.standard_normal(n)
    weights = random.choice([np.ones(n), random.exponential(size=n) + 0.1])
    found, block = project(heights, values, weights, component)
    for own in members(component, n):
        np.testing.assert_allclose(
            found[own], nearest(heights[own], values[own], weights[own]), atol=1e-6
        )
        # Exactly what the component gives by itself, blocks included.
        single = project(heights[own], values[own], weights[own])
        np.testing.assert_array_equal(found[own], single[0])
        np.testing.assert_array_equal(np.unique(block[own])[single[1] - 1], block[own])
    assert set(block) == set(range(1, int(block.max()) + 1))
    for one in range(1, int(block.max()) + 1):
        assert len(np.unique(component[block == one])) == 1
        assert len(np.unique(found[block == one])) == 1
    highest = [found[block == one][0] for one in range(1, int(block.max()) + 1)]
    assert (np.diff(highest) <= 0.0).all()


@pytest.mark.parametrize("method", METHODS)
def test_single_items_keep_their_model_score(method: str) -> None:
    inputs, *_ = made((1, 7, 1, 5, 2), 4)
    inputs = with_sd(inputs)
    assert inputs.component is not None
    found = find(method).calibrate(inputs).values
    single = np.bincount(inputs.component)[inputs.component] == 1
    np.testing.assert_allclose(found[single], inputs.model[single], atol=1e-9)
    assert (np.abs(found - inputs.model)[~single] > 1e-6).any()
    every = replace(inputs, component=np.arange(len(inputs.model)))
    for known in (every, replace(every, variances=None)):
        if known.variances is not None or method != "safe":
            values = find(method).calibrate(known).values
            np.testing.assert_allclose(values, inputs.model, atol=1e-9)


def moved(inputs: Inputs, *, model: bool) -> tuple[Inputs, FloatArray]:
    """Move each component: in the consensus, or by the model."""
    assert inputs.component is not None
    by = np.linspace(-90.0, 70.0, int(inputs.component.max()) + 1)[inputs.component]
    if model:
        return replace(inputs, model=inputs.model + by), by
    return replace(inputs, consensus=inputs.consensus + by), np.zeros(len(by))


@pytest.mark.parametrize("sizes", [(20, 12, 5, 3), (2,) * 6])
def test_where_the_consensus_has_a_component_makes_no_difference(sizes: tuple[int, ...]) -> None:
    inputs, *_ = made(sizes, 5)
    other, _ = moved(inputs, model=False)
    for method in METHODS:
        one, two = (find(method).calibrate(with_sd(each)).values for each in (inputs, other))
        np.testing.assert_allclose(one, two, atol=1e-7)
        if method != "safe":
            ends = [
                calibrated_intervals(find(method), each, find(method).calibrate(each))
                for each in (inputs, other)
            ]
            for end in ("low", "high"):
                np.testing.assert_allclose(getattr(ends[0], end), getattr(ends[1], end), atol=1e-6)
    assert inputs.dependent == other.dependent
    said = [[str(one) for one in _said(each)] for each in (inputs, other)]
    assert said[0] == said[1]


def _said(inputs: Inputs) -> list[AggcalWarning]:
    atc = find("atc")
    return [
        *direction_warnings(inputs.consensus, inputs.model, inputs.component),
        *atc.warnings(with_sd(inputs), None),
        *contradictions(with_sd(inputs, 100.0)),
    ]


def test_agreement_between_components_is_no_evidence() -> None:
    """What the model says of components moves their scores, and changes nothing else."""
    inputs, *_ = made((9, 7, 4), 6, error=1.0)
    other, by = moved(inputs, model=True)
    for method in ("atc", "safe"):
        one, two = (find(method).calibrate(with_sd(each)).values for each in (inputs, other))
        np.testing.assert_allclose(two, one + by, atol=1e-7)
    part, covariance = inputs.component, inputs.covariance
    assert part is not None
    assert covariance is not None
    found = [
        moments(each.model, located(each.consensus, each.model, part), covariance, component=part)
        for each in (inputs, other)
    ]
    for name in ("slope", "ranking", "residual", "crowd", "noise", "total", "hedged"):
        assert getattr(found[0], name) == pytest.approx(getattr(found[1], name))
    assert found[0].degrees_of_freedom == len(part) - 2 - 2
    both = [each.knowledge for each in (inputs, other)]
    assert both[0] is not None
    assert both[1] is not None
    met, met_too = agreement(both[0], 0), agreement(both[1], 0)
    assert met == met_too
    assert met.pairs == 9 * 8 // 2 + 7 * 6 // 2 + 4 * 3 // 2
    assert [str(each) for each in _said(inputs)] == [str(each) for each in _said(other)]


def test_a_model_that_falls_within_components_is_told_though_it_rises_between_them() -> None:
    random = np.random.default_rng(7)
    part = np.repeat(np.arange(5), 8)
    x = random.standard_normal(40)
    model = 100.0 * part - x + 0.1 * random.standard_normal(40)
    place = x + 50.0 * part
    assert direction_warnings(place, model) == []
    assert direction_warnings(place, model, part)[0].code == "direction"
    inputs = Inputs(
        as_text([f"i{k}" for k in range(40)]), model, located(x, model, part),
        DenseCovariance(0.01 * np.eye(40)).within(part), np.ones(40), None, None, None, 0.9, 0,
        component=part,
    )  # fmt: skip
    assert inputs.moments.hedged == 1.0  # all of the model is kept
    np.testing.assert_allclose(find("fused").calibrate(inputs).values, model, atol=0.5)


def test_components_are_where_the_model_puts_them() -> None:
    inputs, *_ = made(FAR, 8)
    for method in METHODS:
        found = find(method).calibrate(with_sd(inputs)).values
        gone = means(found, inputs.component) - means(inputs.model, inputs.component)
        np.testing.assert_allclose(gone, 0.0, atol=1e-6 if method != "fused" else 1.0)


def _errors(sizes: tuple[int, ...], seeds: range) -> dict[str, float]:
    """Return mean squared errors, as shares of the model's."""
    total: dict[str, float] = {"model": 0.0}
    for seed in seeds:
        inputs, truth, _ = made(sizes, seed)
        total["model"] += float(np.square(inputs.model - truth).sum())
        raw = inputs.consensus - means(inputs.consensus, inputs.component)
        apart = members(inputs.component, len(truth))
        for method in ("atc", "fused"):
            calibrate = find(method).calibrate
            by_parts = np.empty(len(truth))
            for own in apart:
                by_parts[own] = calibrate(alone(inputs, own)).values
            ways = {
                "": calibrate(inputs).values,
                " alone": by_parts,
                " one order": calibrate(replace(inputs, consensus=raw, component=None)).values,
            }
            for how, values in ways.items():
                error = float(np.square(values - truth).sum())
                total[method + how] = total.get(method + how, 0.0) + error
    return {name: error / total["model"] for name, error in total.items()}


@pytest.mark.parametrize("sizes", [(30, 30), FAR])
def test_errors_are_not_larger_than_those_of_components_alone(sizes: tuple[int, ...]) -> None:
    found = _errors(sizes, range(6))
    assert found["atc"] == found["atc alone"]  # to the bit
    assert found["fused"] < 1.03 * found["fused alone"]
    assert found["atc"] < 0.8
    assert found["fused"] < found["atc"]
    for method in ("atc", "fused"):
        assert found[f"{method} one order"] > 1.5 * found[method]


@pytest.mark.parametrize(
    ("method", "studies"), [("atc", 6), pytest.param("fused", 6, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("sizes", [(20, 20), (5,) * 8])
def test_intervals_cover_what_the_exact_consensus_gives(
    sizes: tuple[int, ...], method: str, studies: int
) -> None:
    held, calibrator = [], find(method)
    for seed in range(studies):
        inputs, _, exact = made(sizes, 100 + seed)
        found = calibrator.calibrate(inputs)
        ends = calibrated_intervals(calibrator, inputs, found)
        at = calibrator.on_exact(inputs, found)(exact)
        assert ends.low is not None
        assert ends.high is not None
        held += ((ends.low <= at + 1e-9) & (at - 1e-9 <= ends.high)).tolist()
    # Forty studies: 0.86 and 0.87 of fused, at the level 0.9; six have a standard error of 0.026.
    assert 0.8 <= np.mean(held) <= 0.99


def test_only_places_within_components_change() -> None:
    part = np.array([0, 1, 0, 1])
    draws = np.array([[1.0, 5.0, 2.0, 6.0], [7.0, 5.0, 8.0, 3.0]])
    assert changing_place(draws, part).tolist() == [False, True, False, True]
    assert changing_place(draws, None).all()
