"""The tables of a consensus: its items and its annotators, as plain columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, ranks
from aggcal._core.sorting import in_order
from aggcal._core.tables import Columns
from aggcal.aggregation.covariance import DenseCovariance
from aggcal.aggregation.effects import interval
from aggcal.aggregation.ranks import rank_intervals
from aggcal.aggregation.ties import snapped

if TYPE_CHECKING:
    from aggcal.aggregation.camps import Camps
    from aggcal.aggregation.consensus import Consensus


def item_columns(consensus: Consensus) -> Columns:
    """Return the table of the items, the highest first."""
    order, known = consensus.order, consensus.uncertainty
    columns: Columns = {"item": consensus.item_ids[order], "consensus": consensus.scores[order]}
    if known is not None:
        ends = {"consensus_low": known.low[order], "consensus_high": known.high[order]}
        columns |= {"consensus_se": known.se[order], **ends}
    columns["rank"] = consensus.ranks[order]
    if known is not None:
        columns |= {"rank_low": known.rank_low[order], "rank_high": known.rank_high[order]}
    claims = consensus.claims()
    if claims is not None:
        columns |= {"sure_low": claims.low[order], "sure_high": claims.high[order]}
    return columns | {"n_judgments": consensus.judgments_per_item[order]}


def annotator_columns(consensus: Consensus) -> Columns:
    """Return the table of the annotators, the most reliable first."""
    order, known = annotator_order(consensus), consensus.uncertainty
    columns: Columns = {
        "annotator": consensus.annotator_ids[order],
        "reliability": consensus.reliabilities[order],
    }
    for end in ("reliability_low", "reliability_high"):
        column = getattr(known, end, None)
        if column is not None:
            columns[end] = column[order]
    counts: Columns = {
        "n_judgments": consensus.judgments_per_annotator[order],
        "agreement": consensus.agreement[order],
    }
    members = {name: column[order] for name, column in camp_members(consensus).items()}
    return columns | counts | _effect_columns(consensus, order) | members


def annotator_order(consensus: Consensus) -> IntArray:
    """Return where the rows of the annotators' table are among their ids."""
    return in_order(-consensus.reliabilities)[0]


def _effect_columns(consensus: Consensus, order: IntArray) -> Columns:
    """Return what else is known of the annotators: position and readiness to tie."""
    columns: Columns = {}
    effects = consensus.effects
    if effects is None:
        return columns
    position, readiness, axis = effects.position, effects.readiness, effects.axis
    known: dict[str, tuple[FloatArray, FloatArray]] = {}
    if position is not None:
        known["position"] = position.values, position.variances
    if readiness is not None:
        known["tie_readiness"] = readiness.values, readiness.variances
    if axis is not None:
        known["stance"] = axis.stances, axis.stance_variances
    for name, (values, variances) in known.items():
        columns[name] = values[order]
        if consensus.uncertainty is not None:
            low, high = interval(values, variances, consensus.uncertainty.level)
            columns |= {f"{name}_low": low[order], f"{name}_high": high[order]}
    return columns


def camp_members(consensus: Consensus) -> Columns:
    """Return the camp of each annotator and the probability of each, in the order of their ids."""
    camps = None if consensus.effects is None else consensus.effects.camps
    if camps is None or not camps.stands_out:
        return {}
    named = _named(camps, camps.members.T)
    return {"camp": camps.own, **{f"p_camp_{name.lower()}": chance for name, chance in named}}


def _named(camps: Camps, rows: FloatArray) -> list[tuple[str, FloatArray]]:
    return list(zip(camps.names, rows, strict=True))


def term_columns(consensus: Consensus) -> Columns:
    """Return what the other terms say of the items, in the order of their ids."""
    columns: Columns = {}
    effects = consensus.effects
    if effects is None:
        return columns
    if effects.uncontrolled is not None:
        scores = snapped(effects.uncontrolled)
        columns |= {"consensus_uncontrolled": scores, "rank_uncontrolled": ranks(scores)}
    if (axis := effects.axis) is not None:
        columns |= {"common_ground": axis.common_ground, "common_ground_se": axis.common_se}
        columns |= {"axis": axis.items, "axis_se": axis.item_se}
    if (camps := effects.camps) is not None and camps.stands_out:
        columns |= {"common_ground": camps.common_ground, "common_ground_se": camps.common_se}
        columns |= {f"camp_{name.lower()}": scores for name, scores in _named(camps, camps.scores)}
        columns |= {"camps_apart": camps.apart, "camps_apart_se": camps.apart_se}
    return columns


def camp_columns(consensus: Consensus) -> Columns:
    """Return the scores by camp, as in ``camps.csv``; nothing where there are no camps."""
    camps = None if consensus.effects is None else consensus.effects.camps
    if camps is None or not camps.stands_out:
        return {}
    known, parts = consensus.uncertainty, []
    rows = zip(camps.names, camps.scores, camps.se, camps.shares, strict=True)
    for name, scores, se, share in rows:
        order = np.argsort(-scores, kind="stable")
        value = snapped(scores[order])
        part: Columns = {
            "camp": np.full(len(order), name, dtype=object),
            "share": np.full(len(order), share),
            "item": consensus.item_ids[order],
            "score": value,
        }
        if known is not None:
            low, high = interval(value, np.square(se[order]), known.level)
            part |= {"se": se[order], "low": low, "high": high}
        parts.append(part | {"rank": ranks(value)})
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def category_columns(consensus: Consensus) -> Columns:
    """Return the scores by category, as in ``categories.csv``; nothing where there are none.

    Items that nobody compared in a category have no row in it.
    """
    parts: list[Columns] = []
    known = None if consensus.effects is None else consensus.uncertainty
    for column in () if consensus.effects is None else consensus.effects.categories:
        for k, (name, scores, se, weight) in enumerate(
            zip(column.ids, column.scores, column.se, column.judgments, strict=True)
        ):
            there = np.flatnonzero(np.isfinite(scores))
            place = np.argsort(-scores[there], kind="stable")
            own = there[place]
            value = snapped(scores[own])
            part: Columns = {
                "column": np.full(len(own), column.name, dtype=object),
                "category": np.full(len(own), str(name), dtype=object),
                "item": consensus.item_ids[own],
                "score": value,
            }
            if known is not None:
                low, high = interval(value, np.square(se[own]), known.level)
                part |= {"se": se[own], "low": low, "high": high}
            given = int(weight) if float(weight).is_integer() else weight
            part |= {"rank": ranks(value), "n_judgments": np.full(len(own), given, dtype=object)}
            if known is not None and column.covariances and known.component is None:
                matrix = DenseCovariance(column.covariances[k][np.ix_(place, place)])
                found = rank_intervals(value, matrix, known.level, seed=k)
                part |= {"rank_low": found.low, "rank_high": found.high}
            parts.append(part)
    if not parts:
        return {}
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
