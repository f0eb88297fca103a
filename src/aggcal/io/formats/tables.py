"""Exports that are tables: each is the names that its columns have for ours."""

from __future__ import annotations

import json
from collections.abc import Callable

from aggcal.io.formats.base import Format, Made, has, number_of
from aggcal.io.tables import Table
from aggcal.io.words import ANNOTATOR, SECONDS, is_label

_SCALE = ("strength_scale",)
_SIDES = ("left choice id", "right choice id")
_ONE_HOT = ("winner_model_a", "winner_model_b", "winner_tie")
_GENERATORS = {"left": "generator_1", "right": "generator_2"}


def judge(who: str | None) -> str | None:
    """Make one name of ["gpt-4", "pair-v2"], a judge with its prompt."""
    if who is None or not who.startswith("["):
        return who
    try:
        return " ".join(map(str, json.loads(who)))
    except (ValueError, RecursionError):
        return who


def _who(*first: str) -> tuple[Made, ...]:
    return tuple(Made((name,), judge) for name in dict.fromkeys((*first, *ANNOTATOR)))


def _one_hot(*cells: str | None) -> str:
    marked = [cell in ("1", "1.0", "true", "True") for cell in cells]
    return ("left", "right", "tie")[marked.index(True)] if sum(marked) == 1 else "not one of three"


def _soft(preference: str | None) -> str | None:
    """Return what AlpacaEval means: 1 is the first output, 2 the second, 0 an early tie."""
    if _unread(preference):
        return "failed"
    value = number_of(preference)
    if value is None:
        return preference if is_label(preference or "") else f"preference {preference}"
    if value == 0:
        return "tie"
    return repr(2.0 - value) if 1.0 <= value <= 2.0 else f"preference {preference}"  # noqa: PLR2004


def _unread(preference: str | None) -> str | None:
    """Return why there is no preference, if there is none: the judge's answer was not read."""
    return "no preference" if (preference or "nan").lower() in ("nan", "none", "null") else None


def _is_alpaca(table: Table) -> bool:
    # With 0 and 1 alone, 0 may as well stand for the second output: a table says what it means.
    numbers = {*map(number_of, table.first("preference"))} - {None}
    return has(*_GENERATORS.values(), "preference")(table) and not (
        numbers and numbers <= {0.0, 1.0}
    )


def _void(valid: str | None) -> str | None:
    """Return why a vote on All Our Ideas does not count, if it does not."""
    marked = (valid or "").lower() in ("false", "f", "0", "no")
    return "marked as not valid" if marked else None


def _idea(winner: str | None, left: str | None, right: str | None, valid: str | None) -> str:
    if _void(valid):
        return "skip"
    if left in (winner, None):  # without sides, the winner stands on the left
        return "left"
    return "right" if right == winner else f"winner {winner} was not shown"


def _last_message(text: str | None) -> str | None:
    """Return a text, or the last message where it is a conversation."""
    try:
        return json.loads(text)[-1]["content"] if text and text.startswith("[{") else text
    except (ValueError, KeyError, RecursionError):
        return text


def _times(per_second: float) -> Callable[[str | None], str | None]:
    return lambda cell: None if (time := number_of(cell)) is None else repr(time / per_second)


def _is_evalica(table: Table) -> bool:
    # One that names who judged in words that evalica does not have is another's.
    others = {*ANNOTATOR} - {"annotator", "worker", "judge"}
    fits = has("left", "right", "winner")(table) and not table.columns.keys() & {"outcome", *others}
    return fits and any(map(is_label, table.first("winner")))


TABLES = {
    "alpaca-eval": Format(
        _is_alpaca,
        {
            **_GENERATORS,
            "annotator": ANNOTATOR,
            "outcome": Made(("preference",), _soft),
            "reason": Made(("preference",), _unread),
        },
        sided=lambda _: False,  # shown in random order, written in one
        summary="AlpacaEval annotations: generator_1, generator_2, preference",
    ),
    "arena": Format(
        lambda table: (
            has("model_a", "model_b", "winner")(table)
            or has("model_a", "model_b", *_ONE_HOT)(table)
        ),
        {
            "annotator": _who("judge", "annotator", "evaluation_session_id"),
            "left": "model_a",
            "right": "model_b",
            "outcome": ("winner", Made(_ONE_HOT, _one_hot)),
        },
        options=_SCALE,
        summary="FastChat and LMArena battles, MT-Bench human judgments: model_a, model_b, winner",
    ),
    "crowd-kit": Format(
        has("worker", "left", "right", "label"),
        {
            "annotator": "worker",
            "left": "left",
            "right": "right",
            "outcome": "label",
            "weight": "weight",
        },
        options=_SCALE,
        summary="crowd-kit: worker, left, right, label",
    ),
    "gavel": Format(
        has("annotator id", "winner id", "loser id"),
        {"annotator": "annotator id", "winner": "winner id", "loser": "loser id"},
        summary="Gavel's decisions: Annotator ID, Winner ID, Loser ID",
    ),
    "all-our-ideas": Format(
        has("session id", "winner id", "loser id"),
        {
            "annotator": "session id",
            "left": ("left choice id", "winner id"),
            "right": ("right choice id", "loser id"),
            "outcome": Made(("winner id", *_SIDES, "valid"), _idea),
            "reason": Made(("valid",), _void),
            "seconds": "response time (s)",
        },
        sided=has(*_SIDES),
        summary="All Our Ideas' votes: Session ID, Winner ID, Loser ID",
    ),
    "all-our-ideas-non-votes": Format(
        lambda table: has("record type", "session id")(table) and "winner id" not in table.columns,
        {
            "annotator": "session id",
            "left": "left choice id",
            "right": "right choice id",
            "outcome": Made(("record type",), lambda _: "skip"),
            "reason": Made(("record type", "reason"), lambda *why: ": ".join(filter(None, why))),
        },
        summary="All Our Ideas' non-votes: Record Type, Session ID",
    ),
    "no-more-marking": Format(
        has("chosen", "notchosen"),
        {
            "annotator": _who("judgeid", "judge", "judgename"),
            "winner": "chosen",
            "loser": "notchosen",
            "seconds": tuple(
                Made((name,), _times(1e3))
                for name in ("timetaken(ms)", "timetaken (ms)", "timetaken")
            ),
        },
        says={"timetaken": "timeTaken is read as milliseconds"},
        summary="No More Marking's decisions: judgeId, chosen, notChosen",
    ),
    "preference-pairs": Format(
        has("chosen", "rejected"),
        {
            "annotator": ANNOTATOR,
            "winner": ("chosen_model", Made(("chosen",), _last_message)),
            "loser": ("rejected_model", Made(("rejected",), _last_message)),
            "weight": "weight",
        },
        says={
            "chosen_model": "the items are the models (chosen_model, rejected_model), not their "
            "texts"
        },
        summary="preference pairs: chosen, rejected",
    ),
    "evalica": Format(
        _is_evalica,
        {
            "annotator": ("annotator", "worker", "judge"),
            "left": "left",
            "right": "right",
            "outcome": "winner",
            "weight": "weight",
        },
        options=_SCALE,
        summary="evalica: left, right, winner (left, right or tie)",
    ),
    "table": Format(
        lambda _: True,
        {
            "annotator": ANNOTATOR,
            "seconds": tuple(Made((name,), _times(unit)) for name, unit in SECONDS.items()),
        },
        options=_SCALE,
        summary="a table: annotator, winner, loser or annotator, left, right, outcome, or common "
        "synonyms",
        general=True,
    ),
}
"""Tables whose columns have other names than ours."""
