"""The items' features as a model of their own, where no model scores the items."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal.aggregation.consensus import Consensus
from aggcal.calibration.alignment import Order
from aggcal.calibration.within import deviations
from aggcal.data.features import Features
from aggcal.data.scores import Scores
from aggcal.errors import TooLittleDataError, count
from aggcal.io import read_features, read_scores
from aggcal.registry import limits

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
