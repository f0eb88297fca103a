"""What was fitted beside scores and reliabilities, and what follows from it.

That is: ties, sides, strengths, contexts, categories and criteria, what is controlled for, the axis
and the camps of annotators; how likely answers are, and the scores of new items.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri, stdtrit

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, TextArray
from aggcal._core.tables import aligned
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
    Rows,
    answers_of,
)
from aggcal.aggregation.spreads import PARAMETER_PRIOR, centred
from aggcal.aggregation.tape import Tape
from aggcal.aggregation.terms import ChosenTerms, counts_of
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments
from aggcal.data.row_columns import CRITERION

if TYPE_CHECKING:
    from aggcal.aggregation.camps import ByCamp, Camps

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
_ESTIMATE = ((0.0, 1.0),)
_Points = tuple[tuple[float, float], ...]
_NO_GROUP, _NEW = -2, -1
"""A row that is in no group of a block, and one in a group that was not fitted."""
_STEPS, _CLOSE, _ROUNDING, _SHORTEST = 50, 1e-10, 1e-12, 1e-9
"""Newton steps to a new item at most, the squared step, over the variance, at which they end, what
the density may fall by in a step, and the step that is not halved any more."""
_MOST_CATEGORIES = 20
"""Categories up to which each is compared with each: more are no table that anybody reads."""
_FEWEST_ITEMS = 4
"""Items that were compared in both categories: of fewer, a correlation says nothing."""
_LEAST = 1e-6
"""Least precision, relative to the prior's, that counts as information: below is rounding."""
_WIDE = 2.0
"""Prior sd of the inverse hyperbolic tangent of a correlation: it matters only where the data would
have the correlation be 1."""
_DIFFERENCE = 1e-3
"""Change of a parameter by which second derivatives are computed."""


@dataclass(frozen=True, eq=False)
class AnnotatorEffect:
    """A parameter of every annotator, and its mean over annotators."""

    values: FloatArray
    variances: FloatArray
    common: float
    common_se: float
    sd: float
    """How far annotators differ."""

    __repr__ = brief

    def to_dict(self) -> dict[str, float]:
        """Return what is common to all annotators, as in ``summary.json``."""
        return {"common": self.common, "common_se": self.common_se, "sd": self.sd}


