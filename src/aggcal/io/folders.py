"""Which files were given: a path, a list of paths, or a folder of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from aggcal.errors import FileError, OptionError, printable, some
from aggcal.io.files import in_words as said
from aggcal.io.files import split_sheet

PathLike: TypeAlias = str | Path

# fmt: off
_TABLES = (
    ".csv", ".tsv", ".tab", ".xlsx", ".xlsm", ".xls", ".ods",
    ".jsonl", ".ndjson", ".soc", ".soi", ".toc", ".toi",
)
_PERHAPS = (".json", ".txt")
# fmt: on
"""Endings of files that hold judgments; beside Parquet, the latter may describe it."""
_TEMPORARY = (".", "~$", "_")
"""How files begin that programs leave behind: locks of a spreadsheet, marks of a writer."""


@dataclass(frozen=True)
class Given:
    """The files that were given, and what was left out of the folders among them."""

    files: tuple[PathLike, ...]
    notes: tuple[str, ...] = ()


def files_of(data: Any) -> Given | None:
    """Return the files that a path or a list of paths stands for; None for rows and frames.

    A folder stands for the tables in it, but one of Parquet files for itself: they are one table.

    Examples
    --------
    >>> files_of("a.csv").files, files_of(["a.csv", "b.xlsx"]).files, files_of([("ann", "a", "b")])
    (('a.csv',), ('a.csv', 'b.xlsx'), None)
    """
    if isinstance(data, str | Path):
        return _inside(data)
    listed = isinstance(data, list | tuple) and bool(data)
    if not listed or not all(isinstance(one, str | Path) for one in data):
        return None
    every = [_inside(one) for one in data]
    files = tuple(file for one in every for file in one.files)
    _refuse_twice(files)
    return Given(files, tuple(note for one in every for note in one.notes))


def labels_of(files: Sequence[PathLike]) -> list[str]:
    """Return a short name for each file: its own, or its path where two have the same.

    Examples
    --------
    >>> labels_of(["a.csv", "monday/b.csv", "tuesday/b.csv"])
    ['a.csv', 'monday/b.csv', 'tuesday/b.csv']
    """
    # A stream has only a number to its name.
    streams = [str(file).startswith("/dev/") for file in files]
    names = [
        printable(str(file) if stream else Path(file).name or str(file))
        for file, stream in zip(files, streams, strict=True)
    ]
    return [
        name if names.count(name) == 1 else printable(str(file))
        for name, file in zip(names, files, strict=True)
    ]


def _inside(given: PathLike) -> Given:
    """Return the tables in a folder; what is no folder stands for itself."""
    if not os.path.isdir(given):  # noqa: PTH112  # which, unlike Path's, asks no permission
        return Given((given,))
    folder = Path(given)
    with said(printable(str(given))):
        found = sorted(p for p in folder.iterdir() if not p.name.startswith(_TEMPORARY))
        tables = [p for p in found if p.is_file() and _ends(p, _TABLES)]
        packed = next((p for p in folder.rglob("*.parquet") if p.is_file()), None)
    if packed is not None:
        if tables:
            raise FileError(
                f"{given}: holds Parquet files, which are read as one table, and others "
                f"({_names(tables)}); give the files one by one."
            )
        return Given((given,))
    tables = [p for p in found if p.is_file() and _ends(p, (*_TABLES, *_PERHAPS))]
    others = [p for p in found if p not in tables]
    if not tables:
        raise FileError(
            f"{given}: is a directory without Parquet files or other tables"
            f"{f' (found: {_names(others)})' if others else ''}; give the file in it."
        )
    notes = (f"{folder.name}: left out, as they are no tables: {_names(others)}",) if others else ()
    return Given(tuple(tables), notes)


def _ends(path: Path, endings: tuple[str, ...]) -> bool:
    return path.name.lower().removesuffix(".gz").endswith(endings)


def _names(paths: Sequence[PathLike]) -> str:
    return some([Path(path).name for path in paths])


def _refuse_twice(files: Sequence[PathLike]) -> None:
    """Refuse a file that is given twice, by itself or in a folder: it would count twice."""
    seen: dict[tuple[str, str | None], PathLike] = {}
    for file in files:
        path, sheet = split_sheet(Path(file))
        known = os.path.realpath(path), sheet
        if known in seen:
            before = seen[known]
            same = "" if str(before) == str(file) else f", as {printable(str(before))}"
            raise OptionError(
                f"{printable(str(file))} is given twice{same}, and its judgments would count "
                "twice; give it once."
            )
        seen[known] = file
    for real, _ in seen:
        for folder in Path(real).parents:
            if (str(folder), None) in seen:
                raise OptionError(
                    f"{printable(real)} is in {seen[str(folder), None]}, which is also given; "
                    "give one of the two."
                )
