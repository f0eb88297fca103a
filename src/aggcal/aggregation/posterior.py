r"""How sure a fit is: the covariance of its unknowns, and variances of the annotators' parameters.

It is the inverse of the information with the priors' precision: of what was integrated out the
observed information, of a joint mode the expected one (Fisher's). With priors that is the Laplace
approximation of the posterior. What is a convention is fixed: the mean of the scores and, where
annotators have reliabilities, the typical one (both constraints; the published Lemma 3.1 imposes
the first only, and has no inverse without priors).

Of many unknowns only the diagonal is estimated, as Hutchinson does with traces: of Rademacher signs
z, E z∘(H⁻¹ z) is the diagonal of the inverse of the information H. With the diagonal D of H, the
control variate is D⁻¹ − D⁻¹ H D⁻¹: its diagonal is 0, and elsewhere it goes with H⁻¹. Its
coefficient is that of a regression over all unknowns and signs. Standard errors of thousands of
items are then within 1% where pairs are drawn at random, and have an error of 3 to 6% at most
(standard deviation) in chains and in blocks of items that are hardly compared with others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, log
from typing import Any

import numpy as np
from scipy.special import expit

from aggcal._core.arrays import FloatArray, dot
from aggcal._core.text import brief
from aggcal.aggregation.annotators import Prior
from aggcal.aggregation.covariance import (
    MOST_DENSE,
    Covariance,
    DenseCovariance,
)
from aggcal.aggregation.empirical import Curvature, Fit, Model, Problem, State
from aggcal.aggregation.families import HONESTY
from aggcal.aggregation.newton import Convergence, conjugate_gradients
from aggcal.aggregation.rows import SCORES
from aggcal.aggregation.spreads import LOG_SD, centred
from aggcal.aggregation.uncertainty import Scale

_SIGNS = np.array([-1.0, 1.0])
_PROBES, _ROUGHLY, _CLOSE = 24, 1e-2, 1e-4
"""Vectors of Rademacher signs, and relative residuals to which systems are solved: of signs, and
of contrasts. Twice as many vectors tell more than twice as exact solutions, which take as long."""
_WIDER = 1.05
"""What standard errors of annotators' parameters are multiplied by where these were integrated out:
they take the sd of the parameters and its shape as known, and probabilities as having a Beta
distribution. Without it a nominal 90% covers 84 to 89%."""
_SCALE_STEP, _FARTHEST_STEP, _STEPS = 1.5, 0.5, 6
"""Distance of the points in log c, over the sd that the curvature suggests, at most, and how many
there are on either side: the true sd is larger, and the trapezoidal rule is exact to a thousandth
up to this distance. Beyond the second, the scale is hardly determined at all."""
_NEGLIGIBLE = 5.0
"""Drop of the log density at which the rest is left out: there, Laplace's method says too much."""
_LEAST_STIFFNESS = 0.25
"""Below, scores may as well be of the opposite sign: the curvature alone allows for that."""


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


