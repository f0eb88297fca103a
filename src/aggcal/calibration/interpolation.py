"""What the neighbours in the consensus leave open for an item that the model did not score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Interpolated:
    """Scores of items without a model score, NaN for all others, and where they may lie.

    The interval is NaN where nothing bounds it: nobody scored is above, or below, and the scale has
    no end.
    """

    values: FloatArray
    low: FloatArray
    high: FloatArray

    @property
    def any(self) -> bool:
        """Whether there is any."""
        return bool(np.isfinite(self.values).any())


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Items in any order, some of them with a calibrated score."""

    consensus: FloatArray
    """Consensus scores; NaN for items that nobody judged."""
    consensus_low: FloatArray
    consensus_high: FloatArray
    """Ends of their intervals. Neighbours are looked for beyond these: an item whose rank is
    uncertain may have others."""
    calibrated: FloatArray
    """Calibrated scores; NaN for the items in question."""
    low: FloatArray
    high: FloatArray
    """Ends of their intervals."""
    component: IntArray
    """Connected component of each item: what nothing compares is no neighbour."""
    bounds: tuple[float, float] | None
    """The ends of the scale, which bound the first and the last."""

    def interpolate(self) -> Interpolated:
        """Give items without a calibrated score the value between those of their neighbours.

        Examples
        --------
        >>> order, one = np.array([3.0, 2.0, 1.0]), np.zeros(3, dtype=np.int64)
        >>> scores = np.array([9.0, np.nan, 5.0])
        >>> known = Neighbours(order, order, order, scores, scores, scores, one, None)
        >>> found = known.interpolate()
        >>> found.values, found.low, found.high
        (array([nan,  7., nan]), array([nan,  5., nan]), array([nan,  9., nan]))
        """
        found = Interpolated(*np.full((3, len(self.consensus)), np.nan))
        judged, scored = np.isfinite(self.consensus), np.isfinite(self.calibrated)
        for own in np.unique(self.component[judged & ~scored]).tolist():
            here = judged & (self.component == own)
            known = np.flatnonzero(here & scored)
            if len(known):
                known = known[np.argsort(self.consensus[known], kind="stable")]
                self._fill(found, np.flatnonzero(here & ~scored), known)
        return found

    def _fill(self, found: Interpolated, items: IntArray, known: IntArray) -> None:
        """Fill in items of one component, by the known ones in ascending order."""
        at, here, last = self.consensus[known], self.consensus[items], len(known) - 1
        values = np.interp(here, at, self.calibrated[known])
        below = np.searchsorted(at, np.minimum(self.consensus_low[items], here), side="right") - 1
        above = np.searchsorted(at, np.maximum(self.consensus_high[items], here), side="left")
        least, most = (np.nan, np.nan) if self.bounds is None else self.bounds
        low = np.where(below < 0, least, self.low[known[np.maximum(below, 0)]])
        high = np.where(above > last, most, self.high[known[np.minimum(above, last)]])
        found.values[items] = values
        # Scores that do not follow the order strictly may have the higher neighbour's end below.
        # What has one end only has no interval: NaN stays NaN.
        found.low[items] = np.minimum(np.minimum(low, high), values)
        found.high[items] = np.maximum(np.maximum(low, high), values)
