"""Decide which terms of the general model a study needs, and say why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.tables import aligned
from aggcal.aggregation.general.first import annotators_refined, told
from aggcal.aggregation.general.problem import Problem, State
from aggcal.data.base import AnyJudgments
from aggcal.data.control import Control
from aggcal.data.judgments import Judgments
from aggcal.data.row_columns import CRITERION, rows_between
from aggcal.errors import (
    AggcalWarning,
    OptionError,
    PooledCriteriaWarning,
    TermsLeftOutWarning,
    did_you_mean,
    some,
)
from aggcal.models.general.annotators import POSITION, READINESS, RELIABILITY, STANCE
from aggcal.models.general.facts import facts_of
from aggcal.models.general.outcomes import Outcomes, adjacent, rao_kupper
from aggcal.models.general.plan import Plan, layout_of
from aggcal.models.general.terms import DEFAULT, PLAIN, Terms
from aggcal.models.general.thinning import ALL, Thinning
from aggcal.registry import DASK, LOCAL

_ROUNDS, _MORE_ROUNDS = 2, 6
"""Updates of means and spreads before evidence is compared: what further ones gain is nearly the
same with and without a position effect. And further ones where that is not enough: where the first
leave it open, and where they are what a larger fit begins with."""
_SAMPLE = 100_000
"""Rows that tell whether there is a position effect: from twice as many, those of a sample."""
_SPREADS, _NONE = (0.5, 0.15, 0.05), 0.01
"""Spreads of the positions to begin with, as few judgments each move a spread slowly; and that of
no position effect."""
_RISES = 2.0
"""By how much the log evidence must rise for a position effect to be fitted: odds of 7 to 1. At 0,
one small study in seven without an effect would get one."""
_SURELY, _SURELY_NOT = 20.0, -1.0
"""Rise of the log evidence above or below which the first updates decide."""
_REPEATED = 1.5
"""Judgments for each pair of item and context from which its effect is fitted: with fewer, it is
only noise that the standard errors must allow for."""


@dataclass(frozen=True)
class Chosen:
    """The terms of a fit."""

    ties: str
    """``davidson``, ``rao-kupper`` or ``halves``."""
    position: bool = False
    cells: tuple[str, ...] = ()
    """Keys of the rows in which items have effects."""
    bridge: bool = False
    """Whether an axis is fitted."""
    camps: str = ""
    """How camps are looked for: ``camps``, or ``auto``: else an axis is fitted."""
    control: Control | None = None
    """What is held equal."""
    graded: bool = False
    """Whether strengths of answers are used."""
    evidence: float | None = None
    """By how much the log evidence rises with a position effect, where it was worked out."""
    weights: tuple[float, ...] | None = None
    """The weight of each criterion, adding up to 1, where scores are their weighted mean."""
    alike: bool = False
    """Whether all annotators are alike: one readiness to tie, one position, no reliabilities."""
    first: Mapping[str, tuple[float, float]] | None = field(default=None, compare=False, repr=False)
    """Mean and spread of the annotators' parameters to begin with, where a sample told them."""

    @property
    def outcomes(self) -> Outcomes:
        """How likely each answer is."""
        return rao_kupper if self.ties == "rao-kupper" else adjacent

    @property
    def names(self) -> tuple[str, ...]:
        """The annotators' parameters."""
        if self.alike:
            return ()
        names = [RELIABILITY]
        names += [POSITION] if self.position else []
        names += [READINESS] if self.ties != "halves" else []
        return (*names, STANCE) if self.bridge else tuple(names)

    def heeded(self, warnings: list[AggcalWarning]) -> list[AggcalWarning]:
        """Return warnings of the data without what the fit allows for: several criteria."""
        if f"by {CRITERION}" not in self.cells:
            return warnings
        return [each for each in warnings if not isinstance(each, PooledCriteriaWarning)]

    @property
    def plain(self) -> bool:
        """Whether there is nothing beside items and reliabilities."""
        further = self.position or self.bridge or self.graded or self.ties != "halves"
        further = further or bool(self.camps)
        return not further and not self.cells and self.control is None


def has_ties(judgments: AnyJudgments) -> bool:
    """Whether a judgment is a tie."""
    return facts_of(judgments).n_ties > 0


def graded(judgments: AnyJudgments) -> bool:
    """Whether a judgment has a strength of more than one step."""
    return facts_of(judgments).top_grade > 1


