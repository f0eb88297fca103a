"""Argilla: rankings of responses and sides of pairs: nested, flattened, as the server has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any, NamedTuple

from aggcal.errors import OptionError, OutcomeError, TableError, count, option
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
from aggcal.io.words import is_label

_FLAT, _SUGGESTED = ".responses", ".suggestion"
_PAIRS = (
    ("left_id", "right_id"), ("model_a", "model_b"), ("model_1", "model_2"), ("model1", "model2"),
)  # fmt: skip
"""What a record calls the items of a pair; fields may hold texts under other such names."""


class _Answer(NamedTuple):
    """What somebody answered to a question (to none, where a record was only put aside)."""

    location: str
    who: str | None
    question: str | None
    value: Any
    status: str | None
    pair: tuple[str, str] | None = None
    """The items that were shown, where the record says so (as those that aggcal suggests do)."""

    @property
    def is_side(self) -> bool:
        """Whether it names a side of a pair."""
        return isinstance(self.value, str) and is_label(self.value)

    @property
    def names(self) -> list[str]:
        """What it lists by name; nothing if it is no list, or one of spans, which have no value."""
        if not isinstance(self.value, list | tuple):
            return []
        if any(isinstance(entry, Mapping) and "value" not in entry for entry in self.value):
            return []
        values = (e.get("value") if isinstance(e, Mapping) else e for e in self.value)
        return [str(cell_text(value)) for value in values]


def _is_mine(table: Table) -> bool:
    return any(
        (isinstance(record.get("responses"), Mapping | list) and "fields" in record)
        or (isinstance(record.get("values"), Mapping) and "user_id" in record)
        or any(name.endswith(_FLAT) for name in record)
        for record in table.head
    )


def _rows(records: Records, choices: Choices, notes: Notes) -> Iterator[Row]:
    suggested = 0
    answers: list[_Answer] = []
    for location, value in records:
        record = mapping_of(value, location, "record")
        suggested += any(
            answer and (key == "suggestions" or str(key).endswith(_SUGGESTED))
            for key, answer in record.items()
        )
        pair = _pair(record)
        answers += (each._replace(pair=pair) for each in _answers(record, location, choices))
    if suggested:
        notes.append(
            f"{count(suggested, 'record')} with suggestions of a model: not taken as judgments"
        )
    sided, ranked = _questions(answers, notes)
    orders = Orders(choices.ranking_weight)
    for each in answers:
        draft = each.status not in (None, "submitted") and not choices.drafts
        who, reason = each.who or nobody(choices, notes), each.status if draft else None
        row = Row(who, None, None, "skip", each.location, criterion=each.question, reason=reason)
        if each.question in sided and each.value is not None:
            left, right = each.pair or (None, None)
            outcome = "skip" if draft else each.value
            yield row._replace(left=left, right=right, outcome=outcome)
        elif each.question is None or each.question in ranked:
            tiers = _tiers(each)
            ends = (tiers[0][0], tiers[-1][-1]) if tiers else (None, None)
            of_sides = each.pair and sorted(chain(*tiers)) == ["left", "right"]
            if of_sides or draft:
                side = tiers[0][0] if len(tiers) > 1 else "tie"
                left, right = each.pair if of_sides and each.pair else ends
                yield row._replace(left=left, right=right, outcome="skip" if draft else side)
            else:
                ranking = f"ranking {orders.number + 1}"
                yield from orders.apart(tiers, row._replace(ranking=ranking))
    if orders.pairs > orders.number:
        notes += orders.notes


def _pair(record: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the ids of the items on the left and on the right, where a record names them."""
    metadata = record.get("metadata")
    named = metadata if isinstance(metadata, Mapping) else record
    for one, two in _PAIRS:
        left, right = cell_text(named.get(one)), cell_text(named.get(two))
        if left is not None and right is not None:
            return left, right
    return None


