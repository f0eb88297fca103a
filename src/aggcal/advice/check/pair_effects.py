r"""Answers to one pair that agree with each other more than the items' scores explain.

The model takes answers to be independent once the scores and reliabilities are known. They are not
where a pair is judged by something of its own (the way it is shown, a feature that only these two
share) or where annotators copy: then ten answers to a pair tell less than ten. With the residuals
r = y − p of the answers, weighed by their annotators' slopes γ, what different annotators share is

    T = Σ_pairs [ (Σ_u R_u)² − Σ_u R_u² ],   R_u = Σ γ r over u's answers to the pair.

Only products of different annotators' residuals enter, so T does not depend on how much single
answers scatter (ties, lapses). With I_u = Σ γ² p (1 − p) and I = Σ_u I_u, independent answers give
E T = −Σ C (I² − Σ I_u²), C being the variance of the pair's gap: the fit has seen the answers
itself. The variance is at most 2 Σ (I² − Σ I_u²), and the tail that of a gamma distribution with
the skewness of T. An effect of sd τ on the gap of each pair adds τ² Σ (I² − Σ I_u²).

The same sum over the answers of one annotator to one pair tells whether people repeat themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from functools import cached_property

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, elementwise, sums
from aggcal._core.compiled_scipy import expit, gammaincc, ndtr
from aggcal._core.records import dataclass
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.findings import Finding
from aggcal.advice.check.gap_variances import GapVariances
from aggcal.advice.check.row_sums import Mending
from aggcal.advice.check.testing import odds_against
from aggcal.advice.check.tied_slopes import slopes_with_ties
from aggcal.errors import count

RATE = 0.01
"""Chance of a false alarm in a study of independent answers; less finds less."""

_GRAVE = 1.25
"""Variance, as a multiple of the stated one, from which it is a problem and not a note."""

_MOST_SKEWED = 2.0
"""Skewness (that of an exponential) up to which a gamma curve stands for the distribution of T."""

_STEPS, _SETTLED = 12, 1e-6
"""Of Newton's method: the step after so short a one would change nothing to speak of."""
_Three = tuple[FloatArray, FloatArray, FloatArray]
_RIDGE = 4.0
"""Keeps the two numbers that mend the link within about 0.5: they absorb scale and lapses only."""


@dataclass(frozen=True)
class Shared:
    """What answers share beyond the model.

    ``sd`` is the estimated standard deviation, in logits, of an effect that they share;
    ``inflation`` how much larger than stated it makes the variance of the scores; ``p_value`` that
    independent answers agree as much; ``groups`` how many sets of answers could be compared. Where
    nothing is found, the first two may be upper bounds and the third a lower one.
    """

    sd: float
    inflation: float
    p_value: float
    groups: int

    @property
    def found(self) -> bool:
        """Whether chance does not explain it."""
        return self.p_value < RATE


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
    return _between(fitted, _Rows.of(fitted, without))


def _between(fitted: Fitted, rows: _Rows) -> Shared | None:
    # Units are annotators, and sets are pairs. Where contexts are known they are the units: what
    # an item does in one of them is allowed for in the fit or in its errors.
    of_row, pair = fitted.answers.units
    # Who is alone has nobody to agree with: in most large studies, that is nearly everybody.
    kept = (np.bincount(pair) > 1)[pair]
    mine = np.flatnonzero(kept[of_row])
    unit, size, number = (np.cumsum(kept) - 1)[of_row[mine]], int(kept.sum()), rows.number[mine]
    pull, information, skew = (sums(unit, number * x, size) for x in rows.moments(mine))
    units = pull, information, skew
    return _tested(units, pair[kept], rows.gap_variances, rows.whole)


def repeated_answers(fitted: Fitted) -> Shared | None:
    """Test whether the answers of one annotator to one pair are more alike than the model expects.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("bob", "a", "b"), ("bob", "b", "c")]
    >>> repeated_answers(Fitted.of(aggcal.read_judgments(rows))) is None
    True
    """
    return _within(fitted, _Rows.of(fitted, frozenset()))


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
    return between, _within(fitted, every)


def _within(fitted: Fitted, rows: _Rows) -> Shared | None:
    grouped = fitted.answers.grouped

    def variances() -> Iterator[FloatArray]:
        return (each[grouped.pair] for each in rows.gap_variances())

    if fitted.judgments.context is not None:
        # What an item does in a context is allowed for: only other contexts are a surprise.
        asked = fitted.answers.asked
        first = np.unique(asked.of_row, return_index=True)[1]
        every = rows.moments(np.arange(len(rows.number)))
        pull, information, skew = (sums(asked.of_row, rows.number * x, len(first)) for x in every)
        units = pull, information, skew
        return _tested(units, grouped.of_row[first], variances, rows.whole)
    given = fitted.judgments.count
    mine = np.flatnonzero((sums(grouped.of_row, given, len(grouped.pair)) > 1.0)[grouped.of_row])
    units, number = rows.moments(mine), given[mine].astype(np.float64)
    return _tested(units, grouped.of_row[mine], variances, rows.whole, number)


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
                f"over {count(between.groups, 'pair')}",
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
                f"in {count(within.groups, 'case')}",
                "Remove rows that were recorded twice, and count an annotator's answers to one "
                "pair as one opinion.",
            )
        )
    return found


