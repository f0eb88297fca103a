"""The rows of the general model: what each asks, and what was answered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray
from aggcal.data.judgments import Judgments
from aggcal.models.general.outcomes import Answers

_TIE = 0.5


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

    def pooled(self) -> GeneralRows:
        """Forget who judged."""
        zero = np.zeros(len(self), dtype=np.int64)
        asked = (zero, self.left, self.right)
        return _merged(asked, self.answers, self.levels, self.n_items, self.keys)


def general_rows(judgments: Judgments, *, ties: bool, sides: bool, keys: bool) -> GeneralRows:
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

    Examples
    --------
    >>> import aggcal
    >>> both = aggcal.read_judgments([("ann", "a", "b", "left"), ("ann", "b", "a", "tie")])
    >>> rows = general_rows(both, ties=True, sides=False, keys=False)
    >>> rows.answers.weight, rows.answers.lean, rows.answers.tied
    (array([2.]), array([0.5]), array([1.]))
    """
    outcome, weight = np.asarray(judgments.outcome), np.asarray(judgments.weight)
    left, right = judgments.left, judgments.right
    tied = np.where(outcome == _TIE, weight, 0.0) if ties else np.zeros(len(weight))
    grade = judgments.grade
    steps = (
        np.ones(len(weight), dtype=np.int64) if grade is None else np.abs(grade).astype(np.int64)
    )
    steps = np.maximum(steps, 1)
    lean = (outcome - 0.5) * weight * steps
    top = int(steps.max(initial=1))
    levels = np.stack(
        [np.where((steps == g) & (tied == 0.0), weight, 0.0) for g in range(1, top + 1)]
    )
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


def _merged(
    asked: tuple[Any, CodeArray, CodeArray],
    answers: Answers,
    levels: FloatArray,
    n_items: int,
    keys: dict[str, CodeArray],
) -> GeneralRows:
    columns = (*asked, *keys.values())
    order = np.lexsort(columns[::-1])
    columns = tuple(np.asarray(column)[order] for column in columns)
    new = np.ones(len(order), dtype=bool)
    new[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    first = np.flatnonzero(new)

    def total(values: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduceat(values[order], first))

    sizes = np.bincount(columns[0][first])
    return GeneralRows(
        columns[1][first].astype(np.int32),
        columns[2][first].astype(np.int32),
        Answers(*(total(values) for values in answers)),
        np.stack([total(level) for level in levels]),
        np.concatenate([[0], np.cumsum(sizes)]),
        n_items,
        {name: column[first] for name, column in zip(keys, columns[3:], strict=True)},
    )
