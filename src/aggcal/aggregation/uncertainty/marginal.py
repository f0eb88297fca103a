"""The covariance of scores whose annotators were integrated out, and that of the annotators.

Both are conditional on the unit, which is a convention; the uncertainty of the spread of the
scores, where it was estimated, is part of them.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from aggcal._core.arrays import FloatArray, dot
from aggcal._core.progress import named
from aggcal.aggregation.solve.marginal_fits import MarginalFit
from aggcal.aggregation.solve.marginal_problem import Curvature, MarginalProblem
from aggcal.aggregation.spreads import LOG_SD, centred
from aggcal.aggregation.uncertainty.covariance import (
    ALWAYS_DENSE,
    MOST_DENSE,
    Covariance,
    DenseCovariance,
)
from aggcal.aggregation.uncertainty.laplace import matrix_free, probes_for
from aggcal.aggregation.uncertainty.scale import Scale, scale_uncertainty
from aggcal.models.information import information as information_of
from aggcal.models.objective import Objective

_WIDER = 1.05
"""What standard errors of reliabilities are multiplied by: they take the spread of the
reliabilities and its shape as known, and probabilities as having a Beta distribution. Without it a
nominal 90% covers 84 to 89%."""
_LEAST_LEFT = 0.2
"""Smallest part of a parameter's precision that unknown scores are taken to leave."""
_PROBES = 8
"""Random vectors that tell how far variances exceed those of the diagonal, a few percent."""


def posterior(
    fit: MarginalFit, problem: MarginalProblem, likelihood: Objective, *, seed: int = 0
) -> tuple[Covariance, FloatArray, tuple[FloatArray, FloatArray] | None, Scale | None]:
    """Return the covariance of the scores and the variances of the annotators' parameters.

    Where those are probabilities, their logits' means and variances come with them, and what the
    scale of the scores adds to their uncertainty.

    Parameters
    ----------
    fit, problem
        What was fitted, and to what.
    likelihood
        The same model with the parameters not integrated out; for many items it tells how far
        variances exceed those of the diagonal.
    seed
        Seed for the random vectors that replace a matrix for many items.
    """
    problem.integral.begin_with(fit.beliefs)
    problem.integrate(fit.state, hopeless=fit.beliefs.reversed == 0.0)
    curvature = problem.curvature(fit.state)
    n = problem.rows.n_items
    covariance: Covariance | None = None
    if n > ALWAYS_DENSE:
        covariance = _matrix_free(fit, problem, curvature, likelihood, seed)
    if covariance is None:
        known, stiffness = _dense(fit, problem, curvature)
        covariance = DenseCovariance(known)
    else:
        stiffness, known = _stiffness(fit, curvature), covariance.variances
    own, logits = _annotators(fit, problem, curvature, known)
    if logits is None:
        return covariance, own, None, None  # the scale is that of a typical annotator
    with named("the scale of the scores"):
        found = scale_uncertainty(fit, problem, likelihood, covariance.variances, stiffness)
    if found is None:
        return covariance, own, logits, None
    scale, wider = found
    own, own_logits = own + wider.reliabilities, logits[1] + wider.logits
    return covariance, _WIDER**2 * own, (logits[0], _WIDER**2 * own_logits), scale


def _dense(
    fit: MarginalFit, problem: MarginalProblem, curvature: Curvature
) -> tuple[FloatArray, float]:
    """Return the covariance of the scores, and how stiff they are along themselves."""
    with named("standard errors of the scores"):
        matrix = centred(curvature.inverse(), problem.component)
    stiffness = _stiffness(fit, curvature)
    if not fit.estimated:
        return matrix, stiffness
    # The spread is uncertain, too, and the scores move with it: the information of log σ is
    # 2 tr (1 − C/σ²)², and that of its prior.
    variance, pieces = fit.population.score_sd**2, int(problem.component.max()) + 1
    shrunk = matrix / variance
    degrees_of_freedom = (
        len(matrix) - pieces - 2.0 * float(np.trace(shrunk)) + float(np.square(shrunk).sum())
    )
    push = 2.0 * shrunk @ fit.scores
    information = 2.0 * max(degrees_of_freedom, 0.0) + LOG_SD**-2
    # Sherman and Morrison's formula; C⁻¹ push = 2 ŝ/σ².
    along = 2.0 * dot(fit.scores, fit.scores) / variance
    stiffness -= along**2 / (information + 2.0 * dot(push, fit.scores) / variance)
    return matrix + np.outer(push, push) / information, stiffness


def _exactly(fit: MarginalFit, problem: MarginalProblem, curvature: Curvature) -> DenseCovariance:
    return DenseCovariance(_dense(fit, problem, curvature)[0])


def _stiffness(fit: MarginalFit, curvature: Curvature) -> float:
    """Return the curvature of c·ŝ in c."""
    return dot(fit.scores, curvature.product(fit.scores))


def _matrix_free(
    fit: MarginalFit,
    problem: MarginalProblem,
    curvature: Curvature,
    likelihood: Objective,
    seed: int,
) -> Covariance | None:
    """Take how far the variances exceed 1/diagonal from the Fisher information, the unit held.

    None where a matrix should be worked out instead.
    """
    information = information_of(likelihood, fit.scores, fit.beliefs.reliability)
    information.constraints.append(curvature.unit)
    information.fix_location()
    n = information.n_items
    own = np.maximum(curvature.exact_diagonal, curvature.precision)
    found = matrix_free(information, seed=seed, probes=probes_for(n, _PROBES))
    if found.tangled:
        return None
    exactly = None
    if n <= MOST_DENSE:
        exactly = partial(_exactly, fit, problem, curvature)
    return found.covariance.scaled(information.diagonal() / own, exactly)


def _forms(
    curvature: Curvature, values: FloatArray, own: FloatArray, variances: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Return the forms of `variances_of`, of a diagonal covariance; None where it is a matrix.

    With A the curvature with the annotators held, and x = b'A⁻¹b of what moves an annotator's
    parameter, whose variance is v with the scores held: as that parameter is free, the curvature
    lacks bb'/v, and b'Cb = x/(1 − x/v). A diagonal does not know of it.
    """
    if variances.ndim > 1:
        return None
    free = np.maximum(curvature.exact_diagonal, curvature.precision)
    carried = curvature.carried(variances)
    square, along = curvature.integral.forms(
        values, variances * np.minimum(free / curvature.held_diagonal, 1.0), carried
    )
    return square / np.maximum(1.0 - square / own, _LEAST_LEFT), along


def _annotators(
    fit: MarginalFit, problem: MarginalProblem, curvature: Curvature, covariance: FloatArray
) -> tuple[FloatArray, tuple[FloatArray, FloatArray] | None]:
    beliefs, weights = fit.beliefs, fit.beliefs.weights
    if problem.has_unit:
        together = beliefs.covariance * problem.shares
        off, own = beliefs.reliability_off, beliefs.reliability_variance
        with named("standard errors of the reliabilities"):
            found = curvature.variances_of(
                weights * off,
                own,
                together,
                covariance,
                _forms(curvature, weights * off, own, covariance),
            )
        return _WIDER**2 * found, None

    def variances(off: FloatArray) -> FloatArray:
        own = np.asarray((weights * off**2).sum(axis=1))
        forms = _forms(curvature, weights * off, own, covariance)
        return curvature.variances_of(weights * off, own, np.zeros(len(own)), covariance, forms)

    logits = beliefs.logit, variances(beliefs.logits - beliefs.logit[:, None])
    return variances(beliefs.reliability_off), logits
