"""Read features of items: a column ``item``, and numbers in all the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from aggcal.data.features import Features
from aggcal.errors import FeatureError, TableError, TooLittleDataError
from aggcal.io.per_item import LARGEST, fetch, ids, numbers, refuse_double_items, refuse_numbers
from aggcal.io.tables.numerals import plain_numbers
from aggcal.io.tables.opening import opened


class _EveryColumn(Mapping[str, str]):
    """Wants every column, by a name that means nothing to SQL whatever the user called it."""

    def __getitem__(self, name: str) -> str:
        return name if name == "item" else f"f{name.encode().hex()}"

    def __iter__(self) -> Iterator[str]:
        return iter(("item",))

    def __len__(self) -> int:
        return 1


def read_features(data: Any) -> Features:
    """Read a table of features: ``item`` and one or more columns of numbers, of any names.

    Parameters
    ----------
    data
        A path, a data frame, a list of ``(item, number, number, ...)`` tuples or of mappings, or
        a mapping of columns.

    Examples
    --------
    >>> read_features({"item": ["a", "b"], "length": [120, 80], "rare words": [0.1, 0.3]}).names
    ('length', 'rare words')
    """
    own = _EveryColumn()
    first = data[0] if isinstance(data, list | tuple) and data else ()
    width = max(2, len(first)) if isinstance(first, list | tuple) else 2
    shapes = {width: ("item", *(f"x{k}" for k in range(1, width)))}
    with opened(data, own, what="features", shapes=shapes) as source:
        source.require(("item",), "a table of features names its items in the column 'item'.")
        names = [name.strip() for name in source.found if name.strip().lower() != "item"]
        if not names:
            raise TableError(
                f"{source.name}: there is no column besides 'item'; add columns of numbers."
            )
        if "" in names:
            # Most often the row numbers of a data frame: they would be taken for a feature.
            raise TableError(f"{source.name}: a column has no name; name it or remove it.")
        if not source.rows():
            raise TooLittleDataError(f"{source.name}: has a header but no row; add items.")
        refuse_double_items(source, FeatureError)
        columns = [own[name.lower()] for name in names]
        notes = list(source.notes)
        for column, name in zip(columns, names, strict=True):
            notes += plain_numbers(source, column, name)
        table = fetch(source, columns)
        matrix = np.column_stack([numbers(table[column]) for column in columns])
        for k in np.flatnonzero(~(np.abs(matrix) <= LARGEST).all(axis=0)).tolist():
            refuse_numbers(
                source,
                columns[k],
                f"feature '{names[k]}'",
                positive=False,
                optional=False,
                error=FeatureError,
                otherwise="leave the column out",
            )
        return Features(ids(table["item"]), matrix, tuple(names), source.name, tuple(notes))
