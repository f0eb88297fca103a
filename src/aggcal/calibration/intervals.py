"""Intervals of calibrated scores: what other judgments by such annotators might have made them.

An interval holds what becomes of a score when the exact consensus is drawn: the same function of
another order. With anchors it holds the truth (see `anchors`).

With many items, draws differ in an item's place and hardly in the curve that its base is over the
places. So the curve is averaged over a few draws and read at the quantiles of the item's own place,
which are known: ten million items take a dozen sorts instead of two hundred.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from scipy.special import ndtri

from aggcal._core.arrays import BoolArray, FloatArray
from aggcal._core.kernels.threads import in_turn
from aggcal.aggregation.groups import members
from aggcal.calibration.anchors import (
    MOST_FITTED,
    Gain,
    Measured,
    conformal_radius,
    fewest_anchors,
    full_conformal,
    gain_on_anchors,
    split,
)
from aggcal.calibration.calibrators import FOLDS, Calibrated, FullCalibrator, Mixing, cross_fitted
from aggcal.calibration.components import changing_place
from aggcal.calibration.draws import FEW, Knowledge
from aggcal.calibration.inputs import FEWEST_ANCHORS, Anchors, Inputs
from aggcal.calibration.says import chosen_warning, few_anchors_warning
from aggcal.errors import AggcalWarning

FROM = 10_000
"""Items from which the curve is averaged: with fewer, draws differ in it and take little time."""

_AVERAGED = 12
"""Draws whose curves are averaged: more are steadier and take longer."""

_NO_WIDTH = 1e-12
"""Widths below this share of the largest end are rounding."""

_ENLARGED = (1.0, 2.0, 4.0, 8.0)
"""How many times larger errors are tried, the smallest first, until an interval gets a width."""

CONSENSUS = "sampling uncertainty of the consensus"
"""Covers what the calibrated score would be if the annotators' order were known exactly."""

TRUTH = "coverage of the truth"
"""Covers the truth of an item like the anchors: split or full conformal."""

Ends = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Intervals:
    """Where calibrated scores lie, what that means, and what anchors say was gained."""

    low: FloatArray | None = None
    high: FloatArray | None = None
    covers: str | None = None
    gain: Gain | None = None
    warnings: tuple[AggcalWarning, ...] = ()
    how: str = ""
    """Which anchors did what."""
    measured: Measured | None = None
    """The errors on anchors that the intervals come from, where they cover the truth."""


def calibrated_intervals(
    calibrator: FullCalibrator, inputs: Inputs, found: Calibrated
) -> Intervals:
    """Return an interval of each score, what it covers, and what the anchors say of the gain."""
    measured, known = Intervals(), inputs.knowledge
    if inputs.anchors is not None and not inputs.drawn:
        measured = Intervals(warnings=(chosen_warning(),))
    elif inputs.anchors is not None:
        measured = _conformal(calibrator, inputs, found.values, inputs.anchors)
    if measured.covers is not None or known is None or not calibrator.covers:
        return measured
    if isinstance(calibrator, Mixing) and len(found.values) >= FROM:
        low, high = _many(calibrator, inputs, found.values)
    else:
        at = calibrator.on_exact(inputs, found)
        low, high = _drawn(inputs, known, found.values, at)
    if _flat(low, high).all() and len(low) <= FEW and _changes_place(inputs, known).any():
        # Whatever the order, the scores are these: an interval would look like certainty about it.
        return measured
    return replace(measured, low=low, high=high, covers=CONSENSUS)


def _conformal(
    calibrator: FullCalibrator, inputs: Inputs, values: FloatArray, anchors: Anchors
) -> Intervals:
    """Return intervals of the truth where anchors are enough for them, and what was gained."""
    where, truth = anchors
    model, centre, measure, how = inputs.model[where], values, np.arange(len(where)), ""
    if calibrator.tuned_by_anchors:
        fitted = cross_fitted(calibrator, inputs, anchors)
        parts = min(FOLDS, len(where))
        how = f" (each by scores tuned on the others, in {parts} parts)"
        gain = gain_on_anchors(model, fitted, truth, how)
        if isinstance(calibrator, Mixing) and len(values) * len(where) <= MOST_FITTED:
            ends = full_conformal(calibrator.untuned(inputs), anchors, inputs.level)
            if ends is not None:
                low, high = np.minimum(ends[0], values), np.maximum(ends[1], values)
                how = "full conformal: each anchor tunes and measures"
                measured = Measured(values, truth - fitted)
                return Intervals(low, high, TRUTH, gain, how=how, measured=measured)
        # Anchors that tuned the scores cannot measure them: some tune, the others measure.
        tune, measure = split(len(where), inputs.level, inputs.seed)
        tune = tune if len(tune) >= FEWEST_ANCHORS else tune[:0]
        tuning = (where[tune], truth[tune]) if len(tune) else None
        centre = calibrator.calibrate(inputs.with_anchors(tuning)).values
        how = (
            f"; {len(tune)} of {len(where)} anchors tuned the scores that {len(measure)} "
            "measured, and the interval is widened to hold the calibrated score"
        )
    else:
        gain = gain_on_anchors(model, values[where], truth)
    measured = Measured(centre, truth[measure] - centre[where[measure]])
    radius = conformal_radius(measured.errors, inputs.level)
    if np.isfinite(radius):
        low, high = np.minimum(centre - radius, values), np.maximum(centre + radius, values)
        how = f"split conformal{how}"
        return Intervals(low, high, TRUTH, gain, how=how, measured=measured)
    instead = " The intervals cover the consensus instead."
    few = few_anchors_warning(len(where), inputs.level, fewest_anchors(inputs.level), instead)
    return Intervals(gain=gain, warnings=(few,))


