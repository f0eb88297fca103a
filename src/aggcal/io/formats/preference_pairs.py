"""Preference pairs for training: chosen and rejected."""

from __future__ import annotations

from collections.abc import Mapping

from aggcal.io.formats._base import Choices, Notes, TableFormat, annotator_or_nobody
from aggcal.io.formats._sample import Sample
from aggcal.io.formats._synonyms import ANNOTATOR
from aggcal.io.tables.source import Source

_MODELS = ("chosen_model", "rejected_model")


def _is_mine(sample: Sample) -> bool:
    return sample.has("chosen", "rejected")


def _columns(source: Source, choices: Choices, notes: Notes) -> Mapping[str, str]:
    names = ("chosen", "rejected")
    if source.columns >= set(_MODELS):
        names = _MODELS
        notes.append("the items are the models (chosen_model, rejected_model), not their texts")
    return {
        "annotator": annotator_or_nobody(source, choices, notes, *ANNOTATOR),
        "winner": _said(names[0]),
        "loser": _said(names[1]),
    } | {name: name for name in ("weight",) if name in source.columns}


def _said(name: str) -> str:
    """Write the SQL of a text, or of the last message where it is a conversation."""
    last = f"json_extract_string({name}, '$[#-1].content')"
    return f"CASE WHEN {name} LIKE '[{{%' AND json_valid({name}) THEN {last} ELSE {name} END"


FORMAT = TableFormat(
    _is_mine,
    ("chosen", "rejected", *_MODELS, *ANNOTATOR, "weight"),
    _columns,
)
