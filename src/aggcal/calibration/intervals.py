"""Intervals of calibrated scores: what other judgments by such annotators might have made them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray
from aggcal._core.kernels.threads import in_turn
from aggcal.aggregation.groups import members
from aggcal.calibration.above import Measured
from aggcal.calibration.anchors import (
    FEWEST_ANCHORS,
    Anchors,
    Gain,
    conformal_radius,
    fewest_anchors,
    gain_on_anchors,
    split,
)
from aggcal.calibration.averaged import AVERAGED, FROM, averaged_ends
from aggcal.calibration.calibrator import Calibrated, FullCalibrator
from aggcal.calibration.conformal import MOST_FITTED, full_conformal
from aggcal.calibration.draws import FEW
from aggcal.calibration.inputs import Inputs
from aggcal.calibration.within import changing_place
from aggcal.errors import AggcalWarning, AnchorsWarning, count

_NUMBERS = 25_000_000
"""Numbers that are held and sorted at once (200 MB); beyond, only the tails are, more slowly."""
_FEW_NUMBERS = 1 << 18
"""Numbers that draws are calibrated of at once, where the calibrator can: longer rows gain nothing,
and would be held twice."""

_SLICE = 1 << 17
"""Items whose tails are updated at once: few enough for a processor's cache."""

_FOLDS = 5
"""Parts of the anchors in turn left out: more leave more to tune by, and take longer."""

_ROUNDING = 1e-9
"""Added before a quantile's position is rounded down, so that a whole number stays one."""

_NO_WIDTH = 1e-12
"""Widths below this share of the largest end are rounding."""

_ENLARGED = (2.0, 4.0, 8.0)
"""How many times larger errors are tried, the smallest first, until an interval gets a width."""

CONSENSUS = "sampling uncertainty of the consensus"
"""Covers what the calibrated score would be if the annotators' order were known exactly."""

TRUTH = "coverage of the truth"
"""Covers the truth of an item like the anchors: split conformal."""


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


def cross_fitted(calibrator: FullCalibrator, inputs: Inputs, anchors: Anchors) -> FloatArray:
    """Return the score of each anchor that the others tune."""
    where, truth = anchors
    fold = _folds(inputs.seed, len(where))
    found = np.empty(len(where))
    for k in range(int(fold.max()) + 1):
        out = fold == k
        tuned = calibrator.calibrate(inputs.with_anchors((where[~out], truth[~out]))).values
        found[out] = tuned[where[out]]
    return found


def _folds(seed: int, number: int) -> IntArray:
    return np.random.default_rng(seed).permutation(number) % min(_FOLDS, number)


def _cross_fitted_gain(calibrator: FullCalibrator, inputs: Inputs, anchors: Anchors) -> Gain:
    """Measure each anchor by scores that the others tuned."""
    where, truth = anchors
    gain = gain_on_anchors(inputs.model[where], cross_fitted(calibrator, inputs, anchors), truth)
    parts = min(_FOLDS, len(where))
    return replace(gain, how=f" (each by scores tuned on the others, in {parts} parts)")


@dataclass(frozen=True, eq=False)
class Ends:
    """The ends of an interval, and the least and the greatest value of all draws."""

    low: FloatArray
    high: FloatArray
    least: FloatArray
    greatest: FloatArray


def interval(
    draws: Iterable[FloatArray],
    number: int,
    calibrated: FloatArray,
    at: Callable[[FloatArray], FloatArray],
    level: float,
) -> Ends:
    """Return quantiles of what calibration makes of each draw, widened to hold the estimate.

    Parameters
    ----------
    draws, number
        Draws of the exact consensus, and how many there are.
    calibrated
        The estimate.
    at
        What calibration makes of a draw.
    level
        The level of the interval. Its ends are values of draws, rounded outwards.

    Examples
    --------
    >>> draws = [np.array([float(k)]) for k in range(101)]
    >>> found = interval(draws, 101, np.array([50.0]), lambda draw: draw, 0.9)
    >>> found.low, found.high, found.greatest
    (array([5.]), array([95.]), array([100.]))
    """
    position = int(0.5 * (1.0 - level) * (number - 1) + _ROUNDING)
    if number * len(calibrated) <= _NUMBERS:
        together = getattr(at, "rows", None)
        if together is not None and number * len(calibrated) <= _FEW_NUMBERS:
            found = np.sort(together(np.array(list(draws))), axis=0)
        else:
            found = np.sort([at(draw) for draw in draws], axis=0)
        lowest, highest = found[: position + 1], found[len(found) - 1 - position :]
    else:
        # Sorting is most of the work, and lets other threads run.
        lowest, highest = _tails(in_turn(at, iter(draws)), len(calibrated), position + 1)
    return Ends(
        np.minimum(lowest.max(axis=0), calibrated),
        np.maximum(highest.min(axis=0), calibrated),
        np.minimum(lowest.min(axis=0), calibrated),
        np.maximum(highest.max(axis=0), calibrated),
    )


