"""HotCRP's reviews as its script writes them: a row for each review, or for each field of one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aggcal.errors import OptionError, count, some
from aggcal.io.formats._base import Choices, Notes, RecordFormat, Row, mapping_of, text_of
from aggcal.io.formats._sample import Record, Sample
from aggcal.io.formats._synonyms import RATING, renamed
from aggcal.io.formats.ratings import FORMAT as RATINGS_FORMAT


def _is_mine(sample: Sample) -> bool:
    narrow = sample.has("field", "data")
    return sample.has("pid", "review", "email") and (narrow or bool(sample.columns & {*RATING}))


def _rows(records: Iterator[Record], choices: Choices, notes: Notes) -> Iterator[Row]:
    drafts = [0]

    def reviews() -> Iterator[tuple[str, dict[str, Any]]]:
        for record in records:
            cells = renamed(mapping_of(record.value, record.location, "row"), choices)
            if "draft" in (text_of(cells.get("status")) or "").lower() and not choices.drafts:
                drafts[0] += 1
                continue
            yield record.location, cells | {"item": cells["pid"], "annotator": cells["email"]}

    rated = (Record(*review) for review in _with_rating(reviews(), notes))
    yield from RATINGS_FORMAT.rows(rated, choices, notes)
    if drafts[0]:
        notes.append(f"{count(drafts[0], 'row')} of drafts left out; --drafts takes them")


def _with_rating(
    reviews: Iterator[tuple[str, dict[str, Any]]], notes: Notes
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Take the field that counts of reviews that have a row for each field."""
    fields: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    others: dict[str, None] = {}
    for location, cells in reviews:
        field = text_of(cells.get("field"))
        if "field" not in cells:
            yield location, cells
        elif (field or "").lower() in RATING:
            given = {name: value for name, value in cells.items() if name not in ("field", "data")}
            kept = fields.setdefault(str(field), [])
            kept.append((location, given | {"rating": cells.get("data")}))
        elif field is not None:
            others[field] = None
    if not fields:
        if others:
            raise OptionError(
                f"no field of the reviews is known as their rating (found: {some(others, 8)}); "
                "call the one that counts 'Overall merit' in the column 'field'."
            )
        return
    chosen = min(fields, key=lambda field: RATING.index(field.lower()))
    notes.append(f"the field '{chosen}' is the rating; the other fields are not used")
    yield from fields[chosen]


FORMAT = RecordFormat(_is_mine, _rows, renames=True, options=(*RATINGS_FORMAT.options, "drafts"))
