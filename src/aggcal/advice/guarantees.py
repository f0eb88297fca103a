"""What may be claimed for this data, under which conditions, and what may not.

Every entry says what it is about (the consensus, the model, or the truth), in words and in numbers,
and lists its conditions: ``True`` was checked and holds, ``False`` was checked and does not, None
cannot be checked from the data. Where answers depend on each other, errors are wider, and nothing
is withdrawn. Statements that are false as published are not here; see docs/explanation/theory.md
for what replaced them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggcal._core.text import brief, in_words, ordinal
from aggcal.aggregation.claims import Claims
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.groups import n_components
from aggcal.aggregation.terms import counts_of
from aggcal.calibration import Calibration
from aggcal.calibration.anchors import Gain
from aggcal.calibration.calibrators import Fused
from aggcal.calibration.inputs import Inputs
from aggcal.calibration.says import Condition, Guarantee
from aggcal.errors import count
from aggcal.registry import BOOTSTRAP


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

    __repr__ = brief

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


MODEL = Condition(
    "answers are clearer when two items differ more (as the method and its prior assume)"
)
ANNOTATORS = Condition("the annotators are a random sample")
CONTEXTS = Condition("the contexts (such as prompts) are a random sample")
UNSEEN = Condition("the annotators did not see the model's scores")

INDEPENDENT = Condition(
    "answers that share no annotator, question, context or act are independent",
)


def guarantees(consensus: Consensus | None, calibration: Calibration | None) -> Guarantees:
    """Work out what may be claimed.

    Parameters
    ----------
    consensus
        The result of Stage 1, if there was one.
    calibration
        The result of Stage 2, if there was one.
    """
    found: list[Guarantee] = []
    claims = None if consensus is None else consensus.claims()
    if consensus is not None and consensus.uncertainty is not None and claims is not None:
        drawn = CONTEXTS if _drawn(consensus) else ANNOTATORS
        needs = drawn if consensus.uncertainty.kind == BOOTSTRAP.name else MODEL
        conditions = needs, INDEPENDENT, Condition("the fit converged", holds=True)
        found += order_claims(consensus, claims, conditions)
    if calibration is not None:
        found += calibration_claims(calibration, calibration.inputs)
    return Guarantees(tuple(found))


def _drawn(consensus: Consensus) -> bool:
    """Tell whether the intervals come from contexts that were drawn again."""
    known, judgments = consensus.uncertainty, getattr(consensus.quantifier, "judgments", None)
    drawn = known is not None and known.kind == BOOTSTRAP.name
    return drawn and judgments is not None and counts_of(judgments).contexts > 0


_NAMED = 12  # items that a sentence names: the tables have all
_ARBITRARY = "Ranks across {divided} are arbitrary: an item's sure ranks allow for all other items."


def order_claims(
    consensus: Consensus, claims: Claims, conditions: tuple[Condition, ...]
) -> list[Guarantee]:
    """Return what is claimed of the order: pairs, ranks, the first item, tiers.

    Parameters
    ----------
    consensus
        What it is claimed of.
    claims
        The claims, with their level.
    conditions
        What they rest on.

    Examples
    --------
    >>> import aggcal
    >>> rows = [(u, *pair) for u in ("ann", "bob", "eve") for pair in ("ab", "ac", "bc")] * 9
    >>> found = aggcal.aggregate(rows, warn=False)
    >>> for each in order_claims(found, found.claims(), ()):
    ...     print(each.claim)
    3 of 3 pairs are told apart; with 95% confidence every one of them is the right way round, ...
    With 95% confidence every item is within its sure ranks, all items together.
    With 95% confidence 'a' is the best.
    Three clear tiers: every item of one is better than every item of the next (95% confidence).
    """
    made = (pairs, ranks, first, tiers)
    return [
        Guarantee(name, title, says, "consensus", "confidence", values, conditions, claim)
        for name, title, says, values, claim in (each(consensus, claims) for each in made)
    ]


def confidence(level: float) -> str:
    """Write a level.

    Examples
    --------
    >>> confidence(0.95), confidence(0.995)
    ('95% confidence', '99.5% confidence')
    """
    return f"{100.0 * level:.6g}% confidence"


_Said = tuple[str, str, str, dict[str, float | int | None], str]


def pairs(consensus: Consensus, claims: Claims) -> _Said:
    """Say which pairs are told apart, all of them at once."""
    sure, number = confidence(claims.level), claims.count
    known = consensus.uncertainty
    parts, n = n_components(known.component if known else None), len(claims.low)
    across = n * (n - 1) // 2 - claims.n_pairs
    of = f"{number:,} of {count(claims.n_pairs, 'pair')}"
    if not number:
        claim = f"No two items can be told apart yet at {sure}."
    else:
        told = "is told apart" if number == 1 else "are told apart"
        every = "it" if number == 1 else "every one of them"
        claim = (
            f"{of} {told}; with {sure} {every} is the right way round, whatever the true scores."
        )
    says = claim
    if number and known is not None:
        covers = known.covers if known.kind == BOOTSTRAP.name else "these annotators' consensus"
        says += f' "Right" means according to {covers}, not the truth.'
    if claims.resting:
        further = count(claims.resting, "further pair")
        says += (
            f" {further} would be told apart, but not without one of the annotators: not claimed."
        )
    if across and known is not None:
        says += (
            f" {count(across, 'pair')} across the {parts:,} {known.divided} "
            f"{'is' if across == 1 else 'are'} not counted: too few comparisons link their items, "
            "or none."
        )
    values: dict[str, float | int | None] = {
        "certified": number,
        "pairs": claims.n_pairs,
        "share": claims.share,
        "level": claims.level,
        "components": parts,
        "pairs_across_components": across,
    }
    return "certified_pairs", "Pairs told apart", says, values, claim


def ranks(consensus: Consensus, claims: Claims) -> _Said:
    """Say between which ranks items are, all of them at once, and how likely ranks differ."""
    sure, known = confidence(claims.level), consensus.uncertainty
    top = int(consensus.order[0])
    low, high = (ordinal(int(end[top])) for end in (claims.low, claims.high))
    claim = f"With {sure} every item is within its sure ranks, all items together."
    between = low if low == high else f"{low} to {high}"
    says = f"'{consensus.item_ids[top]}' is {between} ({sure}, for all items together)."
    if known is not None:
        says += (
            " Likely ranks are narrower: an item is within its own with probability "
            f"{known.level:g}, if scores are spread about as estimated."
        )
        if known.component is not None:
            says += f" {_ARBITRARY.format(divided=known.divided)}"
    width = float(np.median(claims.high - claims.low))
    return "rank_intervals", "Ranks", says, {"level": claims.level, "median_width": width}, claim


def first(consensus: Consensus, claims: Claims) -> _Said:
    """Say which items could be the best."""
    sure, could = confidence(claims.level), np.flatnonzero(claims.first)
    order = could[np.argsort(-consensus.scores[could], kind="stable")]
    values: dict[str, float | int | None] = {"could_be_first": len(could), "level": claims.level}
    if len(could) == 1:
        claim = says = f"With {sure} '{consensus.item_ids[could[0]]}' is the best."
    else:
        which = "" if len(could) < len(claims.low) else "all "
        claim = f"The best is one of {which}{len(could):,} items"
        names = listed(consensus.item_ids[order].tolist())
        claim, says = f"{claim} ({sure}).", f"{claim} ({sure}): {names}."
    return "first", "The best item", says, values, claim


def tiers(consensus: Consensus, claims: Claims) -> _Said:  # noqa: ARG001
    """Say into which tiers items fall."""
    number = claims.n_tiers
    claim = f"No clear tiers at {confidence(claims.level)}."
    if number > 1:
        which = "the first is better than every item of the second"
        if number > 2:  # noqa: PLR2004
            which = "one is better than every item of the next"
        named = in_words(number)
        claim = (
            f"{named[0].upper()}{named[1:]} clear tiers: every item of {which} "
            f"({confidence(claims.level)})."
        )
    return "tiers", "Tiers", claim, {"tiers": number, "level": claims.level}, claim


def top_said(consensus: Consensus, claims: Claims, k: int) -> str:
    """Say which items are surely among the first k, and which are surely not.

    Examples
    --------
    >>> import aggcal
    >>> rows = [(u, *pair) for u in ("ann", "bob", "eve") for pair in ("ab", "ac", "bc")] * 9
    >>> found = aggcal.aggregate(rows, warn=False)
    >>> top_said(found, found.claims(), 2)
    'Surely in the first 2: a, b; surely not: 1 item (95% confidence for each).'
    """
    inside, out = claims.inside(k), int(claims.outside(k).sum())
    order = consensus.order[inside[consensus.order]]
    left = len(inside) - len(order) - out
    sure = listed(consensus.item_ids[order].tolist()) if len(order) else "no item"
    other = "; the other one" if left == 1 else f"; the other {left:,}"
    said = f"Surely in the first {k:,}: {sure}; surely not: {count(out, 'item')}"
    return (
        f"{said}{f'{other} cannot be told' if left else ''} ({confidence(claims.level)} for each)."
    )


def listed(names: Sequence[str]) -> str:
    """Name items, and count those that are too many to name.

    Examples
    --------
    >>> listed(["a", "b"]), listed([f"{k}" for k in range(20)])[-13:]
    ('a, b', '11 and 8 more')
    """
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {rest:,} more" if rest > 0 else "")


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