def _tails(found: Iterator[FloatArray], items: int, kept: int) -> tuple[FloatArray, FloatArray]:
    """Return so many of the lowest and of the highest values, holding no others.

    All draws of ten million items would take 16 GB; those beyond a quantile of 2.5% take 1 GB.
    """
    lowest, highest = np.full((kept, items), np.inf), np.full((kept, items), -np.inf)
    for values in found:
        # The largest of the lowest is at 0, the smallest of the highest too.
        for k in range(0, items, _SLICE):
            here = slice(k, k + _SLICE)
            _replace_first(lowest[:, here], values[here], np.less, np.argmax)
            _replace_first(highest[:, here], values[here], np.greater, np.argmin)
    return lowest, highest


def _replace_first(
    tail: FloatArray,
    values: FloatArray,
    beyond: Callable[[FloatArray, FloatArray], BoolArray],
    weakest: Callable[..., IntArray],
) -> None:
    """Put values that lie beyond the first of a tail in its place, and the weakest of all first."""
    columns = np.flatnonzero(beyond(values, tail[0]))
    if len(columns):
        part = tail[:, columns]
        part[0] = values[columns]
        where = weakest(part, axis=0)
        every = np.arange(len(columns))
        part[where, every], part[0] = part[0].copy(), part[where, every]
        tail[:, columns] = part


def calibrated_intervals(
    calibrator: FullCalibrator, inputs: Inputs, found: Calibrated
) -> Intervals:
    """Return an interval of each score, what it covers, and what the anchors say of the gain."""
    measured = Intervals()
    if inputs.anchors is not None and not inputs.drawn:
        measured = Intervals(warnings=(chosen_warning(),))
    elif inputs.anchors is not None:
        measured = _conformal(calibrator, inputs, found.values, inputs.anchors)
    if measured.covers is not None or inputs.covariance is None or not calibrator.covers:
        return measured
    at = calibrator.on_exact(inputs, found)
    if calibrator.by_place and len(found.values) >= FROM:
        low, high = _interval_by_place(calibrator, inputs, found, at)
    else:
        low, high = _drawn_interval(inputs, found.values, at)
    if _flat(low, high).all() and _order_open(inputs):
        # Whatever the order, the scores are these: an interval would look like certainty about it.
        return measured
    return replace(measured, low=low, high=high, covers=CONSENSUS)


def chosen_warning() -> AnchorsWarning:
    """Say what anchors that were chosen cannot do."""
    return AnchorsWarning(
        "The anchors were chosen for what they tell (column chosen_by), not drawn at random. They "
        "improve the scores, but cannot measure the gain or give intervals of the truth.",
        "Draw anchors at random for these.",
        title="The anchors are not a random sample",
    )


def _conformal(
    calibrator: FullCalibrator, inputs: Inputs, values: FloatArray, anchors: Anchors
) -> Intervals:
    """Return intervals of the truth where anchors are enough for them, and what was gained."""
    where, truth = anchors
    if calibrator.tuned_by_anchors:
        gain = _cross_fitted_gain(calibrator, inputs, anchors)
    else:
        gain = gain_on_anchors(inputs.model[where], values[where], truth)
    untuned = calibrator.untuned(inputs) if calibrator.tuned_by_anchors else None
    if untuned is not None and len(values) * len(where) <= MOST_FITTED:
        ends = full_conformal(untuned, anchors, inputs.level)
        if ends is not None:
            low, high = np.minimum(ends[0], values), np.maximum(ends[1], values)
            how = "full conformal: each anchor tunes and measures"
            errors = truth - cross_fitted(calibrator, inputs, anchors)
            return Intervals(low, high, TRUTH, gain, how=how, measured=Measured(values, errors))
    centre, measure, how = values, np.arange(len(where)), "split conformal"
    if calibrator.tuned_by_anchors:
        # Anchors that tuned the scores cannot measure them: some tune, the others measure.
        tune, measure = split(len(where), inputs.level, inputs.seed)
        if len(tune) < FEWEST_ANCHORS:
            tune = tune[:0]
        tuning = (where[tune], truth[tune]) if len(tune) else None
        centre = calibrator.calibrate(inputs.with_anchors(tuning)).values
        how += (
            f"; {len(tune)} of {len(where)} anchors tuned the scores that {len(measure)} "
            "measured, and the interval is widened to hold the calibrated score"
        )
    measured = Measured(centre, truth[measure] - centre[where[measure]])
    radius = conformal_radius(measured.errors, inputs.level)
    if np.isfinite(radius):
        low, high = np.minimum(centre - radius, values), np.maximum(centre + radius, values)
        return Intervals(low, high, TRUTH, gain, how=how, measured=measured)
    warning = AnchorsWarning(
        f"{count(len(where), 'anchor is', 'anchors are')} too few for intervals of the truth at "
        f"level {inputs.level:g}. The intervals cover the consensus instead.",
        f"Give at least {fewest_anchors(inputs.level)} anchors, or a lower level.",
        title=f"{count(len(where), 'anchor is', 'anchors are')} too few for intervals of the truth",
        why=f"At level {inputs.level:g}, the intervals cover the consensus instead.",
    )
    return Intervals(gain=gain, warnings=(warning,))


