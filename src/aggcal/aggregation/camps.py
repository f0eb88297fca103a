r"""How annotators disagree: along an axis, or in camps that have orders of their own.

An axis is a term of the model: η has f_u (v_i − v_j), with stances f of annotators and places v of
items. Camps are looked for by a finite mixture: an annotator u of class k answers with

    η = γ_u (θ_k,i − θ_k,j + …) + …,   θ_k = Σ_p a_kp x_p,   γ = ± ρ,   ρ ~ N(1, τ²),

class and reliability integrated out, and what else moves an answer (sides, ties, contexts) fixed
where a fit without classes has it. Four mixtures compete: one class; an axis, whose classes are in
a row; two and three camps, each with what it adds to common scores. They are compared by held-out
annotators: each is fitted without some and asked how probable all answers of those are. Only what
annotators have in common helps there; tastes of one's own are no camp, however strong.

The mixture gives modes, which are too small where answers are nearly certain. So once it is clear
who is in which camp, the whole model is fitted again with camps as categories of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log
from typing import Any

import numpy as np

from aggcal._core.arrays import BoolArray, CodeArray, FloatArray, TextArray, dot, sums
from aggcal._core.tables import aligned, as_text
from aggcal._core.text import brief
from aggcal.aggregation.annotators import cubature
from aggcal.aggregation.effects import Effects
from aggcal.aggregation.empirical import FIRST_SDS, Fit, Model, State
from aggcal.aggregation.families import (
    POSITION,
    READINESS,
    RELIABILITY,
    Adjacent,
    Advantage,
    Law,
    LawTerms,
)
from aggcal.aggregation.newton import definite_inverse
from aggcal.aggregation.rows import AXIS, GAP, SCORES, TIE, Answers, Rows
from aggcal.aggregation.spreads import effect_sd, next_sd, reversed_share
from aggcal.aggregation.terms import ChosenTerms, model_of
from aggcal.data.judgments import Judgments
from aggcal.data.row_columns import Categories
from aggcal.errors import count

Run = Callable[[Model, State], Fit]
"""Fits a model from a state."""
LETTERS = "ABCDEFGH"
"""What camps are called, the largest first."""
ONE, LINE, TWO, THREE = "one order", "an axis", "two camps", "three camps"
_CAMPS = {TWO: 2, THREE: 3}
FEWEST = 6
"""Annotators from which on camps are looked for: of fewer, a camp would be one or two people."""
MOST_ITEMS = 600
"""Items up to which camps are looked for: every step solves for the scores of all camps at once."""
_FOLDS = 8
"""Groups of annotators that are held out in turn: more take longer, fewer leave camps too small."""
_SE_BETTER, _NATS_BETTER = 2.0, 2.0
"""Standard errors, and nats in all, by which a richer model must predict held-out annotators
better: less is not worth a claim about people."""
_SIGN = 1.0
"""Log evidence of all answers below which nothing is held out: there is no sign of a difference."""
_SAMPLE, _FEWEST_SAMPLED = 40_000, 40
"""Rows that show of what kind the differences are: of more, some annotators are looked at; but no
fewer than so many, as it is annotators that are counted."""
_RANDOM_STARTS = 2
"""Random starts, beside the one that the residuals suggest."""
_APART, _LEAST_LINE = 0.7, 0.3
"""Sd of what camps and an axis add, to begin with, and that of an axis at least, relative to that
of the scores: at 0 nothing pulls them away from it."""
_LARGEST_AXIS = 1.5
"""Root mean square of an axis to begin with, in its prior sd: at 0 nothing pulls it away."""
_STANCES = np.linspace(-2.4, 2.4, 7)
"""Where the classes of an axis are, in standard deviations: closer ones take longer."""
_TAU, _LARGEST_TAU, _TAU_PRIOR = 0.5, 1.0, 10.0
"""Sd of the reliabilities beforehand, the largest one, beyond which half of the annotators would
know nothing, and how many annotators the first counts as."""
_FIRST_REVERSED, _MOST_REVERSED = 0.05, 0.15
"""Share of annotators who answer the other way round, to begin with and at most: more of them are a
camp."""
_NEWTON_STEPS = 12, 2
"""Steps to the mode of a reliability at first, and in later iterations."""
_CLOSE = 1e-3
_MOST_PRODUCTS = 3e8
"""Products up to which the information that is missing is taken off."""
_ITERATIONS, _TOLERANCE = 60, 5e-3
"""Iterations at most, and the change of scores and sds at which a fit has settled: a tenth of the
standard errors of most studies."""
_FIXED_CLASSES = 4
"""Iterations in which the classes of a start are kept."""
_SURELY = 0.8
"""Probability from which an annotator's answers count for a camp; those of others only for what
camps have in common. Lower, answers of the other camp blur a camp; higher, fewer answers are used.
"""
_WIDER = 1.15
"""What standard errors of the camps' scores are multiplied by: they take as known who is in which
camp and how far camps and reliabilities differ. Without it a nominal 90% covers about 85%
(benchmarks/camps.py)."""
_LEAST_SD = 0.1
"""Sd of scores and of what camps add, at least, to begin with: from 0 it takes long."""


@dataclass(frozen=True, eq=False)
class Camps:
    """Camps that annotators form, the largest first; none where they form none.

    Examples
    --------
    >>> Camps("one order").stands_out, Camps("one order").names
    (False, ())
    """

    kind: str
    """What predicts held-out annotators best: ``one order``, ``an axis``, ``two camps`` or
    ``three camps``; a richer one only where it does so clearly."""
    gains: dict[str, tuple[float, float]] = field(default_factory=dict)
    """How much more probable the answers of held-out annotators are than by one order: the gain in
    log-likelihood of each alternative, and its standard error. Empty where nothing pointed to
    one."""
    over_axis: tuple[float, float] | None = None
    """The same of the camps over an axis."""
    not_looked: str = ""
    """Why camps were not looked for, such as too few annotators; nothing where they were."""
    members: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    """Probability that each annotator belongs to each camp, annotators by camps."""
    scores: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    """Camps by items."""
    se: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    common_ground: FloatArray = field(default_factory=lambda: np.zeros(0))
    """Scores midway between the camps, however large each is."""
    common_se: FloatArray = field(default_factory=lambda: np.zeros(0))
    apart: FloatArray = field(default_factory=lambda: np.zeros(0))
    """How far apart the two camps are that differ most over an item: of two camps, the first less
    the second."""
    apart_se: FloatArray = field(default_factory=lambda: np.zeros(0))

    __repr__ = brief

    @property
    def shares(self) -> FloatArray:
        """Share of the annotators in each camp."""
        return np.asarray(self.members.sum(axis=0) / max(len(self.members), 1))

    @property
    def stands_out(self) -> bool:
        """Whether there are camps."""
        return len(self.scores) > 1

    @property
    def names(self) -> tuple[str, ...]:
        """What the camps are called: A is the largest."""
        return tuple(LETTERS[: len(self.scores)])

    @property
    def own(self) -> TextArray:
        """The most probable camp of each annotator."""
        return np.asarray(np.array(self.names, dtype=object)[self.members.argmax(axis=1)])

    def to_dict(self) -> dict[str, Any]:
        """Return what is known of the camps as a whole, as in ``summary.json``."""
        gains = {name: {"value": gain, "se": se} for name, (gain, se) in self.gains.items()}
        over = self.over_axis
        return {
            "stands_out": self.stands_out,
            "not_looked": self.not_looked or None,
            "kind": self.kind,
            "held_out_gain": gains,
            "held_out_gain_over_axis": None if over is None else {"value": over[0], "se": over[1]},
            "names": list(self.names),
            "shares": self.shares.tolist(),
        }


# ------------------------------------------------------------------------------- an axis
def continued(model: Model, before: Fit) -> State:
    """Return a state of a model where a fit of a smaller one ended; further unknowns are 0."""
    old, smaller = before.state, before.problem.model
    state = model.first_state(before.scores, old.sds, old.reversed_share)
    for name, block in smaller.rows.blocks.items():
        state.unknowns[model.rows.blocks[name].where] = old.unknowns[block.where]
    for name in smaller.means:
        state.unknowns[model.index(name)] = old.unknowns[smaller.index(name)]
    return replace(state, multiplier=old.multiplier, grades=old.grades)


def fit_axis(model: Model, before: Fit, run: Run) -> Fit:
    """Fit the axis along which annotators differ most: the best of a few starts.

    Parameters
    ----------
    model
        With an axis.
    before
        The fit of the model without one.
    run
        Fits a model from a state.
    """
    begin, random = continued(model, before), np.random.default_rng(0)
    starts = [_leading_axis(before)]
    starts += [random.standard_normal(model.rows.n_items) for _ in range(_RANDOM_STARTS)]
    fits = []
    for start in starts:
        unknowns = begin.unknowns.copy()
        size = float(np.sqrt(np.mean(start**2))) or 1.0
        scale = _LARGEST_AXIS * FIRST_SDS[AXIS] / size
        unknowns[model.rows.blocks[AXIS].where] = scale * start
        fits.append(run(model, replace(begin, unknowns=unknowns)))
    settled = [fit for fit in fits if fit.convergence.converged] or fits
    return min(settled, key=lambda fit: fit.objective)


def _leading_axis(fit: Fit) -> FloatArray:
    """Return the axis along which the annotators' scores, or gradients, differ most."""
    from scipy.sparse.linalg import LinearOperator, svds

    rows, tape, weights = fit.problem.model.rows, fit.curvature.tape, fit.posterior.weights
    shape, root = (rows.n_annotators, rows.n_items), np.sqrt(rows.annotator_weights)
    if min(shape) < 2:  # noqa: PLR2004  # there is no axis among one
        return np.ones(rows.n_items)
    none = np.zeros(tape.size)

    def along(scores: FloatArray) -> FloatArray:
        x = none.copy()
        x[: rows.n_items] = scores.ravel()
        return tape.forms(weights, none, x)[1] / root

    def back(annotators: FloatArray) -> FloatArray:
        return tape.weighted(weights * (annotators.ravel() / root)[:, None])[: rows.n_items]

    gradients = LinearOperator(shape, matvec=along, rmatvec=back, dtype=np.float64)
    return np.asarray(svds(gradients, k=1, random_state=0)[2][0])


