r"""How sure a fit is: the covariance of its unknowns, and variances of the annotators' parameters.

It is the inverse of the information with the priors' precision: of what was integrated out the
observed information, of a joint mode the expected one (Fisher's). With priors that is the Laplace
approximation of the posterior. What is a convention is fixed: the mean of the scores and, where
annotators have reliabilities, the typical one (both constraints; the published Lemma 3.1 imposes
the first only, and has no inverse without priors).

Of many unknowns only the diagonal is worked out. With the diagonal D of the information H and
random signs z, E z (H⁻¹ z) is the diagonal of the covariance; that of 2 D⁻¹ − D⁻¹ H D⁻¹, which H⁻¹
is near, is known to be D⁻¹, so that only the difference is left to chance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, log, sqrt

import numpy as np
from scipy.special import expit

from aggcal._core.arrays import FloatArray, dot
from aggcal._core.text import brief
from aggcal.aggregation.annotators import Beta
from aggcal.aggregation.covariance import (
    MOST_DENSE,
    Covariance,
    DenseCovariance,
    SolvedCovariance,
)
from aggcal.aggregation.empirical import Fit
from aggcal.aggregation.families import HONESTY, RELIABILITY, Mixture
from aggcal.aggregation.native import annotators_of
from aggcal.aggregation.rows import SCORES
from aggcal.aggregation.solve.linear import conjugate_gradients, definite_inverse
from aggcal.aggregation.spreads import LOG_SD, centred
from aggcal.aggregation.tape import Tape
from aggcal.aggregation.uncertainty import Scale

_PROBES, _CLOSE = 12, 1e-4
"""Vectors of random signs, and the relative residual to which systems are solved."""
_WIDER = 1.05
"""What standard errors of annotators' parameters are multiplied by where these were integrated out:
they take the sd of the parameters and its shape as known, and probabilities as having a Beta
distribution. Without it a nominal 90% covers 84 to 89%."""
_SCALE_STEP, _FARTHEST_STEP, _MOST_STEPS = 1.5, 0.5, 6
"""Distance of the points in log c, over the sd that the curvature suggests, at most, and how many
there are on either side: the true sd is larger, and the trapezoidal rule is exact to a thousandth
up to this distance. Beyond the second, the scale is hardly determined at all."""
_NEGLIGIBLE = 5.0
"""Drop of the log density at which the rest is left out: 1% of a normal variance."""
_LEAST_STIFFNESS = 0.25
"""Below, scores may as well be of the opposite sign: the curvature alone allows for that."""
_LEAST_OBSERVED = 0.5
"""Share of the expected curvature that the observed one counts as at least. Answers that the model
finds surprising curve the other way; without a bound some scales would be taken as likely because
an item is flat there."""


@dataclass(frozen=True, eq=False)
class FitCovariance:
    """The covariance of the scores of a fit, and variances of the annotators' parameters."""

    covariance: Covariance
    reliability_variances: FloatArray | None = None
    """None where annotators are taken to be alike."""
    logits: tuple[FloatArray, FloatArray] | None = None
    """Means and variances of the reliabilities' logits, where they are probabilities."""
    scale: Scale | None = None
    """What the scale of the scores adds, where the judgments determine it."""
    by_prior: FloatArray | None = None
    """The part of the covariance that priors make; None where the scores' own makes all of it."""


@dataclass(eq=False)
class Solver:
    """Multiplies a vector of the first unknowns by their covariance."""

    product: Callable[[FloatArray], FloatArray]
    preconditioner: FloatArray | Callable[[FloatArray], FloatArray]
    size: int

    def __call__(self, vector: FloatArray) -> FloatArray:
        """Solve for all unknowns; return the first ones."""
        whole = np.zeros(self.size)
        whole[: len(vector)] = vector
        return conjugate_gradients(self.product, whole, self.preconditioner, _CLOSE)[: len(vector)]


def inverse_diagonal(
    product: Callable[[FloatArray], FloatArray],
    diagonal: FloatArray,
    solve: Callable[[FloatArray], FloatArray],
    seed: int,
    probes: int = _PROBES,
) -> FloatArray:
    """Return the diagonal of the inverse of a positive definite matrix, from random signs.

    Parameters
    ----------
    product, diagonal, solve
        Multiplies by the matrix, its diagonal, and what multiplies by the inverse.
    seed, probes
        Of the random signs, and how many vectors of them.

    Examples
    --------
    >>> matrix = np.array([[2.0, 0.1], [0.1, 1.0]])
    >>> inverse = np.linalg.inv(matrix)
    >>> inverse_diagonal(matrix.__matmul__, np.diag(matrix), inverse.__matmul__, 0).round(2)
    array([0.5 , 1.01])
    """
    random, beyond = np.random.default_rng(seed), np.zeros(len(diagonal))
    for _ in range(probes):
        signs = 1.0 - 2.0 * random.integers(0, 2, len(diagonal))
        near = signs / diagonal
        beyond += signs * (solve(signs) - 2.0 * near + product(near) / diagonal)
    return np.asarray(np.maximum(1.0 + diagonal * beyond / probes, 1.0) / diagonal)


