"""Isotonic regression: the nearest scores that never fall where the consensus rises."""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.kernels import at, library


def project(
    heights: FloatArray,
    values: FloatArray,
    weights: FloatArray | None = None,
    component: IntArray | None = None,
) -> tuple[FloatArray, IntArray]:
    """Project values onto the order of heights; return them and their blocks, 1 the highest.

    Of several components each is projected by itself: nothing orders items of different ones.

    Examples
    --------
    Equal heights share their weighted mean:

    >>> project(np.array([1.0, 1.0, 2.0]), np.array([0.0, 3.0, 5.0]), np.array([2.0, 1.0, 1.0]))
    (array([1., 1., 5.]), array([2, 2, 1]))

    Items of different components never share a block:

    >>> project(np.arange(4.0), np.array([9.0, 5.0, 1.0, 3.0]), None, np.array([0, 1, 0, 1]))
    (array([5., 4., 5., 4.]), array([1, 2, 1, 2]))
    """
    if component is None:
        order = np.argsort(heights, kind="stable")
        ordered = heights[order]
        first_of_part = np.zeros(1, dtype=np.int64)
    else:
        order = np.lexsort((heights, component))
        ordered, part = heights[order], component[order]
        first_of_part = np.flatnonzero(np.append(True, part[1:] != part[:-1]))
    new = np.append(True, ordered[1:] != ordered[:-1])
    new[first_of_part] = True
    starts = np.flatnonzero(new)
    weight = np.ones(len(values)) if weights is None else weights[order]
    total = np.add.reduceat(weight, starts)
    means = np.add.reduceat(weight * values[order], starts) / total
    ends = np.append(np.searchsorted(starts, first_of_part), len(starts))
    begins = np.ones(len(starts), dtype=bool)
    for one, next_one in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        here = slice(one, next_one)
        if (np.diff(means[here]) <= 0.0).any():
            means[here], first = isotonic(means[here], total[here])
            begins[here] = False
            begins[one + first] = True
    block = np.cumsum(begins) - 1
    highest = np.argsort(-means[begins], kind="stable")
    place = np.empty(len(highest), dtype=np.int64)
    place[highest] = np.arange(1, len(highest) + 1)
    level = np.empty(len(values), dtype=np.int64)
    level[order] = np.cumsum(new) - 1
    return means[level], place[block][level]


def isotonic(values: FloatArray, weights: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the nearest numbers that never fall, and where each of their blocks begins.

    Examples
    --------
    >>> isotonic(np.array([1.0, 3.0, 2.0]), np.ones(3))
    (array([1. , 2.5, 2.5]), array([0, 1]))
    """
    kernels = library()
    if kernels is None:
        from scipy.optimize import isotonic_regression

        pooled = isotonic_regression(values, weights=weights)
        return pooled.x, pooled.blocks[:-1]
    means, total, first = np.array(values), np.array(weights), np.empty(len(values), np.int64)
    blocks = kernels.aggcal_isotonic(len(means), *at(means, total, first))
    first = first[:blocks]
    return np.repeat(means[:blocks], np.diff(first, append=len(means))), first
