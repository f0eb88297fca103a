r"""Scores for items that nobody judged.

A calibrated score is a function of the consensus, not of the model's score, so there is nothing to
look up for an item without a consensus. What carries over is the expected score at a given model
score: a regression of the fused scores on the model's, corrected by anchors where there are any.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray
from aggcal.calibration.anchors import conformal_radius, shrunk_mean, split
from aggcal.calibration.smooth_base import Base, fit_base

_BEYOND = 0.1
_PSEUDO_ANCHORS = 10.0
_SURE = 2.0
_FEWEST_FOR_SLOPE = 5


@dataclass(frozen=True, eq=False)
class UnseenMap:
    """An increasing function of the model's score.

    Outside the range of scores seen (and a tenth of it beyond) it is flat: nothing is known there.
    """

    base: Base
    low: float
    high: float
    level: float
    slope: float
    centre: float
    radius: float
    """Half the width of a conformal interval; infinite without enough anchors."""

    def __call__(self, model: FloatArray) -> FloatArray:
        """Map model scores."""
        margin = _BEYOND * (self.high - self.low)
        inside = np.clip(model, self.low - margin, self.high + margin)
        mapped = self.base(inside)
        return np.asarray(mapped + self.level + (self.slope - 1.0) * (mapped - self.centre))

    def outside(self, model: FloatArray) -> BoolArray:
        """Say which model scores lie outside the range that was seen."""
        return np.asarray((model < self.low) | (model > self.high))


def fit_unseen(
    model: FloatArray,
    fused: FloatArray,
    *,
    anchors: tuple[FloatArray, FloatArray] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> UnseenMap:
    """Fit the map from model scores to fused scores.

    Parameters
    ----------
    model, fused
        Of the items that were judged.
    anchors
        Model scores and truths of the anchors: they set the level, and the slope as far as they
        can tell it.
    level
        Of the conformal interval.
    seed
        Of the folds that choose between a line and a curve.

    Examples
    --------
    >>> x = np.linspace(0.0, 10.0, 30)
    >>> found = fit_unseen(x, 5.0 + 0.5 * (x - 5.0))
    >>> found(np.array([4.0, 99.0])).round(2), found.outside(np.array([4.0, 99.0]))
    (array([4.5, 8. ]), array([False,  True]))
    """
    base = fit_base(model, fused, seed)
    low, high = float(model.min()), float(model.max())
    if anchors is None:
        return UnseenMap(base, low, high, 0.0, 1.0, 0.0, np.inf)
    tune, measure = split(len(anchors[1]), level, seed)
    tuned = _tuned(base, low, high, anchors[0][tune], anchors[1][tune])
    radius = conformal_radius(anchors[1][measure] - tuned(anchors[0][measure]), level)
    whole = _tuned(base, low, high, *anchors)
    # The interval belongs to the map that some of the anchors tuned; it is widened by what the
    # others change.
    apart = float(np.max(np.abs(whole(model) - tuned(model))))
    return UnseenMap(base, low, high, whole.level, whole.slope, whole.centre, radius + apart)


def _tuned(base: Base, low: float, high: float, model: FloatArray, truth: FloatArray) -> UnseenMap:
    mapped = UnseenMap(base, low, high, 0.0, 1.0, 0.0, np.inf)(model)
    n = len(truth)
    if n == 0:
        return UnseenMap(base, low, high, 0.0, 1.0, 0.0, np.inf)
    centre, x, y = float(mapped.mean()), mapped - mapped.mean(), truth - truth.mean()
    slope, size = 1.0, float(x @ x)
    if n >= _FEWEST_FOR_SLOPE and size > 0.0:
        own = float(x @ y) / size
        left = y - own * x
        se = sqrt(float(left @ left) / (n - 2) / size)
        pseudo = 0.0 if abs(own - 1.0) > _SURE * se else _PSEUDO_ANCHORS / n
        slope = max(0.0, (own + pseudo) / (1.0 + pseudo))
    level = shrunk_mean(truth - mapped - (slope - 1.0) * (mapped - centre))
    return UnseenMap(base, low, high, level, slope, centre, np.inf)
