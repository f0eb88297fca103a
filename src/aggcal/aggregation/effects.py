"""What was fitted beside scores and reliabilities, and what follows from it.

That is: ties, sides, strengths, contexts, categories and criteria, what is controlled for, the axis
and the camps of annotators; how likely answers are, and the scores of new items.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp, ndtri, stdtrit

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, TextArray
from aggcal._core.tables import positions
from aggcal._core.text import brief
from aggcal.aggregation.annotators import GAP_POINTS, GAP_WEIGHTS, Posterior, cubature
from aggcal.aggregation.empirical import FIRST_SDS, MEAN_PRIORS, Fit
from aggcal.aggregation.families import (
    POSITION,
    READINESS,
    RELIABILITY,
    STANCE,
    Adjacent,
    Advantage,
    Family,
    RaoKupper,
    Wins,
)
from aggcal.aggregation.posterior import FitPosterior
from aggcal.aggregation.rows import (
    AXIS,
    COMMON_POSITION,
    CONTEXT_READINESS,
    CONTROL,
    GAP,
    SCORES,
    TIE,
    Answers,
    Block,
    Channel,
    answers_of,
)
from aggcal.aggregation.spreads import PARAMETER_PRIOR, centred
from aggcal.aggregation.terms import ChosenTerms, counts_of
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments
from aggcal.data.row_columns import CRITERION
from aggcal.data.scores import Scores
from aggcal.errors import TooLittleDataError

if TYPE_CHECKING:
    from aggcal.aggregation.camps import ByCamp, Camps

OfRows = Callable[[dict[str, FloatArray], dict[str, FloatArray]], FloatArray]
"""A function of what moves rows and of their annotators' parameters, row by row."""
STANDS_OUT = 1.5
"""Mean square of the items' places on an axis, in standard errors, from which it is called one. A
lower value shows axes that are noise, a higher one hides small camps: of 100 studies without camps
(benchmarks/camps.py, many shapes) 4 were above 1, one above 1.5 and none above 2; of 30 with two
camps, 21, 21 and 18."""
EDGES = (0.1, 0.9)
"""Quantiles of the stances that are called the ends: the common ground is between them."""
_FEW_EACH = 1.1
"""The same for that part of the error of a mean over annotators that comes of few judgments each:
it takes the sds of the other parameters as known. Without it a nominal 90% covers 86% with five
judgments each; of 20 annotators with a hundred each it changes nothing."""
_TIE_POINTS = ((-(3.0**0.5), 1 / 6), (0.0, 2 / 3), (3.0**0.5, 1 / 6))
"""Where the uncertain readiness of a context is looked at, and weights: Gauss and Hermite's."""
_ANYONE = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Quantiles of the reliabilities that stand for an annotator who was not fitted, without a prior.
"""
_NO_GROUP, _NEW = -2, -1
"""A row that is in no group of a block, and one in a group that was not fitted."""
_CLOSE = 1e-7
"""Gradient of the log posterior at which a new item is where it belongs."""
_MOST_CATEGORIES = 20
"""Categories up to which each is compared with each: more are no table that anybody reads."""
_FEWEST_ITEMS = 4
"""Items that were compared in both categories: of fewer, a correlation says nothing."""
_TIE = 0.5
"""The outcome of a tie."""
_LEAST = 1e-6
"""Least precision, relative to the prior's, that counts as information: below is rounding."""
_WIDE = 2.0
"""Prior sd of the inverse hyperbolic tangent of a correlation: it matters only where the data would
have the correlation be 1."""
_DIFFERENCE = 1e-3
"""Change of a parameter by which second derivatives are computed."""


@dataclass(frozen=True, eq=False)
class Reading:
    """What a fit says of some quantities: values, and their standard errors."""

    values: FloatArray
    se: FloatArray

    __repr__ = brief

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return the ends of each interval, by the normal distribution.

        Examples
        --------
        >>> reading = Reading(np.array([0.5]), np.array([0.1]))
        >>> [end.round(2).tolist() for end in reading.interval(0.9)]
        [[0.34], [0.66]]
        """
        reach = float(ndtri(0.5 + 0.5 * level)) * self.se
        return self.values - reach, self.values + reach


@dataclass(frozen=True, eq=False, repr=False)
class AnnotatorEffect(Reading):
    """A parameter of every annotator, and its mean over annotators."""

    common: float
    common_se: float
    sd: float
    """How far annotators differ."""

    def to_dict(self) -> dict[str, float]:
        """Return what is common to all annotators, as in ``summary.json``."""
        return {"common": self.common, "common_se": self.common_se, "sd": self.sd}


@dataclass(frozen=True, eq=False, repr=False)
class Coefficients(Reading):
    """What is held equal: the effect of a standard deviation of each covariate.

    It is on the logit scale, for a typical annotator.
    """

    names: tuple[str, ...]

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return each coefficient with its standard error."""
        columns = zip(self.names, self.values.tolist(), self.se.tolist(), strict=True)
        return {name: {"value": value, "se": se} for name, value, se in columns}


