"""The certified partial order: pairs that are right all together, at a family-wise level.

Only pairs within a connected component can be certified: nothing compares the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray
from aggcal._core.records import dataclass
from aggcal.aggregation.uncertainty.components import members, pairs_within
from aggcal.aggregation.uncertainty.covariance import Covariance
from aggcal.aggregation.uncertainty.matrix_free import MatrixFreeCovariance
from aggcal.aggregation.uncertainty.t_distribution import quantile

_AT_ONCE = 1 << 17  # pairs that are looked at together: more take more memory, fewer more time


@dataclass(frozen=True, eq=False)
class Certified:
    """Pairs i above j with a gap of more than ``critical_value`` standard errors of the gap.

    With posterior probability ``level``, under the model and its priors, every one of them is
    right for the consensus (a union bound over all pairs within components, whatever the
    dependence of their errors). It needs answers that are independent given the model, and says
    nothing about the truth. Pairs of items in different components are never certified.

    Examples
    --------
    >>> from aggcal.aggregation.uncertainty.covariance import DenseCovariance
    >>> found = Certified(np.array([9.0, 0.0, 0.1]), DenseCovariance(np.eye(3)), 0.95)
    >>> found.count, found.share, list(found.pairs())
    (2, 0.6666666666666666, [(0, 1), (0, 2)])

    Nothing compares the third item with the others:

    >>> alone = np.array([0, 0, 1])
    >>> found = Certified(found.scores, found.covariance, 0.95, component=alone)
    >>> found.n_pairs, list(found.pairs())
    (1, [(0, 1)])
    """

    scores: FloatArray
    covariance: Covariance
    level: float
    degrees_of_freedom: float = inf
    component: IntArray | None = None
    """Label of each item's connected component; None where there is one."""

    @property
    def n_pairs(self) -> int:
        """All pairs within components."""
        return pairs_within(self.component, len(self.scores))

    @property
    def critical_value(self) -> float:
        """Standard errors that certify a pair."""
        return -quantile((1.0 - self.level) / max(self.n_pairs, 1), self.degrees_of_freedom)

    @property
    def count(self) -> int:
        """How many pairs are certified."""
        if isinstance(self.covariance, MatrixFreeCovariance):
            bounds, critical_value = self.covariance.gap_bounds, self.critical_value
            return sum(
                bounds.count(self.scores, own, critical_value)
                for own in members(self.component, len(self.scores))
            )
        return sum(int(np.count_nonzero(found)) for _, _, found in self._blocks())

    @property
    def share(self) -> float:
        """Share of the pairs within components that are certified."""
        return self.count / max(self.n_pairs, 1)

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Go through the certified pairs: position of the item above, of the item below."""
        for i, below in self._above():
            for j in below.tolist():
                yield i, j

    def above(self, order: IntArray) -> Iterator[IntArray]:
        """For each item of an order, go through those before it that are certified above it.

        Both are positions in the order, which goes from the highest score to the lowest.

        Examples
        --------
        >>> from aggcal.aggregation.uncertainty.covariance import DenseCovariance
        >>> found = Certified(np.array([9.0, 0.0, 0.1]), DenseCovariance(np.eye(3)), 0.95)
        >>> [above.tolist() for above in found.above(np.array([0, 2, 1]))]
        [[], [0], [0]]
        """
        scores, critical_value = self.scores[order], self.critical_value
        for some in _blocks(len(order)):
            sd = np.sqrt(self.covariance.gap_bound(order[: some.stop], order[some, None]))
            certified = scores[: some.stop] - scores[some, None] > critical_value * sd
            for k, row in enumerate(certified, some.start):
                yield np.flatnonzero(row[:k])

    def _above(self) -> Iterator[tuple[int, IntArray]]:
        """Go through the items that are certified above some, and those below each of them."""
        for above, own, certified in self._blocks():
            for i, row in zip(above.tolist(), certified, strict=True):
                yield i, own[row]

    def _blocks(self) -> Iterator[tuple[IntArray, IntArray, BoolArray]]:
        """Go through items of a component, all of its items, and which are certified below."""
        critical_value = self.critical_value
        for own in members(self.component, len(self.scores)):
            for some in _blocks(len(own)):
                gap = self.scores[own[some], None] - self.scores[own]
                sd = np.sqrt(self.covariance.gap_bound(own[some, None], own))
                yield own[some], own, (gap > 0.0) & (gap > critical_value * sd)


def _blocks(n: int) -> Iterator[slice]:
    """Part the rows of a square matrix into blocks that take little memory."""
    size = max(1, _AT_ONCE // max(n, 1))
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
