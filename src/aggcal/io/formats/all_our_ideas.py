"""All Our Ideas: votes, and the appearances that ended without one."""

from __future__ import annotations

from collections.abc import Mapping

from aggcal.io.formats._base import Choices, Notes, TableFormat
from aggcal.io.formats._sample import Sample
from aggcal.io.tables.source import Source, cell

_SIDES = ("left choice id", "right choice id")
_SECONDS = "response time (s)"
_INVALID = "lower(coalesce(\"valid\", 'true')) IN ('false', 'f', '0', 'no')"


def _is_vote(sample: Sample) -> bool:
    return sample.has("session id", "winner id", "loser id")


def _votes(source: Source, choices: Choices, notes: Notes) -> Mapping[str, str]:  # noqa: ARG001
    valid = "valid" in source.columns
    void = f"WHEN {_INVALID} THEN 'skip' " if valid else ""
    found = {"annotator": '"session id"'}
    if source.columns >= set(_SIDES):
        left, right = map(cell, _SIDES)
        found |= {
            "left": left,
            "right": right,
            "outcome": f"CASE {void}WHEN \"winner id\" = {left} THEN 'left' "
            f"WHEN \"winner id\" = {right} THEN 'right' "
            "ELSE 'winner ' || \"winner id\" || ' was not shown' END",
        }
    else:
        found |= {
            "left": '"winner id"',
            "right": '"loser id"',
            "outcome": f"CASE {void}WHEN true THEN 'left' END",
        }
    if valid:
        found["reason"] = f"CASE WHEN {_INVALID} THEN 'marked as not valid' END"
    if _SECONDS in source.columns:
        found["seconds"] = f"try_cast({cell(_SECONDS)} AS DOUBLE)"
    return found


def _is_non_vote(sample: Sample) -> bool:
    return sample.has("record type", "session id") and not sample.has("winner id")


def _non_votes(source: Source, choices: Choices, notes: Notes) -> Mapping[str, str]:  # noqa: ARG001
    left, right = (cell(name) if name in source.columns else "NULL" for name in _SIDES)
    why = ", ".join(['"record type"', *(["reason"] if "reason" in source.columns else [])])
    return {
        "annotator": '"session id"',
        "left": left,
        "right": right,
        "outcome": "'skip'",
        "reason": f"concat_ws(': ', {why})",
    }


def _sided(sample: Sample) -> bool:
    return sample.has(*_SIDES)


VOTES = TableFormat(
    _is_vote,
    ("session id", "winner id", "loser id", *_SIDES, _SECONDS, "valid"),
    _votes,
    sided=_sided,
)
NON_VOTES = TableFormat(
    _is_non_vote,
    ("record type", "session id", *_SIDES, "reason"),
    _non_votes,
)
