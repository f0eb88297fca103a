"""What may honestly be claimed for this data, under which conditions, and what may not.

Every entry says what it is about (the consensus, the model, or the truth), in words and in numbers,
and lists its conditions: ``True`` was checked and holds, ``False`` was checked and does not, None
cannot be checked from the data, or was not. A claim about the consensus is withdrawn where one of
its conditions is known to fail: it says why, and its numbers are None. Statements that are false as
published are not here; see docs/explanation/theory.md for what replaced them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from aggcal.advice.independence import Independence
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.aggregation.uncertainty.components import n_components, pairs_within
from aggcal.calibration import Calibration
from aggcal.calibration.anchors import Gain
from aggcal.calibration.inputs import Inputs
from aggcal.errors import count
from aggcal.registry import LAPLACE

_EVEN_SD = 1.5


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

    ``about`` is ``consensus``, ``model`` or ``truth``; ``kind`` is ``bound`` (proved), ``identity``
    (exact), ``posterior`` (a probability under the model and its priors), ``estimate`` or
    ``diagnostic`` (neither promises anything).
    """

    name: str
    title: str
    says: str
    about: str
    kind: str
    values: dict[str, float | int | None]
    conditions: tuple[Condition, ...] = ()

    @property
    def holds(self) -> bool | None:
        """Whether all its conditions hold; None if some cannot be checked."""
        checks = [condition.holds for condition in self.conditions]
        if False in checks:
            return False
        return None if None in checks else True

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "title": self.title,
            "says": self.says,
            "about": self.about,
            "kind": self.kind,
            "values": self.values,
            "conditions": [asdict(condition) for condition in self.conditions],
            "holds": self.holds,
        }


