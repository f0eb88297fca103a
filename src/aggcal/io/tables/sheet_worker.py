"""Turn one sheet of a workbook into a CSV file, in a process of its own.

A workbook is packed: a small file may unpack to more than there is memory, and the library that
reads it ends its process when memory runs out. So `workbook` starts this file as a script, with
limits; it imports nothing of aggcal. Asked in JSON (path, sheet, wanted columns), it answers in
JSON: which sheet was read, where its table begins, and which cells are not what they look like.
"""

from __future__ import annotations

import csv
import json
import struct
import sys
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any, TypeAlias

MEMORY = 2 << 30
"""Bytes of memory that reading may take: a full sheet of a million rows and 40 columns fits."""
SECONDS = 300
"""Seconds of work that reading may take: a full sheet takes one of them."""
_MAY_BE_DATA = {"left", "right", "text", "answer", "choice", "set", "list", "user", "label"}
_LOOKED_AT = 30
"""Rows in which a header is looked for: titles above a table are shorter, sheets of data longer."""
_ODS = "content.xml"  # which holds all sheets of an .ods
_EXACT = 10**15
"""Spreadsheets keep 15 digits of a number: the last ones of a longer id are lost."""

Odd: TypeAlias = dict[str, Any]
"""Cells of one kind in one column: kind, column (its position), row and value of the first, and
how many there are."""


class Refused(Exception):  # noqa: N818  # an answer, not a fault
    """Why there is no sheet to read, as the answer."""

    def __init__(self, **answer: Any) -> None:
        super().__init__(answer)
        self.answer = answer


def read(asked: dict[str, Any]) -> dict[str, Any]:
    """Write the sheet, and say what it is."""
    import python_calamine

    try:
        book = python_calamine.CalamineWorkbook.from_path(asked["path"])
    except python_calamine.PasswordError:
        raise Refused(why="locked") from None
    except python_calamine.CalamineError as error:
        raise Refused(why="damaged", reason=str(error)) from None
    worksheet = python_calamine.SheetTypeEnum.WorkSheet
    visible = python_calamine.SheetVisibleEnum.Visible
    hidden = python_calamine.SheetVisibleEnum.Hidden
    tables = [m for m in book.sheets_metadata if m.typ == worksheet]
    shown = [m.name for m in tables if m.visible == visible]
    wanted = {str(name) for name in asked["wanted"]}
    if asked["sheet"] is None:
        name, others = _chosen(book, shown or [m.name for m in tables], wanted)
    else:
        name, others = _named(asked["sheet"], [m.name for m in tables]), []
    sheet = book.get_sheet_by_name(name)
    if sheet.start is None:
        raise Refused(why="empty", sheet=name)
    header = _header(sheet, wanted)[0]
    part = _part(asked["path"], name)
    empty = _not_shown(asked["path"], name, part)
    odd = _write(sheet, header, Path(asked["output"]), empty)
    return {
        "sheet": name,
        "is_hidden": name not in shown,
        "hidden": [m.name for m in tables if m.visible == hidden and m.name != name],
        "part": part,
        "left": sheet.start[1],
        "others": others,
        "header": header,
        "first": sheet.start[0],
        "odd": odd,
        "sheets": len(tables),
    }


def _named(wanted: str, names: list[str]) -> str:
    if wanted in names:
        return wanted
    same = [name for name in names if name.strip().casefold() == wanted.strip().casefold()]
    if len(same) != 1:
        raise Refused(why="no sheet", sheets=names)
    return same[0]


def _chosen(book: Any, names: list[str], wanted: set[str]) -> tuple[str, list[str]]:
    """Choose the only sheet with something in it, or the one that has most of what is wanted."""
    sheets = {name: book.get_sheet_by_name(name) for name in names}
    filled = [name for name, sheet in sheets.items() if sheet.start is not None]
    if not filled:
        raise Refused(why="empty", sheet=names[0] if len(names) == 1 else None)
    if len(filled) == 1:
        return filled[0], []
    fit = {name: _header(sheets[name], wanted)[1] for name in filled}
    best = max(fit.values())
    fitting = [name for name in filled if fit[name] == best]
    if best == 0 or len(fitting) > 1:
        raise Refused(why="several", sheets=filled)
    return fitting[0], [name for name in filled if name != fitting[0]]


def _header(sheet: Any, wanted: set[str]) -> tuple[int, int]:
    """Return the row that names the columns, and how many of those wanted it names.

    It is the first row with something in it, unless that names none of them and one below, which
    has more cells, does: people write titles above their tables. (The same as in `delimited`.)
    """
    first: int | None = None
    widest = 0
    for number, row in zip(range((sheet.start or (0, 0))[0] + _LOOKED_AT), sheet.iter_rows()):  # noqa: B905
        names = {str(cell).strip().lower() for cell in row} - {""}
        if not names:
            continue
        fit = len(names & wanted)
        if first is None:
            first = number
            if fit:
                return first, fit
        elif len(names) > widest and sum(len(n) > 1 for n in names & wanted - _MAY_BE_DATA) > 1:
            return number, fit
        widest = max(widest, len(names))
    return first or 0, 0


