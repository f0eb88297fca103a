"""Intervals of calibrated scores: what other judgments by such annotators might have made them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray
from aggcal._core.kernels.threads import in_turn
from aggcal.calibration.anchors import (
    Gain,
    conformal_radius,
    fewest_anchors,
    gain_on_anchors,
    split,
)
from aggcal.calibration.atc import projected_values
from aggcal.calibration.draws import FEW
from aggcal.calibration.inputs import FEWEST_ANCHORS, Inputs
from aggcal.calibration.smooth_base import refit_base
from aggcal.errors import AggcalWarning, AnchorsWarning, count

_NUMBERS = 25_000_000
_SLICE = 1 << 17
_FOLDS = 5
_ROUNDING = 1e-9
_NO_WIDTH = 1e-12

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


def _cross_fitted_gain(inputs: Inputs) -> Gain | None:
    """Measure each anchor by scores that the others tuned."""
    if inputs.anchors is None:
        return None
    where, truth = inputs.anchors
    fold = np.random.default_rng(inputs.seed).permutation(len(where)) % min(_FOLDS, len(where))
    found = np.empty(len(where))
    for k in range(int(fold.max()) + 1):
        out = fold == k
        tuned = inputs.fused_with((where[~out], truth[~out])).values
        found[out] = tuned[where[out]]
    gain = gain_on_anchors(inputs.model[where], found, truth)
    return replace(
        gain, how=f" (each by scores tuned on the others, in {int(fold.max()) + 1} parts)"
    )


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
        Of the exact consensus, and how many there are.
    calibrated
        The estimate.
    at
        What calibration makes of a draw.
    level
        Of the interval. Its ends are values of draws, rounded outwards.

    Examples
    --------
    >>> draws = [np.array([float(k)]) for k in range(101)]
    >>> found = interval(draws, 101, np.array([50.0]), lambda draw: draw, 0.9)
    >>> found.low, found.high, found.greatest
    (array([5.]), array([95.]), array([100.]))
    """
    position = int(0.5 * (1.0 - level) * (number - 1) + _ROUNDING)
    if number * len(calibrated) <= _NUMBERS:
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
    method: str, inputs: Inputs, values: FloatArray, kept: FloatArray
) -> Intervals:
    """Return an interval of each score, what it covers, and what the anchors say of the gain."""
    gain: Gain | None = None
    said: list[AggcalWarning] = []
    if inputs.anchors is not None:
        where, truth = inputs.anchors
        centre, measure, how = values, np.arange(len(where)), ""
        if method == "fused":
            # Anchors that tuned the scores cannot measure them: some tune, the others measure.
            tune, measure = split(len(where), inputs.level, inputs.seed)
            if len(tune) < FEWEST_ANCHORS:
                tune = tune[:0]
            tuning = (where[tune], truth[tune]) if len(tune) else None
            centre = inputs.fused_with(tuning).values
            how = (
                f"; {len(tune)} of {len(where)} anchors tuned the scores that {len(measure)} "
                "measured, and the interval is widened to hold the calibrated score"
            )
            gain = _cross_fitted_gain(inputs)
        else:
            gain = gain_on_anchors(inputs.model[where], values[where], truth)
        at, true = where[measure], truth[measure]
        radius = conformal_radius(true - centre[at], inputs.level)
        if np.isfinite(radius):
            low, high = centre - radius, centre + radius
            ends = np.minimum(low, values), np.maximum(high, values)
            return Intervals(*ends, TRUTH, gain, how=how)
        said.append(
            AnchorsWarning(
                f"{count(len(where), 'anchor')} cannot give an interval of the truth at the level "
                f"{inputs.level:g}",
                f"give at least {fewest_anchors(inputs.level)}, or a lower level; the intervals "
                "cover the consensus instead",
            )
        )
    if inputs.covariance is None:
        return Intervals(gain=gain, warnings=tuple(said))

    at_draw = calibrator_of(method, inputs, values, kept)
    low, high = _drawn_interval(inputs, values, at_draw)
    if _flat(low, high).all() and _order_open(inputs):
        # Whatever the order, the scores are these: an interval would look like certainty about it.
        return Intervals(gain=gain, warnings=tuple(said))
    return Intervals(low, high, CONSENSUS, gain, tuple(said))


def calibrator_of(
    method: str, inputs: Inputs, values: FloatArray, kept: FloatArray
) -> Callable[[FloatArray], FloatArray]:
    """Return what this calibrator makes of an exact consensus."""

    def projected(drawn: FloatArray) -> FloatArray:
        return projected_values(drawn, inputs.model, inputs.weight)

    def safe(drawn: FloatArray) -> FloatArray:
        base = projected_values(drawn, inputs.model, np.ones(len(values)))
        return np.asarray(base + kept * (inputs.model - base))

    if method == "atc":
        return projected
    if method == "safe":
        return safe
    model, base = inputs.model, inputs.fused.base
    if len(model) > FEW:

        def held(drawn: FloatArray) -> FloatArray:
            expected = base(drawn)
            return expected + kept * (model - expected) + inputs.fused.shift

        return held

    # The base of an exact consensus would be another one: it is fitted to each draw.
    def expected(drawn: FloatArray) -> FloatArray:
        return refit_base(drawn, model, base.straight, inputs.seed)(drawn)

    if inputs.covariance is None:
        raise ValueError("there is nothing to draw from")
    start, through = expected(inputs.consensus), inputs.fused.through(inputs.covariance)

    # An item's score also keeps of what its neighbours in the covariance have of the model: with
    # each item's own share alone, intervals of 3 to 10 items were centred on another score.
    def fused(drawn: FloatArray) -> FloatArray:
        return np.asarray(values + through @ (expected(drawn) - start))

    return fused


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
    loose = _changes_place(known.judged(inputs.seed))
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
    return bool(_changes_place(known.judged(inputs.seed)).any())


def _changes_place(draws: Iterable[FloatArray]) -> BoolArray:
    """Whether items have different ranks in some draws."""
    ranks = np.array([np.argsort(np.argsort(draw)) for draw in draws])
    return np.asarray(np.ptp(ranks, axis=0) > 0)


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
