"""Questions to a shard about its annotators, integrated out, and about the general model."""

from __future__ import annotations

from threading import RLock

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.data.control import Covariates
from aggcal.data.judgments import Judgments
from aggcal.engines.base import Parts
from aggcal.engines.sharded.facts import Explained, ShardFacts
from aggcal.engines.sharded.general_shard import GeneralOfShard, GeneralPoint, ShardPlan
from aggcal.engines.sharded.integrals import IntegralOfShard, IntegralPoint
from aggcal.models.rows import Rows


class IntegralQuestions:
    """What a shard answers about reliabilities that are integrated out."""

    rows: Rows
    first: int
    _lock: RLock
    _integral: IntegralOfShard | None

    def _forget(self) -> None:
        """Let go of everything that only saves work."""
        raise NotImplementedError

    def integrate(self, point: IntegralPoint) -> Parts:
        """Integrate the annotators out at a point; return the sums and what is known of each."""
        with self._lock:
            return self._integral_for(point).evaluate(point)

    def integral_product(self, point: IntegralPoint, vector: FloatArray) -> FloatArray:
        """Multiply by this shard's part of the curvature at a point."""
        with self._lock:
            return self._integral_for(point).at(point).product(vector)

    def integral_diagonal(self, point: IntegralPoint) -> FloatArray:
        """Return the diagonal of this shard's part of the curvature."""
        with self._lock:
            return self._integral_for(point).at(point).diagonal()

    def integral_dense(self, point: IntegralPoint) -> Parts:
        """Return this shard's part of the curvature as a matrix, and with reliabilities held."""
        with self._lock:
            return Parts(self._integral_for(point).at(point).dense(), ())

    def integral_forms(self, point: IntegralPoint, *forms: FloatArray) -> Parts:
        """Return b'Cb and b'x for its annotators."""
        with self._lock:
            values, *rest = map(np.asarray, forms)
            return self._integral_for(point).forms(point, values, *rest)

    def _integral_for(self, point: IntegralPoint) -> IntegralOfShard:
        if self._integral is None or self._integral.fit != point.fit:
            self._forget()
            self._integral = IntegralOfShard(self.rows, self.first, point)
        return self._integral


class GeneralQuestions:
    """What a shard answers about the general model."""

    index: int
    first: int
    _lock: RLock
    _general: GeneralOfShard | None

    def _forget(self) -> None:
        """Let go of everything that only saves work."""
        raise NotImplementedError

    def asked(self) -> Judgments:
        """Return the judgments."""
        raise NotImplementedError

    def term_facts(self) -> ShardFacts:
        """Count ties, strengths, contexts and categories."""
        return ShardFacts.of(self.asked())

    def explained(self, covariates: Covariates) -> Explained:
        """Say what covariates tell of its rows."""
        return Explained.of(self.asked(), covariates)

    def general_about(self, plan: ShardPlan) -> Parts:
        """Return how many rows a plan makes, the weight of each strength, and what each gave."""
        with self._lock:
            return self._general_for(plan).about()

    def general(self, plan: ShardPlan, point: GeneralPoint) -> Parts:
        """Integrate the annotators out at a point; return the sums and what is known of each."""
        with self._lock:
            return self._general_for(plan).evaluate(point)

    def general_product(
        self, plan: ShardPlan, point: GeneralPoint, vector: FloatArray
    ) -> FloatArray:
        """Multiply by this shard's part of the curvature at a point."""
        with self._lock:
            return self._general_for(plan).product(point, vector)

    def general_dense(self, plan: ShardPlan, point: GeneralPoint) -> Parts:
        """Return this shard's part of the curvature as a matrix, and with annotators held."""
        with self._lock:
            return self._general_for(plan).dense(point)

    def general_forms(self, plan: ShardPlan, point: GeneralPoint, *forms: FloatArray) -> Parts:
        """Return b'Cb and b'x for its annotators."""
        with self._lock:
            return self._general_for(plan).forms(point, *forms)

    def general_grades(
        self, plan: ShardPlan, point: GeneralPoint, unknowns: FloatArray, grades: FloatArray
    ) -> FloatArray:
        """Return the weight of each strength of answer that is to be expected."""
        with self._lock:
            return self._general_for(plan).grades(point, unknowns, grades)

    def general_item_pulls(
        self,
        plan: ShardPlan,
        point: GeneralPoint,
        vector: FloatArray,
        back: bool,  # noqa: FBT001
    ) -> Parts:
        """Multiply by what annotators pull scores by, or by its transpose."""
        with self._lock:
            return self._general_for(plan).item_pulls(point, vector, back=back)

    def general_axis(
        self, plan: ShardPlan, point: GeneralPoint, unknowns: FloatArray
    ) -> FloatArray:
        """Return the squared advantages along the axis, and in the scores."""
        with self._lock:
            return self._general_for(plan).axis_parts(point, unknowns)

    def _general_for(self, plan: ShardPlan) -> GeneralOfShard:
        if self._general is None or self._general.plan.name != plan.name:
            self._forget()
            self._general = GeneralOfShard(self.asked(), self.index, self.first, plan)
        return self._general