class Information:
    """The information of many unknowns, of which only products are taken; its inverse.

    The mean of the scores of each component, to which all of them would owe a part, is held about
    as stiffly as judgments hold a score.
    """

    def __init__(self, curvature: Curvature) -> None:
        self._curvature, self._component = curvature, curvature.model.component
        complete, precision = curvature.diagonals[0], curvature.precision
        diagonal = complete - curvature.tape.missing_diagonal() + precision
        diagonal += np.square(curvature.constraint) + np.square(curvature.model.pin)
        self.diagonal = np.maximum(diagonal, precision)
        own = self.diagonal[: len(self._component)]
        self._stiffness = float(own.mean()) / np.bincount(self._component)[self._component]
        own += self._stiffness

    def product(self, vector: FloatArray) -> FloatArray:
        """Multiply by it."""
        total, scores = self._curvature.product(vector), vector[: len(self._component)]
        means = np.bincount(self._component, scores)[self._component]
        total[: len(scores)] += self._stiffness * means
        return total

    def solve(self, vector: FloatArray, close: float = _CLOSE) -> FloatArray:
        """Multiply by its inverse, where the first unknowns have targets; return these."""
        whole, part = np.zeros(len(self.diagonal)), slice(0, len(vector))
        whole[part] = vector
        return conjugate_gradients(self.product, whole, self.diagonal, close)[part]

    def inverse_diagonal(self, seed: int) -> FloatArray:
        """Return the diagonal of the inverse, from Rademacher signs."""
        random, n = np.random.default_rng(seed), len(self.diagonal)
        total, control, moments = np.zeros(n), np.zeros(n), np.zeros((2, 2))
        for _ in range(_PROBES):
            signs: FloatArray = random.choice(_SIGNS, n)
            both = np.empty((2, n))
            both[0] = self.diagonal * signs * self.solve(signs, _ROUGHLY) - 1.0
            both[1] = 1.0 - signs * self.product(signs / self.diagonal)
            total, control, moments = total + both[0], control + both[1], moments + both @ both.T
        means = np.stack([total, control]) / _PROBES
        moments -= _PROBES * means @ means.T
        by = moments[0, 1] / max(moments[1, 1], 1e-300)
        beyond = means[0] - by * means[1]
        # How far each is beyond 1/D differs little: it is shrunk to their mean as chance demands.
        chance = (moments[0, 0] - by * moments[0, 1]) / (n * _PROBES * (_PROBES - 1))
        kept = max(1.0 - chance / max(float(beyond.var()), 1e-300), 0.0)
        beyond = beyond.mean() + kept * (beyond - beyond.mean())
        return np.asarray((1.0 + np.maximum(beyond, 0.0)) / self.diagonal)


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
        return self._information.inverse_diagonal(self.seed)

    @cached_property
    def _information(self) -> Information:
        return Information(self.fit.curvature)

    @cached_property
    def scores(self) -> Covariance:
        """Covariance of the scores about the mean of their component."""
        unknowns, model = self.unknowns, self.fit.problem.model
        if unknowns.ndim == 1:
            return Covariance(unknowns[self._scores], self._information.solve)
        matrix = centred(unknowns[self._scores, self._scores], model.component)
        if SCORES not in model.estimated:
            return DenseCovariance(matrix)
        # Their sd is uncertain, too, and they move with it: the information of log σ is
        # 2 tr (1 − C/σ²)², and that of its prior.
        shrunk = matrix / self.fit.state.sds[SCORES] ** 2
        free = float(np.square(shrunk).sum()) - 2.0 * float(np.trace(shrunk))
        free += len(matrix) - int(model.component.max()) - 1
        push = 2.0 * shrunk @ self.fit.scores
        return DenseCovariance(matrix + np.outer(push, push) / (2.0 * max(free, 0.0) + LOG_SD**-2))

    @cached_property
    def by_prior(self) -> FloatArray | None:
        """V Λ V of the scores, with the precisions Λ of all priors; None of many unknowns."""
        if self.unknowns.ndim == 1:
            return None
        own = self.unknowns[self._scores]
        by_prior = (own * self.fit.curvature.precision) @ own.T
        return centred(by_prior, self.fit.problem.model.component)

    def variances_of(self, values: FloatArray) -> FloatArray:
        """Return the variances of a quantity of the annotators, which has values at their nodes."""
        variances = self.fit.curvature.variances_of(values, self.unknowns)
        return variances if isinstance(self.fit.problem, ModeProblem) else _WIDER**2 * variances

    def result(self) -> FitCovariance:
        """Return what a consensus asks for."""
        names, model = self.fit.posterior.names, self.fit.problem.model
        if model.beta is not None:
            return self._mixture()
        own = self.variances_of(self.fit.posterior.of(names[0])) if names else None
        return FitCovariance(self.scores, own, by_prior=self.by_prior)

    def _mixture(self) -> FitCovariance:
        """Return that of a crowd mixture, whose scale the judgments determine."""
        logits = self.fit.posterior.of(HONESTY)
        own = np.stack([self.variances_of(expit(logits)), self.variances_of(logits)])
        scale = _scale_uncertainty(self.fit, self.scores)
        if scale is not None:
            own += _WIDER**2 * scale[1]
        means = self.fit.posterior.mean(logits)
        spread = scale and scale[0]
        return FitCovariance(self.scores, own[0], (means, own[1]), spread, self.by_prior)


# The scale of a crowd mixture ---------------------------------------------------------------------


