"""Tables whose columns have other names than ours: what they may be, for the user to confirm."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from aggcal.errors import OptionError
from aggcal.io.formats._labels import is_label
from aggcal.io.formats._layouts import refuse_columns_of_answers, refuse_other_layouts
from aggcal.io.formats._sample import Sample
from aggcal.io.formats._synonyms import (
    ANNOTATOR,
    ITEM,
    LEFT_RIGHT,
    OUTCOME,
    RATING,
    WINNER_LOSER,
)

_SIDES = (
    ("left", "right"), ("a", "b"), ("1", "2"), ("first", "second"), ("one", "two"), ("x", "y"),
    ("links", "rechts"), ("gauche", "droite"), ("izquierda", "derecha"), ("linker", "rechter"),
)  # fmt: skip
"""Words by which the names of two columns differ that hold what was shown side by side."""
PEOPLE = re.compile(
    r"worker|annotator|judge|rater|reviewer|assessor|coder|label+er|participant|subject|respondent"
    r"|voter|user|person|pid$|email|e-mail|teacher|marker|examiner|prüfer|lehrer|gutachter|^name$"
    r"|^your name$|jury|juror|response ?id|^who$|^wer$|^by$"
)
"""What columns are called that name people."""
_LIKELY = re.compile(r"item|image|stimul|text|essay|option|model|answer|input|id$|name|response")
"""What columns are called, beside their sides, that hold items."""
_DECIDED = re.compile(
    r"outcome|choice|chosen|answer|response|winner|prefer|better|best|result|label|vote|decision"
    r"|select|verdict|decid|urteil|ergebnis|wahl|gewinner|r[eé]sultat|pr[eé]f[eé]r"
)
"""What columns are called that say which of two won."""
_BEATEN = (
    ("winner", "loser"), ("won", "lost"), ("winning", "losing"), ("wins", "loses"),
    ("chosen", "notchosen"), ("chosen", "unchosen"), ("chosen", "rejected"), ("better", "worse"),
    ("best", "worst"),
    ("preferred", "other"), ("selected", "rejected"), ("gewinner", "verlierer"),
    ("gagnant", "perdant"), ("ganador", "perdedor"), ("vincitore", "perdente"),
)  # fmt: skip
"""Words by which the names of two columns differ, of which one holds what was put above."""
_NO_ITEM = {"", "0", "1", "true", "false", "x", "yes", "no"}
"""What holds no item, but says of one of the answers whether it was given."""


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
    if not sample.mappings:
        return
    known = next((pair for pair in WINNER_LOSER if sample.has(*pair)), None)
    beaten = known or _columns_that_differ(sample, _BEATEN)
    if beaten is not None and not any(sample.has(*pair) for pair in LEFT_RIGHT):
        _ask_for_winners(sample, beaten, known=known is not None)
        return
    if beaten is not None:
        return
    refuse_other_layouts(sample)
    sides = next((pair for pair in LEFT_RIGHT if sample.has(*pair)), None) or _sides(sample)
    if have & {*ITEM} and have & {*RATING}:
        return
    if sides is None:
        refuse_columns_of_answers(sample)
        return
    outcome = next((name for name in OUTCOME if name in have), None) or _outcome(sample, sides)
    who = next((name for name in ANNOTATOR if name in have), None) or _who(sample, sides)
    guessed = {"annotator": who, "left": sides[0], "right": sides[1], "outcome": outcome}
    ours = {*ANNOTATOR, *OUTCOME, *(sides if sides in LEFT_RIGHT else ())}
    asked = {own: name for own, name in guessed.items() if name is not None and name not in ours}
    if outcome is not None and asked:
        _ask(sample, asked, who)
    refuse_columns_of_answers(sample)


def _ask(sample: Sample, asked: Mapping[str, str], who: str | None) -> None:
    said = " ".join(f"--column {_quoted(f'{own}={name}')}" for own, name in asked.items())
    nobody = "" if who is not None else " --judged-by NAME"
    raise OptionError(
        f"{sample.name}: names its columns in other words (found: "
        f"{', '.join(sorted(sample.columns))}); if this is right, read it with {said}{nobody}."
    )


def _ask_for_winners(sample: Sample, beaten: tuple[str, str], *, known: bool) -> None:
    """Ask for the columns of winners, losers and annotators that have other names."""
    own = next((name for name in ANNOTATOR if name in sample.columns), None)
    who = own or _who(sample, beaten)
    asked = {"annotator": who} if own is None and who is not None else {}
    if not known:
        asked |= dict(zip(("winner", "loser"), beaten, strict=True))
    if asked:
        _ask(sample, asked, who)


def _quoted(text: str) -> str:
    """Quote what a shell would take apart."""
    return text if re.fullmatch(r"[\w=.-]*[\w=]", text) else f"'{text}'"


def _words(name: str) -> list[str]:
    return re.findall(r"[^\W\d_]+|\d+", name)


def _sides(sample: Sample) -> tuple[str, str] | None:
    """Return the two columns whose names differ in a word for a side, if there are but two."""
    return _columns_that_differ(sample, _SIDES)


def _columns_that_differ(
    sample: Sample, words: Sequence[tuple[str, str]]
) -> tuple[str, str] | None:
    """Return the only two columns of items whose names differ in such a pair of words."""
    found = [
        (one, two)
        for one, two in permutations(sorted(sample.columns), 2)
        if _differ(_words(one), _words(two), words)
        and not _goes_on(one, sample)
        and {*map(str.lower, sample.values(one))} - _NO_ITEM
    ]
    likely = [pair for pair in found if _LIKELY.search(pair[0])] or found
    return likely[0] if len(likely) == 1 else None


def _differ(one: Sequence[str], two: Sequence[str], words: Sequence[tuple[str, str]]) -> bool:
    apart = [pair for pair in zip(one, two, strict=False) if pair[0] != pair[1]]
    return len(one) == len(two) and len(apart) == 1 and apart[0] in words


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
        of_one_side = {word for pair in _SIDES for word in pair} & {*_words(name)}
        numbers = ("0", "1", "2") if _DECIDED.search(name) and not of_one_side else ()
        given = [(row[name], {row.get(side) for side in sides}) for row in rows if name in row]
        chosen = sum(
            value in items or value in sides or is_label(value) or _arrow(value) or value in numbers
            for value, items in given
        )
        return bool(given) and 2 * chosen > len(given)

    others = [n for n in sorted(sample.columns - {*sides, *ANNOTATOR, ""}) if not PEOPLE.search(n)]
    found = [name for name in others if says(name)]
    found = [name for name in found if _DECIDED.search(name)] or found
    return found[0] if len(found) == 1 else None


def _arrow(value: str) -> bool:
    return value in ("arrowleft", "arrowright", "links", "rechts", "gauche", "droite", "←", "→")


def _who(sample: Sample, sides: tuple[str, str]) -> str | None:
    found = [name for name in sorted(sample.columns - {*sides}) if PEOPLE.search(name)]
    return found[0] if found else None
