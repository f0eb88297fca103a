r"""The items whose true score is worth finding out: those that lower the expected error most.

    truth = score + shift + slope' (score − centre) + weight' · residual + own error

What is not known is the level and the scale of the scores, how much more of the model to keep, and
each item's own error. A true score tells of all of them at once: one far from the centre of the
scale, one at its level, any of its own item. Items are taken one by one, each by how much it lowers
the total variance of all truths, given those before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, TextArray
from aggcal._core.tables import Columns, as_frame, as_text
from aggcal.advice.suggest.suggestions import as_rows, counted_reasons
from aggcal.aggregation import aggregate
from aggcal.aggregation.consensus import LEVEL, Consensus
from aggcal.calibration import read_known
from aggcal.calibration.calibrators import find
from aggcal.calibration.inputs import Given, Inputs, Order, align, inputs_of
from aggcal.data.scores import Scores
from aggcal.engines import prepare
from aggcal.errors import OptionError, count
from aggcal.io import read_scores
from aggcal.registry import DEFAULT_METHOD, FUSED, PREDICTABLE, limits

CHOSEN_BY = "aggcal suggest"
"""What the sheet says of who chose the items: they are then never taken for a random sample."""

_LEVEL, _SLOPE, _WEIGHT = 0.5, 0.3, 0.3
"""How far off the level (in standard deviations of the scores), the scale and the share of the
model are expected to be: larger ones spread the items wider, smaller ones take the most uncertain.
"""

_FAR = 1.0
"""Standard deviations from the centre from which an item is called an end of the range."""


@dataclass(frozen=True, eq=False)
class AnchorSuggestions:
    """Items whose true score is worth finding out, the most useful first.

    ``gain`` is the share of the assumed uncertainty of all truths that this item and those before
    it would remove. It is as good as the assumptions: that the level may be off by half a standard
    deviation of the scores, and their scale and the share of the model by 0.3.
    """

    item_ids: TextArray
    score: FloatArray
    gain: FloatArray
    reason: TextArray
    consensus: Consensus = field(repr=False)
    backend: str | None = None

    def __len__(self) -> int:
        return len(self.item_ids)

    def item_columns(self) -> Columns:
        """Return the sheet as plain columns: ``truth`` is to be filled in."""
        n = len(self)
        return {
            "item": self.item_ids,
            "truth": np.full(n, None, dtype=object),
            "score": self.score,
            "gain": self.gain,
            "reason": self.reason,
            "chosen_by": as_text([CHOSEN_BY] * n),
        }

    @property
    def items(self) -> Any:
        """Table of item, truth (blank), score, gain, reason and chosen_by."""
        return as_frame(self.item_columns(), self.backend)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"anchors": as_rows(self.item_columns())}

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"{count(len(self), 'suggested anchor')} ({counted_reasons(self.reason)})"


def check_anchor_suggestion(n: int, method: str = DEFAULT_METHOD, seed: int = 0) -> None:
    """Refuse options before anything is read."""
    limits.check(true_scores=n, seed=seed)
    if method not in PREDICTABLE:
        raise OptionError(f"method '{method}' has no link; choose {', '.join(PREDICTABLE)}.")


def suggest_anchors(
    judgments: Any,
    scores: Any = None,
    *,
    n: int = 10,
    anchors: Any = None,
    method: str = DEFAULT_METHOD,
    seed: int = 0,
) -> AnchorSuggestions:
    """Suggest the items whose true scores would improve the calibrated scores most.

    They are not a random sample: with them, scores are better than with as many drawn at random,
    but neither the gain nor intervals of the truth can be measured by them. Their sheet says so in
    the column ``chosen_by``, which `calibrate` heeds.

    Parameters
    ----------
    judgments
        `Judgments`, or anything that `read_judgments` takes.
    scores
        The model's scores; None where there is no model, and anchors give the scale.
    n
        How many items to suggest.
    anchors
        Items whose truth is known already (item, truth).
    method
        How to aggregate: a method with a link (see ``aggcal list methods``).
    seed
        Seed for all random numbers.

    Examples
    --------
    >>> import aggcal
    >>> study = aggcal.simulate(items=20, annotators=5, judgments=300, seed=1)
    >>> found = aggcal.suggest_anchors(study.judgments, study.scores, n=3)
    >>> found.items["reason"].tolist()[0], bool((np.diff(found.gain) > 0.0).all())
    ('middle of the range: fixes the level', True)
    """
    check_anchor_suggestion(n, method, seed)
    known, _ = read_known(anchors, None)
    if scores is not None and not isinstance(scores, Scores):
        scores = read_scores(scores)
    judgments = prepare(judgments)
    if judgments.spelling is not None:
        scores = None if scores is None else judgments.spelling.table(scores)
        known = None if known is None else judgments.spelling.table(known)
    consensus = aggregate(judgments, method, warn=False)
    if consensus.uncertainty is None:
        consensus = consensus.quantify()
    order = Order.of(consensus)
    if scores is None:
        ids, values = consensus.item_ids, consensus.scores
        features, own = _features(values, None), np.square(order.sd)  # type: ignore[arg-type]  # it was quantified
    else:
        inputs = inputs_of(find(FUSED.name), Given(scores), order, LEVEL, seed).inputs
        ids, values = inputs.item_ids, inputs.fusion.values(inputs.consensus)
        features, own = _features(values, inputs.fusible - values), _own_errors(inputs)
    told = np.zeros(len(ids), dtype=bool)
    if known is not None:
        told = np.isfinite(align(ids, {"truth": (known.item_ids, known.values)})["truth"])
    chosen, gain = _greedy(features, own, told, min(n, int((~told).sum())))
    reasons = [_reason(features, own, k) for k in chosen]
    backend = None if scores is None else scores.backend
    return AnchorSuggestions(
        ids[chosen], values[chosen], gain, as_text(reasons), consensus, backend or judgments.backend
    )


def _features(values: FloatArray, residual: FloatArray | None) -> FloatArray:
    """Return what each item's truth has of the unknown level, scale and share, in their sds."""
    centred = values - values.mean()
    spread = float(values.std()) or 1.0
    columns = [np.full(len(values), _LEVEL * spread), _SLOPE * centred]
    if residual is not None:
        columns.append(_WEIGHT * (residual - residual.mean()))
    return np.column_stack(columns)


