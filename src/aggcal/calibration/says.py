"""What Stage 2 says: its warnings, and its claims with their conditions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtr

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, TextArray
from aggcal._core.text import brief
from aggcal.aggregation.groups import members
from aggcal.calibration.components import deviations, means, n_levels
from aggcal.data.alike import alike_warning, groups, key
from aggcal.data.scores import Scores
from aggcal.errors import (
    AggcalWarning,
    AnchorsWarning,
    BetterCalibratorWarning,
    DependentModelsWarning,
    DirectionWarning,
    HarmfulWarning,
    UnmatchedItemsWarning,
    count,
    option,
    some,
)
from aggcal.metrics import mean_ranks
from aggcal.registry import ATC, FUSED, SAFE

if TYPE_CHECKING:
    from aggcal.calibration.anchors import Gain
    from aggcal.calibration.inputs import Inputs

ENOUGH_TO_TELL = 5
"""Items, or anchors, below which nothing is called odd: of fewer, anything may be chance."""

_BEYOND_CHANCE = 2.0
"""Standard errors from which a correlation of the wrong sign is called so: 1 study in 40 by chance.
A larger number would let scores that are the wrong way round pass."""

_IMPOSSIBLE, _TOO_LARGE = 0.001, 2.0
"""A stated sd is called too large where chance makes it look so in fewer than 1 of 1,000 studies,
and by a factor of 2: heavy tails make it look too large by less."""

_TOO_ALIKE = 0.98
"""The correlation from which two models count as one. Two whose independent errors are a seventh of
the items' sd have it; a lower bound accuses good models, a higher one lets copies pass."""

_UNEVEN = 1.5
"""How many times the smallest sd of the model the largest may be and still count as one: the
theorems want 1, and a stricter bound would withdraw them for sds that differ by rounding."""

_WORTH_SAYING = 0.95
"""The ratio of mean squared errors on the anchors from which another calibrator is offered."""

_LIKELY = 2.0 / 3.0
"""The share of simulations from which projection may be said to hurt: with a lower one the warning
is wrong more often, with a higher one more harm passes unsaid."""

_ONE_SIDED = 1.645  # standard errors of a one-sided 95% limit


def _warning(
    kind: type[AggcalWarning], title: str, why: str, remedy: str, items: Iterable[object] = ()
) -> AggcalWarning:
    return kind(title, why, remedy, items=items)


# Do two tables belong together? -------------------------------------------------------------------

_HIGHER = "In both, higher must mean better."


def direction_warnings(
    heights: FloatArray, model: FloatArray, component: IntArray | None = None
) -> list[AggcalWarning]:
    """Warn of a model whose scores fall as the consensus rises, beyond chance.

    Examples
    --------
    >>> direction_warnings(np.arange(9.0), -np.arange(9.0))[0].code
    'direction'
    """
    correlation = falling(heights, model, component)
    if correlation is None:
        return []
    title = (
        f"The model's scores fall where the consensus rises (rank correlation {correlation:.2f})"
    )
    remedy = (
        "Check which end of the model's scale is the good one, and which column of the judgments "
        "is the winner. Where the lowest score is the best, change the sign of all scores."
    )
    return [_warning(DirectionWarning, title, _HIGHER, remedy)]


def falling(x: FloatArray, y: FloatArray, component: IntArray | None = None) -> float | None:
    """Return the rank correlation if it is below 0 beyond chance; else None."""
    free = len(x) - 1 - n_levels(component)
    correlation = rank_correlation(x, y, component)
    clear = free + 1 >= ENOUGH_TO_TELL and correlation * sqrt(free) <= -_BEYOND_CHANCE
    return correlation if clear else None


