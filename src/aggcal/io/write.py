"""Write results all or nothing: to temporary files first, then renamed into place."""

from __future__ import annotations

import errno
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np

from aggcal.errors import OutputError
from aggcal.tables import Columns, cells

Writer = Callable[[IO[str]], object]

_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""How a cell begins that some spreadsheet takes for a formula (OWASP's list, wide forms too)."""
_NEEDS_QUOTES = re.compile(r'[",\r\n]')


def write_files(
    directory: Path | str, files: Mapping[str, Writer], *, outdated: Iterable[str] = ()
) -> list[Path]:
    """Write several files into a directory; if one fails, none appears.

    Parameters
    ----------
    directory
        Made if it is not there (and taken away again if the writing fails).
    files
        For each file name, a function that writes its text.
    outdated
        Files of an earlier result that this one does not have: they are taken away.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_files(folder, {"a.txt": lambda file: file.write("x")})]
    ['a.txt']
    """
    directory = Path(directory)
    # Unlike Path's, os.path's questions need no permission: what is forbidden is told below.
    folders = [name for name in (*files, *outdated) if os.path.isdir(directory / name)]  # noqa: PTH112
    if folders:
        raise OutputError(f"{directory / folders[0]}: is a folder; move it away.")
    made = _missing_parents(directory)
    written: list[tuple[Path, Path]] = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, write in files.items():
            descriptor, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=directory, text=True)
            written.append((Path(temporary), directory / name))
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).chmod(0o666 & ~_umask())
        for temporary_path, final in written:
            temporary_path.replace(final)
        for name in outdated:
            (directory / name).unlink(missing_ok=True)
    except BaseException as error:
        _undo([temporary_path for temporary_path, _ in written], made)
        if isinstance(error, OSError):
            raise OutputError(_reason(directory, error)) from None
        raise
    return [final for _, final in written]


def csv_writer(columns: Columns, *, spreadsheet_safe: bool = False) -> Writer:
    """Return a writer of columns as CSV; numbers keep all their digits, NaN and None are blank.

    Parameters
    ----------
    columns
        The table.
    spreadsheet_safe
        Write an apostrophe before texts that a spreadsheet would take for a formula.

    Examples
    --------
    >>> import sys
    >>> _ = csv_writer({"item": np.array(["a", "b"]), "score": np.array([0.1, np.nan])})(sys.stdout)
    item,score
    a,0.1
    b,
    """

    def write(file: IO[str]) -> None:
        rows = zip(*(cells(column) for column in columns.values()), strict=True)
        for row in chain([tuple(columns)], rows):
            file.write(",".join(map(cell, row)) + "\n")

    cell = spreadsheet_cell if spreadsheet_safe else csv_cell
    return write


def csv_cell(value: object) -> str:
    r"""Write a cell of a CSV file, in quotation marks if it needs them.

    Python's own writer does not quote a lone CR, and then no reader finds the row again.

    Examples
    --------
    >>> csv_cell("a"), csv_cell('an "a" here'), csv_cell("a\rb"), csv_cell(None)
    ('a', '"an ""a"" here"', '"a\rb"', '')
    """
    # A text may hold a NUL, a CSV may not.
    text = "" if value is None else str(value).replace("\0", "\ufffd")
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text


def spreadsheet_cell(value: object) -> str:
    """Write a cell as `csv_cell` does; what a spreadsheet would run as a formula is marked as text.

    Numbers are none. The apostrophe stays when the file is read by another program.

    Examples
    --------
    >>> spreadsheet_cell("=1+1"), spreadsheet_cell("a=b"), spreadsheet_cell(-1.5)
    ("'=1+1", 'a=b', '-1.5')
    """
    formula = isinstance(value, str) and value.startswith(_FORMULAS)
    return csv_cell(f"'{value}" if formula else value)


def json_writer(data: Mapping[str, Any]) -> Writer:
    """Return a writer of plain data as JSON; what is not a finite number becomes null.

    Examples
    --------
    >>> import sys
    >>> _ = json_writer({"kl": float("nan")})(sys.stdout)
    {
      "kl": null
    }
    """
    return lambda file: file.write(to_json(data) + "\n")


def to_json(data: Any) -> str:
    """Write plain data as JSON text.

    Examples
    --------
    >>> print(to_json([1, float("inf")]))
    [
      1,
      null
    ]
    """
    return json.dumps(_finite(data), indent=2, ensure_ascii=False, allow_nan=False)


def _finite(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    if isinstance(data, float):
        return data if np.isfinite(data) else None
    return data


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def refuse_overwriting(
    directory: Path | str, names: Iterable[str], inputs: Iterable[Path | str]
) -> None:
    """Refuse to write a file over one that is being read.

    Examples
    --------
    >>> refuse_overwriting("out", ["items.csv"], ["data/items.csv"])
    """
    if not str(directory):
        raise OutputError("the output folder has no name; give one with -o DIR.")
    read = {Path(path).resolve() for path in inputs}
    for name in names:
        target = Path(directory) / name
        if target.resolve() in read:
            raise OutputError(
                f"{target}: is being read and would be overwritten; choose another folder."
            )


def _missing_parents(directory: Path) -> list[Path]:
    above = (directory, *directory.parents)
    return [path for path in above if not os.path.exists(path)]  # noqa: PTH110


def _undo(temporary: list[Path], made: list[Path]) -> None:
    for path in temporary:
        with suppress(OSError):
            path.unlink()
    for path in made:
        with suppress(OSError):
            path.rmdir()


def _reason(directory: Path, error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"{directory}: the disk is full; free some space or choose another folder."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{directory}: no permission to write there; choose another folder."
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        return f"{directory}: is a file, not a folder; choose another name."
    return f"{directory}: cannot be written ({error.strerror})."
