"""What fits with the annotators integrated out found, and the best of several."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.text import brief
from aggcal.aggregation.modes import another_order
from aggcal.aggregation.newton import Convergence
from aggcal.aggregation.solve.marginal_problem import State
from aggcal.aggregation.solve.population import moved
from aggcal.models.beliefs import Beliefs, Population

_SAME = 1e-6
"""Relative difference of objectives up to which the first of two fits is taken."""
_CLOSE_BY = 0.03
"""Distance (of scores over σ, spreads and shares) at which a fit is taken to go where another one
went: a wider one might leave an optimum out, a narrower one takes longer."""


@dataclass(frozen=True, eq=False)
class MarginalFit:
    """The posterior of the scores and of everything beside them."""

    state: State
    beliefs: Beliefs
    objective: float
    convergence: Convergence
    estimated: bool
    """Whether the spread of the scores was."""
    cost: float
    """What optima are compared by: the objective with the prior of τ, and with the variances of
    rows as they should be, where they were held back to come to rest."""
    rival: float | None = None
    """Objective of the best other optimum, where others were looked for and found."""

    __repr__ = brief

    @property
    def scores(self) -> FloatArray:
        """Posterior means."""
        return self.state.scores

    @property
    def population(self) -> Population:
        """The spreads and the share of reversed annotators."""
        return self.state.population

    @property
    def mirrored(self) -> State:
        """Where it would be if those who are reversed were not, and all others were."""
        state, others = self.state, 1.0 - self.population.reversed_share
        population = replace(self.population, reversed_share=others)
        return replace(state, scores=-state.scores, population=population)

    def holds(self, state: State) -> bool:
        """Whether a fit that stands there is on its way to this optimum."""
        off = float(np.max(np.abs(state.scores - self.scores))) / self.population.score_sd
        there = off < _CLOSE_BY and moved(state.population, self.population) < _CLOSE_BY
        return self.convergence.converged and there

    def of_more(self, times: float) -> MarginalFit:
        """Return what it says of so many times as many rows, to begin their fit with."""
        sure = self.state.row_variances / times
        return replace(self, state=replace(self.state, row_variances=sure))


def best_of(fits: list[MarginalFit]) -> MarginalFit:
    """Keep the lowest optimum, and remember the best of those with another order."""
    # A start that is far off may lead nowhere: that is no optimum to compare with.
    fits = [fit for fit in fits if fit.convergence.converged] or fits
    least = min(fit.cost for fit in fits)
    best = next(fit for fit in fits if fit.cost <= least + _SAME * abs(least))
    apart = [f.cost - best.cost for f in fits if another_order(f.scores, best.scores)]
    return replace(best, rival=best.objective + min(apart) if apart else None)
