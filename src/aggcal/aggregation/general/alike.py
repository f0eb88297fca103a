"""Bradley–Terry with further terms: all annotators alike, one readiness to tie, one position."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from aggcal._core.arrays import FloatArray, dot
from aggcal.aggregation.general.choice import Chosen
from aggcal.aggregation.general.fit import GeneralFit, fit_general
from aggcal.aggregation.general.posing import general_problem
from aggcal.aggregation.general.problem import BLOCK_SDS, MEAN_PRIORS, TIE_CONTEXT_SD, Problem
from aggcal.aggregation.solve.marginal import Progress
from aggcal.data.base import AnyJudgments
from aggcal.errors import AggcalWarning, NoMaximumWarning, OptionError
from aggcal.models.general.annotators import POSITION, READINESS
from aggcal.models.general.design import CONTROL, SCORES

_VANISHING = (1.0, 10.0, 100.0, 1e4)
"""Spreads of priors that get weaker, each fit beginning at the last: the widest moves nothing by
more than a hundred-millionth of itself, and still holds what the data leave free, the mean."""
_FAR_OUT = 15.0
"""Size of a score or an effect beyond which it is taken to run away."""


@dataclass(frozen=True, eq=False)
class AlikeFit:
    """Fits judgments with annotators who are alike.

    ``score_sd`` is the prior spread of the scores to begin with; ``held`` says whether it is
    known. None is no prior at all.
    """

    judgments: AnyJudgments
    chosen: Chosen
    score_sd: float | None
    held: bool
    on_iteration: Progress | None = None

    def fit(self, scores: FloatArray) -> tuple[GeneralFit, FloatArray | None]:
        """Fit from some scores; return the fit, and the scores with nothing held equal.

        Where nothing is held equal in the first place, these are None.
        """
        before = None
        start = scores
        if self.chosen.control is not None:
            uncontrolled = replace(self.chosen, control=None)
            if uncontrolled.plain:
                before = scores
            else:
                found = replace(self, chosen=uncontrolled).fit(scores)[0]
                before = start = found.state.unknowns[: self.judgments.n_items]
        problem = general_problem(self.judgments, self.chosen)
        if self.score_sd is None:
            return self._likelihood_maximum(problem, start), before
        sds = _spreads(self.score_sd)
        run = partial(fit_general, on_iteration=self.on_iteration)
        held = frozenset({POSITION, TIE_CONTEXT_SD, *([SCORES] if self.held else [])})
        return run(problem, problem.first_state(start, sds), held=held), before

    def _likelihood_maximum(self, problem: Problem, scores: FloatArray) -> GeneralFit:
        """Return the maximum-likelihood estimate, approached by priors that get weaker."""
        if self.chosen.cells:
            raise OptionError(
                "effects of contexts and scores by category need a prior; use one (the default), "
                "or leave --context-effects and --by out."
            )
        state = problem.first_state(scores, _spreads(_VANISHING[0]))
        held = frozenset({POSITION, TIE_CONTEXT_SD, SCORES})
        for sd in _VANISHING:
            flat = dict.fromkeys((SCORES, POSITION, TIE_CONTEXT_SD, CONTROL), sd)
            flat[CONTROL] = max(sd, BLOCK_SDS[CONTROL])
            state = replace(state, block_sds=state.block_sds | flat)
            fit = fit_general(problem, state, held=held, on_iteration=self.on_iteration)
            state = fit.state
            if _ran_away(state.unknowns):
                break
        return fit


def _spreads(score_sd: float) -> dict[str, float]:
    """Return the spreads to begin with."""
    ready, lean = MEAN_PRIORS[READINESS][1], MEAN_PRIORS[POSITION][1]
    return {SCORES: score_sd, POSITION: lean, TIE_CONTEXT_SD: ready}


def _ran_away(unknowns: FloatArray) -> bool:
    return float(np.abs(unknowns).max(initial=0.0)) > _FAR_OUT


def penalised(problem: Problem, fit: GeneralFit) -> float:
    """Return the penalised negative log-likelihood at a fit."""
    off = fit.state.unknowns - problem.centre()
    return -fit.known.log_evidence + 0.5 * dot(problem.precision(fit.state), off * off)


def no_maximum(fit: GeneralFit) -> list[AggcalWarning]:
    """Say that a maximum-likelihood estimate does not exist, where it runs away."""
    if not _ran_away(fit.state.unknowns):
        return []
    return [
        NoMaximumWarning(
            "The maximum-likelihood estimate does not exist: scores or effects grow without "
            "bound, because the judgments never contradict them.",
            "Use a prior (the default), or collect judgments that contradict these.",
            title="There is no maximum-likelihood estimate",
            why="Scores or effects grow without bound, because the judgments never contradict "
            "them.",
        )
    ]
