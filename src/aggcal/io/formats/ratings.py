"""Tables of ratings: each annotator's are compared among themselves, so no scale is shared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aggcal.data.spelling import Kind, Spelling, merged_note
from aggcal.errors import TableError, count
from aggcal.io.formats._base import (
    Choices,
    Notes,
    RecordFormat,
    Row,
    nobody,
    number_of,
    text_of,
)
from aggcal.io.formats._orders import Opinion, pairs_of_ratings, stated
from aggcal.io.formats._parting import MARK, of_both
from aggcal.io.formats._sample import Record, Sample
from aggcal.io.formats._scale import HIGHEST, LOWEST, Scale, rating_of
from aggcal.io.formats._sheets import HEADER, SEVERAL, is_rater, one_by_one
from aggcal.io.formats._synonyms import (
    ANNOTATOR,
    GROUP,
    ITEM,
    RATING,
    first_of,
    paired,
)

_OVERALL = re.compile(r"overall evaluation\W*([+-]?\d+)", re.IGNORECASE)
"""The score that counts in a cell of EasyChair's that holds all of them."""


def _is_mine(sample: Sample) -> bool:
    if paired(sample.columns):
        return False  # a pair that has a score is no rating
    itemised = any(name in sample.columns for name in ITEM)
    rated = any(name in sample.columns for name in (*RATING, *SEVERAL))
    named = any(name in sample.columns for name in ANNOTATOR)
    wide = not rated and sum(map(is_rater, sample.columns)) > 1
    return itemised and ((rated and named) or wide)


def _may_be(sample: Sample) -> bool:
    """Whether a sheet can be meant that has a column for each annotator, or for each item."""
    rows = any(name in sample.columns for name in (*ITEM, *ANNOTATOR))
    return not paired(sample.columns) and rows and len(sample.columns) > 2  # noqa: PLR2004


def _respelt(
    records: Iterator[Record], spelling: Spelling | None, notes: Notes
) -> Iterator[Record]:
    """Spell ids as the user wants before ratings are compared: two spellings are one annotator."""
    if spelling is None:
        yield from records
        return
    kinds: dict[Kind, tuple[str, ...]] = {"annotator": ANNOTATOR, "item": ITEM}
    every = list(records)
    for kind, names in kinds.items():
        labels = (text_of(first_of(record.value, names)) for record in every)
        changed = spelling.learn(kind, Counter(label for label in labels if label is not None))
        notes += [merged_note(kind, changed)] if changed else []
    for record in every:
        found = {kind: text_of(first_of(record.value, names)) for kind, names in kinds.items()}
        now = {kind: spelling.of(kind, label) for kind, label in found.items() if label is not None}
        yield Record(record.location, record.value | now)


@dataclass(frozen=True)
class _Series:
    """What one annotator gave, with where it begins, and what each rating weighs."""

    location: str
    ratings: dict[str, list[float]] = field(default_factory=dict)
    weights: dict[str, list[float]] = field(default_factory=dict)
    context: str | None = None
    by: dict[str, tuple[str | None, ...]] = field(default_factory=dict)
    """The categories of each item."""


