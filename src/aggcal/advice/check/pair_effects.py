r"""Answers to one pair that agree with each other more than the items' scores explain.

The model takes answers to be independent once the scores and reliabilities are known. They are not
where a pair is judged by something of its own (the way it is shown, a feature that only these two
share) or where annotators copy: then ten answers to a pair tell less than ten. With the residuals
r = y − p of the answers, weighed by their annotators' slopes γ, what different annotators share is

    T = Σ_pairs [ (Σ_u R_u)² − Σ_u R_u² ],   R_u = Σ γ r over u's answers to the pair.

Only products of different annotators' residuals enter, so T does not depend on how much single
answers scatter (ties). That slopes are estimates, from few answers of each of many people, and that
some people lapse more than others, makes T too large: what is found is looked at again, with both
allowed for (`second_look`).

With I_u = Σ γ² p (1 − p) and I = Σ_u I_u, independent answers give E T = −Σ C (I² − Σ I_u²), where
C is the variance of the pair's gap: the fit has seen the answers itself. The variance is at most
2 Σ (I² − Σ I_u²), and the tail that of a gamma distribution with the skewness of T. An effect of sd
τ on the gap of each pair adds τ² Σ (I² − Σ I_u²).

Where answers have weights w, residuals are multiplied by the mean weight v of their annotator:
R_u = Σ v γ r. The fit hardly knows how reliable somebody is whose answers hardly count, and errs
alike for all such people. Then Σ v γ² p (1 − p) takes the place of I_u, but in the variance
Σ v² γ² p (1 − p); what the fit has seen is worked out with both kinds of weights.

The same sum over the answers of one annotator to one pair tells whether people repeat themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import cached_property

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, elementwise, sums
from aggcal._core.compiled_scipy import expit
from aggcal._core.records import dataclass
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.findings import Finding
from aggcal.advice.check.gap_variances import GapVariances, Variances, weights_of_answers
from aggcal.advice.check.row_sums import Mending
from aggcal.advice.check.second_look import looked_again
from aggcal.advice.check.shared_pull import Moments, Shared, pulled_together
from aggcal.advice.check.testing import odds_against
from aggcal.advice.check.tied_slopes import slopes_with_ties
from aggcal.data.judgments import Judgments
from aggcal.errors import count

_GRAVE = 1.25
"""Variance, as a multiple of the stated one, from which it is a problem and not a note."""

_STEPS, _SETTLED = 12, 1e-6
"""Of Newton's method: the step after so short a one would change nothing to speak of."""
_Three = tuple[FloatArray, FloatArray, FloatArray]
_RIDGE = 4.0
"""Keeps the two numbers that mend the link within about 0.5: they absorb scale and lapses only."""


def pair_effects(fitted: Fitted, without: AbstractSet[int] = frozenset()) -> Shared | None:
    """Test whether answers to a pair by different annotators, or in contexts, share an effect.

    Parameters
    ----------
    fitted
        The study and its fit.
    without
        Annotators to leave out: known copies of others.

    Returns
    -------
    Shared or None
        None where no pair was judged by two annotators (or, where they are known, in two contexts).

    Examples
    --------
    Twelve annotators answer alike, for and against a circle of three items:

    >>> import aggcal
    >>> rows = [(f"u{k}", a, b) for k in range(12) for a, b in ("ab", "bc", "ca")]
    >>> pair_effects(Fitted.of(aggcal.read_judgments(rows))).found
    True
    """
    found = _between(fitted, _Rows.of(fitted, without))
    return looked_again(fitted, found, None, without)[0]


def _between(fitted: Fitted, rows: _Rows) -> Shared | None:
    # Units are annotators, and sets are pairs. Where contexts are known they are the units: what
    # an item does in one of them is allowed for in the fit or in its errors.
    of_row, pair = fitted.answers.units
    # Who is alone has nobody to agree with: in most large studies, that is nearly everybody.
    kept = (np.bincount(pair) > 1)[pair]
    mine = np.flatnonzero(kept[of_row])
    unit, size, number = (np.cumsum(kept) - 1)[of_row[mine]], int(kept.sum()), rows.number[mine]
    units = rows.moments(mine).each(lambda x: sums(unit, number * x, size))
    return pulled_together(units, pair[kept], rows.gap_variances(), rows.whole)


