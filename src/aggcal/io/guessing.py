"""Tables in other words than ours: read where they have one reading, else refused."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any, NoReturn

import numpy as np

from aggcal.errors import OptionError, TableError, option, some
from aggcal.io.choices import Choices, is_strength
from aggcal.io.columns import number
from aggcal.io.formats.ratings import in_a_grid, is_rater, rated_columns
from aggcal.io.tables import Table, listed
from aggcal.io.words import (
    ANNOTATOR,
    ASKING,
    BEATEN,
    CHANCE,
    DECIDED,
    ITEM,
    KEY,
    LIKELY,
    LOST,
    MARKS,
    MEASURED,
    NEGATIVE,
    OF_SURVEYS,
    OUTCOME,
    PEOPLE,
    RANKS,
    RATING,
    SIDES,
    SUMMARIES,
    TALLIED,
    TIED,
    TRUTH,
    is_label,
    paired,
)
from aggcal.registry import RATINGS

_THIRD = {"1": "3", "0": "2", "a": "c", "first": "third", "one": "three", "x": "z"}
_NO_ITEM = {"", "0", "1", "true", "false", "x", "yes", "no", "accept", "reject"}
"""What holds no item, but says of one of the answers whether it was given."""
_KNOWN = {*ANNOTATOR, *OUTCOME, *ITEM, *RATING, "winner", "loser"}
_SHOWN = 200  # characters of a title that a message repeats


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
    small = name.lower()
    said = (DECIDED.search(small) or CHANCE.search(small)) and not NEGATIVE.search(
        " ".join(_words(name))
    )
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
    if not have & _KNOWN and _has_no_header(table):
        refuse_unread(table)
    found: dict[str, str] = {}
    sides = (known["left"], known["right"]) if "left" in known else None
    if "winner" not in known and not (have & {*ITEM} and have & {*RATING, "rank"}):
        beaten = None if sides else _two_that_differ(table, BEATEN)
        sides = sides or (None if beaten else _two_that_differ(table, SIDES))
        outcome = known.get("outcome") or next((name for name in OUTCOME if name in have), None)
        outcome = outcome or (_outcome(table, sides) if sides else None)
        answered = None if sides or beaten else _named_by_an_answer(table)
        if beaten is not None:
            found = dict(zip(("winner", "loser"), beaten, strict=True))
        elif answered is not None:
            found = dict(zip(("left", "right", "outcome"), answered, strict=True))
        elif sides is not None:
            said = {"outcome": str(outcome)} if outcome else _tallies(table, sides)
            found = dict(zip(("left", "right"), sides, strict=True)) | said if said else {}
            found = {own: name for own, name in found.items() if known.get(own) != name}
    complete = {"winner", "outcome", "left_wins"} & {*known, *found}
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
    people += ["id"] if not people and have & OF_SURVEYS and "id" in have else []
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
    texts = [n for n in rest if n not in (rank, rated, *numbers, *SUMMARIES) and table.first(n)]
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


def _has_no_header(table: Table) -> bool:
    """Whether the first line holds data like those below it."""
    cells = {name: [*map(str.lower, table.first(name))] for name in table.columns}
    return table.delimiter is not None and any(
        name in below or (is_label(name) and bool(below) and all(map(is_label, below)))
        for name, below in cells.items()
    )


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
    named = said_by_names(*(table.columns[side] for side in sides))
    tallied = {*_tallies(table, sides).values()}

    def says(name: str) -> bool:
        numbers = {"0", "1", "2"} if DECIDED.search(name) else set()
        numbers = {"0", "1", *TRUTH} if says_side(name) else numbers
        numbers |= named.keys() if DECIDED.search(name) or says_lost(name) is not False else set()
        strength = says_side(name) is not None
        cells = [(row[name], {row.get(side) for side in sides}) for row in rows if row.get(name)]
        chosen = sum(
            value in {*items, *sides, *numbers}
            or is_label(value)
            or (strength and is_strength(value))
            for value, items in cells
        )
        return 2 * chosen > len(rows)

    others = sorted(table.columns.keys() - {*sides, *ANNOTATOR, *tallied, ""})
    found = [name for name in others if not PEOPLE.search(name) and says(name)]
    decided = [name for name in found if DECIDED.search(name)] or found
    return decided[0] if len(decided) == 1 else None


def _named_by_an_answer(table: Table) -> tuple[str, str, str] | None:
    """Return two columns whose names are the answers in a third: baseline, candidate, better."""
    found = []
    for name in table.columns:
        answers = {*map(str.lower, table.first(name))} & table.columns.keys()
        sides = [other for other in table.columns if other in answers]
        # Items stand on either side at times; what people say of each side does not.
        items = [{*table.first(side)} for side in sides]
        texts = [one for one in set[str]().union(*items) if np.isnan(number(one))]
        both = set.intersection(*items) if items else set[str]()
        rest = {answer for answer in map(str.lower, table.first(name)) if not is_label(answer)}
        if len(sides) == 2 and name not in sides and texts and both and rest <= answers:  # noqa: PLR2004
            found.append((sides[0], sides[1], name))
    return found[0] if len(found) == 1 else None


def _tallies(table: Table, sides: tuple[str, str]) -> dict[str, str]:
    """Return the only two columns that say how often each side won, and that of neither."""
    one, two = map(_words, sides)
    apart = [pair for pair in zip(one, two, strict=False) if len({*pair}) > 1]
    found = []
    for left, right in permutations(table.columns.keys() - {*sides, ""}, 2):
        differ = [p for p in zip(_words(left), _words(right), strict=False) if len({*p}) > 1]
        names = " ".join(_words(left))
        alike = len(_words(left)) == len(_words(right)) and differ == apart[:1]
        if alike and TALLIED.search(names) and not NEGATIVE.search(names):
            found.append((left, right))
    if len(found) != 1:
        return {}
    tied = next((n for n in table.columns if {*_words(n)} & {*TIED}), None)
    ties = {"ties": tied} if tied else {}
    tallies = {"left_wins": found[0][0], "right_wins": found[0][1]} | ties
    cells = [cell.lower() for name in tallies.values() for cell in table.first(name)]
    return tallies if all(c in TRUTH or number(c) >= 0.0 for c in cells) else {}


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


def refuse_unread(table: Table) -> NoReturn:
    """Refuse a table of which nobody knows what its columns are, with each way to say it.

    No column is proposed: whoever follows a wrong proposal gets nonsense.
    """
    labels = dict.fromkeys(cell for name in in_a_grid(table.columns) for cell in table.first(name))
    ratings, pairs, who = (
        option("format", RATINGS),
        ("left", "right", "outcome"),
        "annotator=NAME",
    )
    if labels and not any(map(str.isdigit, labels)):
        order = option("order", "LABEL,LABEL,...")
        ratings += f" {order}, the best first (found: {','.join(labels)}),"
    raise TableError(
        f"{table.name}: cannot tell what its columns are (found: {listed(table.header)}); the "
        "first line must name them. Where a row compares two items, say which hold them, as in "
        f"{option('column', who, *(f'{own}=NAME' for own in pairs))} (or winner and loser); where "
        f"it rates or ranks an item, {option('column', who, 'item=NAME', 'rating=NAME')} (or "
        f"rank); where each column holds one annotator's ratings, {ratings} "
        f"{option('column', 'item=NAME')}; where each holds those of one item, {ratings} "
        f"{option('column', who)}. Make a row of each comparison; for exports see 'aggcal list "
        "formats'. Scores come second, after the judgments."
    )