@dataclass(frozen=True, eq=False)
class Correlations:
    """How alike the orders of the categories are: correlations of the items' scores in them."""

    ids: TextArray
    values: FloatArray
    """Categories by categories; NaN where too few items were compared in both."""
    z_se: FloatArray
    """Standard errors of their inverse hyperbolic tangents."""

    __repr__ = brief

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return the ends of each interval.

        Examples
        --------
        >>> ids, one = np.array(["content", "style"], dtype=object), np.eye(2)
        >>> alike = Correlations(ids, one * 0.2 + 0.8, 0.3 - 0.3 * one)
        >>> [end[0, 1].round(2).item() for end in alike.interval(0.9)]
        [0.54, 0.92]
        """
        middle = np.arctanh(np.clip(self.values, -1.0 + 1e-15, 1.0 - 1e-15))
        low, high = Reading(middle, self.z_se).interval(level)
        return np.tanh(low), np.tanh(high)

    def to_dict(self, level: float) -> list[dict[str, Any]]:
        """Return each pair of categories with its correlation and interval, as in summary.json."""
        low, high = self.interval(level)
        return [
            {
                "between": [str(self.ids[a]), str(self.ids[b])],
                "value": float(self.values[a, b]),
                "low": float(low[a, b]),
                "high": float(high[a, b]),
            }
            for a, b in combinations(range(len(self.ids)), 2)
            if np.isfinite(self.values[a, b])
        ]


@dataclass(frozen=True, eq=False)
class CategoryScores:
    """The items' scores in each category of one column; NaN where nobody compared them there."""

    name: str
    ids: TextArray
    scores: FloatArray
    """Categories by items: the overall score and what the item does in the category."""
    se: FloatArray
    sd: float
    """How far items do otherwise in a category than overall."""
    judgments: FloatArray
    """Weight of the judgments of each category."""
    correlation: Correlations | None = None
    """Between categories; None where there are many."""
    covariances: tuple[FloatArray, ...] = ()
    """Of the scores in each category that are there; empty where unknowns are many."""

    __repr__ = brief

    def to_dict(self, level: float) -> dict[str, Any]:
        """Return what is known of the categories as a whole, as in ``summary.json``."""
        return {
            "sd": self.sd,
            "categories": [str(one) for one in self.ids],
            "judgments": self.judgments.tolist(),
            "correlations": [] if self.correlation is None else self.correlation.to_dict(level),
        }


@dataclass(frozen=True, eq=False)
class Axis:
    """The axis along which annotators differ most."""

    items: Reading
    """Where each item stands: those with a high value are put higher by annotators with a high
    stance."""
    stances: Reading
    """Where each annotator stands."""
    common_ground: Reading
    """Scores at the middle of the stances: what both ends could call fair."""
    share: float = 0.0
    """Share of the axis in what items explain of the answers, reliabilities explaining the rest."""

    __repr__ = brief

    @property
    def ends(self) -> tuple[float, float]:
        """Where the two ends stand: a tenth of the annotators is beyond each."""
        low, high = np.quantile(self.stances.values, EDGES)
        return float(low), float(high)

    @property
    def stands_out(self) -> bool:
        """Whether there is an axis at all: its items are further from 0 than their errors are.

        Where annotators do not differ along an axis, its spread is mostly estimated as nothing.
        """
        far = np.square(self.items.values / np.maximum(self.items.se, 1e-12))
        return bool(far.mean() > STANDS_OUT)

    def to_dict(self) -> dict[str, Any]:
        """Return what is known of the axis as a whole, as in ``summary.json``."""
        ends = self.ends
        return {
            "stands_out": self.stands_out,
            "share": self.share,
            "ends": list(ends),
            "middle": sum(ends) / 2.0,
        }


