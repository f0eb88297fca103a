"""Argilla: rankings of responses and sides of pairs: nested, flattened, as the server has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple, TypeAlias

from aggcal.errors import OptionError, OutcomeError, TableError, count
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
from aggcal.io.formats._labels import is_label
from aggcal.io.formats._orders import Opinion, pairs_of_order, stated
from aggcal.io.formats._sample import Record, Sample

_FLAT = ".responses"
_SUGGESTED = ".suggestion"
_PAIRS = (
    ("left_id", "right_id"), ("model_a", "model_b"), ("model_1", "model_2"), ("model1", "model2"),
)  # fmt: skip
"""What a record calls the items of a pair; fields may hold texts under other such names."""


def _is_mine(sample: Sample) -> bool:
    for record in sample.mappings:
        if isinstance(record.get("responses"), Mapping | list) and "fields" in record:
            return True
        if isinstance(record.get("values"), Mapping) and "user_id" in record:
            return True
        if any(str(key).endswith(_FLAT) for key in record):
            return True
    return False


class _Answer(NamedTuple):
    """What somebody answered to a question (to none, where a record was only put aside)."""

    who: str | None
    question: str | None
    value: Any
    status: str | None
    pair: tuple[str, str] | None = None
    """The items that were shown, where the record says so (as those that aggcal suggests do)."""


Answers: TypeAlias = list[tuple[str, _Answer]]


def _rows(records: Iterator[Record], choices: Choices, notes: Notes) -> Iterator[Row]:
    suggested = 0
    answers: Answers = []
    for record in records:
        value, location = mapping_of(record.value, record.location, "record"), record.location
        suggested += any(
            answer and (key == "suggestions" or str(key).endswith(_SUGGESTED))
            for key, answer in value.items()
        )
        pair = _pair(value)
        answers += (
            (location, answer._replace(pair=pair)) for answer in _answers(value, location, choices)
        )
    if suggested:
        notes.append(
            f"{count(suggested, 'record')} with suggestions of a model: not taken as judgments"
        )
    chosen, answers = _of_sides(answers)
    for location, (who, question, side, status, pair) in chosen:
        left, right = pair or (None, None)
        draft = status not in (None, "submitted") and not choices.drafts
        yield Row(
            who or nobody(choices, notes),
            left,
            right,
            "skip" if draft else str(side),
            location,
            criterion=question,
            reason=status if draft else None,
        )
    rankings = pairs = 0
    for location, (who, question, ranking, status, pair) in _of_rankings(answers, notes):
        named = who or nobody(choices, notes)
        tiers = [] if ranking is None else _tiers(ranking, location)
        side = _side(tiers, pair)
        if status not in (None, "submitted") and not choices.drafts:
            ends = (tiers[0][0], tiers[-1][-1]) if tiers else (None, None)
            left, right = ends if side is None or pair is None else pair
            yield Row(named, left, right, "skip", location, criterion=question, reason=status)
            continue
        if side is not None and pair is not None:
            yield Row(named, *pair, side, location, criterion=question)
            continue
        rankings += 1
        opinion = Opinion(named, location, f"ranking {rankings}", question)
        for row in pairs_of_order(tiers, opinion, choices.ranking_weight):
            pairs += row.outcome != "skip"
            yield row
    if pairs > rankings:
        notes.append(stated(rankings, pairs, "ranking", choices.ranking_weight))


def _pair(record: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the ids of the items on the left and on the right, where a record names them."""
    metadata = record.get("metadata")
    named = metadata if isinstance(metadata, Mapping) else record
    for one, two in _PAIRS:
        left, right = text_of(named.get(one)), text_of(named.get(two))
        if left is not None and right is not None:
            return left, right
    return None


def _of_sides(answers: Answers) -> tuple[Answers, Answers]:
    """Part the answers to questions that ask for a side of a pair from the others."""
    said: dict[str | None, set[bool]] = {}
    for _, answer in answers:
        if answer.value is not None:
            side = answer.pair is not None and isinstance(answer.value, str)
            said.setdefault(answer.question, set()).add(side and is_label(answer.value))
    asked = {question for question, sides in said.items() if sides == {True}}
    chosen = [each for each in answers if each[1].question in asked and each[1].value is not None]
    return chosen, [each for each in answers if each[1].question not in asked]


def _side(tiers: list[list[str]], pair: tuple[str, str] | None) -> str | None:
    """Return which side of a pair was preferred, where its two sides were ranked."""
    if pair is None or sorted(name for tier in tiers for name in tier) != ["left", "right"]:
        return None
    return tiers[0][0] if len(tiers) > 1 else "tie"


