"""What tables share whose columns are numbers of any name: features, and what is held equal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.data.scores import LARGEST
from aggcal.errors import FeatureError, TableError, TooLittleDataError
from aggcal.io.per_item import fetch, numbers, refuse_numbers
from aggcal.io.tables.numerals import plain_numbers
from aggcal.io.tables.source import Source


class EveryColumn(Mapping[str, str]):
    """Wants every column, by a name that means nothing to SQL whatever the user called it.

    Examples
    --------
    >>> EveryColumn()["item"], EveryColumn()["a b"]
    ('item', 'f612062')
    """

    def __getitem__(self, name: str) -> str:
        return name if name == "item" else f"f{name.encode().hex()}"

    def __iter__(self) -> Iterator[str]:
        return iter(("item",))

    def __len__(self) -> int:
        return 1


def shapes_of(data: Any, first: Sequence[str]) -> dict[int, tuple[str, ...]]:
    """Return what the columns of tuples are called: some names, then x1, x2, ...

    Examples
    --------
    >>> shapes_of([("a", 1.0, 2.0)], ("item",))
    {3: ('item', 'x1', 'x2')}
    """
    row = data[0] if isinstance(data, list | tuple) and data else ()
    width = max(len(first) + 1, len(row) if isinstance(row, list | tuple) else 0)
    return {width: (*first, *(f"x{k}" for k in range(1, width - len(first) + 1)))}


def number_names(source: Source, others: Sequence[str]) -> list[str]:
    """Return the names of the columns of numbers: all but some others."""
    names = [name.strip() for name in source.found if name.strip().lower() not in others]
    if not names:
        besides = " and ".join(f"'{name}'" for name in others)
        raise TableError(f"{source.name}: there is no column besides {besides}; add columns of "
                         "numbers.")  # fmt: skip
    if "" in names:
        # Most often the row numbers of a data frame: they would be taken for a feature.
        raise TableError(f"{source.name}: a column has no name; name it or remove it.")
    if not source.rows():
        raise TooLittleDataError(f"{source.name}: has a header but no row; add items.")
    return names


def number_columns(
    source: Source, names: Sequence[str], what: str, otherwise: str = "leave the column out"
) -> tuple[dict[str, Any], FloatArray, list[str]]:
    """Return the fetched table, its numbers, and notes; refuse what is no number.

    Parameters
    ----------
    source, names
        The table, and which of its columns hold numbers.
    what
        What such a column is, for messages.
    otherwise
        What to do where no number can be given.
    """
    own, notes = EveryColumn(), list(source.notes)
    columns = [own[name.lower()] for name in names]
    for column, name in zip(columns, names, strict=True):
        notes += plain_numbers(source, column, name)
    table = fetch(source, columns)
    matrix = np.column_stack([numbers(table[column]) for column in columns])
    for k in np.flatnonzero(~(np.abs(matrix) <= LARGEST).all(axis=0)).tolist():
        refuse_numbers(
            source,
            columns[k],
            f"{what} '{names[k]}'",
            positive=False,
            optional=False,
            error=FeatureError,
            otherwise=otherwise,
        )
    return table, matrix, notes
