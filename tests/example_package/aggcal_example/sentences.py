"""Votes as sentences."""

from __future__ import annotations

from collections.abc import Iterator

from aggcal.io.formats import Choices, Notes, Row, Sample, TextFormat


def _is_mine(sample: Sample) -> bool:
    return sample.text.startswith("#votes")


def _rows(lines: Iterator[tuple[int, str]], choices: Choices, notes: Notes) -> Iterator[Row]:  # noqa: ARG001
    for number, line in lines:
        words = line.split()
        if len(words) == 5:
            yield Row(words[0], words[2], words[4], "left", f"line {number}")


FORMAT = TextFormat(_is_mine, _rows)
