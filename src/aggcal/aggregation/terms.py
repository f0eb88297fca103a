"""Which terms judgments are fitted with beside items and reliabilities, and the model they make.

`Terms` are what is asked for. `chosen_terms` decides by what the judgments have and, of a position
effect, by evidence; `model_of` makes a `Model` of judgments and what was chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import zip_longest
from math import inf
from operator import add
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.tables import aligned
from aggcal.aggregation.empirical import MEAN_PRIORS, Model, Problem
from aggcal.aggregation.families import (
    POSITION,
    READINESS,
    RELIABILITY,
    STANCE,
    Adjacent,
    Advantage,
    Law,
    RaoKupper,
)
from aggcal.aggregation.rows import Plan
from aggcal.aggregation.shards import lay_out
from aggcal.data.base import AnyJudgments
from aggcal.data.control import Control, Covariates, coded, lacking, refuse_unable, refuse_without
from aggcal.data.judgments import Judgments
from aggcal.data.row_columns import CRITERION
from aggcal.data.weights import Tally
from aggcal.engines.remote import RemoteJudgments
from aggcal.errors import (
    AggcalWarning,
    OptionError,
    PooledCriteriaWarning,
    argument,
    check_choice,
    did_you_mean,
    option,
    some,
)
from aggcal.registry import BRIDGES, CONTEXT_USES, SWITCHES, TIES
from aggcal.registry.literals import Bridge, ContextUse, Switch, Ties

_REPEATED = 1.5
"""Judgments for each pair of item and context from which its effect is fitted: with fewer, it is
only noise that the standard errors must allow for."""
_LEAST_RISE = 2.0
"""By how much the log evidence must rise for a position effect to be fitted: odds of 7 to 1. At 0,
one small study in seven without an effect would get one."""
_POSITION_SDS = np.geomspace(0.01, 2.0, 20)
"""Sds of the positions that are compared."""
_SAMPLE = 50_000
"""Judgments in memory that show whether there is a position effect."""
_CLOSE = 1e-4
"""How near annotators' modes are looked for there: nodes are only placed by them."""


@dataclass(frozen=True)
class Terms:
    """What a judgment depends on beside the two items and the annotator's reliability.

    Parameters
    ----------
    ties
        ``davidson``: a readiness to call a tie for each annotator; ``rao-kupper``: a threshold for
        each instead; ``halves``: a tie counts as half a win for each side. ``auto``: Davidson's
        wherever there are ties. Strengths ("much better") count with Davidson's only.
    position
        A common and a personal preference for the left side. ``auto``: where the sides are known
        and the data are more probable with it.
    context
        What an item does in one context (a prompt, a session, a screen), where the judgments have
        contexts. ``fit``: as effects in the fit; ``errors``: only in the standard errors;
        ``auto``: in the fit if pairs of item and context repeat.
    categories
        Whether items have a score in each category, where the judgments have categories.
    control
        What is to be held equal, such as the length of an answer: a `Control`.
    bridge
        Whether disagreement is looked for. ``axis`` (or True): one axis along which annotators
        differ; ``camps``: two or three camps, each with scores of its own, where those predict
        held-out annotators better than one order and than an axis do; ``auto``: camps if that is
        so, else the axis.
    criteria_weights
        Where the judgments have several criteria: the weight of each, such as
        ``{"content": 2, "style": 1}``. Scores are then the weighted mean of an item's scores by
        criterion; without weights, they are what the criteria have in common.

    Examples
    --------
    >>> Terms(ties="halves", position="off").ties
    'halves'
    """

    ties: Ties = "auto"
    position: Switch = "auto"
    context: ContextUse = "auto"
    categories: bool = True
    control: Control | None = None
    bridge: Bridge | bool = "off"
    criteria_weights: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        weights = self.criteria_weights or {}
        for name, weight in weights.items():
            if not 0.0 <= weight < inf:
                raise OptionError(
                    f"{argument('criteria-weights')}: the weight {weight:g} of '{name}' is not a "
                    "number of at least 0; correct it."
                )
        if self.criteria_weights is not None and not sum(weights.values()) > 0.0:
            raise OptionError(
                f"{argument('criteria-weights')}: no criterion has a weight above 0; give one."
            )
        if isinstance(self.bridge, bool):
            object.__setattr__(self, "bridge", "axis" if self.bridge else "off")
        check_choice("ties", self.ties, TIES)
        check_choice("position", self.position, SWITCHES)
        check_choice("context", self.context, CONTEXT_USES)
        check_choice("bridge", str(self.bridge), BRIDGES)

    @property
    def plain(self) -> bool:
        """Whether nothing but items and reliabilities is asked for."""
        return self == PLAIN


