"""JSON record by record, so that a file may be larger than memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from aggcal.errors import FileError
from aggcal.io.formats._sample import BLANK, Record, is_line_of_its_own

_NEAR_THE_END = 64
_AT_FIRST = 1 << 16
_LONGEST = 1 << 27
"""Characters of one record: more than any export has, less than would fill the memory."""


def json_records(name: str, pieces: Iterator[str]) -> Iterator[Record]:
    """Read JSON lines, one JSON array, or one object, record by record.

    ``pieces`` is the text in parts of any length.

    Examples
    --------
    >>> [record.value for record in json_records("f", iter(['[{"a": 1},', '{"a": 2}]']))]
    [{'a': 1}, {'a': 2}]
    >>> [record.location for record in json_records("f", iter(['{"a": 1}', chr(10), '{"a": 2}']))]
    ['line 1', 'line 2']
    """
    text = _Text(name, pieces)
    while len(text.rest) < _AT_FIRST and text.more():
        pass
    if not text.next_character():
        raise FileError(f"{name}: is empty; export it again.")
    if text.next_character() != "[" or is_line_of_its_own(text.rest):
        while text.next_character():
            location = f"line {text.line}"
            yield Record(location, text.value(location))
        return
    text.drop(1)
    number = 0
    while text.next_character() != "]" or number:
        number += 1
        yield Record(f"record {number}", text.value(None))
        after = text.next_character()
        if after == "]":
            break
        if after != ",":
            what = f"'{after}' after record {number}" if after else "the file ends too early"
            raise FileError(
                f"{name}: line {text.line} is not valid JSON ({what}); export the file again."
            )
        text.drop(1)
    text.drop(1)
    if text.next_character():
        raise FileError(
            f"{name}: line {text.line} continues after the end of the list; export the file again."
        )


class _Text:
    """The text that is still to be read, of which only a part is held."""

    def __init__(self, name: str, pieces: Iterator[str]) -> None:
        self.name, self.pieces = name, pieces
        self.held, self.position, self.line = "", 0, 1
        self.decoder = json.JSONDecoder()

    @property
    def rest(self) -> str:
        """What is held and not yet read."""
        return self.held[self.position :]

    def more(self) -> bool:
        """Hold at least twice as much, so that long values are not begun again too often."""
        parts = [self.rest]
        wanted = 2 * len(parts[0])
        length = len(parts[0])
        while length <= wanted and (piece := next(self.pieces, None)) is not None:
            parts.append(piece)
            length += len(piece)
            if length > _LONGEST:
                raise FileError(
                    f"{self.name}: line {self.line} begins a value of more than {_LONGEST:,} "
                    "characters; check the file."
                )
        self.held, self.position = "".join(parts), 0
        return len(parts) > 1

    def drop(self, number: int) -> None:
        """Read over some characters, counting lines."""
        end = self.position + number
        self.line += self.held.count("\n", self.position, end)
        self.position = end

    def next_character(self) -> str:
        """Read over blanks and return the character after them, or nothing at the end."""
        while True:
            while self.position < len(self.held) and self.held[self.position] in BLANK:
                self.drop(1)
            if self.position < len(self.held):
                return self.held[self.position]
            if not self.more():
                return ""

    def value(self, location: str | None) -> Any:
        """Read one value; ``location`` is told of a bad one, else the line where it is bad."""
        self.next_character()
        while True:
            try:
                found, end = self.decoder.raw_decode(self.held, self.position)
                # A number may go on in the part that is not held yet.
                if end < len(self.held) or not self.more():
                    self.drop(end - self.position)
                    return found
            except json.JSONDecodeError as error:
                cut = error.pos >= len(self.held) - _NEAR_THE_END or "Unterminated" in error.msg
                if not (cut and self.more()):
                    line = self.line + self.held.count("\n", self.position, error.pos)
                    raise FileError(
                        f"{self.name}: {location or f'line {line}'} is not valid JSON "
                        f"({error.msg}); export the file again."
                    ) from None
            except RecursionError:
                raise FileError(
                    f"{self.name}: is nested too deeply to be an export; check the file."
                ) from None
            except ValueError as error:  # an integer of thousands of digits
                raise FileError(
                    f"{self.name}: holds a value that cannot be read ({error})."
                ) from None
