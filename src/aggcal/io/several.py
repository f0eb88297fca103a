"""Several files of judgments as one table: each read by its own format, under its own name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aggcal.errors import OptionError, TooLittleDataError, count
from aggcal.errors.voice import spoken
from aggcal.io.folders import Given, PathLike, labels_of
from aggcal.io.formats._base import SEVERAL, Choices, TableFormat, options_without_effect
from aggcal.io.formats._parting import wished
from aggcal.io.formats._steps import on_scale
from aggcal.io.row_checks import (
    NOT_ANSWERED,
    checked,
    is_graded,
    refuse_between,
    refuse_weights,
    unused_labels,
)
from aggcal.io.rows import Reading, check_named, loaded_rows
from aggcal.io.saving import digest
from aggcal.io.tables.database import connected
from aggcal.io.tables.source import Source, cell, quoted
from aggcal.registry import FormatInfo

if TYPE_CHECKING:
    import duckdb

_PAIRS = (("left", "right"), ("winner", "loser"))
_TEXTS = ("criterion", "reason")
_NO_STEPS = (
    "{}: does not say how much better an item is, as others do: its answers count as the first step"
)
_NAMED = 10
"""Files that a message names; the notes name all of them."""


class Together:
    """What is known of files that are read together, whoever reads them.

    An option must have an effect on one of them at least; where it has none on another, that is
    said. A file that holds what another one holds is refused.
    """

    def __init__(self, files: Sequence[PathLike], choices: Choices) -> None:
        check_named(choices)
        self.files, self.labels = files, labels_of(files)
        self._choices = choices
        self._read: list[Reading] = []
        self._unused: list[list[str]] = []
        self._contents: dict[str, str] = {}
        self._steps: dict[str, tuple[str, str]] = {}

    @property
    def name(self) -> str:
        """All files, for a message."""
        shown = self.labels[:_NAMED]
        rest = len(self.labels) - len(shown)
        return ", ".join(shown) + (f" and {rest:,} more" if rest else "")

    def choices(self, number: int) -> Choices:
        """Return how one of the files is to be understood."""
        return replace(self._choices, origin=self.labels[number])

    def outcomes(self, reading: Reading) -> dict[str, str | float]:
        """Return what labels mean in a file: nothing, where it has winners and losers."""
        if "outcome" not in reading.source.columns:
            return {}
        scaled = {} if reading.scale else on_scale(self._choices.strength_scale)
        return {k: v for k, v in self._choices.outcomes.items() if k not in scaled}

    def notes(self, number: int, reading: Reading) -> list[str]:
        """Take note of a file that was read; return what is to be said of it."""
        label, name = self.labels[number], reading.format.info.name
        self._refuse_copy(label, reading.source)
        self._refuse_other_steps(label, reading.source)
        self._read.append(reading)
        self._unused.append(unused_labels(reading, self._choices.outcomes))
        told = [f"read as {name}, {count(reading.source.rows(), 'row')}", *reading.notes]
        without = options_without_effect(reading.format, self._choices)
        told += [f"{option} has no effect on {name} judgments" for option in without]
        told += [
            f"there is no column '{other}' to take as '{own}'"
            for own, other in {**self._choices.columns, **wished(self._choices)}.items()
            if own not in reading.named
        ]
        return [f"{label}: {note}" for note in told]

    def last_notes(self) -> list[str]:
        """Refuse options that had an effect on no file; tell of labels that no file has."""
        without = [options_without_effect(r.format, self._choices) for r in self._read]
        for option in without[0]:
            if all(option in each for each in without):
                raise OptionError(
                    f"{self.name}: {option} does not apply to judgments of these formats; leave "
                    "it out."
                )
        for own, other in {**self._choices.columns, **wished(self._choices)}.items():
            if all(own not in reading.named for reading in self._read):
                raise OptionError(
                    f"{self.name}: no file has a column '{other}' to take as '{own}'; check its "
                    "name."
                )
        if self._choices.outcomes and not any(
            "outcome" in reading.source.columns for reading in self._read
        ):
            raise OptionError(
                f"{self.name}: there are winners and losers but no outcome to map; leave the "
                "outcomes out."
            )
        return [note for note in self._unused[0] if all(note in each for each in self._unused)]

    def _refuse_other_steps(self, label: str, source: Source) -> None:
        """Refuse a label that is another step among the labels of this file than of an earlier."""
        for said, means in source.steps.items():
            before, where = self._steps.setdefault(said, (means, label))
            if before != means:
                raise OptionError(
                    f"'{said}' would mean {before} in {where} and {means} in {label}, which have "
                    "different labels beside it; say what it means with "
                    f"--outcome '{said}=MEANING'."
                )

    def _refuse_copy(self, label: str, source: Source) -> None:
        if source.path is None or not source.path.is_file():
            return
        other = self._contents.setdefault(digest(source.path), label)
        if other != label:
            raise OptionError(
                f"{label} holds the same as {other}, and its judgments would count twice; leave "
                "one of the two out."
            )


@dataclass(frozen=True)
class United:
    """The rows of all files, the columns of the two items, and the SQL of the outcome."""

    reading: Reading
    pair: tuple[str, str]
    means: str | None


@dataclass(frozen=True)
class _Part:
    """One file, whose rows lie in a table of their own until all are there."""

    reading: Reading
    pair: tuple[str, str]
    means: str | None
    label: str
    table: str
    rows: int
    graded: bool
    """Whether it says how much better an item is."""

    @property
    def columns(self) -> frozenset[str]:
        return self.reading.source.columns


@contextmanager
def united_rows(
    given: Given,
    choices: Choices,
    *,
    format_name: str | None = None,
    memory: str | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> Iterator[United]:
    """Load the files one by one, refuse what cannot be read, and unite their rows.

    Parameters
    ----------
    given
        The files.
    choices
        What the user said about them.
    format_name
        The format of all of them, if they are not to be recognised one by one.
    memory, on_progress
        As in `read_judgments`.
    """
    together = Together(given.files, choices)
    with connected(list(given.files), memory, on_progress) as (connection, scratch):
        parts: list[_Part] = []
        notes = list(given.notes)
        for number, file in enumerate(given.files):
            folder = scratch / f"file-{number}"
            folder.mkdir()
            reading = loaded_rows(connection, folder, file, together.choices(number), format_name)
            notes += together.notes(number, reading)
            label = together.labels[number]
            rows = reading.source.rows()
            if rows:
                pair, means = checked(reading, together.outcomes(reading), choices.blank)
                graded = means is not None and is_graded(reading.source, means)
                parts.append(_Part(reading, pair, means, label, f"part_{number}", rows, graded))
            else:
                notes.append(f"{label}: there is no judgment in it")
            connection.execute(f"ALTER TABLE raw RENAME TO part_{number}")
            _clear(connection)
        notes += together.last_notes()
        if not parts:
            raise TooLittleDataError(f"{together.name}: hold no judgment; add some.")
        yield _united(connection, parts, together, notes)


def _clear(connection: duckdb.DuckDBPyConnection) -> None:
    """Take away what reading a file leaves behind, where the next one would have its own."""
    for table in ("rows", "reject_errors", "reject_scans"):
        connection.execute(f"DROP TABLE IF EXISTS {table}")


def _united(
    connection: duckdb.DuckDBPyConnection,
    parts: Sequence[_Part],
    together: Together,
    notes: Sequence[str],
) -> United:
    """Write the rows of all parts into the table ``raw``, in the order of the files."""
    choices = together.choices(0)
    long = any(part.means is not None for part in parts)
    pair = _PAIRS[0] if long else _PAIRS[1]
    columns = _columns(parts, pair, choices, long=long)
    kinds = ", ".join(f"{cell(column)} VARCHAR" for column in columns)
    connection.execute(f"CREATE TEMP TABLE raw ({kinds})")
    for part in parts:
        cells = ", ".join(_cell(part, column, pair) for column in columns)
        connection.execute(f"INSERT INTO raw SELECT {cells} FROM {part.table} ORDER BY rowid")
        if isinstance(part.reading.format, TableFormat):
            connection.execute(f"DROP TABLE {part.table}")  # records are looked up once more
    first = parts[0].reading
    formats = {part.reading.format.info.name for part in parts}
    info = first.format.info if len(formats) == 1 else FormatInfo(SEVERAL, "", SEVERAL)
    found = tuple(dict.fromkeys(c for part in parts for c in part.reading.source.found))
    source = Source(
        connection,
        together.name,
        frozenset(columns),
        found,
        everything=_everything(connection, parts),
    )
    if "weight" in columns:
        refuse_weights(source)
    if any(part.graded for part in parts):
        refuse_between(source, '"outcome"')
        notes = [*notes, *(_NO_STEPS.format(part.label) for part in parts if not part.graded)]
    sided = all(
        p.reading.sided and p.means is not None and "ranking" not in p.columns for p in parts
    )
    reading = Reading(
        source,
        replace(first.format, info=info),
        tuple(dict.fromkeys(map(spoken, notes))),
        first.spelling,
        sided,
        context=choices.context,
        by=choices.by,
    )
    return United(reading, pair, '"outcome"' if long else None)


def _columns(
    parts: Sequence[_Part], pair: tuple[str, str], choices: Choices, *, long: bool
) -> list[str]:
    every = frozenset[str]().union(*(part.columns for part in parts))
    columns = ["annotator", *pair, *(["outcome"] if long else [])]
    columns += [name for name in ("weight", *_TEXTS, "seconds") if name in every]
    columns += ["screen"] if every & {"ranking", "screen"} else []
    columns += [name for name in wished(choices) if name in every]
    return [*columns, "location"]


def _cell(part: _Part, column: str, pair: tuple[str, str]) -> str:
    """Write the SQL of what a part has in a column of the whole."""
    have = part.columns
    if column in pair:
        return cell(part.pair[pair.index(column)])
    if column == "outcome":
        # One who names neither item gave no answer, as in a table of winners and losers alone.
        blank = " AND ".join(f"{cell(name)} IS NULL" for name in part.pair)
        return part.means or f"CASE WHEN {blank} THEN {quoted(NOT_ANSWERED)} ELSE 'left' END"
    if column == "weight":
        return "weight::VARCHAR" if column in have else "'1'"
    if column == "location":
        source = part.reading.source
        first = 1 if source.first_row is None else source.first_row
        here = f"'row ' || ({source.row_number} + {first})"
        known = f"coalesce(location, {here})" if column in have else here
        return f"{quoted(part.label + ': ')} || {known}"
    if column == "screen":
        named = next((name for name in ("ranking", "screen") if name in have), None)
        # What is called alike in two files is not the same.
        return f"{quoted(part.table + ':')} || {cell(named)}" if named else "NULL"
    return f"{cell(column)}::VARCHAR" if column in have else "NULL"


def _everything(
    connection: duckdb.DuckDBPyConnection, parts: Sequence[_Part]
) -> Callable[[], str] | None:
    """Tell rows apart by all columns of their files; None where these are those that are used."""
    plain = ({"annotator", *pair} for pair in (("winner", "loser"), ("left", "right", "outcome")))
    only = tuple(plain)
    found = [{c.strip().lower() for c in part.reading.source.found} for part in parts]
    if all(names in only for names in found) and parts[0].reading.spelling is None:
        return None

    def everything() -> str:
        run = connection.execute
        run("CREATE TEMP TABLE every_cell (h UBIGINT)")
        for part in parts:
            cells = _cells(connection, part)
            _clear(connection)
            there = run(f"SELECT count(*) FROM {cells}").fetchall()[0][0] if cells else 0
            header = quoted(",".join(c.strip().lower() for c in part.reading.source.found))
            run(
                f"INSERT INTO every_cell SELECT hash(h, {header}) FROM {cells}"
                if there == part.rows
                # Of rows that cannot be compared as a whole none is called a duplicate.
                else f"INSERT INTO every_cell SELECT hash({quoted(part.label)}, range) "
                f"FROM range({part.rows:d})"
            )
            run("DROP TABLE IF EXISTS cells")
        return "SELECT h FROM every_cell"

    return everything


def _cells(connection: duckdb.DuckDBPyConnection, part: _Part) -> str | None:
    """Write what tells the rows of a part apart into a table, and name it."""
    source, run = part.reading.source, connection.execute
    if source.everything is None:
        return None
    if isinstance(part.reading.format, TableFormat):
        run(f"CREATE TEMP TABLE cells AS {source.everything()}")
        return "cells"
    # Records are looked up by where they stand, in the table that they were read into.
    run("ALTER TABLE raw RENAME TO united")
    run(f"ALTER TABLE {part.table} RENAME TO raw")
    run(f"CREATE TEMP TABLE cells AS {source.everything()}")
    run(f"ALTER TABLE raw RENAME TO {part.table}")
    run("ALTER TABLE united RENAME TO raw")
    return "cells"