def check_terms(terms: Terms, judgments: AnyJudgments, *, integrates: bool | None) -> None:
    """Refuse terms that were asked for and would not be fitted, before any work.

    Parameters
    ----------
    terms, judgments
        What was asked for, and of what.
    integrates
        Whether annotators' parameters are integrated out; None where annotators are alike.
    """
    if terms.control is not None:
        facts_of(judgments.local or judgments).check_control(terms.control)
    if terms.criteria_weights is not None:
        weights_of(terms, judgments)
    if terms.context == "fit" and facts_of(judgments.local or judgments).contexts_of_one:
        raise OptionError(
            f"each {judgments.context_name} is of one annotator, so what items do in it cannot be "
            "told from that annotator's taste; leave --context-effects out: the standard errors "
            "allow for it."
        )
    if integrates is not False or terms in (DEFAULT, PLAIN):
        return
    what = "ties, positions, contexts, control and axes"
    if not judgments.integrates:
        raise OptionError(
            f"{what} are not fitted on the engine '{judgments.engine_name}'; choose the engine "
            f"'{LOCAL}' or '{DASK}', or leave the terms out."
        )
    raise OptionError(
        f"{what} are fitted by the estimator 'marginal' and with a prior only; leave the "
        "estimator and the prior as they are, or leave the terms out."
    )


def left_out(judgments: AnyJudgments) -> list[AggcalWarning]:
    """Say which terms of the default are not fitted where annotators are not integrated out."""
    if judgments.integrates:
        return []
    facts = facts_of(judgments)
    shares = {
        "ties (each counts as half a win for either side)": facts.n_ties > 0,
        "strengths of answers": facts.top_grade > 1,
        "a preference for the left side": judgments.sided,
        "effects of contexts": facts.n_contexts > 1,
        "scores by category": bool(judgments.category_ids),
    }
    named = [what for what, there in shares.items() if there]
    if not named:
        return []
    listed = ", ".join(named[:-1]) + " and " + named[-1] if named[1:] else named[0]
    return [
        TermsLeftOutWarning(
            f"The engine '{judgments.engine_name}' does not fit {listed}, as the default does on "
            "other engines: scores may differ from theirs.",
            f"Choose the engine '{LOCAL}' or '{DASK}' to have them fitted, or --estimator mode "
            "to leave them out everywhere.",
            title=f"Terms that the engine '{judgments.engine_name}' does not fit",
            why=f"It leaves out {listed}, which the default fits on other engines: scores may "
            "differ from theirs.",
        )
    ]


def further_in_any_case(terms: Terms, judgments: AnyJudgments) -> bool:
    """Whether terms beside items and reliabilities are fitted whatever the evidence says.

    Examples
    --------
    >>> import aggcal
    >>> tied = aggcal.read_judgments([("ann", "a", "b", "left"), ("bob", "a", "c", "tie")])
    >>> further_in_any_case(DEFAULT, tied)
    True
    """
    tied = terms.ties != "halves" and has_ties(judgments)
    return tied or (terms.position == "on" and judgments.sided) or terms.control is not None


def chosen_terms(terms: Terms, judgments: AnyJudgments, scores: FloatArray) -> Chosen:
    """Choose what the data are to be fitted with.

    Parameters
    ----------
    terms
        What was asked for.
    judgments
        In memory, or in shards.
    scores
        Of a fit without any of it: the position effect is looked for beside them.
    """
    ties = terms.ties if has_ties(judgments) else "halves"
    ties = "davidson" if ties == "auto" else ties
    cells: list[str] = []
    if judgments.context_ids is not None and terms.context in ("auto", "fit"):
        repeated = _cell_weight(judgments) >= _REPEATED and not facts_of(judgments).contexts_of_one
        cells += ["context"] if terms.context == "fit" or repeated else []
    if terms.categories:
        cells += [f"by {name}" for name in judgments.category_ids]
    found = Chosen(ties, cells=tuple(cells), bridge=terms.bridge == "axis", control=terms.control)
    if terms.bridge in ("camps", "auto"):
        judgments.on_one_machine("looking for camps")
        found = replace(found, camps=str(terms.bridge))
    if ties != "rao-kupper" and terms.ties != "halves":
        found = replace(found, graded=graded(judgments))
    found = replace(found, weights=weights_of(terms, judgments))
    if terms.position == "off" or not judgments.sided:
        return found
    if terms.position == "on":
        return replace(found, position=True)
    rise, first = position_evidence(judgments, found, scores)
    return replace(found, position=rise > _RISES, evidence=rise, first=first)


def alike_terms(terms: Terms, judgments: AnyJudgments) -> Chosen:
    """Choose what judgments of annotators who are alike are fitted with: what was asked for.

    Left open, a tie is half a win for each side, sides do not matter, and contexts are only in the
    standard errors: plain Bradley–Terry.
    """
    modelled = terms.ties in ("davidson", "rao-kupper")
    ties = terms.ties if modelled and has_ties(judgments) else "halves"
    strong = terms.ties == "davidson" and graded(judgments)
    cells = ["context"] if terms.context == "fit" and judgments.context_ids is not None else []
    if terms.categories:
        cells += [f"by {name}" for name in judgments.category_ids]
    position = terms.position == "on" and judgments.sided
    weights = weights_of(terms, judgments)
    cells_, control = tuple(cells), terms.control
    found = Chosen(ties, position, cells_, control=control, weights=weights, alike=True)
    return replace(found, graded=strong)