@dataclass(frozen=True, eq=False)
class Coefficients:
    """What is held equal: the effect of a standard deviation of each covariate."""

    names: tuple[str, ...]
    values: FloatArray
    """On the logit scale, for a typical annotator."""
    se: FloatArray

    __repr__ = brief

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return the ends of each interval.

        Examples
        --------
        >>> words = Coefficients(("words",), np.array([0.5]), np.array([0.1]))
        >>> [end.round(2).tolist() for end in words.interval(0.9)]
        [[0.34], [0.66]]
        """
        reach = float(ndtri(0.5 + 0.5 * level)) * self.se
        return self.values - reach, self.values + reach

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
        reach = float(ndtri(0.5 + 0.5 * level)) * self.z_se
        middle = np.arctanh(np.clip(self.values, -1.0 + 1e-15, 1.0 - 1e-15))
        return np.tanh(middle - reach), np.tanh(middle + reach)

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
            for a in range(len(self.ids))
            for b in range(a + 1, len(self.ids))
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

    items: FloatArray
    """Where each item stands: those with a high value are put higher by annotators with a high
    stance."""
    item_se: FloatArray
    stances: FloatArray
    """Where each annotator stands."""
    stance_variances: FloatArray
    common_ground: FloatArray
    """Scores at the middle of the stances: what both ends could call fair."""
    common_se: FloatArray
    share: float = 0.0
    """Share of the axis in what items explain of the answers, reliabilities explaining the rest."""

    __repr__ = brief

    @property
    def ends(self) -> tuple[float, float]:
        """Where the two ends stand: a tenth of the annotators is beyond each."""
        low, high = np.quantile(self.stances, EDGES)
        return float(low), float(high)

    @property
    def stands_out(self) -> bool:
        """Whether there is an axis at all: its items are further from 0 than their errors are.

        Where annotators do not differ along an axis, its spread is mostly estimated as nothing.
        """
        far = np.square(self.items / np.maximum(self.item_se, 1e-12))
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
            both = np.full(m, value), np.full(m, variance)
            return AnnotatorEffect(*both, value, float(np.sqrt(variance)), 0.0)
        if name not in posterior.names:
            return None
        return AnnotatorEffect(
            posterior.mean(posterior.of(name)),
            self.posterior.variances_of(name),
            float(fit.state.unknowns[fit.problem.model.index(name)]),
            float(np.sqrt(_variance_of_mean(fit, self.variances, name))),
            fit.state.sds[name],
        )

    @property
    def control(self) -> Coefficients | None:
        """Coefficients of what is controlled for."""
        if self.chosen.control is None:
            return None
        where = self._blocks[CONTROL].where
        values, variances = self.fit.state.unknowns[where], self.variances[where]
        return Coefficients(self.chosen.control.names, values, np.sqrt(variances))

    @cached_property
    def categories(self) -> tuple[CategoryScores, ...]:
        """Scores by category."""
        return tuple(self._category(name) for name in self.chosen.cells if name != "context")

    def _category(self, name: str) -> CategoryScores:
        state, covariance, block = self.fit.state, self.covariance, self._blocks[name]
        column, sds = name.removeprefix("by "), (state.sds[SCORES], state.sds[name])
        ids = self.judgments.category_ids[column]
        scores, se = np.full((2, len(ids), self.judgments.n_items), np.nan)
        own = np.arange(block.where.start, block.where.stop)
        scores[block.group, block.item] = state.unknowns[block.item] + state.unknowns[own]
        variances = self.variances[block.item] + self.variances[own]
        joint: tuple[FloatArray, ...] = ()
        if covariance.ndim > 1:
            variances = variances + 2.0 * covariance[block.item, own]
            groups = [block.group == g for g in range(len(ids))]
            joint = tuple(_sum_covariance(covariance, block.item[g], own[g]) for g in groups)
        se[block.group, block.item] = np.sqrt(np.maximum(variances, 0.0))
        weights = counts_of(self.judgments).category_weights[column]
        alike = correlations(ids, block, state.unknowns, covariance, sds)
        return CategoryScores(column, ids, scores, se, sds[1], weights, alike, joint)

    @property
    def _criteria(self) -> Block:
        return self._blocks[f"by {CRITERION}"]

    @cached_property
    def _weighting(self) -> Any:
        """The map from unknowns to weighted means: s_i + Σ_c w_c δ_ic, the w_c adding up to 1.

        δ_ic is 0 where nobody compared the item by the criterion.
        """
        from scipy import sparse

        block, n = self._criteria, self.judgments.n_items
        own = np.arange(block.where.start, block.where.stop)
        rows, columns = np.r_[np.arange(n), block.item], np.r_[np.arange(n), own]
        values = np.r_[np.ones(n), np.array(self.chosen.weights)[block.group]]
        shape = n, self.fit.problem.model.size
        return sparse.csr_array((values, (rows, columns)), shape=shape)

    @cached_property
    def scores(self) -> FloatArray:
        """What the items are ordered by: the scores, or the weighted mean of those by criterion."""
        if self.chosen.weights is None:
            return self.fit.scores
        means = self._weighting @ self.fit.state.unknowns
        return np.asarray(means - means.mean())

    def weighted_covariance(self) -> FloatArray:
        """Return the covariance of weighted means, or its diagonal.

        A criterion in which nobody compared an item adds what is known of it beforehand.
        """
        block, weighting = self._criteria, self._weighting
        share = np.square(np.array(self.chosen.weights))
        compared = np.bincount(block.item, share[block.group], self.judgments.n_items)
        prior = self.fit.state.sds[f"by {CRITERION}"] ** 2 * (share.sum() - compared)
        if self.covariance.ndim == 1:
            return np.asarray(weighting.power(2) @ self.covariance + prior)
        matrix = weighting @ (weighting @ self.covariance).T + np.diag(prior)
        return centred(np.asarray(matrix), self.fit.problem.model.component)

    @cached_property
    def axis(self) -> Axis | None:
        """The axis of disagreement."""
        if STANCE not in self.chosen.names:
            return None
        posterior, unknowns, n = self.fit.posterior, self.fit.state.unknowns, len(self.scores)
        stances, where = posterior.mean(posterior.of(STANCE)), self._blocks[AXIS].where
        items, scores = unknowns[where], self.fit.scores
        middle = float(np.quantile(stances, EDGES).mean())
        variances = self.variances[:n] + middle**2 * self.variances[where]
        if self.covariance.ndim > 1:
            variances = variances + 2.0 * middle * np.diag(self.covariance[:n, where])
        return Axis(
            items,
            np.sqrt(self.variances[where]),
            stances,
            self.posterior.variances_of(STANCE),
            scores + middle * items,
            np.sqrt(np.maximum(variances, 0.0)),
            self._axis_share(stances),
        )

    def _axis_share(self, stances: FloatArray) -> float:
        """Return the part of the axis in the squared advantages of items over others."""
        rows, posterior = self.fit.problem.model.rows, self.fit.posterior
        unknowns = self.fit.state.unknowns[: rows.size]
        scores = np.where(np.arange(rows.size) < rows.n_items, unknowns, 0.0)
        reliability = posterior.mean(posterior.of(RELIABILITY))
        own = rows.weighted_square(AXIS, unknowns, stances)
        shared = rows.weighted_square(GAP, scores, reliability)
        return own / max(own + shared, 1e-300)

    @property
    def grades(self) -> FloatArray:
        """How common each strength of an answer is between equal items, relative to the first."""
        return np.array(self.fit.state.grades)

    # ------------------------------------------------------------------- prediction
    @cached_property
    def family(self) -> Advantage:
        """The likelihood of an answer, with the weights of strengths that were estimated."""
        law = self.chosen.law
        if isinstance(law, Adjacent):
            law = Adjacent(self.fit.state.grades)
        return Advantage(self.chosen.names, law)

    def outcomes(self, judgments: Judgments, *, averaged: bool = True) -> FloatArray:
        """Return the probabilities of left, right and tie for each row; outcomes are not used.

        They are averaged over what is uncertain, or those at the estimates.
        """
        if self.by_camp is not None:
            return self.by_camp.outcomes(judgments)
        moved, gap_variance, tie_variance = self._moved(judgments)
        nodes, weights = self._nodes(judgments)
        gap_points: _Points = tuple(zip(GAP_POINTS, GAP_WEIGHTS, strict=True))
        tie_points: _Points = _TIE_POINTS
        if not averaged:
            nodes = np.einsum("uk,ukp->up", weights, nodes)[:, None]
            weights, gap_points = np.ones((len(nodes), 1)), _ESTIMATE
        if not averaged or not tie_variance.any():
            tie_points = _ESTIMATE
        gap_sd, tie_sd = np.sqrt(gap_variance), np.sqrt(tie_variance)
        total = np.zeros((3, len(gap_sd)))  # a row an answer: half the time
        for k in range(nodes.shape[1]):
            share = weights[judgments.annotator, k]
            if not share.any():
                continue
            columns = nodes[judgments.annotator, k].T
            theta = dict(zip(self.chosen.names, columns, strict=True))
            for (gap, gap_share), (tie, tie_share) in product(gap_points, tie_points):
                there = moved | {GAP: moved[GAP] + gap * gap_sd}
                if TIE in moved:
                    there[TIE] = moved[TIE] + tie * tie_sd
                chances = self.family.law.probabilities(*self.family.advantage(there, theta))
                total += share * gap_share * tie_share * chances.T
        return total.T

    def _moved(self, judgments: Judgments) -> tuple[dict[str, FloatArray], FloatArray, FloatArray]:
        """Return what moves the rows of some judgments, and the variances of gaps and readiness."""
        unknowns, blocks, sds = self.fit.state.unknowns, self._blocks, self.fit.state.sds
        items = _indices(self.judgments.item_ids, judgments.item_ids)
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
        return np.where(code >= 0, _indices(fitted, ids)[np.maximum(code, 0)], _NO_GROUP)

    def _nodes(self, judgments: Judgments) -> tuple[FloatArray, FloatArray]:
        """Return values of each annotator's parameters and their probabilities."""
        posterior, state, names = self.fit.posterior, self.fit.state, self.chosen.names
        if not names:
            m = judgments.n_annotators
            return np.zeros((m, 1, 0)), np.ones((m, 1))
        index = _indices(self.judgments.annotator_ids, judgments.annotator_ids)
        fitted: BoolArray = index >= 0
        model, (points, weights) = self.fit.problem.model, cubature(len(names))
        means = [float(name == RELIABILITY) for name in names]
        for name in model.means:
            means[names.index(name)] = float(state.unknowns[model.index(name)])
        anyone = np.array(means) + points * np.array([state.sds[name] for name in names])
        anyone = np.concatenate([anyone, anyone])
        anyone[len(points) :, 0] *= -1.0
        shares = np.repeat([1.0 - state.reversed_share, state.reversed_share], len(points))
        index = np.maximum(index, 0)
        nodes = np.where(fitted[:, None, None], posterior.nodes[index], anyone)
        if POSITION in names and not judgments.sided:
            # Left may be the winner; where the items were shown is not known.
            nodes[:, :, names.index(POSITION)] = 0.0
        weights = np.where(fitted[:, None], posterior.weights[index], np.tile(weights, 2) * shares)
        return nodes, weights

    # ------------------------------------------------------------------- new items
    def score_of(self, judgments: Judgments, item: int, rows: BoolArray) -> tuple[float, float]:
        """Return the score of a new item by some rows, and its sd, all that was fitted fixed.

        What is unknown is its score, what it does in each context and category, and its place on
        the axis. Annotators keep their nodes, whose probabilities follow the new answers.
        """
        new = _NewItem(self, judgments, item, np.flatnonzero(rows))
        x, longest = np.zeros(len(new.precision)), 2.0 * self.fit.state.sds[SCORES]
        value, gradient, information = new.at(x)
        for _ in range(_STEPS):
            step = -np.linalg.solve(information, gradient)
            if -(gradient @ step) < _CLOSE:
                break
            step *= min(1.0, longest / float(np.abs(step).max()))
            while True:
                trial = new.at(x + step)
                if trial[0] <= value + _ROUNDING or np.abs(step).max() <= _SHORTEST:
                    break
                step *= 0.5
            x, (value, gradient, information) = x + step, trial
        return float(x[0]), float(np.sqrt(np.linalg.inv(information)[0, 0]))

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


