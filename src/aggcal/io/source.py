"""Any table as text columns in DuckDB: files of several kinds, data frames, rows.

A reader asks for the columns it knows; what it gets is a DuckDB table ``raw`` of trimmed text
(NULL where a cell is empty) whose ``rowid`` is the position of the row, so that the reader can
check and encode millions of rows without a Python loop and still name the line of a bad one.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from aggcal.errors import FileError, OptionError, TableError, some
from aggcal.tables import Columns, frame_columns, row_columns

if TYPE_CHECKING:
    import duckdb

_DELIMITERS = (",", "\t", ";", "|")
_HEAD_BYTES = 1 << 16


@dataclass(frozen=True)
class Source:
    """A table loaded into DuckDB as text, with what is needed to speak about it."""

    connection: duckdb.DuckDBPyConnection
    name: str
    columns: frozenset[str]
    found: tuple[str, ...]
    backend: str | None = None
    path: Path | None = None
    delimiter: str | None = None

    def rows(self) -> int:
        """How many rows there are."""
        return self.one("count(*)")

    def one(self, expression: str, where: str = "true") -> int:
        """Evaluate one integer aggregate over the rows."""
        row = self.connection.execute(f"SELECT {expression} FROM raw WHERE {where}").fetchone()
        return int(row[0]) if row and row[0] is not None else 0

    def frequencies(self, expression: str, where: str) -> list[tuple[str, int]]:
        """Return the distinct values of an expression with their counts, most frequent first."""
        found = self.connection.execute(
            f"SELECT {expression} AS v, count(*) FROM raw WHERE {where} "
            "GROUP BY v ORDER BY 2 DESC, 1"
        ).fetchall()
        return [(str(v), int(n)) for v, n in found]

    def first(self, where: str, column: str) -> tuple[str, str]:
        """Say where the first offending row is, and what its ``column`` holds."""
        row = self.connection.execute(
            f"SELECT rowid, {column} FROM raw WHERE {where} ORDER BY rowid LIMIT 1"
        ).fetchone()
        if row is None:
            raise LookupError(where)
        return self._place(int(row[0])), "" if row[1] is None else str(row[1])

    def require(self, names: Sequence[str], remedy: str) -> None:
        """Refuse a table that lacks one of the named columns."""
        missing = [n for n in names if n not in self.columns]
        if missing:
            noun = "column" if len(missing) == 1 else "columns"
            raise TableError(
                f"{self.name}: {noun} {some(missing)} missing (found: {', '.join(self.found)}); "
                f"{remedy}"
            )

    def _place(self, record: int) -> str:
        if self.path is None or self.delimiter is None:
            return f"row {record + 1}"
        # Only walked when there is something to complain about: blank lines and line breaks
        # inside quotes make the number of a record and of its line differ.
        with _opened(self.path) as binary:
            text = io.TextIOWrapper(binary, "utf-8-sig", errors="replace", newline="")
            csv.field_size_limit(sys.maxsize)
            reader = csv.reader(text, delimiter=self.delimiter)
            while not any(cell.strip() for cell in next(reader, ["end"])):
                pass  # blank lines before the header
            start = reader.line_num + 1
            for row in reader:
                if row:
                    if record == 0:
                        return f"line {start}"
                    record -= 1
                start = reader.line_num + 1
        return f"row {record + 1}"


@contextmanager
def opened(
    data: Any,
    wanted: Sequence[str],
    *,
    what: str,
    shapes: Mapping[int, Sequence[str]],
    aliases: Mapping[str, str] | None = None,
    memory: str | None = None,
) -> Iterator[Source]:
    """Load ``data`` (a path, a data frame, or rows) and close everything afterwards.

    Parameters
    ----------
    data
        A path to CSV, TSV, JSON lines, JSON or Parquet (each may be gzipped but the last);
        a pandas, polars or arrow frame; a list of tuples or mappings; a mapping of columns.
    wanted
        The columns the reader knows; others are not loaded.
    what
        What the table holds, for messages: ``"judgments"`` or ``"scores"``.
    shapes
        The column names of tuples, by their length.
    aliases
        Wanted columns that go by another name in this table.
    memory
        DuckDB's limit, beyond which it works on disk.
    """
    import duckdb  # 0.15 s that --help must not pay

    renamed = {other.strip().lower(): own for own, other in (aliases or {}).items()}
    names = {w: w for w in wanted if w not in renamed.values()} | renamed
    with tempfile.TemporaryDirectory(prefix="aggcal-") as scratch:
        connection = duckdb.connect(
            config={"temp_directory": scratch, "autoinstall_known_extensions": "false"}
        )
        try:
            if memory is not None:
                _limit_memory(connection, memory)
            if isinstance(data, str | Path):
                yield _load_file(connection, Path(data), names, Path(scratch))
            else:
                yield _load_memory(connection, data, names, what, shapes)
        except (duckdb.InterruptException, RuntimeError) as error:
            if "interrupt" in str(error).lower():
                raise KeyboardInterrupt from None
            raise
        finally:
            connection.close()


def _limit_memory(connection: duckdb.DuckDBPyConnection, memory: str) -> None:
    import duckdb

    try:
        connection.execute(f"SET memory_limit = {quoted(memory)}")
    except duckdb.Error:
        raise OptionError(f"memory '{memory}' is not a size; write 2GB or 500MB.") from None


def _load_memory(
    connection: duckdb.DuckDBPyConnection,
    data: Any,
    names: Mapping[str, str],
    what: str,
    shapes: Mapping[int, Sequence[str]],
) -> Source:
    backend: str | None = None
    framed = frame_columns(data, names)
    columns: Columns
    if framed is not None:
        columns, backend, found = framed
    else:
        try:
            columns, found = row_columns(data, shapes, what)
        except TypeError:
            raise TableError(
                f"{what} cannot be read from {type(data).__name__!r}; give a path, a pandas, "
                "polars or arrow frame, or a list of rows."
            ) from None
    present = {names[key]: column for key, column in columns.items() if key in names}
    if present:
        connection.register("given", {f"c{k}": c for k, c in enumerate(present.values())})
        _fill(connection, {n: f"c{k}" for k, n in enumerate(present)}, "given")
    return Source(connection, what, frozenset(present), tuple(found), backend)


def _fill(
    connection: duckdb.DuckDBPyConnection,
    present: Mapping[str, str],
    relation: str,
    every: Sequence[str] = (),
) -> None:
    cells = ", ".join(f"nullif(trim({c}::VARCHAR), '') AS \"{n}\"" for n, c in present.items())
    blank = " AND ".join(f"coalesce(trim({c}), '') = ''" for c in every) or "false"
    chosen = f"SELECT {cells}, {blank} AS _blank FROM {relation}"
    connection.execute(f"CREATE TEMP TABLE raw AS {chosen}")
    # Spreadsheets leave rows of empty cells behind: those are blank lines, not judgments.
    connection.execute("DELETE FROM raw WHERE _blank")


# ---------------------------------------------------------------------------- files


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


def _load_file(
    connection: duckdb.DuckDBPyConnection, path: Path, names: Mapping[str, str], scratch: Path
) -> Source:
    import duckdb

    name = str(path)
    if path.is_dir():
        return _load_folder(connection, path, names)
    path = _regular(path, scratch)
    head = _head(path, name)
    plain = str(path)
    if re.search(r"[*?\[\]{}]", plain):  # DuckDB would take these for a pattern
        link = scratch / ("table" + "".join(path.suffixes[-2:]))
        link.symlink_to(path.resolve())
        plain = str(link)
    file = _File(path, name, plain, head)
    try:
        if head.startswith(b"PAR1"):
            return _load_parquet(connection, file, names)
        if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
            return _load_json(connection, file, names)
        return _load_csv(connection, file, names)
    except duckdb.Error as error:
        reason = str(error).split("\n", 1)[0].replace(plain, name)
        raise FileError(f"{name}: cannot be read as a table ({reason}).") from None


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    with path.open("rb") as file:
        magic = file.read(2)
        file.seek(0)
        if magic == b"\x1f\x8b":
            with gzip.open(file, "rb") as unpacked:
                yield unpacked  # type: ignore[misc]  # GzipFile reads like any binary file
        else:
            yield file


def _regular(path: Path, scratch: Path) -> Path:
    """Return the path, or that of a copy if it is a stream (a pipe, standard input as '-')."""
    stream = Path("/dev/stdin") if str(path) == "-" else path
    if not (stream.is_fifo() or stream.is_char_device() or stream != path):
        return path
    copy = scratch / "stream"
    with stream.open("rb") as source, copy.open("wb") as target:
        shutil.copyfileobj(source, target)
    return copy


def _head(path: Path, name: str) -> bytes:
    try:
        with _opened(path) as file:
            head = file.read(_HEAD_BYTES)
    except FileNotFoundError:
        raise FileError(f"{name}: no such file; check the path.") from None
    except IsADirectoryError:
        raise FileError(f"{name}: is a directory; give the file in it.") from None
    except PermissionError:
        raise FileError(f"{name}: no permission to read it; change its mode or owner.") from None
    except (OSError, EOFError) as error:
        raise FileError(f"{name}: cannot be read ({error}).") from None
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        raise FileError(f"{name}: is empty; the first line must name the columns.")
    if head.startswith(b"PAR1"):
        return head
    if head.startswith(b"PK\x03\x04"):
        raise FileError(f"{name}: is not a text file but looks like a workbook; export it as CSV.")
    if b"\0" in head:
        raise FileError(f"{name}: is not a text file; save it as CSV in UTF-8.")
    return head


def quoted(text: str) -> str:
    """Write a text as an SQL literal.

    Examples
    --------
    >>> quoted("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def _load_parquet(
    connection: duckdb.DuckDBPyConnection, file: _File, names: Mapping[str, str]
) -> Source:
    relation = f"read_parquet({quoted(file.plain)})"
    return _from_parquet(connection, relation, file.name, file.path, names)


