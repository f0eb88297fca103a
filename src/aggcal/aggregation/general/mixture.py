r"""Annotators of several kinds, each kind with scores of its own.

An annotator u of class k answers with

    η = γ_u (θ_k,i − θ_k,j + …) + …,   θ_k = Σ_p a_kp x_p,   γ = ± ρ,   ρ ~ N(1, τ²).

Which class an annotator is of, and ρ, are integrated out. Three shapes of it are used: one class;
an axis, whose classes stand in a row; and camps, each with what it adds to the common scores.
What else moves an answer (sides, ties, contexts) is taken as a fit without classes found it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import log

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, sums
from aggcal._core.text import brief
from aggcal.models.general.annotators import cubature
from aggcal.models.general.outcomes import Answers, Outcomes, RowTerms, adjacent
from aggcal.models.general.rows import GeneralRows

_STANCES = np.linspace(-2.4, 2.4, 7)
"""Where the classes of an axis stand, in standard deviations: closer ones take longer."""
TAU = 0.5
"""Spread of the reliabilities beforehand."""
_NEWTON = 12, 2
"""Steps to the mode of a reliability at first, and in later iterations."""
_MOST_EXACT = 3e8
"""Products up to which what is unknown of the annotators is taken off the curvature."""


@dataclass(frozen=True, eq=False)
class Seen:
    """Answers, with all that moves them beside scores and reliabilities taken as known."""

    rows: GeneralRows
    other: FloatArray
    """What else is in each row's gap."""
    lean: FloatArray
    """Preference of the row's annotator for the left side."""
    ready: FloatArray
    """Readiness to tie."""
    outcomes: Outcomes
    grades: FloatArray

    def of(self, kept: BoolArray) -> Seen:
        """Return what some annotators answered."""
        rows, mine = self.rows, np.repeat(kept, self.rows.sizes)
        part = GeneralRows(
            rows.left[mine],
            rows.right[mine],
            Answers(*(each[mine] for each in rows.answers)),
            rows.levels[:, mine],
            np.concatenate([[0], np.cumsum(rows.sizes[kept])]),
            rows.n_items,
            {},
        )
        return replace(
            self, rows=part, other=self.other[mine], lean=self.lean[mine], ready=self.ready[mine]
        )


@dataclass(frozen=True, eq=False)
class Shape:
    """How the classes are made of parts."""

    mixing: FloatArray
    """a_kp, classes by parts; the first part is what all have in common."""
    shares: FloatArray | None = None
    """Shares of the classes where they are known."""

    @classmethod
    def one(cls) -> Shape:
        """Return a single class."""
        return cls(np.ones((1, 1)), np.ones(1))

    @classmethod
    def axis(cls) -> Shape:
        """Return classes that stand in a row, as many as the normal distribution has there."""
        weights = np.exp(-0.5 * _STANCES**2)
        return cls(np.stack([np.ones(len(_STANCES)), _STANCES], axis=1), weights / weights.sum())

    @classmethod
    def camps(cls, number: int) -> Shape:
        """Return so many camps."""
        return cls(np.concatenate([np.ones((number, 1)), np.eye(number)], axis=1))


@dataclass(frozen=True, eq=False)
class Values:
    """What is estimated."""

    parts: FloatArray
    """x_p, parts by items."""
    shares: FloatArray
    common_sd: float
    apart_sd: float
    tau: float = TAU
    turned: float = 0.05

    __repr__ = brief


