"""MT-Bench's pairwise judge: each record holds two judgments, one for each order shown."""

from __future__ import annotations

from collections.abc import Iterator

from aggcal.errors import OutcomeError
from aggcal.io.formats._base import (
    MEANINGS,
    Choices,
    Notes,
    RecordFormat,
    Row,
    mapping_of,
    nobody,
    text_of,
)
from aggcal.io.formats._labels import LABELS, NO_SIDE, is_label, spelt
from aggcal.io.formats._sample import Record, Sample


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
