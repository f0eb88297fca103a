"""Rankings: one in a row, one rank a row, best-worst choices, and choix's lists of numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from aggcal.errors import OptionError, TableError, option, some
from aggcal.io.choices import Choices
from aggcal.io.formats.base import (
    Format,
    Notes,
    Records,
    Row,
    cell_text,
    first_of,
    nobody,
    note,
    number_of,
    under_our_names,
)
from aggcal.io.formats.marks import marked, of_both
from aggcal.io.formats.orders import Orders
from aggcal.io.formats.scale import rating_of
from aggcal.io.tables import LOOKED_AT, Table
from aggcal.io.words import ANNOTATOR, GROUP, ITEM, OUTCOME, SHOWN

_PLACE = re.compile(
    r"(?:(?:r|rank|place|location|position|pref|preference|choice)[ _-]?(\d+)"
    r"|(\d+)(?:st|nd|rd|th)(?:[ _-](?:place|choice|preference|rank))?)$"
)
_WORDS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
)  # fmt: skip
_IN_WORDS = re.compile(rf"({'|'.join(_WORDS)})[ _-](?:place|choice|preference|rank)$")
IN_BRACKETS = re.compile(r".*\[(.+)\]$")
"""A column of a grid in a form: the question, and in brackets the row."""
_OPTION = re.compile(r"(?:item|option|choice|alternative|alt|text)[ _-]?(\d+|[a-h])$")
_LETTER = re.compile(r"[a-h]$")
_OF_PLACES = re.compile(
    r"(?:.*\[)?(?:r|rank|place|location|position|pref|preference)[ _-]?\[?\d+\]?$"
)
"""Columns that may hold which item has a place, and just as well which place an item has."""
_A_PLACE = re.compile(r"\d+|[a-zA-Z]")
"""How a ranking names items that are shown elsewhere: by their number or letter."""


def _place(name: str) -> int | None:
    """Return the place whose items a column holds.

    Examples
    --------
    >>> _place("r1"), _place("2nd choice"), _place("third choice"), _place("third")
    (1, 2, 3, None)
    >>> _place("rank the posters [2nd choice]"), _place("rank[1]")
    (2, 1)
    """
    row = IN_BRACKETS.match(name)
    if row is not None:  # of "rank[1]" as of "rank the posters [2nd choice]"
        name = name.replace("[", "").rstrip("]") if row[1].isdecimal() else row[1].strip()
    if found := _PLACE.match(name):
        return int(found[1] or found[2])
    return _WORDS.index(found[1]) + 1 if (found := _IN_WORDS.match(name)) else None


def _are_rankings(table: Table) -> bool:
    have = table.columns.keys()
    if {"left", "right"} <= have or {"winner", "loser"} <= have:
        return False
    # Numbers of each item are ratings; two choices and which of them it was are a pair.
    places = 0 if have & {*ITEM} else sum(_place(name) is not None for name in have)
    wide = places > (2 if have & {*OUTCOME} else 1)
    return ("ranking" in have and "item" not in have) or wide or {"item", "rank"} <= have


def refuse_unclear_ranks(table: Table) -> None:
    """Refuse columns of places with numbers that may be items, or in turn the places of items.

    In our own layouts, ``ranking`` and ``r1, r2, ...``, they are items.
    """
    names = sorted(filter(_OF_PLACES.match, table.columns), key=lambda name: _place(name) or 0)
    if not names or "ranking" in table.columns:
        return
    for cells in zip(*map(table.first, names), strict=False):
        order = {*map(number_of, cells)}
        if order not in ({*range(len(cells))}, {*range(1, len(cells) + 1)}):
            return
    second = "write a row for each item, under annotator,item,rank"
    if table.columns.keys() & {*ANNOTATOR} and not any(map(_OPTION.match, table.columns)):
        second = f"add {option('format', 'ratings')} {option('order', 'lowest')}"
    raise OptionError(
        f"{table.name}: '{names[0]}' may hold the item that is first or the rank of an item; for "
        f"the first, add {option('format', 'rankings')}; for the second, {second}."
    )


def _like(cells: Mapping[str, Any], who: str, location: str, ranking: str, choices: Choices) -> Row:
    """Return what all pairs of a ranking have in common."""
    weight = weight_of(cells, location)
    context, by = marked(cells, choices)
    return Row(
        who,
        None,
        None,
        "",
        location,
        1.0 if weight is None else weight,
        cell_text(cells.get("criterion")),
        ranking=ranking,
        context=context,
        by=by,
    )


def weight_of(cells: Mapping[str, Any], location: str) -> float | None:
    """Return the weight of a row, if it has one, or refuse it."""
    given = cells.get("weight")
    weight = rating_of(given)
    if given not in (None, "") and (weight is None or weight < 0.0):
        raise TableError(
            f"{location}: the weight '{given}' is not a number of 0 or more; correct it."
        )
    return weight


def _who(
    cells: Mapping[str, Any],
    otherwise: str,
    choices: Choices,
    notes: Notes,
    names: tuple[str, ...] = ANNOTATOR,
) -> str:
    named = cell_text(first_of(cells, names)) or choices.annotator
    if named is not None:
        return named
    note(notes, "the file names no annotators: each ranking is taken as one annotator's")
    return choices.made_up(otherwise)


def _rankings(records: Records, choices: Choices, notes: Notes) -> Iterator[Row]:
    orders = Orders(choices.ranking_weight)
    long: dict[tuple[str | None, ...], tuple[Row, dict[float, list[str]]]] = {}
    numbers = True
    for k, (location, record) in enumerate(records, 1):
        cells = under_our_names(record, location, choices)
        if "item" in cells and "rank" in cells:
            _collect(cells, location, long, choices, notes)
            continue
        who = _who(cells, f"ranking {k}", choices, notes, (*ANNOTATOR, "name", "your name"))
        tiers = _tiers(cells, location)
        numbers = numbers and all(item.isdecimal() for tier in tiers for item in tier)
        yield from orders.apart(tiers, _like(cells, who, location, f"ranking {k}", choices))
    for like, ranks in long.values():
        numbers = numbers and all(item.isdecimal() for tier in ranks.values() for item in tier)
        yield from orders.apart([ranks[rank] for rank in sorted(ranks)], like)
    notes += orders.notes
    if numbers and orders.number:
        notes.append("the numbers in rankings are taken for items, the best first")


def _collect(
    cells: Mapping[str, Any],
    location: str,
    long: dict[tuple[str | None, ...], tuple[Row, dict[float, list[str]]]],
    choices: Choices,
    notes: Notes,
) -> None:
    """Add one rank to the ranking that it is of."""
    group = cell_text(first_of(cells, GROUP)) or ""
    who = _who(cells, f"ranking {group}", choices, notes)
    ordinal = re.fullmatch(r"\s*(\d+)\s*(?:st|nd|rd|th|\.)\s*", str(cells["rank"]), re.IGNORECASE)
    item, rank = cell_text(cells["item"]), number_of(ordinal[1] if ordinal else cells["rank"])
    if rank == 0.0 and not choices.order:
        raise OptionError(
            f"{location}: the rank 0 may be the best or stand for none; say "
            f"{option('order', 'lowest')} if it is the best, or leave out the rows of items that "
            "were not ranked."
        )
    if item is None or rank is None:
        raise TableError(
            f"{location}: has no item or a rank that is not a number; correct the row."
        )
    like = _like(cells, who, location, f"ranking {len(long) + 1}", choices)
    key = (who, group, like.criterion, like.context)
    before, ranks = long.setdefault(key, (like, {}))
    if before.weight != like.weight:
        raise TableError(
            f"{location}: has another weight than {before.location} of the same ranking; a "
            "ranking has one weight."
        )
    long[key] = before._replace(by=of_both(before.by, like.by)), ranks
    ranks.setdefault(rank, []).append(item)


def _tiers(cells: Mapping[str, Any], location: str) -> list[list[str]]:
    if cells.get("ranking") not in (None, ""):
        tiers = _in_one_cell(cells["ranking"], location)
    else:
        places = sorted((place, name) for name in cells if (place := _place(name)) is not None)
        items = [cell_text(cells[name]) for _, name in places]
        tiers = [[item] for item in items if item is not None]
    ranked, shown = {item for tier in tiers for item in tier}, _shown(cells, location)
    if len(shown) > 1 and not ranked & {*shown} and all(map(_A_PLACE.fullmatch, ranked)):
        raise TableError(
            f"{location}: ranks {some(sorted(ranked))}, which are not among the items shown "
            f"({some(shown)}); write the items themselves, the best first."
        )
    return tiers


def _in_one_cell(value: Any, location: str) -> list[list[str]]:
    """Read 'a > b = c', 'a,b,{c,d}' or a JSON list, in which a list is a tie.

    Examples
    --------
    >>> _in_one_cell("a > b = c", ""), _in_one_cell("a,{b,c}", ""), _in_one_cell("a = b", "")
    ([['a'], ['b', 'c']], [['a'], ['b', 'c']], [['a', 'b']])
    >>> _in_one_cell('["a", ["b", "c"]]', ""), _in_one_cell({"a": 2, "b": 1}, "")
    ([['a'], ['b', 'c']], [['b'], ['a']])
    """
    if isinstance(value, str) and value.strip().startswith(("[", '{"')):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise TableError(f"{location}: has a ranking that is not a list; correct it.") from None
    if isinstance(value, Mapping):
        ranks = {item: number_of(rank) for item, rank in value.items()}
        if not ranks or None in ranks.values():
            raise TableError(f"{location}: has a ranking without a rank for each item; correct it.")
        every = sorted({rank for rank in ranks.values() if rank is not None})
        tiers = [[item for item, rank in ranks.items() if rank == one] for one in every]
    elif isinstance(value, list | tuple):
        tiers = [[*tier] if isinstance(tier, list | tuple) else [tier] for tier in value]
    elif ">" in str(value) or re.fullmatch(r"[^,;|{}]+[=~][^,;|{}]+", str(value)):
        tiers = [re.split(r"[=~]", tier) for tier in str(value).split(">")]
    else:
        parts = re.findall(r"\{[^{}]*\}|[^,;|{}]+", str(value))
        tiers = [re.split(r"[,;|]", part.strip("{}")) for part in parts if part.strip()]
    named = [[item for item in map(cell_text, tier) if item is not None] for tier in tiers]
    return [tier for tier in named if tier]


def _shown(cells: Mapping[str, Any], location: str) -> list[str]:
    """Return the items of a row: a list in one cell, or one in each of several."""
    for name in SHOWN:
        value = cells.get(name)
        items = [] if value in (None, "") else [*chain(*_in_one_cell(value, location))]
        if len(items) > 1:  # a set may be called by one number
            return items
    options = (cell_text(cells[name]) for name in sorted(_options(cells)))
    return [item for item in options if item is not None]


def _options(names: Iterable[str]) -> list[str]:
    """Return the columns that hold what was shown: item1, item2, ...; or else a, b, c, ..."""
    names = [*names]
    numbered = [*filter(_OPTION.match, names)]
    letters = [*filter(_LETTER.match, names)] if {"best", "worst"} <= {*names} else []
    return numbered or letters


def _is_best_worst(table: Table) -> bool:
    have = table.columns.keys()
    return {"best", "worst"} <= have and (bool(have & {*SHOWN}) or len(_options(have)) > 2)  # noqa: PLR2004


def _best_worst(records: Records, choices: Choices, notes: Notes) -> Iterator[Row]:
    orders = Orders(choices.ranking_weight, "best-worst choice")
    for k, (location, record) in enumerate(records, 1):
        cells = under_our_names(record, location, choices)
        who, shown = _who(cells, f"choice {k}", choices, notes), _shown(cells, location)
        ends = [cell_text(cells.get(name)) for name in ("best", "worst")]
        if not {*ends} & {*shown}:  # they may name the columns of the items
            ends = [cell_text(cells.get((end or "").lower(), end)) for end in ends]
        for name, item in zip(("best", "worst"), ends, strict=True):
            if item is not None and item not in shown:
                raise TableError(
                    f"{location}: the {name}, '{item}', is not among the items shown "
                    f"({', '.join(shown[:5])}); correct the row."
                )
        best, worst = ([] if item is None else [item] for item in ends)
        rest = [item for item in shown if item not in ends]
        tiers = [tier for tier in (best, rest, worst) if tier]
        like = _like(cells, who, location, f"choice {k}", choices)
        yield from orders.apart(tiers, like, tied=False)
    notes += orders.notes


def _is_choix(table: Table) -> bool:
    def fits(entry: Any) -> bool:
        if not isinstance(entry, list) or len(entry) < 2:  # noqa: PLR2004
            return False
        flat = [entry[0], *entry[-1]] if isinstance(entry[-1], list) else entry
        return all(type(item) is int for item in flat)

    entries = table.rows[:LOOKED_AT] if not table.header else ()
    return bool(entries) and all(map(fits, entries))


def _choix(records: Records, choices: Choices, notes: Notes) -> Iterator[Row]:
    orders = Orders(choices.ranking_weight)
    for k, (location, entry) in enumerate(records, 1):
        if not isinstance(entry, list | tuple) or len(entry) < 2:  # noqa: PLR2004
            raise TableError(f"{location}: is not (winner, loser), (winner, losers) or a ranking.")
        top = isinstance(entry[1], list | tuple)
        tiers = [entry[:1], entry[1]] if top else [[item] for item in entry]
        if any(isinstance(i, list | tuple) or cell_text(i) is None for t in tiers for i in t):
            raise TableError(f"{location}: has an entry that is no item.")
        named = [[str(cell_text(item)) for item in tier] for tier in tiers]
        like = Row(None, None, None, "left", location)
        if len(entry) == 2 and not top:  # noqa: PLR2004
            who = nobody(choices, notes)
            yield like._replace(annotator=who, left=named[0][0], right=named[1][0])
        else:
            # Each stands for itself: whoever gave it, a bootstrap draws it whole.
            like = like._replace(annotator=choices.made_up(f"ranking {k}"), ranking=f"ranking {k}")
            yield from orders.apart(named, like, tied=not top)
    notes += orders.notes
    if orders.number:
        note(notes, "the file names no annotators: each ranking is taken as one annotator's")


RANKINGS = {
    "best-worst": Format(
        _is_best_worst,
        rows=_best_worst,
        renames=True,
        summary="best-worst choices: annotator, best, worst and what was shown (item1, item2, ... "
        "or items)",
        general=True,
    ),
    "rankings": Format(
        _are_rankings,
        rows=_rankings,
        renames=True,
        options=("order",),
        summary="rankings: annotator, r1, r2, ...; annotator, ranking ('a > b = c'); or annotator, "
        "item, rank",
        general=True,
    ),
    "choix": Format(
        _is_choix,
        rows=_choix,
        sided=lambda _: False,
        summary="choix: [[winner, loser], ...], [[winner, [losers]], ...] or rankings",
        general=True,
    ),
}
