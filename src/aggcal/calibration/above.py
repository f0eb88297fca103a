"""With which probability a score lies above a cut.

With anchors it is the truth of which that is said: by the errors that the scores of anchors had (a
conformal predictive distribution). Without, it is the calibrated score that the annotators' exact
consensus would give, by the draws that its interval comes from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.text import brief
from aggcal.aggregation.ranks import stated
from aggcal.calibration.alignment import align

if TYPE_CHECKING:
    from aggcal.calibration.anchored import Anchored
    from aggcal.calibration.inputs import Inputs
    from aggcal.calibration.result import Calibration


@dataclass(frozen=True, eq=False)
class Measured:
    """Centres of conformal intervals, and the errors that those of anchors had."""

    centre: FloatArray
    errors: FloatArray

    __repr__ = brief

    def above(self, cut: float) -> FloatArray:
        """Return with which probability the truth of each item is above a cut.

        An error that is exchangeable with k others falls into each of the k + 1 gaps between them
        with the same probability; half of that of the gap with the cut counts as above it.

        Examples
        --------
        >>> Measured(np.array([0.0, 9.0]), np.array([-1.0, 0.0, 1.0])).above(0.5)
        array([0.375, 0.875])
        """
        errors = np.sort(self.errors)
        higher = len(errors) - np.searchsorted(errors, cut - self.centre, side="right")
        return np.asarray((higher + 0.5) / (len(errors) + 1))


def chance_above(calibration: Calibration, cut: float) -> FloatArray:
    """Return with which probability each item of a calibration is above a cut.

    NaN where no interval is claimed: for items without a score of their own, and where there are no
    intervals at all.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("bob", "a", "b"), ("ann", "b", "c"), ("bob", "a", "c")]
    >>> order = aggcal.aggregate(rows, warn=False)
    >>> found = aggcal.calibrate({"a": 3.0, "b": 1.0, "c": 2.0}, order, warn=False)
    >>> chance_above(found, 1.8).round(1)
    array([1. , 0.1, 0.5])
    """
    inputs = calibration.inputs
    if calibration.covers is None:
        return np.full(len(calibration.item_ids), np.nan)
    if calibration.measured is not None:
        found = calibration.measured.above(cut)
    else:
        found = _drawn_above(calibration, inputs, cut)
    return align(calibration.item_ids, {"above": (inputs.item_ids, found)})["above"]


def anchored_above(anchored: Anchored, cut: float) -> FloatArray:
    """Return with which probability each item that anchors alone gave a score is above a cut."""
    found = np.full(len(anchored.values), np.nan)
    for here, measured in anchored.measured:
        found[here] = measured.above(cut)
    return found


def _drawn_above(calibration: Calibration, inputs: Inputs, cut: float) -> FloatArray:
    """Return the share of draws in which the calibrated score is above the cut.

    The draws are those of the interval: given the model too, unless it knows of the same judgments.
    """
    known = inputs.knowledge
    if known is None:
        return np.full(len(inputs.model), np.nan)
    at = calibration.calibrator.on_exact(inputs, calibration.calibrator.calibrate(inputs))
    draws: Iterable[FloatArray] = (
        known.judged(inputs.seed)
        if inputs.dependent
        else (draw for draw, _ in known.draws(inputs.seed))
    )
    above, number = np.zeros(len(inputs.model)), 0
    for draw in draws:
        above += at(draw) > cut
        number += 1
    return stated(above / number)
