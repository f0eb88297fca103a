"""Read what the items say: one text per item, for people who read the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aggcal.errors import OptionError, TableError, TooLittleDataError, did_you_mean
from aggcal.io.per_item import OTHERS, is_one_by_one, items_named, refuse_double_items
from aggcal.io.tables.opening import opened
from aggcal.io.tables.source import Source


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

    The ids may be called as those of scores may be: ``id``, ``model``, ``essay``, ``paper``, ...

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
    if is_one_by_one(data, item):
        return Texts({str(name): str(text) for name, text in data.items() if text is not None})
    wanted = {**(OTHERS if item == "item" else {}), item.strip().lower(): "item"}
    wanted[column.strip().lower()] = "text"
    with opened(data, wanted, what="texts", shapes={2: (item, column)}) as loaded:
        source, notes = items_named(loaded)
        _require(source, item, column)
        if not source.rows():
            raise TooLittleDataError(f"{source.name}: has a header but no row; add items.")
        refuse_double_items(source, TableError)
        found = source.connection.execute(
            "SELECT item, text FROM raw WHERE text IS NOT NULL ORDER BY rowid"
        ).fetchall()
        return Texts(dict(found), source.name, (*notes, *source.notes))


def _require(source: Source, item: str, column: str) -> None:
    """Refuse a table without ids or without texts, and say how to name them."""
    if {"item", "text"} <= source.columns:
        return
    missing = [c for name, c in (("item", item), ("text", column)) if name not in source.columns]
    named = " and ".join(f"'{name}'" for name in missing)
    known = {item, column, *OTHERS}
    rest = [name for name in source.found if name.strip() and name.strip().lower() not in known]
    remedy = "call the column of the ids 'item'"
    if missing == [column]:
        remedy = "name the column of the texts with --text-column NAME"
        if len(rest) == 1:
            remedy = f"if the texts are in '{rest[0]}', say --text-column '{rest[0]}'"
    elif len(missing) > 1:
        remedy += ", and name that of the texts with --text-column NAME"
    noun = "column" if len(missing) == 1 else "columns"
    raise TableError(
        f"{source.name}: {noun} {named} missing{did_you_mean(missing[-1], source.found)} "
        f"(found: {source.columns_found}); {remedy}."
    )
