"""Write small workbooks: .xlsx by openpyxl, .ods and .xls byte by byte."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Mapping, Sequence
from datetime import date
from html import escape
from pathlib import Path
from typing import Any

import openpyxl

Rows = Sequence[Sequence[Any]]

_NAMES = " ".join(
    f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{short}:1.0"'
    for short in ("office", "table", "text")
)


def write_xlsx(path: Path, sheets: Mapping[str, Rows]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(list(row))
    book.save(path)
    return path


def _ods_cell(value: Any) -> str:
    if value is None:
        return "<table:table-cell/>"
    if isinstance(value, date):
        kind, more = "date", f' office:date-value="{value}"'
    elif isinstance(value, int | float):
        kind, more = "float", f' office:value="{value}"'
    elif str(value).startswith("#"):
        kind, more = "string", ' calcext:value-type="error"'
    else:
        kind, more = "string", ""
    text = f"<text:p>{escape(str(value))}</text:p>"
    return f'<table:table-cell office:value-type="{kind}"{more}>{text}</table:table-cell>'


def write_ods(path: Path, sheets: Mapping[str, Rows]) -> Path:
    """Write what LibreOffice writes, with the endless empty rows below the table."""
    tables = []
    for title, rows in sheets.items():
        lines = "".join(
            f"<table:table-row>{''.join(map(_ods_cell, row))}</table:table-row>" for row in rows
        )
        rest = (
            '<table:table-row table:number-rows-repeated="1048000">'
            '<table:table-cell table:number-columns-repeated="16384"/></table:table-row>'
        )
        tables.append(f'<table:table table:name="{escape(title)}">{lines}{rest}</table:table>')
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {_NAMES} xmlns:calcext='
        '"urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0">'
        f"<office:body><office:spreadsheet>{''.join(tables)}</office:spreadsheet></office:body>"
        "</office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
        "</manifest:manifest>"
    )
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("mimetype", kind)
        book.writestr("META-INF/manifest.xml", manifest)
        book.writestr("content.xml", content, zipfile.ZIP_DEFLATED)
    return path


def _record(kind: int, body: bytes) -> bytes:
    return struct.pack("<HH", kind, len(body)) + body


def _xls_cell(row: int, column: int, value: Any) -> bytes:
    at = struct.pack("<HHH", row, column, 0)
    if isinstance(value, int | float):
        return _record(0x0203, at + struct.pack("<d", value))
    text = str(value)
    if text == "#N/A":
        return _record(0x0205, at + b"\x2a\x01")
    return _record(0x0204, at + struct.pack("<HB", len(text), 1) + text.encode("utf-16-le"))


def write_xls(path: Path, sheets: Mapping[str, Rows]) -> Path:
    """Write BIFF8 records in an OLE file, as Excel 97 did."""
    begin = [_record(0x0809, struct.pack("<HHHHII", 0x0600, kind, 0, 0, 0, 0)) for kind in (5, 16)]
    end = _record(0x000A, b"")
    parts = []
    for rows in sheets.values():
        cells = [
            _xls_cell(r, c, value)
            for r, row in enumerate(rows)
            for c, value in enumerate(row)
            if value is not None
        ]
        parts.append(begin[1] + b"".join(cells) + end)
    names = [title.encode("utf-16-le") for title in sheets]
    size = len(begin[0]) + sum(12 + len(name) for name in names) + len(end)
    bounds, position = [], size
    for name, part in zip(names, parts, strict=True):
        head = struct.pack("<IBBBB", position, 0, 0, len(name) // 2, 1)
        bounds.append(_record(0x0085, head + name))
        position += len(part)
    stream = begin[0] + b"".join(bounds) + end + b"".join(parts)
    path.write_bytes(_ole(stream))
    return path


def _ole(stream: bytes) -> bytes:
    """Wrap a stream called Workbook; it is padded so that it needs no small sectors."""
    stream = stream.ljust(max(4096, -(-len(stream) // 512) * 512), b"\0")
    sectors = len(stream) // 512
    # Sector 0: the allocation table; 1: the directory; then the stream.
    chain = [0xFFFFFFFD, 0xFFFFFFFE, *range(3, sectors + 2), 0xFFFFFFFE]
    table = struct.pack(f"<{len(chain)}I", *chain).ljust(512, b"\xff")
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    header += struct.pack("<HHHHH6xIIIIIIIII", 0x3E, 3, 0xFFFE, 9, 6, 0, 1, 1, 0, 4096, *_NONE)
    header += struct.pack("<I", 0).ljust(436, b"\xff")

    def entry(name: str, kind: int, child: int, start: int, length: int) -> bytes:
        text = (name + "\0").encode("utf-16-le")
        head = text.ljust(64, b"\0") + struct.pack("<HBB", len(text), kind, 1)
        return head + struct.pack("<III36xIQ", *_NO_KIN, child, start, length)

    folder = entry("Root Entry", 5, 1, 0xFFFFFFFE, 0) + entry(
        "Workbook", 2, 0xFFFFFFFF, 2, len(stream)
    )
    return header + table + folder.ljust(512, b"\0") + stream


_NONE = (0xFFFFFFFE, 0, 0xFFFFFFFE, 0)
_NO_KIN = (0xFFFFFFFF, 0xFFFFFFFF)
