"""When the data show that another calibrator would do better."""

from __future__ import annotations

import numpy as np

from aggcal.arrays import FloatArray
from aggcal.calibrators.anchors import Gain
from aggcal.calibrators.inputs import Inputs
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


def recommendation(method: str, inputs: Inputs, gain: Gain | None) -> list[AggcalWarning]:
    """Say when the data show that another calibrator would do better."""
    found, n = inputs.moments, len(inputs.model)
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
        # A stated sd that is too large must not hide harm: the data bound it.
        variance = min(inputs.model_variance, found.residual)
        projected, block = inputs.projected
        left = float(np.square(inputs.model - projected).sum())
        risk = left / n - variance + 2.0 * variance * int(block.max()) / n
        if risk > variance:
            return [
                HarmfulWarning(
                    f"projection is likely to hurt: its estimated squared error is {risk:.3g}, "
                    f"that of the model by its own sd {variance:.3g}",
                    remedy,
                )
            ]
    elif found.ranking > found.residual and _far_off(inputs):
        return [
            HarmfulWarning(
                "projection is likely to hurt: the ranking's own uncertainty, in the model's "
                f"units, is {found.ranking**0.5:.3g}, while model and ranking differ by only "
                f"{found.residual**0.5:.3g} beyond it",
                remedy + ", or gather more judgments",
            )
        ]
    return []


def _far_off(inputs: Inputs) -> bool:
    """Whether even a truth that followed the exact consensus may be too far from the order."""
    moved = inputs.model - inputs.projected[0]
    allowed = 0.5 * float(np.sqrt(moved @ moved / len(moved)))
    return inputs.expected_distance is None or inputs.expected_distance >= allowed


def contradictions(method: str, inputs: Inputs) -> list[AggcalWarning]:
    """Say where what was stated does not go with the data."""
    found: list[AggcalWarning] = []
    if len(inputs.model) < _ENOUGH_TO_TELL:
        return found
    if inputs.anchors is not None:
        found += _odd_anchors(inputs)
    if method != "fused":
        return found
    if inputs.covariance is None:
        found.append(
            HarmfulWarning(
                "the consensus came without standard errors, and fused takes it to be exact",
                "give it some (a consensus_se or sd column), or leave --uncertainty on",
            )
        )
    known, whole = inputs.variances, inputs.moments.residual
    if known is not None and float(known.mean()) > whole:
        found.append(
            HarmfulWarning(
                f"the stated model sd ({float(known.mean()) ** 0.5:.3g}) is more than all that "
                f"model and consensus differ by ({whole**0.5:.3g})",
                "it was taken as that: check its unit",
            )
        )
    if inputs.second is not None:
        found += _odd_second(inputs, inputs.second)
    return found


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