def _write(sheet: Any, header: int, output: Path, unshown: dict[tuple[int, int], str]) -> list[Odd]:
    """Write the rows from the header on; return the cells that need a word."""
    shift = sheet.start[1]
    merged = _merged(sheet, header)
    odd: dict[tuple[str, int], Odd] = {}
    plain: set[int] = set()
    above: dict[tuple[int, int], Any] = {}
    with output.open("w", encoding="utf-8", errors="replace", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for number, row in enumerate(sheet.iter_rows()):
            if number < header:
                continue
            cells = []
            for column, cell in enumerate(row):
                at = number, column + shift
                value = above[merged[at]] if at in merged and merged[at] in above else cell
                if at in merged.values():
                    above[at] = cell
                text, kind = _text(value)
                if text == "" and at in unshown:
                    text = unshown[at]
                    kind = "formula" if text == "" else "error"
                cells.append(text.replace("\0", ""))
                if number > header and kind is None and text.strip():
                    plain.add(column)
                elif number > header and kind is not None:
                    new = {"kind": kind, "column": column, "row": number, "value": text}
                    found = odd.setdefault((kind, column), new | {"times": 0, "shift": shift})
                    found["times"] += 1
            writer.writerow(cells)
    return [one | {"alone": one["column"] not in plain} for one in odd.values()]


def _merged(sheet: Any, header: int) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the cells that are merged with one above them: what they show is what it holds."""
    ranges = sheet.merged_cell_ranges or []
    return {
        (row, left): (top, left)
        for (top, left), (bottom, right) in ranges
        if left == right and top > header
        for row in range(top + 1, bottom + 1)
    }


def _text(cell: Any) -> tuple[str, str | None]:
    """Write a cell as text, and say what kind of doubtful thing it is, if any."""
    kind: str | None = None
    if isinstance(cell, bool):
        text = str(cell).upper()
    elif isinstance(cell, float | int):
        whole = float(cell).is_integer()
        text = str(int(cell)) if whole else repr(cell)
        kind = "long number" if whole and abs(cell) >= _EXACT else None
    elif isinstance(cell, datetime):
        midnight = cell.time() == time()
        text, kind = str(cell.date() if midnight else cell), "date"
    elif isinstance(cell, date | time | timedelta):
        text, kind = str(cell), "date"
    else:
        text = str(cell)
    return text, kind


def _not_shown(path: str, sheet: str, part: str | None) -> dict[tuple[int, int], str]:
    """Find the cells that the library reads as blank and that are not.

    Returns, by row and column, the error that a cell shows; an empty text is a formula without
    a stored result.
    """
    if part is None:
        with suppress(struct.error, IndexError, ValueError):
            return dict(_errors_of_xls(Path(path).read_bytes(), sheet))
        return {}
    with zipfile.ZipFile(path) as book, suppress(KeyError):
        found = _errors_of_ods(book, sheet) if part == _ODS else _errors_of_xlsx(book, part)
        return dict(found)
    return {}


def _errors_of_xlsx(book: Any, sheet_part: str) -> Iterator[tuple[tuple[int, int], str]]:
    import io
    import re
    from xml.etree import ElementTree as ET

    text = book.read(sheet_part)
    if b't="e"' not in text and b"<f" not in text and b":f" not in text:
        return
    name = re.compile(r"([A-Z]+)(\d+)")
    for _, cell in ET.iterparse(io.BytesIO(text)):  # noqa: S314  # with limits: see above
        if _tag(cell) == "row":
            cell.clear()
        if _tag(cell) != "c":
            continue
        held = {_tag(part): (part.text or "") for part in cell}
        failed = cell.get("t") == "e"
        at = name.fullmatch(cell.get("r", ""))
        if at is not None and (failed or ("f" in held and not held.get("v"))):
            # A formula that makes an empty text has a type, and no result need be stored.
            if not failed and cell.get("t") == "str" and "v" in held:
                continue
            yield (int(at[2]) - 1, _column(at[1])), held.get("v", "") if failed else ""


def _part_of(book: Any, sheet: str) -> str:
    """Return the name of the part of a workbook that holds a sheet."""
    from xml.etree import ElementTree as ET

    found = ""
    for part in ET.fromstring(book.read("xl/workbook.xml")).iter():  # noqa: S314
        if _tag(part) == "sheet" and part.get("name") == sheet:
            found = next((v for k, v in part.attrib.items() if k.endswith("}id")), "")
    for part in ET.fromstring(book.read("xl/_rels/workbook.xml.rels")):  # noqa: S314
        if part.get("Id") == found:
            target = str(part.get("Target")).removeprefix("/")
            return target if target.startswith("xl/") else f"xl/{target}"
    return ""


def _part(path: str, sheet: str) -> str | None:
    """Return the part of a packed workbook that holds a sheet."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as book:
            return _ODS if _ODS in book.namelist() else _part_of(book, sheet)
    return None


def _column(letters: str) -> int:
    """Return the position of a column by its letters: A is 0, AA is 26."""
    position = 0
    for letter in letters:
        position = 26 * position + ord(letter) - 64
    return position - 1


def _errors_of_ods(book: Any, sheet: str) -> Iterator[tuple[tuple[int, int], str]]:
    from xml.etree import ElementTree as ET

    text = book.read(_ODS)
    if b'value-type="error"' not in text:
        return
    for table in ET.fromstring(text).iter():  # noqa: S314
        if _tag(table) != "table" or _attribute(table, "name") != sheet:
            continue
        row = 0
        for line in table.iter():
            if _tag(line) != "table-row":
                continue
            column = 0
            for cell in line:
                if "error" in cell.attrib.values():
                    yield (row, column), "".join(cell.itertext()).strip()
                column += int(_attribute(cell, "number-columns-repeated") or 1)
            row += int(_attribute(line, "number-rows-repeated") or 1)


def records_of_xls(file: bytes, sheet: str) -> Iterator[tuple[int, bytes]]:
    """Go through the records of a sheet (BIFF8)."""
    stream = _stream(file)
    start = None
    for kind, body in _records(stream, 0):
        if kind == _BOUNDS and _sheet_name(body) == sheet:
            start = struct.unpack_from("<I", body)[0]
    if start is not None:
        yield from _records(stream, start)


def _errors_of_xls(file: bytes, sheet: str) -> Iterator[tuple[tuple[int, int], str]]:
    """Find errors, and formulas whose result is one."""
    for kind, body in records_of_xls(file, sheet):
        row, column = struct.unpack_from("<HH", body) if len(body) > 3 else (0, 0)  # noqa: PLR2004
        if kind == _ERROR and body[7]:
            yield (row, column), _ERRORS.get(body[6], "#N/A")
        elif kind == _FORMULA and body[6] == 2 and body[12:14] == b"\xff\xff":  # noqa: PLR2004
            yield (row, column), _ERRORS.get(body[8], "#N/A")


_BOUNDS, _ERROR, _FORMULA, _END, _BEGIN = 0x0085, 0x0205, 0x0006, 0x000A, 0x0809
"""Numbers of records: where a sheet is, an error, a formula, an end and a beginning."""
_ERRORS = {
    0x00: "#NULL!", 0x07: "#DIV/0!", 0x0F: "#VALUE!", 0x17: "#REF!", 0x1D: "#NAME?", 0x24: "#NUM!",
    0x2A: "#N/A",
}  # fmt: skip


def _records(stream: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    """Go through the records from one beginning to its end."""
    depth = 0
    while at + 4 <= len(stream):
        kind, size = struct.unpack_from("<HH", stream, at)
        yield kind, stream[at + 4 : at + 4 + size]
        depth += (kind == _BEGIN) - (kind == _END)
        if depth == 0:
            return
        at += 4 + size


def _sheet_name(body: bytes) -> str:
    return body[8:].decode("utf-16-le" if body[7] & 1 else "latin-1")


def _stream(file: bytes) -> bytes:
    """Take the stream of the workbook out of an OLE file."""
    size = 1 << struct.unpack_from("<H", file, 30)[0]

    def sector(number: int) -> bytes:
        return file[(number + 1) * size : (number + 2) * size]

    first, number = struct.unpack_from("<I", file, 48)[0], struct.unpack_from("<I", file, 44)[0]
    tables = struct.unpack_from(f"<{min(number, 109)}I", file, 76)
    table = struct.unpack(
        f"<{len(tables) * size // 4}I", b"".join(sector(k).ljust(size, b"\xff") for k in tables)
    )

    def chain(start: int) -> bytes:
        parts: list[bytes] = []
        while start < len(table) and len(parts) <= len(table):
            parts.append(sector(start))
            start = table[start]
        return b"".join(parts)

    folder = chain(first)
    for at in range(0, len(folder), 128):
        length = struct.unpack_from("<H", folder, at + 64)[0]
        name = folder[at : at + max(length - 2, 0)].decode("utf-16-le", "replace")
        if name in ("Workbook", "Book"):
            start, total = struct.unpack_from("<II", folder, at + 116)
            return chain(start)[:total]
    return b""


def _tag(part: Any) -> str:
    return str(part.tag).rpartition("}")[2]


def _attribute(part: Any, name: str) -> str | None:
    return next((v for k, v in part.attrib.items() if k.rpartition("}")[2] == name), None)


def answered(asked: dict[str, Any]) -> dict[str, Any]:
    """Read the sheet, and answer whatever happens."""
    try:
        return read(asked)
    except Refused as refused:
        return refused.answer
    except MemoryError:
        return {"why": "large"}
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  # a panic of the library is no Exception
        return {"why": "damaged", "reason": f"{type(error).__name__}: {error}"}


def _limited() -> None:
    """Take no more memory and time than a workbook needs."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


if __name__ == "__main__":
    _limited()
    print(json.dumps(answered(json.load(sys.stdin))))  # noqa: T201
