"""Label Studio: Pairwise and Ranker, as JSON, JSON_MIN and CSV."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from aggcal.errors import OptionError, OutcomeError, TableError, option
from aggcal.io.choices import Choices
from aggcal.io.formats.base import (
    Format,
    Notes,
    Records,
    Row,
    cell_text,
    list_of,
    mapping_of,
    nobody,
    number_of,
)
from aggcal.io.formats.orders import Orders
from aggcal.io.tables import Table

_SIDES = (
    ("1", "2"), ("a", "b"), ("A", "B"), ("left", "right"), ("Left", "Right"), ("first", "second"),
)  # fmt: skip
_NOT_DATA = {
    "id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "completed_by",
}  # fmt: skip
_ANSWER = re.compile(r"\s*(\[\s*)?\{\s*\"(selected|ranker)\"")
"""How an answer begins that stands in a cell as JSON."""


def _is_mine(table: Table) -> bool:
    return any(
        (isinstance(record.get("data"), Mapping) and "annotations" in record)
        or ("annotation_id" in record and _flat_answers(record))
        for record in table.head
    )


def _flat_answers(record: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the answers in a JSON_MIN record or a row of CSV, each with its control's name."""
    found = []
    for key, cell in record.items():
        value = cell
        if isinstance(cell, str) and _ANSWER.match(cell):
            try:
                value = json.loads(cell)
            except (ValueError, RecursionError):
                continue
        every = value if isinstance(value, list) else [value]
        found += [
            (key, v) for v in every if isinstance(v, Mapping) and {"selected", "ranker"} & {*v}
        ]
    return found


def _rows(records: Records, choices: Choices, notes: Notes) -> Iterator[Row]:
    reader = _Reader(choices, notes, Orders(choices.ranking_weight))
    for location, record in records:
        task = mapping_of(record, location, "task")
        flat = not {"annotations", "predictions"} & task.keys()
        yield from reader.flat(task, location) if flat else reader.task(task, location)
    if reader.other is not None and not reader.answers:
        kind, control = reader.other
        raise OptionError(
            f"the answers are of kind '{kind}' (control '{control}'), and this export is read for "
            "Pairwise and Ranker alone; export the project as CSV, which is read as a table."
        )
    notes += reader.orders.notes


@dataclass
class _Reader:
    """Takes tasks apart, and knows by then what kinds of answers there were."""

    choices: Choices
    notes: Notes
    orders: Orders
    answers: int = 0
    other: tuple[str, str] | None = None
    """The kind and the control of the first answer that is no comparison."""
    keys: dict[tuple[str, ...], tuple[str, str]] = field(default_factory=dict)
    """Which of a task's data are on the left and on the right, by the names of all."""

    def task(self, task: Mapping[str, Any], location: str) -> Iterator[Row]:
        data = mapping_of(task.get("data"), location, "data")
        annotations = list_of(task.get("annotations"), location, "annotations")
        said = [("annotation", mapping_of(one, location, "annotation")) for one in annotations]
        for kind in ("draft", "prediction"):
            # Predictions of old versions are only their numbers.
            every = list_of(task.get(f"{kind}s"), location, f"{kind}s")
            said += [(kind, one) for one in every if isinstance(one, Mapping)]
        for kind, one in said:
            if kind == "draft" and not one.get("result"):
                continue
            where = f"{location}, {kind} {one.get('id', '?')}"
            like = Row(self._who(kind, one), None, None, "", where)
            if one.get("was_cancelled") or (kind == "draft" and not self.choices.drafts):
                yield self._unanswered(data, like, "draft" if kind == "draft" else "cancelled")
                continue
            if kind != "prediction":
                like = like._replace(seconds=number_of(one.get("lead_time")))
            yield from self._results(list_of(one.get("result"), where, "result"), data, like)

    def flat(self, record: Mapping[str, Any], location: str) -> Iterator[Row]:
        found = _flat_answers(record)
        controls = {key for key, _ in found}
        data = {k: v for k, v in record.items() if k not in _NOT_DATA | controls}
        who = record.get("annotator", record.get("completed_by"))
        like = Row(self._who("", {"completed_by": who}), None, None, "", location)
        if not found:
            _refuse_bare(record, location)
            yield self._unanswered(data, like, "no answer")
        like = like._replace(seconds=number_of(record.get("lead_time")))
        for key, value in found:
            yield from self._answer(value, data, like._replace(criterion=key))

    def _results(self, results: Any, data: Mapping[str, Any], like: Row) -> Iterator[Row]:
        every = [each for each in results if isinstance(each, Mapping)]
        known = [each for each in every if each.get("type") in ("pairwise", "ranker")]
        self.answers += len(known)
        for each in every:
            if each.get("type") in ("choices", "rating") and self.other is None:
                self.other = each["type"], cell_text(each.get("from_name")) or "?"
        if not known:
            yield self._unanswered(data, like, "no answer")
        for each in known:
            # One annotation may answer several questions: the control tells them apart.
            value = mapping_of(each.get("value"), like.location, "value")
            control = cell_text(each.get("from_name"))
            yield from self._answer(value, data, like._replace(criterion=control))

    def _answer(
        self, value: Mapping[str, Any], data: Mapping[str, Any], like: Row
    ) -> Iterator[Row]:
        if "ranker" in value:
            like = like._replace(ranking=f"ranking {self.orders.number + 1}")
            yield from self.orders.apart(_tiers(value["ranker"], like.location), like)
            return
        selected = cell_text(value.get("selected"))
        if selected is None:
            raise OutcomeError(
                f"{like.location}: says neither what was selected nor how it was ranked."
            )
        left, right = self._sides(data, like.location)
        yield like._replace(left=left, right=right, outcome=selected)

    def _unanswered(self, data: Mapping[str, Any], like: Row, reason: str) -> Row:
        try:
            left, right = self._sides(data, like.location)
        except (TableError, OptionError):
            left = right = None
        return like._replace(left=left, right=right, outcome="skip", reason=reason, seconds=None)

    def _who(self, kind: str, said: Mapping[str, Any]) -> str:
        by = said.get("completed_by")
        by = said.get("model_version") if kind == "prediction" else by
        by = said.get("user", by) if kind == "draft" else by
        if isinstance(by, Mapping):
            by = by.get("email") or by.get("id")
        return cell_text(by) or nobody(self.choices, self.notes)

    def _sides(self, data: Mapping[str, Any], location: str) -> tuple[str | None, str | None]:
        """Return the items of a task on the left and on the right."""
        left, right = self.choices.left_key, self.choices.right_key
        if left is None and right is None:
            names = tuple(data)
            if names not in self.keys:
                self.keys[names] = _sided_keys(data, location)
            left, right = self.keys[names]
        for key in (left, right):
            if key not in data:
                raise OptionError(
                    f"{location}: has no data '{key}' (there are {', '.join(map(str, data))}); "
                    f"name both sides with {option('column', 'left=KEY', 'right=KEY')}."
                )
        return _id(data[str(left)]), _id(data[str(right)])


