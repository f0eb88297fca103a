"""Gavel: the decisions of a hackathon's judges."""

from __future__ import annotations

from collections.abc import Mapping

from aggcal.io.formats._base import Choices, Notes, TableFormat
from aggcal.io.formats._sample import Sample
from aggcal.io.tables.source import Source

_NEEDS = ("annotator id", "winner id", "loser id")


def _is_mine(sample: Sample) -> bool:
    return sample.has(*_NEEDS)


def _columns(source: Source, choices: Choices, notes: Notes) -> Mapping[str, str]:  # noqa: ARG001
    return dict(
        zip(("annotator", "winner", "loser"), (f'"{name}"' for name in _NEEDS), strict=True)
    )


FORMAT = TableFormat(_is_mine, _NEEDS, _columns)
