"""A shard: the rows of some annotators, and the questions it answers about them."""

from __future__ import annotations

import sys
from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, SingleArray, constant, sums
from aggcal.data.graph import Forest
from aggcal.data.judgments import Judgments
from aggcal.engines.base import FitPoint, InformationPoint, Model, Parts
from aggcal.engines.remote import RowColumns, further_columns, nameless
from aggcal.engines.sharded.dask_pieces import Piece
from aggcal.engines.sharded.general_shard import GeneralOfShard
from aggcal.engines.sharded.integrals import IntegralOfShard
from aggcal.engines.sharded.questions import GeneralQuestions, IntegralQuestions
from aggcal.models.coins import key_from
from aggcal.models.general.facts import Facts
from aggcal.models.information import Information
from aggcal.models.objective import Objective, Sums
from aggcal.models.rows import Rows, rows_of

if TYPE_CHECKING:
    from scipy import sparse


class Shard(IntegralQuestions, GeneralQuestions):
    """Rows of consecutive annotators. Every answer follows from them and the question alone.

    Parameters
    ----------
    rows
        Its rows; items have their numbers among all items.
    index
        Its number among the shards.
    first
        The number of its first annotator among all annotators.
    item_counts, annotator_counts
        How many judgments each item is part of, and each annotator gave.
    times
        How often each row was read; by default once.
    asked
        The judgments themselves, where more of them than wins and losses may matter.
    """

    def __init__(
        self,
        rows: Rows,
        index: int,
        first: int,
        *,
        item_counts: IntArray | None = None,
        annotator_counts: IntArray | None = None,
        times: IntArray | None = None,
        asked: Judgments | None = None,
    ) -> None:
        self.rows, self.index, self.first = rows, index, first
        self._counts = item_counts, annotator_counts
        self._asked = asked
        # Few rows are read more than once: the others take no room.
        more = np.empty(0, dtype=np.int64) if times is None else np.flatnonzero(times != 1)
        self._repeated = more, more if times is None else times[more]
        self._distinct = 0 if times is None else len(times)
        self._lock = RLock()
        self._forget()

    @classmethod
    def of(cls, judgments: Judgments, index: int, first: int, *, sided: bool = False) -> Shard:
        """Make a shard of judgments whose items are numbered among all items.

        ``sided`` says whether left and right are where items were shown.
        """
        rows = rows_of(judgments)
        more = sided or bool(further_columns(judgments)) or Facts(judgments).n_ties > 0
        more = more or len(rows) != len(judgments.count)
        whole = Rows(rows.winner, rows.loser, rows.weight, rows.starts, rows.n_items, whole=False)
        return cls(
            whole,
            index,
            first,
            item_counts=judgments.judgments_per_item,
            annotator_counts=judgments.judgments_per_annotator,
            times=judgments.count,
            asked=judgments if more else None,
        )

    def _forget(self) -> None:
        self._fit: str | None = None
        self._number = -1
        self._problem: Objective | None = None
        self._informed_at: str | None = None
        self._information: Information | None = None
        self._integral: IntegralOfShard | None = None
        self._general: GeneralOfShard | None = None

    def __getstate__(self) -> dict[str, Any]:
        state = {k: v for k, v in vars(self).items() if k in _KEPT}
        if self.rows.weight.strides == (0,):
            # A constant column takes no memory, but pickled it would.
            state["rows"] = replace(self.rows, weight=self.rows.weight[:1])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        rows = self.rows
        if len(rows.weight) == 1 < len(rows):
            self.rows = replace(rows, weight=constant(float(rows.weight[0]), len(rows)))
        self._lock = RLock()
        self._forget()

    def __sizeof__(self) -> int:
        # Its columns and the curvature that it remembers: engines weigh what they hold by this.
        rows = self.rows
        room = sum(c.nbytes for c in (rows.winner, rows.loser) if c.strides != (0,))
        room += 0 if self._asked is None else sys.getsizeof(self._asked)
        return room + (0 if rows.weight.strides == (0,) else rows.weight.nbytes) + 8 * len(rows)

    # ------------------------------------------------------------------ what it holds

    def contents(self) -> Parts:
        """Return all that is asked of it at first, in one answer.

        Sums: judgments, weight of wins and weight of losses of each item, how many different
        judgments there are, which items they connect, and what `held` returns. A column: how many
        judgments each annotator gave.
        """
        rows, n = self.rows, self.rows.n_items
        by_item, by_annotator = self._counts
        judged = np.zeros(n) if by_item is None else by_item.astype(np.float64)
        held = self.held()
        facts = np.vstack([judged, held.sums[1], sums(rows.loser, rows.weight, n)])
        if by_annotator is None:
            by_annotator = np.zeros(rows.n_annotators, dtype=np.int64)
        forest = Forest.of(rows.winner, rows.loser, n)
        return Parts((facts, self._distinct, forest, held), (by_annotator,))

    def held(self) -> Parts:
        """Return what rows are known by.

        Sums: the weight of the comparisons of each item, and of those that it won. Columns: rows
        and weight of each annotator, and how many annotators there are.
        """
        rows = self.rows
        wins = sums(rows.winner, rows.weight, rows.n_items)
        columns = np.diff(rows.starts), rows.given, np.array([rows.n_annotators])
        return Parts((rows.degrees, wins), columns)

    def agreement(self, scores: FloatArray) -> FloatArray:
        """Return the share of each annotator's weight that the order of the scores confirms."""
        return self._as_wins().agreement(scores)

    def asked(self) -> Judgments:
        """Return the judgments: as they were given, or as wins where that is all that matters."""
        return self._as_wins() if self._asked is None else self._asked

    def columns(self) -> Piece:
        """Return its rows, annotators by their number among all."""
        rows, (repeated, number) = self.asked(), self._repeated
        times = rows.count
        if self._asked is None and len(repeated):
            times = np.ones(len(times), dtype=np.int64)
            times[repeated] = number
        who = rows.annotator + np.int32(self.first)
        codes = who, rows.left, rows.right
        return Piece.of(RowColumns(*codes, rows.outcome, rows.weight, times, further_columns(rows)))

    def _as_wins(self) -> Judgments:
        rows, one = self.rows, constant(1.0, len(self.rows))
        times = np.broadcast_to(np.int64(1), (len(rows),))
        owner = np.repeat(np.arange(rows.n_annotators, dtype=np.int32), np.diff(rows.starts))
        columns = RowColumns(owner, rows.winner, rows.loser, one, rows.weight, times)
        return nameless(columns, rows.n_items, rows.n_annotators)

    # ------------------------------------------------------------------ a fit

    def evaluate(self, point: FitPoint) -> Sums:
        """Eliminate the annotators' parameters at a point; return the sums."""
        with self._lock:
            return self._moved(point)

    def product(self, point: FitPoint, vector: FloatArray) -> FloatArray:
        """Multiply by this shard's part of the curvature at a point."""
        with self._lock:
            return self._at(point).curvature_product(vector)

    def reliabilities(self, point: FitPoint) -> FloatArray:
        """Return the annotators' parameters at a point."""
        with self._lock:
            return self._at(point).reliabilities

    def inner(self, point: FitPoint) -> FloatArray:
        """Return the curvature in each annotator's parameter at a point."""
        with self._lock:
            return self._at(point).inner

    def carry(self, point: FitPoint, vector: FloatArray) -> FloatArray:
        """Multiply a vector over all annotators by B D⁻¹."""
        with self._lock:
            return self._at(point).carry(self._mine(vector))

    def dense(self, point: FitPoint) -> tuple[FloatArray, sparse.csc_array | None]:
        """Return this shard's part of the Schur complement as a matrix, and of B."""
        with self._lock:
            return self._at(point).dense_curvature()

    # ------------------------------------------------------------------ information

    def inner_at(self, point: InformationPoint) -> FloatArray:
        """Return D."""
        with self._lock:
            return self._informed(point).inner

    def curvature_product_at(self, point: InformationPoint, vector: FloatArray) -> FloatArray:
        """Multiply by this shard's part of S."""
        with self._lock:
            return self._informed(point).curvature_product(vector)

    def curvature_products_at(self, point: InformationPoint, vectors: SingleArray) -> SingleArray:
        """Multiply some vectors by this shard's part of S."""
        with self._lock:
            return self._informed(point).curvature_products(vectors)

    def toss_at(
        self, point: InformationPoint, key: int, noise: FloatArray, offsets: IntArray
    ) -> SingleArray:
        """Return this shard's part of random vectors of covariance S."""
        with self._lock:
            mine = key_from(key, int(offsets[self.index]))
            return self._informed(point).sample_noise(mine, self._mine(noise))

    def borders_at(self, point: InformationPoint, vectors: SingleArray) -> FloatArray:
        """Return B'v of some vectors for its annotators."""
        with self._lock:
            return self._informed(point).borders(vectors)

    def diagonal_at(self, point: InformationPoint) -> FloatArray:
        """Return the diagonal of this shard's part of S."""
        with self._lock:
            return self._informed(point).curvature_diagonal()

    def shared_at(self, point: InformationPoint, weights: FloatArray) -> FloatArray:
        """Return this shard's part of B D⁻¹ w."""
        with self._lock:
            return self._informed(point).shared(self._mine(weights))

    def dense_at(self, point: InformationPoint) -> tuple[FloatArray, sparse.csc_array | None]:
        """Return this shard's part of S as a matrix, and of B D⁻¹."""
        with self._lock:
            return self._informed(point).dense_curvature()

    # ------------------------------------------------------------------ other shards

    def alone(self, annotator: int) -> Shard:
        """Return a shard of one of its annotators, numbered among its own."""
        rows = self.rows.alone(annotator)
        return type(self)(rows, 0, 0)

    def every(self, step: int) -> Shard:
        """Return a shard of every so many annotators (of all); it may have none."""
        rows, begin = self.rows, -self.first % step
        sizes = np.diff(rows.starts)
        chosen = np.arange(rows.n_annotators) % step == begin
        kept = np.repeat(chosen, sizes)
        starts = np.concatenate([[0], np.cumsum(sizes[chosen])])
        columns = rows.winner[kept], rows.loser[kept], rows.weight[kept]
        fewer = Rows(*columns, starts, rows.n_items, whole=False)
        return type(self)(fewer, self.index, -(-self.first // step))

    def turned(self, annotator: int) -> Shard:
        """Return the same with the answers of one annotator (of all) turned round."""
        within = annotator - self.first
        mine = 0 <= within < self.rows.n_annotators
        rows = self.rows.turned(within) if mine else self.rows
        return type(self)(rows, self.index, self.first)

    # ------------------------------------------------------------------ what it remembers

    def _mine(self, values: FloatArray) -> FloatArray:
        return np.ascontiguousarray(values[self.first : self.first + self.rows.n_annotators])

    def _moved(self, point: FitPoint) -> Sums:
        self._information = self._informed_at = self._integral = self._general = None
        if self._problem is None or self._fit != point.fit:
            self._problem, self._fit = self._objective(point.model), point.fit
        self._number = -1
        found = self._problem.sums(point.scores, point.tolerance)
        self._number = point.number
        return found

    def _at(self, point: FitPoint) -> Objective:
        """Return the objective where it was last evaluated, evaluating it again if need be."""
        if self._problem is None or (self._fit, self._number) != (point.fit, point.number):
            self._moved(point)
        if self._problem is None:  # pragma: no cover  # moved there just now
            raise RuntimeError("a shard has lost its point")
        return self._problem

    def _objective(self, model: Model) -> Objective:
        return model.problem(self.rows)

    def _informed(self, point: InformationPoint) -> Information:
        if self._information is None or self._informed_at != point.name:
            self._problem = self._integral = self._general = None
            problem = point.model.formulae(self.rows)
            theta = point.of(self.first, self.first + self.rows.n_annotators)
            self._information = Information(problem, point.scores, theta)
            self._informed_at = point.name
        return self._information


_KEPT = ("rows", "index", "first", "_counts", "_distinct", "_repeated", "_asked")
