"""A first look at what the user brought, enough to know its format."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

_LOOKED_AT = 50  # records: more tell formats apart no better and take longer
ADDED_BY_QUALTRICS = '{"ImportId":'
"""How the cells of the second row below the header begin, which is no answer."""
BLANK = "\ufeff \t\r\n"


class Record(NamedTuple):
    """One record of a file, and where it stands."""

    location: str
    value: Any


@dataclass(frozen=True)
class Sample:
    """The first records of a file (or of rows in memory), and the head of its text.

    ``columns`` are the names of the columns in small letters; ``records`` are mappings for a table
    and whatever stands there for JSON.
    """

    name: str
    columns: frozenset[str] = frozenset()
    records: tuple[Any, ...] = ()
    text: str = ""

    def has(self, *columns: str) -> bool:
        """Whether all these columns are there."""
        return set(columns) <= self.columns

    def values(self, column: str) -> list[str]:
        """Return what the first records hold in a column, as text, empty cells left out."""
        found = []
        for record in self.mappings:
            cells = {str(k).strip().lower(): v for k, v in record.items()}
            if cells.get(column) not in (None, ""):
                found.append(str(cells[column]).strip())
        return found

    @cached_property
    def mappings(self) -> list[Mapping[str, Any]]:
        """The records that are objects."""
        return [record for record in self.records if isinstance(record, Mapping)]


def of_table(name: str, columns: Sequence[str], text: str, delimiter: str) -> Sample:
    """Look at the head of a CSV file, of which the last line may be cut."""
    names = [c.strip().lower() for c in columns]
    rows: list[dict[str, Any]] = []
    try:
        for k, row in enumerate(csv.reader(io.StringIO(text, newline=None), delimiter=delimiter)):
            if k and len(row) == len(names):
                rows.append(dict(zip(names, row, strict=True)))
            if len(rows) == _LOOKED_AT:
                break
    except csv.Error:
        pass  # what is wrong is told by whoever reads the file in earnest
    if any(
        str(value).startswith(ADDED_BY_QUALTRICS) for row in rows[1:2] for value in row.values()
    ):
        del rows[:2]
    return Sample(name, frozenset(names), tuple(rows), text)


def of_records(name: str, records: Sequence[Any], text: str = "") -> Sample:
    """Look at records in memory."""
    first = tuple(records[:_LOOKED_AT])
    columns = {str(k).strip().lower() for r in first if isinstance(r, Mapping) for k in _keys(r)}
    return Sample(name, frozenset(columns), first, text)


def _keys(record: Mapping[Any, Any]) -> list[Any]:
    """Return the fields of a record, those within the content of a note of OpenReview's, too."""
    found = [*record]
    if isinstance(record.get("content"), Mapping) and "forum" in record:
        found += record["content"]
    inside = record.get("notes")
    if isinstance(inside, list):
        found += [
            key for note in inside[:_LOOKED_AT] if isinstance(note, Mapping) for key in _keys(note)
        ]
    return found


def of_json(name: str, text: str) -> Sample:
    """Look at the head of a JSON file: the records that it holds whole.

    Examples
    --------
    >>> of_json("f", '[{"a": 1}, {"b": 2}, {"c": ').records
    ({'a': 1}, {'b': 2})
    """
    decoder = json.JSONDecoder()
    found: list[Any] = []
    position = 0
    inside = text.lstrip(BLANK).startswith("[") and not is_line_of_its_own(text)
    blank = BLANK + ("," if inside else "")
    if inside:
        position = text.index("[") + 1
    while len(found) < _LOOKED_AT:
        while position < len(text) and text[position] in blank:
            position += 1
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        found.append(value)
    return of_records(name, found, text)


def is_line_of_its_own(text: str) -> bool:
    r"""Whether the first line is a whole JSON value with others in the lines after it.

    Examples
    --------
    >>> is_line_of_its_own("[1, 2]\n[2, 3]"), is_line_of_its_own("[[1, 2],\n[2, 3]]")
    (True, False)
    """
    first, _, rest = text.lstrip(BLANK).partition("\n")
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return False
    return bool(rest.strip(BLANK))
