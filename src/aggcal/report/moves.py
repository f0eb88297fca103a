"""Whether an item moved between two runs: what can be claimed without knowing what they share.

Two runs of one study share judgments, and then their errors depend on each other in a way that no
folder of results records. Each run has a posterior distribution of every item's rank, though, and
for any joint distribution with these two margins and any k

    P(rank in B < rank in A) >= P(rank in B <= k) + P(rank in A > k) - 1 = F_B(k) - F_A(k).

The largest of these differences is the bound that is reported (that of Fréchet; it cannot be
improved without knowing the dependence). For the same data twice it is 0.

An item is called moved where its two rank intervals do not overlap: at level 0.95 the bound is then
at least 0.95. benchmarks/moves.py measures how often that happens to items that stayed.

Where the user declares that no judgment is in both runs, the errors are independent, and the
probability itself is reported: the sum over k of P(rank in A = k) F_B(k - 1). An item is then
called moved from 0.975 on, since it may go either way.

Ranks are among the items that both runs have. Of those a run gives ranks among all of its items:
with m items of its own, the rank among the common ones is lower by 0 to m, and the worst of these
is assumed.
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
        n = len(low)
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


def above(new: RankBeliefs, old: RankBeliefs) -> FloatArray:
    """Return a lower bound of the probability that items rank higher in one run than in another.

    It holds whatever the two runs share.

    Examples
    --------
    >>> top = {"stops": [1, 2], "percent": [[0], [2], [1, 50]]}
    >>> low, high = np.array([1.0, 3.0, 2.0]), np.array([1.0, 3.0, 3.0])
    >>> new = RankBeliefs.of(np.arange(3), low, high, 0.95, top)
    >>> old = RankBeliefs.of(np.array([1, 0, 2]), low, high, 0.95, top)
    >>> above(new, old), above(new, new)
    (array([0.99, 0.  , 0.  ]), array([0., 0., 0.]))
    """
    k = new.candidates
    # Of the old run's own items, all may have been above.
    bound = new.at_least(k) - old.at_most(k + old.own)
    return np.maximum(bound.max(axis=1), 0.0)


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


def above_if_independent(new: RankBeliefs, old: RankBeliefs) -> FloatArray:
    """Return the probability that items rank higher in one run than in another without shared data.

    Where only some probabilities are known it is a lower bound.

    Examples
    --------
    >>> top = {"stops": [1], "percent": [[0, 50], [0, 50]]}
    >>> low, high = np.ones(2), np.full(2, 2.0)
    >>> new = RankBeliefs.of(np.arange(2), low, high, 0.95, top)
    >>> above_if_independent(new, new)
    array([0.25, 0.25])
    """
    if not len(new.stops) or not len(old.stops):
        return above(new, old)
    edge = np.array([*old.stops.tolist(), old.n], dtype=np.int64)
    mass = np.diff(np.hstack([old.share, np.ones((len(old.low), 1))]), axis=1, prepend=0.0)
    # An old rank in (s, t] is beaten by new ranks up to s, less what the old run's own items hide.
    below = np.concatenate([[0], edge[:-1]]) - old.own
    at = np.searchsorted(new.stops, below, side="right")
    known = np.hstack([np.zeros((len(new.low), 1)), new.share])
    reached = np.where(below >= new.n, 1.0, known[:, at])
    return np.clip((mass * reached).sum(axis=1), 0.0, 1.0)
