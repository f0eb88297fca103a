"""Tables of ratings: each annotator's are compared among themselves, so no scale is shared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

import numpy as np

from aggcal.data.spelling import Kind, Spelling, merged_note
from aggcal.errors import OptionError, TableError, count, some
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
from aggcal.io.formats._parting import MARK, marked, of_both
from aggcal.io.formats._sample import Record, Sample, of_records
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
_SEVERAL = ("scores",)
"""What EasyChair calls a column with all scores of a review."""
_LOOKED_AT = 50  # rows that tell which columns hold numbers
_LABELLED = re.compile(
    r"\s*([+-]?\d+(?:\.\d+)?)(?:\s*(?::(?!\d)|\()|\s+[\u2013\u2014-]\s|\.\s+[^\W\d])"
)
"""A rating with its meaning after it: '6: marginally above', '5 (accept)', '4. Accept'."""
_OVERALL = re.compile(r"overall evaluation\W*([+-]?\d+)", re.IGNORECASE)
"""The score that counts in a cell of EasyChair's that holds all of them."""
_STEPS = {k + step for k in range(1, 7) for step in (0.0, 0.3, 0.7)}
"""Marks in thirds: the best is 1.0 in some countries and 4.0 in others."""
LOWEST, HIGHEST = "lowest", "highest"
"""Which number is the best, instead of an order of labels."""


def _is_mine(sample: Sample) -> bool:
    if any(sample.has(*pair) for pair in (*LEFT_RIGHT, *WINNER_LOSER)):
        return False  # a pair that has a score is no rating
    itemised = any(name in sample.columns for name in ITEM)
    rated = any(name in sample.columns for name in (*RATING, *_SEVERAL))
    named = any(name in sample.columns for name in ANNOTATOR)
    wide = not rated and sum(map(_is_rater, sample.columns)) > 1
    return itemised and ((rated and named) or wide)


def _is_rater(column: str) -> bool:
    """Whether a column is called as annotators are, by number or address."""
    return bool(_RATER.match(column)) or "@" in column


def _may_be(sample: Sample) -> bool:
    """Whether a sheet can be meant that has a column for each annotator, under their names."""
    paired = any(sample.has(*pair) for pair in (*LEFT_RIGHT, *WINNER_LOSER))
    itemised = any(name in sample.columns for name in ITEM)
    return not paired and itemised and len(sample.columns) > 2  # noqa: PLR2004


def rated_columns(sample: Sample, order: tuple[str, ...] = ()) -> list[str]:
    """Return the columns whose cells are ratings or blank, mostly: one may be mistyped.

    Examples
    --------
    >>> from aggcal.io.formats._sample import of_records
    >>> rated_columns(of_records("f", [{"paper": "p1", "Anna": 3, "Bob": "", "Title": "On x"}]))
    ['anna']
    """
    scale = _Scale(order)
    return [
        name
        for name in sorted(sample.columns - {*ITEM, *ANNOTATOR, ""})
        if (cells := sample.values(name)) and 2 * sum(map(scale.knows, cells)) > len(cells)
    ]


def _long(records: Iterator[Record], choices: Choices, notes: Notes) -> Iterator[Record]:
    """Go through ratings one by one: a sheet with a column for each annotator has many in a row."""
    first = list(islice(records, _LOOKED_AT))
    raters = _raters(first, choices, notes)
    for record in chain(first, records):
        cells = renamed(mapping_of(record.value, record.location, "row"), choices)
        cells[MARK] = marked(cells, choices)
        if not raters:
            yield Record(record.location, cells)
        item = first_of(cells, ITEM)
        for name, spelt in raters.items():
            row = {"item": item, "annotator": spelt, "rating": cells.get(name), MARK: cells[MARK]}
            yield Record(record.location, row)


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


