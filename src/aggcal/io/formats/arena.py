"""Records of judges of language models: FastChat's vote log, MT-Bench's and Arena-Hard's games."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from aggcal.errors import OutcomeError, TableError, option
from aggcal.io.choices import Choices
from aggcal.io.formats.base import (
    Format,
    Notes,
    Records,
    Row,
    cell_text,
    has,
    list_of,
    mapping_of,
    nobody,
    note,
)
from aggcal.io.words import LABELS, MEANINGS, NO_SIDE, is_label, spelt

_VOTES = ("leftvote", "rightvote", "tievote", "bothbad_vote")
_NO_VOTES = ("chat", "upvote", "downvote", "flag", "share", "load", "regenerate", "clear_history")
_BASELINE = "baseline"
"""What Arena-Hard's baseline is called where a record does not say which model it was."""
_SCORES = {
    "A>>B": "left+", "A>B": "left", "A=B": "tie", "B=A": "tie", "B>A": "right", "B>>A": "right+",
    "B<<A": "left+", "B<A": "left", "A<B": "right", "A<<B": "right+",
}  # fmt: skip


def _votes(records: Records, choices: Choices, notes: Notes) -> Iterator[Row]:
    wanted = (choices.context or "").strip().lower() == "prompt"
    for location, record in records:
        entry = mapping_of(record, location, "entry")
        kind = cell_text(entry.get("type")) or ""
        states = [s for s in entry.get("states") or () if isinstance(s, Mapping)]
        models = entry.get("models")
        if not isinstance(models, list) or len(models) != 2 or not all(models):  # noqa: PLR2004
            models = [state.get("model_name") for state in states]
        named = [*map(cell_text, models)]
        left, right = named if len(named) == 2 and all(named) else (None, None)  # noqa: PLR2004
        if left is None and kind in _VOTES:
            raise TableError(
                f"{location}: is a vote without the names of two models; remove the line."
            )
        who = cell_text(entry.get("ip")) or nobody(choices, notes)
        row = Row(who, left, right, kind, location)
        if kind in _NO_VOTES:
            yield row._replace(outcome="skip", reason=f"a {kind}, no vote")
        else:
            yield row._replace(context=_prompt(states) if wanted else None)


def _prompt(states: list[Mapping[str, Any]]) -> str | None:
    """Return what the user first said to both models."""
    for state in states:
        messages = state.get("messages")
        first = messages[0] if isinstance(messages, list) and messages else None
        if isinstance(first, list) and len(first) > 1:
            return cell_text(first[1])
    return None


def _mt_bench(records: Records, choices: Choices, notes: Notes) -> Iterator[Row]:
    for location, record in records:
        entry = mapping_of(record, location, "record")
        who = cell_text(entry.get("judge")) or nobody(choices, notes)
        pair = cell_text(entry.get("model_1")), cell_text(entry.get("model_2"))
        # The second game shows model_2 on the left; its winner is still named by model.
        for game, (left, right), sides in (
            ("g1_winner", pair, {"model_1": "left", "model_2": "right"}),
            ("g2_winner", pair[::-1], {"model_1": "right", "model_2": "left"}),
        ):
            winner = cell_text(entry.get(game)) or "failed"
            outcome = sides.get(spelt(winner), winner)
            if outcome == winner and winner.lower() not in choices.meanings and _unclear(winner):
                raise OutcomeError(
                    f"{location}: {game} is '{winner}', which may name a model or the place "
                    "where it was shown; write model_1, model_2, tie or error."
                )
            reason = f"{game} is '{winner}'" if winner in ("error", "failed") else None
            yield Row(who, left, right, outcome, location, reason=reason)


def _unclear(label: str) -> bool:
    """Whether a label would mean another item in each of the games."""
    sided = is_label(label) and LABELS.get(spelt(label)) not in NO_SIDE
    return sided and label.lower() not in MEANINGS


def _arena_hard(records: Records, choices: Choices, notes: Notes) -> Iterator[Row]:
    for location, record in records:
        entry = mapping_of(record, location, "record")
        who = cell_text(entry.get("judge")) or nobody(choices, notes)
        model, baseline = cell_text(entry.get("model")), cell_text(entry.get("baseline"))
        if baseline is None:
            note(
                notes,
                "the file does not say which model was the baseline, so it is called "
                f"'{_BASELINE}'; {option('alias', 'FILE')} gives it a name",
            )
        shown = baseline or _BASELINE, model
        # The first game shows the baseline as A, the second the model.
        for k, game in enumerate(list_of(entry.get("games"), location, "games")):
            left, right = shown if k % 2 == 0 else shown[::-1]
            score = cell_text(game.get("score")) if isinstance(game, Mapping) else None
            outcome = "failed" if score is None else _SCORES.get(score.upper().replace(" ", ""))
            if outcome is None:
                raise OutcomeError(
                    f"{location}: game {k + 1} has the score '{score}'; write one of "
                    f"{', '.join(_SCORES)}, or null where there is none."
                )
            reason = f"game {k + 1} has no score" if score is None else None
            yield Row(who, left, right, outcome, location, reason=reason)


ARENA = {
    "vote-log": Format(
        has("states", "type"), rows=_votes, summary="the raw vote log of a FastChat server"
    ),
    "mt-bench": Format(
        has("model_1", "model_2", "g1_winner", "g2_winner"),
        rows=_mt_bench,
        contexts={"prompt": ("question_id",)},
        summary="MT-Bench pair judgments: model_1, model_2, g1_winner, g2_winner",
    ),
    "arena-hard": Format(
        has("model", "judge", "games"),
        rows=_arena_hard,
        contexts={"prompt": ("uid", "question_id")},
        summary="Arena-Hard's judgments: model, judge, games",
    ),
}
