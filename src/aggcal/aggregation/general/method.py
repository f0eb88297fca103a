"""A fit of the general model, as a consensus that knows its posterior and its other terms."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.text import brief
from aggcal.aggregation.at_once import QuantifyAtOnce
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.disagreement import Camps
from aggcal.aggregation.estimate import MANY_JUDGMENTS
from aggcal.aggregation.general.axis import continued, fit_axis
from aggcal.aggregation.general.by_camp import ByCamp, fit_by_camp
from aggcal.aggregation.general.camps import find_camps
from aggcal.aggregation.general.choice import Chosen
from aggcal.aggregation.general.fit import GeneralFit, fit_general
from aggcal.aggregation.general.found import GeneralEffects
from aggcal.aggregation.general.posing import general_problem
from aggcal.aggregation.general.posterior import many_scores
from aggcal.aggregation.general.problem import State
from aggcal.aggregation.protocols import Aggregator, Curvature, Curved
from aggcal.aggregation.refusals import refuse_apart, refuse_pieces
from aggcal.aggregation.solve.marginal import Progress
from aggcal.aggregation.solve.marginal_fits import MarginalFit
from aggcal.aggregation.solve.marginal_problem import State as MarginalState
from aggcal.aggregation.start import not_converged
from aggcal.aggregation.uncertainty.covariance import DenseCovariance
from aggcal.aggregation.uncertainty.robust import Answers
from aggcal.aggregation.uncertainty.row_forces import RowForces
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments
from aggcal.errors import AggcalWarning
from aggcal.models.general.annotators import GAP, RELIABILITY
from aggcal.models.general.design import SCORES
from aggcal.models.general.facts import facts_of
from aggcal.models.priors import Prior
from aggcal.models.rows import rows_of

_SURE = 1e-12  # a variance of an answer below which it tells nothing


class Named(Aggregator, Protocol):
    """An aggregator with a name."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...


@dataclass(frozen=True, eq=False)
class Further:
    """A fit of the general model that begins where one of items and reliabilities led.

    ``held`` says whether the spreads of scores and reliabilities are known.
    """

    aggregator: Named
    judgments: AnyJudgments
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
        start = _as_sure(start, begun.state)
        told = self.chosen.first is not None and not self.held
        if told:
            start = problem.with_annotators(start, self.chosen.first or {})
        fit, scores = run(problem, start, reversed_before=begun.beliefs.reversed, told=told), None
        if self.chosen.control is not None:
            scores = fit.state.unknowns[: self.judgments.n_items]
            before = replace(before, control=self.chosen.control)
            problem = general_problem(self.judgments, before)
            fit = run(problem, continued(problem, fit.state))
        chosen, camps, by_camp = self.chosen, None, None
        if chosen.camps:
            camps, by_camp = self._camps(fit, replace(before, camps=""), run)
            chosen = replace(chosen, bridge=chosen.camps == "auto" and by_camp is None)
        if chosen.bridge:
            fit = fit_axis(problem, general_problem(self.judgments, chosen), fit, run)
        # Refits keep what was decided, and do not look for camps again.
        kept = replace(chosen, camps="")
        effects = GeneralEffects(self.judgments, kept, fit, scores, camps, by_camp)
        if not chosen.bridge and by_camp is None:
            effects.__dict__["problem"] = problem  # its rows are laid out already
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

    def _camps(
        self, fit: GeneralFit, chosen: Chosen, run: Callable[..., GeneralFit]
    ) -> tuple[Camps, ByCamp | None]:
        """Look for camps, and fit what each thinks where there are some."""
        judgments = self.judgments.on_one_machine("looking for camps")
        once = not facts_of(judgments).tally.counts
        found = find_camps(general_problem(judgments, chosen, answers=once), fit)
        if not found.number:
            told = found.told
            return Camps.none(told.kind, told.gains, told.over_axis, told.not_looked), None
        by_camp = fit_by_camp(judgments, chosen, found, fit.state, run)
        return by_camp.described(found.told), by_camp


def _as_sure(start: State, begun: MarginalState) -> State:
    """Take over how sure the scores of many items are, and what holds their unit."""
    if begun.row_variances.ndim > 1:
        return start
    variances = np.zeros(len(start.unknowns))
    variances[: len(begun.row_variances)] = begun.row_variances
    return replace(start, covariance=variances, tilt=begun.tilt)


@dataclass(frozen=True, eq=False)
class QuantifyGeneral(QuantifyAtOnce):
    """Knows the posterior of a fit of the general model."""

    effects: GeneralEffects = field(repr=False)

    __repr__ = brief

    def _laplace(
        self,
        own: Curved,
        consensus: Consensus,
        seed: int,
        on_draw: Callable[[int, int], None] | None,  # noqa: ARG002
    ) -> Curvature:
        if consensus.prior is None:
            refuse_pieces(self.judgments)
        found = self.effects.posterior
        variances = found.annotators.get(RELIABILITY)
        matrix = self.effects.score_covariance
        if matrix is not None:
            return Curvature(DenseCovariance(matrix), variances, by_prior=self.effects.by_prior)
        likelihood = own.problem(rows_of(self.judgments), consensus)
        at = consensus.scores, own.parameters(consensus.reliabilities)
        return Curvature(many_scores(found, likelihood, *at, seed), variances)

    def _answers(
        self, consensus: Consensus, judgments: Judgments, row: IntArray, weight: FloatArray
    ) -> Answers:
        """Return what each answer tells, by its probabilities with all terms."""
        averaged = judgments.n_judgments < MANY_JUDGMENTS
        left, _, tie = self.effects.outcomes(judgments, averaged=averaged).T
        # Of a logistic link the mean's derivative in γ (s_i − s_j) is the outcome's variance.
        sd = np.sqrt(np.maximum(left + 0.25 * tie - np.square(left + 0.5 * tie), _SURE))
        residual = (judgments.outcome - left - 0.5 * tie) / sd
        gap = consensus.scores[judgments.left] - consensus.scores[judgments.right]
        reliability = consensus.reliabilities
        answers = Answers(
            judgments.annotator[row],
            judgments.left[row],
            judgments.right[row],
            weight,
            residual[row],
            (reliability[judgments.annotator] * sd)[row],
        )
        if self.effects.chosen.alike or consensus.prior is None:
            return answers
        return replace(
            answers,
            by_reliability=(gap * sd)[row],
            excess=reliability - np.sign(reliability),
            prior_precision=consensus.prior.reliability_precision,
        )

    def row_forces(self, consensus: Consensus) -> RowForces | None:
        """Return what each judgment does to the scores, everything beside them held."""
        effects = self.effects
        if effects.chosen.alike or effects.chosen.weights is not None:
            return super().row_forces(consensus)
        problem, fit = effects.problem, effects.fit
        found = problem.integrated(fit.state, fit.known)
        rows, block = problem.layout.rows, problem.layout.design.blocks[SCORES].where
        by_row = rows.per_row(found.weights).T
        return RowForces(
            rows.owner,
            rows.left,
            rows.right,
            (by_row * found.pulls[GAP]).sum(axis=0),
            np.asarray(found.found.curves[GAP, GAP], dtype=np.float64),
            problem.precision(fit.state)[block],
            rows.n_annotators,
        )

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