def _from_parquet(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    name: str,
    path: Path,
    names: Mapping[str, str],
) -> Source:
    described = connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    found = tuple(str(row[0]) for row in described)
    present = _present(found, names, name)
    if present:
        _fill(connection, {n: _identifier(found[k]) for n, k in present.items()}, relation)
    return Source(connection, name, frozenset(present), found, None, path)


def _load_folder(
    connection: duckdb.DuckDBPyConnection, folder: Path, names: Mapping[str, str]
) -> Source:
    import duckdb

    parts = sorted(folder.rglob("*.parquet"))
    if not parts:
        raise FileError(f"{folder}: is a directory without Parquet files; give the file in it.")
    relation = f"read_parquet([{', '.join(quoted(str(part)) for part in parts)}])"
    try:
        return _from_parquet(connection, relation, str(folder), folder, names)
    except duckdb.Error as error:
        reason = str(error).split("\n", 1)[0]
        raise FileError(f"{folder}: cannot be read as a table ({reason}).") from None


def _load_json(
    connection: duckdb.DuckDBPyConnection, file: _File, names: Mapping[str, str]
) -> Source:
    array = file.head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
    layout = "array" if array else "newline_delimited"
    keys = connection.execute(
        "SELECT DISTINCT unnest(json_keys(json)) FROM (SELECT json FROM read_json_objects("
        f"{quoted(file.plain)}, format='{layout}', compression='{file.compression}')) ORDER BY 1"
    ).fetchall()
    found = tuple(str(k) for (k,) in keys)
    present = _present(found, names, file.name)
    if present:
        kinds = ", ".join(f"{quoted(found[k])}: 'VARCHAR'" for k in present.values())
        relation = (
            f"read_json({quoted(file.plain)}, format='{layout}', columns={{{kinds}}}, "
            f"compression='{file.compression}')"
        )
        _fill(connection, {n: _identifier(found[k]) for n, k in present.items()}, relation)
    return Source(connection, file.name, frozenset(present), found, None, file.path)


