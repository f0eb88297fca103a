"""Standard errors and intervals of a consensus, what they cover, and who is reversed by them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, sqrt
from typing import Any

import numpy as np
from scipy.special import betaincinv, expit, ndtr, ndtri, stdtr, stdtrit

from aggcal._core.arrays import FloatArray, IntArray, TextArray, frozen, ranks
from aggcal._core.machine import one_thread
from aggcal._core.text import brief
from aggcal.aggregation.covariance import MOST_DENSE, Covariance
from aggcal.aggregation.groups import apart, members, several
from aggcal.aggregation.ranks import Npmle, drawn_scores, expected_ranks, rank_ends, sorted_ranks
from aggcal.aggregation.robust import Factor, Robust
from aggcal.errors import (
    AggcalWarning,
    DividedWarning,
    ReversedWarning,
    WeaklyJoinedWarning,
    count,
    some,
)
from aggcal.registry import UNCERTAINTIES, limits

_EDGE = 1e-6
"""How near to 0 and 1 the mean of a probability may be, and to 0 the parameters of its law."""
FEWEST_TO_JUDGE_BY = 3
"""Annotators: of two who contradict each other, either may be the reversed one."""
_LEAST_LEVEL = 0.95
"""Level of the interval that somebody is named by: in 1,160 studies of 12 to 300 honest people and
close items somebody was named in 4; by intervals of level .5, in 7 of 385."""


@dataclass(frozen=True, eq=False)
class Scale:
    """What the scale of the scores adds to what the curvature says; no order depends on it."""

    variance: float
    """Of a factor of all scores."""
    added: FloatArray
    """To the variance of each score: by that factor, and by what else is uncertain at others."""

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """How far scores, ranks and reliabilities can be trusted.

    Intervals are about the consensus, not about the truth; ``covers`` says of what in words.
    """

    kind: str
    level: float
    scores: FloatArray
    covariance: Covariance
    reliability_low: FloatArray | None = None
    reliability_high: FloatArray | None = None
    degrees_of_freedom: float = inf
    """Degrees of freedom of the variances: few where they come from few annotators or draws."""
    warnings: tuple[AggcalWarning, ...] = ()
    component: IntArray | None = None
    """Label of each item's component or weakly joined group; None where all are in one."""
    npmle: Npmle | None = field(default=None, repr=False)
    """The posterior of the scores under a prior of estimated shape, where there is one."""
    seed: int = 0
    """Seed of the draws that ranks come from."""
    scale: Scale | None = field(default=None, repr=False)
    """What the scale of all scores adds to ``covariance``; no order depends on it."""
    robust: Robust = field(default_factory=Robust, repr=False)
    """How much larger errors are because answers depend on each other."""
    slow: FloatArray | None = field(default=None, repr=False)
    """Directions along which a level that was known beforehand would show, if any."""

    __repr__ = brief

    @classmethod
    @one_thread()
    def of(
        cls,
        kind: str,
        level: float,
        scores: FloatArray,
        covariance: Covariance,
        *,
        reliabilities: FloatArray | None = None,
        reliability_variances: FloatArray | None = None,
        logits: tuple[FloatArray, FloatArray] | None = None,
        bounds: tuple[float, float] = (-np.inf, np.inf),
        degrees_of_freedom: float = inf,
        robust: Robust | None = None,
        by_prior: FloatArray | None = None,
        prior_sd: float | None = None,
        component: IntArray | None = None,
        seed: int = 0,
        **others: Any,
    ) -> Uncertainty:
        """Derive intervals from a covariance.

        Parameters
        ----------
        kind, level
            Kind and level of the intervals.
        scores, covariance
            The reported scores and their covariance by the model.
        reliabilities, reliability_variances, bounds
            The reported reliabilities, their variances, and where they end.
        logits
            Means and variances of their logits, where they are probabilities.
        degrees_of_freedom
            Degrees of freedom of the variances.
        robust
            What dependent answers widen the covariance by.
        by_prior
            The part of it that they do not widen, where that is not the scores' prior alone.
        prior_sd
            Spread of the scores' normal prior, where there is one: ranks and orders are then those
            under a prior whose shape is estimated, too.
        component
            Label of each item's connected component, or of its weakly joined group: nothing is
            claimed across them.
        seed
            Seed for the draws that give the rank intervals.
        others
            Further fields.

        Examples
        --------
        >>> from aggcal.aggregation.covariance import DenseCovariance
        >>> found = Uncertainty.of("laplace", 0.9, np.zeros(2), DenseCovariance(np.eye(2)))
        >>> found.high.round(3)
        array([1.163, 1.163])
        """
        limits.check(level=level)
        component = several(component)
        npmle, model, robust = None, covariance, robust or Robust()
        covariance = robust.widened(model, prior_sd, by_prior)
        degrees_of_freedom = min(degrees_of_freedom, robust.degrees_of_freedom)
        if prior_sd is not None and len(scores) <= MOST_DENSE:
            widened = covariance.variances
            npmle = Npmle.of(scores, model.variances, prior_sd, robust.used, widened)
        ends: tuple[FloatArray | None, FloatArray | None] = (None, None)
        if reliabilities is not None and reliability_variances is not None:
            ends = _between(reliabilities, reliability_variances, level, bounds)
            if logits is not None:
                # Either law is a little too narrow at one level or the other: the wider ends count.
                low, high = expit(_between(*logits, level, (-inf, inf)))
                ends = frozen(np.minimum(ends[0], low)), frozen(np.maximum(ends[1], high))
        return cls(
            kind,
            level,
            scores,
            covariance,
            *ends,
            degrees_of_freedom,
            component=component,
            npmle=npmle,
            seed=seed,
            robust=robust,
            **others,
        )

    @property
    def covers(self) -> str:
        """What the intervals cover."""
        known = UNCERTAINTIES.get(self.kind)
        return "the consensus" if known is None else known.covers

    def to_dict(self) -> dict[str, Any]:
        """Return what kind of uncertainty it is: plain data, as in ``summary.json``."""
        return {
            "kind": self.kind,
            "level": self.level,
            "covers": self.covers,
            "factor": self.factor,
            "factors": [factor.to_dict() for factor in self.factors],
        }

    @property
    def factors(self) -> tuple[Factor, ...]:
        """How dependent answers are, by what they share; empty where that was not estimated."""
        return self.robust.factors

    @property
    def factor(self) -> float:
        """How many times as large standard errors are as if all answers were independent."""
        return sqrt(self.robust.used)

    @property
    def divided(self) -> str:
        """What the parts are called across which nothing is claimed."""
        weak = any(warning.code == WeaklyJoinedWarning.code for warning in self.warnings)
        return "weakly connected groups" if weak else "connected components"

    @cached_property
    def se(self) -> FloatArray:
        """Standard error of each score."""
        added = 0.0 if self.scale is None else self.scale.added
        return frozen(np.sqrt(self.covariance.variances + added))

    @property
    def order_se(self) -> FloatArray:
        """Standard error of each score as far as its place among the others depends on it."""
        return np.sqrt(self.covariance.variances)

    @property
    def _quantile(self) -> float:
        """How many standard errors intervals reach to either side."""
        return float(stdtrit(self.degrees_of_freedom, 0.5 * (1.0 + self.level)))

    @property
    def low(self) -> FloatArray:
        """Lower end of each score's interval."""
        return self.scores - self._quantile * self.se

    @property
    def high(self) -> FloatArray:
        """Upper end of each score's interval."""
        return self.scores + self._quantile * self.se

    @cached_property
    def _drawn(self) -> FloatArray | None:
        """All scores, a row a draw, on the scale of ``scores``; None of very many."""
        if len(self.scores) > MOST_DENSE:
            return None
        about = self.scores, self.covariance, self.degrees_of_freedom, self.npmle
        with one_thread():
            return drawn_scores(*about, np.random.default_rng(self.seed))

    @cached_property
    def rank_draws(self) -> IntArray | None:
        """Sorted ranks of each item in draws of all scores; None of very many, or of components."""
        drawn = None if self.component is not None else self._drawn
        return None if drawn is None else sorted_ranks(drawn)

    @cached_property
    def _rank_ends(self) -> tuple[IntArray, IntArray]:
        """The best and the worst rank of each item at this level; the best of all is 1.

        An item that nothing compares with n' others may have all of them above it or none: its
        interval within its own component, [a, b], becomes [a, b + n'].
        """
        n, drawn = len(self.scores), self._drawn
        low, high = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        for own in members(self.component, n):
            scores, sd = self.scores[own], self.order_se[own]
            best: Any
            worst: Any
            if drawn is None:
                best, worst = expected_ranks(scores, sd, self._quantile * sd)
            else:
                whole = self.rank_draws
                in_draws = sorted_ranks(drawn[:, own]) if whole is None else whole
                best, worst = rank_ends(in_draws, self.level)
            # The interval holds the estimated rank itself: tied items share the best of theirs.
            rank = ranks(scores)
            low[own], high[own] = np.minimum(best, rank), np.maximum(worst, rank) + n - len(own)
        return frozen(low), frozen(high)

    @property
    def rank_low(self) -> IntArray:
        """The best likely rank of each item.

        Examples
        --------
        >>> from aggcal.aggregation.covariance import DenseCovariance
        >>> about = np.array([9.0, 0.0, 9.0]), DenseCovariance(np.eye(3))
        >>> known = Uncertainty.of("laplace", 0.9, *about, component=np.array([1, 0, 0]))
        >>> known.rank_low, known.rank_high
        (array([1, 2, 1]), array([3, 3, 2]))
        """
        return self._rank_ends[0]

    @property
    def rank_high(self) -> IntArray:
        """The worst likely rank of each item."""
        return self._rank_ends[1]

    def draws(self) -> FloatArray | None:
        """Draw all scores, a row a draw: their orders are those that the ranks come from.

        None for many items, whose correlations are not at hand.
        """
        if self._drawn is None or self.scale is None:
            return self._drawn
        # Its logarithm is nearly normal, and no order changes.
        chance = np.random.default_rng(self.seed + 1).standard_normal((len(self._drawn), 1))
        return np.asarray(np.exp(np.sqrt(np.log1p(self.scale.variance)) * chance) * self._drawn)

    def top_probabilities(self, stops: IntArray) -> FloatArray | None:
        """Probability that each item is among the first k, for each k of ``stops``.

        From the draws that ranks come from. Of very many items, the score of the k-th is taken as
        known: it hardly varies, and is where the probabilities add up to k. None where there are
        several components, whose items nothing orders.

        Examples
        --------
        >>> import aggcal
        >>> rows = [("ann", "a", "b"), ("bob", "a", "b"), ("ann", "b", "c"), ("bob", "a", "c")]
        >>> known = aggcal.aggregate(rows, warn=False).uncertainty
        >>> known.top_probabilities(np.array([2]))[:, 0].round(1)
        array([0.9, 0.7, 0.4])
        """
        if self.component is not None:
            return None
        if self.rank_draws is not None:
            counts = [np.searchsorted(each, stops, side="right") for each in self.rank_draws.T]
            return np.array(counts, dtype=np.float64) / len(self.rank_draws)
        from scipy.optimize import brentq

        scores, se = self.scores, self.order_se

        def above(cut: float) -> FloatArray:
            return np.asarray(ndtr((scores - cut) / se))

        low, high = float(np.min(scores - 9.0 * se)), float(np.max(scores + 9.0 * se))
        least = len(scores) - 1e-9
        cuts = (brentq(lambda x, k=k: above(x).sum() - min(k, least), low, high) for k in stops)
        return np.stack([above(cut) for cut in cuts], axis=1)

    def order_probability(self, i: IntArray, j: IntArray) -> FloatArray:
        """Probability that the item at position i is above that at j, for the consensus.

        The mean of those under a normal prior and under one of estimated shape (see `npmle`).
        NaN where the two are in different components: nothing compares them.
        """
        i, j = np.broadcast_arrays(np.atleast_1d(i), np.atleast_1d(j))
        gap = self.scores[i] - self.scores[j]
        sd = np.sqrt(self.covariance.gap_variance(i, j))
        ratio = np.divide(gap, sd, out=np.copysign(np.inf, gap), where=sd > 0.0)
        probability = stdtr(self.degrees_of_freedom, np.where(gap == 0.0, 0.0, ratio))
        if self.npmle is not None:
            variances, sharp = self.covariance.variances, self.npmle.sharp
            shared = 0.5 * (variances[i] + variances[j] - np.square(sd))
            within = np.sqrt(np.maximum(variances[i] * variances[j], 1e-300))
            other = self.npmle.order_probability(i, j, np.clip(shared / within, -1.0, 1.0))
            probability = np.where(sharp[i] & sharp[j], probability, 0.5 * (probability + other))
        return np.where(apart(self.component, i, j), np.nan, probability)


