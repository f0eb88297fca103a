"""The projection of Stage 2: the closest scores that contradict no order."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.sorting import in_order, levels
from aggcal.calibration.calibrator import Calibrated, FullCalibrator
from aggcal.calibration.claims import Condition, Guarantee, noise_conditions, unshifted
from aggcal.calibration.isotonic import isotonic, isotonic_parts, isotonic_rows, project_rows
from aggcal.calibration.matching import ENOUGH_TO_TELL
from aggcal.calibration.tuning import Untuned, level_of
from aggcal.errors import AggcalWarning, HarmfulWarning, count, option, sentence
from aggcal.registry import ATC as INFO
from aggcal.registry import FUSED, SAFE

if TYPE_CHECKING:
    from collections.abc import Callable

    from aggcal.calibration.anchors import Gain
    from aggcal.calibration.inputs import Inputs

_LIKELY = 2.0 / 3.0
"""The share of simulated cases from which projection is said to hurt: with a lower one the warning
is wrong more often, with a higher one more harm passes unsaid."""
_TOGETHER = 1 << 18
"""Numbers that are projected together: more take memory, and longer rows gain nothing by it."""


class ATC(FullCalibrator):
    """The scores closest to the model's that never contradict the consensus order."""

    name = INFO.name
    tuned_by_anchors = True
    by_place = True

    def calibrate(self, inputs: Inputs, /) -> Calibrated:
        """Return the projection, without the common error that anchors show."""
        projected, block = inputs.projected
        return Calibrated(projected + level_of(projected, inputs.anchors), block)

    def untuned(self, inputs: Inputs, /) -> Untuned:
        """Return the projection, of which anchors tell the level."""
        return Untuned(inputs.projected[0])

    def on_exact(self, inputs: Inputs, found: Calibrated, /) -> Callable[[FloatArray], FloatArray]:
        """Project onto the exact order."""
        del found
        return _Projection(inputs, level_of(inputs.projected[0], inputs.anchors))

    def recommendations(self, inputs: Inputs, gain: Gain | None, /) -> list[AggcalWarning]:
        """Say where projection hurts: on anchors, by the stated sd, or in draws."""
        if len(inputs.model) < ENOUGH_TO_TELL:
            return []
        fused = option("calibrator", FUSED.name)
        remedy = f"Use {fused} or {SAFE.name}"
        if inputs.variances is None:
            remedy = f"Use {fused} (or {SAFE.name}, with {option('model-sd')})"
        worse, why = "Calibration is likely to make the scores worse", ""
        said = ""
        if gain is not None and gain.mean < -gain.se:
            said = (
                f"On {count(gain.n, 'anchor')} the calibrated scores have a larger mean squared "
                f"error than the model's (by {-gain.mean:.3g}, standard error {gain.se:.2g})."
            )
        elif inputs.variances is not None and inputs.risk.hurts:
            own = inputs.model_variance
            why = (
                f"their estimated mean squared error is {own + inputs.risk.excess:.3g}, the "
                f"model's (from its stated sd) {own:.3g}."
            )
            said = f"{worse}: {why}"
        elif inputs.variances is None and inputs.outlook and inputs.outlook.hurts > _LIKELY:
            remedy += ", or collect more judgments"
            why = (
                "the ranking is uncertain. Even if the truth is exactly the annotators' consensus, "
                "the model's own scores are closer to it in "
                f"{inputs.outlook.hurts:.0%} of simulations."
            )
            said = f"{worse}, because {why}"
        why = sentence(why) if why else ""
        return [HarmfulWarning(said, f"{remedy}.", title=worse, why=why)] if said else []

    def claims(self, inputs: Inputs, /, *, weighted: bool, measured: bool) -> list[Guarantee]:
        """Return when it helps, and by a stated sd how far off it is.

        The identities are about plain sums: a weighted projection has them in another norm.
        """
        if weighted:
            return []
        found = [_gain(inputs, measured=measured)]
        if inputs.variances is not None:
            found += [_sure(inputs), _risk_bound(inputs)]
        shift = level_of(inputs.projected[0], inputs.anchors)
        return [unshifted(claim, shift) for claim in found]


