"""Whether two tables of scores belong together: the same items, the same direction."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.data.alike import alike_warning, groups, key
from aggcal.errors import AggcalWarning, DirectionWarning, UnmatchedItemsWarning, count, some

ENOUGH_TO_TELL = 5
"""Items, or anchors, below which nothing is called odd: of fewer, anything may be chance."""

BEYOND_CHANCE = 2.0
"""Standard errors from which a correlation of the wrong sign is called so: 1 study in 40 by chance.
A larger number would let scores that are the wrong way round pass."""


def direction_warnings(heights: FloatArray, model: FloatArray) -> list[AggcalWarning]:
    """Warn of a model whose scores fall as the consensus rises, beyond chance.

    Examples
    --------
    >>> direction_warnings(np.arange(9.0), -np.arange(9.0))[0].code
    'direction'
    """
    n, correlation = len(heights), rank_correlation(heights, model)
    if n < ENOUGH_TO_TELL or correlation * np.sqrt(n - 1.0) > -BEYOND_CHANCE:
        return []
    return [
        DirectionWarning(
            f"the model's scores fall where the consensus rises (rank correlation "
            f"{correlation:.2f})",
            "in both, more must mean higher: check which end of the scores is the good one, and "
            "which column is the winner",
        )
    ]


def rank_correlation(x: FloatArray, y: FloatArray) -> float:
    """Return Spearman's correlation; 0 where either is constant.

    Examples
    --------
    >>> rank_correlation(np.array([1.0, 2.0, 9.0]), np.array([3.0, 2.0, 1.0]))
    -1.0
    """
    if len(x) == 0 or np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return 0.0
    return round(float(np.corrcoef(_mean_ranks(x), _mean_ranks(y))[0, 1]), 12)


def _mean_ranks(values: FloatArray) -> FloatArray:
    """Rank values from the lowest, ties at their mean (without waiting a second for SciPy's)."""
    _, level, size = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(size) - 0.5 * (size - 1.0))[level]


def alike_warnings(ranked: Iterable[str], scored: Iterable[str]) -> list[AggcalWarning]:
    """Warn of scored items that are likely ones of the consensus under another spelling.

    Examples
    --------
    >>> print(alike_warnings(["Item 1", "b"], ["item-1", "b"])[0].what)
    2 item ids are likely 1 item, since they differ only in case, spacing or punctuation ...
    >>> alike_warnings(["Item 1", "item-1"], ["Item 1"])
    []
    """
    judged = dict.fromkeys(ranked)
    found = [
        group for group in groups([*judged, *scored]) if any(label not in judged for label in group)
    ]
    return [alike_warning("item", found, {}, tables=True)] if found else []


def _padded(ids: list[str], others: list[str]) -> str:
    """Name ids that would match but for zeros in front of a number."""

    def plain(label: str) -> str:
        return re.sub(r"(?<!\d)0+(?=\d)", "", key(label))

    theirs = {plain(other): other for other in others}
    pairs = [
        (i, theirs[plain(i)]) for i in ids if plain(i) in theirs and key(i) != key(theirs[plain(i)])
    ]
    if not pairs:
        return ""
    verb = "of them differs" if len(pairs) == 1 else "of them differ"
    return (
        f"; {len(pairs):,} {verb} from an id of the other table only in leading zeros, such as "
        f"'{pairs[0][0]}' and '{pairs[0][1]}'"
    )


def unmatched_warnings(unscored: list[str], unjudged: list[str]) -> list[AggcalWarning]:
    """Name the items that are in only one of the two tables.

    Examples
    --------
    >>> print(unmatched_warnings(["7"], ["007"])[0].what)
    1 item of the consensus has no model score ('7'); 1 of them differs from ...
    """
    found: list[AggcalWarning] = []
    alike = _padded(unscored, unjudged)
    if unscored:
        found.append(
            UnmatchedItemsWarning(
                f"{count(len(unscored), 'item')} of the consensus "
                f"{'has' if len(unscored) == 1 else 'have'} no model score "
                f"({some(unscored)}){alike}",
                "they get a score between those of their neighbours in the consensus; add them to "
                "the scores to give them one of their own",
            )
        )
    if unjudged:
        found.append(
            UnmatchedItemsWarning(
                f"{count(len(unjudged), 'scored item')} "
                f"{'was' if len(unjudged) == 1 else 'were'} never judged ({some(unjudged)})",
                "they get a prediction instead of a calibrated score: have them judged",
            )
        )
    return found
