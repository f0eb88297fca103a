r"""Rows of judgments, and the channels through which unknowns move them.

A row is a question to an annotator and what was answered to it. Its likelihood depends on the
unknowns x only through channels, linear maps whose rows have a few entries each:

    gap   m = (s_i − s_j) + (q_ic − q_jc) + (δ_ig − δ_jg) + d'β,
    axis  a = v_i − v_j,
    tie   ω = the readiness to tie of the row's context,

of scores s, what an item does in one context q and in one category δ, and coefficients β of the
differences d of what is controlled for (and, where annotators are alike, of the left side: d = 1).
Channels are what the derivatives of `families` are taken in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, order_by, segment_sums, sums
from aggcal._core.text import brief
from aggcal.data.control import Covariates
from aggcal.data.judgments import Judgments
from aggcal.data.row_columns import codes_of
from aggcal.data.weights import answers as number_of_answers

GAP, AXIS, TIE = "gap", "axis", "tie"
"""Channels."""
SCORES, CONTROL, CONTEXT_READINESS, COMMON_POSITION = (
    "scores",
    "control",
    "tie context",
    "position",
)
"""Blocks of unknowns, beside those that are named as the key in which items have effects."""
_DIFFERENCE = np.array([1.0, -1.0])
_TIE = 0.5
"""The outcome of a tie."""
_WORTH_MERGING = 4
"""Pairs of items for each row, beyond which few rows are of one pair: merging them takes longer
than it saves."""


class Answers(NamedTuple):
    """What was answered, row by row: sums of weights."""

    weight: FloatArray
    lean: FloatArray
    """Half the grades for the left item, less half those for the right one."""
    tied: FloatArray

    def __repr__(self) -> str:
        return f"Answers(<{len(self.weight)}>)"


@dataclass(frozen=True, eq=False)
class Channel:
    """A linear map Z from unknowns to rows, each of which adds up a few of them.

    Examples
    --------
    >>> channel = Channel.difference(np.array([0, 1]), np.array([1, 2]), 3)
    >>> channel.gather(np.array([3.0, 1.0, 0.0])), channel.scatter(np.array([1.0, 2.0]))
    (array([2., 1.]), array([ 1.,  1., -2.]))
    """

    __repr__ = brief

    columns: CodeArray
    """Rows by entries: which unknowns."""
    factors: FloatArray
    """Times what: an array of the same shape, or one number for each entry."""
    size: int
    """Number of unknowns."""

    @classmethod
    def difference(cls, left: CodeArray, right: CodeArray, size: int, first: int = 0) -> Channel:
        """Return the map to x_left − x_right, the unknowns of items beginning at ``first``."""
        columns = np.empty((len(left), 2), dtype=np.int32)
        columns[:, 0], columns[:, 1] = left, right
        if first:
            columns += first
        return cls(columns, _DIFFERENCE, size)

    @property
    def is_difference(self) -> bool:
        """Whether each row is a difference of two unknowns."""
        return self.factors is _DIFFERENCE

    def gather(self, unknowns: FloatArray) -> FloatArray:
        """Return Z x."""
        moved: FloatArray = (self.factors * unknowns[self.columns]).sum(axis=1)
        return moved

    def scatter(self, flow: FloatArray) -> FloatArray:
        """Return Z' f."""
        return self._add(self.factors, flow)

    def scatter_squares(self, flow: FloatArray) -> FloatArray:
        """Return (Z∘Z)' f: as if no unknown were in a row twice, the diagonal of Z' diag(f) Z."""
        return self._add(np.square(self.factors), flow)

    def _add(self, factors: FloatArray, flow: FloatArray) -> FloatArray:
        total = np.zeros(self.size, like=flow)
        for k in range(self.columns.shape[1]):
            total += sums(self.columns[:, k], factors[..., k] * flow, self.size)
        return total

    def variances(self, covariance: FloatArray) -> FloatArray:
        """Return the variances of Z x, from the covariance of x or the diagonal of that."""
        columns, factors = self.columns, self.factors
        if covariance.ndim == 1:
            independent: FloatArray = (np.square(factors) * covariance[columns]).sum(axis=1)
            return independent
        total = np.zeros(len(columns), like=covariance)
        for a in range(columns.shape[1]):
            for b in range(columns.shape[1]):
                both = factors[..., a] * factors[..., b]
                total += both * covariance[columns[:, a], columns[:, b]]
        return np.maximum(total, 0.0)

    @cached_property
    def matrix(self) -> Any:
        """Z as a sparse matrix."""
        n, width = self.columns.shape
        values = np.broadcast_to(self.factors, self.columns.shape).ravel()
        edges = np.asarray(np.arange(0, n * width + 1, width), like=self.columns)
        columns = self.columns.ravel()
        sparse = sparse_of(columns)
        return sparse.csr_matrix((values, columns, edges), shape=(n, self.size))

    def of(self, rows: Any) -> Channel:
        """Return the map to some of the rows."""
        factors = self.factors if self.factors.ndim == 1 else self.factors[rows]
        return Channel(self.columns[rows], factors, self.size)


