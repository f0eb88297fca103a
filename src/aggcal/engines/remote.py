"""Judgments that an engine holds: here are their ids and counts, and the sums over their rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import ClassVar, NamedTuple

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, frozen
from aggcal.data.base import About, AnyJudgments
from aggcal.data.graph import ComparisonGraph
from aggcal.data.judgments import Judgments
from aggcal.engines.base import Engine, Shards
from aggcal.engines.sharded.rows import ShardedRows
from aggcal.models.rows import Rows, rows_of


class RowColumns(NamedTuple):
    """The columns of judgments, without ids."""

    annotator: CodeArray
    left: CodeArray
    right: CodeArray
    outcome: FloatArray
    weight: FloatArray
    times: IntArray


@dataclass(frozen=True, eq=False)
class ShardCounts:
    """What shards tell of the rows that they hold; no machine has them all."""

    shards: Shards
    item_facts: FloatArray
    """Judgments, weight of wins and weight of losses of each item, a row each."""
    judgments_per_annotator: IntArray
    n_merged: int
    local: ClassVar[None] = None

    @property
    def n_judgments(self) -> int:
        """Judgments that can be fitted."""
        return int(self.judgments_per_annotator.sum())

    @property
    def wins_and_losses(self) -> tuple[FloatArray, FloatArray]:
        """What each item won and lost, by weight."""
        return self.item_facts[1], self.item_facts[2]

    @cached_property
    def judgments_per_item(self) -> IntArray:
        """How many judgments each item is part of."""
        return frozen(self.item_facts[0].astype(np.int64))

    def agreement(self, scores: FloatArray) -> FloatArray:
        """Return the share of each annotator's weight that the order of the scores confirms."""
        return np.concatenate(self.shards.listed("agreement", scores))


@dataclass(frozen=True, eq=False, repr=False)
class RemoteJudgments(About, AnyJudgments):
    """Judgments whose rows an engine holds: in shards, or on a device beside this machine.

    They have no columns. What needs them asks `on_one_machine`, which a device's judgments answer
    and those in shards refuse.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal.engines.sharded.local import LocalEngine
    >>> held = LocalEngine().distribute(aggcal.read_judgments([("ann", "a", "b")]))
    >>> held
    RemoteJudgments(2 items, 1 annotators, 1 judgments)
    >>> held.on_one_machine("a check")
    Traceback (most recent call last):
    aggcal.errors.OptionError: a check needs all rows on one machine, and an engine has spread ...
    """

    on_engine: ClassVar[bool] = True
    rows: Rows = field(kw_only=True)
    engine: Engine = field(kw_only=True)
    counts: ShardCounts | Judgments = field(kw_only=True)
    """What is known of the rows: by the shards, or by the same judgments in memory."""
    component: IntArray | None = field(default=None, kw_only=True)
    """Number of the connected piece of each item, where the shards found it."""

    @classmethod
    def of_shards(cls, about: About, shards: Shards, engine: Engine) -> RemoteJudgments:
        """Ask shards what they hold."""
        given = np.concatenate(shards.listed("annotator_counts"))
        merged = int(given.sum()) - int(shards.total("distinct"))
        return cls(
            **vars(about),
            rows=ShardedRows.over(shards, len(about.item_ids)),
            engine=engine,
            counts=ShardCounts(shards, shards.total("item_facts"), given, merged),
            component=shards.total("forest").component,
        )

    @classmethod
    def of_local(cls, judgments: Judgments, rows: Rows, engine: Engine) -> RemoteJudgments:
        """Hold judgments in memory whose rows a device has, too."""
        return cls(**vars(About.of(judgments)), rows=rows, engine=engine, counts=judgments)

    @property
    def engine_name(self) -> str:
        """Name of the engine."""
        return self.engine.name

    @property
    def local(self) -> Judgments | None:
        """The same with all rows on this machine; None where it does not have them."""
        return self.counts.local

    @cached_property
    def graph(self) -> ComparisonGraph:
        """Which items were compared."""
        return ComparisonGraph(self, self.component)

    @property
    def n_judgments(self) -> int:
        """Judgments that can be fitted."""
        return self.counts.n_judgments

    @property
    def n_merged(self) -> int:
        """Judgments with the annotator, the items and the outcome of an earlier one."""
        return self.counts.n_merged

    @property
    def wins_and_losses(self) -> tuple[FloatArray, FloatArray]:
        """What each item won and lost, by weight; a tie is half of each."""
        return self.counts.wins_and_losses

    @property
    def judgments_per_item(self) -> IntArray:
        """How many judgments each item is part of."""
        return self.counts.judgments_per_item

    @property
    def judgments_per_annotator(self) -> IntArray:
        """How many judgments each annotator gave."""
        return self.counts.judgments_per_annotator

    def agreement(self, scores: FloatArray) -> FloatArray:
        """Return the share of each annotator's weight that the order of the scores confirms."""
        return self.counts.agreement(scores)

    def of_annotators(self, chosen: IntArray) -> RemoteJudgments:
        """Return the judgments of the annotators at these positions, on the same engine."""
        whole = self.on_one_machine("resampling annotators")
        return self.engine.distribute(whole.of_annotators(chosen))

    def swapped(self) -> RemoteJudgments:
        """Return the same with every preference turned round, on the same engine."""
        return self.engine.distribute(self.on_one_machine("turning preferences round").swapped())


rows_of.register(RemoteJudgments, attrgetter("rows"))


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
        columns = RowColumns(
            judgments.annotator[rows] - np.int32(first),
            judgments.left[rows],
            judgments.right[rows],
            judgments.outcome[rows],
            judgments.weight[rows],
            judgments.count[rows],
        )
        yield first, nameless(columns, judgments.n_items, int(cuts[k + 1]) - first)


def nameless(columns: RowColumns, n_items: int, n_annotators: int) -> Judgments:
    """Return judgments of so many items and annotators, without their ids."""
    items, annotators = (
        np.broadcast_to(np.array("", dtype=object), (k,)) for k in (n_items, n_annotators)
    )
    return Judgments(items, annotators, *columns)
