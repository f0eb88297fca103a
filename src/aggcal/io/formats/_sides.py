"""Which side won, however a table says it: by the side, by a strength, or by the item's id."""

from __future__ import annotations

from aggcal.errors import OutcomeError, TableError, count
from aggcal.io.formats._base import Choices, Notes
from aggcal.io.formats._labels import NO_SIDE, Labels
from aggcal.io.tables.source import Source, quoted


def side_of(
    source: Source,
    said: str,
    pair: tuple[str, str],
    *,
    choices: Choices,
    notes: Notes,
    labels: tuple[str, ...] = (),
    own: bool = False,
) -> str:
    """Write the SQL of the outcome of tables that say it by labels or by the id of the winner.

    A column is read in one of the two ways throughout. Where both would do and differ, as where
    items are called like sides or like strengths, it is refused: a guess would turn judgments
    round unseen.

    Parameters
    ----------
    source
        The table that was read.
    said, pair
        The SQL of the column that says who won, and of the items on the left and on the right.
    labels
        Labels that the format is known for: nobody need be told how they were taken.
    own
        Whether the column is our own ``outcome``. Where it holds nothing but what ours may hold, it
        means that, whatever the items are called.
    """
    found = Labels.of(source, said, choices)
    label = found.sql(said)
    open_ = f"{found.open(said)} IS NOT NULL"
    strength = f"try_cast({said} AS DOUBLE)"
    if own and found.are_ours:
        return said
    item = f"(CASE {said} WHEN {pair[0]} THEN 'left' WHEN {pair[1]} THEN 'right' END)"
    side = (
        f"coalesce({label}, CASE WHEN {strength} = 1 THEN 'left' WHEN {strength} = 0 THEN 'right' "
        f"WHEN {strength} BETWEEN 0 AND 1 THEN 'between' END)"
    )
    by_label = f"coalesce({label}, {said})"
    if not source.one("count(*)", f"{open_} AND {item} IS NOT NULL"):
        _say(found, notes, labels, own=own)
        return by_label
    decided = f"{open_} AND ({item} IS NOT NULL OR coalesce({label}, '') NOT IN {NO_SIDE})"
    by_item = not source.one("count(*)", f"{decided} AND {item} IS NULL")
    by_side = not source.one("count(*)", f"{decided} AND {side} IS NULL")
    differ = f"{decided} AND {item} <> {side}"
    if by_item and by_side and source.one("count(*)", differ):
        location, value = source.first(differ, said)
        raise TableError(
            f"{source.name}: {location} has the outcome '{value}', which may name a side or an "
            "item, and the other rows do not show which; write left, right or tie in every row."
        )
    if by_side:
        _say(found, notes, labels, own=own)
        return by_label
    if not by_item:
        # What is neither item must not pass for a side or a strength where others name items.
        _refuse_stray(source, said, f"{decided} AND {item} IS NULL AND {side} IS NOT NULL")
    neutral = ", ".join(map(quoted, NO_SIDE))
    return f"coalesce({item}, CASE WHEN {label} IN ({neutral}) THEN {label} END, {said})"


def _refuse_stray(source: Source, said: str, stray: str) -> None:
    number = source.one("count(*)", stray)
    if number:
        location, value = source.first(stray, said)
        raise OutcomeError(
            f"{source.name}: {location} has the outcome '{value}', which is neither of its two "
            f"items though other rows name the item that won ({count(number, 'such row')}); "
            "correct it, or write left, right or tie in every row."
        )


def _say(found: Labels, notes: Notes, labels: tuple[str, ...], *, own: bool) -> None:
    found.say(notes, labels)
    if found.strengths and not own:
        notes.append(
            "numbers that say who won are taken as the strength of the left: 1 means that the left "
            "item won, 0 the right"
        )


def labelled(source: Source, choices: Choices, notes: Notes) -> None:
    """Give the labels of records that were taken apart our own names, in place."""
    found = Labels.of(source, "outcome", choices)
    if not found.are_ours:
        label = found.sql("outcome")
        source.connection.execute(
            f"UPDATE raw SET outcome = {label} WHERE {label} IS NOT NULL AND outcome <> {label}"
        )
        found.say(notes)
