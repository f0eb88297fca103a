"""evalica: left, right and the winning side."""

from __future__ import annotations

from collections.abc import Mapping

from aggcal.io.formats.base import Choices, Notes, TableFormat, annotator_or_nobody
from aggcal.io.formats.sample import Sample
from aggcal.io.formats.sides import side_of
from aggcal.io.source import Source

_LABELS = {"x": "left", "y": "right", "draw": "tie", "ignore": "skip"}
_KNOWN = {"left", "right", "tie", *_LABELS}


def _is_mine(sample: Sample) -> bool:
    if not sample.has("left", "right", "winner") or sample.has("outcome"):
        return False
    return any(value.lower() in _KNOWN for value in sample.values("winner"))


def _columns(source: Source, choices: Choices, notes: Notes) -> Mapping[str, str]:
    return {
        "annotator": annotator_or_nobody(source, choices, notes, "annotator", "worker", "judge"),
        "left": '"left"',
        "right": '"right"',
        "outcome": side_of(
            source, "winner", ('"left"', '"right"'), labels=_LABELS, choices=choices, notes=notes
        ),
    } | {name: name for name in ("weight",) if name in source.columns}


FORMAT = TableFormat(
    "evalica",
    "evalica: left, right, winner (left, right or tie)",
    _is_mine,
    ("left", "right", "winner", "annotator", "worker", "judge", "weight"),
    _columns,
    _LABELS,
)
