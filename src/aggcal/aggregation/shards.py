"""Rows, annotators and tapes that lie in shards: a tape over all rows is the sum of the shards'.

An engine calls functions with its shards, wherever they are (`aggcal.engines.base.Shards`). Each
makes rows of its judgments, annotators of these and tapes of those, keeps them (`Kept`), and is
asked what they answer. Answers are added up, or put one after the other where they are about
annotators. Nothing else in a fit knows where rows lie; `terms` counts over shards before it.

A shard that has lost what it made, because its worker was lost, says so (`ForgottenError`); it is
then told to make it again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from inspect import signature
from itertools import pairwise
from operator import add
from typing import Any
from uuid import uuid4

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal.aggregation import native
from aggcal.aggregation.annotators import Annotators, Posterior
from aggcal.aggregation.families import Family
from aggcal.aggregation.rows import Numbers, Plan, Rows, pooled, rows_by_plan
from aggcal.aggregation.tape import Mean, Tape
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments
from aggcal.data.row_columns import codes_of
from aggcal.engines.base import Shard, Shards
from aggcal.engines.remote import RemoteJudgments

_MOST = {"rows": 3, "annotators": 4, "tapes": 1}
"""What a shard keeps at once: rows of a fit without terms, with them, and to compare; annotators as
they are fitted and as errors take them, of two fits; and one tape, which has most numbers."""
_TRIES = 3
"""Times that something is made again: a worker may be lost while it is."""
_OF_ANNOTATORS = {"prior", "point", "posterior", "theta", "reliabilities", "values"}
"""Arguments that have an entry for each annotator: a shard gets its own."""


class ForgottenError(LookupError):
    """A shard has lost what it made before."""


class Kept:
    """What every shard makes and keeps.

    Parameters
    ----------
    shards
        Where they lie.
    kind, of
        What it is, and what it is made of: None for the judgments.
    make
        Takes a shard, what it is made of, and an entry of each column; returns what is made, and
        what is to be known of it.
    columns
        Arguments of each shard.
    """

    def __init__(
        self,
        shards: Shards,
        kind: str,
        of: Kept | None,
        make: Callable[..., Any],
        *columns: Sequence[Any],
    ) -> None:
        self.shards, self._of, self._means = shards, of, list[Any]()
        self._name = uuid4().hex
        made_of = None if of is None else of._name  # noqa: SLF001  # its own class
        self._making = [*map(self.same, (self._name, kind, made_of, make)), *columns]
        self.answers = self._made()

    def same(self, value: Any) -> list[Any]:
        """Return an argument that is the same for all shards."""
        return [value] * len(self.shards)

    def ask(self, question: str, *columns: Sequence[Any]) -> list[Any]:
        """Ask what is kept for an attribute, or what a method returns."""
        asked = self.same(self._name), self.same(question), *columns
        return self._trying(lambda: self.shards.each(_ask, *asked), self._made)

    def set_means(self, means: list[Any]) -> None:
        """Let a tape have unknown means, and again when it is made again."""
        self._means = means
        self.ask("__setattr__", self.same("means"), means)

    def _made(self) -> list[Any]:
        again = self._of._made if self._of else list  # noqa: SLF001
        answers = self._trying(lambda: self.shards.each(_make, *self._making), again)
        if self._means:
            self.set_means(self._means)
        return answers

    @staticmethod
    def _trying(work: Callable[[], list[Any]], again: Callable[[], Any]) -> list[Any]:
        for _ in range(_TRIES):
            try:
                return work()
            except ForgottenError:
                again()
        return work()


@dataclass(frozen=True, eq=False)
class ShardedRows(Rows):
    """Rows that lie in shards: here are their numbers, and the weights of annotators and items."""

    kept: Kept = field(kw_only=True)
    plan: Plan = field(kw_only=True)
    edges: IntArray = field(kw_only=True)
    """Of each shard, the first of its annotators; and how many there are."""
    bare: Judgments = field(kw_only=True)
    """No judgments, of the same items and parted by the same columns."""

    @classmethod
    def laid_out(cls, shards: Shards, bare: Judgments, plan: Plan) -> ShardedRows:
        """Have every shard lay out its judgments."""
        numbers = None
        if plan.cells or plan.grades:
            numbers = reduce(_united, shards.each(_numbers, [plan] * len(shards)))
        columns = [plan] * len(shards), [numbers] * len(shards)
        kept = Kept(shards, "rows", None, _lay_out, *columns)
        sizes, weights, levels, of_items, won = zip(*kept.answers, strict=True)
        like = rows_by_plan(bare, plan, numbers)
        rows = cls(
            like.left,
            like.right,
            like.answers,
            np.concatenate([[0], np.cumsum(np.concatenate(sizes))]),
            like.n_items,
            reduce(add, levels)[:, None],
            {},
            like.channels,
            like.blocks,
            kept=kept,
            plan=plan,
            edges=np.cumsum([0, *(1 if plan.alike else len(each) for each in sizes)]),
            bare=bare,
        )
        items = {"item_weights": reduce(add, of_items), "item_wins": reduce(add, won)}
        rows.__dict__.update(items, annotator_weights=np.concatenate(weights))
        return rows

    def __len__(self) -> int:
        return int(self.starts[-1])

    def weighted_square(self, *arguments: Any, **named: Any) -> float:
        """Return Σ w (v x)² over rows: x what a channel makes of unknowns, v the annotators'."""
        columns = self.columns(Rows.weighted_square, arguments, named)
        return float(sum(self.kept.ask("weighted_square", *columns)))

    def columns(
        self, method: Callable[..., Any], arguments: Sequence[Any], named: dict[str, Any]
    ) -> list[list[Any]]:
        """Return a column of each argument of a method: cut, where it has an entry by annotator."""
        bound = signature(method).bind(self, *arguments, **named)
        bound.apply_defaults()
        _, *given = bound.arguments.items()
        cuts = [slice(*edges) for edges in pairwise(self.edges.tolist())]
        return [
            [part(value, cut) for cut in cuts] if name in _OF_ANNOTATORS else self.kept.same(value)
            for name, value in given
        ]


