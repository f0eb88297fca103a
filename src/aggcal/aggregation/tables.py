"""The tables of a consensus: its items, annotators, camps and categories, as plain columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, ranks
from aggcal._core.sorting import in_order
from aggcal._core.tables import Columns
from aggcal.aggregation.covariance import DenseCovariance
from aggcal.aggregation.effects import Reading
from aggcal.aggregation.ranks import rank_intervals

if TYPE_CHECKING:
    from aggcal.aggregation.camps import Camps
    from aggcal.aggregation.consensus import Consensus

_TIE = 1e-9
"""Share of the range of the scores within which neighbours are tied: more ties what differs, less
leaves to rounding which of two equal items is above."""


def snapped(scores: FloatArray) -> FloatArray:
    """Make scores equal that differ by no more than rounding.

    Examples
    --------
    >>> snapped(np.array([1.0, 0.3, 0.1 + 0.2])).tolist()
    [1.0, 0.30000000000000004, 0.30000000000000004]
    """
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    group = np.cumsum(np.diff(ordered, prepend=ordered[:1]) > _TIE * np.ptp(ordered))
    number = np.bincount(group)
    equal = np.empty_like(scores)
    # A lone item keeps its bits; only real ties are averaged.
    means = np.bincount(group, ordered) / number
    equal[order] = np.where(number[group] > 1, means[group], ordered)
    return equal


def item_columns(consensus: Consensus) -> Columns:
    """Return the table of the items, the highest first."""
    columns: Columns = {"item": consensus.item_ids, "consensus": consensus.scores}
    ranked: Columns = {"rank": consensus.ranks}
    if (spread := consensus.uncertainty) is not None:
        columns |= {"consensus_se": spread.se}
        columns |= {"consensus_low": spread.low, "consensus_high": spread.high}
        ranked |= {"rank_low": spread.rank_low, "rank_high": spread.rank_high}
    if (claims := consensus.claims()) is not None:
        ranked |= {"sure_low": claims.low, "sure_high": claims.high}
    columns |= ranked | {"n_judgments": consensus.judgments_per_item}
    return {name: column[consensus.order] for name, column in columns.items()}


def annotator_columns(consensus: Consensus) -> Columns:
    """Return the table of the annotators, the most reliable first."""
    columns: Columns = {
        "annotator": consensus.annotator_ids,
        "reliability": consensus.reliabilities,
    }
    for end in ("reliability_low", "reliability_high"):
        if (column := getattr(consensus.uncertainty, end, None)) is not None:
            columns[end] = column
    columns |= {
        "n_judgments": consensus.judgments_per_annotator,
        "agreement": consensus.agreement,
    }
    if (effects := consensus.effects) is not None:
        for name, reading in effects.parameters.items():
            ends = _ends(consensus, reading)
            columns |= {name: reading.values} | {
                f"{name}_{end}": each for end, each in ends.items()
            }
    if (camps := _camps(consensus)) is not None:
        chances = zip(camps.names, camps.members.T, strict=True)
        columns["camp"] = camps.own
        columns |= {f"p_camp_{name.lower()}": chance for name, chance in chances}
    order = annotator_order(consensus)
    return {name: column[order] for name, column in columns.items()}


def annotator_order(consensus: Consensus) -> IntArray:
    """Return where the rows of the annotators' table are among their ids."""
    return in_order(-consensus.reliabilities)[0]


def term_columns(consensus: Consensus) -> Columns:
    """Return what the other terms say of the items, in the order of their ids."""
    columns: Columns = {}
    if (effects := consensus.effects) is None:
        return columns
    if effects.uncontrolled is not None:
        scores = snapped(effects.uncontrolled)
        columns |= {"consensus_uncontrolled": scores, "rank_uncontrolled": ranks(scores)}
    if (axis := effects.axis) is not None:
        columns |= _named(common_ground=axis.common_ground, axis=axis.items)
    if (camps := _camps(consensus)) is not None:
        own = zip(camps.names, camps.scores, strict=True)
        columns |= _named(common_ground=camps.common_ground)
        columns |= {f"camp_{name.lower()}": scores for name, scores in own}
        columns |= _named(camps_apart=camps.apart)
    return columns


def camp_columns(consensus: Consensus) -> Columns:
    """Return the scores by camp, as in ``camps.csv``; nothing where there are no camps."""
    if (camps := _camps(consensus)) is None:
        return {}
    rows = zip(camps.names, camps.shares.tolist(), camps.scores, camps.se, strict=True)
    return _stacked(
        [
            _group(consensus, {"camp": name, "share": share}, scores, se)[0]
            for name, share, scores, se in rows
        ]
    )


def category_columns(consensus: Consensus) -> Columns:
    """Return the scores by category, as in ``categories.csv``; nothing where there are none.

    Items that nobody compared in a category have no row in it.
    """
    parts, spread = [], consensus.uncertainty
    for column in () if consensus.effects is None else consensus.effects.categories:
        rows = zip(column.ids, column.scores, column.se, column.judgments.tolist(), strict=True)
        for k, (name, scores, se, weight) in enumerate(rows):
            category = {"column": column.name, "category": str(name)}
            part, order = _group(consensus, category, scores, se)
            number = int(weight) if weight.is_integer() else weight
            part["n_judgments"] = np.full(len(order), number, dtype=object)
            if spread is not None and column.covariances and spread.component is None:
                matrix = DenseCovariance(column.covariances[k][np.ix_(order, order)])
                ends = rank_intervals(part["score"], matrix, spread.level, seed=k)
                part |= {"rank_low": ends.low, "rank_high": ends.high}
            parts.append(part)
    return _stacked(parts)


def _camps(consensus: Consensus) -> Camps | None:
    """Return the camps that annotators form, if they form some."""
    camps = None if consensus.effects is None else consensus.effects.camps
    return camps if camps is not None and camps.stands_out else None


def _named(**readings: Reading) -> Columns:
    """Return readings with their standard errors."""
    columns: Columns = {}
    for name, reading in readings.items():
        columns |= {name: reading.values, f"{name}_se": reading.se}
    return columns


def _ends(consensus: Consensus, reading: Reading) -> Columns:
    """Return the ends of intervals at the level of the consensus, where it has one."""
    if consensus.uncertainty is None:
        return {}
    low, high = reading.interval(consensus.uncertainty.level)
    return {"low": low, "high": high}


def _group(
    consensus: Consensus, group: Mapping[str, str | float], scores: FloatArray, se: FloatArray
) -> tuple[Columns, IntArray]:
    """Return the rows of one group of scores, the highest first; and their order.

    Items without a score have no row, and do not count in the order.
    """
    items = np.flatnonzero(np.isfinite(scores))
    order = np.argsort(-scores[items], kind="stable")
    items = items[order]
    value, columns = snapped(scores[items]), Columns()
    for name, each in group.items():
        columns[name] = np.full(len(items), each, dtype=object if isinstance(each, str) else float)
    columns |= {"item": consensus.item_ids[items], "score": value}
    if ends := _ends(consensus, Reading(value, se[items])):
        columns |= {"se": se[items]} | ends
    return columns | {"rank": ranks(value)}, order


def _stacked(parts: list[Columns]) -> Columns:
    """Return one table of the rows of several."""
    names = parts[0] if parts else ()
    return {name: np.concatenate([part[name] for part in parts]) for name in names}