def _indices(fitted: TextArray, ids: TextArray) -> IntArray:
    """Return the position of ids among those that were fitted; −1 where they are not."""
    index = aligned(np.arange(float(len(fitted))), fitted, ids)
    return np.where(np.isfinite(index), index, -1.0).astype(np.int64)


def _sum_covariance(covariance: FloatArray, one: IntArray, two: IntArray) -> FloatArray:
    """Return the covariance of sums of two unknowns each."""
    cross = covariance[np.ix_(one, two)]
    own = covariance[np.ix_(one, one)] + covariance[np.ix_(two, two)]
    return np.asarray(own + cross + cross.T)


class _NewItem:
    """The posterior of what is unknown of a new item: score, effects in groups, axis."""

    def __init__(self, effects: Effects, judgments: Judgments, item: int, index: IntArray) -> None:
        sds, blocks = effects.fit.state.sds, effects._blocks  # noqa: SLF001
        sign = np.where(judgments.left[index] == item, 1.0, -1.0)
        columns, factors = [np.zeros(len(index), dtype=np.int64)], [sign]
        precision = [sds[SCORES] ** -2.0]
        for name, block in blocks.items():
            if name in (SCORES, AXIS) or (block.item < 0).any():
                continue
            group = effects._group(name, judgments, of_fit=False)[index]  # noqa: SLF001
            own = np.unique(group[group >= 0])
            columns.append(np.where(group >= 0, len(precision) + np.searchsorted(own, group), 0))
            factors.append(np.where(group >= 0, sign, 0.0))
            precision += [sds[name] ** -2.0] * len(own)
        channels = {GAP: (columns, factors)}
        if AXIS in blocks:
            channels[AXIS] = [np.full(len(index), len(precision))], [sign]
            precision.append(sds[AXIS] ** -2.0)
        self.precision, size = np.array(precision), len(precision)
        moved = effects._moved(judgments)[0]  # noqa: SLF001
        self.moved = {name: values[index] for name, values in moved.items()}
        annotators, first = np.unique(judgments.annotator[index], return_index=True)
        nodes, weights = effects._nodes(judgments)  # noqa: SLF001
        self.nodes, self.weights = nodes[annotators], weights[annotators]
        self.family = replace(effects.family, channels=tuple(channels))
        ties = effects.chosen.ties != "halves"
        answers, levels = answers_of(judgments, ties=ties, grades=effects.chosen.graded)
        # A strength that nobody used when the model was fitted counts as the strongest that was.
        most = 0.5 * len(effects.fit.state.grades) * answers.weight
        answers = answers._replace(lean=np.clip(answers.lean, -most, most))
        none = np.full(size, -1)
        self.rows = Rows(
            judgments.left[index],
            judgments.right[index],
            Answers(*(part[index] for part in answers)),
            np.append(first, len(index)),
            judgments.n_items,
            levels[:, index],
            channels={
                name: Channel(np.stack(columns, 1).astype(np.int32), np.stack(factors, 1), size)
                for name, (columns, factors) in channels.items()
            },
            blocks={SCORES: Block(slice(0, size), none, none)},
        )

    def at(self, x: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return minus the log posterior at some values, its gradient and its curvature."""
        rows, family, logs = self.rows, self.family, np.log(np.maximum(self.weights, 1e-300))
        own = {name: channel.gather(x) for name, channel in rows.channels.items()}
        moved = self.moved | {name: self.moved[name] + value for name, value in own.items()}
        terms = []
        for k in range(logs.shape[1]):
            theta = dict(zip(family.names, rows.per_row(self.nodes[:, k]).T, strict=True))
            terms.append(family.terms(moved, theta, rows.answers))
            logs[:, k] -= rows.by_annotator(terms[-1].loss)
        largest = logs.max(axis=1, keepdims=True)
        weights = np.exp(logs - largest)
        total = weights.sum(axis=1, keepdims=True)
        weights /= total
        by_row, pairs = (
            rows.per_row(weights).T,
            [p for p in terms[0].curvature if set(p) <= set(own)],
        )
        responses = {name: -np.stack([each.score[name] for each in terms]) for name in own}
        score = {name: -(by_row * each).sum(axis=0) for name, each in responses.items()}
        curvature = {
            pair: (by_row * [t.curvature[pair] for t in terms]).sum(axis=0) for pair in pairs
        }
        tape = Tape(
            rows, -float((largest + np.log(total)).sum()), score, curvature, responses, weights
        )
        observed, complete = (each + np.diag(self.precision) for each in tape.dense())
        # Far from the optimum the nodes' mixture is not concave.
        concave = np.linalg.eigvalsh(observed).min() > 0.0
        value = tape.value + 0.5 * float((self.precision * x) @ x)
        return value, tape.gradient + self.precision * x, observed if concave else complete


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


def correlations(
    ids: TextArray,
    block: Block,
    unknowns: FloatArray,
    covariance: FloatArray,
    sds: tuple[float, float],
) -> Correlations | None:
    """Return the correlations of s + δ between categories.

    The fit shrinks all categories toward one common score alike. That is taken out again: of each
    item there remains what its judgments say, normal, with precision Λ_i and mean Λ_i⁻¹ h_i, and to
    that scores t_i ~ N(0, Σ) with any correlation are fitted.

    Parameters
    ----------
    ids, block
        The categories, and which unknowns are what items do in them.
    unknowns, covariance
        Posterior means and covariance of all unknowns; the latter a matrix or its diagonal.
    sds
        Prior sds of the scores, and of what items do in categories.
    """
    number, n = len(ids), int(block.item.max()) + 1
    if not 1 < number <= _MOST_CATEGORIES:
        return None
    compared = np.zeros((n, number), dtype=bool)
    compared[block.item, block.group] = True
    scores = np.tile(unknowns[:n], (number, 1))
    scores[block.group, block.item] += unknowns[block.where]
    centred_scores = (scores - scores.mean(axis=1, keepdims=True)).T
    prior = sds[0] ** 2 * np.ones((number, number)) + sds[1] ** 2 * np.eye(number)
    prior_precision = np.linalg.inv((1.0 - 1.0 / n) * prior)
    posterior_precision = np.linalg.inv(_by_item(block, compared, covariance, sds[1]))
    values, vectors = np.linalg.eigh(posterior_precision - prior_precision)
    values = np.where(values > _LEAST * np.abs(prior_precision).max(), values, 0.0)
    precision = (vectors * values[:, None, :]) @ vectors.transpose(0, 2, 1)
    pull = (posterior_precision @ centred_scores[:, :, None])[:, :, 0]
    correlation, errors = np.full((2, number, number), np.nan)
    np.fill_diagonal(correlation, 1.0)
    np.fill_diagonal(errors, 0.0)
    for a in range(number):
        for b in range(a):
            both, pair = compared[:, a] & compared[:, b], np.array([a, b])
            if both.sum() >= _FEWEST_ITEMS:
                parts = precision[both][:, pair[:, None], pair], pull[both][:, pair]
                z, se = _correlation(*parts, float(np.hypot(*sds)))
                correlation[a, b] = correlation[b, a] = np.tanh(z)
                errors[a, b] = errors[b, a] = se
    return Correlations(ids, correlation, errors)


def _by_item(
    block: Block, compared: BoolArray, covariance: FloatArray, own_sd: float
) -> FloatArray:
    """Return the posterior covariance of each item's scores, about the mean of each category."""
    (n, number), own = compared.shape, np.arange(block.where.start, block.where.stop)
    if covariance.ndim == 1:  # of many items: what they share is next to nothing
        own_variances = np.full((n, number), own_sd**2)
        own_variances[block.item, block.group] = covariance[own]
        return covariance[:n, None, None] + own_variances[:, :, None] * np.eye(number)
    every, cell = np.tile(np.arange(n), number), block.group * n + block.item
    joint = covariance[np.ix_(every, every)]
    joint[np.ix_(cell, cell)] += covariance[np.ix_(own, own)]
    cross = covariance[np.ix_(every, own)]
    joint[:, cell] += cross
    joint[cell] += cross.T
    unseen = np.flatnonzero(~compared.T.ravel())
    joint[unseen, unseen] += own_sd**2
    # The mean of each category is a convention: only its prior knows it.
    table = joint.reshape(number, n, number, n)
    table = table - table.mean(axis=1, keepdims=True)
    table = table - table.mean(axis=3, keepdims=True)
    return np.asarray(np.einsum("aibi->iab", table))


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


def interval(
    values: FloatArray, variances: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the interval of each value, by the normal distribution.

    Examples
    --------
    >>> [end.round(2).tolist() for end in interval(np.array([0.5]), np.array([0.01]), 0.9)]
    [[0.34], [0.66]]
    """
    reach = float(ndtri(0.5 + 0.5 * level)) * np.sqrt(variances)
    return values - reach, values + reach
