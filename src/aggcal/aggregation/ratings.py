r"""Fit ratings: scores, cuts, and annotators who differ in leniency, reliability and noise.

The annotators' parameters are integrated out (`annotators`) under a normal prior whose covariance
is estimated in full: unequal noise moves reliability, leniency and the use of the scale together.
A joint mode must not be used: one who gave six ratings has three parameters, which fit them. The
unknowns, scores and cuts, are found by Newton's method, and spreads by EM along the way.

What annotators differ in is chosen by evidence. Leniency always; reliability and noise where the
annotators gave enough ratings and the data ask for it: where they hardly differ, a plain mean is
hard to beat, and parameters that are not needed cost .01 of Kendall's tau.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from math import inf, log, pi, sqrt
from operator import add
from typing import Any, cast

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.text import brief
from aggcal.aggregation.annotators import Annotators, Correlated, Point, Posterior
from aggcal.aggregation.families import RELIABILITY, Terms
from aggcal.aggregation.graded import (
    ABOVE,
    BELOW,
    LENIENCY,
    USE,
    Gaussian,
    Marks,
    Ordinal,
)
from aggcal.aggregation.modes import another_order
from aggcal.aggregation.rows import GAP, SCORES, Block, Channel, Rows
from aggcal.aggregation.spreads import about_mean, reversed_share
from aggcal.aggregation.tape import Tape
from aggcal.data.ratings import Ratings

MOST_LEVELS = 11
"""Different values up to which ratings are ordinal: beyond, cuts would be many and hardly known."""
_CEILING = 0.1
"""Share of the ratings at an end of a continuous scale from which it is cut into levels."""
FEW_RATINGS = 4
"""Ratings of the median annotator from which reliability and noise may differ: with fewer, a
Gaussian fit ran away on coarse grades (a leniency of sd 12)."""
_ENOUGH = 2.0
"""Log evidence by which it must be better that they differ."""
PRIORS = {LENIENCY: (0.0, 0.5, 2.0), RELIABILITY: (1.0, 0.4, 6.0), USE: (1.0, 0.3, 6.0)}
"""Mean of each parameter, its sd to begin with, and how many annotators that sd counts as."""
_FIRST_SHARE = 0.05
_LEAST_USE = 0.02
_CUT_SD = 10.0
"""Prior sd of the cuts: so wide that it does not matter."""
_FIRST_VARIANCE = 0.2
_ROUNDS, _FEWEST_ROUNDS = 60, 8
_SETTLED, _NEAR, CLOSE = 5e-3, 2e-2, 1e-5
"""Change of the log spreads, and of an unknown, from which spreads are taken as they are; and of
an unknown at which the fit ends."""
_POLISHING = 20
_SCORE_POINTS = ((-sqrt(3.0), 1 / 6), (0.0, 2 / 3), (sqrt(3.0), 1 / 6))
"""Where an uncertain score is looked at, and weights: Gauss and Hermite's."""
_CLOSE = 1e-6
_LONGEST = 1.0
_CLOSER = 0.5
"""Share of a distance of two cuts by which a step brings them nearer at most."""
_MANY_REVERSED = 0.1
"""Share of the ratings that reversed annotators gave from which the fit is tried upside down."""


def ordinal_levels(values: FloatArray) -> FloatArray | None:
    """Return where levels begin, from the second on; None for a continuous scale.

    Examples
    --------
    >>> ordinal_levels(np.array([1.0, 3.0, 2.0, 3.0])), ordinal_levels(np.linspace(0, 1, 50))
    (array([2., 3.]), None)
    """
    distinct = np.unique(values)
    if len(distinct) <= MOST_LEVELS:
        return np.asarray(distinct[1:])
    ends = np.mean(values == distinct[0]), np.mean(values == distinct[-1])
    if max(ends) <= _CEILING:
        return None
    # As many ratings in each level as ties allow.
    cuts = np.quantile(values, np.linspace(0.0, 1.0, MOST_LEVELS + 1)[1:-1])
    begins = distinct[np.minimum(np.searchsorted(distinct, cuts, "right"), len(distinct) - 1)]
    return np.unique(begins)


