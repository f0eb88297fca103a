"""Who put what above what: judgments as compact, immutable columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from aggcal._core.arrays import (
    BoolArray,
    CodeArray,
    FloatArray,
    GradeArray,
    IntArray,
    TextArray,
    constant,
    frozen,
    starts_of,
    sums,
)
from aggcal._core.tables import Columns, as_text
from aggcal._core.text import ROWS
from aggcal.data.base import AnyJudgments
from aggcal.data.codes import labels, refuse_codes
from aggcal.data.row_columns import (
    Categories,
    columns_at,
    positions,
    renumbered,
    rows_between,
    screens_at,
    split_by_screen,
)
from aggcal.data.tallies import Tallies
from aggcal.errors import TooLittleDataError
from aggcal.registry import LOCAL

_ID = 80
"""Bytes that an id takes, about."""
_PIECE = 1 << 20
"""Rows that NumPy takes at a time: few enough for the cache, enough for each call to pay."""


@dataclass(frozen=True, eq=False, repr=False)
class Judgments(AnyJudgments):
    """Pairwise judgments: integer codes with their labels, equal rows merged.

    Row k says that annotator ``annotator[k]`` saw ``left[k]`` and ``right[k]`` and preferred
    the left one with strength ``outcome[k]`` in [0, 1] (1 left, 0 right, 0.5 a tie);
    ``count[k]`` such rows were read, of total weight ``weight[k]``. Rows are sorted by
    annotator, left, right and outcome, so the same data in another order are the same object, but
    for rankings that are recognised by their rows.

    Items and annotators are those with at least one judgment that can be fitted. ``seconds`` is
    the median time that each annotator took (NaN where it is not known); ``sided`` says whether
    left and right are where the items were shown; ``format`` and ``notes`` say what was read and
    what was made of it. ``screen`` is, for each judgment that was read (row k stands ``count[k]``
    times), the number of the ranking or screen that it is part of, where the data name one or it
    was recognised (``aggcal.data.acts``): answers that were given together are not independent;
    ``screen_weight`` what each of them weighs, where those of one row weigh differently.

    Where they were asked for, ``context`` is the number of the prompt, session or screen of each
    row (-1 for none) among ``context_ids``, and ``categories`` further ways to part the rows. Where
    the data have strengths, ``grade`` is how many steps better the left item was said to be: 0 a
    tie, 1 better, 2 much better, and so on, negative for the right; the outcome stays 1, 0 or 0.5.
    Rows that differ in one of these are not merged, and are sorted by grade, context and categories
    after the outcome.

    Examples
    --------
    >>> import aggcal
    >>> judgments = aggcal.read_judgments([("ann", "a", "b"), ("ann", "a", "b"), ("bob", "b", "a")])
    >>> judgments
    Judgments(2 items, 2 annotators, 3 judgments)
    >>> judgments.weight
    array([2., 1.])
    """

    annotator: CodeArray
    left: CodeArray
    right: CodeArray
    outcome: FloatArray
    weight: FloatArray
    count: IntArray
    screen: IntArray | None = None
    screen_weight: FloatArray | None = None
    context: CodeArray | None = None
    categories: tuple[Categories, ...] = ()
    grade: GradeArray | None = None
    engine_name = LOCAL

    def __post_init__(self) -> None:
        for name in (
            "annotator", "left", "right", "outcome", "weight", "count", "seconds", "screen",
            "screen_weight", "context", "grade",
        ):  # fmt: skip
            column = getattr(self, name)
            if column is not None:
                object.__setattr__(self, name, frozen(column))

    @classmethod
    def of_codes(
        cls,
        annotator: CodeArray,
        winner: CodeArray,
        loser: CodeArray,
        *,
        item_ids: TextArray | None = None,
        annotator_ids: TextArray | None = None,
    ) -> Judgments:
        """Make judgments from codes that are numbered already (0, 1, ...), without a copy.

        Rows must be sorted by annotator; every code up to the highest must occur. Equal rows are
        not merged, and rankings that were taken apart are not recognised.

        Examples
        --------
        >>> codes = [np.array(c, dtype=np.int32) for c in ([0, 0, 1], [0, 1, 2], [1, 2, 0])]
        >>> Judgments.of_codes(*codes)
        Judgments(3 items, 2 annotators, 3 judgments)
        """
        if not len(annotator) == len(winner) == len(loser):
            raise TooLittleDataError(
                f"there are {len(annotator):,} annotators, {len(winner):,} winners and "
                f"{len(loser):,} losers; give one of each per row."
            )
        if not len(annotator):
            raise TooLittleDataError("there is no row; give at least one judgment.")
        if not (annotator[1:] >= annotator[:-1]).all():
            refuse_codes("rows are not sorted by annotator")
        selfsame = np.flatnonzero(winner == loser)
        if len(selfsame):
            row = int(selfsame[0])
            refuse_codes(f"row {row + 1:,} compares item code {winner[row]} with itself")
        items, (wins, losses) = labels("item", (winner, loser), item_ids)
        annotators, (given,) = labels("annotator", (annotator,), annotator_ids)
        once = constant(1.0, len(winner))
        number = np.broadcast_to(np.int64(1), (len(winner),))
        found = cls(items, annotators, annotator, winner, loser, once, once, number)
        # What was counted need not be added up again.
        vars(found)["tallies"] = tallies = Tallies.of_wins(wins, losses, given)
        vars(found)["starts"] = frozen(np.concatenate([[0], np.cumsum(tallies.given)]))
        return found

    def __sizeof__(self) -> int:
        # Engines decide by this whether something is worth moving.
        columns: list[npt.NDArray[Any]] = [self.annotator, self.left, self.right]
        columns += [self.outcome, self.weight, self.count]
        columns += [column for column in (self.context, self.grade) if column is not None]
        columns += [each.code for each in self.categories]
        rows = sum(column.nbytes for column in columns if column.strides != (0,))
        return rows + _ID * (self.n_items + self.n_annotators)

    def first_rows(self) -> Columns:
        """Return as many rows as a card shows, with ids."""
        first = slice(0, ROWS)
        found: Columns = {
            "annotator": self.annotator_ids[self.annotator[first]],
            "left": self.item_ids[self.left[first]],
            "right": self.item_ids[self.right[first]],
            "outcome": self.outcome[first],
            "weight": self.weight[first],
            "rows": self.count[first],
        }
        if self.grade is not None:
            found["grade"] = self.grade[first].astype(np.int64)
        if self.context is not None and self.context_ids is not None:
            found[self.context_name] = _named(self.context_ids, self.context[first])
        for each in self.categories:
            found[each.name] = _named(each.ids, each.code[first])
        return found

    @property
    def local(self) -> Judgments:
        """All rows are on this machine."""
        return self

    @property
    def category_ids(self) -> dict[str, TextArray]:
        """The categories of each column by which rows are parted."""
        return {each.name: each.ids for each in self.categories}

    @cached_property
    def n_judgments(self) -> int:
        """Judgments that can be fitted: rows read, less those set aside."""
        return int(self.count.sum())

    @property
    def decided_for_left(self) -> bool:
        """Whether every judgment puts the left item above, as in the short form."""
        return self.outcome.strides == (0,) and bool(self.outcome[:1].all())

    @cached_property
    def n_merged(self) -> int:
        """Judgments with the annotator, the items and the outcome of an earlier one."""
        return self.n_judgments - len(self.count)

    @cached_property
    def starts(self) -> IntArray:
        """Where the rows of each annotator begin; last, where they all end."""
        return frozen(starts_of(self.annotator, self.n_annotators))

    @cached_property
    def tallies(self) -> Tallies:
        """What the judgments add up to, by item and by annotator."""
        return Tallies.of(self)

    @property
    def wins_and_losses(self) -> tuple[FloatArray, FloatArray]:
        """What each item won and lost, by weight; a tie is half of each."""
        return self.tallies.wins, self.tallies.losses

    @property
    def judgments_per_item(self) -> IntArray:
        """How many judgments each item is part of."""
        return frozen(self.tallies.judged)

    @property
    def judgments_per_annotator(self) -> IntArray:
        """How many judgments each annotator gave."""
        return frozen(self.tallies.given)

    @cached_property
    def component(self) -> IntArray:
        """Number of the connected piece of each item, the largest piece being 0."""
        from aggcal.data.graph import Forest

        return Forest.of(self.left, self.right, self.n_items).component

    def agreement(self, scores: FloatArray) -> FloatArray:
        """Return the share of each annotator's weight that the order of the scores confirms."""
        agreed = np.zeros(self.n_annotators)
        for k in range(0, len(self.weight), _PIECE):
            rows = slice(k, k + _PIECE)
            side = np.sign(scores[self.left[rows]] - scores[self.right[rows]])
            agrees = self.weight[rows] * (0.5 + side * (self.outcome[rows] - 0.5))
            agreed += sums(self.annotator[rows], agrees, self.n_annotators)
        return np.asarray(agreed / sums(self.annotator, self.weight, self.n_annotators))

    def of_annotators(self, chosen: IntArray) -> Judgments:
        """Return the judgments of the annotators at these positions, each as often as it stands.

        An annotator who occurs twice becomes two. Items without a judgment left are dropped.

        Examples
        --------
        >>> import aggcal
        >>> both = aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "c")])
        >>> both.of_annotators(np.array([1, 1]))
        Judgments(2 items, 2 annotators, 2 judgments)
        """
        sizes, rows = np.diff(self.starts)[chosen], rows_between(self.starts, chosen)
        left, right = self.left[rows], self.right[rows]
        kept = np.zeros(self.n_items, dtype=bool)
        kept[left] = kept[right] = True
        position = np.cumsum(kept, dtype=np.int32) - np.int32(1)
        copies = [f"{self.annotator_ids[u]} ({k})" for k, u in enumerate(chosen.tolist(), 1)]
        constant_outcome = self.outcome.strides == (0,)
        annotator = np.repeat(np.arange(len(chosen), dtype=np.int32), sizes)
        screens = screens_at(self, rows)
        if screens:  # each copy has rankings of its own
            whose = np.repeat(annotator, self.count[rows]) * (int(screens["screen"].max()) + 1)
            own = np.unique(whose + screens["screen"], return_inverse=True)[1]
            screens["screen"] = own.astype(np.int64)
        return Judgments(
            self.item_ids[kept],
            as_text(copies),
            annotator,
            position[left],
            position[right],
            constant(float(self.outcome[0]), len(rows)) if constant_outcome else self.outcome[rows],
            self.weight[rows],
            self.count[rows],
            source=self.source,
            seconds=None if self.seconds is None else self.seconds[chosen],
            sided=self.sided,
            duplicates=None if self.duplicates is None else 0,
            **columns_at(self, rows),
            **screens,
        )

    def of_rows(self, rows: BoolArray | IntArray) -> Judgments:
        """Return the judgments at these rows: a mask, or positions, each as often as it stands.

        Items and annotators without a row are dropped, and the others numbered anew; contexts and
        categories keep their numbers. What could not be fitted is not part of it.

        Examples
        --------
        >>> import aggcal
        >>> both = aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "c"), ("bob", "c", "a")])
        >>> both.of_rows(both.annotator == 0)
        Judgments(2 items, 1 annotators, 1 judgments)
        """
        chosen = positions(rows, len(self.count))
        items, (left, right) = renumbered((self.left[chosen], self.right[chosen]), self.item_ids)
        annotators, (annotator,) = renumbered((self.annotator[chosen],), self.annotator_ids)
        shared = self.outcome.strides == (0,)
        return Judgments(
            self.item_ids[items],
            self.annotator_ids[annotators],
            annotator,
            left,
            right,
            np.broadcast_to(self.outcome[0], (len(chosen),)) if shared else self.outcome[chosen],
            self.weight[chosen],
            self.count[chosen],
            criteria=self.criteria,
            source=self.source,
            backend=self.backend,
            seconds=None if self.seconds is None else self.seconds[annotators],
            sided=self.sided,
            format=self.format,
            spelling=self.spelling,
            duplicates=None if self.duplicates is None else 0,
            **columns_at(self, chosen),
            **screens_at(self, chosen),
        )

    def with_context_of_screens(self) -> Judgments:
        """Return the same with the rankings or screens of the data as contexts.

        A row that merges answers from several of them is split. Judgments that have a context, or
        no screens, are returned as they are.

        Examples
        --------
        >>> import aggcal
        >>> both = aggcal.read_judgments({"annotator": ["ann", "ann"], "ranking": ["a>b", "a>b"]})
        >>> both.weight, both.context
        (array([2.]), None)
        >>> split = both.with_context_of_screens()
        >>> split.weight, split.context
        (array([1., 1.]), array([0, 1], dtype=int32))
        """
        known = self.screen is not None and len(self.screen) == self.n_judgments
        if self.context is not None or not known:
            return self
        columns = split_by_screen(self)
        merged = self.n_judgments - len(columns["count"])
        fewer = None if self.duplicates is None else min(self.duplicates, merged)
        return replace(self, duplicates=fewer, **columns)

    def swapped(self) -> Judgments:
        """Return the same judgments with every preference turned round.

        Examples
        --------
        >>> import aggcal
        >>> aggcal.read_judgments([("ann", "a", "b")]).swapped().outcome
        array([0.])
        """
        grade = None if self.grade is None else -self.grade
        return replace(self, outcome=1.0 - self.outcome, grade=grade)


def _named(ids: TextArray, codes: CodeArray) -> TextArray:
    """Return the id of each code, blank where there is none."""
    return np.append(ids, "")[codes]
