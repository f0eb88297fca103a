"""The decided answers of a study, counted by annotator, question and side, act by act."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from aggcal._core.arrays import FloatArray, IntArray, sums
from aggcal.data.judgments import Judgments

TIE = 0.5
"""The outcome of a tie, which says nothing here."""
ALONE = -1
"""The act of answers that were given one by one."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Answers to one question by one annotator, seen from one side; sorted by annotator.

    A question is a pair of items, ``low`` and ``high``, in a context where contexts are known. An
    act is a ranking, a screen or a series of ratings: its answers depend on each other.
    """

    who: IntArray
    question: IntArray
    side: IntArray
    """1 where ``low`` was shown on the left, −1 where ``high`` was; 0 where sides are unknown."""
    act: IntArray
    number: FloatArray
    """Answers."""
    weight: FloatArray
    """What each of them weighs in the scores."""
    evidence: FloatArray
    """What each of them tells of its annotator: its weight, at most 1."""
    low: IntArray
    high: IntArray
    people: IntArray
    """The annotators, by their numbers in the study; ``who`` counts within these."""
    things: IntArray
    """The items, likewise."""

    @classmethod
    def of(cls, judgments: Judgments, rows: IntArray | None = None) -> tuple[Cells, FloatArray]:
        """Count the answers of a study; return also how often the lower item won in each cell.

        Parameters
        ----------
        judgments
            The study.
        rows
            Some of its rows; the cells then have only the annotators and items of these.

        Examples
        --------
        >>> import aggcal
        >>> rows = [("ann", "a", "b"), ("ann", "a", "b"), ("bob", "b", "a")]
        >>> cells, won = Cells.of(aggcal.read_judgments(rows))
        >>> cells.number, won
        (array([2., 1.]), array([2., 0.]))
        """
        given = np.asarray(judgments.count)
        row: IntArray = np.arange(len(given))
        chosen = np.ones(len(given), dtype=bool)
        if rows is not None:
            chosen[:] = False
            chosen[rows] = True
        weight, act = judgments.weight / given, np.full(len(given), ALONE)
        if judgments.screen is not None and len(judgments.screen) == judgments.n_judgments:
            row = np.repeat(row, given)
            weight, given, act = weight[row], np.ones(len(row), dtype=np.int64), judgments.screen
            if judgments.screen_weight is not None:
                weight = judgments.screen_weight
        decided = chosen[row] & (judgments.outcome[row] != TIE)
        row, weight, given, act = row[decided], weight[decided], given[decided], act[decided]
        people: IntArray = np.arange(judgments.n_annotators)
        things: IntArray = np.arange(judgments.n_items)
        who = judgments.annotator[row].astype(np.int64)
        left, right = (side[row].astype(np.int64) for side in (judgments.left, judgments.right))
        if rows is not None:
            people, who = np.unique(who, return_inverse=True)
            things, both = np.unique(np.concatenate([left, right]), return_inverse=True)
            left, right = np.split(both, 2)
        context = 0 if judgments.context is None else judgments.context[row].astype(np.int64) + 1
        low, high, turned = np.minimum(left, right), np.maximum(left, right), left > right
        asked, question = _numbered(low, high, context + np.zeros_like(low))
        side = np.where(turned, -1, 1) * judgments.sided
        act = _numbered(np.where(act < 0, ALONE, act))[1] - int((act < 0).any())
        keys, cell = _numbered(who, question, side, act, np.round(1e6 * weight).astype(np.int64))
        size = len(keys[0])
        first = (judgments.outcome[row] > TIE) != turned
        won, number = sums(cell, given * first, size), sums(cell, given, size)
        each = keys[4] / 1e6
        who, question, side, act, _ = keys
        found = cls(
            who,
            question,
            side,
            act,
            number,
            each,
            np.minimum(each, 1.0),
            asked[0],
            asked[1],
            people,
            things,
        )
        return found, won

    @property
    def annotators(self) -> int:
        """How many there are."""
        return len(self.people)

    @property
    def items(self) -> int:
        """How many there are."""
        return len(self.things)

    def of_rows(self, kept: Any) -> Cells:
        """Return some of the cells; items and annotators keep their numbers."""
        return replace(
            self,
            who=self.who[kept],
            question=self.question[kept],
            side=self.side[kept],
            act=self.act[kept],
            number=self.number[kept],
            weight=self.weight[kept],
            evidence=self.evidence[kept],
        )

    @cached_property
    def ends(self) -> tuple[IntArray, IntArray]:
        """The lower and the higher item of each cell."""
        return self.low[self.question], self.high[self.question]

    @cached_property
    def by_item(self) -> Any:
        """Adds cells up by item: those of the lower item less those of the higher one."""
        cells = np.arange(len(self.who))
        signs = np.repeat([1.0, -1.0], len(cells))
        at = np.concatenate(self.ends), np.concatenate([cells, cells])
        return sparse.csr_array((signs, at), (self.items, len(cells)))

    @cached_property
    def by_who(self) -> Any:
        """Adds cells up by annotator."""
        return indicator(self.who, self.annotators)

    @cached_property
    def starts(self) -> IntArray:
        """Where each annotator's cells begin."""
        return np.searchsorted(self.who, np.arange(self.annotators + 1))

    def gap(self, scores: FloatArray) -> FloatArray:
        """Return how far the lower item lies above the higher one, cell by cell."""
        low, high = self.ends
        return np.asarray(scores[low] - scores[high])


def indicator(of: IntArray, size: int) -> Any:
    """Return the matrix that adds rows up by their group."""
    return sparse.csr_array((np.ones(len(of)), (of, np.arange(len(of)))), (size, len(of)))


def _numbered(*columns: IntArray) -> tuple[list[IntArray], IntArray]:
    """Return the distinct rows of some columns, in order, and the number of each row."""
    if not len(columns[0]):
        return [column.astype(np.int64) for column in columns], np.zeros(0, dtype=np.int64)
    order = np.lexsort(columns[::-1])
    new = np.zeros(len(order), dtype=bool)
    for column in columns:
        new[1:] |= np.diff(column[order]) != 0
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(new)
    new[0] = True
    return [column[order][new].astype(np.int64) for column in columns], number