def _scale_uncertainty(fit: Fit, scores: Covariance) -> tuple[Scale, FloatArray] | None:
    r"""Return what the scale of the scores adds to their variances, and to the annotators'.

    In a crowd mixture, scores that are farther apart and annotators who are less honest predict
    nearly the same answers. Along c·ŝ the posterior is therefore wide and skewed, and the curvature
    at ŝ says too little: half of the standard deviation with five annotators. Here c is integrated
    numerically, with the annotators integrated out and the sd of the scores carried along,

        log p(log c) = log L(cŝ) − ½ Σ log c²H_ii(c) − ½ (log cσ)² + constant.

    Orders do not depend on c: only what is said of the scores themselves, and of the annotators,
    does. None where the curvature hardly determines the scale.
    """
    matrix, component, stiffness = scores.dense(), fit.problem.model.component, 0.0
    if matrix is None:
        stiffness = dot(fit.scores, fit.curvature.product(fit.scores))
    else:  # the means of components, which are free, are held
        held = (component[:, None] == component) * float(scores.variances.mean())
        stiffness = dot(fit.scores, np.linalg.solve(matrix.matrix + held, fit.scores))
    if not _LEAST_STIFFNESS < stiffness < np.inf:
        return None
    step = min(_SCALE_STEP * stiffness**-0.5, _FARTHEST_STEP)
    log_scales = step * np.arange(-_STEPS, _STEPS + 1)
    points = [_at_scale(fit, log_scale) for log_scale in log_scales]
    logs, curvatures, means, own = (np.array(each) for each in zip(*points, strict=True))
    weights = np.where(logs > logs.max() - _NEGLIGIBLE, np.exp(logs - logs.max()), 0.0)
    weights /= weights.sum()
    variance = max(float(weights @ np.square(np.expm1(log_scales))) - 1.0 / stiffness, 0.0)
    # What else is uncertain is more so at larger scales, where answers say less.
    wider = weights @ (curvatures[_STEPS] / curvatures)
    rest = np.maximum(scores.variances - np.square(fit.scores) / stiffness, 0.0)
    added = np.maximum(wider - 1.0, 0.0) * rest + variance * np.square(fit.scores)
    # Of annotators, what they vary by beyond what the curvature carries over.
    slope = (means[_STEPS + 1] - means[_STEPS - 1]) / (2.0 * step)
    moved = np.tensordot(weights, np.square(means - means[_STEPS]), 1)
    moved += np.tensordot(weights, own, 1) - own[_STEPS] - np.square(slope) / stiffness
    return Scale(variance, added), np.maximum(moved, 0.0)


def _at_scale(fit: Fit, log_scale: float) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    """Integrate the annotators out at a multiple of the scores, whose sd is carried along.

    Returns the log density of the logarithm of the scale, all other directions of the scores by
    Laplace's method, the diagonal of the information, and means and variances of honesties and of
    their logits.
    """
    problem, model, n = fit.problem, fit.problem.model, len(fit.scores)
    estimated, sd = SCORES in model.estimated, fit.state.sds[SCORES]
    sd *= exp(log_scale) if estimated else 1.0
    # Rows are not averaged: what they would be averaged over is mostly the scale.
    state = replace(
        fit.state,
        unknowns=exp(log_scale) * fit.scores,
        sds={SCORES: sd},
        covariance=np.zeros(n),
    )
    here = problem.at(state)
    curvature, free = here.diagonal(), n - int(model.component.max()) - 1
    value = 0.5 * (n - free + 1) * float(np.log(curvature).mean()) - problem.objective(state, here)
    if estimated:
        value += (n - free + 1) * log_scale - 0.5 * (log(sd / model.default_sd) / LOG_SD) ** 2
    else:
        value += log_scale
    logits = here.posterior.of(HONESTY)
    both = expit(logits), logits
    means, variances = (
        np.array([moment(each) for each in both])
        for moment in (here.posterior.mean, here.posterior.variance)
    )
    return value, curvature, means, variances


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

    def fit(self, scores: FloatArray, sd: float, convergence: Convergence) -> Fit:
        """Return the posterior at the mode, whose scores have a prior of this sd."""
        state = State(scores, {SCORES: sd}, 0.0, np.zeros(len(scores)))
        here = self.at(state)
        return Fit(self, state, here.posterior, here, here.tape.value, convergence)
