"""The rows of the general model: what each asks, and what was answered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from aggcal._core.arrays import BoolArray, CodeArray, FloatArray, IntArray, joined
from aggcal._core.kernels.threads import between_annotators, each_range
from aggcal.data.judgments import Judgments
from aggcal.models.general.outcomes import Answers
from aggcal.models.laid_out import Judged
from aggcal.models.rows import order_by, sums_between

ASKED_IN = "asked in"
"""The key of the contexts of rows whose readiness to tie is the same in all of them."""
_TIE = 0.5
"""The outcome of a tie."""


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
    whole: bool = True
    """Whether these are all rows; those of a shard are summed by one thread, others by others."""

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

    @cached_property
    def tied_share(self) -> float:
        """The share of ties among the answers, by weight."""
        return max(1.0 - float(self.levels.sum()) / float(self.given.sum()), 0.0)

    def by_annotator(self, values: FloatArray) -> FloatArray:
        """Add up rows."""
        if not self.whole or not len(values):
            return np.asarray(np.add.reduceat(values, self.starts[:-1]))
        return sums_between(values, self.starts)

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
            self.whole,
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
    annotator, every = np.asarray(judgments.annotator), _Answered.of(judgments, ties, grades, top)
    if every.top == 1 and not (keys and (judgments.categories or judgments.context is not None)):
        columns = annotator, judgments.left, judgments.right, every.outcome, every.weight
        found = Judged(*columns, judgments.n_items).questions(sides=sides, ties=ties)
        if found is not None:
            (left, right, weight, lean, tied, decided), sizes = found
            starts, answers = np.concatenate([[0], np.cumsum(sizes)]), Answers(weight, lean, tied)
            return GeneralRows(left, right, answers, decided[None], starts, judgments.n_items, {})
    others: dict[str, CodeArray] = {}
    if keys:
        if judgments.context is not None:
            others["context"] = judgments.context
        others |= {f"by {c.name}": c.code for c in judgments.categories}

    def of_some(begin: int, end: int) -> GeneralRows:
        part = slice(begin, end)
        left, right = judgments.left[part], judgments.right[part]
        (weight, lean, tied), levels = every.between(part)
        if not sides:
            swap = left > right
            left, right = np.where(swap, right, left), np.where(swap, left, right)
            lean = np.where(swap, -lean, lean)
        asked, answers = (annotator[part], left, right), Answers(weight, lean, tied)
        codes = {name: code[part] for name, code in others.items()}
        return _merged(asked, answers, levels, judgments.n_items, codes)

    # Equal questions are of one annotator: ranges of annotators are laid out apart.
    return _joined(each_range(of_some, between_annotators(annotator)))


def answers_of(judgments: Judgments, *, ties: bool, grades: bool) -> tuple[Answers, FloatArray]:
    """Return what was answered in each row, and the weight of each grade, grades by rows.

    Examples
    --------
    >>> import aggcal
    >>> two = aggcal.read_judgments([("ann", "a", "b", "left"), ("ann", "a", "c", "tie")])
    >>> answers_of(two, ties=False, grades=True)[0].lean
    array([0.5, 0. ])
    """
    return _Answered.of(judgments, ties, grades).between(slice(None))


@dataclass(frozen=True, eq=False)
class _Answered:
    """What was answered, of which a part can be asked for; ``top`` is the number of grades."""

    outcome: FloatArray
    weight: FloatArray
    grade: Any
    ties: bool
    top: int

    @classmethod
    def of(cls, judgments: Judgments, ties: bool, grades: bool, top: int = 1) -> _Answered:  # noqa: FBT001
        grade = judgments.grade if grades else None
        highest = 1 if grade is None else int(np.abs(grade.astype(np.int64)).max(initial=1))
        outcome, weight = np.asarray(judgments.outcome), np.asarray(judgments.weight)
        return cls(outcome, weight, grade, ties, max(highest, top))

    def between(self, part: slice) -> tuple[Answers, FloatArray]:
        outcome, weight = self.outcome[part], self.weight[part]
        tied = np.where(outcome == _TIE, weight, 0.0) if self.ties else np.zeros(len(weight))
        steps = np.ones(len(weight), dtype=np.int64)
        if self.grade is not None:
            steps = np.maximum(np.abs(self.grade[part].astype(np.int64)), 1)
        lean = (outcome - 0.5) * weight * steps
        decided = tied == 0.0
        levels = [np.where((steps == g) & decided, weight, 0.0) for g in range(1, self.top + 1)]
        return Answers(weight, lean, tied), np.stack(levels)


def _joined(parts: list[GeneralRows]) -> GeneralRows:
    """Put ranges of annotators together again."""
    if len(parts) == 1:
        return parts[0]
    sizes = np.concatenate([part.sizes for part in parts])
    return GeneralRows(
        joined([part.left for part in parts]),
        joined([part.right for part in parts]),
        Answers(*map(joined, zip(*(part.answers for part in parts), strict=True))),
        np.concatenate([part.levels for part in parts], axis=1),
        np.concatenate([[0], np.cumsum(sizes)]),
        parts[0].n_items,
        {name: joined([part.keys[name] for part in parts]) for name in parts[0].keys},
    )


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
        order = order_by(columns)
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
        np.concatenate([[0], np.cumsum(np.bincount(columns[0] - columns[0][:1]))]),
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
