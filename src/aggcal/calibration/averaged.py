"""Intervals of many projected scores by the average curve, instead of hundreds of sorts.

Projected scores are a curve over the order: an item's score depends on its place alone. With many
items the curve hardly differs between draws of the exact consensus; what differs is the place of
the item on it. So the curve is averaged over a few draws, and the ends of an item's interval are
the curve at the quantiles of its own place, which are known: mean and standard deviation of its
posterior. Ten million items take a dozen sorts instead of two hundred, and the ends are steadier
than quantiles of two hundred draws, since nothing of the item itself is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.compiled_scipy import ndtri

FROM = 10_000
"""Items from which the curve is averaged: with fewer, draws differ in it and take little time."""

AVERAGED = 12
"""Draws whose curves are averaged: more are steadier and take longer."""


def averaged_ends(
    draws: Iterable[FloatArray],
    at: Callable[[FloatArray], FloatArray],
    mean: FloatArray,
    sd: FloatArray,
    level: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of each item's interval, and of none more than the curve has.

    Parameters
    ----------
    draws
        Some draws of the exact consensus.
    at
        What projection makes of a draw.
    mean, sd
        Where each item is, and how uncertain that is.
    level
        The level of the intervals.

    Examples
    --------
    Where projection changes nothing, the ends are the quantiles of the place itself:

    >>> mean, sd = np.linspace(0.0, 9.0, 901), np.full(901, 0.2)
    >>> random = np.random.default_rng(0)
    >>> draws = (mean + sd * random.standard_normal(901) for _ in range(12))
    >>> low, high = averaged_ends(draws, lambda drawn: drawn, mean, sd, 0.95)
    >>> round(float(np.mean(high - low)[()]), 1)
    0.8
    """
    reach = float(ndtri(0.5 + 0.5 * level)) * sd
    places, ends = (mean - reach, mean + reach), []
    orders = [np.argsort(place) for place in places]
    sorted_places = [place[order] for place, order in zip(places, orders, strict=True)]
    totals = [np.zeros(len(mean)) for _ in places]
    number = 0
    for drawn in draws:
        order = np.argsort(drawn)
        x, curve = drawn[order], at(drawn)[order]
        for k, place in enumerate(sorted_places):
            totals[k] += np.interp(place, x, curve)
        number += 1
    for total, order in zip(totals, orders, strict=True):
        end = np.empty(len(mean))
        end[order] = total / number
        ends.append(end)
    return ends[0], ends[1]
