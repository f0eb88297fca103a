r"""How uncertain the scale of all scores is, where the judgments determine it.

In a crowd mixture, scores that are farther apart and annotators who are less honest predict nearly
the same answers. Along c·ŝ the posterior is therefore wide and skewed, and the curvature at ŝ says
too little: half of the standard deviation with five annotators. Here c is integrated numerically.
With the annotators integrated out, the spread of the scores carried along (σ to cσ), and all other
directions of the scores by Laplace's method,

    log p(log c) = log L(cŝ) − ½ Σ log c²H_ii(c) − ½ (log cσ)² + constant.

Orders do not depend on c: only what is said of the scores themselves, and of the annotators, does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, log

import numpy as np

from aggcal._core.arrays import FloatArray, dot
from aggcal._core.text import brief
from aggcal.aggregation.solve.marginal_fits import MarginalFit
from aggcal.aggregation.solve.marginal_problem import MarginalProblem, State
from aggcal.aggregation.spreads import LOG_SD
from aggcal.models.beliefs import Beliefs
from aggcal.models.information import information as information_of
from aggcal.models.marginal import CLOSE
from aggcal.models.objective import Objective

_STEP = 1.5
"""Distance of the points in log c, over the sd that the curvature suggests: the true one is larger,
and the trapezoidal rule is exact to a thousandth up to this distance."""
_FARTHEST_STEP = 0.5
"""Largest distance in log c: beyond, the scale is hardly determined at all."""
_MOST = 6
"""Points on either side at most."""
_NOTHING = 5.0
"""Drop of the log density at which the rest is left out: 1% of a normal variance."""
_LEAST_STIFFNESS = 0.25
"""Below, scores may as well be of the opposite sign: the curvature alone allows for that."""
_LEAST = 0.5
"""Share of the expected curvature that the observed one counts as at least. Answers that the model
finds surprising curve the other way; without a bound some scales would be taken as likely because
an item is flat there."""


@dataclass(frozen=True, eq=False)
class Scale:
    """What the scale of the scores adds to what the curvature says; no order depends on it."""

    variance: float
    """Of a factor of all scores."""
    added: FloatArray
    """To the variance of each score: by that factor, and by what else is uncertain at others."""

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class WiderAnnotators:
    """What the scale of the scores adds to the variances of the annotators."""

    reliabilities: FloatArray
    logits: FloatArray

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class _Place:
    """A point on the way along the scale."""

    log_density: float
    beliefs: Beliefs
    curved: FloatArray
    """Curvature in each score."""

    __repr__ = brief


def scale_uncertainty(
    fit: MarginalFit,
    problem: MarginalProblem,
    likelihood: Objective,
    variances: FloatArray,
    stiffness: float,
) -> tuple[Scale, WiderAnnotators] | None:
    """Return what is uncertain about the scale beyond what the curvature says.

    None where the curvature hardly knows the scale.

    Parameters
    ----------
    fit, problem
        What was fitted, and to what; its integral is left elsewhere.
    likelihood
        The same model with the annotators' parameters not integrated out.
    variances
        Of the scores, by the curvature.
    stiffness
        The curvature of c·ŝ in c.
    """
    if not _LEAST_STIFFNESS < stiffness < np.inf:
        return None
    known = 1.0 / stiffness
    step = min(_STEP * known**0.5, _FARTHEST_STEP)
    places = _Way(fit, problem, likelihood).places(step)
    order = sorted(places)
    logs = np.array([places[k].log_density for k in order])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    beyond = float(weights @ np.square(np.expm1(step * np.array(order)))) - known
    scale = max(beyond, 0.0)
    # What else is uncertain is more so at larger scales, where answers say less.
    wider = weights @ (places[0].curved / np.array([places[k].curved for k in order]))
    rest = np.maximum(variances - known * np.square(fit.scores), 0.0)
    added = np.maximum(wider - 1.0, 0.0) * rest + scale * np.square(fit.scores)

    def annotators(values: list[tuple[FloatArray, FloatArray]]) -> FloatArray:
        """Return what they vary by beyond what the curvature carries over."""
        middle = order.index(0)
        means, own = np.array([mean for mean, _ in values]), np.array([own for _, own in values])
        slope = (means[middle + 1] - means[middle - 1]) / (2.0 * step)
        moved = weights @ np.square(means - means[middle]) - known * np.square(slope)
        return np.asarray(np.maximum(moved + weights @ own - own[middle], 0.0))

    beliefs = [places[k].beliefs for k in order]
    return Scale(scale, added), WiderAnnotators(
        annotators([(one.reliability, one.reliability_variance) for one in beliefs]),
        annotators([(one.logit, one.logit_variance) for one in beliefs]),
    )


@dataclass(frozen=True, eq=False)
class _Way:
    fit: MarginalFit
    problem: MarginalProblem
    likelihood: Objective

    def places(self, step: float) -> dict[int, _Place]:
        """Go from the scores in both directions until there is no density left."""
        self.problem.integral.begin_with(self.fit.beliefs)
        found = {0: self.at(0.0)}
        for side in (1, -1):
            for k in range(1, _MOST + 1):
                found[side * k] = self.at(side * k * step)
                most = max(place.log_density for place in found.values())
                if found[side * k].log_density < most - _NOTHING:
                    break
            self.problem.integral.begin_with(self.fit.beliefs)
        return found

    def at(self, log_factor: float) -> _Place:
        """Return the log density of log c, and what else is known there."""
        fit, problem, factor = self.fit, self.problem, exp(log_factor)
        n, sigma = len(fit.scores), fit.population.score_sd
        free = n - int(problem.component.max()) - 1
        if fit.estimated:
            sigma *= factor
        population = replace(fit.population, score_sd=sigma)
        # Rows are not averaged: what they would be averaged over is mostly the scale.
        state = State(factor * fit.scores, population, 0.0, np.zeros(n))
        problem.integrate(state, close=CLOSE)
        beliefs, curvature = problem.integral.beliefs, problem.curvature(state)
        expected = information_of(self.likelihood, state.scores, beliefs.reliability)
        least = _LEAST * expected.curvature_diagonal() + curvature.precision
        curved = np.maximum(curvature.diagonal(), least)
        value = beliefs.log_evidence - 0.5 * (free - 1) / n * float(np.log(curved).sum())
        if problem.virtual is not None:
            value -= problem.virtual.item_penalty(state.scores)[0]
        if fit.estimated:
            prior = 0.5 * (log(sigma / problem.default_sd) / LOG_SD) ** 2
            return _Place(value - (free - 1) * log_factor - prior, beliefs, curved)
        prior = 0.5 * dot(state.scores, state.scores) / sigma**2
        return _Place(value + log_factor - prior, beliefs, curved)
