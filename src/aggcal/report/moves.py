"""Whether an item moved between two runs, without knowing what judgments they share.

Two runs of one study may share judgments. How their errors depend on each other then is not
recorded in a folder of results, so that no probability of a move can be worked out. What is
reported instead is a confidence, in the sense of tests:

    the highest level c at which the item's two rank intervals do not overlap,
    c = 1 - 2 min over k of max(1 - F_B(k), F_A(k)) for a move up,

where F_A and F_B are the posterior distributions of the rank in the two runs. If the item stayed,
an interval at level c misses its rank with probability 1 - c. Where one run is exact, c or more is
reached with that probability; where both err by themselves, more seldom; and judgments that both
runs have make their errors alike, and moves smaller. The same data twice give 0. An item is called
moved where its rank intervals, as they are stated, do not overlap. benchmarks/moves.py measures how
often that happens to items that stayed.

Where the user declares that no judgment is in both runs, errors are independent. Then

    c = 2 P(rank in B < rank in A) - 1 with P = sum over k of P(rank in A = k) F_B(k - 1),

which is never less conservative than a two-sided test, and finds more.

Ranks are among the items that both runs have. A run states ranks among all of its items: with m
items of its own, the rank among the common ones is lower by 0 to m, and the worst is assumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray

_ROUNDED = 0.005
"""Probabilities are kept in whole percent: this much is taken off, to err on the safe side."""


@dataclass(frozen=True, eq=False)
class RankBeliefs:
    """What a run says of the ranks of some of its items.

    Parameters
    ----------
    low, high
        Rank intervals among all items of the run.
    level
        Of the intervals; what lies outside is divided evenly between both ends.
    stops, share
        With which probability each item is among the first k, for some k; without any columns
        where that is not known.
    n
        Number of items of the run.
    own
        Items that only this run has.
    """

    low: FloatArray
    high: FloatArray
    level: float
    stops: IntArray
    share: FloatArray
    n: int
    own: int = 0

    @classmethod
    def of(
        cls,
        rows: IntArray,
        low: FloatArray,
        high: FloatArray,
        level: float,
        top: Mapping[str, Any] | None,
    ) -> RankBeliefs:
        """Take some rows of a run; ``top`` as in ``comparisons.json``.

        Examples
        --------
        >>> top = {"stops": [1], "percent": [[0, 70], [0, 30]]}
        >>> found = RankBeliefs.of(np.array([1]), np.ones(2), np.full(2, 2.0), 0.95, top)
        >>> found.share, found.n, found.own
        (array([[0.3]]), 2, 1)
        """
        stops = np.zeros(0, dtype=np.int64)
        share = np.zeros((len(rows), 0))
        if top is not None and rows.size and int(rows.max()) < len(top["percent"]):
            stops = np.array(top["stops"], dtype=np.int64)
            share = np.array([_unpacked(top["percent"][k], len(stops)) for k in rows.tolist()])
        n = max(int(np.isfinite(low).sum()), len(rows))  # nobody judged the others
        low, high = np.nan_to_num(low, nan=1.0), np.nan_to_num(high, nan=float(n))
        return cls(low[rows], high[rows], level, stops, share, n, n - len(rows))

    @property
    def within(self) -> tuple[FloatArray, FloatArray]:
        """Rank intervals among the items that both runs have: as wide as they may be."""
        return np.maximum(self.low - self.own, 1.0), np.minimum(self.high, self.n - self.own)

    def at_least(self, k: IntArray) -> FloatArray:
        """Return a lower bound of the probability to be among the first k; a row an item."""
        ranged = np.where(k >= self.high[:, None], 1.0 - 0.5 * (1.0 - self.level), 0.0)
        known = np.hstack([np.zeros((len(self.low), 1)), self.share - _ROUNDED])
        drawn = np.take_along_axis(known, np.searchsorted(self.stops, k, side="right"), axis=1)
        return np.where(k >= self.n, 1.0, np.maximum(np.maximum(ranged, drawn), 0.0))

    def at_most(self, k: IntArray) -> FloatArray:
        """Return an upper bound of the probability to be among the first k; a row an item."""
        ranged = np.where(k < self.low[:, None], 0.5 * (1.0 - self.level), 1.0)
        known = np.hstack([self.share + _ROUNDED, np.ones((len(self.low), 1))])
        drawn = np.take_along_axis(known, np.searchsorted(self.stops, k, side="left"), axis=1)
        return np.where(k < 1, 0.0, np.minimum(np.minimum(ranged, drawn), 1.0))

    @property
    def candidates(self) -> IntArray:
        """The k at which the lower bound of an item's probability rises; a row an item."""
        every = np.broadcast_to(self.stops, (len(self.low), len(self.stops)))
        return np.hstack([every, self.high[:, None].astype(np.int64)])


