"""What is said of annotators: findings, verdicts, and what was looked for and not found."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from aggcal._core.arrays import IntArray
from aggcal.advice.check.explanations import LEAST_SHARED
from aggcal.advice.check.findings import (
    LISTED,
    Affects,
    Finding,
    Passed,
    Severity,
    annotators_named,
    listed,
    rounded,
)
from aggcal.advice.check.look import Copy, People
from aggcal.advice.verdicts import FEW, GUESSING, ONE_SIDED, REVERSED
from aggcal.aggregation.camps import FEWEST, LINE, Camps
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.robust import SERIOUS, Robust
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.data.judgments import Judgments
from aggcal.errors import count, option, some

_SHOWN = 4  # annotators of a group, and groups, that a sentence names
_MOST_REVERSED = 1.0 / 3.0
"""Share of annotators who answer the opposite of the others beyond which nobody knows who is wrong.
"""
_CLEAR = 2.0  # standard errors from which the title names the side that all together prefer


class Words(NamedTuple):
    """How a kind of annotator is described: verbs for one and for several, and what follows."""

    severity: Severity
    code: str
    verbs: tuple[str, str]
    what: str
    adds: str
    remedy: str


WORDS: Mapping[str, Words] = {
    "reversed": Words(
        "problem",
        "reversed-annotators",
        ("answers", "answer"),
        "the opposite of the others",
        "",
        "Ask whether they read the question the other way round, or mixed up the buttons.",
    ),
    "contradicting": Words(
        "problem",
        "contradicting",
        ("answers", "answer"),
        "the opposite of the others",
        " They are too many to say who is wrong; there may be no common order.",
        "Ask what each understood by the question, and fit the opposing groups separately.",
    ),
    "guessing": Words(
        "problem",
        "guessing",
        ("answers", "answer"),
        "hardly better than chance",
        " Possible reasons are guessing, or hardly any care.",
        "Ask how they work, and leave them out if they cannot explain it.",
    ),
    "own-order": Words(
        "note",
        "own-order",
        ("may follow", "may follow"),
        "another order than the others",
        " These answers agree with each other more than random or opposite ones would, so they are "
        "called neither.",
        "Ask which criterion they used. If it is legitimate, analyse their answers separately.",
    ),
    "erratic": Words(
        "note",
        "erratic",
        ("errs", "err"),
        "on easy pairs, but not on close ones",
        " Some of these answers seem to have been given without looking.",
        "Look at their answers to easy pairs.",
    ),
}
"""By the kind of annotator; to add one, `look` has to name it."""


def annotator_findings(judgments: Judgments, consensus: Consensus, people: People) -> list[Finding]:
    """Report annotators who do not judge as the others do."""
    found = []
    for kind, who in people.named.items():
        split = kind == "reversed" and len(who) > _MOST_REVERSED * judgments.n_annotators
        if len(who):
            words = WORDS["contradicting" if split else kind]
            found.append(_finding(judgments, consensus, people, who, words))
    return found


def _finding(
    judgments: Judgments, consensus: Consensus, people: People, who: IntArray, words: Words
) -> Finding:
    ids, first = judgments.annotator_ids[who], int(who[0])
    adds, remedy = words.adds, words.remedy
    if words.code == "reversed-annotators":
        turned = int(np.sum(consensus.reliabilities[who] < consensus.random_reliability))
        whose = "these answers" if turned == len(who) else f"the answers of {turned:,} of them"
        inverts = f" {consensus.method} inverts {whose}."
        adds += inverts if turned else f" {consensus.method} does not invert these answers."
        remedy += "" if turned else " If so, leave them out."
    given = people.decided[who]
    return Finding(
        words.severity,
        words.code,
        f"'{ids[0]}' agrees with the others in {people.agreement[first]:.0%} of "
        f"{people.decided[first]:,.0f} decided judgments; a typical annotator would in "
        f"{people.expected[first]:.0%}.{annotators_named(ids)}{adds}",
        remedy,
        {
            "annotators": listed(ids),
            "number": len(who),
            "decided_judgments": [int(number) for number in given[:LISTED]],
            "agreement_with_others": rounded(people.agreement[who]),
            "expected_agreement": rounded(people.expected[who]),
        },
        title=f"{count(len(who), 'annotator')} of {judgments.n_annotators:,} "
        f"{words.verbs[len(who) > 1]} {words.what}",
        affects=Affects.by_annotators(judgments, who.tolist()),
    )


def accused(judgments: Judgments, people: People) -> dict[str, tuple[str, str]]:
    """Return the verdict on each annotator who is accused, and why."""
    ids, found = judgments.annotator_ids, {}
    for u in people.one_sided.tolist():
        side, chosen, decided = _chosen(judgments, people, u)
        found[str(ids[u])] = ONE_SIDED, f"chose the {side} in {chosen:,} of {decided:,} decisions"
    for kind, verdict in (("guessing", GUESSING), ("reversed", REVERSED)):
        for u in people.named.get(kind, np.zeros(0, dtype=np.int64)).tolist():
            agrees, expected = people.agreement[u], people.expected[u]
            why = f"agrees with others in {agrees:.0%}; expected {expected:.0%}"
            found[str(ids[u])] = verdict, why
    return found


# ------------------------------------------------------------------------------- sides
def _chosen(judgments: Judgments, people: People, u: int) -> tuple[str, int, int]:
    lefts, given = (int(n[u]) for n in (judgments.tallies.lefts, judgments.tallies.decided))
    return ("left", lefts, given) if people.habit[u] > 0.0 else ("right", given - lefts, given)


def side_findings(judgments: Judgments, consensus: Consensus, people: People) -> list[Finding]:
    """Report annotators who follow one side of the screen, and whether all together do."""
    effects, who = consensus.effects, people.one_sided
    position = None if effects is None else effects.position
    found = []
    if len(who):
        ids, one = judgments.annotator_ids[who], len(who) == 1
        side, chosen, given = _chosen(judgments, people, int(who[0]))
        lefts, decided = judgments.tallies.lefts[who], judgments.tallies.decided[who]
        share = float(expit(np.abs(people.habit[who[0]])))
        remedy = f"Show {'this annotator' if one else 'these annotators'} every pair in both orders"
        useless = people.agreement[who] < 0.6  # noqa: PLR2004  # near one half: sides alone decide
        if useless.any():
            remedy += f", or leave {'the annotator' if one else 'those'} out"
            remedy += "" if one else " whose answers follow the side alone"
        found.append(
            Finding(
                "problem",
                "position-bias",
                f"'{ids[0]}' chose the {side}-hand item in {chosen:,} of {given:,} decided "
                f"judgments, and would choose it in {share:.0%} of those about two equal "
                f"items.{annotators_named(ids)} "
                + (
                    "Answers that follow the side say nothing about the items."
                    if position is None
                    else "The fit estimates each annotator's preference for a side and takes it "
                    "out of the scores."
                ),
                f"{remedy}.",
                {
                    "annotators": listed(ids),
                    "number": len(who),
                    "chose_left": rounded(lefts),
                    "decided": rounded(decided),
                    "left_share": rounded(lefts / decided),
                    "left_advantage_logits": rounded(people.habit[who]),
                },
                title=f"{count(len(who), 'annotator')} of {judgments.n_annotators:,} "
                f"{'favours' if one else 'favour'} one side of the screen",
                affects=Affects.by_annotators(judgments, who.tolist()),
            )
        )
    if position is not None:
        common, error = position.common, position.common_se
        found.append(_preferred(judgments, common, error, sd=position.sd))
    elif people.side_preferred:
        found.append(_preferred(judgments, people.common, people.common_se))
    return found


def _preferred(
    judgments: Judgments, common: float, error: float, sd: float | None = None
) -> Finding:
    """Report the side that all together prefer; ``sd`` where the fit takes it out of the scores."""
    side = "left" if common > 0.0 else "right"
    even = float(expit(abs(common)))
    why = f"Of two equal items the {side} one would win {even:.1%} of the decided judgments ("
    why += f"{common:+.2f} logits for the left, standard error {error:.2f})"
    lefts, decided = (int(n.sum()) for n in (judgments.tallies.lefts, judgments.tallies.decided))
    details: dict[str, Any] = {
        "left_advantage_logits": round(common, 4),
        "standard_error": round(error, 4),
        "chose_left": lefts,
        "decided": decided,
    }
    affects = Affects(judgments=decided)
    if sd is None:
        title = f"Position bias: the {side} item of two equal ones wins {even:.0%} of the time"
        remedy = "Show each pair in both orders about equally often, so that the bias cancels out."
        return Finding(
            "problem",
            "side-preferred",
            f"{why}.",
            remedy,
            details,
            title=title,
            why=f"The preference is {common:+.2f} logits for the left (standard error "
            f"{error:.2f}).",
            affects=affects,
        )
    why += f"; annotators differ by {sd:.2f} logits (sd)."
    title = f"A preference for the {side} side is taken out of the scores"
    if abs(common) < _CLEAR * error:
        title = "Annotators' preferences for a side are taken out of the scores"
        why += " On average, neither side is clearly preferred."
    return Finding(
        "note",
        "side-preferred",
        f"{why} The fit takes this out of the scores.",
        "Nothing needs to be corrected. Showing each pair in both orders about equally often "
        "makes the scores more certain.",
        details | {"annotators_sd_logits": round(sd, 4), "taken_out": True},
        title=title,
        why=why,
        affects=affects,
    )


# ------------------------------------------------------------------------------- groups
def copy_findings(judgments: Judgments, found: list[Copy]) -> list[Finding]:
    """Report who seems to copy whom."""
    groups: list[set[int]] = []
    for each in found:
        both = {each.one, each.other}
        joined = [group for group in groups if group & both]
        groups = [group for group in groups if not group & both]
        groups.append(both.union(*joined))
    if not groups:
        return []
    ids = judgments.annotator_ids
    members = [sorted(group) for group in groups]
    named = "; ".join(
        " and ".join(f"'{ids[u]}'" for u in group[:_SHOWN])
        + (f" and {len(group) - _SHOWN} more" if len(group) > _SHOWN else "")
        for group in members[:_SHOWN]
    )
    rest = len(groups) - _SHOWN
    more = f"; and {count(rest, 'more group')}" if rest > 0 else ""
    everyone, first = sorted({u for group in groups for u in group}), found[0]
    return [
        Finding(
            "problem",
            "copies",
            "Some annotators' answers match far more often than independent ones would "
            f"({named}{more}). '{ids[first.one]}' and '{ids[first.other]}' gave {first.same:,.0f} "
            f"of {first.shared:,.0f} shared answers alike; {first.expected:,.0f} are expected.",
            "Find out whether they are one person, worked together or use the same program. If so, "
            "keep one of each group, or one opinion counts several times.",
            {
                "groups": [listed(ids[group]) for group in members[:LISTED]],
                "number": len(groups),
                "couples": [[str(ids[c.one]), str(ids[c.other])] for c in found[:LISTED]],
                "shared": rounded(c.shared for c in found),
                "agreed": rounded(c.same for c in found),
                "expected": rounded(c.expected for c in found),
            },
            title=f"{count(len(everyone), 'annotator')} in {count(len(groups), 'group')} gave "
            "nearly the same answers",
            affects=Affects.by_annotators(judgments, everyone),
        )
    ]


def camp_findings(judgments: Judgments, camps: Camps) -> list[Finding]:
    """Report what predicts held-out annotators better than one order: camps, or an axis."""
    affects = Affects.by_annotators(judgments, range(judgments.n_annotators))
    gains = {name: [round(gain, 2), round(se, 2)] for name, (gain, se) in camps.gains.items()}
    details: dict[str, Any] = {"kind": camps.kind, "held_out_gain": gains}
    if camps.kind == LINE:
        return [
            Finding(
                "problem",
                "different-tastes",
                "An axis along which annotators differ predicts the answers of held-out annotators "
                "better than one order, and no worse than camps do. One order is a compromise.",
                f"Fit with {option('bridge', 'axis')}, or ask a narrower question.",
                details,
                title="The annotators' tastes differ by degrees, not in camps",
                affects=affects,
            )
        ]
    own = camps.own
    members = [judgments.annotator_ids[own == name] for name in camps.names]
    sizes = " and ".join(f"{len(ids):,}" for ids in members)
    named = "; ".join(
        f"{name}: {some(ids)}" for name, ids in zip(camps.names, members, strict=True)
    )
    return [
        Finding(
            "problem",
            "divided",
            f"Camps predict the answers of held-out annotators better than one order does, and "
            f"better than an axis ({named}).",
            f"Ask each group which criterion they used. Fit with {option('bridge', 'camps')}, "
            "which gives each its own scores, or ask a narrower question.",
            details
            | {
                "larger_camp": listed(members[0]),
                "larger_size": len(members[0]),
                "smaller_camp": listed(members[1]),
                "smaller_size": len(members[1]),
                "camps": [listed(ids) for ids in members],
            },
            title=f"The annotators form {camps.kind.replace('camps', 'opposing groups')} ({sizes})",
            affects=affects,
        )
    ]


def dependence_findings(uncertainty: Uncertainty | None) -> tuple[list[Finding], list[Passed]]:
    """Report by how much errors are larger because answers depend on each other.

    Examples
    --------
    >>> import aggcal
    >>> consensus = aggcal.aggregate([("ann", "a", "b"), ("bob", "a", "b")], warn=False)
    >>> dependence_findings(consensus.uncertainty)[0]
    []
    """
    robust, code = Robust() if uncertainty is None else uncertainty.robust, "dependent-answers"
    most, factors = robust.widest, robust.factors
    if most is None or not robust.is_clear:
        return [], [Passed(code, str(robust))] if factors else []
    details = {
        "factor": round(sqrt(most.used), 4),
        "widest": most.name,
        "factors": {factor.name: round(sqrt(factor.used), 4) for factor in factors},
    }
    severity: Severity = "problem" if most.used >= SERIOUS else "note"
    message = f"{robust.reasons[0].upper()}{robust.reasons[1:]}."
    return [Finding(severity, code, message, robust.remedy, details, title=robust.title)], []


# ------------------------------------------------------------------------------- passed
def people_passed(judgments: Judgments, people: People) -> list[Passed]:
    """List what annotators are not, as far as there was enough to look for it."""
    active = int(np.sum(judgments.judgments_per_annotator >= FEW))
    found, m = [], judgments.n_annotators
    none = f"None of {count(active, 'annotator')} with {FEW} or more judgments was found to"
    if active and people.judged and not people.withheld:
        for kind, says in (
            ("reversed", "answer the opposite of the others"),
            ("guessing", "be guessing"),
        ):
            if not len(people.named.get(kind, ())):
                found.append(Passed(WORDS[kind].code, f"{none} {says}."))
    if active and judgments.sided and not len(people.one_sided):
        found.append(Passed("position-bias", f"{none} favour one side of the screen."))
    decided = float(judgments.tallies.decided.sum())
    if judgments.sided and np.isfinite(people.common_se) and not people.side_preferred:
        share = float(judgments.tallies.lefts.sum()) / max(decided, 1.0)
        says = (
            f"Over the whole study the left item has no clear advantage: it won {share:.0%} of "
            f"{decided:,.0f} decided judgments ({people.common:+.2f} logits, standard error "
            f"{people.common_se:.2f})."
        )
        found.append(Passed("side-preferred", says))
    if people.compared and not people.copies and not people.divided:
        couples = f"{count(people.compared, 'couple')} with {LEAST_SHARED} or more shared pairs"
        says = f"No two annotators agree suspiciously often ({couples} compared)."
        found.append(Passed("copies", says))
    if active >= FEWEST and not people.sign:
        says = f"No opposing groups were found among the {m:,} annotators."
        found.append(Passed("divided", says))
    return found