@dataclass(frozen=True, eq=False)
class Scale:
    """How ratings are laid out: levels, or a linear map of a continuous scale."""

    begins: FloatArray | None
    """Where levels begin; None for a continuous scale."""
    mean: float = 0.0
    sd: float = 1.0
    spacing: float = 0.0
    """Smallest distance of two values, over ``sd``."""

    __repr__ = brief

    @classmethod
    def of(cls, values: FloatArray) -> Scale:
        """Choose it by the values that occur."""
        distinct = np.unique(values)
        sd = float(values.std()) or 1.0
        spacing = float(np.diff(distinct).min(initial=inf)) / sd
        return cls(ordinal_levels(values), float(values.mean()), sd, spacing)

    def within(self, values: FloatArray) -> Scale:
        """Return the same for some of the ratings: without levels that none of them is of."""
        if self.begins is None:
            return self
        level = np.searchsorted(self.begins, values, side="right")
        return replace(self, begins=self.begins[np.unique(level)[1:] - 1])

    @property
    def n_cuts(self) -> int:
        """How many cuts there are."""
        return 0 if self.begins is None else len(self.begins)

    def family(self, names: tuple[str, ...]) -> Any:
        """Return the likelihood."""
        return Gaussian(names) if self.begins is None else Ordinal(names)

    @property
    def unit(self) -> float:
        """What scores are multiplied by so that σ(gap) is the chance to be rated higher.

        By variance: that is a difference of two ratings, each with its noise.
        """
        return pi / sqrt(3.0) / sqrt(2.0) if self.begins is None else sqrt(0.5)


def rating_rows(ratings: Ratings, scale: Scale, n_items: int) -> tuple[Rows, IntArray]:
    """Lay out ratings; return also the annotator of each group of rows."""
    n, cuts = n_items, scale.n_cuts
    who, starts = np.unique(ratings.annotator.astype(np.int64), return_index=True)
    item, one = ratings.item, np.ones(len(ratings))
    size, above, below = n + cuts, one, one
    value: FloatArray = np.asarray((ratings.value - scale.mean) / scale.sd)

    def single(column: np.ndarray, factor: FloatArray | None = None) -> Channel:
        factors = np.ones(1) if factor is None else factor[:, None]
        return Channel(column[:, None].astype(np.int32), factors, size)

    channels = {GAP: single(item)}
    if scale.begins is not None:
        level = np.searchsorted(scale.begins, ratings.value, side="right")
        value, above, below = level * one, (level < cuts) * one, (level > 0) * one
        channels[ABOVE] = single(n + np.minimum(level, cuts - 1), above)
        channels[BELOW] = single(n + np.maximum(level - 1, 0), below)
    marks: Any = Marks(ratings.weight, value, above, below)
    every = np.arange(size)
    blocks = {SCORES: Block(slice(0, n), every[:n], np.full(n, -1))}
    blocks["cuts"] = Block(slice(n, size), np.full(cuts, -1), np.full(cuts, -1))
    starts = np.append(starts, len(ratings))
    levels = ratings.weight[None]
    return Rows(item, item, marks, starts, n, levels, channels=channels, blocks=blocks), who


class RatingAnnotators(Annotators):
    """The annotators of ratings; derivatives are taken only in what is asked for.

    Modes need those in the parameters, nodes those in the channels.
    """

    def _look(self, spread: Any, theta: FloatArray, prior: Any, sign: float) -> Any:
        family, self.family = self.family, replace(cast("Any", self.family), channels=())
        try:
            return super()._look(spread, theta, prior, sign)
        finally:
            self.family = family

    def _terms(self, spread: Any, theta: FloatArray, sign: float) -> Terms:
        """Return the terms of rows at θ, averaged over their uncertain scores."""
        family: Any = self.family
        by_row = dict(zip(family.names, self.rows.per_row(theta).T, strict=True))
        if sign < 0.0:
            by_row[RELIABILITY] = -by_row[RELIABILITY]
        asked = replace(family, names=()) if family.channels else family
        answers = self.rows.answers
        terms: Terms = reduce(
            add, (asked.terms(moved, by_row, answers).times(share) for moved, share in spread)
        )
        return terms

    def _spread(self, point: Point) -> Any:
        gap, moved = self.rows.channels[GAP], self._moved(point.unknowns)
        sd = np.sqrt(gap.variances(point.covariance))
        return [(moved | {GAP: moved[GAP] + off * sd}, share) for off, share in _SCORE_POINTS]


