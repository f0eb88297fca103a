"""When the data show that another calibrator would do better."""

from __future__ import annotations

import numpy as np

from aggcal.calibrators.anchors import Gain
from aggcal.calibrators.inputs import Inputs
from aggcal.errors import AggcalWarning, HarmfulWarning, count

_ENOUGH_TO_TELL = 5
_UNEVEN = 1.5


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
    remedy = "use --calibrator fused (or safe, with --model-sd)"
    if gain is not None and gain.mean < -gain.se:
        return [
            HarmfulWarning(
                f"on {count(gain.n, 'anchor')} the calibrated scores have a larger squared error "
                f"than the model's (by {-gain.mean:.3g}, give or take {gain.se:.2g})",
                remedy,
            )
        ]
    if inputs.variances is not None:
        variance = inputs.model_variance
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
    elif found.ranking > found.residual:
        return [
            HarmfulWarning(
                "projection is likely to hurt: the ranking's own uncertainty, in the model's "
                f"units, is {found.ranking**0.5:.3g}, while model and ranking differ by only "
                f"{found.residual**0.5:.3g} beyond it",
                remedy + ", or gather more judgments",
            )
        ]
    return []
