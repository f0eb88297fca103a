"""Tables of lines: CSV and TSV, their delimiter, what stands above and below, and faulty lines."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from aggcal._core.kernels import at, library
from aggcal.errors import FileError, TableError, count, some
from aggcal.io.columns import Column
from aggcal.io.files import HEAD, text_start, unpacked, unpacked_size
from aggcal.io.tables import LOOKED_AT, Cells, Table
from aggcal.io.words import header_row

_SMALL = 100_000
"""Bytes of a file that Python reads as rows of texts: a larger one takes it twice as long."""
_PIECE = 1 << 22
"""Bytes of a large file at a time."""
_LONGEST = 10_000_000
"""Bytes of a row: an id, or even the text of a book, is shorter."""
_DELIMITERS = (",", "\t", ";", "|")
_LONGEST_HEADER = 1 << 22
"""Bytes of a header: a longer one is a file without lines."""
_TITLES = 30
"""Lines in which a header is looked for."""
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
    csv.field_size_limit(_LONGEST)
    text = _with_header(path, name, head)
    skip, delimiter, header = _layout(text, names)
    above = " ".join(
        line.strip(' \t\r\n",;|') for line in _split(text)[:skip] if not _SEP.fullmatch(line)
    ).strip()
    if above:
        notes = [*notes, f"the header was found in line {skip + 1}"]
    what: dict[str, Any] = {"name": name, "notes": notes, "path": path, "delimiter": delimiter}

    def small() -> Cells:
        return _small(skip, header, **what)

    whole = unpacked_size(path) > _SMALL and library() is not None
    table = Lines(small, skip=skip, header=header, **what) if whole else small()
    table.above = above
    return table


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
    """Return how many lines stand above the header, the delimiter, and the header."""
    lines = _split(text)
    blank = (k for k, line in enumerate(lines) if line.strip() and not _SEP.fullmatch(line))
    first = next(blank, 0)
    below = (_header(line, names) for line in lines[first + 1 :])
    rows = list(islice(chain([_header("".join(lines[first:]), names)], below), _TITLES))
    row, _ = header_row((cells for _, cells in rows), names)
    return first + row, *rows[row]


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


def _small(
    skip: int, header: Sequence[str], *, name: str, path: Path, delimiter: str, notes: list[str]
) -> Cells:
    """Read the rows below the header; refuse faulty lines, and say what is left out."""
    try:
        every = _read(path, name, delimiter, skip)
    except UnicodeDecodeError:
        raise FileError(f"{name}: is not UTF-8 text throughout; save it as UTF-8.") from None
    width, notes = len(every[0][1]), [*notes]
    every = [(line, row) for line, row in every[1:] if any(map(str.strip, row))]
    if len(every) > 1 and any(cell.startswith(_QUALTRICS) for cell in every[1][1]):
        notes.append("the 2 rows below the header that Qualtrics adds are left out")
        header = [*map(_in_a_matrix, header, every[0][1])]
        every = every[2:]
    every, below = without_notes(every, width)
    _refuse_ragged(name, width, every)
    places = [line for line, _ in every]
    return Cells(
        name,
        header,
        [row for _, row in every],
        places=lambda row: f"line {places[row]}",
        notes=[*notes, *below],
        path=path,
        delimiter=delimiter,
    )


def _in_a_matrix(name: str, text: str) -> str:
    """Return what the row of a matrix is called, as Google Forms does, whose column is a number.

    Examples
    --------
    >>> _in_a_matrix("Q3_1", "Rank the posters - Poster A"), _in_a_matrix("Q3", "Age")
    ('Rank the posters [Poster A]', 'Q3')
    """
    question, dash, row = text.rpartition(" - ")
    return f"{question} [{row}]" if dash and re.fullmatch(r"Q\w*_\d+", name) else name


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
            if "field limit" in str(error):
                raise _too_long(name, len(every)) from None
            if "end of data" in str(error):
                raise _not_closed(name, every[-1][0] if every else 0) from None
        else:
            break
    return every


def _too_long(name: str, row: int) -> TableError:
    return TableError(
        f"{name}: row {row} is longer than 10 million bytes; close its quotation marks or name "
        "items by ids instead of texts."
    )


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
    """A large table of lines, whose cells a kernel numbers piece by piece.

    Where a line is not as the others, all of it is read again as a small one, which says why.
    """

    def __init__(self, small: Callable[[], Cells], path: Path, skip: int, **what: Any) -> None:
        super().__init__(path=path, **what)
        self._small, self._skip, self.place = small, skip, self._place

    @cached_property
    def _cells(self) -> Cells:
        cells = self._small()
        self.notes += [note for note in cells.notes if note not in self.notes]
        return cells

    def _place(self, row: int) -> str:
        """Return where a row stands, without holding all of them."""
        assert self.path is not None  # noqa: S101  # it is given
        every = lines(self.path, str(self.delimiter), self._skip, strict=False)
        filled = (line for line, cells in every if any(map(str.strip, cells)))
        return next((f"line {line}" for line in islice(filled, row + 1, None)), f"row {row + 1}")

    @cached_property
    def head(self) -> list[dict[str, Any]]:
        """The first rows, under small letters."""
        assert self.path is not None  # noqa: S101  # it is given
        every = lines(self.path, str(self.delimiter), self._skip, strict=False)
        names = [name.strip().lower() for name in self.header]
        try:
            rows = [row for _, row in islice(every, 1, LOOKED_AT + 1)]
        except csv.Error:
            return self._cells.head
        if len(rows) > 1 and any(cell.startswith(_QUALTRICS) for cell in rows[1]):
            return self._cells.head
        return [dict(zip(names, row, strict=False)) for row in rows if any(map(str.strip, row))]

    def __len__(self) -> int:
        return len(self._hashes) if self._hashes is not None else len(self._cells)

    def load(self, names: Iterable[str]) -> dict[str, Column]:
        """Return columns by their names in small letters."""
        names = [*names]
        columns = self._scan([self.header.index(self.columns[name]) for name in names])
        if columns is None:
            return self._cells.load(names)
        return dict(zip(names, columns, strict=True))

    def records(self) -> Iterator[tuple[str, Any]]:
        """Go through the rows, with their places."""
        return self._cells.records()

    def whole(self, rows: np.ndarray) -> list[Any]:
        """Return what tells rows apart by all their columns."""
        if self._hashes is None:
            return self._cells.whole(rows)
        hashes: list[Any] = self._hashes[rows].tolist()
        return hashes

    @cached_property
    def _hashes(self) -> Any:
        return self._scan(())

    def _scan(self, wanted: Sequence[int]) -> Any:
        """Read some columns, or a hash of each row; None where a line is not as the others."""
        assert self.path is not None  # noqa: S101  # it is given
        if "_cells" in self.__dict__:  # there was such a line before
            return None
        scan = _Scan(len(self.header), wanted, str(self.delimiter))
        with unpacked(self.path) as file:
            text = file.read(_LONGEST_HEADER).removeprefix(codecs.BOM_UTF8)
            for _ in range(self._skip):
                text = text[re.search(rb"\r\n|\r|\n", text).end() :]  # type: ignore[union-attr]
            text = text[_Scan(len(self.header), (), str(self.delimiter)).take(text, most=1)[0] :]
            more = b"-"
            while more:
                more = file.read(_PIECE)
                text += more
                used, faulty = scan.take(text, last=not more)
                text = text[used:]
                if faulty:
                    return None
                if len(text) > _LONGEST:
                    raise _too_long(self.name, scan.rows + 1)
        if len(self.header) >= _WIDE and scan.last_full < scan.rows:
            return None
        return scan.columns() if wanted else scan.hashes


class _Scan:
    """What a kernel has read of a table: the codes of some columns, or hashes of the rows."""

    def __init__(self, width: int, wanted: Sequence[int], delimiter: str) -> None:
        kernels: Any = library()
        self._kernels = kernels
        self._wanted, self._delimiter = len(wanted), delimiter.encode()
        self._position = np.full(width, -1, np.int32)
        self._position[[*wanted]] = np.arange(len(wanted))
        self.rows = self.last_full = 0
        self._codes = [np.empty((len(wanted), 0), np.int32)]
        self._hashes = [np.empty(0, np.uint64)]
        self._texts: Any = self._kernels.aggcal_columns_new(max(self._wanted, 1))

    def __del__(self) -> None:
        self._kernels.aggcal_columns_free(self._texts, max(self._wanted, 1))

    def take(self, text: bytes, *, last: bool = False, most: int | None = None) -> tuple[int, bool]:
        """Read whole lines; return how many bytes they have, and whether the next is faulty."""
        room = most or len(text) // 2 + 1
        codes = np.empty((self._wanted, room), np.int32)
        hashes = None if self._wanted else np.empty(room, np.uint64)
        spare, report = np.empty(len(text) + 1, np.uint8), np.zeros(3, np.int64)
        rows = self._kernels.aggcal_lines(
            text, len(text), last, self._delimiter, len(self._position), *at(self._position),
            self._texts, room, *at(codes), room, *at(hashes, spare, report)
        )  # fmt: skip
        if rows < 0:
            raise MemoryError
        if report[2]:
            self.last_full = self.rows + int(report[2])
        self.rows += rows
        self._codes.append(codes[:, :rows].copy())
        if hashes is not None:
            self._hashes.append(hashes[:rows].copy())
        return int(report[0]), bool(report[1])

    @property
    def hashes(self) -> np.ndarray:
        """A hash of each row, where no column was wanted."""
        return np.concatenate(self._hashes)

    def columns(self) -> list[Column]:
        """Return the columns, in the order in which they were wanted."""
        codes = np.concatenate(self._codes, axis=1)
        return [Column.tidy(self._column(k), codes[k]) for k in range(self._wanted)]

    def _column(self, column: int) -> list[str]:
        number = self._kernels.aggcal_column_texts(self._texts, column, None, None)
        start = np.zeros(number + 1, np.int64)
        self._kernels.aggcal_column_texts(self._texts, column, *at(start), None)
        texts = np.empty(start[-1], np.uint8)
        self._kernels.aggcal_column_texts(self._texts, column, None, *at(texts))
        every = texts.tobytes()
        return [every[a:b].decode() for a, b in pairwise(start.tolist())]
