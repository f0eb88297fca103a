"""Label Studio: Pairwise and Ranker, as JSON and JSON_MIN."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from aggcal.errors import OptionError, OutcomeError, TableError
from aggcal.io.formats.base import (
    Choices,
    Notes,
    RecordFormat,
    Row,
    list_of,
    mapping_of,
    nobody,
    number_of,
    text_of,
)
from aggcal.io.formats.orders import Opinion, pairs_of_order, stated
from aggcal.io.formats.sample import Record, Sample

_SIDES = (("1", "2"), ("a", "b"), ("left", "right"), ("first", "second"))
_NOT_DATA = {
    "id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "completed_by",
}  # fmt: skip


def _is_mine(sample: Sample) -> bool:
    for record in sample.mappings:
        if isinstance(record.get("data"), Mapping) and "annotations" in record:
            return True
        if _flat_result(record) is not None and "annotation_id" in record:
            return True
    return False


def _flat_result(record: Mapping[str, Any]) -> tuple[str, Any] | None:
    """Find the judgment among the keys of a JSON_MIN record."""
    for key, value in record.items():
        first = value[0] if isinstance(value, list) and value else value
        if isinstance(first, Mapping) and ("selected" in first or "ranker" in first):
            return key, first
    return None


def _rows(records: Iterator[Record], choices: Choices, notes: Notes) -> Iterator[Row]:
    reader = _Reader(choices, notes)
    for record in records:
        task = mapping_of(record.value, record.place, "task")
        if "annotations" in task or "predictions" in task:
            yield from reader.task(task, record.place)
        else:
            yield from reader.flat(task, record.place)
    if reader.rankings:
        notes.append(stated(reader.rankings, reader.pairs, "ranking", choices.ranking_weight))


class _Reader:
    """Takes tasks apart and remembers how many rankings there were."""

    def __init__(self, choices: Choices, notes: Notes) -> None:
        self.choices, self.notes = choices, notes
        self.rankings = self.pairs = 0

    def task(self, task: Mapping[str, Any], place: str) -> Iterator[Row]:
        data = mapping_of(task.get("data"), place, "data")
        for note in list_of(task.get("annotations"), place, "annotations"):
            note = mapping_of(note, place, "annotation")  # noqa: PLW2901
            where = f"{place}, annotation {note.get('id', '?')}"
            who = self._who(note.get("completed_by"))
            seconds = number_of(note.get("lead_time"))
            if note.get("was_cancelled"):
                yield self._unanswered(data, who, where, "cancelled")
                continue
            results = list_of(note.get("result"), where, "result")
            yield from self._results(results, data, who, where, seconds)
        for guess in list_of(task.get("predictions"), place, "predictions"):
            if not isinstance(guess, Mapping):
                continue  # exports of old versions list only their numbers
            where = f"{place}, prediction {guess.get('id', '?')}"
            who = text_of(guess.get("model_version")) or nobody(self.choices, self.notes)
            yield from self._results(
                list_of(guess.get("result"), where, "result"), data, who, where, None
            )

    def flat(self, record: Mapping[str, Any], place: str) -> Iterator[Row]:
        found = _flat_result(record)
        data = {k: v for k, v in record.items() if k not in _NOT_DATA}
        who = self._who(record.get("annotator", record.get("completed_by")))
        if found is None:
            yield self._unanswered(data, who, place, "no answer")
            return
        data.pop(found[0])
        yield from self._value(found[1], data, who, place, number_of(record.get("lead_time")))

    def _results(
        self,
        results: list[Any],
        data: Mapping[str, Any],
        who: str,
        place: str,
        seconds: float | None,
    ) -> Iterator[Row]:
        known = [r for r in results if isinstance(r, Mapping) and r.get("type") in _TYPES]
        if not known:
            yield self._unanswered(data, who, place, "no answer")
        for result in known:
            value = mapping_of(result.get("value"), place, "value")
            yield from self._value(value, data, who, place, seconds)

    def _value(
        self,
        value: Mapping[str, Any],
        data: Mapping[str, Any],
        who: str,
        place: str,
        seconds: float | None,
    ) -> Iterator[Row]:
        if "ranker" in value:
            self.rankings += 1
            opinion = Opinion(who, place, f"ranking {self.rankings}", None, seconds)
            tiers = _tiers(value["ranker"], place)
            for row in pairs_of_order(tiers, opinion, self.choices.ranking_weight):
                self.pairs += 1
                yield row
            return
        selected = text_of(value.get("selected"))
        if selected is None:
            raise OutcomeError(f"{place}: says neither what was selected nor how it was ranked.")
        left, right = _sides(data, place, self.choices)
        yield Row(who, left, right, selected, place, seconds=seconds)

    def _unanswered(self, data: Mapping[str, Any], who: str, place: str, reason: str) -> Row:
        try:
            left, right = _sides(data, place, self.choices)
        except (TableError, OptionError):
            left = right = None
        return Row(who, left, right, "skip", place, reason=reason)

    def _who(self, value: Any) -> str:
        if isinstance(value, Mapping):
            value = value.get("email") or value.get("id")
        return text_of(value) or nobody(self.choices, self.notes)


_TYPES = ("pairwise", "ranker")


def _tiers(ranker: Any, place: str) -> list[list[str]]:
    """Return the tiers of a Ranker: one list in order, or buckets from the best to the worst."""
    if isinstance(ranker, Mapping):
        # "_" holds the items that were never moved out of the list: nobody has ranked them.
        buckets = [list_of(v, place, str(k)) for k, v in ranker.items() if k != "_"]
        if len(buckets) != 1:
            return [[_item(i, place) for i in bucket] for bucket in buckets]
        return [[_item(i, place)] for i in buckets[0]]
    return [[_item(i, place)] for i in list_of(ranker, place, "ranker")]


def _item(value: Any, place: str) -> str:
    item = text_of(value)
    if item is None:
        raise TableError(f"{place}: ranks an item without an id; export the task again.")
    return item


def _sides(data: Mapping[str, Any], place: str, choices: Choices) -> tuple[str | None, str | None]:
    """Find which of a task's data stand on the left and on the right."""
    keys = choices.left_key, choices.right_key
    if keys == (None, None):
        keys = _guessed(data, place)
    for key in keys:
        if key is None or key not in data:
            raise OptionError(
                f"{place}: has no data '{key}' (there are {', '.join(map(str, data))}); name both "
                "sides with --left-key and --right-key."
            )
    return text_of(data[str(keys[0])]), text_of(data[str(keys[1])])


def _guessed(data: Mapping[str, Any], place: str) -> tuple[str, str]:
    found = []
    for key in data:
        for one, two in _SIDES:
            stem = re.sub(rf"(^|[^a-zA-Z]|(?<=[a-z])){one}(?=$|[^a-zA-Z0-9])", rf"\g<1>{two}", key)
            if stem != key and stem in data:
                found.append((key, stem))
    ids = [pair for pair in found if re.search(r"id|model|name", pair[0], re.IGNORECASE)]
    if len(ids) == 1 or len(found) == 1:
        return (ids or found)[0]
    seen = "; ".join(f"{a} and {b}" for a, b in found) or f"only {', '.join(map(str, data))}"
    raise OptionError(
        f"{place}: cannot tell which data hold the left and the right item ({seen}); name them, as "
        "in --left-key text1 --right-key text2."
    )


FORMAT = RecordFormat(
    "label-studio", "Label Studio, Pairwise and Ranker: JSON and JSON_MIN", _is_mine, _rows
)
