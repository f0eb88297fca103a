"""Files as tables: CSV and TSV, JSON and JSON lines, Parquet and folders of it."""

from __future__ import annotations

import csv
import io
import os
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aggcal.errors import FileError, TableError, printable
from aggcal.io.database import lacks_room
from aggcal.io.formats.sample import Sample, of_json, of_table
from aggcal.io.parquet import load_parquet, look_at_parquet
from aggcal.io.source import (
    MOST_COLUMNS,
    Source,
    cell,
    exactly,
    fill,
    no_room,
    present_columns,
    quoted,
    too_many_columns,
    unpacked,
)

if TYPE_CHECKING:
    import duckdb

_DELIMITERS = (",", "\t", ";", "|")
_HEAD_BYTES = 1 << 16
_MOST_LOOKED_AT = 1 << 26
_PIECE = 1 << 20
_LONGEST_HEADER = 1 << 22
_LONGEST_TEXT = 1_000_000
"""Characters of a line of text: an order of 100,000 items has fewer, a bomb of zeros has more."""
_STRIDE = 1 << 22
_USUAL_LINE, _LONGEST_LINE = 2_000_000, 10_000_000
"""Bytes of a row of a table: usually, and at most. DuckDB's buffers grow with them; an id, or even
the text of a book, is shorter."""
_MOST_REJECTS = 10_000
"""Rows that cannot be read and are counted. Each is kept with its text."""


@dataclass(frozen=True)
class _File:
    """A file to load: where it is, what the user calls it, what DuckDB may call it, its head."""

    path: Path
    name: str
    plain: str
    head: bytes

    @property
    def compression(self) -> str:
        """What DuckDB must unpack, whatever the name of the file ends in."""
        with self.path.open("rb") as raw:
            return "gzip" if raw.read(2) == b"\x1f\x8b" else "none"


def load_file(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    names: Mapping[str, str],
    scratch: Path,
    name: str | None = None,
) -> Source:
    """Load a file, of the kind that its content says it is, under the name that the user knows."""
    import duckdb

    name = name or printable(str(path))
    if os.path.isdir(path):  # noqa: PTH112  # which, unlike Path's, asks no permission
        return load_parquet(connection, path, name, names, scratch)
    path = regular(path, scratch)
    head = peek(path, name)
    plain = exactly(path, scratch)
    file = _File(path, name, plain, head)
    with _said(name):
        try:
            if head.startswith(b"PAR1"):
                return load_parquet(connection, path, name, names, scratch)
            if is_json(head):
                return _load_json(connection, file, names)
            return _load_csv(connection, file, names)
        except duckdb.Error as error:
            if lacks_room(error):
                raise
            if is_json(head):
                raise FileError(
                    f"{name}: is not valid JSON throughout, perhaps cut off; export the file again."
                ) from None
            reason = str(error).split("\n", 1)[0].replace(plain, name)
            raise FileError(f"{name}: cannot be read as a table ({reason}).") from None


def regular(path: Path, scratch: Path) -> Path:
    """Return the path, or that of a copy if it is a stream (a pipe, standard input as '-')."""
    stream = Path("/dev/stdin") if str(path) == "-" else path
    try:
        streams = stream.is_fifo() or stream.is_char_device() or stream != path
    except PermissionError:
        streams = False  # told when it is opened
    if not streams:
        return path
    copy = scratch / "stream"
    with _said(printable(str(path))), stream.open("rb") as source:
        while piece := source.read(_PIECE):
            try:
                with copy.open("ab") as target:
                    target.write(piece)
            except OSError as error:
                raise no_room(error) from None
    return copy


def look(path: Path, name: str, known: Mapping[str, str]) -> Sample:
    """Look at the head of a file; ``known`` are the columns that tell a table's delimiter."""
    if os.path.isdir(path):  # noqa: PTH112
        return look_at_parquet(path, name, known)
    head = peek(path, name)
    if head.startswith(b"PAR1"):
        return look_at_parquet(path, name, known)
    if is_json(head):
        size = _HEAD_BYTES
        sample = of_json(name, _decoded(head, cut=len(head) == size))
        # One record may hold whole conversations: read on until there is one to look at.
        while not sample.records and len(head) == size and size < _MOST_LOOKED_AT:
            size *= 8
            head = peek(path, name, size)
            sample = of_json(name, _decoded(head, cut=len(head) == size))
        if sample.text.strip() == "[]":
            raise FileError(f"{name}: holds no records; export it again.")
        return sample
    head, _ = _with_header(path, name, head)
    text = _decoded(head, cut=True).lstrip("\r\n \t")
    delimiter, found = _header(text, known)
    return of_table(name, found, text, delimiter)