def _interval_by_place(
    calibrator: FullCalibrator,
    inputs: Inputs,
    found: Calibrated,
    at: Callable[[FloatArray], FloatArray],
) -> tuple[FloatArray, FloatArray]:
    """Take the ends from average curves, one for each large component; draw those of the others."""
    if inputs.component is None:
        return _averaged_interval(inputs, found.values, at)
    parts = members(inputs.component, len(found.values))
    together = [own for own in parts if len(own) < FROM]
    groups = [(own, _averaged_interval) for own in parts if len(own) >= FROM]
    if together:
        groups.append((np.sort(np.concatenate(together)), _drawn_interval))
    low, high = found.values.copy(), found.values.copy()
    for own, ends in groups:
        alone = inputs.only(own)
        made = calibrator.calibrate(alone)
        # What anchors moved all scores by, of which items by themselves do not know.
        shift = found.values[own] - made.values
        least, most = ends(alone, made.values, calibrator.on_exact(alone, made))
        low[own], high[own] = least + shift, most + shift
    return low, high


def _averaged_interval(
    inputs: Inputs, values: FloatArray, at: Callable[[FloatArray], FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Take the ends from the average curve: given the model too, where that leaves a width."""
    known = inputs.knowledge
    if known is None:
        return values, values
    low = high = values
    if not inputs.dependent:
        given = (draw for draw, _ in islice(known.draws(inputs.seed), AVERAGED))
        ends = averaged_ends(given, at, *known.places(alone=False), inputs.level)
        low, high = np.minimum(ends[0], values), np.maximum(ends[1], values)
    if _flat(low, high).any():
        alone = islice(known.judged(inputs.seed), AVERAGED)
        ends = averaged_ends(alone, at, *known.places(alone=True), inputs.level)
        low, high = _widened(low, high, *ends)
    return low, high


def _drawn_interval(
    inputs: Inputs, values: FloatArray, at: Callable[[FloatArray], FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Draw the exact consensus, given the model too unless it knows of the same judgments.

    An interval that has no width rests on the model's word: there the judgments alone decide, first
    by the same quantiles, then by all of their draws. Where an item changes its place in these and
    its value does not (deep in a block), errors are enlarged until it does.
    """
    known = inputs.knowledge
    if known is None:
        return values, values
    level = inputs.level
    if inputs.dependent:
        low = high = values
    else:
        draws = (draw for draw, _ in known.draws(inputs.seed))
        found = interval(draws, known.number, values, at, level)
        low, high = found.low, found.high
    if not _flat(low, high).any():
        return low, high
    alone = interval(known.judged(inputs.seed), known.number, values, at, level)
    low, high = _widened(low, high, alone.low, alone.high)
    low, high = _widened(low, high, alone.least, alone.greatest)
    if len(values) > FEW or not _flat(low, high).any():
        return low, high
    loose = _changes_place(inputs)
    for times in _ENLARGED:
        if not (loose & _flat(low, high)).any():
            break
        drawn = known.judged(inputs.seed, times=times)
        wider = interval(drawn, known.number, values, at, level)
        least = np.where(loose, wider.least, low)
        low, high = _widened(low, high, least, np.where(loose, wider.greatest, high))
    return low, high


def _order_open(inputs: Inputs) -> bool:
    known = inputs.knowledge
    if known is None or len(inputs.model) > FEW:
        return False
    return bool(_changes_place(inputs).any())


def _changes_place(inputs: Inputs) -> BoolArray:
    """Whether items have different ranks within their component in some draws."""
    if inputs.knowledge is None:
        return np.zeros(len(inputs.model), dtype=bool)
    draws = np.array(list(inputs.knowledge.judged(inputs.seed)))
    return changing_place(draws, inputs.component)


def _widened(
    low: FloatArray, high: FloatArray, least: FloatArray, greatest: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Take other ends where there is no width."""
    flat = _flat(low, high)
    return (
        np.where(flat, np.minimum(low, least), low),
        np.where(flat, np.maximum(high, greatest), high),
    )


def _flat(low: FloatArray, high: FloatArray) -> BoolArray:
    """Whether an interval has no width, in the digits that numbers have."""
    return np.asarray(high - low <= _NO_WIDTH * float(np.abs(high).max()))