def weights_of(terms: Terms, judgments: AnyJudgments) -> tuple[float, ...] | None:
    """Return the weights of the criteria, in their order; None where none were given."""
    if terms.criteria_weights is None:
        return None
    found = judgments.category_ids.get(CRITERION)
    if found is None or not terms.categories:
        raise OptionError(
            "There are no judgments by several criteria to weigh with --criteria-weights; read all "
            "criteria with --criteria all, or leave the weights out."
        )
    ids = [str(one) for one in found]
    given = terms.criteria_weights
    unknown = [name for name in given if name not in ids]
    if unknown:
        near = did_you_mean(unknown[0], ids)
        raise OptionError(
            f"--criteria-weights: there is no criterion {some(unknown)}{near}; the judgments have "
            f"{some(ids, len(ids))}."
        )
    lacking = [name for name in ids if name not in given]
    if lacking:
        raise OptionError(
            f"--criteria-weights: there is no weight for {some(lacking)}; give one (0 leaves a "
            "criterion out of the sum)."
        )
    total = float(sum(given.values()))
    return tuple(given[name] / total for name in ids)


def _cell_weight(judgments: AnyJudgments) -> float:
    """Return how many judgments there are for each pair of item and context."""
    facts = facts_of(judgments)
    return 2.0 * facts.in_contexts / max(len(facts.cells["context"]), 1)


def position_evidence(
    judgments: AnyJudgments, chosen: Chosen, scores: FloatArray
) -> tuple[float, dict[str, tuple[float, float]] | None]:
    """Return by how much the log evidence rises with a position effect, at given scores.

    The annotators' parameters are integrated out with and without it; the spreads and means of
    the annotators are fitted, the scores are held. Where a sample tells them, they are returned.
    An answer is evidence once, however much it weighs, unless weights are numbers of answers.
    """
    ties = chosen.ties != "halves"
    names = (RELIABILITY, POSITION, READINESS) if ties else (RELIABILITY, POSITION)
    once = not facts_of(judgments).tally.counts
    plan = Plan(names, ties=ties, sides=True, outcomes=chosen.outcomes, answers=once)
    step = judgments.n_judgments // _SAMPLE
    sampled, thinning = step > 1, Thinning.by(step, judgments.n_annotators)
    whole = judgments.local
    if sampled and thinning.rows == 1 and whole is not None:
        # Laying out all of them would take longer than all that follows.
        judgments, scores = _of_some(whole, thinning, scores)
        thinning = ALL
    layout = layout_of(judgments, plan)
    if sampled and not thinning.all:
        layout = layout.thinned(thinning)
    component = np.zeros(judgments.n_items, dtype=np.int64)
    problem = Problem(layout, component, chosen.outcomes)
    without, state = _evidence(problem, _first(problem, scores, _NONE), POSITION)
    best, there = -np.inf, state
    for sd in _SPREADS:
        value, reached = _evidence(problem, _first(problem, scores, sd))
        best, there = (value, reached) if value > best else (best, there)
        if best > without + _SURELY:
            break
    rise = float(best - without)
    if _SURELY_NOT < rise < _SURELY:
        without, state = _evidence(problem, state, POSITION, _MORE_ROUNDS)
        best, there = _evidence(problem, there, rounds=_MORE_ROUNDS)
        rise = float(best - without)
    if not sampled:
        return rise, None
    held, state = (None, there) if rise > _RISES else (POSITION, state)
    return rise, told(problem, _evidence(problem, state, held, _MORE_ROUNDS)[1])


def _of_some(
    judgments: Judgments, thinning: Thinning, scores: FloatArray
) -> tuple[Judgments, FloatArray]:
    """Return the judgments of the annotators who are drawn, and the scores of their items."""
    drawn = np.flatnonzero(thinning.drawn(0, judgments.n_annotators))
    part = judgments.of_rows(rows_between(judgments.starts, drawn))
    return part, aligned(scores, judgments.item_ids, part.item_ids)


def _first(problem: Problem, scores: FloatArray, sd: float) -> State:
    """Return where updates begin, with a spread of the positions.

    Without a position effect it is of no size instead of left out, so that the errors of cubature
    are the same.
    """
    problem.integration.restart()
    return problem.first_state(scores, {POSITION: sd})


def _evidence(
    problem: Problem, state: State, held: str | None = None, rounds: int = _ROUNDS
) -> tuple[float, State]:
    """Return the log evidence at given scores, and the means and spreads it was fitted with.

    Parameters
    ----------
    problem
        The annotators, with a position each.
    state
        Where updates begin.
    held
        A parameter that is not fitted.
    rounds
        How many updates there are.
    """
    values = []
    for _ in range(rounds):
        state, value = annotators_refined(problem, state, held)
        values.append(value)
    return max(values), state
