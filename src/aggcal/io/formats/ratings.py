"""Ratings: each annotator's are compared among themselves, so that no scale is shared.

A table has a row a rating, a column an annotator, or a column an item.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from aggcal.data.base import NO_RATING
from aggcal.data.spelling import Kind, Spelling, merged_note
from aggcal.errors import TableError, TooLittleDataError, count, option, some
from aggcal.io.choices import Choices
from aggcal.io.formats.base import (
    Format,
    Notes,
    Records,
    Row,
    cell_text,
    first_of,
    nobody,
    number_of,
    under_our_names,
)
from aggcal.io.formats.marks import Mark, marked, of_both
from aggcal.io.formats.orders import Orders
from aggcal.io.formats.rankings import weight_of
from aggcal.io.formats.scale import HIGHEST, LOWEST, Scale, labelled, rating_of
from aggcal.io.tables import LOOKED_AT, Table
from aggcal.io.words import (
    ANNOTATOR,
    AVERAGES,
    GROUP,
    ITEM,
    MEASURED,
    NUMBERLESS,
    RANKS,
    RATING,
    SUMMARIES,
    paired,
)

_RATER = re.compile(
    r"(?:reviewer|rater|annotator|judge|marker|examiner|assessor|r|j)[ _-]?#?(?:\d+|[a-z])$"
    r"|(?:mr|mrs|ms|miss|dr|prof|herr|frau|sr|sra|mme)\b\.? \S"
)
"""How columns are called that hold the ratings of one annotator each."""
_SEVERAL = ("scores",)
"""What EasyChair calls a column with all scores of a review."""
_OVERALL = re.compile(r"overall evaluation\W*([+-]?\d+)", re.IGNORECASE)
"""The score that counts in a cell of EasyChair's that holds all of them."""
_NO_RATINGS = {
    *SUMMARIES, "variance",
    "progress", "duration (in seconds)", "finished", "locationlatitude", "locationlongitude",
    "userlanguage", "timestamp", "age", *RANKS, "startdate", "enddate", "recordeddate",
    "start date", "end date", "date", "time", "start time", "completion time", "date submitted",
    "date started", "date last action", "last page", "seed", "total time", "year", "id",
    "collector id", "total points", "quiz feedback",
}  # fmt: skip
"""Columns of numbers that nobody rates with; among them what tools for surveys add."""
_BESIDE = re.compile(r"confidence|expertise|familiarity|weight|\bnumber\b|\bid\b|#$")
"""What columns of numbers beside ratings are called."""
_ADDED = re.compile(r"download|timestamp|^trials?\b|\b(?:course|category) total")
_FINAL = re.compile(r"\b(?:current|final) (?:score|points|grade)")
"""What gradebooks call columns that add up the others."""
"""What columns are called that programs add."""
_WITH_COMMA = re.compile(r"[+-]?\d+,\d+$")
"""A number before its decimal comma is read."""
_MOST_LABELS = 20
"""Labels of ratings that a message lists."""
MEAN_OF_SEVERAL = "rated more than once by an annotator: the mean"
WEIGHT_OF_PAIR = "a pair of ratings weighs as much as both"
"""What is said of the pairs that ratings imply, and does not hold of ratings as such."""
_ROUNDED = 0.051
"""How far a mean may be from what it says: people show one decimal."""
_SUMMED = (np.mean, np.median, np.sum, np.max, np.min, np.std, np.ptp, len)
_IN_A_GRID = re.compile(
    r"(?P<question>.*?)\s*\[(?P<row>.+)\]$|(?P<rank>rank|rate)[ :_-]+(?P<of>.+)$",
    re.IGNORECASE,
)
"""A column of a grid in a form: the question, and the row that is asked about."""


class Rating(NamedTuple):
    """One rating: where it stands, the cells of its row, and the name of its column."""

    location: str
    cells: dict[str, Any]
    mark: Mark
    header: str = ""


