"""Which calibrator to take, from what is known, and why in one sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.calibration.anchors import Anchors
from aggcal.calibration.calibrator import Calibrated, FullCalibrator, find
from aggcal.calibration.inputs import Inputs
from aggcal.calibration.intervals import cross_fitted
from aggcal.errors import count
from aggcal.registry import AUTO_CALIBRATOR, CALIBRATORS, FUSED

_CLEARLY = 3.0
"""Standard errors by which another calibrator must be better than fused on the anchors: with fewer,
chance decides (at 2, ten anchors took atc in 1 of 30 steep studies, which doubled the mean error of
all); with more, what they show is passed over (at 3, five regimes lose up to 5%)."""

_FALLS = 0.5
"""The share of the model kept by the hedge from which the consensus is said not to bear the model
out."""


@dataclass(frozen=True)
class Recommendation:
    """The calibrator to take, and why.

    ``evidence`` has the numbers that it rests on: with anchors, the mean squared error of each
    calibrator, each anchor measured by scores that the others tuned; else the share of the model's
    own deviations that fused keeps.
    """

    calibrator: str
    reason: str
    evidence: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as in ``summary.json``."""
        return {"calibrator": self.calibrator, "why": self.reason, "evidence": dict(self.evidence)}

    def __str__(self) -> str:
        return self.reason


class Auto(FullCalibrator):
    """Takes the calibrator that is recommended for its inputs."""

    name = AUTO_CALIBRATOR.name
    takes_second_model = True
    tuned_by_anchors = True

    def calibrate(self, inputs: Inputs, /) -> Calibrated:
        """Calibrate by it."""
        return find(recommend(inputs).calibrator).calibrate(inputs)


def recommend(inputs: Inputs) -> Recommendation:
    """Recommend a calibrator."""
    if inputs.anchors is not None:
        return _by_anchors(inputs, inputs.anchors)
    kept = float(inputs.fused.kept.mean())
    evidence = {"kept": kept}
    if inputs.moments.known is not None:
        known = inputs.moments.known
        return Recommendation(
            FUSED.name,
            f"{FUSED.name} was chosen because the {known} shows how far to trust the model: "
            f"{kept:.0%} of its own deviations are kept.",
            evidence,
        )
    if inputs.moments.hedged is not None and inputs.moments.hedged > _FALLS:
        return Recommendation(
            FUSED.name,
            f"{FUSED.name} was chosen because the model's scores do not rise with the consensus, "
            f"and nothing shows which is wrong: {kept:.0%} of the model is kept.",
            evidence,
        )
    if inputs.logarithmic:
        return Recommendation(
            FUSED.name,
            f"{FUSED.name} was chosen because nothing is known of the errors of model or "
            "annotators, and as errors grow with the scores, it mixes their logarithms: "
            f"{kept:.0%} of the model's own deviations are kept.",
            evidence,
        )
    return Recommendation(
        FUSED.name,
        f"{FUSED.name} was chosen because nothing is known of the errors of model or annotators, "
        f"and it allows for both: {kept:.0%} of the model's own deviations are kept.",
        evidence,
    )


def _by_anchors(inputs: Inputs, anchors: Anchors) -> Recommendation:
    """Compare the calibrators on anchors that did not tune them."""
    where, truth = anchors
    errors: dict[str, FloatArray] = {}
    for name in CALIBRATORS:
        calibrator = find(name)
        if calibrator.needs_model_sd and inputs.variances is None:
            continue
        errors[name] = np.square(cross_fitted(calibrator, inputs, anchors) - truth)
    best, least = FUSED.name, 0.0
    for name, found in errors.items():
        gained = errors[FUSED.name] - found
        mean, n = float(gained.mean()), len(gained)
        if mean > max(least, _CLEARLY * float(gained.std(ddof=1)) / sqrt(n)):
            best, least = name, mean
    own = float(np.square(inputs.model[where] - truth).mean())
    told = {name: float(found.mean()) for name, found in errors.items()}
    others = [f"{name} {error:.3g}" for name, error in told.items() if name != best]
    listed = ", ".join([*others, f"the model {own:.3g}"])
    why = "has the smallest mean squared error"
    if min(told, key=lambda name: told[name]) != best:
        why = "is not clearly worse than any other"
    return Recommendation(
        best,
        f"{best} was chosen because it {why} on {count(len(truth), 'anchor')} ({told[best]:.3g}; "
        f"{listed}), each measured by scores that the others tuned.",
        told | {"model": own},
    )
