"""What may be claimed of calibrated scores: gains, errors, intervals, and what cannot be told."""

from __future__ import annotations

from aggcal.advice.guarantees.statement import INDEPENDENT, MODEL, UNSEEN
from aggcal.aggregation.groups import n_components
from aggcal.calibration import Calibration
from aggcal.calibration.anchors import Gain
from aggcal.calibration.calibrators import Fused
from aggcal.calibration.inputs import Inputs
from aggcal.calibration.says import Condition, Guarantee
from aggcal.errors import count


def calibration_claims(calibration: Calibration, inputs: Inputs) -> list[Guarantee]:
    """Return what may be claimed of calibrated scores."""
    found: list[Guarantee] = []
    if calibration.gain is not None:
        found.append(_measured_gain(calibration.gain))
    found += calibration.calibrator.claims(
        inputs, weighted=calibration.weighted, measured=calibration.gain is not None
    )
    found.append(_unidentified(inputs))
    found.append(_interval(calibration))
    return found


def _measured_gain(gain: Gain) -> Guarantee:
    better = gain.mean > 0.0
    clear = abs(gain.mean) > 2.0 * gain.se
    change = (
        f"On {count(gain.n, 'anchor')}, calibration {'lowered' if better else 'raised'} the mean "
        f"squared error by {abs(gain.mean):.3g} (standard error {gain.se:.2g})"
    )
    chance = "" if clear else ", which chance may explain"
    return Guarantee(
        "measured_gain",
        "What calibration gained",
        f"{change}{chance}{gain.how}.",
        "truth",
        "estimate",
        {"gain": gain.mean, "se": gain.se, "anchors": gain.n},
        (_RANDOM_ANCHORS,),
        claim=f"{change}{chance}.",
    )


def _unidentified(inputs: Inputs) -> Guarantee:
    found = inputs.moments
    crowd, noise, known = found.crowd, found.noise, found.known
    if inputs.pooled is not None:
        noise = float(inputs.pooled.errors[0])
    if inputs.anchors is not None:
        # Anchors tell which share of (model − base) is signal, the ranking's uncertainty included.
        kept = Fused().share(inputs)
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
        own = f"the model's error is {_typically(noise)}"
        if inputs.variances is not None:
            own = f"the model's error is {inputs.model_variance**0.5:.3g}, as stated"
        claim = f"By the {known}, the annotators' shared error is {common}; {own}."
        says = f"{start} {claim}"
    elif found.explained and inputs.covariance is not None:
        claim = (
            "The data cannot show whether the annotators share an error, or how large the model's "
            "error is."
        )
        says = f"{start} {claim} {_WOULD_SHOW}"
    else:
        claim = (
            "The data cannot show how much of the difference is the annotators' shared error and "
            "how much is the model's."
        )
        says = f"{start} {claim} Either may be anything from none to all of it. {_WOULD_SHOW}"
    return Guarantee(
        "unidentified",
        "What the data cannot show",
        says,
        "truth",
        "estimate",
        values,
        () if known is None else (Condition(_SOURCES[known], None if inputs.drawn else False),),
        claim=claim,
    )


def _off(inputs: Inputs) -> str:
    """Say how far the model's scores are from where the annotators' would put them."""
    found = inputs.moments
    if inputs.covariance is None:
        return (
            f"The model's scores typically differ by {found.residual**0.5:.3g} from where the "
            "annotators' scores would put them."
        )
    if found.explained:
        return (
            "The model's scores differ from where the annotators' scores would put them by no more "
            "than the uncertainty of the ranking explains."
        )
    return (
        f"The model's scores typically differ by {found.residual**0.5:.3g} from where the "
        "annotators' scores would put them, beyond what the uncertainty of the ranking explains."
    )


def _typically(variance: float, most: float | None = None) -> str:
    if variance > 0.0:
        return f"typically {variance**0.5:.3g}"
    return "not distinguishable from 0" + ("" if most is None else f" (at most {most**0.5:.3g})")


_RANDOM_ANCHORS = Condition("the anchors are a random sample of the items")
_SOURCES = {
    "model sd": "the stated model sd is correct",
    "second model": "the second model's errors are independent of the first's and the annotators'",
    "anchors": _RANDOM_ANCHORS.needs,
}
_WOULD_SHOW = "The model's sd, some true scores (anchors) or a second model would show it."


def _interval(calibration: Calibration) -> Guarantee:
    if calibration.covers is None:
        why = (
            "the scores are the same for every order that the judgments allow, and there are too "
            "few anchors or none"
        )
        if not calibration.calibrator.covers:
            why = f"{calibration.method} only gives intervals with enough anchors"
        elif calibration.inputs.covariance is None:
            why = "the consensus has no standard errors, and there are too few anchors or none"
        says = f"There are no intervals: {why}.{_gaps(calibration)}"
        none = "There are no intervals."
        what = ("interval", "The intervals", says, "consensus", "diagnostic")
        return Guarantee(*what, {}, claim=none)
    gaps = _gaps(calibration)
    each = "For scored items, each" if gaps else "Each"
    if calibration.covers.endswith("truth"):
        covers = (
            f"{each} interval contains the true score of a randomly drawn item with probability "
            f"at least {calibration.level:g}."
        )
        return Guarantee(
            "interval",
            "The intervals",
            f"{covers} The width comes from the errors of the scores on the anchors "
            f"({calibration.how}).{gaps}",
            "truth",
            "bound",
            {"level": calibration.level},
            (_RANDOM_ANCHORS,),
            claim=covers,
        )
    own = calibration.calibrator.covers
    covers = f"{own.replace('Each', each, 1)} (level {calibration.level:g})."
    return Guarantee(
        "interval",
        "The intervals",
        f"{covers} The interval reflects the limited number of judgments. The truth may be "
        "outside: only anchors (items whose true score is known) give intervals that cover it."
        f"{_across(calibration)}{gaps}",
        "consensus",
        "estimate",
        {"level": calibration.level},
        (MODEL, INDEPENDENT, UNSEEN),
        claim=covers,
    )


def _across(calibration: Calibration) -> str:
    """Say what intervals leave out where there are several components: how these compare."""
    if calibration.inputs.component is None:
        return ""
    return (
        f" Each of {n_components(calibration.inputs.component):,} components is calibrated by "
        "itself; how they compare comes from the model alone, and the intervals claim nothing "
        "about it."
    )


def _gaps(calibration: Calibration) -> str:
    """Say for which items no coverage is claimed: those whose score was interpolated.

    In a simulation with 15 well-judged items, intervals at .90 covered these in .83 of cases.
    """
    number = calibration.n_interpolated
    if not number:
        return ""
    items = count(number, "item has", "items have")
    one = number == 1
    return (
        f" {items} no model score: {'its interval is' if one else 'their intervals are'} the gap "
        f"that {'its' if one else 'the'} neighbours leave, and no coverage is claimed for "
        f"{'it' if one else 'them'}."
    )