# Annotators integrated out ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior covariance of a fit whose annotators were integrated out, or are alike."""

    fit: Fit
    seed: int = 0
    """Of random signs, where unknowns are many."""

    __repr__ = brief

    @property
    def _scores(self) -> slice:
        return self.fit.problem.model.rows.blocks[SCORES].where

    @cached_property
    def unknowns(self) -> FloatArray:
        """Covariance of all unknowns: a matrix, or its diagonal where there are many."""
        curvature = self.fit.curvature
        if self.fit.problem.model.size <= MOST_DENSE:
            return curvature.inverse()
        diagonal = self._exact_diagonal
        return inverse_diagonal(curvature.product, diagonal, self._solver, self.seed)

    @cached_property
    def _exact_diagonal(self) -> FloatArray:
        curvature = self.fit.curvature
        whole = curvature.diagonals[0] - curvature.tape.missing_diagonal() + curvature.precision
        whole += np.square(curvature.constraint) + np.square(self.fit.problem.model.pin)
        return np.maximum(whole, curvature.precision)

    @cached_property
    def _solver(self) -> Solver:
        curvature = self.fit.curvature
        return Solver(curvature.product, curvature.preconditioner(), len(curvature.precision))

    @cached_property
    def scores(self) -> Covariance:
        """Covariance of the scores about the mean of their component."""
        unknowns, model = self.unknowns, self.fit.problem.model
        if unknowns.ndim == 1:
            return SolvedCovariance(unknowns[self._scores], self._solver)
        matrix = centred(unknowns[self._scores, self._scores], model.component)
        if SCORES not in model.estimated:
            return DenseCovariance(matrix)
        # Their sd is uncertain, too, and they move with it: the information of log σ is
        # 2 tr (1 − C/σ²)², and that of its prior.
        shrunk = matrix / self.fit.state.sds[SCORES] ** 2
        free = len(matrix) - int(model.component.max()) - 1
        free += float(np.square(shrunk).sum()) - 2.0 * float(np.trace(shrunk))
        push = 2.0 * shrunk @ self.fit.scores
        return DenseCovariance(matrix + np.outer(push, push) / _information_of_log_sd(free))

    @cached_property
    def by_prior(self) -> FloatArray | None:
        """V Λ V of the scores, with the precisions Λ of all priors; None of many unknowns."""
        if self.unknowns.ndim == 1:
            return None
        own = self.unknowns[self._scores]
        by_prior = (own * self.fit.curvature.precision) @ own.T
        return centred(by_prior, self.fit.problem.model.component)

    def variances_of(self, name: str) -> FloatArray:
        """Return the variances of a parameter of the annotators."""
        return self._variances(self.fit.posterior.of(name))

    def _variances(self, values: FloatArray) -> FloatArray:
        """Return the variances of a quantity of the annotators, which has values at their nodes."""
        posterior, curvature = self.fit.posterior, self.fit.curvature
        deviation, with_constraint = posterior.deviation(values), np.zeros(len(values))
        if self.fit.problem.model.constrained:
            strengths = posterior.deviation(posterior.strengths)
            with_constraint = self.fit.problem.shares * posterior.mean(deviation * strengths)
        return _WIDER**2 * curvature.variances_of(values, with_constraint, self.unknowns)

    def result(self) -> FitCovariance:
        """Return what a consensus asks for."""
        names = self.fit.posterior.names
        if HONESTY in names:
            return self._mixture()
        own = self.variances_of(RELIABILITY) if RELIABILITY in names else None
        beside = len(self.fit.problem.model.rows.blocks) > 1 or self.fit.problem.model.means
        return FitCovariance(self.scores, own, by_prior=self.by_prior if beside else None)

    def _mixture(self) -> FitCovariance:
        """Return that of a crowd mixture, whose scale the judgments determine."""
        logits = self.fit.posterior.of(HONESTY)
        own = np.stack([self._variances(expit(logits)), self._variances(logits)])
        scale = _scale_uncertainty(self.fit, self.scores.variances)
        if scale is not None:
            own += _WIDER**2 * scale[1]
        means = self.fit.posterior.mean(logits)
        return FitCovariance(self.scores, own[0], (means, own[1]), scale and scale[0])


