"""Position bias: of single annotators, and over the whole study."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from aggcal._core.arrays import (
    BoolArray,
    CodeArray,
    FloatArray,
    IntArray,
    elementwise,
    starts_of,
    sums,
)
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.findings import Affects, Finding, annotators_named, listed, rounded
from aggcal.advice.check.pair_answers import TIE
from aggcal.advice.check.presentation import BothOrders, order_findings
from aggcal.advice.check.row_sums import Shifted
from aggcal.advice.check.side_of_study import advantage_of_all, switched
from aggcal.advice.check.testing import holm, odds_against, probability_of_at_least
from aggcal.advice.verdicts import ONE_SIDED
from aggcal.aggregation.effects import AnnotatorEffect
from aggcal.aggregation.links import LOGISTIC
from aggcal.errors import count

_RATE = 0.005
"""Chance that a study names anybody wrongly as following a side."""
_LEAST_SHARE = 0.55
_LEAST_ADVANTAGE = float(np.log(_LEAST_SHARE / (1.0 - _LEAST_SHARE)))
"""What the side must be worth to matter, in logits: more than 55 to 45 in an even pair."""
_SURE = 3.3
"""Standard errors from which the study as a whole is said to prefer a side: 1 time in 1,000."""
_CLEAR = 2.0  # standard errors from which the title names the side that all together prefer
_ADVANTAGE_SD = 2.0  # logits: wide, so that it shrinks only those who judged little
_ROUNDS = 12  # of Newton's steps, at most
_SETTLED = 1e-10  # logits: after so short a step the next would be lost in rounding
_NOTHING = "Answers that follow the side say nothing about the items."
_TAKEN_OUT = (
    "The fit estimates each annotator's preference for a side and takes it out of the scores; what "
    "follows the side alone says nothing about the items."
)


_Four = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Sides:
    """What the left side is worth, in logits (0: nothing; 0.5: 62 to 38 in an even pair).

    ``advantage`` of each annotator, drawn towards 0 where there are few judgments;
    ``study_advantage`` of all together, with its standard error; ``switched`` how many pairs of
    items change places in the consensus order when that is allowed for (None: not worked out).
    """

    lefts: FloatArray
    decided: FloatArray
    advantage: FloatArray
    p_value: FloatArray
    biased: IntArray
    study_advantage: float
    study_error: float
    switched: int | None

    def without(self, fitted: Fitted, named: Container[str]) -> Sides:
        """Return the same, with nobody among the biased of whom more is known already."""
        ids = fitted.judgments.annotator_ids
        kept = np.array([str(ids[u]) not in named for u in self.biased.tolist()], dtype=bool)
        return replace(self, biased=self.biased[kept])


def sides(fitted: Fitted) -> Sides:
    """Measure what the side is worth, over and above what the others think of the items.

    An annotator follows a side if the share of left answers is further from what the items explain
    than chance allows (Holm, with the chance `_RATE` of a single wrong name in a study), and if the
    side is worth more than 55 to 45. Both the annotator's reliability and the scores are known only
    so well, and answers to one pair or on one screen may hang together: all of this is allowed for.

    Examples
    --------
    >>> import aggcal
    >>> rows = [(u, a, b, "left" if u == "eve" or a < b else "right")
    ...         for u in ("ann", "bob", "eve") for a in "abcdef" for b in "abcdef" if a != b]
    >>> found = sides(Fitted.of(aggcal.read_judgments(rows)))
    >>> found.biased, found.lefts.astype(int)
    (array([2]), array([15, 15, 30]))
    """
    judgments, m = fitted.judgments, fitted.judgments.n_annotators
    decided = judgments.outcome != TIE
    owner = judgments.annotator[decided]
    number = judgments.count[decided].astype(np.float64)
    left = (judgments.outcome[decided] > TIE).astype(np.float64)
    given = sums(owner, number, m)
    lefts = sums(owner, number * left, m)
    offset = fitted.population.slopes[owner] * fitted.gap[decided]
    rows = Shifted(starts_of(owner, m), offset, left, number)
    advantage = _advantages(rows)
    unlikely = _unlikely(fitted, decided, lefts, advantage)
    biased = np.flatnonzero(holm(unlikely, _RATE) & (np.abs(advantage) > _LEAST_ADVANTAGE))
    biased = biased[np.argsort(-np.abs(advantage[biased]) * np.sqrt(given[biased]), kind="stable")]
    whole, error = advantage_of_all(fitted, decided, rows)
    return Sides(
        lefts, given, advantage, unlikely, biased, whole, error, switched(fitted, decided, whole)
    )


def _unlikely(
    fitted: Fitted, decided: BoolArray, lefts: FloatArray, advantage: FloatArray
) -> FloatArray:
    """Return the chance that someone who looks only at the items chooses a side so often.

    It is the largest of three: the exact one, with the least telling of likely reliabilities; one
    that allows for the uncertainty of the scores; and one that allows for answers that hang
    together. Where one of them is so large that nobody is named, the others are not worked out.
    """
    judgments, m = fitted.judgments, fitted.judgments.n_annotators
    slopes, errors = fitted.population.slopes, fitted.population.slope_errors
    owner, gap = judgments.annotator, fitted.gap

    def doubted(decided: BoolArray, count: IntArray, chance: FloatArray, gap: FloatArray) -> _Four:
        number, chance = (
            np.where(decided, count, 0).astype(np.float64),
            np.where(decided, chance, TIE),
        )
        doubt = number * chance * (1.0 - chance)
        return number, doubt, doubt * gap, doubt * np.square(gap)

    given = decided, judgments.count, fitted.probability, gap
    number, doubt, once, twice = elementwise(doubted, *given, results=4)
    # What an error of the reliability would do is taken out of the sum of left answers.
    tilt = sums(owner, once, m) / np.maximum(sums(owner, twice, m), 1e-12)

    def beyond(
        who: CodeArray, decided: BoolArray, outcome: FloatArray, *given: FloatArray
    ) -> _Four:
        gap, chance, number, doubt = given
        left = np.where(decided, (outcome > TIE).astype(np.float64), TIE)
        part = 1.0 - tilt[who] * gap
        excess = number * part * (left - np.where(decided, chance, TIE))
        fits = LOGISTIC.probability(slopes[who] * gap + advantage[who])
        residual = np.where(decided, part * (left - fits), 0.0)
        return part, excess, doubt * np.square(part), residual

    columns = owner, decided, judgments.outcome, gap, fitted.probability, number, doubt
    part, more, around, residuals = elementwise(beyond, *columns, results=4)
    excess, variance = sums(owner, more, m), sums(owner, around, m)
    standard = np.abs(excess) / np.sqrt(np.maximum(variance, 1e-12))
    together = fitted.clusters.tail(-standard, fitted.clusters.inflation(residuals))
    unlikely = np.maximum(2.0 * ndtr(-standard), np.minimum(1.0, 2.0 * together))
    # Who is above the rate is not named, however far: no more needs to be computed.
    starts = starts_of(owner, m)
    for u in np.flatnonzero(unlikely <= _RATE).tolist():
        mine = slice(int(starts[u]), int(starts[u + 1]))
        drawn = fitted.others.gap_errors(u, judgments.left[mine], judgments.right[mine])
        moved = slopes[u] * (drawn @ (doubt[mine] * part[mine]))
        error = float(np.sqrt(variance[u] + np.mean(np.square(moved))))
        unlikely[u] = max(unlikely[u], 2.0 * float(ndtr(-abs(float(excess[u])) / error)))
        each = np.repeat(gap[mine], number[mine].astype(np.int64))
        for slope in slopes[u] + errors[u] * np.array([-2.0, 0.0, 2.0]):
            if unlikely[u] > _RATE:
                break
            exact = _two_sided(int(lefts[u]), LOGISTIC.probability(slope * each))
            unlikely[u] = max(unlikely[u], exact)
    return unlikely


def _two_sided(lefts: int, probabilities: FloatArray) -> float:
    above = probability_of_at_least(lefts, probabilities)
    below = probability_of_at_least(len(probabilities) - lefts, 1.0 - probabilities)
    return min(1.0, 2.0 * min(above, below))


def _advantages(rows: Shifted) -> FloatArray:
    """Return each annotator's advantage of the left side, with a wide prior about 0."""
    advantage: FloatArray = np.zeros(len(rows.starts) - 1)
    for _ in range(_ROUNDS):
        pull, curve = rows.sums(advantage)
        pull -= advantage / _ADVANTAGE_SD**2
        step = np.clip(pull / (curve + _ADVANTAGE_SD**-2), -1.0, 1.0)
        advantage += step
        if np.abs(step).max(initial=0.0) < _SETTLED:
            break
    return advantage


