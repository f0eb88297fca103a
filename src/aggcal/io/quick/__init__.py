"""Large plain tables of judgments, read without a copy of their texts.

What is read here is a table of annotator, winner and loser, or of annotator, left, right and
outcome, perhaps with weights; everything else, and whatever is odd in such a table, is left to the
general reader, which explains it. Both return the same judgments to the bit.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from aggcal._core.arrays import CodeArray, constant
from aggcal._core.kernels import library
from aggcal.data.judgments import Judgments
from aggcal.errors import InputError
from aggcal.errors.voice import spoken
from aggcal.io.formats._base import Choices, TableFormat
from aggcal.io.quick.hashed import Hashed
from aggcal.io.quick.keys import Keys
from aggcal.io.quick.merging import Merged
from aggcal.io.quick.streams import NotPlain
from aggcal.io.quick.texts import Texts
from aggcal.io.rows import Brought
from aggcal.io.tables.delimited import Lines
from aggcal.io.tables.parquet import described_parquet
from aggcal.io.tables.reading import File, is_json, peek
from aggcal.io.tables.source import exactly
from aggcal.registry import TABLE

_PAIRS = ({"left", "right", "outcome"}, {"winner", "loser"})
_SMALL = 1_000_000
"""Bytes of a file below which the general reader is as quick."""


def quickly(
    brought: Brought,
    criterion: str | None,
    left_out: tuple[str, ...] = (),
    *,
    memory: str | None = None,
    threads: int | None = None,
) -> Judgments | None:
    """Read a large plain table; None for any other, which nothing is left of on the connection."""
    kernels, form, given = library(), brought.format, brought.given
    plain = replace(brought.asked, columns={}) == Choices() and criterion is None
    if kernels is None or given is None or given.sheet is not None or not plain:
        return None
    if not isinstance(form, TableFormat) or form.info != TABLE:
        return None
    import duckdb

    try:
        reader = _reader(kernels, brought, form, memory)
        return _read(reader, brought, form, left_out, threads)
    except duckdb.InterruptException:
        raise
    except (NotPlain, InputError, duckdb.Error, OSError, MemoryError):
        return None


def _reader(
    kernels: Any, brought: Brought, form: TableFormat, memory: str | None
) -> Hashed | Texts:
    """Choose the reader of a file by what it begins with."""
    given, connection = brought.given, brought.connection
    if given is None:
        raise NotPlain
    names = brought.names(form)
    if not given.is_folder and given.path.stat().st_size < _SMALL:
        raise NotPlain
    head = b"PAR1" if given.is_folder else peek(given.path, given.name)
    if head.startswith(b"PAR1"):
        table = described_parquet(connection, given.path, given.name, names, brought.scratch)
        return Hashed(kernels, connection, table, pair_of(table.present), given.path)
    if is_json(head):
        raise NotPlain
    file = File(given.path, given.name, exactly(given.path, brought.scratch), head)
    lines = Lines.of(file, names)
    if head.startswith(BOM_UTF8) and len(lines.found) > len(lines.present):
        raise NotPlain  # cells that are not looked at need not be UTF-8
    return Texts(kernels, connection, lines, pair_of(lines.present))


def _read(
    reader: Hashed | Texts,
    brought: Brought,
    form: TableFormat,
    left_out: tuple[str, ...],
    threads: int | None,
) -> Judgments:
    keys = reader.keys(threads)
    merged = keys.merged(threads)
    given = brought.given
    notes = (*left_out, *(() if given is None else given.notes), *reader.notes)
    return judgments_of(
        keys,
        merged,
        source=Path(brought.name).name,
        sided="outcome" in reader.columns,
        format=form.info.name,
        notes=tuple(map(spoken, dict.fromkeys(notes))),
        duplicates=_duplicates(reader, keys, merged),
    )


def _duplicates(reader: Hashed | Texts, keys: Keys, merged: Merged) -> int | None:
    """Count the rows that repeat another one in every column, as `aggcal.io.duplicates` does."""
    used = {*reader.columns}
    if {name.strip().lower() for name in reader.found} == used and "weight" not in used:
        return None
    whole = len(reader.found) == len(used) and keys.codes.as_written
    if merged.again and not (whole and reader.weights_as_written):
        raise NotPlain
    return merged.again


def pair_of(present: Any) -> tuple[str, str]:
    """Return the columns of the two items in a table that has no other columns than it needs."""
    rest = set(present) - {"annotator", "weight"}
    if "annotator" not in present or rest not in _PAIRS:
        raise NotPlain
    return ("left", "right") if "outcome" in rest else ("winner", "loser")


def judgments_of(keys: Keys, merged: Merged, **known: Any) -> Judgments:
    """Return merged rows as judgments of those items and annotators that occur."""
    codes, rows = keys.codes, len(merged.annotator)
    item_ids, annotator_ids = codes.items.texts, codes.annotators.texts
    annotator, left, right = merged.annotator, merged.left, merged.right
    if not merged.judged.all():
        item_ids, (left, right) = item_ids[merged.judged], _closed(merged.judged, left, right)
    if not merged.judging.all():
        annotator_ids = annotator_ids[merged.judging]
        (annotator,) = _closed(merged.judging, annotator)
    if len(item_ids) < 2:  # noqa: PLR2004
        raise NotPlain
    ones = constant(1.0, rows)
    count = np.broadcast_to(np.int64(1), (rows,)) if merged.count is None else merged.count
    counted = ones if merged.count is None else merged.count.astype(np.float64)
    weight = merged.weight if merged.weight is not None else (ones if keys.weighted else counted)
    return Judgments(
        item_ids,
        annotator_ids,
        annotator,
        left,
        right,
        ones if merged.outcome is None else merged.outcome,
        weight,
        count,
        unfitted=keys.unfitted(),
        **known,
    )


def _closed(used: np.ndarray, *columns: CodeArray) -> tuple[CodeArray, ...]:
    """Give codes new numbers, without those that do not occur."""
    place = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return tuple(place[column] for column in columns)
