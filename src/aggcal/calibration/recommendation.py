"""When the data show that another calibrator would do better."""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.calibration.anchors import Gain
from aggcal.calibration.inputs import Inputs
from aggcal.errors import (
    AggcalWarning,
    AnchorsWarning,
    DependentModelsWarning,
    HarmfulWarning,
    count,
)

_ENOUGH_TO_TELL = 5
_UNEVEN = 1.5
_BEYOND_CHANCE = 2.0
_TOO_ALIKE = 0.98

_LIKELY = 2.0 / 3.0
"""The share of simulated cases from which projection is said to hurt: with a lower one the warning
is wrong more often, with a higher one more harm passes unsaid."""

_IMPOSSIBLE, _TOO_LARGE = 0.001, 2.0
"""A stated sd is called too large where chance makes it look so in fewer than 1 of 1,000 studies,
and by a factor of 2: heavy tails make it look too large by less."""


def recommendation(method: str, inputs: Inputs, gain: Gain | None) -> list[AggcalWarning]:
    """Say when the data show that another calibrator would do better."""
    n = len(inputs.model)
    if method == "safe" and inputs.variances is not None:
        widest = float(np.sqrt(inputs.variances.max() / inputs.variances.min()))
        if widest > _UNEVEN:
            return [
                HarmfulWarning(
                    f"the model's sd differs by a factor of {widest:.1f} between items, and safe "
                    "is safe for one sd only",
                    "use fused, which weighs each item by its own",
                )
            ]
    if method != "atc" or n < _ENOUGH_TO_TELL:
        return []
    remedy = "use --calibrator fused"
    if inputs.variances is None:
        remedy += " (or safe, with --model-sd)"
    else:
        remedy += " or safe"
    if gain is not None and gain.mean < -gain.se:
        return [
            HarmfulWarning(
                f"on {count(gain.n, 'anchor')} the calibrated scores have a larger squared error "
                f"than the model's (by {-gain.mean:.3g}, give or take {gain.se:.2g})",
                remedy,
            )
        ]
    if inputs.variances is not None:
        risk = inputs.risk
        if risk.hurts:
            own = inputs.model_variance
            return [
                HarmfulWarning(
                    f"projection is likely to hurt: its estimated squared error is "
                    f"{own + risk.excess:.3g}, that of the model by the stated sd {own:.3g}",
                    remedy,
                )
            ]
    elif inputs.outlook is not None and inputs.outlook.hurts > _LIKELY:
        return [
            HarmfulWarning(
                "projection is likely to hurt: even if the truth follows exactly what the "
                "annotators agree on, the ranking is so uncertain that in "
                f"{inputs.outlook.hurts:.0%} of simulated cases the model's own scores are closer "
                "to it",
                remedy + ", or gather more judgments",
            )
        ]
    return []


def contradictions(method: str, inputs: Inputs) -> list[AggcalWarning]:
    """Say where what was stated does not go with the data."""
    found: list[AggcalWarning] = []
    if len(inputs.model) < _ENOUGH_TO_TELL:
        return found
    if inputs.anchors is not None:
        found += _odd_anchors(inputs)
    if inputs.variances is not None:
        found += _odd_sd(inputs, inputs.variances)
    if method != "fused":
        return found
    if inputs.covariance is None:
        found.append(
            HarmfulWarning(
                "the consensus came without standard errors, and fused takes it to be exact",
                "give it some (a consensus_se or sd column), or leave --uncertainty on",
            )
        )
    if inputs.second is not None:
        found += _odd_second(inputs, inputs.second)
    return found


def _odd_sd(inputs: Inputs, variances: FloatArray) -> list[AggcalWarning]:
    """Test whether the model's errors can be as large as stated.

    Whatever else is in the differences of model and consensus, they vary by the model's errors at
    least: their squares, in units of the stated variances, exceed a χ² of n − 2 degrees of freedom.
    """
    from scipy.special import chdtr

    weight = 1.0 / variances
    x = inputs.consensus - np.average(inputs.consensus, weights=weight)
    y = inputs.model - np.average(inputs.model, weights=weight)
    size = float(weight @ np.square(x))
    slope = float((weight * x) @ y) / size if size > 0.0 else 0.0
    left, freedom = float(weight @ np.square(y - slope * x)), len(x) - 2
    if left / freedom > _TOO_LARGE**-2 or float(chdtr(freedom, left)) >= _IMPOSSIBLE:
        return []
    stated = inputs.model_variance**0.5
    return [
        HarmfulWarning(
            f"the stated model sd ({stated:.3g}) is too large: model and consensus differ by "
            f"{stated * (left / freedom) ** 0.5:.3g} in all (errors of the stated sd would give so "
            "little in fewer than 1 of 1,000 studies)",
            "check its unit, and that the model's scores were not made from these judgments",
        )
    ]


def _odd_anchors(inputs: Inputs) -> list[AggcalWarning]:
    if inputs.anchors is None:
        return []
    where, truth = inputs.anchors
    model = inputs.model[where]
    if truth.min() > inputs.model.max() or truth.max() < inputs.model.min():
        return [
            AnchorsWarning(
                f"the anchors' truths ({truth.min():.3g} to {truth.max():.3g}) lie outside all "
                f"model scores ({inputs.model.min():.3g} to {inputs.model.max():.3g})",
                "check that both are in one unit",
            )
        ]
    if len(truth) >= _ENOUGH_TO_TELL and np.ptp(truth) > 0.0 and np.ptp(model) > 0.0:
        together = float(np.corrcoef(truth, inputs.consensus[where])[0, 1])
        if together * np.sqrt(len(truth) - 1.0) < -_BEYOND_CHANCE:
            return [
                AnchorsWarning(
                    f"the anchors' truths fall where the consensus rises (correlation "
                    f"{together:.2f})",
                    "check which end of the truth is the good one",
                )
            ]
    return []


def _odd_second(inputs: Inputs, second: FloatArray) -> list[AggcalWarning]:
    both = np.isfinite(second)
    mine, other = inputs.model[both], second[both]
    if np.ptp(other) == 0.0 or np.ptp(mine) == 0.0:
        return []
    if inputs.variances is None and inputs.moments.known is None:
        return [
            DependentModelsWarning(
                "the second model's scores do not clearly rise with the consensus: not used",
                "check its direction and its ids",
            )
        ]
    alike = float(np.corrcoef(mine, other)[0, 1])
    if alike > _TOO_ALIKE:
        return [
            DependentModelsWarning(
                f"the second model's scores are nearly those of the first (correlation "
                f"{alike:.3f}), so their errors are hardly independent",
                "give a model of another kind, or leave it out: fused now trusts both too much",
            )
        ]
    return []
