"""Stage 2: scores in the model's units that follow the consensus."""

from __future__ import annotations

import warnings as python_warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from aggcal._core.frames import Frame, check_frame, framed
from aggcal.aggregation.consensus import LEVEL, Consensus
from aggcal.calibration.anchored import Anchored, anchored, check_anchors
from aggcal.calibration.calibrators import (
    Auto,
    Calibrator,
    FullCalibrator,
    Recommendation,
    find,
    recommend,
)
from aggcal.calibration.inputs import Given, Order, Weights, check_tables, inputs_of
from aggcal.calibration.intervals import calibrated_intervals
from aggcal.calibration.result import Calibration, Scale, arranged, scale_of
from aggcal.calibration.says import contradictions, direction_warnings, matching_warnings
from aggcal.data.scores import Scores
from aggcal.errors import OptionError, argument
from aggcal.io import read_scores
from aggcal.io.items import read_truth
from aggcal.registry import AUTO_CALIBRATOR, CALIBRATORS, DEFAULT_CALIBRATOR, limits
from aggcal.registry.literals import CalibratorName

__all__ = [
    "Anchored", "Calibration", "Calibrator", "Given", "Order", "Recommendation",
    "anchored", "calibrate", "calibrated", "check_anchors", "check_calibration", "check_tables",
    "find", "read_known", "recommend_calibrator", "scale_of",
]  # fmt: skip

_SMALLEST_SD = 1e-50
"""The smallest sd of a model, and 1 over it the largest: their squares are still numbers."""


def calibrate(
    scores: Any,
    consensus: Any,
    *,
    method: CalibratorName | Calibrator = DEFAULT_CALIBRATOR,
    weights: Weights = "sd",
    model_sd: float | None = None,
    anchors: Any = None,
    second_model: Any = None,
    level: float | None = None,
    seed: int = 0,
    bounds: tuple[float, float] | None = None,
    digits: int | None = None,
    frame: Frame | None = None,
    warn: bool = True,
) -> Calibration:
    r"""Stage 2: make the model's scores follow the consensus.

    ``atc`` solves the isotonic regression

        minimise  Σ w_i (x_i − model_i)²   over x with x_i ≥ x_j wherever i ranks above j,

    by pool-adjacent-violators. Items tied in the consensus share one value. ``fused`` is closer to
    the truth on average, especially with a model sd, anchors or a second model, but not monotone
    in the consensus. ``safe`` cannot do worse than the model on average, however wrong the ranking,
    and needs the model's sd. ``auto`` takes the one of these that `recommend_calibrator` names.

    Parameters
    ----------
    scores
        `Scores`, or anything that `read_scores` takes.
    consensus
        A `Consensus`, or any other order: `Scores` (whose sd is used as the standard error), a
        mapping of item to number, or anything else that `read_scores` takes.
    method
        ``"atc"``, ``"fused"``, ``"safe"`` or ``"auto"``, or a `Calibrator` of your own.
    weights
        Weights of the items. ``"sd"``: 1/sd² where the scores carry an sd, else equal; a mapping
        of item to a positive weight; None: equal.
    model_sd
        Standard deviation of the model's errors, such as its validation error. For ``fused``, too
        large is better than too small; ``safe`` stays safe up to 1.4 times the true one. An sd
        column of the scores gives the same item by item.
    anchors
        True scores of some randomly drawn items (item, truth). They remove the common error of all
        scores, tell ``fused`` the scale and how much of the model to keep, measure the gain of
        calibration, and give intervals that cover the truth.
    second_model
        Scores of another model whose errors are independent of the first's, or a list of `Scores`
        or files of several: ``fused`` weighs each by what the consensus says of it.
    level
        The level of the intervals; that of the consensus if it has one, else 0.95.
    seed
        Seed for all random numbers.
    bounds
        The lowest and the highest possible score, such as (0, 100): results stay within them.
    digits
        Decimals of the calibrated scores; the ends of intervals are rounded outwards.
    frame
        See `aggregate`.
    warn
        Also emit the warnings of the calibration as Python warnings.

    Examples
    --------
    >>> from aggcal import calibrate
    >>> result = calibrate([("a", 3.0), ("b", 1.0), ("c", 2.0)], {"a": 3, "b": 2, "c": 1})
    >>> result.items["calibrated"].tolist()
    [3.0, 1.5, 1.5]
    >>> result.items["block"].tolist()
    [1, 2, 2]
    """
    check_calibration(
        method, weights=weights, model_sd=model_sd, second_model=second_model, level=level
    )
    limits.check(seed=seed)
    check_frame(frame)
    scale = scale_of(bounds, digits)
    calibrator = find(method)
    given, order = _tables(scores, consensus, weights, model_sd, anchors, second_model)
    if level is None:
        level = LEVEL if order.uncertainty is None else order.uncertainty.level
    result = framed(calibrated(calibrator, given, order, level, seed, scale=scale), frame)
    if warn:
        for warning in result.warnings:
            python_warnings.warn(warning, stacklevel=2)
    return result


