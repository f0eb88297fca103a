"""JSON: lines of it, one array, or one object, as a table of records."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from aggcal.errors import FileError
from aggcal.io.files import in_words, unpacked
from aggcal.io.tables import Table
from aggcal.io.words import NAMES, names_table, paired

_PIECE = 1 << 20
"""Characters at a time: fewer take longer, more take more memory."""


_LONGEST = 1 << 27
"""Characters of one record: more than any export has, less than would fill the memory."""


def of_json(path: Path, name: str, notes: list[str]) -> Table:
    """Read the records of a file."""
    every = list(values(path, name))
    if not every:
        raise FileError(f"{name}: holds no records; export it again.")
    if len(every) == 1 and isinstance(every[0][1], Mapping) and (inner := _records(every[0][1])):
        every = [(f"record {k + 1}", value) for k, value in enumerate(inner)]
    rows = [value for _, value in every]
    if all(isinstance(row, list) for row in rows) and _is_header(rows[0]):
        rows, every = _under(rows[0], rows[1:]), every[1:]
    header = dict.fromkeys(str(k) for row in rows if isinstance(row, Mapping) for k in row)
    return Table(name, [*header], rows, places=lambda row: every[row][0], notes=notes, path=path)


def _records(whole: Mapping[str, Any]) -> list[Any]:
    """Return the pairs that one object holds: its only list, its lists as columns, or a frame."""
    inside = [*whole.values()]
    lists = [each for each in inside if isinstance(each, list) and each]
    tables: list[list[Any]] = []
    known: Callable[[list[str]], bool] = _is_header
    if {"columns", "data"} <= whole.keys() and isinstance(whole["columns"], list):
        tables = [_under(whole["columns"], whole["data"])]
    elif all(isinstance(each, Mapping) for each in inside):  # by rows, or by columns
        keys = dict.fromkeys(key for each in inside for key in each)
        tables = [inside, [{name: whole[name].get(key) for name in whole} for key in keys]]
    elif len(lists) == 1:  # as the record of a tool may hold: only pairs are certain
        tables, known = lists, paired
    elif len(lists) == len(whole) and len({*map(len, lists)}) == 1 and not _nested(lists):
        tables = [[dict(zip(whole, row, strict=True)) for row in zip(*lists, strict=True)]]
    for rows in tables:
        named = len(rows) > 0 and all(isinstance(row, Mapping) for row in rows)
        if named and known([name.strip().lower() for name in _names(rows[0])]):
            return rows
    return []


def _nested(lists: list[list[Any]]) -> bool:
    return any(isinstance(cell, Mapping) for column in lists for cell in column)


def _names(record: Mapping[str, Any]) -> Iterator[str]:
    """Go through the names in a record and in the records in it."""
    for name, value in record.items():
        yield name
        if isinstance(value, Mapping):
            yield from _names(value)


def _is_header(cells: Any) -> bool:
    """Whether texts are names of known columns."""
    names = {str(cell).strip().lower() for cell in cells} if isinstance(cells, list) else set()
    return paired(names) or names_table(names, NAMES)


def _under(header: list[Any], rows: list[Any]) -> list[Any]:
    """Put lists under the names of their columns."""
    same = all(isinstance(row, list) and len(row) == len(header) for row in rows)
    return [dict(zip(map(str, header), row, strict=True)) for row in rows] if same else []


def values(path: Path, name: str) -> Iterator[tuple[str, Any]]:
    """Go through the values of a file, with their places, and not all at once."""
    with in_words(name), unpacked(path) as file, io.TextIOWrapper(file, "utf-8-sig") as text:
        decoder, held = json.JSONDecoder(), text.read(_PIECE)
        array = held.lstrip().startswith("[") and not _stands_alone(held)
        between = " \t\r\n," + "]" * array
        line, number, position = 1, 0, 0
        if array:
            position = held.index("[") + 1
            line += held.count("\n", 0, position)
        while True:
            while position < len(held) and held[position] in between:
                line += held[position] == "\n"
                position += 1
            try:
                value, end = decoder.raw_decode(held, position)
            except json.JSONDecodeError:
                more = text.read(max(_PIECE, len(held) - position))
                if not more and position == len(held):
                    return
                if not more:
                    where = f"record {number + 1}" if array else f"line {line}"
                    raise FileError(
                        f"{name}: {where} is not valid JSON, perhaps cut off; export the file "
                        "again."
                    ) from None
                held, position = held[position:] + more, 0
                if len(held) > _LONGEST:
                    raise FileError(
                        f"{name}: line {line} begins a value of more than {_LONGEST:,} characters; "
                        "check the file."
                    ) from None
                continue
            except (RecursionError, ValueError) as error:
                raise FileError(
                    f"{name}: holds a value that cannot be read ({error}); check the file."
                ) from None
            number += 1
            yield (f"record {number}" if array else f"line {line}"), value
            line += held.count("\n", position, end)
            position = end


def _stands_alone(text: str) -> bool:
    """Whether the first line is a whole JSON value with others in the lines after it."""
    first, _, rest = text.lstrip().partition("\n")
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return False
    return bool(rest.strip())