def part(whole: Any, annotators: slice) -> Any:
    """Return the part of some annotators."""
    if whole is None or isinstance(whole, np.ndarray):
        return None if whole is None else whole[annotators]
    return whole.part(annotators)


def _total(answers: Sequence[Any]) -> Any:
    if isinstance(answers[0], tuple):
        return tuple(reduce(add, each) for each in zip(*answers, strict=True))
    return reduce(add, answers)


def _joined(answers: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(np.concatenate(each) for each in zip(*answers, strict=True))


def _posterior(parts: Sequence[Posterior]) -> Posterior:
    columns = [(each.nodes, each.weights, each.evidence) for each in parts]
    nodes, weights, evidence = _joined(columns)
    return replace(parts[0], nodes=nodes, weights=weights, evidence=evidence)


def _asked(method: Any, combine: Callable[[Sequence[Any]], Any] = _total) -> Any:
    """Return a method that asks every shard the same, and combines the answers."""

    def ask(self: Any, *arguments: Any, **named: Any) -> Any:
        columns = self.rows.columns(method, arguments, named)
        return combine(self.kept.ask(method.__name__, *columns))

    return ask


def _disposed(method: Any) -> Any:
    """Return a rule that every shard disposes of its annotators by."""

    def dispose(self: Any, *arguments: Any, **named: Any) -> Any:
        columns = zip(*self.rows.columns(method, arguments, named), strict=True)
        rule = self.kept.same(method.__name__)
        kept = Kept(self.rows.kept.shards, "tapes", self.kept, _dispose, rule, [*columns])
        values, known = zip(*kept.answers, strict=True)
        tape = ShardedTape(self.rows, kept, sum(values))
        if isinstance(known[0], Posterior):
            return tape, _posterior(known)
        if known[0] is not None:
            self.theta = np.concatenate(known)
        return tape

    return dispose


class ShardedAnnotators(Annotators):
    """`Annotators` of rows in shards."""

    rows: ShardedRows

    def __init__(self, rows: ShardedRows, family: Family, bounds: tuple[float, float]) -> None:
        super().__init__(rows, family, bounds)
        of, same = rows.kept, rows.kept.same
        self.kept = Kept(of.shards, "annotators", of, _annotators, same(family), same(bounds))

    restart: Any = _asked(Annotators.restart, list)
    expected_grades: Any = _asked(Annotators.expected_grades)
    alike: Any = _disposed(Annotators.alike)
    maximised: Any = _disposed(Annotators.maximised)
    expected: Any = _disposed(Annotators.expected)
    integrated: Any = _disposed(Annotators.integrated)


class ShardedTape(Tape):
    """The sum of the shards' tapes, which stay where they are."""

    rows: ShardedRows

    def __init__(self, rows: ShardedRows, kept: Kept, value: float) -> None:
        super().__init__(rows, value, {}, {}, {})
        self.kept = kept

    @property
    def means(self) -> list[Mean]:
        """Unknown prior means; the complete information of each is the first shard's."""
        return self._means

    @means.setter
    def means(self, means: list[Mean]) -> None:
        self._means = means
        cuts = enumerate(pairwise(self.rows.edges.tolist()))
        parts = [[_part_of_mean(mean, slice(*cut), k) for mean in means] for k, cut in cuts]
        if means:
            self.kept.set_means(parts)

    @property
    def gradient(self) -> FloatArray:
        """Of the value."""
        total: FloatArray = _total(self.kept.ask("gradient"))
        return total

    weighted: Any = _asked(Tape.weighted)
    product: Any = _asked(Tape.product)
    diagonals: Any = _asked(Tape.diagonals)
    missing_diagonal: Any = _asked(Tape.missing_diagonal)
    dense: Any = _asked(Tape.dense)
    forms: Any = _asked(Tape.forms, _joined)


def _part_of_mean(mean: Mean, cut: slice, shard: int) -> Mean:
    return Mean(mean.index, mean.responses[cut], mean.score[cut], 0.0 if shard else mean.curvature)


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
    return rows_by_plan(judgments, rows.plan) if isinstance(rows, ShardedRows) else rows


def pooled_rows(rows: Rows) -> Rows:
    """Forget who judged, wherever rows lie: each shard pools its own."""
    if not isinstance(rows, ShardedRows):
        return pooled(rows)
    return ShardedRows.laid_out(rows.kept.shards, rows.bare, replace(rows.plan, alike=True))


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
    grade = judgments.grade if plan.grades else None
    top = 1 if grade is None else int(np.abs(grade.astype(np.int64)).max(initial=1))
    return Numbers(cells, top)


def _united(one: Numbers, two: Numbers) -> Numbers:
    cells = {name: np.union1d(codes, two.cells[name]) for name, codes in one.cells.items()}
    return Numbers(cells, max(one.grades, two.grades))


def _kept(shard: Shard, name: str) -> Any:
    for things in shard.memory.values():
        if name in things:
            return things[name]
    raise ForgottenError(name)


def _make(  # called by position
    shard: Shard, name: str, kind: str, of: str | None, make: Callable[..., Any], *arguments: Any
) -> Any:
    """Have a shard make something, and keep it; return what is to be known of it."""
    base, things = None if of is None else _kept(shard, of), shard.memory.setdefault(kind, {})
    for oldest in list(things)[: max(0, len(things) + 1 - _MOST[kind])]:
        del things[oldest]  # before: the memory of two tapes is not needed
    things[name], answer = make(shard, base, *arguments)
    return shard.outward(answer)


def _ask(shard: Shard, name: str, question: str, *arguments: Any) -> Any:
    """Ask what a shard keeps."""
    answer = getattr(_kept(shard, name), question)
    return shard.outward(answer(*shard.inward(arguments)) if callable(answer) else answer)


def _lay_out(shard: Shard, _: None, plan: Plan, numbers: Numbers | None) -> tuple[Any, Any]:
    """Return rows, and their numbers and weights: of annotators, of grades and of items."""
    rows = rows_by_plan(shard.judgments, plan, numbers)
    weights = rows.annotator_weights, rows.levels.sum(axis=1), rows.item_weights, rows.item_wins
    return shard.place(rows), (rows.sizes, *weights)


def _annotators(
    _: Shard, rows: Rows, family: Family, bounds: tuple[float, float]
) -> tuple[Any, None]:
    return native.annotators_of(rows, family, bounds), None


def _dispose(
    shard: Shard, annotators: Annotators, rule: str, arguments: tuple[Any, ...]
) -> tuple[Any, Any]:
    """Return a tape, and its value and what is known of the annotators."""
    result = getattr(annotators, rule)(*shard.inward(arguments))
    tape, known = result if isinstance(result, tuple) else (result, None)
    return tape, (tape.value, annotators.theta if rule == "maximised" else known)