def rank_correlation(x: FloatArray, y: FloatArray, component: IntArray | None = None) -> float:
    """Return Spearman's correlation; 0 where either is constant.

    Of several components, the ranks within each are compared, a rank of n items counting 1/(n + 1):
    components of all sizes then count by their number of items.

    Examples
    --------
    >>> rank_correlation(np.array([1.0, 2.0, 9.0]), np.array([3.0, 2.0, 1.0]))
    -1.0
    >>> rank_correlation(np.arange(4.0), np.array([2.0, 1.0, 9.0, 8.0]), np.array([0, 0, 1, 1]))
    -1.0
    """
    ranked = np.zeros((2, len(x)))
    for own in members(component, len(x)):
        for ranks, values in zip(ranked, (x, y), strict=True):
            ranks[own] = mean_ranks(values[own]) / (len(own) + 1)
    a, b = (deviations(ranks, component) for ranks in ranked)
    size = float(a @ a) * float(b @ b)
    return round(float(a @ b) / sqrt(size), 12) if size > 0.0 else 0.0


def matching_warnings(
    ranked: TextArray, both: BoolArray, unjudged: TextArray
) -> list[AggcalWarning]:
    """Warn of ids in only one of two tables.

    Parameters
    ----------
    ranked, both
        The ids of the consensus, and which of them are scored too.
    unjudged
        The ids that are only scored.
    """
    only = list(unjudged)
    return [*_alike(ranked, only), *unmatched_warnings(list(ranked[~both]), only)]


def alike_warnings(ranked: Iterable[str], scored: Iterable[str]) -> list[AggcalWarning]:
    """Warn of scored items that are likely ones of the consensus under another spelling.

    Examples
    --------
    >>> print(alike_warnings(["Item 1", "b"], ["item-1", "b"])[0].what)
    2 item ids are probably 1 item. They differ only in how they are written in the two tables: ...
    >>> alike_warnings(["Item 1", "item-1"], ["Item 1"])
    []
    """
    judged = dict.fromkeys(ranked)
    return _alike(list(judged), [label for label in dict.fromkeys(scored) if label not in judged])


def _alike(judged: Sequence[str] | TextArray, unjudged: list[str]) -> list[AggcalWarning]:
    # Where every scored item is one of the consensus, none is another spelling of one.
    new = {*unjudged}
    alike = [group for group in groups([*judged, *unjudged]) if new & {*group}] if new else []
    return [alike_warning("item", alike, {}, tables=True)] if alike else []


def _padded(ids: list[str], others: list[str]) -> str:
    """Name ids that would match but for zeros in front of a number."""

    def plain(label: str) -> str:
        return re.sub(r"(?<!\d)0+(?=\d)", "", key(label))

    theirs = {plain(other): other for other in others}
    pairs = [
        (i, theirs[plain(i)]) for i in ids if plain(i) in theirs and key(i) != key(theirs[plain(i)])
    ]
    if not pairs:
        return ""
    verb = "of them differs" if len(pairs) == 1 else "of them differ"
    return (
        f" {len(pairs):,} {verb} from an id in the other table only by leading zeros, such as "
        f"'{pairs[0][0]}' and '{pairs[0][1]}'."
    )


def unmatched_warnings(unscored: list[str], unjudged: list[str]) -> list[AggcalWarning]:
    """Name the items that are in only one of the two tables.

    Examples
    --------
    >>> print(unmatched_warnings(["7"], ["007"])[0].what)
    1 item in the consensus has no model score. A missing score is interpolated between ...
    """
    has = "has" if len(unscored) == 1 else "have"
    were = "was" if len(unjudged) == 1 else "were"
    sides = (
        (unscored, f"{count(len(unscored), 'item')} in the consensus {has} no model score",
         _padded(unscored, unjudged),
         "A missing score is interpolated between the item's neighbours in the consensus",
         "Add these items to the scores."),
        (unjudged, f"{count(len(unjudged), 'scored item')} {were} never judged", "",
         "Such items get a prediction instead of a calibrated score", "Have them judged."),
    )  # fmt: skip
    return [
        UnmatchedItemsWarning(title, f"{why} ({some(items)}).{alike}", remedy, items=items)
        for items, title, alike, why, remedy in sides
        if items
    ]


# Anchors, and what was stated of the model --------------------------------------------------------


