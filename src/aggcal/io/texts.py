"""Read what the items say: one text per item, for people who read the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aggcal.errors import OptionError, TableError, TooLittleDataError, did_you_mean
from aggcal.io.per_item import refuse_double_items
from aggcal.io.tables.opening import opened


@dataclass(frozen=True)
class Texts:
    """The texts of some items, and the table that they come from."""

    by_item: Mapping[str, str]
    source: str = "texts"
    notes: tuple[str, ...] = ()
    pictures: Mapping[str, str] = field(default_factory=dict)
    """What items look like: addresses that hold the picture themselves."""


def read_texts(data: Any, *, column: str = "text", item: str = "item") -> Texts:
    """Read a table of texts: ``item, text``; items without a text are left out.

    Parameters
    ----------
    data
        A path, a data frame, a list of ``(item, text)`` tuples or of mappings, a mapping of
        columns, or a mapping of item to text.
    column, item
        The names of the columns that hold the text and the ids.

    Examples
    --------
    >>> read_texts([("a", "Once upon a time"), ("b", None)]).by_item
    {'a': 'Once upon a time'}
    """
    if isinstance(data, Texts):
        return data
    if column.strip().lower() == item.strip().lower():
        raise OptionError(f"the column '{item}' names the items; give the column of their texts.")
    if isinstance(data, Mapping) and not any(str(key).lower() == item.lower() for key in data):
        return Texts({str(name): str(text) for name, text in data.items() if text is not None})
    aliases, shapes = {"item": item, "text": column}, {2: (item, column)}
    with opened(data, ("item", "text"), what="texts", shapes=shapes, aliases=aliases) as source:
        missing = [c for name, c in aliases.items() if name not in source.columns]
        if missing:
            named = " and ".join(f"'{name}'" for name in missing)
            raise TableError(
                f"{source.name}: column {named} missing{did_you_mean(missing[-1], source.found)} "
                f"(found: {source.columns_found}); the texts "
                "need the columns item and text: rename one, or name that of the texts with "
                "--text-column."
            )
        if not source.rows():
            raise TooLittleDataError(f"{source.name}: has a header but no row; add items.")
        refuse_double_items(source, TableError)
        found = source.connection.execute(
            "SELECT item, text FROM raw WHERE text IS NOT NULL ORDER BY rowid"
        ).fetchall()
        return Texts(dict(found), source.name, source.notes)
