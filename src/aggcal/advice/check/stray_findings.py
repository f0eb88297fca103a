"""What is said of annotators who do not judge as the others do."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggcal._core.arrays import IntArray
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.findings import (
    LISTED,
    Affects,
    Finding,
    Severity,
    annotators_named,
    listed,
    rounded,
)
from aggcal.advice.check.reliability import WEAKLY, Strays
from aggcal.advice.check.testing import odds_against
from aggcal.advice.verdicts import GUESSING, PERHAPS_GUESSING, REVERSED
from aggcal.errors import count, some


class _Words(NamedTuple):
    """How one kind of stray is described: the verb for one and for several, and what follows."""

    severity: Severity
    code: str
    verbs: tuple[str, str]
    what: str
    adds: str
    remedy: str


_REVERSED_WORDS = _Words(
    "problem",
    "reversed-annotators",
    ("answers", "answer"),
    "the opposite of the others",
    "",
    "Ask whether they read the question the other way round, or mixed up the buttons.",
)
_CONTRADICTING_WORDS = _Words(
    "problem",
    "contradicting",
    ("answers", "answer"),
    "the opposite of the others",
    " They are too many to say who is wrong; there may be no common order.",
    "Ask what each understood by the question, and fit the opposing groups separately.",
)
_GUESSING_WORDS = _Words(
    "problem",
    "guessing",
    ("answers", "answer"),
    "not measurably better than chance",
    f" The 95% interval of this share is below {WEAKLY:.0%}: even weak agreement would have shown."
    " Possible reasons are guessing, or hardly any care.",
    "Ask how they work, and leave them out if they cannot explain it.",
)
_DOUBTFUL_WORDS = _Words(
    "note",
    "perhaps-guessing",
    ("may be", "may be"),
    "guessing",
    " This is no proof: an honest annotator who is careless, or follows another order, may look "
    "the same.",
    "Ask for more of their judgments before you decide.",
)
_PERHAPS_REVERSED_WORDS = _Words(
    "note",
    "perhaps-reversed",
    ("may answer", "may answer"),
    "the opposite of the others",
    " This is no proof: with so few answers, random ones may look the same.",
    "Ask whether they read the question the other way round, or mixed up the buttons.",
)
_OWN_ORDER_WORDS = _Words(
    "note",
    "own-order",
    ("may follow", "may follow"),
    "another order than the others",
    " These answers agree with each other more than random or opposite ones would, so they are "
    "called neither.",
    "Ask which criterion they used. If it is legitimate, analyse their answers separately.",
)


def stray_findings(fitted: Fitted, found: Strays) -> list[Finding]:
    """Report strays."""
    split = 2 * len(found.reversed) >= fitted.judgments.n_annotators
    kinds = (
        (found.reversed, _CONTRADICTING_WORDS if split else _REVERSED_WORDS),
        (found.guessing, _GUESSING_WORDS),
        (found.doubtful, _DOUBTFUL_WORDS),
        (found.perhaps_reversed, _PERHAPS_REVERSED_WORDS),
        (found.own_order, _OWN_ORDER_WORDS),
    )
    return [_finding(fitted, found, who, words) for who, words in kinds if len(who)]


def stray_verdicts(fitted: Fitted, found: Strays) -> dict[str, tuple[str, str]]:
    """Return the verdict on each stray, and why."""
    kinds = (
        (PERHAPS_GUESSING, found.doubtful),
        (GUESSING, found.guessing),
        (REVERSED, found.reversed),
    )
    ids = fitted.judgments.annotator_ids
    return {str(ids[u]): (kind, _why(found, u)) for kind, who in kinds for u in who.tolist()}


def _why(found: Strays, u: int) -> str:
    """Say it in a row of a table, which also says how many judgments there are."""
    return f"agrees with others in {found.agreement[u]:.0%}; expected {found.expected[u]:.0%}"


def _said(found: Strays, u: int) -> str:
    """Say it in a sentence."""
    return (
        f"agrees with the others in {found.agreement[u]:.0%} of {int(found.decided[u]):,} decided "
        f"judgments; a typical annotator would in {found.expected[u]:.0%}"
    )


def _finding(fitted: Fitted, found: Strays, who: IntArray, words: _Words) -> Finding:
    judgments = fitted.judgments
    ids, first = judgments.annotator_ids[who], int(who[0])
    verb = words.verbs[len(who) > 1]
    adds, remedy = words.adds, words.remedy
    if words.code == _REVERSED_WORDS.code:
        inverts, said = _inverted(fitted, who)
        adds += said
        remedy += "" if inverts else " If so, leave them out."
    elif words.code == _GUESSING_WORDS.code:
        adds += _counted_against(fitted, who)
    others = annotators_named(ids)
    odds = odds_against(max(float(found.p_value[first]), 1e-300))
    return Finding(
        words.severity,
        words.code,
        f"'{ids[0]}' {_said(found, first)}. An attentive annotator who sees the items as the "
        f"others do would agree so little {odds}.{others}{adds}",
        remedy,
        {
            "annotators": listed(ids),
            "number": len(who),
            "decided_judgments": listed_numbers(found.decided[who]),
            "agreement_with_others": rounded(found.agreement[who]),
            "expected_agreement": rounded(found.expected[who]),
            "chance_if_honest": rounded(found.p_value[who], 10),
            "chance_if_tossed": rounded(found.p_value_if_tossed[who], 10),
        },
        title=f"{count(len(who), 'annotator')} of {judgments.n_annotators:,} {verb} {words.what}",
        affects=Affects.by_annotators(judgments, who.tolist()),
    )


def _inverted(fitted: Fitted, who: IntArray) -> tuple[bool, str]:
    """Say whose answers the fit inverts: of those alone whose reliability says so."""
    consensus = fitted.consensus
    turned = int(np.sum(consensus.reliabilities[who] < consensus.random_reliability))
    whose = "these answers" if turned == len(who) else f"the answers of {turned:,} of them"
    if not turned:
        return False, f" {consensus.method} does not invert these answers."
    return True, f" {consensus.method} inverts {whose}."


def _counted_against(fitted: Fitted, who: IntArray) -> str:
    """Say whose answers the fit inverts, though they may be guesses."""
    consensus = fitted.consensus
    turned = who[consensus.reliabilities[who] < consensus.random_reliability]
    if not len(turned):
        return ""
    return (
        f" {consensus.method} inverts the answers of {some(consensus.annotator_ids[turned])}, who "
        "may have read the question the other way round."
    )


def listed_numbers(numbers: IntArray) -> list[int]:
    """Return the first counts as plain numbers.

    Examples
    --------
    >>> listed_numbers(np.array([3, 4]))
    [3, 4]
    """
    return [int(number) for number in numbers[:LISTED]]