DEFAULT = Terms()
"""Everything is decided by the data."""
PLAIN = Terms(ties="halves", position="off", context="off", categories=False)
"""Items and reliabilities only."""


@dataclass(frozen=True, eq=False)
class Counts:
    """Numbers that decide which terms judgments need; those of shards add up.

    Examples
    --------
    >>> import aggcal
    >>> tied = aggcal.read_judgments([("ann", "a", "b", "left"), ("bob", "a", "c", "tie")])
    >>> Counts.of(tied).ties, Counts.of(tied).contexts
    (1, 0)
    """

    ties: int
    largest_grade: int
    """The largest strength of an answer, in steps; 0 where none has one."""
    in_contexts: int
    """Judgments that have a context."""
    annotators_in_contexts: int
    """Pairs of an annotator and a context."""
    cells: IntArray
    """Pairs of a context and an item (context × items + item)."""
    items: int
    category_weights: dict[str, FloatArray]
    """Weight of the judgments in each category, by the name of the column."""

    @classmethod
    def of(cls, judgments: Judgments) -> Counts:
        """Count the judgments in memory."""
        ids, n, weight = judgments.category_ids, judgments.n_items, judgments.weight
        weights = {
            each.name: np.bincount(each.code + 1, weight, len(ids[each.name]) + 1)[1:].astype(float)
            for each in judgments.categories
        }
        grade, context = judgments.grade, judgments.context
        steps = 0 if grade is None else int(np.abs(grade).max(initial=0))
        within, pairs, cells = 0, 0, np.zeros(0, dtype=np.int64)
        if context is not None:
            has, group = context >= 0, context[context >= 0].astype(np.int64)
            within = int(np.asarray(judgments.count)[has].sum())
            number = int(group.max(initial=0)) + 1
            pairs = len(np.unique(judgments.annotator[has].astype(np.int64) * number + group))
            sides = [group * n + side[has] for side in (judgments.left, judgments.right)]
            cells = np.unique(np.concatenate(sides))
        return cls(judgments.tallies.n_ties, steps, within, pairs, cells, n, weights)

    def __add__(self, other: Counts) -> Counts:
        weights = {}
        for name, own in self.category_weights.items():
            # A part counts up to the largest category that it has.
            pair = own, other.category_weights[name]
            weights[name] = np.array([*map(sum, zip_longest(*pair, fillvalue=0.0))])
        return Counts(
            self.ties + other.ties,
            max(self.largest_grade, other.largest_grade),
            self.in_contexts + other.in_contexts,
            self.annotators_in_contexts + other.annotators_in_contexts,
            np.union1d(self.cells, other.cells),
            self.items,
            weights,
        )

    @property
    def contexts(self) -> int:
        """How many contexts occur."""
        return len(np.unique(self.cells // max(self.items, 1)))

    @property
    def cell_weight(self) -> float:
        """How many judgments there are for each pair of item and context."""
        return 2.0 * self.in_contexts / max(len(self.cells), 1)


def over_parts(judgments: AnyJudgments, function: Callable[[Judgments], Any]) -> list[Any]:
    """Return a function of the judgments, or of judgments in shards that of each part."""
    if judgments.local is None and isinstance(judgments, RemoteJudgments) and judgments.shards:
        shards = judgments.shards
        return shards.each(_with_shard, [function] * len(shards))
    return [function(judgments.on_one_machine("counting ties and contexts"))]


def _with_shard(shard: Any, function: Callable[[Judgments], Any]) -> Any:
    return function(shard.judgments)


_COUNTS: WeakKeyDictionary[AnyJudgments, Counts] = WeakKeyDictionary()


def counts_of(judgments: AnyJudgments) -> Counts:
    """Count judgments wherever their rows lie, once."""
    if judgments not in _COUNTS:
        _COUNTS[judgments] = reduce(add, over_parts(judgments, Counts.of))
    return _COUNTS[judgments]


def has_ties(judgments: AnyJudgments) -> bool:
    """Whether a judgment is a tie."""
    return counts_of(judgments).ties > 0


def graded(judgments: AnyJudgments) -> bool:
    """Whether a judgment has a strength of more than one step."""
    return counts_of(judgments).largest_grade > 1


def weights_are_counts(judgments: AnyJudgments) -> bool:
    """Whether weights look like numbers of answers: if not, an answer is evidence only once."""
    return bool(reduce(add, over_parts(judgments, Tally.of)).counts)


def _one_annotator_each(judgments: AnyJudgments) -> bool:
    """Whether each context is of one annotator: its effects are then that annotator's taste."""
    counts = counts_of(judgments)
    return judgments.n_annotators > 1 and 0 < counts.contexts == counts.annotators_in_contexts


@dataclass(frozen=True)
class ChosenTerms:
    """The terms of a fit."""

    ties: str
    """``davidson``, ``rao-kupper`` or ``halves``."""
    position: bool = False
    cells: tuple[str, ...] = ()
    """Keys of the rows in which items have effects: ``context``, ``by NAME``."""
    bridge: bool = False
    """Whether an axis is fitted."""
    camps: str = ""
    """How camps are looked for: ``camps``, or ``auto``: else an axis is fitted."""
    control: Control | None = None
    graded: bool = False
    """Whether strengths of answers are used."""
    evidence: float | None = None
    """By how much the log evidence rises with a position effect, where it was worked out."""
    weights: tuple[float, ...] | None = None
    """The weight of each criterion, adding up to 1, where scores are their weighted mean."""
    alike: bool = False
    """Whether all annotators are alike: one readiness to tie, one position, no reliabilities."""

    @property
    def law(self) -> Law:
        """How likely each answer is."""
        return RaoKupper() if self.ties == "rao-kupper" else Adjacent()

    @property
    def names(self) -> tuple[str, ...]:
        """The annotators' parameters."""
        if self.alike:
            return ()
        further = (
            (POSITION, self.position),
            (READINESS, self.ties != "halves"),
            (STANCE, self.bridge),
        )
        return (RELIABILITY, *(name for name, fitted in further if fitted))

    def unexplained(self, warnings: list[AggcalWarning]) -> list[AggcalWarning]:
        """Return warnings of the data without what the fit allows for: several criteria."""
        if f"by {CRITERION}" not in self.cells:
            return warnings
        return [each for each in warnings if not isinstance(each, PooledCriteriaWarning)]

    @property
    def plain(self) -> bool:
        """Whether there is nothing beside items and reliabilities."""
        further = self.position, self.bridge, self.graded, self.camps, self.cells
        return not any(further) and self.ties == "halves" and self.control is None


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
        _check_control(terms.control, judgments)
    if terms.criteria_weights is not None:
        _criteria_weights(terms, judgments)
    if terms.context == "fit" and _one_annotator_each(judgments):
        raise OptionError(
            f"each {judgments.context_name} is of one annotator, so what items do in it cannot be "
            "told from that annotator's taste; leave that out: the standard errors "
            "allow for it."
        )
    if integrates is not False or terms in (DEFAULT, PLAIN):
        return
    raise OptionError(
        "ties, positions, contexts, control and axes are fitted by the estimator 'marginal' and "
        "with a prior only; leave the estimator and the prior as they are, or leave the terms out."
    )


def _check_control(control: Control, judgments: AnyJudgments) -> None:
    """Refuse judgments for which values are missing, or of which they cannot explain any."""
    if control.context_ids is not None and judgments.context_ids is None:
        refuse_without(control, judgments, None)
    parts = over_parts(judgments, partial(_explained, coded(control, judgments)))
    without, keys, largest = zip(*parts, strict=True)
    if control.context_ids is not None:
        refuse_without(control, judgments, sum(without))
    if len(missing := np.unique(np.concatenate(keys))):
        raise lacking(control, judgments, missing)
    refuse_unable(control, np.max(largest, axis=0))


def _explained(covariates: Covariates, judgments: Judgments) -> tuple[int, IntArray, FloatArray]:
    """Return how many rows lack a context, what has no value, and each largest difference."""
    sides, context = (judgments.left, judgments.right), judgments.context
    without = int((np.asarray(context) < 0).sum()) if covariates.by_context else 0
    keys = np.zeros(0, np.int64) if without else covariates.lacking(*sides, context)
    if without or len(keys):
        return without, keys, np.zeros(covariates.values.shape[1])
    differences = np.abs(covariates.differences(*sides, context))
    return without, keys, differences.max(axis=0, initial=0.0)


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


def chosen_terms(terms: Terms, judgments: AnyJudgments, scores: FloatArray) -> ChosenTerms:
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
    context = judgments.context_ids is not None and terms.context == "fit"
    if judgments.context_ids is not None and terms.context == "auto":
        repeated = counts_of(judgments).cell_weight >= _REPEATED
        context = repeated and not _one_annotator_each(judgments)
    camps = str(terms.bridge) if terms.bridge in ("camps", "auto") else ""
    if camps:
        judgments.on_one_machine("looking for camps")
    categories = judgments.category_ids if terms.categories else ()
    chosen = ChosenTerms(
        "davidson" if ties == "auto" else ties,
        position=terms.position == "on" and judgments.sided,
        cells=(*(["context"] if context else []), *(f"by {name}" for name in categories)),
        bridge=terms.bridge == "axis",
        camps=camps,
        control=terms.control,
        graded=terms.ties in ("auto", "davidson") and graded(judgments),
        weights=_criteria_weights(terms, judgments),
    )
    if terms.position != "auto" or not judgments.sided:
        return chosen
    rise = position_evidence(judgments, chosen, scores)
    return replace(chosen, position=rise > _LEAST_RISE, evidence=rise)


def alike_terms(terms: Terms, judgments: AnyJudgments) -> ChosenTerms:
    """Choose what judgments of annotators who are alike are fitted with: what was asked for.

    Left open, a tie is half a win for each side, sides do not matter, and contexts are only in the
    standard errors: plain Bradley–Terry.
    """
    ties = "halves" if terms.ties == "auto" else terms.ties
    position = "off" if terms.position == "auto" else terms.position
    context = "errors" if terms.context == "auto" else terms.context
    stated = replace(terms, ties=ties, position=position, context=context)
    return replace(chosen_terms(stated, judgments, np.zeros(0)), alike=True)


def _criteria_weights(terms: Terms, judgments: AnyJudgments) -> tuple[float, ...] | None:
    """Return the weights of the criteria, in their order; None where there are none."""
    if terms.criteria_weights is None:
        return None
    criteria = judgments.category_ids.get(CRITERION)
    if criteria is None or not terms.categories:
        raise OptionError(
            "There are no judgments by several criteria to weigh with "
            f"{option('criteria-weights')}; read all criteria with {option('by', 'criterion')}, or "
            "leave the weights out."
        )
    ids, weights = [str(one) for one in criteria], terms.criteria_weights
    unknown = [name for name in weights if name not in ids]
    if unknown:
        near = did_you_mean(unknown[0], ids)
        raise OptionError(
            f"{argument('criteria-weights')}: there is no criterion {some(unknown)}{near}; the "
            f"judgments have {some(ids, len(ids))}."
        )
    missing = [name for name in ids if name not in weights]
    if missing:
        raise OptionError(
            f"{argument('criteria-weights')}: there is no weight for {some(missing)}; give one (0 "
            "leaves a criterion out of the sum)."
        )
    total = float(sum(weights.values()))
    return tuple(weights[name] / total for name in ids)


def model_of(
    judgments: AnyJudgments,
    chosen: ChosenTerms,
    *,
    fixed: frozenset[str] = frozenset(),
    answers: bool = False,
) -> Model:
    """Return the model that the terms make of some judgments.

    Parameters
    ----------
    judgments, chosen
        What was judged, and the terms.
    fixed
        Names of standard deviations that are known.
    answers
        Whether each answer counts once, however much it weighs.
    """
    ties, control, contexts = chosen.ties != "halves", chosen.control, judgments.context_ids
    readiness = len(contexts) if "context" in chosen.cells and contexts is not None else 0
    plan = Plan(
        ties=ties,
        sides=chosen.position,
        keys=bool(chosen.cells) or getattr(control, "context_ids", None) is not None,
        grades=chosen.graded,
        cells=chosen.cells,
        contexts=(1 if chosen.alike else readiness) if ties else 0,
        axis=chosen.bridge,
        covariates=None if control is None else coded(control, judgments),
        alike=chosen.alike,
        answers=answers,
    )
    rows = lay_out(judgments, plan)
    family = Advantage(chosen.names, chosen.law, tuple(rows.channels))
    means = tuple(name for name in chosen.names if name in MEAN_PRIORS)
    return Model(rows, family, judgments.graph.component, means, fixed=fixed)


def position_evidence(judgments: AnyJudgments, chosen: ChosenTerms, scores: FloatArray) -> float:
    """Return by how much the log evidence rises with a position effect, the scores fixed.

    What the answers of an annotator say of their position is taken as normal: its score h and its
    information I at 0 are those that the posterior under a normal prior has beyond that prior, all
    other parameters integrated out. With positions N(μ, τ²) and μ ~ N(0, 1) the evidence is then
    known; τ is the most probable one. An answer is evidence once, however much it weighs, unless
    weights are numbers of answers. Of many judgments in memory a sample of annotators is looked at.
    """
    once = not weights_are_counts(judgments)
    if judgments.n_judgments > _SAMPLE and judgments.local is not None:
        judgments, scores = _sample(judgments.local, scores)
    only = ChosenTerms(chosen.ties, position=True)
    problem = Problem(model_of(judgments, only, answers=once))
    state = problem.model.first_state(scores)
    posterior = problem.at(state, close=_CLOSE).posterior
    values, prior = posterior.of(POSITION), state.sds[POSITION] ** -2.0
    precision = np.maximum(1.0 / posterior.variance(values), prior)
    score, information = precision * posterior.mean(values), precision - prior
    variance = np.square(_POSITION_SDS)[:, None]
    left = 1.0 / (1.0 + variance * information)
    own = 0.5 * (np.log(left) + variance * left * score**2).sum(axis=1)
    total, of_mean = (left * score).sum(axis=1), 1.0 + (left * information).sum(axis=1)
    return float((own + 0.5 * (total**2 / of_mean - np.log(of_mean))).max())


def _sample(judgments: Judgments, scores: FloatArray) -> tuple[Judgments, FloatArray]:
    """Draw whole annotators, as many as have enough judgments; align the scores."""
    order = np.random.default_rng(0).permutation(judgments.n_annotators)
    rows = np.bincount(judgments.annotator, minlength=len(order))
    drawn = np.zeros(len(order), dtype=bool)
    drawn[order[np.cumsum(rows[order]) - rows[order] < _SAMPLE]] = True
    part = judgments.of_rows(drawn[judgments.annotator])
    return part, aligned(scores, judgments.item_ids, part.item_ids)
