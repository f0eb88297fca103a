"""choix: pairs, top-1 choices and rankings as lists of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aggcal.errors import TableError
from aggcal.io.formats._base import Choices, Notes, RecordFormat, Row, nobody, text_of
from aggcal.io.formats._orders import Opinion, pairs_of_order, stated
from aggcal.io.formats._sample import Record, Sample

_PAIR = 2  # a winner and a loser


def _is_mine(sample: Sample) -> bool:
    return bool(sample.records) and all(_is_entry(record) for record in sample.records)


def _is_entry(record: Any) -> bool:
    if not isinstance(record, list) or len(record) < _PAIR:
        return False
    numbers = record if not isinstance(record[-1], list) else [record[0], *record[-1]]
    return all(isinstance(item, int) and not isinstance(item, bool) for item in numbers)


def _rows(records: Iterator[Record], choices: Choices, notes: Notes) -> Iterator[Row]:
    rankings = pairs = 0
    for number, record in enumerate(records, 1):
        entry = record.value
        if not isinstance(entry, list | tuple) or len(entry) < _PAIR:
            raise TableError(
                f"{record.location}: is not (winner, loser), (winner, losers) or a ranking."
            )
        if len(entry) == _PAIR and not isinstance(entry[1], list | tuple):
            winner, loser = map(text_of, entry)
            yield Row(nobody(choices, notes), winner, loser, "left", record.location)
            continue
        tiers, tied = [[_item(item, record.location)] for item in entry if not _is_list(item)], True
        if _is_list(entry[1]):
            tiers, tied = [tiers[0], [_item(item, record.location) for item in entry[1]]], False
        rankings += 1
        # Each stands for itself: whoever gave it, a bootstrap draws it whole.
        who = choices.made_up(f"ranking {number}")
        opinion = Opinion(who, record.location, f"ranking {number}")
        for row in pairs_of_order(tiers, opinion, choices.ranking_weight, tied=tied):
            pairs += row.outcome != "skip"
            yield row
    if rankings:
        notes.append(stated(rankings, pairs, "ranking", choices.ranking_weight))
        notes.append("the file names no annotators: each ranking is taken as one annotator's")


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _item(value: Any, location: str) -> str:
    item = None if _is_list(value) else text_of(value)
    if item is None:
        raise TableError(f"{location}: has an entry that is no item.")
    return item


def _sided(sample: Sample) -> bool:  # noqa: ARG001
    return False  # the winner stands first, wherever it was shown


FORMAT = RecordFormat(_is_mine, _rows, sided=_sided)