def unused_anchors(anchors: Scores, ids: TextArray) -> tuple[AggcalWarning, ...]:
    """Name anchors that are not among the calibrated items."""
    here = set(ids)
    lost = [i for i in anchors.item_ids if i not in here]
    if not lost:
        return ()
    title = (
        f"{count(len(lost), 'anchor')} of {len(anchors):,} {'is' if len(lost) == 1 else 'are'} not "
        "among the calibrated items"
    )
    why = f"An anchor needs a judgment and a model score ({some(lost)}). The others were used."
    return (_warning(AnchorsWarning, title, why, "Check the ids of these anchors.", lost),)


def chosen_warning() -> AggcalWarning:
    """Say what anchors that were chosen cannot do."""
    return _warning(
        AnchorsWarning,
        "The anchors are not a random sample",
        "They were chosen for what they tell (column chosen_by), not drawn at random: they improve "
        "the scores, but cannot measure the gain or give intervals of the truth.",
        "Draw anchors at random for these.",
    )


def few_anchors_warning(number: int, level: float, needed: int, instead: str = "") -> AggcalWarning:
    """Say that anchors are too few for intervals of the truth."""
    few = count(number, "anchor is", "anchors are")
    return _warning(
        AnchorsWarning,
        f"{few} too few for intervals of the truth",
        f"Level {level:g} takes {needed}.{instead}",
        f"Give at least {needed} anchors, or a lower level.",
    )


def anchors_against(
    truth: FloatArray, heights: FloatArray, component: IntArray | None
) -> list[AggcalWarning]:
    """Warn of anchors whose truth falls where the consensus rises."""
    correlation = falling(heights, truth, component) if len(truth) else None
    if correlation is None:
        return []
    title = (
        "The anchors' true scores fall where the consensus rises (rank correlation "
        f"{correlation:.2f})"
    )
    remedy = (
        "Check which end of the true scale is the good one, and which column of the judgments is "
        "the winner."
    )
    return [_warning(AnchorsWarning, title, _HIGHER, remedy)]


def contradictions(inputs: Inputs) -> list[AggcalWarning]:
    """Say where what was stated of the model and the truth does not go with the data."""
    if len(inputs.model) < ENOUGH_TO_TELL:
        return []
    found: list[AggcalWarning] = []
    if inputs.anchors is not None:
        where, truth = inputs.anchors
        own = inputs.model
        if truth.min() > own.max() or truth.max() < own.min():
            why = (
                f"The anchors' true scores ({truth.min():.3g} to {truth.max():.3g}) are all "
                f"outside the range of the model's scores ({own.min():.3g} to {own.max():.3g})."
            )
            title = "The anchors and the model's scores do not overlap"
            remedy = "Check that both are in the same unit."
            found.append(_warning(AnchorsWarning, title, why, remedy))
        else:
            part = None if inputs.component is None else inputs.component[where]
            found += anchors_against(truth, inputs.consensus[where], part)
    return found + _odd_sd(inputs)


def _odd_sd(inputs: Inputs) -> list[AggcalWarning]:
    """Test whether the model's errors can be as large as stated.

    Whatever else is in the differences of model and consensus, they vary by the model's errors at
    least: their squares, in units of the stated variances, exceed a χ² of n − 2 degrees of freedom
    (n − 1 less the number of components, whose means are free).
    """
    variances = inputs.variances
    if variances is None:
        return []
    weight = 1.0 / variances
    whole = means(weight, inputs.component)
    x, y = (v - means(weight * v, inputs.component) / whole
            for v in (inputs.consensus, inputs.model))  # fmt: skip
    size = float(weight @ np.square(x))
    slope = float((weight * x) @ y) / size if size > 0.0 else 0.0
    left, free = float(weight @ np.square(y - slope * x)), len(x) - 2 - n_levels(inputs.component)
    if free < ENOUGH_TO_TELL - 2 or left / free > _TOO_LARGE**-2 or chdtr(free, left) > _IMPOSSIBLE:
        return []
    stated = sqrt(inputs.model_variance)
    title = f"The stated model sd ({stated:.3g}) is too large"
    why = (
        f"Model and consensus differ by only {stated * sqrt(left / free):.3g} in total. Errors of "
        "the stated sd would differ so little in fewer than 1 of 1,000 studies."
    )
    remedy = "Check its unit, and that the model's scores were not made from these judgments."
    return [_warning(HarmfulWarning, title, why, remedy)]