def sparse_of(array: object) -> Any:
    """Return what makes sparse matrices of such arrays: SciPy, or CuPy for those of a GPU."""
    whose = "scipy" if isinstance(array, np.ndarray) else "cupyx.scipy"
    return import_module(f"{whose}.sparse")


@dataclass(frozen=True, eq=False)
class Block:
    """Unknowns of one kind: where they stand, and the item and group (−1: none) of each."""

    __repr__ = brief

    where: slice
    item: IntArray
    group: IntArray


@dataclass(frozen=True, eq=False)
class Rows:
    """Questions and answers; those of annotator u are rows ``starts[u]`` to ``starts[u + 1]``.

    Equal questions to one annotator are merged. Every annotator has at least one row.
    """

    __repr__ = brief

    left: CodeArray
    right: CodeArray
    answers: Answers
    starts: IntArray
    n_items: int
    levels: FloatArray
    """Weight of each grade of decided answers, grades by rows."""
    keys: dict[str, CodeArray] = field(default_factory=dict)
    """Further codes that rows agree in (of the context, of categories); −1 is none."""
    channels: dict[str, Channel] = field(default_factory=dict)
    blocks: dict[str, Block] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.left)

    @property
    def n_annotators(self) -> int:
        """How many annotators the rows belong to."""
        return len(self.starts) - 1

    @property
    def size(self) -> int:
        """Number of unknowns that rows depend on."""
        return max(int(block.where.stop) for block in self.blocks.values())

    @cached_property
    def sizes(self) -> IntArray:
        """Rows of each annotator."""
        return np.diff(self.starts)

    @cached_property
    def owner(self) -> IntArray:
        """The annotator of each row."""
        owner = np.repeat(np.arange(self.n_annotators), self.sizes)
        return np.asarray(owner, like=self.answers.weight)

    def without(self, annotator: int) -> Rows:
        """Return the same questions, those to one annotator left unanswered."""
        kept = (self.owner != annotator).astype(np.float64)
        answers = Answers(*(kept * each for each in self.answers))
        return replace(self, answers=answers, levels=kept * self.levels)

    @cached_property
    def annotator_weights(self) -> FloatArray:
        """Total weight of the answers of each annotator."""
        return self.by_annotator(self.answers.weight)

    @cached_property
    def grade_weights(self) -> FloatArray:
        """Total weight of the decided answers of each grade."""
        return np.asarray(self.levels.sum(axis=1))

    @cached_property
    def item_weights(self) -> FloatArray:
        """Total weight of the answers about each item."""
        return self._by_item(self.answers.weight, self.answers.weight)

    @cached_property
    def item_wins(self) -> FloatArray:
        """The same of those that it won; graded ones count by their grades."""
        weight, lean = self.answers.weight, self.answers.lean
        return self._by_item(0.5 * weight + lean, 0.5 * weight - lean)

    def _by_item(self, left: FloatArray, right: FloatArray) -> FloatArray:
        n = self.n_items
        return np.asarray(sums(self.left, left, n) + sums(self.right, right, n))

    @cached_property
    def tied_share(self) -> float:
        """The share of ties among the answers, by weight."""
        decided = float(self.grade_weights.sum()) / float(self.annotator_weights.sum())
        return max(1.0 - decided, 0.0)

    def per_row(self, values: np.ndarray) -> np.ndarray:
        """Give each row what is its annotator's; annotators are the first axis."""
        by_row: np.ndarray = values[self.owner]
        return by_row

    def by_annotator(self, values: FloatArray) -> FloatArray:
        """Add up what rows have; rows are the last axis."""
        return segment_sums(values, self.starts)

    def weighted_square(self, channel: str, unknowns: FloatArray, values: FloatArray) -> float:
        """Return Σ w (v x)² over rows: x what a channel makes of unknowns, v the annotators'."""
        moved = self.per_row(values) * self.channels[channel].gather(unknowns)
        return float(self.answers.weight @ np.square(moved))

    def of(self, kept: np.ndarray) -> Rows:
        """Return the rows of a mask; annotators of whom none is kept are left out."""
        sizes = self.by_annotator(kept.astype(np.int64))
        return replace(
            self,
            left=self.left[kept],
            right=self.right[kept],
            answers=Answers(*(part[kept] for part in self.answers)),
            starts=np.concatenate([[0], np.cumsum(sizes[sizes > 0])]),
            levels=self.levels[:, kept],
            keys={name: code[kept] for name, code in self.keys.items()},
            channels={name: channel.of(kept) for name, channel in self.channels.items()},
        )


