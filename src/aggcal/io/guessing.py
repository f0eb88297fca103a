"""Tables in other words than ours: read where they have one reading, else refused."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from aggcal.errors import OptionError, TableError, option, some
from aggcal.io.choices import Choices
from aggcal.io.formats.ratings import in_a_grid, is_rater, rated_columns
from aggcal.io.formats.scale import labelled
from aggcal.io.tables import Table, listed
from aggcal.io.words import (
    ANNOTATOR,
    ASKING,
    BEATEN,
    DECIDED,
    ITEM,
    KEY,
    LEFT_RIGHT,
    LIKELY,
    LOST,
    MARKS,
    MEASURED,
    NAMES,
    NEGATIVE,
    OUTCOME,
    PEOPLE,
    RANKS,
    RATING,
    SHOWN,
    SIDES,
    TRUTH,
    WINNER_LOSER,
    is_label,
    names_table,
    paired,
)

_THIRD = {"1": "3", "0": "2", "a": "c", "first": "third", "one": "three", "x": "z"}
_NO_ITEM = {"", "0", "1", "true", "false", "x", "yes", "no", "accept", "reject"}
"""What holds no item, but says of one of the answers whether it was given."""
_KNOWN = {*ANNOTATOR, *OUTCOME, *ITEM, *RATING, "winner", "loser"}
_VERSUS = re.compile(r"\S\s+(?:vs?\.?|versus)\s+\S", re.IGNORECASE)
_SHOWN = 200  # characters of a title that a message repeats
_FORM = "annotator,left,right,outcome"


def says_side(name: str) -> str | None:
    """Return which side the name of a column says was preferred where it holds "true".

    Examples
    --------
    >>> says_side("prefers_a"), says_side("Right is better"), says_side("Which one is better")
    ('left', 'right', None)
    """
    words = {*_words(name)} - {"one", "two"}  # "which one is better" is for neither
    sides = {
        side
        for pair in SIDES
        for side, one in zip(("left", "right"), pair, strict=True)
        if one in words
    }
    said = DECIDED.search(name.lower()) and not NEGATIVE.search(" ".join(_words(name)))
    return sides.pop() if len(sides) == 1 and said else None


def says_lost(name: str) -> bool | None:
    """Whether the name of a column says that it holds what lost; None if it may say so.

    Examples
    --------
    >>> says_lost("Which essay is weaker?"), says_lost("Winner"), says_lost("least_toxic")
    (True, False, None)
    """
    words = " ".join(word for word in _words(name) if word not in ASKING)
    return True if words in LOST else None if NEGATIVE.search(words) else False


def is_index(left: str, right: str) -> bool:
    """Whether the names of two columns count them from 0, so that 0 is the left one.

    Examples
    --------
    >>> is_index("response_0", "response_1"), is_index("text_1", "text_2")
    (True, False)
    """
    apart = [pair for pair in zip(_words(left), _words(right), strict=False) if len({*pair}) > 1]
    return apart == [("0", "1")]


def said_by_names(left: str, right: str) -> dict[str, str]:
    """Return what labels mean that are the names of the sides, or the words that tell them apart.

    Examples
    --------
    >>> said_by_names("Erster Text", "Zweiter Text")["erster"], said_by_names("x", "y z")
    ('left', {'x': 'left', 'y z': 'right'})
    """
    one, two = _words(left), _words(right)
    apart = [pair for pair in zip(one, two, strict=False) if pair[0] != pair[1]]
    first, second = apart[0] if len(one) == len(two) and len(apart) == 1 else ("", "")
    said = {left.lower(): "left", first: "left", right.lower(): "right", second: "right"}
    if (first, second) == ("home", "away"):
        said |= {"h": "left", "d": "tie", "a": "right"}
    return {text: side for text, side in said.items() if text}


def guessed(table: Table, known: Mapping[str, Any], choices: Choices) -> dict[str, str]:
    """Return what columns of ours are called in other words, where there is one reading.

    No number, time or trial is taken for an item or an annotator; two candidates are none.
    """
    have = table.columns.keys()
    if not {"left", "right", "outcome", "winner", "loser"} & choices.columns.keys():
        _refuse_choices_among_more(table)
    if not have & _KNOWN:
        _refuse_headers(table)
    found: dict[str, str] = {}
    sides = (known["left"], known["right"]) if "left" in known else None
    if "winner" not in known and not (have & {*ITEM} and have & {*RATING, "rank"}):
        beaten = None if sides else _two_that_differ(table, BEATEN)
        sides = sides or (None if beaten else _two_that_differ(table, SIDES))
        outcome = known.get("outcome") or next((name for name in OUTCOME if name in have), None)
        outcome = outcome or (_outcome(table, sides) if sides else None)
        if beaten is not None:
            found = dict(zip(("winner", "loser"), beaten, strict=True))
        elif sides is not None and outcome is not None:
            found = {"left": sides[0], "right": sides[1], "outcome": str(outcome)}
            found = {own: name for own, name in found.items() if known.get(own) != name}
    complete = {"winner", "outcome"} & {*known, *found}
    if complete and not have & {*ANNOTATOR} and choices.annotator is None:
        used = {*found.values(), *map(str, known.values())}
        who = [name for name in sorted(have - used) if _names_people(name)]
        if len(who) > 1:
            raise OptionError(
                f"{table.name}: {some(who)} may name who judged; say which, as in "
                f"{option('column', f'annotator={who[0]}')}, or {option('judged-by', 'NAME')} for "
                "none of them."
            )
        found |= {"annotator": who[0]} if who else {}
    found = {own: name for own, name in found.items() if own not in choices.columns}
    refuse_guesses(table, found, choices)
    return found


def refuse_guesses(table: Table, found: Mapping[str, str], choices: Choices) -> None:
    """Refuse names that are only guessed, where the user wants none of those."""
    if found and choices.strict:
        said = option("column", *(f"{own}={name}" for own, name in found.items()))
        if not (table.columns.keys() & {*ANNOTATOR} or "annotator" in found):
            said += f" {option('judged-by', 'NAME')}"
        raise OptionError(
            f"{table.name}: names its columns in other words (found: {listed(table.header)}); "
            f"if this is right, read it with {said}."
        )


def guessed_act(table: Table, choices: Choices, *, known: bool) -> dict[str, str]:
    """Return what the columns of ratings, ranks or rankings are called, where there is one reading.

    Of those that are known as such only who gave them, otherwise also the ``ranking``, or the
    ``item`` and its ``rating`` or ``rank``.
    """
    have = table.columns.keys() - {""}
    # A row with two items is no rating, whatever else it holds.
    sides = None if have & {*ITEM} else _two_that_differ(table, SIDES)
    if paired(have) or (sides and not {*sides} & {*rated_columns(table.head)}):
        return {}
    found: dict[str, str] = {}
    who = next((name for name in ANNOTATOR if name in have), None)
    people = [name for name in sorted(have - {*ITEM, "name"}) if _names_people(name)]
    if who is None and choices.annotator is None and len(people) == 1:
        found["annotator"] = who = people[0]
    if known:
        return found
    rest = [n for n in table.columns if n in have - {who, *people} and not _is_measured(n)]
    orders = [n for n in rest if table.first(n) and all(">" in one for one in table.first(n))]
    if orders:
        return found | {"ranking": orders[0]} if len(orders) == 1 else {}
    numbers = [
        n
        for n in rated_columns(table.head)
        if n != who and not _is_measured(n) and not {*table.first(n)} <= {"0", "1"}
    ]
    # A position may as well be where an item was shown.
    rank = next((name for name in RANKS if name in have and name != "position"), None)
    rated = next((name for name in RATING if name in have), None)
    rated = rated or (numbers[0] if len(numbers) == 1 and rank is None else None)
    item = next((name for name in ITEM if name in have), None)
    texts = [n for n in rest if n not in (rank, rated, *numbers) and table.first(n)]
    if item is None and len(texts) == 1 and (rank or rated or sum(map(is_rater, have)) > 1):
        item = texts[0]
    nobody = who is None and choices.annotator is None and rated not in MARKS
    if item and (rank or rated) and not nobody and not (rank and rated):
        if _once_each(table, who, item):
            found |= {"item": item} | ({"rank": rank} if rank else {"rating": str(rated)})
    elif item and sum(map(is_rater, have)) > 1:
        found |= {"item": item}
    if not found.keys() - {"annotator"} and not in_a_grid(rated_columns(table.head)):
        return {}
    usual = {
        "item": ("item",) if rank else ITEM,
        "rank": ("rank",),
        "rating": RATING if who else (),
    }
    return {own: name for own, name in found.items() if name not in usual.get(own, ())}


def _once_each(table: Table, who: str | None, item: str) -> bool:
    """Whether each person has a row for an item once, and somebody has several."""
    names = [table.columns.get(str(name), "").strip().lower() for name in (who, item)]
    rows = [tuple(map(row.get, names)) for row in table.head]
    return len({*rows}) == len(rows) > len({person for person, _ in rows})


def _names_people(name: str) -> bool:
    return bool(PEOPLE.search(name)) and not _is_measured(name)


def _is_measured(name: str) -> bool:
    return bool(MEASURED.search(" ".join(_words(name))))


def _words(name: str) -> list[str]:
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return re.findall(r"[^\W\d_]+|\d+", parted.lower())


def _two_that_differ(table: Table, words: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    """Return the only two columns of items whose names differ in such a pair of words."""
    every: dict[tuple[str, ...], list[str]] = {}
    for name, spelt in table.columns.items():
        every.setdefault(tuple(_words(spelt)), []).append(name)

    def others(parts: tuple[str, ...], k: int, word: str | None) -> list[str]:
        return every.get((*parts[:k], word or "", *parts[k + 1 :]), [])

    pairs = dict.fromkeys(
        (one, two)
        for parts, names in every.items()
        # Where there is a third of the series, it is a list, and no pair.
        if not any(others(parts, k, _THIRD.get(word)) for k, word in enumerate(parts))
        for k, word in enumerate(parts)
        for first, second in words
        if first == word
        for one in names
        for two in others(parts, k, second)
        if not _is_measured(one) and {*map(str.lower, table.first(one))} - _NO_ITEM
    )
    likely = [pair for pair in pairs if LIKELY.search(pair[0])] or [*pairs]
    likely = [pair for pair in likely if _words(pair[0])[-1:] == ["id"]] or likely
    return likely[0] if len(likely) == 1 else None


def _outcome(table: Table, sides: tuple[str, str]) -> str | None:
    """Return the only column that says in most rows which of the two was chosen."""
    rows = [{k: str(v).strip().lower() for k, v in row.items()} for row in table.head]
    named = said_by_names(*sides)

    def says(name: str) -> bool:
        numbers = {"0", "1", "2"} if DECIDED.search(name) else set()
        numbers = {"0", "1", *TRUTH} if says_side(name) else numbers
        numbers |= named.keys() if DECIDED.search(name) or says_lost(name) is not False else set()
        cells = [(row[name], {row.get(side) for side in sides}) for row in rows if row.get(name)]
        chosen = sum(
            value in {*items, *sides, *numbers} or is_label(value) for value, items in cells
        )
        return 2 * chosen > len(rows)

    others = sorted(table.columns.keys() - {*sides, *ANNOTATOR, ""})
    found = [name for name in others if not PEOPLE.search(name) and says(name)]
    decided = [name for name in found if DECIDED.search(name)] or found
    return decided[0] if len(decided) == 1 else None


# -------------------------------------------------------------------- what has no reading, or two


def refuse_key(table: Table, ways: str) -> None:
    """Refuse a table above which it may be said what its answers mean, if that was not stated."""
    text = table.above
    if KEY.search(text) or NEGATIVE.search(text.lower()):
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        raise OptionError(
            f"{table.name}: above its header stands '{shown}', which may say what the answers "
            f"mean; say it with {ways}."
        )


def refuse_places_for_items(table: Table) -> None:
    """Refuse winners and losers that are places where items of other columns were shown."""
    have = table.columns.keys()
    beaten = next((pair for pair in WINNER_LOSER if {*pair} <= have), None)
    sides = next((pair for pair in LEFT_RIGHT if {*pair} <= have), None)
    if beaten is None or sides is None or have & ({*OUTCOME} - {*beaten}):
        return
    named = sorted({value for name in beaten for value in table.first(name)})
    places = all(is_label(value) or value in ("0", "1", "2") for value in named)
    if named and places and not {*named} & {v for name in sides for v in table.first(name)}:
        shown = option("column", f"left={sides[0]}", f"right={sides[1]}", f"outcome={beaten[0]}")
        raise OptionError(
            f"{table.name}: '{beaten[0]}' and '{beaten[1]}' say where an item was shown "
            f"({some(named)}), and the items are in '{sides[0]}' and '{sides[1]}'; read it with "
            f"{option('format', 'table')} {shown}."
        )


def _refuse_choices_among_more(table: Table) -> None:
    """Refuse the choice of one among items of one column, or of three and more columns."""
    have = table.columns.keys()
    decided = next(
        (name for name in (*OUTCOME, "chosen", "best", "preferred") if name in have), None
    )
    if decided is None:
        return
    each = f"write a row for each item that '{decided}' beat, under annotator,winner,loser"
    for one, two in LEFT_RIGHT:
        third = one[:-1] + {"a": "c", "1": "3"}.get(one[-1], "")
        if {one, two} <= have and third != one[:-1] and table.first(third):
            raise TableError(
                f"{table.name}: shows more than two items in a row ('{one}', '{two}', '{third}'); "
                f"{each}."
            )
    for name in SHOWN:
        if any(value.startswith("[") for value in table.first(name)):
            raise TableError(
                f"{table.name}: holds all items of a row in '{name}', and '{decided}' may name "
                f"one or count from 0 or from 1; {each}."
            )


def refuse_without_pairs(table: Table, known: Mapping[str, Any]) -> NoReturn:
    """Refuse a table that has no pairs with the best guess at what it holds instead."""
    have, found = table.columns.keys(), f"found: {listed(table.header)}"
    first = (table.head or [{}])[0]
    if first.get("") and not all(first.values()):
        raise TableError(
            f"{table.name}: its header is in two rows, and columns have no name in the first "
            f"('{first['']}' is in the second); write all names into the first row and remove the "
            "second."
        )
    for name in sorted(have):
        values = table.first(name)
        if values and all(map(_VERSUS.search, values)):
            raise TableError(
                f"{table.name}: column '{name}' holds both items ('{values[0]}'); split it into "
                "two columns, left and right."
            )
    sides = (known["left"], known["right"]) if "left" in known else _two_that_differ(table, SIDES)
    if sides is not None and not {*sides} & {*rated_columns(table.head)}:
        one, two = (table.columns[side] for side in sides)
        others = have - {*sides, *ANNOTATOR}
        decided = [table.columns[n] for n in others if DECIDED.search(n) and not PEOPLE.search(n)]
        outcome = decided[0] if len(decided) == 1 else "NAME"
        shown = option("column", f"left={one}", f"right={two}", f"outcome={outcome}")
        raise TableError(
            f"{table.name}: column 'outcome' missing ({found}): '{one}' and '{two}' look like "
            f"pairs, but no column says in known words which was chosen; name it with {shown}, and "
            f"its labels with {option('outcome', 'LABEL=left', 'LABEL=right')}, or numbers with "
            f"{option('strength-scale', 'LEFT:RIGHT')}."
        )
    found_labels = dict.fromkeys(cell for n in in_a_grid(have) for cell in table.first(n))
    if found_labels and not any(map(str.isdigit, found_labels)):
        raise TableError(
            f"{table.name}: each column of a question holds labels (found: "
            f"{','.join(found_labels)}); {labelled()}, and {option('format', 'ratings')}."
        )
    numbers = [name for name in rated_columns(table.head) if not _is_measured(name)]
    item = next((table.columns[name] for name in ITEM if name in have), "NAME")
    who = next((f"annotator={table.columns[n]}" for n in ANNOTATOR if n in have), "annotator=NAME")
    rated = [table.columns[name] for name in (*RATING, *numbers) if name in have]
    rating = f"rating={rated[0] if len({*rated}) == 1 else 'NAME'}"
    rank = next((f"rank={table.columns[name]}" for name in RANKS if name in have), rating)
    ratings, scores = option("format", "ratings"), ""
    if item != "NAME" and rated and not have & {*ANNOTATOR}:
        scores = " Scores of a model come second, after the judgments."
    raise TableError(
        f"{table.name}: no row is known to name two items and which of them won ({found}). If one "
        "does, name the columns, as in "
        f"{option('column', 'left=NAME', 'right=NAME', 'outcome=NAME')}; if a row is a rating or a "
        f"rank, as in {option('column', who, f'item={item}', rank)}; if each column holds the "
        f"ratings of one annotator, say {ratings} {option('column', f'item={item}')}; if those of "
        f"one item, {ratings} {option('column', who)}. Of several answers in a row make a row "
        f"each; for exports see 'aggcal formats'.{scores}"
    )


def _refuse_headers(table: Table) -> None:
    """Refuse a table without a header, or with one in two rows."""
    have = table.columns.keys()
    if len(have) == 1 and names_table({*next(iter(have)).split()}, NAMES):
        raise TableError(
            f"{table.name}: its columns are parted by spaces; save it with commas or tabs between "
            "them."
        )
    first = {name: [*map(str.lower, table.first(name))] for name in have}
    data = any(name in cells for name, cells in first.items())
    labels = any(is_label(n) and cells and all(map(is_label, cells)) for n, cells in first.items())
    judged = paired(have) and bool(have & {*OUTCOME})
    if (data or (labels and not judged)) and table.delimiter is not None:
        raise TableError(
            f"{table.name}: the first line holds data ({some(sorted(have))}), not the names of "
            f"columns; add a first line such as {_FORM} or annotator,winner,loser."
        )
