"""The consensus: what Stage 1 returns, and the protocol that every aggregator keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from aggcal.arrays import FloatArray, IntArray, TextArray, frozen, sums
from aggcal.errors import AggcalWarning, OptionError, ReversedWarning, count, some
from aggcal.judgments import Judgments
from aggcal.kernels import at, library
from aggcal.models.priors import Prior
from aggcal.solve.newton import Convergence
from aggcal.tables import Columns, as_frame

_TIE = 1e-9
_PIECE = 1 << 20


@runtime_checkable
class Aggregator(Protocol):
    """Stage 1 in one method: any object that has it can be passed to `aggcal.aggregate`."""

    def fit(self, judgments: Judgments, /) -> Consensus:
        """Return the consensus of some judgments (`Consensus.of` makes one from scores)."""
        ...


@dataclass(frozen=True, eq=False)
class Consensus:
    """Item scores and annotator reliabilities on which the judgments agree best.

    The order of ``scores`` is the consensus ranking. Scores have no unit: one unit is one
    standard unit of the link for an annotator of reliability 1. It is what the annotators
    agree on, not the truth.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "b", "c"), ("bob", "c", "a")]
    >>> consensus = aggcal.aggregate(aggcal.read_judgments(rows), warn=False)
    >>> consensus.items["item"].tolist(), consensus.items["rank"].tolist()
    (['b', 'a', 'c'], [1, 2, 3])
    """

    method: str
    item_ids: TextArray
    scores: FloatArray
    annotator_ids: TextArray
    reliabilities: FloatArray
    agreement: FloatArray
    judgments_per_item: IntArray
    judgments_per_annotator: IntArray
    objective: float | None = None
    log_likelihood: float | None = None
    convergence: Convergence | None = None
    prior: Prior | None = None
    seconds: float = 0.0
    warnings: tuple[AggcalWarning, ...] = ()
    backend: str | None = None
    random_reliability: float = 0.0
    """The reliability of one who answers at random; below it, answers are reversed."""

    @classmethod
    def of(
        cls,
        judgments: Judgments,
        scores: FloatArray,
        *,
        method: str,
        reliabilities: FloatArray | None = None,
        random_reliability: float = 0.0,
        warnings: tuple[AggcalWarning, ...] = (),
        **record: Any,
    ) -> Consensus:
        """Make a consensus from scores of ``judgments.item_ids``, wherever they come from.

        Scores that differ by no more than rounding are made equal, so that tied items are
        tied for everyone who reads them; reversed annotators are added to the warnings.
        """
        scores = np.asarray(scores, dtype=np.float64)
        if scores.shape != (judgments.n_items,) or not np.isfinite(scores).all():
            raise OptionError(
                f"method '{method}' gave scores of shape {scores.shape}; a finite number is needed "
                f"for each of the {judgments.n_items} items."
            )
        tied = _snapped(scores)
        gammas = np.ones(judgments.n_annotators) if reliabilities is None else reliabilities
        reversed_ids = list(judgments.annotator_ids[gammas < random_reliability])
        below = (
            f"a reliability below {random_reliability:g}"
            if random_reliability
            else "a negative reliability"
        )
        if reversed_ids:
            warnings = (
                *warnings,
                ReversedWarning(
                    f"{count(len(reversed_ids), 'annotator')} of {judgments.n_annotators:,} "
                    f"{'has' if len(reversed_ids) == 1 else 'have'} {below} "
                    f"({some(reversed_ids)})",
                    "their judgments count the other way round (hardly at all where it is near "
                    f"{random_reliability:g}: such answers are random): check whether they "
                    "understood the question",
                ),
            )
        return cls(
            method,
            judgments.item_ids,
            frozen(tied),
            judgments.annotator_ids,
            frozen(gammas),
            frozen(_agreement(judgments, tied)),
            judgments.judgments_per_item,
            judgments.judgments_per_annotator,
            warnings=warnings,
            backend=judgments.backend,
            random_reliability=random_reliability,
            **record,
        )

    @property
    def ranks(self) -> IntArray:
        """Rank of each item of ``item_ids``: 1 is the highest, tied items share the best."""
        ordered = np.sort(self.scores)
        return len(ordered) + 1 - np.searchsorted(ordered, self.scores, side="right")

    @property
    def order(self) -> IntArray:
        """Positions of the items from the highest score to the lowest."""
        return np.argsort(-self.scores, kind="stable")

    @property
    def reversed_ids(self) -> list[str]:
        """Annotators whose answers run against the consensus."""
        return list(self.annotator_ids[self.reliabilities < self.random_reliability])

    @property
    def n_judgments(self) -> int:
        """Judgments that were fitted."""
        return int(self.judgments_per_annotator.sum())

    @property
    def items(self) -> Any:
        """Table of item, score, rank and n_judgments, the highest first."""
        order = self.order
        columns: Columns = {
            "item": self.item_ids[order],
            "score": self.scores[order],
            "rank": self.ranks[order],
            "n_judgments": self.judgments_per_item[order],
        }
        return as_frame(columns, self.backend)

    @property
    def annotators(self) -> Any:
        """Table of annotator, reliability, n_judgments and agreement, the most reliable first.

        ``agreement`` is the share of the annotator's judgments that the consensus order
        confirms; a tie, on either side, counts one half.
        """
        return as_frame(self.annotator_columns(), self.backend)

    def annotator_columns(self) -> Columns:
        """Return the annotators' table as plain columns."""
        order = np.argsort(-self.reliabilities, kind="stable")
        return {
            "annotator": self.annotator_ids[order],
            "reliability": self.reliabilities[order],
            "n_judgments": self.judgments_per_annotator[order],
            "agreement": self.agreement[order],
        }

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        record = self.convergence
        how = ""
        if record is not None:
            state = "converged" if record.converged else "did NOT converge"
            how = f"; {state} in {count(record.iterations, 'iteration')}"
        top = some(self.item_ids[self.order])
        return (
            f"Consensus by {self.method}: {len(self.item_ids):,} items, "
            f"{len(self.annotator_ids):,} annotators, {self.n_judgments:,} judgments{how}\n"
            f"highest: {top}"
        )