def _of_rankings(answers: Answers, notes: Notes) -> Iterator[tuple[str, _Answer]]:
    """Keep the answers to questions that ask for a ranking, and say what is left aside.

    An export does not tell what kind a question is of. A ranking names all options; of labels
    most people choose few, and lists of spans have no values.
    """
    lists: dict[str | None, list[frozenset[str]]] = {}
    for _, answer in answers:
        if answer.question is not None and _is_list_of_names(answer.value):
            lists.setdefault(answer.question, []).append(frozenset(map(_name, answer.value)))
    asked = {question for question, found in lists.items() if _is_ranking(found)}
    others: Counter[str] = Counter()
    for location, answer in answers:
        if answer.question is None or answer.question in asked:
            value = answer.value if _is_list_of_names(answer.value) else None
            yield location, answer._replace(value=value)
        elif answer.value is not None:
            others[answer.question] += 1
    if others and not asked:
        _refuse_sides(answers)
    if others:
        listed = ", ".join(f"{question}: {number:,}" for question, number in others.items())
        notes.append(f"answers to questions that ask for no ranking are not taken ({listed})")


def _refuse_sides(answers: Answers) -> None:
    """Refuse answers that name a side of pairs whose items no record names."""
    for _, answer in answers:
        if isinstance(answer.value, str) and is_label(answer.value) and answer.pair is None:
            raise OptionError(
                f"the answers to '{answer.question}' name a side ('{answer.value}'), and the "
                "records do not say which items these are; give each record the metadata left_id "
                "and right_id."
            )


def _is_list_of_names(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and bool(value)
        and all(not isinstance(entry, Mapping) or "value" in entry for entry in value)
    )


def _name(entry: Any) -> str:
    return str(text_of(entry.get("value") if isinstance(entry, Mapping) else entry))


def _is_ranking(answers: Sequence[frozenset[str]]) -> bool:
    options = frozenset().union(*answers)
    complete = sum(answer == options for answer in answers)
    return len(options) > 1 and (min(map(len, answers)) > 1 or 2 * complete > len(answers))


def _answers(record: Mapping[str, Any], location: str, choices: Choices) -> Iterator[_Answer]:
    responses = record.get("responses")
    if isinstance(record.get("values"), Mapping):
        yield from _server(record, location)
    elif isinstance(responses, list):
        for response in responses:
            yield from _server(mapping_of(response, location, "response"), location)
    elif isinstance(responses, Mapping):
        yield from _nested(record, responses, location, choices)
    else:
        yield from _flat(record, location)


def _server(response: Mapping[str, Any], location: str) -> Iterator[_Answer]:
    who, status = text_of(response.get("user_id")), text_of(response.get("status"))
    values = mapping_of(response.get("values") or {}, location, "values")
    if not values:
        yield _Answer(who, None, None, status or "no answer")
    for question, answer in values.items():
        value = answer.get("value") if isinstance(answer, Mapping) else answer
        yield _Answer(who, question, value, status)


def _nested(
    record: Mapping[str, Any], responses: Mapping[str, Any], location: str, choices: Choices
) -> Iterator[_Answer]:
    status = text_of(record.get("status")) or "completed"
    if status != "completed" and any(responses.values()) and not choices.drafts:
        raise OutcomeError(
            f"{location}: is '{status}', and this form of export does not say which responses are "
            "drafts; export with to_list(flatten=True), which does, or take them all with --drafts."
        )
    for question, answers in responses.items():
        for answer in list_of(answers, location, question):
            found = mapping_of(answer, location, question)
            yield _Answer(
                text_of(found.get("user_id")),
                question,
                found.get("value"),
                text_of(found.get("status")),
            )


def _flat(record: Mapping[str, Any], location: str) -> Iterator[_Answer]:
    for key, answers in record.items():
        if not str(key).endswith(_FLAT):
            continue
        users = list_of(record.get(f"{key}.users"), location, f"{key}.users")
        states = list_of(record.get(f"{key}.status"), location, f"{key}.status")
        for value, who, status in zip_longest(list_of(answers, location, key), users, states):
            yield _Answer(text_of(who), str(key).removesuffix(_FLAT), value, text_of(status))


def _tiers(value: Sequence[Any], location: str) -> list[list[str]]:
    """Return the tiers of a ranking: ids from the best on, or ids with ranks, equal ranks tied."""
    if not all(isinstance(entry, Mapping) for entry in value):
        if any(isinstance(entry, Mapping | list) or text_of(entry) is None for entry in value):
            raise TableError(f"{location}: has a ranking with an entry that is no name.")
        return [[str(text_of(entry))] for entry in value]
    ranked: dict[float, list[str]] = {}
    for k, entry in enumerate(value):
        item, rank = text_of(entry.get("value")), number_of(entry.get("rank", k + 1))
        if item is None or rank is None:
            raise TableError(f"{location}: has a ranking with an entry without a value or a rank.")
        ranked.setdefault(rank, []).append(item)
    return [ranked[rank] for rank in sorted(ranked)]


FORMAT = RecordFormat(
    _is_mine,
    _rows,
    options=("drafts",),
    contexts=dict.fromkeys(("task", "record"), ("id", "external_id", "record_id", "_server_id")),
    within=("fields", "metadata"),
)
