"""Read judgments: any format that people's tools export, from files, frames or rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from aggcal._core.arrays import TextArray
from aggcal.data.acts import RankingWeight
from aggcal.data.judgments import Judgments
from aggcal.errors import OptionError, TooLittleDataError, some
from aggcal.errors.voice import spoken
from aggcal.io.encoding import NATURAL, encoded
from aggcal.io.folders import files_of
from aggcal.io.formats._base import (
    Blank,
    Choices,
    TableFormat,
    refuse_options,
    stated_order,
)
from aggcal.io.formats._parting import categories_of
from aggcal.io.formats._steps import stated_scale
from aggcal.io.formats.plain import unused_columns
from aggcal.io.quick import quickly
from aggcal.io.quick.small import small_judgments
from aggcal.io.repeated import refuse_repeated_header
from aggcal.io.respelling import read_spelling
from aggcal.io.row_checks import checked, choose_criterion, refuse_unused_scale, unused_labels
from aggcal.io.rows import Reading, looked_at, opened_rows, rows_of
from aggcal.io.several import united_rows
from aggcal.io.sides import checked_sides
from aggcal.io.tables.database import connected
from aggcal.registry.literals import FormatName

_MOST_SHOWN = 8
"""Items that people are shown at once: more are no places."""


def read_judgments(
    data: Any,
    *,
    format: FormatName | str | None = None,  # noqa: A002  # what everybody calls it
    columns: Mapping[str, str] | None = None,
    outcomes: Mapping[str, str | float] | None = None,
    criterion: str | None = None,
    criteria: Literal["all"] | None = None,
    context: str | None = None,
    by: Sequence[str] | str = (),
    annotator: str | None = None,
    ranking_weight: RankingWeight = "information",
    strength_scale: str | None = None,
    tie_within: float = 0.0,
    order: Sequence[str] | str = (),
    left_key: str | None = None,
    right_key: str | None = None,
    drafts: bool = False,
    blank: Blank = "skip",
    normalize_ids: bool = False,
    aliases: Any = None,
    memory: str | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> Judgments:
    """Read judgments.

    Parameters
    ----------
    data
        A path to a CSV, TSV, JSON, JSON-lines or Parquet file, to a workbook (``book.xlsx#Sheet``
        names a sheet), or to a folder of such files; a list of paths, each read by its own format;
        a pandas, polars or arrow frame; a list of
        ``(annotator, winner, loser)`` or ``(annotator, left, right, outcome)`` tuples or of
        mappings; a mapping of columns. The short form has the columns ``annotator, winner,
        loser``, the long form ``annotator, left, right, outcome`` with the outcome ``left``,
        ``right``, ``tie``, ``skip``, ``failed`` or the strength of "left" in [0, 1]; ``left+`` and
        ``left++`` say that it is better by a step or two more. Both may have
        ``weight`` and ``criterion``. Ids are text, whatever they look like. The exports of many
        tools are known by their content.
    format
        The format, if it is not to be recognised: a name that ``aggcal formats`` lists.
    columns
        What our own columns are called in this table: ``{"annotator": "coder"}``.
    outcomes
        What other outcome labels mean: ``{"both bad": "tie"}``.
    criterion
        Read only the judgments of this criterion.
    criteria
        ``"all"`` keeps the criterion of each judgment, as one of its ``categories``.
    context
        The column that is the context of a judgment: its prompt, its session, the screen that it
        was given on. Judgments of one context are not independent. ``"ranking"`` is the ranking or
        the ratings that pairs are taken from.
    by
        The column, or columns, by which judgments are of categories: ``"language"``,
        ``["language", "topic"]`` or ``"language,topic"``.
    annotator
        The annotator of all judgments, where the table names none.
    ranking_weight
        What the pairs that a ranking is taken apart into weigh: ``"information"``, together as
        much as the ranking tells; ``"item"``, each item counts once; ``"pair"``, each pair is an
        opinion of its own. It also holds for rankings and ratings that stand in a table as pairs:
        those that a column ``ranking`` or ``screen`` names, and those that are recognised, because
        rows of one annotator are all pairs of some items and never contradict each other.
    strength_scale
        What outcomes mean that are numbers of a scale of 3 to 7 steps: the number for the strongest
        left, a colon, that for the strongest right, such as ``"1:5"`` or ``"3:-3"``.
    tie_within
        Ratings that differ by no more than this are a tie.
    order
        Ratings that are labels, the best first: ``"A+,A,A-,B"`` or a list; of numbers, which is the
        best: ``"lowest"`` or ``"highest"`` (as usual).
    left_key, right_key
        The fields of a Label Studio task that hold the items, where they cannot be guessed.
    drafts
        Whether to take responses of Argilla and Label Studio that were not submitted.
    blank
        What a blank outcome means: ``"skip"``, that the question was not answered, which is
        counted; ``"error"`` refuses the file.
    normalize_ids
        Take ids that differ only in case, spacing, punctuation or Unicode form for one; scores and
        other tables that come to these judgments are matched in the same way.
    aliases
        Who is who: a mapping of alias to id, or a table of two columns, ``alias`` and ``id``, in
        any form that is read. A third, ``kind``, may say ``item`` or ``annotator``.
    memory
        Memory limit for reading, before spilling to disk, such as ``"2GB"``. The
        judgments themselves then take 12 bytes each (20 with an outcome, 28 with a weight too).
    on_progress
        Called now and then, from a thread, with the percentage done of the step under way.

    Returns
    -------
    Judgments
        Equal rows are merged into weights; ``n_duplicates`` and ``n_repeated`` tell how many were
        equal in every column, and how many only in those that are used. Self-pairs, ``skip``,
        ``failed`` and blank outcomes are kept and counted in ``unfitted``.

    Examples
    --------
    >>> rows = [("ann", "a", "b", "left"), ("bob", "b", "c", 0.8), ("bob", "a", "c", "skip")]
    >>> read_judgments(rows)
    Judgments(3 items, 2 annotators, 2 judgments)
    >>> read_judgments([{"worker": "w1", "left": "a", "right": "b", "label": "a"}]).format
    'crowd-kit'
    >>> read_judgments(["monday.csv", "tuesday.xlsx"])
    Traceback (most recent call last):
    aggcal.errors.FileError: monday.csv: no such file; check the path.
    """
    choices = Choices(
        outcomes or {},
        columns or {},
        annotator,
        left_key,
        right_key,
        drafts,
        tie_within,
        ranking_weight,
        blank,
        read_spelling(aliases, normalize=normalize_ids),
        stated_order(order),
        context=context,
        by=categories_of(by, criterion, criteria),
        strength_scale=stated_scale(strength_scale),
    )
    how: dict[str, Any] = {"format_name": format, "memory": memory, "on_progress": on_progress}
    given = files_of(data)
    if given is not None and len(given.files) > 1:
        with united_rows(given, choices, **how) as united:
            kept = choose_criterion(united.reading.source, criterion)
            chosen = criterion is not None
            reading, pair, means = united.reading, united.pair, united.means
            whole = encoded(reading, pair, means, kept, chosen=chosen, acts=ranking_weight)
            return _finished(whole, "judgments")
    data, left_out = (data, ()) if given is None else (given.files[0], given.notes)
    if choices == Choices() and format is criterion is memory is None:
        small = small_judgments(data, left_out)
        if small is not None:
            return _finished(small, small.source)
    with looked_at(data, choices, **how) as brought:
        plain = quickly(brought, criterion, left_out, memory=memory, acts=ranking_weight)
        if plain is not None:
            return _finished(plain, brought.name, unused_columns(brought.sample, choices))
        found = rows_of(brought)
        refuse_options(found.format, choices, found.source.name)
        found = replace(found, notes=(*left_out, *found.notes))
        whole = _encoded(found, choices, criterion, acts=choices.ranking_weight)
        return _finished(whole, brought.name)


def _finished(read: Judgments, name: str, notes: Sequence[str] = ()) -> Judgments:
    """Check what only all rows show; say which aliases were followed, and which no id had."""
    judgments = checked_sides(refuse_repeated_header(read, name))
    spelling = judgments.spelling
    said = tuple(map(spoken, (*notes, *_like_places(judgments.item_ids.tolist()))))
    if spelling is not None:
        ids = (*judgments.item_ids, *judgments.annotator_ids)
        said += (*spelling.notes, *map(spoken, spelling.unseen(ids)))
    return replace(judgments, notes=(*judgments.notes, *said)) if said else judgments


def _like_places(items: Sequence[str]) -> Sequence[str]:
    """Say of items that they are called like the places where items are shown: they may be those.

    Examples
    --------
    >>> _like_places(["essay 1", "essay 2"]), len(_like_places(["A", "B"]))
    ((), 1)
    """
    if len(items) > _MOST_SHOWN:
        return ()
    letters = [chr(ord("A") + k) for k in range(len(items))]
    numbers = [[str(k + first) for k in range(len(items))] for first in (0, 1)]
    if sorted(items) not in (letters, *map(sorted, numbers), ["left", "right"]):
        return ()
    said = f"the items are called {some(items, _MOST_SHOWN)}"
    return (f"{said}; if these are places, name the columns that hold the items shown there",)


def read_more(data: Any, others: Judgments) -> Judgments | None:
    """Read judgments that are to be added to others; None if there is no row.

    There may be nothing among them that can be fitted. Ids are spelt as those are, and context and
    categories are taken from the columns that those have them from.
    """
    choices = Choices(
        spelling=others.spelling,
        context=None if others.context is None else others.context_name,
        by=tuple(each.name for each in others.categories),
    )
    given = files_of(data)
    if given is not None and len(given.files) > 1:
        with suppress(TooLittleDataError), united_rows(given, choices) as united:
            found, criteria = united.reading, choose_criterion(united.reading.source, None)
            pair, means, how = united.pair, united.means, _as(others)
            return encoded(found, pair, means, criteria, chosen=False, part=True, **how)
        return None
    with opened_rows(data if given is None else given.files[0], choices) as found:
        if not found.source.rows():
            return None
        return _encoded(found, choices, None, part=True, **_as(others))


def _as(others: Judgments) -> dict[str, Any]:
    """Return how acts are recognised among judgments that are added: where others have some, so."""
    return {"acts": Choices().ranking_weight, "surely": others.screen is not None}


def _encoded(
    found: Reading,
    choices: Choices,
    criterion: str | None,
    *,
    part: bool = False,
    acts: RankingWeight = "pair",
    surely: bool = False,
) -> Judgments:
    notes = (*found.notes, *unused_labels(found, choices.outcomes))
    reading = replace(found, notes=tuple(map(spoken, notes)))
    if not part:
        refuse_unused_scale(reading)
    pair, means = checked(reading, choices.outcomes, choices.blank)
    criteria = choose_criterion(reading.source, criterion, part=part)
    chosen = criterion is not None
    return encoded(
        reading, pair, means, criteria, chosen=chosen, part=part, acts=acts, surely=surely
    )


def read_part(
    path: str | Path,
    choices: Choices,
    *,
    format_name: str | None = None,
    criterion: str | None = None,
    memory: str | None = None,
    threads: int | None = None,
) -> Judgments | None:
    """Read one of the files that make up a table of judgments; None if it has no row.

    Its ids are numbered among its own, and it may hold nothing that can be fitted. Only formats
    whose rows stand for themselves can be read in parts.
    """
    with looked_at(
        path, choices, format_name=format_name, memory=memory, threads=threads
    ) as brought:
        plain = quickly(brought, criterion, memory=memory, threads=threads)
        if plain is not None:
            return plain
        found = rows_of(brought)
        if not isinstance(found.format, TableFormat):
            raise OptionError(
                f"{path}: {found.format.info.name} is not read in parts; write it as one table "
                "first, with 'aggcal convert'."
            )
        if not found.source.rows():
            return None
        return _encoded(found, choices, criterion, part=True)


def natural_order(ids: TextArray) -> TextArray:
    """Return different ids in the order in which judgments number them.

    Examples
    --------
    >>> natural_order(np.array(["b", "10", "9"], dtype=object)).tolist()
    ['9', '10', 'b']
    """
    with connected(ids) as (connection, _):
        connection.register("given", {"id": ids})
        found = connection.execute(f"SELECT id FROM given {NATURAL}").fetchnumpy()["id"]
    return np.asarray(found, dtype=object)
