"""Which side won, however a table says it: by the side, by a strength, or by the item's id."""

from __future__ import annotations

from collections.abc import Mapping

from aggcal.errors import TableError
from aggcal.io.formats.base import Choices, Notes
from aggcal.io.source import Source, quoted

_NO_SIDE = ("tie", "skip", "failed")


def side_of(
    source: Source,
    said: str,
    pair: tuple[str, str],
    *,
    labels: Mapping[str, str],
    choices: Choices,
    notes: Notes,
) -> str:
    """Write the SQL of the outcome of tables that say it by labels or by the id of the winner.

    A column is read in one of the two ways throughout. Where both would do and differ, as where
    items are called like sides or like strengths, it is refused: a guess would turn judgments
    round unseen.

    Parameters
    ----------
    source
        The table.
    said, pair
        The SQL of the column that says who won, and of the items on the left and on the right.
    labels
        What its labels mean, in small letters, beyond left, right, tie, skip and failed.
    """
    mapped = {str(label).strip().lower() for label in choices.outcomes}
    known = {**{x: x for x in ("left", "right", *_NO_SIDE)}, **labels}
    known = {label: means for label, means in known.items() if label not in mapped}
    whens = " ".join(f"WHEN {quoted(k)} THEN {quoted(v)}" for k, v in known.items())
    label = f"(CASE lower({said}) {whens} END)"
    item = f"(CASE {said} WHEN {pair[0]} THEN 'left' WHEN {pair[1]} THEN 'right' END)"
    strength = f"try_cast({said} AS DOUBLE)"
    side = (
        f"coalesce({label}, CASE WHEN {strength} = 1 THEN 'left' WHEN {strength} = 0 THEN 'right' "
        f"WHEN {strength} BETWEEN 0 AND 1 THEN 'between' END)"
    )
    listed = ", ".join(map(quoted, ("", *mapped)))
    open_ = f"coalesce(lower({said}), '') NOT IN ({listed})"
    decided = f"{open_} AND ({item} IS NOT NULL OR coalesce({label}, '') NOT IN {_NO_SIDE})"
    if not source.one("count(*)", f"{open_} AND {item} IS NOT NULL"):
        numbers = source.one("count(*)", f"{open_} AND {label} IS NULL AND {strength} IS NOT NULL")
        if numbers:
            notes.append("numbers that say who won are taken as the strength of the left")
        return f"coalesce({label}, {said})"
    by_item = not source.one("count(*)", f"{decided} AND {item} IS NULL")
    by_side = not source.one("count(*)", f"{decided} AND {side} IS NULL")
    if by_item and by_side and source.one("count(*)", f"{decided} AND {item} <> {side}"):
        raise TableError(
            f"{source.name}: cannot tell whether the outcome names a side or an item, since items "
            "are called like sides; write left, right and tie."
        )
    if by_side:
        return f"coalesce({label}, {said})"
    # What is neither item must not pass for a side or a strength: it is an unknown outcome.
    neutral = f"CASE WHEN {label} IN {_NO_SIDE} THEN {label} END"
    stray = f"CASE WHEN {open_} AND {side} IS NOT NULL THEN 'neither item: ' || {said} END"
    return f"coalesce({item}, {neutral}, {stray}, {said})"