def _questions(answers: Sequence[_Answer], notes: Notes) -> tuple[set[str | None], set[str]]:
    """Return the questions that ask for a side of a pair, and those that ask for a ranking.

    An export does not tell what kind a question is of. A ranking names all options; of labels
    most people choose few.
    """
    of: dict[str | None, list[_Answer]] = {}
    for each in answers:
        if each.value is not None:
            of.setdefault(each.question, []).append(each)
    sided = {q for q, given in of.items() if all(a.is_side and a.pair for a in given)}
    lists = {q: [frozenset(a.names) for a in given if a.names] for q, given in of.items() if q}
    ranked = {q for q, given in lists.items() if given and _is_ranking(given)}
    others = {q: len(given) for q, given in of.items() if q and q not in sided | ranked}
    if others and not ranked and not sided:
        bare = next((a for a in answers if a.is_side and a.pair is None), None)
        if bare is not None:
            raise OptionError(
                f"the answers to '{bare.question}' name a side ('{bare.value}'), and the "
                "records do not say which items these are; give each record the metadata left_id "
                "and right_id."
            )
    if others:
        listed = ", ".join(f"{question}: {number:,}" for question, number in others.items())
        notes.append(f"answers to questions that ask for no ranking are not taken ({listed})")
    return sided, ranked


def _is_ranking(answers: Sequence[frozenset[str]]) -> bool:
    options = frozenset[str]().union(*answers)
    complete = Counter(answers)[options]
    return len(options) > 1 and (min(map(len, answers)) > 1 or 2 * complete > len(answers))


def _answers(record: Mapping[str, Any], location: str, choices: Choices) -> Iterator[_Answer]:
    responses = record.get("responses")
    if isinstance(record.get("values"), Mapping):
        yield from _of_server(record, location)
    elif isinstance(responses, list):
        for response in responses:
            yield from _of_server(mapping_of(response, location, "response"), location)
    elif isinstance(responses, Mapping):
        status = cell_text(record.get("status")) or "completed"
        if status != "completed" and any(responses.values()) and not choices.drafts:
            raise OutcomeError(
                f"{location}: is '{status}', and this form of export does not say which responses "
                "are drafts; export with to_list(flatten=True), which does, or take them all with "
                f"{option('drafts')}."
            )
        for question, given in responses.items():
            for one in list_of(given, location, question):
                found = mapping_of(one, location, question)
                who, state = (cell_text(found.get(name)) for name in ("user_id", "status"))
                yield _Answer(location, who, question, found.get("value"), state)
    else:
        for key in (key for key in record if str(key).endswith(_FLAT)):
            names = (key, f"{key}.users", f"{key}.status")
            lists = (list_of(record.get(name), location, name) for name in names)
            for value, who, state in zip_longest(*lists):
                question = str(key).removesuffix(_FLAT)
                yield _Answer(location, cell_text(who), question, value, cell_text(state))


def _of_server(response: Mapping[str, Any], location: str) -> Iterator[_Answer]:
    who, status = cell_text(response.get("user_id")), cell_text(response.get("status"))
    values = mapping_of(response.get("values") or {}, location, "values")
    if not values:
        yield _Answer(location, who, None, None, status or "no answer")
    for question, answer in values.items():
        value = answer.get("value") if isinstance(answer, Mapping) else answer
        yield _Answer(location, who, question, value, status)


def _tiers(answer: _Answer) -> list[list[str]]:
    """Return the tiers of a ranking: ids from the best on, or ids with ranks, equal ranks tied."""
    ranked: dict[float, list[str]] = {}
    for k, entry in enumerate(answer.value if answer.names else ()):
        rank: float | None = k
        item = None if isinstance(entry, list) else cell_text(entry)
        if isinstance(entry, Mapping):
            item, rank = cell_text(entry.get("value")), number_of(entry.get("rank", k + 1))
        if item is None or rank is None:
            raise TableError(
                f"{answer.location}: has a ranking with an entry without a value or a rank."
            )
        ranked.setdefault(rank, []).append(item)
    return [ranked[rank] for rank in sorted(ranked)]


ARGILLA = {
    "argilla": Format(
        _is_mine,
        rows=_rows,
        options=("drafts",),
        contexts=dict.fromkeys(
            ("task", "record"), ("id", "external_id", "record_id", "_server_id")
        ),
        within=("fields", "metadata"),
        summary="Argilla v2 rankings and pairs: nested, flattened, server form",
    )
}
