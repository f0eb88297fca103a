"""crowd-kit: worker, left, right and the label, which is the one that was preferred."""

from __future__ import annotations

from collections.abc import Mapping

from aggcal.io.formats._base import Choices, Notes, TableFormat
from aggcal.io.formats._sample import Sample
from aggcal.io.formats._sides import side_of
from aggcal.io.tables.source import Source


def _is_mine(sample: Sample) -> bool:
    return sample.has("worker", "left", "right", "label")


def _columns(source: Source, choices: Choices, notes: Notes) -> Mapping[str, str]:
    return {
        "annotator": "worker",
        "left": '"left"',
        "right": '"right"',
        "outcome": side_of(source, "label", ('"left"', '"right"'), choices=choices, notes=notes),
    } | {name: name for name in ("weight",) if name in source.columns}


FORMAT = TableFormat(
    _is_mine,
    ("worker", "left", "right", "label", "weight"),
    _columns,
    options=("strength_scale",),
)
