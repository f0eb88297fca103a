r"""Standard errors that allow for contexts without fitting their effects: a sandwich.

With H the curvature, Λ that of the prior, and h_c what context c adds to the gradient,

    C = H⁻¹ (Σ_c h_c h_c' n/(n − 1) + Λ) H⁻¹.

The annotators' response to a context is part of h_c (`models.general.clusters`): without it the
errors come out half as large again.
"""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.aggregation.general.problem import Problem, State
from aggcal.models.general.clusters import context_pulls


def context_sandwich(problem: Problem, state: State, contexts: int, used: int) -> FloatArray:
    """Return the covariance of the outer unknowns, answers in one context being related.

    Parameters
    ----------
    problem
        With rows that are of one context each.
    state
        Where it was fitted.
    contexts, used
        How many contexts are numbered, and how many of them rows have.
    """
    sums = problem.integrate(state)
    outcomes = problem.integration.outcomes
    found = context_pulls(sums, state.unknowns, state.grades, outcomes, contexts)
    number = used + found.n_alone
    curvature = problem.curvature(state, sums)
    inverse = curvature.inverse()
    half = inverse @ found.pulls
    meat = half @ half.T + inverse @ found.alone @ inverse
    # What the prior says varies as the prior says.
    prior = (inverse * curvature.precision) @ inverse
    return np.asarray(meat * (number / max(number - 1, 1)) + prior)
