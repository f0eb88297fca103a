"""Student's t, and the normal distribution as the one with endless degrees of freedom."""

from __future__ import annotations

from math import isinf

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from aggcal._core.arrays import FloatArray


def quantile(probability: float, degrees_of_freedom: float) -> float:
    """Return the quantile at a chance.

    Examples
    --------
    >>> round(quantile(0.975, float("inf")), 2), round(quantile(0.975, 2.0), 2)
    (1.96, 4.3)
    """
    return float(
        ndtri(probability)
        if isinf(degrees_of_freedom)
        else stdtrit(degrees_of_freedom, probability)
    )


def probability_below(value: FloatArray, degrees_of_freedom: float) -> FloatArray:
    """Return the chance of a value below each of these.

    Examples
    --------
    >>> probability_below(np.array([0.0, np.inf]), 3.0)
    array([0.5, 1. ])
    """
    return np.asarray(
        ndtr(value) if isinf(degrees_of_freedom) else stdtr(degrees_of_freedom, value)
    )
