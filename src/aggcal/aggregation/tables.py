"""The tables of a consensus: its items and its annotators, as plain columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aggcal._core.arrays import IntArray, ranks
from aggcal._core.tables import Columns
from aggcal.aggregation.effects import interval

if TYPE_CHECKING:
    from aggcal.aggregation.consensus import Consensus


def item_columns(consensus: Consensus) -> Columns:
    """Return the table of the items, the highest first."""
    order, known = consensus.order, consensus.uncertainty
    columns: Columns = {"item": consensus.item_ids[order], "score": consensus.scores[order]}
    if known is not None:
        ends = {"low": known.low[order], "high": known.high[order]}
        columns |= {"se": known.se[order], **ends}
    columns["rank"] = consensus.ranks[order]
    if known is not None:
        columns |= {"rank_low": known.rank_low[order], "rank_high": known.rank_high[order]}
    columns |= uncontrolled_columns(consensus, order)
    return columns | {"n_judgments": consensus.judgments_per_item[order]}


def uncontrolled_columns(consensus: Consensus, order: IntArray) -> Columns:
    """Return scores and ranks of the fit that holds nothing equal; nothing where there is one."""
    effects = consensus.effects
    if effects is None or effects.uncontrolled is None:
        return {}
    scores = effects.uncontrolled
    return {"uncontrolled": scores[order], "uncontrolled_rank": ranks(scores)[order]}


def annotator_columns(consensus: Consensus) -> Columns:
    """Return the table of the annotators, the most reliable first."""
    order = np.argsort(-consensus.reliabilities, kind="stable")
    known = consensus.uncertainty
    columns: Columns = {
        "annotator": consensus.annotator_ids[order],
        "reliability": consensus.reliabilities[order],
    }
    for end in ("reliability_low", "reliability_high"):
        column = getattr(known, end, None)
        if column is not None:
            columns[end] = column[order]
    return (
        columns
        | _effect_columns(consensus, order)
        | {
            "n_judgments": consensus.judgments_per_annotator[order],
            "agreement": consensus.agreement[order],
        }
    )


def _effect_columns(consensus: Consensus, order: IntArray) -> Columns:
    """Return what else is known of the annotators: position and readiness to tie."""
    columns: Columns = {}
    effects = consensus.effects
    if effects is None:
        return columns
    for name, effect in (("position", effects.position), ("tie_readiness", effects.readiness)):
        if effect is None:
            continue
        columns[name] = effect.values[order]
        if consensus.uncertainty is not None:
            low, high = interval(effect, consensus.uncertainty.level)
            columns |= {f"{name}_low": low[order], f"{name}_high": high[order]}
    return columns
