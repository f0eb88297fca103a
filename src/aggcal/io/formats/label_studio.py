"""Label Studio: Pairwise and Ranker, as JSON, JSON_MIN and CSV."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from aggcal.errors import OptionError, OutcomeError, TableError
from aggcal.io.formats._base import (
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
from aggcal.io.formats._orders import Opinion, pairs_of_order, stated
from aggcal.io.formats._sample import Record, Sample

_SIDES = (
    ("1", "2"), ("a", "b"), ("A", "B"), ("left", "right"), ("Left", "Right"), ("first", "second"),
)  # fmt: skip
_TYPES = ("pairwise", "ranker")
_NOT_DATA = {
    "id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "completed_by",
}  # fmt: skip


def _is_mine(sample: Sample) -> bool:
    for record in sample.mappings:
        if isinstance(record.get("data"), Mapping) and "annotations" in record:
            return True
        if "annotation_id" in record and _flat_results(record):
            return True
    return False


def _flat_results(record: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Find the judgments among the keys of a JSON_MIN record, each under its control's name."""
    opened = {key: _opened(value) for key, value in record.items()}
    return [
        (key, entry)
        for key, value in opened.items()
        for entry in (value if isinstance(value, list) else [value])
        if isinstance(entry, Mapping) and ("selected" in entry or "ranker" in entry)
    ]


def _opened(value: Any) -> Any:
    """Read the JSON that stands in a cell of a CSV export."""
    if not isinstance(value, str) or not re.match(r"\s*(\[\s*)?\{\s*\"(selected|ranker)\"", value):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _rows(records: Iterator[Record], choices: Choices, notes: Notes) -> Iterator[Row]:
    reader = _Reader(choices, notes)
    for record in records:
        task = mapping_of(record.value, record.location, "task")
        if "annotations" in task or "predictions" in task:
            yield from reader.task(task, record.location)
        else:
            yield from reader.flat(task, record.location)
    reader.refuse_others()
    if reader.rankings:
        notes.append(stated(reader.rankings, reader.pairs, "ranking", choices.ranking_weight))


class _Reader:
    """Takes tasks apart and remembers how many rankings there were."""

    def __init__(self, choices: Choices, notes: Notes) -> None:
        self.choices, self.notes = choices, notes
        self.rankings = self.pairs = 0
        self.answers = 0
        self.others: dict[str, str] = {}
        """Kinds of answers that are no comparisons, and the control of the first of each."""
        self.keys: dict[tuple[str, ...], tuple[str, str]] = {}

    def task(self, task: Mapping[str, Any], location: str) -> Iterator[Row]:
        data = mapping_of(task.get("data"), location, "data")
        for note in list_of(task.get("annotations"), location, "annotations"):
            note = mapping_of(note, location, "annotation")  # noqa: PLW2901
            where = f"{location}, annotation {note.get('id', '?')}"
            who = self._who(note.get("completed_by"))
            seconds = number_of(note.get("lead_time"))
            if note.get("was_cancelled"):
                yield self._unanswered(data, who, where, "cancelled")
                continue
            results = list_of(note.get("result"), where, "result")
            yield from self._results(results, data, who, where, seconds)
        yield from self._drafts(task, data, location)
        for guess in list_of(task.get("predictions"), location, "predictions"):
            if not isinstance(guess, Mapping):
                continue  # exports of old versions list only their numbers
            where = f"{location}, prediction {guess.get('id', '?')}"
            who = text_of(guess.get("model_version")) or nobody(self.choices, self.notes)
            yield from self._results(
                list_of(guess.get("result"), where, "result"), data, who, where, None
            )

    def refuse_others(self) -> None:
        """Refuse an export without a comparison whose answers were given in another way."""
        if self.answers or not self.others:
            return
        kind, control = next(iter(self.others.items()))
        raise OptionError(
            f"the answers are of kind '{kind}' (control '{control}'), and this export is read for "
            "Pairwise and Ranker alone; export the project as CSV, which is read as a table."
        )

    def flat(self, record: Mapping[str, Any], location: str) -> Iterator[Row]:
        found = _flat_results(record)
        controls = {key for key, _ in found}
        data = {k: v for k, v in record.items() if k not in _NOT_DATA and k not in controls}
        who = self._who(record.get("annotator", record.get("completed_by")))
        if not found:
            _refuse_bare(record, location)
            yield self._unanswered(data, who, location, "no answer")
        for key, value in found:
            seconds = number_of(record.get("lead_time"))
            yield from self._value(value, data, Opinion(who, location, "", key, seconds))

    def _drafts(
        self, task: Mapping[str, Any], data: Mapping[str, Any], location: str
    ) -> Iterator[Row]:
        for draft in list_of(task.get("drafts"), location, "drafts"):
            if not isinstance(draft, Mapping) or not draft.get("result"):
                continue
            where = f"{location}, draft {draft.get('id', '?')}"
            who = self._who(draft.get("user", draft.get("completed_by")))
            if not self.choices.drafts:
                yield self._unanswered(data, who, where, "draft")
                continue
            results = list_of(draft["result"], where, "result")
            yield from self._results(results, data, who, where, number_of(draft.get("lead_time")))

    def _results(
        self,
        results: list[Any],
        data: Mapping[str, Any],
        who: str,
        location: str,
        seconds: float | None,
    ) -> Iterator[Row]:
        known = [r for r in results if isinstance(r, Mapping) and r.get("type") in _TYPES]
        self.answers += len(known)
        for result in results:
            if isinstance(result, Mapping) and result.get("type") in ("choices", "rating"):
                self.others.setdefault(result["type"], text_of(result.get("from_name")) or "?")
        if not known:
            yield self._unanswered(data, who, location, "no answer")
        for result in known:
            value = mapping_of(result.get("value"), location, "value")
            # One annotation may answer several questions: the control tells them apart.
            control = text_of(result.get("from_name"))
            yield from self._value(value, data, Opinion(who, location, "", control, seconds))

    def _value(
        self, value: Mapping[str, Any], data: Mapping[str, Any], opinion: Opinion
    ) -> Iterator[Row]:
        location = opinion.location
        if "ranker" in value:
            self.rankings += 1
            opinion = replace(opinion, ranking=f"ranking {self.rankings}")
            tiers = _tiers(value["ranker"], location)
            for row in pairs_of_order(tiers, opinion, self.choices.ranking_weight):
                self.pairs += row.outcome != "skip"
                yield row
            return
        selected = text_of(value.get("selected"))
        if selected is None:
            raise OutcomeError(f"{location}: says neither what was selected nor how it was ranked.")
        left, right = self._sides(data, location)
        yield Row(
            opinion.annotator,
            left,
            right,
            selected,
            location,
            criterion=opinion.criterion,
            seconds=opinion.seconds,
        )

    def _unanswered(self, data: Mapping[str, Any], who: str, location: str, reason: str) -> Row:
        try:
            left, right = self._sides(data, location)
        except (TableError, OptionError):
            left = right = None
        return Row(who, left, right, "skip", location, reason=reason)

    def _who(self, value: Any) -> str:
        if isinstance(value, Mapping):
            value = value.get("email") or value.get("id")
        return text_of(value) or nobody(self.choices, self.notes)

    def _sides(self, data: Mapping[str, Any], location: str) -> tuple[str | None, str | None]:
        """Find which of a task's data stand on the left and on the right."""
        left, right = self.choices.left_key, self.choices.right_key
        if left is None and right is None:
            names = tuple(data)
            if names not in self.keys:
                self.keys[names] = _guessed(data, location)
            left, right = self.keys[names]
        for key in (left, right):
            if key is None or key not in data:
                raise OptionError(
                    f"{location}: has no data '{key}' (there are {', '.join(map(str, data))}); "
                    "name both sides with --left-key and --right-key."
                )
        return _id(data[str(left)]), _id(data[str(right)])


