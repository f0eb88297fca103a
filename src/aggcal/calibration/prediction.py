r"""Scores for items that are not in the consensus.

A calibrated score is a function of the consensus, not of the model's score, so there is nothing to
look up for an item without a consensus. What carries over is the expected score at a given model
score: a regression of the fused scores on the model's, corrected by anchors where there are any.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, TextArray, frozen
from aggcal._core.tables import Columns, as_frame
from aggcal.aggregation.consensus import Consensus
from aggcal.calibration.alignment import Order, align
from aggcal.calibration.anchors import conformal_radius, shrunk_mean, split
from aggcal.calibration.inputs import Inputs
from aggcal.calibration.smooth_base import Base, fit_base
from aggcal.data.base import AnyJudgments
from aggcal.data.scores import Scores
from aggcal.errors import count

_BEYOND = 0.1
"""Share of the range of scores seen by which a new one may lie outside and still move."""

_PSEUDO_ANCHORS = 10.0
"""Anchors that a slope of 1 counts as where the anchors' own is not clearly another."""

_SURE = 2.0
"""Standard errors from which the anchors' own slope is taken as it is."""

_FEWEST_FOR_SLOPE = 5
"""Anchors that a slope is estimated from: of fewer, its error is as large as itself."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """Scores for items that are not in the consensus.

    ``outside`` marks model scores beyond those that were seen: there the prediction is a guess.
    ``low`` and ``high`` are conformal intervals of the truth, where anchors allow them, else NaN.
    """

    item_ids: TextArray
    model: FloatArray
    predicted: FloatArray
    low: FloatArray
    high: FloatArray
    outside: BoolArray
    judged: BoolArray
    """Whether new judgments placed the item in the consensus."""
    backend: str | None = None

    def item_columns(self) -> Columns:
        """Return the table as plain columns."""
        return {
            "item": self.item_ids,
            "model": self.model,
            "predicted": self.predicted,
            "predicted_low": self.low,
            "predicted_high": self.high,
            "outside": self.outside,
            "judged": self.judged,
        }

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        relation = (
            f"{int(self.judged.sum()):,} placed by judgments, {int(self.outside.sum()):,} outside"
        )
        return f"Prediction of {count(len(self.item_ids), 'item')} ({relation} what was seen)"

    @property
    def items(self) -> Any:
        """Table of item, model, predicted, predicted_low, predicted_high, outside and judged."""
        return as_frame(self.item_columns(), self.backend)


@dataclass(frozen=True, eq=False)
class Placed:
    """New items with places in the consensus, and their components where there are several.

    The places are then what an item differs from the mean of its component's calibrated items by.
    """

    scores: Scores
    home: IntArray | None = None

    @classmethod
    def of(cls, scores: Scores, fit: Consensus, inputs: Inputs, home: IntArray) -> Placed:
        """Leave out items of components in which nothing is calibrated, or of several (-1)."""
        component = Order.of(fit).component
        if component is None:
            return cls(scores)
        # By number: all calibrated items are in the consensus.
        where = np.argsort(fit.item_ids)
        here = where[np.searchsorted(fit.item_ids, inputs.item_ids, sorter=where)]
        theirs, raw = component[here], fit.scores[here]
        kept = np.isin(home, theirs)
        sd = None if scores.sd is None else scores.sd[kept]
        ids, values, home = scores.item_ids[kept], scores.values[kept], home[kept]
        if inputs.component is None:
            return cls(Scores(ids, values, sd, scores.source))
        mean = np.bincount(theirs, raw) / np.maximum(np.bincount(theirs), 1)
        return cls(Scores(ids, values - mean[home], sd, scores.source), home)


def homes(fit: Consensus, judgments: AnyJudgments, ids: TextArray) -> IntArray:
    """Return the component that judgments place each new item in; -1 where it is several."""
    component = Order.of(fit).component
    if component is None:
        return np.zeros(len(ids), dtype=np.int64)
    rows = judgments.on_one_machine("placing items")
    known = align(rows.item_ids, {"of": (fit.item_ids, component.astype(np.float64))})["of"]
    least, most = np.full(len(known), np.inf), np.full(len(known), -np.inf)
    for one, other in ((rows.left, rows.right), (rows.right, rows.left)):
        met = np.isfinite(known[other])
        np.minimum.at(least, one[met], known[other][met])
        np.maximum.at(most, one[met], known[other][met])
    found = np.where(least == most, least, -1.0)
    return align(ids, {"home": (rows.item_ids, found)})["home"].astype(np.int64)


def predict(
    inputs: Inputs, ids: TextArray, model: FloatArray, placed: Placed | None, backend: str | None
) -> Prediction:
    """Predict from model scores, and from places in the consensus where there are any.

    Parameters
    ----------
    inputs
        What the calibration was made from.
    ids, model
        The new items and their model scores.
    placed
        Those of them that later judgments placed in the consensus, with standard deviations.
    backend
        The frame library to answer in.
    """
    anchors = None
    if inputs.anchors is not None:
        anchors = inputs.model[inputs.anchors[0]], inputs.anchors[1]
    # Anchors that tuned the fused scores could not measure the map: it starts from those untuned.
    fused = inputs.with_anchors(None).fused.values
    seen = fit_unseen(inputs.model, fused, anchors=anchors, level=inputs.level, seed=inputs.seed)
    if not inputs.drawn:
        seen = replace(seen, radius=np.inf)
    predicted, outside = seen(model), seen.outside(model)
    judged = np.zeros(len(ids), dtype=bool)
    if placed is not None and placed.scores.sd is not None:
        there = placed.scores.item_ids
        tables = {"at": (there, placed.scores.values), "sd": (there, placed.scores.sd)}
        if placed.home is not None:
            tables["home"] = there, placed.home.astype(np.float64)
        found = align(ids, tables)
        judged = np.isfinite(found["at"])
        at, sd = found["at"][judged], found["sd"][judged]
        home = None if placed.home is None else found["home"][judged].astype(np.int64)
        predicted[judged] = inputs.fused.at(at, model[judged], np.square(sd), home)
    wide = np.where(judged | ~np.isfinite(seen.radius), np.nan, seen.radius)
    low, high = predicted - wide, predicted + wide
    model, predicted, low, high = (frozen(column) for column in (model, predicted, low, high))
    return Prediction(ids, model, predicted, low, high, outside, judged, backend)


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
        Both scores of the items that were judged.
    anchors
        Model scores and truths of the anchors: they set the level, and the slope as far as they
        can tell it.
    level
        The level of the conformal interval.
    seed
        Seed for the folds that choose between a line and a curve.

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
    level = float(shrunk_mean(truth - mapped - (slope - 1.0) * (mapped - centre)))
    return UnseenMap(base, low, high, level, slope, centre, np.inf)
