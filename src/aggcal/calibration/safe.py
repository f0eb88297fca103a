r"""The safe calibrator: James–Stein shrinkage of the model towards the projection.

For errors of the model that are normal, independent and of one known standard deviation σ, and an
order found without them, its expected squared error is below nσ², that of the model itself: for
every truth and every order, right or wrong.
"""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import FloatArray

_FEWEST_POOLED = 2


def james_stein(
    model: FloatArray, projected: FloatArray, blocks: int, variance: float
) -> tuple[FloatArray, float]:
    """Return the shrunk scores and the share of (model − projected) that was kept.

    Examples
    --------
    >>> values, kept = james_stein(np.array([0.0, 2.0, 1.0, 3.0]), np.full(4, 1.5), 1, 0.1)
    >>> round(kept, 2)
    0.98
    """
    residual = model - projected
    pooled = len(model) - blocks - _FEWEST_POOLED
    size = float(residual @ residual)
    if pooled <= 0 or size == 0.0:
        return model.copy(), 1.0
    kept = max(0.0, 1.0 - pooled * variance / size)
    return np.asarray(projected + kept * residual), kept
