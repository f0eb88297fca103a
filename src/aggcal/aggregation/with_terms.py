"""Fits with terms beside items and reliabilities, and the uncertainty of their scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.aggregation.camps import continued, find_camps, fit_axis, fit_by_camp
from aggcal.aggregation.effects import Effects
from aggcal.aggregation.empirical import Fit, Model, Problem, State, fit
from aggcal.aggregation.newton import Progress
from aggcal.aggregation.rows import COMMON_POSITION, CONTEXT_READINESS, CONTROL, SCORES
from aggcal.aggregation.terms import ChosenTerms, model_of, weights_are_counts
from aggcal.data.base import AnyJudgments
from aggcal.errors import AggcalWarning, NoMaximumWarning, OptionError, option

_VANISHING = (1.0, 10.0, 100.0, 1e4)
"""Sds of priors that get weaker, each fit beginning where the last one ended: the widest moves
nothing by more than a hundred-millionth of itself, and still holds what the data leave free."""
_WIDE = COMMON_POSITION, CONTEXT_READINESS, CONTROL
"""Blocks whose priors get weaker with that of the scores."""
_FAR_OUT = 15.0
"""Size of a score or an effect beyond which it is taken to run away."""
_CERTAIN = 1e-12
"""An information of an answer below which it says nothing."""


def fit_terms(
    judgments: AnyJudgments,
    chosen: ChosenTerms,
    begin: Callable[[Model], State],
    *,
    fixed: frozenset[str] = frozenset(),
    on_iteration: Progress | None = None,
) -> Effects:
    """Fit judgments with further terms, annotators' parameters integrated out.

    What is controlled for, camps and an axis are added to a fit without them.

    Parameters
    ----------
    judgments, chosen
        What was judged, and the terms.
    begin
        Returns where to begin with a model: a fit without terms.
    fixed
        Names of standard deviations that are known.
    on_iteration
        Called with the iteration and what still moves.
    """

    def run(model: Model, state: State) -> Fit:
        return fit(Problem(model), state, on_iteration)

    first = replace(chosen, bridge=False, camps="", control=None)
    model = model_of(judgments, first, fixed=fixed)
    result, uncontrolled, camps, by_camp = run(model, begin(model)), None, None, None
    if chosen.control is not None:
        uncontrolled, first = result.scores, replace(first, control=chosen.control)
        model = model_of(judgments, first, fixed=fixed)
        result = run(model, continued(model, result))
    if chosen.camps:
        local = judgments.on_one_machine("looking for camps")
        rows = model_of(local, first, answers=not weights_are_counts(local)).rows
        camps = find_camps(rows, result)
        if len(camps.scores):
            by_camp = fit_by_camp(local, first, camps, result, run)
            camps = by_camp.described(camps)
        chosen = replace(chosen, bridge=chosen.camps == "auto" and by_camp is None)
    if chosen.bridge:
        result = fit_axis(model_of(judgments, chosen, fixed=fixed), result, run)
    # Refits keep what was decided, and do not look for camps again.
    return Effects(judgments, replace(chosen, camps=""), result, uncontrolled, camps, by_camp)


def fit_alike(
    judgments: AnyJudgments,
    chosen: ChosenTerms,
    scores: FloatArray,
    score_sd: float | None,
    *,
    fixed: bool,
    on_iteration: Progress | None = None,
) -> Effects:
    """Fit judgments of annotators who are alike with further terms: one readiness, one position.

    Parameters
    ----------
    judgments, chosen
        What was judged, and the terms.
    scores
        To begin with.
    score_sd, fixed
        Sd of the prior of the scores, and whether it is known; None is no prior at all.
    on_iteration
        Called with the iteration and what still moves.
    """
    uncontrolled = None
    if chosen.control is not None:
        without = replace(chosen, control=None)
        if not without.plain:
            before = fit_alike(
                judgments, without, scores, score_sd, fixed=fixed, on_iteration=on_iteration
            )
            scores = before.fit.scores
        uncontrolled = scores
    if score_sd is None and chosen.cells:
        raise OptionError(
            "effects of contexts and scores by category need a prior; use one (the default), "
            f"or leave {option('context-effects')} and {option('by')} out."
        )
    fixes = fixed or score_sd is None
    model = model_of(judgments, chosen, fixed=frozenset({SCORES} if fixes else ()))
    state = model.first_state(scores)
    # Without a prior the maximum of the likelihood is approached by priors that get weaker.
    wide = (SCORES,) if score_sd is not None else (SCORES, *_WIDE)
    for sd in _VANISHING if score_sd is None else (score_sd,):
        sds = {name: sd if name in wide else value for name, value in state.sds.items()}
        result = fit(Problem(model), replace(state, sds=sds), on_iteration)
        state = result.state
        if score_sd is None and _ran_away(result):
            break
    return Effects(judgments, chosen, result, uncontrolled)


def _ran_away(result: Fit) -> bool:
    return float(np.abs(result.state.unknowns).max(initial=0.0)) > _FAR_OUT


def no_maximum(result: Fit) -> list[AggcalWarning]:
    """Say that a maximum-likelihood estimate does not exist, where it runs away."""
    if not _ran_away(result):
        return []
    return [
        NoMaximumWarning(
            "There is no maximum-likelihood estimate",
            "Scores or effects grow without bound, because the judgments never contradict them.",
            "Use a prior (the default), or collect judgments that contradict these.",
        )
    ]


def penalised(result: Fit) -> float:
    """Return the penalised negative log-likelihood at a fit."""
    return result.problem.prior(result.state)[0] - result.posterior.log_evidence