@dataclass(eq=False)
class Act:
    """Acts of one kind: their rows, and the population of the annotators' parameters."""

    rows: Rows
    who: IntArray
    """The annotators who gave some."""
    family: Any
    precision_bound: float = inf
    """Largest precision, over that of the scale's sd: ratings are rounded."""
    mean: FloatArray = field(init=False)
    covariance: FloatArray = field(init=False)
    share: float | None = field(init=False)
    """Of reversed annotators; None where nobody can be seen to be."""
    posterior: Posterior | None = field(default=None, init=False)

    __repr__ = brief

    def __post_init__(self) -> None:
        names = self.family.names
        self.mean = np.array([PRIORS[name][0] for name in names])
        self.covariance = np.diag([PRIORS[name][1] ** 2 for name in names])
        self.share = _FIRST_SHARE if RELIABILITY in names else None
        low = np.array([_LEAST_USE if name == USE else -inf for name in names])
        high = np.array([self.precision_bound if name == USE else inf for name in names])
        bounds: Any = (low, high)
        self.annotators = RatingAnnotators(self.rows, self.family, bounds)

    def tape(self, unknowns: FloatArray, variances: FloatArray) -> Tape:
        """Integrate the annotators' parameters out at some unknowns."""
        names, m = self.family.names, len(self.who)
        self.annotators.family = self.family
        prior = Correlated.of(self.mean, self.covariance, m)
        point = Point(unknowns, variances, prior, reversed_share=self.share, close=_CLOSE)
        tape, self.posterior = self.annotators.integrated(point)
        assert names == self.posterior.names  # noqa: S101
        return tape

    def values(self, name: str) -> FloatArray:
        """Return a parameter at the nodes: of reliabilities the strength."""
        assert self.posterior is not None  # noqa: S101  # there is a tape
        return self.posterior.strengths if name == RELIABILITY else self.posterior.of(name)

    def update(self, unknowns: FloatArray) -> float:
        """Estimate the population again (EM); return the largest change of a log spread."""
        names, posterior, m = self.family.names, self.posterior, len(self.who)
        assert posterior is not None  # noqa: S101  # there is a tape
        values = np.stack([self.values(name) for name in names], axis=2)
        usual = np.array([PRIORS[name][1] ** 2 for name in names])
        counts = np.array([PRIORS[name][2] for name in names])
        if isinstance(self.family, Gaussian):
            if USE in names:
                k = names.index(USE)
                self.mean[k] = float(posterior.mean(values[:, :, k]).mean())
                usual[k] *= self.mean[k] ** 2
            else:
                self._fit_precision(unknowns)
        off = values - self.mean
        squares = np.einsum("uk,uki,ukj->ij", posterior.weights, off, off)
        squares += np.diag(counts * usual)
        total, before = np.sqrt(m + counts), np.diag(self.covariance)
        self.covariance = squares / np.outer(total, total)
        if self.share is not None:
            self.share = reversed_share(posterior.reversed)
        return float(np.abs(np.log(np.diag(self.covariance) / before)).max())

    def _fit_precision(self, unknowns: FloatArray) -> None:
        """Fit a precision that all annotators have: where its expected loss is least."""
        assert self.posterior is not None  # noqa: S101  # there is a tape
        answers, gap = self.rows.answers, self.rows.channels[GAP].gather(unknowns)
        marks: Any = answers
        weight, value = marks.weight, marks.value
        mean = gap + self.rows.per_row(self.posterior.mean(self.posterior.of(LENIENCY)))
        square, cross = float(weight @ value**2), float(weight @ (value * mean))
        precision = (cross + sqrt(cross**2 + 4.0 * float(weight.sum()) * square)) / (2.0 * square)
        self.family = replace(self.family, precision=min(precision, self.precision_bound))


