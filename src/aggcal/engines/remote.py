"""Judgments that an engine holds: here are their ids and counts, and the sums over their rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import reduce
from operator import add
from typing import Any, ClassVar

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, TextArray, frozen
from aggcal.data.base import AnyJudgments
from aggcal.data.graph import Forest
from aggcal.data.judgments import Judgments
from aggcal.data.row_columns import Categories
from aggcal.engines.base import Engine, Shard, Shards
from aggcal.io.numbering import constant_if_one

_NO_IDS: TextArray = np.empty(0, dtype=object)


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
    shards: Shards | None = None
    """Where the rows lie, if this machine does not have them all."""
    local: Judgments | None = None
    """The same with all rows on this machine, if it has them."""

    @classmethod
    def of_shards(cls, about: dict[str, Any], shards: Shards, engine: Engine) -> RemoteJudgments:
        """Ask shards what they hold; what else is known of it is ``about`` (see `about_rows`)."""
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
            "n_judgments", "n_merged", "wins_and_losses", "component",
            "judgments_per_item", "judgments_per_annotator",
        )  # fmt: skip
        known = about_rows(judgments) | {name: getattr(judgments, name) for name in names}
        return cls(**known, engine=engine, engine_name=engine.name, local=judgments, shards=shards)

    def agreement(self, scores: FloatArray) -> FloatArray:
        """Return the share of each annotator's weight that the order of the scores confirms."""
        if self.shards is None:
            return self.on_one_machine("agreement").agreement(scores)
        return np.concatenate(self.shards.each(_agreement, [scores] * len(self.shards)))

    def without_rows(self) -> Judgments:
        """Return no judgments, of the same items and parted by the same columns."""
        assert self.shards is not None  # noqa: S101  # else nobody asks
        bare: Judgments = self.shards.each(_without_rows)[0]
        return bare

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


def _without_rows(shard: Shard) -> Judgments:
    return nameless(shard.judgments.take(slice(0, 0)), shard.judgments.n_items, 0)


def _agreement(shard: Shard, scores: FloatArray) -> FloatArray:
    return shard.judgments.agreement(scores)


def _numbered_among_all(shard: Shard) -> Judgments:
    """Return the rows of a shard, annotators by their number among all."""
    rows = shard.judgments
    return replace(rows, annotator=rows.annotator + np.int32(shard.first))


def gathered(judgments: AnyJudgments, most: int) -> Judgments | None:
    """Return judgments with all rows on this machine, in the order of one machine.

    None is returned of more than ``most`` rows in shards.

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
    if judgments.shards is None or judgments.n_judgments - judgments.n_merged > most:
        return None
    parts = judgments.shards.each(_numbered_among_all)

    def column(name: str) -> Any:
        every = [getattr(part, name) for part in parts]
        return None if every[0] is None else constant_if_one(np.concatenate(every))

    known = judgments.about()
    known["categories"] = tuple(
        Categories(name, own, np.concatenate([part.categories[k].code for part in parts]))
        for k, (name, own) in enumerate(judgments.category_ids.items())
    )
    names = [part.name for part in fields(Judgments) if part.name not in known]
    return Judgments(**known | {name: column(name) for name in names})


def about_rows(judgments: Judgments) -> dict[str, Any]:
    """Return what is known of judgments without the rows.

    Examples
    --------
    >>> import aggcal
    >>> rows = {"annotator": ["ann"], "winner": ["a"], "loser": ["b"], "topic": ["sport"]}
    >>> about_rows(aggcal.read_judgments(rows, by="topic"))["category_ids"]
    {'topic': array(['sport'], dtype=object)}
    """
    return judgments.about() | {"category_ids": judgments.category_ids}


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


def pieces(judgments: Judgments, cuts: IntArray, kind: type[Shard] = Shard) -> Iterator[Shard]:
    """Cut judgments between annotators."""
    edges = judgments.starts[cuts].tolist()
    for k, first in enumerate(cuts[:-1].tolist()):
        rows = judgments.take(slice(edges[k], edges[k + 1]))
        rows["annotator"] = rows["annotator"] - np.int32(first)
        sizes = judgments.n_items, int(cuts[k + 1]) - first
        yield kind(nameless(rows, *sizes), first)


def nameless(rows: dict[str, Any], n_items: int, n_annotators: int) -> Judgments:
    """Return judgments of columns (see `Judgments.take`), without ids."""
    items, annotators = (
        np.broadcast_to(np.array("", dtype=object), (k,)) for k in (n_items, n_annotators)
    )
    categories = tuple(replace(each, ids=_NO_IDS) for each in rows["categories"])
    return Judgments(items, annotators, **rows | {"categories": categories})
