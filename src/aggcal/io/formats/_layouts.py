"""Tables that are laid out otherwise than a row for each answer: refused, each in its own words."""

from __future__ import annotations

import re

from aggcal.errors import OptionError, TableError, some
from aggcal.io.formats._labels import is_label
from aggcal.io.formats._sample import Sample
from aggcal.io.formats._synonyms import (
    ANNOTATOR,
    ITEM,
    LEFT_RIGHT,
    OUTCOME,
    PER_ITEM,
    RATING,
    WINNER_LOSER,
)
from aggcal.io.tables.delimited import names_table
from aggcal.registry import TABLE

_FORM = "annotator,left,right,outcome"
_EACH = f"write a row for each answer, under the columns {_FORM}"
_KNOWN = {*ANNOTATOR, *OUTCOME, *ITEM, *RATING, "winner", "loser"}
_VERSUS = re.compile(r"\S\s+(?:vs?\.?|versus)\s+\S", re.IGNORECASE)
_OR = re.compile(r"\S\s+or\s+\S", re.IGNORECASE)
"""How a question names two items."""
_MARKS = {"true", "false", "0", "1", "x"}
"""How a tool marks which of several answers was given, in a column for each of them."""
_ANSWERS = re.compile(r"answer|choice|prefer|select|label|vote|better|output|response")
"""What such columns are called."""
_THIRD = {"a": "c", "1": "3"}
"""How the name of a third item ends, by that of the first."""
_LISTS = ("options", "choices", "items", "responses", "candidates", "alternatives")
_DECIDED = ("chosen", "choice", "winner", "best", "label", "answer", "preferred", "selected")
"""What columns are called that hold all items of a row, and the one that was chosen."""
_COUNTS = re.compile(r"win|vote|count|score|prefer|n_|num|#")
"""What columns are called that count answers."""


def refuse_places_for_items(sample: Sample) -> None:
    """Refuse winners and losers that are places where items of other columns were shown.

    Examples
    --------
    >>> from aggcal.io.formats._sample import of_records
    >>> row = {"item_a": "e1", "item_b": "e2", "winner": "B", "loser": "A"}
    >>> refuse_places_for_items(of_records("f.csv", [row]))
    Traceback (most recent call last):
    aggcal.errors.OptionError: f.csv: 'winner' and 'loser' say where an item was shown ('A', 'B')...
    """
    beaten = next((pair for pair in WINNER_LOSER if sample.has(*pair)), None)
    sides = next((pair for pair in LEFT_RIGHT if sample.has(*pair)), None)
    if beaten is None or sides is None or sample.columns & ({*OUTCOME} - {*beaten}):
        return
    named = sorted({value for name in beaten for value in sample.values(name)})
    places = all(is_label(value) or value in ("0", "1", "2") for value in named)
    if named and places and not {*named} & {v for name in sides for v in sample.values(name)}:
        raise OptionError(
            f"{sample.name}: '{beaten[0]}' and '{beaten[1]}' say where an item was shown "
            f"({some(named)}), and the items are in '{sides[0]}' and '{sides[1]}'; read it with "
            f"--format {TABLE.name} --column 'left={sides[0]}' --column 'right={sides[1]}' "
            f"--column 'outcome={beaten[0]}'."
        )


def refuse_other_layouts(sample: Sample) -> None:
    """Refuse tables without a header, or with a pair in one column, in their own words.

    Examples
    --------
    >>> from aggcal.io.formats._sample import of_records
    >>> refuse_other_layouts(of_records("f.csv", [{"name": "ann", "A vs B": "A", "B vs C": "C"}]))
    Traceback (most recent call last):
    aggcal.errors.TableError: f.csv: has a column for each pair ('a vs b', 'b vs c'); write a row...
    """
    if len(sample.columns) == 1 and names_table(next(iter(sample.columns)).split(), _KNOWN):
        raise TableError(
            f"{sample.name}: its columns are parted by spaces; save it with commas or tabs between "
            "them."
        )
    _refuse_matrix(sample)
    _refuse_headers(sample)
    _refuse_pairs_in_a_cell(sample)
    _refuse_choices_among_more(sample)


def _refuse_headers(sample: Sample) -> None:
    """Refuse a table without a header, or with one in two rows."""
    if not sample.text.lstrip().startswith(("{", "[")):
        data = {name for name in sample.columns if name in map(str.lower, sample.values(name))}
        labels = {name for name in sample.columns if is_label(name) and _all_labels(sample, name)}
        if (data or labels) and not sample.columns & _KNOWN:
            raise TableError(
                f"{sample.name}: the first line holds data ({some(sorted(sample.columns))}), not "
                f"the names of columns; add a first line such as {_FORM} or "
                "annotator,winner,loser."
            )
    first = sample.mappings[0] if sample.mappings else {}
    below = str(first.get("", ""))
    if below and sum(not value for value in first.values()) > 0:
        raise TableError(
            f"{sample.name}: its header is in two rows, and columns have no name in the first "
            f"('{below}' is in the second); write all names into the first row and remove the "
            "second."
        )


