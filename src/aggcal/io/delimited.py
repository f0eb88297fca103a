"""Tables of lines: CSV and TSV, their delimiter, what stands above and below, and faulty lines."""

from __future__ import annotations

import codecs
import csv
import io
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np

from aggcal._core.kernels import at, library
from aggcal.errors import FileError, TableError, count, some
from aggcal.io.columns import Column
from aggcal.io.files import HEAD, is_packed, text_start, unpacked
from aggcal.io.tables import LOOKED_AT, Cells, Table
from aggcal.io.words import names_table

_SMALL, _PACKING = 4_000_000, 10
"""Bytes of a file that Python reads as rows of texts, and how many times fewer of a packed one."""
_PIECE = 1 << 22
"""Bytes of a large file at a time."""
_LONGEST = 10_000_000
"""Bytes of a row: an id, or even the text of a book, is shorter."""
_LONGEST_TAIL = 1 << 16
"""Bytes below the last row that may be notes: more are a table that is broken."""
_DELIMITERS = (",", "\t", ";", "|")
_LONGEST_HEADER = 1 << 22
"""Bytes of a header: a longer one is a file without lines."""
_TITLES = 30
"""Rows in which a header is looked for: titles above a table are fewer."""
_WIDE = 4
"""Columns from which on a row with one cell is no row: with fewer, the others may be blank."""
_END = "\0end"
"""What is put after the last line of a text: it is a row unless a quotation mark is open."""
_SEP = re.compile(r'"?sep=[,;|\t]?"?\s*', re.IGNORECASE)
_QUALTRICS = '{"ImportId":'
"""What the second row below the header of every export of Qualtrics is full of."""
_SHOWN = 40  # characters of a note that a message repeats


def of_lines(path: Path, name: str, head: bytes, names: set[str], notes: list[str]) -> Table:
    """Read a table of lines, of which ``head`` are the first bytes."""
    csv.field_size_limit(sys.maxsize)
    text = _with_header(path, name, head)
    skip, delimiter, header = _layout(text, names)
    above = _split(text)[:skip]
    if any(line.strip(' \t\r\n",;|') and not _SEP.fullmatch(line) for line in above):
        notes = [*notes, f"the header was found in line {skip + 1}"]
    most = _SMALL // (_PACKING if is_packed(path) else 1)
    if path.stat().st_size > most and library() is not None:
        return Lines(name, header, notes=notes, path=path, delimiter=delimiter, skip=skip)
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
    every = _split(text)
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


def _split(text: str) -> list[str]:
    """Return the lines of a text with their ends, as `lines` counts them."""
    return [*io.StringIO(text, newline="")]


def lines(
    path: Path, delimiter: str, skip: int, *, strict: bool
) -> Iterator[tuple[int, list[str]]]:
    """Go through the rows of a file, the header first, with the lines where they begin.

    Strictly, an error is raised where a quotation mark stands that CSV has not; otherwise it is a
    sign like others. One that is not closed is an error in any case.
    """
    with unpacked(path) as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as text:
        for _ in range(skip):
            text.readline()
        end = [] if strict else ["\n", _END]
        reader = csv.reader(chain(text, end), delimiter=delimiter, strict=strict)
        before = skip
        for row in reader:
            if row == [_END]:
                return
            if row:
                yield before + 1, row
            before = skip + reader.line_num
    if not strict:
        raise csv.Error("unexpected end of data")


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
    every, below = without_notes(every, width)
    notes += below
    _refuse_ragged(name, width, every)
    return [row for _, row in every], [line for line, _ in every], notes


def without_notes(
    rows: list[tuple[int, list[str]]], width: int
) -> tuple[list[tuple[int, list[str]]], list[str]]:
    """Leave out the rows at the end, with their lines, that have but a first cell; say so.

    In a narrow table only those that blank lines part from it: its other cells may be blank.
    """
    full = (k for k in range(len(rows))[::-1] if any(map(str.strip, rows[k][1][1:])))
    last = next(full, len(rows) - 1)
    below = rows[last + 1 :]
    if not below or (width < _WIDE and not _is_apart(rows[last], below[0][0])):
        return rows, []
    return rows[: last + 1], [left_out([next(filter(None, map(str.strip, r))) for _, r in below])]


