"""The tables of an assessment: what both stages say of items and annotators, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aggcal._core.arrays import TextArray
from aggcal._core.tables import Columns, aligned, positions
from aggcal.advice.verdicts import left_shares
from aggcal.aggregation.consensus import Consensus, annotator_order, term_columns
from aggcal.aggregation.consensus import category_columns as cells_of
from aggcal.aggregation.scales import ScoreScale
from aggcal.assessment.comparisons import win_rates

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
    items, ids, known = columns["item"], consensus.item_ids, consensus.uncertainty
    if result.judgments is not None:
        rates = win_rates(result.judgments)
        columns |= {"win_rate": aligned(rates, result.judgments.item_ids, items)}
    more: Columns = {}
    if known is not None and known.component is not None:
        more["component"] = known.component + 1  # 1 is the largest
    more |= term_columns(consensus)
    if result.scale is not None:
        more |= result.scale.columns(consensus, np.arange(len(ids)))
    columns |= beside(more, ids, items)
    hangs = None if result.advice is None else result.advice.influence
    if hangs is not None:
        columns |= beside(hangs.item_columns(), hangs.consensus.item_ids, items)
    return columns


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


def beside(columns: Columns, ids: TextArray, items: TextArray) -> Columns:
    """Return columns about some ids beside other items; None for an item they do not know.

    Examples
    --------
    >>> beside({"rank": np.array([1, 2])}, np.array(["a", "b"]), np.array(["b", "c"]))
    {'rank': array([2, None], dtype=object)}
    """
    where = positions(items, ids)
    if (where >= 0).all():
        return {name: column[where] for name, column in columns.items()}
    # What is not known is at -1: the last.
    listed = {name: np.array([*column.tolist(), None], object) for name, column in columns.items()}
    return {name: column[where] for name, column in listed.items()}


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