def grid_row(name: str) -> tuple[str, str] | None:
    """Return the question of a grid that a column is of, and the row that is asked about.

    Examples
    --------
    >>> grid_row("rate each poster [poster a]"), grid_row("rank_poster b"), grid_row("clarity")
    (('rate each poster', 'poster a'), ('rank', 'poster b'), None)
    """
    found = _IN_A_GRID.match(name)
    if found is None:
        return None
    return found["question"] or found["rank"] or "", found["row"] or found["of"]


def in_a_grid(names: Iterable[str]) -> list[str]:
    """Return the columns that are rows of one question, if there are several."""
    asked = {name: row[0] for name in names if (row := grid_row(name)) is not None}
    return [*asked] if len(asked) > 1 and len({*asked.values()}) == 1 else []


def _are_ratings(table: Table) -> bool:
    have = table.columns.keys()
    who = next((name for name in ANNOTATOR if name in have), None)
    if who is not None and not have & {*ITEM} and not paired(have):
        named = any(who in row for row in table.head)
        people = table.first(who if named else table.columns[who].strip().lower())
        return len({*people}) == len(people) and bool(in_a_grid(rated_columns(table.head)))
    rated = have & {*RATING, *_SEVERAL}
    wide = not rated and sum(map(is_rater, have)) > 1
    itemised = bool(have & {*ITEM}) and not paired(have)  # a pair that has a score is no rating
    return itemised and (wide or bool(rated and have & {*ANNOTATOR}))


def _may_be(table: Table) -> bool:
    """Whether a sheet can be meant that has a column for each annotator, or for each item."""
    have = table.columns.keys()
    return not paired(have) and bool(have & {*ITEM, *ANNOTATOR}) and len(have) > 1


def is_rater(column: str) -> bool:
    """Whether a column is called as annotators are, by number or address.

    Examples
    --------
    >>> is_rater("reviewer 2"), is_rater("ann@x.org"), is_rater("clarity")
    (True, True, False)
    """
    return bool(_RATER.match(column)) or "@" in column


def rated_columns(rows: Sequence[Mapping[str, Any]], order: tuple[str, ...] = ()) -> list[str]:
    """Return the columns whose cells are ratings or blank, mostly: one may be mistyped.

    Examples
    --------
    >>> rated_columns([{"paper": "p1", "anna": 3, "bob": "", "title": "On x"}])
    ['anna']
    """
    scale = Scale(order)

    def rated(name: str) -> bool:
        # LimeSurvey writes the code of a question before it.
        if name.partition(". ")[2] in _NO_RATINGS or _BESIDE.search(name):
            return False
        if MEASURED.fullmatch(name) or _ADDED.search(name):
            return False
        cells = [row[name] for row in rows if row.get(name) not in (None, "")]
        known = sum(scale.knows(one) or bool(_WITH_COMMA.match(str(one))) for one in cells)
        return 2 * known > len(cells)

    names = {name for row in rows for name in row} - {*ITEM, *ANNOTATOR, *_NO_RATINGS, ""}
    return sorted(filter(rated, names))


def _one_by_one(records: Records, choices: Choices, notes: Notes) -> Iterator[Rating]:
    """Go through ratings one by one: a sheet with a column for each annotator has many in a row."""
    first = list(islice(records, LOOKED_AT))
    columns, transposed = _columns(first, choices, notes)
    above: list[list[float | None]] = []
    summed = False
    for location, record in chain(first, records):
        cells = under_our_names(record, location, choices)
        mark = marked(cells, choices)
        if not columns:
            header = next((n for n in (*RATING, *_SEVERAL) if cells.get(n) not in (None, "")), "")
            header = {**choices.guessed, **choices.columns}.get("rating", header)
            yield Rating(location, cells, mark, header)
            continue
        row, item = [rating_of(cells.get(name)) for name in columns], first_of(cells, ITEM)
        name = (cell_text(item) or "").strip(" :").lower()
        if not transposed and name in SUMMARIES:
            # A pupil may be called Max; nobody is called Average.
            summed = summed or name in AVERAGES or is_summary(row, above)
            if summed:
                notes.append(f"'{item}' adds up the rows above and is left out")
                continue
        above.append(row)
        own = {"item": item, "annotator": first_of(cells, ANNOTATOR)}
        for name, spelt in columns.items():
            this = {"item" if transposed else "annotator": spelt, "rating": cells.get(name)}
            yield Rating(location, own | this, mark, name)