# ------------------------------------------------------------------------------- the mixture
@dataclass(frozen=True, eq=False)
class Observed:
    """Answers, with all that moves them beside scores and reliabilities fixed."""

    rows: Rows
    offset: FloatArray
    """What else is in each row's gap."""
    position: FloatArray
    """Preference of the row's annotator for the left side."""
    readiness: FloatArray
    law: Law

    @classmethod
    def by(cls, rows: Rows, fit: Fit) -> Observed:
        """Return answers, all but scores and reliabilities where a fit has them."""
        posterior, unknowns = fit.posterior, fit.state.unknowns
        offset = rows.channels[GAP].gather(
            np.where(np.arange(rows.size) < rows.n_items, 0.0, unknowns[: rows.size])
        )
        position, readiness = np.zeros(len(rows)), np.full(len(rows), -np.inf)
        if POSITION in posterior.names:
            position = rows.per_row(posterior.mean(posterior.of(POSITION)))
        if READINESS in posterior.names:
            readiness = rows.per_row(posterior.mean(posterior.of(READINESS)))
            if TIE in rows.channels:
                readiness = readiness + rows.channels[TIE].gather(unknowns)
        family, grades = fit.problem.model.family, fit.state.grades
        assert isinstance(family, Advantage)  # noqa: S101  # terms are those of an advantage
        law = Adjacent(grades) if isinstance(family.law, Adjacent) else family.law
        return cls(replace(rows, channels={}, keys={}), offset, position, readiness, law)

    def of(self, kept: BoolArray) -> Observed:
        """Return what some annotators answered."""
        mine = np.repeat(kept, self.rows.sizes)
        offset, position, readiness = self.offset, self.position, self.readiness
        return Observed(self.rows.of(mine), offset[mine], position[mine], readiness[mine], self.law)


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
        """Return classes in a row, as many as the normal distribution has there."""
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
    tau: float = _TAU
    reversed_share: float = _FIRST_REVERSED

    __repr__ = brief


