"""Means and spreads of the annotators' parameters, the scores held: a start, or a comparison."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np

from aggcal.aggregation.general.problem import MEAN_PRIORS, Problem, State
from aggcal.models.general.annotators import RELIABILITY
from aggcal.models.general.sums import Sums

_NEAR_UNIT = 0.02
"""How far the typical reliability may be from 1 before the scores are brought into the unit."""
_CLOSE = 1e-4
"""How near the annotators' modes are looked for: nodes are only placed by them."""


def annotators_refined(
    problem: Problem, state: State, held: str | None = None
) -> tuple[State, float]:
    """Fit means and spreads of the annotators' parameters; return the evidence before that.

    Parameters
    ----------
    problem, state
        The annotators, and where they are.
    held
        A parameter whose mean and spread are known.
    """
    sums = problem.integrate(state, close=_CLOSE)
    off = problem.off()
    state, value = _refined(problem, state, sums, held)
    if abs(off) > _NEAR_UNIT:
        state = problem.rescaled(state, float(np.clip(1.0 + off, 0.5, 2.0)))
    return state, value


def told(problem: Problem, state: State) -> dict[str, tuple[float, float]]:
    """Return the mean and the spread of each parameter that does not depend on the unit."""
    layout, found = problem.layout, {}
    for j, name in enumerate(layout.means):
        sd = float(state.sds[layout.names.index(name)])
        found[name] = (float(state.unknowns[layout.at_means + j]), sd)
    return found


def _refined(problem: Problem, state: State, sums: Sums, held: str | None) -> tuple[State, float]:
    layout, known = problem.layout, problem.known
    m, unknowns, sds = layout.rows.n_annotators, state.unknowns.copy(), state.sds.copy()
    value, pulls, weights = known.log_evidence, sums.mean_pulls, sums.weights
    mean = np.einsum("uk,ukj->uj", weights, pulls)
    for j, name in enumerate(layout.means):
        if name == held:
            continue
        centre, wide = MEAN_PRIORS[name]
        k, at = layout.names.index(name), layout.at_means + j
        variance = (weights * pulls[:, :, j] ** 2).sum(axis=1) - mean[:, j] ** 2
        bend = float(sums.mean_held[j] - variance.sum()) + wide**-2
        value -= 0.5 * ((unknowns[at] - centre) / wide) ** 2 + 0.5 * log(
            max(bend, wide**-2) * wide**2
        )
        unknowns[at] += (float(mean[:, j].sum()) - (unknowns[at] - centre) / wide**2) / max(
            bend, wide**-2
        )
    for k, name in enumerate(layout.names):
        if name == held:
            continue
        values = known.strengths if name == RELIABILITY else known.nodes[:, :, k]
        centre = (
            1.0 if name == RELIABILITY else unknowns[layout.at_means + layout.means.index(name)]
        )
        square = float(known.mean((values - centre) ** 2).sum())
        sds[k] = max(np.sqrt((square + 2.0 * sds[k] ** 2) / (m + 2.0)), 0.02)
    return replace(state, unknowns=unknowns, sds=sds), value
