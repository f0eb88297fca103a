"""Aggregators that know the curvature of their fit, and what each judgment does to the scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, sums
from aggcal._core.text import brief
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.start import Start
from aggcal.data.base import AnyJudgments
from aggcal.models.objective import Objective
from aggcal.models.rows import Rows, laplacian, rows_of


@dataclass(frozen=True, eq=False)
class RowForces:
    """The part of each row in the gradient and in the curvature of the scores, by its annotator.

    Annotators' parameters are held where the fit has them. Rows are sorted by annotator.
    """

    owner: IntArray
    """The annotator of each row."""
    above: CodeArray
    below: CodeArray
    """The two items of each row."""
    pull: FloatArray
    """Derivative of the log-likelihood in the gap: what moves the first item up."""
    curve: FloatArray
    """Minus its second derivative."""
    precision: FloatArray
    """Of the prior of the scores, item by item."""
    n_annotators: int

    __repr__ = brief

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return len(self.precision)

    def stiffness(self) -> FloatArray:
        """Return the diagonal of the curvature of all rows and the prior."""
        n = self.n_items
        return self.precision + sums(self.above, self.curve, n) + sums(self.below, self.curve, n)

    def curvature(self) -> FloatArray:
        """Return the curvature of all rows and the prior, as a matrix.

        Examples
        --------
        >>> one = np.ones(1)
        >>> forces = RowForces(np.zeros(1, int), np.array([0]), np.array([1]), one, one,
        ...                    np.full(2, 0.5), 1)
        >>> forces.curvature()
        array([[ 1.5, -1. ],
               [-1. ,  1.5]])
        """
        found = laplacian(self.pairs(self.curve))
        found[np.diag_indices(len(found))] += self.precision
        return found

    def pairs(self, values: FloatArray) -> FloatArray:
        """Add up rows by their two items, items by items: the first, then the second."""
        n = self.n_items
        return sums(self.above.astype(np.int64) * n + self.below, values, n * n).reshape(n, n)


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
