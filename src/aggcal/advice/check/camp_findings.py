"""What is said of annotators who see the items in two ways."""

from __future__ import annotations

from typing import Any, NamedTuple

from aggcal.advice.check.camp_signs import FirstSign
from aggcal.advice.check.camps import Camps
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.findings import Affects, Finding, Severity, listed, rounded
from aggcal.advice.check.reliability import Strays
from aggcal.advice.check.sample import MANY
from aggcal.errors import count, option, some

DIFFERENT_TASTES = "different-tastes"
"""The finding that tastes differ, but not in two groups, or that it is open whether they do."""


def camp_findings(fitted: Fitted, found: Camps | None) -> list[Finding]:
    """Report who differs in what: as two groups, with others between, or in a way that is open."""
    if found is None:
        return []
    severity: Severity = "note" if found.alike else "problem"
    words = _groups(fitted, found) if found.distinct else _tastes(fitted, found)
    judgments = fitted.judgments
    items = judgments.item_ids[found.items]
    return [
        Finding(
            severity,
            words.code,
            f"{words.who} Their orders correlate {_signed(found.correlation)}, those of random "
            f"groups {_signed(found.usual_correlation)} (1 is the same order, "
            f"\N{MINUS SIGN}1 the opposite). They differ most on {some(items)}.",
            words.remedy,
            words.details
            | {
                "unclear": found.unclear,
                "rank_correlation": round(found.correlation, 4),
                "rank_correlation_by_lot": round(found.usual_correlation, 4),
                "items": listed(items),
                "differences": rounded(found.differences),
                "standard_deviations_beyond_chance": round(found.beyond, 2),
                "log_evidence_for_two_groups": round(found.two_groups, 2),
            },
            title=words.title,
            affects=Affects.by_annotators(judgments, [*found.larger, *found.smaller]),
        )
    ]


class _Words(NamedTuple):
    """What is said of one kind of difference."""

    code: str
    title: str
    who: str
    remedy: str
    details: dict[str, Any]


def _groups(fitted: Fitted, found: Camps) -> _Words:
    """Speak of two groups."""
    larger, smaller = (fitted.judgments.annotator_ids[c] for c in (found.larger, found.smaller))
    sizes = f"{len(larger):,} and {len(smaller):,}"
    unclear = f"; {found.unclear:,} of them could belong to either group" if found.unclear else ""
    return _Words(
        "divided",
        f"Two groups of annotators ({sizes}) prefer somewhat different orders"
        if found.alike
        else f"The annotators form two opposing groups ({sizes})",
        f"{len(larger):,} annotators ({some(larger)}) and {len(smaller):,} ({some(smaller)}) "
        f"order the items differently{unclear}.",
        "Ask both groups which criterion they used. If both are legitimate, analyse them "
        "separately, or ask a narrower question.",
        {
            "larger_camp": listed(larger),
            "larger_size": len(larger),
            "smaller_camp": listed(smaller),
            "smaller_size": len(smaller),
        },
    )


def _tastes(fitted: Fitted, found: Camps) -> _Words:
    """Speak of two ends, between which there are others, or may be."""
    ends = [fitted.judgments.annotator_ids[c] for c in (found.larger, found.smaller)]
    lean = (
        f"{len(ends[0]):,} annotators ({some(ends[0])}) lean one way, {len(ends[1]):,} "
        f"({some(ends[1])}) the other."
    )
    remedy = "Ask annotators at both ends which criteria they weigh. "
    somewhat = " somewhat" if found.alike else ""
    if found.between:
        title = f"The annotators' tastes differ{somewhat}, but not in two groups"
        who = f"Some annotators lie between the ends, by degrees or in further groups. {lean}"
        axis = option("bridge", "axis")
        remedy += f"One order is a compromise. Fit with {axis}, or ask a narrower question."
    else:
        title = f"Annotators prefer{somewhat} different orders"
        who = f"Whether they form two groups or differ by degrees is unclear. {lean}"
        remedy += "More judgments of each annotator would show whether they form groups."
    return _Words(
        DIFFERENT_TASTES,
        title,
        who,
        remedy,
        {
            "kind": "not two groups" if found.between else "unclear",
            "one_end": listed(ends[0]),
            "one_end_size": len(ends[0]),
            "other_end": listed(ends[1]),
            "other_end_size": len(ends[1]),
        },
    )


def _signed(number: float) -> str:
    """Write a correlation with a minus sign, and none before 0.

    Examples
    --------
    >>> _signed(-0.5), _signed(-0.001)
    ('\N{MINUS SIGN}0.50', '0.00')
    """
    return f"{round(number, 2) + 0.0:.2f}".replace("-", "\N{MINUS SIGN}")


def possible_camps(
    fitted: Fitted, sign: FirstSign, withheld: Strays, *, sampled: bool
) -> list[Finding]:
    """Report that there may be camps, where annotators were about to be named without a search.

    Nobody is named: whoever follows another order looks reversed, or like one who guesses. Only a
    full check can decide, so this is a note.

    Parameters
    ----------
    fitted
        The study and its fit.
    sign
        What tells that there may be camps.
    withheld
        Whom the check would have named otherwise.
    sampled
        Whether the study is so large that its annotators were sampled.
    """
    random = sum(map(len, (withheld.guessing, withheld.doubtful, withheld.own_order)))
    if sign.patterned:
        evidence = (
            "Some annotators share preferences that the consensus does not explain "
            f"({sign.beyond:.1f} standard deviations beyond chance)."
        )
    else:
        evidence = f"About {sign.against:.0%} of the annotators answer the opposite of the others."
    if random:
        look = "looks" if random == 1 else "look"
        evidence += f" {count(random, 'annotator')} {look} as if answering at random."
    part = f" on the answers of fewer annotators (at most {MANY:,} rows)" if sampled else ""
    return [
        Finding(
            "note",
            "perhaps-divided",
            f"{evidence} Members of an opposing group would look the same, so nobody is called "
            "reversed or guessing.",
            f"Run a full check: without {option('quick')}, 'aggcal check'{part} looks for "
            "opposing groups "
            "and for copied answers, which can look like a group.",
            {
                "number": random,
                "standard_deviations_beyond_chance": round(sign.beyond, 2),
                "reversed_share": round(sign.against, 4),
            },
            title="There may be opposing groups of annotators",
            affects=Affects(annotators=fitted.judgments.n_annotators),
        )
    ]