@dataclass(frozen=True, eq=False)
class ActsFit:
    """Scores by acts, the covariance of all unknowns, and the annotators' parameters."""

    unknowns: FloatArray
    covariance: FloatArray
    sd: float
    """Of the scores."""
    acts: tuple[Act, ...]
    tapes: tuple[Tape, ...]
    objective: float
    """Minus the log evidence, the unknowns by Laplace's method."""
    converged: bool
    rounds: int
    change: float
    n_items: int

    __repr__ = brief

    @property
    def scores(self) -> FloatArray:
        """Posterior means, about their mean."""
        own = self.unknowns[: self.n_items]
        return np.asarray(own - own.mean())

    @cached_property
    def score_covariance(self) -> FloatArray:
        """Their covariance about their mean."""
        return about_mean(self.covariance[: self.n_items, : self.n_items])

    @cached_property
    def by_prior(self) -> FloatArray:
        """The part of it that the priors make: V Λ V."""
        own = self.covariance[: self.n_items]
        precision = _precision(len(self.unknowns), self.n_items, self.sd)
        return about_mean((own * precision) @ own.T)

    def moments(self, act: Act, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return posterior means and variances of what an act's annotators have at their nodes."""
        posterior, tape = act.posterior, self.tapes[self.acts.index(act)]
        assert posterior is not None  # noqa: S101  # there is a tape
        deviation = posterior.weights * posterior.deviation(values)
        carried = tape.forms(deviation, self.covariance, np.zeros(len(self.unknowns)))[0]
        return posterior.mean(values), posterior.variance(values) + carried


def _precision(size: int, n_items: int, sd: float) -> FloatArray:
    """Return the prior's precision of each unknown."""
    return np.append(np.full(n_items, sd**-2.0), np.full(size - n_items, _CUT_SD**-2.0))


def fit_acts(
    acts: tuple[Act, ...],
    n_items: int,
    unknowns: FloatArray,
    *,
    sd: float = 1.0,
    fixed_sd: float | None = None,
    estimate: bool = True,
) -> ActsFit:
    """Fit acts from a start; unless ``estimate``, with all spreads fixed."""
    sd = sd if fixed_sd is None else fixed_sd
    size, cuts, x = len(unknowns), slice(n_items, None), unknowns.copy()
    variances = _padded(np.full(n_items, _FIRST_VARIANCE), size)
    change, far, count, settled, converged = 1.0, inf, 0, not estimate, False
    while True:
        tapes = tuple(act.tape(x, variances) for act in acts)
        precision = _precision(size, n_items, sd)
        both = [tape.dense() for tape in tapes]
        observed, complete = (sum(each[k] for each in both) + np.diag(precision) for k in (0, 1))
        score = sum(tape.gradient for tape in tapes) + precision * x
        covariance = _inverse(observed, precision.min())
        if converged or count == _ROUNDS + _POLISHING * settled:
            break
        count += 1
        step = -covariance @ score
        step *= min(1.0, _LONGEST / float(np.abs(step).max()))
        if size > n_items + 1:
            nearer = -np.diff(step[cuts]) / np.diff(x[cuts])
            step *= min(1.0, _CLOSER / max(float(nearer.max()), 1e-300))
        x, far = x + step, float(np.abs(step).max())
        spread = np.diag(about_mean(covariance[:n_items, :n_items]))
        own = np.diag(np.linalg.inv(complete[:n_items, :n_items]))
        variances = _padded(np.minimum(own, spread), size)
        if settled:  # all spreads are fixed, and the unknowns solved for
            converged = far < CLOSE
            continue
        change = max(act.update(x) for act in acts)
        if fixed_sd is None:
            s = x[:n_items] - x[:n_items].mean()
            new = sqrt((float(s @ s) + float(spread.sum()) + 1.0) / n_items)
            change, sd = max(change, abs(log(new / sd))), new
        settled = count > _FEWEST_ROUNDS and change < _SETTLED and far < _NEAR
    value = sum(tape.value for tape in tapes) + 0.5 * float(precision @ x**2)
    value += 0.5 * float(np.linalg.slogdet(observed)[1]) - 0.5 * float(np.log(precision).sum())
    return ActsFit(x, covariance, sd, acts, tapes, value, converged, count, far,
                   n_items)  # fmt: skip


def _padded(values: FloatArray, size: int) -> FloatArray:
    return np.append(values, np.zeros(size - len(values)))


def _inverse(matrix: FloatArray, least: float) -> FloatArray:
    """Invert a matrix that is definite near the optimum: else its least eigenvalues are raised."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors / np.maximum(values, 0.5 * least)) @ vectors.T)


def start_of(ratings: Ratings, scale: Scale, n_items: int) -> FloatArray:
    """Return scores and cuts to begin with: means, and logits of the levels' shares."""
    value = (ratings.value - scale.mean) / scale.sd
    number = np.maximum(np.bincount(ratings.item, minlength=n_items), 1)
    scores = np.bincount(ratings.item, value, n_items) / number
    if scale.begins is None:
        return np.asarray(scores)
    below = np.clip([np.mean(ratings.value < begin) for begin in scale.begins], 0.01, 0.99)
    cuts = 1.5 * np.log(below / (1.0 - below))
    for k in range(1, len(cuts)):
        cuts[k] = max(cuts[k], cuts[k - 1] + 0.05)
    return np.append(scores, cuts)


ALL_TERMS = (RELIABILITY, LENIENCY, USE)


def ratings_act(ratings: Ratings, scale: Scale, n_items: int, names: tuple[str, ...]) -> Act:
    """Return the act of ratings."""
    rows, who = rating_rows(ratings, scale, n_items)
    bound = sqrt(12.0) / scale.spacing if scale.begins is None else inf
    return Act(rows, who, scale.family(names), bound)


@dataclass(frozen=True, eq=False)
class RatingsFit:
    """The fit of ratings, and the scale that they are on."""

    fit: ActsFit
    scale: Scale
    ratings: Ratings
    evidence: float | None
    """Log evidence for annotators who differ in reliability and noise; None where they gave too
    few ratings to ask."""
    rival: float | None = None
    """The objective of the optimum the other way up, where that was looked for."""

    __repr__ = brief

    @property
    def act(self) -> Act:
        """The ratings' rows, and what is known of those who gave them."""
        return self.fit.acts[0]

    @property
    def names(self) -> tuple[str, ...]:
        """What annotators differ in."""
        names: tuple[str, ...] = self.act.family.names
        return names


def fit_ratings(
    ratings: Ratings,
    n_items: int,
    *,
    start: FloatArray | None = None,
    like: RatingsFit | None = None,
    sd: float | None = None,
) -> RatingsFit:
    """Fit ratings; what annotators differ in is chosen by evidence.

    Parameters
    ----------
    ratings, n_items
        What is fitted, and how many items there are.
    start
        Scores to begin with.
    like
        A fit of others of the same study, whose annotators' population, and that of the scores
        unless ``sd`` says otherwise, are taken as they are.
    sd
        Standard deviation of the scores, if it is known.

    Examples
    --------
    >>> who, item = np.divmod(np.arange(12, dtype=np.int32), 3)
    >>> value = np.array([1.0, 2, 3, 2, 3, 4, 1, 3, 3, 2, 2, 4])
    >>> fitted = fit_ratings(Ratings.of(who, item, value, np.ones(12)), 3)
    >>> np.argsort(fitted.fit.scores), fitted.names
    (array([0, 1, 2]), ('leniency',))
    """
    scale = Scale.of(ratings.value) if like is None else like.scale.within(ratings.value)
    begin = start_of(ratings, scale, n_items)
    if start is not None:
        begin[:n_items] = start

    def fitted(names: tuple[str, ...], begin: FloatArray, first_sd: float) -> ActsFit:
        act = ratings_act(ratings, scale, n_items, names)
        if like is not None:
            other = like.act
            act.mean, act.covariance, act.share = other.mean, other.covariance, other.share
            act.family = other.family
        estimate = like is None
        return fit_acts((act,), n_items, begin, sd=first_sd, fixed_sd=sd, estimate=estimate)

    if like is not None:
        first_sd = like.fit.sd if sd is None else sd
        return RatingsFit(fitted(like.names, begin, first_sd), scale, ratings, None)
    alike = fitted((LENIENCY,), begin, 1.0)
    given = np.bincount(ratings.annotator)
    if np.median(given[given > 0]) < FEW_RATINGS:
        return RatingsFit(alike, scale, ratings, None)
    full = fitted(ALL_TERMS, alike.unknowns, alike.sd)
    posterior = full.acts[0].posterior
    assert posterior is not None  # noqa: S101  # there is a fit
    rival = None
    if posterior.reversed @ given[given > 0] > _MANY_REVERSED * len(ratings):
        mirrored = np.append(-full.unknowns[:n_items], full.unknowns[n_items:])
        either = full, fitted(ALL_TERMS, mirrored, full.sd)
        full, above = sorted(either, key=lambda each: each.objective)
        rival = above.objective if another_order(full.scores, above.scores) else None
    evidence = alike.objective - full.objective
    if evidence <= _ENOUGH:
        return RatingsFit(alike, scale, ratings, evidence)
    return RatingsFit(full, scale, ratings, evidence, rival)