def _sided_keys(data: Mapping[str, Any], location: str) -> tuple[str, str]:
    """Return the two keys of a task's data whose names differ in a word for a side."""
    pairs = []
    for key in data:
        for one, two in _SIDES:
            side = rf"(^|[^a-zA-Z]|(?<=[a-z])){one}(?=$|[^a-z0-9])"
            other = re.sub(side, rf"\g<1>{two}", key)
            if other != key and other in data:
                pairs.append((key, other))
    ids = [pair for pair in pairs if re.search(r"id|model|name", pair[0], re.IGNORECASE)]
    if len(ids) == 1 or len(pairs) == 1:
        return (ids or pairs)[0]
    seen = "; ".join(f"{a} and {b}" for a, b in pairs) or f"only {', '.join(map(str, data))}"
    raise OptionError(
        f"{location}: cannot tell which data hold the left and the right item ({seen}); name them, "
        f"as in {option('column', 'left=text1', 'right=text2')}."
    )


def _id(value: Any) -> str | None:
    """Return the id of an object that has one, else the value itself."""
    named = value.get("id") if isinstance(value, Mapping) else None
    return cell_text(value if named is None else named)


def _tiers(ranker: Any, location: str) -> list[list[str]]:
    """Return the tiers of a Ranker: one list in order, or buckets from the best to the worst."""
    buckets = [ranker]
    if isinstance(ranker, Mapping):
        # "_" holds the items that were never moved out of the list: nobody has ranked them.
        buckets = [bucket for name, bucket in ranker.items() if name != "_"]
    tiers = [[_id(item) for item in list_of(each, location, "ranker")] for each in buckets]
    if len(tiers) == 1:
        tiers = [[item] for item in tiers[0]]
    if any(item is None for tier in tiers for item in tier):
        raise TableError(f"{location}: ranks an item without an id; export the task again.")
    return [[str(item) for item in tier] for tier in tiers]


def _refuse_bare(record: Mapping[str, Any], location: str) -> None:
    """Refuse a record that has an answer in other words than Label Studio's: it is not blank."""
    for key, value in record.items():
        if isinstance(value, str) and value.strip().lower() in ("left", "right"):
            raise OutcomeError(
                f"{location}: '{key}' is '{value.strip()}', and other rows have Label Studio's "
                'JSON there; write {"selected": "left"} or {"selected": "right"}, or export it '
                "again."
            )


LABEL_STUDIO = {
    "label-studio": Format(
        _is_mine,
        rows=_rows,
        options=("drafts",),
        contexts={"task": ("id",)},
        within=("data", "meta"),
        summary="Label Studio, Pairwise and Ranker: JSON, JSON_MIN and CSV",
    )
}
