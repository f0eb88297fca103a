"""Sums over rows by the logistic link, compiled where that was possible, else by NumPy.

Rows are sorted by annotator; where ``starts`` is given, annotator u's are those from ``starts[u]``
to ``starts[u + 1]``. The results do not depend on the number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, sums
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import balanced, each_range
from aggcal.aggregation.links import LOGISTIC

_FEWEST = 500  # rows for a thread where each is looked at by many slopes and sets of scores
_MOST_SETS = 64  # of scores: as many as the kernel has room for


def slope_losses(
    starts: IntArray, size: FloatArray, number: FloatArray, slopes: FloatArray
) -> FloatArray:
    """Return Σ number · log(1 + exp(−slope · size)) of each annotator (row) and slope (column).

    Examples
    --------
    >>> once = np.ones(2)
    >>> slope_losses(np.array([0, 2]), np.zeros(2), once, once).round(4)
    array([[1.3863, 1.3863]])
    """
    kernels, m = library(), len(starts) - 1
    if kernels is None:
        owner = np.repeat(np.arange(m), np.diff(starts))
        each = (number * np.log1p(np.exp(-slope * size)) for slope in slopes.tolist())
        return np.stack([sums(owner, lost, m) for lost in each], axis=1)
    found = np.empty((m, len(slopes)))

    def work(begin: int, end: int) -> None:
        columns = at(starts, size, number)
        kernels.aggcal_slope_losses(begin, end, *columns, len(slopes), *at(slopes, found))

    each_range(work, balanced(starts))
    return found


class Shifted(NamedTuple):
    """Answers whose odds have something in common that is to be estimated: Newton's sums."""

    starts: IntArray
    offset: FloatArray
    """The log odds of each row without it."""
    outcome: FloatArray
    number: FloatArray

    def sums(self, shift: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return each annotator's Σ number (y − p) and Σ number p (1 − p), p = F(offset + shift).

        Examples
        --------
        >>> rows = Shifted(np.array([0, 1, 2]), np.zeros(2), np.ones(2), np.ones(2))
        >>> pull, curve = rows.sums(np.zeros(2))
        >>> pull, curve
        (array([0.5, 0.5]), array([0.25, 0.25]))
        """
        kernels, m = library(), len(self.starts) - 1
        if kernels is None:
            owner = np.repeat(np.arange(m), np.diff(self.starts))
            probability = LOGISTIC.probability(self.offset + shift[owner])
            doubt = probability * (1.0 - probability)
            off = self.number * (self.outcome - probability)
            return sums(owner, off, m), sums(owner, self.number * doubt, m)
        pull, curve = np.empty(m), np.empty(m)

        def work(begin: int, end: int) -> None:
            kernels.aggcal_shifted(begin, end, *at(*self, shift, pull, curve))

        each_range(work, balanced(self.starts))
        return pull, curve


class Seen(NamedTuple):
    """All rows as the others of their annotators see them: how far one may be expected to agree."""

    starts: IntArray
    left: CodeArray
    right: CodeArray
    gap: FloatArray
    """How far left lies above right for the others."""
    number: FloatArray
    size: FloatArray
    """What agreeing counts for."""
    errors: FloatArray
    """Errors of the scores, items by sets of scores."""
    wider: FloatArray
    """Factor of these errors for the others of each annotator."""

    def agreeing(self, who: IntArray, slopes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of Σ number · size · (agrees − ½): who by slopes by sets.

        Examples
        --------
        >>> once = np.ones(1)
        >>> pair = np.array([[0], [1]], dtype=np.int32)
        >>> rows = Seen(np.array([0, 1]), *pair, once, once, once, np.zeros((2, 3)), once)
        >>> mean, variance = rows.agreeing(np.array([0]), np.array([0.0, 9.0]))
        >>> mean.round(2)[0, :, 0], variance.round(2)[0, :, 0]
        (array([0. , 0.5]), array([0.25, 0.  ]))
        """
        kernels, sets = library(), self.errors.shape[1]
        mean, variance = np.empty((2, len(who), len(slopes), sets))
        rows = np.concatenate([[0], np.cumsum(self.starts[who + 1] - self.starts[who])])

        def compiled(begin: int, end: int) -> None:
            kernels.aggcal_agreeing(  # type: ignore[union-attr]
                begin, end, *at(who, *self[:6]), sets, *at(*self[6:]), len(slopes),
                *at(slopes, mean, variance),
            )  # fmt: skip

        def plain(begin: int, end: int) -> None:
            for k in range(begin, end):
                mean[k], variance[k] = self._of_one(int(who[k]), slopes)

        work = plain if kernels is None or sets > _MOST_SETS else compiled
        each_range(work, balanced(rows, _FEWEST))
        return mean, variance

    def _of_one(self, who: int, slopes: FloatArray) -> tuple[FloatArray, FloatArray]:
        mine = slice(int(self.starts[who]), int(self.starts[who + 1]))
        gap, number, size = self.gap[mine], self.number[mine], self.size[mine]
        drawn = (self.errors[self.left[mine]] - self.errors[self.right[mine]]).T
        real = np.where(gap >= 0.0, 1.0, -1.0) * (gap + self.wider[who] * drawn)
        mean, variance = np.empty((2, len(slopes), len(drawn)))
        for k, slope in enumerate(slopes.tolist()):
            agrees = expit(slope * real)
            mean[k] = (agrees - 0.5) @ (number * size)
            variance[k] = (agrees * (1.0 - agrees)) @ (number * np.square(size))
        return mean, variance
