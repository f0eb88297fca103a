r"""The fused calibrator: a base that follows the consensus, and as much of the model as is signal.

    fused = base(consensus) + K (model − base),    K = V (V + N)⁻¹

V is what the truth may differ from the base by: the uncertainty of the consensus in the model's
units, which is larger where the base is steeper, and what annotators have wrong together. Where
nothing tells how much that is, a small share of the residual is taken to be it (see `moments`). N
is the model's noise. Anchors then tell the level and the scale of these scores, and whether more or
less of the model is to be kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.text import brief
from aggcal.aggregation.covariance import Covariance
from aggcal.calibration.anchors import Anchors
from aggcal.calibration.calibrator import Calibrated, FullCalibrator
from aggcal.calibration.draws import FEW
from aggcal.calibration.moments import LEEWAY, MEDIAN_SQUARE, Moments
from aggcal.calibration.refits import Refits
from aggcal.calibration.shapes import MixedBase
from aggcal.calibration.tuning import Tuned, Untuned
from aggcal.calibration.within import n_levels, telling
from aggcal.errors import AggcalWarning, DependentModelsWarning, HarmfulWarning, option
from aggcal.registry import FUSED

if TYPE_CHECKING:
    from aggcal.calibration.inputs import Inputs

_EXACT = 1e-12
"""Differences below this share of what they are differences of are rounding, not noise."""

_FARTHEST = 4.0
"""Standard deviations of the model's errors that a score is moved by at most where nothing is known
of them: normal errors are smaller but for 1 in 16,000. More removes more of gross errors, and costs
more where the truth is steep."""

_TOO_ALIKE = 0.98
"""The correlation from which two models count as one. Two whose independent errors are a seventh of
the items' sd have it; a lower bound accuses good models, a higher one lets copies pass."""


class Fused(FullCalibrator):
    """Model and consensus mixed, each as far as it can be trusted."""

    name = FUSED.name
    takes_second_model = True
    tuned_by_anchors = True
    covers = (
        "Each interval covers the calibrated score that the annotators' exact consensus would "
        "give, with as much of the model and of a straight line kept as here"
    )

    def calibrate(self, inputs: Inputs, /) -> Calibrated:
        """Return the fused scores."""
        return Calibrated(inputs.fused.values, kept=inputs.fused.kept)

    def on_exact(self, inputs: Inputs, found: Calibrated, /) -> Callable[[FloatArray], FloatArray]:
        """Keep as much of the model, and of a straight line, as the scores do."""
        model, base, first = inputs.fusible, inputs.base, inputs.with_anchors(None).fused
        tuned = inputs.fused.tuned
        if first.log is not None:
            inner = self.on_exact(inputs.logged, Calibrated(first.log.values))

            def proportions(drawn: FloatArray) -> FloatArray:
                values = np.exp(inner(drawn))
                return values if tuned is None else tuned(values, model - values)

            return proportions
        if len(model) > FEW:

            def held(drawn: FloatArray) -> FloatArray:
                expected = base.fitted(inputs.located(drawn))
                values = expected + first.kept * (model - expected)
                return values if tuned is None else tuned(values, model - values)

            return held

        # The base of an exact consensus would be another one: it is fitted to each draw.
        again = Refits(base, model, inputs.seed)

        def expected(drawn: FloatArray) -> FloatArray:
            return again(inputs.located(drawn))

        if inputs.covariance is None:
            raise ValueError("there is nothing to draw from")
        start = expected(inputs.consensus)
        through = first.through(inputs.covariance, base.rise(inputs.places))
        if tuned is not None:
            through = through * float(tuned.slope - tuned.weight)
        # An item's score also keeps of what its neighbours in the covariance have of the model:
        # with each item's own share alone, intervals of 3 to 10 items had another centre.
        return lambda drawn: np.asarray(found.values + through @ (expected(drawn) - start))

    def untuned(self, inputs: Inputs, /) -> Untuned:
        """Return the scores without anchors, and what of the model is not in them."""
        return inputs.with_anchors(None).fused.untuned(inputs.fusible)

    def contradictions(self, inputs: Inputs, /) -> list[AggcalWarning]:
        """Say where a consensus counts as exact, and what is odd about a second model."""
        found: list[AggcalWarning] = []
        if inputs.covariance is None:
            found.append(
                HarmfulWarning(
                    "The consensus has no standard errors, so fused treats it as exact.",
                    f"Add a consensus_se or sd column to it, or leave {option('uncertainty')} on.",
                    title="The consensus has no standard errors",
                    why=f"{FUSED.name} treats it as exact.",
                )
            )
        for k, other in enumerate(inputs.others):
            found += _odd_second(inputs, other, k)
        return found

    def to_dict(self, inputs: Inputs, /) -> dict[str, Any]:
        """Return what the scores are made of, and the errors that they are expected to have."""
        found, noise = inputs.fused, inputs.moments.noise
        fusible, pooled = inputs.fusible_moments, inputs.pooled
        told = {} if pooled is None else {"model_errors": _sds(pooled.errors)}
        return told | {
            "scale": "linear" if found.log is None else "logarithmic",
            "weight_of_line": found.base.straight,
            "shift": found.shift,
            "slope": found.slope,
            "known_from": found.known,
            "hedged": inputs.moments.hedged,
            "expected_mse": {
                "model": noise,
                "consensus": inputs.moments.ranking + inputs.moments.crowd,
                self.name: found.share * fusible.noise,
            },
        }


