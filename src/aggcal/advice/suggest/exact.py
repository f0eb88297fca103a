"""What pairs are worth by the whole covariance matrix, updated with each judgment."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.kernels.threads import each_range, even
from aggcal.advice.suggest.beliefs import Beliefs
from aggcal.advice.suggest.worth import LEAST, Criterion, weights

_STRIPS = 8  # of a symmetric product: more spare up to half of it, and multiply smaller pieces
_LEAST_ROWS = 32  # of a strip: for fewer, waking a thread takes longer
_SINGLE = 500
"""Items from which what is at stake is worked out in single precision, in half the time: values of
pairs are then off by a millionth. Fewer items take no time, and equal pairs stay equal."""
_ROOM = 32  # judgments to make room for at first: the room doubles when it is full


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
        self._covariance = covariance
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
        self._pushed, self._carried = pushed, _upper_product(pushed, rough)
        self._begin()

    def _begin(self) -> None:
        """Value the candidates by the matrices, nothing asked since."""
        i, j, carried = self._i, self._j, self._carried
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
        # √share · (C a, L C a, C₀ L C a) of each pair asked: what is left of the covariance C₀ is
        # C₀ less the sum of the squares of the first.
        self._asked = np.empty((_ROOM, 3, len(own)), dtype=carried.dtype)
        self._number = 0

    def copy(self) -> ExactCriterion:
        """Return one that can go its own way; what neither changes is shared."""
        other = copy(self)
        other.__dict__["_asked"] = self._asked[: self._number + _ROOM].copy()
        return other

    def narrowed(self, kept: IntArray) -> ExactCriterion:
        """Return one of some of the candidates."""
        other = self.copy()
        vars(other).update(_i=self._i[kept], _j=self._j[kept])
        other.variance, other.stake = self.variance[kept], self.stake[kept]
        return other

    def after(self, part: Criterion) -> ExactCriterion:
        """Return this one after all that one of some of its candidates took into account."""
        if not isinstance(part, ExactCriterion):
            raise TypeError("the other is of another kind")
        other = copy(self)
        asked, pulled, pushed = part._asked[: part._number].transpose(1, 0, 2)  # noqa: SLF001
        # (C − A'A) L (C − A'A) is C L C less a product and its transpose.
        half = pushed - 0.5 * (pulled @ asked.T) @ asked
        left = tuple(map(np.empty_like, (self._covariance, self._pushed, self._carried)))

        def less(begin: int, end: int) -> None:
            some, right = slice(begin, end), slice(begin, None)
            left[0][some] = self._covariance[some] - asked[:, some].T @ asked
            left[1][some] = self._pushed[some] - asked[:, some].T @ pulled
            left[2][some, right] = self._carried[some, right] - asked[:, some].T @ half[:, right]
            left[2][some, right] -= half[:, some].T @ asked[:, right]

        each_range(less, _strips(len(self._covariance)))
        other._covariance, other._pushed, other._carried = left  # noqa: SLF001
        other._begin()  # noqa: SLF001
        return other

    def toward(self, one: int, other: int) -> FloatArray:
        """Return C a, C what the judgments so far leave of the covariance, a = e_one − e_other."""
        asked = self._asked[: self._number, 0]
        toward = self._covariance[one] - self._covariance[other]
        return np.asarray(toward - (asked[:, one] - asked[:, other]) @ asked)

    @property
    def covariance_left(self) -> FloatArray:
        """What the judgments so far leave of the covariance."""
        asked = self._asked[: self._number, 0]
        return np.asarray(self._covariance - asked.T @ asked)

    def ask(self, k: int, gained: float) -> None:
        """Take a judgment of candidate k into account, by an update of rank one."""
        self.learn(int(self._i[k]), int(self._j[k]), float(self.variance[k]), gained)

    def learn(self, one: int, other: int, variance: float, gained: float) -> None:
        """Take a judgment of any pair into account, given the variance of its gap."""
        if self._number == len(self._asked):
            self._asked = np.concatenate([self._asked, np.empty_like(self._asked)])
        before, whole = self._asked[: self._number], self._asked[self._number]
        asked = before[:, 0]
        share = gained / (1.0 + gained * variance)
        whole[0] = self._covariance[one] - self._covariance[other]
        np.subtract(self._pushed[one], self._pushed[other], out=whole[1])
        np.subtract(self._carried_by(one), self._carried_by(other), out=whole[2])
        # Nothing as large as a matrix is multiplied: those before tell what they took away.
        taken = (asked[:, one] - asked[:, other]) @ before.reshape(len(before), whole.size)
        whole -= taken.reshape(whole.shape)
        toward, pulled, pushed = whole
        carried = pushed - (asked @ pulled) @ asked
        step = toward[self._i] - toward[self._j]
        cross = carried[self._i] - carried[self._j]
        again = share * float(toward @ pulled)
        self.stake = np.maximum(self.stake + share * step * (again * step - 2.0 * cross), 0.0)
        self.variance = np.maximum(self.variance - share * step * step, LEAST)
        whole *= np.sqrt(share)
        self._number += 1

    def _carried_by(self, item: int) -> FloatArray:
        """Return a column of C₀ L C₀, of which the upper triangle is there."""
        return np.concatenate([self._carried[:item, item], self._carried[item, item:]])
