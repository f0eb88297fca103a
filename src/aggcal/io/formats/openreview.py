"""OpenReview's notes, of either version of its interface: reviews with ratings, each of a paper."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from aggcal.errors import OptionError, count
from aggcal.io.formats._base import Choices, Notes, RecordFormat, Row, mapping_of, text_of
from aggcal.io.formats._sample import Record, Sample
from aggcal.io.formats._synonyms import RATING, first_of
from aggcal.io.formats.ratings import FORMAT as RATINGS_FORMAT

_NO_REVIEW = re.compile(
    r"/-/.*(?:meta_?review|decision|rebuttal|comment|withdraw|desk_reject)", re.IGNORECASE
)
"""Invitations to write something else, which may hold a recommendation, too."""
_OF_PAPER = re.compile(r"/(?:submission|paper)\d+/", re.IGNORECASE)
"""A name that somebody has for one paper only."""


def notes_of(record: Any) -> list[Mapping[str, Any]]:
    """Return the notes in a record: itself, those of an answer, or the replies to a paper.

    Examples
    --------
    >>> len(notes_of({"notes": [{"forum": "x", "content": {}}] * 2, "count": 2}))
    2
    """
    if not isinstance(record, Mapping):
        return []
    if isinstance(record.get("notes"), list):
        return [note for each in record["notes"] for note in notes_of(each)]
    found: list[Mapping[str, Any]] = []
    if isinstance(record.get("content"), Mapping) and "forum" in record:
        found.append(record)
    details = record.get("details")
    if isinstance(details, Mapping):
        for name in ("replies", "directReplies"):
            replies = details.get(name)
            found += [note for each in replies or () for note in notes_of(each)]
            if replies:
                break  # the direct ones are among all of them
    return found


def _is_mine(sample: Sample) -> bool:
    return any(notes_of(record) for record in sample.records)


def _plain(value: Any) -> Any:
    """Return a field of a note: version 2 wraps it."""
    return value.get("value") if isinstance(value, Mapping) else value


def _rows(records: Iterator[Record], choices: Choices, notes: Notes) -> Iterator[Row]:
    signed: dict[str, set[str]] = {}
    others = [0]

    def reviews() -> Iterator[Record]:
        for record in records:
            mapping_of(record.value, record.location, "note")
            for number, note in enumerate(notes_of(record.value), 1):
                cells = _review(note)
                if cells is None:
                    others[0] += 1
                    continue
                who = str(cells["annotator"])
                signed.setdefault(who, set()).add(str(cells["item"]))
                within = f"{record.location}, note {number}"
                yield Record(record.location if note is record.value else within, cells)

    rows = list(RATINGS_FORMAT.rows(reviews(), choices, notes))
    once = all(len(papers) == 1 for papers in signed.values())
    if once and choices.spelling is None:
        anonymous = next((who for who in signed if _OF_PAPER.search(who)), None)
        if anonymous is not None:
            raise OptionError(
                f"reviewers have a name for each paper ('{anonymous}'), so that nobody's ratings "
                "can be compared; export the reviews with the reviewers' own ids (as a chair), or "
                "rename them with --alias FILE."
            )
    if others[0]:
        notes.append(f"{count(others[0], 'note')} without a rating left out")
    yield from rows


def _review(note: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a review as a row of a table of ratings; None for another note."""
    invitations = note.get("invitations") or [note.get("invitation")]
    if any(_NO_REVIEW.search(str(one)) for one in invitations):
        return None
    cells = {str(name).strip().lower(): _plain(field) for name, field in note["content"].items()}
    rating = first_of(cells, RATING)
    if rating is None:
        return None
    signatures = note.get("signatures") or []
    signature = signatures[0] if isinstance(signatures, list) and signatures else signatures
    who = next((one for one in (signature, note.get("tauthor")) if str(one).startswith("~")), None)
    kept = {name: field for name, field in cells.items() if not isinstance(field, dict | list)}
    return kept | {
        "item": text_of(note.get("forum")),
        "annotator": text_of(who or signature),
        "rating": rating,
    }


FORMAT = RecordFormat(_is_mine, _rows, renames=True, options=RATINGS_FORMAT.options)
