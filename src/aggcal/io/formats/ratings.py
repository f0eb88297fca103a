"""Tables of ratings: each annotator's are compared among themselves, so no scale is shared."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from aggcal.errors import TableError, count
from aggcal.io.formats._base import (
    Choices,
    Notes,
    RecordFormat,
    Row,
    mapping_of,
    nobody,
    number_of,
    text_of,
)
from aggcal.io.formats._orders import Opinion, pairs_of_ratings, stated
from aggcal.io.formats._sample import Record, Sample
from aggcal.io.formats._synonyms import ANNOTATOR, GROUP, RATING, first_of, renamed


def _is_mine(sample: Sample) -> bool:
    rated = any(name in sample.columns for name in RATING)
    named = any(name in sample.columns for name in ANNOTATOR)
    return "item" in sample.columns and rated and named


def _rows(records: Iterator[Record], choices: Choices, notes: Notes) -> Iterator[Row]:
    rated: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    locations: dict[tuple[str, str, str], str] = {}
    blank = []
    weighted = False
    for record in records:
        cells = renamed(mapping_of(record.value, record.location, "row"), choices)
        weighted |= cells.get("weight") not in (None, "")
        who = text_of(first_of(cells, ANNOTATOR)) or nobody(choices, notes)
        item, value = text_of(cells.get("item")), first_of(cells, RATING)
        if item is None:
            raise TableError(f"{record.location}: has no item; fill it in or remove the row.")
        if value in (None, ""):
            blank.append(Row(who, item, None, "", record.location, reason="no rating"))
            continue
        rating = number_of(value)
        if rating is None:
            raise TableError(
                f"{record.location}: the rating '{value}' is not a finite number; correct the row."
            )
        key = (who, text_of(cells.get("criterion")) or "", text_of(first_of(cells, GROUP)) or "")
        rated.setdefault(key, {}).setdefault(item, []).append(rating)
        locations.setdefault(key, record.location)
    yield from blank
    pairs = repeated = 0
    for number, ((who, criterion, group), items) in enumerate(rated.items(), 1):
        repeated += sum(len(values) > 1 for values in items.values())
        means = np.array([np.mean(values) for values in items.values()])
        opinion = Opinion(
            who, locations[who, criterion, group], f"ratings {number}", criterion or None
        )
        for row in pairs_of_ratings(
            list(items), means, choices.tie_within, opinion, choices.ranking_weight
        ):
            pairs += row.outcome != "skip"
            yield row
    within = f" (ties within {choices.tie_within:g})" if choices.tie_within else ""
    notes.append(stated(len(rated), pairs, "rating series", choices.ranking_weight))
    notes.append(f"ratings are compared within each annotator only, so no scale is shared{within}")
    if weighted:
        notes.append("the column 'weight' is not used: a pair of ratings has no weight of its own")
    if repeated:
        notes.append(f"{count(repeated, 'item')} rated more than once by an annotator: the mean")


FORMAT = RecordFormat(
    _is_mine,
    _rows,
    renames=True,
)
