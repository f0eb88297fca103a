"""What is known of judgments wherever their rows lie: ids, counts, and what was read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, TextArray
from aggcal._core.tables import Columns
from aggcal._core.text import card, clipped, wrapped
from aggcal.errors import OptionError, TooLittleDataError, count, did_you_mean, printable, some
from aggcal.registry import TABLE

if TYPE_CHECKING:
    from aggcal.data.graph import ComparisonGraph
    from aggcal.data.judgments import Judgments
    from aggcal.data.spelling import Spelling

UNNAMED = "unknown"
"""The annotator of judgments that name none."""
LONE = "compares fewer than two items"
"""What is said of a ranking or ratings of one item: an answer that is not fitted."""
NO_RATING = "no rating"
"""What is said of a blank cell among ratings."""


@dataclass(frozen=True)
class Unfitted:
    """Rows that are kept and counted but say nothing about the order.

    ``reason`` is one of ``not answered`` (a blank cell), ``skip``, ``failed``, ``self-pair``,
    ``zero weight`` and ``other criterion``; ``detail`` what the file says beyond that,
    ``location`` where the first of ``count`` such rows stands.
    """

    annotator: TextArray
    left: TextArray
    right: TextArray
    reason: TextArray
    count: IntArray
    location: TextArray
    detail: TextArray

    @classmethod
    def none(cls) -> Unfitted:
        """No such row."""
        empty: TextArray = np.empty(0, dtype=object)
        number: IntArray = np.empty(0, dtype=np.int64)
        return cls(empty, empty, empty, empty, number, empty, empty)

    def without(self, annotators: list[str]) -> Unfitted:
        """Return the rows of the other annotators."""
        rows = ~np.isin(self.annotator.astype(str), annotators)
        return Unfitted(*(getattr(self, each.name)[rows] for each in fields(self)))

    def __str__(self) -> str:
        """Name every such row, a line each."""
        columns = (self.location, self.annotator, self.left, self.right, self.reason, self.detail)
        lines = []
        for location, who, left, right, reason, detail, n in zip(
            *columns, self.count.tolist(), strict=True
        ):
            shown = f"{left} and {right}" if left and right else left or right or "items unknown"
            why = f"{reason} ({detail})" if detail else reason
            more = f", {n:,} times" if n > 1 else ""
            line = f"{location}: {why}: {who or 'annotator unknown'}, {shown}{more}"
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


@dataclass(frozen=True, eq=False, repr=False)
class AnyJudgments(ABC):
    """Judgments in memory (`Judgments`) or held by an engine (`RemoteJudgments`).

    Fits and results ask for what is here. Whatever needs the rows themselves asks
    `on_one_machine` for them, by name, and is refused where no machine has them all.
    """

    item_ids: TextArray
    annotator_ids: TextArray
    _: KW_ONLY
    unfitted: Unfitted = field(default_factory=Unfitted.none)
    criteria: tuple[str, ...] = ()
    source: str = "judgments"
    backend: str | None = None
    seconds: FloatArray | None = None
    sided: bool = False
    format: str = TABLE
    notes: tuple[str, ...] = ()
    spelling: Spelling | None = None
    """Which spellings of ids mean the same, where the user had some merged."""
    duplicates: int | None = None
    """How many rows repeat an earlier one in every column; None: all that were merged do."""
    dated: bool = False
    """Whether rows have an id or a time, so that equal ones are one answer recorded twice."""
    context_ids: TextArray | None = None
    context_name: str = "context"
    """What the context is, as the user or the format calls it: prompt, session, ranking."""
    on_engine: ClassVar[bool] = False
    """Whether an engine sums over the rows."""

    if TYPE_CHECKING:  # worked out from rows in memory, attributes where an engine told them

        @property
        def engine_name(self) -> str:
            """Name of the engine that holds the rows; ``local`` for this machine."""

        @property
        def category_ids(self) -> dict[str, TextArray]:
            """The categories of each column by which rows are parted."""

        @property
        def n_judgments(self) -> int:
            """Judgments that can be fitted: rows read, less those set aside."""

        @property
        def n_merged(self) -> int:
            """Judgments with the annotator, the items and the outcome of an earlier one."""

        @property
        def wins_and_losses(self) -> tuple[FloatArray, FloatArray]:
            """What each item won and lost, by weight; a tie is half of each."""

        @property
        def judgments_per_item(self) -> IntArray:
            """How many judgments each item is part of."""

        @property
        def judgments_per_annotator(self) -> IntArray:
            """How many judgments each annotator gave."""

        @property
        def component(self) -> IntArray:
            """Number of the connected piece of each item, the largest piece being 0."""

    @property
    @abstractmethod
    def local(self) -> Judgments | None:
        """The same with all rows on this machine; None where it does not have them."""

    @property
    def graph(self) -> ComparisonGraph:
        """Which items were compared."""
        from aggcal.data.graph import ComparisonGraph

        return ComparisonGraph(self)

    @abstractmethod
    def agreement(self, scores: FloatArray) -> FloatArray:
        """Return the share of each annotator's weight that the order of the scores confirms."""

    @abstractmethod
    def of_annotators(self, chosen: IntArray) -> AnyJudgments:
        """Return the judgments of the annotators at these positions, each as often as it stands."""

    @abstractmethod
    def swapped(self) -> AnyJudgments:
        """Return the same judgments with every preference turned round."""

    def about(self) -> dict[str, Any]:
        """Return what is known without the rows, by name."""
        return {part.name: getattr(self, part.name) for part in fields(AnyJudgments)}

    def on_one_machine(self, what: str) -> Judgments:
        """Return the judgments with all rows on this machine; refuse ``what`` if it has not.

        Examples
        --------
        >>> import aggcal
        >>> judgments = aggcal.read_judgments([("ann", "a", "b")])
        >>> judgments.on_one_machine("a check") is judgments
        True
        """
        local = self.local
        if local is None:
            raise OptionError(
                f"{what} needs all rows on one machine, but an engine has distributed them; choose "
                "the engine 'local'."
            )
        return local

    def without(self, *annotators: str) -> Judgments:
        """Return the judgments of everybody but these annotators; its notes say so.

        Examples
        --------
        >>> import aggcal
        >>> both = aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "a"), ("bob", "a", "b")])
        >>> both.without("bob").notes
        ("without 'bob' (2 judgments)",)
        >>> both.without("bop")
        Traceback (most recent call last):
        aggcal.errors.OptionError: annotator 'bop' gave no judgment (did you mean 'bob'?); give ...
        """
        judgments = self.on_one_machine("leaving out annotators")
        named = list(dict.fromkeys(map(str, annotators)))
        if not named:
            return judgments
        for name in named:
            if name not in judgments.annotator_ids:
                near = did_you_mean(name, judgments.annotator_ids)
                raise OptionError(
                    f"annotator '{name}' gave no judgment{near}; give ids as they are in "
                    f"{judgments.source}."
                )
        gone = np.isin(judgments.annotator_ids, named)[judgments.annotator]
        if gone.all():
            raise TooLittleDataError(
                f"without {some(named)} there is no judgment left; leave out fewer annotators."
            )
        note = f"without {some(named)} ({count(int(judgments.count[gone].sum()), 'judgment')})"
        left = judgments.of_rows(~gone)
        if items := judgments.n_items - left.n_items:
            note += f": {count(items, 'item')} that nobody else compared left out too"
        unfitted, notes = judgments.unfitted.without(named), (*judgments.notes, note)
        return replace(left, unfitted=unfitted, notes=notes)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.n_items:,} items, {self.n_annotators:,} annotators, "
            f"{self.n_judgments:,} judgments)"
        )

    def __str__(self) -> str:
        return wrapped(repr(self), *self._remarks())

    def _repr_html_(self) -> str:
        local = self.local
        columns: Columns = {} if local is None else local.first_rows()
        rows = 0 if local is None else len(local.count)
        return card(repr(self), columns, rows=rows, notes=self._remarks())

    def _remarks(self) -> list[str]:
        """Say what is not in the counts: where it comes from, what was merged or set aside."""
        said = [f"from {clipped(self.source, 60)} ({self.format})"]
        if self.on_engine:
            said.append(f"held by the engine {self.engine_name}")
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
    def n_rows(self) -> int:
        """Rows read, those that are not fitted included."""
        return self.n_judgments + int(self.unfitted.count.sum())

    @property
    def n_duplicates(self) -> int:
        """Rows that are equal to an earlier one in every column of the file."""
        return self.n_merged if self.duplicates is None else self.duplicates

    @property
    def recorded_twice(self) -> bool:
        """Whether duplicates are no further answers: of equal time or id, or a whole copy."""
        copied = self.local is not None and self.duplicates is None and self.local.is_copied
        return self.n_duplicates > 0 and (self.dated or copied)

    @property
    def n_repeated(self) -> int:
        """Judgments that repeat an earlier answer of the same annotator, duplicates left out."""
        return self.n_merged - self.n_duplicates

    @property
    def unjudged_ids(self) -> list[str]:
        """Items that were shown but have no judgment that can be fitted."""
        shown = set(self.unfitted.left) | set(self.unfitted.right)
        return sorted(shown - {""} - set(self.item_ids))