def _own_errors(inputs: Inputs) -> FloatArray:
    """Return the variance of each item's own error: what is left of model and consensus, fused."""
    kept, noise = inputs.fusion.shares, inputs.moments.noise
    return np.asarray(np.maximum(kept, 1e-3) * max(noise, 1e-12))


def _greedy(
    features: FloatArray, own: FloatArray, known: BoolArray, n: int
) -> tuple[IntArray, FloatArray]:
    """Take items one by one by how much each lowers the total variance of the unknown truths.

    Returns the items, and the share of the variance that is gone after each.
    """
    spread, unknown, first = np.eye(features.shape[1]), ~known, np.flatnonzero(known).tolist()
    chosen: list[int] = []
    gone: list[float] = []
    start = 1.0
    for step in range(len(first) + n):
        seen = features @ spread
        shared = np.einsum("ij,ij->i", seen, features)
        variance = shared + own + 1e-300
        if step < len(first):
            best = first[step]
        else:
            if step == len(first):
                start = float(variance[unknown].sum())
            # The covariances of an item with the others come from the features alone; with itself
            # its own error is added.
            together = features[unknown].T @ features[unknown]
            across = np.einsum("ij,jk,ik->i", seen, together, seen) + own * (2.0 * shared + own)
            best = int(np.argmax(np.where(unknown, across / variance, -1.0)))
            chosen.append(best)
            gone.append(float(across[best] / variance[best]) / start)
        spread = spread - np.outer(seen[best], seen[best]) / variance[best]
        unknown[best] = False
    return np.array(chosen, dtype=np.int64), np.cumsum(gone)


def _reason(features: FloatArray, own: FloatArray, k: int) -> str:
    far = features[:, 1] / (float(features[:, 1].std()) or 1.0)
    if abs(far[k]) > _FAR:
        return "end of the range: fixes the scale"
    if own[k] > np.median(own) * (1.0 + 1e-9):
        return "uncertain"
    return "middle of the range: fixes the level"
