"""The Thurstone family without a prior: maximum likelihood, and where there is no maximum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.aggregation.solve.fit import Fit
from aggcal.data.base import AnyJudgments
from aggcal.data.graph import ComparisonGraph
from aggcal.errors import AggcalWarning, FewJudgmentsWarning, NoMaximumWarning, count, some
from aggcal.models.rows import Rows

VANISHING = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
"""Precisions of priors that get weaker; the last is too weak to matter."""
_FAR_OUT = 15.0
"""Range of the scores beyond which they are taken to run away."""
_ENOUGH_EACH = 30
"""Judgments of a typical annotator from which standard errors without a prior are usable."""
_CONTRADICT = "Use a prior (the default), or collect judgments that contradict these."


def likelihood_maximum(
    fitted: Callable[[float, float, FloatArray | None], Fit],
    start: FloatArray | None,
    *,
    heterogeneous: bool,
) -> Fit:
    """Return the maximum-likelihood estimate, with a mean reliability of 1.

    Parameters
    ----------
    fitted
        Fits under given precisions of scores and reliabilities, from a start.
    start
        Scores to begin with.
    heterogeneous
        Whether annotators have reliabilities.
    """
    if not heterogeneous:
        fit = fitted(0.0, 0.0, start)
        if _within_bounds(fit):
            return fit
    # Without priors the scale is free between s and γ, and there may be no maximum at all: priors
    # too weak to matter hold what the data leave free, approached step by step because the bare
    # likelihood has many optima.
    for precision in VANISHING:
        fit = fitted(precision, precision, start)
        start = fit.scores
    scale = float(fit.reliabilities.mean())
    if heterogeneous and scale > 0.1 * float(np.abs(fit.reliabilities).mean()):
        fit = replace(
            fit,
            scores=fit.scores * scale,
            reliabilities=fit.reliabilities / scale,
            objective=-fit.log_likelihood,
        )
    return fit


def no_prior_warnings(
    judgments: AnyJudgments, rows: Rows, fit: Fit, graph: ComparisonGraph, *, heterogeneous: bool
) -> list[AggcalWarning]:
    """Say for whom there is no maximum, and where standard errors are far too small."""
    if not heterogeneous and _within_bounds(fit):
        return []
    found: list[AggcalWarning] = []
    outside = list(graph.item_ids[graph.strong > 0])
    if outside:
        found.append(_no_score(outside))
    if not heterogeneous:
        return found
    gap = fit.scores[rows.winner] - fit.scores[rows.loser]
    begins = rows.starts[:-1]
    one_sided = np.minimum.reduceat(gap, begins) > 0.0
    one_sided |= np.maximum.reduceat(gap, begins) < 0.0
    if one_sided.any():
        who = list(judgments.annotator_ids[one_sided])
        found.append(_infinite(who))
    typical = float(np.median(judgments.judgments_per_annotator))
    if typical < _ENOUGH_EACH:
        found.append(
            FewJudgmentsWarning(
                f"Half of the annotators gave {typical:g} judgments or fewer, and no prior "
                "limits their reliabilities. Standard errors are then several times too small.",
                "Use a prior (the default).",
                title=f"Half of the annotators gave {typical:g} judgments or fewer",
                why="No prior limits their reliabilities, so standard errors are several times "
                "too small.",
            )
        )
    return found


def _no_score(outside: list[str]) -> NoMaximumWarning:
    """Warn of items whose scores run away."""
    chain = "chain of wins and losses connects them to the other items in both directions"
    return NoMaximumWarning(
        f"The maximum-likelihood estimate does not exist for {some(outside)}: no {chain}.",
        _CONTRADICT,
        title=f"{count(len(outside), 'item has', 'items have')} no maximum-likelihood score",
        why=f"No {chain}: {some(outside)}.",
        items=outside,
    )


def _infinite(who: list[str]) -> NoMaximumWarning:
    """Warn of annotators whose reliabilities run away."""
    does = f"never (or always) {'contradicts' if len(who) == 1 else 'contradict'} the consensus"
    has = count(len(who), "annotator has", "annotators have")
    return NoMaximumWarning(
        f"The maximum-likelihood reliability is infinite for {some(who)}, who {does}.",
        _CONTRADICT,
        title=f"{has} an infinite maximum-likelihood reliability",
        why=f"{some(who)} {does}.",
        annotators=who,
    )


def _within_bounds(fit: Fit) -> bool:
    """Whether a convex fit without a prior came to rest: there is then a maximum, and this is it.

    Where there is none the scores run away until the gradient drowns in rounding, far out.
    """
    bare = fit.problem.score_precision == 0.0
    return bare and fit.convergence.converged and float(np.ptp(fit.scores)) < _FAR_OUT