def repeated_answers(fitted: Fitted) -> Shared | None:
    """Test whether the answers of one annotator to one pair are more alike than the model expects.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("bob", "a", "b"), ("bob", "b", "c")]
    >>> repeated_answers(Fitted.of(aggcal.read_judgments(rows))) is None
    True
    """
    return looked_again(fitted, None, _within(fitted, _Rows.of(fitted, frozenset())))[1]


def shared_answers(
    fitted: Fitted, without: AbstractSet[int] = frozenset()
) -> tuple[Shared | None, Shared | None]:
    """Return what `pair_effects` and `repeated_answers` do, of which most is the same work.

    Examples
    --------
    >>> import aggcal
    >>> rows = [(f"u{k}", a, b) for k in range(12) for a, b in ("ab", "bc", "ca")]
    >>> between, within = shared_answers(Fitted.of(aggcal.read_judgments(rows)))
    >>> between.found, within is None
    (True, True)
    """
    rows = _Rows.of(fitted, without, bounded=True)
    between = _between(fitted, rows)
    every = _Rows.of(fitted, frozenset(), bounded=True) if without else rows
    return looked_again(fitted, between, _within(fitted, every), without)


def _within(fitted: Fitted, rows: _Rows) -> Shared | None:
    grouped = fitted.answers.grouped
    variances = (each.of(grouped.pair) for each in rows.gap_variances())
    if fitted.judgments.context is not None:
        # What an item does in a context is allowed for: only other contexts are a surprise.
        asked = fitted.answers.asked
        first = np.unique(asked.of_row, return_index=True)[1]
        every = rows.moments(np.arange(len(rows.number)))
        units = every.each(lambda x: sums(asked.of_row, rows.number * x, len(first)))
        return pulled_together(units, grouped.of_row[first], variances, rows.whole)
    given = fitted.judgments.count
    mine = np.flatnonzero((sums(grouped.of_row, given, len(grouped.pair)) > 1.0)[grouped.of_row])
    units, number = rows.moments(mine), given[mine].astype(np.float64)
    return pulled_together(units, grouped.of_row[mine], variances, rows.whole, number)


def effect_findings(between: Shared | None, within: Shared | None) -> list[Finding]:
    """Report what answers share.

    Examples
    --------
    >>> found = effect_findings(Shared(0.5, 2.25, 1e-4, 190), None)
    >>> found[0].code, found[0].severity
    ('pair-effects', 'problem')
    """
    found = []
    if between is not None and between.found:
        found.append(
            _finding(
                between,
                "pair-effects",
                "Different annotators' answers to the same pair agree more than the scores explain",
                f"Over {count(between.groups, 'pair')}",
                "Look for copied answers, pairs that are always shown in the same way, or "
                "differences that matter for one pair only. Ask about more pairs rather than for "
                "more answers to the same ones.",
            )
        )
    if within is not None and within.found:
        found.append(
            _finding(
                within,
                "repeated-answers",
                "Annotators who judged a pair again repeated their answer more than the scores "
                "explain",
                f"In {count(within.groups, 'case')}",
                "Remove rows that were recorded twice, and count an annotator's answers to one "
                "pair as one opinion.",
            )
        )
    return found


def _finding(found: Shared, code: str, title: str, where: str, remedy: str) -> Finding:
    return Finding(
        "problem" if found.inflation >= _GRAVE else "note",
        code,
        f"{where}, chance gives so much agreement {odds_against(max(found.p_value, 1e-300))}, "
        "unequal reliability and lapses of attention allowed for. Answers may depend on each "
        f"other. A shared effect of sd {found.sd:.2f} logits would explain it. "
        f"Standard errors should be about {np.sqrt(found.inflation) - 1.0:.0%} "
        "larger, and claims that need independent answers are withdrawn.",
        remedy,
        {
            "sd_logits": round(found.sd, 4),
            "variance_inflation": round(found.inflation, 4),
            "chance": round(found.p_value, 10),
            "compared": found.groups,
        },
        title=title,
    )