def _information_of_log_sd(free: float) -> float:
    return 2.0 * max(free, 0.0) + LOG_SD**-2


# The scale of a crowd mixture ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Scaled:
    """A fit at a multiple c of its scores, the sd of the scores carried along."""

    log_density: float
    """Of log c, all other directions of the scores by Laplace's method."""
    curvature: FloatArray
    """Diagonal of the information."""
    annotators: FloatArray
    """Means of honesties and of their logits, and their variances."""


def _scale_uncertainty(fit: Fit, variances: FloatArray) -> tuple[Scale, FloatArray] | None:
    r"""Return what the scale of the scores adds to their variances, and to the annotators'.

    In a crowd mixture, scores that are farther apart and annotators who are less honest predict
    nearly the same answers. Along c·ŝ the posterior is therefore wide and skewed, and the curvature
    at ŝ says too little: half of the standard deviation with five annotators. Here c is integrated
    numerically, with the annotators integrated out and the sd of the scores carried along,

        log p(log c) = log L(cŝ) − ½ Σ log c²H_ii(c) − ½ (log cσ)² + constant.

    Orders do not depend on c: only what is said of the scores themselves, and of the annotators,
    does. None where the curvature hardly determines the scale.
    """
    stiffness = _stiffness(fit)
    if not _LEAST_STIFFNESS < stiffness < np.inf:
        return None
    step = min(_SCALE_STEP * stiffness**-0.5, _FARTHEST_STEP)
    points = {0: _scaled(fit, 0.0)}
    for side in (1, -1):
        for k in range(1, _MOST_STEPS + 1):
            points[side * k] = _scaled(fit, side * k * step)
            most = max(point.log_density for point in points.values())
            if points[side * k].log_density < most - _NEGLIGIBLE:
                break
    order = sorted(points)
    middle, logs = order.index(0), np.array([points[k].log_density for k in order])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    variance = float(weights @ np.square(np.expm1(step * np.array(order)))) - 1.0 / stiffness
    variance = max(variance, 0.0)
    # What else is uncertain is more so at larger scales, where answers say less.
    wider = weights @ (points[0].curvature / np.array([points[k].curvature for k in order]))
    rest = np.maximum(variances - np.square(fit.scores) / stiffness, 0.0)
    added = np.maximum(wider - 1.0, 0.0) * rest + variance * np.square(fit.scores)
    # Of annotators, what they vary by beyond what the curvature carries over.
    means, own = np.moveaxis(np.array([points[k].annotators for k in order]), 1, 0)
    slope = (means[middle + 1] - means[middle - 1]) / (2.0 * step)
    moved = np.tensordot(weights, np.square(means - means[middle]), 1)
    moved += np.tensordot(weights, own, 1) - own[middle] - np.square(slope) / stiffness
    return Scale(variance, added), np.maximum(moved, 0.0)


def _stiffness(fit: Fit) -> float:
    """Return the curvature of the log posterior of c·ŝ in c, the sd of the scores uncertain."""
    scores, model = fit.scores, fit.problem.model
    stiffness = dot(scores, fit.curvature.product(scores))
    if SCORES not in model.estimated or model.size > MOST_DENSE:
        return stiffness
    precision = fit.state.sds[SCORES] ** -2
    shrunk = precision * centred(fit.curvature.inverse(), model.component)
    free = len(shrunk) - int(model.component.max()) - 1
    free += float(np.square(shrunk).sum()) - 2.0 * float(np.trace(shrunk))
    # Sherman and Morrison's formula: what the sd adds to the covariance is an outer product.
    along = 2.0 * precision * dot(scores, scores)
    beyond = 4.0 * precision * dot(shrunk @ scores, scores)
    return stiffness - along**2 / (_information_of_log_sd(free) + beyond)


