"""Check a whole study: its rows, its fit, its annotators, its scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aggcal._core.machine import one_thread
from aggcal._core.tables import aligned
from aggcal.advice.check.agreement import (
    agreement_findings,
    infit,
    krippendorff,
    repeated_questions,
    repeats,
)
from aggcal.advice.check.data import of_data, opposite, range_of, same_source, unmatched
from aggcal.advice.check.explanations import LEAST_SHARED
from aggcal.advice.check.findings import Check, Finding, Passed
from aggcal.advice.check.look import People, people_of
from aggcal.advice.check.precision import Precision, precision
from aggcal.advice.check.says import (
    accused,
    annotator_findings,
    camp_findings,
    copy_findings,
    dependence_findings,
    people_passed,
    side_findings,
)
from aggcal.advice.study import Study
from aggcal.advice.verdicts import Accused
from aggcal.aggregation import aggregate
from aggcal.aggregation.camps import ONE, Camps
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.newton import Progress
from aggcal.aggregation.terms import Terms
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.data.judgments import Judgments
from aggcal.errors import (
    AlikeIdsWarning,
    OptionError,
    PairedByLevelWarning,
    SeparationWarning,
    WeaklyJoinedWarning,
    count,
)
from aggcal.registry import DEFAULT_METHOD, WITHOUT_FEATURES, limits
from aggcal.registry.literals import FittedName

Step = Callable[[str], None]
_OF_COMPARISONS = {SeparationWarning.code, "one-way"}
"""Findings that do not hold of ratings: these say how far an item is above all others."""

FITTED = WITHOUT_FEATURES
"""The methods that a check can fit: those that need nothing but judgments."""
MANY = 5_000_000
"""Rows that a check of a cluster's judgments brings here, and from which it is quick unasked."""


def check(
    judgments: Any,
    scores: Any = None,
    *,
    method: FittedName = DEFAULT_METHOD,
    consensus: Consensus | None = None,
    wanted_error: float | None = None,
    quick: bool | None = None,
    with_precision: bool = True,
    seed: int = 0,
    on_step: Step | None = None,
    on_iteration: Progress | None = None,
) -> Check:
    """Check a study: what is wrong with it, and what to do about it.

    Parameters
    ----------
    judgments
        `Judgments`, or anything that `read_judgments` takes; or a result: what `assess`,
        `aggregate`, `calibrate`, `compare_methods`, `suggest_pairs` or `simulate` returned, a
        dataset, or a fitted estimator of ``aggcal.sklearn``.
    scores
        The model's scores, to see whether they belong to it: `Scores`, or anything that
        `read_scores` takes. A result gives its own.
    method
        What is fitted; a name of ``aggcal list methods`` that needs no features.
    consensus
        The consensus of these judgments by such a method, if it was already fitted. A result gives
        its own, unless another ``method`` is asked for.
    wanted_error
        The wanted standard error of a score on the consensus scale. Without it, the aim is that
        two random items are ordered correctly with probability 90%.
    quick
        Leave out what takes long: the search for opposing groups and, unless a consensus is given,
        the precision. Where there is a sign of opposing groups, nobody is called reversed or
        guessing: their members would look the same. By default so for more than 5 million rows.
    with_precision
        Estimate how certain the order is, which takes about half of the time.
    seed
        Seed for all random numbers.
    on_step
        Called with a description of the current step.
    on_iteration
        Called with the iteration and the relative gradient norm of the fit.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("ann", "c", "d"), ("bob", "b", "a"), ("bob", "d", "c")]
    >>> found = aggcal.check(rows)
    >>> [finding.code for finding in found.findings]
    ['disconnected', 'few-judgments']
    >>> found.findings[0].details["joining_pairs"]
    [['c', 'a']]
    """
    limits.check(precision=wanted_error, seed=seed)
    if method not in FITTED:
        raise OptionError(f"a check cannot fit '{method}'; choose {', '.join(FITTED)}.")
    study = Study.of(judgments)
    judgments = study.checked_judgments(MANY)
    scores, consensus = study.checked_scores(scores), study.checked_consensus(consensus, method)
    quick = len(judgments.count) > MANY if quick is None else quick
    wanted = with_precision and (consensus is not None or not quick)
    step = _Numbered(on_step, 3 + wanted)
    step("checking the comparisons")
    findings, passed, counts = of_data(judgments)
    if scores is not None:
        findings += unmatched(judgments, scores)
    step("fitting")
    if consensus is None:
        consensus = aggregate(judgments, method, seed=seed, warn=False, on_iteration=on_iteration)
    _refuse(consensus, judgments)
    wrong, right = _converged(consensus)
    findings, passed = findings + wrong, passed + right
    if scores is not None:
        model = aligned(scores.values, scores.item_ids, consensus.item_ids)
        wrong, right = opposite(consensus, model, len(scores))
        findings, passed = findings + wrong, passed + right
        both = set(scores.item_ids) & set(judgments.item_ids)
        counts |= {"scored_items": len(scores), "items_in_both": len(both)}
    step("checking the annotators")
    people = _people(judgments, consensus, seed, quick=quick)
    left_out = _not_checked(judgments, people)
    told, right = _told(judgments, consensus, people, counts)
    findings, passed = findings + told, passed + right
    outlook: Precision | None = None
    if wanted:
        step("estimating the precision")
        outlook = precision(judgments, consensus, wanted_error)
        if scores is not None:
            findings += same_source(consensus, scores, seed)
    uncertainty = consensus.uncertainty if wanted else consensus.stated
    findings += _weakly_joined(uncertainty, judgments)
    wider, right = dependence_findings(uncertainty)
    findings, passed = findings + wider, passed + right
    if uncertainty is None:
        left_out.append("dependent answers (standard errors were not computed)")
    elif not uncertainty.factors:
        left_out.append("dependent answers (too few answers share anything)")
    findings = _in_order(findings, consensus)
    named = _accused(judgments, people)
    return Check(counts, (), tuple(left_out), outlook, named, tuple(passed)).with_findings(findings)


