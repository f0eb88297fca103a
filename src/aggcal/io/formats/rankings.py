"""Tables of rankings: one ranking a row, one rank a row, or best-worst choices."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from aggcal.errors import OptionError, TableError, some
from aggcal.io.formats._base import (
    Choices,
    Notes,
    RecordFormat,
    Row,
    mapping_of,
    number_of,
    text_of,
)
from aggcal.io.formats._orders import Opinion, Tiers, pairs_of_order, stated
from aggcal.io.formats._parting import marked, of_both
from aggcal.io.formats._sample import Record, Sample
from aggcal.io.formats._synonyms import ANNOTATOR, GROUP, ITEM, OUTCOME, first_of, renamed
from aggcal.registry import RANKINGS as INFO
from aggcal.registry import RATINGS

_PLACE = re.compile(
    r"(?:(?:r|rank|place|location|position|pref|preference|choice)[ _-]?(\d+)"
    r"|(\d+)(?:st|nd|rd|th)(?:[ _-](?:place|choice|preference|rank))?)$"
)
_WORDS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
)  # fmt: skip
_IN_WORDS = re.compile(rf"({'|'.join(_WORDS)})[ _-](?:place|choice|preference|rank)$")
_ROW = re.compile(r".*\[(.+)\]$")
"""A column of a grid in a form: the question, and in brackets the row."""
_OPTION = re.compile(r"(?:item|option|choice|alternative|text)[ _-]?(\d+|[a-h])$")
_Long: TypeAlias = dict[tuple[str, ...], tuple[Opinion, dict[float, list[str]]]]
"""Rankings that are collected row by row: whose each is, and its items by their rank."""
_LISTS = ("items", "options", "choices", "set", "alternatives")
_OF_PLACES = re.compile(r"(?:.*\[)?(?:rank|place|location|position|pref|preference)[ _-]?\d+\]?$")
"""Columns that may hold which item has a place, and just as well which place an item has."""
_A_PLACE = re.compile(r"\d+|[a-zA-Z]")
"""How a ranking names items that are shown elsewhere: by their number or letter."""


def _place(name: str) -> int | None:
    """Return the place whose items a column holds.

    Examples
    --------
    >>> _place("r1"), _place("2nd choice"), _place("third choice"), _place("third")
    (1, 2, 3, None)
    >>> _place("rank the posters [2nd choice]")
    2
    """
    row = _ROW.match(name)
    name = name if row is None else row[1].strip()
    if (found := _PLACE.match(name)) is not None:
        return int(found[1] or found[2])
    if (worded := _IN_WORDS.match(name)) is not None:
        return _WORDS.index(worded[1]) + 1
    return None


def _is_wide(sample: Sample) -> bool:
    if any(name in sample.columns for name in ITEM):
        return False  # numbers of each item, from one annotator a column: ratings
    locations = sum(_place(c) is not None for c in sample.columns)
    decided = any(name in sample.columns for name in OUTCOME)
    # Two choices and which of them it was are a pair, not a ranking of two.
    return locations > (2 if decided else 1)


def refuse_unclear_ranks(sample: Sample) -> None:
    """Refuse columns of places with numbers that may be items, or in turn the places of items.

    In our own layouts, ``ranking`` and ``r1, r2, ...``, they are items.

    Examples
    --------
    >>> from aggcal.io.formats._sample import of_records
    >>> row = {"annotator": "ann", "rank1": 2, "rank2": 3, "rank3": 1}
    >>> refuse_unclear_ranks(of_records("f.csv", [row]))
    Traceback (most recent call last):
    aggcal.errors.OptionError: f.csv: 'rank1' may hold the item that is first or the rank of an...
    """
    names = sorted(filter(_OF_PLACES.match, sample.columns), key=lambda name: _place(name) or 0)
    if not names or "ranking" in sample.columns:
        return
    for cells in zip(*map(sample.values, names), strict=False):
        order = [number_of(cell) for cell in cells]
        if set(order) not in ({*range(len(order))}, {*range(1, len(order) + 1)}):
            return
    second = "write a row for each item, under annotator,item,rank"
    if sample.columns & {*ANNOTATOR} and not any(map(_OPTION.match, sample.columns)):
        second = f"add --format {RATINGS.name} --order lowest"
    raise OptionError(
        f"{sample.name}: '{names[0]}' may hold the item that is first or the rank of an item; for "
        f"the first, add --format {INFO.name}; for the second, {second}."
    )


def _is_pair(sample: Sample) -> bool:
    return sample.has("left", "right") or sample.has("winner", "loser")


def _is_mine(sample: Sample) -> bool:
    if _is_pair(sample):
        return False
    in_one = "ranking" in sample.columns and "item" not in sample.columns
    return in_one or _is_wide(sample) or sample.has("item", "rank")


def _rows(records: Iterator[Record], choices: Choices, notes: Notes) -> Iterator[Row]:
    rankings = pairs = 0
    numbers = True
    for opinion, tiers in _orders(records, choices, notes):
        rankings += 1
        numbers = numbers and all(item.isdecimal() for tier in tiers for item in tier)
        for row in pairs_of_order(tiers, opinion, choices.ranking_weight):
            pairs += row.outcome != "skip"
            yield row
    notes.append(stated(rankings, pairs, "ranking", choices.ranking_weight))
    if numbers and rankings:
        notes.append("the numbers in rankings are taken for items, the best first")


def _orders(
    records: Iterator[Record], choices: Choices, notes: Notes
) -> Iterator[tuple[Opinion, Tiers]]:
    long: _Long = {}
    for number, record in enumerate(records, 1):
        cells = renamed(mapping_of(record.value, record.location, "row"), choices)
        if "item" in cells and "rank" in cells:
            _collect(cells, record.location, long, choices, notes)
            continue
        who = _who(cells, f"ranking {number}", choices, notes, (*ANNOTATOR, "name", "your name"))
        opinion = _opinion(cells, who, record.location, f"ranking {number}", choices)
        yield opinion, _tiers(cells, record.location)
    for opinion, ranks in long.values():
        yield opinion, [ranks[rank] for rank in sorted(ranks)]


def _opinion(
    cells: Mapping[str, Any], who: str, location: str, ranking: str, choices: Choices
) -> Opinion:
    weight = 1.0
    if cells.get("weight") not in (None, ""):
        given = number_of(cells["weight"])
        if given is None or given < 0.0:
            raise TableError(
                f"{location}: the weight '{cells['weight']}' is not a number of 0 or more; "
                "correct it."
            )
        weight = given
    criterion, (context, by) = text_of(cells.get("criterion")), marked(cells, choices)
    return Opinion(who, location, ranking, criterion, None, weight, context, by)


def _who(
    cells: Mapping[str, Any],
    otherwise: str,
    choices: Choices,
    notes: Notes,
    names: tuple[str, ...] = ANNOTATOR,
) -> str:
    named = text_of(first_of(cells, names))
    if named is not None:
        return named
    if choices.annotator is not None:
        return choices.annotator
    said = "the file names no annotators: each ranking is taken as one annotator's"
    if said not in notes:
        notes.append(said)
    return choices.made_up(otherwise)


def _collect(
    cells: Mapping[str, Any],
    location: str,
    long: _Long,
    choices: Choices,
    notes: Notes,
) -> None:
    group = text_of(first_of(cells, GROUP)) or ""
    who = _who(cells, f"ranking {group}", choices, notes)
    item, rank = text_of(cells["item"]), _rank(cells["rank"])
    if item is None or rank is None:
        raise TableError(
            f"{location}: has no item or a rank that is not a number; correct the row."
        )
    this = _opinion(cells, who, location, f"ranking {len(long) + 1}", choices)
    key = (who, group, this.criterion or "", this.context or "")
    opinion, ranks = long.setdefault(key, (this, {}))
    if this.voters != opinion.voters:
        raise TableError(
            f"{location}: has another weight than {opinion.location} of the same ranking; a "
            "ranking has one weight."
        )
    if this.by != opinion.by:
        # A ranking across categories is of none of them.
        long[key] = replace(opinion, by=of_both(opinion.by, this.by)), ranks
    ranks.setdefault(rank, []).append(item)


def _rank(value: Any) -> float | None:
    """Return a rank, which may be an ordinal.

    Examples
    --------
    >>> _rank("2nd"), _rank("3."), _rank(1), _rank("best")
    (2.0, 3.0, 1.0, None)
    """
    ordinal = re.fullmatch(r"\s*(\d+)\s*(?:st|nd|rd|th|\.)\s*", str(value), re.IGNORECASE)
    return number_of(value if ordinal is None else ordinal[1])


def _tiers(cells: Mapping[str, Any], location: str) -> list[list[str]]:
    if cells.get("ranking") not in (None, ""):
        tiers = _one_cell(cells["ranking"], location)
    else:
        locations = sorted((place, name) for name in cells if (place := _place(name)) is not None)
        items = [text_of(cells[name]) for _, name in locations]
        tiers = [[item] for item in items if item is not None]
    ranked, shown = {item for tier in tiers for item in tier}, _shown(cells, location)
    if len(shown) > 1 and not ranked & {*shown} and all(map(_A_PLACE.fullmatch, ranked)):
        raise TableError(
            f"{location}: ranks {some(sorted(ranked))}, which are not among the items shown "
            f"({some(shown)}); write the items themselves, the best first."
        )
    return tiers


def _one_cell(value: Any, location: str) -> list[list[str]]:
    """Read 'a > b = c', 'a,b,{c,d}' or a JSON list, in which a list is a tie.

    Examples
    --------
    >>> _one_cell("a > b = c", ""), _one_cell("a,{b,c}", ""), _one_cell('["a", ["b", "c"]]', "")
    ([['a'], ['b', 'c']], [['a'], ['b', 'c']], [['a'], ['b', 'c']])
    >>> _one_cell("a = b", "")
    [['a', 'b']]
    """
    if isinstance(value, str) and value.strip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise TableError(f"{location}: has a ranking that is not a list; correct it.") from None
    if isinstance(value, list | tuple):
        tiers = [tier if isinstance(tier, list | tuple) else [tier] for tier in value]
    elif ">" in str(value) or re.fullmatch(r"[^,;|{}]+[=~][^,;|{}]+", str(value)):
        tiers = [re.split(r"[=~]", tier) for tier in str(value).split(">")]
    else:
        parts = re.findall(r"\{[^{}]*\}|[^,;|{}]+", str(value))
        tiers = [re.split(r"[,;|]", part.strip("{}")) for part in parts if part.strip()]
    named = [[i for i in map(text_of, tier) if i is not None] for tier in tiers]
    return [tier for tier in named if tier]


def _is_best_worst(sample: Sample) -> bool:
    options = any(c in sample.columns for c in _LISTS)
    return sample.has("best", "worst") and (
        options or sum(bool(_OPTION.match(c)) for c in sample.columns) > 2  # noqa: PLR2004
    )


def _best_worst(records: Iterator[Record], choices: Choices, notes: Notes) -> Iterator[Row]:
    choices_made = pairs = 0
    for number, record in enumerate(records, 1):
        cells = renamed(mapping_of(record.value, record.location, "row"), choices)
        who = _who(cells, f"choice {number}", choices, notes)
        best, worst = text_of(cells.get("best")), text_of(cells.get("worst"))
        shown = _shown(cells, record.location)
        for name, item in (("best", best), ("worst", worst)):
            if item is not None and item not in shown:
                raise TableError(
                    f"{record.location}: the {name}, '{item}', is not among the items shown "
                    f"({', '.join(shown[:5])}); correct the row."
                )
        rest = [item for item in shown if item not in (best, worst)]
        tiers = [tier for tier in ([best], rest, [worst]) if tier and tier != [None]]
        choices_made += 1
        opinion = _opinion(cells, who, record.location, f"choice {number}", choices)
        named = [[str(item) for item in tier] for tier in tiers]
        for row in pairs_of_order(named, opinion, choices.ranking_weight, tied=False):
            pairs += row.outcome != "skip"
            yield row
    notes.append(stated(choices_made, pairs, "best-worst choice", choices.ranking_weight))


def _shown(cells: Mapping[str, Any], location: str) -> list[str]:
    for name in _LISTS:
        if cells.get(name) not in (None, ""):
            return [item for tier in _one_cell(cells[name], location) for item in tier]
    options = sorted(name for name in cells if _OPTION.match(name))
    return [item for item in (text_of(cells[name]) for name in options) if item is not None]


RANKINGS = RecordFormat(
    _is_mine,
    _rows,
    renames=True,
)
BEST_WORST = RecordFormat(
    _is_best_worst,
    _best_worst,
    renames=True,
)
