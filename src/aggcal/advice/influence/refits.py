"""Leave annotators or items out for good: fit the rest again, from where the fit stands."""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray
from aggcal._core.records import dataclass
from aggcal._core.tables import aligned
from aggcal._core.text import brief
from aggcal.advice.influence.one_step import matched
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.curved import Curved
from aggcal.aggregation.estimate import Quantify
from aggcal.data.judgments import Judgments


@dataclass(frozen=True, eq=False)
class Refits:
    """Fits what is left of some judgments in the same way, the spreads held."""

    judgments: Judgments
    consensus: Consensus

    __repr__ = brief

    def without_annotators(self, left_out: IntArray) -> FloatArray | None:
        """Return how far scores move without some annotators; None if nobody is left."""
        kept = ~np.isin(self.judgments.annotator, left_out)
        return self._moved(kept, np.ones(len(self.consensus.scores), dtype=bool))

    def without_item(self, item: int) -> float | None:
        """Return the root mean square by which the others move without an item."""
        kept = (self.judgments.left != item) & (self.judgments.right != item)
        rest = np.arange(len(self.consensus.scores)) != item
        moved = self._moved(kept, rest)
        return None if moved is None else float(np.sqrt(np.mean(np.square(moved[rest]))))

    def _moved(self, kept: BoolArray, counted: BoolArray) -> FloatArray | None:
        """Return how far the items that count move; one that nobody compares is in the middle."""
        if not kept.any():
            return None
        scores, known = self.consensus.scores, self.consensus.quantifier
        own: object = known.aggregator if isinstance(known, Quantify) else None
        part = self.judgments.of_rows(kept)
        assert isinstance(own, Curved)  # noqa: S101  # who calls knows
        again = own.refit(part, self.consensus, self.consensus)
        there = aligned(again.scores, again.item_ids, self.consensus.item_ids)
        there = np.where(np.isnan(there), 0.0, there)
        found = np.zeros(len(scores))
        found[counted] = matched(there[counted] - scores[counted], scores[counted])
        return found