@dataclass(frozen=True, eq=False)
class Fusion:
    """Fused scores and what they are made of.

    ``kept`` is the share of (model − base) that each item keeps (of logarithms, with ``log``),
    ``tuned`` what anchors changed, ``noise`` the N of K where K is more than its diagonal.
    """

    values: FloatArray
    base: MixedBase
    kept: FloatArray
    moments: Moments
    known: str | None
    noise: FloatArray | None = None
    tuned: Tuned | None = None
    log: Fusion | None = None
    """The logarithms, where errors are proportions: these were fused."""
    levels: float = 0.0
    """Share of what the scores tell that is the levels of components, which the model gives."""

    __repr__ = brief

    @property
    def shift(self) -> float:
        """What anchors moved all scores by."""
        return 0.0 if self.tuned is None else float(self.tuned.shift)

    @property
    def slope(self) -> float:
        """What anchors stretched the scores by."""
        return 1.0 if self.tuned is None else float(self.tuned.slope)

    @property
    def share(self) -> float:
        """The mean share of the model's own deviations that is signal, in the model's units."""
        kept = float(self.kept.mean())
        kept += (1.0 - kept) * self.levels
        return min(kept / max(self.slope, _EXACT), 1.0)

    def untuned(self, model: FloatArray) -> Untuned:
        """Return what anchors tune, for scores made without them."""
        kept = min(float(self.kept.mean()), 1.0 - _EXACT)
        return Untuned(self.values, model - self.values, -kept / (1.0 - kept))

    def through(self, covariance: Covariance, rise: FloatArray) -> FloatArray:
        """Return 1 − K as a matrix: what the scores follow a change of the base by."""
        one = np.eye(len(self.kept))
        if self.noise is None:
            return one * (1.0 - self.kept)
        return one - _gain(covariance, rise, self.moments, self.noise, one)[0]

    def at(
        self,
        consensus: FloatArray,
        model: FloatArray,
        variance: FloatArray,
        home: IntArray | None = None,
    ) -> FloatArray:
        """Fuse items that were placed in the consensus later, with these variances.

        Of several components, ``home`` is that of each item (see `MixedBase.further`).
        """
        if self.log is not None:
            # A score of 0 or less is none of these: it counts as a very small one.
            least = float(np.exp(self.log.values.min())) * _EXACT
            logs = np.log(np.maximum(model, least))
            values = np.exp(self.log.at(consensus, logs, variance, home))
            return values if self.tuned is None else self.tuned(values, model - values)
        place, base = self.base.further(consensus, home)
        rise = self.moments.slope * self.base.rise(place)
        wide = np.square(rise) * variance + self.moments.crowd
        kept = wide / (wide + max(self.moments.noise, 1e-300))
        values = np.asarray(base + kept * (model - base))
        return values if self.tuned is None else self.tuned(values, model - values)


def fuse(
    model: FloatArray,
    consensus: FloatArray,
    covariance: Covariance | None,
    found: Moments,
    base: MixedBase,
    *,
    variances: FloatArray | None = None,
    anchors: Anchors | None = None,
    component: IntArray | None = None,
) -> Fusion:
    """Fuse model scores with a consensus.

    Parameters
    ----------
    model, consensus
        The two scores of each item.
    covariance
        The covariance of the consensus; None counts as exact.
    found
        How the two relate.
    base
        What the model's score is expected to be at each consensus score.
    variances
        The variance of each model score, where they are known.
    anchors
        Positions of items whose truth is known, and their truths.
    component
        Connected component of each item, None where there is one.
    """
    expected, levels = base.fitted(consensus), n_levels(component) / len(model)
    residual = model - expected
    noise = np.full(len(model), found.noise)
    if variances is not None and found.known is not None:
        noise = variances * (found.noise / float(variances.mean()))
    if found.residual <= _EXACT * max(float(np.square(model).max()), 1e-200):
        # The model says nothing that the base does not: there is nothing to divide.
        none = np.zeros(len(model))
        fusion = Fusion(expected, base, none, found, found.known, levels=levels)
        return fusion if anchors is None else _anchored(fusion, model, anchors)
    noise = np.maximum(noise, _EXACT * found.residual)
    if covariance is None:
        kept = found.crowd / (found.crowd + noise)
        moved = kept * residual
    else:
        moved, kept = _gain(covariance, base.rise(consensus), found, noise, residual)
    mixes = None if covariance is None else noise
    values = expected + moved
    if found.hedged is not None:
        values = _within_reach(values, model, residual, component)
        changed = values != expected + moved
        kept = np.where(changed, 1.0 - (model - values) / np.where(changed, residual, 1.0), kept)
    fusion = Fusion(values, base, kept, found, found.known, mixes, levels=levels)
    return fusion if anchors is None else _anchored(fusion, model, anchors)