@dataclass(frozen=True, eq=False)
class Effects:
    """Everything beside scores and reliabilities that was fitted; None for what was not."""

    judgments: AnyJudgments
    chosen: ChosenTerms
    fit: Fit
    uncontrolled: FloatArray | None = None
    """Scores of the fit in which nothing is controlled for, where something is in this one."""
    camps: Camps | None = None
    """Camps of annotators; None where they were not looked for."""
    by_camp: ByCamp | None = field(default=None, repr=False)
    """The fit with scores for each camp, where there are camps."""

    __repr__ = brief

    @property
    def _blocks(self) -> dict[str, Block]:
        return self.fit.problem.model.rows.blocks

    @cached_property
    def posterior(self) -> FitPosterior:
        """How sure everything is."""
        return FitPosterior(self.fit)

    @property
    def covariance(self) -> FloatArray:
        """Of all unknowns: a matrix, or its diagonal where there are many."""
        return self.posterior.unknowns

    @cached_property
    def variances(self) -> FloatArray:
        """Its diagonal."""
        return self.covariance if self.covariance.ndim == 1 else np.diag(self.covariance)

    @property
    def ties(self) -> str:
        """How ties were fitted: ``davidson``, ``rao-kupper`` or ``halves``."""
        return self.chosen.ties

    @property
    def context_fitted(self) -> bool:
        """Whether what items do in each context is part of the fit."""
        return "context" in self.chosen.cells

    @cached_property
    def position(self) -> AnnotatorEffect | None:
        """Preference for the left side, on the logit scale: 0 is none."""
        return self._effect(POSITION, COMMON_POSITION)

    @cached_property
    def readiness(self) -> AnnotatorEffect | None:
        """Readiness to call a tie."""
        return self._effect(READINESS, CONTEXT_READINESS)

    def _effect(self, name: str, common: str) -> AnnotatorEffect | None:
        """Return a parameter of annotators; where they are alike, that of all."""
        fit, posterior, m = self.fit, self.fit.posterior, self.judgments.n_annotators
        if self.chosen.alike and common in self._blocks:
            k = self._blocks[common].where.start
            value, variance = float(fit.state.unknowns[k]), float(self.variances[k])
            se = float(np.sqrt(variance))
            return AnnotatorEffect(np.full(m, value), np.full(m, se), value, se, 0.0)
        if name not in posterior.names:
            return None
        return AnnotatorEffect(
            posterior.mean(posterior.of(name)),
            np.sqrt(self.posterior.variances_of(posterior.of(name))),
            float(fit.state.unknowns[fit.problem.model.index(name)]),
            float(np.sqrt(_variance_of_mean(fit, self.variances, name))),
            fit.state.sds[name],
        )

    @property
    def parameters(self) -> dict[str, Reading]:
        """What annotators have beside reliabilities, by column."""
        stances = None if self.axis is None else self.axis.stances
        columns = {"position": self.position, "tie_readiness": self.readiness, "stance": stances}
        return {name: each for name, each in columns.items() if each is not None}

    def _own(self, name: str) -> tuple[FloatArray, FloatArray]:
        """Return the unknowns of a block, and their standard errors."""
        where = self._blocks[name].where
        return self.fit.state.unknowns[where], np.sqrt(self.variances[where])

    @property
    def control(self) -> Coefficients | None:
        """Coefficients of what is controlled for."""
        if self.chosen.control is None:
            return None
        return Coefficients(*self._own(CONTROL), self.chosen.control.names)

    @cached_property
    def categories(self) -> tuple[CategoryScores, ...]:
        """Scores by category."""
        return tuple(self._category(name) for name in self.chosen.cells if name != "context")

    def _category(self, name: str) -> CategoryScores:
        block, sds = self._blocks[name], self.fit.state.sds
        column, errors = name.removeprefix("by "), list[FloatArray]()
        ids = self.judgments.category_ids[column]
        maps = [self.combined(name, weights)[0] for weights in np.eye(len(ids))]
        compared = np.zeros((len(ids), self.judgments.n_items), dtype=bool)
        compared[block.group, block.item] = True
        readings, alike = [self.reading(each) for each in maps], None
        means, se = (np.stack([getattr(r, name) for r in readings]) for name in ("values", "se"))
        if self.covariance.ndim > 1:
            parts = [each[there] for each, there in zip(maps, compared, strict=True)]
            errors = [self.covariance_of(part, part) for part in parts]
        if 1 < len(ids) <= _MOST_CATEGORIES:
            alike = self._correlations(ids, maps, compared, means, (sds[SCORES], sds[name]))
        return CategoryScores(
            column,
            ids,
            np.where(compared, means, np.nan),
            np.where(compared, se, np.nan),
            sds[name],
            counts_of(self.judgments).category_weights[column],
            alike,
            tuple(errors),
        )

    def combined(self, name: str, weights: FloatArray, common: float = 1.0) -> tuple[Any, Any]:
        """Return the map from unknowns to c s_i + Σ_g w_g δ_ig, over the groups of a block.

        And what groups in which nobody compared an item, δ_ig being 0 there, add to its variance.
        """
        from scipy import sparse

        block, n = self._blocks[name], self.judgments.n_items
        own = np.arange(block.where.start, block.where.stop)
        places = np.r_[np.arange(n), block.item], np.r_[np.arange(n), own]
        values = np.r_[np.full(n, common), weights[block.group]]
        unseen = np.ones((len(weights), n))
        unseen[block.group, block.item] = 0.0
        matrix = sparse.csr_array((values, places), shape=(n, self.fit.problem.model.size))
        return matrix, (np.square(weights) @ unseen) * self.fit.state.sds[name] ** 2

    def covariance_of(self, one: Any, two: Any) -> FloatArray:
        """Return the covariance of two maps of the unknowns; where these are many its diagonal."""
        if self.covariance.ndim == 1:
            return np.asarray(one.multiply(two) @ self.covariance)
        return np.asarray(one @ (two @ self.covariance).T)

    def reading(self, matrix: Any, prior: Any = 0.0) -> Reading:
        """Return what the fit says of a map of the unknowns; ``prior`` is added to its variance."""
        covariance = self.covariance_of(matrix, matrix)
        variances = covariance if covariance.ndim == 1 else np.diag(covariance)
        se = np.asarray(np.sqrt(np.maximum(variances + prior, 0.0)))
        return Reading(matrix @ self.fit.state.unknowns, se)

    @cached_property
    def _weighted(self) -> tuple[Any, Any]:
        """The map from unknowns to weighted means of the criteria."""
        return self.combined(f"by {CRITERION}", np.array(self.chosen.weights))

    @cached_property
    def scores(self) -> FloatArray:
        """What the items are ordered by: the scores, or the weighted mean of those by criterion."""
        if self.chosen.weights is None:
            return self.fit.scores
        means: FloatArray = self._weighted[0] @ self.fit.state.unknowns
        return np.asarray(means - means.mean())

    def weighted_covariance(self) -> FloatArray:
        """Return the covariance of weighted means, or its diagonal."""
        matrix, prior = self._weighted
        covariance = self.covariance_of(matrix, matrix)
        if covariance.ndim == 1:
            return np.asarray(covariance + prior)
        return centred(covariance + np.diag(prior), self.fit.problem.model.component)

    @cached_property
    def axis(self) -> Axis | None:
        """The axis of disagreement."""
        if STANCE not in self.chosen.names:
            return None
        posterior, rows = self.fit.posterior, self.fit.problem.model.rows
        unknowns = self.fit.state.unknowns[: rows.size]
        stances, se = posterior.of(STANCE), self.posterior.variances_of(posterior.of(STANCE))
        where_they_stand = Reading(posterior.mean(stances), np.sqrt(se))
        middle = np.quantile(where_they_stand.values, EDGES).mean(keepdims=True)
        # The part of the axis in the squared advantages of items over others.
        scores = np.where(np.arange(rows.size) < rows.n_items, unknowns, 0.0)
        reliability = posterior.mean(posterior.of(RELIABILITY))
        own = rows.weighted_square(AXIS, unknowns, where_they_stand.values)
        shared = rows.weighted_square(GAP, scores, reliability)
        return Axis(
            Reading(*self._own(AXIS)),
            where_they_stand,
            self.reading(self.combined(AXIS, middle)[0]),
            own / max(own + shared, 1e-300),
        )

    def _correlations(
        self,
        ids: TextArray,
        maps: list[Any],
        compared: BoolArray,
        means: FloatArray,
        sds: tuple[float, float],
    ) -> Correlations:
        """Return the correlations of s + δ between categories, δ being 0 where nobody compared.

        The fit shrinks all categories toward one common score alike. That is taken out again: of
        each item there remains what its judgments say, normal, with precision Λ_i and mean Λ_i⁻¹
        h_i, and to that scores t_i ~ N(0, Σ) with any correlation are fitted.
        """
        number, n = compared.shape
        prior = sds[0] ** 2 + sds[1] ** 2 * np.eye(number)
        prior_precision = np.linalg.inv((1.0 - 1.0 / n) * prior)
        covariance = np.empty((n, number, number))
        for a, b in product(range(number), repeat=2):
            between = self.covariance_of(maps[a], maps[b])
            if a == b:
                unseen = np.where(compared[a], 0.0, sds[1] ** 2)
                between = between + (unseen if between.ndim == 1 else np.diag(unseen))
            if between.ndim > 1:  # the mean of each category is a convention: only its prior knows
                between = between - between.mean(axis=0)
                between = np.diag(between - between.mean(axis=1, keepdims=True))
            covariance[:, a, b] = between
        posterior_precision = np.linalg.inv(covariance)
        values, vectors = np.linalg.eigh(posterior_precision - prior_precision)
        values = np.where(values > _LEAST * np.abs(prior_precision).max(), values, 0.0)
        precision = (vectors * values[:, None, :]) @ vectors.transpose(0, 2, 1)
        centred_scores = (means - means.mean(axis=1, keepdims=True)).T
        pull = np.einsum("iab,ib->ia", posterior_precision, centred_scores)
        correlation, errors = np.full((2, number, number), np.nan)
        np.fill_diagonal(correlation, 1.0)
        np.fill_diagonal(errors, 0.0)
        for a, b in combinations(range(number), 2):
            both, pair = compared[a] & compared[b], np.array([a, b])
            if both.sum() >= _FEWEST_ITEMS:
                parts = precision[both][:, pair[:, None], pair], pull[both][:, pair]
                z, se = _correlation(*parts, float(np.hypot(*sds)))
                correlation[a, b] = correlation[b, a] = np.tanh(z)
                errors[a, b] = errors[b, a] = se
        return Correlations(ids, correlation, errors)

    @property
    def grades(self) -> FloatArray:
        """How common each strength of an answer is between equal items, relative to the first."""
        return np.array(self.fit.state.grades)

    # ------------------------------------------------------------------- prediction
    @cached_property
    def family(self) -> Family:
        """The likelihood of an answer, with the weights of strengths that were estimated."""
        family = self.fit.problem.model.family
        if isinstance(family, Advantage) and isinstance(family.law, Adjacent):
            family = replace(family, law=Adjacent(self.fit.state.grades))
        return family

    def preferences(self, judgments: Judgments) -> FloatArray:
        """Return the probability that each row's annotator prefers its left item: a tie is half."""
        left, _, tie = self.expected(judgments, self.family.probabilities).T
        return np.asarray(left + 0.5 * tie)

    def outcomes(self, judgments: Judgments) -> FloatArray:
        """Return the probabilities of left, right and tie for each row; outcomes are not used.

        Ties that were not fitted are as frequent for every question.
        """
        chances: FloatArray = self.expected(judgments, self.family.probabilities)
        if self.ties != "halves":
            return chances
        # Never 0: there may be one yet.
        share = (counts_of(self.judgments).ties + 0.5) / (self.judgments.n_judgments + 1.0)
        return np.asarray((1.0 - share) * chances + [0.0, 0.0, share])

    def expected(self, judgments: Judgments, function: OfRows, *, averaged: bool = True) -> Any:
        """Return the mean of a function of what moves rows and of annotators' parameters.

        It is the mean over what is uncertain, or the value at the estimates.
        """
        if self.by_camp is not None:
            return self.by_camp.expected(judgments, function)
        moved, gap_variance, tie_variance = self._moved(judgments)
        nodes, weights = self._nodes(judgments)
        points = [(0.0, 0.0, 1.0)]
        if averaged:
            ties = _TIE_POINTS if tie_variance.any() else ((0.0, 1.0),)
            gaps = zip(GAP_POINTS, GAP_WEIGHTS, strict=True)
            points = [(gap, tie, a * b) for (gap, a), (tie, b) in product(gaps, ties)]
        else:
            nodes = np.einsum("uk,ukp->up", weights, nodes)[:, None]
            weights = np.ones((len(nodes), 1))
        gap_sd, tie_sd, total = np.sqrt(gap_variance), np.sqrt(tie_variance), np.zeros((1, 1))
        for k in range(nodes.shape[1]):
            share = weights[judgments.annotator, k, None]
            columns = nodes[judgments.annotator, k].T
            theta = dict(zip(self.family.names, columns, strict=True))
            for gap, tie, chance in points if share.any() else ():
                there = moved | {GAP: moved[GAP] + gap * gap_sd}
                if TIE in moved:
                    there[TIE] = moved[TIE] + tie * tie_sd
                total = total + share * chance * function(there, theta)
        return total

    def score_tests(self, judgments: Judgments, *, averaged: bool) -> tuple[FloatArray, FloatArray]:
        """Return the score of each answer in η, and the information of one: the score's variance.

        By adjacent categories the score is the half grades for the left item less those expected.
        """
        family, ties, graded = self.family, self.ties != "halves", self.chosen.graded
        assert isinstance(family, Advantage)  # noqa: S101  # mixtures have no terms
        if isinstance(family.law, RaoKupper):
            won = judgments.outcome
            left, right, tie = self.expected(judgments, family.probabilities, averaged=averaged).T
            decided = won * (1.0 - left) - (1.0 - won) * (1.0 - right)
            score = np.where(won == _TIE, right - left, decided)
            information = left * (1.0 - left) ** 2 + right * (1.0 - right) ** 2
            return score, information + tie * (right - left) ** 2
        answers = answers_of(judgments, ties=ties, grades=graded)[0]

        def moments(moved: dict[str, FloatArray], theta: dict[str, FloatArray]) -> FloatArray:
            """Return the first two moments of the half grades for the left item."""
            one, none = np.ones(len(answers.lean)), np.zeros(len(answers.lean))
            terms = family.law.terms(*family.advantage(moved, theta), Answers(one, none, none))
            return np.stack([terms.score, terms.curvature + terms.score**2], axis=1)

        mean, square = self.expected(judgments, moments, averaged=averaged).T
        return answers.lean / answers.weight - mean, square - mean**2

    def _moved(self, judgments: Judgments) -> tuple[dict[str, FloatArray], FloatArray, FloatArray]:
        """Return what moves the rows of some judgments, and the variances of gaps and readiness."""
        unknowns, blocks, sds = self.fit.state.unknowns, self._blocks, self.fit.state.sds
        items = positions(judgments.item_ids, self.judgments.item_ids)
        sides = items[judgments.left], items[judgments.right]
        gap, prior_variance = self._gap_channel(judgments, sides)
        moved = {GAP: gap.gather(unknowns)}
        gap_variance = np.maximum(gap.variances(self.covariance) + prior_variance, 0.0)
        if AXIS in blocks:  # a new item is in its middle
            axis = np.append(unknowns[blocks[AXIS].where], 0.0)
            moved[AXIS] = axis[sides[0]] - axis[sides[1]]
        tie_variance = np.zeros(len(gap_variance))
        if CONTEXT_READINESS in blocks:
            group = self._group("context", judgments)
            if self.chosen.alike:  # everyone's is the same anywhere
                group = np.zeros_like(group)
            index = blocks[CONTEXT_READINESS].where.start + np.maximum(group, 0)
            new = np.where(group == _NEW, sds[CONTEXT_READINESS] ** 2, 0.0)
            tie_variance = np.where(group >= 0, self.variances[index], new)
            moved[TIE] = np.where(group >= 0, unknowns[index], 0.0)
        return moved, gap_variance, tie_variance

    def _gap_channel(
        self, judgments: Judgments, sides: tuple[IntArray, IntArray]
    ) -> tuple[Channel, FloatArray]:
        """Return the map from unknowns to gaps, and the prior variances of what was not fitted."""
        rows, n = len(judgments.left), self.judgments.n_items
        columns, factors, variance = list[IntArray](), list[FloatArray](), np.zeros(rows)
        for name, block in self._blocks.items():
            first = block.where.start
            if name == COMMON_POSITION:
                columns.append(np.full(rows, first))
                factors.append(np.ones(rows))
            elif name == CONTROL:
                assert self.chosen.control is not None  # noqa: S101  # there are coefficients
                codes = judgments.left, judgments.right, judgments.context
                differences = self.chosen.control.differences(judgments, *codes)
                columns += [np.full(rows, first + k) for k in range(differences.shape[1])]
                factors += list(differences.T)
            elif name not in (AXIS, CONTEXT_READINESS):
                group = self._group(name, judgments)
                cells = np.maximum(block.group, 0) * n + block.item
                for side, sign in zip(sides, (1.0, -1.0), strict=True):
                    wanted = group * n + side
                    index = np.minimum(np.searchsorted(cells, wanted), len(cells) - 1)
                    fitted = (cells[index] == wanted) & (side >= 0) & (group >= 0)
                    columns.append(np.where(fitted, first + index, 0))
                    factors.append(np.where(fitted, sign, 0.0))
                    unfitted = ~fitted & (group != _NO_GROUP)
                    variance += np.where(unfitted, self.fit.state.sds[name] ** 2, 0.0)
        table = np.stack(columns, axis=1).astype(np.int32)
        return Channel(table, np.stack(factors, axis=1), self.fit.problem.model.size), variance

    def _group(self, name: str, judgments: Judgments, *, of_fit: bool = True) -> IntArray:
        """Return the group of each row in a block.

        ``of_fit`` says whether groups are numbered as in the fit, or as in the judgments.
        """
        if name == SCORES:
            return np.zeros(len(judgments.left), dtype=np.int64)
        if name == "context":
            code, ids, fitted = judgments.context, judgments.context_ids, self.judgments.context_ids
        else:
            column = next((c for c in judgments.categories if f"by {c.name}" == name), None)
            code, ids = (None, None) if column is None else (column.code, column.ids)
            fitted = self.judgments.category_ids.get(name.removeprefix("by "))
        if code is None or ids is None or fitted is None:
            # Asked about no context in particular: the effects are those of a new one.
            return np.full(len(judgments.left), _NEW if name == "context" else _NO_GROUP)
        if not of_fit:
            return np.asarray(code, dtype=np.int64)
        return np.where(code >= 0, positions(ids, fitted)[np.maximum(code, 0)], _NO_GROUP)

    def _nodes(self, judgments: Judgments) -> tuple[FloatArray, FloatArray]:
        """Return values of each annotator's parameters and their probabilities."""
        posterior, state, names = self.fit.posterior, self.fit.state, self.family.names
        if not names:
            m = judgments.n_annotators
            return np.zeros((m, 1, 0)), np.ones((m, 1))
        index = positions(judgments.annotator_ids, self.judgments.annotator_ids)
        fitted: BoolArray = index >= 0
        if {*names} <= {*state.sds}:  # a new annotator is like those whom the prior expects
            model, (points, chances) = self.fit.problem.model, cubature(len(names))
            means = [float(name == RELIABILITY) for name in names]
            for name in model.means:
                means[names.index(name)] = float(state.unknowns[model.index(name)])
            anyone = np.array(means) + points * np.array([state.sds[name] for name in names])
            anyone = np.concatenate([anyone, anyone])
            anyone[len(points) :, 0] *= -1.0
            shares = np.repeat([1.0 - state.reversed_share, state.reversed_share], len(points))
            chances = np.tile(chances, 2) * shares
        else:  # like those who were fitted
            anyone = np.quantile(posterior.mean(posterior.of(names[0])), _ANYONE)[:, None]
            chances = np.full(len(anyone), 1.0 / len(anyone))
        width = max(posterior.weights.shape[1], len(anyone))
        nodes = np.zeros((len(index), width, len(names)))
        weights = np.zeros((len(index), width))
        nodes[~fitted, : len(anyone)], weights[~fitted, : len(anyone)] = anyone, chances
        own = slice(0, posterior.weights.shape[1])
        nodes[fitted, own], weights[fitted, own] = (
            each[index[fitted]] for each in (posterior.nodes, posterior.weights)
        )
        if POSITION in names and not judgments.sided:
            # Left may be the winner; where the items were shown is not known.
            nodes[:, :, names.index(POSITION)] = 0.0
        return nodes, weights

    # ------------------------------------------------------------------- new items
    def place(self, judgments: Judgments) -> Scores:
        """Place items that were judged later, with all that was fitted fixed."""
        fitted: BoolArray = positions(judgments.item_ids, self.judgments.item_ids) >= 0
        new, left, right = np.flatnonzero(~fitted), judgments.left, judgments.right
        if not len(new):
            raise TooLittleDataError(
                f"{judgments.source}: every item is in the consensus already; aggregate all "
                "judgments again to move them."
            )
        results = []
        for item in new.tolist():
            mine: BoolArray = (left == item) & fitted[right]
            mine |= (right == item) & fitted[left]
            if not mine.any():
                raise TooLittleDataError(
                    f"{judgments.source}: item '{judgments.item_ids[item]}' was compared with no "
                    "item of the consensus; add such a judgment or leave it out."
                )
            results.append(self._score_of(judgments, item, mine))
        scores, sd = np.array(results).T
        return Scores(judgments.item_ids[new], scores, sd, judgments.source)

    def _score_of(self, judgments: Judgments, item: int, rows: BoolArray) -> tuple[float, float]:
        """Return the score of a new item by some rows, and its sd.

        What is unknown is its score, what it does in each context and category, and its place on
        the axis. Annotators keep their nodes, whose probabilities follow the new answers.
        """
        from scipy.optimize import approx_fprime, minimize

        index, sds, family = np.flatnonzero(rows), self.fit.state.sds, self.family
        sign = np.where(judgments.left[index] == item, 1.0, -1.0)
        columns, precision = [sign], [sds[SCORES] ** -2.0]
        for name, block in self._blocks.items():
            if name in (SCORES, AXIS) or (block.item < 0).any():
                continue
            group = self._group(name, judgments, of_fit=False)[index]
            own = np.unique(group[group >= 0]).tolist()
            columns += [sign * (group == each) for each in own]
            precision += [sds[name] ** -2.0] * len(own)
        design = {GAP: np.stack(columns)}
        if AXIS in self._blocks:
            design = {GAP: np.stack([*columns, 0.0 * sign]), AXIS: np.stack([*columns, sign])}
            design[AXIS][:-1] = 0.0
            precision.append(sds[AXIS] ** -2.0)
        moved = {name: values[index] for name, values in self._moved(judgments)[0].items()}
        who, first, owner = np.unique(
            judgments.annotator[index], return_index=True, return_inverse=True
        )
        nodes, weights = (each[who] for each in self._nodes(judgments))
        ties, prior = self.ties != "halves", np.array(precision)
        answers, _ = answers_of(judgments, ties=ties, grades=self.chosen.graded)
        # A strength that nobody used when the model was fitted counts as the strongest that was.
        most = 0.5 * len(self.fit.state.grades) * answers.weight
        answers = answers._replace(lean=np.clip(answers.lean, -most, most))
        answers = Answers(*(part[index] for part in answers))

        def loss(x: FloatArray) -> tuple[float, FloatArray]:
            """Return minus the log posterior and its gradient."""
            there = moved | {name: moved[name] + x @ part for name, part in design.items()}
            logs, scores = np.log(np.maximum(weights, 1e-300)), []
            for k in range(logs.shape[1]):
                theta = dict(zip(family.names, nodes[owner, k].T, strict=True))
                lost, score = _loss(family, there, theta, answers)
                logs[:, k] -= np.add.reduceat(lost, first)
                scores.append(sum(score[name] * part for name, part in design.items()))
            total = logsumexp(logs, axis=1, keepdims=True)
            chances = np.exp(logs - total)[owner]
            gradient = sum(each @ chances[:, k] for k, each in enumerate(scores))
            return 0.5 * float((prior * x) @ x) - float(total.sum()), gradient + prior * x

        def gradient(x: FloatArray) -> FloatArray:
            return loss(x)[1]

        start = np.zeros(len(prior))
        best = minimize(loss, start, jac=True, method="BFGS", options={"gtol": _CLOSE}).x
        curvature = np.atleast_2d(approx_fprime(best, gradient, _DIFFERENCE))
        return float(best[0]), float(np.sqrt(np.linalg.inv(curvature)[0, 0]))

    # ------------------------------------------------------------------- summary
    @property
    def criteria_weights(self) -> dict[str, float] | None:
        """The weight of each criterion, where scores are their weighted mean."""
        if self.chosen.weights is None:
            return None
        ids = map(str, self.judgments.category_ids[CRITERION])
        return dict(zip(ids, self.chosen.weights, strict=True))

    def to_dict(self, level: float) -> dict[str, Any]:
        """Return plain data, as in ``summary.json``; intervals are at a level."""
        judgments, chosen, state = self.judgments, self.chosen, self.fit.state
        name = judgments.context_name if self.context_fitted else None
        contexts = None
        if judgments.context_ids is not None:
            contexts = {
                "name": judgments.context_name,
                "number": len(judgments.context_ids),
                "fitted": self.context_fitted,
                "sd": state.sds["context"] if self.context_fitted else None,
            }
        summary: dict[str, Any] = {
            "ties": self.ties,
            "position": None if self.position is None else self.position.to_dict(),
            "tie_readiness": None if self.readiness is None else self.readiness.to_dict(),
            "position_evidence": chosen.evidence,
            "n_ties": counts_of(judgments).ties,
            "context": name,
            "contexts": contexts,
            "categories": {column.name: column.to_dict(level) for column in self.categories},
            "criteria_weights": self.criteria_weights,
            "control": None if self.control is None else self.control.to_dict(),
            "bridge": self.axis is not None or self.camps is not None,
            "axis": None if self.axis is None else self.axis.to_dict(),
            "camps": None if self.camps is None else self.camps.to_dict(),
        }
        return summary | ({"grades": list(state.grades)} if len(state.grades) > 1 else {})