class Mixture:
    """The likelihood of answers by annotators of several classes.

    Rows are repeated for each class: classes by rows, and by annotators.
    """

    def __init__(self, observed: Observed, shape: Shape) -> None:
        self.observed, self.shape, rows = observed, shape, observed.rows
        self.k, self.m, self.n = len(shape.mixing), rows.n_annotators, rows.n_items
        self.modes = np.ones((2, self.k, self.m)) * np.array([1.0, 0.0])[:, None, None]
        self.fresh = True
        self.answers = Answers(*(np.tile(part, self.k) for part in rows.answers))
        self.position = np.tile(observed.position, self.k)
        self.readiness = np.tile(observed.readiness, self.k)

    def gaps(self, values: Values) -> FloatArray:
        """Return the gap of each row as each class sees it."""
        scores, rows = self.shape.mixing @ values.parts, self.observed.rows
        return np.asarray(scores[:, rows.left] - scores[:, rows.right] + self.observed.offset)

    def terms(self, gaps: FloatArray, gamma: FloatArray) -> LawTerms:
        """Return the loss of rows, and its derivatives in η."""
        eta = (gamma[:, self.observed.rows.owner] * gaps).ravel() + self.position
        terms = self.observed.law.terms(eta, self.readiness, self.answers)
        return LawTerms(*(each.reshape(gaps.shape) for each in terms))

    def evaluate(self, values: Values) -> Expectation:
        """Integrate the reliabilities out."""
        rows, gaps, precision = self.observed.rows, self.gaps(values), values.tau**-2.0
        logs, nodes, terms = [], [], []
        for half, (sign, share) in enumerate(
            [(1.0, 1.0 - values.reversed_share), (-1.0, values.reversed_share)]
        ):
            mode, curvature = self._mode(gaps, sign, precision, half)
            width = 1.0 / np.sqrt(curvature)
            for (off,), weight in zip(*cubature(1), strict=True):
                strength = mode + width * off
                each = self.terms(gaps, sign * strength)
                value = rows.by_annotator(each.loss) + 0.5 * precision * (strength - 1.0) ** 2
                value -= log(share * weight) + 0.5 * off * off + np.log(width / values.tau)
                # Reversed with a negative strength would be two wrongs that make a right.
                logs.append(-value if half == 0 else np.where(mode > 0.0, -value, -np.inf))
                nodes.append(sign * strength)
                terms.append(each)
        self.fresh = False
        return Expectation(self, values, gaps, np.stack(logs), np.stack(nodes), terms)

    def _mode(
        self, gaps: FloatArray, sign: float, precision: float, half: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return the most probable strength of each annotator in each class, and its curvature."""
        mode, rows = self.modes[half], self.observed.rows
        for _ in range(_NEWTON_STEPS[0] if self.fresh else _NEWTON_STEPS[1]):
            terms = self.terms(gaps, sign * mode)
            score = rows.by_annotator(terms.score * gaps) * sign + precision * (mode - 1.0)
            curvature = rows.by_annotator(terms.curvature * gaps**2) + precision
            step = np.clip(score / curvature, -1.0, 1.0)
            mode = mode - step
            if np.abs(step).max() < _CLOSE:  # nodes are only placed by it
                break
        self.modes[half] = mode
        return mode, np.asarray(curvature)


@dataclass(frozen=True, eq=False)
class Expectation:
    """The annotators, classes and reliabilities integrated out, at some values."""

    mixture: Mixture
    values: Values
    gaps: FloatArray
    logs: FloatArray
    """Log probability of each node: nodes by classes by annotators."""
    nodes: FloatArray
    terms: list[LawTerms]

    @cached_property
    def by_class(self) -> FloatArray:
        """Log evidence of each annotator's answers in each class, classes by annotators."""
        return _log_sum(self.logs)

    @cached_property
    def evidence(self) -> FloatArray:
        """Log evidence of each annotator's answers."""
        return _log_sum(self.by_class + self._log_shares)

    @property
    def _log_shares(self) -> FloatArray:
        return np.asarray(np.log(np.maximum(self.values.shares, 1e-300))[:, None])

    @cached_property
    def classes(self) -> FloatArray:
        """Probability that each annotator is of each class, annotators by classes."""
        return np.asarray(np.exp(self.by_class + self._log_shares - self.evidence).T)

    def probabilities(self, classes: FloatArray) -> FloatArray:
        """Return the probability of each node: nodes by classes by annotators."""
        return np.asarray(np.exp(self.logs - self.by_class) * classes.T)

    def gradient(self, probabilities: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the gradient in θ, classes by items, and the complete information of each row."""
        rows, n = self.mixture.observed.rows, self.mixture.n
        score, curvature = np.zeros(self.gaps.shape), np.zeros(self.gaps.shape)
        for share, gamma, terms in zip(probabilities, self.nodes, self.terms, strict=True):
            score -= (share * gamma)[:, rows.owner] * terms.score
            curvature += (share * gamma**2)[:, rows.owner] * terms.curvature
        gradient = [sums(rows.left, each, n) - sums(rows.right, each, n) for each in score]
        return np.stack(gradient), curvature

    def information(
        self, curvature: FloatArray, probabilities: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the observed and the complete information on the parts, as matrices."""
        mixture, rows, mixing = self.mixture, self.mixture.observed.rows, self.mixture.shape.mixing
        n, size = mixture.n, mixing.shape[1] * mixture.n
        pair = rows.left.astype(np.int64) * n + rows.right
        blocks = np.empty((mixture.k, n, n))
        for k, part in enumerate(curvature):
            table = np.bincount(pair, part, n * n).reshape(n, n)
            table = table + table.T
            blocks[k] = np.diag(table.sum(axis=0)) - table
        complete = np.einsum("kp,kij,kq->piqj", mixing, blocks, mixing).reshape(size, size)
        if len(self.nodes) * mixture.k * mixture.m * n * n > _MOST_PRODUCTS:
            return complete, complete
        return complete - self._missing(probabilities), complete

    def _missing(self, probabilities: FloatArray) -> FloatArray:
        """Return Σ_u Cov g_u over nodes and classes, g what an annotator pulls the parts by."""
        mixture, rows, mixing = self.mixture, self.mixture.observed.rows, self.mixture.shape.mixing
        m, n, parts = mixture.m, mixture.n, mixing.shape[1]
        total, mean = np.zeros((parts, n, parts, n)), np.zeros((m, parts, n))
        for k in range(mixture.k):
            square = np.zeros((n, n))
            for share, gamma, terms in zip(probabilities, self.nodes, self.terms, strict=True):
                score = _by_item(rows, -gamma[k][rows.owner] * terms.score[k])
                square += (share[k][:, None] * score).T @ score
                mean += (share[k][:, None] * score)[:, None, :] * mixing[k][None, :, None]
            total += np.einsum("p,ij,q->piqj", mixing[k], square, mixing[k])
        flat = mean.reshape(m, parts * n)
        return np.asarray(total.reshape(parts * n, parts * n) - flat.T @ flat)


def _log_sum(logs: FloatArray) -> FloatArray:
    """Return the logarithm of the sum of exponentials, along the first axis."""
    largest = logs.max(axis=0)
    return np.asarray(largest + np.log(np.exp(logs - largest).sum(axis=0)))


def _by_item(rows: Rows, score: FloatArray) -> FloatArray:
    """Add up what rows pull the gap by: annotators by items."""
    m, n = rows.n_annotators, rows.n_items
    left, right = rows.owner * n + rows.left, rows.owner * n + rows.right
    return np.asarray(sums(left, score, m * n) - sums(right, score, m * n)).reshape(m, n)


@dataclass(frozen=True, eq=False)
class MixtureFit:
    """A mixture fitted to some answers."""

    shape: Shape
    values: Values
    classes: FloatArray
    """Probability that each annotator is of each class, annotators by classes."""
    evidence: float
    """Logarithm of the probability of the answers, the parts integrated out."""

    __repr__ = brief

    @property
    def scores(self) -> FloatArray:
        """θ_k, classes by items."""
        return self.shape.mixing @ self.values.parts


def fit_mixture(
    observed: Observed, shape: Shape, start: Values, classes: FloatArray | None = None
) -> MixtureFit:
    """Fit a mixture from a start: scores by Newton's steps, the rest by EM.

    Parameters
    ----------
    observed, shape
        The answers, and the classes.
    start
        Where to begin.
    classes
        Probabilities of the classes that are kept at first, annotators by classes.
    """
    mixture, values = Mixture(observed, shape), start
    for iteration in range(_ITERATIONS):
        here = mixture.evaluate(values)
        kept = classes if classes is not None and iteration < _FIXED_CLASSES else None
        new, evidence = _step(here, here.classes if kept is None else kept)
        move = float(np.abs(new.parts - values.parts).max()) / values.common_sd
        move = max(move, 0.1 * abs(log(new.apart_sd / values.apart_sd)), abs(new.tau - values.tau))
        values = new
        if kept is None and move < _TOLERANCE:
            break
    return MixtureFit(shape, values, here.classes, evidence)


def _step(here: Expectation, classes: FloatArray) -> tuple[Values, float]:
    """Take a step; return where it leads, and the evidence before it."""
    values, mixing, n = here.values, here.mixture.shape.mixing, here.mixture.n
    probabilities = here.probabilities(classes)
    gradient, curvature = here.gradient(probabilities)
    sds = np.array([values.common_sd] + [values.apart_sd] * (mixing.shape[1] - 1))
    precision, x = np.repeat(sds**-2.0, n), values.parts.ravel()
    observed, complete = here.information(curvature, probabilities)
    covariance = definite_inverse(observed + np.diag(precision), complete + np.diag(precision))
    step = covariance @ ((mixing.T @ gradient).ravel() - precision * x)
    longest = float(np.abs(step).max()) / values.common_sd
    parts = (x + step * min(1.0, 1.0 / max(longest, 1e-300))).reshape(values.parts.shape)
    evidence = float(here.evidence.sum()) - 0.5 * dot(precision, x * x)
    evidence += 0.5 * float(np.log(precision).sum() + np.linalg.slogdet(covariance)[1])
    new = replace(values, parts=parts)
    return _estimated_again(here, new, np.diag(covariance), classes, probabilities), evidence


def _estimated_again(
    here: Expectation,
    values: Values,
    variances: FloatArray,
    classes: FloatArray,
    probabilities: FloatArray,
) -> Values:
    """Estimate shares and standard deviations again, and fix the scale."""
    mixture, n = here.mixture, here.mixture.n
    common = next_sd(values.common_sd, values.parts[0], variances[:n], n - 1, 1.0)
    apart = values.apart_sd
    if len(values.parts) > 1:
        apart = effect_sd(apart, values.parts[1:].ravel(), variances[n:])
    shares = mixture.shape.shares
    if shares is None:
        shares = (classes.sum(axis=0) + 1.0) / (mixture.m + mixture.k)
    half = len(here.nodes) // 2
    strengths = np.concatenate([here.nodes[:half], -here.nodes[half:]])
    # The typical annotator has reliability 1: else scores and reliabilities drift apart.
    scale = float(np.clip((probabilities * strengths).sum() / mixture.m, 0.5, 2.0))
    square = float((probabilities * (strengths / scale - 1.0) ** 2).sum())
    tau = float(np.sqrt((_TAU_PRIOR * _TAU**2 + square) / (_TAU_PRIOR + mixture.m)))
    mixture.modes /= scale
    share = reversed_share(probabilities[half:].sum(axis=(0, 1)))
    parts = scale * values.parts
    if mixture.shape.shares is None:
        parts = _upright(parts, probabilities, mixture)
    sds = scale * common, scale * apart, min(tau, _LARGEST_TAU)
    return Values(parts, shares, *sds, min(share, _MOST_REVERSED))


def _upright(parts: FloatArray, probabilities: FloatArray, mixture: Mixture) -> FloatArray:
    """Turn a camp round whose members are mostly reversed: its scores have the wrong sign."""
    by_class, parts = probabilities.sum(axis=2), parts.copy()
    half = len(by_class) // 2
    for k in np.flatnonzero(by_class[half:].sum(axis=0) > by_class[:half].sum(axis=0)):
        parts[1 + k] = -parts[1 + k] - 2.0 * parts[0]
        mixture.modes[:, k] = [[1.0], [0.0]]
        mixture.fresh = True
    return parts


def fit_one(observed: Observed, scores: FloatArray, sd: float) -> MixtureFit:
    """Fit one order for all."""
    return fit_mixture(observed, Shape.one(), Values(scores[None], np.ones(1), sd, 1.0))


def fit_camps(observed: Observed, one: MixtureFit, number: int, *, seed: int = 0) -> MixtureFit:
    """Fit so many camps: the most probable of several starts.

    Parameters
    ----------
    observed, one
        The answers, and their fit by one order.
    number
        How many camps.
    seed
        For the random starts.
    """
    random, m = np.random.default_rng(seed), observed.rows.n_annotators
    starts = [_clusters(_directions(observed, one, number - 1), number, random)]
    starts += [np.eye(number)[random.permutation(m) % number] for _ in range(_RANDOM_STARTS)]
    return _best_of(observed, one, starts)


def merged(observed: Observed, one: MixtureFit, two: MixtureFit, three: MixtureFit) -> MixtureFit:
    """Return two camps, looked for once more where three are more probable.

    All starts may have missed them, which three then find: they would be claimed instead of two.
    """
    if three.evidence <= two.evidence:
        return two
    alone = [np.stack([each, 1.0 - each], axis=1) for each in three.classes.T]
    return max(two, _best_of(observed, one, alone), key=lambda fit: fit.evidence)


def fit_line(observed: Observed, one: MixtureFit, two: MixtureFit) -> MixtureFit:
    """Fit an axis, from one order and from two camps at its ends."""
    shape, sd, (a, b) = Shape.axis(), one.values.common_sd, two.scores
    parts = np.stack([0.5 * (a + b), 0.5 * (a - b)])
    size = float(np.sqrt(np.mean(parts[1] ** 2)))
    parts[1] *= max(1.0, _LEAST_LINE * sd / max(size, 1e-9))
    assert shape.shares is not None  # noqa: S101  # those of an axis are known
    start = Values(parts, shape.shares, sd, _APART * sd, one.values.tau)
    return fit_mixture(observed, shape, start)


def _best_of(observed: Observed, one: MixtureFit, starts: list[FloatArray]) -> MixtureFit:
    """Fit camps from each start, probabilities of annotators by camps; take the most probable."""
    number, sd = starts[0].shape[1], one.values.common_sd
    parts = np.zeros((number + 1, observed.rows.n_items))
    parts[0] = one.values.parts[0]
    begin = Values(parts, np.full(number, 1.0 / number), sd, _APART * sd, one.values.tau)
    fits = [fit_mixture(observed, Shape.camps(number), begin, classes) for classes in starts]
    return max(fits, key=lambda fit: fit.evidence)


def _directions(observed: Observed, one: MixtureFit, number: int) -> FloatArray:
    """Return what the residuals of annotators have in common: annotators by directions."""
    here, rows = Mixture(observed, one.shape).evaluate(one.values), observed.rows
    score = np.zeros(len(rows))
    probabilities = here.probabilities(here.classes)
    for share, gamma, terms in zip(probabilities, here.nodes, here.terms, strict=True):
        score -= (share * np.sign(gamma))[0, rows.owner] * terms.score[0]
    weights = np.sqrt(np.maximum(rows.annotator_weights, 1e-9))
    table = _by_item(rows, score) / weights[:, None]
    return np.asarray(np.linalg.svd(table, full_matrices=False)[0][:, :number])


def _clusters(points: FloatArray, number: int, random: np.random.Generator) -> FloatArray:
    """Divide points into clusters by k-means: probabilities, points by clusters."""
    if number == 2:  # noqa: PLR2004
        return np.stack([points[:, 0] > 0, points[:, 0] <= 0], axis=1).astype(np.float64)
    best, least = np.eye(number)[:0], np.inf
    for _ in range(5):
        centres = points[random.choice(len(points), number, replace=False)]
        for _ in range(20):
            distances = ((points[:, None] - centres) ** 2).sum(axis=2)
            own = distances.argmin(axis=1)
            for k in range(number):
                if (own == k).any():
                    centres[k] = points[own == k].mean(axis=0)
        if (value := float(distances.min(axis=1).sum())) < least:
            best, least = np.eye(number)[own], value
    return best


# ------------------------------------------------------------------------------- the decision
def compare(observed: Observed, scores: FloatArray, sd: float, *, seed: int = 0) -> Camps:
    """Compare one order, an axis, and two and three camps by held-out annotators.

    Parameters
    ----------
    observed
        The answers.
    scores, sd
        Of a fit of one order, and their sd.
    seed
        For who is held out when, and for starts.
    """
    m, rows, random = observed.rows.n_annotators, len(observed.rows), np.random.default_rng(seed)
    if reason := _not_looked(m, observed.rows.n_items):
        return Camps(ONE, not_looked=reason)
    step = min(rows // _SAMPLE, m // _FEWEST_SAMPLED)
    if rows > 2 * _SAMPLE and step > 1:
        drawn = np.random.default_rng(seed).permutation(m) < m // step
        observed, m = observed.of(drawn), int(drawn.sum())
    one = fit_one(observed, scores, sd)
    two, three = (fit_camps(observed, one, number, seed=seed) for number in (2, 3))
    two = merged(observed, one, two, three)
    whole = {ONE: one, LINE: fit_line(observed, one, two), TWO: two, THREE: three}
    if max(each.evidence for each in whole.values()) - one.evidence < _SIGN:
        return Camps(ONE)
    fold = random.permutation(m) % min(_FOLDS, m)
    evidence = {name: np.zeros(m) for name in whole}
    for k in range(int(fold.max()) + 1):
        out: BoolArray = fold == k
        kept, rest = observed.of(~out), observed.of(out)
        for name, each in whole.items():
            camps = each.classes[~out] if name in _CAMPS else None
            fit = fit_mixture(kept, each.shape, each.values, camps)
            evidence[name][out] = Mixture(rest, fit.shape).evaluate(fit.values).evidence
    gains = {name: _gain(evidence[name], evidence[ONE]) for name in whole if name != ONE}
    camps_ = THREE if _surely(_gain(evidence[THREE], evidence[TWO])) else TWO
    over_axis = _gain(evidence[camps_], evidence[LINE])
    kind = LINE if _surely(gains[LINE]) else ONE
    if _surely(gains[camps_]) and _surely(over_axis):
        kind = camps_
    return Camps(kind, gains, over_axis)


def _not_looked(annotators: int, items: int) -> str:
    """Say why camps are not looked for; nothing where they are."""
    if annotators < FEWEST:
        people = count(annotators, "annotator")
        return f"there {'is' if annotators == 1 else 'are'} only {people}; it takes {FEWEST}"
    if items > MOST_ITEMS:
        return f"there are {items:,} items; at most {MOST_ITEMS} can be searched"
    return ""


def _gain(one: FloatArray, other: FloatArray) -> tuple[float, float]:
    """Return how much more probable held-out annotators are, and the standard error of that."""
    gain = one - other
    return float(gain.sum()), float(np.sqrt(len(gain)) * gain.std(ddof=1))


def _surely(gain: tuple[float, float]) -> bool:
    return gain[0] > max(_SE_BETTER * gain[1], _NATS_BETTER)


def find_camps(rows: Rows, fit: Fit, *, seed: int = 0) -> Camps:
    """Look for camps beside a fit of one order.

    The scores of camps are modes: see `fit_by_camp`.

    Parameters
    ----------
    rows, fit
        Of the model without an axis; rows may have other weights than those of the fit.
    seed
        For who is held out when, and for starts.
    """
    observed, sd, scores = Observed.by(rows, fit), fit.state.sds[SCORES], fit.scores
    camps = compare(observed, scores, sd, seed=seed)
    if camps.kind not in _CAMPS:
        return camps
    one = fit_one(observed, scores, sd)
    best = fit_camps(observed, one, _CAMPS[camps.kind], seed=seed)
    if camps.kind == TWO:
        best = merged(observed, one, best, fit_camps(observed, one, 3, seed=seed))
    order = np.argsort(-best.classes.sum(axis=0), kind="stable")  # the largest camp first
    return replace(camps, members=best.classes[:, order], scores=best.scores[order])


# ------------------------------------------------------------------------------- camps' scores
@dataclass(frozen=True, eq=False)
class ByCamp:
    """A fit with a score for each item in each camp."""

    effects: Effects
    members: FloatArray
    """Probability that each annotator belongs to each camp, annotators by camps."""
    name: str
    """What the categories that the camps are in the fit are called."""

    __repr__ = brief

    def outcomes(self, judgments: Judgments) -> FloatArray:
        """Return the probabilities of left, right and tie for each row.

        Those of each camp are averaged by how probable it is that the annotator belongs to it; a
        new annotator belongs to one as often as others do.
        """
        fitted, number = self.effects.judgments.annotator_ids, self.members.shape[1]
        index = aligned(np.arange(float(len(fitted))), fitted, judgments.annotator_ids)
        new = ~np.isfinite(index)
        members = self.members[np.where(new, 0.0, index).astype(np.int64)]
        members = np.where(new[:, None], self.members.mean(axis=0), members)[judgments.annotator]
        total = np.zeros((len(judgments.left), 3))
        for k in range(number):
            code = np.full(len(judgments.left), k, dtype=np.int32)
            asked = _with_camps(judgments, self.name, number, code)
            total += members[:, k, None] * self.effects.outcomes(asked)
        return total

    def described(self, camps: Camps) -> Camps:
        """Return camps with their scores and what is between them, with standard errors."""
        number = self.members.shape[1]
        unit = np.eye(number)
        scores, se = (np.stack(part) for part in zip(*map(self._combined, unit), strict=True))
        common, common_se = self._combined(np.full(number, 1.0 / number))
        far, far_se = np.zeros(len(common)), np.zeros(len(common))
        for a in range(number):
            for b in range(a + 1, number):
                apart, apart_se = self._combined(unit[a] - unit[b])
                more: BoolArray = np.abs(apart) > np.abs(far)
                far, far_se = np.where(more, apart, far), np.where(more, apart_se, far_se)
        far = far if number == 2 else np.abs(far)  # noqa: PLR2004  # which two differs by item
        return replace(
            camps,
            members=self.members,
            scores=scores,
            se=se,
            common_ground=common,
            common_se=common_se,
            apart=far,
            apart_se=far_se,
        )

    def _combined(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return Σ_k w_k θ_k about the mean of each component, and its standard errors."""
        fit, covariance = self.effects.fit, self.effects.covariance
        model, unknowns = fit.problem.model, fit.state.unknowns
        block, n = model.rows.blocks[f"by {self.name}"], model.rows.n_items
        combination, items = np.zeros((n, model.size)), np.arange(n)
        combination[items, items] = weights.sum()
        combination[block.item, np.arange(block.where.start, block.where.stop)] = weights[
            block.group
        ]
        # Nothing is known of what a camp adds to an item that it never compared.
        unseen = np.ones((len(weights), n))
        unseen[block.group, block.item] = 0.0
        prior_variance = (np.square(weights) @ unseen) * fit.state.sds[f"by {self.name}"] ** 2
        same = model.component[:, None] == model.component
        about_mean = np.eye(n) - same / same.sum(axis=1)
        combination = about_mean @ combination
        if covariance.ndim == 1:
            variance = combination**2 @ covariance
        else:
            variance = ((combination @ covariance) * combination).sum(axis=1)
        variance = variance + about_mean**2 @ prior_variance
        return combination @ unknowns, _WIDER * np.sqrt(np.maximum(variance, 0.0))


def fit_by_camp(
    judgments: Judgments, chosen: ChosenTerms, camps: Camps, before: Fit, run: Run
) -> ByCamp:
    """Fit what each camp thinks of the items.

    Parameters
    ----------
    judgments, chosen
        What was judged, and the terms of the fit without camps.
    camps
        Who is in which, and roughly what each thinks.
    before
        The fit without camps.
    run
        Fits a model from a state.
    """
    name, number = "camp", len(camps.scores)
    while name in judgments.category_ids:
        name += "'"
    surely: BoolArray = camps.members.max(axis=1) >= _SURELY
    own = np.where(surely, camps.members.argmax(axis=1), -1).astype(np.int32)
    parted = _with_camps(judgments, name, number, own[judgments.annotator])
    chosen = replace(chosen, cells=(*chosen.cells, f"by {name}"))
    model = model_of(parted, chosen, fixed=before.problem.model.fixed)
    block, common = model.rows.blocks[f"by {name}"], camps.scores.mean(axis=0)
    added = (camps.scores - common)[block.group, block.item]
    sds = {each: before.state.sds[each] for each in (SCORES, RELIABILITY)}
    sds[f"by {name}"] = max(float(np.sqrt(np.mean(added**2))), _LEAST_SD)
    start = model.first_state(common, sds, before.state.reversed_share)
    start.unknowns[block.where] = added
    return ByCamp(Effects(parted, chosen, run(model, start)), camps.members, name)


def _with_camps(judgments: Judgments, name: str, number: int, code: CodeArray) -> Judgments:
    """Return judgments with the camp of each row as a further category."""
    column = Categories(name, as_text(LETTERS[:number]), code)
    return replace(judgments, categories=(*judgments.categories, column))