def position_findings(fitted: Fitted, found: Sides, orders: BothOrders) -> list[Finding]:
    """Report position bias."""
    effects = fitted.consensus.effects
    position = None if effects is None else effects.position
    study = _over_the_study(found) if position is None else _taken_out(found, position)
    return [*_per_annotator(fitted, found), *study, *order_findings(orders)]


def side_verdicts(fitted: Fitted, found: Sides) -> dict[str, tuple[str, str]]:
    """Return the verdict on each annotator who follows a side, and why."""
    verdicts = {}
    for u in found.biased.tolist():
        side, chosen = _chosen(found, u)
        verdicts[str(fitted.judgments.annotator_ids[u])] = (
            ONE_SIDED,
            f"chose the {side} in {chosen:,} of {int(found.decided[u]):,} decisions",
        )
    return verdicts


def _chosen(found: Sides, u: int) -> tuple[str, int]:
    lefts, given = int(found.lefts[u]), int(found.decided[u])
    return ("left", lefts) if found.advantage[u] > 0.0 else ("right", given - lefts)


def _per_annotator(fitted: Fitted, found: Sides) -> list[Finding]:
    if not len(found.biased):
        return []
    judgments, who = fitted.judgments, found.biased
    ids, first = judgments.annotator_ids[who], int(found.biased[0])
    given, (side, chosen) = int(found.decided[first]), _chosen(found, first)
    effects = fitted.consensus.effects
    taken_out = effects is not None and effects.position is not None
    always = int(np.sum((found.lefts[who] == found.decided[who]) | (found.lefts[who] == 0.0)))
    same = count(always, "annotator always chooses", "annotators always choose")
    blind = f" {same} the same side."
    one = len(who) == 1
    return [
        Finding(
            "problem",
            "position-bias",
            f"'{ids[0]}' chose the {side}-hand item in {chosen:,} of {given:,} decided judgments; "
            "someone who looks only at the items would do so "
            f"{odds_against(max(float(found.p_value[first]), 1e-300))}.{annotators_named(ids)}"
            f"{blind if always and not one else ''} {_TAKEN_OUT if taken_out else _NOTHING}",
            f"Show {'this annotator' if one else 'these annotators'} every pair in both orders, or "
            f"leave {'them' if not one else 'the annotator'} out.",
            {
                "annotators": listed(ids),
                "number": len(who),
                "chose_left": rounded(found.lefts[who]),
                "decided": rounded(found.decided[who]),
                "left_share": rounded(found.lefts[who] / found.decided[who]),
                "left_advantage_logits": rounded(found.advantage[who]),
                "chance": rounded(found.p_value[who], 10),
            },
            title=f"{count(len(who), 'annotator')} of {judgments.n_annotators:,} "
            f"{'favours' if one else 'favour'} one side of the screen",
            affects=Affects.by_annotators(judgments, who.tolist()),
        )
    ]


