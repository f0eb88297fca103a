"""Begin a larger model where a smaller one led, and look for the axis of disagreement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.aggregation.general.fit import GeneralFit
from aggcal.aggregation.general.problem import AXIS_SD, FIRST_SDS, Problem, State

_RANDOM_STARTS = 2
"""Axes to begin with beside the one that the residuals show; real studies needed none."""
_SIZE = 1.5
"""Root mean square of an axis to begin with, in its prior sd: at 0 nothing pulls it away."""


def continued(problem: Problem, before: State) -> State:
    """Return a state of a problem that begins where a smaller one led.

    Both have the same scores, effects and contexts; further unknowns are 0.
    """
    layout = problem.layout
    unknowns = np.zeros(layout.size)
    further = layout.size - len(before.unknowns)
    at = layout.design.size if layout.axis else layout.design.size - further
    unknowns[:at] = before.unknowns[:at]
    unknowns[at + further :] = before.unknowns[at:]
    sds = before.sds
    if len(sds) < len(layout.names):
        sds = np.append(sds, FIRST_SDS[layout.names[-1]])
    return replace(before, unknowns=unknowns, sds=sds, covariance=np.zeros(layout.size))


def fit_axis(
    before: Problem, problem: Problem, fit: GeneralFit, run: Callable[[Problem, State], GeneralFit]
) -> GeneralFit:
    """Find the axis along which annotators differ most: the best of a few starts.

    Parameters
    ----------
    before, fit
        The model without an axis, and its fit.
    problem
        The model with one.
    run
        Fits a problem from a state.
    """
    begin, sd = continued(problem, fit.state), fit.state.block_sds[AXIS_SD]
    n, random = problem.layout.rows.n_items, np.random.default_rng(0)
    starts = [_leading(before, fit.state)] + [
        random.standard_normal(n) for _ in range(_RANDOM_STARTS)
    ]
    found = []
    for start in starts:
        unknowns = begin.unknowns.copy()
        size = float(np.sqrt(np.mean(start**2))) or 1.0
        unknowns[problem.layout.where_axis] = _SIZE * sd * start / size
        found.append(run(problem, replace(begin, unknowns=unknowns)))
    settled = [one for one in found if one.convergence.converged] or found
    return min(settled, key=lambda one: one.objective)


def _leading(problem: Problem, state: State) -> FloatArray:
    """Return the axis along which the annotators' residuals differ most."""
    from scipy.sparse.linalg import svds

    weighed = problem.integrate(state).item_pulls()
    if min(weighed.shape) < 2:  # noqa: PLR2004  # there is no axis among one
        return np.ones(weighed.shape[1])
    return np.asarray(svds(weighed, k=1, random_state=0)[2][0])