def proportional(
    model: FloatArray, logs: Fusion, found: Moments, anchors: Anchors | None
) -> Fusion:
    """Return fused scores whose logarithms were fused; ``found`` is about the scores themselves."""
    values = np.exp(logs.values)
    fusion = Fusion(values, logs.base, logs.kept, found, found.known, log=logs, levels=logs.levels)
    return fusion if anchors is None else _anchored(fusion, model, anchors)


def _within_reach(
    values: FloatArray, model: FloatArray, residual: FloatArray, component: IntArray | None
) -> FloatArray:
    """Move no score further from the model's than errors of one size reach.

    Where the truth rises far more steeply at the top than any curve that is fitted, a few items lie
    far off the curve, and the model is right about them. How far errors reach is told by the middle
    of the residuals.
    """
    squares = np.square(residual)
    if component is not None:
        told, wider = telling(component)
        squares = (squares * wider)[told]
    typical = float(np.median(squares)) / MEDIAN_SQUARE
    reach = _FARTHEST * (typical * (1.0 + LEEWAY / len(squares) ** 0.5)) ** 0.5
    return np.asarray(model + np.clip(values - model, -reach, reach))


def _gain(
    covariance: Covariance,
    rise: FloatArray,
    found: Moments,
    noise: FloatArray,
    residual: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return K·residual and the diagonal of K, for V = λ²·DCD + crowd, D the slopes of the bend.

    With z = D⁻¹·residual and M = D⁻¹(crowd + N)D⁻¹ it is what λ²C and M make of z: both have the
    same inverse between them.
    """
    if (rise == 1.0).all():
        return covariance.gain(found.slope, found.crowd, noise, residual)
    flat = found.crowd + noise
    part, own = covariance.gain(found.slope, 0.0, flat / np.square(rise), (residual.T / rise).T)
    left = ((residual.T - rise * part.T) * (noise / flat)).T
    return residual - left, 1.0 - noise / flat * (1.0 - own)


def _anchored(fusion: Fusion, model: FloatArray, anchors: Anchors) -> Fusion:
    left = model - fusion.values
    tuned = fusion.untuned(model).tuned(anchors)
    kept = float(tuned.slope) * fusion.kept + float(tuned.weight) * (1.0 - fusion.kept)
    values = tuned(fusion.values, left)
    return replace(fusion, values=values, kept=kept, known="anchors", tuned=tuned)


def _sds(variances: FloatArray) -> list[float | None]:
    return [None if np.isnan(v) else float(v) ** 0.5 for v in variances.tolist()]


def _odd_second(inputs: Inputs, second: FloatArray, k: int) -> list[AggcalWarning]:
    both = np.isfinite(second)
    mine, other = inputs.model[both], second[both]
    which = "second model" if len(inputs.others) == 1 else f"further model {k + 1}"
    if np.ptp(other) == 0.0 or np.ptp(mine) == 0.0:
        return []
    if inputs.pooled is None or np.isnan(inputs.pooled.errors[k + 1]):
        return [
            DependentModelsWarning(
                f"The {which} is not used: its scores do not clearly rise with the consensus.",
                "Check the direction of its scores and its ids.",
                title=f"The {which} is not used",
                why="Its scores do not clearly rise with the consensus.",
            )
        ]
    alike = float(np.corrcoef(mine, other)[0, 1])
    if alike > _TOO_ALIKE:
        return [
            DependentModelsWarning(
                f"The {which}'s scores are nearly those of the first (correlation {alike:.3f}), so "
                f"their errors are hardly independent and {FUSED.name} trusts both too much.",
                f"Use a model of another kind, or leave the {which} out.",
                title=f"The two models are nearly the same (correlation {alike:.3f})",
                why=f"Their errors are hardly independent, so {FUSED.name} trusts both too much.",
            )
        ]
    return []
