"""Where what was stated of the model and the truth does not go with the data."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtr

from aggcal._core.arrays import FloatArray, IntArray
from aggcal.calibration.calibrator import FullCalibrator
from aggcal.calibration.inputs import Inputs
from aggcal.calibration.matching import BEYOND_CHANCE, ENOUGH_TO_TELL
from aggcal.calibration.within import deviations, n_levels
from aggcal.errors import AggcalWarning, AnchorsWarning, HarmfulWarning

_IMPOSSIBLE, _TOO_LARGE = 0.001, 2.0
"""A stated sd is called too large where chance makes it look so in fewer than 1 of 1,000 studies,
and by a factor of 2: heavy tails make it look too large by less."""


def contradictions(calibrator: FullCalibrator, inputs: Inputs) -> list[AggcalWarning]:
    """Say where what was stated does not go with the data."""
    if len(inputs.model) < ENOUGH_TO_TELL:
        return []
    found = _odd_anchors(inputs)
    if inputs.variances is not None:
        found += _odd_sd(inputs, inputs.variances)
    return found + calibrator.contradictions(inputs)


def _odd_sd(inputs: Inputs, variances: FloatArray) -> list[AggcalWarning]:
    """Test whether the model's errors can be as large as stated.

    Whatever else is in the differences of model and consensus, they vary by the model's errors at
    least: their squares, in units of the stated variances, exceed a χ² of n − 2 degrees of freedom
    (n − 1 less the number of components, whose means are free).
    """
    weight = 1.0 / variances
    x, y = (_about_means(each, weight, inputs) for each in (inputs.consensus, inputs.model))
    size = float(weight @ np.square(x))
    slope = float((weight * x) @ y) / size if size > 0.0 else 0.0
    left = float(weight @ np.square(y - slope * x))
    degrees_of_freedom = len(x) - 2 - n_levels(inputs.component)
    if degrees_of_freedom < ENOUGH_TO_TELL - 2 or (
        left / degrees_of_freedom > _TOO_LARGE**-2
        or float(chdtr(degrees_of_freedom, left)) >= _IMPOSSIBLE
    ):
        return []
    stated = inputs.model_variance**0.5
    off = stated * (left / degrees_of_freedom) ** 0.5
    return [
        HarmfulWarning(
            f"The stated model sd ({stated:.3g}) is too large: model and consensus differ by only "
            f"{off:.3g} in total. Errors of the stated sd would differ so little in fewer than 1 "
            "of 1,000 studies.",
            "Check its unit, and that the model's scores were not made from these judgments.",
            title=f"The stated model sd ({stated:.3g}) is too large",
            why=f"Model and consensus differ by only {off:.3g} in total. Errors of the stated sd "
            "would differ so little in fewer than 1 of 1,000 studies.",
        )
    ]


def _about_means(values: FloatArray, weight: FloatArray, inputs: Inputs) -> FloatArray:
    """Return values less the weighted mean of their component."""
    part = inputs.component
    if part is None:
        return np.asarray(values - np.average(values, weights=weight))
    total = np.bincount(part, weight * values) / np.maximum(np.bincount(part, weight), 1e-300)
    return np.asarray(values - total[part])


def _odd_anchors(inputs: Inputs) -> list[AggcalWarning]:
    if inputs.anchors is None:
        return []
    where, truth = inputs.anchors
    model = inputs.model[where]
    if truth.min() > inputs.model.max() or truth.max() < inputs.model.min():
        return [
            AnchorsWarning(
                f"The anchors' true scores ({truth.min():.3g} to {truth.max():.3g}) are all "
                "outside the range of the model's scores "
                f"({inputs.model.min():.3g} to {inputs.model.max():.3g}).",
                "Check that both are in the same unit.",
                title="The anchors and the model's scores do not overlap",
            )
        ]
    if len(truth) >= ENOUGH_TO_TELL and np.ptp(truth) > 0.0 and np.ptp(model) > 0.0:
        part = None if inputs.component is None else inputs.component[where]
        free = len(truth) - 1.0 - n_levels(part)
        together = _correlation(truth, inputs.consensus[where], part)
        if free + 1.0 >= ENOUGH_TO_TELL and together * np.sqrt(free) < -BEYOND_CHANCE:
            return [
                AnchorsWarning(
                    "The anchors' true scores fall where the consensus rises (correlation "
                    f"{together:.2f}).",
                    "Check which end of the true scale is the good one.",
                    title=f"The anchors run against the consensus (correlation {together:.2f})",
                    why="In both, higher must mean better.",
                )
            ]
    return []


def _correlation(x: FloatArray, y: FloatArray, component: IntArray | None) -> float:
    """Return the correlation within components."""
    if component is None:
        return float(np.corrcoef(x, y)[0, 1])
    x, y = deviations(x, component), deviations(y, component)
    size = float(x @ x) * float(y @ y)
    return float(x @ y) / size**0.5 if size > 0.0 else 0.0
