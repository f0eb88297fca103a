"""Place one item among others whose scores are known."""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.models.objective import Objective


def place_item(
    problem: Objective, sign: FloatArray, other: FloatArray, theta: FloatArray, weight: FloatArray
) -> tuple[float, float]:
    """Return the most probable score of one item against others, and its standard deviation."""
    from scipy.optimize import minimize_scalar

    def loss(x: float) -> float:
        terms = problem.row_terms(sign * (x - other), theta)
        return float(weight @ terms.loss) + problem.item_penalty(np.array([x]))[0]

    bound = 10.0 * problem.link.sd + float(np.abs(other).max())
    best = float(minimize_scalar(loss, bounds=(-bound, bound), method="bounded").x)
    root, _ = problem.row_information(sign * (best - other), theta)
    precision = float(weight @ np.square(root)) + float(
        problem.item_penalty(np.array([best]))[2][0]
    )
    return best, max(precision, 1e-300) ** -0.5
