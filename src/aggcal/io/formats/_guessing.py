"""Tables whose columns have other names than ours: what they may be, for the user to confirm."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import permutations

from aggcal.errors import OptionError, TableError, some
from aggcal.io.formats._labels import is_label
from aggcal.io.formats._sample import Sample
from aggcal.io.formats._synonyms import (
    ANNOTATOR,
    ITEM,
    LEFT_RIGHT,
    OUTCOME,
    RATING,
    WINNER_LOSER,
)
from aggcal.io.tables.delimited import names_table

_SIDES = (
    ("left", "right"), ("a", "b"), ("1", "2"), ("first", "second"), ("one", "two"), ("x", "y"),
    ("links", "rechts"), ("gauche", "droite"), ("izquierda", "derecha"), ("linker", "rechter"),
)  # fmt: skip
"""Words by which the names of two columns differ that hold what was shown side by side."""
_PEOPLE = re.compile(
    r"worker|annotator|judge|rater|reviewer|assessor|coder|label+er|participant|subject|respondent"
    r"|voter|user|person|pid$|email|e-mail|teacher|marker|examiner|prüfer|lehrer|gutachter|^name$"
    r"|^your name$|jury|juror|response ?id"
)
"""What columns are called that name people."""
_LIKELY = re.compile(r"item|image|stimul|text|essay|option|model|answer|input|id$|name|response")
"""What columns are called, beside their sides, that hold items."""
_DECIDED = re.compile(
    r"outcome|choice|chosen|answer|response|winner|prefer|better|best|result|label|vote|decision"
    r"|select|verdict|urteil|ergebnis|wahl|gewinner|r[eé]sultat|pr[eé]f[eé]r"
)
"""What columns are called that say which of two won."""
_VERSUS = re.compile(r"\S\s+(?:vs?\.?|versus)\s+\S", re.IGNORECASE)
_KNOWN = {*ANNOTATOR, *OUTCOME, *ITEM, *RATING, "winner", "loser"}
_FORM = "annotator,left,right,outcome"


def ask_for_columns(sample: Sample) -> None:
    """Refuse a table that is one of judgments under other names, and say how to read it.

    Which column is which is guessed from names and cells, so it is only said, never taken.

    Examples
    --------
    >>> from aggcal.io.formats._sample import of_records
    >>> row = {"WorkerId": "w", "Input.left": "e1", "Input.right": "e2", "Answer.choice": "left"}
    >>> ask_for_columns(of_records("f.csv", [row]))
    Traceback (most recent call last):
    aggcal.errors.OptionError: f.csv: names its columns in other words (found: answer.choice,...
    """
    have = sample.columns
    if any(sample.has(*pair) for pair in WINNER_LOSER) or not sample.mappings:
        return
    _refuse_other_layouts(sample)
    sides = next((pair for pair in LEFT_RIGHT if sample.has(*pair)), None) or _sides(sample)
    if sides is None or (have & {*ITEM} and have & {*RATING}):
        return
    outcome = next((name for name in OUTCOME if name in have), None) or _outcome(sample, sides)
    who = next((name for name in ANNOTATOR if name in have), None) or _who(sample, sides)
    guessed = {"annotator": who, "left": sides[0], "right": sides[1], "outcome": outcome}
    known = {*ANNOTATOR, *OUTCOME, *(sides if sides in LEFT_RIGHT else ())}
    asked = {own: name for own, name in guessed.items() if name is not None and name not in known}
    if outcome is None or not asked:
        return
    said = " ".join(f"--column {_quoted(f'{own}={name}')}" for own, name in asked.items())
    nobody = "" if who is not None else " --judged-by NAME"
    raise OptionError(
        f"{sample.name}: names its columns in other words (found: {', '.join(sorted(have))}); "
        f"if this is right, read it with {said}{nobody}."
    )


def _quoted(text: str) -> str:
    """Quote what a shell would take apart."""
    return text if re.fullmatch(r"[\w=.-]*[\w=]", text) else f"'{text}'"


def _words(name: str) -> list[str]:
    return re.findall(r"[^\W\d_]+|\d+", name)


def _sides(sample: Sample) -> tuple[str, str] | None:
    """Return the two columns whose names differ in a word for a side, if there are but two."""
    found = [
        (one, two)
        for one, two in permutations(sorted(sample.columns), 2)
        if _differ(_words(one), _words(two)) and not _goes_on(one, sample)
    ]
    likely = [pair for pair in found if _LIKELY.search(pair[0])] or found
    return likely[0] if len(likely) == 1 else None


def _differ(one: Sequence[str], two: Sequence[str]) -> bool:
    apart = [pair for pair in zip(one, two, strict=False) if pair[0] != pair[1]]
    return len(one) == len(two) and len(apart) == 1 and apart[0] in _SIDES


def _goes_on(name: str, sample: Sample) -> bool:
    """Whether there is a third column of the series: then it is a list, and no pair."""
    third = {"1": "3", "a": "c", "first": "third", "one": "three", "x": "z"}
    words = _words(name)
    return any(
        [third.get(word, "") if k == at else other for k, other in enumerate(words)] == _words(rest)
        for at, word in enumerate(words)
        if word in third
        for rest in sample.columns
    )


def _cells(sample: Sample) -> Iterator[dict[str, str]]:
    for record in sample.mappings:
        yield {
            str(name).strip().lower(): str(value).strip().lower()
            for name, value in record.items()
            if value not in (None, "")
        }


def _outcome(sample: Sample, sides: tuple[str, str]) -> str | None:
    """Return the only column that says in every row which of the two was chosen."""
    rows = list(_cells(sample))

    def says(name: str) -> bool:
        given = [(row[name], {row.get(side) for side in sides}) for row in rows if name in row]
        chosen = sum(
            value in items or value in sides or is_label(value) or _arrow(value)
            for value, items in given
        )
        return bool(given) and 2 * chosen > len(given)

    others = [n for n in sorted(sample.columns - {*sides, *ANNOTATOR, ""}) if not _PEOPLE.search(n)]
    found = [name for name in others if says(name)]
    found = [name for name in found if _DECIDED.search(name)] or found
    return found[0] if len(found) == 1 else None


def _arrow(value: str) -> bool:
    return value in ("arrowleft", "arrowright", "links", "rechts", "gauche", "droite", "←", "→")


def _who(sample: Sample, sides: tuple[str, str]) -> str | None:
    found = [name for name in sorted(sample.columns - {*sides}) if _PEOPLE.search(name)]
    return found[0] if found else None


def _refuse_other_layouts(sample: Sample) -> None:
    """Refuse tables without a header, or with a pair in one column, in their own words."""
    if len(sample.columns) == 1 and names_table(next(iter(sample.columns)).split(), _KNOWN):
        raise TableError(
            f"{sample.name}: its columns are parted by spaces; save it with commas or tabs between "
            "them."
        )
    headed = [name for name in sample.columns if _VERSUS.search(name)]
    if len(headed) > 1:
        raise TableError(
            f"{sample.name}: has a column for each pair ({some(sorted(headed))}); write a row for "
            f"each answer, under the columns {_FORM}."
        )
    for name in sorted(sample.columns):
        values = sample.values(name)
        if values and all(map(_VERSUS.search, values)):
            raise TableError(
                f"{sample.name}: column '{name}' holds both items ('{values[0]}'); split it into "
                "two columns, left and right."
            )
    data = {name for name in sample.columns if name in map(str.lower, sample.values(name))}
    labels = {name for name in sample.columns if is_label(name) and _all_labels(sample, name)}
    if (data or labels) and not sample.columns & _KNOWN:
        raise TableError(
            f"{sample.name}: the first line holds data ({some(sorted(sample.columns))}), not the "
            f"names of columns; add a first line such as {_FORM} or annotator,winner,loser."
        )


def _all_labels(sample: Sample, name: str) -> bool:
    values = sample.values(name)
    return bool(values) and all(map(is_label, values))
