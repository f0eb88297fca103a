"""What tables with one row per item share: no item twice, and numbers that are numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, TextArray
from aggcal.data.scores import LARGEST
from aggcal.errors import InputError, ScoreError, TableError, count
from aggcal.io.formats._synonyms import ITEM, PER_ITEM
from aggcal.io.tables.numerals import blank_words, plain_numbers
from aggcal.io.tables.source import Source, cell, number_or_nan, quoted

OTHERS = {name: f"item_{k}" for k, name in enumerate((*ITEM, *PER_ITEM)) if k}
"""What the column of items may be called beside ``item``, and our own names of such columns."""


def is_one_by_one(data: Any, item: str) -> bool:
    """Whether data map each item to what belongs to it, and not names to columns.

    Examples
    --------
    >>> is_one_by_one({"a": 1.5}, "item"), is_one_by_one({"model": ["a"], "score": [1.5]}, "item")
    (True, False)
    """
    return (
        isinstance(data, Mapping)
        and not any(str(key).strip().lower() == item.strip().lower() for key in data)
        and all(isinstance(value, str) or not hasattr(value, "__len__") for value in data.values())
    )


def items_named(source: Source) -> tuple[Source, list[str]]:
    """Take the only column that is called as items are for the items, and say so.

    ``OTHERS`` must be among the columns that were wanted.
    """
    every = [(name, own) for name, own in OTHERS.items() if own in source.columns]
    found = [(name, own) for name, own in every if name not in PER_ITEM] or every
    if "item" in source.columns or len(found) != 1:
        return source, []
    name, own = found[0]
    source.connection.execute(f"ALTER TABLE raw RENAME COLUMN {own} TO item")
    return replace(source, columns=source.columns | {"item"}), [f"column '{name}' names the items"]


def refuse_double_items(source: Source, error: type[InputError] = ScoreError) -> None:
    """Refuse a table with a row that names no item, or one that was named before."""
    if source.one("count(*)", "item IS NULL"):
        location, _ = source.first("item IS NULL", "1")
        raise TableError(f"{source.name}: {location} has no item; fill it in or remove the row.")
    refuse_damaged_ids(source, ("item",))
    again = "rowid NOT IN (SELECT min(rowid) FROM raw GROUP BY item)"
    if bad := source.offending(again, "item"):
        raise error(
            f"{source.name}: duplicate item '{bad.value}' ({bad.location}; "
            f"{count(bad.number, 'duplicate row')} in total); keep one row per item."
        )


def refuse_numbers(
    source: Source,
    column: str,
    shown: str,
    *,
    positive: bool,
    optional: bool,
    error: type[InputError] = ScoreError,
    otherwise: str = "remove the row",
) -> None:
    """Refuse cells of a column that are no finite numbers.

    Parameters
    ----------
    source, column
        The table, and the reader's own name of the column.
    shown
        What the user calls it.
    positive, optional
        Whether numbers must be above 0, and whether a cell may be blank.
    error
        What to raise.
    otherwise
        What to do if no number can be given.
    """
    number = f'try_cast("{column}" AS DOUBLE)'
    faults = [
        (f'"{column}" IS NOT NULL AND {number} IS NULL', "is not a number"),
        (f"NOT isfinite({number})", "is not a finite number"),
        (f"abs({number}) > {LARGEST}", "is too large"),
    ]
    if not optional:
        faults.insert(0, (f'"{column}" IS NULL', "is missing"))
    if positive:
        faults.append((f"{number} <= 0", "is not positive"))
        faults.append((f"{number} < {1 / LARGEST}", "is too small"))
    if not source.any_row(where for where, _ in faults):
        return
    for where, what in faults:
        bad = source.one("count(*)", where)
        if bad:
            location, value = source.first(where, f'"{column}"')
            _, item = source.first(where, "item")
            said = f" ('{value}')" if value else ""
            hint = " (write decimals with a point)" if "," in value else ""
            raise error(
                f"{source.name}: {location}, item '{item}': the {shown}{said} {what} "
                f"({count(bad, 'such row')} in total); give a number{hint} or {otherwise}."
            )


_ERRORS = ("#n/a", "#ref!", "#name?", "#value!", "#div/0!", "#num!", "#null!", "#spill!")
_ABBREVIATED = "^[0-9]([.,][0-9]+)?E\\+(1[1-9]|[2-9][0-9])$"
"""How spreadsheets write a number of 12 digits and more into a CSV file."""


def damaged(column: str) -> list[tuple[str, str, str]]:
    """Write the SQL of what a spreadsheet does to ids, what that is called, and what to do.

    Examples
    --------
    >>> [what for _, what, _ in damaged("item")]
    ['is an error of a spreadsheet', 'is a long number that a spreadsheet has abbreviated']
    """
    errors = ", ".join(map(quoted, _ERRORS))
    return [
        (
            f'lower("{column}") IN ({errors})',
            "is an error of a spreadsheet",
            "correct the formula that makes the id and export the table again",
        ),
        (
            f'regexp_matches("{column}", {quoted(_ABBREVIATED)})',
            "is a long number that a spreadsheet has abbreviated",
            "format the column as text in the spreadsheet and export it again",
        ),
    ]


def refuse_damaged_ids(
    source: Source, columns: Sequence[str], shown: Mapping[str, str] | None = None
) -> None:
    """Refuse ids that a spreadsheet has replaced by an error, or by an abbreviated number.

    Parameters
    ----------
    source, columns
        The table, and the reader's own names of the columns.
    shown
        What the user calls those that have another name.
    """
    faults = [(column, *fault) for column in columns for fault in damaged(column)]
    if not source.any_row(where for _, where, _, _ in faults):
        return
    for column, where, what, remedy in faults:
        number = source.one("count(*)", where)
        if number:
            location, value = source.first(where, f'"{column}"')
            called = (shown or {}).get(column, column)
            raise TableError(
                f"{source.name}: {location}: '{value}' in column '{called}' {what} "
                f"({count(number, 'such row')} in total); {remedy}."
            )


def read_as_numbers(source: Source, column: str, shown: str, notes: list[str]) -> None:
    """Take words for nothing as blank, and numbers however people write them, in place."""
    blank_words(source, column)
    notes += plain_numbers(source, column, shown)


def fetch(source: Source, columns: Sequence[str]) -> dict[str, Any]:
    """Return the items and some columns of numbers, NaN for what is not a number."""
    cells = ", ".join(f'{number_or_nan(cell(c))} AS "{c}"' for c in columns)
    return source.connection.execute(f"SELECT item, {cells} FROM raw ORDER BY rowid").fetchnumpy()


def ids(column: Any) -> TextArray:
    """Return fetched ids."""
    return np.asarray(column, dtype=object)


def numbers(column: Any) -> FloatArray:
    """Return fetched numbers, NaN where there is none."""
    return np.asarray(column, dtype=np.float64)
