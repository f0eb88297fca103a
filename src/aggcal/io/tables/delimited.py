"""CSV and TSV files as tables, and the lines of them that cannot be read."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aggcal._core.database import driver
from aggcal.errors import FileError, TableError
from aggcal.io.tables.leftover import (
    ADDED,
    QUALTRICS,
    drop_added,
    drop_notes,
    left_out,
    notes_below,
)
from aggcal.io.tables.reading import HEAD_BYTES, File, peek
from aggcal.io.tables.source import (
    MOST_COLUMNS,
    Source,
    fill,
    present_columns,
    quoted,
    too_many_columns,
    unpacked,
)

if TYPE_CHECKING:
    import duckdb

_DELIMITERS = (",", "\t", ";", "|")
_LONGEST_HEADER = 1 << 22
"""Bytes of a header: a longer one is a file without lines, which would be read as a whole."""
_STRIDE = 1 << 22
"""Bytes from one look for an endless line to the next: fewer read more of the file, more let a
longer line pass unseen."""
_USUAL_LINE, _LONGEST_LINE = 2_000_000, 10_000_000
"""Bytes of a row of a table: usually, and at most. DuckDB's buffers grow with them; an id, or even
the text of a book, is shorter."""
_MOST_REJECTS = 10_000
"""Rows that cannot be read and are counted. Each is kept with its text."""


@dataclass(frozen=True)
class Lines:
    """A table of lines as a relation of DuckDB: its columns, and which are wanted."""

    file: File
    skip: int
    """Lines above the header."""
    delimiter: str
    found: tuple[str, ...]
    present: Mapping[str, int]
    """Where each wanted column stands."""

    @classmethod
    def of(cls, file: File, names: Mapping[str, str]) -> Lines:
        """Find the header and the delimiter."""
        skip, delimiter, found = _layout(file, names)
        if len(found) > MOST_COLUMNS:
            raise too_many_columns(file.name, len(found))
        return cls(file, skip, delimiter, found, present_columns(found, names, file.name))

    @property
    def every(self) -> list[str]:
        """The columns of the relation."""
        return [f"c{k}" for k in range(len(self.found))]

    @property
    def usual(self) -> int:
        """How long lines may be at first."""
        return _LONGEST_LINE if _has_endless_line(self.file) else _USUAL_LINE

    def relation(
        self, *, strict: bool, longest: int, again: bool = False, lenient: bool = False
    ) -> str:
        """Write the SQL of the relation; where it is read again, what cannot be read raises.

        Unless it is ``lenient``, since all that cannot be read is known to be no row.
        """
        columns = ", ".join(f"'{name}': 'VARCHAR'" for name in self.every)
        return (
            f"read_csv({quoted(self.file.plain)}, header=true, auto_detect=false"
            f", delim={quoted(self.delimiter)}"
            f", quote='\"', escape='\"', columns={{{columns}}}"
            f"{'' if again else f', store_rejects=true, rejects_limit={_MOST_REJECTS}'}"
            f"{', ignore_errors=true' if lenient else ''}"
            f", strict_mode={str(strict).lower()}"
            f", skip={self.skip}, compression='{self.file.compression}'"
            f", max_line_size={longest}, hive_partitioning=false)"
        )

    @property
    def everything(self) -> str:
        """The SQL of what tells rows apart by all their columns."""
        return f"hash({', '.join(f'trim({name})' for name in self.every)})"

    @property
    def notes(self) -> tuple[str, ...]:
        """What is told of the header."""
        return _said_of_titles(self.file, self.skip)


def load_csv(connection: duckdb.DuckDBPyConnection, file: File, names: Mapping[str, str]) -> Source:
    """Load a table of lines; those that cannot be read are refused by their number."""
    lines = Lines.of(file, names)
    found, present, delimiter = lines.found, lines.present, lines.delimiter
    if not present:
        return Source(connection, file.name, frozenset(), found, None, file.path, delimiter)
    cells = {n: f"c{k}" for n, k in present.items()}
    read_as = _fill(
        connection,
        lines.relation,
        lines.usual,
        lambda rows: fill(connection, cells, rows, lines.every),
    )
    below = _refuse_rejects(connection, lines)
    above = drop_added(connection, [*present]) if QUALTRICS in file.head else []
    below += drop_notes(connection, [*present])

    def everything() -> str:
        blank = " AND ".join(f"coalesce(trim({name}), '') = ''" for name in lines.every)
        again = lines.relation(**read_as, again=True, lenient=bool(below))
        part = f"LIMIT {source.rows()} OFFSET {ADDED if above else 0}" if above or below else ""
        return f"SELECT {lines.everything} AS h FROM {again} WHERE NOT ({blank}) {part}"

    there = frozenset(present)
    source = Source(connection, file.name, there, found, None, file.path, delimiter, everything)
    return replace(source, titles=lines.skip, notes=(*lines.notes, *above, *below))


def _said_of_titles(file: File, skip: int) -> tuple[str, ...]:
    """Say where the header was found, if there is more than blank lines above it."""
    lines = file.head.decode("utf-8-sig", errors="ignore").splitlines()[:skip]
    titles = any(line.strip(' \t",;|') and not line.lower().startswith("sep=") for line in lines)
    return (f"the header was found in line {skip + 1}",) if titles else ()


def _layout(file: File, names: Mapping[str, str]) -> tuple[int, str, tuple[str, ...]]:
    """Return how many lines are blank before the header, the delimiter, and the columns' names."""
    head, cut = with_header(file.path, file.name, file.head)
    try:
        text = head.decode("utf-8-sig", errors="ignore" if cut else "strict")
    except UnicodeDecodeError as error:
        line = head[: error.start].count(b"\n") + 1
        raise FileError(
            f"{file.name}: line {line} is not UTF-8 text; save the file as UTF-8."
        ) from None
    start = table_start(text, names)
    return text[:start].count("\n"), *header_of(text[start:], names)


