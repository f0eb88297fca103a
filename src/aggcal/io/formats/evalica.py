"""evalica: left, right and the winning side."""

from __future__ import annotations

from collections.abc import Mapping

from aggcal.io.formats._base import Choices, Notes, TableFormat, annotator_or_nobody
from aggcal.io.formats._labels import is_label
from aggcal.io.formats._sample import Sample
from aggcal.io.formats._sides import side_of
from aggcal.io.formats._synonyms import ANNOTATOR
from aggcal.io.tables.source import Source

_WHO = ("annotator", "worker", "judge")


def _is_mine(sample: Sample) -> bool:
    if not sample.has("left", "right", "winner") or sample.has("outcome"):
        return False
    if any(sample.has(name) for name in ANNOTATOR if name not in _WHO):
        return False  # a table that names who judged in words that evalica does not have
    return any(is_label(value) for value in sample.values("winner"))


def _columns(source: Source, choices: Choices, notes: Notes) -> Mapping[str, str]:
    return {
        "annotator": annotator_or_nobody(source, choices, notes, *_WHO),
        "left": '"left"',
        "right": '"right"',
        "outcome": side_of(
            source, "winner", ('"left"', '"right"'), choices=choices, notes=notes, labels=("x", "y")
        ),
    } | {name: name for name in ("weight",) if name in source.columns}


FORMAT = TableFormat(
    _is_mine,
    ("left", "right", "winner", *_WHO, "weight"),
    _columns,
    options=("strength_scale",),
)
