r"""Annotators' parameters, and the three rules that dispose of them.

They are the same for all (`Annotators.alike`), maximised together with the unknowns (`maximised`),
or integrated out (`integrated`). Whatever the rule, a `Tape` is what is left of the rows;
`expected` makes one of the Fisher information at a joint mode.

Where some annotators may be reversed, reliabilities have a mixture of two normal priors,

    p(γ) = (1 − π) N(γ; μ, τ²) + π N(−γ; μ, τ²),   γ = ± ρ,

of those who answer as asked (γ = ρ) and those who answer the other way round (γ = −ρ), ρ being the
strength. Integration is by cubature about the mode of each annotator, once for either component;
the posterior probability of the second is that of being reversed. Annotators who are certainly not
are called upright.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import log
from operator import add

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray
from aggcal._core.text import brief
from aggcal.aggregation.families import (
    HONESTY,
    RELIABILITY,
    Adjacent,
    Advantage,
    Family,
    Terms,
    information_roots,
)
from aggcal.aggregation.rows import GAP, Rows
from aggcal.aggregation.tape import Tape

GAP_POINTS, GAP_WEIGHTS = np.polynomial.hermite_e.hermegauss(5)
GAP_WEIGHTS = GAP_WEIGHTS / GAP_WEIGHTS.sum()
"""Where an uncertain gap is looked at: exact for polynomials of degree 9, good up to an sd of 2."""
_STEPS, _HALVINGS = 60, 30
"""Newton steps in search of a mode, far more than any annotator took, and halvings of a step."""
_LONGEST = 1.0
"""Largest change of a parameter in a step: logistic losses are nearly straight beyond it."""
_LEAST_RADIUS = 3.0
"""Squared distance of the outer nodes, in standard deviations: that of Gauss and Hermite. More
parameters than that need a larger one, or the central weight would be negative."""
_CLEARLY = 3.0
"""Standard deviations by which the strength of a reversed annotator must be negative to say that
they are not reversed: less would matter to the estimates, more would let two wrongs make a right
where the scale constraint shifts the prior of an annotator who gave a large share of the judgments.
"""
_FIRST_STRENGTH = 2.0
"""Largest reliability at which modes are looked for first: steps towards them are short."""
_FIRST_LOGIT, _FIRST_HONESTY = 1.5, 0.9
"""The same of an honesty: most are honest."""
_LEAST_CURVATURE = 0.1
"""Of the prior's, that a mixture's mode is looked for with: its likelihood is not log-concave."""
_HERMITE = 6
"""Nodes of a mixture's annotators: fewer miss a second mode, more change nothing."""


_Spread = list[tuple[dict[str, FloatArray], float]]
"""What moves rows, wherever their uncertain gaps are looked at, and the share of that."""


