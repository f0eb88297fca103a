"""A fit of the general model, as a consensus that knows its posterior and its other terms."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, sums
from aggcal._core.text import brief
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.curved import Curved
from aggcal.aggregation.effects import AnnotatorEffect, Axis, CategoryScores, Coefficients
from aggcal.aggregation.estimate import Quantify, refuse_apart
from aggcal.aggregation.general.axis import continued, fit_axis
from aggcal.aggregation.general.choice import Chosen
from aggcal.aggregation.general.fit import GeneralFit, Progress, fit_general
from aggcal.aggregation.general.placing import Placing
from aggcal.aggregation.general.posterior import Posterior, posterior
from aggcal.aggregation.general.prediction import Labels, Predictor
from aggcal.aggregation.general.problem import Problem
from aggcal.aggregation.protocols import Aggregator, Curvature
from aggcal.aggregation.solve.marginal import MarginalFit
from aggcal.aggregation.start import not_converged
from aggcal.aggregation.uncertainty.covariance import DenseCovariance
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments
from aggcal.errors import AggcalWarning
from aggcal.models.general.annotators import POSITION, READINESS, RELIABILITY, STANCE
from aggcal.models.general.design import CONTROL, SCORES, design
from aggcal.models.general.rows import general_rows
from aggcal.models.general.sums import Layout
from aggcal.models.priors import Prior

_EDGES = (0.1, 0.9)
"""Quantiles of the stances between which the common ground is the middle."""


class Named(Aggregator, Protocol):
    """An aggregator with a name."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...


def general_problem(judgments: Judgments, chosen: Chosen) -> Problem:
    """Return the problem that the terms make of some judgments."""
    ties, control = chosen.ties != "halves", chosen.control
    keys = bool(chosen.cells) or (control is not None and control.context_ids is not None)
    rows = general_rows(
        judgments, ties=ties, sides=chosen.position, keys=keys, strengths=chosen.strengths
    )
    ids = judgments.context_ids
    contexts = len(ids) if "context" in chosen.cells and ties and ids is not None else 0
    held = None
    if control is not None:
        held = control.differences(judgments, rows.left, rows.right, rows.keys.get("context"))
    unknowns = design(rows, list(chosen.cells), held)
    layout = Layout(rows, unknowns, chosen.names, chosen.bridge, contexts)
    return Problem(layout, judgments.graph.component, chosen.outcomes)


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
        return CategoryScores(column.name, column.ids, scores, se, sd, given)

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
        return self._predictor.probabilities(judgments, self._held(judgments))

    def placing(self, judgments: Judgments) -> Placing:
        """Return what places the new items of some judgments."""
        held = self._held(judgments)
        return Placing.of(self._predictor, judgments, self.chosen, held)

    def _held(self, judgments: Judgments) -> FloatArray | None:
        """Return the differences of what is held equal, rows by covariates."""
        control = self.chosen.control
        if control is None:
            return None
        sides = judgments.left, judgments.right
        return control.differences(judgments, *sides, judgments.context)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as in ``summary.json``."""
        found: dict[str, Any] = {"ties": self.ties}
        for name, effect in (("position", self.position), ("tie_readiness", self.readiness)):
            found[name] = None if effect is None else effect.to_dict()
        found["position_evidence"] = self.chosen.evidence
        context = self.judgments.context_name if "context" in self.chosen.cells else None
        found["context"] = context
        found["categories"] = {
            column.name: {"sd": column.sd, "categories": column.ids.tolist()}
            for column in self.categories
        }
        found["control"] = None if self.control is None else self.control.to_dict()
        found["bridge"] = self.axis is not None
        if len(self.grades) > 1:
            found["grades"] = self.grades.tolist()
        return found


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
            state.unknowns[: self.judgments.n_items],
            method=name,
            reliabilities=known.mean(known.of(RELIABILITY)),
            warnings=(*warnings, *not_converged(name, fit.convergence)),
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
        consensus: Consensus,  # noqa: ARG002
        seed: int,  # noqa: ARG002
        on_draw: Callable[[int, int], None] | None,  # noqa: ARG002
    ) -> Curvature:
        found = self.effects.posterior
        return Curvature(DenseCovariance(found.scores), found.annotators[RELIABILITY])

    def _by_context(self, consensus: Consensus) -> bool:
        """Whether answers in one context depend on each other in ways that were not fitted."""
        return "context" not in self.effects.chosen.cells and super()._by_context(consensus)

    def _placed(
        self,
        judgments: Judgments,
        new: IntArray,
        fixed: FloatArray,
        consensus: Consensus,  # noqa: ARG002
    ) -> tuple[FloatArray, FloatArray]:
        """Place new items by all that was fitted: sides, ties, contexts."""
        placing, known = self.effects.placing(judgments), np.isfinite(fixed)
        found = []
        for item in new.tolist():
            mine = (judgments.left == item) & known[judgments.right]
            mine |= (judgments.right == item) & known[judgments.left]
            if not mine.any():
                refuse_apart(judgments, item)
            found.append(placing.place(mine, item))
        scores, sd = np.array(found).T
        return scores, sd

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
