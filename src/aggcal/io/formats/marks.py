"""Contexts and categories of records: looked up in each, and put on the rows it becomes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from aggcal.io.choices import Choices, column_of
from aggcal.io.formats.base import Format, Notes, Records, Row, cell_text

Mark: TypeAlias = tuple[str | None, tuple[str | None, ...]]
"""A context and categories, each None where there is none."""
_MOST_FIELDS = 200
"""Fields whose names are kept for a message: enough for any export, and no burden."""


def marked(
    cells: Mapping[str, Any], choices: Choices, known: Mapping[str, tuple[str, ...]] | None = None
) -> Mark:
    """Return the context and the categories of a row whose names are in small letters.

    Rankings are no names of themselves, since two people may rank alike: they are numbered
    elsewhere.

    Examples
    --------
    >>> marked({"question_id": 7, "lang": "de"}, Choices(context="prompt", by=("lang", "topic")))
    ('7', ('de', None))
    """
    said = {
        own: cell_text(cells.get(column_of(own, name, cells, known or {})))
        for own, name in choices.wished.items()
    }
    context = said.pop("context", None)
    return None if choices.by_ranking else context, (*said.values(),)


def of_both(one: tuple[str | None, ...], other: tuple[str | None, ...]) -> tuple[str | None, ...]:
    """Return the categories that two items share; a pair across categories is of none.

    Examples
    --------
    >>> of_both(("de", "news"), ("de", "sport"))
    ('de', None)
    """
    return tuple(a if a == b else None for a, b in zip(one, other, strict=True))


class Marks:
    """What the records of a file hold under the names that the user wants rows parted by."""

    def __init__(self, choices: Choices, form: Format) -> None:
        self._choices, self._form = choices, form
        self._marks: dict[str, Mark] = {}
        self.fields: dict[str, None] = {}

    def seen(self, records: Records) -> Records:
        """Go through the records, and remember what each holds."""
        for location, record in records:
            if self._choices.wished and isinstance(record, Mapping):
                parts = [record.get(name) for name in self._form.within]
                inside = [part for part in parts if isinstance(part, Mapping)]
                cells = {
                    str(name).strip().lower(): value
                    for part in (*reversed(inside), record)
                    for name, value in part.items()
                    if value not in (None, "")
                }
                self._marks[location] = marked(cells, self._choices, self._form.contexts)
                if len(self.fields) < _MOST_FIELDS:
                    self.fields |= dict.fromkeys(sorted({*cells} - {""}))
            yield location, record

    def on(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Put what a record holds on its rows, unless they have their own."""
        none: Mark = (None, (None,) * len(self._choices.by))
        for row in rows:
            context, by = self._marks.get(row.location.partition(", ")[0], none)
            yield row._replace(context=row.context or context, by=row.by or by)

    def notes(self) -> Notes:
        """Say which field is the context, where it is called otherwise."""
        said = (self._choices.context or "").strip().lower()
        field = column_of("context", said, self.fields, self._form.contexts)
        return [f"the context ({said}) is the field '{field}'"] if field != said else []