@dataclass(frozen=True, eq=False)
class Plan:
    """What of the judgments is used, and which unknowns move their rows.

    It says so without the rows, so that the parts of data that lie in several places are laid out
    alike.
    """

    ties: bool = False
    """Whether a tie is an answer of its own; if not, it is half a judgment each way."""
    sides: bool = False
    """Whether left and right matter: if not, equal pairs are merged whatever their sides."""
    keys: bool = False
    """Whether contexts and categories do."""
    grades: bool = False
    """Whether strengths of answers do."""
    cells: tuple[str, ...] = ()
    """Keys in which items have effects of their own."""
    contexts: int = 0
    """Contexts that have a readiness to tie of their own."""
    axis: bool = False
    """Whether annotators differ along an axis."""
    covariates: Covariates | None = None
    """What is controlled for."""
    alike: bool = False
    """Whether annotators are: rows are pooled, and sides have one effect for all."""
    wins: bool = False
    """Whether rows are wins of their left items; ties are then half a win each way."""
    answers: bool = False
    """Whether rows weigh as many answers as they are, for claims that weights must not strengthen
    (see `aggcal.data.weights.answers`)."""


@dataclass(frozen=True, eq=False)
class Numbers:
    """What rows that are parts of others number alike."""

    cells: Mapping[str, IntArray]
    """Of each of the plan's cells: all pairs of a group and an item (group × items + item)."""
    grades: int = 1
    """How many strengths of answers there are."""


def rows_by_plan(judgments: Judgments, plan: Plan, numbers: Numbers | None = None) -> Rows:
    """Lay out judgments; ``numbers`` where they are a part of others.

    Examples
    --------
    >>> import aggcal
    >>> both = aggcal.read_judgments([("ann", "a", "b", "left"), ("ann", "b", "a", "tie")])
    >>> rows = rows_by_plan(both, Plan(ties=True))
    >>> rows.answers.weight, rows.answers.lean, rows.answers.tied, rows.size
    (array([2.]), array([0.5]), array([1.]), 2)

    >>> rows = rows_by_plan(aggcal.read_judgments([("ann", "a", "b", 0.75)]), Plan(wins=True))
    >>> rows.left, rows.answers.weight
    (array([0, 1], dtype=int32), array([0.75, 0.25]))
    """
    if plan.answers:
        judgments = replace(judgments, weight=number_of_answers(judgments))
    if plan.wins:
        rows = _wins(judgments)
        rows = pooled(rows) if plan.alike else rows
    else:
        rows = _questions(judgments, plan, 1 if numbers is None else numbers.grades)
    return _with_channels(rows, plan, numbers)


