"""Choose the prior scales from the data: EM on the Laplace approximation.

At the optimum for given prior sds the posterior is approximated by a normal with the inverse
curvature C as its covariance; EM then sets score_sd² = (s's + tr C_ss)/n, and the same for the
reliabilities about 1. The first prior counts as a few observations of each kind: in a small study
with reversed annotators nothing else keeps the scores from shrinking while the reliabilities grow
without end. The traces are exact for a moderate number of items and estimated from
seeded random probes beyond.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, sqrt

import numpy as np

from aggcal.arrays import FloatArray, dot
from aggcal.models.objective import Objective
from aggcal.models.priors import Prior
from aggcal.solve.fit import Fit

_DENSE_ITEMS = 3000
_PROBES = 24
_ROUNDS = 200
_PSEUDO_OBSERVATIONS = 10
_SMALLEST_MEAN = 0.2
_FURTHEST = 5.0
_CLOSE = 1e-3


def choose_prior(
    refit: Callable[[Prior, FloatArray | None], Fit], first: Prior, *, seed: int = 0
) -> tuple[Prior, Fit]:
    """Alternate fitting and updating the prior until its scales settle.

    Parameters
    ----------
    refit
        Fits the model under a prior from given scores.
    first
        The prior to begin with, and to lean on where the data say little.
    seed
        Of the random probes, where they are used.
    """
    prior, fit = first, refit(first, None)
    for _ in range(_ROUNDS):
        new, scores = _updated(fit, first, seed)
        change = abs(log(new.score_sd / prior.score_sd))
        change = max(change, abs(log(new.reliability_sd / prior.reliability_sd)))
        prior, fit = new, refit(new, scores)
        if change < _CLOSE:
            break
    return prior, fit


def _updated(fit: Fit, first: Prior, seed: int) -> tuple[Prior, FloatArray]:
    """Return the next prior and the scores on its scale.

    Between s and γ the scale is free but for the prior's mean of γ, 1. EM would walk along that
    direction for ever; taking the mean reliability out at once (parameter expansion) does not.
    """
    problem = fit.problem
    score_trace, reliability_trace = _posterior_traces(problem, fit.scores, seed)
    score_sd = _spread(fit.scores, score_trace, first.score_sd)
    if not problem.heterogeneous:
        return Prior(_within(score_sd, first.score_sd), first.reliability_sd), fit.scores
    mean = max(_SMALLEST_MEAN, float(fit.reliabilities.mean()))
    spread = _spread(fit.reliabilities - mean, reliability_trace, first.reliability_sd * mean)
    new = Prior(
        _within(score_sd * mean, first.score_sd), _within(spread / mean, first.reliability_sd)
    )
    return new, fit.scores * mean


def _within(sd: float, first: float) -> float:
    """Keep a scale within what a study can tell from the default."""
    return min(max(sd, first / _FURTHEST), first * _FURTHEST)


def _spread(centred: FloatArray, trace: float, first: float) -> float:
    total = dot(centred, centred) + trace + _PSEUDO_OBSERVATIONS * first**2
    return sqrt(total / (len(centred) + _PSEUDO_OBSERVATIONS))


def _posterior_traces(problem: Objective, scores: FloatArray, seed: int) -> tuple[float, float]:
    problem.evaluate(scores)
    if len(scores) <= _DENSE_ITEMS:
        schur, border, inner = problem.curvature()
        covariance = np.linalg.inv(schur)
        score_trace = float(np.trace(covariance))
        if border is None or inner is None:
            return score_trace, 0.0
        carried = border.multiply(covariance @ border).sum(axis=0)
        return score_trace, float(np.sum(1.0 / inner) + np.sum(np.ravel(carried) / inner**2))
    return _probed_traces(problem, len(scores), seed)


def _probed_traces(problem: Objective, n: int, seed: int) -> tuple[float, float]:
    from scipy.sparse.linalg import LinearOperator, cg

    random = np.random.default_rng(seed)
    operator = LinearOperator((n, n), matvec=problem.product, dtype=np.float64)
    jacobi = LinearOperator((n, n), matvec=lambda v: v / problem.diagonal, dtype=np.float64)

    def quadratic(vector: FloatArray) -> float:
        solution, _ = cg(operator, vector, rtol=1e-4, M=jacobi)
        return float(vector @ solution)

    score_trace = np.mean([quadratic(random.choice([-1.0, 1.0], n)) for _ in range(_PROBES)])
    if not problem.heterogeneous:
        return float(score_trace), 0.0
    m = problem.rows.n_annotators
    carried = [quadratic(problem.carry(random.choice([-1.0, 1.0], m))) for _ in range(_PROBES)]
    return float(score_trace), float(np.sum(1.0 / problem.inner) + np.mean(carried))