def is_summary(row: Sequence[float | None], above: Sequence[Sequence[float | None]]) -> bool:
    """Whether numbers are the means, sums or the like of those above them, or all are blank.

    Examples
    --------
    >>> is_summary([2.5, 6.0], [[2.0, 5.0], [3.0, 7.0]]), is_summary([9.0], [[2.0], [3.0]])
    (True, False)
    """
    columns = ([n for n in column if n is not None] for column in zip(*above, strict=True))
    pairs = [(n, c) for n, c in zip(row, columns, strict=False) if n is not None and c]
    return any(
        all(abs(number - total(column)) < _ROUNDED for number, column in pairs) for total in _SUMMED
    )


def _columns(
    first: Iterable[tuple[str, Any]], choices: Choices, notes: Notes
) -> tuple[Mapping[str, str], bool]:
    """Return the columns that hold many ratings each, how they are spelt, and if they are items.

    They are annotators where rows are items, and items where rows are annotators.
    """
    spelt = {str(n).strip().lower(): str(n).strip() for _, row in first for n in row}
    rows = [under_our_names(row, location, choices) for location, row in first]
    have = {name for row in rows for name in row}
    if have & {*RATING, *_SEVERAL}:
        return {}, False
    transposed = not have & {*ITEM}
    named = [] if transposed else [name for name in spelt if is_rater(name)]
    if len(named) < 2:  # noqa: PLR2004
        told = (*choices.columns.values(), *choices.guessed.values())
        asked = {other.strip().lower() for other in told}
        rated = {*rated_columns(rows, choices.order)} - asked
        named = [name for name in spelt if name in rated]
        named = (in_a_grid(named) if transposed else []) or named
        named = [name for name in named if not _FINAL.search(name)] or named
        used = (*named, *ITEM, *ANNOTATOR, *asked, *choices.guessed.values(), "")
        unused = [spelt[name] for name in spelt if name not in used]
        if unused:
            notes.append(f"columns without ratings are not used: {some(unused)}")
    if not named:
        raise TableError(f"no column holds ratings; {labelled()}{_found(rows)}.")
    if transposed and len(named) < 2:  # noqa: PLR2004
        raise TableError(
            f"only '{spelt[named[0]]}' holds numbers, and columns of items are two or more; if a "
            "row is a rating, name its columns with "
            f"{option('column', 'item=NAME', 'rating=NAME')}."
        )
    grid = [grid_row(spelt[name]) for name in named] if transposed else []
    inside = [row[1].strip() for row in grid if row is not None]
    names = inside if len({*inside}) == len(named) else [spelt[name] for name in named]
    what = "holds the ratings of one item" if transposed else "is one annotator's"
    notes.append(f"each of {len(names)} columns {what}: {some(names)}")
    return dict(zip(named, names, strict=True)), transposed


def _found(rows: Sequence[Mapping[str, Any]]) -> str:
    """List the labels of a table whose columns share them, or of the rows of a grid."""
    every = [name for name in {**dict.fromkeys(n for row in rows for n in row)} if grid_row(name)]
    cells = Counter(str(row.get(name, "")).strip() for row in rows for name in every)
    found = [cell for cell, _ in cells.most_common(_MOST_LABELS) if cell]
    return f" (found: {','.join(found)})" if found else ""


def _respelt(
    ratings: Iterator[Rating], spelling: Spelling | None, notes: Notes
) -> Iterator[Rating]:
    """Spell ids as the user wants before ratings are compared: two spellings are one annotator."""
    if spelling is None:
        yield from ratings
        return
    kinds: dict[Kind, tuple[str, ...]] = {"annotator": ANNOTATOR, "item": ITEM}
    every = list(ratings)
    for kind, names in kinds.items():
        labels = Counter(cell_text(first_of(each.cells, names)) for each in every)
        changed = spelling.learn(kind, {k: n for k, n in labels.items() if k is not None})
        notes += [merged_note(kind, changed)] if changed else []
    for each in every:
        said = {kind: cell_text(first_of(each.cells, names)) for kind, names in kinds.items()}
        cells = dict(each.cells)
        for kind, label in said.items():
            cells[kind] = label if label is None else spelling.of(kind, label)
        yield each._replace(cells=cells)


