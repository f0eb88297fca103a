"""What Stage 1 asks of an aggregator, and what each judgment does to its scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from aggcal._core.arrays import FloatArray, sums
from aggcal._core.text import brief
from aggcal.aggregation.families import Family
from aggcal.aggregation.rows import Rows
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments

if TYPE_CHECKING:
    from aggcal.aggregation.consensus import Consensus


@runtime_checkable
class Aggregator(Protocol):
    """Stage 1 in one method: any object that has it can be passed to `aggcal.aggregate`."""

    def fit(self, judgments: Judgments, /) -> Consensus:
        """Return the consensus of some judgments (`Consensus.of` makes one from scores)."""
        ...


@runtime_checkable
class Likelihood(Protocol):
    """An aggregator that has a likelihood, and so knows the curvature of its fit."""

    @property
    def link(self) -> str:
        """Name of the link."""
        ...

    @property
    def family(self) -> Family:
        """The likelihood of wins."""
        ...

    @property
    def bounds(self) -> tuple[float, float]:
        """Between which the annotators' parameter lies."""
        ...

    def annotators_prior(self, consensus: Consensus, annotators: int) -> Any:
        """Return the prior of so many annotators' parameters; None where they have none."""
        ...

    def parameter_prior(self, consensus: Consensus) -> tuple[float, float]:
        """Return its mean and standard deviation."""
        ...

    def penalty(
        self, scores: FloatArray, consensus: Consensus
    ) -> tuple[float, FloatArray, FloatArray]:
        """Return what the scores' prior adds to the objective, and its two derivatives."""
        ...

    def refit(self, judgments: AnyJudgments, start: Any, consensus: Consensus) -> Consensus:
        """Fit other judgments in the same way, from an earlier consensus."""
        ...


@dataclass(frozen=True, eq=False)
class RowScores:
    """The part of each row in the gradient and in the curvature of the scores, by its annotator.

    Annotators' parameters are fixed where the fit has them.
    """

    rows: Rows
    score: FloatArray
    """Derivative of the log-likelihood in the gap: what moves the left item up."""
    curvature: FloatArray
    """Minus its second derivative."""
    precision: FloatArray
    """Of the prior of the scores, item by item."""

    __repr__ = brief

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return len(self.precision)

    def stiffness(self) -> FloatArray:
        """Return the diagonal of the curvature of all rows and the prior."""
        by_side = (
            sums(side, self.curvature, self.n_items) for side in (self.rows.left, self.rows.right)
        )
        return np.asarray(sum(by_side, self.precision))

    def information(self) -> FloatArray:
        """Return the curvature of all rows and the prior, as a matrix."""
        half = self.pairs(self.curvature)
        return np.asarray(np.diag(self.stiffness()) - half - half.T)

    def pairs(self, values: FloatArray) -> FloatArray:
        """Add up rows by their two items, items by items: the left one, then the right one."""
        n = self.n_items
        place = self.rows.left.astype(np.int64) * n + self.rows.right
        return sums(place, values, n * n).reshape(n, n)