def odd_models(inputs: Inputs) -> list[AggcalWarning]:
    """Say where a consensus counts as exact, and what is odd about further models."""
    found: list[AggcalWarning] = []
    if inputs.covariance is None:
        remedy = f"Add a consensus_se or sd column to it, or leave {option('uncertainty')} on."
        why = f"{FUSED.name} treats it as exact."
        title = "The consensus has no standard errors"
        found.append(_warning(HarmfulWarning, title, why, remedy))
    for k, other in enumerate(inputs.others):
        both = np.isfinite(other)
        which = "second model" if len(inputs.others) == 1 else f"further model {k + 1}"
        if np.ptp(other[both]) == 0.0 or np.ptp(inputs.model[both]) == 0.0:
            continue
        alike = float(np.corrcoef(inputs.model[both], other[both])[0, 1])
        if inputs.pooled is None or np.isnan(inputs.pooled.errors[k + 1]):
            title = f"The {which} is not used"
            why = "Its scores do not clearly rise with the consensus."
            remedy = "Check the direction of its scores and its ids."
            found.append(_warning(DependentModelsWarning, title, why, remedy))
        elif alike > _TOO_ALIKE:
            title = f"The {which}'s scores are nearly those of the first (correlation {alike:.3f})"
            why = f"Their errors are hardly independent, so {FUSED.name} trusts both too much."
            remedy = f"Use a model of another kind, or leave the {which} out."
            found.append(_warning(DependentModelsWarning, title, why, remedy))
    return found


def uneven_sd(inputs: Inputs) -> list[AggcalWarning]:
    """Say where items differ too much in their sd for the safe calibrator."""
    if inputs.variances is None:
        return []
    widest = sqrt(float(inputs.variances.max() / inputs.variances.min()))
    if widest <= _UNEVEN:
        return []
    title = f"The model's sd differs between items by a factor of {widest:.1f}"
    why = f"{SAFE.name} is only safe for equal sds."
    remedy = f"Use {option('calibrator', FUSED.name)}, which weights each item by its own sd."
    return [_warning(HarmfulWarning, title, why, remedy)]


# Another calibrator -------------------------------------------------------------------------------


def better_calibrator(
    inputs: Inputs, gain: Gain | None, errors: dict[str, float]
) -> list[AggcalWarning]:
    """Say where projection hurts, or the fused scores are better.

    On anchors, by a stated sd, or else by draws. ``errors`` are mean squared errors on anchors that
    did not tune the scores, by calibrator.
    """
    fused = option("calibrator", FUSED.name)
    title, why, remedy = "", "", f"Use {fused} or {SAFE.name}."
    if len(inputs.model) < ENOUGH_TO_TELL:
        return []
    if gain is not None and gain.mean < -gain.se:
        title = "Calibration made the scores worse"
        why = (
            f"On {count(gain.n, 'anchor')} the calibrated scores have a larger mean squared error "
            f"than the model's (by {-gain.mean:.3g}, standard error {gain.se:.2g})."
        )
    elif gain is not None:
        own, other = errors[ATC.name], errors[FUSED.name]
        if other <= _WORTH_SAYING * own:
            title = f"{FUSED.name} has a {1.0 - other / own:.0%} smaller mean squared error"
            why = (
                f"It is {other:.3g} instead of {own:.3g} on {count(gain.n, 'anchor')}, each "
                "measured by scores that the others tuned."
            )
            remedy = f"Use {fused}, unless the scores have to keep the annotators' order."
            return [_warning(BetterCalibratorWarning, title, why, remedy)]
    elif inputs.variances is not None:
        risk, variance = projection_risk(inputs), inputs.model_variance
        if risk.hurts:
            title = "Calibration is likely to make the scores worse"
            why = (
                f"Their estimated mean squared error is {variance + risk.excess:.3g}, the model's "
                f"(from its stated sd) {variance:.3g}."
            )
    elif inputs.hurts > _LIKELY:
        title = "Calibration may make the scores worse"
        why = (
            f"The ranking is uncertain: in {inputs.hurts:.0%} of simulations of the annotators' "
            "exact consensus the model's own scores are closer to it."
        )
        remedy = (
            f"Use {fused} (or {SAFE.name}, with {option('model-sd')}), or collect more judgments."
        )
    return [_warning(HarmfulWarning, title, why, remedy)] if title else []