def _raters(first: list[Record], choices: Choices, notes: Notes) -> dict[str, str]:
    """Return the columns that hold one annotator's ratings each, and how they are spelt."""
    rows = [mapping_of(record.value, record.location, "row") for record in first]
    spelt = {str(name).strip().lower(): str(name).strip() for row in rows for name in row}
    sample = of_records("", [renamed(row, choices) for row in rows])
    if any(name in sample.columns for name in (*RATING, *_SEVERAL)):
        return {}
    named = [name for name in spelt if _is_rater(name)]
    if len(named) < 2:  # noqa: PLR2004
        taken = {other.strip().lower() for other in choices.columns.values()}
        rated = rated_columns(sample, choices.order)
        named = [name for name in spelt if name in rated and name not in taken]
        unused = [spelt[name] for name in spelt if name not in (*named, *ITEM, *taken, "")]
        if unused:
            notes.append(f"columns without ratings are not used: {some(unused)}")
    if not named:
        raise TableError(
            "no column holds ratings; if they are labels, name all of them, the best first, as in "
            "--order 'A,B,C'."
        )
    raters = {name: spelt[name] for name in named}
    notes.append(f"each of {len(raters)} columns is one annotator's: {some(raters.values())}")
    return raters


def _number(value: Any) -> float | None:
    """Return a rating as a number, which may be followed by what it means.

    Examples
    --------
    >>> _number("6: marginally above"), _number("4. Accept"), _number(3.5), _number("good")
    (6.0, 4.0, 3.5, None)
    >>> _number("3-4"), _number("6:30"), _number("2024-01-05")
    (None, None, None)
    """
    labelled = _LABELLED.match(value) if isinstance(value, str) else None
    return number_of(labelled[1] if labelled is not None else value)


@dataclass
class _Scale:
    """What ratings mean: numbers, or labels in a stated order."""

    order: tuple[str, ...]
    seen: set[float] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.sign = -1.0 if self.order == (LOWEST,) else 1.0
        stated = () if self.order in ((LOWEST,), (HIGHEST,)) else self.order
        self.heights = {_label(one): -float(k) for k, one in enumerate(stated)}

    def knows(self, value: Any) -> bool:
        """Whether a cell is a rating."""
        return _label(value) in self.heights if self.heights else _number(value) is not None

    def height(self, value: Any, location: str) -> float:
        """Return how high a rating is, or refuse it."""
        if self.heights:
            found = self.heights.get(_label(value))
            if found is None:
                raise TableError(
                    f"{location}: the rating '{value}' is not in the order that was given; add it "
                    "to --order."
                )
            return found
        rating = _number(value)
        if rating is None:
            raise TableError(
                f"{location}: the rating '{value}' is not a finite number; correct the row, or if "
                "ratings are labels, name all of them, the best first, as in --order 'A,B,C'."
            )
        self.seen.add(rating)
        return self.sign * rating

    def refuse_unclear(self) -> None:
        """Refuse marks in thirds, of which nobody knows which end is the best."""
        thirds = {round(10.0 * one) % 10 for one in self.seen} & {3, 7}
        steps = {round(one, 9) for one in _STEPS}
        if len(thirds) == 2 and self.seen <= steps and not self.order:  # noqa: PLR2004
            shown = ", ".join(f"{one:g}" for one in sorted(self.seen)[:4])
            raise OptionError(
                f"the ratings look like marks ({shown}), whose best is 1.0 in some countries and "
                f"4.0 in others; say which is the best with --order {LOWEST} or --order {HIGHEST}."
            )


def _label(value: Any) -> str:
    """Return a label for comparison: 1, 1.0 and '1.0' are the same, and so are a and A.

    Examples
    --------
    >>> _label("1.0") == _label(1), _label(" a- ")
    (True, 'a-')
    """
    number = number_of(value)
    return str(value).strip().lower() if number is None else repr(number)


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
    scale, versions = _Scale(choices.order), _Versions()
    for record in _respelt(_long(records, choices, notes), choices.spelling, notes):
        cells = record.value
        confident |= "confidence" in cells
        who = text_of(first_of(cells, ANNOTATOR)) or nobody(choices, notes)
        item, value = text_of(first_of(cells, ITEM)), _rating(cells, record.location)
        if item is None:
            raise TableError(f"{record.location}: has no item; fill it in or remove the row.")
        if value in (None, ""):
            blank.append(Row(who, item, None, "", record.location, reason="no rating"))
            continue
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
    several = first_of(cells, _SEVERAL)
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
    weight = _number(value)
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
    options=("ranking_weight", "tie_within", "order"),
    may_be=_may_be,
)
