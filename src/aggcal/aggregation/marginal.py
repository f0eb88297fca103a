"""A fit with the annotators integrated out, as a consensus that knows its posterior."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.tables import aligned
from aggcal._core.text import brief
from aggcal.aggregation.at_once import QuantifyAtOnce
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.protocols import Aggregator, Curvature, Curved
from aggcal.aggregation.solve.marginal_fits import MarginalFit
from aggcal.aggregation.solve.marginal_problem import MarginalProblem
from aggcal.aggregation.start import not_converged
from aggcal.aggregation.uncertainty.covariance import DenseCovariance
from aggcal.aggregation.uncertainty.marginal import posterior
from aggcal.aggregation.uncertainty.row_forces import RowForces
from aggcal.data.base import AnyJudgments
from aggcal.data.graph import ComparisonGraph
from aggcal.errors import AggcalWarning
from aggcal.models.priors import Prior
from aggcal.models.rows import Rows, rows_of

_ANYONE = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Quantiles of the reliabilities that stand for an annotator who is not known."""


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
        quantifier=QuantifyMarginal(aggregator, judgments, aggregator, fit),
        **record,
    )


@dataclass(frozen=True, eq=False)
class QuantifyMarginal(QuantifyAtOnce):
    """Knows the posterior of a fit whose annotators were integrated out."""

    maker: Marginal
    fit: MarginalFit

    __repr__ = brief

    def _laplace(
        self,
        own: Curved,
        consensus: Consensus,
        seed: int,
        on_draw: Callable[[int, int], None] | None,  # noqa: ARG002
    ) -> Curvature:
        known = self._dense.get(consensus.prior)
        if known is not None:
            return known
        rows, graph = rows_of(self.judgments), self.judgments.graph
        problem = self.maker.marginal_problem(rows, graph)
        likelihood = own.problem(rows, consensus)
        found = Curvature(*posterior(self.fit, problem, likelihood, seed=seed))
        if isinstance(found.covariance, DenseCovariance):
            self._dense[consensus.prior] = found
        return found

    @cached_property
    def _dense(self) -> dict[Prior | None, Curvature]:
        """What was worked out by a matrix, which no seed enters: errors and suggestions ask."""
        return {}

    def row_forces(self, consensus: Consensus) -> RowForces | None:  # noqa: ARG002
        """Return what each judgment does to the scores, the annotators integrated out."""
        rows, fit = rows_of(self.judgments), self.fit
        problem = self.maker.marginal_problem(rows, self.judgments.graph)
        problem.integral.begin_with(fit.beliefs)
        problem.integrate(fit.state, hopeless=fit.beliefs.reversed == 0.0)
        owner = np.repeat(np.arange(rows.n_annotators), np.diff(rows.starts))
        precision = problem.curvature(fit.state).precision
        pull, curve = problem.integral.by_row()
        return RowForces(owner, rows.winner, rows.loser, pull, curve, precision, rows.n_annotators)

    def _nodes(
        self,
        own: Curved,  # noqa: ARG002
        consensus: Consensus,
        judgments: AnyJudgments,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the nodes of known annotators; of others, those of all known ones together."""
        nodes, weights = self.fit.beliefs.nodes, self.fit.beliefs.weights
        ids, m = judgments.annotator_ids, len(nodes)
        place = aligned(np.arange(float(m)), consensus.annotator_ids, ids)
        known = np.isfinite(place)
        where = np.where(known, place, 0).astype(np.int64)
        # The middle and the ends of the annotators stand for one who is not known.
        anyone = np.quantile(consensus.reliabilities, _ANYONE)
        shape = (len(ids), max(nodes.shape[1], len(_ANYONE)))
        values, shares = np.zeros(shape), np.zeros(shape)
        values[:, : nodes.shape[1]], shares[:, : nodes.shape[1]] = nodes[where], weights[where]
        values[~known], shares[~known] = 0.5, 0.0
        values[~known, : len(_ANYONE)] = anyone
        shares[~known, : len(_ANYONE)] = 1.0 / len(_ANYONE)
        return values, shares