def _refuse_ragged(name: str, width: int, rows: Iterable[tuple[int, list[str]]]) -> None:
    """Refuse rows that have not as many cells as the header."""
    wrong = [(line, len(row)) for line, row in rows if len(row) != width]
    if wrong:
        line, cells = wrong[0]
        what, remedy = "few", "complete or remove it"
        if cells > width:
            what, remedy = "many", "quote values that hold the delimiter"
        rest = f" ({len(wrong):,} such lines in total)" if len(wrong) > 1 else ""
        raise TableError(
            f"{name}: line {line} has too {what} values: the header names {width} columns; "
            f"{remedy}{rest}."
        )


def _read(path: Path, name: str, delimiter: str, skip: int) -> list[tuple[int, list[str]]]:
    """Read all rows; quotation marks that stand where CSV has none are taken as they are."""
    for strict in (True, False):
        every: list[tuple[int, list[str]]] = []
        try:
            every.extend(lines(path, delimiter, skip, strict=strict))
        except csv.Error as error:
            if "end of data" in str(error):
                raise _not_closed(name, every[-1][0] if every else 0) from None
        else:
            break
    return every


def _not_closed(name: str, last: int) -> TableError:
    """Say that a quotation mark is not closed in the row after that of the last line read."""
    return TableError(
        f"{name}: line {last + 1} has a quotation mark that is not closed; close it or double it."
    )


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


class Lines(Table):
    """A large table of lines, whose cells a kernel numbers piece by piece."""

    def __init__(
        self,
        name: str,
        header: Sequence[str],
        *,
        notes: Sequence[str],
        path: Path,
        delimiter: str,
        skip: int,
    ) -> None:
        super().__init__(name, header, notes=notes, path=path, delimiter=delimiter)
        self.source, self.parted, self.skip, self.above = path, delimiter, skip, 0
        self.place = self._place
        first = [row for _, row in islice(self._lines(), 3)]
        if any(cell.startswith(_QUALTRICS) for row in first[1:2] for cell in row):
            self.notes.append("the 2 rows below the header that Qualtrics adds are left out")
            self.above = 2

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """Go through the rows as Python reads them: slowly, and with their lines."""
        line, above = 0, 1 + self.above
        try:
            for line, row in lines(self.source, self.parted, self.skip, strict=False):
                if any(map(str.strip, row)):
                    above -= 1
                    if above < 0:
                        yield line, row
        except csv.Error:
            raise _not_closed(self.name, line) from None

    def _place(self, row: int) -> str:
        return next((f"line {line}" for line, _ in islice(self._lines(), row, None)), f"row {row}")

    @cached_property
    def head(self) -> list[dict[str, Any]]:
        """The first rows, under small letters."""
        names = [name.strip().lower() for name in self.header]
        rows = islice(self._lines(), LOOKED_AT)
        return [dict(zip(names, row, strict=False)) for _, row in rows]

    @cached_property
    def _number(self) -> int:
        return self._scan(()).rows

    def __len__(self) -> int:
        return self._number

    def load(self, names: Iterable[str]) -> dict[str, Column]:
        """Return columns by their names in small letters."""
        names = [*names]
        scan = self._scan([self.header.index(self.columns[name]) for name in names])
        return dict(zip(names, scan.columns, strict=True))

    def records(self) -> Iterator[tuple[str, Any]]:
        """Go through the rows, with their places."""
        for k, (_, row) in enumerate(self._lines(), 1):
            cells = zip(self.header, row, strict=False)
            yield f"row {k}", {n: cell.strip() or None for n, cell in cells if n.strip()}

    def whole(self, rows: np.ndarray) -> list[Any]:
        """Return what tells rows apart by all their columns."""
        hashes: list[Any] = self._scan(()).hashes[rows].tolist()
        return hashes

    def _scan(self, wanted: Sequence[int]) -> _Scan:
        """Read some columns; without any, a hash of each row."""
        scan = _Scan(len(self.header), wanted, self.parted)
        with unpacked(self.source) as file:
            text = self._begin(file)
            while True:
                more = file.read(_PIECE)
                text += more
                used, faulty = scan.take(text, last=not more)
                text = text[used:]
                if faulty and (notes := self._notes_below(text + file.read(_LONGEST_TAIL))):
                    self.notes += [note for note in [left_out(notes)] if note not in self.notes]
                    break
                if faulty:
                    _refuse_ragged(self.name, len(self.header), self._lines())
                if not more:
                    break
                if len(text) > _LONGEST:
                    raise TableError(
                        f"{self.name}: row {scan.rows + 1} is longer than 10 million bytes; close "
                        "its quotation marks or name items by ids instead of texts."
                    )
        if len(self.header) >= _WIDE and scan.last_full < scan.rows:
            scan.rows, scan.cut = scan.last_full, True
        return scan

    def _begin(self, file: IO[bytes]) -> bytes:
        """Return the first bytes below the header, and below what Qualtrics adds."""
        text = file.read(_LONGEST_HEADER).removeprefix(codecs.BOM_UTF8)
        for _ in range(self.skip):
            text = text[re.search(rb"\r\n|\r|\n", text).end() :]  # type: ignore[union-attr]
        above = _Scan(len(self.header), (), self.parted, most=1 + self.above)
        return text[above.take(text, last=False)[0] :]

    def _notes_below(self, tail: bytes) -> list[str]:
        """Return the lines from a faulty one to the end, if each has but one cell."""
        broken = len(tail) > _LONGEST_TAIL or tail.count(b'"') % 2
        if broken or len(self.header) < _WIDE:
            return []
        text = io.StringIO(tail.decode("utf-8", "replace"), newline="")
        rows = [
            [cell.strip() for cell in row if cell.strip()]
            for row in csv.reader(text, delimiter=self.parted)
        ]
        return [row[0] for row in rows if row] if all(len(row) < 2 for row in rows) else []  # noqa: PLR2004