def project(
    heights: FloatArray,
    values: FloatArray,
    weights: FloatArray | None = None,
    component: IntArray | None = None,
) -> tuple[FloatArray, IntArray]:
    """Project values onto the order of heights; return them and their blocks, 1 the highest.

    Of several components each is projected by itself: nothing orders items of different ones.

    Examples
    --------
    Equal heights share their weighted mean:

    >>> project(np.array([1.0, 1.0, 2.0]), np.array([0.0, 3.0, 5.0]), np.array([2.0, 1.0, 1.0]))
    (array([1., 1., 5.]), array([2, 2, 1]))

    Items of different components never share a block:

    >>> project(np.arange(4.0), np.array([9.0, 5.0, 1.0, 3.0]), None, np.array([0, 1, 0, 1]))
    (array([5., 4., 5., 4.]), array([1, 2, 1, 2]))
    """
    if component is not None:
        return _project_parts(heights, values, weights, component)
    level = levels(heights)
    weights = np.ones(len(values)) if weights is None else weights
    total = np.asarray(np.bincount(level, weights), dtype=np.float64)
    means = np.bincount(level, weights * values) / total
    fitted, starts = isotonic(means, np.asarray(total, dtype=np.float64))
    sizes = np.diff(starts)
    block = np.repeat(np.arange(len(sizes), 0, -1), sizes)
    return fitted[level], block[level]


def _project_parts(
    heights: FloatArray, values: FloatArray, weights: FloatArray | None, component: IntArray
) -> tuple[FloatArray, IntArray]:
    """Project each component by itself; blocks count down from the highest value of all."""
    order = np.lexsort((heights, component))
    part, height = component[order], heights[order]
    other = np.append(True, part[1:] != part[:-1])
    new = other | np.append(True, height[1:] != height[:-1])
    level = np.empty(len(values), dtype=np.int64)
    level[order] = np.cumsum(new) - 1
    weights = np.ones(len(values)) if weights is None else weights
    total = np.asarray(np.bincount(level, weights), dtype=np.float64)
    means = np.bincount(level, weights * values) / total
    bounds = np.append(np.flatnonzero(other[new]), len(means))
    fitted, starts = isotonic_parts(means, total, bounds)
    place = np.empty(len(starts) - 1, dtype=np.int64)
    place[np.argsort(-fitted[starts[:-1]], kind="stable")] = np.arange(1, len(starts))
    block = np.repeat(place, np.diff(starts))
    return fitted[level], block[level]


def projected_values(
    heights: FloatArray,
    values: FloatArray,
    weights: FloatArray,
    component: IntArray | None = None,
) -> FloatArray:
    """Project values without their blocks, four times as fast where no two heights are equal.

    Examples
    --------
    >>> projected_values(np.array([2.0, 1.0, 3.0]), np.array([0.0, 3.0, 5.0]), np.ones(3))
    array([1.5, 1.5, 5. ])
    """
    if component is not None:
        return _project_parts(heights, values, weights, component)[0]
    order, ordered = in_order(heights)
    if (ordered[1:] == ordered[:-1]).any():
        return project(heights, values, weights)[0]
    found = np.empty(len(values))
    found[order] = isotonic(values[order], weights[order])[0]
    return found


def projected_rows(
    heights: FloatArray,
    values: FloatArray,
    weights: FloatArray,
    component: IntArray | None = None,
) -> FloatArray:
    """Project the values of each row, to the same bits; heights or values may be one for all rows.

    Many short rows together take a tenth of the time.

    Examples
    --------
    >>> heights = np.array([[2.0, 1.0, 3.0], [1.0, 2.0, 3.0]])
    >>> projected_rows(heights, np.array([0.0, 3.0, 5.0]), np.ones(3))
    array([[1.5, 1.5, 5. ],
           [0. , 3. , 5. ]])
    """
    found = None if component is not None else project_rows(heights, values, weights)
    if found is not None:
        return found
    heights, values = np.broadcast_arrays(np.atleast_2d(heights), np.atleast_2d(values))
    order = np.argsort(heights)
    ordered = np.take_along_axis(heights, order, axis=1)
    few = values.size <= _TOGETHER
    if component is not None or not few or (ordered[:, 1:] == ordered[:, :-1]).any():
        pairs = zip(heights, values, strict=True)
        return np.array([projected_values(*pair, weights, component) for pair in pairs])
    found = np.empty(values.shape)
    fitted = isotonic_rows(np.take_along_axis(values, order, axis=1), weights[order])
    np.put_along_axis(found, order, fitted, axis=1)
    return found


