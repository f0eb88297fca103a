"""Whether answers still agree more than chance explains, once people are known less exactly.

The first test takes everybody's slope for known, and people not to lapse, which is quick. It finds
too much where a thousand people gave ten answers each, or where some lapse more than others. What
it finds is looked at again by the posterior of each annotator's slope and lapses. Its score, the
mean of what an answer pulls by, is 0 on average; products of two are those of the means where the
annotators differ, and means of the products where one annotator gave both answers. By Louis's
identity the information of a score is its mean less its variance over the posterior.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import cached_property

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, sums
from aggcal._core.records import dataclass
from aggcal.advice.check.annotator_posterior import Entries, Means, Posterior
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.gap_variances import GapVariances, Variances
from aggcal.advice.check.shared_pull import Moments, Products, Shared, pulled_together
from aggcal.advice.check.tied_slopes import slopes_with_ties

_MOST = 20_000
"""Annotators by pairs that are looked at, of people drawn at random: they take about a second, and
what fewer do not show changes no error to speak of."""


def looked_again(
    fitted: Fitted,
    between: Shared | None,
    within: Shared | None,
    without: AbstractSet[int] = frozenset(),
) -> tuple[Shared | None, Shared | None]:
    """Return what was found between annotators and within them, or less.

    Parameters
    ----------
    fitted
        The study and its fit.
    between, within
        What was found, if anything could be compared.
    without
        Annotators who were left out between annotators.

    Examples
    --------
    >>> import aggcal
    >>> study = aggcal.simulate(items=6, annotators=300, judgments=2400, seed=4)
    >>> fitted = Fitted.of(aggcal.read_judgments(study.judgments))
    >>> found, _ = looked_again(fitted, Shared(0.3, 1.5, 1e-6, 15), None)
    >>> found.found
    False
    """
    if between is not None and between.found:
        between = _lessened(between, _Again.of(fitted, without).between)
    if within is not None and within.found:
        within = _lessened(within, _Again.of(fitted, frozenset()).within)
    return between, within


def _lessened(first: Shared, second: Shared | None) -> Shared:
    """Return what the second look found, in terms of the answers that the first one had."""
    if second is None:
        return Shared(0.0, 1.0, 1.0, first.groups)
    inflation = 1.0 + (first.inflation - 1.0) * (second.sd / max(first.sd, 1e-300)) ** 2
    return Shared(second.sd, inflation, max(first.p_value, second.p_value), first.groups)


@dataclass(frozen=True, eq=False)
class _Again:
    """Those who were drawn, and what their answers move."""

    fitted: Fitted
    drawn: BoolArray
    """Whether each annotator was."""

    @classmethod
    def of(cls, fitted: Fitted, without: AbstractSet[int]) -> _Again:
        m = fitted.judgments.n_annotators
        others = np.setdiff1d(np.arange(m), sorted(without))
        order = np.random.default_rng(0).permutation(others)
        given = np.bincount(fitted.answers.grouped.annotator, minlength=m)
        drawn = np.zeros(m, dtype=bool)
        drawn[order[: max(2, int(np.searchsorted(np.cumsum(given[order]), _MOST)))]] = True
        return cls(fitted, drawn)

    @cached_property
    def means(self) -> Means:
        """Of each annotator and pair, 0 of those who were not drawn."""
        answers, grouped = self.fitted.answers, self.fitted.answers.grouped
        kept = np.flatnonzero(self.drawn[grouped.annotator])
        pairs, pair = np.unique(grouped.pair[kept], return_inverse=True)
        entries = Entries(
            (np.cumsum(self.drawn) - 1)[grouped.annotator[kept]],
            pair.ravel(),
            grouped.number[kept],
            (grouped.number * grouped.up)[kept],
            answers.first[pairs],
            answers.second[pairs],
        )
        slopes = slopes_with_ties(self.fitted)[self.drawn]
        precision = self.fitted.precision
        found = Posterior.of(entries, self.fitted.scores, slopes, precision).means()
        whole = Means(*np.zeros((len(found), len(grouped.pair))))
        for column, mine in zip(whole, found, strict=True):
            column[kept] = mine
        return whole

    @cached_property
    def turned(self) -> BoolArray:
        """Whether each annotator answers the other way round."""
        return slopes_with_ties(self.fitted) < 0.0

    @property
    def between(self) -> Shared | None:
        """What answers to a pair by different annotators, or in different contexts, share."""
        answers, mean = self.fitted.answers, self.means
        asked, group = answers.asked, self._of_asked(answers.grouped.of_row)
        number, turned = asked.number, self.turned[asked.annotator]
        up = number * np.where(turned, 1.0 - asked.up, asked.up)

        def variance(up: FloatArray, number: FloatArray, group: IntArray) -> FloatArray:
            """Return that of what answers pull by, over the posterior."""
            x, z, xx, xz, zz = (part[group] for part in mean[:5])
            squares = up**2 * (xx - x * x) + number**2 * (zz - z * z)
            return np.asarray(squares - 2.0 * up * number * (xz - x * z))

        spread, size = variance(up, number, group), len(answers.grouped.pair)
        every = variance(sums(group, up, size), sums(group, number, size), np.arange(size))
        of_row, pair = answers.units
        unit = self._of_asked(of_row)
        moments = Moments(
            up * mean.x[group] - number * mean.z[group],
            number * mean.v[group] - spread,
            number * mean.w[group],
        ).each(lambda x: sums(unit, x, len(pair)))
        # One annotator's answers to a pair in two contexts: the mean of products, not of factors.
        also = float(every.sum() - spread.sum())
        return pulled_together(moments, pair, [self._gap_variances], 1.0, also=also)

    @property
    def within(self) -> Shared | None:
        """What answers of one annotator to one pair share."""
        judgments, answers, mean = self.fitted.judgments, self.fitted.answers, self.means
        if judgments.context is None:
            group, many = answers.grouped.of_row, judgments.count.astype(np.float64)
            number, up = np.ones(len(group)), answers.up
        else:  # what an item does in a context is allowed for: only other contexts are a surprise
            group, number = self._of_asked(answers.grouped.of_row), answers.asked.number
            many, up = np.ones(len(group)), number * answers.asked.up
        up = np.where(self.turned[answers.grouped.annotator[group]], number - up, up)
        size = len(answers.grouped.pair)

        def added(x: FloatArray) -> FloatArray:
            return sums(group, many * x, size)

        def squares(up2: FloatArray, both: FloatArray, number2: FloatArray) -> FloatArray:
            return np.asarray(up2 * mean.xx - 2.0 * both * mean.xz + number2 * mean.zz)

        one, two, three = (added(number**k) for k in (1, 2, 3))
        ups = added(up)
        together = squares(ups**2, ups * one, one**2) - squares(
            added(up**2), added(up * number), two
        )
        expected = (one**2 - two) * mean.vv
        if not expected.sum() > 0.0:
            return None
        pull = up * mean.x[group] - number * mean.z[group]
        seen = added(pull**2) ** 2 - added(pull**4)
        third = 8.0 * (one**3 - 3.0 * one * two + 2.0 * three) * mean.vvv
        third = third + 4.0 * (one**2 - two) * mean.ww
        variance = 2.0 * max(float(expected.sum()), float(seen.sum()))
        found = Products(float(together.sum()), expected, variance, float(third.sum()))
        return found.held_against([self._gap_variances.of(answers.grouped.pair)], 1.0)

    def _of_asked(self, of_row: IntArray) -> IntArray:
        """Return of each entry of `Answers.asked` what belongs to each of its rows."""
        return of_row[np.unique(self.fitted.answers.asked.of_row, return_index=True)[1]]

    @cached_property
    def _gap_variances(self) -> Variances:
        """Of each pair that was judged, by those who were drawn."""
        each = self.fitted.judgments.count * self.means.v[self.fitted.answers.grouped.of_row]
        [found] = GapVariances(self.fitted, each, as_weighed=False).tried(bounded=False)
        return found
