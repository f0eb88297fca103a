"""Judgments of any format, written in ours or in that of another tool."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Self, TypedDict

from aggcal._core.progress import report
from aggcal.errors import OptionError, TooLittleDataError, some
from aggcal.io.appending import Copies, Existing
from aggcal.io.cells import csv_cell, spreadsheet_cell
from aggcal.io.folders import Given, PathLike, files_of
from aggcal.io.formats._base import Choices, refuse_options
from aggcal.io.formats.plain import UNSIDED
from aggcal.io.formats.preflib import KINDS
from aggcal.io.row_checks import NOT_ANSWERED, checked, refuse_unused_scale
from aggcal.io.rows import Reading, opened_rows
from aggcal.io.saving import refuse_existing, refuse_overwriting, write_file
from aggcal.io.several import Together
from aggcal.io.tables.source import no_room, quoted
from aggcal.io.writers import OPTIONAL, WRITERS, JudgmentRow, cell_writer, named_columns
from aggcal.registry import PREFLIB

_AT_ONCE = 5_000
_IN_MEMORY = 1 << 24
"""Bytes of rows that wait in memory; more wait on disk, which is slower only where it is slow."""

_SIDES = (
    "winners of judgments without sides are written on the left: read the files together, with "
    "--judgments, where the side of the screen matters"
)


class _How(TypedDict):
    """How files are read."""

    format_name: str | None
    memory: str | None
    on_progress: Callable[[float], None] | None


@dataclass(frozen=True)
class Conversion:
    """What was written, and what should be known about it."""

    path: Path
    format: str
    n_rows: int
    n_left_out: int
    notes: tuple[str, ...]
    appended: bool = False
    """Whether the judgments were added to a table that was there."""


def convert_judgments(
    inputs: Sequence[PathLike],
    output: Path | str,
    *,
    to: str | None = None,
    format_name: str | None = None,
    choices: Choices | None = None,
    criterion: str | None = None,
    overwrite: bool = True,
    append: bool = False,
    memory: str | None = None,
    spreadsheet_safe: bool = False,
    on_progress: Callable[[float], None] | None = None,
) -> Conversion:
    r"""Read files of judgments and write them, row by row, as one file.

    Parameters
    ----------
    inputs
        Files of any format that `read_judgments` knows, and folders of them.
    output
        The file to write; ``-`` is standard output.
    to
        ``"aggcal"`` (a CSV that loses nothing), ``"crowd-kit"`` or ``"preflib"``; told from the
        name of the output if it is not given.
    format_name, choices
        What is known about the inputs, as in `read_judgments`.
    criterion
        Write only the judgments of this criterion.
    overwrite
        Whether a file that already exists may be replaced.
    append
        Add the judgments to the table that is there. Its columns must fit them; it is replaced, as
        a whole and at once, by itself and the new rows.
    memory
        Memory limit for reading, such as ``"2GB"``; beyond it, and while rows wait to be written,
        the disk is used. (Of PrefLib, the different orders are kept in memory.)
    spreadsheet_safe
        Write an apostrophe before texts that a spreadsheet would take for a formula. They are
        then no longer the ids that were read.
    on_progress
        Called now and then with the percentage done of the step under way.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source, target = Path(folder, "votes.csv"), Path(folder, "judgments.csv")
    ...     _ = source.write_text("worker,left,right,label\nw1,a,b,a\n")
    ...     _ = convert_judgments([source], target)
    ...     print(target.read_text())
    annotator,left,right,outcome
    w1,a,b,left
    """
    output = Path(output)
    to = to or (PREFLIB.name if output.suffix.lstrip(".") in KINDS else "aggcal")
    _check(to, output, append=append, spreadsheet_safe=spreadsheet_safe)
    if str(output) != "-":
        refuse_existing(output, force=overwrite or append)
    refuse_overwriting(output.parent, [output.name], inputs)
    given = files_of(list(inputs)) or Given(())
    refuse_overwriting(output.parent, [output.name], given.files)
    before = Existing.at(output, to) if append and output.exists() else None
    how: _How = {"format_name": format_name, "memory": memory, "on_progress": on_progress}
    parting = tuple(named_columns(choices or Choices()).values())
    with _Waiting(criterion, parting, compared=before is not None) as rows:
        notes = [*given.notes]
        notes += _read(given.files, rows, choices or Choices(), how, beside=before is not None)
        if criterion is not None:
            notes.append(f"only judgments of the criterion '{criterion}' are written")
        rows.refuse_none(given.files)
        there = before.columns if before else ()
        mixed = "winner" in rows.columns and "left" in {*rows.columns, *there}
        if mixed or (there and "sided" in rows.columns and "sided" not in there):
            notes.append(_SIDES)
        cell = spreadsheet_cell if spreadsheet_safe else csv_cell
        written = WRITERS[to](rows, output.name, cell, () if before is None else before.columns)
        write = written.write
        if before is not None:
            before.refuse_missing(written.columns)
            notes += rows.copies.found_in(before, memory)
            write = before.writer(written.lines, cell_writer(cell))
        if str(output) == "-":
            write(sys.stdout)
        else:
            write_file(output, write, force=overwrite or append)
        kept, appended = written.rows, before is not None
        return Conversion(output, to, kept, len(rows) - kept, tuple(notes), appended)


def _check(to: str, output: Path, *, append: bool, spreadsheet_safe: bool) -> None:
    """Refuse what cannot be written, before anything is read."""
    if to not in WRITERS:
        raise OptionError(f"cannot write '{to}'; choose one of {', '.join(WRITERS)}.")
    if spreadsheet_safe and to == PREFLIB.name:
        raise OptionError(
            "--spreadsheet-safe only applies to tables, not to PrefLib; leave it out."
        )
    if append and (to == PREFLIB.name or str(output) == "-"):
        what = "standard output" if str(output) == "-" else "a PrefLib file"
        raise OptionError(f"rows can only be added to a table, not to {what}; leave --append out.")


def _read(
    files: Sequence[PathLike], rows: _Waiting, choices: Choices, how: _How, *, beside: bool
) -> list[str]:
    """Read the files into the rows that wait; return what is to be said of them.

    Of several files, or ``beside`` a table that is there, what a file does not name (annotators,
    rankings) is called after it: the same made-up name elsewhere means something else.
    """
    together = Together(files, choices)
    plain = len(files) == 1 and not beside
    notes: list[str] = []
    for number, path in enumerate(files):
        own = choices if plain else together.choices(number)
        with opened_rows(path, own, **how) as found:
            if plain:
                refuse_options(found.format, choices, found.source.name)
                refuse_unused_scale(found)
            notes += together.notes(number, found)
            rows.add(_rows(found, together.outcomes(found), own), together.labels[number])
    return [*notes, *together.last_notes()]


class _Waiting:
    """Rows that wait to be written, on disk where they are many, and what is known of them.

    Which columns there are is known only after the last row, so all of them have to wait.
    """

    def __init__(self, criterion: str | None, parting: tuple[str, ...], *, compared: bool) -> None:
        self.criterion, self.parting, self._compared = criterion, parting, compared
        self.criteria: set[str] = set()
        self.columns: set[str] = set()
        self.copies = Copies(parting)
        self._number = 0
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY, "w+", encoding="utf-8")  # noqa: SIM115

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[JudgmentRow]:
        self._file.seek(0)
        done = 0
        for line in self._file:
            batch = json.loads(line)
            report("writing judgments", done, self._number)
            done += len(batch)
            yield from batch

    def refuse_none(self, inputs: Sequence[Path | str]) -> None:
        """Refuse to write nothing."""
        if self.criterion is not None and self.criterion not in self.criteria:
            raise OptionError(
                f"no judgment has the criterion '{self.criterion}'; there are "
                f"{some(sorted(self.criteria)) or 'none'}."
            )
        if not len(self):
            raise TooLittleDataError(f"{', '.join(map(str, inputs))}: no judgment to write.")

    def add(self, rows: Iterator[JudgmentRow], label: str) -> None:
        """Let rows wait, if they are of the criterion that is wanted."""
        self._file.seek(0, os.SEEK_END)
        try:
            # In batches, a line each: a row at a time takes twice as long.
            while batch := list(islice(rows, _AT_ONCE)):
                self.criteria.update(row.get("criterion", "") for row in batch)
                kept = [
                    row
                    for row in batch
                    if self.criterion is None or row.get("criterion", "") == self.criterion
                ]
                self.columns.update(*kept)
                if self._compared:
                    self.copies.add(label, kept)
                self._number += len(kept)
                self._file.write(json.dumps(kept) + "\n")
        except OSError as error:
            raise no_room(error) from None


def _rows(
    reading: Reading, outcomes: Mapping[str, str | float], choices: Choices
) -> Iterator[JudgmentRow]:
    source = reading.source
    pair, means = checked(reading, outcomes, choices.blank)
    names = ["annotator", *pair]
    cells = [f'"{name}"' for name in names]
    if means is not None:
        names.append("outcome")
        cells.append(f"CASE {means} WHEN {quoted(NOT_ANSWERED)} THEN '' ELSE {means} END")
    optional = [name for name in OPTIONAL if name in source.columns]
    names += optional
    cells += [
        f"ranking || {quoted(choices.made_up(''))}" if name == "ranking" else f'"{name}"::VARCHAR'
        for name in optional
    ]
    if means is not None and not reading.sided and not {"ranking", "sided"} & source.columns:
        names.append("sided")
        cells.append(quoted(UNSIDED))
    parted = {own: name for own, name in named_columns(choices).items() if own in source.columns}
    names += parted.values()
    cells += [f'"{own}"' for own in parted]
    found = source.connection.execute(f"SELECT {', '.join(cells)} FROM raw ORDER BY rowid")
    while batch := found.fetchmany(_AT_ONCE):
        for values in batch:
            yield {n: v for n, v in zip(names, values, strict=True) if v is not None}
