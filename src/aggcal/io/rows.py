"""Whatever the user brought, as rows of judgments in DuckDB under our own names."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from aggcal.data.spelling import Spelling
from aggcal.errors import OptionError, TableError, did_you_mean
from aggcal.io.formats import recognised
from aggcal.io.formats._base import (
    Choices,
    Format,
    Notes,
    RecordFormat,
    Row,
    TableFormat,
    TextFormat,
    options_without_effect,
    say_unused,
)
from aggcal.io.formats._parting import wished
from aggcal.io.formats._sample import Record
from aggcal.io.formats._sheets import rated_columns
from aggcal.io.formats._sides import labelled, side_of
from aggcal.io.formats._steps import on_scale
from aggcal.io.formats._stream import json_records
from aggcal.io.formats._synonyms import OUTCOME, RATING, SECONDS
from aggcal.io.formats.plain import EXTRA, UNSIDED, unused_columns
from aggcal.io.known_columns import NAMED, KnownColumns
from aggcal.io.marking import Marks
from aggcal.io.memory import frame_rows, look_at, native
from aggcal.io.naming import Parting, plain_columns, under_our_names
from aggcal.io.repeated import repeated_header, repeats
from aggcal.io.respelling import respell, respell_sides
from aggcal.io.row_table import RowTable
from aggcal.io.tables.database import connected
from aggcal.io.tables.files import load_file, look
from aggcal.io.tables.numerals import blank_words, plain_numbers
from aggcal.io.tables.opening import load_memory
from aggcal.io.tables.parquet import parquet_rows
from aggcal.io.tables.prepared import Prepared, prepared
from aggcal.io.tables.reading import is_json, peek, text_lines, text_pieces
from aggcal.io.tables.source import Source, cell, listed
from aggcal.registry import RATINGS, TABLE

if TYPE_CHECKING:
    import duckdb

SHAPES = {
    3: ("annotator", "winner", "loser"),
    4: ("annotator", "left", "right", "outcome"),
    5: ("annotator", "left", "right", "outcome", "weight"),
}
"""The columns of tuples, by their length."""
_AT_ONCE = 20_000  # rows: fewer take longer, more take more memory


@dataclass(frozen=True)
class Reading:
    """Rows of judgments in the table ``raw``, the format they came in, and what was done."""

    source: Source
    format: Format
    notes: tuple[str, ...]
    spelling: Spelling | None = None
    sided: bool = True
    """Whether an outcome tells which side of the screen was chosen, as far as the files know."""
    named: frozenset[str] = frozenset()
    """Columns that the user named and that are there."""
    context: str | None = None
    """What the column ``context`` holds, as the user calls it; None where none was asked for."""
    by: tuple[str, ...] = ()
    """What the columns ``by_1``, ``by_2``, ... hold."""
    scale: Mapping[str, str] = field(default_factory=dict)
    """What numbers mean on the scale that the user stated."""


@contextmanager
def opened_rows(
    data: Any,
    choices: Choices,
    *,
    format_name: str | None = None,
    memory: str | None = None,
    on_progress: Callable[[float], None] | None = None,
    threads: int | None = None,
) -> Iterator[Reading]:
    """Load judgments of any format and close everything afterwards."""
    with looked_at(
        data,
        choices,
        format_name=format_name,
        memory=memory,
        on_progress=on_progress,
        threads=threads,
    ) as brought:
        yield rows_of(brought)


@contextmanager
def looked_at(
    data: Any,
    choices: Choices,
    *,
    format_name: str | None = None,
    memory: str | None = None,
    on_progress: Callable[[float], None] | None = None,
    threads: int | None = None,
) -> Iterator[Brought]:
    """Look at judgments of any format, load nothing yet, and close everything afterwards."""
    check_named(choices)
    with connected(data, memory, on_progress, threads) as (connection, scratch):
        yield Brought(connection, scratch, data, choices, format_name)


def check_named(choices: Choices) -> None:
    """Refuse a name for a column that no judgments have, before anything is read."""
    unknown = next((own for own in choices.columns if own not in NAMED), None)
    if unknown is not None:
        near = did_you_mean(unknown, NAMED)
        raise OptionError(
            f"there is no column '{unknown}' to name{near}; there are {', '.join(NAMED)}."
        )


def loaded_rows(
    connection: duckdb.DuckDBPyConnection,
    scratch: Path,
    data: Any,
    choices: Choices,
    format_name: str | None = None,
) -> Reading:
    """Load judgments of any format into the table ``raw`` of a connection."""
    return rows_of(Brought(connection, scratch, data, choices, format_name))


def rows_of(brought: Brought) -> Reading:
    """Load what was looked at into the table ``raw`` of its connection."""
    choices = brought.asked
    notes: Notes = []
    found = brought.format
    if isinstance(found, TableFormat):
        source = brought.table(found, notes)
        notes += unused_columns(brought.sample, choices)
    else:
        source = brought.taken_apart(found, notes)
    if choices.spelling is not None:
        notes += respell(source, choices.spelling)
    given = brought.given.notes if brought.given is not None else ()
    every = tuple(dict.fromkeys((*given, *source.notes, *notes)))
    parted = {own for own in wished(choices) if own in source.columns}
    return Reading(
        source,
        found,
        every,
        choices.spelling,
        isinstance(found, TextFormat)
        or (found.sided(brought.sample) and not source.has("sided", UNSIDED)),
        named=frozenset({*brought.choices.columns, *parted}),
        context=choices.context,
        by=choices.by,
        scale={} if options_without_effect(found, choices) else on_scale(choices.strength_scale),
    )


class Brought:
    """A path, a frame or rows, looked at and ready to be loaded."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        scratch: Path,
        data: Any,
        choices: Choices,
        format_name: str | None,
    ) -> None:
        self.connection, self.scratch, self.choices = connection, scratch, choices
        self.data, self.asked = data, choices
        self.name = "judgments"
        self.path: Path | None = None
        self.given: Prepared | None = None
        self.told: Notes = []
        if isinstance(data, str | Path):
            known = KnownColumns()
            named = (other.strip().lower() for other in choices.columns.values())
            self.given = prepared(data, chain(known, named), scratch)
            self.name, self.path = self.given.name, self.given.path
            self.sample = look(connection, self.given, known, scratch)
            if choices.origin:
                # One of several files: names of columns are meant for those that have them.
                self.choices = choices = replace(choices, columns=self._columns_here(choices))
        else:
            if isinstance(data, Iterator):
                self.data = list(data)
            self.sample = look_at(self.data, tuples=format_name is not None)
        given = {
            own
            for own, other in choices.columns.items()
            if other.strip().lower() in self.sample.columns
        }
        self.sample = replace(self.sample, columns=self.sample.columns | given)
        self.format = recognised(self.sample, format_name)
        may_be = getattr(self.format, "may_be", None) if format_name is not None else None
        if not self.format.is_mine(self.sample) and not (may_be and may_be(self.sample)):
            found = listed(sorted(self.sample.columns)) or "no columns"
            raise TableError(
                f"{self.name}: does not look like {self.format.info.summary} (found: {found}); "
                "leave --format out or choose another."
            )
        self._refuse_names()

    @property
    def _aliases(self) -> dict[str, str]:
        return {other.strip().lower(): own for own, other in self.choices.columns.items()}

    def _parting(self, form: TableFormat) -> Parting:
        aliases = self._aliases
        wanted = {
            name: name for name in form.columns_of(self.sample) if name not in aliases.values()
        }
        return Parting.of(self.choices, self.sample.columns, wanted | aliases, form.contexts)

    def names(self, form: TableFormat) -> Mapping[str, str]:
        """Return what columns of the table are loaded, and under which of our own names."""
        return self._parting(form).names

    def _columns_here(self, choices: Choices) -> dict[str, str]:
        here = self.sample.columns
        return {
            own: other for own, other in choices.columns.items() if other.strip().lower() in here
        }

    def table(self, form: TableFormat, notes: Notes) -> Source:
        """Load the columns of a table and give them our own names."""
        aliases, parting = self._aliases, self._parting(form)
        source = self._loaded(parting.names)
        for other, own in aliases.items():
            if own not in source.columns:
                raise self._no_column(other, own, source.found)
        if self.choices.spelling is not None:
            notes += respell_sides(source, self.choices.spelling)
        notes += plain_columns(source, (*OUTCOME, "outcome", "weight", *SECONDS))
        expressions = dict(form.columns(source, self.choices, notes))
        for own in aliases.values():
            if own not in expressions and own not in (*EXTRA, "weight", "criterion"):
                raise OptionError(
                    f"{self.name}: {form.info.name} has no '{own}' (it has "
                    f"{', '.join(expressions)}); leave it out or read the file with --format "
                    f"{TABLE.name}."
                )
            if form.info != TABLE:  # which knows best what it made of its columns
                expressions[own] = cell(own)
        if form.info != TABLE and "outcome" in aliases.values() and "left" in expressions:
            pair = expressions["left"], expressions["right"]
            expressions["outcome"] = side_of(
                source, cell("outcome"), pair, choices=self.choices, notes=notes
            )
        expressions |= parting.expressions(source, self.choices, expressions, notes)
        return under_our_names(source, expressions)

    def _no_column(self, other: str, own: str, found: Iterable[str]) -> OptionError:
        return OptionError(
            f"{self.name}: there is no column '{other}' to take as '{own}'"
            f"{did_you_mean(other, found)} (found: {listed(list(found))})."
        )

    def _refuse_names(self) -> None:
        """Refuse names of columns where there are none to name, or none of that name."""
        if isinstance(self.format, TableFormat) or not self.choices.columns:
            return  # tables know their columns only when they are loaded
        if not (isinstance(self.format, RecordFormat) and self.format.renames):
            raise OptionError(
                f"{self.name}: {self.format.info.name} is not a table with columns to name; "
                "leave --column out."
            )
        for own, other in self.choices.columns.items():
            if other.strip().lower() not in self.sample.columns:
                raise self._no_column(other, own, sorted(self.sample.columns))

    def taken_apart(self, form: RecordFormat | TextFormat, notes: Notes) -> Source:
        """Load what the records of a file are taken apart into."""
        table, marks = RowTable(self.connection, self.name, self.choices), Marks(self.choices, form)
        if isinstance(form, TextFormat):
            if self.path is None:
                raise OptionError(f"{form.info.name} is read from a file; give its path.")
            rows = form.rows(enumerate(text_lines(self.path, self.name), 1), self.choices, notes)
        else:
            rows = marks.on(form.rows(marks.seen(self._records()), self.choices, notes))
        used = table.fill(rows)
        notes[:0] = self.told
        self.connection.execute("DROP TABLE IF EXISTS raw")
        self.connection.execute("ALTER TABLE rows RENAME TO raw")
        used |= table.parted(used, marks, notes)
        columns = frozenset(Row._fields[:5]) | used
        everything = None if isinstance(form, TextFormat) else self._whole_records
        source = Source(
            self.connection, self.name, columns, (), None, self.path, everything=everything
        )
        labelled(source, self.choices, notes)
        say_unused(source, self.choices, notes)
        return source

    def _records(self) -> Iterator[Record]:
        if isinstance(self.data, list | tuple):
            values = iter(self.data)
        elif self.path is None:
            values = frame_rows(self.data)
        elif self.path.is_dir() or (head := peek(self.path, self.name)).startswith(b"PAR1"):
            values = parquet_rows(self.connection, self.path, self.name, self.scratch)
        elif is_json(head):
            yield from json_records(self.name, text_pieces(self.path, self.name))
            return
        else:
            yield from self._table_rows()
            return
        for k, value in enumerate(values, 1):
            yield Record(f"row {k}", native(value))

    def _whole_records(self) -> str:
        """Tell rows apart by the records they come from, and by where in those they stand."""
        run = self.connection.execute
        run("ALTER TABLE raw RENAME TO taken")
        codes = {record.location: hash(repr(record.value)) for record in self._records()}
        for table in ("raw", "reject_errors", "reject_scans"):
            run(f"DROP TABLE IF EXISTS {table}")
        run("ALTER TABLE taken RENAME TO raw")
        locations = [
            str(location)
            for (location,) in run("SELECT location FROM raw ORDER BY rowid").fetchall()
        ]
        found = []
        for location in locations:
            of_record, _, within = location.partition(", ")
            # What is found nowhere is like nothing else.
            found.append(hash((codes[of_record], within)) if of_record in codes else hash(location))
        self.connection.register("everything", {"h": np.array(found, dtype=np.int64)})
        return "SELECT h FROM everything"

    def _table_rows(self) -> Iterator[Record]:
        """Go through a CSV file; columns without a name, such as an index, are none."""
        names = sorted(name for name in self.sample.columns if name)
        # Names of our own: theirs may be any, also one that DuckDB has for itself.
        used = {*KnownColumns(), *(o.strip().lower() for o in self.choices.columns.values())}
        source = self._loaded({name: f"cell_{k}" for k, name in enumerate(names)}, used)
        present = [k for k in range(len(names)) if f"cell_{k}" in source.columns]
        # Formats that know other names of columns make them small themselves.
        original = {name.strip().lower(): name.strip() for name in source.found}
        renames = isinstance(self.format, RecordFormat) and self.format.renames
        spelt = [original.get(name, name) if renames else name for name in names]
        renamed = {other.strip().lower(): own for own, other in self.choices.columns.items()}
        wide = rated_columns(self.sample) if self.format.info == RATINGS else []
        for k in present:
            numbers = (*RATING, "rank", "weight", "confidence", *wide)
            if renamed.get(names[k], names[k]) in numbers:
                blank_words(source, f"cell_{k}")
                self.told += plain_numbers(source, f"cell_{k}", names[k])
        self.told += [note for note in source.notes if note not in self.told]
        last = source.one("max(rowid)")
        cells = ", ".join(f"cell_{k}" for k in present)
        first = 1 if source.first_row is None else source.first_row
        for start in range(0, last + 1, _AT_ONCE):
            found = self.connection.execute(
                f"SELECT rowid, {cells} FROM raw WHERE rowid >= ? AND rowid < ? ORDER BY rowid",
                [start, start + _AT_ONCE],
            ).fetchall()
            for number, *values in found:
                location = f"row {first + number}"
                if repeats(values, [names[k] for k in present]):
                    raise repeated_header(self.name, location, values)
                cells_of = {spelt[k]: value for k, value in zip(present, values, strict=True)}
                yield Record(location, native(cells_of))

    def _loaded(self, names: Mapping[str, str], checked: Container[str] | None = None) -> Source:
        if self.given is not None:
            return load_file(self.connection, self.given, names, self.scratch, checked)
        return load_memory(self.connection, self.data, names, "judgments", SHAPES)
