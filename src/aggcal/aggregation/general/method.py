"""A fit of the general model, as a consensus that knows its posterior and its other terms."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np

from aggcal._core.arrays import FloatArray, sums
from aggcal._core.text import brief
from aggcal.aggregation.consensus import LEVEL, Consensus
from aggcal.aggregation.curved import Curved
from aggcal.aggregation.effects import AnnotatorEffect, Axis, CategoryScores, Coefficients
from aggcal.aggregation.estimate import Quantify, refuse_pieces
from aggcal.aggregation.general.axis import continued, fit_axis
from aggcal.aggregation.general.choice import Chosen
from aggcal.aggregation.general.criteria import correlations, weighted, weighted_covariance
from aggcal.aggregation.general.fit import GeneralFit, Progress, fit_general
from aggcal.aggregation.general.posing import general_problem
from aggcal.aggregation.general.posterior import Posterior, posterior
from aggcal.aggregation.general.prediction import Labels, Predictor
from aggcal.aggregation.general.problem import Problem
from aggcal.aggregation.protocols import Aggregator, Curvature
from aggcal.aggregation.solve.marginal import MarginalFit
from aggcal.aggregation.solve.prior_sd import centred
from aggcal.aggregation.start import not_converged
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.aggregation.uncertainty.covariance import DenseCovariance
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments
from aggcal.data.row_columns import CRITERION
from aggcal.errors import AggcalWarning, OptionError
from aggcal.models.general.annotators import POSITION, READINESS, RELIABILITY, STANCE
from aggcal.models.general.design import CONTROL, SCORES, Block
from aggcal.models.priors import Prior

_EDGES = (0.1, 0.9)
"""Quantiles of the stances between which the common ground is the middle."""


class Named(Aggregator, Protocol):
    """An aggregator with a name."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...


