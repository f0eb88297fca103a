r"""How many answers would change a rank: what it takes to bring an item level with its neighbour.

At equal scores k answers pull the two apart by k·p, p the pull of one answer by a typical
annotator, and the fit pulls them back by some λ: the order changes from k = λ/p on. λ is what the
judgments of the two items pull when they alone are moved to one score; that all others give way a
little is allowed for by the ratio of the variances of the gap, with the others held and free.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from math import floor
from typing import Any

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, grouped, sums
from aggcal._core.kernels.threads import each_range, even
from aggcal._core.records import dataclass
from aggcal._core.text import brief
from aggcal._core.unmasked import distinct
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.curved import Curved
from aggcal.aggregation.uncertainty.matrix_free import MatrixFreeCovariance
from aggcal.data.judgments import Judgments
from aggcal.models.links import link as link_of
from aggcal.models.objective import Objective
from aggcal.models.rows import Rows, rows_of

_MOST_ANSWERS = 10_000  # more answers in a row than anybody gives
_MARGIN = 1.01  # answers that bring two items level do not put one above the other
_AT_ONCE = 1 << 18  # rows: more take more memory, fewer more time
_STEPS = 4  # of Newton's, to where two items are level: a fifth changes no answer


def rank_changes(
    judgments: Judgments, consensus: Consensus, order: IntArray, shown: int
) -> list[list[Any]] | None:
    """Return how many answers would change each rank: against whom, which way, how many.

    None where the fit does not know its uncertainty or what a judgment does.

    Parameters
    ----------
    judgments, consensus
        What was fitted, and what was found.
    order
        The items from the highest to the lowest.
    shown
        How many of them are looked at.

    Examples
    --------
    >>> import aggcal
    >>> rows = aggcal.read_judgments([("ann", "a", "b"), ("bob", "a", "b")] * 4)
    >>> fit = aggcal.BTL().fit(rows)
    >>> rank_changes(rows, fit, fit.order, 2)
    [[['b', 'down', 9]], [['a', 'up', 9]]]
    """
    known, own = consensus.uncertainty, getattr(consensus.quantifier, "aggregator", None)
    if known is None or not isinstance(own, Curved):
        return None
    score, names = consensus.scores, consensus.item_ids
    label = np.zeros(len(score)) if known.component is None else known.component
    wanted: list[list[tuple[str, int, int]]] = []
    for k in range(shown):
        wanted.append([])
        for way, step in (("up", -1), ("down", 1)):
            at = k + step
            while 0 <= at < len(order) and score[order[at]] == score[order[k]]:
                at += step  # a tie is not passed by one answer more
            if 0 <= at < len(order) and label[order[at]] == label[order[k]]:
                wanted[k].append((way, int(order[k]), int(order[at])))
    pairs = list(dict.fromkeys((min(i, j), max(i, j)) for one in wanted for _, i, j in one))
    if not pairs:
        return [[] for _ in wanted]
    one, two = np.array(pairs).T
    if isinstance(known.covariance, MatrixFreeCovariance):
        free = known.covariance.variances[one] + known.covariance.variances[two]
    else:
        free = known.covariance.gap_variance(one, two)
    level, number = _Level.about(distinct(np.concatenate([one, two])), own, judgments, consensus)
    needed = level.answers(number[one], number[two], free)
    answers = dict(zip(pairs, needed.tolist(), strict=True))
    found: list[list[Any]] = []
    for mine in wanted:
        each = ((way, j, float(answers[min(i, j), max(i, j)])) for way, i, j in mine)
        found.append(
            [
                [str(names[j]), way, floor(_MARGIN * many) + 1]
                for way, j, many in each
                if many < _MOST_ANSWERS
            ]
        )
    return found


@dataclass(frozen=True, eq=False)
class _Level:
    """Pairs of items brought to one score each, all others held."""

    rows: Rows
    problem: Objective
    theta: FloatArray
    scores: FloatArray
    pull: float
    """Of one answer between equal items, by a typical annotator."""

    __repr__ = brief

    @classmethod
    def about(
        cls, items: IntArray, own: Curved, judgments: Judgments, consensus: Consensus
    ) -> tuple[_Level, IntArray]:
        """Lay out the rows of a fit that are about these items; return the number of each item."""
        asked = np.zeros(judgments.n_items, dtype=bool)
        asked[items] = True

        def about(begin: int, end: int) -> IntArray:
            left, right = judgments.left[begin:end], judgments.right[begin:end]
            return np.flatnonzero(asked[left] | asked[right]) + begin

        kept = np.concatenate(each_range(about, even(len(judgments.count))))
        part = judgments if len(kept) == len(judgments.count) else judgments.of_rows(kept)
        seen = np.zeros(judgments.n_items, dtype=bool)
        seen[judgments.left[kept]] = seen[judgments.right[kept]] = True
        who = distinct(judgments.annotator[kept])
        rows = rows_of(part)
        sizes, theta = np.diff(rows.starts), own.parameters(consensus.reliabilities[who])
        theta = np.repeat(theta, sizes) if len(theta) == len(sizes) else np.ones(len(rows))
        pull = link_of(own.link).pull_at_zero
        found = cls(rows, own.problem(rows, consensus), theta, consensus.scores[seen], pull)
        return found, np.cumsum(seen) - 1

    @cached_property
    def _by_item(self) -> tuple[IntArray, IntArray]:
        """Rows in the order of their items, each twice, and where each item's begin."""
        both = np.concatenate([self.rows.winner, self.rows.loser])
        return grouped(both, self.rows.n_items)

    @cached_property
    def _precision(self) -> FloatArray:
        return np.asarray(self.problem.item_penalty(self.scores)[2])

    def answers(self, one: IntArray, two: IntArray, free: FloatArray) -> FloatArray:
        """Return what pulls pairs apart where they are level, over the pull of one answer.

        ``free`` is the variance of their gaps with all items free.
        """
        sizes = np.diff(self._by_item[1])
        ends = np.cumsum(sizes[one] + sizes[two])
        found, begin = np.empty(len(one)), 0
        while begin < len(one):
            room = ends[begin] - sizes[one[begin]] - sizes[two[begin]] + _AT_ONCE
            some = slice(begin, max(begin + 1, int(np.searchsorted(ends, room, side="right"))))
            found[some] = self._some_answers(one[some], two[some], free[some])
            begin = some.stop
        return found

    def _some_answers(self, one: IntArray, two: IntArray, free: FloatArray) -> FloatArray:
        sides = self._sides(np.concatenate([one, two]), np.concatenate([two, one]))
        here, there = self.scores[one], self.scores[two]
        at, n = np.concatenate([here, there]), len(one)
        stiff, other = np.split(self._pull(sides, at, np.concatenate([there, here]))[1], 2)
        first = sides.between & (sides.pair < n)
        gap = sides.sign[first] * (here - there)[sides.pair[first]]
        curve = np.maximum(self.problem.row_terms(gap, sides.theta[first]).dd, 0.0)
        joint = sums(sides.pair[first], sides.weight[first] * curve, n)
        held = (stiff + other - 2.0 * joint) / np.maximum(stiff * other - joint**2, 1e-300)
        middle = (stiff * here + other * there) / (stiff + other)
        for _ in range(_STEPS):
            level = np.tile(middle, 2)
            (up, down), bends = (np.split(part, 2) for part in self._pull(sides, level, level))
            # Rows between the two are level wherever they meet: they do not hold the two back.
            step = (up + down) / np.maximum(bends[0] + bends[1], 1e-300)
            middle = np.clip(middle + step, np.minimum(here, there), np.maximum(here, there))
        apart = 0.5 * np.abs(up - down)
        return np.asarray(apart * held / np.maximum(free, 1e-12) / self.pull)

    def _sides(self, items: IntArray, others: IntArray) -> _Sides:
        """Return the judgments of items, each from its side."""
        order, starts = self._by_item
        sizes = starts[items + 1] - starts[items]
        pair = np.repeat(np.arange(len(items)), sizes)
        within = np.arange(len(pair)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        mine = order[starts[items][pair] + within]
        sign = np.where(mine < len(self.rows), 1.0, -1.0)
        mine = mine % len(self.rows)
        against = np.where(sign > 0.0, self.rows.loser[mine], self.rows.winner[mine])
        found = _Sides(
            pair, sign, against == others[pair], self.scores[against], self.rows.weight[mine],
            self.theta[mine], self._precision[items], np.zeros(len(items)),
        )  # fmt: skip
        off, _ = self._pull(found, self.scores[items], self.scores[others])
        return replace(found, off=off)

    def _pull(
        self, own: _Sides, score: FloatArray, there: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the forces on items at scores, with their partners there, and the stiffness."""
        heights, n = np.where(own.between, there[own.pair], own.heights), len(score)
        terms = self.problem.row_terms(own.sign * (score[own.pair] - heights), own.theta)
        force = -sums(own.pair, own.weight * own.sign * terms.d, n)
        bend = sums(own.pair, own.weight * np.maximum(terms.dd, 0.0), n)
        return force - own.precision * score - own.off, bend + own.precision


@dataclass(frozen=True, eq=False)
class _Sides:
    """The judgments of items, from the side of each; one after the other."""

    pair: IntArray
    """Which of the items a row is of."""
    sign: FloatArray
    between: BoolArray
    """Whether it is about the partner."""
    heights: FloatArray
    weight: FloatArray
    theta: FloatArray
    precision: FloatArray
    off: FloatArray
    """What is left of the force at the fit, where annotators were integrated out."""
