"""Intervals of calibrated scores: what other judgments by such annotators might have made them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from aggcal.arrays import BoolArray, FloatArray, IntArray
from aggcal.calibrators.anchors import (
    Gain,
    conformal_radius,
    fewest_anchors,
    gain_on_anchors,
    split,
)
from aggcal.calibrators.inputs import FEWEST_ANCHORS, Inputs
from aggcal.calibrators.moments import Moments
from aggcal.calibrators.projection import project
from aggcal.errors import AggcalWarning, AnchorsWarning, count
from aggcal.kernels.threads import in_turn
from aggcal.uncertainty import Covariance
from aggcal.uncertainty.covariance import MOST_DENSE

DRAWS = 200
_BATCH = 25
_NUMBERS = 25_000_000
_SLICE = 1 << 17
_FOLDS = 5

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


def consensus_draws(
    consensus: FloatArray,
    covariance: Covariance,
    model: FloatArray,
    found: Moments,
    seed: int,
) -> Iterator[FloatArray]:
    """Draw the exact consensus given the judgments *and* the model's scores.

    The model's scores say something about where an item belongs; draws that ignored them would
    disagree with them more than the exact consensus does, and projections onto their orders would
    be too flat. (A normal draw is conditioned by Matheron's rule.)
    """
    random = np.random.default_rng(seed)
    noise = np.full(len(model), max(found.residual, 1e-300))
    centred = model - model.mean() - found.slope * (consensus - consensus.mean())
    # All at once where they are few numbers; else in batches, to save memory.
    batch = DRAWS if len(model) <= MOST_DENSE else min(_BATCH, max(1, _NUMBERS // len(model)))
    for done in range(0, DRAWS, batch):
        apart = covariance.draws(min(batch, DRAWS - done), random)
        drawn = consensus + apart
        if found.slope > 0.0:
            error = np.sqrt(noise) * random.standard_normal(apart.shape)
            surprise = (centred - found.slope * apart - error).T
            drawn += covariance.gain(found.slope, 0.0, noise, surprise)[0].T / found.slope
        yield from drawn


def interval(
    draws: Iterator[FloatArray],
    calibrated: FloatArray,
    at: Callable[[FloatArray], FloatArray],
    level: float,
) -> tuple[FloatArray, FloatArray]:
    """Return quantiles of what calibration makes of each draw, widened to hold the estimate."""
    outside = 0.5 * (1.0 - level)
    if DRAWS * len(calibrated) <= _NUMBERS:
        found = np.array([at(draw) for draw in draws])
        low, high = np.quantile(found, [outside, 1.0 - outside], axis=0)
    else:
        # Sorting is most of the work, and lets other threads run.
        low, high = _ends(in_turn(at, draws), len(calibrated), outside * (DRAWS - 1))
    return np.minimum(low, calibrated), np.maximum(high, calibrated)


def _ends(
    found: Iterator[FloatArray], items: int, position: float
) -> tuple[FloatArray, FloatArray]:
    """Return the values at a position from below and from above, holding only what lies beyond.

    All draws of ten million items would take 16 GB; those beyond a quantile of 2.5% take 1 GB.
    """
    kept = int(position) + 2
    lowest, highest = np.full((kept, items), np.inf), np.full((kept, items), -np.inf)
    for values in found:
        # The largest of the lowest is at 0, the smallest of the highest too.
        for k in range(0, items, _SLICE):
            here = slice(k, k + _SLICE)
            _replace_first(lowest[:, here], values[here], np.less, np.argmax)
            _replace_first(highest[:, here], values[here], np.greater, np.argmin)
    lowest.sort(axis=0)
    highest.sort(axis=0)
    share = position - int(position)
    low = (1.0 - share) * lowest[-2] + share * lowest[-1]
    return low, (1.0 - share) * highest[1] + share * highest[0]


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

    def projected(drawn: FloatArray) -> FloatArray:
        return project(drawn, inputs.model, inputs.weight)[0]

    def fused(drawn: FloatArray) -> FloatArray:
        base = inputs.fused.base(drawn)
        return base + kept * (inputs.model - base) + inputs.fused.shift

    def safe(drawn: FloatArray) -> FloatArray:
        base = project(drawn, inputs.model)[0]
        return base + kept * (inputs.model - base)

    draws = consensus_draws(
        inputs.consensus, inputs.covariance, inputs.model, inputs.moments, inputs.seed
    )
    at_draw = {"atc": projected, "fused": fused, "safe": safe}[method]
    low, high = interval(draws, values, at_draw, inputs.level)
    return Intervals(low, high, CONSENSUS, gain, tuple(said))
