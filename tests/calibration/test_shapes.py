"""The base of fused as an average of shapes, and the moments about it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from aggcal._core.arrays import FloatArray
from aggcal._core.tables import as_text
from aggcal.aggregation.covariance import DenseCovariance
from aggcal.calibration import shapes, smooth_base
from aggcal.calibration.calibrator import find
from aggcal.calibration.inputs import Inputs
from aggcal.calibration.moments import moments
from aggcal.calibration.shapes import mixed_base
from aggcal.calibration.smooth_base import bagged, fit_base

SHAPES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "line": lambda x: 10.0 * x,
    "exponential": lambda x: 10.0 * np.exp(1.5 * x),
    "reversed exponential": lambda x: -10.0 * np.exp(-1.5 * x),
    "two groups": lambda x: np.where(x > 1.0, 80.0, 0.0),
    "constant": lambda x: 0.0 * x,
    "falling": lambda x: -10.0 * x,
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("items", [3, 9, 40])
def test_it_never_falls(shape: str, items: int) -> None:
    random = np.random.default_rng(items)
    x = np.round(random.standard_normal(items), 1)  # with ties
    base = mixed_base(x, SHAPES[shape](x) + 5.0 * random.standard_normal(items))
    grid = np.linspace(-4.0, 4.0, 301)
    assert (np.diff(base(grid)) >= -1e-9).all()
    assert (base.rise(grid) >= 0.0).all()
    assert base.weights.sum() == pytest.approx(1.0)
    assert base.rise(x).mean() == pytest.approx(1.0)


def test_the_curve_uses_what_each_value_adds_to_its_own() -> None:
    random = np.random.default_rng(1)
    x, y = random.standard_normal(12), random.standard_normal(12)

    def fitted(values: FloatArray) -> tuple[FloatArray, float]:
        curve, used = bagged(x, values, 20, np.random.default_rng(2))
        return curve(x), used

    step = 1e-7
    moved = [fitted(y + step * (np.arange(12) == k))[0][k] - fitted(y)[0][k] for k in range(12)]
    assert fitted(y)[1] == pytest.approx(sum(moved) / step, rel=1e-4)


def squared_errors(shape: str, sd: float, items: int) -> dict[str, float]:
    errors: dict[str, list[float]] = {"shapes": [], "smooth": []}
    for seed in range(25):
        random = np.random.default_rng([seed, items])
        x = random.standard_normal(items)
        x[:2] += 3.0
        truth = SHAPES[shape](x)
        model = truth + sd * float(truth.std()) * random.standard_normal(items)
        for name, fit in (("shapes", mixed_base), ("smooth", fit_base)):
            errors[name].append(float(np.mean(np.square(fit(x, model, seed)(x) - truth))))
    return {name: float(np.mean(found)) for name, found in errors.items()}


def test_giants_and_steep_truths_are_followed_and_lines_cost_little() -> None:
    groups = squared_errors("two groups", 0.5, 15)
    assert groups["shapes"] < 0.75 * groups["smooth"]
    line = squared_errors("line", 0.5, 15)
    assert line["shapes"] < 1.25 * line["smooth"]


def test_noise_is_found_beside_a_few_items_of_uncertain_rank() -> None:
    """The rank of the largest alone is worth more than all noise: a plain mean leaves none."""
    found = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        exact = random.standard_normal(60)
        x = exact + 0.3 * random.standard_normal(60)
        model = 10.0 * np.exp(1.3 * exact) + 8.0 * random.standard_normal(60)
        base = mixed_base(x, model, seed)
        found.append(moments(model, x, DenseCovariance(0.09 * np.eye(60)), base=base).residual)
    assert 25.0 < float(np.median(found)) < 130.0


def test_auto_is_seldom_worse_than_the_model_where_the_truth_is_steep() -> None:
    worse, ratios = 0, []
    for seed in range(40):
        random = np.random.default_rng([seed, 7])
        items = int(random.integers(10, 31))
        exact = random.standard_normal(items)
        truth = 10.0 * np.exp(1.4 * exact)
        model = truth + 0.4 * float(truth.std()) * random.standard_normal(items)
        inputs = Inputs(
            as_text(range(items)), model, exact + 0.2 * random.standard_normal(items),
            DenseCovariance(0.04 * np.eye(items)), np.ones(items), None, None, None, 0.9, seed,
        )  # fmt: skip
        scores = find("auto").calibrate(inputs).values
        off = [float(np.square(values - truth).mean()) for values in (scores, model)]
        worse += off[0] > 1.05 * off[1]
        ratios.append(off[0] / off[1])
    assert worse <= 8
    assert float(np.exp(np.mean(np.log(ratios)))) < 0.75


def test_curves_of_many_items_are_the_same_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    x = random.normal(size=400)
    y = x + random.normal(size=400)
    found = []
    for many in (0, 10_000):
        monkeypatch.setattr(smooth_base, "_MANY", many)
        curve, used = bagged(x, y, 12, np.random.default_rng(1))
        found.append((used, curve(x).tolist()))
    assert found[0] == found[1]


def test_shapes_of_many_items_are_the_same_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(6)
    x = random.normal(size=400)
    y = np.exp(x) + random.normal(size=400)
    found = []
    for many in (0, 10_000):
        monkeypatch.setattr(shapes, "_MANY", many)
        base = mixed_base(x, y)
        found.append((base.weights.tolist(), base.slope, base(x).tolist()))
    assert found[0] == found[1]