@dataclass
class _Series:
    """What one annotator gave, with where it begins, and what each rating weighs."""

    like: Row
    ratings: dict[str, list[float]] = field(default_factory=dict)
    weights: dict[str, list[float]] = field(default_factory=dict)
    by: dict[str, tuple[str | None, ...]] = field(default_factory=dict)
    """The categories of each item."""


def _rows(records: Records, choices: Choices, notes: Notes) -> Iterator[Row]:
    yield from compared(_one_by_one(records, choices, notes), choices, notes)


def compared(ratings: Iterator[Rating], choices: Choices, notes: Notes) -> Iterator[Row]:
    """Compare the ratings of each annotator, and say what became of them."""
    series: dict[tuple[str | None, ...], _Series] = {}
    scale, confident, named = Scale(choices.order), False, True
    latest = [*_latest(_respelt(ratings, choices.spelling, notes), notes)]
    if not choices.order:
        _refuse_labels(latest)
    for location, cells, mark, header in latest:
        confident |= "confidence" in cells
        who = cell_text(first_of(cells, ANNOTATOR)) or nobody(choices, notes)
        item, value = cell_text(first_of(cells, ITEM)), _value(cells, location)
        if item is None:
            raise TableError(f"{location}: has no item; fill it in or remove the row.")
        if value in (None, "") or str(value).strip().lower() in NUMBERLESS:
            yield Row(who, item, None, "", location, reason=NO_RATING)
            continue
        named = named and header.lower() in (*RATING, *_SEVERAL)
        scale.learn(header)
        height, (context, by) = scale.height(value, location), mark
        # Only what shares the context is compared.
        key = who, cell_text(cells.get("criterion")), cell_text(first_of(cells, GROUP)), context
        like = Row(who, None, None, "", location, criterion=key[1], context=context)
        one = series.setdefault(key, _Series(like))
        one.by[item] = of_both(one.by.get(item, by), by)
        one.ratings.setdefault(item, []).append(height)
        weight = weight_of(cells, location)
        if weight is not None:
            one.weights.setdefault(item, []).append(weight)
    said: Notes = []
    guess = choices.guessed.get("rating", "rating")
    doubtful = None if guess in RATING else guess
    if not named and series and all(map(_may_be_ranks, series.values())):
        doubtful = "1, 2, 3"
    sign = scale.sign(said, named=named, doubtful=doubtful)
    yield from _pairs(series.values(), sign, choices, notes)
    alone = all(group is context is None for _, _, group, context in series)
    if alone and not choices.wished and not all(map(_may_be_ranks, series.values())):
        usual = _usual_weight(series.values()) or 1.0
        yield from chain.from_iterable(_rated(one, sign, usual) for one in series.values())
    else:
        notes.append("ratings are compared within each annotator only, so no scale is shared")
    notes += said
    if confident and "weight" not in choices.columns:
        by_it = option("column", "weight=confidence")
        notes.append(f"the column 'confidence' is not used; {by_it} weighs by it")


def _refuse_labels(ratings: Sequence[Rating]) -> None:
    """Refuse ratings of which most are labels, and list those."""
    every = [_value(each.cells, each.location) for each in ratings]
    given = [v for v in every if isinstance(v, str) and v.strip().lower() not in {"", *NUMBERLESS}]
    labels = Counter(value.strip() for value in given if rating_of(value) is None)
    if 2 * labels.total() > len(given):
        found = ",".join(label for label, _ in labels.most_common(_MOST_LABELS))
        more = f" and {len(labels) - _MOST_LABELS:,} more" if len(labels) > _MOST_LABELS else ""
        raise TableError(f"the ratings are no numbers (found: {found}{more}); {labelled()}.")


def _usual_weight(series: Iterable[_Series]) -> float:
    """Return the mean of the weights that ratings have; 0 where they have none."""
    every = [w for one in series for weights in one.weights.values() for w in weights]
    return float(np.mean(every)) if every else 0.0


