"""The raw vote log of a FastChat server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from aggcal.errors import TableError
from aggcal.io.formats._base import Choices, Notes, RecordFormat, Row, mapping_of, nobody, text_of
from aggcal.io.formats._sample import Record, Sample

_VOTES = ("leftvote", "rightvote", "tievote", "bothbad_vote")
_NO_VOTES = ("chat", "upvote", "downvote", "flag", "share", "load", "regenerate", "clear_history")


def _is_mine(sample: Sample) -> bool:
    return any("states" in record and "type" in record for record in sample.mappings)


def _rows(records: Iterator[Record], choices: Choices, notes: Notes) -> Iterator[Row]:
    wanted = (choices.context or "").strip().lower() == "prompt"
    for record in records:
        entry = mapping_of(record.value, record.location, "entry")
        kind = text_of(entry.get("type")) or ""
        left, right = _models(entry, record.location, asked=kind in _VOTES)
        who = text_of(entry.get("ip")) or nobody(choices, notes)
        if kind in _NO_VOTES:
            yield Row(who, left, right, "skip", record.location, reason=f"a {kind}, no vote")
        else:
            prompt = _prompt(entry) if wanted else None
            yield Row(who, left, right, kind, record.location, context=prompt)


def _models(
    entry: Mapping[str, Any], location: str, *, asked: bool
) -> tuple[str | None, str | None]:
    states = entry.get("states")
    names = [text_of(s.get("model_name")) for s in states or () if isinstance(s, Mapping)]
    given = entry.get("models")
    if isinstance(given, list) and len(given) == 2 and all(given):  # noqa: PLR2004
        names = [text_of(name) for name in given]
    if len(names) == 2 and all(names):  # noqa: PLR2004
        return names[0], names[1]
    if asked:
        raise TableError(f"{location}: is a vote without the names of two models; remove the line.")
    return None, None


def _prompt(entry: Mapping[str, Any]) -> str | None:
    """Return what the user first said to both models."""
    for state in entry.get("states") or ():
        messages = state.get("messages") if isinstance(state, Mapping) else None
        first = messages[0] if isinstance(messages, list) and messages else None
        if isinstance(first, list) and len(first) > 1:
            return text_of(first[1])
    return None


FORMAT = RecordFormat(_is_mine, _rows)