@dataclass(frozen=True)
class Guarantees:
    """The statements, by name.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("bob", "a", "b"), ("bob", "b", "c")]
    >>> found = aggcal.assess(rows, [("a", 1.0), ("b", 3.0), ("c", 0.0)], warn=False).guarantees
    >>> round(found["gain"].values["moved_rms"], 3)
    0.816
    """

    every: tuple[Guarantee, ...] = ()

    def __iter__(self) -> Iterator[Guarantee]:
        return iter(self.every)

    def __len__(self) -> int:
        return len(self.every)

    def __getitem__(self, name: str) -> Guarantee:
        found = {each.name: each for each in self.every}
        if name not in found:
            raise KeyError(f"{name} (there are {', '.join(found) or 'none'})")
        return found[name]

    def __contains__(self, name: object) -> bool:
        return any(each.name == name for each in self.every)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as in ``summary.json``."""
        return {each.name: each.to_dict() for each in self.every}

    def __str__(self) -> str:
        return "\n".join(f"{each.title}: {each.says}" for each in self.every)


def guarantees(
    consensus: Consensus | None,
    calibration: Calibration | None,
    independence: Independence | None = None,
) -> Guarantees:
    """Work out what may be claimed.

    Parameters
    ----------
    consensus
        Of Stage 1, if there was one.
    calibration
        Of Stage 2, if there was one.
    independence
        What a check of the data found about it; by default it was not checked.
    """
    found: list[Guarantee] = []
    independence = independence or Independence()
    if consensus is not None and consensus.uncertainty is not None:
        claims = _Claims(consensus, consensus.uncertainty, independence)
        found += [claims.whole_order(), claims.certified(), claims.ranks()]
        efficiency = consensus.efficiency()
        if efficiency is not None:
            found.append(_efficiency(consensus, efficiency))
    if calibration is not None and calibration.inputs is not None:
        inputs = calibration.inputs
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
    return Guarantees(tuple(found))


# ------------------------------------------------------------------- about the consensus

_MODEL = Condition(
    "annotators answer about as the method and its prior suppose: the further apart two items are, "
    "the surer"
)
_ANNOTATORS = Condition("annotators are a random sample of those one could have asked")
_SAMPLE = Condition("annotators judged without seeing the model's scores")


def _independent(known: Independence) -> Condition:
    needs = "answers are independent of each other, given the model"
    return Condition(needs, known.holds, known.note)


class _Claims:
    """What is claimed of the order, and withdrawn where a condition is known to fail."""

    def __init__(
        self, consensus: Consensus, known: Uncertainty, independence: Independence
    ) -> None:
        self._known, self._n = known, len(known.scores)
        self._posterior = known.kind == LAPLACE.name
        self._pieces = n_components(known.component)
        self._within = pairs_within(known.component, self._n)
        conditions = [_MODEL if self._posterior else _ANNOTATORS, _independent(independence)]
        record = consensus.convergence
        if record is not None:
            conditions.append(Condition("the fit converged", record.converged))
        self._conditions = tuple(conditions)
        failing = [c.note or f"it is not so that {c.needs}" for c in conditions if c.holds is False]
        self._withdrawn = "; ".join(failing)

    def _probability(self, value: float, more: str = "") -> str:
        if self._posterior:
            return f"posterior probability {value:g}{more}, under the model and its priors"
        return f"approximate confidence {value:g}{more}"

    def _claim(
        self, name: str, title: str, says: str, values: dict[str, float | int | None]
    ) -> Guarantee:
        kind = "posterior" if self._posterior else "estimate"
        return Guarantee(name, title, says, "consensus", kind, values, self._conditions)

    def whole_order(self) -> Guarantee:
        """Return what is claimed of the ranking as a whole."""
        wrong: float | None = self._known.wrong_order_bound()
        n = self._n
        if self._withdrawn:
            says, wrong = f"Not claimed: {self._withdrawn}.", None
        elif self._pieces > 1:
            wrong = None
            says = (
                f"Not claimed: the comparisons fall into {self._pieces:,} {self._known.divided}, "
                "and too little orders items of different ones. Their ranks beside each other are "
                "a convention."
            )
        elif wrong is not None and wrong < 1.0:
            says = (
                f"The whole ranking of {count(n, 'item')} is the annotators' consensus order with "
                f"{self._probability(round(1.0 - wrong, 2), ' at least')}."
            )
        else:
            says = (
                f"Nothing can be claimed for the ranking of all {n:,} items at once: too many "
                "neighbours are too close. Use the rank intervals and the certified pairs."
            )
        values: dict[str, float | int | None] = {"delta_1": wrong, "neighbouring_pairs": n - 1}
        return self._claim("whole_order", "The whole ranking", says, values)

    def certified(self) -> Guarantee:
        """Return what is claimed of all certified pairs at once."""
        found = self._known.certified()
        across = self._n * (self._n - 1) // 2 - self._within
        values: dict[str, float | int | None] = {
            "certified": None,
            "pairs": found.n_pairs,
            "share": None,
            "level": found.level,
            "standard_errors": found.reach,
            "components": self._pieces,
            "pairs_across_components": across,
        }
        if self._withdrawn:
            says = f"No pair of items is certified: {self._withdrawn}."
            return self._claim("certified_pairs", "Certified pairs", says, values)
        pairs = found.count
        share = pairs / max(found.n_pairs, 1)
        values |= {"certified": pairs, "share": share}
        says = (
            f"The order of {pairs:,} of {count(found.n_pairs, 'pair')} of items ({share:.1%}) "
            f"is certified: with {self._probability(found.level)}, all of them are right at once."
        )
        covers = "the consensus of these annotators" if self._posterior else self._known.covers
        says += f' "Right" is according to {covers}, not to the truth.'
        if not pairs:
            says = (
                "The order of no pair of items can be certified yet at "
                f"{self._probability(found.level)}."
            )
        if across:
            verb = "is" if across == 1 else "are"
            says += (
                f" {count(across, 'pair')} across the {self._pieces:,} {self._known.divided} "
                f"{verb} not counted: nothing compares their items, or too little."
            )
        return self._claim("certified_pairs", "Certified pairs", says, values)

    def ranks(self) -> Guarantee:
        """Return what is claimed of each rank interval."""
        level = self._known.level
        says = (
            f"Each interval holds the item's rank in the consensus order with "
            f"{self._probability(level)}; one item at a time, not all at once."
        )
        if self._pieces > 1:
            says += (
                f" Ranks across {self._known.divided} are a convention: the interval of an item "
                "leaves open where it is among the items of others."
            )
        if self._withdrawn:
            says = f"Not claimed, the intervals are too narrow: {self._withdrawn}."
        values: dict[str, float | int | None] = {"level": None if self._withdrawn else level}
        return self._claim("rank_intervals", "Rank intervals", says, values)


def _efficiency(consensus: Consensus, values: dict[str, float]) -> Guarantee:
    typical = float(np.median(consensus.judgments_per_annotator))
    factor = values["first_order_factor"]
    says = (
        f"Annotators differ in reliability (by {values['cv']:.0%} of its average, beyond what "
        "chance explains), and the more reliable count for more. If all items were close and "
        "everybody had judged the same pairs, counting all alike would take "
        f"{factor:.2f} times as many judgments to be as precise."
    )
    if "median_ratio" in values:
        says += f" For these judgments the estimate is {values['median_ratio']:.2f} times as many."
    says += (
        " It helps where reliabilities differ and each annotator gave enough judgments (here half "
        f"gave {typical:,.0f} or more); it is never guaranteed to."
    )
    return Guarantee(
        "efficiency",
        "What weighting the annotators is worth",
        says,
        "consensus",
        "diagnostic",
        {**values, "median_judgments_per_annotator": typical},
    )


# ------------------------------------------------------------------ about the calibration


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
        (_MODEL, _independent(independence), _SAMPLE),
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
