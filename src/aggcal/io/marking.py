"""Contexts and categories of records: looked up in each, and put on the rows it becomes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from aggcal.io.formats._base import Choices, Format, Row, TextFormat, text_of
from aggcal.io.formats._parting import OF_A_RANKING, column_of, text_in, wished
from aggcal.io.formats._sample import Record

_MOST_FIELDS = 200
"""Fields whose names are kept for a message: enough for any export, and no burden."""

_Mark: TypeAlias = tuple[str | None, tuple[str | None, ...]]
"""A context, and categories."""


class Marks:
    """What the records of a file hold under the names that the user wants rows parted by."""

    def __init__(self, choices: Choices, form: Format) -> None:
        self._wished = wished(choices)
        self._known = {} if isinstance(form, TextFormat) else form.contexts
        self._within = () if isinstance(form, TextFormat) else getattr(form, "within", ())
        self._marks: dict[str, _Mark] = {}
        self._taken: dict[str, str] = {}
        self.fields: dict[str, None] = {}

    def offered(self, used: set[str]) -> tuple[str, ...]:
        """Return names that are no fields of records but can be asked for."""
        return (*OF_A_RANKING[:1],) if "ranking" in used else ()

    def notes(self) -> list[str]:
        """Say which field is the context, where it is called otherwise."""
        said = self._wished.get("context", "").strip().lower()
        field = self._taken.get("context", said)
        return [f"the context ({said}) is the field '{field}'"] if field != said else []

    def seen(self, records: Iterator[Record]) -> Iterator[Record]:
        """Go through the records, and remember what each holds."""
        if not self._wished:
            yield from records
            return
        for record in records:
            self._look(record)
            yield record

    def on(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Put what a record holds on its rows, unless they have their own."""
        if not self._wished:
            yield from rows
            return
        for row in rows:
            context, by = self._marks.get(row.location.partition(", ")[0], (None, ()))
            yield row._replace(
                context=context if row.context is None else row.context, by=row.by or by
            )

    def _look(self, record: Record) -> None:
        parts = [record.value]
        if isinstance(record.value, Mapping):
            parts += [record.value.get(place) for place in self._within]
        have = {str(k).strip().lower() for part in parts if isinstance(part, Mapping) for k in part}
        if len(self.fields) < _MOST_FIELDS:
            self.fields |= dict.fromkeys(sorted(have - {""}))
        found: dict[str, str | None] = {}
        for own, name in self._wished.items():
            field = column_of(own, name, have, self._known)
            found[own] = text_of(text_in(record.value, field, self._within))
            if found[own] is not None:
                self._taken[own] = field
        by = tuple(value for own, value in found.items() if own != "context")
        # A ranking in one cell is no name of itself: two people may rank alike.
        ranked = self._wished.get("context", "").strip().lower() in OF_A_RANKING
        self._marks[record.location] = (None if ranked else found.get("context"), by)
