"""Read features of items: a column ``item``, and numbers in all the others."""

from __future__ import annotations

from typing import Any

from aggcal.data.features import Features
from aggcal.errors import FeatureError
from aggcal.io.number_columns import EveryColumn, number_columns, number_names, shapes_of
from aggcal.io.per_item import ids, refuse_double_items
from aggcal.io.tables.opening import opened


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
    shapes = shapes_of(data, ("item",))
    with opened(data, EveryColumn(), what="features", shapes=shapes) as source:
        source.require(("item",), "a table of features names its items in the column 'item'.")
        names = number_names(source, ("item",))
        refuse_double_items(source, FeatureError)
        table, matrix, notes = number_columns(source, names, "feature")
        return Features(ids(table["item"]), matrix, tuple(names), source.name, tuple(notes))
