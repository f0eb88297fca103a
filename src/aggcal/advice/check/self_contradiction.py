"""Annotators who judge the same pair both ways, more than its closeness explains."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, TextArray, starts_of, sums
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.findings import Affects, Finding, annotators_named, listed, rounded
from aggcal.advice.check.pair_answers import Answers
from aggcal.advice.check.testing import holm, odds_against, probability_of_at_least
from aggcal.aggregation.links import LOGISTIC
from aggcal.errors import count

_RATE = 0.005
"""Chance that a study names anybody wrongly here."""
_LEAST_EXCESS = 1.5
_DOUBT = 2.0
"""Standard errors by which a reliability may be lower than it seems: the careless are not accused
of what the careful do not do.
"""


def repeats(answers: Answers) -> dict[str, Any]:
    """Count the pairs that an annotator judged more than once, and those judged both ways.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("ann", "b", "a"), ("bob", "a", "b"), ("bob", "a", "b")]
    >>> repeats(Answers.of(aggcal.read_judgments(rows)))
    {'judged_again': 2, 'both_ways': 1}
    """
    ups, downs = answers.decided
    both = (ups > 0) & (downs > 0)
    return {"judged_again": int(np.sum(ups + downs > 1)), "both_ways": int(both.sum())}


def repeated_questions(answers: Answers) -> int:
    """Count judgments of a pair that the same annotator judged before, duplicate rows left out.

    Examples
    --------
    >>> import aggcal
    >>> names = ("annotator", "winner", "loser", "day")
    >>> rows = [dict(zip(names, row, strict=True)) for row in ("uab1", "uba2", "uba2")]
    >>> repeated_questions(Answers.of(aggcal.read_judgments(rows)))
    1
    """
    judgments = answers.judgments
    return judgments.n_judgments - len(answers.asked.pair) - judgments.n_duplicates


def contradictions(fitted: Fitted) -> list[Finding]:
    """Report annotators who contradict themselves more than their own reliability explains.

    Someone who judges a pair k times, with the chance p for one side each time, says both with the
    chance 1 − pᵏ − (1 − p)ᵏ; the number of such pairs is compared with that. The reliability is
    known only so well: the lowest likely one counts, so that a careless annotator is not accused
    of more than that.
    """
    judgments, grouped = fitted.judgments, fitted.answers.asked
    ups, downs = fitted.answers.decided
    again = np.flatnonzero(ups + downs > 1)
    if not len(again):
        return []
    gap = _gaps(fitted, again)
    ups, downs, owner = ups[again], downs[again], grouped.annotator[again]
    times, both = ups + downs, (ups > 0) & (downs > 0)
    population = fitted.population
    least = np.maximum(np.abs(population.slopes) - _DOUBT * population.slope_errors, 0.0)
    p = LOGISTIC.probability(least[owner] * gap)
    expected = 1.0 - p**times - (1.0 - p) ** times
    m = judgments.n_annotators
    seen = sums(owner, both.astype(np.int64), m)
    usual = sums(owner, expected, m)
    p_value: FloatArray = np.ones(m)
    starts = starts_of(owner, m)
    for u in np.flatnonzero(seen > usual).tolist():
        mine = slice(int(starts[u]), int(starts[u + 1]))
        p_value[u] = probability_of_at_least(int(seen[u]), expected[mine])
    again_by = np.diff(starts).astype(np.float64)
    tested = np.flatnonzero(again_by > 0.0)
    chosen = tested[holm(p_value[tested], _RATE)]
    chosen = chosen[seen[chosen] >= _LEAST_EXCESS * usual[chosen]]
    if not len(chosen):
        return []
    chosen = chosen[np.argsort(p_value[chosen], kind="stable")]
    ids = judgments.annotator_ids[chosen]
    affects = Affects.by_annotators(judgments, chosen.tolist())
    numbers = (column[chosen] for column in (seen, usual, again_by, p_value))
    return [replace(_finding(ids, *numbers), affects=affects)]


def _gaps(fitted: Fitted, entries: IntArray) -> FloatArray:
    """Return how far the first item lies above the second for the others, for these entries."""
    of_row = fitted.answers.asked.of_row
    number = np.full(len(fitted.answers.asked.pair), -1)
    number[entries] = np.arange(len(entries))
    rows = np.flatnonzero(number[of_row] >= 0)
    entry, gap = number[of_row[rows]], fitted.gap[rows]
    toward_first = np.where(fitted.answers.first_is_left[rows], gap, -gap)
    return sums(entry, toward_first, len(entries)) / np.bincount(entry)


def _finding(
    ids: TextArray, seen: FloatArray, usual: FloatArray, again: FloatArray, p_value: FloatArray
) -> Finding:
    """Report these annotators, the least likely first."""
    return Finding(
        "problem",
        "self-contradiction",
        f"'{ids[0]}' gave both answers for {int(seen[0])} of {int(again[0])} pairs judged again; "
        f"{usual[0]:.1f} are expected, given how close the items are and how reliable the "
        f"annotator is. Chance gives so many {odds_against(p_value[0])}.{annotators_named(ids)}",
        "Ask them how they decide, or whether two people share the account. Ignore this if the "
        "pair was shown with different material each time (such as models on several prompts).",
        {
            "annotators": listed(ids),
            "number": len(ids),
            "both_ways": rounded(seen),
            "expected": rounded(usual),
            "judged_again": rounded(again),
            "chance": rounded(p_value, 10),
        },
        title=f"{count(len(ids), 'annotator')} contradicted their own answers to the same pairs",
    )