def _converged(consensus: Consensus) -> tuple[list[Finding], list[Passed]]:
    """Say whether the fit converged, where it says so itself."""
    wrong = [Finding.of_warning(w) for w in consensus.warnings if w.code == "not-converged"]
    if consensus.convergence is None or not consensus.convergence.converged:
        return wrong, []
    return wrong, [Passed("not-converged", f"The fit ({consensus.method}) converged.")]


def _in_order(findings: list[Finding], consensus: Consensus) -> list[Finding]:
    """Return what holds of the fit, problems first."""
    if consensus.raters is not None:
        findings = [each for each in findings if each.code not in _OF_COMPARISONS]
    # Ids first: while one item goes by two names, whatever else is said may be wrong.
    return sorted(findings, key=lambda f: (f.severity != "problem", f.code != AlikeIdsWarning.code))


def _refuse(consensus: Consensus, judgments: Judgments) -> None:
    """Refuse a consensus that is not of these judgments, or not of a method that can be checked."""
    if consensus.method not in FITTED:
        raise OptionError(f"a check cannot use '{consensus.method}'; leave the consensus out.")
    if consensus.item_ids.tolist() != judgments.item_ids.tolist():
        raise OptionError("the consensus belongs to other judgments; leave it out.")


class _Numbered:
    """Calls on with what is being done, and which of the parts it is."""

    def __init__(self, step: Step | None, total: int) -> None:
        self._step, self._total, self._number = step, total, 0

    def __call__(self, what: str) -> None:
        self._number += 1
        if self._step is not None:
            self._step(f"data check, part {self._number} of {self._total}: {what}")


@one_thread()
def _people(judgments: Judgments, consensus: Consensus, seed: int, *, quick: bool) -> People:
    """Look over the annotators; a sign of camps is put to the model that ``--bridge`` fits."""

    def decide() -> Camps:
        effects = consensus.effects
        if effects is not None and effects.camps is not None:
            return effects.camps
        terms = Terms(bridge="camps")
        effects = aggregate(judgments.as_pairs(), terms=terms, seed=seed, warn=False).effects
        return Camps(ONE) if effects is None or effects.camps is None else effects.camps

    people = people_of(judgments, None if quick else decide, seed)
    known = consensus.uncertainty if consensus.stated is None else consensus.stated
    if known is not None and known.reliability_low is not None:
        # Nobody whom the fit rates reliable is accused of guessing or of answering in reverse.
        rated = known.reliability_low > consensus.random_reliability
        for kind in ("reversed", "guessing"):
            if kind in people.named:
                people.named[kind] = people.named[kind][~rated[people.named[kind]]]
    return people