def _between(
    middle: FloatArray, variances: FloatArray, level: float, bounds: tuple[float, float]
) -> tuple[FloatArray, FloatArray]:
    """Return intervals of numbers with these means and variances.

    Those of probabilities are by the Beta distribution, others by the normal one.
    """
    if bounds != (0.0, 1.0):
        reach = ndtri(0.5 * (1.0 + level)) * np.sqrt(variances)
        return frozen(middle - reach), frozen(middle + reach)
    middle = np.clip(middle, _EDGE, 1.0 - _EDGE)
    total = middle * (1.0 - middle) / variances - 1.0
    a, b = (np.maximum(total * part, _EDGE) for part in (middle, 1.0 - middle))
    tail = 0.5 * (1.0 - level)
    return frozen(betaincinv(a, b, tail)), frozen(betaincinv(a, b, 1.0 - tail))


def wilson_interval(
    chosen: FloatArray, number: FloatArray, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's interval of shares; from 0 to 1 where nothing was counted.

    Parameters
    ----------
    chosen, number
        How often something happened, and of how many times.
    level
        Level of the two-sided interval.

    Examples
    --------
    >>> low, high = wilson_interval(np.array([60.0, 0.0]), np.array([100.0, 0.0]))
    >>> low.round(3), high.round(3)
    (array([0.502, 0.   ]), array([0.691, 1.   ]))
    """
    z2 = float(ndtri(0.5 + 0.5 * level)) ** 2
    share = chosen / np.maximum(number, 1e-300)
    whole = number + z2
    middle = (chosen + 0.5 * z2) / whole
    half = np.sqrt(z2 * (number * share * (1.0 - share) + 0.25 * z2)) / whole
    # At the ends rounding would leave a little of nothing.
    low = np.where(chosen <= 0.0, 0.0, middle - half)
    return low, np.where(chosen >= number, 1.0, middle + half)


def no_majority(annotators: int, warnings: Iterable[AggcalWarning] = ()) -> str:
    """Say why nobody can be called reversed, where that is so: there is no majority.

    Parameters
    ----------
    annotators
        How many there are.
    warnings
        What the fit warned of.

    Examples
    --------
    >>> no_majority(2)
    'of two annotators who contradict each other, either may be the reversed one'
    >>> no_majority(3)
    ''
    """
    if annotators < FEWEST_TO_JUDGE_BY:
        return "of two annotators who contradict each other, either may be the reversed one"
    if any(isinstance(each, DividedWarning) for each in warnings):
        return "opposing groups leave no single consensus to compare with"
    return ""


def reversed_annotators(
    ids: TextArray, uncertainty: Uncertainty | None, random_reliability: float
) -> list[str]:
    """Return those whose whole interval is below the reliability of random answers.

    Intervals of a lower level are taken as wide as those of 95%: who is named does not depend on
    the level that somebody wants to see.
    """
    if uncertainty is None:
        return []
    low, high = uncertainty.reliability_low, uncertainty.reliability_high
    if low is None or high is None:
        return []
    wider = max(1.0, float(ndtri(0.5 + 0.5 * _LEAST_LEVEL) / ndtri(0.5 + 0.5 * uncertainty.level)))
    highest = 0.5 * (low + high) + wider * 0.5 * (high - low)
    return [str(one) for one in ids[highest < random_reliability]]


def reversed_warnings(
    reversed_ids: Sequence[str], annotators: int, random_reliability: float
) -> tuple[AggcalWarning, ...]:
    """Name the annotators who answer against the consensus, if there are any.

    Examples
    --------
    >>> print(reversed_warnings(["eve"], 12, 0.0)[0].what)
    1 annotator of 12 answers against the consensus. The whole interval of the reliability is
    below 0, which is random ('eve'). The fit inverts such answers.
    """
    if not reversed_ids:
        return ()
    number, verb = len(reversed_ids), "answers" if len(reversed_ids) == 1 else "answer"
    title = f"{count(number, 'annotator')} of {annotators:,} {verb} against the consensus"
    why = f"The whole interval of the reliability is below {random_reliability:g}, which is random"
    return (
        ReversedWarning(
            title,
            f"{why} ({some(reversed_ids)}). The fit inverts such answers.",
            "Check the data: they may have read the question the other way round, or belong to a "
            "group with an order of its own.",
            annotators=reversed_ids,
        ),
    )
