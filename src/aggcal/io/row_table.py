"""The rows that records are taken apart into, as a table of DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from aggcal.errors import OptionError, OutcomeError, TableError
from aggcal.io.formats._base import Choices, Notes, Row
from aggcal.io.formats._parting import OF_A_RANKING, no_such_column, wished
from aggcal.io.marking import Marks
from aggcal.io.memory import whole
from aggcal.io.tables.source import quoted

if TYPE_CHECKING:
    import duckdb

_AT_ONCE = 20_000  # rows: fewer take longer, more take more memory
_NUMBERS = ("weight", "seconds")
_PLAIN = Row._fields[:-1]
"""The columns that hold one value each: all but the categories, which come last."""


class RowTable:
    """The table ``rows``, filled in batches."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, name: str, choices: Choices) -> None:
        self.connection, self.name, self.choices = connection, name, choices
        self._columns = (*_PLAIN, *(f"by_{k}" for k in range(1, len(choices.by) + 1)))
        kinds = (f'"{n}" {"DOUBLE" if n in _NUMBERS else "VARCHAR"}' for n in self._columns)
        connection.execute(f"CREATE TEMP TABLE rows ({', '.join(kinds)})")

    def fill(self, rows: Iterator[Row]) -> set[str]:
        """Write rows into the table; return which of the optional columns are used."""
        used: set[str] = set()
        try:
            while batch := list(islice(rows, _AT_ONCE)):
                used |= self._write(batch)
        except (TableError, OutcomeError, OptionError) as error:
            message = str(error)
            raise type(error)(
                message if message.startswith(self.name) else f"{self.name}: {message}"
            ) from None
        return used

    def _write(self, batch: Sequence[Row]) -> set[str]:
        none = (None,) * len(self.choices.by)
        flat = ((*row[:-1], *(row.by or none)) for row in batch)
        columns = dict(zip(self._columns, zip(*flat, strict=True), strict=True))
        arrays = {}
        used = set()
        for name, values in columns.items():
            if name in _NUMBERS:
                arrays[name] = np.array(values, dtype=np.float64)
            else:
                # No None among texts: DuckDB 1.5 looks in vain for a first value if many are.
                arrays[name] = np.array(whole(["" if v is None else v for v in values]), object)
            usual = 1.0 if name == "weight" else None
            if name not in _PLAIN[:5] and any(v != usual for v in values):
                used.add(name)
        cells = ", ".join(
            f'CASE WHEN isnan("{n}") THEN NULL ELSE "{n}" END'
            if n in _NUMBERS
            else f"nullif(trim(\"{n}\"), '')"
            for n in self._columns
        )
        self.connection.register("batch", arrays)
        try:
            self.connection.execute(f"INSERT INTO rows SELECT {cells} FROM batch")
        finally:
            self.connection.unregister("batch")
        return used

    def parted(self, used: set[str], marks: Marks, notes: Notes) -> set[str]:
        """Take a ranking for the context, a criterion for a category, where those are wanted.

        Returns the columns that are there then; what no record has is refused, unless another file
        may have it.
        """
        found = {name for name in wished(self.choices) if name in used}
        for own, name in wished(self.choices).items():
            said = name.strip().lower()
            if own == "context" and said in OF_A_RANKING and "ranking" in used:
                suffix = quoted(self.choices.made_up(""))
                self.connection.execute(f"UPDATE raw SET context = ranking || {suffix}")
                found.add(own)
            elif own not in found and said in used & {"criterion"}:
                self.connection.execute(f'UPDATE raw SET "{own}" = "{said}"')
                found.add(own)
            elif own not in found and not self.choices.origin:
                raise no_such_column(self.name, own, name, [*marks.fields, *marks.offered(used)])
        notes += marks.notes()
        return found