def is_json(head: bytes) -> bool:
    """Whether a file begins as JSON does."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")


def text_lines(path: Path, name: str) -> Iterator[str]:
    """Read the lines of a text file."""
    number = 0
    with _said(name), unpacked(path) as file, io.TextIOWrapper(file, "utf-8-sig") as text:
        try:
            while line := text.readline(_LONGEST_TEXT + 1):
                number += 1
                if len(line) > _LONGEST_TEXT:
                    raise FileError(
                        f"{name}: line {number} is longer than {_LONGEST_TEXT:,} characters, "
                        "which no order is; check the file."
                    )
                yield line
        except UnicodeDecodeError:
            raise FileError(
                f"{name}: line {number + 1} or one soon after it is not UTF-8 text; save the file "
                "as UTF-8."
            ) from None


def text_pieces(path: Path, name: str) -> Iterator[str]:
    """Read a text file in parts, however long its lines are."""
    with _said(name), unpacked(path) as file, io.TextIOWrapper(file, "utf-8-sig") as text:
        try:
            while piece := text.read(_PIECE):
                yield piece
        except UnicodeDecodeError:
            raise FileError(f"{name}: is not UTF-8 text throughout; save it as UTF-8.") from None


def _decoded(head: bytes, *, cut: bool) -> str:
    return head.decode("utf-8-sig", errors="ignore" if cut else "replace")


def peek(path: Path, name: str, size: int = _HEAD_BYTES) -> bytes:
    """Return the first bytes of a file that can be read, and refuse others in words."""
    with _said(name), unpacked(path) as file:
        head = file.read(size)
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        what = (
            "export it again" if path.suffix == ".json" else "the first line must name the columns"
        )
        raise FileError(f"{name}: is empty; {what}.")
    if head.startswith(b"PAR1"):
        return head
    if head.startswith(b"PK\x03\x04"):
        raise FileError(f"{name}: is not a text file but looks like a workbook; export it as CSV.")
    if b"\0" in head:
        raise FileError(f"{name}: is not a text file; save it as CSV in UTF-8.")
    return head


@contextmanager
def _said(name: str) -> Iterator[None]:
    """Say in words why a file cannot be opened or read."""
    try:
        yield
    except FileError:
        raise
    except FileNotFoundError:
        raise FileError(f"{name}: no such file; check the path.") from None
    except IsADirectoryError:
        raise FileError(f"{name}: is a directory; give the file in it.") from None
    except PermissionError:
        raise FileError(f"{name}: no permission to read it; change its mode or owner.") from None
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise FileError(f"{name}: cannot be read ({reason}).") from None


def _load_json(
    connection: duckdb.DuckDBPyConnection, file: _File, names: Mapping[str, str]
) -> Source:
    array = file.head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
    layout = "array" if array else "newline_delimited"
    keys = connection.execute(
        "SELECT DISTINCT unnest(json_keys(json)) FROM (SELECT json FROM read_json_objects("
        f"{quoted(file.plain)}, format='{layout}', compression='{file.compression}', "
        "hive_partitioning=false)) ORDER BY 1"
    ).fetchall()
    found = tuple(str(k) for (k,) in keys)
    present = present_columns(found, names, file.name)
    if present:
        kinds = ", ".join(f"{quoted(found[k])}: 'VARCHAR'" for k in present.values())
        relation = (
            f"read_json({quoted(file.plain)}, format='{layout}', columns={{{kinds}}}, "
            f"compression='{file.compression}', hive_partitioning=false)"
        )
        fill(connection, {n: cell(found[k]) for n, k in present.items()}, relation)
    records = (
        f"SELECT hash(json::VARCHAR) AS h FROM read_json_objects({quoted(file.plain)}, "
        f"format='{layout}', compression='{file.compression}', hive_partitioning=false)"
    )
    return Source(
        connection,
        file.name,
        frozenset(present),
        found,
        None,
        file.path,
        everything=lambda: records,
    )


def _load_csv(
    connection: duckdb.DuckDBPyConnection, file: _File, names: Mapping[str, str]
) -> Source:
    import duckdb

    head, cut = _with_header(file.path, file.name, file.head)
    try:
        text = head.decode("utf-8-sig", errors="ignore" if cut else "strict")
    except UnicodeDecodeError as error:
        line = head[: error.start].count(b"\n") + 1
        raise FileError(
            f"{file.name}: line {line} is not UTF-8 text; save the file as UTF-8."
        ) from None
    blank_lines = len(text) - len(text.lstrip("\r\n \t"))
    skip = text[:blank_lines].count("\n")
    delimiter, found = _header(text[blank_lines:], names)
    if len(found) > MOST_COLUMNS:
        raise too_many_columns(file.name, len(found))
    present = present_columns(found, names, file.name)
    if not present:
        return Source(connection, file.name, frozenset(), found, None, file.path, delimiter)
    columns = ", ".join(f"'c{k}': 'VARCHAR'" for k in range(len(found)))

    usual = _LONGEST_LINE if _has_endless_line(file) else _USUAL_LINE

    def relation(*, strict: bool, longest: int = usual, again: bool = False) -> str:
        return (
            f"read_csv({quoted(file.plain)}, header=true, auto_detect=false"
            f", delim={quoted(delimiter)}"
            f", quote='\"', escape='\"', columns={{{columns}}}"
            f"{'' if again else f', store_rejects=true, rejects_limit={_MOST_REJECTS}'}"
            f", strict_mode={str(strict).lower()}"
            f", skip={skip}, compression='{file.compression}'"
            f", max_line_size={longest}, hive_partitioning=false)"
        )

    cells = {n: f"c{k}" for n, k in present.items()}
    every = [f"c{k}" for k in range(len(found))]
    strict, longest = True, usual
    try:
        fill(connection, cells, relation(strict=True, longest=usual), every)
    except duckdb.InvalidInputException:
        # Lines that end now in LF, now in CR LF: harmless, but refused by the strict parser.
        strict = False
        fill(connection, cells, relation(strict=False, longest=usual), every)
    if usual != _LONGEST_LINE and _has_long_lines(connection):
        # DuckDB's buffers grow with the longest line, so that is only allowed where there is one.
        for table in ("raw", "reject_errors", "reject_scans"):
            connection.execute(f"DROP TABLE {table}")
        longest = _LONGEST_LINE
        fill(connection, cells, relation(strict=strict, longest=longest), every)
    _refuse_rejects(connection, file, len(found))

    def everything() -> str:
        texts = [f"trim({name})" for name in every]
        blank = " AND ".join(f"coalesce({text}, '') = ''" for text in texts)
        again = relation(strict=strict, longest=longest, again=True)
        return f"SELECT hash({', '.join(texts)}) AS h FROM {again} WHERE NOT ({blank})"

    return Source(
        connection,
        file.name,
        frozenset(present),
        found,
        None,
        file.path,
        delimiter,
        everything,
    )


def _with_header(path: Path, name: str, head: bytes) -> tuple[bytes, bool]:
    """Read on until the head of a table holds its whole header; whether there is more after it."""
    size = _HEAD_BYTES
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


def _header(text: str, names: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
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


def _has_endless_line(file: _File) -> bool:
    """Whether a line may be longer than DuckDB's usual buffer, which it passes over in silence.

    Looked for in strides, of which such a line covers at least one, so that little is read (but
    all of what is packed).
    """
    with unpacked(file.path) as raw:
        start = 0
        while raw.seek(start) == start and (piece := raw.read(_HEAD_BYTES)):
            run = 0
            while piece and b"\n" not in piece and b"\r" not in piece:
                run += len(piece)
                if run > _LONGEST_LINE:
                    raise TableError(
                        f"{file.name}: line {_lines_before(file.path, start) + 1} "
                        f"{_REJECTS['LINE SIZE OVER MAXIMUM']}"
                    )
                piece = raw.read(_HEAD_BYTES)
            if run > _STRIDE:
                return True
            start += _STRIDE
    return False


def _has_long_lines(connection: duckdb.DuckDBPyConnection) -> bool:
    found = connection.execute(
        "SELECT count(*) FROM reject_errors WHERE error_type::VARCHAR = 'LINE SIZE OVER MAXIMUM'"
    ).fetchone()
    return bool(found and found[0])


def _refuse_rejects(connection: duckdb.DuckDBPyConnection, file: _File, width: int) -> None:
    rejects = connection.execute(
        "SELECT line, line_byte_position, byte_position, error_type::VARCHAR, error_message, "
        "csv_line FROM reject_errors ORDER BY line_byte_position"
    ).fetchall()
    if not rejects:
        return
    line, position, cell_at, kind, message, text = rejects[0]
    more = " or more" if len(rejects) >= _MOST_REJECTS else ""
    rest = "" if len(rejects) == 1 else f" ({len(rejects):,}{more} such lines in all)"
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