def _taken_out(found: Sides, position: AnnotatorEffect) -> list[Finding]:
    """Report the preference for a side that the fit has found, and taken out of the scores."""
    common, error, sd = position.common, position.common_se, position.sd
    side = "left" if common > 0.0 else "right"
    even = float(LOGISTIC.probability(np.array([abs(common)]))[0])
    why = (
        f"Of two equal items the {side} one would win {even:.1%} of the decided judgments "
        f"({common:+.2f} logits for the left, standard error {error:.2f}); annotators differ "
        f"by {sd:.2f} logits (sd)."
    )
    title = f"A preference for the {side} side is taken out of the scores"
    if abs(common) < _CLEAR * error:
        title = "Annotators' preferences for a side are taken out of the scores"
        why += " On average, neither side is clearly preferred."
    return [
        Finding(
            "note",
            "side-preferred",
            f"{why} The fit takes this out of the scores.",
            "Nothing needs to be corrected. Showing each pair in both orders about equally often "
            "makes the scores more certain.",
            {
                "left_advantage_logits": round(common, 4),
                "standard_error": round(error, 4),
                "annotators_sd_logits": round(sd, 4),
                "taken_out": True,
                "chose_left": int(found.lefts.sum()),
                "decided": int(found.decided.sum()),
            },
            title=title,
            why=why,
            affects=Affects(judgments=int(found.decided.sum())),
        )
    ]


def _over_the_study(found: Sides) -> list[Finding]:
    whole, error = found.study_advantage, found.study_error
    large = abs(whole) > _LEAST_ADVANTAGE
    if abs(whole) < _SURE * error or not (large or found.switched):
        return []
    side = "left" if whole > 0.0 else "right"
    even = float(LOGISTIC.probability(np.array([abs(whole)]))[0])
    order = ""
    if found.switched is not None:
        pairs = count(found.switched, "pair of items swaps", "pairs of items swap")
        order = f" Correcting for it, {pairs if found.switched else 'no pair of items swaps'} "
        order += "places in the order."
    return [
        Finding(
            "problem" if large else "note",
            "side-preferred",
            f"Of two equal items the {side} one would win {even:.1%} of the time "
            f"({whole:+.2f} logits for the left, standard error {error:.2f}).{order}",
            "Show each pair in both orders about equally often, so that the bias cancels out. If "
            "one annotator causes it, deal with that one first.",
            {
                "left_advantage_logits": round(whole, 4),
                "standard_error": round(error, 4),
                "chose_left": int(found.lefts.sum()),
                "decided": int(found.decided.sum()),
                "pairs_switched": found.switched,
            },
            title=f"Position bias: the {side} item of two equal ones wins {even:.0%} of the time",
            why=f"The preference is {whole:+.2f} logits for the left (standard error "
            f"{error:.2f}).{order}",
            affects=Affects(judgments=int(found.decided.sum())),
        )
    ]
