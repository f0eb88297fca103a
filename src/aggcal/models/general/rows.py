"""The rows of the general model: what each asks, and what was answered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from aggcal._core.arrays import BoolArray, CodeArray, FloatArray, IntArray
from aggcal.data.judgments import Judgments
from aggcal.models.general.outcomes import Answers

ASKED_IN = "asked in"
"""The key of the contexts of rows whose readiness to tie is the same in all of them."""
_TIE = 0.5
_LARGEST = 2**62
"""Largest number of combinations of codes that one integer tells apart."""


@dataclass(frozen=True, eq=False)
class GeneralRows:
    """Equal questions to one annotator, merged; annotator u's begin at ``starts[u]``.

    ``keys`` are further codes that rows agree in (of a context, of categories), by name; −1 is
    none. ``levels`` is the weight of each grade, grades by rows.
    """

    left: CodeArray
    right: CodeArray
    answers: Answers
    levels: FloatArray
    starts: IntArray
    n_items: int
    keys: dict[str, CodeArray]

    def __len__(self) -> int:
        return len(self.left)

    @property
    def n_annotators(self) -> int:
        """How many annotators the rows belong to."""
        return len(self.starts) - 1

    @cached_property
    def sizes(self) -> IntArray:
        """Rows of each annotator."""
        return np.diff(self.starts)

    @cached_property
    def owner(self) -> IntArray:
        """The annotator of each row."""
        return np.repeat(np.arange(self.n_annotators), self.sizes)

    @cached_property
    def given(self) -> FloatArray:
        """Total weight of the judgments of each annotator."""
        return self.by_annotator(self.answers.weight)

    def by_annotator(self, values: FloatArray) -> FloatArray:
        """Add up rows."""
        return np.asarray(np.add.reduceat(values, self.starts[:-1]))

    def per_row(self, values: FloatArray) -> FloatArray:
        """Give each row what is its annotator's."""
        return np.repeat(values, self.sizes, axis=0)

    def of(self, kept: BoolArray) -> GeneralRows:
        """Return some of the rows; annotators of whom none is kept are left out."""
        sizes = np.bincount(self.owner[kept], minlength=self.n_annotators)
        return GeneralRows(
            self.left[kept],
            self.right[kept],
            Answers(*(part[kept] for part in self.answers)),
            self.levels[:, kept],
            np.concatenate([[0], np.cumsum(sizes[sizes > 0])]),
            self.n_items,
            {name: code[kept] for name, code in self.keys.items()},
        )

    def pooled(self) -> GeneralRows:
        """Forget who judged; rows without a context stay apart, as each is one of its own."""
        zero = np.zeros(len(self), dtype=np.int64)
        asked, keys = (zero, self.left, self.right), self.keys
        if "context" in keys:
            keys = keys | {"own": np.where(keys["context"] < 0, self.owner, -1)}
        found = _merged(asked, self.answers, self.levels, self.n_items, keys)
        return replace(found, keys={name: found.keys[name] for name in self.keys})


def general_rows(
    judgments: Judgments,
    *,
    ties: bool,
    sides: bool,
    keys: bool,
    grades: bool = True,
    top: int = 1,
) -> GeneralRows:
    """Lay out judgments for the general model.

    Parameters
    ----------
    judgments
        In memory.
    ties
        Whether a tie is an answer of its own; if not, it is half a judgment each way.
    sides
        Whether left and right matter: if not, equal pairs are merged whatever their sides.
    keys
        Whether contexts and categories matter.
    grades
        Whether strengths of answers matter, where there are some.
    top
        How many of them there are at least: judgments may be a part of others.

    Examples
    --------
    >>> import aggcal
    >>> both = aggcal.read_judgments([("ann", "a", "b", "left"), ("ann", "b", "a", "tie")])
    >>> rows = general_rows(both, ties=True, sides=False, keys=False)
    >>> rows.answers.weight, rows.answers.lean, rows.answers.tied
    (array([2.]), array([0.5]), array([1.]))
    """
    answers, levels = answers_of(judgments, ties=ties, grades=grades)
    if len(levels) < top:
        levels = np.pad(levels, ((0, top - len(levels)), (0, 0)))
    weight, lean, tied = answers
    left, right = judgments.left, judgments.right
    if not sides:
        swap = left > right
        left, right = np.where(swap, right, left), np.where(swap, left, right)
        lean = np.where(swap, -lean, lean)
    others: dict[str, CodeArray] = {}
    if keys:
        if judgments.context is not None:
            others["context"] = judgments.context
        others |= {f"by {c.name}": c.code for c in judgments.categories}
    answers = Answers(weight, lean, tied)
    return _merged((judgments.annotator, left, right), answers, levels, judgments.n_items, others)


