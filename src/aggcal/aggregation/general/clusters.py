r"""Standard errors that allow for contexts without fitting their effects: a sandwich.

With H the curvature, Λ that of the prior, and h_c what context c adds to the gradient,

    C = H⁻¹ (Σ_c h_c h_c' n/(n − 1) + Λ) H⁻¹,   h_c = Σ_u {E_k g_uck + Cov_k(ℓ_uck, g_uk)}.

The second part is the annotators' response: without a context, their parameters would be believed
to be others. Without it the errors come out half as large again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray
from aggcal.aggregation.general.problem import Problem, State
from aggcal.models.general.annotators import POSITION, READINESS, RELIABILITY, STANCE
from aggcal.models.general.sums import Sums


def context_sandwich(problem: Problem, state: State, context: CodeArray) -> FloatArray:
    """Return the covariance of the outer unknowns, answers in one context being related.

    Parameters
    ----------
    problem
        With rows that are of one context each.
    state
        Where it was fitted.
    context
        The context of each row; −1 for one of its own.
    """
    from scipy import sparse

    sums = problem.integrate(state)
    rows, size = problem.layout.rows, problem.layout.size
    alone = context < 0
    code = np.where(alone, context.max() + np.cumsum(alone), context).astype(np.int64)
    used, code = np.unique(code, return_inverse=True)
    number, every = len(used), np.arange(len(rows))
    marks = sparse.csr_array((np.ones(len(rows)), (every, code)), shape=(len(rows), number))
    pulls = np.zeros((size, number))
    by_row = rows.per_row(sums.weights).T
    for channel, (_, back, where) in problem.layout.maps.items():
        expected = (by_row * sums.pulls[channel]).sum(axis=0)
        pulls[where] = (back @ sparse.diags_array(expected) @ marks).toarray()
    pulls += _response(problem, state, sums, code, number)
    curvature = problem.curvature(state, sums)
    inverse = curvature.inverse()
    half = inverse @ pulls
    # What the prior says varies as the prior says.
    prior = (inverse * curvature.precision) @ inverse
    return np.asarray(half @ half.T * (number / max(number - 1, 1)) + prior)


def _response(
    problem: Problem, state: State, sums: Sums, code: np.ndarray, number: int
) -> FloatArray:
    """Return Σ_u Cov_k(ℓ_uck, g_uk) of each context, unknowns by contexts."""
    from scipy import sparse

    rows, weights = problem.layout.rows, sums.weights
    losses = _losses(problem, state)
    # Log-likelihoods of each annotator in each context, node by node.
    shape = (rows.n_annotators, number)
    parts: list[Any] = [
        sparse.coo_array((-loss, (rows.owner, code)), shape=shape).tocsr() for loss in losses
    ]
    mean: Any = sum(part.multiply(weights[:, k, None]) for k, part in enumerate(parts))
    total = np.zeros((problem.layout.size, number))
    eye = np.eye(weights.shape[1])
    for k, part in enumerate(parts):
        if not weights[:, k].any():
            continue
        # p_k (ℓ_uck − ℓ̄_uc), and what node k pulls the unknowns by.
        off = (part - mean).multiply(weights[:, k, None]).tocsr()
        total += (sums.borders(np.broadcast_to(eye[k], weights.shape)).T @ off).toarray()
    return total


def _losses(problem: Problem, state: State) -> list[FloatArray]:
    """Return the loss of each row at each node."""
    layout, known, x = problem.layout, problem.known, state.unknowns
    rows = layout.rows
    gaps = layout.design.gaps(x[: layout.design.size])
    axis, offset = layout.axis_gaps(x), layout.readiness(x)
    found = []
    for k in range(known.weights.shape[1]):
        theta = dict(zip(known.names, known.nodes[:, k].T, strict=True))
        eta = gaps if RELIABILITY not in theta else rows.per_row(theta[RELIABILITY]) * gaps
        if POSITION in theta:
            eta = eta + rows.per_row(theta[POSITION])
        if STANCE in theta and axis is not None:
            eta = eta + rows.per_row(theta[STANCE]) * axis
        nu = np.full(len(gaps), -np.inf)
        if READINESS in theta:
            nu = rows.per_row(theta[READINESS]) + (0.0 if offset is None else offset)
        found.append(problem.integration.outcomes(eta, nu, rows.answers, state.grades).loss)
    return found
