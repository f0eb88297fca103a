"""The spread of the scores: updates that end where those of expectation and maximisation do."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

from aggcal.aggregation.spreads import next_sd


@pytest.mark.parametrize(("true", "noise", "first"), [(0.3, 3.0, 0.2), (0.0, 4.0, 0.3)])
def test_where_judgments_say_little_an_update_goes_where_thousands_of_em_do(
    true: float, noise: float, first: float
) -> None:
    random = np.random.default_rng(3)
    n = 400
    seen = true * random.normal(size=n) + noise * random.normal(size=n)

    def posterior(sigma: float) -> tuple[np.ndarray, np.ndarray]:
        variance = 1.0 / (noise**-2 + sigma**-2)
        return variance * seen / noise**2, np.full(n, variance)

    slow, squares = first, float(seen @ seen)
    for _ in range(200_000):
        variance = 1.0 / (noise**-2 + slow**-2)  # the same for all, so that sums are products
        slow = sqrt(((variance / noise**2) ** 2 * squares + n * variance) / (n - 1 + log(slow)))
    quick = first
    for _ in range(20):
        quick = next_sd(quick, *posterior(quick), n - 1, 1.0)
    assert quick == pytest.approx(slow, rel=1e-3)
