"""Whatever the user brought, as rows of judgments in DuckDB under our own names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from aggcal.errors import OptionError, OutcomeError, TableError, did_you_mean, printable
from aggcal.io.formats import formats, recognised
from aggcal.io.formats._base import (
    Choices,
    Format,
    Notes,
    RecordFormat,
    Row,
    TableFormat,
    TextFormat,
)
from aggcal.io.formats._sample import Record, Sample, of_records
from aggcal.io.formats._sides import labelled, side_of
from aggcal.io.formats._stream import json_records
from aggcal.io.formats.plain import EXTRA, OWN
from aggcal.io.tables.database import connected
from aggcal.io.tables.files import load_file, look
from aggcal.io.tables.opening import load_memory
from aggcal.io.tables.parquet import parquet_rows
from aggcal.io.tables.reading import is_json, peek, regular, text_lines, text_pieces
from aggcal.io.tables.source import Source, cell, listed
from aggcal.registry import TABLE

if TYPE_CHECKING:
    import duckdb

_SHAPES = {
    3: ("annotator", "winner", "loser"),
    4: ("annotator", "left", "right", "outcome"),
    5: ("annotator", "left", "right", "outcome", "weight"),
}
_NAMED = (*OWN, *EXTRA, "item", "rank", "rating")
_AT_ONCE = 20_000  # rows: more take more memory, fewer more time


@dataclass(frozen=True)
class Reading:
    """Rows of judgments in the table ``raw``, the format they came in, and what was done."""

    source: Source
    format: Format
    notes: tuple[str, ...]


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
    unknown = next((own for own in choices.columns if own not in _NAMED), None)
    if unknown is not None:
        near = did_you_mean(unknown, _NAMED)
        raise OptionError(
            f"there is no column '{unknown}' to name{near}; there are {', '.join(_NAMED)}."
        )
    with connected(data, memory, on_progress, threads) as (connection, scratch):
        brought = _Brought(connection, scratch, data, choices, format_name)
        notes: Notes = []
        found = brought.format
        source = (
            brought.table(found, notes)
            if isinstance(found, TableFormat)
            else brought.taken_apart(found, notes)
        )
        yield Reading(source, found, tuple(notes))


class _Brought:
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
        self.data = data
        self.name = "judgments"
        self.path: Path | None = None
        if isinstance(data, str | Path):
            self.name = printable(str(data))
            self.path = regular(Path(data), scratch)
            self.sample = look(self.path, self.name, known_columns())
        else:
            if isinstance(data, Iterator):
                self.data = list(data)
            self.sample = _look_at(self.data, tuples=format_name is not None)
        given = {
            own
            for own, other in choices.columns.items()
            if other.strip().lower() in self.sample.columns
        }
        self.sample = replace(self.sample, columns=self.sample.columns | given)
        self.format = recognised(self.sample, format_name)
        if not self.format.is_mine(self.sample):
            found = listed(sorted(self.sample.columns)) or "no columns"
            raise TableError(
                f"{self.name}: does not look like {self.format.info.summary} (found: {found}); "
                "leave --format out or choose another."
            )
        self._refuse_names()

    def table(self, form: TableFormat, notes: Notes) -> Source:
        """Load the columns of a table and give them our own names."""
        aliases = {other.strip().lower(): own for own, other in self.choices.columns.items()}
        wanted = {
            name: name for name in form.columns_of(self.sample) if name not in aliases.values()
        }
        source = self._loaded(wanted | aliases)
        for other, own in aliases.items():
            if own not in source.columns:
                raise self._no_column(other, own, source.found)
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
        return _under_our_names(source, expressions)

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
                f"{self.name}: {self.format.info.name} is no table whose columns could be named; "
                "leave --column out."
            )
        for own, other in self.choices.columns.items():
            if other.strip().lower() not in self.sample.columns:
                raise self._no_column(other, own, sorted(self.sample.columns))

    def taken_apart(self, form: Format, notes: Notes) -> Source:
        """Load what the records of a file are taken apart into."""
        self.connection.execute(
            'CREATE TEMP TABLE rows (annotator VARCHAR, "left" VARCHAR, "right" VARCHAR, '
            "outcome VARCHAR, location VARCHAR, weight DOUBLE, criterion VARCHAR, seconds DOUBLE, "
            "ranking VARCHAR, reason VARCHAR)"
        )
        if isinstance(form, TextFormat):
            if self.path is None:
                raise OptionError(f"{form.info.name} is read from a file; give its path.")
            rows = form.rows(enumerate(text_lines(self.path, self.name), 1), self.choices, notes)
        elif isinstance(form, TableFormat):  # pragma: no cover  # loaded by the method above
            raise TypeError(form)
        else:
            rows = form.rows(self._records(), self.choices, notes)
        used = self._insert(rows)
        self.connection.execute("DROP TABLE IF EXISTS raw")
        self.connection.execute("ALTER TABLE rows RENAME TO raw")
        columns = frozenset(Row._fields[:5]) | used
        everything = None if isinstance(form, TextFormat) else self._whole_records
        source = Source(
            self.connection, self.name, columns, (), None, self.path, everything=everything
        )
        labelled(source, self.choices, notes)
        return source

    def _insert(self, rows: Iterator[Row]) -> set[str]:
        """Write rows into the table, in batches; return which of the optional columns are used."""
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
        columns = dict(zip(Row._fields, zip(*batch, strict=True), strict=True))
        arrays = {}
        used = set()
        for name, values in columns.items():
            if name in ("weight", "seconds"):
                arrays[name] = np.array(values, dtype=np.float64)
            else:
                # No None among texts: DuckDB 1.5 looks in vain for a first value if many are.
                arrays[name] = np.array(_whole(["" if v is None else v for v in values]), object)
            usual = 1.0 if name == "weight" else None
            if name not in Row._fields[:5] and any(v != usual for v in values):
                used.add(name)
        cells = ", ".join(
            f'CASE WHEN isnan("{n}") THEN NULL ELSE "{n}" END'
            if n in ("weight", "seconds")
            else f"nullif(trim(\"{n}\"), '')"
            for n in Row._fields
        )
        self.connection.register("batch", arrays)
        try:
            self.connection.execute(f"INSERT INTO rows SELECT {cells} FROM batch")
        finally:
            self.connection.unregister("batch")
        return used

    def _records(self) -> Iterator[Record]:
        if isinstance(self.data, list | tuple):
            values = iter(self.data)
        elif self.path is None:
            values = self._frame_rows()
        elif self.path.is_dir() or (head := peek(self.path, self.name)).startswith(b"PAR1"):
            values = parquet_rows(self.connection, self.path, self.name, self.scratch)
        elif is_json(head):
            yield from json_records(self.name, text_pieces(self.path, self.name))
            return
        else:
            values = self._table_rows()
        for k, value in enumerate(values, 1):
            yield Record(f"row {k}", _native(value))

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

    def _frame_rows(self) -> Iterator[Any]:
        """Go through a frame or a mapping of columns, lists in its cells as they are."""
        if isinstance(self.data, Mapping):
            for row in zip(*self.data.values(), strict=True):
                yield dict(zip(self.data, row, strict=True))
            return
        import narwhals as nw

        frame: Any = nw.from_native(self.data, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        yield from frame.iter_rows(named=True)

    def _table_rows(self) -> Iterator[dict[str, Any]]:
        """Go through a CSV file; columns without a name, such as an index, are none."""
        names = sorted(name for name in self.sample.columns if name)
        # Names of our own: theirs may be any, also one that DuckDB has for itself.
        source = self._loaded({name: f"cell_{k}" for k, name in enumerate(names)})
        present = [k for k in range(len(names)) if f"cell_{k}" in source.columns]
        last = source.one("max(rowid)")
        cells = ", ".join(f"cell_{k}" for k in present)
        for start in range(0, last + 1, _AT_ONCE):
            found = self.connection.execute(
                f"SELECT {cells} FROM raw WHERE rowid >= ? AND rowid < ? ORDER BY rowid",
                [start, start + _AT_ONCE],
            ).fetchall()
            for values in found:
                yield {names[k]: value for k, value in zip(present, values, strict=True)}

    def _loaded(self, names: Mapping[str, str]) -> Source:
        if self.path is not None:
            return load_file(self.connection, self.path, names, self.scratch, self.name)
        return load_memory(self.connection, self.data, names, "judgments", _SHAPES)


def _under_our_names(source: Source, expressions: Mapping[str, str]) -> Source:
    if all(expression in (own, f'"{own}"') for own, expression in expressions.items()):
        return replace(source, columns=frozenset(expressions))
    run = source.connection.execute
    cells = ", ".join(
        f"nullif(trim(({expression})::VARCHAR), '') AS \"{own}\""
        for own, expression in expressions.items()
    )
    run("ALTER TABLE raw RENAME TO given_rows")
    run(f"CREATE TEMP TABLE raw AS SELECT {cells} FROM given_rows")
    run("DROP TABLE given_rows")
    return replace(source, columns=frozenset(expressions))


def known_columns() -> dict[str, str]:
    """Return every column that some format reads, by which the delimiter of a table is known."""
    names = dict.fromkeys(_NAMED)
    for known in formats():
        if isinstance(known, TableFormat):
            names |= dict.fromkeys(known.columns_of(Sample("")))
    return {name: name for name in names}


def _look_at(data: Any, *, tuples: bool) -> Sample:
    """Look at a frame or at rows; tuples are looked into only when the user named a format."""
    if isinstance(data, Mapping):
        columns = frozenset(str(name).strip().lower() for name in data)
        first = [list(column)[:20] for column in data.values()]
        rows = [dict(zip(data, row, strict=True)) for row in zip(*first, strict=False)]
        return replace(of_records("judgments", rows), columns=columns)
    if isinstance(data, list | tuple):
        mappings = bool(data) and isinstance(data[0], Mapping)
        return of_records("judgments", _plain_lists(data) if mappings or tuples else ())
    import narwhals as nw

    frame: Any = nw.from_native(data, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.head(20).collect()
    if not isinstance(frame, nw.DataFrame):
        return Sample("judgments")
    looked = of_records("judgments", list(frame.head(20).rows(named=True)))
    return replace(looked, columns=frozenset(str(c).strip().lower() for c in frame.columns))


def _whole(texts: list[str]) -> list[str]:
    """Replace the halves of characters that are left where a tool cut a text.

    DuckDB refuses them, or (1.5) does nothing more on that connection.
    """
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return [t.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for t in texts]
    return texts


def _native(value: Any) -> Any:
    """Return a cell of a frame as JSON would hold it: arrays as lists, NaN as nothing."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list):
        return [_native(entry) for entry in value]
    if isinstance(value, Mapping):
        return {name: _native(entry) for name, entry in value.items()}
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124


def _plain_lists(rows: Sequence[Any]) -> list[Any]:
    return [_listed(row) for row in rows[:50]]


def _listed(value: Any) -> Any:
    return [_listed(v) for v in value] if isinstance(value, list | tuple) else value
