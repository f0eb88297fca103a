"""Which side won, however a table says it: by the side, by a strength, or by the item's id."""

from __future__ import annotations

from collections.abc import Sequence

from aggcal.errors import OutcomeError, TableError, count
from aggcal.io.formats._base import Choices, Notes, number_of
from aggcal.io.formats._labels import NO_SIDE, Labels
from aggcal.io.tables.source import Source, cell, quoted

STRENGTHS = (
    "numbers that say who won are taken as the strength of the left: 1 means that the left item "
    "won, 0 the right"
)
_TURNED = (
    "numbers between 0 and 1 are taken as the strength of the right, since 1 means that the right "
    "item won"
)


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
    round unseen. So are numbers from 0 to 1, which in our own columns are the strength of the
    left: elsewhere 1 often is the right item, and only the user can tell.

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

    def by_label() -> str:
        direct = _directed(source, said, pair, found, choices=choices, notes=notes, own=own)
        found.say(notes, labels)
        return direct if found.are_ours else f"coalesce({label}, {direct})"

    if own and found.are_ours:
        return by_label()
    item = f"(CASE {said} WHEN {pair[0]} THEN 'left' WHEN {pair[1]} THEN 'right' END)"
    side = (
        f"coalesce({label}, CASE WHEN {strength} = 1 THEN 'left' WHEN {strength} = 0 THEN 'right' "
        f"WHEN {strength} BETWEEN 0 AND 1 THEN 'between' END)"
    )
    if not source.one("count(*)", f"{open_} AND {item} IS NOT NULL"):
        return by_label()
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
    if by_side and not by_item:
        return by_label()
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


def _directed(
    source: Source,
    said: str,
    pair: tuple[str, str],
    found: Labels,
    *,
    choices: Choices,
    notes: Notes,
    own: bool,
) -> str:
    """Write the SQL of outcomes whose numbers are strengths of the left, or refuse them.

    They are in our own columns, if the file calls them so, and where the user says what 0 or 1
    means.
    """
    if not found.strengths:
        return said
    number = f"try_cast({found.open(said)} AS DOUBLE)"
    stated = {number_of(label): str(side)[:4] for label, side in choices.outcomes.items()}
    straight = stated.get(1.0) == "left" or stated.get(0.0) == "righ"
    turned = stated.get(1.0) == "righ" or stated.get(0.0) == "left"
    sides = "left", "right"
    named = {*sides, "outcome"} & choices.columns.keys()
    if not (own and pair == tuple(map(cell, sides)) and not named):
        ends = [label for label, _ in source.frequencies(said, f"{number} IN (0, 1)")]
        between = f"{number} > 0 AND {number} < 1 AND {number} <> 0.5"
        open_ = source.one("count(*)", between) and straight == turned
        if (ends or open_) and not source.one("count(*)", f"NOT {number} BETWEEN 0 AND 1"):
            names = [one.strip('"') for one in (said, *pair)]
            _refuse_direction(source.name, [choices.columns.get(n, n) for n in names], ends)
    if not turned:
        # A side that is named in the same column tells as much.
        notes += [] if {"left", "right"} & {*found.means.values()} else [STRENGTHS]
        return said
    notes.append(_TURNED)
    return f"CASE WHEN {number} > 0 AND {number} < 1 THEN (1 - {number})::VARCHAR ELSE {said} END"


def _refuse_direction(name: str, columns: Sequence[str], ends: Sequence[str]) -> None:
    """Refuse numbers of which nobody knows which side they are for, with both readings."""
    column, left, right = columns
    labels = sorted(ends, key=float, reverse=True) or ["1", "0"]

    def options(*sides: str) -> str:
        return " ".join(f"--outcome {label}={sides[float(label) != 0.0]}" for label in labels)

    raise OutcomeError(
        f"{name}: column '{column}' says by numbers from 0 to 1 which item won, and 1 may stand "
        f"for '{left}' or for '{right}'; say {options('right', 'left')} if it stands for "
        f"'{left}', or {options('left', 'right')} if for '{right}'."
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