class Mixture:
    """Some answers, seen as those of annotators of several classes."""

    def __init__(self, seen: Seen, shape: Shape) -> None:
        self.seen, self.shape = seen, shape
        self.k, self.m, self.n = len(shape.mixing), seen.rows.n_annotators, seen.rows.n_items
        self.points, self.weights = cubature(1)
        self.modes = np.stack([np.ones(self.k * self.m), np.zeros(self.k * self.m)])
        self.fresh = True
        rows = seen.rows
        self.answers = Answers(*(np.tile(each, self.k) for each in rows.answers))
        self.lean, self.ready = np.tile(seen.lean, self.k), np.tile(seen.ready, self.k)
        self.one_grade = seen.outcomes is adjacent and len(seen.grades) == 1
        self.ties = bool((seen.ready > -np.inf).any())
        ends = rows.starts[:-1]
        self.starts = np.concatenate([ends + k * len(rows) for k in range(self.k)])
        self.owner = np.repeat(np.arange(self.k * self.m), np.tile(rows.sizes, self.k))

    @cached_property
    def ends(self) -> tuple[IntArray, IntArray]:
        """Where the left and the right item of each row stand in θ."""
        rows = self.seen.rows
        by = np.arange(self.k).repeat(len(rows)) * self.n
        return by + np.tile(rows.left, self.k), by + np.tile(rows.right, self.k)

    def gaps(self, values: Values) -> FloatArray:
        """Return the gap of each row as each class sees it, one class after the other."""
        scores = (self.shape.mixing @ values.parts).ravel()
        left, right = self.ends
        return np.asarray(scores[left] - scores[right] + np.tile(self.seen.other, self.k))

    def _terms(self, gaps: FloatArray, gamma: FloatArray) -> RowTerms:
        eta = gamma[self.owner] * gaps + self.lean
        if self.one_grade:
            known = eta, self.answers
            return _davidson(*known, *self._tied) if self.ties else _logistic(*known)
        return self.seen.outcomes(eta, self.ready, self.answers, self.seen.grades)

    @cached_property
    def _tied(self) -> tuple[FloatArray, FloatArray]:
        """The weight of a tie in each row, and what the ties there take off the loss."""
        ready = np.where(self.ready > -np.inf, self.ready, 0.0)
        return np.exp(np.minimum(self.ready, 600.0)), self.answers.tied * ready

    def _by_annotator(self, values: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduceat(values, self.starts))

    def evaluate(self, values: Values) -> Looked:
        """Integrate the reliabilities out."""
        gaps, logs, nodes, terms = self.gaps(values), [], [], []
        precision = values.tau**-2.0
        for half, sign in enumerate((1.0, -1.0)):
            share = values.turned if half else 1.0 - values.turned
            mode, curve = self._mode(gaps, sign, precision, half)
            width = 1.0 / np.sqrt(curve)
            for (at,), weight in zip(self.points, self.weights, strict=True):
                spot = mode + width * at
                found = self._terms(gaps, sign * spot)
                value = self._by_annotator(found.loss) + 0.5 * precision * (spot - 1.0) ** 2
                rest = log(share * weight) + 0.5 * at * at + np.log(width / values.tau)
                # Reversed with a negative reliability would be two wrongs that make a right.
                sound = half == 0 or mode > 0.0
                logs.append(np.where(sound, rest - value, -np.inf))
                nodes.append(sign * spot)
                terms.append(found)
        self.fresh = False
        return Looked(self, values, gaps, np.stack(logs), np.stack(nodes), terms)

    def _mode(
        self, gaps: FloatArray, sign: float, precision: float, half: int
    ) -> tuple[FloatArray, FloatArray]:
        """Find the most probable reliability of each annotator in each class."""
        mode = self.modes[half]
        for _ in range(_NEWTON[0] if self.fresh else _NEWTON[1]):
            found = self._terms(gaps, sign * mode)
            slope = self._by_annotator(found.pull * gaps) * sign + precision * (mode - 1.0)
            curve = self._by_annotator(found.curve * gaps**2) + precision
            step = np.clip(slope / curve, -1.0, 1.0)
            mode = mode - step
            if np.abs(step).max() < 1e-3:  # noqa: PLR2004  # nodes are only placed by it
                break
        self.modes[half] = mode
        return mode, np.asarray(curve)


