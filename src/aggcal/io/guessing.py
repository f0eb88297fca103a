"""Tables in other words than ours: read where they have one reading, else refused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any

from aggcal.errors import OptionError, TableError, some
from aggcal.io.choices import Choices
from aggcal.io.formats.ratings import rated_columns
from aggcal.io.tables import Table, listed
from aggcal.io.words import (
    ANNOTATOR,
    ITEM,
    LEFT_RIGHT,
    NAMES,
    OUTCOME,
    RANKS,
    RATING,
    SHOWN,
    TRUTH,
    WINNER_LOSER,
    is_label,
    names_table,
    paired,
)

# fmt: off
_SIDES = (
    ("left", "right"), ("a", "b"), ("1", "2"), ("0", "1"), ("first", "second"), ("one", "two"),
    ("x", "y"),
    ("links", "rechts"), ("gauche", "droite"), ("izquierda", "derecha"), ("linker", "rechter"),
    ("sinistro", "destro"), ("erster", "zweiter"), ("erste", "zweite"), ("premier", "second"),
    ("0", "1"),
)
"""Words by which the names of two columns differ that hold what was shown side by side."""
_BEATEN = (
    *WINNER_LOSER, ("won", "lost"), ("winning", "losing"), ("wins", "loses"),
    ("chosen", "unchosen"), ("best", "worst"), ("selected", "rejected"),
    ("gewinner", "verlierer"), ("gagnant", "perdant"), ("ganador", "perdedor"),
    ("vincitore", "perdente"),
)
"""Words by which the names of two columns differ, of which one holds what was put above."""
_THIRD = {"1": "3", "0": "2", "a": "c", "first": "third", "one": "three", "x": "z"}
_NO_ITEM = {"", "0", "1", "true", "false", "x", "yes", "no"}
"""What holds no item, but says of one of the answers whether it was given."""
_DECIDED_ITEM = (
    "chosen", "choice", "winner", "best", "label", "answer", "preferred", "selected",
)
# fmt: on
_PEOPLE = re.compile(
    r"worker|annotator|judge|rater|reviewer|assessor|coder|label+er|participant|subject|respondent"
    r"|voter|user|person|pid$|email|e-mail|teacher|marker|examiner|prüf|lehr|gutacht|^name$"
    r"|^your name$|jury|juror|juge|enseignant|korrektor|bewert|response ?id|^who$|^wer$|^by$"
)
"""What columns are called that name people."""
_LIKELY = re.compile(r"item|image|stimul|text|essay|option|model|answer|input|id$|name|response")
"""What columns are called, beside their sides, that hold items."""
_DECIDED = re.compile(
    r"outcome|choice|chosen|answer|response|winner|prefer|better|best|result|label|vote|decision"
    r"|select|verdict|decid|urteil|ergebnis|wahl|gewinner|r[eé]sultat|pr[eé]f[eé]r|entscheidung"
    r"|\bwins?\b|_wins?\b|\bwon\b|besser|meilleur|mieux|choix|scelta|mejor"
)
"""What columns are called that say which of two won."""
_NEVER = re.compile(
    r"\b(?:rt|time|date|timestamp|duration|seconds|ms|trial|index|order|age|confidence|position|rank"
    r"|width|height|length|count|number|progress)\b"
)
"""What columns are called that hold neither items, people nor ratings."""
_KNOWN = {*ANNOTATOR, *OUTCOME, *ITEM, *RATING, "winner", "loser"}
_VERSUS = re.compile(r"\S\s+(?:vs?\.?|versus)\s+\S", re.IGNORECASE)
_FORM = "annotator,left,right,outcome"


def says_side(name: str) -> str | None:
    """Return which side the name of a column says was preferred where it holds "true".

    Examples
    --------
    >>> says_side("prefers_a"), says_side("Right is better"), says_side("prefers a to b")
    ('left', 'right', None)
    """
    words = {*_words(name)}
    sides = {side for pair in _SIDES for side, one in zip(("left", "right"), pair, strict=True)
             if one in words}  # fmt: skip
    return sides.pop() if len(sides) == 1 and _DECIDED.search(name.lower()) else None


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
        beaten = None if sides else _two_that_differ(table, _BEATEN)
        sides = sides or (None if beaten else _two_that_differ(table, _SIDES))
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
                f"{table.name}: {some(who)} may name who judged; say which, as in --column "
                f"{_quoted(f'annotator={who[0]}')}, or --judged-by NAME for none of them."
            )
        found |= {"annotator": who[0]} if who else {}
    found = {own: name for own, name in found.items() if own not in choices.columns}
    if found and choices.strict:
        said = " ".join(f"--column {_quoted(f'{own}={name}')}" for own, name in found.items())
        nobody = "" if have & {*ANNOTATOR} or "annotator" in found else " --judged-by NAME"
        raise OptionError(
            f"{table.name}: names its columns in other words (found: {listed(sorted(have))}); "
            f"if this is right, read it with {said}{nobody}."
        )
    return found


def _names_people(name: str) -> bool:
    return bool(_PEOPLE.search(name)) and not _is_measured(name)


def _is_measured(name: str) -> bool:
    return bool(_NEVER.search(" ".join(_words(name))))


def _quoted(text: str) -> str:
    """Quote what a shell would take apart."""
    return text if re.fullmatch(r"[\w=.-]*[\w=]", text) else f"'{text}'"


def _words(name: str) -> list[str]:
    return re.findall(r"[^\W\d_]+|\d+", name.lower())


def _two_that_differ(table: Table, words: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    """Return the only two columns of items whose names differ in such a pair of words."""

    def differ(one: str, two: str) -> bool:
        first, second = _words(one), _words(two)
        apart = [pair for pair in zip(first, second, strict=False) if pair[0] != pair[1]]
        return len(first) == len(second) and len(apart) == 1 and apart[0] in words

    pairs = [
        (one, two)
        for one, two in permutations(sorted(table.columns), 2)
        if differ(one, two)
        and not _goes_on(one, table)
        and not _is_measured(one)
        and {*map(str.lower, table.first(one))} - _NO_ITEM
    ]
    likely = [pair for pair in pairs if _LIKELY.search(pair[0])] or pairs
    likely = [pair for pair in likely if _words(pair[0])[-1:] == ["id"]] or likely
    return likely[0] if len(likely) == 1 else None


def _goes_on(name: str, table: Table) -> bool:
    """Whether there is a third column of the series: then it is a list, and no pair."""
    words, every = _words(name), [*map(_words, table.columns)]
    thirds = ([*words[:k], _THIRD.get(w), *words[k + 1 :]] for k, w in enumerate(words))
    return any(third in every for third in thirds)


def _outcome(table: Table, sides: tuple[str, str]) -> str | None:
    """Return the only column that says in most rows which of the two was chosen."""
    rows = [{k: str(v).strip().lower() for k, v in row.items()} for row in table.head]
    named = said_by_names(*sides)

    def says(name: str) -> bool:
        numbers = {"0", "1", "2"} if _DECIDED.search(name) else set()
        numbers = {"0", "1", *TRUTH} if says_side(name) else numbers
        numbers |= named.keys() if _DECIDED.search(name) else set()
        cells = [(row[name], {row.get(side) for side in sides}) for row in rows if row.get(name)]
        chosen = sum(
            value in {*items, *sides, *numbers} or is_label(value) for value, items in cells
        )
        return 2 * chosen > len(rows)

    others = sorted(table.columns.keys() - {*sides, *ANNOTATOR, ""})
    found = [name for name in others if not _PEOPLE.search(name) and says(name)]
    decided = [name for name in found if _DECIDED.search(name)] or found
    return decided[0] if len(decided) == 1 else None


# -------------------------------------------------------------------- what has no reading, or two


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
        raise OptionError(
            f"{table.name}: '{beaten[0]}' and '{beaten[1]}' say where an item was shown "
            f"({some(named)}), and the items are in '{sides[0]}' and '{sides[1]}'; read it with "
            f"--format table --column 'left={sides[0]}' --column 'right={sides[1]}' "
            f"--column 'outcome={beaten[0]}'."
        )


def _refuse_choices_among_more(table: Table) -> None:
    """Refuse the choice of one among items of one column, or of three and more columns."""
    have = table.columns.keys()
    decided = next((name for name in _DECIDED_ITEM if name in have), None)
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
    for name in (*SHOWN, "responses", "candidates"):
        if any(value.startswith("[") for value in table.first(name)):
            raise TableError(
                f"{table.name}: holds all items of a row in '{name}', and '{decided}' may name "
                f"one or count from 0 or from 1; {each}."
            )


def refuse_other_tables(table: Table, choices: Choices) -> None:
    """Refuse a table that has no pairs as what it is, or may be: one without a header, ratings."""
    have = table.columns.keys()
    first = (table.head or [{}])[0]
    below = str(first.get("") or "")
    if below and not all(first.values()):
        raise TableError(
            f"{table.name}: its header is in two rows, and columns have no name in the first "
            f"('{below}' is in the second); write all names into the first row and remove the "
            "second."
        )
    answers = _answers(table)
    if len(answers) > 1:
        raise TableError(
            f"{table.name}: has several columns of answers ({some(answers)}); write a row for each "
            f"answer, under the columns {_FORM}."
        )
    for name in sorted(have):
        values = table.first(name)
        if values and all(map(_VERSUS.search, values)):
            raise TableError(
                f"{table.name}: column '{name}' holds both items ('{values[0]}'); split it into "
                "two columns, left and right."
            )
    who = choices.annotator is not None or bool(have & {*ANNOTATOR})
    if have & {*ITEM} and have & {*RATING, "rank"} and not who:
        raise TableError(
            f"{table.name}: has a number for each item and no annotator (found: "
            f"{listed(table.header)}); if they are the model's scores they come second, after the "
            "judgments; if they are ratings, say who gave them with --column annotator=NAME."
        )
    sides = _two_that_differ(table, _SIDES)
    if sides is not None and not {*sides} & {*rated_columns(table.head)}:
        shown = " ".join(
            f"--column {_quoted(f'{own}={name}')}"
            for own, name in zip(("left", "right"), sides, strict=True)
        )
        raise TableError(
            f"{table.name}: column 'outcome' missing (found: {listed(table.header)}): '{sides[0]}' "
            f"and '{sides[1]}' look like pairs, but no column says in known words which was chosen;"
            f" name it with {shown} --column outcome=NAME, and its labels with --outcome "
            "LABEL=left --outcome LABEL=right."
        )
    if not paired(have) and not have & {"winner", "loser", "left", "right", "outcome"}:
        what = next(_may_be(table, who=who), None)
        if what is not None:
            raise OptionError(f"{table.name}: {what}.")


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


def _answers(table: Table) -> list[str]:
    """Return columns that hold answers: sides, marks of the side chosen, votes for pairs."""
    marks = {"true", "false", "0", "1", "x"}
    others = sorted(table.columns.keys() - {*ANNOTATOR, *ITEM, ""})
    sides = {name for pair in LEFT_RIGHT for name in pair}

    def asks(name: str) -> bool:
        """Whether a column is called by a pair: "A vs B", "Is A or B better?"."""
        named = all(cell.lower() in name for cell in table.first(name))
        return bool(_VERSUS.search(name) or (named and re.search(r"\S\s+or\s+\S", name)))

    def answered(name: str) -> bool:
        cells = [*map(str.lower, table.first(name))]
        marked = {*cells} <= marks and bool(_DECIDED.search(name))
        return bool(cells) and (marked or all(map(is_label, cells)))

    asked = [*filter(asks, others)]
    if len(asked) > 1:
        return asked
    answers = [name for name in others if name not in sides and answered(name)]
    distinct = [{*table.first(name)} for name in answers]
    # Items may be called A and B, too: answers are given more than once.
    return answers if len(set[str]().union(*distinct)) < sum(map(len, distinct)) else []


def _may_be(table: Table, *, who: bool) -> Iterator[str]:
    """Say what a table without pairs may be, the surest first, and how it is then read."""
    have = table.columns.keys()
    rank = next((name for name in RANKS if name in have), None)
    rated = next((name for name in RATING if name in have), None)
    item = next((name for name in ITEM if name in have), None)
    rest = [n for n in sorted(have - {*ANNOTATOR, *ITEM, rank, rated, ""}) if not _is_measured(n)]
    numbers = [name for name in rated_columns(table.head) if not _is_measured(name)]
    if who and rank:
        named = "" if item == "item" else f"--column 'item={item or (rest or ['NAME'])[0]}' "
        yield (
            f"holds ranks in the column '{rank}'; say which columns are meant with {named}"
            f"--column 'rank={rank}'"
        )
    if who and rated:
        yield (
            f"holds ratings ('{rated}') and names no items; say which column names what was rated "
            f"with --column item=NAME (there are {some(rest, 10)})"
        )
    if who and item and rest:
        order = ", and if it holds labels, name them with the best first, as in --order 'A,B,C'"
        order = "" if numbers else order
        yield (
            "names annotators and items but no rating; say which column it is "
            f"({some(numbers or rest)}), as in --column 'rating={(numbers or rest)[0]}'{order}"
        )
    if who and numbers:
        yield (
            f"has a row for each annotator and numbers in {some(numbers)}; if these columns are "
            "the items and the numbers their ratings, say --format ratings --order highest, or "
            "--order lowest if 1 is the best"
        )
    if who and (alike := _alike(table, sorted(have - {*ANNOTATOR, *ITEM, ""}))):
        yield (
            f"has a row for each annotator and the same labels in {some(alike)}; if these columns "
            "are the items and the labels their ratings or ranks, say --format ratings and name "
            "all labels, the best first, as in --order 'A,B,C'"
        )
    alone = [name for name in rest if name not in numbers]
    if len(numbers) > 1 and (item or len(alone) == 1):
        each = "" if item else f" --column 'item={alone[0]}'"
        yield (
            f"has several numbers for each item ({some(numbers)}); if each is one annotator's "
            f"rating, say so with --format ratings{each}; if they are scores, they come second, "
            "after the judgments"
        )


def _alike(table: Table, names: Iterable[str]) -> list[str]:
    """Return columns that hold the same few labels, as a scale in words has."""
    labels = {name: {*table.first(name)} for name in names}
    shared = {
        label
        for name, own in labels.items()
        for label in own
        if any(label in others for other, others in labels.items() if other != name)
    }
    few = 1 < len(shared) <= 11 and not any(map(is_label, shared))  # noqa: PLR2004
    return [name for name, own in labels.items() if few and own & shared]
