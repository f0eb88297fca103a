"""Aggregators that know the curvature of their fit."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.start import Start
from aggcal.aggregation.uncertainty.row_forces import RowForces
from aggcal.data.base import AnyJudgments
from aggcal.models.objective import Objective
from aggcal.models.rows import Rows, rows_of


@runtime_checkable
class Curved(Protocol):
    """An aggregator that knows the curvature of its fit."""

    @property
    def link(self) -> str:
        """Name of the link."""
        ...

    @property
    def heterogeneous(self) -> bool:
        """Whether annotators have a parameter each."""
        ...

    @property
    def bounds(self) -> tuple[float, float]:
        """Between which it lies."""
        ...

    def problem(self, rows: Rows, consensus: Consensus) -> Objective:
        """Return the objective that a fit of these rows has, with the priors of a consensus."""
        ...

    def parameters(self, reliabilities: FloatArray) -> FloatArray:
        """Turn reported reliabilities into the parameters of the problem's annotators."""
        ...

    def parameter_prior(self, consensus: Consensus) -> tuple[float, float]:
        """Return mean and standard deviation of the prior of that parameter."""
        ...

    def unit_weights(self, rows: Rows, consensus: Consensus) -> FloatArray | None:
        """Return what of each annotator's parameter makes up the unit; None where there is none."""
        ...

    def refit(self, judgments: AnyJudgments, start: Start, consensus: Consensus) -> Consensus:
        """Fit other judgments in the same way, from an earlier consensus."""
        ...


def known_forces(
    aggregator: object, judgments: AnyJudgments, consensus: Consensus
) -> RowForces | None:
    """Return what each judgment does to the scores; None where the aggregator does not know.

    Examples
    --------
    >>> import aggcal
    >>> rows = aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "a"), ("bob", "b", "c")])
    >>> found = known_forces(aggcal.BTL(), rows, aggcal.BTL().fit(rows))
    >>> found.owner, bool((found.pull > 0.0).all())
    (array([0, 1, 1]), True)
    """
    if not isinstance(aggregator, Curved) or judgments.local is None:
        return None
    rows = rows_of(judgments)
    sizes = np.diff(rows.starts)
    problem = aggregator.problem(rows, consensus)
    theta = aggregator.parameters(consensus.reliabilities)
    theta = np.repeat(theta, sizes) if len(theta) == len(sizes) else np.ones(len(rows))
    gap = consensus.scores[rows.winner] - consensus.scores[rows.loser]
    terms = problem.row_terms(gap, theta)
    return RowForces(
        np.repeat(np.arange(rows.n_annotators), sizes),
        rows.winner,
        rows.loser,
        -rows.weight * terms.d,
        rows.weight * np.maximum(terms.dd, 0.0),
        problem.item_penalty(consensus.scores)[2],
        rows.n_annotators,
    )