@dataclass(frozen=True, eq=False)
class Normal:
    """Independent normal priors of annotators' parameters."""

    means: FloatArray
    """Annotators by parameters."""
    sds: FloatArray
    """Of each parameter."""

    def terms(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return minus the log density but for a constant, its score and its curvature."""
        off, precision = theta - self.means, self.sds**-2.0
        curvature = np.broadcast_to(precision, theta.shape)
        return 0.5 * (precision * off * off).sum(axis=1), precision * off, curvature

    @property
    def log_constant(self) -> float:
        """Constant of the log density, but for that of 2π, which cancels in the cubature."""
        return -float(np.log(self.sds).sum())

    def first(self, names: tuple[str, ...], sign: float) -> FloatArray:
        """Return where to look for modes: of the reversed component (sign −1) at strength 0.

        Most annotators answer as asked: reversed, they would seem to know next to nothing.
        """
        theta = self.means.copy()
        if RELIABILITY in names:
            k = names.index(RELIABILITY)
            # The scale constraint may put means where nobody who has judged much is.
            theta[:, k] = np.clip(theta[:, k], 0.0, _FIRST_STRENGTH) if sign > 0.0 else 0.0
        return theta

    def part(self, annotators: slice) -> Normal:
        """Return that of some annotators."""
        return replace(self, means=self.means[annotators])


@dataclass(frozen=True, eq=False)
class Correlated(Normal):
    """Normal priors of annotators' parameters that are correlated."""

    covariance: FloatArray

    @classmethod
    def of(cls, mean: FloatArray, covariance: FloatArray, annotators: int) -> Correlated:
        """Return that of so many annotators, alike beforehand."""
        means = np.repeat(mean[None], annotators, axis=0)
        return cls(means, np.sqrt(np.diag(covariance)), covariance)

    def terms(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return minus the log density but for a constant, its score and its curvature."""
        off, precision = theta - self.means, np.linalg.inv(self.covariance)
        score = off @ precision
        curvature = np.broadcast_to(precision, (*theta.shape, theta.shape[1]))
        return 0.5 * (off * score).sum(axis=1), score, curvature

    @property
    def log_constant(self) -> float:
        """Constant of the log density, but for that of 2π, which cancels in the cubature."""
        return -0.5 * float(np.linalg.slogdet(self.covariance)[1])


@dataclass(frozen=True, eq=False)
class Beta:
    """h^a (1 − h)^b of an honesty h, or of its logit: `annotators` of them."""

    a: float
    b: float
    annotators: int
    logit: bool = False

    log_constant = 0.0

    def terms(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return minus the log density but for a constant, its score and its curvature."""
        if self.logit:
            h = 1.0 / (1.0 + np.exp(-theta))
            value = -self.a * np.log(h) - self.b * np.log1p(-h)
            score = -self.a * (1.0 - h) + self.b * h
            return value[:, 0], score, (self.a + self.b) * h * (1.0 - h)
        value = -self.a * np.log(theta) - self.b * np.log1p(-theta)
        score = -self.a / theta + self.b / (1.0 - theta)
        return value[:, 0], score, self.a / theta**2 + self.b / (1.0 - theta) ** 2

    def first(self, names: tuple[str, ...], sign: float) -> FloatArray:  # noqa: ARG002
        """Return where to look for modes."""
        begin = _FIRST_LOGIT if self.logit else _FIRST_HONESTY
        return np.full((self.annotators, 1), begin)

    def part(self, annotators: slice) -> Beta:
        """Return that of some annotators."""
        return replace(self, annotators=len(range(self.annotators)[annotators]))


Prior = Normal | Beta


@dataclass(frozen=True, eq=False)
class Point:
    """Where the annotators' parameters are integrated out."""

    unknowns: FloatArray
    covariance: FloatArray
    """Of the unknowns, a matrix or its diagonal: rows are averaged over their uncertain gaps."""
    prior: Prior
    largest_gap_sd: float = np.inf
    grades: tuple[float, ...] | None = None
    """Weights of the strengths of answers, where the family's law is of adjacent categories."""
    reversed_share: float | None = None
    """π, of the annotators; None where nobody answers the other way round."""
    upright: BoolArray | None = None
    """Annotators who are certainly not reversed."""
    close: float = 1e-10
    """Squared Newton step, over the variance, at which a mode is near enough."""

    def part(self, annotators: slice) -> Point:
        """Return the point for some of the annotators."""
        upright = None if self.upright is None else self.upright[annotators]
        return replace(self, prior=self.prior.part(annotators), upright=upright)


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior of every annotator's parameters: nodes and their probabilities."""

    names: tuple[str, ...]
    nodes: FloatArray
    """Annotators by nodes by parameters; a reliability has its sign."""
    weights: FloatArray
    """Annotators by nodes."""
    evidence: FloatArray
    """Log evidence of each annotator's answers."""
    halves: int = 1
    """Components of the mixture: 2 where the second half of the nodes is that of reversed ones."""

    __repr__ = brief

    def of(self, name: str) -> FloatArray:
        """Return the nodes of a parameter, annotators by nodes."""
        nodes: FloatArray = self.nodes[:, :, self.names.index(name)]
        return nodes

    def part(self, annotators: slice) -> Posterior:
        """Return that of some annotators."""
        columns = self.nodes, self.weights, self.evidence
        nodes, weights, evidence = (column[annotators] for column in columns)
        return replace(self, nodes=nodes, weights=weights, evidence=evidence)

    @property
    def log_evidence(self) -> float:
        """Log evidence of all answers."""
        return float(self.evidence.sum())

    @cached_property
    def strengths(self) -> FloatArray:
        """Reliabilities without the sign of those who answer the other way round."""
        strengths = self.of(RELIABILITY).copy()
        if self.halves > 1:
            strengths[:, strengths.shape[1] // 2 :] *= -1.0
        return strengths

    def mean(self, values: FloatArray) -> FloatArray:
        """Return the posterior mean of what is given at nodes."""
        mean: FloatArray = np.einsum("uk,uk->u", self.weights, values)
        return mean

    def deviation(self, values: FloatArray) -> FloatArray:
        """Return values less their posterior mean."""
        deviation: FloatArray = values - self.mean(values)[:, None]
        return deviation

    def variance(self, values: FloatArray) -> FloatArray:
        """Return the posterior variance of what is given at nodes."""
        return self.mean(np.square(self.deviation(values)))

    @cached_property
    def reversed(self) -> FloatArray:
        """Posterior probability that the annotator answers the other way round."""
        if self.halves == 1:
            return np.zeros(len(self.weights))
        half = self.weights.shape[1] // 2
        probability: FloatArray = self.weights[:, half:].sum(axis=1)
        return probability


def cubature(parameters: int) -> tuple[FloatArray, FloatArray]:
    """Return points about 0 and their weights: exact for normal means and variances.

    Examples
    --------
    >>> points, weights = cubature(2)
    >>> weights.round(3), np.round(points.T * weights @ points, 6)
    (array([0.333, 0.167, 0.167, 0.167, 0.167]), array([[1., 0.],
           [0., 1.]]))
    """
    radius = max(_LEAST_RADIUS, float(parameters))
    axes = np.sqrt(radius) * np.eye(parameters)
    points = np.concatenate([np.stack([axis, -axis]) for axis in axes])
    weights = np.full(2 * parameters, 0.5 / radius)
    if radius > parameters:
        points = np.concatenate([np.zeros((1, parameters)), points])
        weights = np.concatenate([[1.0 - parameters / radius], weights])
    return points, weights


class Annotators:
    """The annotators of some rows; remembers their modes from one point to the next.

    This is the reference, in NumPy: `aggcal.aggregation.native` has the same, compiled.
    """

    def __init__(
        self, rows: Rows, family: Family, bounds: tuple[float, float] = (-np.inf, np.inf)
    ) -> None:
        self.rows, self.family, self.bounds = rows, family, bounds
        self.theta: FloatArray
        """Where the parameters were last maximised."""
        self._modes: dict[float, FloatArray] = {}

    def restart(self) -> None:
        """Forget the modes."""
        self._modes.clear()

    @cached_property
    def rule(self) -> tuple[FloatArray, FloatArray]:
        """Points about the mode, in standard deviations, and their weights."""
        if self.family.names == (HONESTY,):
            points, weights = np.polynomial.hermite_e.hermegauss(_HERMITE)
            return points[:, None], weights / weights.sum()
        return cubature(len(self.family.names))

    # ---------------------------------------------------------------- rules
    def alike(
        self,
        unknowns: FloatArray,
        grades: tuple[float, ...] | None = None,
        reliabilities: FloatArray | None = None,
    ) -> Tape:
        """Everybody has γ = 1 (or a known one) and nothing of their own."""
        self._weigh(grades)
        known = {} if reliabilities is None else {RELIABILITY: self.rows.per_row(reliabilities)}
        terms = self.family.terms(self._moved(unknowns), known, self.rows.answers)
        nobody = np.empty((0, len(self.rows)), like=terms.loss)
        responses = dict.fromkeys(self.family.channels, nobody)
        weights, value = np.empty((self.rows.n_annotators, 0), like=terms.loss), terms.loss.sum()
        return Tape(self.rows, float(value), terms.score, terms.curvature, responses, weights)

    def maximised(self, unknowns: FloatArray, prior: Prior, close: float = 1e-20) -> Tape:
        """Each θ_u is at its mode: the profile of the likelihood in the unknowns."""
        rows, names = self.rows, self.family.names
        mode = self._mode([(self._moved(unknowns), 1.0)], prior, 1.0, close)
        low, high = self.bounds
        at_bound = (mode.theta <= low) & (mode.score > 0.0)
        at_bound |= (mode.theta >= high) & (mode.score < 0.0)
        if at_bound.any():  # of one parameter: it does not give way
            inverse_root = np.where(at_bound[:, :, None], 0.0, mode.curvature**-0.5)
        else:
            inverse_root = np.linalg.inv(np.linalg.cholesky(mode.curvature))
        # What is left of the score in θ enters to first order.
        rest = np.einsum("ukl,ul->uk", inverse_root, np.where(at_bound, 0.0, mode.score))
        rest = rows.per_row(np.einsum("ukl,uk->ul", inverse_root, rest)).T
        responses, score, curvature = {}, {}, mode.terms.curvature
        for name in self.family.channels:
            responses[name] = np.stack([curvature[name, parameter] for parameter in names])
            score[name] = mode.terms.score[name] - (rest * responses[name]).sum(axis=0)
        curvature = {pair: each for pair, each in curvature.items() if not {*pair} & {*names}}
        self.theta = mode.theta
        value = float(mode.value.sum())
        return Tape(rows, value, score, curvature, responses, inverse_root=inverse_root)

    def expected(
        self, unknowns: FloatArray, theta: FloatArray, prior: Prior | None
    ) -> tuple[Tape, Posterior]:
        """Return the expected (Fisher) information of wins, θ_u having the normal posterior of it.

        Two nodes, a standard deviation to either side, stand for that posterior. ``theta`` has a
        parameter an annotator.
        """
        rows, names, m = self.rows, self.family.names, len(theta)
        weight, gap = rows.answers.weight, rows.channels[GAP].gather(unknowns)
        by_row = rows.per_row(theta) if names else theta
        in_gap, *in_theta = information_roots(self.family, gap, by_row)
        terms = self.family.terms({GAP: gap}, dict.fromkeys(names, by_row), rows.answers)
        curvature, value = {(GAP, GAP): weight * in_gap**2}, float(terms.loss.sum())
        evidence = -rows.by_annotator(terms.loss)
        nobody = Posterior((), np.zeros((m, 1, 0)), np.ones((m, 1)), evidence)
        none = np.empty((0, len(rows)), like=gap)
        weights = np.empty((m, 0), like=gap)
        tape = Tape(rows, value, {GAP: terms.score[GAP]}, curvature, {GAP: none}, weights)
        if prior is None:
            return tape, nobody
        precision = rows.by_annotator(weight * in_theta[0] ** 2)
        precision += np.maximum(prior.terms(theta[:, None])[2][:, 0], 0.0)
        off = np.stack([precision**-0.5, -(precision**-0.5)], axis=1)
        tape.responses = {GAP: -weight * in_gap * in_theta[0] * rows.per_row(off).T}
        tape.weights = np.zeros_like(off) + 0.5
        nodes = (theta[:, None] + off)[:, :, None]
        return tape, replace(nobody, names=names, nodes=nodes, weights=tape.weights)

    def integrated(self, point: Point) -> tuple[Tape, Posterior]:
        """Integrate θ_u out by cubature about its mode, for either sign where some are reversed."""
        self._weigh(point.grades)
        rows, names, prior = self.rows, self.family.names, point.prior
        points, point_weights = self.rule
        share, each, m = point.reversed_share, len(points), rows.n_annotators
        signs = (1.0,) if share is None else (1.0, -1.0)
        log_shares = (0.0,) if share is None else (log(1.0 - share), log(share))
        like = point.unknowns
        nodes = np.zeros((m, each * len(signs), len(names)), like=like)
        logs = np.zeros(nodes.shape[:2], like=like) - np.inf
        spread, looked = self._spread(point), list[Terms]()
        for half, sign in enumerate(signs):
            mode = self._mode(spread, prior, sign, point.close)
            root = np.linalg.inv(np.linalg.cholesky(mode.curvature)).transpose(0, 2, 1)
            width = prior.log_constant - 0.5 * np.linalg.slogdet(mode.curvature)[1]
            for t, (off, weight) in enumerate(zip(points, point_weights, strict=True)):
                k = half * each + t
                theta = np.clip(mode.theta + root @ np.asarray(off, like=root), *self.bounds)
                terms = self._terms(spread, theta, sign)
                logs[:, k] = log_shares[half] - rows.by_annotator(terms.loss)
                logs[:, k] -= prior.terms(theta)[0]
                logs[:, k] += log(weight) + 0.5 * float(off @ off) + width
                nodes[:, k] = theta
                looked.append(terms)
            if half:
                k = names.index(RELIABILITY)
                upright = mode.theta[:, k] < -_CLEARLY / np.sqrt(mode.curvature[:, k, k])
                if point.upright is not None:
                    upright |= point.upright
                logs[upright, each:] = -np.inf
                nodes[:, each:, k] *= -1.0
        most = logs.max(axis=1, keepdims=True)
        weights = np.where(logs > most - 700.0, np.exp(logs - most), 0.0)
        evidence = most[:, 0] + np.log(weights.sum(axis=1))
        weights /= weights.sum(axis=1, keepdims=True)
        posterior = Posterior(names, nodes, weights, evidence, len(signs))
        by_row, channels = rows.per_row(weights).T, self.family.channels
        responses = {name: -np.stack([terms.score[name] for terms in looked]) for name in channels}
        score = {name: -(by_row * responses[name]).sum(axis=0) for name in channels}
        pairs = [pair for pair in looked[0].curvature if not {*pair} & {*names}]
        curvature = {
            pair: sum(w * t.curvature[pair] for w, t in zip(by_row, looked, strict=True))
            for pair in pairs
        }
        value = -posterior.log_evidence
        return Tape(rows, value, score, curvature, responses, weights), posterior

    def expected_grades(
        self, unknowns: FloatArray, posterior: Posterior, grades: tuple[float, ...]
    ) -> FloatArray:
        """Return the weight of each strength of answer that is to be expected."""
        rows, law, moved = self.rows, Adjacent(grades), self._moved(unknowns)
        family = Advantage(self.family.names, law, self.family.channels)
        expected = np.zeros(len(grades))
        for k in range(posterior.weights.shape[1]):
            theta = dict(zip(posterior.names, rows.per_row(posterior.nodes[:, k]).T, strict=True))
            eta, nu = family.advantage(moved, theta)
            share = rows.per_row(posterior.weights[:, k]) * rows.answers.weight
            expected += [float(share @ level) for level in law.levels(eta, nu)]
        return expected

    # ---------------------------------------------------------------- one annotator's problem
    def _weigh(self, grades: tuple[float, ...] | None) -> None:
        """Take over the weights of the strengths of answers."""
        if grades is not None:
            self.family = Advantage(self.family.names, Adjacent(grades), self.family.channels)

    def _moved(self, unknowns: FloatArray) -> dict[str, FloatArray]:
        channels = self.rows.channels
        return {name: channels[name].gather(unknowns) for name in self.family.channels}

    def _spread(self, point: Point) -> _Spread:
        gap, moved = self.rows.channels[GAP], self._moved(point.unknowns)
        sd = np.minimum(np.sqrt(gap.variances(point.covariance)), point.largest_gap_sd)
        if not sd.any():
            return [(moved, 1.0)]
        points = zip(GAP_POINTS.tolist(), GAP_WEIGHTS.tolist(), strict=True)
        return [(moved | {GAP: moved[GAP] + off * sd}, share) for off, share in points]

    def _terms(self, spread: _Spread, theta: FloatArray, sign: float) -> Terms:
        """Return the terms of rows at θ, averaged over their uncertain gaps.

        Of a reversed annotator θ has the strength, and scores are in the reliability: its negative.
        """
        by_row = dict(zip(self.family.names, self.rows.per_row(theta).T, strict=True))
        if sign < 0.0:
            by_row[RELIABILITY] = -by_row[RELIABILITY]
        answers, family = self.rows.answers, self.family
        each = (family.terms(moved, by_row, answers).times(share) for moved, share in spread)
        return reduce(add, each)

    def _look(self, spread: _Spread, theta: FloatArray, prior: Prior, sign: float) -> _Mode:
        """Return each annotator's value, its gradient and curvature in θ."""
        rows, names = self.rows, self.family.names
        terms = self._terms(spread, theta, sign)
        value, of_prior, prior_curvature = prior.terms(theta)
        turn = {name: sign if name == RELIABILITY else 1.0 for name in names}
        score = of_prior + np.stack(
            [turn[name] * rows.by_annotator(terms.score[name]) for name in names], axis=1
        )
        curvature = np.zeros((rows.n_annotators, len(names), len(names)), like=theta)
        for i, one in enumerate(names):
            for j, two in enumerate(names[i:], i):
                both = turn[one] * turn[two] * rows.by_annotator(terms.curvature[one, two])
                curvature[:, i, j] = curvature[:, j, i] = both
        k = np.arange(len(names))
        if prior_curvature.ndim > 2:  # noqa: PLR2004  # of parameters that are correlated
            curvature += prior_curvature
        else:
            curvature[:, k, k] = np.maximum(
                curvature[:, k, k] + prior_curvature, _LEAST_CURVATURE * prior_curvature
            )
        value = value + rows.by_annotator(terms.loss)
        return _Mode(theta, value, score, curvature, terms)

    def _mode(self, spread: _Spread, prior: Prior, sign: float, close: float) -> _Mode:
        """Find the modes by damped, projected Newton steps, each annotator's of its own length."""
        theta = self._modes.get(sign)
        if theta is None:
            theta = np.asarray(prior.first(self.family.names, sign), like=self.rows.answers.weight)
        mode = self._look(spread, theta, prior, sign)
        for count in range(_STEPS + 1):
            step = -np.linalg.solve(mode.curvature, mode.score[:, :, None])[:, :, 0]
            longest = np.maximum(np.abs(step).max(axis=1), 1e-300)
            step *= np.minimum(1.0, _LONGEST / longest)[:, None]
            step = np.clip(mode.theta + step, *self.bounds) - mode.theta
            far = -(mode.score * step).sum(axis=1) >= close
            if not far.any() or count == _STEPS:
                break
            ahead = np.where(far[:, None], step, 0.0)
            for _ in range(_HALVINGS):
                trial = self._look(spread, mode.theta + ahead, prior, sign)
                worse = far & (trial.value > mode.value + 1e-9 * (1.0 + np.abs(mode.value)))
                if not worse.any():
                    break
                ahead[worse] *= 0.5
            mode = trial
        # The next point is looked at from where another step would have led.
        self._modes[sign] = mode.theta + step
        return mode


@dataclass(frozen=True, eq=False)
class _Mode:
    """A place in the annotators' parameters, and their terms there."""

    theta: FloatArray
    value: FloatArray
    score: FloatArray
    curvature: FloatArray
    terms: Terms
