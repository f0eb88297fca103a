r"""The safe calibrator: James–Stein shrinkage of the model towards the projection.

For errors of the model that are normal, independent and of one known standard deviation σ, and an
order found without them, its expected squared error is below nσ², that of the model itself: for
every truth and every order, right or wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.calibration.atc import project, projected_values
from aggcal.calibration.calibrator import Calibrated, FullCalibrator
from aggcal.calibration.claims import Condition, Guarantee, noise_conditions, unshifted
from aggcal.calibration.tuning import Untuned, level_of
from aggcal.errors import AggcalWarning, HarmfulWarning, option
from aggcal.registry import FUSED, SAFE

if TYPE_CHECKING:
    from collections.abc import Callable

    from aggcal.calibration.anchors import Gain
    from aggcal.calibration.inputs import Inputs

_FEWEST_POOLED = 2
"""The 2 of James and Stein's n − 2: shrinking gains from the third pooled dimension on."""

_UNEVEN = 1.5
"""How many times the smallest sd the largest may be before it is warned of: the theorem wants 1,
and its margin of 1.4 in the sd does not reach further."""


class Safe(FullCalibrator):
    """The model's scores, moved towards the projection only as far as cannot hurt on average."""

    name = SAFE.name
    needs_model_sd = True
    tuned_by_anchors = True
    covers = (
        "Each interval covers the calibrated score that the annotators' exact consensus would "
        "give, with as much of the model kept as here"
    )

    def calibrate(self, inputs: Inputs, /) -> Calibrated:
        """Shrink towards the unweighted projection, which is the one the theorem is about."""
        values, kept = _shrunk(inputs)
        moved = values + level_of(values, inputs.anchors)
        return Calibrated(moved, kept=np.full(len(values), kept))

    def untuned(self, inputs: Inputs, /) -> Untuned:
        """Return the shrunk scores, of which anchors tell the level."""
        return Untuned(_shrunk(inputs)[0])

    def on_exact(self, inputs: Inputs, found: Calibrated, /) -> Callable[[FloatArray], FloatArray]:
        """Keep as much of the model as the scores do."""
        even, kept = np.ones(len(inputs.model)), 0.0 if found.kept is None else found.kept
        component = inputs.component
        shift = level_of(_shrunk(inputs)[0], inputs.anchors)

        def shrunk(drawn: FloatArray) -> FloatArray:
            base = projected_values(drawn, inputs.model, even, component)
            return np.asarray(base + kept * (inputs.model - base) + shift)

        return shrunk

    def recommendations(self, inputs: Inputs, gain: Gain | None, /) -> list[AggcalWarning]:
        """Say where items differ too much in their sd."""
        del gain
        if inputs.variances is None:
            return []
        widest = float(np.sqrt(inputs.variances.max() / inputs.variances.min()))
        if widest <= _UNEVEN:
            return []
        return [
            HarmfulWarning(
                f"The model's sd differs between items by a factor of {widest:.1f}, and "
                f"{self.name} is only safe for equal sds.",
                f"Use {option('calibrator', FUSED.name)}, which weights each item by its own sd.",
                title=f"The model's sd differs between items by a factor of {widest:.1f}",
                why=f"{self.name} is only safe for equal sds.",
            )
        ]

    def claims(self, inputs: Inputs, /, *, weighted: bool, measured: bool) -> list[Guarantee]:
        """Return the theorem, with what it supposes."""
        del weighted, measured
        variance = inputs.model_variance
        shift = level_of(_shrunk(inputs)[0], inputs.anchors)
        claim = Guarantee(
            self.name,
            "Never worse than the model",
            "Whatever the truth, and however wrong the ranking, the expected mean squared "
            f"error of these scores is at most that of the model, {variance:.3g}.",
            "model",
            "bound",
            {"model_variance": variance, "items": len(inputs.model)},
            (
                *noise_conditions(inputs),
                Condition(
                    "the model is right on average (else this is about its noise-free scores)"
                ),
            ),
        )
        return [unshifted(claim, shift)]


def _shrunk(inputs: Inputs) -> tuple[FloatArray, float]:
    projected, block = project(inputs.consensus, inputs.model, None, inputs.component)
    return james_stein(inputs.model, projected, int(block.max()), inputs.model_variance)


def james_stein(
    model: FloatArray, projected: FloatArray, blocks: int, variance: float
) -> tuple[FloatArray, float]:
    """Return the shrunk scores and the share of (model − projected) that was kept.

    Examples
    --------
    >>> values, kept = james_stein(np.array([0.0, 2.0, 1.0, 3.0]), np.full(4, 1.5), 1, 0.1)
    >>> round(kept, 2)
    0.98
    """
    residual = model - projected
    pooled = len(model) - blocks - _FEWEST_POOLED
    size = float(residual @ residual)
    if pooled <= 0 or size == 0.0:
        return model.copy(), 1.0
    kept = max(0.0, 1.0 - pooled * variance / size)
    return np.asarray(projected + kept * residual), kept
