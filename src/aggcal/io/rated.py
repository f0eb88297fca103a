"""Ratings beside the comparisons that were taken from them, where all are on one scale."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from aggcal.data.judgments import Judgments
from aggcal.data.ratings import Ratings
from aggcal.errors import count
from aggcal.io.choices import Choices
from aggcal.io.formats.base import Row
from aggcal.io.formats.ratings import MEAN_OF_SEVERAL, WEIGHT_OF_PAIR
from aggcal.io.formats.scale import HIGHEST, LOWEST
from aggcal.io.naming import Part

_MOST_RATINGS, _MOST_ITEMS = 30_000, 1_000
"""Beyond, the fit of ratings would take minutes: they are compared in pairs."""
_AS_PAIRS = "ratings are compared within each annotator only"


_AS_RATINGS = ", kept as such"
_OF_PAIRS = ("rating series became", MEAN_OF_SEVERAL, WEIGHT_OF_PAIR)
"""What is said of the pairs that ratings imply."""


def is_of_ratings(note: str) -> bool:
    """Whether a note says how ratings are fitted."""
    return note.startswith(_AS_PAIRS) or _AS_RATINGS in note


def rating_rows(judgments: Judgments) -> Iterator[Row]:
    """Return the ratings of judgments as they were read, ids in place of numbers."""
    ratings = judgments.ratings
    if ratings is None:
        return
    best = LOWEST if ratings.lowest_best else HIGHEST
    columns = ratings.annotator, ratings.item, ratings.value, ratings.weight
    for who, item, value, weight in zip(*(each.tolist() for each in columns), strict=True):
        ids = judgments.annotator_ids[who], judgments.item_ids[item]
        yield Row(*ids, None, best, "", weight, rating=value)


def with_ratings(
    judgments: Judgments, parts: Sequence[Part], choices: Choices, criterion: str | None
) -> Judgments:
    """Return judgments with the ratings that they were taken from, or say why without."""
    rows = [row for part in parts for row in part.ratings]
    if criterion is not None:
        rows = [row for row in rows if row.criterion == criterion]
    if not rows:
        return judgments
    why = _why_not(judgments, parts, rows)
    if why is not None:
        return replace(judgments, notes=(*judgments.notes, f"{_AS_PAIRS}: {why}"))
    ratings = _ratings(judgments, rows, choices)
    note = (
        f"{count(len(ratings), 'rating')} of {count(judgments.n_items, 'item')} by "
        f"{count(judgments.n_annotators, 'annotator')}{_AS_RATINGS}"
    )
    if alone := len(rows) - len(ratings):
        who = "of annotators with one item only"
        if any(row.weight == 0.0 for row in rows):
            who = "of annotators with one item only, or of weight 0,"
        note += f"; {count(alone, 'rating')} {who} left out"
    others = (each for each in judgments.notes if not any(said in each for said in _OF_PAIRS))
    return replace(judgments, ratings=ratings, notes=(*others, note))


def _why_not(judgments: Judgments, parts: Sequence[Part], rows: Sequence[Row]) -> str | None:
    """Return why ratings cannot be fitted as such; None where they can."""
    if not all(part.ratings for part in parts if len(part)):
        return "there are other judgments, too"
    criteria = {row.criterion for row in rows}
    if len(criteria) > 1:
        return f"they are on {len(criteria)} criteria, of which an annotator's are not independent"
    if len(rows) > _MOST_RATINGS or judgments.n_items > _MOST_ITEMS:
        return "they are too many to be fitted as ratings"
    if len({row.rating for row in rows}) < 2:  # noqa: PLR2004
        return "all of them are equal"
    ends = {
        (min(each), max(each), part.ratings[0].outcome)
        for part in parts
        if (each := [row.rating for row in part.ratings if row.rating is not None])
    }
    return "the files may have different scales" if len(ends) > 1 else None


def _ratings(judgments: Judgments, rows: Sequence[Row], choices: Choices) -> Ratings:
    """Return the ratings, numbered, of items and annotators that are compared."""
    items = {str(one): k for k, one in enumerate(judgments.item_ids)}
    annotators = {str(one): k for k, one in enumerate(judgments.annotator_ids)}
    known = [row for row in rows if row.left in items and row.annotator in annotators]
    labels = () if choices.order in ((LOWEST,), (HIGHEST,)) else choices.order
    return Ratings.of(
        np.array([annotators[str(row.annotator)] for row in known]),
        np.array([items[str(row.left)] for row in known]),
        np.array([row.rating for row in known], dtype=np.float64),
        np.array([row.weight for row in known]),
        lowest_best=known[0].outcome == LOWEST,
        labels=labels,
    )
