"""Intervals of shares: how often something happened, of so many times."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from aggcal._core.arrays import FloatArray


def share_interval(
    chosen: FloatArray, number: FloatArray, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's interval of shares; from 0 to 1 where nothing was counted.

    Parameters
    ----------
    chosen, number
        How often something happened, and of how many times.
    level
        Level of the two-sided interval.

    Examples
    --------
    >>> low, high = share_interval(np.array([60.0, 0.0]), np.array([100.0, 0.0]))
    >>> low.round(3), high.round(3)
    (array([0.502, 0.   ]), array([0.691, 1.   ]))
    """
    z2 = float(ndtri(0.5 + 0.5 * level)) ** 2
    share = chosen / np.maximum(number, 1e-300)
    whole = number + z2
    middle = (chosen + 0.5 * z2) / whole
    half = np.sqrt(z2 * (number * share * (1.0 - share) + 0.25 * z2)) / whole
    # At the ends rounding would leave a little of nothing.
    low = np.where(chosen <= 0.0, 0.0, middle - half)
    return low, np.where(chosen >= number, 1.0, middle + half)
