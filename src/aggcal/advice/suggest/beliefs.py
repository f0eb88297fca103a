"""What is believed before the next question: where each item is, how surely, and in which piece."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, TextArray
from aggcal._core.tables import aligned, as_text
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.covariance import DenseCovariance
from aggcal.aggregation.links import Link
from aggcal.aggregation.links import link as link_of
from aggcal.data.base import AnyJudgments
from aggcal.data.scores import Scores
from aggcal.errors import OptionError
from aggcal.registry import PREDICTABLE, TIES

_ENOUGH_TO_PLACE = 10
"""Items in both tables: with fewer, a line through them places new items badly."""


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Scores with their covariance, and reliabilities, on one scale.

    Items that nobody has judged come after those of the consensus. They are as far from the others
    as the prior says, or near where the model's scores put them.
    """

    item_ids: TextArray
    scores: FloatArray
    variances: FloatArray
    covariance: FloatArray | None
    """As a matrix, where there is one."""
    new: BoolArray
    piece: IntArray
    """Number of each item's connected piece; the largest is 0."""
    judged: IntArray
    """How many judgments each item is part of."""
    model: FloatArray
    """The model's score of each item, NaN where there is none."""
    link: Link
    reliability_mean: float
    """What is expected of an annotator who has not judged yet."""
    reliabilities: FloatArray
    reliability_sd: FloatArray
    """0 where annotators are taken to be alike."""

    placed: BoolArray
    """New items that the model's scores put among the others."""
    readiness: FloatArray | None = None
    """How ready each annotator is to call a tie, where ties were fitted."""
    readiness_mean: float | None = None
    thresholds: bool = False
    """Whether ties were fitted by thresholds (Rao and Kupper's)."""

    def unrelated(self, i: IntArray, j: IntArray) -> BoolArray:
        """Tell of each pair whether nothing relates the two: no comparison and no model score."""
        home = self.piece
        if not self.piece[~self.new].any():
            home = np.where(self.placed, 0, home)
        return np.asarray(home[i] != home[j])

    @property
    def n_items(self) -> int:
        """Items, the new ones included."""
        return len(self.item_ids)

    @property
    def typical_reliability(self) -> float:
        """The root mean square: what a judgment tells grows with the square."""
        return float(np.sqrt(np.mean(np.square(self.reliabilities))))

    @classmethod
    def of(
        cls, judgments: AnyJudgments, consensus: Consensus, scores: Scores | None, more: TextArray
    ) -> Beliefs:
        """Gather what a consensus, model scores and a list of further items tell.

        Parameters
        ----------
        judgments, consensus
            The judgments and their consensus.
        scores
            A model's scores; items that only they have are new.
        more
            Ids that may be new, too.
        """
        known = None
        if consensus.method in PREDICTABLE and consensus.quantifier is not None:
            known = consensus.quantifier.covariance(consensus)
        if known is None:
            raise OptionError(
                f"a consensus by '{consensus.method}' cannot suggest pairs: it cannot predict what "
                f"a judgment adds; choose {', '.join(PREDICTABLE)}."
            )
        seen = set(consensus.item_ids)
        offered = [*([] if scores is None else scores.item_ids), *more]
        new = as_text(item for item in dict.fromkeys(offered) if item not in seen)
        ids = np.concatenate([consensus.item_ids, new])
        model = np.full(len(ids), np.nan)
        if scores is not None:
            model = aligned(scores.values, scores.item_ids, ids)
        old, n = len(seen), len(ids)
        scores_now = consensus.scores
        positions, prior_variances, placed = _expected(scores_now, consensus, model)
        matrix = None
        if isinstance(known.covariance, DenseCovariance):
            matrix = np.zeros((n, n))
            matrix[:old, :old] = known.covariance.matrix
            matrix[np.arange(old, n), np.arange(old, n)] = prior_variances
        pieces = judgments.graph.component
        apart = int(pieces.max()) + 1 + np.arange(n - old)
        alike = np.zeros(len(consensus.reliabilities))
        loose, effects = known.reliability_variances, consensus.effects
        ready = None if effects is None else effects.readiness
        return cls(
            ids,
            np.concatenate([scores_now, positions]),
            np.concatenate([known.covariance.variances, prior_variances]),
            matrix,
            np.arange(n) >= old,
            np.concatenate([pieces, apart]),
            np.concatenate([consensus.judgments_per_item, np.zeros(n - old, dtype=np.int64)]),
            model,
            link_of(PREDICTABLE[consensus.method].name),
            1.0,
            consensus.reliabilities,
            alike if loose is None else np.sqrt(loose),
            np.concatenate([np.zeros(old, dtype=bool), placed]),
            None if ready is None else ready.values,
            None if ready is None else ready.common,
            thresholds=effects is not None and effects.ties == TIES[2],
        )


def _expected(
    scores: FloatArray, consensus: Consensus, model: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return where items without judgments are expected, the variance, and whom the model put."""
    old = len(scores)
    prior = float(np.var(scores))
    if consensus.prior is not None:
        prior = consensus.prior.score_sd**2
    positions, prior_variances = np.zeros(len(model) - old), np.full(len(model) - old, prior)
    both = np.isfinite(model[:old])
    if both.sum() < _ENOUGH_TO_PLACE or np.ptp(model[:old][both]) == 0.0:
        return positions, prior_variances, np.zeros(len(positions), dtype=bool)
    slope, height = np.polyfit(model[:old][both], scores[both], 1)
    off = scores[both] - (height + slope * model[:old][both])
    rest = float(off @ off) / (len(off) - 2)
    has_model = np.isfinite(model[old:])
    positions[has_model] = height + slope * model[old:][has_model]
    prior_variances[has_model] = min(prior, rest)
    return positions, prior_variances, has_model
