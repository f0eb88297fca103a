"""Judgments that an engine holds: here are their ids and counts, and the sums over their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from functools import reduce
from operator import add
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, TextArray, frozen
from aggcal.data.base import AnyJudgments
from aggcal.data.graph import Forest
from aggcal.data.judgments import Judgments
from aggcal.data.row_columns import Categories, codes_of
from aggcal.engines.base import Engine, Shard, Shards

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

    @classmethod
    def of(cls, judgments: Judgments, rows: slice = slice(None), first: int = 0) -> RowColumns:
        """Return those of judgments, or some of them, whose annotators are counted from another."""
        annotator = judgments.annotator[rows] + np.int32(first)
        sides = judgments.left[rows], judgments.right[rows]
        outcome, weight = judgments.outcome[rows], judgments.weight[rows]
        further = {name: column[rows] for name, column in further_columns(judgments).items()}
        return cls(annotator, *sides, outcome, weight, judgments.count[rows], further)


class Piece(tuple[Any, ...]):
    """RowColumns of judgments; None for an outcome, weight or count that is 1 throughout.

    Pickled, that takes no room. The last entry maps names to further columns.
    """

    __slots__ = ()

    @classmethod
    def of(cls, columns: RowColumns) -> Piece:
        """Leave out what is 1 throughout."""
        return cls((*columns[:3], *(None if is_one(c) else c for c in columns[3:6]), columns[6]))

    def columns(self) -> RowColumns:
        """Return all columns."""
        rows = len(self[0])
        ones: tuple[Any, ...] = (np.float64(1), np.float64(1), np.int64(1))
        rest: list[Any] = [
            np.broadcast_to(one, (rows,)) if column is None else column
            for column, one in zip(self[3:6], ones, strict=True)
        ]
        return RowColumns(*self[:3], *rest)._replace(further=self[6])


def is_one(column: np.ndarray) -> bool:
    """Whether a column is 1 throughout."""
    # A column that was sent from one worker to another is no longer known to be constant.
    return bool((column[:1] == 1).all() if column.strides == (0,) else (column == 1).all())


def together(pieces: Sequence[Piece]) -> Piece:
    """Put the rows of shards one after the other.

    Examples
    --------
    >>> code = np.zeros(1, dtype=np.int32)
    >>> one = Piece((code, code, code, None, None, np.array([2]), {}))
    >>> two = Piece((code + 1, code, code, None, None, None, {}))
    >>> together([one, two])[5]
    array([2, 1])
    """
    whole = [piece.columns() for piece in pieces]
    columns = (
        None if all(piece[k] is None for piece in pieces) else np.concatenate([c[k] for c in whole])
        for k in range(6)
    )
    further = {name: np.concatenate([piece[6][name] for piece in pieces]) for name in pieces[0][6]}
    return Piece((*columns, further))


@dataclass(frozen=True, eq=False, repr=False)
class RemoteJudgments(AnyJudgments):
    """Judgments whose rows an engine holds: in shards, or on a device beside this machine.

    They have no columns. What needs them asks `on_one_machine`, which a device's judgments answer
    and those in shards refuse.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal.engines.local import LocalEngine
    >>> held = LocalEngine().distribute(aggcal.read_judgments([("ann", "a", "b")]))
    >>> held
    RemoteJudgments(2 items, 1 annotators, 1 judgments)
    >>> held.on_one_machine("a check")
    Traceback (most recent call last):
    aggcal.errors.OptionError: a check needs all rows on one machine, but an engine has ...
    """

    on_engine: ClassVar[bool] = True
    _: KW_ONLY
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
    local: Judgments | None = None
    """The same with all rows on this machine, if it has them."""

    @classmethod
    def of_shards(cls, about: dict[str, Any], shards: Shards, engine: Engine) -> RemoteJudgments:
        """Ask shards what they hold; what else is known of it is ``about`` (see `AnyJudgments`)."""
        counts, sums = zip(*shards.each(_contents), strict=True)
        items, wins, losses, distinct, forest = (
            reduce(add, each) for each in zip(*sums, strict=True)
        )
        given = np.concatenate(counts)
        return cls(
            **about,
            engine=engine,
            engine_name=engine.name,
            n_judgments=int(given.sum()),
            n_merged=int(given.sum()) - distinct,
            wins_and_losses=(wins, losses),
            judgments_per_item=frozen(items),
            judgments_per_annotator=given,
            component=forest.component,
            shards=shards,
        )

    @classmethod
    def of_local(
        cls, judgments: Judgments, engine: Engine, shards: Shards | None = None
    ) -> RemoteJudgments:
        """Hold judgments in memory whose rows an engine has, too, in shards if need be."""
        names = (
            "n_judgments", "n_merged", "wins_and_losses", "component", "category_ids",
            "judgments_per_item", "judgments_per_annotator",
        )  # fmt: skip
        known = judgments.about() | {name: getattr(judgments, name) for name in names}
        return cls(**known, engine=engine, engine_name=engine.name, local=judgments, shards=shards)

    def agreement(self, scores: FloatArray) -> FloatArray:
        """Return the share of each annotator's weight that the order of the scores confirms."""
        if self.shards is None:
            return self.on_one_machine("agreement").agreement(scores)
        return np.concatenate(self.shards.each(_agreement, [scores] * len(self.shards)))

    def without_rows(self) -> Judgments:
        """Return no judgments, of the same items and parted by the same columns."""
        codes, numbers = np.empty(0, dtype=np.int32), np.empty(0)
        further = {f"by {name}": codes for name in self.category_ids}
        further |= {} if self.context_ids is None else {CONTEXT: codes}
        once = np.empty(0, dtype=np.int64)
        columns = RowColumns(codes, codes, codes, numbers, numbers, once, further)
        return nameless(columns, self.n_items, 0)

    def of_annotators(self, chosen: IntArray) -> RemoteJudgments:
        """Return the judgments of the annotators at these positions, on the same engine."""
        whole = self.on_one_machine("resampling annotators")
        return self.engine.distribute(whole.of_annotators(chosen))

    def swapped(self) -> RemoteJudgments:
        """Return the same with every preference turned round, on the same engine."""
        return self.engine.distribute(self.on_one_machine("turning preferences round").swapped())


