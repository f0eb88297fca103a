"""The kernel of isotonic regression against SciPy's: the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from aggcal._core.kernels import library
from aggcal.calibration import isotonic as module
from aggcal.calibration.atc import projected_rows, projected_values
from aggcal.calibration.isotonic import isotonic


def test_the_same_bits_as_scipy() -> None:
    random = np.random.default_rng(8)
    for k in range(2000):
        n = int(random.integers(1, 60 if k % 10 else 2000))
        values = random.choice([random.standard_normal(n), random.integers(0, 4, n) / 3.0])
        values += random.choice([0.0, 0.1, -0.1]) * np.arange(n)
        weights = random.choice([np.ones(n), random.exponential(size=n) + 1e-9])
        given = values.copy(), weights.copy()
        expected = isotonic_regression(values, weights=weights)
        fitted, starts = isotonic(values, weights)
        np.testing.assert_array_equal(fitted, expected.x)
        np.testing.assert_array_equal(starts, expected.blocks)
        np.testing.assert_array_equal((values, weights), given)


def test_without_a_kernel_scipy_takes_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    values, weights = np.array([1.0, 3.0, 2.0, 2.0]), np.array([1.0, 2.0, 1.0, 0.5])
    one = isotonic(values, weights)
    monkeypatch.setattr(module, "library", lambda: None)
    for ours, theirs in zip(one, isotonic(values, weights), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kernels", [True, False])
def test_rows_together_are_the_same_bits_as_one_by_one(
    kernels: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not kernels:
        monkeypatch.setattr(module, "library", lambda: None)
    random = np.random.default_rng(9)
    for k in range(12):
        n = int(random.integers(1, 30))
        weights = random.exponential(size=n) + 1e-9
        heights = random.integers(0, 9, (7, n)) / 3.0 if k % 3 == 0 else random.normal(size=(7, n))
        values = random.normal(size=(7, n))
        component = random.integers(0, 2, n) if k % 4 == 0 else None
        for one, other in ((heights, values), (heights, values[0]), (heights[0], values)):
            found = projected_rows(one, other, weights, component)
            rows = zip(np.broadcast_to(one, (7, n)), np.broadcast_to(other, (7, n)), strict=True)
            each = [projected_values(*row, weights, component) for row in rows]
            np.testing.assert_array_equal(found, each)


def test_weights_must_be_positive() -> None:
    with pytest.raises(ValueError, match="positive"):
        isotonic(np.array([1.0, 0.0]), np.array([1.0, 0.0]))


@pytest.mark.skipif(library() is None, reason="no C compiler when aggcal was installed")
def test_the_kernel_is_there() -> None:
    assert hasattr(library(), "aggcal_isotonic")
