"""Questions to a shard about its annotators, integrated out."""

from __future__ import annotations

from threading import RLock

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.engines.base import Parts
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
