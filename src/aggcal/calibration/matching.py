"""Whether two tables of scores belong together: the same items, the same direction."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, TextArray
from aggcal.aggregation.groups import members
from aggcal.calibration.within import deviations, n_levels
from aggcal.data.alike import alike_warning, groups, key
from aggcal.errors import AggcalWarning, DirectionWarning, UnmatchedItemsWarning, count, some
from aggcal.metrics import mean_ranks

ENOUGH_TO_TELL = 5
"""Items, or anchors, below which nothing is called odd: of fewer, anything may be chance."""

BEYOND_CHANCE = 2.0
"""Standard errors from which a correlation of the wrong sign is called so: 1 study in 40 by chance.
A larger number would let scores that are the wrong way round pass."""


def direction_warnings(
    heights: FloatArray, model: FloatArray, component: IntArray | None = None
) -> list[AggcalWarning]:
    """Warn of a model whose scores fall as the consensus rises, beyond chance.

    Examples
    --------
    >>> direction_warnings(np.arange(9.0), -np.arange(9.0))[0].code
    'direction'
    """
    free = len(heights) - 1 - n_levels(component)
    correlation = rank_correlation(heights, model, component)
    if free + 1 < ENOUGH_TO_TELL or correlation * np.sqrt(float(free)) > -BEYOND_CHANCE:
        return []
    return [
        DirectionWarning(
            f"The model's scores fall where the consensus rises (rank correlation "
            f"{correlation:.2f}). In both, higher must mean better.",
            "Check which end of the model's scale is the good one, and which column of the "
            "judgments is the winner.",
            title="The model's scores run against the consensus (rank correlation "
            f"{correlation:.2f})",
            why="In both, higher must mean better.",
        )
    ]


def rank_correlation(x: FloatArray, y: FloatArray, component: IntArray | None = None) -> float:
    """Return Spearman's correlation; 0 where either is constant.

    Of several components, the ranks within each are compared, a rank of n items counting 1/(n + 1):
    components of all sizes then count by their number of items.

    Examples
    --------
    >>> rank_correlation(np.array([1.0, 2.0, 9.0]), np.array([3.0, 2.0, 1.0]))
    -1.0
    >>> rank_correlation(np.arange(4.0), np.array([2.0, 1.0, 9.0, 8.0]), np.array([0, 0, 1, 1]))
    -1.0
    """
    if component is not None:
        x, y = (deviations(_ranks_within(each, component), component) for each in (x, y))
        size = float(x @ x) * float(y @ y)
        return round(float(x @ y) / size**0.5, 12) if size > 0.0 else 0.0
    if len(x) == 0 or np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return 0.0
    return round(float(np.corrcoef(mean_ranks(x), mean_ranks(y))[0, 1]), 12)


def _ranks_within(values: FloatArray, component: IntArray) -> FloatArray:
    found = np.empty(len(values))
    for own in members(component, len(values)):
        found[own] = mean_ranks(values[own]) / (len(own) + 1)
    return found


def matching_warnings(
    ranked: TextArray, both: BoolArray, unjudged: TextArray
) -> list[AggcalWarning]:
    """Warn of ids in only one of two tables.

    Parameters
    ----------
    ranked, both
        The ids of the consensus, and which of them are scored too.
    unjudged
        The ids that are only scored.
    """
    only = list(unjudged)
    return [*_alike(ranked, only), *unmatched_warnings(list(ranked[~both]), only)]


def alike_warnings(ranked: Iterable[str], scored: Iterable[str]) -> list[AggcalWarning]:
    """Warn of scored items that are likely ones of the consensus under another spelling.

    Examples
    --------
    >>> print(alike_warnings(["Item 1", "b"], ["item-1", "b"])[0].what)
    2 item ids are probably 1 item: they differ only in case, spacing or punctuation ...
    >>> alike_warnings(["Item 1", "item-1"], ["Item 1"])
    []
    """
    judged = dict.fromkeys(ranked)
    return _alike(list(judged), [label for label in dict.fromkeys(scored) if label not in judged])


def _alike(judged: Sequence[str] | TextArray, unjudged: list[str]) -> list[AggcalWarning]:
    # Where every scored item is one of the consensus, none is another spelling of one.
    new = {*unjudged}
    alike = [group for group in groups([*judged, *unjudged]) if new & {*group}] if new else []
    return [alike_warning("item", alike, {}, tables=True)] if alike else []


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
        f" {len(pairs):,} {verb} from an id in the other table only by leading zeros, such as "
        f"'{pairs[0][0]}' and '{pairs[0][1]}'."
    )


def unmatched_warnings(unscored: list[str], unjudged: list[str]) -> list[AggcalWarning]:
    """Name the items that are in only one of the two tables.

    Examples
    --------
    >>> print(unmatched_warnings(["7"], ["007"])[0].what)
    1 item in the consensus has no model score ('7'). 1 of them differs from an id in the other ...
    """
    found: list[AggcalWarning] = []
    alike = _padded(unscored, unjudged)
    if unscored:
        has = "has" if len(unscored) == 1 else "have"
        unscored_ = f"{count(len(unscored), 'item')} in the consensus {has} no model score"
        found.append(
            UnmatchedItemsWarning(
                f"{unscored_} ({some(unscored)}).{alike} A missing score is interpolated between "
                "the item's neighbours in the consensus.",
                "Add these items to the scores.",
                title=unscored_,
                why="A missing score is interpolated between the item's neighbours in the "
                f"consensus ({some(unscored)}).{alike}",
                items=unscored,
            )
        )
    if unjudged:
        were = "was" if len(unjudged) == 1 else "were"
        found.append(
            UnmatchedItemsWarning(
                f"{count(len(unjudged), 'scored item')} {were} never judged ({some(unjudged)}). "
                "Such items get a prediction instead of a calibrated score.",
                "Have them judged.",
                title=f"{count(len(unjudged), 'scored item')} {were} never judged",
                why=f"Such items get a prediction instead of a calibrated score: {some(unjudged)}.",
                items=unjudged,
            )
        )
    return found
