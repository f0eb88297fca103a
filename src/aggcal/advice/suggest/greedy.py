r"""What a judgment of each pair is worth, and what is left of it once other pairs were asked.

Two items k and l whose gap is estimated as d with variance σ² end in the wrong order with a chance
that shrinks with σ: the density of a gap of 0, φ(d/σ)/σ, times σ √(2/π). Its slope in σ² is

    w_kl = exp(−d²/2σ²) / (2π σ²),

so Σ w_kl Var(s_k − s_l) = tr(L C), with the Laplacian L of these weights and the covariance C of
the scores, falls by as much as the expected number of wrongly ordered pairs. A judgment of i and j
with the Fisher information I takes I C a a'C / (1 + I a'Ca) from C, a = e_i − e_j. What it is worth
is therefore

    I · a'S a / (1 + I · a'C a),   S = C L C,

exactly, and the next pair of a batch is valued by what the pairs before it leave: with
u = √(I / (1 + I a'Ca)) C a,

    C ← C − u u',   S ← S − u h' − h u',   h = √(I / (1 + I a'Ca)) S a − ½ u'L u · u.

The gap itself is not moved: its expectation stays what it is.

About calibrated scores the weights are those above times (m_k − m_l)²/2: a wrong order makes the
projection pool two model scores that should stay apart (or keep apart two that it should pool),
which costs that much in squared error. Where the model's scores are equal, order costs nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from math import pi, sqrt
from typing import Self

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray

MOST_JOINT = 1500
"""Items up to which the whole covariance is used, where it is a matrix; beyond, its diagonal. Among
so many items scores hardly depend on each other: of 1,000, 40 pairs are expected to be worth 2%
less."""
_PENDING = 50  # judgments until the matrices are updated: more make each take longer, fewer all
_REFERENCES = 2000  # items that stand for all: more are exacter, the time grows with them
_LEAST = 1e-12  # variance that is taken for none: below it, divisions would blow up rounding

Pairs = tuple[IntArray, IntArray]


def order_weights(
    gap: FloatArray, variance: FloatArray, model_gap: FloatArray | None = None
) -> FloatArray:
    """Return how much the order of pairs depends on their variance, and calibrated scores on it.

    Examples
    --------
    >>> order_weights(np.array([0.0, 3.0]), np.ones(2)).round(3)
    array([0.159, 0.002])
    """
    variance = np.maximum(variance, _LEAST)
    near = np.exp(-0.5 * gap * gap / variance) / (2.0 * pi * variance)
    if model_gap is None:
        return np.asarray(near)
    # Items without a model score are not calibrated: nothing depends on their order.
    return np.asarray(near * np.nan_to_num(0.5 * model_gap * model_gap))


class Worth(ABC):
    """What judgments of candidates are worth."""

    pairs: Pairs
    variance: FloatArray
    """a'C a of each candidate."""
    stake: FloatArray
    """a'S a."""

    def of(self, information: FloatArray) -> FloatArray:
        """Return what a judgment of each candidate with this Fisher information is worth."""
        return np.asarray(information * self.stake / (1.0 + information * self.variance))

    def narrowed(self, kept: IntArray) -> Self:
        """Return the same of some candidates."""
        other, (i, j) = copy(self), self.pairs
        other.pairs = i[kept], j[kept]
        other.variance, other.stake = self.variance[kept], self.stake[kept]
        return other

    @abstractmethod
    def ask(self, one: int, other: int, information: float) -> None:
        """Take a judgment of two items into account."""


