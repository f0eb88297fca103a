"""Tables written as what the name of their file says: CSV, JSON, Parquet or a workbook."""

from __future__ import annotations

import io
import json
import re
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from aggcal._core.tables import Columns, cells
from aggcal.errors import OptionError, count, did_you_mean
from aggcal.io.cells import csv_writer
from aggcal.io.saving import Writer

TEXT = (".csv", ".txt", "")
"""Endings of files that are written as CSV: none stands for standard output and pipes, too."""
TABLES = (".csv", ".json", ".jsonl", ".parquet", ".xlsx")
"""Endings of the tables that can be written."""
_ROWS, _CHARACTERS = 1_048_576, 32_767  # of a sheet, and of a cell: a workbook holds no more
_NARROWEST, _WIDEST = 8, 60
"""Widths of columns in characters: wider ones are wrapped."""
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""What XML has no place for."""
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
_SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    + "".join(
        f'<Override PartName="/xl/{part}.xml" ContentType="{_TYPES}.{kind}+xml"/>'
        for part, kind in (
            ("workbook", "sheet.main"),
            ("worksheets/sheet1", "worksheet"),
            ("styles", "styles"),
        )
    )
    + "</Types>",
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
    f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="r1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="r2" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_SHEETS}" xmlns:r="{_OFFICE}"><sheets>'
    '<sheet name="aggcal" sheetId="1" r:id="r1"/></sheets></workbook>',
    # Styles of cells: 0 plain, 1 a heading, 2 wrapped text.
    "xl/styles.xml": f'<styleSheet xmlns="{_SHEETS}"><fonts count="2"><font/><font><b/></font>'
    '</fonts><fills count="1"><fill><patternFill patternType="none"/></fill></fills>'
    '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>'
    '<cellXfs count="3"><xf xfId="0"/><xf xfId="0" fontId="1" applyFont="1"/>'
    '<xf xfId="0" applyAlignment="1"><alignment vertical="top" wrapText="1"/></xf></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0"/></cellStyles></styleSheet>',
}


def refuse_ending(path: Path | str, endings: Iterable[str] = (*TEXT, *TABLES)) -> None:
    """Refuse a name whose ending says what cannot be written.

    Examples
    --------
    >>> refuse_ending("sheet.xlsx")
    >>> refuse_ending("sheet.xls")
    Traceback (most recent call last):
    aggcal.errors.OptionError: sheet.xls: files that end in '.xls' cannot be written (did you mean
    '.xlsx'?); choose .csv, .txt, .json, .jsonl, .parquet, .xlsx.
    """
    ending = Path(path).suffix.lower()
    known = [each for each in dict.fromkeys(endings) if each]
    if ending not in (*known, "") and not str(path).startswith("/dev/"):
        raise OptionError(
            f"{path}: files that end in '{ending}' cannot be written{did_you_mean(ending, known)}; "
            f"choose {', '.join(known)}."
        )


def table_file(
    path: Path | str, columns: Columns, *, spreadsheet_safe: bool = False
) -> Writer | bytes:
    """Return what a file of this name is to hold: its bytes, or what writes its text.

    Parameters
    ----------
    path
        Its ending decides; a name without one is that of a CSV.
    columns
        The table.
    spreadsheet_safe
        Write an apostrophe before texts that a spreadsheet would take for a formula. In a workbook
        none is needed: its texts are marked as such.
    """
    ending = Path(path).suffix.lower()
    if ending in (".json", ".jsonl"):
        start, between, end = ("[\n", ",\n", "\n]\n") if ending == ".json" else ("", "\n", "\n")
        rows = zip(*map(cells, columns.values()), strict=True)
        lines = (json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False)
                 for row in rows)  # fmt: skip
        return lambda file: file.write(start + between.join(lines) + end)
    if ending == ".parquet":
        return _parquet(columns)
    if ending == ".xlsx":
        return _workbook(path, columns)
    return csv_writer(columns, spreadsheet_safe=spreadsheet_safe)


def _parquet(columns: Columns) -> bytes:
    import duckdb  # which takes 0.2 s, and nothing else here needs it

    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        path = f"{folder}/table.parquet"
        connection.register("written", columns)
        connection.execute("COPY (SELECT * FROM written) TO ?", [path])
        return Path(path).read_bytes()


def _workbook(path: Path | str, columns: Columns) -> bytes:
    """Return a workbook of one sheet: headings that stay in view, columns as wide as texts."""
    held = {name: cells(column) for name, column in columns.items()}
    rows = len(next(iter(held.values()), []))
    longest = [max((len(v) for v in c if isinstance(v, str)), default=0) for c in held.values()]
    if rows >= _ROWS or max(longest, default=0) > _CHARACTERS:
        what = count(rows, "row") if rows >= _ROWS else "a text longer than a cell can be"
        raise OptionError(f"{path}: {what} does not fit into a workbook; write a .csv.")
    widths = [min(max(len(n), m, _NARROWEST), _WIDEST) for n, m in zip(held, longest, strict=True)]
    styles = [2 if length > _WIDEST else 0 for length in longest]
    lines = [_row(1, held, [1] * len(held))]
    lines += [_row(k, row, styles) for k, row in enumerate(zip(*held.values(), strict=True), 2)]
    sheet = (
        f'<worksheet xmlns="{_SHEETS}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" '
        'topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><cols>'
        + "".join(
            f'<col min="{k}" max="{k}" width="{width + 2}" customWidth="1"/>'
            for k, width in enumerate(widths, 1)
        )
        + f"</cols><sheetData>{''.join(lines)}</sheetData></worksheet>"
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as book:
        for name, part in {**_PARTS, "xl/worksheets/sheet1.xml": sheet}.items():
            # Without the time of writing, the same table is the same file.
            book.writestr(zipfile.ZipInfo(name), _HEAD + part, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def _row(number: int, values: Iterable[object], styles: Iterable[int]) -> str:
    made = (_cell(value, style) for value, style in zip(values, styles, strict=True))
    return f'<row r="{number}">{"".join(made)}</row>'


def _cell(value: object, style: int) -> str:
    if value is None or value == "":
        return "<c/>"
    if isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value):
        return f"<c><v>{value!r}</v></c>"
    text = escape(_UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", str(value)))
    return f'<c t="inlineStr" s="{style}"><is><t xml:space="preserve">{text}</t></is></c>'
