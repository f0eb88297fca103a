"""Read judgments: any format that people's tools export, from files, frames or rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np

from aggcal.data.acts import RankingWeight
from aggcal.data.judgments import Judgments
from aggcal.errors import OptionError, TooLittleDataError, argument, count, option, some
from aggcal.io.choices import (
    Blank,
    Choices,
    categories_of,
    stated_order,
    stated_scale,
)
from aggcal.io.files import no_room
from aggcal.io.folders import Given, files_of, labels_of
from aggcal.io.naming import Part, part_of
from aggcal.io.numbering import numbered
from aggcal.io.outcomes import meant, unused_labels
from aggcal.io.refusals import is_graded
from aggcal.io.respelling import read_spelling
from aggcal.io.saving import scratch_folder
from aggcal.io.sides import checked_sides
from aggcal.registry.literals import FormatName

_MOST_SHOWN = 8
"""Items that people are shown at once: more are no places."""
_NAMED = 10
"""Files that a message names; the notes name all of them."""
_OF_SOME = ("order", "drafts", "strength_scale")
"""Options that only some formats have."""


def read_judgments(
    data: Any,
    *,
    format: FormatName | str | None = None,  # noqa: A002  # what everybody calls it
    columns: Mapping[str, str] | None = None,
    outcomes: Mapping[str, str | float] | None = None,
    criterion: str | None = None,
    context: str | None = None,
    by: Sequence[str] | str = (),
    annotator: str | None = None,
    ranking_weight: RankingWeight = "information",
    strength_scale: str | None = None,
    order: Sequence[str] | str = (),
    drafts: bool = False,
    blank: Blank = "skip",
    normalize_ids: bool = False,
    aliases: Any = None,
    strict: bool = False,
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
        The format, if it is not to be recognised: a name that ``aggcal list formats`` lists.
    columns
        What our own columns are called in this table: ``{"annotator": "coder"}``; of a task of
        Label Studio, the fields that hold the items: ``{"left": "text1", "right": "text2"}``.
    outcomes
        What other outcome labels mean: ``{"both bad": "tie"}``.
    criterion
        Read only the judgments of this criterion.
    context
        The column that is the context of a judgment: its prompt, its session, the screen that it
        was given on. Judgments of one context are not independent. ``"ranking"`` is the ranking or
        the ratings that pairs are taken from.
    by
        The column, or columns, by which judgments are of categories: ``"language"``,
        ``["language", "topic"]`` or ``"language,topic"``. ``"criterion"`` keeps that of each
        judgment, so that all criteria are used at once.
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
    order
        Ratings that are labels, the best first: ``"A+,A,A-,B"`` or a list; of numbers, which is the
        best: ``"lowest"`` or ``"highest"`` (as usual).
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
    strict
        Whether to refuse columns that are called in other words than those which are known, also
        where there is but one reading.
    on_progress
        Called after each file with the percentage of files that are read.

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
        drafts=drafts,
        ranking_weight=ranking_weight,
        blank=blank,
        spelling=read_spelling(aliases, normalize=normalize_ids),
        order=stated_order(order),
        context=context,
        by=categories_of(by, criterion),
        strength_scale=stated_scale(strength_scale),
        strict=strict,
    )
    with parts_of(data, choices, format, on_progress=on_progress) as read:
        judgments = numbered(
            read.parts,
            choices,
            read.name,
            notes=read.notes,
            criterion=criterion,
            acts=ranking_weight,
        )
    return _finished(judgments)


@dataclass
class Parts:
    """The judgments of files that are read together, and what is to be said of them."""

    name: str
    parts: list[Part] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@contextmanager
def parts_of(
    data: Any,
    choices: Choices,
    format_name: str | None = None,
    *,
    on_progress: Callable[[float], None] | None = None,
) -> Iterator[Parts]:
    """Read files, or a frame or rows, each by its own format; refuse what cannot be read.

    Of several files, what a file does not name (annotators, rankings) is called after it: the same
    made-up name elsewhere means something else. Files without a row are refused.
    """
    given = files_of(data) or Given((data,))
    several = len(given.files) > 1
    labels = labels_of(given.files) if several else [""]
    shown = ", ".join(labels[:_NAMED]) + (f" and {len(labels) - _NAMED:,} more"
                                          if len(labels) > _NAMED else "")  # fmt: skip
    read = Parts(shown, notes=[*given.notes])
    everything: list[Part] = []
    with ExitStack() as stack:
        on_disk = any(isinstance(file, str | Path) for file in given.files)
        scratch = stack.enter_context(scratch_folder()) if on_disk else Path()
        for number, (file, label) in enumerate(zip(given.files, labels, strict=True)):
            try:
                folder = Path(mkdtemp(dir=scratch)) if on_disk else scratch
            except OSError as error:
                raise no_room(error) from None
            part = part_of(file, replace(choices, origin=label), format_name, folder)
            part.label = label
            everything.append(part)
            if len(part) or not several:
                meant(part)
            if len(part):
                read.parts.append(part)
            read.notes += part.notes if not label else _told(part, choices)
            if on_progress is not None:
                on_progress(100.0 * (number + 1) / len(given.files))
        if not several:
            read.name = everything[0].name
        _refuse_copies(everything)
        _refuse_other_steps(everything)
        read.notes += _of_all(everything, choices, read.name)
        if not read.parts:
            raise TooLittleDataError(f"{shown}: hold no judgment; add some.")
        read.notes = [*dict.fromkeys(read.notes)]
        yield read


def options_without_effect(part: Part) -> list[str]:
    """Return the options that would have no effect on a file of this format."""
    usual = Choices()
    return [
        argument(name.replace("_", "-"))
        for name in _OF_SOME
        if name not in part.form.options and getattr(part.choices, name) != getattr(usual, name)
    ]


def _told(part: Part, choices: Choices) -> list[str]:
    """Return what is to be said of one of several files."""
    name = part.form.name
    told = [f"read as {name}, {count(len(part), 'row')}", *part.notes]
    told += [f"{given} has no effect on {name} judgments" for given in options_without_effect(part)]
    told += [
        f"there is no column '{other}' to take as '{own}'"
        for own, other in {**choices.columns, **choices.wished}.items()
        if own not in _named(part)
    ]
    told += [] if len(part) else ["there is no judgment in it"]
    return [f"{part.label}: {note}" for note in told]


def _named(part: Part) -> set[str]:
    """Return the columns of ours that the user named and that a file has."""
    return {*part.choices.columns, *(part.choices.wished.keys() & part.columns.keys())}


def _of_all(parts: Sequence[Part], choices: Choices, name: str) -> list[str]:
    """Refuse options that had an effect on no file; tell of labels that no file has."""
    without = [options_without_effect(part) for part in parts]
    for given in without[0]:
        if all(given in each for each in without):
            kinds = " and ".join(dict.fromkeys(part.form.name for part in parts))
            raise OptionError(f"{name}: {given} does not apply to {kinds} judgments; leave it out.")
    for own, other in {**choices.columns, **choices.wished}.items():
        if len(parts) > 1 and all(own not in _named(part) for part in parts):
            raise OptionError(
                f"{name}: no file has a column '{other}' to take as '{own}'; check its name."
            )
    graded = [is_graded(part.columns["outcome"]) for part in parts]
    said = [
        f"{part.label}: does not say how much better an item is, as others do: its answers count "
        "as the first step"
        for part, steps in zip(parts, graded, strict=True)
        if any(graded) and len(part) and not steps
    ]
    if choices.outcomes and all(part.short for part in parts):
        raise OptionError(
            f"{name}: there are winners and losers but no outcome to map; leave the outcomes out."
        )
    unused = [unused_labels(part) for part in parts if not part.short] or [[]]
    return said + [note for note in unused[0] if all(note in each for each in unused)]


def _refuse_copies(parts: Sequence[Part]) -> None:
    contents: dict[str, str] = {}
    for part in parts:
        if part.content is not None:
            other = contents.setdefault(part.content, part.label)
            if other != part.label:
                raise OptionError(
                    f"{part.label} holds the same as {other}, and its judgments would count twice; "
                    "leave one of the two out."
                )


def _refuse_other_steps(parts: Sequence[Part]) -> None:
    """Refuse a label that is another step among the labels of this file than of an earlier."""
    steps: dict[str, tuple[str, str]] = {}
    for part in parts:
        for label, means in part.steps.items():
            said = label.lower()
            before, where = steps.setdefault(said, (means, part.label))
            if before != means:
                raise OptionError(
                    f"'{said}' would mean {before} in {where} and {means} in {part.label}, which "
                    "have different labels beside it; say what it means with "
                    f"{option('outcome', f'{said}=MEANING')}."
                )


def _finished(read: Judgments) -> Judgments:
    """Check what only all rows show; say which aliases were followed, and which no id had."""
    judgments = checked_sides(read)
    spelling = judgments.spelling
    said = [*_like_places(judgments.item_ids.tolist())]
    if spelling is not None:
        ids = (*judgments.item_ids, *judgments.annotator_ids)
        said += [*spelling.notes, *spelling.unseen(ids)]
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
    try:
        with parts_of(data, choices) as read:
            return numbered(
                read.parts,
                choices,
                read.name,
                notes=read.notes,
                some=True,
                acts=choices.ranking_weight,
                surely=others.screen is not None,
            )
    except TooLittleDataError:
        return None


def read_part(path: str | Path, choices: Choices, format_name: str | None = None) -> Part | None:
    """Read one of the files that make up a table of judgments; None if it has no row.

    The part can be sent to another process. Only formats whose rows stand for themselves can be
    read in parts.
    """
    try:
        with parts_of(path, choices, format_name) as read:
            part = replace(read.parts[0], notes=read.notes, label=Path(path).name)
            if part.table is None:
                raise OptionError(
                    f"{read.name}: {part.form.name} is not read in parts; write it as one "
                    "table first, with 'aggcal convert'."
                )
            return part.rows(np.arange(len(part)))
    except TooLittleDataError:
        return None
