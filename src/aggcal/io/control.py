"""Read what is to be held equal: numbers that describe items, or items in contexts."""

from __future__ import annotations

from typing import Any

from aggcal.data.control import Control
from aggcal.errors import FeatureError, OptionError, TableError, count
from aggcal.io.number_columns import EveryColumn, number_columns, number_names, shapes_of
from aggcal.io.per_item import ids, refuse_damaged_ids, refuse_double_items
from aggcal.io.tables.opening import opened
from aggcal.io.tables.source import Source

_CONTEXT, _CONTROL = "context", "covariates"


def read_control(data: Any, *, context: str | None = None) -> Control:
    """Read covariates to hold equal: ``item``, perhaps a context, and columns of numbers.

    Parameters
    ----------
    data
        A path, a data frame, a list of tuples ``(item, number, ...)`` (with ``context``:
        ``(item, context, number, ...)``) or of mappings, or a mapping of columns.
    context
        What the context of the judgments is called, such as ``prompt``. If the table has a column
        of this name, or one called ``context``, each row describes an item in one context.

    Examples
    --------
    >>> table = {"item": ["a", "a", "b", "b"], "prompt": [1, 2, 1, 2], "words": [120, 80, 95, 60]}
    >>> read_control(table, context="prompt")
    Control(4 rows, words)
    """
    named = None if context is None else context.strip().lower()
    first = ("item",) if named is None else ("item", named)
    with opened(data, EveryColumn(), what=_CONTROL, shapes=shapes_of(data, first)) as source:
        source.require(("item",), "a table of what is held equal names its items in 'item'.")
        column = _context_column(source, named)
        others = ("item",) if column is None else ("item", column)
        names = number_names(source, others)
        if column is None:
            _refuse_double_items(source, named)
        else:
            _refuse_double_entries(source, column)
        table, matrix, notes = number_columns(source, names, "covariate", _otherwise(named))
        contexts = None
        if column is not None:
            query = f'SELECT "{EveryColumn()[column]}" AS c FROM raw ORDER BY rowid'
            contexts = ids(source.connection.execute(query).fetchnumpy()["c"])
        return Control(
            ids(table["item"]), matrix, tuple(names), contexts, source.name, tuple(notes)
        )


def _otherwise(named: str | None) -> str:
    """Say what to do with a column that holds no numbers: perhaps it is the context."""
    if named is not None:
        return "leave the column out"
    return "leave the column out (if it is the context of the judgments, name it with --context)"


def _context_column(source: Source, named: str | None) -> str | None:
    """Return the column of contexts, None where there is none."""
    found = [name.strip().lower() for name in source.found]
    if named is not None and named != "item" and named in found:
        return named
    if _CONTEXT not in found:
        return None
    if named is None:
        raise OptionError(
            f"{source.name}: has values by context (column 'context'), but it is not known which "
            "column of the judgments that is; name it with --context, or leave the column out."
        )
    return _CONTEXT


def _refuse_double_items(source: Source, named: str | None) -> None:
    try:
        refuse_double_items(source, FeatureError)
    except FeatureError as error:
        if named is None:
            hint = "if the values depend on a context, name the judgments' column with --context"
        else:
            hint = f"if the values depend on the {named}, add the column '{named}'"
        raise FeatureError(f"{str(error).removesuffix('.')}; {hint}.") from None


def _refuse_double_entries(source: Source, column: str) -> None:
    """Refuse rows without an item or context, and pairs of both that were named before."""
    own = EveryColumn()[column]
    for name, shown in (("item", "item"), (own, column)):
        if source.one("count(*)", f'"{name}" IS NULL'):
            location, _ = source.first(f'"{name}" IS NULL', "1")
            raise TableError(
                f"{source.name}: {location} has no {shown}; fill it in or remove the row."
            )
    refuse_damaged_ids(source, ("item", own), {own: column})
    again = f'rowid NOT IN (SELECT min(rowid) FROM raw GROUP BY item, "{own}")'
    number = source.one("count(*)", again)
    if number:
        location, item = source.first(again, "item")
        _, context = source.first(again, f'"{own}"')
        raise FeatureError(
            f"{source.name}: duplicate item '{item}' in {column} '{context}' ({location}; "
            f"{count(number, 'duplicate row')} in total); keep one row for each."
        )
