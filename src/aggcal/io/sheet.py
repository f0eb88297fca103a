"""Write one sheet of a workbook as CSV, in a process of its own.

A workbook is packed: a small file may unpack to more than there is memory, and the library that
reads it ends its process when memory runs out. So `workbooks` starts this file as a script, with
limits; of aggcal it runs `words` alone. Asked in JSON, it answers in JSON: which sheet was read,
where its table begins, and which of its cells are not what they look like.
"""

from __future__ import annotations

import csv
import json
import re
import sys
import zipfile
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from itertools import islice
from runpy import run_path
from typing import Any

MEMORY = 2 << 30
"""Bytes of memory that reading may take: a full sheet of a million rows and 40 columns fits."""
SECONDS = 300
"""Seconds of work that reading may take: a full sheet takes one of them."""
_BOMB, _DENSE = 100 << 20, 200
"""Bytes of a part that is packed so densely that it was made to fill memory: tables are packed to a
tenth or a thirtieth."""
_UNSEEN = {
    "hidden": rb'<(?:\w+:)?(?:row|col)\b[^>]*\shidden="(?:1|true)"',
    "error": rb'<(?:\w+:)?c\b[^>]*\st="e"',
    "formula": rb"(?:</(?:\w+:)?f>|<(?:\w+:)?f\b[^>]*/>)"
    rb"\s*(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v></(?:\w+:)?v>)?\s*</(?:\w+:)?c>",
}
"""Rows and columns that are hidden, and cells that are read as blank though they show an error or
hold a formula whose result is not stored."""
_EXACT = 10**15
"""Spreadsheets keep 15 digits of a number: the last ones of a longer id are lost."""


class RefusedError(Exception):
    """Why there is no sheet to read, as the answer."""

    def __init__(self, **answer: Any) -> None:
        super().__init__(answer)
        self.answer = answer


HeaderRow = Callable[[Iterable[Iterable[str]], Collection[str]], tuple[int, int]]
"""`words.header_row`."""


def answered(asked: dict[str, Any], header_row: HeaderRow) -> dict[str, Any]:
    """Write the sheet and say what it is, or why not, whatever happens."""
    try:
        return _answer(asked, header_row)
    except RefusedError as refused:
        return refused.answer
    except MemoryError:
        return {"why": "large"}
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  # a panic of the library is no Exception
        locked = type(error).__name__ == "PasswordError"
        reason = f"{type(error).__name__}: {error}"
        return {"why": "locked"} if locked else {"why": "damaged", "reason": reason}


def _answer(asked: dict[str, Any], header_row: HeaderRow) -> dict[str, Any]:
    import python_calamine

    with suppress(zipfile.BadZipFile), zipfile.ZipFile(asked["path"]) as packed:
        for part in packed.infolist():
            if part.file_size > max(_BOMB, _DENSE * part.compress_size):
                raise RefusedError(why="large")
    book = python_calamine.CalamineWorkbook.from_path(asked["path"])
    visible, hidden = (
        [
            sheet.name
            for sheet in book.sheets_metadata
            if sheet.typ == python_calamine.SheetTypeEnum.WorkSheet and sheet.visible == state
        ]
        for state in (
            python_calamine.SheetVisibleEnum.Visible,
            python_calamine.SheetVisibleEnum.Hidden,
        )
    )
    wanted, every = asked["sheet"], [*visible, *hidden]
    if wanted is None:
        chosen = visible or every
    else:
        chosen = [n for n in every if n.strip().casefold() == wanted.strip().casefold()]
        chosen = [wanted] if wanted in every else chosen
        if len(chosen) != 1:
            raise RefusedError(why="no sheet", sheets=every)
    sheets = {name: book.get_sheet_by_name(name) for name in chosen}
    headers = {
        name: header_row((map(str, row) for row in sheet.iter_rows()), asked["names"])
        for name, sheet in sheets.items()
        if sheet.start is not None
    }
    if not headers:
        raise RefusedError(why="empty")
    best = max(headers, key=lambda name: headers[name][1])
    at, fit = headers[best]
    if len(headers) > 1 and (fit == 0 or [f for _, f in headers.values()].count(fit) > 1):
        raise RefusedError(why="several", sheets=[*headers])
    sheet: Any = sheets[best]
    with open(asked["output"], "w", encoding="utf-8", errors="replace", newline="") as file:  # noqa: PTH123
        odd = _write(sheet, at, csv.writer(file, lineterminator="\n"))
    return {
        "sheet": best,
        "others": [name for name in headers if name != best],
        "sheets": len(every),
        "is_hidden": best in hidden,
        "hidden": [name for name in hidden if name != best and wanted is None],
        "header": at,
        "first": sheet.start[0],
        "left": sheet.start[1],
        "above": " ".join(
            str(cell) for row in islice(sheet.iter_rows(), at) for cell in row if cell != ""
        ),
        "odd": odd,
        "unseen": _unseen(asked["path"]),
    }


def _write(sheet: Any, header: int, writer: Any) -> list[dict[str, Any]]:
    """Write the rows from the header on; return the cells that need a word."""
    shift = sheet.start[1]
    merged = {
        (row, left): (top, left)
        for (top, left), (bottom, right) in sheet.merged_cell_ranges or []
        if left == right and top > header
        for row in range(top + 1, bottom + 1)
    }
    tops = {*merged.values()}
    above: dict[tuple[int, int], Any] = {}
    odd: dict[tuple[str, int], dict[str, Any]] = {}
    plain: set[int] = set()
    for row, line in enumerate(sheet.iter_rows()):
        if row < header:
            continue
        texts = []
        for column, cell in enumerate(line):
            at = row, column + shift
            value = above.get(merged[at], cell) if at in merged else cell
            if at in tops:
                above[at] = cell
            text, kind = _text(value)
            texts.append(text.replace("\0", ""))
            if row == header or not text.strip():
                continue
            if kind is None:
                plain.add(column)
            else:
                new = {"kind": kind, "column": column, "row": row, "value": text, "times": 0}
                odd.setdefault((kind, column), new)["times"] += 1
        writer.writerow(texts)
    return [one | {"alone": one["column"] not in plain} for one in odd.values()]


def _text(cell: Any) -> tuple[str, str | None]:
    """Write a cell as text, and say what kind of doubtful thing it is, if any."""
    if isinstance(cell, bool):
        return str(cell).upper(), None
    if isinstance(cell, float | int):
        whole = float(cell).is_integer()
        long = whole and abs(cell) >= _EXACT
        return str(int(cell)) if whole else repr(cell), "long number" if long else None
    if isinstance(cell, datetime) and cell.time() == time():
        return str(cell.date()), "date"
    return str(cell), "date" if isinstance(cell, date | time | timedelta) else None


def _unseen(path: str) -> dict[str, int]:
    """Count what a person sees otherwise than it is read, in all sheets of an .xlsx."""
    with suppress(KeyError, zipfile.BadZipFile), zipfile.ZipFile(path) as book:
        sheets = [name for name in book.namelist() if name.startswith("xl/worksheets/sheet")]
        text = b"".join(map(book.read, sheets))
        return {kind: len(re.findall(pattern, text)) for kind, pattern in _UNSEEN.items()}
    return {}


if __name__ == "__main__":
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    words = run_path(sys.argv[1])
    print(json.dumps(answered(json.load(sys.stdin), words["header_row"])))  # noqa: T201