def answers_of(judgments: Judgments, *, ties: bool, grades: bool) -> tuple[Answers, FloatArray]:
    """Return what was answered in each row, and the weight of each grade, grades by rows.

    Examples
    --------
    >>> import aggcal
    >>> two = aggcal.read_judgments([("ann", "a", "b", "left"), ("ann", "a", "c", "tie")])
    >>> answers_of(two, ties=False, grades=True)[0].lean
    array([0.5, 0. ])
    """
    outcome, weight = np.asarray(judgments.outcome), np.asarray(judgments.weight)
    tied = np.where(outcome == _TIE, weight, 0.0) if ties else np.zeros(len(weight))
    grade = judgments.grade if grades else None
    steps = (
        np.ones(len(weight), dtype=np.int64) if grade is None else np.abs(grade).astype(np.int64)
    )
    steps = np.maximum(steps, 1)
    lean = (outcome - 0.5) * weight * steps
    top = int(steps.max(initial=1))
    levels = np.stack(
        [np.where((steps == g) & (tied == 0.0), weight, 0.0) for g in range(1, top + 1)]
    )
    return Answers(weight, lean, tied), levels


def _merged(
    asked: tuple[Any, CodeArray, CodeArray],
    answers: Answers,
    levels: FloatArray,
    n_items: int,
    keys: dict[str, CodeArray],
) -> GeneralRows:
    columns = tuple(np.asarray(column) for column in (*asked, *keys.values()))
    new = _differ(columns)
    if new is None:
        order = _order(columns)
        columns = tuple(column[order] for column in columns)
        answers, levels = Answers(*(part[order] for part in answers)), levels[:, order]
        new = _differ(columns)
        assert new is not None  # noqa: S101  # they are sorted now
    if not new.all():
        first = np.flatnonzero(new)
        columns = tuple(column[first] for column in columns)
        answers = Answers(*(np.add.reduceat(part, first) for part in answers))
        levels = np.add.reduceat(levels, first, axis=1)
    return GeneralRows(
        columns[1].astype(np.int32, copy=False),
        columns[2].astype(np.int32, copy=False),
        answers,
        levels,
        np.concatenate([[0], np.cumsum(np.bincount(columns[0]))]),
        n_items,
        dict(zip(keys, columns[3:], strict=True)),
    )


def _differ(columns: tuple[Any, ...]) -> BoolArray | None:
    """Say which rows differ from the one before; None if rows are not sorted by the columns.

    Examples
    --------
    >>> _differ((np.array([0, 0, 0, 1]), np.array([1, 1, 2, 0])))
    array([ True, False,  True,  True])
    >>> _differ((np.array([0, 0]), np.array([1, 0])))
    """
    new = np.zeros(len(columns[0]), dtype=bool)
    new[:1] = True
    for column in columns:
        # A column may fall where one before it has risen.
        if not ((column[1:] >= column[:-1]) | new[1:]).all():
            return None
        new[1:] |= column[1:] != column[:-1]
    return new


def _order(columns: tuple[Any, ...]) -> IntArray:
    """Return the order by columns, the first before the others; codes are −1 or more."""
    room, key = 1, np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        most = int(column.max(initial=0)) + 2
        room *= most
        if room > _LARGEST:
            return np.lexsort(columns[::-1])
        # One key for all columns is sorted in a third of the time.
        key *= most
        key += column
        key += 1
    return np.argsort(key, kind="stable")