@dataclass(frozen=True)
class Risk:
    """Mean squared errors: of the projection, and how much larger than the model's own.

    ``at_most`` is a 95% limit of the first (None where even that falls below 0: too small to tell).
    """

    estimate: float
    at_most: float | None
    excess: float
    excess_se: float

    @property
    def hurts(self) -> bool:
        """Whether the projection's error is clearly the larger one."""
        return self.excess > _ONE_SIDED * self.excess_se


def projection_risk(inputs: Inputs) -> Risk:
    """Estimate the error of the projection by Stein's method, for a model of known sd.

    For normal, independent errors of known variance and any order found without them, the squared
    error of the projection, from what the model would say without noise, is estimated without bias;
    the estimate has a standard error, and may fall below 0 where the error itself cannot.
    """
    projected, block = inputs.projected
    n, residual = len(inputs.model), inputs.model - projected
    variances = inputs.variances
    if variances is None:
        variances = np.full(n, inputs.model_variance)
    share = inputs.weight / np.bincount(block, inputs.weight)[block]
    size, own = float(residual @ residual), float(variances.sum())
    pooled = float(variances @ share)
    risk = size - own + 2.0 * pooled
    # An unbiased estimate of the estimate's own squared error; where the truth follows the order it
    # is 2 Σ σ⁴, and it can be less by chance only.
    fourth, squares = np.square(variances), float(variances @ np.square(residual))
    least = 2.0 * float(fourth.sum())
    steady = max(4.0 * squares + 4.0 * float(fourth @ share) - least, least)
    together = float(np.square(np.bincount(block, variances * share)).sum())
    variance = squares + float(fourth @ (1.0 - 2.0 * share)) + together
    limit = (risk + _ONE_SIDED * sqrt(steady)) / n
    return Risk(
        max(0.0, risk / n),
        limit if limit > 0.0 else None,
        (size - 2.0 * (own - pooled)) / n,
        2.0 * sqrt(max(0.0, variance)) / n,
    )


# Claims -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Condition:
    """Something a statement needs, and whether it was checked."""

    needs: str
    holds: bool | None = None
    note: str = ""
    """What is known of it, where there is more to say than ``holds``."""


@dataclass(frozen=True)
class Guarantee:
    """One statement.

    ``claim`` is the claim alone, in one sentence; ``says`` the fuller text.

    ``about`` is ``consensus``, ``model`` or ``truth``; ``kind`` is ``bound`` (proved), ``identity``
    (exact), ``confidence`` (right in that share of studies, whatever the true scores),
    ``posterior`` (a probability under the model and its priors), ``estimate`` or ``diagnostic``
    (neither promises anything).
    """

    name: str
    title: str
    says: str
    about: str
    kind: str
    values: dict[str, float | int | None]
    conditions: tuple[Condition, ...] = ()
    claim: str = ""

    __repr__ = brief

    def __post_init__(self) -> None:
        if not self.claim:
            object.__setattr__(self, "claim", self.says)

    @property
    def holds(self) -> bool | None:
        """Whether all its conditions hold; None if some cannot be checked."""
        checks = [condition.holds for condition in self.conditions]
        if False in checks:
            return False
        return None if None in checks else True

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        said = asdict(self) | {"holds": self.holds}
        del said["name"]
        return said


