"""Add judgments to others that are read already, without reading those again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, TextArray
from aggcal._core.tables import aligned
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments
from aggcal.data.row_columns import Categories
from aggcal.errors import OptionError
from aggcal.io import words
from aggcal.io.choices import Choices
from aggcal.io.columns import Column, stacked
from aggcal.io.formats.base import Format
from aggcal.io.judgments import read_judgments, read_more
from aggcal.io.naming import Part
from aggcal.io.numbering import SEVERAL, numbered
from aggcal.io.rated import is_of_ratings, rating_rows

_OTHERS = " and others"


def add_judgments(judgments: Any, more: Any) -> Judgments:
    """Return judgments with more of them added, as if both had been read from one table.

    Rows that repeat an earlier one are merged into its weight; new items and annotators get their
    numbers. With ``start=`` of `aggcal.aggregate` a study that grows is fitted again for a small
    part of what reading and fitting all of it takes.

    Parameters
    ----------
    judgments
        Those there are: `Judgments`, or anything that `read_judgments` takes.
    more
        The same; there may be no row, or none that can be fitted. What takes options to read
        (columns of other names, labels of its own) is read by `read_judgments` first.

    Returns
    -------
    Judgments
        The median time of an annotator who is in both is the mean of the two medians, by the number
        of judgments: those of all judgments together would need every row's.

    Examples
    --------
    >>> import aggcal
    >>> monday = aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "a")])
    >>> tuesday = aggcal.add_judgments(monday, [("ann", "a", "b"), ("eve", "c", "a")])
    >>> tuesday
    Judgments(3 items, 3 annotators, 4 judgments)
    >>> tuesday.weight
    array([2., 1., 1.])
    """
    first = _in_memory(judgments) or read_judgments(judgments)
    added = _in_memory(more)
    if added is None and not (isinstance(more, list | tuple) and not more):
        added = read_more(more, first)
    if added is None:
        return first
    both = first, added
    contexts = [part.context_name for part in both if part.context is not None]
    if len({*contexts}) > 1:
        raise OptionError(
            f"the context of these judgments is '{contexts[0]}' and that of those to be added "
            f"'{contexts[1]}'; read both with the same context."
        )
    choices = Choices(
        order=next((part.ratings.labels for part in both if part.ratings is not None), ()),
        spelling=first.spelling,
        context=next(iter(contexts), None),
        by=tuple(dict.fromkeys(each.name for part in both for each in part.categories)),
    )
    parts = [_part(first, choices, ""), _part(added, choices, added.source)]
    found = numbered(parts, choices, first.source, some=True)
    known = None if first.duplicates is added.duplicates is None else 0
    return replace(
        found,
        criteria=tuple(sorted({*first.criteria, *added.criteria})),
        source=first.source.removesuffix(_OTHERS) + _OTHERS,
        backend=first.backend,
        seconds=_seconds(both, found.annotator_ids),
        format=first.format if first.format == added.format else SEVERAL,
        notes=tuple(
            dict.fromkeys(
                (
                    *(each for each in (*first.notes, *added.notes) if not is_of_ratings(each)),
                    *filter(is_of_ratings, found.notes),
                )
            )
        ),
        duplicates=known if known is None else first.n_duplicates + added.n_duplicates,
    )


def _in_memory(given: Any) -> Judgments | None:
    """Return what are judgments already, with their rows; None for what is to be read."""
    if not isinstance(given, AnyJudgments):
        return None
    if given.local is None:
        raise OptionError(
            "the rows of these judgments lie on an engine, where none can be added; add them to "
            "judgments that read_judgments returned."
        )
    return given.local


def _part(judgments: Judgments, choices: Choices, label: str) -> Part:
    """Return judgments as the rows of a file, those that are not fitted after the others."""
    aside = judgments.unfitted
    row, other = (np.repeat(np.arange(len(n)), n) for n in (judgments.count, aside.count))

    def column(ids: Iterable[str], code: np.ndarray, also: Iterable[str | None]) -> Column:
        return stacked([Column([*ids], code[row].astype(np.int32)), Column.of(also).rows(other)])

    def coded(categories: Categories | None) -> Column:
        none = Column.fill(None, len(row) + len(other))
        return none if categories is None else column(categories.ids, categories.code, unknown)

    unknown = [None] * len(aside.count)
    values, outcome = np.unique(judgments.outcome, return_inverse=True)
    labels: list[str] = [*map(repr, values.tolist())]
    if judgments.grade is not None:
        labels = sorted(words.GRADES, key=words.GRADES.__getitem__)
        outcome = judgments.grade.astype(np.int64) - min(words.GRADES.values())
    columns = {
        "annotator": column(judgments.annotator_ids, judgments.annotator, aside.annotator),
        "left": column(judgments.item_ids, judgments.left, aside.left),
        "right": column(judgments.item_ids, judgments.right, aside.right),
        "outcome": column(labels, outcome, aside.reason),
        "reason": column((), np.full(len(judgments.count), -1), aside.detail),
    }
    named = {each.name: each for each in judgments.categories}
    columns |= {f"by_{k}": coded(named.get(name)) for k, name in enumerate(choices.by, 1)}
    if judgments.context is not None and judgments.context_ids is not None:
        context = Categories("context", judgments.context_ids, judgments.context)
        columns["context"] = coded(context)
    if judgments.screen is not None:
        acts, act = np.unique(judgments.screen, return_inverse=True)
        codes = np.append(act, np.full(len(other), -1)).astype(np.int32)
        columns["screen"] = Column([*map(str, acts.tolist())], codes)
    part = Part(
        judgments.source,
        Format(),
        choices,
        columns,
        lambda k: str(aside.location[other[k - len(row)]]),
        [],
        sided=judgments.sided,
        label=label,
        ratings=[*rating_rows(judgments)],
    )
    weight = judgments.screen_weight
    weight = judgments.weight[row] / judgments.count[row] if weight is None else weight
    if (weight != 1.0).any():
        part.numbers["weight"] = np.append(weight, np.ones(len(other)))
    return part


def _seconds(parts: Iterable[Judgments], annotators: TextArray) -> FloatArray | None:
    total, given = np.zeros(len(annotators)), np.zeros(len(annotators))
    for part in parts:
        if part.seconds is not None:
            seconds = aligned(part.seconds, part.annotator_ids, annotators)
            number = part.judgments_per_annotator.astype(np.float64)
            known = np.isfinite(seconds)
            number = np.where(known, aligned(number, part.annotator_ids, annotators), 0.0)
            total += number * np.where(known, seconds, 0.0)
            given += number
    if not given.any():
        return None
    return np.where(given > 0.0, total / np.maximum(given, 1.0), np.nan)
