"""The columns of a table, brought to our own names and our own way of writing numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from aggcal.io.formats._base import Choices, Notes
from aggcal.io.formats._parting import column_of, no_such_column, wished
from aggcal.io.formats.plain import OWN
from aggcal.io.tables.numerals import plain_numbers
from aggcal.io.tables.source import FILE_ROW, Source, cell


def plain_columns(source: Source, columns: Iterable[str]) -> Notes:
    """Write numbers in the usual way, unless a column holds ids that look like numbers."""
    notes: Notes = []
    for name in dict.fromkeys(column for column in columns if column in source.columns):
        others = [cell(other) for other in source.columns if other != name]
        same = " OR ".join(f"{cell(name)} = {other}" for other in others) or "false"
        if not source.one("count(*)", same):
            notes += plain_numbers(source, name)
    return notes


def under_our_names(source: Source, expressions: Mapping[str, str]) -> Source:
    """Return a table with these columns alone, each an SQL expression over those it had."""
    if all(expression in (own, f'"{own}"') for own, expression in expressions.items()):
        return replace(source, columns=frozenset(expressions))
    run = source.connection.execute
    cells = ", ".join(
        f"nullif(trim(({expression})::VARCHAR), '') AS \"{own}\""
        for own, expression in expressions.items()
    )
    # Where blank rows were taken out, a new table would number the others otherwise.
    gaps = source.rows() > 0 and source.one("max(rowid) + 1 - count(*)") > 0
    cells += f", rowid AS {FILE_ROW}" if gaps else ""
    run("ALTER TABLE raw RENAME TO given_rows")
    run(f"CREATE TEMP TABLE raw AS SELECT {cells} FROM given_rows")
    run("DROP TABLE given_rows")
    number = FILE_ROW if gaps else source.row_number
    return replace(source, columns=frozenset(expressions), row_number=number)


@dataclass(frozen=True)
class Parting:
    """Which columns of a table are the context and the categories, and what all are loaded as."""

    columns: Mapping[str, str]
    names: Mapping[str, str]

    @classmethod
    def of(
        cls,
        choices: Choices,
        have: frozenset[str],
        names: Mapping[str, str],
        known: Mapping[str, tuple[str, ...]],
    ) -> Parting:
        """Find them in a table of which these ``names`` are loaded anyway."""
        columns = {own: column_of(own, name, have, known) for own, name in wished(choices).items()}
        more = {other: own for own, other in columns.items() if other not in names}
        return cls(columns, {**names, **more})

    def expressions(
        self, source: Source, choices: Choices, expressions: Mapping[str, str], notes: Notes
    ) -> dict[str, str]:
        """Write the SQL of each, or refuse one that is not there; of several files, one has it."""
        found = {}
        for own, other in self.columns.items():
            if other in OWN and other in expressions:
                found[own] = expressions[other]  # what the format makes of it
            elif self.names[other] in source.columns:
                found[own] = cell(self.names[other])
            elif not choices.origin:
                raise no_such_column(source.name, own, wished(choices)[own], source.found)
        said = choices.context
        if said is not None and self.columns["context"] != said.strip().lower():
            notes.append(f"the context ({said}) is the column '{self.columns['context']}'")
        return found
