"""Who put what above what: judgments as compact, immutable columns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NoReturn

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, TextArray, constant, frozen, sums
from aggcal._core.tables import Columns, as_text
from aggcal._core.text import ROWS, card, clipped, wrapped
from aggcal.errors import TooLittleDataError, count, printable, some
from aggcal.registry import TABLE

_ID = 80
"""Bytes that an id takes, about."""


@dataclass(frozen=True)
class Unfitted:
    """Rows that are kept and counted but say nothing about the order.

    ``reason`` is one of ``skip``, ``failed``, ``self-pair``, ``zero weight`` and ``other
    criterion``; ``detail`` what the file says beyond that, ``place`` where the first of ``count``
    such rows stands.
    """

    annotator: TextArray
    left: TextArray
    right: TextArray
    reason: TextArray
    count: IntArray
    place: TextArray
    detail: TextArray

    @classmethod
    def none(cls) -> Unfitted:
        """No such row."""
        empty: TextArray = np.empty(0, dtype=object)
        number: IntArray = np.empty(0, dtype=np.int64)
        return cls(empty, empty, empty, empty, number, empty, empty)

    def __str__(self) -> str:
        """Name every such row, a line each."""
        columns = (self.place, self.annotator, self.left, self.right, self.reason, self.detail)
        lines = []
        for place, who, left, right, reason, detail, n in zip(
            *columns, self.count.tolist(), strict=True
        ):
            shown = f"{left} and {right}" if left and right else left or right or "items unknown"
            why = f"{reason} ({detail})" if detail else reason
            more = f", {n:,} times" if n > 1 else ""
            line = f"{place}: {why}: {who or 'annotator unknown'}, {shown}{more}"
            lines.append(printable(line))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Unfitted({count(int(self.count.sum()), 'row')})"

    @property
    def counts(self) -> dict[str, int]:
        """How many rows there are for each reason."""
        total: Counter[str] = Counter()
        for reason, number in zip(self.reason, self.count.tolist(), strict=True):
            total[reason] += number
        return dict(sorted(total.items()))


@dataclass(frozen=True, eq=False)
class Judgments:
    """Pairwise judgments: integer codes with their labels, equal rows merged.

    Row k says that annotator ``annotator[k]`` saw ``left[k]`` and ``right[k]`` and preferred
    the left one with strength ``outcome[k]`` in [0, 1] (1 left, 0 right, 0.5 a tie);
    ``count[k]`` such rows were read, of total weight ``weight[k]``. Rows are sorted by
    annotator, left, right and outcome, so the same data in another order are the same object.

    Items and annotators are those with at least one judgment that can be fitted. ``seconds`` is
    the median time that each annotator took (NaN where it is not known); ``sided`` says whether
    left and right are where the items were shown; ``format`` and ``notes`` say what was read and
    what was made of it. ``screen`` is, for each judgment that was read (row k stands ``count[k]``
    times), the number of the ranking or screen that it is part of, where the data name one: answers
    that were given together are not independent.

    Examples
    --------
    >>> import aggcal
    >>> judgments = aggcal.read_judgments([("ann", "a", "b"), ("ann", "a", "b"), ("bob", "b", "a")])
    >>> judgments
    Judgments(2 items, 2 annotators, 3 judgments)
    >>> judgments.weight
    array([2., 1.])
    """

    item_ids: TextArray
    annotator_ids: TextArray
    annotator: CodeArray
    left: CodeArray
    right: CodeArray
    outcome: FloatArray
    weight: FloatArray
    count: IntArray
    unfitted: Unfitted = field(default_factory=Unfitted.none)
    criteria: tuple[str, ...] = ()
    source: str = "judgments"
    backend: str | None = None
    seconds: FloatArray | None = None
    sided: bool = False
    format: str = TABLE.name
    notes: tuple[str, ...] = ()
    duplicates: int | None = None
    """How many rows repeat an earlier one in every column; None: all that were merged do."""
    screen: IntArray | None = None

    def __post_init__(self) -> None:
        for name in (
            "annotator", "left", "right", "outcome", "weight", "count", "seconds", "screen",
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
        not merged.

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
        return cls(
            _labels("item", (winner, loser), item_ids),
            _labels("annotator", (annotator,), annotator_ids),
            annotator,
            winner,
            loser,
            constant(1.0, len(winner)),
            constant(1.0, len(winner)),
            np.broadcast_to(np.int64(1), (len(winner),)),
        )

    def __sizeof__(self) -> int:
        # Engines decide by this whether something is worth moving.
        columns = (self.annotator, self.left, self.right, self.outcome, self.weight, self.count)
        rows = sum(column.nbytes for column in columns if column.strides != (0,))
        return rows + _ID * (self.n_items + self.n_annotators)

    def __repr__(self) -> str:
        return (
            f"Judgments({self.n_items:,} items, {self.n_annotators:,} annotators, "
            f"{self.n_judgments:,} judgments)"
        )

    def __str__(self) -> str:
        return wrapped(repr(self), *self._remarks())

    def _repr_html_(self) -> str:
        first = slice(0, ROWS)
        columns: Columns = {
            "annotator": self.annotator_ids[self.annotator[first]],
            "left": self.item_ids[self.left[first]],
            "right": self.item_ids[self.right[first]],
            "outcome": self.outcome[first],
            "weight": self.weight[first],
            "rows": self.count[first],
        }
        return card(repr(self), columns, rows=len(self.count), notes=self._remarks())

    def _remarks(self) -> list[str]:
        """Say what is not in the counts: where it comes from, what was merged or set aside."""
        said = [f"from {clipped(self.source, 60)} ({self.format})"]
        if self.n_duplicates:
            said.append(f"{count(self.n_duplicates, 'duplicate row')} (every column equal)")
        if self.n_repeated:
            said.append(f"{count(self.n_repeated, 'repeated answer')}")
        if self.unfitted.counts:
            kinds = ", ".join(f"{n:,} {reason}" for reason, n in self.unfitted.counts.items())
            said.append(f"not fitted: {kinds}")
        said += [clipped(note, 200) for note in self.notes]
        return said

    @property
    def n_items(self) -> int:
        """Items with at least one fitted judgment."""
        return len(self.item_ids)

    @property
    def n_annotators(self) -> int:
        """Annotators with at least one fitted judgment."""
        return len(self.annotator_ids)

    @property
    def n_judgments(self) -> int:
        """Judgments that can be fitted: rows read, less those set aside."""
        return int(self.count.sum())

    @property
    def n_rows(self) -> int:
        """Rows read, those that are not fitted included."""
        return self.n_judgments + int(self.unfitted.count.sum())

    @property
    def decided_for_left(self) -> bool:
        """Whether every judgment puts the left item above, as in the short form."""
        return self.outcome.strides == (0,) and bool(self.outcome[:1].all())

    @property
    def n_merged(self) -> int:
        """Judgments with the annotator, the items and the outcome of an earlier one."""
        return self.n_judgments - len(self.count)

    @property
    def n_duplicates(self) -> int:
        """Rows that are equal to an earlier one in every column of the file."""
        return self.n_merged if self.duplicates is None else self.duplicates

    @property
    def n_repeated(self) -> int:
        """Judgments that repeat an earlier answer of the same annotator, duplicates left out."""
        return self.n_merged - self.n_duplicates

    @cached_property
    def wins_and_losses(self) -> tuple[FloatArray, FloatArray]:
        """What each item won and lost, by weight; a tie is half of each."""
        n, left, right, weight = self.n_items, self.left, self.right, self.weight
        if self.decided_for_left:
            return sums(left, weight, n), sums(right, weight, n)
        ahead, behind = weight * self.outcome, weight * (1.0 - self.outcome)
        wins = sums(left, ahead, n) + sums(right, behind, n)
        return wins, sums(left, behind, n) + sums(right, ahead, n)

    @cached_property
    def judgments_per_item(self) -> IntArray:
        """How many judgments each item is part of."""
        n = self.n_items
        if self.weight.strides == (0,) and self.count.strides == (0,) and self.weight[0] == 1.0:
            return frozen(np.rint(np.add(*self.wins_and_losses)).astype(np.int64))
        both = sums(self.left, self.count, n) + sums(self.right, self.count, n)
        return frozen(both.astype(np.int64))

    @cached_property
    def judgments_per_annotator(self) -> IntArray:
        """How many judgments each annotator gave."""
        return frozen(sums(self.annotator, self.count, self.n_annotators).astype(np.int64))

    @property
    def unjudged_ids(self) -> list[str]:
        """Items that were shown but have no judgment that can be fitted."""
        shown = set(self.unfitted.left) | set(self.unfitted.right)
        return sorted(shown - {""} - set(self.item_ids))

    def of_annotators(self, chosen: IntArray) -> Judgments:
        """Return the judgments of the annotators at these positions, each as often as it stands.

        An annotator who stands twice becomes two. Items without a judgment left are dropped.

        Examples
        --------
        >>> import aggcal
        >>> both = aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "c")])
        >>> both.of_annotators(np.array([1, 1]))
        Judgments(2 items, 2 annotators, 2 judgments)
        """
        starts = np.searchsorted(self.annotator, np.arange(self.n_annotators + 1))
        sizes = np.diff(starts)[chosen]
        ends = np.cumsum(sizes)
        rows = np.arange(ends[-1]) + np.repeat(starts[chosen] - (ends - sizes), sizes)
        left, right = self.left[rows], self.right[rows]
        kept = np.zeros(self.n_items, dtype=bool)
        kept[left] = kept[right] = True
        place = np.cumsum(kept, dtype=np.int32) - np.int32(1)
        copies = [f"{self.annotator_ids[u]} ({k})" for k, u in enumerate(chosen.tolist(), 1)]
        constant_outcome = self.outcome.strides == (0,)
        return Judgments(
            self.item_ids[kept],
            as_text(copies),
            np.repeat(np.arange(len(chosen), dtype=np.int32), sizes),
            place[left],
            place[right],
            constant(float(self.outcome[0]), len(rows)) if constant_outcome else self.outcome[rows],
            self.weight[rows],
            self.count[rows],
            source=self.source,
            seconds=None if self.seconds is None else self.seconds[chosen],
            sided=self.sided,
            duplicates=None if self.duplicates is None else 0,
        )

    def swapped(self) -> Judgments:
        """Return the same judgments with every preference turned round.

        Examples
        --------
        >>> import aggcal
        >>> aggcal.read_judgments([("ann", "a", "b")]).swapped().outcome
        array([0.])
        """
        return replace(self, outcome=1.0 - self.outcome)


def _labels(kind: str, columns: tuple[CodeArray, ...], ids: TextArray | None) -> TextArray:
    """Return an id for each code of these columns, which must use every number from 0 on."""
    lowest, n = min(c.min() for c in columns), int(max(c.max() for c in columns)) + 1
    if lowest < 0:
        _refuse_codes(f"{kind} codes begin at {lowest}, not at 0")
    seen = sum(sums(column, constant(1.0, len(column)), n) for column in columns)
    unused = np.flatnonzero(seen == 0.0)
    if len(unused):
        _refuse_codes(f"{kind} code {unused[0]} does not occur, though {n - 1} does")
    if ids is None:
        return as_text(range(n))
    if len(ids) != n:
        _refuse_codes(f"there are {count(len(ids), 'id')} for {count(n, kind)}")
    twice = [one for one, often in Counter(ids.tolist()).items() if often > 1]
    if twice:
        _refuse_codes(f"{kind} id {some(twice)} is given twice")
    return ids


def _refuse_codes(why: str) -> NoReturn:
    raise TooLittleDataError(f"{why}; mend the codes, or give ids to read_judgments instead.")
