"""Rows and columns that a workbook hides: they are read like the others, and that is said.

The XML of a sheet is gone through as a stream, and only by the marks of what is hidden, so that a
large sheet takes about as long as it takes to unpack.
"""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from aggcal.io.tables.sheet_worker import records_of_xls

_AT_ONCE = 1 << 22
"""Bytes that are unpacked at once: more take more memory, fewer take longer."""
_LONGEST = 1 << 26
"""Bytes of one row from which on a sheet is not looked at: it is none that a program writes."""
_XLSX = re.compile(rb"""<(?:\w+:)?(row|col)\s[^>]*\bhidden=["'](?:1|true)["']""")
_ODS = re.compile(rb"<table:table(?:-row|-column)?(?=[\s/>])[^>]*>")
_CONTENT = {"xlsx": re.compile(rb"<(?:\w+:)?(?:v|is)[\s>]"), "ods": re.compile(rb"<text:p|:value=")}
"""What a cell with something in it holds."""
_ROW, _COLUMN = 0x0208, 0x007D
_CELLS = {0x0203, 0x0204, 0x00FD, 0x027E, 0x00BD, 0x0006, 0x0205}
"""Numbers of records of .xls: a row, a range of columns, and cells with something in them."""


@dataclass
class Hidden:
    """What is hidden in a sheet; positions are counted from 0."""

    rows: int = 0
    """Rows below the header that have something in them."""
    filtered: bool = False
    """Whether a filter is on, which is then why."""
    columns: tuple[tuple[int, int], ...] = ()
    """Ranges of columns, the last one included."""

    def has_column(self, position: int) -> bool:
        """Whether a column is hidden.

        Examples
        --------
        >>> Hidden(columns=((2, 4),)).has_column(4)
        True
        """
        return any(first <= position <= last for first, last in self.columns)


def hidden_in(path: Path, sheet: str, part: str | None, header: int) -> Hidden:
    """Find what is hidden in a sheet; nothing where the file does not say it as programs do.

    Parameters
    ----------
    path, sheet
        The workbook, and the name of the sheet.
    part
        The part of a packed workbook that holds the sheet; None for .xls.
    header
        The row that names the columns, counted from 0; those above it are no data.
    """
    with suppress(struct.error, IndexError, ValueError, KeyError, zipfile.BadZipFile, OSError):
        if part is None:
            return _of_xls(path, sheet, header)
        mark = b"visibility=" if part == "content.xml" else b"hidden="
        if not any(mark in piece for piece in _pieces(path, part, b"<")):
            return Hidden()
        if part == "content.xml":
            return _of_ods(path, sheet, header)
        return _of_xlsx(path, part, header)
    return Hidden()


def _pieces(path: Path, part: str, end: bytes) -> Iterator[bytes]:
    """Unpack a part piece by piece, each cut before the last ``end`` in it."""
    rest = b""
    with zipfile.ZipFile(path) as book, book.open(part) as file:
        while new := file.read(_AT_ONCE):
            text = rest + new
            cut = text.rfind(end)
            if cut < 0 and len(text) > _LONGEST:
                raise ValueError(part)
            cut = max(cut, 0)
            yield text[:cut]
            rest = text[cut:]
    yield rest


def _of_xlsx(path: Path, part: str, header: int) -> Hidden:
    found, columns = Hidden(), []
    with zipfile.ZipFile(path) as book, book.open(part) as file:
        prefix = re.search(rb"<(\w+:)?worksheet\b", file.read(_AT_ONCE))
    for text in _pieces(path, part, b"<" + (prefix[1] or b"" if prefix else b"") + b"row "):
        found.filtered |= b"filterColumn " in text
        for tag, end in _hiding(text):
            kind = _XLSX.match(tag)
            if kind is None:
                continue
            if kind[1] == b"col":
                columns.append((_number(tag, b"min") - 1, _number(tag, b"max") - 1))
            elif _number(tag, b"r", header + 2) - 1 > header and not tag.endswith(b"/>"):
                close = text.find(b"row>", end)
                found.rows += bool(_CONTENT["xlsx"].search(text, end, max(close, end)))
    found.columns = tuple(columns)
    return found


def _hiding(text: bytes) -> Iterator[tuple[bytes, int]]:
    """Find the tags that hide something, and where each ends."""
    at = text.find(b"hidden=")
    while at >= 0:
        end = text.find(b">", at) + 1
        if not end:
            return
        yield text[text.rfind(b"<", 0, at) : end], end
        at = text.find(b"hidden=", end)


def _of_ods(path: Path, sheet: str, header: int) -> Hidden:
    found, columns = Hidden(), []
    inside, row, column = False, 0, 0
    for text in _pieces(path, "content.xml", b"<table:table-row"):
        for mark in _ODS.finditer(text):
            tag = mark[0]
            hidden = b'visibility="collapse"' in tag or b'visibility="filter"' in tag
            if tag.startswith(b"<table:table-row"):
                times = _number(tag, b"table:number-rows-repeated", 1)
                if inside and hidden and row > header and not tag.endswith(b"/>"):
                    end = text.find(b"</table:table-row>", mark.end())
                    full = _CONTENT["ods"].search(text, mark.end(), max(end, mark.end()))
                    found.rows += times if full else 0
                    found.filtered |= bool(full) and b'"filter"' in tag
                row += times
            elif tag.startswith(b"<table:table-column"):
                times = _number(tag, b"table:number-columns-repeated", 1)
                if inside and hidden:
                    columns.append((column, column + times - 1))
                column += times
            else:
                inside, row, column = _is_called(tag, sheet), 0, 0
    found.columns = tuple(columns)
    return found


def _is_called(tag: bytes, sheet: str) -> bool:
    from html import unescape

    name = re.search(rb'\btable:name="([^"]*)"', tag)
    return name is not None and unescape(name[1].decode("utf-8", "replace")) == sheet


def _of_xls(path: Path, sheet: str, header: int) -> Hidden:
    rows: set[int] = set()
    full: set[int] = set()
    columns = []
    for kind, body in records_of_xls(path.read_bytes(), sheet):
        if kind == _ROW and struct.unpack_from("<H", body, 12)[0] & 0x20:
            rows.add(struct.unpack_from("<H", body)[0])
        elif kind == _COLUMN and body[8] & 1:
            columns.append(struct.unpack_from("<HH", body))
        elif kind in _CELLS:
            full.add(struct.unpack_from("<H", body)[0])
    return Hidden(sum(row > header for row in rows & full), columns=tuple(columns))


def _number(tag: bytes, name: bytes, default: int | None = None) -> int:
    found = re.search(rb"\s" + name + rb"""=["'](\d+)["']""", tag)
    if found is None:
        if default is None:
            raise ValueError(name)
        return default
    return int(found[1])