def _load_csv(
    connection: duckdb.DuckDBPyConnection, file: _File, names: Mapping[str, str]
) -> Source:
    import duckdb

    head = file.head
    try:
        text = head.decode("utf-8-sig", errors="strict" if len(head) < _HEAD_BYTES else "ignore")
    except UnicodeDecodeError as error:
        line = head[: error.start].count(b"\n") + 1
        raise FileError(
            f"{file.name}: line {line} is not UTF-8 text; save the file as UTF-8."
        ) from None
    blank_lines = len(text) - len(text.lstrip("\r\n \t"))
    skip = text[:blank_lines].count("\n")
    delimiter, found = _header(text[blank_lines:], names)
    present = _present(found, names, file.name)
    if not present:
        return Source(connection, file.name, frozenset(), found, None, file.path, delimiter)
    columns = ", ".join(f"'c{k}': 'VARCHAR'" for k in range(len(found)))

    def relation(*, strict: bool) -> str:
        return (
            f"read_csv({quoted(file.plain)}, header=true, auto_detect=false"
            f", delim={quoted(delimiter)}"
            f", quote='\"', escape='\"', columns={{{columns}}}, store_rejects=true"
            f", strict_mode={str(strict).lower()}, skip={skip}, compression='{file.compression}')"
        )

    cells = {n: f"c{k}" for n, k in present.items()}
    every = [f"c{k}" for k in range(len(found))]
    try:
        _fill(connection, cells, relation(strict=True), every)
    except duckdb.InvalidInputException:
        # Lines that end now in LF, now in CR LF: harmless, but refused by the strict parser.
        _fill(connection, cells, relation(strict=False), every)
    _refuse_rejects(connection, file, len(found))
    return Source(connection, file.name, frozenset(present), found, None, file.path, delimiter)


