"""Rows, annotators and tapes that lie in shards: a tape over all rows is the sum of the shards'.

An engine calls functions with its shards, wherever they are (`aggcal.engines.base.Shards`). What
follows are the functions, and classes that answer what `Rows`, `Annotators` and `Tape` answer by
adding up the shards' answers, or by putting those about annotators one after the other. Nothing
else in a fit knows where rows lie; `terms` counts over shards before it.

A shard keeps what it was last told to lay out, and the last tape. One that has lost them, because
its worker was lost, says so (`ForgottenError`); it is then told again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any
from uuid import uuid4

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal.aggregation import native
from aggcal.aggregation.annotators import Annotators, Point, Posterior, Prior
from aggcal.aggregation.families import Family
from aggcal.aggregation.rows import Numbers, Plan, Rows, pooled, rows_by_plan
from aggcal.aggregation.tape import Mean, Tape
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments
from aggcal.data.row_columns import codes_of
from aggcal.engines.base import Shard, Shards
from aggcal.engines.remote import RemoteJudgments

_LAYOUTS = 3
"""Layouts that a shard keeps: a fit without terms, one with them, and one to compare."""
_TRIES = 3
"""Times that a tape is made again: a worker may be lost while it is."""
_KINDS = 2
"""Kinds of annotators that it keeps of each: as they are fitted, and as errors take them."""

Which = tuple[str, Family, tuple[float, float]]
"""Annotators of a shard: a name of their own, their family, and the bounds of their parameters."""


class ForgottenError(LookupError):
    """A shard has lost what it was told before."""


@dataclass(frozen=True, eq=False)
class Layout:
    """How every shard lays out its rows, and what its annotators are like."""

    plan: Plan
    numbers: Numbers | None
    name: str = field(default_factory=lambda: uuid4().hex)


@dataclass(frozen=True, eq=False)
class ShardedRows(Rows):
    """Rows that lie in shards: here are their numbers, and the weights of annotators."""

    shards: Shards = field(kw_only=True)
    layout: Layout = field(kw_only=True)
    weights: FloatArray = field(kw_only=True)
    edges: IntArray = field(kw_only=True)
    """Of each shard, the first of its annotators; and how many there are."""
    of_items: tuple[FloatArray, FloatArray] = field(kw_only=True)
    """Total weight of the answers about each item, and of those that it won."""
    bare: Judgments = field(kw_only=True)
    """No judgments, of the same items and parted by the same columns."""

    @classmethod
    def laid_out(cls, shards: Shards, bare: Judgments, plan: Plan) -> ShardedRows:
        """Have every shard lay out its judgments."""
        numbers = None
        if plan.cells or plan.grades:
            numbers = reduce(_united, shards.each(_numbers, [plan] * len(shards)))
        layout = Layout(plan, numbers)
        answers = shards.each(_lay_out, [layout] * len(shards))
        sizes, weights, levels, item_weights, item_wins = zip(*answers, strict=True)
        counts = [len(each) for each in sizes]
        edges = np.cumsum([0, *(_mine(plan, count) for count in counts)])
        like = rows_by_plan(bare, plan, numbers)
        return cls(
            like.left,
            like.right,
            like.answers,
            np.concatenate([[0], np.cumsum(np.concatenate(sizes))]),
            like.n_items,
            reduce(add, levels)[:, None],
            {},
            like.channels,
            like.blocks,
            shards=shards,
            layout=layout,
            weights=np.concatenate(weights),
            edges=edges,
            of_items=(reduce(add, item_weights), reduce(add, item_wins)),
            bare=bare,
        )

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def annotator_weights(self) -> FloatArray:
        """Total weight of the answers of each annotator."""
        return self.weights

    @property
    def item_weights(self) -> FloatArray:
        """Total weight of the answers about each item."""
        return self.of_items[0]

    @property
    def item_wins(self) -> FloatArray:
        """The same of those that it won."""
        return self.of_items[1]

    def weighted_square(self, channel: str, unknowns: FloatArray, values: FloatArray) -> float:
        """Return Σ w (v x)² over rows: x what a channel makes of unknowns, v the annotators'."""
        same = [[each] * len(self.shards) for each in (channel, unknowns)]
        return float(sum(self.each(_weighted_square, *same, self.cut(values))))

    def cut(self, values: FloatArray) -> list[FloatArray]:
        """Return the part of each shard of values by annotator."""
        return [values[first:end] for first, end in pairwise(self.edges.tolist())]

    def each(self, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
        """Call a function with every shard, its layout, and its own entry of each column."""
        names = [self.layout.name] * len(self.shards)
        try:
            return self.shards.each(function, names, *columns)
        except ForgottenError:
            self.shards.each(_lay_out, [self.layout] * len(self.shards))
            return self.shards.each(function, names, *columns)


class ShardedAnnotators(Annotators):
    """`Annotators` of rows in shards."""

    rows: ShardedRows

    def __init__(
        self, rows: ShardedRows, family: Family, bounds: tuple[float, float] = (-np.inf, np.inf)
    ) -> None:
        super().__init__(rows, family, bounds)
        self._number = len(rows.shards)
        self._of_shards = [(uuid4().hex, family, bounds)] * self._number

    def restart(self) -> None:
        """Forget the modes."""
        self.rows.each(_restart, self._of_shards)

    def rescale(self, factor: float) -> None:
        """Look for the modes where they are when gaps are multiplied by a factor."""
        self.rows.each(_rescale, self._of_shards, [factor] * self._number)

    def alike(
        self,
        unknowns: FloatArray,
        grades: tuple[float, ...] | None = None,
        reliabilities: FloatArray | None = None,
    ) -> Tape:
        """Everybody has γ = 1 (or a known one) and nothing of their own."""
        none = [None] * self._number
        parts = none if reliabilities is None else self.rows.cut(reliabilities)
        return self._tape("alike", [(unknowns, grades, part) for part in parts])[0]

    def maximised(self, unknowns: FloatArray, prior: Prior, close: float = 1e-20) -> Tape:
        """Each θ_u is at its mode."""
        every = [(unknowns, part, close) for part in self._parts(prior)]
        tape, answers = self._tape("maximised", every)
        self.theta = np.concatenate([theta for _, theta in answers])
        return tape

    def expected(
        self, unknowns: FloatArray, theta: FloatArray, prior: Prior | None
    ) -> tuple[Tape, Posterior]:
        """Return the expected information, θ_u having the normal posterior of it."""
        priors = [None] * self._number if prior is None else self._parts(prior)
        parts = zip(self.rows.cut(theta), priors, strict=True)
        tape, answers = self._tape("expected", [(unknowns, *part) for part in parts])
        return tape, _joined([posterior for _, posterior in answers])

    def integrated(self, point: Point) -> tuple[Tape, Posterior]:
        """Integrate θ_u out."""
        tape, answers = self._tape("integrated", [(part,) for part in self._parts(point)])
        return tape, _joined([posterior for _, posterior in answers])

    def expected_grades(
        self, unknowns: FloatArray, posterior: Posterior, grades: tuple[float, ...]
    ) -> FloatArray:
        """Return the weight of each strength of answer that is to be expected."""
        same = [[each] * self._number for each in (unknowns, grades)]
        columns = self._of_shards, self._parts(posterior), *same
        return reduce(add, self.rows.each(_expected_grades, *columns))

    def _parts(self, whole: Any) -> list[Any]:
        return [whole.part(slice(a, b)) for a, b in pairwise(self.rows.edges.tolist())]

    def _tape(
        self, rule: str, arguments: Sequence[tuple[Any, ...]]
    ) -> tuple[ShardedTape, list[Any]]:
        name = uuid4().hex
        same = [[each] * self._number for each in (name, rule)]
        columns = self._of_shards, arguments, *same
        answers = self.rows.each(_move, *columns)
        value = sum(value for value, _ in answers)
        return ShardedTape(self.rows, name, columns, value), answers


def _joined(parts: Sequence[Posterior]) -> Posterior:
    return replace(
        parts[0],
        nodes=np.concatenate([each.nodes for each in parts]),
        weights=np.concatenate([each.weights for each in parts]),
        log_evidence=sum(each.log_evidence for each in parts),
    )


class ShardedTape(Tape):
    """The sum of the shards' tapes, which stay where they are."""

    rows: ShardedRows

    def __init__(
        self, rows: ShardedRows, name: str, columns: Sequence[Sequence[Any]], value: float
    ) -> None:
        super().__init__(rows, value, {}, {}, {})
        self._name, self._columns = name, columns

    @property
    def means(self) -> list[Mean]:
        """Unknown prior means; the complete information of each is the first shard's."""
        return self._means

    @means.setter
    def means(self, means: list[Mean]) -> None:
        self._means = means
        if means:
            self._ask("means", *map(self._cut_mean, means))

    def _cut_mean(self, mean: Mean) -> list[Mean]:
        responses, scores = self.rows.cut(mean.responses), self.rows.cut(mean.score)
        curvatures = [mean.curvature, *([0.0] * (len(responses) - 1))]
        return [Mean(mean.index, *each) for each in zip(responses, scores, curvatures, strict=True)]

    @property
    def gradient(self) -> FloatArray:
        """Of the value."""
        total: FloatArray = self._sum("gradient")
        return total

    def weighted(self, values: FloatArray) -> FloatArray:
        """Return Σ_u Σ_k values_uk g_uk."""
        total: FloatArray = self._sum("weighted", self.rows.cut(values))
        return total

    def product(self, vector: FloatArray) -> FloatArray:
        """Multiply by the observed information."""
        total: FloatArray = self._sum("product", self._same(vector))
        return total

    def diagonals(self) -> tuple[FloatArray, FloatArray]:
        """Return the diagonals of the complete and of the missing information."""
        complete, missing = self._sum("diagonals")
        return complete, missing

    def missing_diagonal(self) -> FloatArray:
        """Return the diagonal of the missing information, however often annotators met unknowns."""
        total: FloatArray = self._sum("missing_diagonal")
        return total

    def dense(self) -> tuple[FloatArray, FloatArray]:
        """Return the observed and the complete information as matrices."""
        observed, complete = self._sum("dense")
        return observed, complete

    def forms(
        self, values: FloatArray, covariance: FloatArray, along: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return b'Cb and b'x of each annotator, b = Σ_k values_uk g_uk."""
        same = self._same(covariance), self._same(along)
        squares, products = zip(*self._ask("forms", self.rows.cut(values), *same), strict=True)
        return np.concatenate(squares), np.concatenate(products)

    def _same(self, value: Any) -> list[Any]:
        return [value] * len(self.rows.shards)

    def _sum(self, question: str, *columns: Sequence[Any]) -> Any:
        return reduce(add, self._ask(question, *columns))

    def _ask(self, question: str, *columns: Sequence[Any]) -> list[Any]:
        """Ask every shard's tape; one that has lost it makes it again."""
        asked = self._same(self._name), self._same(question), *columns
        for _ in range(_TRIES):
            try:
                return self.rows.each(_ask, *asked)
            except ForgottenError:
                self.rows.each(_move, *self._columns)
                if question != "means":
                    self.means = self._means
        return self.rows.each(_ask, *asked)


def lay_out(judgments: AnyJudgments, plan: Plan) -> Rows:
    """Lay out judgments wherever they lie.

    Examples
    --------
    >>> import aggcal
    >>> len(lay_out(aggcal.read_judgments([("ann", "a", "b")]), Plan()))
    1
    """
    if isinstance(judgments, RemoteJudgments) and judgments.shards is not None:
        return ShardedRows.laid_out(judgments.shards, judgments.without_rows(), plan)
    return rows_by_plan(judgments.on_one_machine("laying out rows"), plan)


def rows_here(rows: Rows, judgments: Judgments) -> Rows:
    """Return rows on this machine, which has their judgments, too."""
    return rows_by_plan(judgments, rows.layout.plan) if isinstance(rows, ShardedRows) else rows


def pooled_rows(rows: Rows) -> Rows:
    """Forget who judged, wherever rows lie: each shard pools its own."""
    if not isinstance(rows, ShardedRows):
        return pooled(rows)
    return ShardedRows.laid_out(rows.shards, rows.bare, replace(rows.layout.plan, alike=True))


def annotators_of(
    rows: Rows, family: Family, bounds: tuple[float, float] = (-np.inf, np.inf)
) -> Annotators:
    """Return what disposes of the annotators of rows, wherever these lie."""
    if isinstance(rows, ShardedRows):
        return ShardedAnnotators(rows, family, bounds)
    return native.annotators_of(rows, family, bounds)


# -------------------------------------------------------------------- with a shard, where it lies


def _numbers(shard: Shard, plan: Plan) -> Numbers:
    """Return what a shard has of what all must number alike."""
    judgments, cells, n = shard.judgments, {}, shard.judgments.n_items
    codes = codes_of(judgments)
    for name in plan.cells:
        known = codes[name] >= 0
        group = codes[name].astype(np.int64)[known] * n
        sides = judgments.left[known], judgments.right[known]
        cells[name] = np.unique(np.concatenate([group + side for side in sides]))
    grade = judgments.grade
    top = 1 if grade is None else int(np.abs(grade.astype(np.int64)).max(initial=1))
    return Numbers(cells, top)


def _united(one: Numbers, two: Numbers) -> Numbers:
    cells = {name: np.union1d(codes, two.cells[name]) for name, codes in one.cells.items()}
    return Numbers(cells, max(one.grades, two.grades))


def _mine(plan: Plan, annotators: int) -> int:
    return 1 if plan.alike else annotators


def _lay_out(shard: Shard, layout: Layout) -> tuple[IntArray | FloatArray, ...]:
    """Lay out a shard; return rows and weights of annotators, weights of grades and items."""
    rows = rows_by_plan(shard.judgments, layout.plan, layout.numbers)
    kept = shard.memory.setdefault("layouts", {})
    kept[layout.name] = shard.place(rows), {}
    for name in list(kept)[:-_LAYOUTS]:
        del kept[name]
    levels = rows.levels.sum(axis=1)
    return rows.sizes, rows.annotator_weights, levels, rows.item_weights, rows.item_wins


def _laid_out(shard: Shard, name: str) -> tuple[Rows, dict[str, Any]]:
    try:
        rows, kept = shard.memory["layouts"][name]
    except KeyError:
        raise ForgottenError(name) from None
    return rows, kept


def _annotators(shard: Shard, layout: str, which: Which) -> Annotators:
    """Return a shard's annotators, as they were left; anew where they are forgotten."""
    rows, kept = _laid_out(shard, layout)
    name, family, bounds = which
    annotators: Annotators = kept.pop(name, None) or native.annotators_of(rows, family, bounds)
    kept[name] = annotators
    for oldest in list(kept)[:-_KINDS]:
        del kept[oldest]
    return annotators


def _restart(shard: Shard, layout: str, which: Which) -> None:
    _annotators(shard, layout, which).restart()


def _rescale(shard: Shard, layout: str, which: Which, factor: float) -> None:
    _annotators(shard, layout, which).rescale(factor)


def _move(  # noqa: PLR0917  # called by position
    shard: Shard,
    layout: str,
    which: Which,
    arguments: tuple[Any, ...],
    name: str,
    rule: str,
) -> tuple[float, Any]:
    """Dispose of a shard's annotators at a point; return the value and what is known of them."""
    annotators = _annotators(shard, layout, which)
    shard.memory.pop("tape", None)  # the memory of two is not needed
    result = getattr(annotators, rule)(*shard.inward(arguments))
    tape, more = result if isinstance(result, tuple) else (result, None)
    if rule == "maximised":
        more = annotators.theta
    shard.memory["tape"] = name, tape
    return tape.value, shard.outward(more)


def _expected_grades(  # noqa: PLR0917  # called by position
    shard: Shard,
    layout: str,
    which: Which,
    posterior: Posterior,
    unknowns: FloatArray,
    grades: tuple[float, ...],
) -> FloatArray:
    annotators = _annotators(shard, layout, which)
    unknowns, posterior = shard.inward((unknowns, posterior))
    expected: FloatArray = shard.outward(annotators.expected_grades(unknowns, posterior, grades))
    return expected


def _weighted_square(
    shard: Shard, layout: str, channel: str, unknowns: FloatArray, values: FloatArray
) -> float:
    rows, (unknowns, values) = _laid_out(shard, layout)[0], shard.inward((unknowns, values))
    return rows.weighted_square(channel, unknowns, values)


def _ask(shard: Shard, layout: str, name: str, question: str, *arguments: Any) -> Any:
    """Ask a shard's tape."""
    _laid_out(shard, layout)
    kept, tape = shard.memory.get("tape", ("", None))
    if kept != name:
        raise ForgottenError(name)
    arguments = shard.inward(arguments)
    if question == "means":
        tape.means = list(arguments)
        return None
    answer = getattr(tape, question)
    if callable(answer):
        answer = answer(*arguments)
    answer = shard.outward(answer)
    return np.stack(answer) if question in ("diagonals", "dense") else answer
