"""Plain tables: our own columns, or the names that others have for them."""

from __future__ import annotations

from collections.abc import Mapping

from aggcal.errors import TableError
from aggcal.io.formats._base import Choices, Notes, TableFormat, not_needed, number_of
from aggcal.io.formats._sample import Sample
from aggcal.io.formats._sides import side_of
from aggcal.io.formats._synonyms import (
    ANNOTATOR,
    ITEM,
    LEFT_RIGHT,
    OUTCOME,
    RATING,
    SECONDS,
    TIMES,
    WINNER_LOSER,
)
from aggcal.io.tables.source import Source, cell, quoted

OWN = ("annotator", "winner", "loser", "left", "right", "outcome", "weight", "criterion")
EXTRA = ("seconds", "ranking", "screen", "reason", "sided")
UNSIDED = "no"
"""What the column ``sided`` says of an outcome that does not tell who stood on the left."""
_FORMS = (
    "a judgments table has the columns annotator, winner, loser or annotator, left, right, outcome;"
    " say which column is which, as in --column annotator=Coder --column 'winner=Better text', or"
    " --judged-by NAME if the table does not say who judged; for exports see 'aggcal formats'."
)


def _columns(source: Source, choices: Choices, notes: Notes) -> Mapping[str, str]:
    have = source.columns
    found = _items_and_outcome(source, choices, notes)
    who = next((name for name in ANNOTATOR if name in have), None)
    if who is not None:
        found["annotator"] = cell(who)
        if choices.annotator is not None:
            notes.append(not_needed(choices.annotator, who))
    elif choices.annotator is not None:
        found["annotator"] = quoted(choices.annotator)
    if "winner" not in found and "outcome" not in found:
        _refuse_numbers_per_item(source)
        needed: tuple[str, ...] = ("winner", "loser")
        if "left" in found:  # perhaps under another name; only the outcome is missing
            needed = ("outcome",)
        elif {"left", "right", "outcome"} & have:
            needed = ("left", "right", "outcome")
        source.require(needed if "annotator" in found else ("annotator", *needed), _FORMS)
    if "annotator" not in found:
        source.require(("annotator",), _FORMS)
    found |= {name: cell(name) for name in (*EXTRA, "weight", "criterion") if name in have}
    timed = next((name for name in SECONDS if name in have), None)
    if timed is not None and "seconds" not in found:
        found["seconds"] = f"try_cast({cell(timed)} AS DOUBLE) * {SECONDS[timed]}"
    _say(found, notes)
    return found


def _refuse_numbers_per_item(source: Source) -> None:
    """Refuse scores, or ratings that nobody is named for, in their own words."""
    names = source.columns | {name.strip().lower() for name in source.found}
    if names & {*ITEM} and names & {*RATING, "rank"}:
        raise TableError(
            f"{source.name}: has a number for each item and no annotator (found: "
            f"{source.columns_found}); if they are the model's scores they come second, after "
            "the judgments; if they are ratings, say who gave them with --column annotator=NAME."
        )


def _items_and_outcome(source: Source, choices: Choices, notes: Notes) -> dict[str, str]:
    pair = pair_columns(source.columns)
    if pair is None:
        return {}
    one, other = cell(pair[1]), cell(pair[2])
    if pair[0] == "winner":
        return {"winner": one, "loser": other}
    outcome = next((name for name in OUTCOME if name in source.columns), None)
    if outcome is None:
        return {"left": one, "right": other}
    own = outcome == "outcome"
    said = side_of(source, cell(outcome), (one, other), choices=choices, notes=notes, own=own)
    return {"left": one, "right": other, "outcome": said}


def pair_columns(have: frozenset[str]) -> tuple[str, str, str] | None:
    """Choose the two columns that hold the items: sides with an outcome before winner and loser."""
    sides = next(((a, b) for a, b in LEFT_RIGHT if {a, b} <= have), None)
    beaten = next(((a, b) for a, b in WINNER_LOSER if {a, b} <= have), None)
    decided = any(name in have for name in OUTCOME if beaten is None or name not in beaten)
    if sides is not None and (beaten is None or decided):
        return "left", *sides
    return None if beaten is None else ("winner", *beaten)


def _say(found: Mapping[str, str], notes: Notes) -> None:
    others = {
        own: expression.strip('"')
        for own, expression in found.items()
        if expression.startswith('"') and expression.strip('"') != own
    }
    if others:
        listed = ", ".join(f"{other} as {own}" for own, other in others.items())
        notes.append(f"columns taken: {listed}")


def unused_columns(sample: Sample, choices: Choices) -> Notes:
    """Say that columns tell how often a judgment was made, or that it was rejected.

    Nothing uses them unasked.

    Examples
    --------
    >>> from aggcal.io.formats._sample import of_records
    >>> unused_columns(of_records("f", [{"winner": "a", "loser": "b", "count": 3}]), Choices())
    ["the column 'count' is not used; --column weight=count weighs by it"]
    """
    named = {other.strip().lower() for other in choices.columns.values()}
    status = next((name for name in sorted(sample.columns) if name.endswith("status")), None)
    said = [value for value in sample.values(status or "") if value.lower() == "rejected"]
    notes = []
    if status is not None and said:
        notes.append(f"rows that are '{said[0]}' in the column '{status}' are read like the others")
    if "weight" in {*sample.columns, *choices.columns}:
        return notes
    found = next((name for name in TIMES if name in sample.columns - named), None)
    values = [] if found is None else map(number_of, sample.values(found))
    if any(value is not None and value > 1.0 for value in values):
        notes.append(f"the column '{found}' is not used; --column weight={found} weighs by it")
    return notes


def _uses(sample: Sample) -> tuple[str, ...]:
    own = (*OWN, *EXTRA, *SECONDS)
    if sample.has("annotator", "winner", "loser") or sample.has("annotator", *OWN[3:6]):
        return own
    pairs = (name for pair in (*LEFT_RIGHT, *WINNER_LOSER) for name in pair)
    return tuple(dict.fromkeys((*own, *ANNOTATOR, *OUTCOME, *pairs)))


def _is_mine(sample: Sample) -> bool:  # noqa: ARG001  # the last one asked: what is missing is told
    return True


FORMAT = TableFormat(
    _is_mine,
    _uses,
    _columns,
    options=("strength_scale",),
)
