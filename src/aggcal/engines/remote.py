"""Judgments that an engine holds: here are their ids and counts, and the sums over their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from operator import attrgetter
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, TextArray, frozen
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments
from aggcal.data.row_columns import Categories
from aggcal.engines.base import Engine, Parts, Shards
from aggcal.engines.sharded.rows import ShardedRows
from aggcal.models.general.facts import codes_of
from aggcal.models.rows import Rows, rows_of

GRADE, CONTEXT = "grade", "context"


class RowColumns(NamedTuple):
    """The columns of judgments, without ids."""

    annotator: CodeArray
    left: CodeArray
    right: CodeArray
    outcome: FloatArray
    weight: FloatArray
    times: IntArray
    further: Mapping[str, np.ndarray] = MappingProxyType({})
    """Grades, and numbers of contexts and categories: ``grade``, ``context``, ``by NAME``."""


@dataclass(frozen=True, eq=False, repr=False)
class RemoteJudgments(AnyJudgments):
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
    aggcal.errors.OptionError: a check needs all rows on one machine, but an engine has ...
    """

    on_engine: ClassVar[bool] = True
    _: KW_ONLY
    rows: Rows
    engine: Engine
    engine_name: str
    n_judgments: int
    n_merged: int
    wins_and_losses: tuple[FloatArray, FloatArray]
    judgments_per_item: IntArray
    judgments_per_annotator: IntArray
    component: IntArray
    category_ids: dict[str, TextArray]
    on_screens: bool = False
    """Whether some were made together, in one ranking or on one screen, and shards do not know."""
    shards: Shards | None = None
    """Where the rows lie, if this machine does not have them all."""
    host: Judgments | None = None
    """The same in memory, if it has."""

    @classmethod
    def of_shards(cls, about: dict[str, Any], shards: Shards, engine: Engine) -> RemoteJudgments:
        """Ask shards what they hold; what else is known of it is ``about`` (see `AnyJudgments`)."""
        found: Parts = shards.total("contents")
        (judged, wins, losses), distinct, forest, held = found.sums
        (given,) = found.columns
        return cls(
            **about,
            rows=ShardedRows.over(shards, len(about["item_ids"]), held),
            engine=engine,
            engine_name=engine.name,
            n_judgments=int(given.sum()),
            n_merged=int(given.sum()) - int(distinct),
            wins_and_losses=(wins, losses),
            judgments_per_item=frozen(judged.astype(np.int64)),
            judgments_per_annotator=given,
            component=forest.component,
            shards=shards,
        )

    @classmethod
    def of_local(cls, judgments: Judgments, rows: Rows, engine: Engine) -> RemoteJudgments:
        """Hold judgments in memory whose rows an engine has, too."""
        return cls(
            **judgments.about(),
            rows=rows,
            engine=engine,
            engine_name=engine.name,
            n_judgments=judgments.n_judgments,
            n_merged=judgments.n_merged,
            wins_and_losses=judgments.wins_and_losses,
            judgments_per_item=judgments.judgments_per_item,
            judgments_per_annotator=judgments.judgments_per_annotator,
            component=judgments.component,
            category_ids=judgments.category_ids,
            host=judgments,
        )

    @property
    def local(self) -> Judgments | None:
        """The same with all rows on this machine; None where it does not have them."""
        return self.host

    @property
    def integrates(self) -> bool:
        """Whether annotators' parameters can be integrated out: a device does not."""
        return self.engine.integrates

    def agreement(self, scores: FloatArray) -> FloatArray:
        """Return the share of each annotator's weight that the order of the scores confirms."""
        if self.shards is None:
            return self.on_one_machine("agreement").agreement(scores)
        return np.concatenate(self.shards.listed("agreement", scores))

    def of_annotators(self, chosen: IntArray) -> RemoteJudgments:
        """Return the judgments of the annotators at these positions, on the same engine."""
        whole = self.on_one_machine("resampling annotators")
        return self.engine.distribute(whole.of_annotators(chosen))

    def swapped(self) -> RemoteJudgments:
        """Return the same with every preference turned round, on the same engine."""
        return self.engine.distribute(self.on_one_machine("turning preferences round").swapped())


rows_of.register(RemoteJudgments, attrgetter("rows"))


def held_in_shards(judgments: Judgments) -> dict[str, Any]:
    """Return what is known of judgments without the rows.

    Examples
    --------
    >>> import aggcal
    >>> rows = {"annotator": ["ann"], "winner": ["a"], "loser": ["b"], "topic": ["sport"]}
    >>> held_in_shards(aggcal.read_judgments(rows, by="topic"))["category_ids"]
    {'topic': array(['sport'], dtype=object)}
    """
    on_screens = judgments.screen is not None
    return judgments.about() | {"category_ids": judgments.category_ids, "on_screens": on_screens}


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
            {name: column[rows] for name, column in further_columns(judgments).items()},
        )
        yield first, nameless(columns, judgments.n_items, int(cuts[k + 1]) - first)


def further_columns(judgments: Judgments) -> dict[str, np.ndarray]:
    """Return grades and the numbers of contexts and categories, by the names of `RowColumns`."""
    grade = {} if judgments.grade is None else {GRADE: judgments.grade}
    return grade | codes_of(judgments)


def nameless(columns: RowColumns, n_items: int, n_annotators: int) -> Judgments:
    """Return judgments of so many items and annotators, without their ids."""
    items, annotators = (
        np.broadcast_to(np.array("", dtype=object), (k,)) for k in (n_items, n_annotators)
    )
    names = [name for name in columns.further if name not in (GRADE, CONTEXT)]
    nobody = {name.removeprefix("by "): np.empty(0, dtype=object) for name in names}
    return named(columns, items, annotators, nobody)


def named(
    columns: RowColumns,
    item_ids: TextArray,
    annotator_ids: TextArray,
    category_ids: Mapping[str, TextArray],
    **known: Any,
) -> Judgments:
    """Return judgments of columns and ids; what else is ``known`` of them is as in `Judgments`."""
    further = columns.further
    return Judgments(
        item_ids,
        annotator_ids,
        columns.annotator,
        columns.left,
        columns.right,
        columns.outcome,
        columns.weight,
        columns.times,
        grade=further.get(GRADE),
        context=further.get(CONTEXT),
        categories=tuple(
            Categories(name, ids, further[f"by {name}"]) for name, ids in category_ids.items()
        ),
        **known,
    )
