"""Battles of FastChat and LMArena, of every generation, and MT-Bench's human judgments."""

from __future__ import annotations

from collections.abc import Mapping

from aggcal.io.formats.base import Choices, Notes, TableFormat, annotator_or_nobody
from aggcal.io.formats.sample import Sample
from aggcal.io.formats.sides import side_of
from aggcal.io.source import Source, cell, quoted

_ONE_HOT = ("winner_model_a", "winner_model_b", "winner_tie")
_WHO = ("judge", "annotator", "evaluation_session_id")
_BOTH_BAD = ("both_bad", "tie (bothbad)", "bothbad")
_LABELS = {"model_a": "left", "model_b": "right", **dict.fromkeys(_BOTH_BAD, "tie")}


def _is_mine(sample: Sample) -> bool:
    return sample.has("model_a", "model_b") and (sample.has("winner") or sample.has(*_ONE_HOT))


def _columns(source: Source, choices: Choices, notes: Notes) -> Mapping[str, str]:
    outcome = "winner"
    if "winner" not in source.columns:
        truth = "IN ('1', '1.0', 'true', 'True')"
        a, b, tie = (f"({cell(c)} {truth})" for c in _ONE_HOT)
        outcome = (
            f"CASE WHEN {a}::INT + {b}::INT + {tie}::INT <> 1 THEN 'not one of the three' "
            f"WHEN {a} THEN 'model_a' WHEN {b} THEN 'model_b' ELSE 'tie' END"
        )
    else:
        # Some write the name of the model that won.
        outcome = side_of(
            source, "winner", ("model_a", "model_b"), labels=_LABELS, choices=choices, notes=notes
        )
        outcome = _both_bad(source, outcome, choices, notes)
    return {
        "annotator": _judge(annotator_or_nobody(source, choices, notes, *_WHO)),
        "left": "model_a",
        "right": "model_b",
        "outcome": outcome,
    }


def _both_bad(source: Source, outcome: str, choices: Choices, notes: Notes) -> str:
    """Say what became of 'both bad', which every generation of the export spells its own way."""
    spelt = f"lower(winner) IN ({', '.join(map(quoted, _BOTH_BAD))})"
    number = source.one("count(*)", spelt)
    if not number:
        return outcome
    asked = {str(label).strip().lower(): means for label, means in choices.outcomes.items()}
    means = next((str(asked[label]) for label in _BOTH_BAD if label in asked), None)
    if means is None:
        said = f"{number:,} 'both bad' are counted as ties; --outcome both_bad=skip leaves them out"
        notes.append(said)
        return outcome
    return f"CASE WHEN {spelt} THEN {quoted(means)} ELSE {outcome} END"


def _judge(who: str) -> str:
    """Write the SQL that makes one name of ["gpt-4", "pair-v2"], a judge with its prompt."""
    parts = f"array_to_string(from_json({who}, '[\"VARCHAR\"]'), ' ')"
    is_list = f"{who} LIKE '[%' AND json_valid({who})"
    return f"CASE WHEN {is_list} THEN {parts} ELSE {who} END"


FORMAT = TableFormat(
    "arena",
    "FastChat and LMArena battles, MT-Bench human judgments: model_a, model_b, winner",
    _is_mine,
    ("model_a", "model_b", "winner", *_ONE_HOT, *_WHO),
    _columns,
    _LABELS,
)
