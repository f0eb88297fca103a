"""Which scores are least certain, and which calibration moved most: what to look at again."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggcal._core.sorting import in_order
from aggcal.pages.numbers import cut
from aggcal.report.listing import Numbers
from aggcal.report.rows import ItemRows

MOST = 10
"""Scores that each list names at most: more are a table, and there is one already."""
FEWEST = 10
"""Items from which a list is worth its room: fewer are seen at a glance."""
_SHARE = 0.1
"""Share of the items with the widest intervals that count as least certain, as in the filter."""
NAME, LINKED = 80, 200
"""Where names are cut, and above what length a link leads to the table instead."""


def widest(shown: ItemRows) -> list[dict[str, str]]:
    """Return the tenth of the items with the widest intervals, the widest first.

    Examples
    --------
    >>> from aggcal.report.contents import item_listing
    >>> names = np.array(list("abcdefghij"), dtype=object)
    >>> table = {"item": names, "rank": np.arange(1, 11), "consensus": np.arange(10.0, 0.0, -1.0),
    ...          "consensus_low": np.zeros(10), "consensus_high": np.full(10, 2.0)}
    >>> table["consensus_high"][3] = 9.0
    >>> [each["item"] for each in widest(ItemRows(item_listing(table), table))]
    ['d']
    """
    score = shown.score
    if shown.n < FEWEST or not shown.has_intervals or score.low is None or score.high is None:
        return []
    width = np.asarray(score.high, dtype=np.float64) - np.asarray(score.low, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(width))
    number = min(MOST, int(np.ceil(_SHARE * len(known))))
    chosen = known[in_order(-width[known])[0]][:number]
    return [_row(shown, int(k), score) for k in chosen]


def moved(shown: ItemRows) -> list[dict[str, str]]:
    """Return the items whose score calibration changed most, as many as `widest` would name."""
    change = shown.listing.column("change")
    if shown.n < FEWEST or shown.model is None or change is None:
        return []
    size = np.abs(np.nan_to_num(np.asarray(change.values, dtype=np.float64)))
    number = min(MOST, int(np.ceil(_SHARE * shown.n)))
    chosen = in_order(-size)[0][:number]
    return [
        _row(shown, int(k), shown.score) | {"model": shown.model.text(int(k))}
        for k in chosen
        if size[k] > 0.0 and any(digit in "123456789" for digit in change.text(int(k)))
    ]


def _row(shown: ItemRows, k: int, score: Numbers) -> dict[str, Any]:
    name, judged = str(shown.listing.names.values[k]), shown.listing.column("n_judgments")
    return {
        "item": name,
        "short": cut(name, NAME),
        "link": name if len(name) <= LINKED else "",
        "score": score.text(k),
        "interval": score.interval(k),
        "judgments": "" if judged is None else judged.text(k),
    }