def _rated(series: _Series, sign: float, usual: float) -> Iterator[Row]:
    """Return ratings as such; several of one item count as one."""
    like = series.like._replace(outcome=HIGHEST if sign > 0.0 else LOWEST)
    for item, ratings in series.ratings.items():
        weight = float(np.mean(series.weights.get(item, [usual]))) / usual / len(ratings)
        for rating in ratings:
            yield like._replace(left=item, rating=sign * rating, weight=weight)


def _may_be_ranks(series: _Series) -> bool:
    """Whether the ratings of a series are 1, 2, 3 and so on, each of them once."""
    given = sorted(chain.from_iterable(series.ratings.values()))
    return len(given) > 2 and given == [*range(1, len(given) + 1)]  # noqa: PLR2004


def _value(cells: Mapping[str, Any], location: str) -> Any:
    """Return the rating of a row; of EasyChair's scores in one cell, the overall evaluation."""
    value, several = first_of(cells, RATING), first_of(cells, _SEVERAL)
    if value is not None or several is None:
        return value
    overall = _OVERALL.search(str(several))
    if overall is None and number_of(several) is None:
        raise TableError(
            f"{location}: the cell '{several}' holds several scores; write the one that counts "
            "into a column 'rating'."
        )
    return several if overall is None else overall[1]


def _latest(ratings: Iterable[Rating], notes: Notes) -> Iterator[Rating]:
    """Leave out reviews that were written again: EasyChair exports all versions."""
    last: dict[Any, tuple[float, Rating]] = {}
    replaced = 0
    for k, each in enumerate(ratings):
        version, number = number_of(each.cells.get("version")), cell_text(each.cells.get("number"))
        names = (ANNOTATOR, ITEM, ("criterion",), GROUP)
        key = number, *(cell_text(first_of(each.cells, own)) for own in names), each.mark[0]
        found = last.setdefault(k if version is None or number is None else key, (0.0, each))
        if found[1] is not each:
            replaced += 1
            if version is not None and version >= found[0]:
                last[key] = version, each
        elif version is not None:
            last[k if number is None else key] = version, each
    if replaced:
        notes.append(f"{count(replaced, 'earlier version')} of reviews left out")
    return (each for _, each in last.values())


def _pairs(
    series: Collection[_Series], sign: float, choices: Choices, notes: Notes
) -> Iterator[Row]:
    """Take the series apart; a pair weighs as much as both of its ratings."""
    usual = _usual_weight(series)
    orders, repeated = Orders(choices.ranking_weight, "rating series"), 0
    for one in series:
        repeated += sum(len(ratings) > 1 for ratings in one.ratings.values())
        means = sign * np.array([np.mean(ratings) for ratings in one.ratings.values()])
        weighed = one.weights.items() if usual else ()
        factor = {item: float(np.sqrt(np.mean(weights) / usual)) for item, weights in weighed}
        like = one.like._replace(ranking=f"ratings {orders.number + 1}")
        for row in orders.compared(list(one.ratings), means, like):
            pair = str(row.left), str(row.right or row.left)
            weight = row.weight * factor.get(pair[0], 1.0) * factor.get(pair[1], 1.0)
            yield row._replace(weight=weight, by=of_both(one.by[pair[0]], one.by[pair[1]]))
    if orders.number and not orders.pairs and not choices.origin:
        raise TooLittleDataError(
            "nobody has rated two items on one occasion, so that nothing can be compared; name the "
            f"columns with {option('column', 'item=NAME', 'rating=NAME', 'annotator=NAME')}."
        )
    notes += orders.notes
    if usual:
        notes.append(
            f"{WEIGHT_OF_PAIR} (the root of their product), 1 at the mean weight of {usual:.3g}"
        )
    if repeated:
        notes.append(f"{count(repeated, 'item')} {MEAN_OF_SEVERAL}")


RATED = ("order",)
RATINGS = {
    "ratings": Format(
        _are_ratings,
        rows=_rows,
        renames=True,
        options=RATED,
        may_be=_may_be,
        summary="ratings: annotator, item, rating (higher is better)",
        general=True,
    )
}
