r"""How sure a fit is: the covariance of its unknowns, and variances of the annotators' parameters.

It is the inverse of the information with the priors' precision: of what was integrated out the
observed information, of a joint mode the expected one (Fisher's). With priors that is the Laplace
approximation of the posterior. What is a convention is fixed: the mean of the scores and, where
annotators have reliabilities, the typical one (both constraints; the published Lemma 3.1 imposes
the first only, and has no inverse without priors).

Of many unknowns only the diagonal is estimated, as Hutchinson does with traces: of Rademacher signs
z, E z∘(H⁻¹ z) is the diagonal of the inverse of the information H. With the diagonal D of H,
2 D⁻¹ − D⁻¹ H D⁻¹ is the control variate: H⁻¹ is near it, and its diagonal is D⁻¹ exactly, so that
only the difference is left to chance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, log
from typing import Any

import numpy as np
from scipy.special import expit

from aggcal._core.arrays import FloatArray, IntArray, dot
from aggcal._core.text import brief
from aggcal.aggregation.annotators import Beta, Prior
from aggcal.aggregation.covariance import (
    MOST_DENSE,
    Covariance,
    DenseCovariance,
    SolvedCovariance,
)
from aggcal.aggregation.empirical import Curvature, Fit, Model, Problem, State
from aggcal.aggregation.families import HONESTY, Mixture
from aggcal.aggregation.newton import Convergence, conjugate_gradients
from aggcal.aggregation.rows import SCORES
from aggcal.aggregation.shards import annotators_of
from aggcal.aggregation.spreads import LOG_SD, centred
from aggcal.aggregation.uncertainty import Scale

_SIGNS = np.array([-1.0, 1.0])
_PROBES, _CLOSE = 12, 1e-4
"""Vectors of Rademacher signs, and the relative residual to which systems are solved."""
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
    """Multiplies vectors by the covariance of many unknowns, the mean of each component fixed."""

    curvature: Curvature
    component: IntArray
    stiffness: FloatArray
    """With which that mean is held, over the size of the component; 0 for other unknowns."""

    def product(self, vector: FloatArray) -> FloatArray:
        """Multiply by the information."""
        total, scores = self.curvature.product(vector), vector[: len(self.component)]
        means = np.bincount(self.component, scores)[self.component]
        total[: len(scores)] += self.stiffness[: len(scores)] * means
        return total

    @cached_property
    def _preconditioner(self) -> Any:
        return self.curvature.preconditioner()

    def __call__(self, vector: FloatArray) -> FloatArray:
        """Solve for all unknowns, where the first ones have targets; return these."""
        whole, part = np.zeros(len(self.stiffness)), slice(0, len(vector))
        whole[part] = vector
        return conjugate_gradients(self.product, whole, self._preconditioner, _CLOSE)[part]


def inverse_diagonal(
    product: Callable[[FloatArray], FloatArray],
    diagonal: FloatArray,
    solve: Callable[[FloatArray], FloatArray],
    seed: int,
) -> FloatArray:
    """Return the diagonal of the inverse of a positive definite matrix, from Rademacher signs.

    Parameters
    ----------
    product, diagonal, solve
        Multiplies by the matrix, its diagonal, and what multiplies by the inverse.
    seed
        Of the signs.

    Examples
    --------
    >>> matrix = np.array([[2.0, 0.1], [0.1, 1.0]])
    >>> inverse = np.linalg.inv(matrix)
    >>> inverse_diagonal(matrix.__matmul__, np.diag(matrix), inverse.__matmul__, 0).round(1)
    array([0.5, 1. ])
    """
    random, beyond = np.random.default_rng(seed), np.empty((_PROBES, len(diagonal)))
    for k in range(_PROBES):
        signs: FloatArray = random.choice(_SIGNS, len(diagonal))
        near = signs / diagonal
        beyond[k] = diagonal * signs * (solve(signs) - 2.0 * near + product(near) / diagonal)
    # How far each is beyond 1/D differs little: it is shrunk to their mean as chance demands.
    means = beyond.mean(axis=0)
    chance = float(beyond.var(axis=0, ddof=1).mean()) / _PROBES
    kept = max(1.0 - chance / max(float(means.var()), 1e-300), 0.0)
    means = means.mean() + kept * (means - means.mean())
    return np.asarray((1.0 + np.maximum(means, 0.0)) / diagonal)


# Annotators integrated out ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FitPosterior:
    """The posterior covariance of everything that was fitted."""

    fit: Fit
    seed: int = 0
    """Of the Rademacher signs, where unknowns are many."""

    __repr__ = brief

    @property
    def _scores(self) -> slice:
        return self.fit.problem.model.rows.blocks[SCORES].where

    @cached_property
    def unknowns(self) -> FloatArray:
        """Covariance of all unknowns: a matrix, or its diagonal where there are many."""
        if self.fit.problem.model.size <= MOST_DENSE:
            return self.fit.curvature.inverse()
        product, diagonal = self._solver.product, self._diagonal + self._location
        return inverse_diagonal(product, diagonal, self._solver, self.seed)

    @cached_property
    def _diagonal(self) -> FloatArray:
        """Of the information."""
        curvature = self.fit.curvature
        whole = curvature.diagonals[0] - curvature.tape.missing_diagonal() + curvature.precision
        whole += np.square(curvature.constraint) + np.square(self.fit.problem.model.pin)
        return np.maximum(whole, curvature.precision)

    @cached_property
    def _location(self) -> FloatArray:
        """What fixes the mean of each component, to which all its scores would owe a part."""
        component, stiffness = self.fit.problem.model.component, np.zeros(len(self._diagonal))
        own = self._diagonal[self._scores]
        stiffness[self._scores] = float(own.mean()) / np.bincount(component)[component]
        return stiffness

    @cached_property
    def _solver(self) -> Solver:
        curvature, component = self.fit.curvature, self.fit.problem.model.component
        return Solver(curvature, component, self._location)

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
        free = float(np.square(shrunk).sum()) - 2.0 * float(np.trace(shrunk))
        free += len(matrix) - int(model.component.max()) - 1
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
        variances = self.fit.curvature.variances_of(values, self.unknowns)
        return variances if isinstance(self.fit.problem, ModeProblem) else _WIDER**2 * variances

    def result(self) -> FitCovariance:
        """Return what a consensus asks for."""
        names, model = self.fit.posterior.names, self.fit.problem.model
        if model.beta is not None:
            return self._mixture()
        own = self.variances_of(names[0]) if names else None
        beside = len(model.rows.blocks) > 1 or model.means
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
    free = float(np.square(shrunk).sum()) - 2.0 * float(np.trace(shrunk))
    free += len(shrunk) - int(model.component.max()) - 1
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
    observed = here.diagonal()  # before the tape of another family is made
    if model.penalty is not None:
        penalty = model.penalty(scores)[0]
    logits = here.posterior.of(HONESTY)
    assert isinstance(model.family, Mixture) and model.beta is not None  # noqa: S101, PT018
    (a, b), family = model.beta, replace(model.family, logit=False)
    prior, annotators = Beta(a - 1.0, b - 1.0, len(logits)), annotators_of(model.rows, family)
    tape, _ = annotators.expected(scores, here.posterior.mean(expit(logits)), prior)
    expected = tape.diagonals()[0] - tape.missing_diagonal()
    least = _LEAST_OBSERVED * expected + here.precision
    curvature = np.maximum(observed, least)
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


class ModeProblem(Problem):
    """Rows at a joint mode, with the expected information of scores and annotators' parameters.

    Parameters
    ----------
    model
        Wins of their left items, and their likelihood.
    theta, prior
        Of the annotators: their parameters at the mode, and the prior of these, if any.
    equally
        Whether Σ θ is fixed, and not that weighted by how much each annotator has judged.
    """

    def __init__(
        self, model: Model, theta: FloatArray, prior: Prior | None, *, equally: bool = False
    ) -> None:
        super().__init__(model)
        self.theta, self.of_theta = theta, prior
        self.shares = np.ones(len(theta)) if equally else np.sign(theta) * self.shares

    def at(self, state: State, **options: Any) -> Curvature:  # noqa: ARG002
        """Return the expected information."""
        return self._curvature(
            state, *self.annotators.expected(state.unknowns, self.theta, self.of_theta)
        )

    def fit(self, scores: FloatArray, convergence: Convergence) -> Fit:
        """Return the posterior at the mode; the prior of the scores is the model's penalty."""
        state = State(scores, {SCORES: np.inf}, 0.0, np.zeros(len(scores)))
        here = self.at(state)
        return Fit(self, state, here.posterior, here, here.tape.value, convergence)