def _contents(shard: Shard) -> tuple[IntArray, tuple[Any, ...]]:
    """Return how many judgments each annotator of a shard gave, and what adds up over shards.

    That is how many judgments each item is part of, wins and losses, how many judgments differ, and
    what is connected.
    """
    rows = shard.judgments
    connected = Forest.of(rows.left, rows.right, rows.n_items)
    sums = rows.judgments_per_item, *rows.wins_and_losses, len(rows.count), connected
    return rows.judgments_per_annotator, sums


def _agreement(shard: Shard, scores: FloatArray) -> FloatArray:
    return shard.judgments.agreement(scores)


def _columns(shard: Shard) -> Piece:
    """Return the rows of a shard, annotators by their number among all."""
    return Piece.of(RowColumns.of(shard.judgments, first=shard.first))


def gathered(judgments: AnyJudgments, most: int) -> Judgments | None:
    """Return judgments with all rows on this machine, in the order of one machine.

    None is returned of more than ``most`` rows in shards, and where those do not know which
    judgments were made together, in one ranking or on one screen.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal.engines.local import LocalEngine
    >>> rows = [("ann", "a", "b"), ("bob", "b", "c"), ("cy", "c", "a")]
    >>> held = LocalEngine(shards=2).distribute(aggcal.read_judgments(rows))
    >>> gathered(held, 3), gathered(held, 2)
    (Judgments(3 items, 3 annotators, 3 judgments), None)
    """
    if judgments.local is not None or not isinstance(judgments, RemoteJudgments):
        return judgments.local
    rows = judgments.n_judgments - judgments.n_merged
    if judgments.shards is None or judgments.on_screens or rows > most:
        return None
    piece = together(judgments.shards.each(_columns))
    about = {part.name: getattr(judgments, part.name) for part in fields(AnyJudgments)}
    return named(piece.columns(), category_ids=judgments.category_ids, **about)


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
        columns = RowColumns.of(judgments, rows, -first)
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
