"""What may be claimed of calibrated scores: gains, errors, intervals, and what cannot be told."""

from __future__ import annotations

import numpy as np

from aggcal.advice.guarantees.statement import MODEL, UNSEEN, Condition, Guarantee, independent
from aggcal.advice.independence import Independence
from aggcal.calibration import Calibration
from aggcal.calibration.anchors import Gain
from aggcal.calibration.inputs import Inputs
from aggcal.errors import count

_EVEN_SD = 1.5
"""How many times the smallest sd of the model's errors the largest may be, to count as one: a
larger ratio withdraws fewer statements and leaves more of them a little off."""


def calibration_claims(
    calibration: Calibration, inputs: Inputs, independence: Independence
) -> list[Guarantee]:
    """Return what may be claimed of calibrated scores."""
    found: list[Guarantee] = []
    if calibration.gain is not None:
        found.append(_measured_gain(calibration.gain))
    # The identities are about plain sums: a weighted projection has them in another norm.
    if calibration.method == "atc" and not calibration.weighted:
        found.append(_gain(inputs, measured=calibration.gain is not None))
        if inputs.variances is not None:
            found += [_sure(inputs), _risk_bound(inputs)]
    if calibration.method == "safe":
        found.append(_safe(inputs))
    found.append(_unidentified(inputs))
    found.append(_interval(calibration, independence))
    return found


def _gain(inputs: Inputs, *, measured: bool) -> Guarantee:
    moved = inputs.model - inputs.projected[0]
    n = len(moved)
    size = float(np.sqrt(moved @ moved / n))
    outlook = inputs.outlook
    within = None
    hint = ""
    if outlook is not None:
        near = outlook.distance < 0.5 * size
        hint = (
            f" If the truth followed exactly what the annotators agree on, that distance would be "
            f"about {outlook.distance:.3g}: "
            + ("near enough." if near else "more than that, so that calibration may help or hurt.")
        )
    if size == 0.0:
        says = "The model's scores follow the consensus order already: calibration changed nothing."
        within = False
    else:
        says = (
            f"Calibration moved the scores by {size:.4g}, typically (root mean square). They are "
            "closer to the truth than the model's own if the true scores are no further, in the "
            f"same sense, than {0.5 * size:.4g} from scores in the annotators' order.{hint}"
        )
    return Guarantee(
        "gain",
        "When calibration helps",
        says,
        "truth",
        "identity",
        {
            "moved_rms": size,
            "distance_allowed_rms": 0.5 * size,
            "distance_if_consensus_is_true_rms": None if outlook is None else outlook.distance,
            "items": n,
        },
        (
            Condition(
                "the truth is that close to the consensus order"
                + (" (see the measured gain)" if measured else ""),
                within,
            ),
        ),
    )


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


def _noise_conditions(inputs: Inputs) -> tuple[Condition, ...]:
    variances = inputs.variances
    even = variances is None or float(variances.max() / variances.min()) <= _EVEN_SD**2
    return (
        Condition("the stated model sd is right, or at most 1.4 times too large"),
        Condition("the model's errors have one standard deviation", even),
        Condition(
            "they are independent of each other and of the judgments, and about normal",
            False if inputs.dependent else None,
        ),
    )


def _sure(inputs: Inputs) -> Guarantee:
    variance, risk = inputs.model_variance, inputs.risk
    limit = "" if risk.at_most is None else f" (at most {risk.at_most:.3g}, with 95% confidence)"
    said = f"is estimated (by Stein's method) as {risk.estimate:.3g}{limit}"
    if risk.estimate == 0.0:
        said = f"is too small to tell from 0{limit}"
    return Guarantee(
        "sure",
        "Estimated error of the projection",
        f"The mean squared error of the calibrated scores, from what the model would say without "
        f"noise, {said}; that of the model's own scores, by the stated sd, is {variance:.3g}.",
        "model",
        "estimate",
        {
            "sure": risk.estimate,
            "at_most": risk.at_most,
            "model_variance": variance,
            "blocks": int(inputs.projected[1].max()),
        },
        (
            Condition("the stated model sd is right: a larger one makes the estimate too small"),
            *_noise_conditions(inputs)[1:],
        ),
    )


def _risk_bound(inputs: Inputs) -> Guarantee:
    """Bound the risk: dist² + (‖Π b‖ + σ √Σ H(n_j))², at u = the projection itself."""
    sizes = np.bincount(inputs.projected[1])[1:]
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, int(sizes.max()) + 1))])
    complexity = float(harmonic[sizes].sum())
    n, variance = len(inputs.model), inputs.model_variance
    noise = variance * complexity / n
    return Guarantee(
        "risk_bound",
        "What is left of the model's noise",
        f"If the true scores within each block are equal ({count(len(sizes), 'block')} here) and "
        f"the model is right on average, its noise adds at most {noise:.3g} to the mean squared "
        f"error, instead of {variance:.3g} without calibration. Where true scores differ within a "
        "block, or the model is off on average, that comes on top.",
        "truth",
        "estimate",
        {"noise_part": noise, "model_variance": variance, "sum_of_harmonics": complexity},
        (
            *_noise_conditions(inputs),
            Condition(
                "the blocks do not depend on the noise (these do: it is a guide)", holds=False
            ),
        ),
    )


def _safe(inputs: Inputs) -> Guarantee:
    variance, n = inputs.model_variance, len(inputs.model)
    return Guarantee(
        "safe",
        "Never worse than the model",
        f"Whatever the truth, and however wrong the ranking, the expected mean squared error of "
        f"these scores is not above the model's own, {variance:.3g}.",
        "model",
        "bound",
        {"model_variance": variance, "items": n},
        (
            *_noise_conditions(inputs),
            Condition(
                "the model is right on average; else this is about what it would say without noise"
            ),
        ),
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
        return Guarantee(
            "interval",
            "The intervals",
            "There are none: the scores are the same for every order that the judgments allow, and "
            "there are no anchors or too few."
            if calibration.inputs is not None and calibration.inputs.covariance is not None
            else "There are none: the consensus came without an uncertainty, and there are no "
            "anchors or too few.",
            "consensus",
            "diagnostic",
            {},
        )
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
        f"{_COVERS[calibration.method]} (level {calibration.level:g}): the sampling uncertainty of "
        "the consensus, because there are only so many judgments. The truth may lie outside; only "
        "anchors (items whose true score is known) can give ranges that cover it.",
        "consensus",
        "estimate",
        {"level": calibration.level},
        (MODEL, independent(independence), UNSEEN),
    )


_SAME_SHARE = (
    "Each range covers what the calibrated score would be for the exact consensus of these "
    "annotators, with as much of the model"
)
_COVERS = {
    "atc": "Each range covers what the calibrated score would be if the annotators' consensus "
    "were known exactly",
    "fused": _SAME_SHARE + " and of a straight line kept as here",
    "safe": _SAME_SHARE + " kept as here",
}
