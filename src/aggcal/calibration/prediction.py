"""Scores for items that are not in the consensus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, TextArray, frozen
from aggcal._core.tables import Columns, aligned, as_frame
from aggcal.calibration.inputs import Inputs
from aggcal.calibration.unseen import fit_unseen
from aggcal.data.scores import Scores
from aggcal.errors import count


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
        told = (
            f"{int(self.judged.sum()):,} placed by judgments, {int(self.outside.sum()):,} outside"
        )
        return f"Prediction of {count(len(self.item_ids), 'item')} ({told} what was seen)"

    @property
    def items(self) -> Any:
        """Table of item, model, predicted, predicted_low, predicted_high, outside and judged."""
        return as_frame(self.item_columns(), self.backend)


def predict(
    inputs: Inputs, ids: TextArray, model: FloatArray, placed: Scores | None, backend: str | None
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
    seen = fit_unseen(
        inputs.model, inputs.fused.values, anchors=anchors, level=inputs.level, seed=inputs.seed
    )
    predicted, outside = seen(model), seen.outside(model)
    judged = np.zeros(len(ids), dtype=bool)
    if placed is not None and placed.sd is not None:
        where = aligned(placed.values, placed.item_ids, ids)
        sd = aligned(placed.sd, placed.item_ids, ids)
        judged = np.isfinite(where)
        predicted[judged] = inputs.fused.at(where[judged], model[judged], np.square(sd[judged]))
    wide = np.where(judged | ~np.isfinite(seen.radius), np.nan, seen.radius)
    low, high = predicted - wide, predicted + wide
    model, predicted, low, high = (frozen(column) for column in (model, predicted, low, high))
    return Prediction(ids, model, predicted, low, high, outside, judged, backend)
