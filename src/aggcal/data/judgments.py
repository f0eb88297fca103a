"""Who put what above what: judgments as compact, immutable columns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

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
from aggcal.data.base import AnyJudgments, Unfitted
from aggcal.data.ratings import Ratings
from aggcal.data.row_columns import Categories
from aggcal.data.tallies import Tallies
from aggcal.errors import OptionError, TooLittleDataError, count, some
from aggcal.registry import LOCAL

_ID = 80
"""Bytes that an id takes, about."""
_ROW = {"of": "row"}
"""Marks columns that have a number for each row."""
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

    ``ratings`` are those that the rows were taken from, where these are on one scale: the default
    method fits them, and not the rows (see `as_pairs`).

    Examples
    --------
    >>> import aggcal
    >>> judgments = aggcal.read_judgments([("ann", "a", "b"), ("ann", "a", "b"), ("bob", "b", "a")])
    >>> judgments
    Judgments(2 items, 2 annotators, 3 judgments)
    >>> judgments.weight
    array([2., 1.])
    """

    annotator: CodeArray = field(metadata=_ROW)
    left: CodeArray = field(metadata=_ROW)
    right: CodeArray = field(metadata=_ROW)
    outcome: FloatArray = field(metadata=_ROW)
    weight: FloatArray = field(metadata=_ROW)
    count: IntArray = field(metadata=_ROW)
    screen: IntArray | None = None
    screen_weight: FloatArray | None = None
    context: CodeArray | None = field(default=None, metadata=_ROW)
    categories: tuple[Categories, ...] = ()
    grade: GradeArray | None = field(default=None, metadata=_ROW)
    ratings: Ratings | None = None
    engine_name = LOCAL

    def __post_init__(self) -> None:
        for each in fields(self):
            column = getattr(self, each.name)
            if isinstance(column, np.ndarray) and column.dtype != object:
                object.__setattr__(self, each.name, frozen(column))

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
            _refuse_codes("rows are not sorted by annotator")
        selfsame = np.flatnonzero(winner == loser)
        if len(selfsame):
            row = int(selfsame[0])
            _refuse_codes(f"row {row + 1:,} compares item code {winner[row]} with itself")
        items = _labels("item", (winner, loser), item_ids)
        annotators = _labels("annotator", (annotator,), annotator_ids)
        once = constant(1.0, len(winner))
        number = np.broadcast_to(np.int64(1), (len(winner),))
        return cls(items, annotators, annotator, winner, loser, once, once, number)

    def __getstate__(self) -> dict[str, Any]:
        columns = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: _Constant.of(column) for name, column in columns.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            column = value.column if isinstance(value, _Constant) else value
            object.__setattr__(self, name, column)
        self.__post_init__()

    def __sizeof__(self) -> int:
        # Engines decide by this whether something is worth moving.
        columns = [getattr(self, each.name) for each in fields(self) if each.metadata == _ROW]
        columns += [each.code for each in self.categories]
        rows = sum(
            column.nbytes for column in columns if column is not None and column.strides != (0,)
        )
        return int(rows) + _ID * (self.n_items + self.n_annotators)

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

    @property
    def is_copied(self) -> bool:
        """Whether every row was read at least twice, as of a table that was pasted twice."""
        return bool((self.count > 1).all())

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
        rows = _rows_between(self.starts, chosen)
        own = np.repeat(np.arange(len(chosen), dtype=np.int32), np.diff(self.starts)[chosen])
        part = self.take(rows)
        if part["screen"] is not None:  # each copy has rankings of its own
            whose = np.repeat(own, self.count[rows]) * (int(part["screen"].max()) + 1)
            number = np.unique(whose + part["screen"], return_inverse=True)[1]
            part["screen"] = number.astype(np.int64)
        copies = [f"{self.annotator_ids[u]} ({k})" for k, u in enumerate(chosen.tolist(), 1)]
        seconds = None if self.seconds is None else self.seconds[chosen]
        return self._of(part | {"annotator": own}, as_text(copies), seconds, chosen)

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
        chosen = _positions(rows, len(self.count))
        part = self.take(chosen)
        kept, (part["annotator"],) = _renumbered((part["annotator"],), self.annotator_ids)
        seconds = None if self.seconds is None else self.seconds[kept]
        # What stays of ratings whose pairs were left out in part, nobody knows.
        whole = len(chosen) == int(np.diff(self.starts)[kept].sum())
        who = np.flatnonzero(kept) if whole else None
        return self._of(part, self.annotator_ids[kept], seconds, who)

    def take(self, rows: IntArray | slice) -> dict[str, Any]:
        """Return every column at these rows, as arguments; one that is constant stays so.

        A slice, from a row on up to one, gives views.

        Examples
        --------
        >>> import aggcal
        >>> both = aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "c")])
        >>> both.take(np.array([1]))["left"]
        array([1], dtype=int32)
        """
        return {
            **{
                each.name: _taken(getattr(self, each.name), rows)
                for each in fields(self)
                if each.metadata == _ROW
            },
            "categories": tuple(replace(each, code=each.code[rows]) for each in self.categories),
            **self._screens(rows),
        }

    def _screens(self, rows: IntArray | slice) -> dict[str, Any]:
        """Return the screens of the judgments that these rows stand for, as arguments."""
        screen, weight = self.screen, self.screen_weight
        if screen is None or len(screen) != self.n_judgments:
            # Where counts were changed by hand, nobody knows whose screens these are.
            return {"screen": None, "screen_weight": None}
        ends = np.append(0, np.cumsum(self.count))
        at: IntArray | slice
        if isinstance(rows, slice):
            at = slice(int(ends[rows.start]), int(ends[rows.stop]))
        else:
            at = _rows_between(ends, rows)
        return {"screen": screen[at], "screen_weight": None if weight is None else weight[at]}

    def as_pairs(self) -> Judgments:
        """Return the same as comparisons alone: those that ratings imply, without the ratings.

        Examples
        --------
        >>> import aggcal
        >>> reviews = {"annotator": ["ann", "ann"], "item": ["p", "q"], "rating": [3, 5]}
        >>> aggcal.read_judgments(reviews).as_pairs().ratings is None
        True
        """
        return self if self.ratings is None else replace(self, ratings=None)

    def _of(
        self,
        part: dict[str, Any],
        annotator_ids: TextArray,
        seconds: FloatArray | None,
        chosen: IntArray | None,
    ) -> Judgments:
        """Return judgments of some rows alone, their items numbered anew.

        ``chosen`` are the annotators whose rows these are, all of them; None if not all.
        """
        kept, (left, right) = _renumbered((part["left"], part["right"]), self.item_ids)
        ratings = None
        if self.ratings is not None and chosen is not None:
            ratings = self.ratings.of_annotators(chosen, kept)
        return replace(
            self,
            item_ids=self.item_ids[kept],
            annotator_ids=annotator_ids,
            seconds=seconds,
            unfitted=Unfitted.none(),
            notes=(),
            duplicates=None if self.duplicates is None else 0,
            ratings=ratings,
            **part | {"left": left, "right": right},
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
        screen, number = self.screen, self.count
        if self.context is not None or screen is None or len(screen) != self.n_judgments:
            return self
        row: IntArray = np.repeat(np.arange(len(number)), number)
        numbers, context = np.unique(screen, return_inverse=True)
        context = context.ravel().astype(np.int32)
        order = np.lexsort((context, row))
        row, context, screen = row[order], context[order], screen[order]
        weight = self.screen_weight
        each = (self.weight / number)[row] if weight is None else weight[order]
        starts = np.append(True, (row[1:] != row[:-1]) | (context[1:] != context[:-1]))[: len(row)]
        first = np.flatnonzero(starts)
        merged = self.n_judgments - len(first)
        columns = self.take(row[first]) | {
            "weight": np.add.reduceat(each, first) if len(first) else each,
            "count": np.diff(np.append(first, len(row))),
            "context": context[first],
            "context_ids": as_text(range(1, len(numbers) + 1)),
            "context_name": "screen",
            "screen": screen,
            "screen_weight": None if weight is None else each,
            "duplicates": None if self.duplicates is None else min(self.duplicates, merged),
        }
        return replace(self, **columns)

    def swapped(self) -> Judgments:
        """Return the same judgments with every preference turned round.

        Examples
        --------
        >>> import aggcal
        >>> aggcal.read_judgments([("ann", "a", "b")]).swapped().outcome
        array([0.])
        """
        grade = None if self.grade is None else -self.grade
        turned = None if self.ratings is None else self.ratings.swapped()
        return replace(self, outcome=1.0 - self.outcome, grade=grade, ratings=turned)


class _Constant(NamedTuple):
    """A column that is the same in all rows, as it is sent to another process."""

    value: Any
    rows: int

    @classmethod
    def of(cls, column: Any) -> Any:
        """Return what stands for a column; anything that is no such column stays as it is."""
        constant = isinstance(column, np.ndarray) and column.strides == (0,) and len(column)
        return cls(column[:1].copy(), len(column)) if constant else column

    @property
    def column(self) -> npt.NDArray[Any]:
        """The column."""
        return np.broadcast_to(self.value, (self.rows,))


def _taken(column: npt.NDArray[Any] | None, rows: IntArray | slice) -> npt.NDArray[Any] | None:
    """Return a column at some rows; one that is the same everywhere goes on taking no memory."""
    if column is None or isinstance(rows, slice) or column.strides != (0,):
        return None if column is None else column[rows]
    return np.broadcast_to(column[:1], (len(rows),))


def _named(ids: TextArray, codes: CodeArray) -> TextArray:
    """Return the id of each code, blank where there is none."""
    return np.append(ids, "")[codes]


def _rows_between(starts: IntArray, chosen: IntArray) -> IntArray:
    """Return the rows of the annotators at these positions, where they begin being known."""
    sizes = starts[chosen + 1] - starts[chosen]
    before = np.cumsum(sizes) - sizes
    return np.asarray(np.arange(int(sizes.sum())) + np.repeat(starts[chosen] - before, sizes))


def _positions(rows: BoolArray | IntArray, length: int) -> IntArray:
    """Return positions in rising order, of a mask or of positions in any order."""
    if rows.dtype == np.bool_:
        if len(rows) != length:
            raise OptionError(
                f"a mask of {len(rows):,} entries cannot choose among {length:,} rows; give one "
                "entry for each."
            )
        return np.flatnonzero(rows)
    found = np.sort(rows).astype(np.int64)
    if len(found) and not 0 <= found[0] <= found[-1] < length:
        raise OptionError(
            f"there are {length:,} rows, so positions {found[0]:,} to {found[-1]:,} are not all "
            "among them; count them from 0."
        )
    return found


def _renumbered(
    codes: tuple[CodeArray, ...], ids: TextArray
) -> tuple[BoolArray, tuple[CodeArray, ...]]:
    """Return which ids occur, and the codes counted among those alone."""
    kept = np.zeros(len(ids), dtype=bool)
    for column in codes:
        kept[column] = True
    position = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    return kept, tuple(position[column] for column in codes)


def _labels(kind: str, columns: tuple[CodeArray, ...], ids: TextArray | None) -> TextArray:
    """Return an id for each code; every number must be used."""
    lowest, n = min(c.min() for c in columns), int(max(c.max() for c in columns)) + 1
    if lowest < 0:
        _refuse_codes(f"{kind} codes begin at {lowest}, not at 0")
    unused = np.flatnonzero(sum(np.bincount(column, minlength=n) for column in columns) == 0)
    if len(unused):
        _refuse_codes(f"{kind} code {unused[0]} does not occur, though {n - 1} does")
    if ids is None:
        return as_text(range(n))
    if len(ids) != n:
        _refuse_codes(f"there are {count(len(ids), 'id')} for {count(n, kind)}")
    if twice := [one for one, often in Counter(ids.tolist()).items() if often > 1]:
        _refuse_codes(f"{kind} id {some(twice)} is given twice")
    return ids


def _refuse_codes(why: str) -> NoReturn:
    """Refuse codes: they were numbered by who called."""
    raise TooLittleDataError(f"{why}; correct the codes, or give ids to read_judgments instead.")