def _not_checked(judgments: Judgments, people: People) -> list[str]:
    """Say what was not looked at, and why."""
    looked, found = people.looked, list[str]()
    drawn, m = len(looked.cells.people), judgments.n_annotators
    if drawn < m:
        found.append(
            f"copied answers and opposing groups among all annotators (to save time, {drawn:,} of "
            f"{count(m, 'annotator')} were drawn at random)"
        )
    if (
        unseen := int(np.sum(np.isnan(people.careless) & (people.decided > 0.0)))
    ) and people.judged:
        found.append(f"{count(unseen, 'annotator')} against the others (to save time)")
    if not judgments.sided:
        found.append("position bias (the data do not say which item was shown on the left)")
    elif not np.isfinite(people.common_se):
        found.append(
            "position bias over the whole study (too few items were shown on both sides to tell it "
            "from their scores)"
        )
    if not people.compared and not people.divided:
        found.append(f"copied answers (no two annotators share {LEAST_SHARED} or more questions)")
    found += _not_judged(people)
    if judgments.seconds is None:
        found.append("fast answers (the table has no times)")
    return found


def _not_judged(people: People) -> list[str]:
    """Say why annotators were not held against each other, where they were not."""
    if people.divided:
        return [
            "copied answers (annotators of one taste agree with each other anyway)",
            "annotators against the others (there is no single consensus to compare with)",
        ]
    if not people.judged:
        return ["annotators against the others (this needs three or more annotators)"]
    if people.withheld:
        camps = people.camps
        why = "a full check looks for them" if camps is None else camps.not_looked
        like = f"there is a sign of opposing groups, whose members would look the same; {why}"
        return [f"opposing groups, and reversed and guessing annotators ({like})"]
    return []


def _told(
    judgments: Judgments, consensus: Consensus, people: People, counts: dict[str, Any]
) -> tuple[list[Finding], list[Passed]]:
    """Return what is said of annotators, and count."""
    looked, tallies = people.looked, judgments.tallies
    findings = side_findings(judgments, consensus, people)
    if people.camps is not None and people.divided:
        findings += camp_findings(judgments, people.camps)
    findings += copy_findings(judgments, people.copies)
    findings += annotator_findings(judgments, consensus, people)
    agreement = krippendorff(judgments)
    low, agreed = agreement_findings(agreement)
    if judgments.sided:
        decided = float(tallies.decided.sum())
        counts["left_chosen"] = float(tallies.lefts.sum()) / decided if decided else None
        if np.isfinite(people.common_se):
            counts["left_advantage"] = {
                "logits": people.common,
                "standard_error": people.common_se,
            }
    counts["repeated_pairs"] = repeats(looked.cells, looked.won)
    counts["repeated_questions"] = repeated_questions(judgments)
    if agreement is not None:
        counts["agreement"] = {
            "two_annotators": agreement.agree,
            "by_chance": agreement.by_chance,
            "krippendorff_alpha": agreement.alpha,
            "pairs": agreement.pairs,
        }
    counts["infit"] = range_of(infit(looked.cells, looked.won, looked.fitted))
    return findings + low, people_passed(judgments, people) + agreed


def _accused(judgments: Judgments, people: People) -> Accused:
    """Return the verdicts on annotators."""
    ids, m = judgments.annotator_ids, judgments.n_annotators
    seen = ~np.isnan(people.careless)
    unproven = frozenset(map(str, ids[~people.proven])) if people.judged else frozenset()
    looked_at = None if seen.all() or not people.judged else frozenset(map(str, ids[seen]))
    if looked_at is not None and len(judgments.count) <= m:
        looked_at = None
    return Accused(people.judged, accused(judgments, people), unproven, people.divided, looked_at)


def _weakly_joined(uncertainty: Uncertainty | None, judgments: Judgments) -> list[Finding]:
    """Return what the uncertainty of the fit found: where the prior puts items in order."""
    kinds = WeaklyJoinedWarning | PairedByLevelWarning
    warnings = () if uncertainty is None else uncertainty.warnings
    weak = [warning for warning in warnings if isinstance(warning, kinds)]
    return [Finding.of_warning(warning, judgments=judgments) for warning in weak]