def interval(
    draws: Iterable[FloatArray],
    values: FloatArray,
    at: Callable[[FloatArray], FloatArray],
    level: float,
) -> Ends:
    """Return quantiles of what calibration makes of each draw, widened to hold the estimate.

    Examples
    --------
    >>> draws = [np.array([float(k)]) for k in range(101)]
    >>> interval(draws, np.array([50.0]), lambda draw: draw, 0.9)
    (array([5.]), array([95.]))
    """
    found = np.sort([at(draw) for draw in draws], axis=0)
    # The ends are values of draws, rounded outwards.
    position = int(0.5 * (1.0 - level) * (len(found) - 1) + 1e-9)
    return np.minimum(found[position], values), np.maximum(found[-1 - position], values)


def _drawn(
    inputs: Inputs, known: Knowledge, values: FloatArray, at: Callable[[FloatArray], FloatArray]
) -> Ends:
    """Draw the exact consensus, given the model too unless it knows of the same judgments.

    An interval that has no width rests on the model's word: there the judgments alone decide. Where
    an item changes its place in these and its value does not (deep in a block), errors are enlarged
    until it does.
    """
    low = high = values
    if not inputs.dependent:
        low, high = interval(known.draws(inputs.seed), values, at, inputs.level)
    for times in _ENLARGED:
        open_ = _flat(low, high)
        if times > 1.0:
            open_ &= len(values) <= FEW and _changes_place(inputs, known)
        if not open_.any():
            break
        drawn = known.judged(inputs.seed, times=times)
        wider = interval(drawn, values, at, inputs.level if times == 1.0 else 1.0)
        low, high = (np.where(open_, *ends) for ends in zip(wider, (low, high), strict=True))
    return low, high


def _many(calibrator: Mixing, inputs: Inputs, values: FloatArray) -> Ends:
    """Take the ends from average curves, one for each large component; draw those of the others."""
    low, high = values.copy(), values.copy()
    parts = members(inputs.component, len(values))
    groups = [own for own in parts if len(own) >= FROM]
    if len(groups) < len(parts):
        groups.append(np.sort(np.concatenate([own for own in parts if len(own) < FROM])))
    for own in groups:
        alone = inputs if len(own) == len(values) else inputs.only(own)
        known, made = alone.knowledge, calibrator.calibrate(alone)
        if known is None:
            continue
        if len(own) >= FROM:
            ends = _averaged(calibrator, alone, known, made.values)
        else:
            ends = _drawn(alone, known, made.values, calibrator.on_exact(alone, made))
        # What anchors moved all scores by, of which items by themselves do not know.
        for end, found in zip((low, high), ends, strict=True):
            end[own] = found + (values[own] - made.values)
    return low, high


def _averaged(calibrator: Mixing, inputs: Inputs, known: Knowledge, values: FloatArray) -> Ends:
    """Take the ends from the average curve: given the model too, where that leaves a width."""
    low = high = values
    base, mixed = calibrator.mixture(inputs).base, calibrator.of_base(inputs)
    reach = float(ndtri(0.5 + 0.5 * inputs.level))
    for alone in (False, True):
        open_ = _flat(low, high)
        if not open_.any() or (inputs.dependent and not alone):
            continue
        mean, covariance = (known.consensus, known.covariance) if alone else known.held
        draws = known.judged(inputs.seed) if alone else known.draws(inputs.seed)
        sd = np.sqrt(np.maximum(covariance.variances, 0.0))
        curves = _curves(islice(draws, _AVERAGED), base, (mean - reach * sd, mean + reach * sd))
        low = np.where(open_, np.minimum(mixed(curves[0]), values), low)
        high = np.where(open_, np.maximum(mixed(curves[1]), values), high)
    return low, high


def _curves(
    draws: Iterable[FloatArray], base: Callable[[FloatArray], FloatArray], places: Ends
) -> Ends:
    """Return the average over draws of the base at some places."""

    def read(drawn: FloatArray) -> list[FloatArray]:
        order = np.argsort(drawn, kind="stable")
        ordered = drawn[order]
        curve = base(drawn)[order]
        return [np.interp(place, ordered, curve) for place in places]

    number, low, high = 0, np.zeros(len(places[0])), np.zeros(len(places[1]))
    for found in in_turn(read, draws):
        number += 1
        low += found[0]
        high += found[1]
    return low / number, high / number


def _changes_place(inputs: Inputs, known: Knowledge) -> BoolArray:
    """Whether items have different ranks within their component in some draws."""
    return changing_place(np.array(list(known.judged(inputs.seed))), inputs.component)


def _flat(low: FloatArray, high: FloatArray) -> BoolArray:
    """Whether an interval has no width, in the digits that numbers have."""
    return np.asarray(high - low <= _NO_WIDTH * float(np.abs(high).max()))
