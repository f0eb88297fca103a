"""What Stage 1 asks of others: of an aggregator, and of what knows how sure a consensus is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, sums
from aggcal._core.text import brief
from aggcal.aggregation.covariance import Covariance
from aggcal.aggregation.families import Family
from aggcal.aggregation.rows import Rows
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments
from aggcal.data.scores import Scores

if TYPE_CHECKING:
    from aggcal.aggregation.consensus import Consensus
    from aggcal.aggregation.posterior import FitCovariance


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


class Quantifier(Protocol):
    """Works out how far a consensus can be trusted."""

    @property
    def quick(self) -> bool:
        """Whether that needs no refits."""
        ...

    def __call__(
        self,
        consensus: Consensus,
        kind: str,
        /,
        *,
        level: float,
        draws: int,
        seed: int,
        on_draw: Callable[[int, int], None] | None,
    ) -> Uncertainty:
        """Return the uncertainty of a kind at a level."""
        ...

    def covariance(self, consensus: Consensus, /) -> FitCovariance | None:
        """Return the covariance at the optimum; None where the fit does not know its curvature."""
        ...

    def standing(self, consensus: Consensus, /) -> BoolArray | None:
        """Return which gaps stay clear without each single annotator; None if not looked at."""
        ...

    def unshrunk(
        self, consensus: Consensus, known: Uncertainty, /
    ) -> tuple[FloatArray, Covariance, float]:
        """Return scores that hardly any prior pulled, their covariance, its degrees of freedom."""
        ...

    def place(self, consensus: Consensus, judgments: AnyJudgments, /) -> Scores:
        """Place items that were judged later."""
        ...

    def probabilities(self, consensus: Consensus, judgments: AnyJudgments, /) -> FloatArray:
        """Return the probability that each row's annotator prefers its left item."""
        ...

    def outcomes(self, consensus: Consensus, judgments: AnyJudgments, /) -> FloatArray:
        """Return the probabilities of left, right and tie for each row."""
        ...


@dataclass(frozen=True, eq=False)
class RowForces:
    """The part of each row in the gradient and in the curvature of the scores, by its annotator.

    Annotators' parameters are fixed where the fit has them.
    """

    rows: Rows
    pull: FloatArray
    """Derivative of the log-likelihood in the gap: what moves the left item up."""
    curve: FloatArray
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
            sums(side, self.curve, self.n_items) for side in (self.rows.left, self.rows.right)
        )
        return np.asarray(sum(by_side, self.precision))

    def curvature(self) -> FloatArray:
        """Return the curvature of all rows and the prior, as a matrix."""
        half = self.pairs(self.curve)
        return np.asarray(np.diag(self.stiffness()) - half - half.T)

    def pairs(self, values: FloatArray) -> FloatArray:
        """Add up rows by their two items, items by items: the left one, then the right one."""
        n = self.n_items
        place = self.rows.left.astype(np.int64) * n + self.rows.right
        return sums(place, values, n * n).reshape(n, n)
