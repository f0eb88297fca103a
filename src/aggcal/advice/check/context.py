"""The fitted study: what the model expects of every answer, seen by the consensus of the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import pi, sqrt

from aggcal._core.arrays import CodeArray, FloatArray, dot, elementwise
from aggcal._core.kernels.threads import beside
from aggcal._core.machine import one_thread
from aggcal._core.tables import aligned
from aggcal.advice.check.annotator_mixture import Population, effective
from aggcal.advice.check.clusters import Clusters
from aggcal.advice.check.leave_one_out import Others, consensus_of_others
from aggcal.advice.check.pair_answers import TIE, Answers
from aggcal.aggregation import aggregate
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.links import LOGISTIC, link
from aggcal.aggregation.methods import HRA, AlikeMethod, CrowdBT
from aggcal.aggregation.newton import Progress
from aggcal.data.judgments import Judgments
from aggcal.errors import OptionError
from aggcal.registry import DEFAULT_METHOD, MARGINAL, METHODS, MODE, WITHOUT_FEATURES

_CLOSE = 1e-6
"""Relative gradient norm of the fit of many rows that annotators are left out of: Newton's next
step would take as long as all before, and move scores in the seventh digit."""
_STEPS = 4  # of Newton's method, to a start that need not be exact
_ENOUGH = 200_000  # rows that tell it; with more of them time counts more than the last digits

Grouping = tuple[Answers, Clusters]

FITTED = WITHOUT_FEATURES
"""The methods that a check can fit: those that need nothing but judgments."""


def refuse_method(method: str) -> None:
    """Refuse a method that a check cannot fit.

    Examples
    --------
    >>> refuse_method("btl")
    """
    if method not in FITTED:
        raise OptionError(f"a check cannot fit '{method}'; choose {', '.join(FITTED)}.")


@dataclass(frozen=True, eq=False)
class Fitted:
    """A consensus, and what it leads one to expect, on the logistic scale whatever the link.

    ``gap`` is, for each row, how far left lies above right for the other annotators;
    ``probability`` that its annotator prefers the left one.
    """

    judgments: Judgments
    answers: Answers
    clusters: Clusters
    """Which answers may depend on each other."""
    consensus: Consensus
    scores: FloatArray
    precision: float
    others: Others
    population: Population
    gap: FloatArray
    probability: FloatArray

    @cached_property
    def number(self) -> FloatArray:
        """How many independent answers each row stands for, ties left out."""
        return effective(self.judgments)

    @classmethod
    def of(
        cls,
        judgments: Judgments,
        method: str = DEFAULT_METHOD,
        *,
        seed: int = 0,
        on_iteration: Progress | None = None,
    ) -> Fitted:
        """Fit a study.

        Examples
        --------
        >>> import aggcal
        >>> rows = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "b", "c"), ("bob", "a", "b")]
        >>> fitted = Fitted.of(aggcal.read_judgments(rows))
        >>> bool((fitted.probability > 0.5).all())
        True
        """
        refuse_method(method)
        consensus = aggregate(judgments, method, seed=seed, warn=False, on_iteration=on_iteration)
        return cls.by(judgments, consensus)

    @classmethod
    def within(
        cls, part: Judgments, consensus: Consensus, grouped: Callable[[], Grouping] | None = None
    ) -> Fitted:
        """Take a fit of judgments of which these are a part: its scores are known better.

        Examples
        --------
        >>> import aggcal
        >>> rows = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "b", "c"), ("bob", "a", "b")]
        >>> whole = aggcal.read_judgments(rows)
        >>> part = whole.of_rows(whole.annotator == 0)
        >>> Fitted.within(part, aggcal.aggregate(whole, "btl", warn=False)).consensus.annotator_ids
        array(['ann'], dtype=object)
        """
        reliabilities = consensus.reliabilities
        kept = ("prior", "estimator", "effects", "random_reliability", "warnings", "convergence")
        narrowed = Consensus.of(
            part,
            aligned(consensus.scores, consensus.item_ids, part.item_ids),
            method=consensus.method,
            reliabilities=aligned(reliabilities, consensus.annotator_ids, part.annotator_ids),
            **{name: getattr(consensus, name) for name in kept},
        )
        return cls.by(part, narrowed, grouped)

    @classmethod
    @one_thread()
    def by(
        cls,
        judgments: Judgments,
        consensus: Consensus,
        grouped: Callable[[], Grouping] | None = None,
    ) -> Fitted:
        """Take a fit of these judgments that was already made.

        ``grouped`` waits for what `grouping` began, where that was done before.

        Examples
        --------
        >>> import aggcal
        >>> judgments = aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "c")])
        >>> Fitted.by(judgments, aggcal.aggregate(judgments, "btl", warn=False)).consensus.method
        'btl'
        """
        if consensus.method not in FITTED:
            raise OptionError(f"a check cannot use '{consensus.method}'; leave the consensus out.")
        if consensus.item_ids.tolist() != judgments.item_ids.tolist():
            raise OptionError("the consensus belongs to other judgments; leave it out.")
        grouped = grouped or grouping(judgments)
        aggregator = METHODS.own[consensus.method].make()
        stretch = pi / sqrt(3.0) / link(getattr(aggregator, "link", LOGISTIC.name)).sd
        fit = _with_slopes(aggregator, judgments, consensus)
        scores = stretch * fit.scores
        slopes = fit.reliabilities
        if isinstance(aggregator, CrowdBT):
            # Near a tie a chance η of saying what one sees is a slope of 2η − 1.
            slopes = 2.0 * slopes - 1.0
        sd = 1.0 if fit.prior is None else fit.prior.score_sd
        precision = (stretch * sd) ** -2
        others = consensus_of_others(judgments, scores, slopes, precision)
        gap = others.likely_gap
        population = Population.of(judgments, gap)
        slopes = population.slopes

        def expected(who: CodeArray, gap: FloatArray) -> FloatArray:
            return LOGISTIC.probability(slopes[who] * gap)

        [probability] = elementwise(expected, judgments.annotator, gap)
        return cls(
            judgments,
            *grouped(),
            consensus,
            scores,
            precision,
            others,
            population,
            gap,
            probability,
        )


def _with_slopes(own: object, judgments: Judgments, consensus: Consensus) -> Consensus:
    """Return the optimum of scores and slopes: leaving an annotator out is one step from there.

    It is that of a model of unequal annotators with a prior, whatever was fitted: with scores that
    took all to be alike, honest people seemed to repeat themselves, and without a prior they seemed
    to guess, in up to a quarter of studies.
    """
    if not isinstance(own, HRA | AlikeMethod):
        return consensus
    alike, flat = not isinstance(own, HRA), consensus.prior is None
    if consensus.estimator != MARGINAL and not (alike or flat):
        return consensus
    mode = HRA(link=own.link, estimator=MODE, seed=own.seed)
    if len(judgments.count) > _ENOUGH:
        mode = replace(mode, tolerance=_CLOSE)
    if alike or flat:
        return mode.fit(judgments)
    return mode.refit(judgments, _as_halves(judgments, consensus.scores), consensus)


def grouping(judgments: Judgments) -> Callable[[], Grouping]:
    """Begin to group answers by pair, and those that may depend on each other.

    Examples
    --------
    >>> import aggcal
    >>> judgments = aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "c")])
    >>> answers, clusters = grouping(judgments)()
    >>> answers.n_pairs, clusters.count
    (2, array([1., 1.]))
    """

    def found() -> Grouping:
        answers = Answers.of(judgments)
        return answers, Clusters.of(answers)

    return beside(found)


def _as_halves(judgments: Judgments, scores: FloatArray) -> FloatArray:
    """Return scores in the size that they have where a tie is half of a win for either item.

    Those of a model of ties are larger, many times where most answers are ties; begun from there,
    a fit that takes ties as halves may end where half of the annotators are turned round.

    Examples
    --------
    >>> import aggcal
    >>> tied = [("ann", "a", "b", "left")] + [("ann", "a", "b", "tie")] * 9
    >>> judgments = aggcal.read_judgments(tied)
    >>> found = _as_halves(judgments, 40.0 * aggcal.aggregate(judgments, "btl", warn=False).scores)
    >>> (found[:1] - found[1:]).round(1)
    array([0.2])
    """
    if not (judgments.outcome == TIE).any():
        return scores
    some = slice(None, None, max(1, len(judgments.count) // _ENOUGH))
    gap = scores[judgments.left[some]] - scores[judgments.right[some]]
    outcome, weight, factor = judgments.outcome[some], judgments.weight[some], 0.0
    for _ in range(_STEPS):
        probability = LOGISTIC.probability(factor * gap)
        pull = dot(weight * (outcome - probability), gap)
        curve = dot(weight * probability * (1.0 - probability), gap * gap)
        factor += pull / max(curve, 1e-300)
    return min(max(factor, 0.0), 1.0) * scores
