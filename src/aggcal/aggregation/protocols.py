"""What Stage 1 asks of others: of an aggregator, and of what knows how sure a consensus is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from aggcal._core.arrays import BoolArray, FloatArray
from aggcal.aggregation.families import Family
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.aggregation.uncertainty.covariance import Covariance
from aggcal.aggregation.uncertainty.scale import Scale
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments
from aggcal.data.scores import Scores
from aggcal.models.objective import Objective
from aggcal.models.rows import Rows

if TYPE_CHECKING:
    from aggcal.aggregation.consensus import Consensus


@runtime_checkable
class Aggregator(Protocol):
    """Stage 1 in one method: any object that has it can be passed to `aggcal.aggregate`."""

    def fit(self, judgments: Judgments, /) -> Consensus:
        """Return the consensus of some judgments (`Consensus.of` makes one from scores)."""
        ...


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

    @property
    def family(self) -> Family:
        """The likelihood of wins."""
        ...

    def penalty(
        self, scores: FloatArray, consensus: Consensus, /
    ) -> tuple[float, FloatArray, FloatArray]:
        """Return what the scores' prior adds to the objective, and its two derivatives."""
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

    def refit(self, judgments: AnyJudgments, start: Consensus | None, consensus: Consensus) -> Consensus:
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

    def curvature(self, consensus: Consensus, /) -> Curvature | None:
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
class Curvature:
    """The covariance of a fit."""

    covariance: Covariance
    """Of the scores."""
    reliability_variances: FloatArray | None
    """None where annotators are taken to be alike."""
    logits: tuple[FloatArray, FloatArray] | None = None
    """Means and variances of the reliabilities' logits, where they are probabilities."""
    scale: Scale | None = None
    """What the scale of the scores adds, where the judgments determine it."""
    by_prior: FloatArray | None = None
    """The part of the covariance that priors make; None where the scores' own makes all of it."""