class _Projection:
    """The projection onto an order that was drawn, or onto several."""

    def __init__(self, inputs: Inputs, shift: float) -> None:
        self._rest = inputs.model, inputs.weight, inputs.component
        self._shift = shift

    @cached_property
    def _even(self) -> bool:
        """Whether all weights are the same, so that they are so in any order."""
        weights = self._rest[1]
        return bool((weights == weights[0]).all())

    def __call__(self, drawn: FloatArray) -> FloatArray:
        return projected_values(drawn, *self._rest) + self._shift

    def rows(self, drawn: FloatArray) -> FloatArray:
        """Project onto each row."""
        return projected_rows(drawn, *self._rest) + self._shift

    def curve(self, drawn: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Project onto one; return it from the lowest on, and the scores in this order."""
        values, weights, component = self._rest
        order, places = in_order(drawn)
        if component is not None or (places[1:] == places[:-1]).any():
            return places, self(drawn)[order]
        weights, values = weights if self._even else weights[order], values[order]
        del order  # of many items, every column is a good part of the memory
        fitted = isotonic(values, weights, spent=True)[0]
        fitted += self._shift
        return places, fitted


def _gain(inputs: Inputs, *, measured: bool) -> Guarantee:
    moved = inputs.model - inputs.projected[0]
    n = len(moved)
    size = float(np.sqrt(moved @ moved / n))
    outlook = inputs.outlook
    within = None
    hint = ""
    if outlook is not None:
        near = outlook.distance < 0.5 * size
        hint = (
            " If the truth were exactly the annotators' consensus, that distance would be about "
            f"{outlook.distance:.3g}: "
            + ("near enough." if near else "too far, so calibration may help or hurt.")
        )
    if size == 0.0:
        says = "The model's scores already follow the consensus order: calibration changed nothing."
        if n > 1 and np.ptp(inputs.model) == 0.0:
            says = "The model gives every item the same score: there is nothing to calibrate."
        claim = says
        within = False
    else:
        claim = (
            "The calibrated scores are closer to the truth than the model's if the truth is within "
            f"{0.5 * size:.4g} (RMS) of some scores in the annotators' order."
        )
        says = f"Calibration moved the scores by {size:.4g} (RMS). {claim}{hint}"
    return Guarantee(
        "gain",
        "When calibration helps",
        says,
        "truth",
        "identity",
        {
            "moved_rms": size,
            "distance_allowed_rms": 0.5 * size,
            "distance_if_consensus_is_true_rms": None if outlook is None else outlook.distance,
            "items": n,
        },
        (
            Condition(
                "the truth is that close to the consensus order"
                + (" (see the measured gain)" if measured else ""),
                within,
            ),
        ),
        claim=claim,
    )


def _sure(inputs: Inputs) -> Guarantee:
    variance, risk = inputs.model_variance, inputs.risk
    limit = "" if risk.at_most is None else f" (at most {risk.at_most:.3g}, with 95% confidence)"
    said = f"is estimated as {risk.estimate:.3g}"
    if risk.estimate == 0.0:
        said = "is not distinguishable from 0"
    own = f"the model's is {variance:.3g} by its stated sd"
    return Guarantee(
        "sure",
        "Estimated error of the projection",
        "The mean squared error of the calibrated scores, measured from the model's noise-free "
        f"scores, {said}{limit} (Stein's unbiased risk estimate); {own}.",
        "model",
        "estimate",
        {
            "sure": risk.estimate,
            "at_most": risk.at_most,
            "model_variance": variance,
            "blocks": int(inputs.projected[1].max()),
        },
        (
            Condition("the stated model sd is correct (a larger one makes the estimate too small)"),
            *noise_conditions(inputs)[1:],
        ),
        claim=f"The mean squared error of the calibrated scores {said}; {own}.",
    )


def _risk_bound(inputs: Inputs) -> Guarantee:
    """Bound the risk: dist² + (‖Π b‖ + σ √Σ H(n_j))², at u = the projection itself."""
    sizes = np.bincount(inputs.projected[1])[1:]
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, int(sizes.max()) + 1))])
    complexity = float(harmonic[sizes].sum())
    n, variance = len(inputs.model), inputs.model_variance
    noise = variance * complexity / n
    return Guarantee(
        "risk_bound",
        "What is left of the model's noise",
        f"If the true scores within each block are equal ({count(len(sizes), 'block')} here) and "
        f"the model is right on average, its noise adds at most {noise:.3g} to the mean squared "
        f"error, instead of {variance:.3g} without calibration. Differences within a block, and a "
        "bias of the model, come on top.",
        "truth",
        "estimate",
        {"noise_part": noise, "model_variance": variance, "sum_of_harmonics": complexity},
        (
            *noise_conditions(inputs),
            Condition(
                "the blocks do not depend on the noise (they do, so this is a guide)", holds=False
            ),
        ),
        claim=f"The model's noise adds at most {noise:.3g} to the mean squared error, instead of "
        f"{variance:.3g} without calibration.",
    )
