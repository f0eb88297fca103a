"""Scores without a model: true scores of some items give the scale, the consensus the rest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, TextArray
from aggcal._core.tables import Columns
from aggcal._core.text import brief
from aggcal.calibration.anchors import Measured, conformal_radius, fewest_anchors, split
from aggcal.calibration.expected import expected
from aggcal.calibration.inputs import FEWEST_ANCHORS, Order, align
from aggcal.calibration.result import Scale
from aggcal.calibration.says import anchors_against, chosen_warning, few_anchors_warning
from aggcal.data.scores import Scores
from aggcal.errors import AggcalWarning, AnchorsWarning, TooLittleDataError, count, some


@dataclass(frozen=True, eq=False)
class Anchored:
    """Scores in the anchors' units, in the order of a consensus's items; NaN where none is known.

    They increase with the consensus score. ``low`` to ``high`` holds the truth of an item like the
    anchors with the probability ``level``; NaN where the anchors are too few for it.
    """

    values: FloatArray
    low: FloatArray
    high: FloatArray
    n_anchors: int
    level: float
    scale: Scale = field(default_factory=Scale)
    warnings: tuple[AggcalWarning, ...] = ()
    measured: tuple[tuple[IntArray, Measured], ...] = ()
    """Positions of items, and the errors on anchors that their intervals come from."""

    __repr__ = brief

    def columns(self, order: IntArray) -> Columns:
        """Return the columns of the items' table, in some order of the items."""
        source = np.full(len(self.values), None, dtype=object)
        source[np.isfinite(self.values)] = "anchors"
        columns: Columns = {"calibrated": self.values[order], "score_source": source[order]}
        if np.isfinite(self.low).any():
            columns["calibrated_low"] = self.low[order]
            columns["calibrated_high"] = self.high[order]
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as in ``summary.json``."""
        return {
            "n_anchors": self.n_anchors,
            "n_anchored": int(np.isfinite(self.values).sum()),
            **self.scale.to_dict(),
        }


def anchored(order: Order, anchors: Scores, level: float, seed: int, scale: Scale) -> Anchored:
    """Put items on the scale of anchors by their consensus scores.

    Within a connected component the truth is taken to be an increasing function of the consensus
    score: a straight line, or a curve as far as the anchors show one.

    Examples
    --------
    >>> ids = np.array(list("abcdefgh"), dtype=object)
    >>> known = Scores(ids[:6], np.array([10.0, 12.0, 14.0, 16.0, 18.0, 20.0]))
    >>> anchored(Order(ids, np.arange(8.0)), known, 0.9, 0, Scale(digits=1)).values
    array([10., 12., 14., 16., 18., 20., 22., 24.])
    """
    truth = align(order.item_ids, {"truth": (anchors.item_ids, anchors.values)})["truth"]
    component = order.component
    if component is None:
        component = np.zeros(len(truth), dtype=np.int64)
    values, low, high = np.full((3, len(truth)), np.nan)
    used, measured = 0, []
    for own in np.unique(component).tolist():
        here = np.flatnonzero(component == own)
        where = here[np.isfinite(truth[here])]
        if len(where) < FEWEST_ANCHORS:
            continue
        used += len(where)
        x, y = order.heights[where], truth[where]
        values[here] = expected(x, y, seed)(order.heights[here])
        tune, measure = split(len(where), level, seed)
        if len(tune) >= FEWEST_ANCHORS and not anchors.chosen:
            centre = expected(x[tune], y[tune], seed)
            middle = centre(order.heights[here])
            errors = y[measure] - centre(x[measure])
            measured.append((here, Measured(middle, errors)))
            radius = conformal_radius(errors, level)
            low[here] = np.minimum(middle - radius, values[here])
            high[here] = np.maximum(middle + radius, values[here])
    if not used:
        _refuse(anchors, int(np.isfinite(truth).sum()), order.item_ids)
    said = _warnings(order, truth, values, low, level, chosen=anchors.chosen)
    ends = scale.low_ends(low), scale.high_ends(high)
    return Anchored(scale.scores(values), *ends, used, level, scale, said, tuple(measured))


def check_anchors(anchors: Scores, ids: TextArray) -> None:
    """Refuse anchors that are not among the judged items, before these are fitted."""
    found = len(set(anchors.item_ids) & set(ids))
    if found < FEWEST_ANCHORS:
        _refuse(anchors, found, ids)


def _refuse(anchors: Scores, found: int, ids: TextArray) -> NoReturn:
    raise TooLittleDataError(
        f"{anchors.source}: {count(found, 'anchor')} of {len(anchors)} "
        f"{'is' if found == 1 else 'are'} among the judged items that are compared with each other "
        f"(anchors: {some(anchors.item_ids)}; items: {some(ids)}); give at least "
        f"{FEWEST_ANCHORS}, with the same ids."
    )


def _warnings(
    order: Order,
    truth: FloatArray,
    values: FloatArray,
    low: FloatArray,
    level: float,
    *,
    chosen: bool,
) -> tuple[AggcalWarning, ...]:
    where = np.flatnonzero(np.isfinite(truth) & np.isfinite(values))
    part = None if order.component is None else order.component[where]
    said = anchors_against(truth[where], order.heights[where], part)
    if lost := int(np.isnan(values).sum()):
        title = f"{count(lost, 'item has', 'items have')} no score for lack of anchors"
        why = (
            f"Fewer than {FEWEST_ANCHORS} anchors are connected to "
            f"{'it' if lost == 1 else 'them'}, directly or through other items."
        )
        remedy = "Add anchors among these items, or have them compared with others."
        said.append(AnchorsWarning(title, why, remedy))
    if chosen:
        said.append(chosen_warning())
    elif np.isnan(low[np.isfinite(values)]).any():
        said.append(few_anchors_warning(len(where), level, fewest_anchors(level) + FEWEST_ANCHORS))
    return tuple(said)


def anchored_above(anchored: Anchored, cut: float) -> FloatArray:
    """Return with which probability each item that anchors alone gave a score is above a cut."""
    found = np.full(len(anchored.values), np.nan)
    for here, measured in anchored.measured:
        found[here] = measured.above(cut)
    return found