def _refuse_matrix(sample: Sample) -> None:
    """Refuse a square table of wins: a row and a column for each item."""
    rows = {one.lower() for name in ("", *ITEM, *PER_ITEM) for one in sample.values(name)}
    across = sample.columns - {"", *ITEM, *PER_ITEM}
    if len(across) > 1 and rows == across:
        raise TableError(
            f"{sample.name}: has a row and a column for each item ({some(sorted(across))}); if it "
            "counts wins, write a row for each pair, under the columns "
            "annotator,winner,loser,weight."
        )


def _refuse_pairs_in_a_cell(sample: Sample) -> None:
    headed = [name for name in sample.columns if _VERSUS.search(name) or _asks(sample, name)]
    if len(headed) > 1:
        raise TableError(
            f"{sample.name}: has a column for each pair ({some(sorted(headed))}); {_EACH}."
        )
    for name in sorted(sample.columns):
        values = sample.values(name)
        if values and all(map(_VERSUS.search, values)):
            raise TableError(
                f"{sample.name}: column '{name}' holds both items ('{values[0]}'); split it into "
                "two columns, left and right."
            )


def _refuse_choices_among_more(sample: Sample) -> None:
    """Refuse the choice of one among items of one column, or of three and more columns."""
    decided = next((name for name in _DECIDED if name in sample.columns), None)
    if decided is None:
        return
    each = f"write a row for each item that '{decided}' beat, under annotator,winner,loser"
    for one, two in LEFT_RIGHT:
        third = one[:-1] + _THIRD.get(one[-1], "")
        if sample.has(one, two) and third not in (one, one[:-1]) and sample.values(third):
            raise TableError(
                f"{sample.name}: shows more than two items in a row ('{one}', '{two}', '{third}'); "
                f"{each}."
            )
    for name in _LISTS:
        if any(value.startswith("[") for value in sample.values(name)):
            raise TableError(
                f"{sample.name}: holds all items of a row in '{name}', and '{decided}' may name "
                f"one or count from 0 or from 1; {each}."
            )


def _asks(sample: Sample, name: str) -> bool:
    """Whether the name of a column is a question for one of two that its cells answer."""
    values = sample.values(name)
    return bool(_OR.search(name) and values) and all(one.lower() in name for one in values)


def refuse_columns_of_answers(sample: Sample) -> None:
    """Refuse tables with a column for each answer, question or annotator, and JSON in cells.

    Examples
    --------
    >>> from aggcal.io.formats._sample import of_records
    >>> row = {"left": "e1", "right": "e2", "Anna": "left", "Bob": "left"}
    >>> refuse_columns_of_answers(of_records("f.csv", [row, row]))
    Traceback (most recent call last):
    aggcal.errors.TableError: f.csv: has a column for each annotator ('anna', 'bob'); write a row...
    """
    if sample.columns & {*OUTCOME}:
        return
    others = sorted(sample.columns - {*ANNOTATOR, ""})
    marked = [
        name
        for name in others
        if _ANSWERS.search(name) and {*map(str.lower, sample.values(name))} <= _MARKS
    ]
    if len([name for name in marked if sample.values(name)]) > 1:
        raise TableError(
            f"{sample.name}: has a column for each answer ({some(marked)}); add a column 'outcome' "
            "that says left, right or tie."
        )
    packed = next((n for n in others if _ANSWERS.search(n) and _is_json(sample.values(n))), None)
    if packed is not None:
        raise TableError(
            f"{sample.name}: column '{packed}' holds answers as JSON; add a column 'outcome' that "
            "says left, right or tie."
        )
    counted = [name for name in others if _COUNTS.search(name) and _all_whole(sample, name)]
    if len(counted) > 1 and any(sample.has(*pair) for pair in LEFT_RIGHT):
        raise TableError(
            f"{sample.name}: counts the answers for each side ({some(counted)}); write a row for "
            "each side that has any, under the columns annotator,winner,loser,weight."
        )
    sides = {name for pair in LEFT_RIGHT for name in pair}
    voted = [name for name in others if name not in sides and _all_labels(sample, name)]
    answers = [{*sample.values(name)} for name in voted]
    # Items may be called A and B, too: answers are given more than once.
    repeated = len(sample.mappings) > 1 and len(set().union(*answers)) < sum(map(len, answers))
    if len(voted) > 1 and repeated:
        paired = any(sample.has(*pair) for pair in LEFT_RIGHT)
        what = "annotator" if paired else "question"
        raise TableError(f"{sample.name}: has a column for each {what} ({some(voted)}); {_EACH}.")


def _all_whole(sample: Sample, name: str) -> bool:
    values = sample.values(name)
    return bool(values) and all(one.isdecimal() for one in values)


def _is_json(values: list[str]) -> bool:
    return bool(values) and all(one.startswith(("{", "[{")) for one in values)


def _all_labels(sample: Sample, name: str) -> bool:
    values = sample.values(name)
    return bool(values) and all(map(is_label, values))
