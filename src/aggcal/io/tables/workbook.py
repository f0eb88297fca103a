"""Workbooks (.xlsx, .xls, .ods): one sheet of them, as a CSV file that is read like any other."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aggcal.errors import FileError, OptionError, TableError, count, some
from aggcal.io.tables import sheet_worker
from aggcal.io.tables.hidden import Hidden, hidden_in
from aggcal.io.tables.sheet_worker import MEMORY, SECONDS, Odd

ZIP, OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
"""How newer workbooks begin (and all other packed folders), and how older ones do."""
_MOST_UNPACKED = 1 << 30
"""Bytes to which a workbook may unpack: a full sheet has fewer, and less than half of the memory
that reading may take is left for them."""
_ODS = "application/vnd.oasis.opendocument.spreadsheet"
_AS_CSV = "save the sheet as CSV and give that"


@dataclass(frozen=True)
class Sheet:
    """A sheet as a CSV file, and what is known of it."""

    path: Path
    name: str
    first_row: int
    """The number of the row after the header, as the spreadsheet shows it."""
    odd: tuple[Odd, ...] = ()
    notes: tuple[str, ...] = ()
    hidden: Hidden = field(default_factory=Hidden)
    left: int = 0
    """The position of the first column in the spreadsheet."""

    def check_columns(self, used: Mapping[str, int], source: str) -> list[str]:
        """Refuse cells of the used columns that do not hold what was typed; return notes on others.

        Parameters
        ----------
        used
            The names of the columns that are used, with their positions.
        source
            What the user calls the sheet.
        """
        names = {position: name for name, position in used.items()}
        unseen = [n for at, n in names.items() if self.hidden.has_column(at + self.left)]
        notes = [_hidden_columns(unseen)] if unseen else []
        for one in self.odd:
            if one["column"] not in names:
                continue
            column = names[one["column"]]
            if one["kind"] == "date" and one["alone"]:
                notes.append(
                    f"column '{column}' holds dates, taken as text such as '{one['value']}'"
                )
                continue
            cell = f"{_letters(one['column'] + one['shift'])}{one['row'] + 1}"
            what = _ODD[one["kind"]].format(value=one["value"])
            more = f" ({one['times']:,} such cells in the column)" if one["times"] > 1 else ""
            what, _, remedy = what.partition("; ")
            raise TableError(f"{source}: cell {cell} (column '{column}') {what}{more}; {remedy}.")
        return notes


_ODD = {
    "error": "shows the error {value}; mend the formula, or clear the cell if there is no value",
    "formula": "has a formula whose result is not stored in the file; open the workbook in a "
    "spreadsheet program and save it again",
    "date": "is a date ({value}) though others in the column are not; a spreadsheet makes dates of "
    "what looks like one, such as 3-1 or 1.5: format the column as text and type the cell again",
    "long number": "is a number of more than 15 digits ({value}), of which a spreadsheet keeps "
    "only 15; format the column as text and enter the ids again",
}


def is_workbook(head: bytes) -> bool:
    """Whether a file begins as a workbook does, or as something else that is packed."""
    return head.startswith((ZIP, OLE))


def split_sheet(path: Path) -> tuple[Path, str | None]:
    """Take the name of a sheet off the name of a workbook: ``book.xlsx#Answers``.

    A file that is really called so is meant itself.

    Examples
    --------
    >>> split_sheet(Path("answers.csv"))
    (PosixPath('answers.csv'), None)
    """
    text = str(path)
    with suppress(OSError, ValueError):
        if "#" in text and not path.exists():
            for at in (k for k, letter in enumerate(text) if letter == "#" and k):
                if Path(text[:at]).is_file() and text[at + 1 :]:
                    return Path(text[:at]), text[at + 1 :]
    return path, None


def open_sheet(
    path: Path, name: str, wanted: Iterable[str], scratch: Path, sheet: str | None
) -> Sheet:
    """Write one sheet of a workbook as CSV into ``scratch``.

    Without a name it is the only one with something in it, or the only one whose header has most
    of the ``wanted`` columns; otherwise the user is asked.
    """
    _refuse_others(path, name)
    output = scratch / "sheet.csv"
    asked = {"path": str(path), "sheet": sheet, "wanted": [*wanted], "output": str(output)}
    answer = _asked(asked)
    if "why" in answer:
        raise _refusal(name, sheet, answer)
    hidden = hidden_in(path, answer["sheet"], answer["part"], answer["header"])
    shown = f"{name}#{answer['sheet']}" if answer["sheets"] > 1 else name
    first = int(answer["header"]) + 2
    notes = tuple(_notes(name, answer, hidden, named=sheet is not None))
    return Sheet(output, shown, first, tuple(answer["odd"]), notes, hidden, answer["left"])


def _notes(name: str, answer: Mapping[str, Any], hidden: Hidden, *, named: bool) -> Iterator[str]:
    """Say which sheet was read, and what of it a person does not see."""
    sheet = answer["sheet"]
    if answer["others"]:
        yield (
            f"sheet '{sheet}' was read, not {some(answer['others'])}; another is named by "
            f"'{name}#NAME'"
        )
    if answer["is_hidden"]:
        yield f"sheet '{sheet}' is hidden in the workbook; it is read like any other"
    elif answer["hidden"] and not named:
        verb = "is" if len(answer["hidden"]) == 1 else "are"
        yield f"{some(answer['hidden'])} {verb} hidden in the workbook and not read"
    if answer["header"] != answer["first"]:
        yield f"the header was found in row {answer['header'] + 1} of the sheet"
    if hidden.rows:
        verb, they = ("is", "it is") if hidden.rows == 1 else ("are", "they are")
        why = " by a filter" if hidden.filtered else ""
        yield (
            f"{count(hidden.rows, 'row')} of sheet '{sheet}' {verb} hidden in the workbook{why}; "
            f"{they} read like the others"
        )


def _hidden_columns(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"column '{names[0]}' is hidden in the workbook; it is read like the others"
    return f"columns {some(names)} are hidden in the workbook; they are read like the others"


def _asked(asked: dict[str, Any]) -> dict[str, Any]:
    """Ask a process with limits; where none can be started, do it here."""
    script = Path(sheet_worker.__file__)
    if not sys.executable or not script.is_file():
        return sheet_worker.answered(asked)
    try:
        done = subprocess.run(  # noqa: S603  # our own interpreter and script
            [sys.executable, "-I", "-X", "utf8", str(script)],
            input=json.dumps(asked),
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=2 * SECONDS,
            check=False,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        return {"why": "large"}
    except OSError:
        return sheet_worker.answered(asked)
    return answer


def _refuse_others(path: Path, name: str) -> None:
    """Refuse packed files that are no workbooks, and those that unpack to too much."""
    with path.open("rb") as file:
        if file.read(4) != ZIP:
            return
    try:
        with zipfile.ZipFile(path) as book:
            parts = {part.filename: part.file_size for part in book.infolist()}
            kind = book.read("mimetype")[:100].decode("ascii", "replace") if _small(parts) else ""
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


def _small(parts: Mapping[str, int]) -> bool:
    return parts.get("mimetype", 1_000) < 1_000  # noqa: PLR2004  # the real one has 46 letters


def _refusal(name: str, sheet: str | None, answer: dict[str, Any]) -> Exception:
    why, sheets = answer["why"], answer.get("sheets", ())
    if why == "several":
        return OptionError(
            f"{name}: has {count(len(sheets), 'sheet')} that could be meant ({some(sheets, 10)}); "
            f"say which, as in '{name}#{sheets[0]}'."
        )
    if why == "no sheet":
        return OptionError(f"{name}: has no sheet '{sheet}'; there are {some(sheets, 10)}.")
    return FileError(
        {
            "locked": f"{name}: is locked with a password; save it without one.",
            "empty": f"{name}: the sheet is empty; the first row must name the columns.",
            "large": f"{name}: takes more than {MEMORY >> 30} GB of memory to unpack; {_AS_CSV}.",
            "damaged": f"{name}: cannot be read as a workbook ({answer.get('reason')}); save it "
            f"again in a spreadsheet program, or {_AS_CSV}.",
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