def table_start(text: str, names: Mapping[str, str]) -> int:
    r"""Return where the header begins: after blank lines, titles, and one that tells the delimiter.

    Lines above the header are titles if they name none of the wanted columns, and the header, which
    has more cells than they do, at least two of them that are no letters or sides.

    Examples
    --------
    >>> names = {"item": "item", "score": "score"}
    >>> table_start("\n\nitem,score", names), table_start("sep=;\nitem;score", names)
    (2, 6)
    >>> table_start("Our scores,\n\nitem,score\na,1\n", names)
    13
    """
    found = _BEFORE_HEADER.match(text)
    start = at = found.end() if found else 0
    widest = 0
    for line in text[start:].splitlines(keepends=True)[:LOOKED_AT]:
        _, cells = header_of(line, names)
        if not widest and any(cell.lower() in names for cell in cells):
            return start
        filled = sum(map(bool, cells))
        if widest and filled > widest and names_table(cells, names):
            return at
        widest = max(widest, filled)
        at += len(line)
    return start


def names_table(cells: Iterable[str], names: Container[str]) -> bool:
    """Whether cells name two of the wanted columns, beyond what may be an id or an outcome.

    Examples
    --------
    >>> names_table(["Item", "Score"], ("item", "score")), names_table(["a", "b"], ("a", "b"))
    (True, False)
    """
    known = {cell.strip().lower() for cell in cells} - _MAY_BE_DATA
    return sum(len(name) > 1 and name in names for name in known) > 1


_MAY_BE_DATA = {"left", "right", "text", "answer", "choice", "set", "list", "user", "label"}
LOOKED_AT = 30
"""Rows in which a header is looked for: titles above a table are shorter, sheets of data longer."""


_BLANK_LINES = r"(?:[ \t]*\r?\n)*"
_BEFORE_HEADER = re.compile(
    rf"{_BLANK_LINES}(?:\"?sep=[,;|\t]\"?\r?\n{_BLANK_LINES})?", re.IGNORECASE
)


def _fill(
    connection: duckdb.DuckDBPyConnection,
    relation: Callable[..., str],
    usual: int,
    load: Callable[[str], None],
) -> dict[str, Any]:
    """Load the rows, strictly and with short lines if that will do; return what did."""
    duck = driver()
    strict = True
    try:
        load(relation(strict=True, longest=usual))
    except duck.InvalidInputException:
        # Lines that end now in LF, now in CR LF: harmless, but refused by the strict parser.
        strict = False
        load(relation(strict=False, longest=usual))
    if usual == _LONGEST_LINE or not _has_long_lines(connection):
        return {"strict": strict, "longest": usual}
    # DuckDB's buffers grow with the longest line, so that is only allowed where there is one.
    for table in ("raw", "reject_errors", "reject_scans"):
        connection.execute(f"DROP TABLE {table}")
    load(relation(strict=strict, longest=_LONGEST_LINE))
    return {"strict": strict, "longest": _LONGEST_LINE}


def with_header(path: Path, name: str, head: bytes) -> tuple[bytes, bool]:
    """Read on until the head of a table holds its whole header; whether there is more after it."""
    size = HEAD_BYTES
    while len(head) == size and not _holds_header(head):
        if size >= _LONGEST_HEADER:
            if b"\n" not in head and b"\r" not in head:
                raise TableError(
                    f"{name}: the first line is longer than {_LONGEST_HEADER:,} bytes; it must "
                    "name the columns."
                )
            break  # a quotation mark that is not closed: told with its line when it is read
        size = min(8 * size, _LONGEST_HEADER)
        head = peek(path, name, size)
    return head, len(head) == size


def _holds_header(head: bytes) -> bool:
    quotes = 0
    for line in head.lstrip(b"\xef\xbb\xbf \t\r\n").splitlines(keepends=True):
        quotes += line.count(b'"')
        if quotes % 2 == 0 and line.endswith((b"\n", b"\r")):
            return True
    return False


