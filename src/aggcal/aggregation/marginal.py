"""A fit with the annotators integrated out, as a consensus that knows its posterior."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Protocol

from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.empirical import Fit, Model, Problem, State
from aggcal.aggregation.estimate import Quantify
from aggcal.aggregation.families import RELIABILITY, Mixture
from aggcal.aggregation.modes import mode_rows
from aggcal.aggregation.protocols import Aggregator
from aggcal.aggregation.rows import SCORES
from aggcal.aggregation.solve.marginal_fits import MarginalFit
from aggcal.aggregation.solve.marginal_problem import MarginalProblem
from aggcal.aggregation.start import not_converged
from aggcal.data.base import AnyJudgments
from aggcal.data.graph import ComparisonGraph
from aggcal.errors import AggcalWarning
from aggcal.models.rows import Rows, rows_of


class Marginal(Aggregator, Protocol):
    """An aggregator that can integrate its annotators out."""

    def marginal_problem(self, rows: Rows, graph: ComparisonGraph) -> MarginalProblem:
        """Return the likelihood of these rows with the annotators integrated out."""
        ...

    @property
    def name(self) -> str:
        """What it is called."""
        ...


def marginal_consensus(
    aggregator: Marginal,
    judgments: AnyJudgments,
    fit: MarginalFit,
    warnings: list[AggcalWarning],
    began: float,
    **record: Any,
) -> Consensus:
    """Return the consensus of a fit with the annotators integrated out.

    Parameters
    ----------
    aggregator, judgments, fit
        What was fitted, and to what.
    warnings
        What is to be said of the data and of the fit, apart from its convergence.
    began
        When, by the clock of `time.perf_counter`.
    record
        What else `Consensus.of` is told.
    """
    return Consensus.of(
        judgments,
        fit.scores,
        method=aggregator.name,
        reliabilities=fit.beliefs.reliability,
        warnings=(*warnings, *not_converged(aggregator.name, fit.convergence)),
        objective=fit.objective,
        log_likelihood=fit.beliefs.log_evidence,
        convergence=fit.convergence,
        estimator="marginal",
        seconds=time.perf_counter() - began,
        quantifier=Quantify(aggregator, judgments, as_fit(aggregator, judgments, fit)),
        **record,
    )


def as_fit(aggregator: Any, judgments: AnyJudgments, fit: MarginalFit) -> Fit:
    """Return a fit as one of the general model."""
    old = aggregator.marginal_problem(rows_of(judgments), judgments.graph)
    family, population, beta = aggregator.family, fit.population, None
    if isinstance(family, Mixture):
        family, beta = replace(family, logit=True), (aggregator.alpha, aggregator.beta)
    names = (SCORES, *family.names)
    model = Model(
        mode_rows(judgments),
        family,
        old.component,
        default_sd=old.default_sd,
        fixed=frozenset() if fit.estimated else frozenset(names),
        beta=beta,
        penalty=None if old.virtual is None else old.virtual.item_penalty,
    )
    state = State(
        fit.scores,
        {SCORES: population.score_sd, RELIABILITY: population.reliability_sd},
        population.reversed_share,
        fit.state.row_variances,
        fit.state.tilt,
    )
    problem = Problem(model)
    here = problem.at(state, upright=fit.beliefs.reversed == 0.0)
    return Fit(problem, state, here.posterior, here, fit.objective, fit.convergence)
