"""Fit a model: the right start, the optimum, and what it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from aggcal._core.arrays import FloatArray, dot
from aggcal.aggregation.newton import Convergence, minimise
from aggcal.models.compiled import thurstone
from aggcal.models.links import Link
from aggcal.models.objective import Objective
from aggcal.models.rows import Rows

_ROUGH = 1e-3
"""Relative gradient norm of a start: smaller takes longer, the fit improves on it anyway."""
_SPARE = 0.5
"""Wins and losses that each item is given for a start: without, one may be infinitely far."""
_MANY_AGAINST = 0.05
"""Share of judgments by reversed annotators that makes a second start worth its time."""
_NOTHING_LEARNT = 1e-3  # range of scores that says as much: the fit stayed at its saddle point
_HOLDS_THE_UNSEEN = 1e-3
"""Precision that keeps unseen items near 0 in a start, and others where they are."""
_APART = 1e-2
"""Scores that differ by more are another optimum, by less the same one."""
_ALIKE = 0.5
"""Correlation of two optima's scores above which they are no two orders: the mirrored one is at -1,
and optima that differ in who is reliable, or in the spreads, are near 1."""
_ROUNDING = 1e-12  # objectives that differ by less are equal: the first start then wins
_FEW_ANNOTATORS, _FEW_ROWS = 12, 2000
"""Up to so many, each annotator is tried the other way round: it takes milliseconds."""


@dataclass(frozen=True)
class Fit:
    """Scores and reliabilities at the optimum."""

    scores: FloatArray
    reliabilities: FloatArray
    objective: float
    log_likelihood: float
    convergence: Convergence
    problem: Objective
    rival: float | None = None
    """Objective of the best other optimum, where others were looked for and found."""


def by_wins(rows: Rows, link: Link) -> FloatArray:
    """Return scores by the share of its comparisons that each item won: an iteration is saved.

    As if all others were equal, which they are not: a start, and no more.

    Examples
    --------
    >>> from aggcal.models.links import link
    >>> two = Rows(np.array([0, 0]), np.array([1, 1]), np.ones(2), np.array([0, 2]), 2)
    >>> by_wins(two, link("logistic")).round(3)
    array([ 1.609, -1.609])
    """
    won, given = rows.won, rows.degrees
    _, pull, curve = link.at_zero
    # The pull of a share near one half, over the curvature there, is a share's logit by this much.
    return np.asarray(0.5 * pull / curve * np.log((won + _SPARE) / (given - won + _SPARE)))


def rough_start(rows: Rows, link: Link, score_precision: float) -> FloatArray:
    """Return the rough optimum of the homogeneous model, which is convex and has one only."""
    plain = thurstone(rows.pooled(), link, score_precision, None)
    begin = plain.to_device(by_wins(rows, link))
    return plain.fetch(minimise(plain, begin, tolerance=_ROUGH, shared_scale=False)[0])


def fit_objective(
    problem: Objective,
    start: FloatArray,
    *,
    tolerance: float,
    on_iteration: Callable[[int, float], None] | None = None,
) -> Fit:
    """Find the optimum of an objective from a start."""
    scores, record = minimise(
        problem,
        problem.to_device(start),
        tolerance=tolerance,
        shared_scale=problem.heterogeneous,
        on_iteration=on_iteration,
    )
    scores = problem.fetch(scores)
    return Fit(
        scores,
        problem.reliabilities,
        record.objectives[-1],
        problem.penalties(scores) - record.objectives[-1],
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
    start_reliabilities: FloatArray | None = None,
    trusted: bool = False,
    on_iteration: Callable[[int, float], None] | None = None,
) -> Fit:
    """Fit the Thurstone family; ``start`` overrides the rough optimum with γ ≡ 1.

    A start that is not ``trusted`` may lead to a worse optimum: where the fit is doubtful, others
    are looked for.
    """
    if reliability_precision is None:
        problem = thurstone(rows.pooled(), link, score_precision, None)
        begin = by_wins(rows, link) if start is None else start
    else:
        problem = thurstone(rows, link, score_precision, reliability_precision)
        begin = rough_start(rows, link, score_precision) if start is None else start
        if start_reliabilities is not None:
            problem.begin_with(start_reliabilities)
    fit = fit_objective(problem, begin, tolerance=tolerance, on_iteration=on_iteration)
    if reliability_precision is not None:
        turned = [] if trusted else turned_starts(rows, link, score_precision)
        if trusted or not (turned or doubtful(fit.scores, fit.reliabilities, rows)):
            return fit

        def from_(other: FloatArray) -> Fit:
            fresh = thurstone(rows, link, score_precision, reliability_precision)
            return fit_objective(fresh, other, tolerance=tolerance, on_iteration=on_iteration)

        fits = [fit, from_(-fit.scores), from_(first_voice(rows, link, score_precision))]
        fits += map(from_, turned)
        if start is not None:
            fits.append(from_(rough_start(rows, link, score_precision)))
        return _best([*fits, from_(-_best(fits).scores)])
    return replace(
        fit,
        # Without a prior the scores are free up to a constant.
        scores=fit.scores - fit.scores.mean() if score_precision == 0.0 else fit.scores,
        reliabilities=np.ones(rows.n_annotators),
    )


def doubtful(
    scores: FloatArray, reliabilities: FloatArray, rows: Rows, at_random: float = 0.0
) -> bool:
    """Whether another optimum may be better: many reversed annotators, or nothing learnt at all.

    Reversed is who is less reliable than ``at_random``.

    The heterogeneous problem is not convex. From the homogeneous start the best optimum was
    reached unless annotators contradict each other so much that their average says little.
    """
    given = rows.given
    against = float(given[reliabilities < at_random].sum() / given.sum())
    return against > _MANY_AGAINST or float(np.ptp(scores)) < _NOTHING_LEARNT


def turned_starts(rows: Rows, link: Link, score_precision: float) -> list[FloatArray]:
    """Return the rough optima with each annotator turned round, where the study is small.

    In a small study one annotator may decide which of several optima is found, and which is best.
    """
    if rows.n_annotators > _FEW_ANNOTATORS or len(rows) > _FEW_ROWS:
        return []
    precision = max(score_precision, _HOLDS_THE_UNSEEN)
    every = range(rows.n_annotators)
    return [rough_start(rows.turned(u), link, precision) for u in every]


def first_voice(rows: Rows, link: Link, score_precision: float) -> FloatArray:
    """Return the rough optimum for the judgments of the most active annotator alone."""
    alone = rows.alone(int(np.argmax(rows.given)))
    return rough_start(alone, link, max(score_precision, _HOLDS_THE_UNSEEN))


def _best(fits: list[Fit]) -> Fit:
    """Keep the lowest optimum, and remember the best of those with another order."""
    least = min(fit.objective for fit in fits)
    best = next(fit for fit in fits if fit.objective <= least + _ROUNDING * abs(least))
    apart = [f.objective for f in fits if another_order(f.scores, best.scores)]
    return replace(best, rival=min(apart, default=None))


def another_order(scores: FloatArray, best: FloatArray) -> bool:
    """Whether two optima put the items in quite different orders.

    Examples
    --------
    >>> another_order(np.array([1.0, 0.0, -1.0]), np.array([2.0, 0.5, -2.5]))
    False
    >>> another_order(np.array([1.0, 0.0, -1.0]), np.array([-1.0, 0.0, 1.0]))
    True
    """
    if np.max(np.abs(scores - best)) <= _APART:
        return False
    x, y = scores - scores.mean(), best - best.mean()
    return dot(x, y) <= _ALIKE * sqrt(dot(x, x) * dot(y, y))
