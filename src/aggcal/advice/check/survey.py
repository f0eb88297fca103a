"""Check a whole study: every check in turn, each given only what the ones before found."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from aggcal._core.arrays import IntArray
from aggcal._core.kernels.threads import beside
from aggcal._core.machine import one_thread
from aggcal._core.tables import aligned
from aggcal.advice.check import passed
from aggcal.advice.check.agreement import agreement_findings, infit, krippendorff
from aggcal.advice.check.camp_findings import camp_findings, possible_camps
from aggcal.advice.check.camp_signs import first_sign
from aggcal.advice.check.camps import camps
from aggcal.advice.check.context import Fitted, grouping, refuse_method
from aggcal.advice.check.copies import Copies, copies, copy_findings
from aggcal.advice.check.counts import range_of, scored
from aggcal.advice.check.cycles import cycle_findings, cycles
from aggcal.advice.check.dependence import (
    dependence_findings,
    dependence_not_checked,
    independence_passed,
)
from aggcal.advice.check.findings import (
    Check,
    Finding,
    Passed,
)
from aggcal.advice.check.lapses import Lapses, lapse_findings
from aggcal.advice.check.of_data import of_data
from aggcal.advice.check.position import Sides, position_findings, side_verdicts, sides
from aggcal.advice.check.precision import Precision, precision
from aggcal.advice.check.presentation import BothOrders, both_orders
from aggcal.advice.check.reliability import Strays, strays
from aggcal.advice.check.sample import MANY, sample
from aggcal.advice.check.scores import opposite, same_source, unmatched
from aggcal.advice.check.self_contradiction import contradictions, repeated_questions, repeats
from aggcal.advice.check.stray_findings import stray_findings, stray_verdicts
from aggcal.advice.study import Study
from aggcal.advice.verdicts import Accused
from aggcal.aggregation import aggregate
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.newton import Progress
from aggcal.aggregation.uncertainty import FEWEST_TO_JUDGE_BY, Uncertainty
from aggcal.data.judgments import Judgments
from aggcal.errors import (
    AlikeIdsWarning,
    PairedByLevelWarning,
    SeparationWarning,
    WeaklyJoinedWarning,
)
from aggcal.registry import DEFAULT_METHOD, limits
from aggcal.registry.literals import FittedName

Step = Callable[[str], None]
_OF_COMPARISONS = {SeparationWarning.code, "one-way"}
"""Findings that do not hold of ratings: these say how far an item is above all others."""


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
        Leave out what takes long: copied answers, opposing groups, cycles and, unless a consensus
        is given, the precision. Where there is a sign of opposing groups, nobody is called
        reversed or guessing: their members would look the same. Of more than 5 million rows, a
        random sample of annotators is checked with all their answers; ``not_checked`` says how
        many, and what that can miss. By default so for more than 5 million rows.
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
    refuse_method(method)
    step: Step = on_step or (lambda _: None)
    study = Study.of(judgments)
    judgments = study.checked_judgments(MANY)
    scores, consensus = study.checked_scores(scores), study.checked_consensus(consensus, method)
    quick = len(judgments.count) > MANY if quick is None else quick
    if on_step is not None:
        step = _Numbered(on_step, 3 + judgments.sided + 3 * (not quick) + with_precision)
    part = sample(judgments, seed) if quick and len(judgments.count) > MANY else None
    consensus = consensus or _of_ratings(judgments, method, seed)
    chosen = (judgments if part is None else part.judgments).as_pairs()
    grouped = None if consensus is None else grouping(chosen)  # goes on beside what follows
    step("checking the comparisons")
    findings, clear, counts = of_data(judgments)
    if scores is not None:
        findings += unmatched(judgments, scores)
    step("fitting")
    if consensus is None:
        fitted = Fitted.of(chosen, method, seed=seed, on_iteration=on_iteration)
        whole = fitted.consensus
    else:
        taken = Fitted.by if part is None else Fitted.within
        fitted, whole = taken(chosen, consensus, grouped), consensus
    findings += [Finding.of_warning(w) for w in whole.warnings if w.code == "not-converged"]
    clear += passed.of_fit(whole)
    if scores is not None:
        model = aligned(scores.values, scores.item_ids, whole.item_ids)
        findings += opposite(whole, model)
        clear += passed.of_scores(whole, model, len(scores))
    # What takes long is the uncertainty of the fit, and a consensus comes with it.
    wanted = with_precision and part is None and (consensus is not None or not quick)
    begun = _precision_of(fitted, wanted_error, beside_the_rest=wanted and quick)
    looked = _Look(fitted, seed, step, quick=quick, sampled=part is not None)
    findings += looked.findings
    clear += looked.passed
    outlook: Precision | None = None
    if wanted:
        step("estimating the precision")
        outlook = begun()
        if scores is not None:
            findings += same_source(fitted.consensus, scores, seed)
    uncertainty = whole.uncertainty if wanted else whole.stated
    findings += _weakly_joined(uncertainty, judgments) + dependence_findings(uncertainty)
    clear += independence_passed(uncertainty)
    findings = _in_order(findings, whole)
    counts |= scored(judgments, scores) | looked.counts
    accused = looked.verdicts(None if part is None else part.looked_at)
    of_part = map(str, [] if part is None else [part])
    left_out = (*of_part, *looked.not_checked, *dependence_not_checked(uncertainty))
    return Check(counts, (), left_out, outlook, accused, tuple(clear)).with_findings(findings)


def _of_ratings(judgments: Judgments, method: str, seed: int) -> Consensus | None:
    """Return the fit of ratings as such, of which the pairs that they imply are checked."""
    if judgments.ratings is None or method != DEFAULT_METHOD:
        return None
    return aggregate(judgments, seed=seed, warn=False)


def _in_order(findings: list[Finding], whole: Consensus) -> list[Finding]:
    """Return what holds of the fit, problems first."""
    if whole.raters is not None:
        findings = [each for each in findings if each.code not in _OF_COMPARISONS]
    # Ids first: while one item goes by two names, whatever else is said may be wrong.
    return sorted(findings, key=lambda f: (f.severity != "problem", f.code != AlikeIdsWarning.code))


def _precision_of(
    fitted: Fitted, wanted_error: float | None, *, beside_the_rest: bool
) -> Callable[[], Precision | None]:
    """Return what estimates the precision, begun beside what else is done where that is wanted."""
    work = partial(precision, fitted, wanted_error)
    return beside(work) if beside_the_rest else work


def _weakly_joined(uncertainty: Uncertainty | None, judgments: Judgments) -> list[Finding]:
    """Return what the uncertainty of the fit found: where the prior puts items in order."""
    kinds = WeaklyJoinedWarning | PairedByLevelWarning
    warnings = () if uncertainty is None else uncertainty.warnings
    weak = [warning for warning in warnings if isinstance(warning, kinds)]
    return [Finding.of_warning(warning, judgments=judgments) for warning in weak]


class _Numbered:
    """Calls on with what is being done, and which of the parts it is."""

    def __init__(self, step: Step, total: int) -> None:
        self._step, self._total, self._number = step, total, 0

    def __call__(self, what: str) -> None:
        self._number += 1
        self._step(f"data check, part {self._number} of {self._total}: {what}")


class _Look:
    """The checks that need a fit, in the order in which one explains another away."""

    @one_thread()
    def __init__(
        self, fitted: Fitted, seed: int, step: Step, *, quick: bool, sampled: bool
    ) -> None:
        self.fitted, self.seed, self.step = fitted, seed, step
        self.quick, self.sampled = quick, sampled
        self.findings: list[Finding] = []
        self.passed: list[Passed] = []
        self.not_checked: list[str] = []
        self.counts: dict[str, Any] = {}
        self.named: set[int] = set()
        self.sides: Sides | None = None
        self.orders: BothOrders | None = None
        self.accused: dict[str, tuple[str, str]] = {}
        self.against_others = False
        self.unproven: frozenset[str] = frozenset()
        # Without copies and camps nothing that is found decides what else is looked for.
        self._agreed = beside(lambda: (krippendorff(fitted.answers), infit(fitted)))
        self._lapsed = beside(lambda: Lapses.of(fitted))
        self._contradicted = beside(lambda: (contradictions(fitted), repeats(fitted.answers)))
        self._sides()
        copied = self._copies()
        divided = self.divided = self._camps({u for group in copied.groups for u in group[1:]})
        self._tell_copies(copied, divided=divided)
        self._annotators(divided=divided)
        self._agreement()
        if fitted.judgments.seconds is None:
            self.not_checked.append("fast answers (the table has no times)")

    def verdicts(self, looked_at: frozenset[str] | None) -> Accused:
        """Return what was found of annotators, those of a sample where it is one."""
        return Accused(self.against_others, self.accused, self.unproven, self.divided, looked_at)

    def _name(self, who: IntArray) -> None:
        self.named |= set(who.tolist())

    def _sides(self) -> None:
        if not self.fitted.judgments.sided:
            self.not_checked.append(
                "position bias (the data do not say which item was shown on the left)"
            )
            return
        self.step("checking for position bias")
        orders = beside(lambda: both_orders(self.fitted))
        found = self.sides = sides(self.fitted)
        self._name(found.biased)
        decided = float(found.decided.sum())
        self.orders = orders()
        self.passed += passed.of_sides(found, self.orders)
        self.counts["left_chosen"] = float(found.lefts.sum()) / decided if decided else None
        if decided and not np.isfinite(found.study_error):
            self.not_checked.append(
                "position bias over the whole study (too few items were shown on both sides to "
                "tell it from their scores)"
            )
            return
        self.counts["left_advantage"] = {
            "logits": found.study_advantage,
            "standard_error": found.study_error if decided else 0.0,
        }

    def _copies(self) -> Copies:
        if self.quick:
            return Copies.none(skipped="copied answers (left out to save time)")
        self.step("looking for copied answers")
        return copies(self.fitted, self.named)

    def _tell_copies(self, found: Copies, *, divided: bool) -> None:
        if found.skipped is not None:
            self.not_checked.append(found.skipped)
        elif divided:
            # Held against a consensus that neither camp shares, friends look like copies.
            self.not_checked.append(
                "copied answers (annotators of one taste agree with each other anyway)"
            )
        else:
            self.findings += copy_findings(self.fitted, found)
            self.passed += passed.of_copies(found)
            self.not_checked += [] if found.left_out is None else [found.left_out]

    def _camps(self, copied: set[int]) -> bool:
        if self.quick:
            self.not_checked.append("opposing groups and cycles (left out to save time)")
            return False
        self.step("looking for opposing groups")
        found, _ = camps(self.fitted, copied | self.named, seed=self.seed)
        told = camp_findings(self.fitted, found)
        self.findings += told
        if not told:
            self.passed += passed.of_camps(self.fitted)
        self.step("looking for cycles")
        circles = cycles(self.fitted, seed=self.seed)
        self.counts["circular_triples"] = {
            "share": circles.share,
            "expected": circles.expected,
            "triples": circles.triads,
        }
        divided = any(finding.severity == "problem" for finding in told)
        if not divided:
            # The camps would explain the cycles.
            self.findings += cycle_findings(circles)
            self.passed += passed.of_cycles(circles)
        return divided

    def _annotators(self, *, divided: bool) -> None:
        self.step("checking the annotators")
        if self.fitted.judgments.n_annotators < FEWEST_TO_JUDGE_BY:
            self.not_checked.append(
                "annotators against the others (this needs three or more annotators)"
            )
        elif divided:
            self.not_checked.append(
                "annotators against the others (there is no single consensus to compare with)"
            )
        else:
            self.against_others = True
            biased = None if self.sides is None else self.sides.biased
            found = self._unless_camps(strays(self.fitted, biased))
            self.findings += stray_findings(self.fitted, found)
            self.accused |= stray_verdicts(self.fitted, found)
            ids = self.fitted.judgments.annotator_ids[~found.proven]
            self.unproven = frozenset(map(str, ids))
        if self.sides is not None and self.orders is not None:
            # One verdict each: who is reversed is not named again.
            told = self.sides.without(self.fitted, self.accused)
            self.findings[:0] = position_findings(self.fitted, told, self.orders)
            self.accused |= side_verdicts(self.fitted, told)
        found_again, again = self._contradicted()
        self.findings += found_again
        self.counts["repeated_pairs"] = again
        self.passed += passed.of_repeats(again["judged_again"], again["both_ways"])
        self.counts["repeated_questions"] = repeated_questions(self.fitted.answers)

    def _unless_camps(self, found: Strays) -> Strays:
        """Name fewer where a quick check sees a sign of camps, whose members it would accuse."""
        sided = set(self.named)
        self._name(found.named)
        if self.quick and len(found.named):
            sign = first_sign(self.fitted, sided, seed=self.seed)
            if sign.shows:
                self.findings += possible_camps(self.fitted, sign, found, sampled=self.sampled)
                self.not_checked.append(
                    "reversed and guessing annotators (members of opposing groups would look the "
                    "same)"
                )
                return found.unless(sign)
        codes = [each.code for each in stray_findings(self.fitted, found)]
        self.passed += passed.of_annotators(self.fitted, codes)
        return found

    def _agreement(self) -> None:
        found, fits = self._agreed()
        levels = agreement_findings(found)
        self.findings += levels
        if self.against_others:
            self.findings += lapse_findings(self.fitted, self._lapsed(), self.named)
        if not levels:
            self.passed += passed.of_agreement(found)
        if found is not None:
            self.counts["agreement"] = {
                "two_annotators": found.agree,
                "by_chance": found.by_chance,
                "krippendorff_alpha": found.alpha,
                "pairs": found.pairs,
            }
        self.counts["infit"] = range_of(fits)