def _finding(found: Shared, code: str, title: str, where: str, remedy: str) -> Finding:
    return Finding(
        "problem" if found.inflation >= _GRAVE else "note",
        code,
        f"The answers are not independent: {where}, chance gives so much agreement "
        f"{odds_against(max(found.p_value, 1e-300))}. A shared effect of sd {found.sd:.2f} logits "
        f"would explain it. Standard errors should be about {np.sqrt(found.inflation) - 1.0:.0%} "
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
        odds = _mended(elementwise(toward, *columns)[0], fitted.answers.up, number)
        return cls(fitted, odds, number, bounded)

    def moments(self, rows: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return residual, information and third moment of one answer, weighed by its slope."""
        slopes = self.fitted.population.slopes

        def of_some(who: CodeArray, odds: FloatArray, up: FloatArray) -> _Three:
            slope, probability = slopes[who], expit(odds)
            variance = probability * (1.0 - probability)
            skew = slope**3 * variance * (1.0 - 2.0 * probability)
            return slope * (up - probability), np.square(slope) * variance, skew

        columns = self.fitted.judgments.annotator, self.odds, self.fitted.answers.up
        some = (column[rows] for column in columns)
        pull, information, skew = elementwise(of_some, *some, results=3)
        return pull, information, skew

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
        """The information that all answers give."""
        return float(self._information.sum())

    @cached_property
    def _gaps(self) -> GapVariances:
        return GapVariances(self.fitted, self._information)

    def gap_variances(self) -> Iterator[FloatArray]:
        """Give variances of the gap of each pair: upper bounds, if there are any, then these."""
        return self._gaps.tried(bounded=self.bounded)


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


def _tested(
    units: tuple[FloatArray, FloatArray, FloatArray],
    group: IntArray,
    gap_variances: Callable[[], Iterator[FloatArray]],
    whole: float,
    number: FloatArray | float = 1.0,
) -> Shared | None:
    """Test whether units of one group pull together.

    Parameters
    ----------
    units
        Of each of them: its residual, and the second and third moment that is expected of it.
    group
        The group of each unit.
    gap_variances
        Gives variances of the gap of each group: upper bounds, if there are any, then these. They
        are tried until nothing is found.
    whole
        The information that all answers give.
    number
        How many units each entry stands for.
    """
    groups = int(group.max(initial=-1)) + 1
    if isinstance(number, float):
        several = np.bincount(group, minlength=groups) > 1
    else:
        several = sums(group, number, groups) > 1.0
    kept = several[group]
    pull, information, skew = (x[kept] for x in units)
    number = number if isinstance(number, float) else number[kept]
    group, size = (np.cumsum(several) - 1)[group[kept]], int(several.sum())

    def total(x: FloatArray) -> FloatArray:
        return sums(group, number * x, size)

    def products(x: FloatArray) -> FloatArray:
        """Sum x_i x_j over all i ≠ j of each group; rounding must not leave a trace of one."""
        together, alone = np.square(total(x)), total(np.square(x))
        return np.where(np.abs(together - alone) > 1e-12 * alone, together - alone, 0.0)

    expected = products(information)
    compared = int(np.sum(expected > 0.0))
    if not compared:
        return None
    together, seen = float(products(pull).sum()), products(np.square(pull))
    variance = 2.0 * max(float(expected.sum()), float(seen.sum()))
    one, two, three = (total(information**k) for k in (1, 2, 3))
    third = float(np.sum(8.0 * (one**3 - 3.0 * one * two + 2.0 * three)))
    third += 4.0 * float(products(skew).sum())
    # Wider gaps explain less: what is not found with an upper bound is not found without it.
    for gap_variance in gap_variances():
        surplus = together + float(gap_variance[: len(several)][several] @ expected)
        skewness = max(0.0, third) / variance**1.5
        p_value = _upper_tail(surplus / np.sqrt(variance), skewness)
        if p_value >= RATE:
            break
    effect = max(0.0, surplus) / float(expected.sum())
    inflation = 1.0 + effect * float(expected.sum()) / whole
    return Shared(float(np.sqrt(effect)), inflation, p_value, compared)


def _upper_tail(z: float, skewness: float) -> float:
    """Return the chance of more than z standard deviations, by a gamma distribution.

    Where a few rare answers decide, no such curve is to be trusted: Cantelli's bound holds anyway.

    Examples
    --------
    >>> round(_upper_tail(2.0, 0.0), 3), round(_upper_tail(2.0, 1.0), 3), _upper_tail(2.0, 9.0)
    (0.023, 0.042, 0.2)
    """
    if z <= 0.0:
        return 1.0
    if skewness < 1e-3:  # noqa: PLR2004  # from there on it is the normal one
        return float(ndtr(-z))
    if skewness > _MOST_SKEWED:
        return 1.0 / (1.0 + z * z)
    shape = 4.0 / skewness**2
    return float(gammaincc(shape, shape + z * np.sqrt(shape)))
