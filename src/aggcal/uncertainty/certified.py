"""The certified partial order: pairs that are right all together, at a family-wise level."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

import numpy as np

from aggcal.arrays import FloatArray, IntArray
from aggcal.uncertainty.covariance import Covariance, MatrixFreeCovariance
from aggcal.uncertainty.student import quantile


@dataclass(frozen=True, eq=False)
class Certified:
    """Pairs i above j with a gap of more than ``reach`` standard errors of the gap.

    With probability ``level`` every one of them is right for the consensus (a union bound over
    all pairs, whatever their dependence); nothing is said about the truth.

    Examples
    --------
    >>> from aggcal.uncertainty.covariance import DenseCovariance
    >>> found = Certified(np.array([9.0, 0.0, 0.1]), DenseCovariance(np.eye(3)), 0.95)
    >>> found.count, found.share, list(found.pairs())
    (2, 0.6666666666666666, [(0, 1), (0, 2)])
    """

    scores: FloatArray
    covariance: Covariance
    level: float
    freedom: float = inf

    @property
    def n_pairs(self) -> int:
        """All pairs."""
        return len(self.scores) * (len(self.scores) - 1) // 2

    @property
    def reach(self) -> float:
        """Standard errors that certify a pair."""
        return -quantile((1.0 - self.level) / max(self.n_pairs, 1), self.freedom)

    @property
    def count(self) -> int:
        """How many pairs are certified."""
        if isinstance(self.covariance, MatrixFreeCovariance):
            # The bound (se_i + se_j)² on the variance of a gap makes it one of disjoint intervals.
            se = self.reach * np.sqrt(self.covariance.variances)
            ends = np.sort(self.scores + se)
            return int(np.searchsorted(ends, self.scores - se, side="left").sum())
        return sum(len(below) for _, below in self._above())

    @property
    def share(self) -> float:
        """Share of all pairs that are certified."""
        return self.count / max(self.n_pairs, 1)

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Go through the certified pairs: position of the item above, of the item below."""
        for i, below in self._above():
            for j in below.tolist():
                yield i, j

    def _above(self) -> Iterator[tuple[int, IntArray]]:
        every = np.arange(len(self.scores))
        reach = self.reach
        for i in every.tolist():
            gap = self.scores[i] - self.scores
            ahead = np.flatnonzero(gap > 0.0)
            sd = np.sqrt(self.covariance.gap_bound(np.full(len(ahead), i), ahead))
            yield i, ahead[gap[ahead] > reach * sd]
