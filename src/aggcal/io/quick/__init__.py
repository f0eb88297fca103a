"""Plain tables of judgments, read without a copy of their texts.

What is read here is a table of annotator, winner and loser, or of annotator, left, right and
outcome, perhaps with weights; everything else, and whatever is odd in such a table, is left to the
general reader, which explains it. Both return the same judgments to the bit.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from aggcal._core.database import driver
from aggcal._core.kernels import library
from aggcal.data.acts import RankingWeight, not_recognised
from aggcal.data.judgments import Judgments
from aggcal.errors import InputError
from aggcal.errors.voice import spoken
from aggcal.io.formats._base import Choices, TableFormat
from aggcal.io.quick.carded import Carded
from aggcal.io.quick.frames import Frame
from aggcal.io.quick.hashed import Hashed
from aggcal.io.quick.keys import Keys, judgments_of
from aggcal.io.quick.merging import Merged
from aggcal.io.quick.streams import NotPlain
from aggcal.io.quick.texts import Texts
from aggcal.io.quick.twins import repeated_keys
from aggcal.io.rows import Brought
from aggcal.io.tables.cells import is_own_table
from aggcal.io.tables.database import bytes_of
from aggcal.io.tables.delimited import Lines
from aggcal.io.tables.leftover import QUALTRICS
from aggcal.io.tables.parquet import described_parquet, parts_of
from aggcal.io.tables.reading import File, is_json, peek
from aggcal.io.tables.source import exactly
from aggcal.registry import TABLE

if TYPE_CHECKING:
    import duckdb

_BYTES_PER_ROW = 40
"""What is taken for each row beyond the judgments themselves, at most."""
_MANY_ROWS = 1_000_000
"""Rows from which memory is asked back between the steps; of fewer there is enough."""

_Reader: TypeAlias = Hashed | Texts | Frame


def quickly(
    brought: Brought,
    criterion: str | None,
    left_out: tuple[str, ...] = (),
    *,
    memory: str | None = None,
    threads: int | None = None,
    acts: RankingWeight = "pair",
) -> Judgments | None:
    """Read a plain table; None for any other, which the general reader then reads.

    Parameters
    ----------
    brought
        What was looked at. Nothing is left on its connection.
    criterion
        As the user asks for it; what asks for one is not plain.
    left_out
        What is told of files that were not read.
    memory
        The limit that the user gave.
    threads
        How many may be used; by default as many as there are cores.
    acts
        What pairs of rankings weigh that are recognised; ``"pair"`` looks for none.
    """
    kernels, form = library(), brought.format
    asked = replace(brought.asked, columns={}, ranking_weight=Choices().ranking_weight)
    plain = asked == Choices() and criterion is None
    if kernels is None or not plain or not isinstance(form, TableFormat) or form.info != TABLE:
        return None
    duck = driver()
    try:
        before = _state(brought)
        reader = _reader(kernels, brought, brought.names(form))
        with _within(brought, reader, memory):
            found = _read(reader, brought, left_out, threads, acts)
        # What another program wrote meanwhile is read once more, by one scan.
        return found if _state(brought) == before else None
    except duck.InterruptException:
        raise
    except (NotPlain, InputError, duck.Error, OSError, MemoryError):
        return None


def _reader(kernels: Any, brought: Brought, names: Mapping[str, str]) -> _Reader:
    """Choose the reader of what was brought: by what a file begins with, or for a frame."""
    given, connection = brought.given, brought.connection
    if given is None:
        frame = Frame(kernels, connection, _frame_of(brought), names)
        _check_columns(frame.present)
        return frame
    if given.sheet is not None:
        raise NotPlain
    head = b"PAR1" if given.is_folder else peek(given.path, given.name)
    if head.startswith(b"PAR1"):
        table = described_parquet(connection, given.path, given.name, names, brought.scratch)
        return Carded(kernels, connection, table, _check_columns(table.present))
    if is_json(head):
        raise NotPlain
    if QUALTRICS in head:
        raise NotPlain
    file = File(given.path, given.name, exactly(given.path, brought.scratch), head)
    lines = Lines.of(file, names)
    if head.startswith(BOM_UTF8) and len(lines.found) > len(lines.present):
        raise NotPlain  # cells that are not looked at need not be UTF-8
    return Texts(kernels, connection, lines, _check_columns(lines.present))


def _frame_of(brought: Brought) -> Any:
    if isinstance(brought.data, Mapping | list | tuple):
        raise NotPlain
    import narwhals as nw

    frame: Any = nw.from_native(brought.data, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise NotPlain
    return frame


def _check_columns(present: Mapping[str, int]) -> tuple[str, str]:
    """Return the columns of the two items in a table that has no other columns than it needs."""
    if not is_own_table(present.keys()):
        raise NotPlain
    return ("left", "right") if "outcome" in present else ("winner", "loser")


def _state(brought: Brought) -> list[tuple[str, int, int, int]]:
    """Return by what files are known to be the same."""
    if brought.given is None:
        return []
    states = [(str(part), part.stat()) for part in parts_of(brought.given.path)]
    return [(name, s.st_size, s.st_mtime_ns, s.st_ino) for name, s in states]


@contextmanager
def _within(brought: Brought, reader: _Reader, memory: str | None) -> Iterator[None]:
    """Leave DuckDB what the rows leave of the memory; refuse where that is too little."""
    if memory is None:
        yield
        return
    whole = bytes_of(memory)
    left = whole - _BYTES_PER_ROW * reader.rows()
    if left < whole // 2:
        raise NotPlain
    run = brought.connection.execute
    run(f"SET memory_limit = '{left}B'")
    try:
        yield
    finally:
        run(f"SET memory_limit = '{whole}B'")


def _give_back(connection: duckdb.DuckDBPyConnection) -> None:
    """Have DuckDB give memory back that it would keep for the next query: rows need it now."""
    connection.execute("SET allocator_bulk_deallocation_flush_threshold = '0B'")
    connection.execute("SELECT 1")
    connection.execute("RESET allocator_bulk_deallocation_flush_threshold")


def _read(
    reader: _Reader,
    brought: Brought,
    left_out: tuple[str, ...],
    threads: int | None,
    acts: RankingWeight,
) -> Judgments:
    keys = reader.keys(threads)
    said = keys.codes.outcomes
    if (
        said is not None
        and said.numbers
        and {"left", "right", "outcome"} & {*brought.asked.columns}
    ):
        raise NotPlain  # what 1 means under other names is for the general reader to ask
    keys.recognise_acts(acts)
    if len(keys.key) >= _MANY_ROWS:
        _give_back(brought.connection)
    merged = keys.merged(threads)
    given = brought.given
    notes = (*left_out, *(() if given is None else given.notes), *reader.notes)
    notes += (not_recognised("The graphics card"),) if keys.out_of_order else ()
    return judgments_of(
        keys,
        merged,
        source=Path(brought.name).name if given is not None else brought.name,
        backend=reader.backend,
        sided="outcome" in reader.columns,
        format=TABLE.name,
        notes=tuple(map(spoken, dict.fromkeys(notes))),
        duplicates=_duplicates(reader, keys, merged, threads),
    )


def _duplicates(reader: _Reader, keys: Keys, merged: Merged, threads: int | None) -> int | None:
    """Count the rows that repeat another one in every column, as `aggcal.io.duplicates` does."""
    used = {*reader.columns}
    if {name.strip().lower() for name in reader.found} == used and "weight" not in used:
        return None
    whole = len(reader.found) == len(used) and keys.codes.as_written
    if merged.again and not (whole and reader.weights_as_written):
        return reader.twins(repeated_keys(keys, merged), threads)
    return merged.again
