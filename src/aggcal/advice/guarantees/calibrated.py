"""What may be claimed of calibrated scores: gains, errors, intervals, and what cannot be told."""

from __future__ import annotations

from aggcal.advice.guarantees.statement import MODEL, UNSEEN, independent
from aggcal.advice.independence import Independence
from aggcal.calibration import Calibration
from aggcal.calibration.anchors import Gain
from aggcal.calibration.claims import Condition, Guarantee
from aggcal.calibration.inputs import Inputs
from aggcal.errors import count


def calibration_claims(
    calibration: Calibration, inputs: Inputs, independence: Independence
) -> list[Guarantee]:
    """Return what may be claimed of calibrated scores."""
    found: list[Guarantee] = []
    if calibration.gain is not None:
        found.append(_measured_gain(calibration.gain))
    found += calibration.calibrator.claims(
        inputs, weighted=calibration.weighted, measured=calibration.gain is not None
    )
    found.append(_unidentified(inputs))
    found.append(_interval(calibration, independence))
    return found


def _measured_gain(gain: Gain) -> Guarantee:
    better = gain.mean > 0.0
    clear = abs(gain.mean) > 2.0 * gain.se
    return Guarantee(
        "measured_gain",
        "What calibration gained",
        f"On {count(gain.n, 'anchor')} the mean squared error "
        f"{'fell' if better else 'rose'} by {abs(gain.mean):.3g} (standard error {gain.se:.2g}) "
        f"from the model's to the calibrated scores{'' if clear else ': within chance'}"
        f"{gain.how}.",
        "truth",
        "estimate",
        {"gain": gain.mean, "se": gain.se, "anchors": gain.n},
        (Condition("anchors are a random sample of the items"),),
    )


def _unidentified(inputs: Inputs) -> Guarantee:
    found = inputs.moments
    crowd, noise, known = found.crowd, found.noise, found.known
    if inputs.anchors is not None:
        # Anchors tell which share of (model − base) is signal, the ranking's uncertainty included.
        kept = float(inputs.fused.kept.mean())
        whole = found.ranking + found.residual
        crowd, noise, known = max(0.0, kept * whole - found.ranking), (1 - kept) * whole, "anchors"
    values: dict[str, float | int | None] = {
        "slope": found.slope,
        "residual_variance": found.residual,
        "ranking_variance": found.ranking,
        "crowd_variance": crowd if known else None,
        "model_variance": noise if known else None,
    }
    start = _off(inputs)
    if known:
        common = _typically(crowd, found.at_most(noise) if known == "model sd" else None)
        own = f"the model's own is {_typically(noise)}"
        if inputs.variances is not None:
            own = f"the model's own is {inputs.model_variance**0.5:.3g}, as stated"
        says = f"{start} By the {known}, the annotators' common error is {common}; {own}."
    elif found.explained and inputs.covariance is not None:
        says = (
            f"{start} Whether the annotators share an error, and how far off the model is, cannot "
            "be told from this data. How far off the model typically is (its sd), some true scores "
            "(anchors) or a second model would tell."
        )
    else:
        says = (
            f"{start} How much of that is an error that the annotators share, and how much the "
            "model's, cannot be told from this data: either may be anything from nothing to all of "
            "it. How far off the model typically is (its sd), some true scores (anchors) or a "
            "second model would tell."
        )
    return Guarantee(
        "unidentified",
        "What the data cannot tell",
        says,
        "truth",
        "estimate",
        values,
        () if known is None else (Condition(_SOURCES[known]),),
    )


def _off(inputs: Inputs) -> str:
    """Say how far the model's scores are from where the annotators' would put them."""
    found = inputs.moments
    if inputs.covariance is None:
        return (
            f"The model's scores are typically {found.residual**0.5:.3g} off where the annotators' "
            "scores would put them."
        )
    if found.explained:
        return (
            "The model's scores are no further from where the annotators' scores would put them "
            "than the uncertainty of the ranking explains."
        )
    return (
        "Beyond what the uncertainty of the ranking explains, the model's scores are typically "
        f"{found.residual**0.5:.3g} off where the annotators' scores would put them."
    )


def _typically(variance: float, most: float | None = None) -> str:
    if variance > 0.0:
        return f"typically {variance**0.5:.3g}"
    return "too small to tell from 0" + ("" if most is None else f" (at most {most**0.5:.3g})")


_SOURCES = {
    "model sd": "the stated model sd is right",
    "second model": "the second model's errors are independent of the first's and the annotators'",
    "anchors": "anchors are a random sample of the items",
}


def _interval(calibration: Calibration, independence: Independence) -> Guarantee:
    if calibration.covers is None:
        why = (
            "the scores are the same for every order that the judgments allow, and there are no "
            "anchors or too few"
        )
        if not calibration.calibrator.covers:
            why = f"{calibration.method} gives some only with anchors, and enough of them"
        elif calibration.inputs.covariance is None:
            why = "the consensus came without an uncertainty, and there are no anchors or too few"
        says = f"There are none: {why}."
        return Guarantee("interval", "The intervals", says, "consensus", "diagnostic", {})
    if calibration.covers.endswith("truth"):
        return Guarantee(
            "interval",
            "The intervals",
            f"Each range holds the true score of an item drawn at random with probability "
            f"{calibration.level:g} at least. Its width comes from how far off the scores of the "
            f"anchors are (split conformal{calibration.how}).",
            "truth",
            "bound",
            {"level": calibration.level},
            (Condition("anchors are a random sample of the items"),),
        )
    return Guarantee(
        "interval",
        "The intervals",
        f"{calibration.calibrator.covers} (level {calibration.level:g}): the sampling uncertainty "
        "of the consensus, because there are only so many judgments. The truth may lie outside; "
        "only anchors (items whose true score is known) can give ranges that cover it.",
        "consensus",
        "estimate",
        {"level": calibration.level},
        (MODEL, independent(independence), UNSEEN),
    )
