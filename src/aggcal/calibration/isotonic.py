"""Isotonic regression: the nearest numbers that never fall."""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import each_range, even

_ROWS_EACH = 50  # of a range: fewer wake more threads for less


def isotonic(
    values: FloatArray, weights: FloatArray, *, spent: bool = False
) -> tuple[FloatArray, IntArray]:
    """Return the nearest numbers that never fall, and where each of their blocks begins and ends.

    What is ``spent`` may be written over, to save memory: values of nobody else's.

    SciPy's gives the same bits, and takes its place where there is no kernel; but it comes with
    all of ``scipy.optimize``, which takes longer to load than most studies take to fit.

    Examples
    --------
    >>> isotonic(np.array([1.0, 3.0, 2.0]), np.ones(3))
    (array([1. , 2.5, 2.5]), array([0, 1, 3]))
    """
    kernel = getattr(library(), "aggcal_isotonic", None)
    if kernel is None or len(values) == 0 or weights.min() <= 0.0:
        from scipy.optimize import isotonic_regression

        found = isotonic_regression(values, weights=weights)
        return found.x, found.blocks
    fitted = values if spent else np.array(values, dtype=np.float64)
    pooled = np.array(weights, dtype=np.float64)
    starts = np.empty(len(fitted) + 1, dtype=np.int64)
    blocks = kernel(len(fitted), *at(fitted, pooled, starts))
    return fitted, starts[: blocks + 1]


def isotonic_rows(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the nearest numbers that never fall, of each row by itself.

    Examples
    --------
    >>> isotonic_rows(np.array([[1.0, 3.0, 2.0], [2.0, 1.0, 3.0]]), np.ones((2, 3)))
    array([[1. , 2.5, 2.5],
           [1.5, 1.5, 3. ]])
    """
    kernel = getattr(library(), "aggcal_isotonic", None)
    if kernel is None or values.size == 0 or weights.min() <= 0.0:
        pairs = zip(values, weights, strict=True)
        return np.array([isotonic(*pair)[0] for pair in pairs]).reshape(values.shape)
    fitted = np.array(values, dtype=np.float64, order="C")
    pooled = np.array(weights, dtype=np.float64, order="C")
    n = fitted.shape[1]
    starts = np.empty(n + 1, dtype=np.int64)
    (start,) = at(starts)
    for value, weight in zip(fitted, pooled, strict=True):
        kernel(n, *at(value, weight), start)
    return fitted


def project_rows(heights: FloatArray, values: FloatArray, weights: FloatArray) -> FloatArray | None:
    """Project the values of each row onto the order of its heights; either may be one row for all.

    None where two heights of a row are equal, a weight is not positive, or there is no kernel.

    Examples
    --------
    >>> project_rows(np.ones(2), np.arange(4.0).reshape(2, 2), np.ones(2)) is None
    True
    """
    kernel = getattr(library(), "aggcal_projected_rows", None)
    if kernel is None or weights.size == 0 or weights.min() <= 0.0:
        return None
    heights, values = (
        np.atleast_2d(np.ascontiguousarray(each, dtype=np.float64)) for each in (heights, values)
    )
    weights, n = np.ascontiguousarray(weights, dtype=np.float64), len(weights)
    found = np.empty((max(len(heights), len(values)), n))
    next_heights, next_values = (n if len(each) == len(found) else 0 for each in (heights, values))

    def work(begin: int, end: int) -> int:
        above = heights[begin:end] if next_heights else heights
        given = values[begin:end] if next_values else values
        (above_at, given_at, *rest) = at(above, given, weights, found[begin:end])
        return int(kernel(end - begin, n, above_at, next_heights, given_at, next_values, *rest))

    return found if all(each_range(work, even(len(found), _ROWS_EACH))) else None


def isotonic_parts(
    values: FloatArray, weights: FloatArray, bounds: IntArray
) -> tuple[FloatArray, IntArray]:
    """Do the same for each of several parts, which lie between bounds, by itself.

    Examples
    --------
    >>> isotonic_parts(np.array([1.0, 3.0, 2.0, 0.0]), np.ones(4), np.array([0, 3, 4]))
    (array([1. , 2.5, 2.5, 0. ]), array([0, 1, 3, 4]))
    """
    fitted, begins = np.array(values, dtype=np.float64), np.ones(len(values), dtype=bool)
    falls = np.flatnonzero(values[1:] <= values[:-1]) + 1
    part = np.searchsorted(bounds, falls, side="right") - 1
    part = np.unique(part[bounds[part] != falls])
    # Most parts of a study in many pieces are pairs: these take one step together. With weights
    # other than 1 a compiler may round their products otherwise.
    first = bounds[part]
    pair = (np.diff(bounds)[part] == 2) & (weights[first] == 1.0) & (weights[first + 1] == 1.0)  # noqa: PLR2004
    first = first[pair]
    fitted[first] = fitted[first + 1] = (values[first] + values[first + 1]) / 2.0
    begins[first + 1] = False
    for k in part[~pair].tolist():
        here = slice(int(bounds[k]), int(bounds[k + 1]))
        fitted[here], starts = isotonic(values[here], weights[here])
        begins[here] = False
        begins[here.start + starts[:-1]] = True
    return fitted, np.append(np.flatnonzero(begins), len(values))
