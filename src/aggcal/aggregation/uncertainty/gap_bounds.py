r"""Bounds on the variances of all gaps of scores, from one number an item.

Let H be the precision of scores and annotators' parameters together. Given all else, s_i varies by
A_i = 1/H_ii; with all else, by R_i² = Var(s_i) − A_i more. Take s_i and s_j together: given all
else their correlation is x = −H_ij/√(H_ii H_jj), and what all else adds to either is less than R_i²
by A_i x²/(1 − x²). So

    Var(s_i − s_j) ≤ A_i + A_j + (R_i + R_j)² − 2x √(A_i A_j)/(1 − x²).

A judgment of i and j makes H_ij smaller and the last term negative: it is left out. Only what holds
a convention, a vector c whose cc' is added to H, can make H_ij positive. With T_i the sum of their
c_i² it is at most √(T_i T_j); where T_i ≤ H_ii/4 and T_j ≤ H_jj/4, −x is at most 1/4, and the last
term at most 2 Q_i Q_j with Q_i² = 16/15 T_i A_i². As 2ab ≤ a² + b²,

    Var(s_i − s_j) ≤ W_i + W_j,   W_i = A_i + 2 R_i² + Q_i².

Where T_j is larger, A_j and Q_j count as 0 and R_j² as Var(s_j): what s_i varies by given all else
is independent of s_j, so that −2 Cov(s_i, s_j) ≤ 2 R_i sd(s_j) ≤ R_i² + Var(s_j). The bound is
hardly more than the sum of their variances, where R_i² is a small part of either.
"""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, frozen
from aggcal._core.kernels.threads import each_range
from aggcal._core.records import dataclass
from aggcal._core.text import brief

_SEARCHES, _MOST_CLASSES, _FEWEST_CLASSES = 8_000_000, 256, 32
"""Items times the classes that they fall into by their bounds, and how many of these there are:
more make bounds closer, and take longer to count."""
_LOOSE = 0.25
"""Share of H_ii that conventions may be."""


def bounded(variances: FloatArray, precision: FloatArray, held: FloatArray) -> FloatArray:
    """Return W of each item.

    Parameters
    ----------
    variances
        Of the scores.
    precision, held
        H_ii, and the part T_i of it that holds conventions.

    Examples
    --------
    >>> bounded(np.array([0.5, 0.5]), np.array([4.0, 2.0]), np.zeros(2))
    array([0.75, 0.5 ])
    """
    free = held <= _LOOSE * precision
    alone = np.minimum(np.where(free, 1.0 / precision, 0.0), variances)
    return 2.0 * variances - alone + held * np.square(alone) / (1.0 - _LOOSE**2)


@dataclass(frozen=True, eq=False)
class GapBounds:
    """Bounds on the variances of gaps: items are in classes, and count by the largest W of theirs.

    Examples
    --------
    >>> bounds = GapBounds.of(np.array([1.0, 2.0, 1.0]))
    >>> bounds.between(np.array([0]), np.array([1]))
    array([3.])
    >>> bounds.count(np.array([9.0, 0.0, 0.1]), np.arange(3), 4.0)
    2
    """

    which: IntArray
    """The class of each item."""
    most: FloatArray
    """W of each class."""

    __repr__ = brief

    @classmethod
    def of(cls, bounds: FloatArray) -> GapBounds:
        """Put items into classes by W."""
        n = len(bounds)
        order = np.argsort(bounds, kind="stable")
        number = min(max(_SEARCHES // n, _FEWEST_CLASSES), _MOST_CLASSES)
        starts = np.unique(np.arange(number) * n // number)
        which = np.empty(n, dtype=np.int64)
        which[order] = np.searchsorted(starts, np.arange(n), side="right") - 1
        return cls(frozen(which), frozen(bounds[order][np.append(starts[1:], n) - 1]))

    def between(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return the bound for each pair of positions."""
        return np.asarray(self.most[self.which[i]] + self.most[self.which[j]])

    def count(self, scores: FloatArray, own: IntArray, critical_value: float) -> int:
        """Count pairs of some items whose gap is more than so many bounds of its sd.

        Parameters
        ----------
        scores
            Of all items.
        own
            Positions of the items that count.
        critical_value
            How many.
        """
        own = own[np.argsort(scores[own], kind="stable")]
        above, which = scores[own], self.which[own]

        def work(begin: int, end: int) -> int:
            total = 0
            for k in range(begin, end):
                below = above[which == k]
                needed = critical_value * np.sqrt(self.most + self.most[k])
                total += int(np.searchsorted(below, above - needed[which], side="left").sum())
            return total

        return sum(each_range(work, list(range(len(self.most) + 1))))
