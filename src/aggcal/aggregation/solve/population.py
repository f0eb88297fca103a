"""Where the estimates of the spreads and of the share of reversed annotators lead.

On log scales they approach their ends geometrically, or spiral: the next ones are extrapolated from
the last, or mixed of them.
"""

from __future__ import annotations

from math import log

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.aggregation.spreads import within
from aggcal.models.beliefs import Population

RELIABILITY_RANGE = (0.05, 3.0)
"""What τ is kept within."""
_STEADY, _FURTHEST = 0.9, 0.5
"""Largest rate that is extrapolated, and how far on a log scale."""
_MEMORY = 4
"""Points that are mixed."""

Path = list[tuple[FloatArray, FloatArray]]
"""Points and what they were updated to."""


def coordinates(population: Population) -> FloatArray:
    """Return the logarithms of the spreads, and the logit of the share."""
    share = population.reversed_share
    return np.log([population.score_sd, population.reliability_sd, share / (1.0 - share)])


def extrapolated(path: Path, default_sd: float) -> Population:
    """Go where the last three points lead, coordinate by coordinate, as far as they are steady."""
    return _population(ahead(path), default_sd)


def ahead(path: Path) -> FloatArray:
    """Return the coordinates that the last three points lead to, as far as they are steady."""
    last = path[-1][1]
    first, second = path[-2][1] - path[-3][1], last - path[-2][1]
    rate = np.divide(second, first, out=np.zeros_like(first), where=first != 0.0)
    rate = np.where((rate > 0.0) & (rate < _STEADY), rate, 0.0)
    return np.asarray(last + np.clip(rate / (1.0 - rate) * second, -_FURTHEST, _FURTHEST))


def mixed(path: Path, default_sd: float) -> Population:
    """Anderson's mixing: the combination of the last points whose updates cancel best."""
    return _population(blend(path), default_sd)


def blend(path: Path) -> FloatArray:
    """Return the coordinates at which the updates of the last points cancel best."""
    points = np.array([point for point, _ in path[-_MEMORY:]])
    images = np.array([image for _, image in path[-_MEMORY:]])
    last = images[-1]
    if len(points) > 1:
        steps = images - points
        weights = np.linalg.lstsq(np.diff(steps, axis=0).T, steps[-1], rcond=1e-3)[0]
        last = last - np.clip(weights @ np.diff(images, axis=0), -_FURTHEST, _FURTHEST)
    return np.asarray(last)


def moved(old: Population, new: Population) -> float:
    """Return the largest change: of the spreads relative to them, of the share as it is."""
    return max(
        abs(log(new.score_sd / old.score_sd)),
        abs(log(new.reliability_sd / old.reliability_sd)),
        abs(new.reversed_share - old.reversed_share),
    )


def _population(coordinates: FloatArray, default_sd: float) -> Population:
    sigma, tau, odds = np.exp(coordinates).tolist()
    tau = float(np.clip(tau, *RELIABILITY_RANGE))
    return Population(within(sigma, default_sd), tau, odds / (1.0 + odds))