@dataclass(frozen=True, eq=False)
class _Rows:
    """What the model expects of each row, its link mended."""

    fitted: Fitted
    odds: FloatArray
    """Log odds of putting the first item of the pair above."""
    number: FloatArray
    bounded: bool
    trust: FloatArray | None = None
    """The mean weight of the annotator's answers; None where all weigh 1."""

    @classmethod
    def of(cls, fitted: Fitted, without: AbstractSet[int], *, bounded: bool = False) -> _Rows:
        judgments = fitted.judgments
        number = judgments.count.astype(np.float64)
        if without:
            number[np.isin(judgments.annotator, sorted(without))] = 0.0
        slopes, scores = slopes_with_ties(fitted), fitted.scores

        def toward(who: CodeArray, left: CodeArray, right: CodeArray) -> FloatArray:
            gap = scores[left] - scores[right]
            return np.asarray(slopes[who] * np.where(left < right, gap, -gap))

        columns = judgments.annotator, judgments.left, judgments.right
        weights, trust, weighed = weights_of_answers(judgments), None, number
        if weights is not None:
            trust = _mean_weights(judgments)[judgments.annotator]
            weighed = trust * number
        odds = _mended(elementwise(toward, *columns)[0], fitted.answers.up, weighed)
        return cls(fitted, odds, number, bounded, trust)

    def moments(self, rows: IntArray) -> Moments:
        """Return those of one answer of each row, weighed by its slope, and by its weight."""
        slopes = self.fitted.population.slopes

        def of_some(who: CodeArray, odds: FloatArray, up: FloatArray) -> _Three:
            slope, probability = slopes[who], expit(odds)
            variance = probability * (1.0 - probability)
            skew = slope**3 * variance * (1.0 - 2.0 * probability)
            return slope * (up - probability), np.square(slope) * variance, skew

        columns = self.fitted.judgments.annotator, self.odds, self.fitted.answers.up
        some = (column[rows] for column in columns)
        pull, information, skew = elementwise(of_some, *some, results=3)
        found, weights = Moments(pull, information, skew), self._gaps.weights
        if weights is None or self.trust is None:
            return found
        return found.times(self.trust[rows], weights[rows])

    @cached_property
    def _information(self) -> FloatArray:
        """Of all equal answers of a row together."""
        slopes = self.fitted.population.slopes

        def of_some(who: CodeArray, odds: FloatArray, number: FloatArray) -> FloatArray:
            probability = expit(odds)
            return np.asarray(
                number * (np.square(slopes[who]) * (probability * (1.0 - probability)))
            )

        [found] = elementwise(of_some, self.fitted.judgments.annotator, self.odds, self.number)
        return found

    @cached_property
    def whole(self) -> float:
        """The variance of all residuals: the information that all answers give, if they weigh 1."""
        if self.trust is None:
            return float(self._information.sum())
        return float((np.square(self.trust) * self._information).sum())

    @cached_property
    def _gaps(self) -> GapVariances:
        return GapVariances(self.fitted, self._information)

    def gap_variances(self) -> Iterator[Variances]:
        """Give variances of the gap of each pair: upper bounds, if there are any, then these."""
        return self._gaps.tried(bounded=self.bounded)


def _mean_weights(judgments: Judgments) -> FloatArray:
    """Return the mean weight of an answer of each annotator, over that of all answers."""
    who, m = judgments.annotator, judgments.n_annotators
    given = sums(who, judgments.count.astype(np.float64), m)
    usual = float(judgments.weight.sum()) / float(judgments.count.sum())
    return np.asarray(sums(who, judgments.weight, m) / np.maximum(given, 1.0) / usual)


def _mended(x: FloatArray, up: FloatArray, number: FloatArray) -> FloatArray:
    """Return log odds with their scale and the answers to clear pairs put right.

    A scale that is off, another link or lapses of attention move all answers to a clear pair the
    same way; that is not an effect of the pair. Two odd functions of x are added by a ridge fit.
    """
    rows = Mending(x, up, number)
    lengths, weights = rows.lengths, np.zeros(2)

    def sums_at(weights: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        loss, slope, curve = rows.sums(lengths, weights)
        ridge = 0.5 * _RIDGE * float(weights @ weights)
        return loss + ridge, slope + _RIDGE * weights, curve + _RIDGE * np.eye(2)

    best, slope, curve = sums_at(weights)
    for _ in range(_STEPS):
        step = np.linalg.solve(curve, slope)
        while (trial := sums_at(weights - step))[0] > best and np.abs(step).max() > 1e-9:  # noqa: PLR2004
            step *= 0.5
        if not trial[0] < best:
            break
        weights, (best, slope, curve) = weights - step, trial
        if np.abs(step).max() < _SETTLED:
            break
    return rows.mended(lengths, weights)
