"""What a workbook hides is read like the rest, and said."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import workbooks
from workbooks import write_ods, write_xls, write_xlsx

import aggcal
from aggcal.io.tables import hidden
from aggcal.io.tables.hidden import Hidden, hidden_in

ROWS: list[list[Any]] = [
    ["May"],
    [None],
    ["annotator", "left", "right", "outcome", "remark"],
    ["ann", "a", "b", "left", "x"],
    ["ann", "b", "c", "left", "x"],
    ["bob", "a", "c", "tie", "x"],
    [None],
]


def _again(path: Path, part: str, *changes: tuple[bytes, bytes]) -> Path:
    """Change the bytes of one part of a workbook."""
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    for before, after in changes:
        assert before in parts[part]
        parts[part] = parts[part].replace(before, after)
    with zipfile.ZipFile(path, "w") as book:
        for name, text in parts.items():
            book.writestr(name, text)
    return path


def _xlsx(folder: Path) -> Path:
    path = write_xlsx(folder / "b.xlsx", {"S": ROWS})
    book = openpyxl.load_workbook(path)
    for row in (1, 5, 6, 7, 8):  # above the table, in it, below it
        book["S"].row_dimensions[row].hidden = True
    for column in "DE":
        book["S"].column_dimensions[column].hidden = True
    book.save(path)
    return path


def _prefixed(folder: Path) -> Path:
    path = _xlsx(folder)
    with zipfile.ZipFile(path) as book:
        text = book.read("xl/worksheets/sheet1.xml")
    tags = (b"worksheet", b"sheetData", b"row", b"cols", b"col", b"c", b"v", b"is", b"t")
    changes = [
        (start + tag + end, start + b"x:" + tag + end)
        for tag in tags
        for start in (b"<", b"</")
        for end in (b" ", b">", b"/>")
        if start + tag + end in text
    ]
    return _again(path, "xl/worksheets/sheet1.xml", (b"xmlns=", b"xmlns:x="), *changes)


def _ods(folder: Path) -> Path:
    path = write_ods(folder / "b.ods", {"Other": ROWS, "S & T": ROWS})
    row = b"<table:table-row>"
    first = b'table:name="Other">'
    with zipfile.ZipFile(path) as book:
        text = book.read("content.xml")
    head, _, tail = text.partition(b'table:name="S &amp; T">')
    lines = tail.split(row)
    for k in (1, 5, 7):
        lines[k] = b"<gone>" + lines[k]
    tail = row.join(lines).replace(row + b"<gone>", row[:-1] + b' table:visibility="collapse">')
    columns = (
        b'<table:table-column table:number-columns-repeated="3"/>'
        b'<table:table-column table:visibility="collapse" table:number-columns-repeated="2"/>'
    )
    tail = columns + tail.replace(
        row + b'<table:table-cell office:value-type="string"><text:p>bob',
        row[:-1] + b' table:visibility="collapse"><table:table-cell '
        b'office:value-type="string"><text:p>bob',
    )
    after = head.split(first)[1] + b'table:name="S &amp; T">' + tail
    return _again(path, "content.xml", (text.split(first)[1], after))


def _xls(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def row(number: int) -> bytes:
        body = struct.pack("<HHHHHHHH", number, 0, 5, 0, 0, 0, 0x20, 0)
        return workbooks._record(0x0208, body)

    columns = workbooks._record(0x007D, struct.pack("<HHHHHH", 3, 4, 0, 0, 1, 0))
    cell, said = workbooks._xls_cell, {0, 4, 5, 6}

    def with_row(r: int, c: int, value: Any) -> bytes:
        before = columns * (r == 0) + row(r) * (r in said) if c == 0 else b""
        return before + cell(r, c, value)

    monkeypatch.setattr(workbooks, "_xls_cell", with_row)
    return write_xls(folder / "b.xls", {"S": ROWS})


MAKERS: dict[str, Callable[..., Path]] = {"xlsx": _xlsx, "prefixed": _prefixed, "ods": _ods}


@pytest.mark.parametrize("kind", [*MAKERS, "xls"])
@pytest.mark.parametrize("at_once", [1 << 22, 64])
def test_hidden_rows_and_columns_are_read_and_said(
    kind: str, at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hidden, "_AT_ONCE", at_once)
    path = _xls(tmp_path, monkeypatch) if kind == "xls" else MAKERS[kind](tmp_path)
    sheet = "S & T" if kind == "ods" else "S"
    found = aggcal.read_judgments(f"{path}#{sheet}" if kind == "ods" else path)
    assert found.n_judgments == 3
    assert found.notes[-2:] == (
        f"2 rows of sheet '{sheet}' are hidden in the workbook; they are read like the others",
        "column 'outcome' is hidden in the workbook; it is read like the others",
    )


def test_a_filter_is_named_and_nothing_is_said_of_nothing(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "b.xlsx", {"S": ROWS[2:]})
    book = openpyxl.load_workbook(path)
    assert hidden_in(path, "S", "xl/worksheets/sheet1.xml", 0) == Hidden()
    book["S"].auto_filter.ref = "A1:E4"
    book["S"].auto_filter.add_filter_column(0, ["ann"])
    book["S"].row_dimensions[4].hidden = True
    book.save(path)
    said = "1 row of sheet 'S' is hidden in the workbook by a filter; it is read like the others"
    assert aggcal.read_judgments(path).notes == (said,)


def test_a_sheet_without_an_end_is_let_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hidden, "_AT_ONCE", 100)
    monkeypatch.setattr(hidden, "_LONGEST", 1000)
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as book:
        book.writestr("s.xml", b'<worksheet><row hidden="1">' + b"<c/>" * 1000)
        book.writestr("content.xml", b"<table:table" + b'visibility="collapse" ' * 1000)
    for part in ("s.xml", "content.xml", "none.xml"):
        assert hidden_in(tmp_path / "b.zip", "S", part, 0) == Hidden()
