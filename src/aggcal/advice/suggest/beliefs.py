"""What is believed before the next question: where each item is, how surely, in which component."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, TextArray
from aggcal._core.tables import aligned, as_text
from aggcal.advice.suggest.greedy import MOST_JOINT, Joint, Pairs, Separate, Worth
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.covariance import DenseCovariance
from aggcal.data.base import AnyJudgments
from aggcal.data.scores import Scores
from aggcal.errors import OptionError, option
from aggcal.registry import PREDICTABLE

MOST_PAIRS = 100_000
"""Candidates: of more pairs, those nearest in score. In studies of 800 to 1,400 items, 40 pairs
chosen of all were worth 0.05% more, and of half as many 0.6% less."""
_ENOUGH_TO_PREDICT = 10
"""Items in both tables: with fewer, a line through them predicts new items badly."""
_PARTNERS = 8  # neighbours that each component is tried with: more find better pairs, slower


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Scores with their covariance, and how sure reliabilities are.

    Items that nobody has judged come after those of the consensus. They are as far from the others
    as the prior says, or near where the model's scores put them.
    """

    consensus: Consensus
    item_ids: TextArray
    scores: FloatArray
    variances: FloatArray
    covariance: FloatArray | None
    """As a matrix, where there is one."""
    new: BoolArray
    predicted: BoolArray
    """New items that the model's scores put among the others."""
    component: IntArray
    """Of each item; the largest is 0."""
    judged: IntArray
    """How many judgments each item is part of."""
    model: FloatArray
    """The model's score of each item, NaN where there is none."""
    reliability_sd: FloatArray
    """Standard errors; 0 where annotators are alike."""

    @property
    def n_items(self) -> int:
        """Items, the new ones included."""
        return len(self.item_ids)

    def unrelated(self, i: IntArray, j: IntArray) -> BoolArray:
        """Tell of each pair whether nothing relates the two: no comparison and no model score."""
        component = self.component
        if not component[~self.new].any():
            component = np.where(self.predicted, 0, component)
        return np.asarray(component[i] != component[j])

    @classmethod
    def of(
        cls, judgments: AnyJudgments, consensus: Consensus, scores: Scores | None, more: TextArray
    ) -> Beliefs:
        """Gather what a consensus, model scores and a list of further items say.

        Parameters
        ----------
        judgments, consensus
            The judgments and their consensus.
        scores
            A model's scores; items that only they have are new.
        more
            Ids that may be new, too.
        """
        fit = None
        if consensus.method in PREDICTABLE and consensus.quantifier is not None:
            fit = consensus.quantifier.covariance(consensus)
        if fit is None:
            raise OptionError(
                f"a consensus by '{consensus.method}' cannot suggest pairs: it cannot predict what "
                f"a judgment adds; choose {', '.join(PREDICTABLE)}."
            )
        seen = set(consensus.item_ids)
        candidates = [*([] if scores is None else scores.item_ids), *more]
        new = as_text(item for item in dict.fromkeys(candidates) if item not in seen)
        ids = np.concatenate([consensus.item_ids, new])
        old, n = len(seen), len(ids)
        model = np.full(n, np.nan)
        if scores is not None:
            model = aligned(scores.values, scores.item_ids, ids)
        positions, variances, predicted = _predicted(consensus, model)
        matrix = None
        if isinstance(fit.covariance, DenseCovariance):
            matrix = np.diag(np.concatenate([np.zeros(old), variances]))
            matrix[:old, :old] = fit.covariance.matrix
        component, loose = judgments.graph.component, fit.reliability_variances
        return cls(
            consensus,
            ids,
            np.concatenate([consensus.scores, positions]),
            np.concatenate([fit.covariance.variances, variances]),
            matrix,
            np.arange(n) >= old,
            np.concatenate([np.zeros(old, dtype=bool), predicted]),
            np.concatenate([component, component.max() + 1 + np.arange(n - old)]),
            np.concatenate([consensus.judgments_per_item, np.zeros(n - old, dtype=np.int64)]),
            model,
            np.zeros(len(consensus.reliabilities)) if loose is None else np.sqrt(loose),
        )

    def worth(self, pairs: Pairs, *, about_scores: bool) -> Worth:
        """Return what candidates are worth."""
        if about_scores and np.isfinite(self.model).sum() < 2:  # noqa: PLR2004  # a pair
            raise OptionError(
                "fewer than two items have a score; use the same ids in both tables, or "
                f"{option('about', 'order')}."
            )
        model = self.model if about_scores else None
        if self.covariance is not None and self.n_items <= MOST_JOINT:
            return Joint(self.scores, self.covariance, model, pairs)
        return Separate(self.scores, self.variances, model, pairs)

    def candidates(self, number: int, random: np.random.Generator) -> Pairs:
        """Return the pairs of which so many are chosen: all, or those nearest in score."""
        n, most = self.n_items, max(MOST_PAIRS, 8 * number)
        if n * (n - 1) // 2 <= most:
            return np.triu_indices(n, 1)
        ranked = np.lexsort((random.random(n), self.scores))
        near = [np.stack([ranked[:-k], ranked[k:]]) for k in range(1, most // n + 2)]
        one, other = np.concatenate([*near, self._bridges(ranked, random)], axis=1)
        keys = np.sort(keys_of(one, other, n))
        return np.divmod(keys[np.append(True, keys[1:] != keys[:-1])], n)

    def _bridges(self, ranked: IntArray, random: np.random.Generator) -> IntArray:
        """Pair an item of each lesser component with the nearest of the largest, and with others.

        The item is the one whose score is known best.
        """
        main = ranked[self.component[ranked] == 0]
        surest = np.argsort(self.variances, kind="stable")
        _, first = np.unique(self.component[surest], return_index=True)
        lesser = surest[first[1:]]
        nearest = np.searchsorted(self.scores[main], self.scores[lesser])
        near = nearest[:, None] + np.arange(_PARTNERS) - _PARTNERS // 2
        near = np.clip(near, 0, len(main) - 1)
        other = main[np.concatenate([near, random.integers(len(main), size=near.shape)], axis=1)]
        return np.stack([np.repeat(lesser, other.shape[1]), other.ravel()])


def _predicted(consensus: Consensus, model: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return where items without judgments are expected, the variance, and whom the model put."""
    scores = consensus.scores
    old, new = model[: len(scores)], model[len(scores) :]
    prior = float(np.var(scores)) if consensus.prior is None else consensus.prior.score_sd**2
    both, has_model = np.isfinite(old), np.isfinite(new)
    if both.sum() < _ENOUGH_TO_PREDICT or np.ptp(old[both]) == 0.0:
        return np.zeros(len(new)), np.full(len(new), prior), np.zeros(len(new), dtype=bool)
    slope, height = np.polyfit(old[both], scores[both], 1)
    residual = scores[both] - (height + slope * old[both])
    variance = min(prior, float(residual @ residual) / (len(residual) - 2))
    expected = np.where(has_model, height + slope * np.nan_to_num(new), 0.0)
    return expected, np.where(has_model, variance, prior), has_model


def keys_of(one: IntArray, other: IntArray, n_items: int) -> IntArray:
    """Return a number for each pair of items, whichever of the two comes first.

    Examples
    --------
    >>> keys_of(np.array([0, 2]), np.array([2, 0]), 3)
    array([2, 2])
    """
    first, last = np.minimum(one, other), np.maximum(one, other)
    return np.asarray(first.astype(np.int64) * n_items + last)
