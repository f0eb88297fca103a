"""What is said of annotators who see the items in two ways."""

from __future__ import annotations

from aggcal.advice.check.camp_signs import FirstSign
from aggcal.advice.check.camps import Camps
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.findings import Affects, Finding, Severity, listed, rounded
from aggcal.advice.check.reliability import Strays
from aggcal.advice.check.sample import MANY
from aggcal.errors import count, some


def camp_findings(fitted: Fitted, found: Camps | None) -> list[Finding]:
    """Report who is divided over what."""
    if found is None:
        return []
    judgments = fitted.judgments
    larger, smaller = (judgments.annotator_ids[c] for c in (found.larger, found.smaller))
    items = judgments.item_ids[found.items]
    severity: Severity = "note" if found.alike else "problem"
    sizes = f"{len(larger):,} and {len(smaller):,}"
    unclear = f"; {found.unclear:,} of them could belong to either group" if found.unclear else ""
    title = (
        f"Two groups of annotators ({sizes}) prefer somewhat different orders"
        if found.alike
        else f"The annotators form two opposing groups ({sizes})"
    )
    return [
        Finding(
            severity,
            "divided",
            f"{len(larger):,} annotators ({some(larger)}) and {len(smaller):,} ({some(smaller)}) "
            f"order the items differently{unclear}. Their orders correlate "
            f"{_signed(found.correlation)}, those of random groups "
            f"{_signed(found.usual_correlation)} (1 is "
            f"the same order, \N{MINUS SIGN}1 the opposite). They differ most on {some(items)}.",
            "Ask both groups which criterion they used. If both are legitimate, analyse them "
            "separately, or ask a narrower question.",
            {
                "larger_camp": listed(larger),
                "larger_size": len(larger),
                "smaller_camp": listed(smaller),
                "smaller_size": len(smaller),
                "unclear": found.unclear,
                "rank_correlation": round(found.correlation, 4),
                "rank_correlation_by_lot": round(found.usual_correlation, 4),
                "items": listed(items),
                "differences": rounded(found.differences),
                "standard_deviations_beyond_chance": round(found.beyond, 2),
            },
            title=title,
            affects=Affects.by_annotators(judgments, [*found.larger, *found.smaller]),
        )
    ]


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

    Nobody is named: whoever follows another order looks like one who guesses.

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
            "problem",
            "perhaps-divided",
            f"{evidence} Members of an opposing group would look the same, so nobody is called "
            f"{' or '.join(sign.looks_like)}.",
            f"Run a full check: without --quick, 'aggcal check'{part} looks for opposing groups "
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