def _rows(records: Iterator[Record], choices: Choices, notes: Notes) -> Iterator[Row]:
    series: dict[tuple[str, ...], _Series] = {}
    blank = []
    confident = False
    scale, versions = Scale(choices.order), _Versions()
    scale.learn(choices.columns.get("rating"))
    for record in _respelt(one_by_one(records, choices, notes), choices.spelling, notes):
        cells = record.value
        confident |= "confidence" in cells
        who = text_of(first_of(cells, ANNOTATOR)) or nobody(choices, notes)
        item, value = text_of(first_of(cells, ITEM)), _rating(cells, record.location)
        if item is None:
            raise TableError(f"{record.location}: has no item; fill it in or remove the row.")
        if value in (None, ""):
            blank.append(Row(who, item, None, "", record.location, reason="no rating"))
            continue
        scale.learn(cells.get(HEADER))
        rating = scale.height(value, record.location)
        context, by = cells[MARK]
        key = (who, text_of(cells.get("criterion")) or "", text_of(first_of(cells, GROUP)) or "")
        key += () if context is None else (context,)  # only what shares it is compared
        found = series.setdefault(key, _Series(record.location, context=context))
        found.by[item] = of_both(found.by.get(item, by), by)
        if versions.replaces((*key, item), cells, found.ratings.setdefault(item, []), rating):
            continue
        found.ratings[item].append(rating)
        if cells.get("weight") not in (None, ""):
            found.weights.setdefault(item, []).append(_weight(cells["weight"], record.location))
    scale.refuse_unclear()
    if versions.replaced:
        notes.append(f"{count(versions.replaced, 'earlier version')} of reviews left out")
    yield from blank
    yield from _compared(series, choices, notes)
    if confident and "weight" not in choices.columns:
        notes.append("the column 'confidence' is not used; --column weight=confidence weighs by it")


def _rating(cells: Mapping[str, Any], location: str) -> Any:
    """Return the rating of a row; of EasyChair's scores in one cell, the overall evaluation."""
    value = first_of(cells, RATING)
    several = first_of(cells, SEVERAL)
    if value is not None or several is None:
        return value
    found = _OVERALL.search(str(several))
    if found is None and number_of(several) is None:
        raise TableError(
            f"{location}: the cell '{several}' holds several scores; write the one that counts "
            "into a column 'rating'."
        )
    return several if found is None else found[1]


class _Versions:
    """Reviews that were written again: EasyChair exports all versions, and the last one counts."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, ...], tuple[float, int]] = {}
        self.replaced = 0

    def replaces(
        self, key: tuple[str, ...], cells: Mapping[str, Any], ratings: list[float], rating: float
    ) -> bool:
        """Whether a rating is another version of one that is there; it then takes its place."""
        version, number = number_of(cells.get("version")), text_of(cells.get("number"))
        if version is None or number is None:
            return False
        last, at = self._last.get((*key, number), (None, len(ratings)))
        self.replaced += last is not None
        if last is None or version >= last:
            self._last[*key, number] = version, at
            if last is not None:
                ratings[at] = rating
        return last is not None


def _weight(value: Any, location: str) -> float:
    weight = rating_of(value)
    if weight is None or weight < 0.0:
        raise TableError(
            f"{location}: the weight '{value}' is not a number of 0 or more; correct it."
        )
    return weight


def _compared(
    series: Mapping[tuple[str, ...], _Series], choices: Choices, notes: Notes
) -> Iterator[Row]:
    """Compare the ratings of each series, and say what became of them."""
    every = [w for one in series.values() for ws in one.weights.values() for w in ws]
    usual = float(np.mean(every)) if every else 0.0
    pairs = repeated = 0
    for number, ((who, criterion, *_), one) in enumerate(series.items(), 1):
        repeated += sum(len(values) > 1 for values in one.ratings.values())
        means = np.array([np.mean(values) for values in one.ratings.values()])
        name = f"ratings {number}"
        opinion = Opinion(who, one.location, name, criterion or None, context=one.context)
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
            by = of_both(one.by[row.left or ""], one.by[row.right or row.left or ""])
            yield row._replace(weight=row.weight * both, by=by)
    within = f" (ties within {choices.tie_within:g})" if choices.tie_within else ""
    notes.append(stated(len(series), pairs, "rating series", choices.ranking_weight))
    notes.append(f"ratings are compared within each annotator only, so no scale is shared{within}")
    if choices.order in ((), (LOWEST,), (HIGHEST,)):
        notes.append(f"the {(*choices.order, HIGHEST)[0]} rating is taken for the best")
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
    options=("tie_within", "order"),
    may_be=_may_be,
)
