"""What a calibrator is, aggcal's own ones, and which to take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from math import sqrt
from typing import Any, Protocol, runtime_checkable

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal.calibration.anchors import Gain, Untuned
from aggcal.calibration.components import n_levels
from aggcal.calibration.inputs import Anchors, Inputs
from aggcal.calibration.mixture import Mixture, atc, safe
from aggcal.calibration.says import (
    Guarantee,
    better_calibrator,
    odd_models,
    projection_claims,
    safety_claim,
    uneven_sd,
    unshifted,
)
from aggcal.errors import AggcalWarning, OptionError, check_choice, count
from aggcal.registry import ATC, AUTO_CALIBRATOR, CALIBRATORS, FUSED, SAFE

FOLDS = 5
"""Parts of the anchors in turn left out: more leave more to tune by, and take longer."""

_CLEARLY = 3.0
"""Standard errors by which another calibrator must be better than fused on the anchors: with fewer,
chance decides (at 2, ten anchors took atc in 1 of 30 steep studies, which doubled the mean error of
all); with more, what they show is passed over (at 3, five regimes lose up to 5%)."""

_FALLS = 0.5
"""The share of the model kept by the hedge from which the consensus is said not to bear the model
out."""

_EXACT = 1e-12  # what is kept at most below 1, of which a ratio is taken


@dataclass(frozen=True, eq=False)
class Calibrated:
    """Calibrated scores of some items."""

    values: FloatArray
    block: IntArray | None = None
    """Which items were pooled into one value, 1 being the highest; None where none were."""
    kept: FloatArray | None = None
    """Share of the model's own deviations that each item kept; None where there is no such."""


@runtime_checkable
class Calibrator(Protocol):
    """Stage 2 in one method: any object that has it and a name can be passed to `calibrate`.

    It is not shown anchors unless it has an attribute ``tuned_by_anchors`` that is true: some of
    them then tune it, and the others measure. Other attributes by the names of those of
    ``aggcal.calibration.calibrators.FullCalibrator`` are asked for too.
    """

    @property
    def name(self) -> str:
        """What results call it."""
        ...

    def calibrate(self, inputs: Inputs, /) -> FloatArray | Calibrated:
        """Return one number for each item of ``inputs``, in their order."""
        ...


class FullCalibrator:
    """A calibrator that answers all that is asked of one; what is here is right for any."""

    name: str
    needs_model_sd: bool = False
    """Whether it does nothing without the sd of the model's errors."""
    takes_second_model: bool = False
    """Whether it has a use for the scores of a second model."""
    tuned_by_anchors: bool = False
    """Whether anchors change its scores: those that do cannot measure them."""
    covers: str = (
        "Each interval covers the calibrated score that the annotators' exact consensus would give"
    )
    """What its intervals cover without anchors, as a sentence to be continued; "" for none."""
    does: str = ""
    """What it does, in a line of the report."""

    def calibrate(self, inputs: Inputs, /) -> Calibrated:
        """Return the calibrated scores."""
        raise NotImplementedError

    def on_exact(self, inputs: Inputs, found: Calibrated, /) -> Callable[[FloatArray], FloatArray]:
        """Return what it makes of an exact consensus, which intervals are drawn from."""
        del found
        exact = partial(replace, inputs, covariance=None)
        return lambda drawn: self.calibrate(exact(consensus=drawn)).values

    def warnings(self, inputs: Inputs, gain: Gain | None, /) -> list[AggcalWarning]:
        """Say where another calibrator would do better, or what only it uses is odd."""
        del inputs, gain
        return []

    def claims(self, inputs: Inputs, /, *, weighted: bool, measured: bool) -> list[Guarantee]:
        """Return what may be claimed of scores whose items had weights, or anchors measured."""
        del inputs, weighted, measured
        return []

    def to_dict(self, inputs: Inputs, /) -> dict[str, Any]:
        """Return what it made of its inputs, which ``summary.json`` holds under its name."""
        del inputs
        return {}


