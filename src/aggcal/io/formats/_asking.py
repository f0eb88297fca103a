"""Tables that may be ratings but do not say so: the user is asked, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from aggcal.errors import OptionError, some
from aggcal.io.formats._guessing import PEOPLE
from aggcal.io.formats._labels import is_label
from aggcal.io.formats._sample import Sample
from aggcal.io.formats._sheets import SUMMARIES, rated_columns
from aggcal.io.formats._synonyms import (
    ANNOTATOR,
    GROUP,
    ITEM,
    PER_ITEM,
    RANKS,
    RATING,
    paired,
)
from aggcal.registry import RATINGS

_SAY = f"--format {RATINGS.name}"
_MOST_LABELS = 11
"""Labels of a scale: people have scales of up to eleven steps, and texts differ more."""


def ask_for_ratings(sample: Sample) -> None:
    """Refuse a table that is no table of judgments but may hold ratings, and say how to read it.

    Names of people, criteria and features look alike, so that none is taken for another unasked.

    Examples
    --------
    >>> from aggcal.io.formats._sample import of_records
    >>> ask_for_ratings(of_records("f.csv", [{"paper": "p1", "Anna": 3, "Bob": 2}]))
    Traceback (most recent call last):
    aggcal.errors.OptionError: f.csv: has several numbers for each item ('anna', 'bob'); if each...
    """
    have = sample.columns
    known = paired(have)
    if not known and not have & {*ITEM, *GROUP} and have & {*ANNOTATOR}:
        _ask_for_items(sample)
    if known or have & {*RATING, "winner", "loser", "left", "right", "outcome"}:
        return
    _refuse_ranks(sample)
    numbers = rated_columns(sample)
    itemised, named = bool(have & {*ITEM}), bool(have & {*ANNOTATOR})
    if not numbers:
        _ask_for_order(sample, itemised=itemised, named=named)
    if not numbers or (len(numbers) < 2 and not (itemised and named)):  # noqa: PLR2004
        return
    what = _asked(sample, numbers, itemised=itemised, named=named)
    if what is not None:
        raise OptionError(f"{sample.name}: {what}.")


def _asked(sample: Sample, numbers: Sequence[str], *, itemised: bool, named: bool) -> str | None:
    """Say what columns of numbers may be, and how they are then read."""
    rest = sorted(sample.columns - {*numbers, *SUMMARIES, ""})
    if itemised and named:
        shown = next(iter(numbers))
        what = (
            f"names annotators and items but no rating; say which column it is ({some(numbers)}), "
            f"as in --column 'rating={shown}'"
        )
    elif itemised:
        what = (
            f"has several numbers for each item ({some(numbers)}); if each is one annotator's "
            f"rating, say so with {_SAY}; if they are scores, they come second, after the judgments"
        )
    elif named:
        what = (
            f"has a row for each annotator and numbers in {some(numbers)}; if these columns are "
            f"the items and the numbers their ratings, say {_SAY}, or {_SAY} --order lowest if 1 "
            "is the best"
        )
        if item := next((name for name in PER_ITEM if name in rest), None):
            what += (
                f"; if '{item}' names what was rated, say --column item={item} "
                f"--column 'rating={numbers[0]}'"
            )
    elif len(rest) == 1:
        what = (
            f"has several numbers for each '{rest[0]}' ({some(numbers)}); if each column is one "
            f"annotator's ratings, say so with {_SAY} --column 'item={rest[0]}'; if each is an "
            f"item, with {_SAY} --column 'annotator={rest[0]}'"
        )
    elif people := [name for name in rest if PEOPLE.search(name)]:
        what = (
            f"has numbers in {some(numbers)}; if these columns are the items and the numbers their "
            f"ratings, say {_SAY} --column 'annotator={people[0]}'"
        )
    else:
        return None
    return what


def _ask_for_items(sample: Sample) -> None:
    """Ask which column names what was rated, where there are annotators and ratings."""
    rating = next((name for name in RATING if name in sample.columns), None)
    if rating is None or sample.columns & {"winner", "loser", "left", "right", "outcome"}:
        return
    rest = sorted(sample.columns - {*ANNOTATOR, *RATING, ""})
    raise OptionError(
        f"{sample.name}: holds ratings ('{rating}') and names no items; say which column names "
        f"what was rated with --column item=NAME (there are {some(rest, 10)})."
    )


def _ask_for_order(sample: Sample, *, itemised: bool, named: bool) -> None:
    """Ask for the order of labels, where columns seem to hold them instead of numbers."""
    rest = sorted(sample.columns - {*ANNOTATOR, *ITEM, ""})
    if itemised and named and rest:
        raise OptionError(
            f"{sample.name}: names annotators and items but no rating; say which column it is "
            f"({some(rest)}), as in --column 'rating={rest[0]}', and if it holds labels, name them "
            "with the best first, as in --order 'A,B,C'."
        )
    alike: dict[str, list[str]] = {}
    for name in rest if named else ():
        for label in set(sample.values(name)):
            alike.setdefault(label, []).append(name)
    shared = sorted(label for label, columns in alike.items() if len(columns) > 1)
    if 1 < len(shared) <= _MOST_LABELS and not any(map(is_label, shared)):
        columns = sorted({name for label in shared for name in alike[label]})
        raise OptionError(
            f"{sample.name}: has a row for each annotator and the same labels in {some(columns)} "
            f"({some(shared, _MOST_LABELS)}); if these columns are the items and the labels their "
            f"ratings or ranks, say {_SAY} and name all labels, the best first, as in "
            "--order 'A,B,C'."
        )


def _refuse_ranks(sample: Sample) -> None:
    """Ask for a column of ranks under another name, of which 1 is the best."""
    rank = next((name for name in RANKS if name in sample.columns), None)
    if rank is None or not sample.columns & {*ANNOTATOR}:
        return
    item = next((name for name in ITEM if name in sample.columns), None)
    rest = sorted(sample.columns - {*ANNOTATOR, rank, ""})
    item = rest[0] if item is None and len(rest) == 1 else item
    said = "" if item == "item" else f"--column 'item={item or 'NAME'}' "
    raise OptionError(
        f"{sample.name}: holds ranks in the column '{rank}'; say which columns are meant with "
        f"{said}--column 'rank={rank}'."
    )