def _scaled(fit: Fit, log_factor: float) -> _Scaled:
    """Integrate the annotators out at a multiple of the scores."""
    problem, model = fit.problem, fit.problem.model
    scores, sd, n = exp(log_factor) * fit.scores, fit.state.sds[SCORES], len(fit.scores)
    estimated, free = SCORES in model.estimated, n - int(model.component.max()) - 1
    sd *= exp(log_factor) if estimated else 1.0
    # Rows are not averaged: what they would be averaged over is mostly the scale.
    state = replace(fit.state, unknowns=scores, sds={SCORES: sd}, covariance=np.zeros(n))
    here, penalty = problem.at(state), 0.0
    if model.penalty is not None:
        penalty = model.penalty(scores)[0]
    logits = here.posterior.of(HONESTY)
    assert isinstance(model.family, Mixture) and model.beta is not None  # noqa: S101, PT018
    (a, b), family = model.beta, replace(model.family, logit=False)
    prior, annotators = Beta(a - 1.0, b - 1.0, len(logits)), annotators_of(model.rows, family)
    tape, _ = annotators.expected(scores, here.posterior.mean(expit(logits)), prior)
    expected = tape.diagonals()[0] - tape.missing_diagonal()
    least = _LEAST_OBSERVED * expected + here.precision
    curvature = np.maximum(here.diagonal(), least)
    value = here.posterior.log_evidence - penalty
    value -= 0.5 * (free - 1) / n * float(np.log(curvature).sum())
    if estimated:
        value -= (free - 1) * log_factor + 0.5 * (log(sd / model.default_sd) / LOG_SD) ** 2
    else:
        value += log_factor - 0.5 * dot(scores, scores) / sd**2
    both = expit(logits), logits
    means = [here.posterior.mean(each) for each in both]
    variances = [here.posterior.variance(each) for each in both]
    return _Scaled(value, curvature, np.array([means, variances]))


# A joint mode -------------------------------------------------------------------------------------


@dataclass(eq=False)
class ModeInformation:
    """The information of the scores at a joint mode, conventions fixed.

    Of annotators alike it is the observed one, else the expected one (`Annotators.expected`).
    """

    tape: Tape
    precision: FloatArray
    """Of the scores' prior."""
    own: FloatArray | None = None
    """Variance of each annotator's parameter, the scores known; None where they are alike."""
    weights: FloatArray | None = None
    """w: Σ w θ is fixed, as the scale of the scores goes by it; None where nothing is."""

    @cached_property
    def constraints(self) -> list[FloatArray]:
        """Vectors c: cc' is added to the information."""
        n, stiffness = len(self.precision), float(self._diagonal.mean())
        # Scores that are all moved alike have no information: any fixes their location.
        constraints = [np.full(n, sqrt(max(stiffness, 1e-300) / n))]
        if self.weights is not None:
            constraints.append(self._along / sqrt(self._variance))
        return constraints

    @cached_property
    def _diagonal(self) -> FloatArray:
        complete, missing = self.tape.diagonals()[0], self.tape.missing_diagonal()
        return np.asarray(complete - missing + self.precision)

    @cached_property
    def _variance(self) -> float:
        """Var(Σ w θ), the scores known."""
        assert self.weights is not None and self.own is not None  # noqa: S101, PT018
        return dot(np.square(self.weights), self.own)

    @cached_property
    def _along(self) -> FloatArray:
        """Σ w Cov(θ, g): how Σ w θ goes along with the scores."""
        assert self.weights is not None and self.own is not None  # noqa: S101, PT018
        return self.tape.pulled((self.weights * self.own)[:, None])

    def product(self, vector: FloatArray) -> FloatArray:
        """Multiply by the information."""
        total = self.tape.product(vector) + self.precision * vector
        for constraint in self.constraints:
            total += constraint * dot(constraint, vector)
        return total

    def diagonal(self) -> FloatArray:
        """Return its diagonal."""
        return np.asarray(self._diagonal + sum(np.square(each) for each in self.constraints))

    def inverse(self) -> FloatArray:
        """Return the covariance of the scores."""
        matrix = self.tape.dense()[0] + np.diag(self.precision)
        for constraint in self.constraints:
            matrix += np.outer(constraint, constraint)
        if not np.isfinite(matrix).all():
            raise ValueError("the information is not finite")
        return definite_inverse(matrix, matrix)

    def variances(self, covariance: FloatArray) -> FloatArray | None:
        """Return the variances of the annotators' parameters; a covariance may be a diagonal."""
        own, along = self.own, np.zeros(len(self.precision))
        if own is None:
            return None
        share, variance = np.zeros(len(own)), 1.0
        if self.weights is not None:
            along, variance = self._along, self._variance
            share = own * self.weights / variance
        carried = covariance @ along if covariance.ndim > 1 else covariance * along
        square, with_scores = self.tape.forms(own[:, None], covariance, carried)
        total = own - variance * np.square(share) + square
        total += share**2 * dot(along, carried) - 2.0 * share * with_scores
        return np.asarray(np.maximum(total, 0.0))

    def result(self, seed: int = 0) -> FitCovariance:
        """Return what a consensus asks for; random signs have a seed."""
        n = len(self.precision)
        if n <= MOST_DENSE:
            matrix = self.inverse()
            return FitCovariance(DenseCovariance(matrix), self.variances(matrix))
        diagonal = self.diagonal()
        solve = Solver(self.product, diagonal, n)
        variances = inverse_diagonal(self.product, diagonal, solve, seed)
        return FitCovariance(SolvedCovariance(variances, solve), self.variances(variances))
