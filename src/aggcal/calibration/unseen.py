r"""Scores for items that are not in the consensus, and features in place of a model.

A calibrated score is a function of the consensus, not of the model's score, so there is nothing to
look up for an item without a consensus. What carries over is the expected score at a given model
score: a regression of the fused scores on the model's, corrected by anchors where there are any.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, TextArray, frozen
from aggcal._core.tables import Columns, as_frame
from aggcal.aggregation.consensus import Consensus
from aggcal.calibration.anchors import conformal_radius, split, tune
from aggcal.calibration.calibrators import Fused
from aggcal.calibration.components import deviations
from aggcal.calibration.expected import expected
from aggcal.calibration.inputs import Inputs, Order, align
from aggcal.data.base import AnyJudgments
from aggcal.data.features import Features
from aggcal.data.scores import Scores
from aggcal.errors import TooLittleDataError, count
from aggcal.io import read_features, read_scores
from aggcal.registry import limits

_SMALL = 1e-12  # of the smallest score
_BEYOND = 0.1
"""Share of the range of scores seen by which a new one may lie outside and still move."""


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
    own = inputs.model
    low, high = float(own.min()), float(own.max())
    at, radius = _unseen_map(inputs, (low, high))
    predicted, outside = at(model), np.asarray((model < low) | (model > high))
    judged = np.zeros(len(ids), dtype=bool)
    if placed is not None and placed.scores.sd is not None:
        there = placed.scores.item_ids
        tables = {"at": (there, placed.scores.values), "sd": (there, placed.scores.sd)}
        if placed.home is not None:
            tables["home"] = there, placed.home.astype(np.float64)
        found = align(ids, tables)
        judged = np.isfinite(found["at"])
        home = None if placed.home is None else found["home"][judged].astype(np.int64)
        variances = np.square(found["sd"][judged])
        predicted[judged] = _fused_at(inputs, found["at"][judged], model[judged], variances, home)
    wide = np.where(judged | ~np.isfinite(radius), np.nan, radius)
    columns = (model, predicted, predicted - wide, predicted + wide)
    model, predicted, low_ends, high_ends = (frozen(column) for column in columns)
    return Prediction(ids, model, predicted, low_ends, high_ends, outside, judged, backend)


def _unseen_map(
    inputs: Inputs, seen: tuple[float, float]
) -> tuple[Callable[[FloatArray], FloatArray], float]:
    """Return an increasing function of the model's score, and the radius of its intervals.

    Outside the range of scores seen (and a tenth of it beyond) it is flat: nothing is known there.
    Anchors set its level, and its slope as far as they can tell it.
    """
    # Anchors that tuned the fused scores could not measure the map: it starts from those untuned.
    fused = Fused().calibrate(inputs.with_anchors(None)).values
    base, margin = expected(inputs.model, fused, inputs.seed), _BEYOND * (seen[1] - seen[0])

    def mapped(model: FloatArray) -> FloatArray:
        return base(np.clip(model, seen[0] - margin, seen[1] + margin))

    if inputs.anchors is None:
        return mapped, np.inf
    where, truth = inputs.anchors

    def tuned(some: IntArray) -> Callable[[FloatArray], FloatArray]:
        if not len(some):
            return mapped
        known = mapped(inputs.model[where[some]])
        fit = tune(known, np.zeros(len(some)), truth[some])
        fit = replace(fit, low=np.asarray(-np.inf), high=np.asarray(np.inf))
        return lambda model: fit(mapped(model))

    tuning, measuring = split(len(where), inputs.level, inputs.seed)
    part, whole = tuned(tuning), tuned(np.arange(len(where)))
    errors = truth[measuring] - part(inputs.model[where[measuring]])
    # The interval belongs to the map that some of the anchors tuned; it is widened by what the
    # others change.
    apart = float(np.max(np.abs(whole(inputs.model) - part(inputs.model))))
    return whole, conformal_radius(errors, inputs.level) + apart if inputs.drawn else np.inf


def _fused_at(
    inputs: Inputs, places: FloatArray, model: FloatArray, variances: FloatArray, home: Any
) -> FloatArray:
    """Fuse items that were placed in the consensus later, with these variances.

    Of several components, ``home`` is that of each item (see `Expected.further`).
    """
    mixed, logged = model, inputs.logged
    part = inputs if logged is None else logged
    if logged is not None:
        # A score of 0 or less is none of these: it counts as a very small one.
        mixed = np.log(np.maximum(model, _SMALL * float(inputs.model.min())))
    place, base = part.base.further(places, home)
    wide = np.square(part.base.rise(place)) * variances + part.moments.crowd
    values = base + wide / (wide + max(part.moments.noise, 1e-300)) * (mixed - base)
    values = np.asarray(values if logged is None else np.exp(values))
    if inputs.anchors is None:
        return values
    return Fused().untuned(inputs).tuned(inputs.anchors)(values, model - values)


# Features in place of a model ---------------------------------------------------------------------

_FOLDS = 10
"""Parts of the items that are predicted in turn from the others: more leave more to learn from, and
take longer."""

_FEWEST = 10
"""Items that a regression is learnt from: of fewer, a prediction is as good as the mean."""

_PENALTIES = tuple(np.geomspace(1e-3, 1e4, 22))
"""Ridges that are tried, in units of the features' variance times the number of items."""


