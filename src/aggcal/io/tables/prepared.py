"""A file that was given, made ready to be read: a copy of a stream, a sheet, a text in UTF-8."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from aggcal.errors import FileError, printable
from aggcal.io.tables.charset import as_utf8, charset_of
from aggcal.io.tables.reading import HEAD_BYTES, is_json, regular, said
from aggcal.io.tables.source import unpacked
from aggcal.io.tables.workbook import Sheet, is_workbook, open_sheet, split_sheet


@dataclass(frozen=True)
class Prepared:
    """Where to read, what the user calls it, and what was done to read it."""

    path: Path
    name: str
    notes: tuple[str, ...] = ()
    sheet: Sheet | None = None

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder, of Parquet files."""
        return os.path.isdir(self.path)  # noqa: PTH112  # which, unlike Path's, asks no permission


def prepared(
    data: str | Path, wanted: Iterable[str], scratch: Path, name: str | None = None
) -> Prepared:
    """Make a file ready: its text in UTF-8, or its sheet as CSV.

    Parameters
    ----------
    data
        A path; that of a workbook may end in ``#`` and the name of a sheet.
    wanted
        The names of columns, by which a sheet is chosen where none is named.
    scratch
        A folder for copies.
    name
        What the user calls it, if that is not its path.
    """
    name = name or printable(str(data))
    given, sheet_name = split_sheet(Path(data))
    if os.path.isdir(given):  # noqa: PTH112
        return Prepared(given, name)
    path = regular(given, scratch)
    with said(name):
        with path.open("rb") as file:
            workbook = is_workbook(file.read(8))
        if workbook:
            book = printable(str(given)) if sheet_name is not None else name
            sheet = open_sheet(path, book, wanted, scratch, sheet_name)
            return Prepared(sheet.path, sheet.name, sheet.notes, sheet)
    with said(name), unpacked(path) as text:
        head = text.read(HEAD_BYTES)
    if head.startswith(b"PAR1"):
        return Prepared(path, name)
    _refuse_documents(head, name)
    with said(name):
        charset = charset_of(path, name)
        if not charset.is_utf8:
            return Prepared(as_utf8(path, charset, name, scratch), name, (charset.note,))
        marked = charset.codec == "utf-8-sig" and is_json(head)
        # Lines that end in CR alone, as on old Macs; and DuckDB takes no mark before JSON.
        if marked or (b"\r" in head and b"\n" not in head and not _has_lf(path)):
            return Prepared(as_utf8(path, charset, name, scratch), name)
    return Prepared(path, name)


def _refuse_documents(head: bytes, name: str) -> None:
    """Refuse what is neither a table nor JSON whatever its name says."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    for beginning, what in _DOCUMENTS.items():
        if start.startswith(beginning):
            raise FileError(f"{name}: is {what}.")
    if re.match(rb"\|.*\r?\n\|[ :|-]+\r?\n", start):
        raise FileError(f"{name}: is a table in Markdown; {_AGAIN}.")


_AGAIN = "open it in a spreadsheet program and save it as .xlsx or CSV"
_DOCUMENTS = {
    b"<": f"a page of HTML or XML, whatever its name says; {_AGAIN}",
    b"{\\rtf": "a formatted text (RTF); save it as plain text",
    b"%PDF": "a PDF, which is not read; export the table as CSV or .xlsx",
    b"PK\x03\x04": "a packed file within another; unpack it",
}
"""How documents begin that people take for tables."""


def _has_lf(path: Path) -> bool:
    with unpacked(path) as file:
        while piece := file.read(16 * HEAD_BYTES):
            if b"\n" in piece:
                return True
    return False