def _wins(judgments: Judgments) -> Rows:
    """Lay out judgments as weighted wins of their left items; ties are half a win each way."""
    outcome, weight = np.asarray(judgments.outcome), np.asarray(judgments.weight)
    if judgments.decided_for_left:  # they are sorted by annotator, and no two rows are equal
        answers = Answers(weight, 0.5 * weight, np.zeros(len(weight)))
        columns = judgments.left, judgments.right, answers, judgments.starts
        return Rows(*columns, judgments.n_items, weight[None])
    ahead, behind = outcome > 0.0, outcome < 1.0

    def both(forward: np.ndarray, backward: np.ndarray) -> np.ndarray:
        return np.concatenate([forward[ahead], backward[behind]])

    annotator, left, right = judgments.annotator, judgments.left, judgments.right
    codes = both(annotator, annotator), both(left, right), both(right, left)
    won = both(weight * outcome, weight * (1.0 - outcome))
    answers = Answers(won, 0.5 * won, np.zeros(len(won)))
    return _merged(codes, answers, won[None], judgments.n_items, {})


def pooled(rows: Rows) -> Rows:
    """Forget who judged; rows without a context stay apart, as each is one of its own.

    Examples
    --------
    >>> import aggcal
    >>> two = aggcal.read_judgments([("ann", "a", "b"), ("bob", "a", "b")])
    >>> pooled(rows_by_plan(two, Plan(wins=True))).answers.weight
    array([2.])
    """
    nobody, keys = np.zeros(len(rows), dtype=np.int64), rows.keys
    if not keys and rows.n_items**2 > _WORTH_MERGING * len(rows):
        return replace(rows, starts=np.array([0, len(rows)]))
    if "context" in keys:
        keys = keys | {"own": np.where(keys["context"] < 0, rows.owner, -1)}
    codes = nobody, rows.left, rows.right
    merged = _merged(codes, rows.answers, rows.levels, rows.n_items, keys)
    merged = replace(merged, keys={name: merged.keys[name] for name in rows.keys})
    return _with_channels(merged, Plan(), None)


def _questions(judgments: Judgments, plan: Plan, grades: int) -> Rows:
    """Lay out what was asked and answered, without the unknowns."""
    keys = codes_of(judgments) if plan.keys else {}
    answers, levels = answers_of(judgments, ties=plan.ties, grades=plan.grades, least=grades)
    left, right = judgments.left, judgments.right
    if not plan.sides:
        swapped = left > right
        left, right = np.where(swapped, right, left), np.where(swapped, left, right)
        answers = answers._replace(lean=np.where(swapped, -answers.lean, answers.lean))
    codes = np.asarray(judgments.annotator), left, right
    rows = _merged(codes, answers, levels, judgments.n_items, keys)
    return pooled(rows) if plan.alike else rows


def answers_of(
    judgments: Judgments, *, ties: bool, grades: bool, least: int = 1
) -> tuple[Answers, FloatArray]:
    """Return what was answered in each row, and the weight of each grade, grades by rows.

    Parameters
    ----------
    judgments
        In memory.
    ties
        Whether a tie is an answer of its own.
    grades
        Whether strengths of answers matter, where there are some.
    least
        How many strengths there are at least: judgments may be a part of others.

    Examples
    --------
    >>> import aggcal
    >>> two = aggcal.read_judgments([("ann", "a", "b", "left"), ("ann", "a", "c", "tie")])
    >>> answers_of(two, ties=False, grades=True)[0].lean
    array([0.5, 0. ])
    """
    outcome, weight = np.asarray(judgments.outcome), np.asarray(judgments.weight)
    tied = np.where(outcome == _TIE, weight, 0.0) if ties else np.zeros(len(weight))
    decided, lean = tied == 0.0, (outcome - 0.5) * weight
    grade = judgments.grade if grades else None
    steps = np.ones(1, int) if grade is None else np.maximum(np.abs(grade.astype(np.int64)), 1)
    every = range(1, max(least, int(steps.max(initial=1))) + 1)
    levels = np.stack([np.where((steps == g) & decided, weight, 0.0) for g in every])
    return Answers(weight, lean * steps, tied), levels