def _snapped(scores: FloatArray) -> FloatArray:
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    near = _TIE * float(np.ptp(ordered))
    group = np.concatenate([[0], np.cumsum(np.diff(ordered) > near)])
    means = np.bincount(group, ordered) / np.bincount(group)
    snapped = np.empty_like(scores)
    # A lone item keeps its bits; only real ties are averaged.
    snapped[order] = np.where(np.bincount(group)[group] > 1, means[group], ordered)
    return snapped


def _agreement(judgments: Judgments, scores: FloatArray) -> FloatArray:
    kernels, weight = library(), judgments.weight
    plain = weight.strides == (0,) and bool((weight[:1] == 1.0).all())
    agreed = np.zeros(judgments.n_annotators)
    if kernels is not None:
        columns = (judgments.annotator, judgments.left, judgments.right)
        codes = [np.ascontiguousarray(column, dtype=np.int32) for column in columns]
        outcome = None if judgments.decided_for_left else np.ascontiguousarray(judgments.outcome)
        weights = None if plain else np.ascontiguousarray(weight)
        arrays = at(*codes, outcome, weights, np.ascontiguousarray(scores), agreed)
        kernels.aggcal_agreement(len(weight), *arrays)
    else:
        for k in range(0, len(weight), _PIECE):
            rows = slice(k, k + _PIECE)
            side = np.sign(scores[judgments.left[rows]] - scores[judgments.right[rows]])
            agrees = weight[rows] * (0.5 + side * (judgments.outcome[rows] - 0.5))
            agreed += sums(judgments.annotator[rows], agrees, judgments.n_annotators)
    return agreed / sums(judgments.annotator, weight, judgments.n_annotators)