class Mixing(FullCalibrator):
    """A calibrator that is a `Mixture`, tuned by anchors."""

    tuned_by_anchors = True

    def mixture(self, inputs: Inputs, /) -> Mixture:
        """Return base and kept share, without anchors."""
        raise NotImplementedError

    def untuned(self, inputs: Inputs, /) -> Untuned:
        """Return the scores without anchors, which tell their level, or scale and share as well."""
        made = self.mixture(inputs)
        values = made.values(inputs.consensus)
        if not made.whole:
            return Untuned(values)
        kept = min(float(made.shares.mean()), 1.0 - _EXACT)
        return Untuned(values, inputs.fusible - values, -kept / (1.0 - kept))

    def calibrate(self, inputs: Inputs, /) -> Calibrated:
        """Return the mixture, tuned by anchors."""
        made, untuned = self.mixture(inputs), self.untuned(inputs)
        kept, anchors = made.shares, inputs.anchors
        if made.whole and anchors is not None:
            tuned = untuned.tuned(anchors)
            kept = float(tuned.slope) * kept + float(tuned.weight) * (1.0 - kept)
        values = untuned.values(anchors)
        return Calibrated(values, made.block, kept if made.block is None else None)

    def of_base(self, inputs: Inputs, /) -> Callable[[FloatArray], FloatArray]:
        """Return what it makes of a base: as much of the model is kept, and tuned, as in scores."""
        made, anchors = self.mixture(inputs), inputs.anchors
        if anchors is None:
            return made.mixed
        tuned = self.untuned(inputs).tuned(anchors)

        def values(base: FloatArray) -> FloatArray:
            found = made.mixed(base)
            return tuned(found, inputs.fusible - found if made.whole else 0.0)

        return values

    def on_exact(self, inputs: Inputs, found: Calibrated, /) -> Callable[[FloatArray], FloatArray]:
        """Keep the curve, and as much of the model, as the scores do."""
        del found
        base, values = self.mixture(inputs).base, self.of_base(inputs)
        return lambda drawn: values(base(drawn))

    def shift(self, inputs: Inputs, /) -> float:
        """Return what anchors move all scores by."""
        anchors = inputs.anchors
        return 0.0 if anchors is None else float(self.untuned(inputs).tuned(anchors).shift)


class Atc(Mixing):
    """The scores closest to the model's that never contradict the consensus order."""

    name = ATC.name

    def mixture(self, inputs: Inputs, /) -> Mixture:
        """Keep nothing of the model beyond its projection."""
        return atc(inputs)

    def warnings(self, inputs: Inputs, gain: Gain | None, /) -> list[AggcalWarning]:
        """Say where projection hurts, or another calibrator is better."""
        errors = dict[str, float]()
        if gain is not None and inputs.anchors is not None:
            errors = {k: float(np.mean(e)) for k, e in _errors(inputs, inputs.anchors).items()}
        return better_calibrator(inputs, gain, errors)

    def claims(self, inputs: Inputs, /, *, weighted: bool, measured: bool) -> list[Guarantee]:
        """Return when it helps, and by a stated sd how far off it is.

        The identities are about plain sums: a weighted projection has them in another norm.
        """
        if weighted:
            return []
        found = projection_claims(inputs, measured=measured)
        return [unshifted(claim, self.shift(inputs)) for claim in found]


class Safe(Mixing):
    """The model's scores, moved towards the projection only as far as cannot hurt on average."""

    name = SAFE.name
    needs_model_sd = True
    covers = (
        "Each interval covers the calibrated score that the annotators' exact consensus would "
        "give, with as much of the model kept as here"
    )

    def mixture(self, inputs: Inputs, /) -> Mixture:
        """Keep James and Stein's share."""
        return safe(inputs)

    def warnings(self, inputs: Inputs, gain: Gain | None, /) -> list[AggcalWarning]:
        """Say where items differ too much in their sd."""
        del gain
        return uneven_sd(inputs)

    def claims(self, inputs: Inputs, /, *, weighted: bool, measured: bool) -> list[Guarantee]:
        """Return the theorem, with what it supposes."""
        del weighted, measured
        return [unshifted(safety_claim(inputs), self.shift(inputs))]