def _header(text: str, names: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """Choose the delimiter under which the first line names most of the wanted columns."""
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


def _present(found: Sequence[str], names: Mapping[str, str], name: str) -> dict[str, int]:
    present: dict[str, int] = {}
    for position, column in enumerate(found):
        key = names.get(column.strip().lower())
        if key is None:
            continue
        if key in present:
            raise TableError(f"{name}: column '{column}' stands twice in the header; rename one.")
        present[key] = position
    return present


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


_REJECTS = {
    "MISSING COLUMNS": "has too few values: the header names {n} columns; complete or remove it.",
    "TOO MANY COLUMNS": "has too many values: the header names {n} columns; "
    "quote values that hold the delimiter.",
    "UNQUOTED VALUE": "has a quotation mark that is not closed; close it or double it.",
    "INVALID ENCODING": "is not UTF-8 text; save the file as UTF-8.",
}


def _refuse_rejects(connection: duckdb.DuckDBPyConnection, file: _File, width: int) -> None:
    rejects = connection.execute(
        "SELECT line, line_byte_position, error_type::VARCHAR, error_message, csv_line "
        "FROM reject_errors ORDER BY line_byte_position"
    ).fetchall()
    if not rejects:
        return
    line, position, kind, message, text = rejects[0]
    rest = "" if len(rejects) == 1 else f" ({len(rejects):,} such lines in all)"
    remedy = _REJECTS.get(str(kind), f"cannot be read ({message}).").format(n=width)
    if position is not None:
        line = _physical_line(file.path, line, position, text or "")
    raise TableError(f"{file.name}: line {line} {remedy[:-1]}{rest}.")


def _physical_line(path: Path, line: int, position: int, text: str) -> int:
    """Count lines as an editor does: breaks inside quotes and blank lines included."""
    remaining, seen = int(position) - 1, 0
    with _opened(path) as file:
        while remaining > 0 and (chunk := file.read(min(remaining, 1 << 20))):
            seen += chunk.count(b"\n")
            remaining -= len(chunk)
    blank = len(text) - len(text.lstrip("\r\n"))
    return seen + text[:blank].count("\n") + 1 if seen else line
