"""The solver: on functions whose minimum is known, and when it cannot reach one."""

from __future__ import annotations

import numpy as np
import pytest

from aggcal._core.arrays import FloatArray
from aggcal.aggregation.newton import Evaluation, minimise


class Rosenbrock:
    """A curved valley with regions of negative curvature; the minimum is at (1, ..., 1)."""

    def __init__(self) -> None:
        self.hessian: FloatArray = np.eye(2)

    def evaluate(self, x: FloatArray, /) -> Evaluation:
        from scipy.optimize import rosen, rosen_der, rosen_hess

        self.hessian = rosen_hess(x)
        gradient = np.asarray(rosen_der(x))
        diagonal = np.maximum(np.abs(np.diag(self.hessian)), 1e-3)
        return Evaluation(float(rosen(x)), gradient, diagonal, float(np.linalg.norm(gradient)))

    def product(self, vector: FloatArray, /) -> FloatArray:
        return np.asarray(self.hessian @ vector)


@pytest.mark.parametrize("start", [(-1.2, 1.0), (3.0, -4.0), (0.0, 0.0)])
def test_reaches_the_minimum_of_a_nonconvex_function(start: tuple[float, float]) -> None:
    x, record = minimise(Rosenbrock(), np.array(start), tolerance=1e-10)
    assert record.converged
    assert record.gradient_norm <= 1e-10
    np.testing.assert_allclose(x, 1.0, atol=1e-9)


def test_says_so_when_it_does_not_arrive() -> None:
    _, record = minimise(Rosenbrock(), np.array([-1.2, 1.0]), tolerance=1e-10, max_iterations=2)
    assert not record.converged
    assert record.iterations == 2
    assert record.gradient_norm > 1e-10