def _loss(
    family: Family, moved: dict[str, FloatArray], theta: dict[str, FloatArray], answers: Answers
) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Return the loss of answers and its score in each channel, also where rows would be wins."""
    if isinstance(family, Advantage) and not isinstance(family.law, Wins):
        terms = family.terms(moved, theta, answers)
        return terms.loss, terms.score
    left, right = (
        family.terms({GAP: sign * moved[GAP]}, theta, answers._replace(weight=weight))
        for sign in (1.0, -1.0)
        for weight in [0.5 * answers.weight + sign * answers.lean]
    )
    return left.loss + right.loss, {GAP: left.score[GAP] - right.score[GAP]}


def _variance_of_mean(fit: Fit, variances: FloatArray, name: str) -> float:
    """Return the variance of the mean of a parameter over annotators.

    Its sd σ is uncertain, too, and with few judgments each the mean moves with it: those who
    never tied may be far below one mean or not so far below a lower one. With d the distance of an
    annotator from the mean in σ, the information on the mean and log σ together is by Louis's
    formula Σ_u (2 E d − Cov(d, d²)) / σ, that on log σ alone Σ_u 2 E d² − Var d².
    """
    model, posterior, k = fit.problem.model, fit.posterior, fit.problem.model.index(name)
    own, sd = float(variances[k]), fit.state.sds[name]
    if name not in model.estimated:
        return own
    far = (posterior.of(name) - fit.state.unknowns[k]) / sd
    mean, square = posterior.mean(far), posterior.mean(far**2)
    skew = _unseen_skew(posterior, far)
    both = float((2.0 * mean - posterior.mean(far**3) + mean * square - skew).sum()) / sd
    alone = 2.0 * square - posterior.mean(far**4) + square**2 - 4.0 * mean * skew
    information = float(alone.sum()) + 2.0 * PARAMETER_PRIOR * (FIRST_SDS[name] / sd) ** 2
    # Where the data hardly tell the two apart, the prior of the sd still does.
    rest = max(information - own * both**2, PARAMETER_PRIOR)
    # What the mean's own prior leaves open is as wide as it says.
    by_data = max(1.0 - own / MEAN_PRIORS[name][1] ** 2, 0.0)
    few_each = max(own - sd**2 / len(far), 0.0) * by_data
    return own + (own * both) ** 2 / rest + (_FEW_EACH**2 - 1.0) * few_each


def _unseen_skew(posterior: Posterior, values: FloatArray) -> FloatArray:
    """Return the third cumulant of each annotator's values that their nodes do not show.

    For a density φ(x)(1 + c x³) about its mode, three points give the mean 3c, and 9c for the mean
    of x³ where it is 15c: the cumulant 6c comes out as 0. It is twice the variance times the
    distance of the mean from the mode, about which the nodes of either half are symmetric.
    """
    total, weights = np.zeros(len(values)), posterior.weights
    width = weights.shape[1] // posterior.halves
    for half in range(posterior.halves):
        nodes = slice(half * width, (half + 1) * width)
        share = weights[:, nodes].sum(axis=1)
        own = weights[:, nodes] / np.maximum(share, 1e-300)[:, None]
        mean = (own * values[:, nodes]).sum(axis=1)
        variance = (own * (values[:, nodes] - mean[:, None]) ** 2).sum(axis=1)
        total += share * 2.0 * variance * (mean - values[:, nodes].mean(axis=1))
    return total


def _correlation(precision: FloatArray, pull: FloatArray, sd: float) -> tuple[float, float]:
    """Return the inverse hyperbolic tangent of the correlation, and its standard error.

    Beforehand, log spreads are N(0, 1), over sd, and that is N(0, 2²).
    """
    from scipy.optimize import minimize

    def loss(theta: FloatArray) -> float:
        """Minus the log posterior."""
        one, two = sd * np.exp(theta[:2])
        rho = np.tanh(theta[2])
        sigma = np.array([[one**2, rho * one * two], [rho * one * two, two**2]])
        inner = np.eye(2) + precision @ sigma
        # (Λ + Σ⁻¹)⁻¹ = Σ (I + Λ Σ)⁻¹, which needs no inverse of Σ.
        spread = sigma @ np.linalg.solve(inner, pull[:, :, None])
        fit = 0.5 * float((pull[:, :, None] * spread).sum())
        size = 0.5 * float(np.log(np.linalg.det(inner)).sum())
        prior = 0.5 * float(theta[:2] @ theta[:2]) + 0.5 * float(theta[2] / _WIDE) ** 2
        return size - fit + prior

    best = minimize(loss, np.zeros(3), method="L-BFGS-B", bounds=[(-6.0, 3.0)] * 2 + [(-6.0, 6.0)])
    x, steps = best.x, _DIFFERENCE * np.eye(3)
    hessian = np.array(
        [[loss(x + a + b) - loss(x + a - b) - loss(x - a + b) + loss(x - a - b) for b in steps]
         for a in steps]
    ) / (4.0 * _DIFFERENCE**2)  # fmt: skip
    values, vectors = np.linalg.eigh(hessian)
    variance = (np.square(vectors[2]) / np.maximum(values, 1e-3)).sum()
    # Fisher's 1/(n − 3), where the curvature has 1/n.
    return float(x[2]), float(np.sqrt(len(pull) / (len(pull) - 3.0) * variance))


def in_camps(effects: Effects | None) -> bool:
    """Whether annotators form camps: a low reliability is then that of another camp."""
    return effects is not None and effects.camps is not None and effects.camps.stands_out


def mean_interval(mean: float, se: float, number: int, level: float) -> tuple[float, float]:
    """Return the interval of a mean over annotators, by Student's t.

    Examples
    --------
    >>> [round(end, 2) for end in mean_interval(0.5, 0.1, 5, 0.9)]
    [0.29, 0.71]
    """
    reach = float(stdtrit(max(number - 1, 1), 0.5 + 0.5 * level)) * se
    return mean - reach, mean + reach
