"""How sure the general model is: of the scores, of the annotators, of every other unknown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.text import brief
from aggcal.aggregation.general.fit import MOST_DENSE, GeneralFit
from aggcal.aggregation.general.problem import Curvature, Problem
from aggcal.aggregation.solve.prior_sd import LOG_SD, centred
from aggcal.models.general.design import SCORES

_WIDER = 1.05
"""What standard errors of the annotators' parameters are multiplied by: they take the spreads as
known (see `aggregation.uncertainty.marginal`)."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """Variances of what was fitted."""

    covariance: FloatArray
    """Of the outer unknowns: a matrix, or its diagonal where there are many."""
    scores: FloatArray
    """Covariance of the scores about the mean of their component; a matrix or its diagonal."""
    annotators: dict[str, FloatArray]
    """Variances of each annotator's parameters, by name."""

    __repr__ = brief


def posterior(fit: GeneralFit, problem: Problem) -> Posterior:
    """Return the covariance of the unknowns and the variances of the annotators' parameters.

    Parameters
    ----------
    fit, problem
        What was fitted, and to what.
    """
    sums = problem.integrate(fit.state, hopeless=fit.known.reversed == 0.0)
    curvature = problem.curvature(fit.state, sums)
    dense = problem.layout.size <= MOST_DENSE
    covariance = curvature.inverse() if dense else 1.0 / curvature.diagonal()
    block = problem.layout.design.blocks[SCORES].where
    scores = covariance[block, block] if dense else covariance[block]
    if dense:
        scores = centred(scores, problem.component)
        if SCORES in fit.free:
            scores = _with_unsure_spread(scores, fit, problem)
    return Posterior(covariance, scores, _annotators(problem, curvature, covariance))


def _with_unsure_spread(matrix: FloatArray, fit: GeneralFit, problem: Problem) -> FloatArray:
    """Add what the uncertain spread of the scores adds (see `uncertainty.marginal`)."""
    shrunk, pieces = matrix / fit.state.block_sds[SCORES] ** 2, int(problem.component.max()) + 1
    room = len(matrix) - pieces - 2.0 * float(np.trace(shrunk)) + float(np.square(shrunk).sum())
    push = 2.0 * shrunk @ fit.state.unknowns[: len(matrix)]
    return np.asarray(matrix + np.outer(push, push) / (2.0 * max(room, 0.0) + LOG_SD**-2))


def _annotators(
    problem: Problem, curvature: Curvature, covariance: FloatArray
) -> dict[str, FloatArray]:
    known, found = problem.known, {}
    strength_off = known.off(known.strengths)
    for name in known.names:
        off = known.off(known.of(name))
        own = known.mean(off**2)
        with_unit = np.zeros(len(own))
        if problem.has_unit:
            with_unit = problem.shares * known.mean(off * strength_off)
        found[name] = _WIDER**2 * curvature.variances_of(
            known.weights * off, own, with_unit, covariance
        )
    return found
