"""MT-Bench's judge: pairs, of which a record holds one judgment for each order, or scores."""

from __future__ import annotations

from collections.abc import Iterator

from aggcal.errors import OutcomeError, count
from aggcal.io.formats._base import (
    MEANINGS,
    Choices,
    Notes,
    RecordFormat,
    Row,
    mapping_of,
    nobody,
    number_of,
    text_of,
)
from aggcal.io.formats._labels import LABELS, NO_SIDE, is_label, spelt
from aggcal.io.formats._sample import Record, Sample
from aggcal.io.formats.ratings import FORMAT as RATINGS_FORMAT

_NOT_FOUND = -1
"""The score where none was found in what the judge wrote."""
_LONG = ("user_prompt", "judgment")
"""Fields with whole conversations, which nobody parts judgments by."""


def _is_mine(sample: Sample) -> bool:
    return sample.has("model_1", "model_2", "g1_winner", "g2_winner")


def _rows(records: Iterator[Record], choices: Choices, notes: Notes) -> Iterator[Row]:
    mapped = {str(label).strip().lower() for label in choices.outcomes}
    for record in records:
        entry = mapping_of(record.value, record.location, "record")
        who = text_of(entry.get("judge")) or nobody(choices, notes)
        first, second = text_of(entry.get("model_1")), text_of(entry.get("model_2"))
        # The second game shows model_2 on the left; its winner is still named by model.
        for game, left, right, sides in (
            ("g1_winner", first, second, {"model_1": "left", "model_2": "right"}),
            ("g2_winner", second, first, {"model_1": "right", "model_2": "left"}),
        ):
            winner = text_of(entry.get(game)) or "failed"
            outcome = sides.get(spelt(winner), winner)
            if outcome == winner and winner.lower() not in mapped and not _is_clear(winner):
                raise OutcomeError(
                    f"{record.location}: {game} is '{winner}', which may name a model or the place "
                    "where it was shown; write model_1, model_2, tie or error."
                )
            reason = f"{game} is '{winner}'" if winner in ("error", "failed") else None
            yield Row(who, left, right, outcome, record.location, reason=reason)


def _is_clear(label: str) -> bool:
    """Whether a label means the same in both games, or is not known and will be refused as such."""
    return label.lower() in MEANINGS or not is_label(label) or LABELS.get(spelt(label)) in NO_SIDE


FORMAT = RecordFormat(_is_mine, _rows, contexts={"prompt": ("question_id",)})


def _is_single(sample: Sample) -> bool:
    return sample.has("question_id", "model", "judge", "score", "turn")


def _single(records: Iterator[Record], choices: Choices, notes: Notes) -> Iterator[Row]:
    """Compare the scores that a judge gave to the answers to one question, turn by turn."""
    missing = [0]

    def scored() -> Iterator[Record]:
        for record in records:
            entry = mapping_of(record.value, record.location, "record")
            found = number_of(entry.get("score")) != _NOT_FOUND
            missing[0] += not found
            asked = f"{text_of(entry.get('question_id'))}, turn {text_of(entry.get('turn'))}"
            named = {
                "item": entry.get("model"),
                "annotator": text_of(entry.get("judge")),
                "rating": entry.get("score") if found else None,
                "entry": asked,
            }
            rest = {k: value for k, value in entry.items() if k not in (*_LONG, "score")}
            yield Record(record.location, rest | named)

    yield from RATINGS_FORMAT.rows(scored(), choices, notes)
    notes.append("scores are compared within each question and turn")
    if missing[0]:
        verb = "means" if missing[0] == 1 else "mean"
        notes.append(f"{count(missing[0], 'score')} of -1 {verb} that the judge gave none")


SINGLE = RecordFormat(
    _is_single, _single, options=RATINGS_FORMAT.options, contexts={"prompt": ("question_id",)}
)