def calibrated(
    calibrator: FullCalibrator,
    given: Given,
    order: Order,
    level: float,
    seed: int,
    *,
    scale: Scale,
) -> Calibration:
    """Calibrate scores onto an order; both are read and checked already."""
    found = inputs_of(calibrator, given, order, level, seed)
    inputs, recommendation = found.inputs, None
    if isinstance(calibrator, Auto):
        recommendation = recommend(inputs)
        calibrator = find(recommendation.calibrator)
    made = calibrator.calibrate(inputs)
    ends = calibrated_intervals(calibrator, inputs, made)
    said = (
        *matching_warnings(order.item_ids, found.both, given.scores.item_ids[found.unjudged]),
        *direction_warnings(inputs.consensus, inputs.model, inputs.component),
        *order.level_warnings(found.both, inputs.model),
        *found.warnings,
        *ends.warnings,
        *calibrator.warnings(inputs, ends.gain),
        *contradictions(inputs),
    )
    return arranged(
        given.scores,
        order,
        found,
        (
            scale.scores(made.values),
            None if ends.low is None else scale.low_ends(ends.low),
            None if ends.high is None else scale.high_ends(ends.high),
        ),
        made.block,
        scale=scale,
        method=calibrator.name,
        calibrator=calibrator,
        weighted=given.weighted,
        warnings=said,
        covers=ends.covers,
        level=level,
        kept=None if made.kept is None else float(np.mean(made.kept)),
        gain=ends.gain,
        how=ends.how,
        measured=ends.measured,
        recommendation=recommendation,
    )


def recommend_calibrator(
    scores: Any,
    consensus: Any,
    *,
    weights: Weights = "sd",
    model_sd: float | None = None,
    anchors: Any = None,
    second_model: Any = None,
    seed: int = 0,
) -> Recommendation:
    """Recommend a calibrator for what is known, with its reason: what ``method="auto"`` takes.

    Parameters
    ----------
    scores, consensus, weights, model_sd, anchors, second_model, seed
        See `calibrate`.

    Examples
    --------
    >>> from aggcal import recommend_calibrator
    >>> scores = {f"i{k}": k + (-1.0) ** k for k in range(12)}
    >>> found = recommend_calibrator(scores, {f"i{k}": float(k) for k in range(12)}, model_sd=1.0)
    >>> found.calibrator
    'fused'
    >>> print(found)
    fused was chosen because the model sd shows how far to trust the model: ...
    """
    auto = find(AUTO_CALIBRATOR.name)
    check_calibration(auto, weights=weights, model_sd=model_sd, second_model=second_model)
    limits.check(seed=seed)
    given, order = _tables(scores, consensus, weights, model_sd, anchors, second_model)
    return recommend(inputs_of(auto, given, order, LEVEL, seed).inputs)


def _tables(
    scores: Any, consensus: Any, weights: Weights, model_sd: float | None, *known: Any
) -> tuple[Given, Order]:
    """Read what is not read already."""
    if not isinstance(scores, Scores):
        scores = read_scores(scores)
    given = Given(scores, weights, model_sd, *read_known(*known))
    if not isinstance(consensus, Consensus | Scores):
        consensus = replace(read_scores(consensus), source="the consensus")
    return given, Order.of(consensus)


def read_known(
    anchors: Any, second_model: Any
) -> tuple[Scores | None, Scores | tuple[Scores, ...] | None]:
    """Read anchors and the scores of further models, if they are not read already."""
    if isinstance(anchors, Mapping) and "item" not in anchors:
        anchors = Scores.of({str(k): float(v) for k, v in anchors.items()}, source="anchors")
    elif anchors is not None and not isinstance(anchors, Scores):
        anchors = read_truth(anchors)[0]
    if isinstance(second_model, list | tuple) and all(
        isinstance(each, Scores | str | Path) for each in second_model
    ):
        # Rows of a table are neither, so these are tables.
        several = [each if isinstance(each, Scores) else read_scores(each) for each in second_model]
        return anchors, (several[0] if len(several) == 1 else tuple(several)) if several else None
    if second_model is not None and not isinstance(second_model, Scores):
        second_model = read_scores(second_model)
    return anchors, second_model


def check_calibration(
    method: str | Calibrator,
    *,
    weights: Weights = "sd",
    model_sd: float | None = None,
    second_model: Any = None,
    level: float | None = None,
) -> None:
    """Refuse options of a calibration that are none, before anything is read or fitted.

    Examples
    --------
    >>> check_calibration("safe", model_sd=-1)
    Traceback (most recent call last):
    aggcal.errors.OptionError: model_sd is -1; give a number above 0.
    """
    calibrator = find(method)
    if not isinstance(weights, Mapping) and weights not in ("sd", None):
        raise OptionError(f"weights {weights!r} is unknown; give 'sd', a mapping, or None.")
    if model_sd is not None and not _SMALLEST_SD <= model_sd <= 1.0 / _SMALLEST_SD:
        raise OptionError(f"{argument('model-sd')} is {model_sd}; give a number above 0.")
    if second_model is not None and not calibrator.takes_second_model:
        those = [f"'{k}'" for k, info in CALIBRATORS.items() if info.make().takes_second_model]
        raise OptionError(
            f"only {', '.join(those)} can use a second model; leave it out for '{calibrator.name}'."
        )
    if level is not None:
        limits.check(level=level)
