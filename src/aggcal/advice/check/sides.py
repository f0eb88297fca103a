"""Who chooses a side of the screen more often than items explain: habits of the fit.

A habit is the logit of choosing the left of two equal items.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from aggcal._core.arrays import FloatArray, IntArray
from aggcal.advice.check.cells import Cells
from aggcal.advice.check.population import SLOPE
from aggcal.advice.check.replicate import Fit

_RATE = 0.005
"""Chance that a study names anybody wrongly as one-sided."""
ONE_SIDED = 0.65
"""Share of equal items of which the same side is chosen, beyond which that matters."""
_LARGE = float(np.log(ONE_SIDED / (1.0 - ONE_SIDED)))
_OF_ALL = float(np.log(0.55 / 0.45))
"""The same where all have it in common: 55 in 100 moves many answers together."""
_SURE = 3.3
"""Standard errors from which all together are said to prefer a side: 1 time in 1,000."""
_LEAST_APART = 0.1
"""Sd of habits at least: that of few annotators may be estimated as 0."""
_LEAST_KEPT = 0.2
"""Share of the information on the common habit that the scores may leave, at least: with less it
cannot be told from the scores of the items that are always shown on one side."""


@dataclass(frozen=True, eq=False)
class Sides:
    """Habits, their standard errors, who is one-sided, and what all have in common."""

    habit: FloatArray
    se: FloatArray
    one_sided: IntArray
    common: float
    common_se: float
    """Infinite where the side cannot be told from the scores."""
    preferred: bool
    """Whether all together prefer a side, those who are one-sided left out."""


def sides(cells: Cells, fitted: Fit, among: int | None = None) -> Sides:
    """Test each habit (Holm, among so many annotators), and the mean of all others."""
    m = cells.annotators
    mine = fitted.posterior[cells.who]
    chance = np.einsum("cg,cg->c", fitted.chance, mine)
    slope = np.einsum("cg,cg->c", fitted.slope, mine)
    each = cells.evidence * cells.number * cells.side**2 * slope**2 / (chance * (1.0 - chance))
    told = cells.by_who @ each
    # Of habits at their mode, the prior's pull is taken back.
    info = np.maximum(told, 1e-9)
    habit = fitted.habit * (1.0 + fitted.habit_sd**-2 / info)
    se = info**-0.5
    p = np.where(told > 0.0, np.minimum(2.0 * ndtr(-np.abs(habit) / se), 1.0), 1.0)
    order = np.argsort(p, kind="stable")
    holm = np.maximum.accumulate(p[order] * ((among or m) - np.arange(m))) <= _RATE
    who = order[holm]
    # Drawn towards 0 where little is known, and by more than its error.
    who = who[np.abs(fitted.habit[who]) - se[who] > _LARGE]
    rest = np.setdiff1d(np.flatnonzero(told > 0.0), who)
    common, error = 0.0, np.inf
    if len(rest):
        apart = float(np.var(habit[rest])) - float(np.mean(se[rest] ** 2))
        weight = 1.0 / (se[rest] ** 2 + max(apart, _LEAST_APART**2))
        common = float(weight @ habit[rest] / weight.sum())
        error = float(weight.sum() ** -0.5)
        kept = _kept(cells, fitted, each)
        error = error * kept**-0.5 if kept > _LEAST_KEPT else np.inf
    preferred = abs(common) > max(_SURE * error, _OF_ALL)
    return Sides(habit, se, who, common, error, preferred)


def _kept(cells: Cells, fitted: Fit, each: FloatArray) -> float:
    """Return the share of the information on a common habit that the scores leave."""
    slope = (fitted.posterior @ np.abs(SLOPE))[cells.who]
    imbalance = cells.by_item @ (each * slope * cells.side)
    taken = float(imbalance @ fitted.information.solve(imbalance))
    return 1.0 - taken / max(float(each.sum()), 1e-300)
