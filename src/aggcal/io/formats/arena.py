"""Battles of FastChat and LMArena, of every generation, and MT-Bench's human judgments."""

from __future__ import annotations

from collections.abc import Mapping

from aggcal.io.formats._base import Choices, Notes, TableFormat, annotator_or_nobody
from aggcal.io.formats._sample import Sample
from aggcal.io.formats._sides import side_of
from aggcal.io.formats._synonyms import ANNOTATOR
from aggcal.io.tables.source import Source, cell

_ONE_HOT = ("winner_model_a", "winner_model_b", "winner_tie")
_WHO = tuple(dict.fromkeys(("judge", "annotator", "evaluation_session_id", *ANNOTATOR)))
_LABELS = ("model_a", "model_b")


def _is_mine(sample: Sample) -> bool:
    return sample.has("model_a", "model_b") and (sample.has("winner") or sample.has(*_ONE_HOT))


def _columns(source: Source, choices: Choices, notes: Notes) -> Mapping[str, str]:
    outcome = "winner"
    if "winner" not in source.columns:
        truth = "IN ('1', '1.0', 'true', 'True')"
        a, b, tie = (f"({cell(c)} {truth})" for c in _ONE_HOT)
        outcome = (
            f"CASE WHEN {a}::INT + {b}::INT + {tie}::INT <> 1 THEN 'not one of the three' "
            f"WHEN {a} THEN 'left' WHEN {b} THEN 'right' ELSE 'tie' END"
        )
    else:
        # Some write the name of the model that won.
        outcome = side_of(
            source, "winner", ("model_a", "model_b"), choices=choices, notes=notes, labels=_LABELS
        )
    return {
        "annotator": _judge(annotator_or_nobody(source, choices, notes, *_WHO)),
        "left": "model_a",
        "right": "model_b",
        "outcome": outcome,
    }


def _judge(who: str) -> str:
    """Write the SQL that makes one name of ["gpt-4", "pair-v2"], a judge with its prompt."""
    parts = f"array_to_string(from_json({who}, '[\"VARCHAR\"]'), ' ')"
    is_list = f"{who} LIKE '[%' AND json_valid({who})"
    return f"CASE WHEN {is_list} THEN {parts} ELSE {who} END"


FORMAT = TableFormat(
    _is_mine,
    ("model_a", "model_b", "winner", *_ONE_HOT, *_WHO),
    _columns,
    options=("strength_scale",),
)
