"""Fit the Thurstone family: the right start, the optimum, and what it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aggcal.arrays import FloatArray
from aggcal.models.compiled import thurstone
from aggcal.models.links import Link
from aggcal.models.rows import Rows
from aggcal.models.thurstone import Thurstone
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
    problem: Thurstone


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
    """Find the optimum of the penalised likelihood.

    The problem is convex for γ ≡ 1 only. With reliabilities the start is therefore the rough
    optimum of the homogeneous model, from which the best optimum was reached in every trial;
    ``start`` overrides it.
    """
    if start is None:
        start = np.zeros(rows.n_items)
        if reliability_precision is not None:
            plain = thurstone(rows.pooled(), link, score_precision, None)
            start, _ = minimise(plain, start, tolerance=_ROUGH)
    if reliability_precision is None:
        problem = thurstone(rows.pooled(), link, score_precision, None)
    else:
        problem = thurstone(rows, link, score_precision, reliability_precision)
    scores, convergence = minimise(problem, start, tolerance=tolerance, on_iteration=on_iteration)
    if score_precision == 0.0:
        scores = scores - scores.mean()
    reliabilities = (
        np.ones(rows.n_annotators) if reliability_precision is None else problem.reliabilities
    )
    return Fit(
        scores,
        reliabilities,
        convergence.objectives[-1],
        problem.log_likelihood(scores),
        convergence,
        problem,
    )
