"""What pairs are worth by the whole covariance matrix, updated with each judgment."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray
from aggcal._core.kernels.threads import each_range, even
from aggcal.advice.suggest.asked import Asked, Values
from aggcal.advice.suggest.beliefs import Beliefs
from aggcal.advice.suggest.worth import LEAST, Criterion, weights

_STRIPS = 8  # of a symmetric product: more spare up to half of it, and multiply smaller pieces
_LEAST_ROWS = 32  # of a strip: for fewer, waking a thread takes longer
_SINGLE = 500
"""Items from which what is at stake is worked out in single precision, in half the time: values of
pairs are then off by a millionth. Fewer items take no time, and equal pairs stay equal."""


def exact_criterion(beliefs: Beliefs, i: IntArray, j: IntArray) -> ExactCriterion:
    """Return the criterion by the whole covariance matrix, however many items there are."""
    if beliefs.covariance is None:
        raise ValueError("there is no covariance matrix")
    return ExactCriterion(beliefs.covariance, beliefs.scores, None, i, j)


def _upper_product(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return the product of two square matrices where it is symmetric: its upper triangle.

    Examples
    --------
    >>> half = np.array([[1.0, 2.0], [2.0, 5.0]])
    >>> np.triu(_upper_product(half, half))
    array([[ 5., 12.],
           [ 0., 29.]])
    """
    found = np.zeros_like(one)

    def strip(begin: int, end: int) -> None:
        found[begin:end, begin:] = one[begin:end] @ other[:, begin:]

    each_range(strip, _strips(len(one)))
    return found


def _strips(rows: int) -> list[int]:
    """Cut the rows of a matrix into strips that are worked on in threads."""
    number = min(_STRIPS, max(1, rows // _LEAST_ROWS))
    return [rows * k // number for k in range(number + 1)]


class ExactCriterion(Criterion):
    """With the whole covariance matrix."""

    def __init__(
        self,
        covariance: FloatArray,
        scores: FloatArray,
        model: FloatArray | None,
        i: IntArray,
        j: IntArray,
    ) -> None:
        self._i, self._j = i, j
        self._covariance = np.ascontiguousarray(covariance)
        kind: type[Any] = np.float32 if len(scores) >= _SINGLE else np.float64
        rough, at, strips = covariance.astype(kind), scores.astype(kind), _strips(len(scores))
        own, laplacian, pushed = np.diag(rough), np.empty_like(rough), np.empty_like(rough)

        def near(begin: int, end: int) -> None:
            some = slice(begin, end)
            gaps = own[some, None] + own[None, :] - 2.0 * rough[some]
            apart = None if model is None else model[some, None] - model[None, :]
            np.negative(weights(at[some, None] - at[None, :], gaps, apart), out=laplacian[some])

        def push(begin: int, end: int) -> None:
            np.matmul(rough[begin:end], laplacian, out=pushed[begin:end])

        each_range(near, strips)
        np.fill_diagonal(laplacian, 0.0)
        np.fill_diagonal(laplacian, -laplacian.sum(axis=1, dtype=np.float64))
        each_range(push, strips)
        carried = _upper_product(pushed, rough)
        self._asked = Asked(self._covariance, carried)
        self._value(carried)

    def _value(self, carried: FloatArray) -> None:
        """Value the candidates by the matrices, nothing asked."""
        i, j = self._i, self._j
        own, at_stake = np.diag(self._covariance), np.diag(carried)
        self.variance, self.stake = np.empty(len(i)), np.empty(len(i))

        def value(begin: int, end: int) -> None:
            one, other = i[begin:end], j[begin:end]
            gap = own[one] + own[other] - 2.0 * self._covariance[one, other]
            self.variance[begin:end] = np.maximum(gap, LEAST)
            both = carried[np.minimum(one, other), np.maximum(one, other)]
            stake = at_stake[one] + at_stake[other] - 2.0 * both
            self.stake[begin:end] = np.maximum(stake, 0.0)

        each_range(value, even(len(i)))
        self._items = np.arange(len(own))  # those of the candidates
        self._valued = np.zeros(len(i), dtype=np.int64)  # judgments that values take into account

    def copy(self) -> ExactCriterion:
        """Return one that goes its own way; what neither changes is shared."""
        other = copy(self)
        vars(other).update(_asked=self._asked.copy(), _valued=self._valued.copy())
        other.variance, other.stake = self.variance.copy(), self.stake.copy()
        return other

    def narrowed(self, kept: IntArray) -> ExactCriterion:
        """Return one of some of the candidates, up to date."""
        self.renew(kept)
        other = copy(self)
        vars(other).update(_i=self._i[kept], _j=self._j[kept], _valued=self._valued[kept])
        vars(other).update(_items=self._items_of(kept))
        other.variance, other.stake = self.variance[kept], self.stake[kept]
        return other

    def renew(self, kept: IntArray | None = None) -> None:
        """Bring what some candidates are worth up to date."""
        self._asked.catch_up(self._items if kept is None else self._items_of(kept))
        values = Values(self.variance, self.stake, self._valued)
        self._asked.lower((self._i, self._j), values, kept)

    def ask_best(
        self, gained: FloatArray, allowed: BoolArray, more_than: float, most: int, *, again: bool
    ) -> tuple[IntArray, FloatArray]:
        """Take judgments of the best candidates into account, while it is clear which is best."""
        values = Values(self.variance, self.stake, self._valued)
        open_, limits = (gained, allowed, again), (more_than, most)
        return self._asked.choose((self._i, self._j), values, open_, limits, self._items)

    def _items_of(self, kept: IntArray) -> IntArray:
        found = np.zeros(len(self._covariance), dtype=bool)
        found[self._i[kept]] = found[self._j[kept]] = True
        return np.flatnonzero(found)

    def toward(self, one: int, other: int) -> FloatArray:
        """Return C a, C what the judgments so far leave of the covariance, a = e_one − e_other."""
        steps = self._asked.steps
        toward = self._covariance[one] - self._covariance[other]
        return np.asarray(toward - steps @ (steps[one] - steps[other]))

    @property
    def covariance_left(self) -> FloatArray:
        """What the judgments so far leave of the covariance."""
        steps = self._asked.steps
        return np.asarray(self._covariance - steps @ steps.T)

    def ask(self, k: int, gained: float) -> None:
        """Take a judgment of candidate k into account, by an update of rank one."""
        self.learn(int(self._i[k]), int(self._j[k]), float(self.variance[k]), gained)

    def learn(self, one: int, other: int, variance: float, gained: float) -> None:
        """Take a judgment of any pair into account, given the variance of its gap."""
        self._asked.take(one, other, variance, gained)
        self.renew()
