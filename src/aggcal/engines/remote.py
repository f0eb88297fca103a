"""Judgments that lie on an engine: here are their ids, counts and pieces, not their rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, NoReturn

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, frozen
from aggcal.data.graph import ComparisonGraph
from aggcal.data.judgments import Judgments
from aggcal.engines.base import Engine, Shards
from aggcal.engines.gpu.engine import DeviceJudgments
from aggcal.engines.sharded.rows import ShardedRows
from aggcal.errors import OptionError
from aggcal.models.rows import Rows
from aggcal.models.rows import rows_of as rows_in_memory


class Columns(NamedTuple):
    """The columns of judgments, without ids."""

    annotator: CodeArray
    left: CodeArray
    right: CodeArray
    outcome: FloatArray
    weight: FloatArray
    times: IntArray


@dataclass(frozen=True, eq=False)
class ShardedJudgments(Judgments):
    """Judgments whose rows lie on an engine."""

    rows: ShardedRows = field(kw_only=True, repr=False)
    engine: Engine = field(kw_only=True, repr=False)
    item_facts: FloatArray = field(kw_only=True, repr=False)
    annotator_counts: IntArray = field(kw_only=True, repr=False)
    distinct: int = field(kw_only=True, repr=False)
    component: IntArray = field(kw_only=True, repr=False)
    """Number of the connected piece of each item, the largest being 0."""

    @classmethod
    def of(cls, about: Judgments, shards: Shards, engine: Engine) -> ShardedJudgments:
        """Ask shards what they hold; ids and what else was read come from ``about``."""
        none = np.empty(0, dtype=np.int32)
        return cls(
            about.item_ids,
            about.annotator_ids,
            none,
            none,
            none,
            np.empty(0),
            np.empty(0),
            np.empty(0, dtype=np.int64),
            about.unfitted,
            about.criteria,
            about.source,
            about.backend,
            about.seconds,
            about.sided,
            about.format,
            about.notes,
            about.duplicates,
            rows=ShardedRows.over(shards, about.n_items),
            engine=engine,
            item_facts=shards.total("item_facts"),
            annotator_counts=np.concatenate(shards.listed("annotator_counts")),
            distinct=int(shards.total("distinct")),
            component=shards.total("forest").component,
        )

    @property
    def n_judgments(self) -> int:
        """Judgments that can be fitted."""
        return int(self.annotator_counts.sum())

    @property
    def n_merged(self) -> int:
        """Judgments with the annotator, the items and the outcome of an earlier one."""
        return self.n_judgments - self.distinct

    @cached_property
    def wins_and_losses(self) -> tuple[FloatArray, FloatArray]:
        """What each item won and lost, by weight; a tie is half of each."""
        return self.item_facts[1], self.item_facts[2]

    @cached_property
    def judgments_per_item(self) -> IntArray:
        """How many judgments each item is part of."""
        return frozen(self.item_facts[0].astype(np.int64))

    @cached_property
    def judgments_per_annotator(self) -> IntArray:
        """How many judgments each annotator gave."""
        return self.annotator_counts

    def agreement(self, scores: FloatArray) -> FloatArray:
        """Return the share of each annotator's weight that the order of the scores confirms."""
        return np.concatenate(self.rows.shards.listed("agreement", scores))

    def of_annotators(self, chosen: IntArray) -> NoReturn:  # noqa: ARG002
        """Refuse: rows are not copied between shards."""
        refuse("resampling annotators")


class ShardedGraph(ComparisonGraph):
    """The comparison graph of judgments that lie on an engine."""

    def __init__(self, judgments: ShardedJudgments) -> None:
        super().__init__(judgments)
        self._sharded = judgments

    @cached_property
    def component(self) -> IntArray:
        """Number of the connected piece of each item, the largest piece being 0."""
        return self._sharded.component

    @cached_property
    def strong(self) -> IntArray:
        """Refuse: who beats whom through a chain takes all rows in one place."""
        refuse("a fit without a prior")


def graph_of(judgments: Judgments) -> ComparisonGraph:
    """Return the comparison graph of judgments, wherever they lie."""
    if isinstance(judgments, ShardedJudgments):
        return ShardedGraph(judgments)
    return ComparisonGraph(judgments)


def rows_of(judgments: Judgments) -> Rows:
    """Return the rows that a likelihood sums over, wherever they lie."""
    if isinstance(judgments, ShardedJudgments | DeviceJudgments):
        return judgments.rows
    return rows_in_memory(judgments)


def on_engine(judgments: Judgments) -> bool:
    """Whether an engine holds the rows of judgments.

    Examples
    --------
    >>> import aggcal
    >>> on_engine(aggcal.read_judgments([("ann", "a", "b")]))
    False
    """
    return isinstance(judgments, ShardedJudgments | DeviceJudgments)


def refuse_auto(method: str) -> NoReturn:
    """Refuse to estimate the spread of reliabilities, which takes integrating them out."""
    raise OptionError(
        f"{method} cannot estimate its prior on an engine; leave the prior out or state its "
        "spreads, or choose the engine 'local'."
    )


def refuse(what: str) -> NoReturn:
    """Refuse what needs all rows on one machine."""
    raise OptionError(
        f"{what} needs all rows on one machine, and an engine has spread them; choose the engine "
        "'local'."
    )


def cuts(rows: IntArray, shards: int) -> IntArray:
    """Cut annotators with so many rows each into shards of about as many rows.

    Examples
    --------
    >>> cuts(np.array([10, 10, 500, 10, 10]), 3)
    array([0, 2, 3, 5])
    """
    ends = np.concatenate([[0], np.cumsum(rows)])
    wanted = np.linspace(0, ends[-1], shards + 1)
    found = np.searchsorted(ends, wanted)
    # The nearer of the two ends that surround each wanted place.
    earlier = np.maximum(found - 1, 0)
    found = np.where(wanted - ends[earlier] < ends[found] - wanted, earlier, found)
    found[0], found[-1] = 0, len(rows)
    return np.unique(found)


def pieces(judgments: Judgments, cuts: IntArray) -> Iterator[tuple[int, Judgments]]:
    """Cut judgments between annotators: the first annotator of each piece, and the piece.

    Items keep their numbers, annotators of a piece count from 0; ids stay behind.
    """
    edges = np.searchsorted(judgments.annotator, cuts.astype(judgments.annotator.dtype))
    for k in range(len(cuts) - 1):
        rows, first = slice(edges[k], edges[k + 1]), int(cuts[k])
        columns = Columns(
            judgments.annotator[rows] - np.int32(first),
            judgments.left[rows],
            judgments.right[rows],
            judgments.outcome[rows],
            judgments.weight[rows],
            judgments.count[rows],
        )
        yield first, nameless(columns, judgments.n_items, int(cuts[k + 1]) - first)


def nameless(columns: Columns, n_items: int, n_annotators: int) -> Judgments:
    """Return judgments of so many items and annotators, without their ids."""
    items, annotators = (
        np.broadcast_to(np.array("", dtype=object), (k,)) for k in (n_items, n_annotators)
    )
    return Judgments(items, annotators, *columns)
