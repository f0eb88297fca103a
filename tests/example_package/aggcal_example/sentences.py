"""Votes as sentences."""

from __future__ import annotations

from collections.abc import Iterator

from aggcal.io.formats import Choices, Format, Notes, Records, Row


def _rows(lines: Records, choices: Choices, notes: Notes) -> Iterator[Row]:  # noqa: ARG001
    for location, line in lines:
        words = line.split()
        if len(words) == 5:
            yield Row(words[0], words[2], words[4], "left", location)


FORMAT = Format(
    rows=_rows,
    is_text=lambda head: head.startswith("#votes"),
    name="sentences",
    summary="votes as sentences: 'ann prefers a to b' below a line '#votes'",
)