class Fused(Mixing):
    """Model and consensus mixed, each as far as it can be trusted."""

    name = FUSED.name
    takes_second_model = True
    covers = (
        "Each interval covers the calibrated score that the annotators' exact consensus would "
        "give, with the same curve, and as much of the model kept, as here"
    )

    def mixture(self, inputs: Inputs, /) -> Mixture:
        """Keep the share that is signal."""
        return inputs.fusion

    def warnings(self, inputs: Inputs, gain: Gain | None, /) -> list[AggcalWarning]:
        """Say where a consensus counts as exact, and what is odd about further models."""
        del gain
        return odd_models(inputs)

    def share(self, inputs: Inputs, /) -> float:
        """Return the share of the model's own deviations, in its units, that is signal.

        The levels of components, which the model alone gives, are kept as a whole.
        """
        kept = self.calibrate(inputs).kept
        mean = 0.0 if kept is None else float(kept.mean())
        mean += (1.0 - mean) * n_levels(inputs.component) / len(inputs.model)
        anchors, slope = inputs.anchors, 1.0
        if anchors is not None:
            slope = float(self.untuned(inputs).tuned(anchors).slope)
        return min(mean / max(slope, _EXACT), 1.0)

    def to_dict(self, inputs: Inputs, /) -> dict[str, Any]:
        """Return what the scores are made of, and the errors that they are expected to have."""
        found, pooled, tuned = inputs.moments, inputs.pooled, None
        if inputs.anchors is not None:
            tuned = self.untuned(inputs).tuned(inputs.anchors)
        base = inputs.base if inputs.logged is None else inputs.logged.base
        told: dict[str, Any] = {}
        if pooled is not None:
            sds = np.sqrt(pooled.errors).tolist()
            told["model_errors"] = [None if np.isnan(sd) else sd for sd in sds]
        return told | {
            "scale": "linear" if inputs.logged is None else "logarithmic",
            "weight_of_line": base.straight,
            "shift": 0.0 if tuned is None else float(tuned.shift),
            "slope": 1.0 if tuned is None else float(tuned.slope),
            "known_from": found.known if tuned is None else "anchors",
            "hedged": found.hedged,
            "expected_mse": {
                "model": found.noise if pooled is None else float(pooled.errors[0]),
                "consensus": found.ranking + found.crowd,
                self.name: self.share(inputs) * found.noise,
            },
        }


class Auto(FullCalibrator):
    """Takes the calibrator that is recommended for its inputs."""

    name = AUTO_CALIBRATOR.name
    takes_second_model = True
    tuned_by_anchors = True

    def calibrate(self, inputs: Inputs, /) -> Calibrated:
        """Calibrate by it."""
        return find(recommend(inputs).calibrator).calibrate(inputs)


class _Completed(FullCalibrator):
    """A user's own calibrator: what it does not say of itself, the defaults do."""

    def __init__(self, own: Calibrator) -> None:
        self.name, self._own = own.name, own
        for part, usual in vars(FullCalibrator).items():
            said = getattr(own, part, usual)
            # What a subclass only inherits would call its own ``calibrate`` instead of ours.
            inherited = getattr(said, "__func__", said) is usual
            if part[0] != "_" and part != "calibrate" and not inherited:
                setattr(self, part, said)

    def calibrate(self, inputs: Inputs, /) -> Calibrated:
        """Call it, and refuse what are no scores."""
        if not self.tuned_by_anchors:
            inputs = inputs.with_anchors(None)
        given = self._own.calibrate(inputs)
        found = given if isinstance(given, Calibrated) else Calibrated(given)
        values, n = np.array(found.values, dtype=np.float64), len(inputs.item_ids)
        if values.shape != (n,) or not np.isfinite(values).all():
            raise OptionError(
                f"calibrator '{self.name}' did not return a finite number for each of "
                f"{n:,} items (shape {values.shape}); return one for each of inputs.item_ids."
            )
        return replace(found, values=values)


