r"""What a judgment of a pair is expected to be worth.

Two items k and l whose gap is estimated as d̂ with variance σ² end in the wrong order with a chance
that shrinks with σ: the density of a gap of 0, φ(d̂/σ)/σ, times σ √(2/π). Its slope in σ² is

    w_kl = exp(−d̂²/2σ²) / (2π σ²),

so Σ w_kl Var(s_k − s_l) = tr(L C), with the Laplacian L of these weights and the covariance C of
the scores, falls by as much as the expected number of wrongly ordered pairs. One judgment of i and
j by an annotator of reliability γ adds the information I = γ² W(γ (s_i − s_j)), which takes
I C a a' C / (1 + I a'Ca) from C, a = e_i − e_j. What it is worth is therefore

    I · a'C L C a / (1 + I · a'Ca),

exactly, and the next pair of a batch is valued with the covariance that the pairs before it leave.
The gap itself is not moved: its expectation stays what it is. Where ties were fitted, W is that of
an answer that may be a tie: between equals it is less by the share of ties.

About calibrated scores the weights are those above times (m_k − m_l)²/2: a wrong order makes the
projection pool two model scores that should stay apart (or keep apart two that it should pool),
which costs that much in squared error. Where the model's scores are equal, order costs nothing.
"""

from __future__ import annotations

from copy import copy
from typing import NamedTuple

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, elementwise
from aggcal._core.kernels.threads import each_range, even
from aggcal._core.machine import one_thread
from aggcal.advice.suggest.beliefs import Beliefs
from aggcal.advice.suggest.exact import ExactCriterion
from aggcal.advice.suggest.worth import LEAST, Criterion, weights
from aggcal.aggregation.families import Adjacent, RaoKupper
from aggcal.aggregation.links import LOGISTIC, Link

MOST_EXACT = 1500
"""Up to so many items the covariance is used as a matrix, where it is one; beyond, its diagonal
alone. Where it is none scores hardly depend on each other: of 1,000 items, 40 pairs are expected to
be worth 2% less."""

_REFERENCES = 2000  # items that stand for all: more are exacter, the time grows with them
_BLOCK = 1 << 18  # numbers at a time, in each thread: more take more memory and leave the cache


class Answering(NamedTuple):
    """How someone answers: by a link, with a reliability and, where ties were fitted, readily."""

    link: Link
    reliability: float
    readiness: float | None = None
    thresholds: bool = False
    """Whether ties come about by thresholds (Rao and Kupper's) instead of Davidson's model."""

    def information(self, x: FloatArray) -> FloatArray:
        """Return the Fisher information of one answer in the advantage x of an item.

        Examples
        --------
        Between equals, someone who calls a tie in a third of the cases tells a third less:

        >>> from aggcal.aggregation.links import link
        >>> some = Answering(link("logistic"), 1.0, 0.0)
        >>> round(float(some.information(np.zeros(1))[0]), 4), round(0.25 * 2 / 3, 4)
        (0.1667, 0.1667)
        """
        return elementwise(self._information, x)[0]

    def _information(self, x: FloatArray) -> FloatArray:
        if self.readiness is None and self.link is LOGISTIC:
            small = np.exp(-np.abs(x))
            larger = 1.0 / (1.0 + small)
            return np.asarray(small * larger * larger)
        if self.readiness is None:
            # f/F times f/(1 − F), each exact in its tail.
            return np.asarray(self.link.terms(x)[1] * self.link.terms(-x)[1])
        ready = np.full(len(x), self.readiness)
        if self.thresholds:
            left, right, tie = RaoKupper().probabilities(x, ready).T
            found = left * (1.0 - left) ** 2 + right * (1.0 - right) ** 2
            return np.asarray(found + tie * (right - left) ** 2)
        left, right, _ = Adjacent().probabilities(x, ready).T
        return np.asarray(0.25 * (left + right - (left - right) ** 2))

    def slope(self, x: FloatArray, outcome: float) -> float:
        """Return the slope of the log-likelihood of an answer in the advantage x of the left item.

        A tie counts as half an answer each way where ties were not fitted.

        Examples
        --------
        Someone who hardly doubts is hardly moved by what they expected:

        >>> from aggcal.aggregation.links import link
        >>> some = Answering(link("logistic"), 1.0)
        >>> round(some.slope(np.array([3.0]), 1.0), 3), round(some.slope(np.array([3.0]), 0.0), 3)
        (0.047, -0.953)
        """
        if self.readiness is None or self.thresholds:
            won, lost = float(self.link.terms(x)[1][0]), float(self.link.terms(-x)[1][0])
            return outcome * won - (1.0 - outcome) * lost
        left, right, _ = Adjacent().probabilities(x, np.full(1, self.readiness))[0]
        return float((outcome - 0.5) - 0.5 * (left - right))