def unshifted(claim: Guarantee, shift: float) -> Guarantee:
    """Return a claim about scores before anchors moved all of them, saying so."""
    if shift == 0.0:
        return claim
    about = "This is about the scores before the anchors moved all of them by"
    says = f"{claim.says} {about} {shift:.3g}."
    return replace(claim, says=says, claim=f"Before the shift: {claim.claim}")


def noise_conditions(inputs: Inputs) -> tuple[Condition, ...]:
    """Return what theorems about a model of known sd suppose of its errors."""
    variances = inputs.variances
    even = variances is None or float(variances.max() / variances.min()) <= _UNEVEN**2
    return (
        Condition("the stated model sd is correct, or at most 1.4 times too large"),
        Condition("the model's errors have the same sd for all items", even),
        Condition(
            "the model's errors are independent (also of the judgments) and roughly normal",
            False if inputs.agreement is not None and inputs.agreement.plain else None,
        ),
    )


def projection_claims(inputs: Inputs, *, measured: bool) -> list[Guarantee]:
    """Return when the projection helps, and by a stated sd how far off it is."""
    moved = inputs.model - inputs.projected[0]
    size, within = float(np.sqrt(np.mean(np.square(moved)))), None
    says = claim = (
        "The calibrated scores are closer to the truth than the model's if the truth is within "
        f"{0.5 * size:.4g} (RMS) of some scores in the annotators' order."
    )
    if size > 0.0:
        says = (
            f"Calibration moved the scores by {size:.4g} (RMS). {claim} An error that annotators "
            "share counts in that distance, and judgments alone do not show it."
        )
    else:
        within = False
        says = claim = (
            "The model's scores already follow the consensus order: calibration changed nothing."
        )
        if len(moved) > 1 and np.ptp(inputs.model) == 0.0:
            says = claim = (
                "The model gives every item the same score: there is nothing to calibrate."
            )
    seen = " (see the measured gain)" if measured else ""
    needs = Condition(f"the truth is that close to the consensus order{seen}", within)
    values = {"moved_rms": size, "distance_allowed_rms": 0.5 * size, "items": len(moved)}
    gain = ("gain", "When calibration helps", says, "truth", "identity", values, (needs,), claim)
    found = [Guarantee(*gain)]  # type: ignore[arg-type]  # in their order
    if inputs.variances is None:
        return found
    variance, risk = inputs.model_variance, projection_risk(inputs)
    limit = "" if risk.at_most is None else f" (at most {risk.at_most:.3g}, with 95% confidence)"
    said = f"is estimated as {risk.estimate:.3g}"
    if risk.estimate == 0.0:
        said = "is not distinguishable from 0"
    own = f"the model's is {variance:.3g} by its stated sd"
    sure = Guarantee(
        "sure",
        "Estimated error of the projection",
        "The mean squared error of the calibrated scores, measured from the model's noise-free "
        f"scores, {said}{limit} (Stein's unbiased risk estimate); {own}.",
        "model",
        "estimate",
        {
            "sure": risk.estimate,
            "at_most": risk.at_most,
            "model_variance": variance,
            "blocks": int(inputs.projected[1].max()),
        },
        (
            Condition("the stated model sd is correct (a larger one makes the estimate too small)"),
            *noise_conditions(inputs)[1:],
        ),
        claim=f"The mean squared error of the calibrated scores {said}; {own}.",
    )
    return [*found, sure]


def safety_claim(inputs: Inputs) -> Guarantee:
    """Return the theorem about the safe calibrator, with what it supposes."""
    variance = inputs.model_variance
    right = "the model is right on average (else this is about its noise-free scores)"
    return Guarantee(
        SAFE.name,
        "Never worse than the model",
        "Whatever the truth, and however wrong the ranking, the expected mean squared error of "
        f"these scores is at most that of the model, {variance:.3g}.",
        "model",
        "bound",
        {"model_variance": variance, "items": len(inputs.model)},
        (*noise_conditions(inputs), Condition(right)),
    )
