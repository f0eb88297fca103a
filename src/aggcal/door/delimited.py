"""Tables of lines: CSV and TSV, their delimiter, what stands above and below, and faulty lines."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from aggcal.door.files import HEAD, text_start, unpacked
from aggcal.door.tables import Cells, Table
from aggcal.door.words import names_table
from aggcal.errors import FileError, TableError, count, some

SMALL = 4_000_000
"""Bytes of a file that Python reads: below it, to start DuckDB takes longer."""
_DELIMITERS = (",", "\t", ";", "|")
_LONGEST_HEADER = 1 << 22
"""Bytes of a header: a longer one is a file without lines."""
_TITLES = 30
"""Rows in which a header is looked for: titles above a table are fewer."""
_WIDE = 4
"""Columns from which on a row with one cell is no row: with fewer, the others may be blank."""
_SEP = re.compile(r'"?sep=[,;|\t]?"?\s*', re.IGNORECASE)
_QUALTRICS = '{"ImportId":'
"""What the second row below the header of every export of Qualtrics is full of."""
_SHOWN = 40


def of_lines(path: Path, name: str, head: bytes, names: set[str], notes: list[str]) -> Table:
    """Read a table of lines, of which ``head`` are the first bytes."""
    csv.field_size_limit(sys.maxsize)
    text = _with_header(path, name, head)
    skip, delimiter, header = _layout(text, names)
    above = text.splitlines()[:skip]
    if any(line.strip(' \t",;|') and not _SEP.fullmatch(line) for line in above):
        notes = [*notes, f"the header was found in line {skip + 1}"]
    rows, places, more = _rows(path, name, delimiter, skip)
    return Cells(
        name,
        header,
        rows,
        places=lambda row: f"line {places[row]}",
        notes=[*notes, *more],
        path=path,
        delimiter=delimiter,
    )


def _with_header(path: Path, name: str, head: bytes) -> str:
    """Return the head of a file as text, read on until it holds the whole header."""
    size = HEAD
    while len(head) == size and not _holds_header(head):
        if size >= _LONGEST_HEADER:
            if b"\n" not in head and b"\r" not in head:
                raise TableError(
                    f"{name}: the first line is longer than {_LONGEST_HEADER:,} bytes; it must "
                    "name the columns."
                )
            break  # a quotation mark that is not closed: said with its line when it is read
        size = min(8 * size, _LONGEST_HEADER)
        with unpacked(path) as file:
            head = file.read(size)
    return head.decode("utf-8-sig", errors="ignore")


def _holds_header(head: bytes) -> bool:
    quotes = 0
    for line in text_start(head).splitlines(keepends=True):
        quotes += line.count(b'"')
        if quotes % 2 == 0 and line.endswith((b"\n", b"\r")):
            return True
    return False


def _layout(text: str, names: set[str]) -> tuple[int, str, tuple[str, ...]]:
    """Return how many lines stand above the header, the delimiter, and the header.

    It is the first line that names a wanted column, or one below titles that has more cells and
    names two.
    """
    every = text.splitlines(keepends=True)
    blank = (k for k, line in enumerate(every) if line.strip() and not _SEP.fullmatch(line))
    first = next(blank, 0)
    delimiter, header = _header("".join(every[first:]), names)
    widest = 0
    for k in range(first, min(first + _TITLES, len(every))):
        other, cells = _header(every[k], names)
        filled = [cell.lower() for cell in cells if cell]
        if not widest and names.intersection(filled):
            break
        if widest and len(filled) > widest and names_table({*filled}, names):
            return k, other, cells
        widest = max(widest, len(filled))
    return first, delimiter, header


def _header(text: str, names: set[str]) -> tuple[str, tuple[str, ...]]:
    """Choose the delimiter under which the first line names most of the wanted columns."""
    best: tuple[tuple[int, int], str, tuple[str, ...]] = (-1, -1), ",", ()
    for delimiter in _DELIMITERS:
        first = next(csv.reader(io.StringIO(text, newline=None), delimiter=delimiter), [])
        cells = tuple(cell.strip() for cell in first)
        fit = sum(cell.lower() in names for cell in cells), len(cells)
        best = max(best, (fit, delimiter, cells), key=lambda one: one[0])
    return best[1], best[2]


def lines(
    path: Path, delimiter: str, skip: int, *, strict: bool
) -> Iterator[tuple[int, list[str]]]:
    """Go through the rows of a file, the header first, with the lines where they begin."""
    with unpacked(path) as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as text:
        for _ in range(skip):
            text.readline()
        reader, before = csv.reader(text, delimiter=delimiter, strict=strict), skip
        for row in reader:
            if row:
                yield before + 1, row
            before = skip + reader.line_num


def _rows(
    path: Path, name: str, delimiter: str, skip: int
) -> tuple[list[list[str]], list[int], list[str]]:
    """Return the rows below the header, their lines and what is left out; refuse faulty lines."""
    try:
        every = _read(path, name, delimiter, skip)
    except UnicodeDecodeError:
        raise FileError(f"{name}: is not UTF-8 text throughout; save it as UTF-8.") from None
    width = len(every[0][1])
    every = [(line, row) for line, row in every[1:] if any(map(str.strip, row))]
    notes = []
    if len(every) > 1 and any(cell.startswith(_QUALTRICS) for cell in every[1][1]):
        notes.append("the 2 rows below the header that Qualtrics adds are left out")
        every = every[2:]
    full = (k for k in range(len(every))[::-1] if any(map(str.strip, every[k][1][1:])))
    last = next(full, -1)
    below = every[last + 1 :]
    if last >= 0 and below and (width >= _WIDE or _is_apart(every[last], below[0][0])):
        texts = [next(filter(None, map(str.strip, row))) for _, row in below]
        notes.append(left_out(texts))
        every = every[: last + 1]
    many = [line for line, row in every if len(row) > width]
    few = [line for line, row in every if len(row) < width]
    if many or few:
        wrong, what = (many, "many") if many and (not few or many[0] < few[0]) else (few, "few")
        remedy = (
            "complete or remove it" if what == "few" else "quote values that hold the delimiter"
        )
        rest = (
            f" ({len(many) + len(few):,} such lines in total)" if len(many) + len(few) > 1 else ""
        )
        raise TableError(
            f"{name}: line {wrong[0]} has too {what} values: the header names {width} columns; "
            f"{remedy}{rest}."
        )
    return [row for _, row in every], [line for line, _ in every], notes


def _read(path: Path, name: str, delimiter: str, skip: int) -> list[tuple[int, list[str]]]:
    """Read all rows; quotation marks that stand where CSV has none are taken as they are."""
    every = []
    try:
        for one in lines(path, delimiter, skip, strict=True):
            every.append(one)  # noqa: PERF402  # what was read before an error is looked at
    except csv.Error as error:
        if "end of data" in str(error):
            line = every[-1][0] + 1 if every else 1
            raise TableError(
                f"{name}: line {line} has a quotation mark that is not closed; close it or double "
                "it."
            ) from None
        return list(lines(path, delimiter, skip, strict=False))
    return every


def _is_apart(row: tuple[int, list[str]], line: int) -> bool:
    """Whether blank lines stand between a row and a line after it."""
    return line > row[0] + 1 + sum(cell.count("\n") for cell in row[1])


def left_out(notes: list[str]) -> str:
    """Say which lines below a table are no rows of it.

    Examples
    --------
    >>> left_out(["Note: ann was away."])
    "1 line below the table is no row and is left out: 'Note: ann was away.'"
    """
    shown = some([note if len(note) <= _SHOWN else f"{note[:_SHOWN]}..." for note in notes])
    verb = "is no row and is" if len(notes) == 1 else "are no rows and are"
    return f"{count(len(notes), 'line')} below the table {verb} left out: {shown}"