class Joint(Worth):
    """By the whole covariance matrix.

    Parameters
    ----------
    scores, covariance
        The scores and their covariance.
    model
        The model's scores, if the pairs should improve the calibrated scores.
    pairs
        The candidates, by their items.
    """

    def __init__(
        self, scores: FloatArray, covariance: FloatArray, model: FloatArray | None, pairs: Pairs
    ) -> None:
        self.pairs, self._covariance = pairs, covariance
        own = np.diag(covariance)
        model_gap = None if model is None else model[:, None] - model
        variance = own[:, None] + own - 2.0 * covariance
        laplacian = -order_weights(scores[:, None] - scores, variance, model_gap)
        np.fill_diagonal(laplacian, 0.0)
        np.fill_diagonal(laplacian, -laplacian.sum(axis=1))
        self._stakes = covariance @ laplacian @ covariance
        self._u = self._h = np.empty((0, len(scores)))  # of the judgments that are pending
        self.variance = np.maximum(_of_gaps(covariance, *pairs), _LEAST)
        self.stake = np.maximum(_of_gaps(self._stakes, *pairs), 0.0)

    def toward(self, one: int, other: int) -> FloatArray:
        """Return C a: what the gap of two items has in common with each score."""
        common = self._covariance[one] - self._covariance[other]
        return np.asarray(common - (self._u[:, one] - self._u[:, other]) @ self._u)

    def ask(self, one: int, other: int, information: float) -> None:
        """Take a judgment of two items into account."""
        u, h = self.toward(one, other), self._stakes[one] - self._stakes[other]
        h = h - (self._h[:, one] - self._h[:, other]) @ self._u
        h -= (self._u[:, one] - self._u[:, other]) @ self._h
        root = sqrt(information / (1.0 + information * max(float(u[one] - u[other]), 0.0)))
        h = root * (h - 0.5 * root**2 * (h[one] - h[other]) * u)
        u = root * u
        i, j = self.pairs
        du, dh = u[i] - u[j], h[i] - h[j]
        self.variance = np.maximum(self.variance - du * du, _LEAST)
        self.stake = np.maximum(self.stake - 2.0 * du * dh, 0.0)
        self._u, self._h = np.vstack([self._u, u]), np.vstack([self._h, h])
        if len(self._u) >= _PENDING:
            across = self._u.T @ self._h
            self._stakes = self._stakes - across - across.T
            self._covariance = self.covariance
            self._u = self._h = self._u[:0]

    @property
    def covariance(self) -> FloatArray:
        """What the judgments leave of the covariance."""
        return np.asarray(self._covariance - self._u.T @ self._u)

    def copy(self) -> Joint:
        """Return one that goes its own way: `ask` replaces arrays, and changes none in place."""
        return copy(self)


class Separate(Worth):
    """By the variance of each score alone."""

    def __init__(
        self, scores: FloatArray, variances: FloatArray, model: FloatArray | None, pairs: Pairs
    ) -> None:
        self.pairs, n = pairs, len(scores)
        self._variances = np.maximum(variances, _LEAST)
        # Evenly spaced in rank, the references are as dense as the items are.
        places = np.linspace(0, n - 1, min(n, _REFERENCES)).astype(np.int64)
        references = np.argsort(scores, kind="stable")[places]
        total = np.zeros(n)
        for k in references.tolist():
            near = self._weights(scores, model, np.arange(n), np.full(n, k))
            near[k] = 0.0
            total += near
        self._total = total * ((n - 1) / max(1, len(references) - 1))
        self._near = self._weights(scores, model, *pairs)
        self.variance, self.stake = np.empty(len(pairs[0])), np.empty(len(pairs[0]))
        self._value(slice(None))

    def _weights(
        self, scores: FloatArray, model: FloatArray | None, i: IntArray, j: IntArray
    ) -> FloatArray:
        model_gap = None if model is None else model[i] - model[j]
        variance = self._variances[i] + self._variances[j]
        return order_weights(scores[i] - scores[j], variance, model_gap)

    def _value(self, some: IntArray | slice) -> None:
        i, j = (item[some] for item in self.pairs)
        one, other = self._variances[i], self._variances[j]
        self.variance[some] = one + other
        own = one * one * self._total[i] + other * other * self._total[j]
        self.stake[some] = own + 2.0 * one * other * self._near[some]

    def narrowed(self, kept: IntArray) -> Self:
        """Return the same of some candidates."""
        other = super().narrowed(kept)
        other._near = self._near[kept]  # noqa: SLF001
        return other

    def ask(self, one: int, other: int, information: float) -> None:
        """Take a judgment of two items into account: both are known better."""
        variances, (i, j) = self._variances, self.pairs
        share = information / (1.0 + information * (variances[one] + variances[other]))
        for item in (one, other):
            variances[item] -= share * variances[item] ** 2
        self._value(np.flatnonzero((i == one) | (j == one) | (i == other) | (j == other)))


def _of_gaps(matrix: FloatArray, i: IntArray, j: IntArray) -> FloatArray:
    """Return a'M a of each pair, M symmetric."""
    own = np.diag(matrix)
    return np.asarray(own[i] + own[j] - 2.0 * matrix[i, j])