def find(method: str | Calibrator) -> FullCalibrator:
    """Return a calibrator by its name, or a user's own with all that is asked of one.

    Examples
    --------
    >>> find("safe").needs_model_sd
    True
    >>> find("atcc")
    Traceback (most recent call last):
    aggcal.errors.OptionError: calibrator 'atcc' is unknown (did you mean 'atc'?); choose atc, ...
    """
    known = CALIBRATORS | {AUTO_CALIBRATOR.name: AUTO_CALIBRATOR}
    if isinstance(method, str):
        check_choice("calibrator", method, tuple(known))
        made: FullCalibrator = known[method].make()
        return made
    if isinstance(method, type) or not isinstance(method, Calibrator):
        raise OptionError(
            f"calibrator {method!r} has no name and calibrate(inputs); name one of "
            f"{', '.join(CALIBRATORS)}."
        )
    name: Any = method.name
    if not isinstance(name, str) or not name.strip():
        raise OptionError(f"the name of calibrator {method!r} is not a text; give it one.")
    if name not in known:
        return _Completed(method)
    if type(method) is not type(known[name].make()):
        raise OptionError(
            f"'{name}' is the name of a built-in calibrator; give your own calibrator another name."
        )
    return known[name].make()  # type: ignore[no-any-return]  # it is one of ours


# Which to take ------------------------------------------------------------------------------------


def cross_fitted(calibrator: FullCalibrator, inputs: Inputs, anchors: Anchors) -> FloatArray:
    """Return the score of each anchor that the others tune."""
    where, truth = anchors
    fold = np.random.default_rng(inputs.seed).permutation(len(where)) % min(FOLDS, len(where))
    found = np.empty(len(where))
    for k in range(int(fold.max()) + 1):
        out = fold == k
        tuned = calibrator.calibrate(inputs.with_anchors((where[~out], truth[~out]))).values
        found[out] = tuned[where[out]]
    return found


def _errors(inputs: Inputs, anchors: Anchors) -> dict[str, FloatArray]:
    """Return the squared error of each anchor, by each calibrator that the others tuned."""
    found = {}
    for name in CALIBRATORS:
        calibrator = find(name)
        if inputs.variances is not None or not calibrator.needs_model_sd:
            found[name] = np.square(cross_fitted(calibrator, inputs, anchors) - anchors[1])
    return found


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


def recommend(inputs: Inputs) -> Recommendation:
    """Recommend a calibrator."""
    if inputs.anchors is not None:
        return _by_anchors(inputs, inputs.anchors)
    found, kept = inputs.moments, float(inputs.fusion.shares.mean())
    deviations = f"{kept:.0%} of the model's own deviations are kept"
    if found.known is not None:
        why = f"the {found.known} shows how far to trust the model: "
        deviations = f"{kept:.0%} of its own deviations are kept"
    elif found.hedged is not None and found.hedged > _FALLS:
        why = (
            "the model's scores do not rise with the consensus, and nothing shows which is wrong: "
        )
        deviations = f"{kept:.0%} of the model is kept"
    elif inputs.logged is not None:
        why = (
            "nothing is known of the errors of model or annotators, and as errors grow with the "
            "scores, it mixes their logarithms: "
        )
    else:
        why = "nothing is known of the errors of model or annotators, and it allows for both: "
    reason = f"{FUSED.name} was chosen because {why}{deviations}."
    return Recommendation(FUSED.name, reason, {"kept": kept})


def _by_anchors(inputs: Inputs, anchors: Anchors) -> Recommendation:
    """Compare the calibrators on anchors that did not tune them."""
    where, truth = anchors
    errors = _errors(inputs, anchors)
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