@dataclass(frozen=True, eq=False)
class Looked:
    """The annotators at some values of what is estimated."""

    mixture: Mixture
    values: Values
    gaps: FloatArray
    logs: FloatArray
    """Log probability of each node, nodes by classes and annotators."""
    nodes: FloatArray
    terms: list[RowTerms]

    @cached_property
    def by_class(self) -> FloatArray:
        """Log evidence of each annotator's answers in each class, annotators by classes."""
        top = self.logs.max(axis=0)
        found = top + np.log(np.exp(self.logs - top).sum(axis=0))
        return np.asarray(found.reshape(self.mixture.k, self.mixture.m).T)

    @cached_property
    def evidence(self) -> FloatArray:
        """Log evidence of each annotator's answers."""
        logs = self.by_class + np.log(np.maximum(self.values.shares, 1e-300))
        top = logs.max(axis=1)
        return np.asarray(top + np.log(np.exp(logs - top[:, None]).sum(axis=1)))

    @cached_property
    def classes(self) -> FloatArray:
        """Probability that each annotator is of each class."""
        logs = self.by_class + np.log(np.maximum(self.values.shares, 1e-300))
        return np.exp(logs - self.evidence[:, None])

    def chances(self, classes: FloatArray) -> FloatArray:
        """Return the probability of each node, nodes by classes and annotators."""
        within = np.exp(self.logs - self.by_class.T.ravel())
        return np.asarray(within * classes.T.ravel())

    def gradient(self, chances: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the gradient in θ, and the curvature of each row with the annotators held."""
        mixture = self.mixture
        force, curve = np.zeros(len(self.gaps)), np.zeros(len(self.gaps))
        for share, gamma, found in zip(chances, self.nodes, self.terms, strict=True):
            force -= (share * gamma)[mixture.owner] * found.pull
            curve += (share * gamma**2)[mixture.owner] * found.curve
        left, right = mixture.ends
        size = mixture.k * mixture.n
        total = sums(left, force, size) - sums(right, force, size)
        return total.reshape(mixture.k, mixture.n), curve

    def curvature(self, curve: FloatArray, chances: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the curvature in the parts, and that with the annotators held."""
        mixture, rows = self.mixture, self.mixture.seen.rows
        k, n, mixing = mixture.k, mixture.n, mixture.shape.mixing
        pair = rows.left.astype(np.int64) * n + rows.right
        blocks = np.empty((k, n, n))
        for one, part in enumerate(curve.reshape(k, -1)):
            table = np.bincount(pair, part, n * n).reshape(n, n)
            table = table + table.T
            blocks[one] = np.diag(table.sum(axis=0)) - table
        size = mixing.shape[1] * n
        held = np.einsum("kp,kij,kq->piqj", mixing, blocks, mixing).reshape(size, size)
        if len(self.nodes) * k * mixture.m * n * n > _MOST_EXACT:
            return held, held
        return held - self._unknown(chances), held

    def _unknown(self, chances: FloatArray) -> FloatArray:
        """Return Σ_u Cov g_u over nodes and classes, g what one pulls the parts by."""
        mixture, rows = self.mixture, self.mixture.seen.rows
        k, m, n, mixing = mixture.k, mixture.m, mixture.n, mixture.shape.mixing
        p = mixing.shape[1]
        total, mean = np.zeros((p, n, p, n)), np.zeros((m, p, n))
        left = rows.owner * n + rows.left
        right = rows.owner * n + rows.right
        for one in range(k):
            where = slice(one * len(rows), (one + 1) * len(rows))
            square = np.zeros((n, n))
            for share, gamma, found in zip(chances, self.nodes, self.terms, strict=True):
                own, by = share[one * m : (one + 1) * m], gamma[one * m : (one + 1) * m]
                force = -by[rows.owner] * found.pull[where]
                pull = np.bincount(left, force, m * n) - np.bincount(right, force, m * n)
                pull = pull.reshape(m, n)
                square += (own[:, None] * pull).T @ pull
                mean += (own[:, None] * pull)[:, None, :] * mixing[one][None, :, None]
            total += np.einsum("p,ij,q->piqj", mixing[one], square, mixing[one])
        flat = mean.reshape(m, p * n)
        return np.asarray(total.reshape(p * n, p * n) - flat.T @ flat)


def _logistic(eta: FloatArray, answers: Answers) -> RowTerms:
    """Return the terms of answers without ties and grades, in a third of the time."""
    small = np.exp(-np.abs(eta))
    ahead = 1.0 / (1.0 + small)
    won = np.where(eta >= 0.0, ahead, 1.0 - ahead)
    w = answers.weight
    loss = w * (0.5 * np.abs(eta) - np.log(ahead)) - answers.lean * eta
    none = np.zeros(0)
    return RowTerms(loss, w * (won - 0.5) - answers.lean, w * won * (1.0 - won), none, none, none)


def _davidson(eta: FloatArray, answers: Answers, tie: FloatArray, tied: FloatArray) -> RowTerms:
    """Return the terms of answers in one grade, given what ties are known by: in half the time."""
    size, w = np.abs(eta), answers.weight
    small = np.exp(-0.5 * size)
    behind = small * small
    decided = 1.0 + behind
    total = decided + tie * small
    mean = np.copysign(0.5 * (1.0 - behind) / total, eta)
    loss = w * (0.5 * size + np.log(total)) - answers.lean * eta - tied
    curve = w * (0.25 * decided / total - mean * mean)
    none = np.zeros(0)
    return RowTerms(loss, w * mean - answers.lean, curve, none, none, none)
