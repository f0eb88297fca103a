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
from functools import partial

import numpy as np
from scipy.special import ndtri

from aggcal._core.arrays import FloatArray
from aggcal._core.kernels.threads import in_turn
from aggcal._core.sorting import in_order

FROM = 10_000
"""Items from which the curve is averaged: with fewer, draws differ in it and take little time."""

AVERAGED = 12
"""Draws whose curves are averaged: more are steadier and take longer."""

_AT_ONCE = 1 << 25
"""Numbers drawn at a time: fewer keep fewer cores busy, more take more memory."""


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
        What projection makes of a draw. It may have a method ``curve`` that returns a draw from the
        lowest on, and what projection makes of it in this order: one sort less.
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
    places = list(in_turn(in_order, (mean - reach, mean + reach)))
    totals = [np.zeros(len(mean)) for _ in places]
    number = 0
    curve = getattr(at, "curve", None) or partial(_curve, at)

    def read(drawn: FloatArray) -> list[FloatArray]:
        x, values = curve(drawn)
        return [np.interp(place, x, values) for _, place in places]

    # Sorting is most of the work, and lets other threads run. What they found is added in the order
    # of the draws, whichever is done first.
    for found in in_turn(read, draws, most=max(1, _AT_ONCE // len(mean))):
        for total, one in zip(totals, found, strict=True):
            np.add(total, one, out=total)
        number += 1
    low, high = np.empty(len(mean)), np.empty(len(mean))
    for end, total, (order, _) in zip((low, high), totals, places, strict=True):
        end[order] = total / number
    return low, high


def _curve(
    at: Callable[[FloatArray], FloatArray], drawn: FloatArray
) -> tuple[FloatArray, FloatArray]:
    order, places = in_order(drawn)
    return places, at(drawn)[order]
