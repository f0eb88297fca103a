"""Fit a model: the right start, the optimum, and what it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from aggcal.arrays import FloatArray
from aggcal.models.compiled import thurstone
from aggcal.models.links import Link
from aggcal.models.objective import Objective
from aggcal.models.rows import Rows
from aggcal.solve.newton import Convergence, minimise

_ROUGH = 1e-3


@dataclass(frozen=True)
class Fit:
    """Scores and reliabilities at the optimum."""

    scores: FloatArray
    reliabilities: FloatArray
    objective: float
    log_likelihood: float
    convergence: Convergence
    problem: Objective


def rough_start(rows: Rows, link: Link, score_precision: float) -> FloatArray:
    """Return the rough optimum of the homogeneous model.

    The problem is convex for γ ≡ 1 only. From here the best optimum of the heterogeneous models
    was reached in every trial.
    """
    plain = thurstone(rows.pooled(), link, score_precision, None)
    return minimise(plain, np.zeros(rows.n_items), tolerance=_ROUGH)[0]


def fit_objective(
    problem: Objective,
    start: FloatArray,
    *,
    tolerance: float,
    on_iteration: Callable[[int, float], None] | None = None,
) -> Fit:
    """Find the optimum of an objective from a start."""
    scores, record = minimise(problem, start, tolerance=tolerance, on_iteration=on_iteration)
    return Fit(
        scores,
        problem.reliabilities,
        record.objectives[-1],
        problem.log_likelihood(scores),
        record,
        problem,
    )


def fit_thurstone(
    rows: Rows,
    link: Link,
    *,
    score_precision: float,
    reliability_precision: float | None,
    tolerance: float,
    start: FloatArray | None = None,
    on_iteration: Callable[[int, float], None] | None = None,
) -> Fit:
    """Fit the Thurstone family; ``start`` overrides the rough optimum with γ ≡ 1."""
    if reliability_precision is None:
        problem = thurstone(rows.pooled(), link, score_precision, None)
        begin = np.zeros(rows.n_items) if start is None else start
    else:
        problem = thurstone(rows, link, score_precision, reliability_precision)
        begin = rough_start(rows, link, score_precision) if start is None else start
    fit = fit_objective(problem, begin, tolerance=tolerance, on_iteration=on_iteration)
    if reliability_precision is not None:
        return fit
    return replace(
        fit,
        # Without a prior the scores are free up to a constant.
        scores=fit.scores - fit.scores.mean() if score_precision == 0.0 else fit.scores,
        reliabilities=np.ones(rows.n_annotators),
    )
