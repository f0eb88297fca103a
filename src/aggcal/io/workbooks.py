"""Workbooks (.xlsx, .xls, .ods): one sheet of them, as rows of texts."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from aggcal.errors import FileError, OptionError, TableError, count, some
from aggcal.io import sheet as script
from aggcal.io import words
from aggcal.io.columns import Column
from aggcal.io.delimited import without_notes
from aggcal.io.tables import Cells

_MOST_UNPACKED = 1 << 30
"""Bytes to which a workbook may unpack: a full sheet has fewer."""
_ODS = b"application/vnd.oasis.opendocument.spreadsheet"
_AS_CSV = "save the sheet as CSV and give that"
_ODD = {
    "date": "is a date ({value}) though others in the column are not{more}; a spreadsheet makes "
    "dates of what looks like one, such as 3-1 or 1.5: format the column as text and type the "
    "cell again",
    "long number": "is a number of more than 15 digits ({value}){more}, of which a spreadsheet "
    "keeps only 15; format the column as text and enter the ids again",
}


class Sheet(Cells):
    """A sheet, whose cells are refused when they are used and are not what was typed."""

    answer: Mapping[str, Any]

    def load(self, names: Iterable[str]) -> dict[str, Column]:
        """Return columns by their names in small letters."""
        self.check(names := [*names])
        return super().load(names)

    def check(self, names: Iterable[str]) -> None:
        """Refuse dates among others and long numbers in some columns; note columns of dates."""
        used = {self.header.index(self.columns[n]): self.columns[n] for n in names}
        for one in self.answer["odd"]:
            if one["column"] not in used:
                continue
            column, value = used[one["column"]], one["value"]
            if one["kind"] == "date" and one["alone"]:
                self.notes.append(f"column '{column}' holds dates, taken as text such as '{value}'")
                continue
            cell = f"{_letters(one['column'] + self.answer['left'])}{one['row'] + 1}"
            more = f" ({one['times']:,} such cells in the column)" if one["times"] > 1 else ""
            what = _ODD[one["kind"]].format(value=value, more=more)
            raise TableError(f"{self.name}: cell {cell} (column '{column}') {what}.")


def of_sheet(path: Path, name: str, wanted: str | None, names: set[str], scratch: Path) -> Sheet:
    """Read one sheet: the one that is wanted, or the only one that names most known columns."""
    _refuse_others(path, name)
    output = scratch / "sheet.csv"
    asked = {"path": str(path), "sheet": wanted, "output": str(output)}
    answer = _asked(asked | {"names": sorted(names)})
    if "why" in answer:
        raise _refusal(name, wanted, answer)
    with output.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    header, first = [cell.strip() for cell in rows[0]], answer["header"] + 2
    filled = [(k, row) for k, row in enumerate(rows[1:], first) if any(map(str.strip, row))]
    kept, below = without_notes(filled, len(header))
    table = Sheet(
        f"{name}#{answer['sheet']}" if answer["sheets"] > 1 else name,
        header,
        [row for _, row in kept],
        places=lambda row: f"row {kept[row][0]}",
        notes=[*_notes(name, answer), *below],
    )
    table.answer, table.above = answer, answer["above"]
    return table


def _asked(asked: dict[str, Any]) -> dict[str, Any]:
    """Ask a process with limits; where none can be started, do it here."""
    path = Path(script.__file__)
    if not sys.executable or not path.is_file():
        return script.answered(asked, words.header_row)
    try:
        done = subprocess.run(  # noqa: S603  # our own interpreter and script
            [sys.executable, "-I", "-X", "utf8", str(path), words.__file__],
            input=json.dumps(asked),
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=2 * script.SECONDS,
            check=False,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        return {"why": "large"}
    except OSError:
        return script.answered(asked, words.header_row)
    return answer


def _notes(name: str, answer: Mapping[str, Any]) -> Iterator[str]:
    """Say which sheet was read, and what of it a person sees otherwise."""
    sheet = answer["sheet"]
    if answer["others"]:
        yield (
            f"sheet '{sheet}' was read, not {some(answer['others'])}; another is named by "
            f"'{name}#NAME'"
        )
    if answer["is_hidden"]:
        yield f"sheet '{sheet}' is hidden in the workbook; it is read like any other"
    if answer["hidden"]:
        verb = "is" if len(answer["hidden"]) == 1 else "are"
        yield f"{some(answer['hidden'])} {verb} hidden in the workbook and not read"
    if answer["header"] != answer["first"]:
        yield f"the header was found in row {answer['header'] + 1} of the sheet"
    unseen = answer["unseen"]
    if hidden := unseen.get("hidden"):
        what = count(hidden, "hidden row or column", "hidden rows or columns")
        yield f"{what} of the workbook read like the others"
    for kind, said in (("error", "an error"), ("formula", "a formula without a stored result")):
        if number := unseen.get(kind):
            verb = "is" if number == 1 else "are"
            yield f"{count(number, 'cell')} of the workbook with {said} {verb} read as blank"


def _refuse_others(path: Path, name: str) -> None:
    """Refuse packed files that are no workbooks, and those that unpack to too much."""
    with path.open("rb") as file:
        if file.read(4) != b"PK\x03\x04":
            return
    try:
        with zipfile.ZipFile(path) as book:
            parts = {part.filename: part.file_size for part in book.infolist()}
            small = parts.get("mimetype", 1_000) < 1_000  # noqa: PLR2004  # the real one has 46
            kind = book.read("mimetype") if small else b""
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, EOFError):
        raise FileError(
            f"{name}: is a damaged or unfinished workbook or archive; save or download it again."
        ) from None
    if "xl/workbook.bin" in parts:
        raise FileError(f"{name}: is a binary workbook (.xlsb); save it as .xlsx or CSV.")
    if "xl/workbook.xml" not in parts and not kind.startswith(_ODS):
        raise FileError(
            f"{name}: is a packed file but no workbook (.xlsx, .ods); unpack it, or export it as "
            "CSV or .xlsx."
        )
    if sum(parts.values()) > _MOST_UNPACKED:
        raise FileError(
            f"{name}: unpacks to more than {_MOST_UNPACKED >> 20:,} MB, which no sheet needs; "
            f"{_AS_CSV}."
        )


def _refusal(name: str, wanted: str | None, answer: Mapping[str, Any]) -> Exception:
    why, sheets = answer["why"], answer.get("sheets", ())
    if why == "several":
        return OptionError(
            f"{name}: has {count(len(sheets), 'sheet')} that could be meant ({some(sheets, 10)}); "
            f"say which, as in '{name}#{sheets[0]}'."
        )
    if why == "no sheet":
        return OptionError(f"{name}: has no sheet '{wanted}'; there are {some(sheets, 10)}.")
    again = f"save it again in a spreadsheet program, or {_AS_CSV}"
    return FileError(
        {
            "locked": f"{name}: is locked with a password; save it without one.",
            "empty": f"{name}: the sheet is empty; the first row must name the columns.",
            "large": f"{name}: takes more than {script.MEMORY >> 30} GB of memory to unpack; "
            f"{_AS_CSV}.",
            "damaged": f"{name}: cannot be read as a workbook ({answer.get('reason')}); {again}.",
        }[why]
    )


def _letters(position: int) -> str:
    """Return the letters of a column by its position.

    Examples
    --------
    >>> _letters(0), _letters(26)
    ('A', 'AA')
    """
    letters = ""
    position += 1
    while position:
        position, rest = divmod(position - 1, 26)
        letters = chr(65 + rest) + letters
    return letters
