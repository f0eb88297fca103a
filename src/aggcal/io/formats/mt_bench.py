"""MT-Bench's pairwise judge: each record holds two judgments, one for each order shown."""

from __future__ import annotations

from collections.abc import Iterator

from aggcal.io.formats.base import (
    Choices,
    Notes,
    RecordFormat,
    Row,
    mapping_of,
    nobody,
    text_of,
)
from aggcal.io.formats.sample import Record, Sample


def _is_mine(sample: Sample) -> bool:
    return sample.has("model_1", "model_2", "g1_winner", "g2_winner")


def _rows(records: Iterator[Record], choices: Choices, notes: Notes) -> Iterator[Row]:
    for record in records:
        entry = mapping_of(record.value, record.place, "record")
        who = text_of(entry.get("judge")) or nobody(choices, notes)
        first, second = text_of(entry.get("model_1")), text_of(entry.get("model_2"))
        # The second game shows model_2 on the left; its winner is still named by model.
        for game, left, right, sides in (
            ("g1_winner", first, second, {"model_1": "left", "model_2": "right"}),
            ("g2_winner", second, first, {"model_1": "right", "model_2": "left"}),
        ):
            winner = text_of(entry.get(game)) or "failed"
            outcome = sides.get(winner, winner)
            reason = f"{game} is '{winner}'" if winner in ("error", "failed") else None
            yield Row(who, left, right, outcome, record.place, reason=reason)


FORMAT = RecordFormat(
    "mt-bench",
    "MT-Bench pair judgments: model_1, model_2, g1_winner, g2_winner",
    _is_mine,
    _rows,
    {"error": "failed"},
)
