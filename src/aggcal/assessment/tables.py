"""The tables of an assessment: what both stages say of items and annotators, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from aggcal._core.arrays import TextArray
from aggcal._core.tables import Columns, aligned
from aggcal.advice.influence import Influence
from aggcal.advice.verdicts import left_shares
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.scales import ScoreScale
from aggcal.aggregation.tables import annotator_order, term_columns
from aggcal.aggregation.tables import category_columns as cells_of
from aggcal.assessment.comparisons import win_rates
from aggcal.data.base import AnyJudgments

if TYPE_CHECKING:
    from aggcal.assessment.result import Assessment


def score_columns(result: Assessment) -> Columns:
    """Return the items' table: what both stages found, before anything is decided."""
    consensus = result.consensus
    if result.calibration is not None:
        columns = result.calibration.item_columns()
    elif consensus is not None:
        columns = consensus.item_columns()
        if result.anchored is not None:
            position = {item: k for k, item in enumerate(consensus.item_ids.tolist())}
            order = np.array([position[item] for item in columns["item"].tolist()])
            columns |= result.anchored.columns(order)
    else:
        return {}
    if consensus is None:
        return columns
    items = columns["item"]
    hangs = None if result.advice is None else result.advice.influence
    return (
        columns
        | _win_rate(result.judgments, items)
        | _component(consensus, items)
        | item_terms(consensus, items)
        | scaled_columns(consensus, result.scale, items)
        | item_influence(hangs, items)
    )


def annotator_columns(result: Assessment) -> Columns:
    """Return the annotators' table, with the verdict on each."""
    if result.consensus is None or result.verdicts is None:
        return {}
    columns, order = result.consensus.annotator_columns(), annotator_order(result.consensus)
    whole = None if result.judgments is None else result.judgments.local
    if whole is not None:
        shares = left_shares(whole)
        columns |= {name: column[order] for name, column in shares.items()}
    columns |= {
        "verdict": result.verdicts.verdict[order],
        "reason": result.verdicts.reason[order],
    }
    members = [name for name in columns if name == "camp" or name.startswith("p_camp_")]
    columns |= {name: columns.pop(name) for name in members}
    hangs = None if result.advice is None else result.advice.influence
    return columns if hangs is None else columns | hangs.annotator_columns(order)


def _win_rate(judgments: AnyJudgments | None, items: TextArray) -> Columns:
    """Return the share of its comparisons that each item won; nothing without judgments."""
    if judgments is None:
        return {}
    return {"win_rate": aligned(win_rates(judgments), judgments.item_ids, items)}


def _component(consensus: Consensus, items: TextArray) -> Columns:
    """Return the connected component of each item, 1 the largest, where there are several."""
    known = consensus.uncertainty
    if known is None or known.component is None:
        return {}
    label = dict(zip(consensus.item_ids, known.component.tolist(), strict=True))
    places = {item: place + 1 for item, place in label.items()}
    return {"component": aligned_or_none(places, items)}


def item_terms(consensus: Consensus, items: TextArray) -> Columns:
    """Return the scores with nothing held equal and the common ground, where they were fitted."""
    ids = consensus.item_ids.tolist()
    return {
        name: aligned_or_none(dict(zip(ids, column.tolist(), strict=True)), items)
        for name, column in term_columns(consensus).items()
    }


def category_columns(consensus: Consensus | None, scale: ScoreScale | None) -> Columns:
    """Return the scores by category, on a scale too where there is one."""
    found = {} if consensus is None else cells_of(consensus)
    if scale is None or not found:
        return found
    own = (("score", ""), ("low", "_low"), ("high", "_high"))
    named = {f"{scale.info.column}{end}": found[name] for name, end in own if name in found}
    return found | {
        key: scale.of(np.asarray(column, dtype=np.float64)) for key, column in named.items()
    }


def shown_score(result: Assessment) -> str:
    """Return the column of scores that cuts and grades are about."""
    if result.calibration is not None or result.anchored is not None:
        return "calibrated"
    return "consensus" if result.scale is None else result.scale.info.column


def scaled_columns(consensus: Consensus, scale: ScoreScale | None, items: TextArray) -> Columns:
    """Return the consensus on a scale, beside these items; nothing without a scale."""
    if scale is None:
        return {}
    ids = consensus.item_ids.tolist()
    return {
        name: aligned_or_none(dict(zip(ids, column.tolist(), strict=True)), items)
        for name, column in scale.columns(consensus, np.arange(len(ids))).items()
    }


def item_influence(known: Influence | None, items: TextArray) -> Columns:
    """Return how much hangs on each item, and on whom it hangs itself; nothing where unknown."""
    if known is None:
        return {}
    ids = known.consensus.item_ids.tolist()
    return {
        name: aligned_or_none(dict(zip(ids, column.tolist(), strict=True)), items)
        for name, column in known.item_columns().items()
    }


def aligned_or_none(known: Mapping[Any, Any], items: TextArray) -> np.ndarray:
    """Return what is known of each item; None for an item of which nothing is.

    Examples
    --------
    >>> aligned_or_none({"a": 1, "b": 2}, np.array(["b", "a"], dtype=object))
    array([2, 1])
    """
    found = [known.get(item) for item in items]
    words = None in found or any(isinstance(each, str) for each in found[:1])
    return np.array(found, dtype=object if words else None)
