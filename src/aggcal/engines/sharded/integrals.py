"""Reliabilities integrated out by shards: each its own annotators', the sums added up.

Where the modes of the annotators were found last is kept on the calling machine and sent with each
question, so that a shard which was lost and made again answers as it would have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray
from aggcal.engines.base import Lasting, Model, Parts
from aggcal.engines.sharded.rows import ShardedCrowd, ShardedRows
from aggcal.models.beliefs import Beliefs, Population
from aggcal.models.crowd import Crowd
from aggcal.models.links import Link
from aggcal.models.links import link as link_of
from aggcal.models.marginal import EXACT, Integrated, integrated
from aggcal.models.marginal_crowd import IntegratedCrowd, integrated_crowd
from aggcal.models.rows import Rows


class Spread(NamedTuple):
    """What the sd of each row's gap follows from: variances of the scores, and a cap."""

    variances: FloatArray
    cap: float


@dataclass(frozen=True, eq=False)
class IntegralPoint(Lasting):
    """Where reliabilities are integrated out; columns are over all annotators."""

    fit: str
    number: int
    model: Model
    given: float
    """Total weight of all judgments."""
    scores: FloatArray
    spread: Spread
    population: Population
    means: FloatArray
    hopeless: BoolArray | None
    close: float
    modes: FloatArray
    kinds: np.ndarray
    settled: bool


class IntegralOfShard:
    """The likelihood of a shard's rows, where it was last evaluated."""

    def __init__(self, rows: Rows, first: int, point: IntegralPoint) -> None:
        self.fit, self.number = point.fit, -1
        self._mine = slice(first, first + rows.n_annotators)
        self.integral = _of_rows(rows, point.model)
        self.integral.shares = rows.given / point.given

    def evaluate(self, point: IntegralPoint) -> Parts:
        """Integrate at a point."""
        mine, integral, self.number = self._mine, self.integral, -1
        integral.take_up(point.modes[mine], point.kinds[mine], settled=point.settled)
        found = integral.evaluate(
            point.scores,
            integral.row_sds(*point.spread),
            point.population,
            point.means[mine],
            None if point.hopeless is None else point.hopeless[mine],
            close=point.close,
        )
        self.number = point.number
        unit = getattr(integral, "unit_pull", np.zeros(len(point.scores)))
        table = np.stack([integral.gradient, integral.held_diagonal, integral.loose_diagonal, unit])
        return Parts((found.log_evidence, table), (found.nodes, found.weights, *integral.searched))

    def at(self, point: IntegralPoint) -> Integrated:
        """Return the likelihood where it was evaluated, evaluating it again if need be."""
        if self.number != point.number:
            self.evaluate(point)
        return self.integral

    def forms(self, point: IntegralPoint, values: FloatArray, *rest: FloatArray) -> Parts:
        """Return the forms of its annotators."""
        return Parts((), self.at(point).forms(values[self._mine], *rest))


def _of_rows(rows: Rows, model: Model) -> Integrated:
    if model.crowd is None:
        return Integrated(rows, link_of(model.link))
    mixture = model.formulae(rows)
    assert isinstance(mixture, Crowd)  # noqa: S101  # there are options of one
    return IntegratedCrowd(mixture, model.crowd["alpha"], model.crowd["beta"])


class _Away(Integrated):
    """A likelihood that asks shards for its sums."""

    rows: ShardedRows
    _model: Model
    _point: IntegralPoint

    def _lay_out(self, rows: Rows) -> None:  # noqa: ARG002
        self._fit = uuid4().hex

    def row_sds(self, variances: FloatArray, cap: float) -> Spread:
        """Return what the shards take the sds from."""
        return Spread(variances, cap)

    def evaluate(
        self,
        scores: FloatArray,
        row_sd: Any,
        population: Population,
        means: FloatArray,
        hopeless: BoolArray | None = None,
        *,
        close: float = EXACT,
    ) -> Beliefs:
        """Have every shard integrate its annotators out."""
        self.passes += 1
        self._point = IntegralPoint(
            self._fit,
            self.passes,
            self._model,
            float(self.rows.given.sum()),
            scores.copy(),
            row_sd,
            population,
            means,
            hopeless,
            close,
            *self.searched,
            self.settled,
        )
        found: Parts = self.rows.shards.total("integrate", self._point)
        evidence, table = found.sums
        self.gradient, self.held_diagonal, self.loose_diagonal, self.unit_pull = table
        nodes, weights, self._modes, self._kinds = found.columns
        self.beliefs = Beliefs(nodes, weights, float(evidence))
        return self.beliefs

    def product(self, vector: FloatArray) -> FloatArray:
        """Multiply by the curvature of the judgments at the last point."""
        return np.asarray(self.rows.shards.total("integral_product", self._point, vector))

    def diagonal(self) -> FloatArray:
        """Return the diagonal of the curvature."""
        return np.asarray(self.rows.shards.total("integral_diagonal", self._point))

    def dense(self) -> tuple[FloatArray, FloatArray]:
        """Return the curvature as a matrix, and with the reliabilities held."""
        whole, held = self.rows.shards.total("integral_dense", self._point).sums
        return whole, held

    def forms(
        self, values: FloatArray, covariance: FloatArray, along: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return b'Cb and b'x for each annotator, b = Σ_k values_uk g_uk."""
        rest = values, covariance, along
        square, product = self.rows.shards.total("integral_forms", self._point, *rest).columns
        return square, product


class IntegratedAway(_Away):
    """The Thurstone family with reliabilities integrated out, on an engine."""

    def __init__(self, rows: ShardedRows, link: Link) -> None:
        self._model = Model(link.name, 1.0)
        super().__init__(rows, link)


class IntegratedCrowdAway(_Away, IntegratedCrowd):
    """A crowd mixture with the chances of an honest report integrated out, on an engine."""

    def __init__(self, problem: ShardedCrowd, alpha: float, beta: float) -> None:
        self._model = problem.model
        IntegratedCrowd.__init__(self, problem, alpha, beta)


integrated.register(ShardedRows, IntegratedAway)
integrated_crowd.register(ShardedCrowd, IntegratedCrowdAway)