@dataclass(frozen=True, eq=False)
class GeneralEffects:
    """Everything beside scores and reliabilities that was fitted (see `Effects`)."""

    judgments: Judgments
    chosen: Chosen
    fit: GeneralFit
    uncontrolled: FloatArray | None = None
    """Scores of the fit in which nothing is held equal, where something is in this one."""

    __repr__ = brief

    @cached_property
    def problem(self) -> Problem:
        """What was fitted."""
        return general_problem(self.judgments, self.chosen)

    @cached_property
    def posterior(self) -> Posterior:
        """How sure it is."""
        return posterior(self.fit, self.problem)

    @property
    def ties(self) -> str:
        """How ties were fitted."""
        return self.chosen.ties

    @cached_property
    def position(self) -> AnnotatorEffect | None:
        """Preference for the left side."""
        return self._of(POSITION)

    @cached_property
    def readiness(self) -> AnnotatorEffect | None:
        """Readiness to call a tie."""
        return self._of(READINESS)

    def _of(self, name: str) -> AnnotatorEffect | None:
        known, layout = self.fit.known, self.problem.layout
        if self.chosen.alike:
            return self._common(name)
        if name not in known.names:
            return None
        at = layout.at_means + layout.means.index(name)
        return AnnotatorEffect(
            known.mean(known.of(name)),
            self.posterior.annotators[name],
            float(self.fit.state.unknowns[at]),
            float(np.sqrt(self._variances[at])),
            float(self.fit.state.sds[known.names.index(name)]),
        )

    def _common(self, name: str) -> AnnotatorEffect | None:
        """Return a parameter that all annotators share."""
        layout = self.problem.layout
        block = layout.design.blocks.get(POSITION)
        where = layout.where_ties if name == READINESS else getattr(block, "where", slice(0))
        if where.stop == where.start or not where.stop:
            return None
        at, m = int(where.start), self.judgments.n_annotators
        value, variance = float(self.fit.state.unknowns[at]), float(self._variances[at])
        both = np.full(m, value), np.full(m, variance)
        return AnnotatorEffect(*both, value, float(np.sqrt(variance)), 0.0)

    @cached_property
    def _variances(self) -> FloatArray:
        covariance = self.posterior.covariance
        return covariance if covariance.ndim == 1 else np.diag(covariance)

    @property
    def control(self) -> Coefficients | None:
        """Coefficients of what is held equal."""
        block = self.problem.layout.design.blocks.get(CONTROL)
        if block is None:
            return None
        assert self.chosen.control is not None  # noqa: S101  # there are coefficients of it
        values = self.fit.state.unknowns[block.where]
        names = self.chosen.control.names
        return Coefficients(names, values, np.sqrt(self._variances[block.where]))

    @cached_property
    def categories(self) -> tuple[CategoryScores, ...]:
        """Scores by category."""
        return tuple(self._category(name) for name in self.chosen.cells if name != "context")

    def _category(self, name: str) -> CategoryScores:
        layout, n = self.problem.layout, self.judgments.n_items
        block, overall = layout.design.blocks[name], layout.design.blocks[SCORES]
        column = next(c for c in self.judgments.categories if f"by {c.name}" == name)
        shape = len(column.ids), n
        scores, se = np.full(shape, np.nan), np.full(shape, np.nan)
        unknowns, covariance = self.fit.state.unknowns, self.posterior.covariance
        own = np.arange(block.begin, block.end)
        base = overall.begin + block.item
        where = block.group, block.item
        scores[where] = unknowns[base] + unknowns[own]
        if covariance.ndim == 1:
            variances = covariance[base] + covariance[own]
        else:
            variances = covariance[base, base] + covariance[own, own] + 2.0 * covariance[base, own]
        se[where] = np.sqrt(np.maximum(variances, 0.0))
        known = column.code >= 0
        weight = np.asarray(self.judgments.weight)
        given = sums(column.code[known], weight[known], len(column.ids))
        sd = self.fit.state.block_sds[name]
        sds = self.fit.state.block_sds[SCORES], sd
        alike = correlations(column.ids, block, unknowns, covariance, sds)
        return CategoryScores(column.name, column.ids, scores, se, sd, given, alike)

    @cached_property
    def scores(self) -> FloatArray:
        """What the items are ordered by: the scores, or the weighted mean of those by criterion."""
        n, unknowns = self.judgments.n_items, self.fit.state.unknowns
        if self.chosen.weights is None:
            return unknowns[:n]
        return weighted(self._criteria, self.chosen.weights, unknowns, n)[0]

    @cached_property
    def score_covariance(self) -> FloatArray:
        """Their covariance about the mean of their component; a matrix or its diagonal."""
        weights, found = self.chosen.weights, self.posterior
        if weights is None:
            return found.scores
        block, unknowns = self._criteria, self.fit.state.unknowns
        map_ = weighted(block, weights, unknowns, self.judgments.n_items)[1]
        own_sd = self.fit.state.block_sds[block.name]
        matrix = weighted_covariance(block, weights, map_, found.covariance, own_sd)
        return matrix if matrix.ndim == 1 else centred(matrix, self.problem.component)

    @property
    def _criteria(self) -> Block:
        return self.problem.layout.design.blocks[f"by {CRITERION}"]

    @cached_property
    def axis(self) -> Axis | None:
        """The axis of disagreement."""
        if STANCE not in self.chosen.names:
            return None
        layout, known, unknowns = self.problem.layout, self.fit.known, self.fit.state.unknowns
        stances = known.mean(known.of(STANCE))
        where = layout.where_axis
        items, n = unknowns[where], self.judgments.n_items
        middle = float(np.quantile(stances, _EDGES).mean())
        covariance = self.posterior.covariance
        variances = self._variances
        ground = variances[:n] + middle**2 * variances[where]
        if covariance.ndim > 1:
            ground = ground + 2.0 * middle * np.diag(covariance[:n, where])
        return Axis(
            items,
            np.sqrt(variances[where]),
            stances,
            self.posterior.annotators[STANCE],
            unknowns[:n] + middle * items,
            np.sqrt(np.maximum(ground, 0.0)),
        )

    @property
    def grades(self) -> FloatArray:
        """How common each strength is between equal items, relative to the first."""
        return self.fit.state.grades

    @cached_property
    def _predictor(self) -> Predictor:
        judgments = self.judgments
        labels = Labels(
            judgments.item_ids,
            judgments.annotator_ids,
            judgments.context_ids,
            {f"by {column.name}": column.ids for column in judgments.categories},
        )
        return Predictor(labels, self.problem.layout, self.chosen, self.fit, self.posterior)

    def outcomes(self, judgments: Judgments) -> FloatArray:
        """Return the probabilities of left, right and tie for each row."""
        control, held = self.chosen.control, None
        if control is not None:
            sides = judgments.left, judgments.right
            held = control.differences(judgments, *sides, judgments.context)
        return self._predictor.probabilities(judgments, held)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as in ``summary.json``."""
        found: dict[str, Any] = {"ties": self.ties}
        for name, effect in (("position", self.position), ("tie_readiness", self.readiness)):
            found[name] = None if effect is None else effect.to_dict()
        found["position_evidence"] = self.chosen.evidence
        context = self.judgments.context_name if "context" in self.chosen.cells else None
        found["context"] = context
        found["categories"] = {
            column.name: {
                "sd": column.sd,
                "categories": column.ids.tolist(),
                "correlations": []
                if column.correlation is None
                else column.correlation.to_dict(LEVEL),
            }
            for column in self.categories
        }
        found["criteria_weights"] = self._weights()
        found["control"] = None if self.control is None else self.control.to_dict()
        found["bridge"] = self.axis is not None
        if len(self.grades) > 1:
            found["grades"] = self.grades.tolist()
        return found

    def _weights(self) -> dict[str, float] | None:
        """Return the weight of each criterion, where scores are their weighted mean."""
        if self.chosen.weights is None:
            return None
        column = next(c for c in self.judgments.categories if c.name == CRITERION)
        return dict(zip(map(str, column.ids), self.chosen.weights, strict=True))


@dataclass(frozen=True, eq=False)
class Further:
    """A fit of the general model that begins where one of items and reliabilities led.

    ``held`` says whether the spreads of scores and reliabilities are known.
    """

    aggregator: Named
    judgments: Judgments
    chosen: Chosen
    held: bool

    def consensus(
        self,
        begun: MarginalFit,
        warnings: list[AggcalWarning],
        began: float,
        on_iteration: Progress | None,
    ) -> Consensus:
        """Fit, and return the consensus.

        Parameters
        ----------
        begun
            The fit of items and reliabilities.
        warnings
            What is to be said of the data.
        began
            When, by the clock of `time.perf_counter`.
        on_iteration
            Called with the iteration and what still moves.
        """
        spreads = begun.population
        sds = {SCORES: spreads.score_sd, RELIABILITY: spreads.reliability_sd}
        held = frozenset(sds) if self.held else frozenset()
        run = partial(fit_general, held=held, on_iteration=on_iteration)
        before = replace(self.chosen, bridge=False, control=None)
        problem = general_problem(self.judgments, before)
        start = problem.first_state(begun.scores, sds, reversed_share=spreads.reversed_share)
        fit, scores = run(problem, start), None
        if self.chosen.control is not None:
            scores = fit.state.unknowns[: self.judgments.n_items]
            before = replace(before, control=self.chosen.control)
            problem = general_problem(self.judgments, before)
            fit = run(problem, continued(problem, fit.state))
        if self.chosen.bridge:
            fit = fit_axis(problem, general_problem(self.judgments, self.chosen), fit, run)
        effects = GeneralEffects(self.judgments, self.chosen, fit, scores)
        known, state, name = fit.known, fit.state, self.aggregator.name
        sd = float(state.sds[known.names.index(RELIABILITY)])
        return Consensus.of(
            self.judgments,
            effects.scores,
            method=name,
            reliabilities=known.mean(known.of(RELIABILITY)),
            warnings=(*self.chosen.heeded(warnings), *not_converged(name, fit.convergence)),
            objective=fit.objective,
            log_likelihood=known.log_evidence,
            convergence=fit.convergence,
            prior=Prior(state.block_sds[SCORES], sd),
            reversed_share=state.reversed_share,
            estimator="marginal",
            seconds=time.perf_counter() - began,
            quantifier=QuantifyGeneral(self.aggregator, self.judgments, effects),
            effects=effects,
        )


@dataclass(frozen=True, eq=False)
class QuantifyGeneral(Quantify):
    """Knows the posterior of a fit of the general model."""

    effects: GeneralEffects = field(repr=False)

    __repr__ = brief

    @property
    def quick(self) -> bool:
        """It takes no refits."""
        return True

    def _laplace(
        self,
        own: Curved,  # noqa: ARG002
        consensus: Consensus,
        seed: int,  # noqa: ARG002
        on_draw: Callable[[int, int], None] | None,  # noqa: ARG002
    ) -> Curvature:
        if consensus.prior is None:
            refuse_pieces(self.judgments)
        found = self.effects.posterior
        covariance = DenseCovariance(self.effects.score_covariance)
        return Curvature(covariance, found.annotators.get(RELIABILITY))

    def _sandwich(
        self, own: Curved, consensus: Consensus, kind: str, level: float, seed: int
    ) -> Uncertainty:
        if not self.effects.chosen.alike:
            return super()._sandwich(own, consensus, kind, level, seed)
        raise OptionError(
            f"'{kind}' does not know ties, positions, categories or what is held equal; choose "
            "laplace or bootstrap, or leave them out."
        )

    def _by_context(self, consensus: Consensus) -> bool:
        """Whether answers in one context depend on each other in ways that were not fitted."""
        return "context" not in self.effects.chosen.cells and super()._by_context(consensus)

    def probabilities(self, consensus: Consensus, judgments: AnyJudgments) -> FloatArray:  # noqa: ARG002
        """Return the probability that each row's annotator prefers its left item: a tie is half."""
        rows = judgments.on_one_machine("the probability of each judgment")
        left, _, tie = self.effects.outcomes(rows).T
        return np.asarray(left + 0.5 * tie)

    def outcomes(self, consensus: Consensus, judgments: AnyJudgments) -> FloatArray:  # noqa: ARG002
        """Return the probabilities of left, right and tie for each row."""
        return self.effects.outcomes(judgments.on_one_machine("the probability of each outcome"))

    def efficiency(self, consensus: Consensus) -> dict[str, float] | None:
        """Say how far reliabilities differ; variances under equal weights do not compare."""
        found = super().efficiency(consensus)
        keys = ("cv", "first_order_factor")
        return None if found is None else {key: found[key] for key in keys}