def header_of(text: str, names: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """Choose the delimiter under which the first line names most of the wanted columns."""
    csv.field_size_limit(sys.maxsize)
    best: tuple[tuple[int, int], str, tuple[str, ...]] | None = None
    for delimiter in _DELIMITERS:
        first = next(csv.reader(io.StringIO(text, newline=None), delimiter=delimiter), [])
        cells = tuple(c.strip() for c in first)
        fit = (sum(c.lower() in names for c in cells), len(cells))
        if best is None or fit > best[0]:
            best = (fit, delimiter, cells)
    if best is None:  # pragma: no cover  # there is always a delimiter to try
        raise LookupError
    return best[1], best[2]


_REJECTS = {
    "MISSING COLUMNS": "has too few values: the header names {n} columns; complete or remove it.",
    "TOO MANY COLUMNS": "has too many values: the header names {n} columns; "
    "quote values that hold the delimiter.",
    "UNQUOTED VALUE": "has a quotation mark that is not closed; close it or double it.",
    "LINE SIZE OVER MAXIMUM": "is longer than 10 million bytes; close its quotation marks or name "
    "items by ids instead of texts.",
    "INVALID ENCODING": "is not UTF-8 text; save the file as UTF-8.",
}


def _has_endless_line(file: File) -> bool:
    """Whether a line may be longer than DuckDB's usual buffer, which it passes over in silence.

    Looked for in strides, of which such a line covers at least one, so that little is read (but
    all of what is packed).
    """
    with unpacked(file.path) as raw:
        start = 0
        while raw.seek(start) == start and (piece := raw.read(HEAD_BYTES)):
            run = 0
            while piece and b"\n" not in piece and b"\r" not in piece:
                run += len(piece)
                if run > _LONGEST_LINE:
                    raise TableError(
                        f"{file.name}: line {_lines_before(file.path, start) + 1} "
                        f"{_REJECTS['LINE SIZE OVER MAXIMUM']}"
                    )
                piece = raw.read(HEAD_BYTES)
            if run > _STRIDE:
                return True
            start += _STRIDE
    return False


def _has_long_lines(connection: duckdb.DuckDBPyConnection) -> bool:
    found = connection.execute(
        "SELECT count(*) FROM reject_errors WHERE error_type::VARCHAR = 'LINE SIZE OVER MAXIMUM'"
    ).fetchone()
    return bool(found and found[0])


def _refuse_rejects(connection: duckdb.DuckDBPyConnection, lines: Lines) -> list[str]:
    """Refuse lines that cannot be read, by their number; say which are only notes below."""
    file, width = lines.file, len(lines.found)
    rejects = connection.execute(
        "SELECT line, line_byte_position, byte_position, error_type::VARCHAR, error_message, "
        "csv_line FROM reject_errors ORDER BY line_byte_position, byte_position"
    ).fetchall()
    if not rejects:
        return []
    line, position, cell_at, kind, message, text = rejects[0]
    if kind == "MISSING COLUMNS" and position is not None:
        notes = notes_below(file.path, position - 1, lines.delimiter, width)
        if notes:
            return [left_out(notes)]
    # DuckDB names a line once for each cell that it has too few or too many.
    number = len({where for _, where, *_ in rejects})
    more = " or more" if len(rejects) >= _MOST_REJECTS else ""
    rest = "" if number == 1 else f" ({number:,}{more} such lines in total)"
    if cell_at is not None and _begins_endless_cell(file.path, cell_at - 1):
        line, kind, rest = _lines_before(file.path, cell_at) + 1, "LINE SIZE OVER MAXIMUM", ""
    elif position is not None:
        line = _physical_line(file.path, line, position, text or "")
    remedy = _REJECTS.get(str(kind), f"cannot be read ({message}).").format(n=width)
    raise TableError(f"{file.name}: line {line} {remedy[:-1]}{rest}.")


def _begins_endless_cell(path: Path, position: int) -> bool:
    """Whether a cell in quotation marks begins at a position and ends out of reach.

    DuckDB takes one that is longer than its buffer for many broken rows.
    """
    with unpacked(path) as file:
        file.seek(position)
        cell = file.read(_LONGEST_LINE)
    return len(cell) == _LONGEST_LINE and cell.startswith(b'"') and cell.count(b'"') % 2 == 1


def _physical_line(path: Path, line: int, position: int, text: str) -> int:
    """Count lines as an editor does: breaks inside quotes and blank lines included."""
    seen = _lines_before(path, int(position) - 1)
    blank = len(text) - len(text.lstrip("\r\n"))
    return seen + text[:blank].count("\n") + 1 if seen else line


def _lines_before(path: Path, position: int) -> int:
    seen = 0
    with unpacked(path) as file:
        while position > 0 and (chunk := file.read(min(position, 1 << 20))):
            seen += chunk.count(b"\n")
            position -= len(chunk)
    return seen
