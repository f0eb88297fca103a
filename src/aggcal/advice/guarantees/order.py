"""What may be claimed of the consensus order: a function a sentence.

Every claim is right in about the stated share of studies, whatever the true scores (see
`aggregation.uncertainty.claims`); each kind of claim by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aggcal._core.text import in_words, ordinal
from aggcal.aggregation.claims import Claims
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.groups import n_components
from aggcal.calibration.says import Condition, Guarantee
from aggcal.errors import count
from aggcal.registry import BOOTSTRAP

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
        items = "items" if len(could) < len(claims.low) else "items (all there are)"
        claim = f"Any of {len(could):,} {items} could be the best"
        names = listed(consensus.item_ids[order].tolist())
        rest = f"with {sure} the best is among them."
        claim, says = f"{claim}; {rest}", f"{claim} ({names}); {rest}"
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


def top(consensus: Consensus, claims: Claims, k: int) -> str:
    """Say which items are surely among the first k, and which are surely not.

    Examples
    --------
    >>> import aggcal
    >>> rows = [(u, *pair) for u in ("ann", "bob", "eve") for pair in ("ab", "ac", "bc")] * 9
    >>> found = aggcal.aggregate(rows, warn=False)
    >>> top(found, found.claims(), 2)
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