def _merged(
    codes: tuple[Any, CodeArray, CodeArray],
    answers: Answers,
    levels: FloatArray,
    n_items: int,
    keys: dict[str, CodeArray],
) -> Rows:
    """Sort rows by annotator (the first of the codes), items and keys, equal ones as one."""
    columns = [np.asarray(column) for column in (*codes, *keys.values())]
    order = order_by(columns)
    columns = [column[order] for column in columns]
    new = np.ones(len(order), dtype=bool)
    if len(order):
        new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    first = np.flatnonzero(new)
    annotator, left, right, *others = (column[first] for column in columns)
    added = (np.add.reduceat(part[order], first) if len(first) else part for part in answers)
    edges = np.flatnonzero(np.diff(annotator)) + 1
    return Rows(
        left.astype(np.int32, copy=False),
        right.astype(np.int32, copy=False),
        Answers(*added),
        np.concatenate([[0], edges, [len(first)]]) if len(first) else np.zeros(1, dtype=np.int64),
        n_items,
        np.add.reduceat(levels[:, order], first, axis=1) if len(first) else levels,
        dict(zip(keys, others, strict=True)),
    )


def _with_channels(rows: Rows, plan: Plan, numbers: Numbers | None) -> Rows:
    """Add the unknowns that a plan has, and how they move the rows."""
    n, every = rows.n_items, np.arange(rows.n_items)
    none = np.full(n, -1)
    blocks, size = {SCORES: Block(slice(0, n), every, none)}, n
    columns, factors = list[Any](), list[Any]()
    for name in plan.cells:
        group = rows.keys[name].astype(np.int64)
        known = group >= 0
        cells = [np.where(known, group * n + side, -1) for side in (rows.left, rows.right)]
        if numbers is None:
            used = np.unique(np.concatenate([cell[known] for cell in cells]))
        else:
            used = numbers.cells[name]
        for cell, sign in zip(cells, _DIFFERENCE, strict=True):
            columns.append(size + np.where(known, np.searchsorted(used, cell), 0))
            factors.append(np.where(known, sign, 0.0))
        blocks[name] = Block(slice(size, size + len(used)), used % n, used // n)
        size += len(used)
    covariates = _covariates(rows, plan)
    for name, values in covariates.items():
        width = values.shape[1]
        columns += [np.full(len(rows), size + k) for k in range(width)]
        factors += list(values.T)
        blocks[name] = Block(slice(size, size + width), np.full(width, -1), np.arange(width))
        size += width
    first_axis, first_context = size, size + (n if plan.axis else 0)
    size = first_context + plan.contexts
    gap = Channel.difference(rows.left, rows.right, size)
    if columns:
        table = np.column_stack([gap.columns, *columns]).astype(np.int32)
        signs = np.broadcast_to(_DIFFERENCE, gap.columns.shape)
        gap = Channel(table, np.column_stack([signs, *factors]), size)
    channels = {GAP: gap}
    if plan.axis:
        blocks[AXIS] = Block(slice(first_axis, first_context), every, none)
        channels[AXIS] = Channel.difference(rows.left, rows.right, size, first_axis)
    if plan.contexts:
        # Where annotators are alike, their readiness to tie is that of the one context there is.
        code = np.zeros(len(rows), dtype=np.int32) if plan.alike else rows.keys["context"]
        where = np.where(code >= 0, code, 0)[:, None] + np.int32(first_context)
        channels[TIE] = Channel(where, (code >= 0).astype(np.float64)[:, None], size)
        contexts = np.arange(plan.contexts)
        nobody = np.full(plan.contexts, -1)
        blocks[CONTEXT_READINESS] = Block(slice(first_context, size), nobody, contexts)
    return replace(rows, channels=channels, blocks=blocks)


def _covariates(rows: Rows, plan: Plan) -> dict[str, FloatArray]:
    """Return what has a coefficient: the position, where it is the same for all, and covariates."""
    columns = {}
    if plan.alike and plan.sides:
        columns[COMMON_POSITION] = np.ones((len(rows), 1))
    if plan.covariates is not None:
        context = rows.keys.get("context")
        columns[CONTROL] = plan.covariates.differences(rows.left, rows.right, context)
    return columns
