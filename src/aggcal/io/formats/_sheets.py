"""Sheets of ratings, one by one: a row a rating, a column an annotator, or a column an item."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from aggcal.errors import TableError, some
from aggcal.io.formats._base import Choices, Notes, mapping_of, text_of
from aggcal.io.formats._parting import MARK, marked
from aggcal.io.formats._sample import Record, Sample, of_records
from aggcal.io.formats._scale import Scale, rating_of
from aggcal.io.formats._synonyms import ANNOTATOR, ITEM, RANKS, RATING, first_of, renamed

_RATER = re.compile(
    r"(?:reviewer|rater|annotator|judge|marker|examiner|assessor|r)[ _-]?#?(?:\d+|[a-z])$"
)
"""How columns are called that hold the ratings of one annotator each."""
SEVERAL = ("scores",)
"""What EasyChair calls a column with all scores of a review."""
_LOOKED_AT = 50  # rows that tell which columns hold numbers
SUMMARIES = (
    "mean", "average", "avg", "median", "total", "sum", "grand total", "mittelwert", "durchschnitt",
    "summe", "gesamt", "moyenne", "somme", "promedio", "media", "suma",
)  # fmt: skip
"""What people call the rows and columns in which a spreadsheet adds up the others."""
_NO_RATINGS = {
    *SUMMARIES, "sd", "stdev", "std", "variance", "count", "min", "max", "range",
    "progress", "duration (in seconds)", "finished", "locationlatitude", "locationlongitude",
    "userlanguage", "timestamp", "age", *RANKS, "startdate", "enddate", "recordeddate",
    "start date", "end date", "date", "time", "start time", "completion time", "date submitted",
    "date started", "date last action", "last page", "seed", "total time", "year", "id",
    "collector id", "total points", "quiz feedback",
}  # fmt: skip
"""Columns of numbers that nobody rates with; among them what tools for surveys add."""
_BESIDE = re.compile(r"confidence|expertise|familiarity|weight|\bnumber\b|\bid\b|#$")
"""What columns of numbers beside ratings are called."""
_WITH_COMMA = re.compile(r"[+-]?\d+,\d+$")
"""A number before its decimal comma is read."""
_ROUNDED = 0.051
"""How far a mean may be from what it says: people show one decimal."""
_IN_BRACKETS = re.compile(r".*\[(.+)\]$")
"""A column of a grid in a form: the question, and in brackets the row."""


def is_rater(column: str) -> bool:
    """Whether a column is called as annotators are, by number or address.

    Examples
    --------
    >>> is_rater("reviewer 2"), is_rater("ann@x.org"), is_rater("clarity")
    (True, True, False)
    """
    return bool(_RATER.match(column)) or "@" in column


def rated_columns(sample: Sample, order: tuple[str, ...] = ()) -> list[str]:
    """Return the columns whose cells are ratings or blank, mostly: one may be mistyped.

    Examples
    --------
    >>> from aggcal.io.formats._sample import of_records
    >>> rated_columns(of_records("f", [{"paper": "p1", "Anna": 3, "Bob": "", "Title": "On x"}]))
    ['anna']
    """
    scale = Scale(order)

    def holds(cells: Sequence[str]) -> bool:
        known = sum(scale.knows(one) or bool(_WITH_COMMA.match(one)) for one in cells)
        return 2 * known > len(cells)

    others = {*ITEM, *ANNOTATOR, *_NO_RATINGS, ""}
    return [
        name
        for name in sorted(sample.columns - others)
        # LimeSurvey writes the code of a question before it.
        if name.partition(". ")[2] not in _NO_RATINGS
        and not _BESIDE.search(name)
        and holds(sample.values(name))
    ]


def one_by_one(records: Iterator[Record], choices: Choices, notes: Notes) -> Iterator[Record]:
    """Go through ratings one by one: a sheet with a column for each annotator has many in a row."""
    first = list(islice(records, _LOOKED_AT))
    columns, transposed = _columns(first, choices, notes)
    summary = _Summary()
    for record in chain(first, records):
        cells = renamed(mapping_of(record.value, record.location, "row"), choices)
        cells[MARK] = marked(cells, choices)
        if not columns:
            yield Record(record.location, cells)
            continue
        if not transposed and summary.has(first_of(cells, ITEM), [cells.get(n) for n in columns]):
            notes.append(f"'{first_of(cells, ITEM)}' adds up the rows above and is left out")
            continue
        row = {"item": first_of(cells, ITEM), "annotator": first_of(cells, ANNOTATOR)}
        for name, spelt in columns.items():
            this = {"item" if transposed else "annotator": spelt, "rating": cells.get(name)}
            yield Record(record.location, row | this | {MARK: cells[MARK], HEADER: name})


HEADER = " header"
"""Where a rating keeps the name of the column that it is in, if it is not the same for all."""


class _Summary:
    """Knows the row in which a spreadsheet adds up the others, by its name and its numbers."""

    def __init__(self) -> None:
        self._above: list[list[float | None]] = []

    def has(self, item: Any, cells: Sequence[Any]) -> bool:
        """Whether a row is such a one; otherwise it is one of those that are added up."""
        row = [rating_of(value) for value in cells]
        if (text_of(item) or "").strip(" :").lower() in SUMMARIES and is_summary(row, self._above):
            return True
        self._above.append(row)
        return False


def is_summary(row: Sequence[float | None], above: Sequence[Sequence[float | None]]) -> bool:
    """Whether numbers are the means, the medians or the sums of those above them.

    Examples
    --------
    >>> is_summary([2.5, 6.0], [[2.0, 5.0], [3.0, 7.0]]), is_summary([2.0], [[2.0], [3.0]])
    (True, False)
    """
    found = [
        (value, np.array([n for n in column if n is not None]))
        for value, column in zip(row, zip(*above, strict=True), strict=False)
        if value is not None and any(n is not None for n in column)
    ]
    return bool(found) and any(
        all(abs(value - how(column)) < _ROUNDED for value, column in found)
        for how in (np.mean, np.median, np.sum)
    )


def _columns(first: list[Record], choices: Choices, notes: Notes) -> tuple[Mapping[str, str], bool]:
    """Return the columns that hold many ratings each, how they are spelt, and if they are items.

    They are annotators where rows are items, and items where rows are annotators.
    """
    rows = [mapping_of(record.value, record.location, "row") for record in first]
    spelt = {str(name).strip().lower(): str(name).strip() for row in rows for name in row}
    sample = of_records("", [renamed(row, choices) for row in rows])
    if any(name in sample.columns for name in (*RATING, *SEVERAL)):
        return {}, False
    transposed = not sample.columns & {*ITEM}
    named = [] if transposed else [name for name in spelt if is_rater(name)]
    if len(named) < 2:  # noqa: PLR2004
        taken = {other.strip().lower() for other in choices.columns.values()}
        rated = rated_columns(sample, choices.order)
        named = [name for name in spelt if name in rated and name not in taken]
        known = (*named, *ITEM, *ANNOTATOR, *taken, "")
        unused = [spelt[name] for name in spelt if name not in known]
        if unused:
            notes.append(f"columns without ratings are not used: {some(unused)}")
    if not named:
        raise TableError(
            "no column holds ratings; if they are labels, name all of them, the best first, as in "
            "--order 'A,B,C'."
        )
    found = _items(named, spelt) if transposed else {name: spelt[name] for name in named}
    what = "holds the ratings of one item" if transposed else "is one annotator's"
    notes.append(f"each of {len(found)} columns {what}: {some(found.values())}")
    return found, transposed


def _items(named: Sequence[str], spelt: Mapping[str, str]) -> dict[str, str]:
    """Name items after columns; of a grid in a form, after what stands in brackets."""
    rows = [_IN_BRACKETS.match(spelt[name]) for name in named]
    inside = [row[1].strip() for row in rows if row is not None]
    if len(set(inside)) == len(named):
        return dict(zip(named, inside, strict=True))
    return {name: spelt[name] for name in named}
