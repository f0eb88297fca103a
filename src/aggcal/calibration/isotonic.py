"""Isotonic regression: the nearest numbers that never fall."""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.kernels import at, library


def isotonic(values: FloatArray, weights: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the nearest numbers that never fall, and where each of their blocks begins and ends.

    SciPy's gives the same bits, and takes its place where there is no kernel; but it comes with
    all of ``scipy.optimize``, which takes longer to load than most studies take to fit.

    Examples
    --------
    >>> isotonic(np.array([1.0, 3.0, 2.0]), np.ones(3))
    (array([1. , 2.5, 2.5]), array([0, 1, 3]))
    """
    kernel = getattr(library(), "aggcal_isotonic", None)
    if kernel is None or len(values) == 0 or (weights <= 0.0).any():
        from scipy.optimize import isotonic_regression

        found = isotonic_regression(values, weights=weights)
        return found.x, found.blocks
    fitted = np.array(values, dtype=np.float64)
    pooled = np.array(weights, dtype=np.float64)
    starts = np.empty(len(fitted) + 1, dtype=np.int64)
    blocks = kernel(len(fitted), *at(fitted, pooled, starts))
    return fitted, starts[: blocks + 1]
