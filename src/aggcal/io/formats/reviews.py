"""Reviews with ratings: HotCRP's table, OpenReview's notes, and MT-Bench's scores of one answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from aggcal.errors import OptionError, count, option, some
from aggcal.io.choices import Choices
from aggcal.io.formats.base import (
    Format,
    Notes,
    Records,
    Row,
    cell_text,
    first_of,
    has,
    mapping_of,
    number_of,
    under_our_names,
)
from aggcal.io.formats.marks import marked
from aggcal.io.formats.ratings import RATED, Rating, compared
from aggcal.io.tables import Table
from aggcal.io.words import RATING

_NO_REVIEW = re.compile(
    r"/-/.*(?:meta_?review|decision|rebuttal|comment|withdraw|desk_reject)", re.IGNORECASE
)
"""Invitations to write something else, which may hold a recommendation, too."""
_OF_PAPER = re.compile(r"/(?:submission|paper)\d+/", re.IGNORECASE)
"""A name that somebody has for one paper only."""
_NO_SCORE = -1
"""MT-Bench's score where none was found in what the judge wrote."""


def _is_hotcrp(table: Table) -> bool:
    rated = has("field", "data")(table) or table.columns.keys() & {*RATING}
    return has("pid", "review", "email")(table) and bool(rated)


def _hotcrp(records: Records, choices: Choices, notes: Notes) -> Iterator[Row]:
    """Read a row for each review, or for each field of one: the surest rating counts."""
    drafts = 0
    plain: list[Rating] = []
    fields: dict[str, list[Rating]] = {}
    others: dict[str, None] = {}
    for location, record in records:
        cells = under_our_names(record, location, choices)
        if "draft" in (cell_text(cells.get("status")) or "").lower() and not choices.drafts:
            drafts += 1
            continue
        cells |= {"item": cells["pid"], "annotator": cells["email"]}
        field, mark = cell_text(cells.get("field")), marked(cells, choices)
        if "field" not in cells:
            header = next((name for name in RATING if cells.get(name) not in (None, "")), "rating")
            plain.append(Rating(location, cells, mark, header))
        elif (field or "").lower() in RATING:
            rating = {"rating": cells.pop("data", None)}
            fields.setdefault(str(field), []).append(
                Rating(location, cells | rating, mark, str(field))
            )
        elif field is not None:
            others[field] = None
    if others and not fields:
        raise OptionError(
            f"no field of the reviews is known as their rating (found: {some(others, 8)}); "
            "call the one that counts 'Overall merit' in the column 'field'."
        )
    if fields:
        chosen = min(fields, key=lambda field: RATING.index(field.lower()))
        notes.append(f"the field '{chosen}' is the rating; the other fields are not used")
        plain += fields[chosen]
    yield from compared(iter(plain), choices, notes)
    if drafts:
        notes.append(f"{count(drafts, 'row')} of drafts left out; {option('drafts')} takes them")


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
    found = [record] if isinstance(record.get("content"), Mapping) and "forum" in record else []
    details = record.get("details")
    if isinstance(details, Mapping):  # direct replies are among all of them
        replies = details.get("replies") or details.get("directReplies") or ()
        found += [note for each in replies for note in notes_of(each)]
    return found


def _openreview(records: Records, choices: Choices, notes: Notes) -> Iterator[Row]:
    reviews, others = [], 0
    for location, record in records:
        mapping_of(record, location, "note")
        for k, note in enumerate(notes_of(record), 1):
            review = _review(note, choices)
            if review is None:
                others += 1
                continue
            where = location if note is record else f"{location}, note {k}"
            reviews.append(Rating(where, review, marked(review, choices), "rating"))
    signed: dict[str, set[str]] = {}
    for each in reviews:
        signed.setdefault(str(each.cells["annotator"]), set()).add(str(each.cells["item"]))
    anonymous = next(filter(_OF_PAPER.search, signed), None)
    once = all(len(papers) == 1 for papers in signed.values())
    if anonymous is not None and once and choices.spelling is None:
        raise OptionError(
            f"reviewers have a name for each paper ('{anonymous}'), so that nobody's ratings "
            "can be compared; export the reviews with the reviewers' own ids (as a chair), or "
            f"rename them with {option('alias', 'FILE')}."
        )
    rows = list(compared(iter(reviews), choices, notes))
    if others:
        notes.append(f"{count(others, 'note')} without a rating left out")
    yield from rows


def _review(note: Mapping[str, Any], choices: Choices) -> dict[str, Any] | None:
    """Return a review as a row of a table of ratings; None for another note."""
    invitations = note.get("invitations") or [note.get("invitation")]
    content = note["content"].items()
    plain = {k: v.get("value") if isinstance(v, Mapping) else v for k, v in content}
    cells = under_our_names(plain, "note", choices)
    rating = first_of(cells, RATING)
    if rating is None or any(_NO_REVIEW.search(str(one)) for one in invitations):
        return None
    signed = note.get("signatures") or []
    first = signed[0] if isinstance(signed, list) and signed else signed
    profile = next((one for one in (first, note.get("tauthor")) if str(one).startswith("~")), first)
    kept = {name: value for name, value in cells.items() if not isinstance(value, dict | list)}
    own = {"item": cell_text(note.get("forum")), "annotator": cell_text(profile), "rating": rating}
    return kept | own


def _single(records: Records, choices: Choices, notes: Notes) -> Iterator[Row]:
    """Compare the scores that a judge gave to the answers to one question, turn by turn."""
    missing, ratings = 0, []
    for location, record in records:
        entry = mapping_of(record, location, "record")
        found = number_of(entry.get("score")) != _NO_SCORE
        missing += not found
        asked = f"{cell_text(entry.get('question_id'))}, turn {cell_text(entry.get('turn'))}"
        cells = {
            "item": entry.get("model"),
            "annotator": cell_text(entry.get("judge")),
            "rating": entry.get("score") if found else None,
            "entry": asked,
        }
        marks = {str(name).strip().lower(): value for name, value in entry.items()}
        mark = marked(marks, choices, SINGLE.contexts)
        ratings.append(Rating(location, cells, mark, "rating"))
    yield from compared(iter(ratings), choices, notes)
    notes.append("scores are compared within each question and turn")
    if missing:
        verb = "means" if missing == 1 else "mean"
        notes.append(f"{count(missing, 'score')} of -1 {verb} that the judge gave none")


SINGLE = Format(
    has("question_id", "model", "judge", "score", "turn"),
    rows=_single,
    options=RATED,
    contexts={"prompt": ("question_id",)},
    summary="MT-Bench scores of single answers: question_id, model, judge, score, turn",
)
REVIEWS = {
    "openreview": Format(
        lambda table: any(map(notes_of, table.head)),
        rows=_openreview,
        renames=True,
        options=RATED,
        summary="OpenReview's reviews: forum, content.rating",
    ),
    "hotcrp": Format(
        _is_hotcrp,
        rows=_hotcrp,
        renames=True,
        options=(*RATED, "drafts"),
        summary="HotCRP's review table: pid, review, email, field, data",
    ),
    "mt-bench-single": SINGLE,
}
