"""Tables of ratings: each annotator's are compared among themselves, so no scale is shared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aggcal.errors import TableError, count, some
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
from aggcal.io.formats._synonyms import (
    ANNOTATOR,
    GROUP,
    ITEM,
    LEFT_RIGHT,
    RATING,
    WINNER_LOSER,
    first_of,
    renamed,
)

_RATER = re.compile(
    r"(?:reviewer|rater|annotator|judge|marker|examiner|assessor|r)[ _-]?#?(?:\d+|[a-z])$"
)
"""How columns are called that hold the ratings of one annotator each."""
_LABELLED = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*[:(–—-]")
"""A rating with its meaning after it, such as '6: marginally above the threshold'."""


def _is_mine(sample: Sample) -> bool:
    if any(sample.has(*pair) for pair in (*LEFT_RIGHT, *WINNER_LOSER)):
        return False  # a pair that has a score is no rating
    itemised = any(name in sample.columns for name in ITEM)
    rated = any(name in sample.columns for name in RATING)
    named = any(name in sample.columns for name in ANNOTATOR)
    wide = not rated and sum(bool(_RATER.match(name)) for name in sample.columns) > 1
    return itemised and ((rated and named) or wide)


def _long(records: Iterator[Record], choices: Choices, notes: Notes) -> Iterator[Record]:
    """Go through ratings one by one: a sheet with a column for each annotator has many in a row."""
    raters: list[str] = []
    for number, record in enumerate(records):
        cells = renamed(mapping_of(record.value, record.location, "row"), choices)
        if not number and not any(name in cells for name in RATING):
            raters = [name for name in cells if _RATER.match(name)]
            notes.append(f"each of {len(raters)} columns is one annotator's: {some(raters)}")
        if not raters:
            yield Record(record.location, cells)
        item = first_of(cells, ITEM)
        for name in raters:
            row = {"item": item, "annotator": name, "rating": cells.get(name)}
            yield Record(record.location, row)


def _number(value: Any) -> float | None:
    """Return a rating as a number, which may be followed by what it means.

    Examples
    --------
    >>> _number("6: marginally above"), _number(3.5), _number("good")
    (6.0, 3.5, None)
    """
    labelled = _LABELLED.match(value) if isinstance(value, str) else None
    return number_of(labelled[1] if labelled is not None else value)


@dataclass(frozen=True)
class _Series:
    """What one annotator gave, with where it begins, and what each rating weighs."""

    location: str
    ratings: dict[str, list[float]] = field(default_factory=dict)
    weights: dict[str, list[float]] = field(default_factory=dict)


def _rows(records: Iterator[Record], choices: Choices, notes: Notes) -> Iterator[Row]:
    series: dict[tuple[str, str, str], _Series] = {}
    blank = []
    confident = False
    for record in _long(records, choices, notes):
        cells = record.value
        confident |= "confidence" in cells
        who = text_of(first_of(cells, ANNOTATOR)) or nobody(choices, notes)
        item, value = text_of(first_of(cells, ITEM)), first_of(cells, RATING)
        if item is None:
            raise TableError(f"{record.location}: has no item; fill it in or remove the row.")
        if value in (None, ""):
            blank.append(Row(who, item, None, "", record.location, reason="no rating"))
            continue
        rating = _number(value)
        if rating is None:
            raise TableError(
                f"{record.location}: the rating '{value}' is not a finite number; correct the row."
            )
        key = (who, text_of(cells.get("criterion")) or "", text_of(first_of(cells, GROUP)) or "")
        found = series.setdefault(key, _Series(record.location))
        found.ratings.setdefault(item, []).append(rating)
        if cells.get("weight") not in (None, ""):
            found.weights.setdefault(item, []).append(_weight(cells["weight"], record.location))
    yield from blank
    yield from _compared(series, choices, notes)
    if confident and "weight" not in choices.columns:
        notes.append("the column 'confidence' is not used; --column weight=confidence weighs by it")


def _weight(value: Any, location: str) -> float:
    weight = _number(value)
    if weight is None or weight < 0.0:
        raise TableError(
            f"{location}: the weight '{value}' is not a number of 0 or more; correct it."
        )
    return weight


def _compared(
    series: Mapping[tuple[str, str, str], _Series], choices: Choices, notes: Notes
) -> Iterator[Row]:
    """Compare the ratings of each series, and say what became of them."""
    every = [w for one in series.values() for ws in one.weights.values() for w in ws]
    usual = float(np.mean(every)) if every else 0.0
    pairs = repeated = 0
    for number, ((who, criterion, _), one) in enumerate(series.items(), 1):
        repeated += sum(len(values) > 1 for values in one.ratings.values())
        means = np.array([np.mean(values) for values in one.ratings.values()])
        opinion = Opinion(who, one.location, f"ratings {number}", criterion or None)
        factor = (
            {
                item: float(np.sqrt(np.mean(one.weights[item]) / usual))
                if item in one.weights
                else 1.0
                for item in one.ratings
            }
            if usual
            else {}
        )
        for row in pairs_of_ratings(
            list(one.ratings), means, choices.tie_within, opinion, choices.ranking_weight
        ):
            pairs += row.outcome != "skip"
            both = factor.get(row.left or "", 1.0) * factor.get(row.right or "", 1.0)
            yield row._replace(weight=row.weight * both)
    within = f" (ties within {choices.tie_within:g})" if choices.tie_within else ""
    notes.append(stated(len(series), pairs, "rating series", choices.ranking_weight))
    notes.append(f"ratings are compared within each annotator only, so no scale is shared{within}")
    if every:
        notes.append(
            "a pair of ratings weighs as much as both (the root of their product), 1 at the mean "
            f"weight of {usual:.3g}"
        )
    if repeated:
        notes.append(f"{count(repeated, 'item')} rated more than once by an annotator: the mean")


FORMAT = RecordFormat(
    _is_mine,
    _rows,
    renames=True,
    options=("ranking_weight", "tie_within"),
)