def information(someone: Answering, gap: FloatArray) -> FloatArray:
    """Return the Fisher information of one judgment in the gap of its two items.

    Examples
    --------
    >>> from aggcal.aggregation.links import link
    >>> information(Answering(link("logistic"), 2.0), np.zeros(1))
    array([1.])
    """
    found = np.empty(len(gap))

    def work(begin: int, end: int) -> None:
        some = someone.information(someone.reliability * gap[begin:end])
        np.multiply(someone.reliability**2, some, out=found[begin:end])

    each_range(work, even(len(gap)))
    return found


def reliability_information(someone: Answering, gap: FloatArray) -> FloatArray:
    """Return the Fisher information of one judgment in the reliability of who gives it.

    Examples
    --------
    A pair of equals tells nothing about an annotator:

    >>> from aggcal.aggregation.links import link
    >>> reliability_information(Answering(link("logistic"), 1.0), np.array([0.0, 2.0])).round(2)
    array([0.  , 0.42])
    """
    return gap**2 * someone.information(someone.reliability * gap)


@one_thread()
def criterion(beliefs: Beliefs, i: IntArray, j: IntArray, *, about_scores: bool) -> Criterion:
    """Return the criterion for candidate pairs.

    Parameters
    ----------
    beliefs
        What is believed about the items.
    i, j
        The candidates.
    about_scores
        Weigh each pair by what its order does to calibrated scores.
    """
    model = beliefs.model if about_scores else None
    if beliefs.covariance is not None and beliefs.n_items <= MOST_EXACT:
        return ExactCriterion(beliefs.covariance, beliefs.scores, model, i, j)
    return _ByItem(beliefs.variances, beliefs.scores, model, i, j)


class _ByItem(Criterion):
    """With the variance of each score alone: among so many items correlations are small."""

    def __init__(
        self,
        variances: FloatArray,
        scores: FloatArray,
        model: FloatArray | None,
        i: IntArray,
        j: IntArray,
    ) -> None:
        self._i, self._j = i, j
        self.left = np.maximum(variances, LEAST)
        n = len(scores)
        # Evenly spaced in rank, so that they are as dense as the items are.
        ranked = np.argsort(scores, kind="stable")
        chosen = ranked[np.linspace(0, n - 1, min(n, _REFERENCES)).astype(np.int64)]
        total = self._nearness(scores, model, chosen)
        self._total = total * (n - 1) / max(1, len(chosen) - 1)
        self._pair = self._near(scores, model, i, j)
        self.value()

    def _nearness(
        self, scores: FloatArray, model: FloatArray | None, chosen: IntArray
    ) -> FloatArray:
        """Return the weights of each item's pairs with the chosen ones, added up."""
        n, total = len(scores), np.empty(len(scores))

        def work(begin: int, end: int) -> None:
            piece = np.arange(begin, end)
            near = self._near(scores, model, piece[:, None], chosen[None, :])
            near[piece[:, None] == chosen[None, :]] = 0.0
            total[piece] = near.sum(axis=1)

        each_range(work, [*range(0, n, max(1, _BLOCK // len(chosen))), n])
        return total

    def _near(
        self, scores: FloatArray, model: FloatArray | None, i: IntArray, j: IntArray
    ) -> FloatArray:
        apart = None if model is None else model[i] - model[j]
        return weights(scores[i] - scores[j], self.left[i] + self.left[j], apart)

    def value(self) -> None:
        one, other = self.left[self._i], self.left[self._j]
        self.variance = one + other
        self.stake = (
            one * one * self._total[self._i]
            + other * other * self._total[self._j]
            + 2.0 * one * other * self._pair
        )

    def copy(self) -> _ByItem:
        """Return one that goes its own way."""
        other = copy(self)
        vars(other).update(left=self.left.copy())
        other.variance, other.stake = self.variance.copy(), self.stake.copy()
        return other

    def narrowed(self, kept: IntArray) -> _ByItem:
        """Return one of some of the candidates, up to date."""
        other = copy(self)
        vars(other).update(_i=self._i[kept], _j=self._j[kept], _pair=self._pair[kept])
        other.value()
        return other

    def renew(self, kept: IntArray) -> None:
        """Bring what some candidates are worth up to date."""
        some = self.narrowed(kept)
        self.variance[kept], self.stake[kept] = some.variance, some.stake

    def ask(self, k: int, gained: float) -> None:
        """Take a judgment of candidate k into account: its two items are known better."""
        share = gained / (1.0 + gained * float(self.variance[k]))
        for item in (self._i[k], self._j[k]):
            self.left[item] -= share * self.left[item] ** 2
        self.value()
