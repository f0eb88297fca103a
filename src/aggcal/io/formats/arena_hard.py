"""Arena-Hard's judgments: a model against the baseline, a game for each order of the two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from aggcal.errors import OutcomeError
from aggcal.io.formats._base import (
    Choices,
    Notes,
    RecordFormat,
    Row,
    list_of,
    mapping_of,
    nobody,
    text_of,
)
from aggcal.io.formats._sample import Record, Sample

_BASELINE = "baseline"
"""What the baseline is called where a record does not say which model it was."""
_SCORES = {
    "A>>B": "left+", "A>B": "left", "A=B": "tie", "B=A": "tie", "B>A": "right", "B>>A": "right+",
    "B<<A": "left+", "B<A": "left", "A<B": "right", "A<<B": "right+",
}  # fmt: skip


def _is_mine(sample: Sample) -> bool:
    return sample.has("model", "judge", "games")


def _rows(records: Iterator[Record], choices: Choices, notes: Notes) -> Iterator[Row]:
    for record in records:
        entry = mapping_of(record.value, record.location, "record")
        who = text_of(entry.get("judge")) or nobody(choices, notes)
        model, baseline = text_of(entry.get("model")), text_of(entry.get("baseline"))
        if baseline is None:
            said = (
                "the file does not say which model was the baseline, so it is called "
                f"'{_BASELINE}'; --alias FILE gives it a name"
            )
            notes += [] if said in notes else [said]
        shown = baseline or _BASELINE, model
        # The first game shows the baseline as A, the second the model.
        for number, game in enumerate(list_of(entry.get("games"), record.location, "games")):
            left, right = shown if number % 2 == 0 else shown[::-1]
            score = text_of(game.get("score")) if isinstance(game, Mapping) else None
            outcome = "failed" if score is None else _SCORES.get(score.upper().replace(" ", ""))
            if outcome is None:
                raise OutcomeError(
                    f"{record.location}: game {number + 1} has the score '{score}'; write one of "
                    f"{', '.join(_SCORES)}, or null where there is none."
                )
            reason = f"game {number + 1} has no score" if score is None else None
            yield Row(who, left, right, outcome, record.location, reason=reason)


FORMAT = RecordFormat(_is_mine, _rows, contexts={"prompt": ("uid", "question_id")})