def _id(value: Any) -> str | None:
    """Return the id of an object that has one, else the value itself."""
    named = value.get("id") if isinstance(value, Mapping) else None
    return text_of(value if named is None else named)


def _refuse_bare(record: Mapping[str, Any], location: str) -> None:
    """Refuse a record that has an answer in other words than Label Studio's: it is not blank."""
    for key, value in record.items():
        if isinstance(value, str) and value.strip().lower() in ("left", "right"):
            raise OutcomeError(
                f"{location}: '{key}' is '{value.strip()}', and other rows have Label Studio's "
                'JSON there; write {"selected": "left"} or {"selected": "right"}, or export it '
                "again."
            )


def _tiers(ranker: Any, location: str) -> list[list[str]]:
    """Return the tiers of a Ranker: one list in order, or buckets from the best to the worst."""
    if isinstance(ranker, Mapping):
        # "_" holds the items that were never moved out of the list: nobody has ranked them.
        buckets = [list_of(v, location, str(k)) for k, v in ranker.items() if k != "_"]
        if len(buckets) != 1:
            return [[_item(i, location) for i in bucket] for bucket in buckets]
        return [[_item(i, location)] for i in buckets[0]]
    return [[_item(i, location)] for i in list_of(ranker, location, "ranker")]


def _item(value: Any, location: str) -> str:
    item = _id(value)
    if item is None:
        raise TableError(f"{location}: ranks an item without an id; export the task again.")
    return item


def _guessed(data: Mapping[str, Any], location: str) -> tuple[str, str]:
    found = []
    for key in data:
        for one, two in _SIDES:
            stem = re.sub(rf"(^|[^a-zA-Z]|(?<=[a-z])){one}(?=$|[^a-z0-9])", rf"\g<1>{two}", key)
            if stem != key and stem in data:
                found.append((key, stem))
    ids = [pair for pair in found if re.search(r"id|model|name", pair[0], re.IGNORECASE)]
    if len(ids) == 1 or len(found) == 1:
        return (ids or found)[0]
    seen = "; ".join(f"{a} and {b}" for a, b in found) or f"only {', '.join(map(str, data))}"
    raise OptionError(
        f"{location}: cannot tell which data hold the left and the right item ({seen}); name them, "
        "as in --left-key text1 --right-key text2."
    )


FORMAT = RecordFormat(
    _is_mine,
    _rows,
    options=("left_key", "right_key", "drafts"),
    contexts={"task": ("id",)},
    within=("data", "meta"),
)
