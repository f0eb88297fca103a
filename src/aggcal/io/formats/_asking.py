"""Tables that may be ratings but do not say so: the user is asked, in a sentence."""

from __future__ import annotations

from aggcal.errors import OptionError, some
from aggcal.io.formats._guessing import PEOPLE
from aggcal.io.formats._sample import Sample
from aggcal.io.formats._sheets import rated_columns
from aggcal.io.formats._synonyms import (
    ANNOTATOR,
    GROUP,
    ITEM,
    LEFT_RIGHT,
    PER_ITEM,
    RANKS,
    RATING,
    WINNER_LOSER,
)
from aggcal.registry import RATINGS

_SAY = f"--format {RATINGS.name}"


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
    pairs = [pair for pair in (*LEFT_RIGHT, *WINNER_LOSER) if sample.has(*pair)]
    known = any(not _goes_on(pair, sample) for pair in pairs)
    if not known and not have & {*ITEM, *GROUP} and have & {*ANNOTATOR}:
        _ask_for_items(sample)
    if known or have & {*RATING, "winner", "loser", "left", "right", "outcome"}:
        return
    _refuse_ranks(sample)
    numbers = rated_columns(sample)
    itemised, named = bool(have & {*ITEM}), bool(have & {*ANNOTATOR})
    rest = sorted(have - {*numbers, ""})
    if not numbers or (len(numbers) < 2 and not (itemised and named)):  # noqa: PLR2004
        return
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
        return
    raise OptionError(f"{sample.name}: {what}.")


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


def _goes_on(pair: tuple[str, str], sample: Sample) -> bool:
    """Whether two columns that may be sides are the first of more: x, y and z."""
    third = {("x", "y"): "z", ("a", "b"): "c"}.get(pair)
    return third is not None and third in sample.columns


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