def _unpacked(packed: list[int], stops: int) -> FloatArray:
    """Return the shares of a row of ``top``: zeros, what is listed, ones."""
    first, *rest = packed
    row = np.ones(stops)
    row[:first] = 0.0
    row[first : first + len(rest)] = np.array(rest[: max(0, stops - first)]) / 100.0
    return row


def confidence(new: RankBeliefs, old: RankBeliefs) -> FloatArray:
    """Return the highest level at which the rank intervals of items in a new run lie above the old.

    Examples
    --------
    >>> top = {"stops": [1, 2], "percent": [[0], [2], [1, 50]]}
    >>> low, high = np.array([1.0, 3.0, 2.0]), np.array([1.0, 3.0, 3.0])
    >>> new = RankBeliefs.of(np.arange(3), low, high, 0.95, top)
    >>> old = RankBeliefs.of(np.array([1, 0, 2]), low, high, 0.95, top)
    >>> confidence(new, old), confidence(new, new)
    (array([0.99, 0.  , 0.  ]), array([0., 0., 0.]))
    """
    k = new.candidates
    # Of the old run's own items, all may have been above.
    outside = np.maximum(1.0 - new.at_least(k), old.at_most(k + old.own))
    found: FloatArray = np.maximum(1.0 - 2.0 * outside.min(axis=1), 0.0)
    return found


def apart(new: RankBeliefs, old: RankBeliefs) -> IntArray:
    """Return which items moved up (1) or down (-1): their rank intervals do not overlap.

    Examples
    --------
    >>> low, high = np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 4.0])
    >>> new = RankBeliefs.of(np.arange(3), low, high, 0.95, None)
    >>> old = RankBeliefs.of(np.array([2, 1, 0]), low, high, 0.95, None)
    >>> apart(new, old)
    array([ 1,  0, -1])
    """
    (new_low, new_high), (old_low, old_high) = new.within, old.within
    return (new_high < old_low).astype(np.int64) - (new_low > old_high).astype(np.int64)


def confidence_if_independent(new: RankBeliefs, old: RankBeliefs) -> FloatArray:
    """Return how confident a move up is, two-sided, where no judgment is in both runs.

    Where only some probabilities are known it is a lower bound.

    Examples
    --------
    >>> top = {"stops": [1], "percent": [[0, 50], [0, 50]]}
    >>> low, high = np.ones(2), np.full(2, 2.0)
    >>> new = RankBeliefs.of(np.arange(2), low, high, 0.95, top)
    >>> confidence_if_independent(new, new)
    array([0., 0.])
    """
    if not len(new.stops) or not len(old.stops):
        return confidence(new, old)
    edge = np.array([*old.stops.tolist(), old.n], dtype=np.int64)
    mass = np.diff(np.hstack([old.share, np.ones((len(old.low), 1))]), axis=1, prepend=0.0)
    # An old rank in (s, t] is beaten by new ranks up to s, less what the old run's own items hide.
    below = np.concatenate([[0], edge[:-1]]) - old.own
    at = np.searchsorted(new.stops, below, side="right")
    known = np.hstack([np.zeros((len(new.low), 1)), new.share])
    reached = np.where(below >= new.n, 1.0, known[:, at])
    found: FloatArray = np.clip(2.0 * (mass * reached).sum(axis=1) - 1.0, 0.0, 1.0)
    return found