class _Scan:
    """What a kernel has read of a table: the codes of some columns, or hashes of the rows."""

    def __init__(
        self, width: int, wanted: Sequence[int], delimiter: str, most: int | None = None
    ) -> None:
        kernels: Any = library()
        self.kernels = kernels
        self.wanted, self.delimiter, self.most = len(wanted), delimiter.encode(), most
        self.position = np.full(width, -1, np.int32)
        self.position[[*wanted]] = np.arange(len(wanted))
        self.rows, self.last_full, self.cut = 0, 0, False
        self._codes: np.ndarray = np.empty((len(wanted), 0), np.int32)
        self.hashes: np.ndarray = np.empty(0, np.uint64)
        self._texts: Any = self.kernels.aggcal_columns_new(max(self.wanted, 1))

    def __del__(self) -> None:
        self.kernels.aggcal_columns_free(self._texts, max(self.wanted, 1))

    def take(self, text: bytes, *, last: bool) -> tuple[int, bool]:
        """Read whole lines; return how many bytes they have, and whether the next is faulty."""
        room = self.most or len(text) // 2 + 1
        if self.wanted:
            self._codes = codes = _with_room(self._codes, self.rows, room)
            to, hashes = codes[:, self.rows :], None
        else:
            self.hashes = _with_room(self.hashes, self.rows, room)
            to, hashes = self._codes, self.hashes[self.rows :]
        spare, report = np.empty(len(text) + 1, np.uint8), np.zeros(3, np.int64)
        rows = self.kernels.aggcal_lines(
            text, len(text), last, self.delimiter, len(self.position), *at(self.position),
            self._texts, room, *at(to), self._codes.shape[1], *at(hashes, spare, report)
        )  # fmt: skip
        if rows < 0:
            raise MemoryError
        if report[2]:
            self.last_full = self.rows + int(report[2])
        self.rows += rows
        return int(report[0]), bool(report[1])

    @property
    def columns(self) -> list[Column]:
        """The columns, in the order in which they were wanted."""
        codes = self._codes[:, : self.rows]
        columns = [Column.tidy(self._column(k), codes[k]) for k in range(self.wanted)]
        return [column.compact() for column in columns] if self.cut else columns

    def _column(self, column: int) -> list[str]:
        number = self.kernels.aggcal_column_texts(self._texts, column, None, None)
        start = np.zeros(number + 1, np.int64)
        self.kernels.aggcal_column_texts(self._texts, column, *at(start), None)
        texts = np.empty(start[-1], np.uint8)
        self.kernels.aggcal_column_texts(self._texts, column, None, *at(texts))
        every = texts.tobytes()
        return [every[a:b].decode() for a, b in pairwise(start.tolist())]


def _with_room(rows: np.ndarray, number: int, more: int) -> np.ndarray:
    """Return an array whose last axis has room for more than a number of rows."""
    if rows.shape[-1] - number >= more:
        return rows
    wider = np.empty((*rows.shape[:-1], 2 * (number + more)), rows.dtype)
    wider[..., :number] = rows[..., :number]
    return wider