def model_from_features(features: Any, consensus: Any, *, seed: int = 0) -> Scores:
    """Predict each item's consensus score from its features, by what the others show.

    The result stands in for a model's scores: `calibrate` it by ``"fused"`` with the same
    consensus, and items of which little is known borrow from those with similar features; anchors
    put all of it on their scale. No item's own judgments are in its prediction (ten parts of the
    items are predicted in turn from the others), so that its errors are nearly independent of the
    consensus's.

    Parameters
    ----------
    features
        `Features`, or anything that `read_features` takes.
    consensus
        A `Consensus`, or any other numbers of the items that `read_scores` takes.
    seed
        Seed for the parts.

    Examples
    --------
    >>> from aggcal import model_from_features
    >>> order = {f"i{k}": float(k) for k in range(30)}
    >>> rows = [(f"i{k}", k / 10.0, (-1.0) ** k) for k in range(30)]
    >>> found = model_from_features(rows, order)
    >>> abs(found["i17"] - 17.0) < 0.5
    True
    """
    limits.check(seed=seed)
    if not isinstance(features, Features):
        features = read_features(features)
    if not isinstance(consensus, Consensus | Scores):
        consensus = read_scores(consensus)
    order = Order.of(consensus)
    known = set(features.item_ids)
    here = np.array([item in known for item in order.item_ids], dtype=bool)
    if int(here.sum()) < _FEWEST:
        raise TooLittleDataError(
            f"{features.source}: has features of {count(int(here.sum()), 'item')} of the "
            f"consensus; give those of at least {_FEWEST}, with the same ids."
        )
    ids, y = order.item_ids[here], order.heights[here]
    x, part = features.of(ids), order.components(here)
    fold = np.random.default_rng(seed).permutation(len(ids)) % _FOLDS
    found = np.empty(len(ids))
    for k in range(_FOLDS):
        out = fold == k
        found[out] = _ridge(x[~out], y[~out], x[out], None if part is None else part[~out])
    return Scores(ids, found, None, "the items' features")


def _ridge(
    x: FloatArray, y: FloatArray, new: FloatArray, part: IntArray | None = None
) -> FloatArray:
    """Predict by a ridge regression whose penalty predicts left-out rows best.

    Of several components only differences within each are learnt from, and features alone say how
    components compare: the levels of y are conventions.
    """
    centre, level = x.mean(axis=0), float(y.mean())
    if part is not None:
        x, y = np.stack([deviations(c, part) for c in (x - centre).T], axis=1), deviations(y, part)
        left, sizes, right = np.linalg.svd(x, full_matrices=False)
        level = 0.0
    else:
        left, sizes, right = np.linalg.svd(x - centre, full_matrices=False)
    along = left.T @ (y - level)
    best, least = np.zeros(x.shape[1]), np.inf
    for penalty in _PENALTIES:
        share = np.square(sizes) / (np.square(sizes) + penalty * len(y))
        leverage = np.square(left) @ share + 1.0 / len(y)
        errors = (y - level - left @ (share * along)) / np.maximum(1.0 - leverage, 1e-3)
        if float(errors @ errors) < least:
            least = float(errors @ errors)
            best = right.T @ (along * sizes / (np.square(sizes) + penalty * len(y)))
    return np.asarray(level + (new - centre) @ best)
