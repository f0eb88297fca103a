"""Aggregators that know the curvature of their fit."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from aggcal._core.arrays import FloatArray
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.start import Start
from aggcal.data.base import AnyJudgments
from aggcal.models.objective import Objective
from aggcal.models.rows import Rows


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

    def unit_weights(self, rows: Rows, consensus: Consensus) -> FloatArray | None:
        """Return what of each annotator's parameter makes up the unit; None where there is none."""
        ...

    def refit(self, judgments: AnyJudgments, start: Start, consensus: Consensus) -> Consensus:
        """Fit other judgments in the same way, from an earlier consensus."""
        ...


@runtime_checkable
class Alike(Curved, Protocol):
    """One that may take annotators to be alike."""

    def probabilities(self, judgments: AnyJudgments) -> FloatArray:
        """Return the chance of each row's outcome, with annotators told apart."""
        ...

    def alike(self, judgments: AnyJudgments, consensus: Consensus) -> Consensus:
        """Fit the same model with annotators taken to be alike."""
        ...
