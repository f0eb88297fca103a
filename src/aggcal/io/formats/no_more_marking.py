"""No More Marking: the decisions of a comparative-judgement task."""

from __future__ import annotations

from collections.abc import Mapping

from aggcal.io.formats._base import Choices, Notes, TableFormat, annotator_or_nobody
from aggcal.io.formats._sample import Sample
from aggcal.io.formats._synonyms import ANNOTATOR
from aggcal.io.tables.source import Source, cell

_TIMES = ("timetaken(ms)", "timetaken (ms)", "timetaken")
_WHO = tuple(dict.fromkeys(("judgeid", "judge", "judgename", *ANNOTATOR)))


def _is_mine(sample: Sample) -> bool:
    return sample.has("chosen", "notchosen")


def _columns(source: Source, choices: Choices, notes: Notes) -> Mapping[str, str]:
    found = {
        "annotator": annotator_or_nobody(source, choices, notes, *_WHO),
        "winner": "chosen",
        "loser": "notchosen",
    }
    for name in _TIMES:
        if name in source.columns:
            if "ms" not in name:
                notes.append("timeTaken is read as milliseconds")
            found["seconds"] = f"try_cast({cell(name)} AS DOUBLE) / 1000"
    return found


FORMAT = TableFormat(
    _is_mine,
    ("chosen", "notchosen", *_WHO, *_TIMES),
    _columns,
)
