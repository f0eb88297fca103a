r"""How many answers would change a rank: what it takes to bring an item level with its neighbour.

At equal scores k answers pull the two apart by k·p, p the pull of one answer by a typical
annotator, and the fit pulls them back by some λ: the order changes from k = λ/p on. λ is what the
judgments of the two items pull when they alone are moved to one score; that all others give way a
little is allowed for by the ratio of the variances of the gap, with the others held and free.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import floor
from typing import Any

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray
from aggcal._core.text import brief
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.curved import Curved
from aggcal.aggregation.uncertainty.covariance import MOST_DENSE
from aggcal.data.judgments import Judgments
from aggcal.models.links import link as link_of
from aggcal.models.objective import Objective
from aggcal.models.rows import Rows, rows_of

_MOST_ANSWERS = 10_000  # more answers in a row than anybody gives
_MARGIN = 1.01  # answers that bring two items level do not put one above the other
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
    level, known_pairs = _Level.of(own, judgments, consensus), dict[tuple[int, int], float]()
    score, names = consensus.scores, consensus.item_ids
    label = np.zeros(len(score)) if known.component is None else known.component
    found: list[list[Any]] = []
    for k in range(shown):
        mine: list[Any] = []
        for way, step in (("up", -1), ("down", 1)):
            at = k + step
            while 0 <= at < len(order) and score[order[at]] == score[order[k]]:
                at += step  # a tie is not passed by one answer more
            if not 0 <= at < len(order) or label[order[at]] != label[order[k]]:
                continue
            i, j = int(order[k]), int(order[at])
            free = known.covariance.variances[[i, j]].sum()
            if len(score) <= MOST_DENSE:
                free = known.covariance.gap_variance(order[[k]], order[[at]])[0]
            pair = min(i, j), max(i, j)
            if pair not in known_pairs:
                known_pairs[pair] = level.answers(*pair, float(free))
            answers = known_pairs[pair]
            if answers < _MOST_ANSWERS:
                mine.append([str(names[j]), way, floor(_MARGIN * answers) + 1])
        found.append(mine)
    return found


@dataclass(frozen=True, eq=False)
class _Level:
    """Two items brought to one score, all others held."""

    rows: Rows
    problem: Objective
    theta: FloatArray
    scores: FloatArray
    pull: float
    """Of one answer between equal items, by a typical annotator."""
    items: dict[int, _Item] = field(default_factory=dict)

    __repr__ = brief

    @classmethod
    def of(cls, own: Curved, judgments: Judgments, consensus: Consensus) -> _Level:
        """Lay out the rows of a fit."""
        rows = rows_of(judgments)
        sizes, theta = np.diff(rows.starts), own.parameters(consensus.reliabilities)
        theta = np.repeat(theta, sizes) if len(theta) == len(sizes) else np.ones(len(rows))
        pull = link_of(own.link).pull_at_zero
        return cls(rows, own.problem(rows, consensus), theta, consensus.scores, pull)

    @cached_property
    def _by_item(self) -> tuple[IntArray, IntArray]:
        """Rows in the order of their items, each twice, and where each item's begin."""
        both = np.concatenate([self.rows.winner, self.rows.loser])
        edges = np.arange(self.rows.n_items + 1)
        order = np.argsort(both, kind="stable")
        return order, np.searchsorted(both[order], edges)

    @cached_property
    def _precision(self) -> FloatArray:
        return np.asarray(self.problem.item_penalty(self.scores)[2])

    def _item(self, item: int) -> _Item:
        """Return the judgments of an item, from its side."""
        if item not in self.items:
            order, starts = self._by_item
            mine = order[starts[item] : starts[item + 1]]
            sign = np.where(mine < len(self.rows), 1.0, -1.0)
            mine = mine % len(self.rows)
            against = np.where(sign > 0.0, self.rows.loser[mine], self.rows.winner[mine])
            columns = sign, against, self.scores[against], self.rows.weight[mine], self.theta[mine]
            found = _Item(*columns, float(self._precision[item]), 0.0)
            off, _ = self._pull(found, float(self.scores[item]), -1, 0.0)
            self.items[item] = replace(found, off=off)
        return self.items[item]

    def _pull(self, own: _Item, score: float, other: int, there: float) -> tuple[float, float]:
        """Return the force on an item at a score, with another one there, and the stiffness."""
        heights = np.where(own.against == other, there, own.heights)
        terms = self.problem.row_terms(own.sign * (score - heights), own.theta)
        force = float(-(own.weight * own.sign * terms.d).sum()) - own.precision * score - own.off
        return force, float((own.weight * np.maximum(terms.dd, 0.0)).sum()) + own.precision

    def answers(self, i: int, j: int, free: float) -> float:
        """Return what pulls two items apart where they are level, over the pull of one answer.

        ``free`` is the variance of their gap with all items free.
        """
        one, two = self._item(i), self._item(j)
        at = float(self.scores[i]), float(self.scores[j])
        stiff = self._pull(one, at[0], j, at[1])[1], self._pull(two, at[1], i, at[0])[1]
        between = one.against == j
        gap = one.sign[between] * (at[0] - at[1])
        curve = np.maximum(self.problem.row_terms(gap, one.theta[between]).dd, 0.0)
        joint = float((one.weight[between] * curve).sum())
        rest = max(stiff[0] * stiff[1] - joint**2, 1e-300)
        held = (stiff[0] + stiff[1] - 2.0 * joint) / rest
        low, high = min(at), max(at)
        middle = (stiff[0] * at[0] + stiff[1] * at[1]) / (stiff[0] + stiff[1])
        for _ in range(_STEPS):
            forces = [self._pull(one, middle, j, middle), self._pull(two, middle, i, middle)]
            pulled = forces[0][0] + forces[1][0]
            # Rows between the two are level wherever they meet: they do not hold the two back.
            step = pulled / max(forces[0][1] + forces[1][1], 1e-300)
            middle = float(np.clip(middle + step, low, high))
        apart = 0.5 * abs(forces[0][0] - forces[1][0])
        return apart * held / max(free, 1e-12) / self.pull


@dataclass(frozen=True, eq=False)
class _Item:
    """The judgments of an item, from its side."""

    sign: FloatArray
    against: CodeArray
    heights: FloatArray
    weight: FloatArray
    theta: FloatArray
    precision: float
    off: float
    """What is left of the force at the fit, where annotators were integrated out."""
