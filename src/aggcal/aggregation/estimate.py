"""Work out how far a consensus can be trusted: by its curvature, or by fitting again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import Generic, NamedTuple, NoReturn, TypeVar

import numpy as np
from scipy.special import expit

from aggcal import registry
from aggcal._core.arrays import BoolArray, FloatArray, IntArray
from aggcal._core.machine import one_thread
from aggcal._core.tables import aligned
from aggcal.aggregation.annotators import GAP_POINTS, GAP_WEIGHTS
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.covariance import (
    MOST_DENSE,
    Covariance,
    DenseCovariance,
    SolvedCovariance,
    covariance_of_draws,
)
from aggcal.aggregation.empirical import Fit, Model, Problem, best
from aggcal.aggregation.families import information_roots, win_terms
from aggcal.aggregation.groups import Groups, claimed_groups
from aggcal.aggregation.links import link as link_of
from aggcal.aggregation.modes import HONESTY_MARGIN, mode_rows
from aggcal.aggregation.posterior import FitCovariance, FitPosterior, ModeProblem
from aggcal.aggregation.priors import default_prior
from aggcal.aggregation.protocols import Aggregator, Likelihood, RowScores
from aggcal.aggregation.resampling import bootstrap, drawn_shrinkage, n_contexts
from aggcal.aggregation.robust import Answers, Robust, answer_rows, groupings, robust
from aggcal.aggregation.rows import GAP, SCORES
from aggcal.aggregation.shards import rows_here
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.data.base import AnyJudgments
from aggcal.data.features import Features
from aggcal.data.judgments import Judgments
from aggcal.data.scores import Scores
from aggcal.engines.remote import gathered
from aggcal.errors import OptionError, TooLittleDataError, check_choice

_FEW, _STILL_CLEAR = 12, 1.96
"""Annotators up to which each is left out in turn, and standard errors that a gap must then have.
One sure judge among few others with an order of their own got wrong pairs certified in 40% of
studies, and a judge who favours an item among equals in 38%; so in none and 5%. Of more annotators
those are left out who gave more than a share of 1/12 of the answers: where one of 14 gave half of
them, wrong pairs were certified in 16% of studies, and so in 8%."""
MANY_JUDGMENTS = 200_000
"""Judgments from which claims and errors are worked out in a shorter way, with next to the same
results: the fit for claims is one Newton step, and residuals are those at the estimates."""
_MOST_GATHERED = 5_000_000  # judgments that are fetched from other machines: 100 bytes each
_CERTAIN = 1e-12  # a probability, or a variance, below which answers say nothing
_WIDER, _WIDEST = 3.0, 3.0
"""How many times as wide the prior is that claims are made from, which pulls scores a ninth as
much, and up to how many default spreads: beyond, it pulls nothing that answers determine, and lets
items run away that won or lost all of their judgments. By the prior itself 12 to 31% fewer pairs
are certified; three times as wide where scores differ by 4 as it is, 8% fewer."""
_TIE = 0.5  # the outcome of a tie; and what it counts as
_ANYONE = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Quantiles of the reliabilities that stand for an annotator who was not fitted."""

Result = TypeVar("Result")


class Last(Generic[Result]):
    """Remembers one result, of one seed and of scores that are the same array.

    It forgets it where it is pickled: kernels may hold a part of it.

    Examples
    --------
    >>> import numpy as np
    >>> last, scores = Last(), np.zeros(2)
    >>> last.of(scores, 0, lambda: "once"), last.of(scores, 0, lambda: "again")
    ('once', 'once')
    """

    def __init__(self) -> None:
        self._kept: tuple[FloatArray, int, Result] | None = None

    @one_thread()
    def of(self, scores: FloatArray, seed: int, work: Callable[[], Result]) -> Result:
        """Return the result for these scores; it is worked out if it is not the last one."""
        if self._kept is None or self._kept[0] is not scores or self._kept[1] != seed:
            self._kept = scores, seed, work()
        return self._kept[2]

    def __reduce__(self) -> tuple[type[Last[Result]], tuple[()]]:
        """Say how to make an empty one."""
        return type(self), ()


class WeakFit(NamedTuple):
    """A fit under a wider prior: what claims are made from."""

    scores: FloatArray
    covariance: Covariance
    score_sd: float
    """Spread of that prior."""
    by_prior: FloatArray | None
    """See `FitCovariance`."""


def wider(sd: float, default: float) -> float:
    """Return the spread of the prior that claims are made from.

    Examples
    --------
    >>> wider(0.5, 1.0), wider(2.0, 1.0), wider(5.0, 1.0)
    (1.5, 3.0, 5.0)
    """
    return max(sd, min(_WIDER * sd, _WIDEST * default))


@dataclass(frozen=True, eq=False)
class Quantify:
    """Holds what is needed to work out the uncertainty of a consensus when it is asked for."""

    aggregator: Aggregator
    judgments: AnyJudgments
    integrated: Fit | None = field(default=None, repr=False)
    """The fit, where the annotators were integrated out; else the consensus is a joint mode."""
    _mode: Last[Fit] = field(default_factory=Last, init=False, repr=False)
    _last: Last[FitCovariance] = field(default_factory=Last, init=False, repr=False)
    _factors: Last[Robust] = field(default_factory=Last, init=False, repr=False)
    _weak: Last[WeakFit | None] = field(default_factory=Last, init=False, repr=False)

    @property
    def quick(self) -> bool:
        """Whether that needs no refits."""
        return isinstance(self.aggregator, Likelihood)

    def __call__(
        self,
        consensus: Consensus,
        kind: str,
        /,
        *,
        level: float,
        draws: int,
        seed: int,
        on_draw: Callable[[int, int], None] | None,
    ) -> Uncertainty:
        """Return the uncertainty of a kind at a level."""
        check_choice("uncertainty", kind, registry.UNCERTAINTIES)
        if kind == registry.BOOTSTRAP.name:
            self.judgments.on_one_machine(f"uncertainty '{kind}'")
            return self._bootstrap(consensus, level, draws, seed, on_draw)
        fit = self.covariance(consensus, seed)
        if fit is None:
            raise OptionError(
                f"'{kind}' needs the curvature of the fit, which method '{consensus.method}' does "
                "not provide; choose bootstrap."
            )
        factors = Robust()
        if kind == registry.ROBUST.name:
            factors = self.robust(consensus, fit.covariance, seed)
        own: object = self.aggregator
        return Uncertainty.of(
            kind,
            level,
            consensus.scores,
            fit.covariance,
            robust=factors,
            by_prior=fit.by_prior,
            reliabilities=consensus.reliabilities,
            reliability_variances=fit.reliability_variances,
            logits=fit.logits,
            bounds=own.bounds if isinstance(own, Likelihood) else (-inf, inf),
            scale=fit.scale,
            prior_sd=None if consensus.prior is None else consensus.prior.score_sd,
            **self._groups(consensus, fit.covariance),
            seed=seed,
        )

    # ------------------------------------------------------------- the covariance of the fit
    def covariance(self, consensus: Consensus, seed: int = 0, /) -> FitCovariance | None:
        """Return the covariance of scores and reliabilities; None where it is not known."""
        fit = self.fit(consensus)
        if fit is None:
            return None
        if consensus.prior is None and len(consensus.scores) > MOST_DENSE:
            refuse_pieces(self.judgments)
        return self._last.of(consensus.scores, seed, lambda: self._result(fit, seed))

    def _result(self, fit: Fit, seed: int) -> FitCovariance:
        return FitPosterior(fit, seed).result()

    def fit(self, consensus: Consensus) -> Fit | None:
        """Return the fit of a consensus; None where there is no likelihood."""
        own: object = self.aggregator
        if self.integrated is not None or not isinstance(own, Likelihood):
            return self.integrated
        return self._mode.of(consensus.scores, 0, lambda: self._at_mode(own, consensus))

    def _at_mode(self, own: Likelihood, consensus: Consensus) -> Fit:
        """Return the posterior at a joint mode: that of its expected information."""
        rows = mode_rows(self.judgments)
        theta = self._theta(consensus.reliabilities)
        model = Model(
            rows,
            own.family,
            np.zeros(len(consensus.scores), dtype=np.int64),
            fixed=frozenset({SCORES}),
            penalty=partial(own.penalty, consensus=consensus),
            located=True,
        )
        assert consensus.convergence is not None  # noqa: S101  # of a likelihood it is recorded
        prior = own.annotators_prior(consensus, len(theta))
        problem = ModeProblem(model, theta, prior, equally=consensus.prior is None)
        return problem.fit(consensus.scores, consensus.convergence)

    def _component(self) -> IntArray | None:
        """Return the component of each item; None where features relate items nobody compared."""
        if isinstance(getattr(self.aggregator, "features", None), Features):
            return None
        return self.judgments.graph.component

    def _groups(self, consensus: Consensus, covariance: Covariance | None = None) -> Groups:
        """Return the component of each item, split where groups are weakly joined, and warnings."""

        def of_scores() -> Covariance | None:
            fit = self.covariance(consensus) if covariance is None else None
            return covariance if fit is None else fit.covariance

        sd = None if consensus.prior is None else consensus.prior.score_sd
        component, scores = self._component(), consensus.scores
        return claimed_groups(self.judgments, component, of_scores, sd, scores=scores)

    # ------------------------------------------------------------- dependent answers
    def robust(self, consensus: Consensus, covariance: Covariance, seed: int) -> Robust:
        """Return how much larger errors are because answers depend on each other."""
        return self._factors.of(
            consensus.scores, seed, lambda: self._robust(consensus, covariance, seed)
        )

    def _robust(self, consensus: Consensus, covariance: Covariance, seed: int) -> Robust:
        judgments = gathered(self.judgments, _MOST_GATHERED)
        if judgments is None:
            return Robust()
        row, weight = answer_rows(judgments)
        answers = self._answers(consensus, judgments, row, weight)
        if answers is None:
            return Robust()
        clusters = groupings(judgments, row)
        if consensus.effects is not None and consensus.effects.context_fitted:
            del clusters[judgments.context_name]  # what its answers share is in the fit
        return robust(answers, consensus.scores, covariance, clusters, seed=seed)

    def _answers(
        self, consensus: Consensus, judgments: Judgments, row: IntArray, weight: FloatArray
    ) -> Answers | None:
        """Return what each answer tells, given its row and weight; None where that is unknown."""
        own: object = self.aggregator
        if not isinstance(own, Likelihood):
            return None
        theta = self._theta(consensus.reliabilities)
        gap = consensus.scores[judgments.left] - consensus.scores[judgments.right]
        by_row = theta[judgments.annotator]
        left = np.exp(-win_terms(own.family, gap, by_row).loss)
        left = np.clip(left, _CERTAIN, 1.0 - _CERTAIN)
        in_gap, *in_theta = information_roots(own.family, gap, by_row)
        # Ties count as half a win for each side: they are as frequent for every question.
        tie = judgments.outcome == _TIE
        share = float(judgments.count @ tie) / judgments.n_judgments
        alone = left * (1.0 - left)
        variance = np.maximum((1.0 - share) * (alone + share * np.square(left - 0.5)), _CERTAIN)
        smaller = (1.0 - share) * np.sqrt(alone / variance)
        residual = judgments.outcome - left - share * (0.5 - left)
        answers = Answers(
            judgments.annotator[row],
            judgments.left[row],
            judgments.right[row],
            weight,
            (residual / np.sqrt(variance))[row],
            (smaller * in_gap)[row],
        )
        if not in_theta:
            return answers
        mean, sd = own.parameter_prior(consensus)
        side = np.sign(theta) if own.bounds[0] < 0.0 else 1.0  # a reversed annotator has mean -1
        return replace(
            answers,
            by_reliability=(smaller * in_theta[0])[row],
            excess=theta - side * mean,
            prior_precision=sd**-2,
        )

    def _theta(self, reliabilities: FloatArray) -> FloatArray:
        """Return annotators' parameters as the likelihood has them."""
        own = self.aggregator
        assert isinstance(own, Likelihood)  # noqa: S101  # who calls knows
        if not own.family.names:
            return np.ones(len(reliabilities))
        low, high = own.bounds
        return np.clip(reliabilities, low + HONESTY_MARGIN, high - HONESTY_MARGIN)

    # ------------------------------------------------------------- fitting again
    def _bootstrap(
        self,
        consensus: Consensus,
        level: float,
        draws: int,
        seed: int,
        on_draw: Callable[[int, int], None] | None,
    ) -> Uncertainty:
        """Refit what other annotators, or other contexts, would have given."""
        refit = partial(self._refit, consensus)
        scores = bootstrap(
            self.judgments, consensus, refit, draws=draws, seed=seed, on_draw=on_draw
        )
        fit = self.covariance(consensus)
        if fit is not None and consensus.prior is not None:
            scores += drawn_shrinkage(fit.covariance, consensus.prior, draws, seed)
        clusters = n_contexts(self.judgments) or self.judgments.n_annotators
        # Reliabilities get no interval: whom else one is drawn with says little about one's own.
        return Uncertainty.of(
            registry.BOOTSTRAP.name,
            level,
            consensus.scores,
            covariance_of_draws(scores),
            degrees_of_freedom=min(clusters, draws) - 1,
            **self._groups(consensus),
            seed=seed,
        )

    def _refit(self, consensus: Consensus, part: AnyJudgments) -> Consensus:
        """Fit other judgments in the same way."""
        own = self.aggregator
        if isinstance(own, Likelihood):
            return own.refit(part, consensus, consensus)
        return own.fit(part.on_one_machine("a refit"))

    # ------------------------------------------------------------- what claims are made from
    def unshrunk(
        self, consensus: Consensus, known: Uncertainty, /
    ) -> tuple[FloatArray, Covariance, float]:
        """Return scores for claims, their covariance and its degrees of freedom.

        They are those of the same fit under a prior three times as wide, or as wide as matters.
        Where there is none to widen, or that fit does not converge, the consensus itself gives
        them.
        """
        weak = self._weak.of(consensus.scores, 0, lambda: self._weakly(consensus))
        if weak is None or consensus.prior is None:
            return known.scores, known.covariance, known.degrees_of_freedom
        covariance = known.robust.widened(weak.covariance, weak.score_sd, weak.by_prior)
        if known.kind == registry.BOOTSTRAP.name:
            # Refits are pulled together by the ordinary prior: what that takes away comes back.
            pull = consensus.prior.score_precision - weak.score_sd**-2
            covariance = known.covariance.stretched(weak.covariance, pull)
        return weak.scores, covariance, known.degrees_of_freedom

    def standing(self, consensus: Consensus, /) -> BoolArray | None:
        """Return which gaps stay clear without each single annotator, as ``[above, below]``.

        None where there is one annotator only, or none of many gave a large share of the answers,
        or there are too many items for a matrix.
        """
        own: object = self.aggregator
        judgments, m = gathered(self.judgments, _MOST_GATHERED), len(consensus.annotator_ids)
        n = len(consensus.scores)
        if judgments is None or not isinstance(own, Likelihood) or m == 1 or n > MOST_DENSE:
            return None
        given = np.bincount(judgments.annotator, judgments.weight, m)
        large = np.flatnonzero(given * _FEW > given.sum()) if m > _FEW else np.arange(m)
        if not len(large):
            return None
        wide, stands = self._widened(own, consensus), np.ones((n, n), dtype=bool)
        widening = 1.0 if consensus.stated is None else consensus.stated.robust.used
        for u in large:
            part = judgments.of_rows(judgments.annotator != u)
            fit = own.refit(part, None, wide)
            known = None if fit.quantifier is None else fit.quantifier.covariance(fit)
            dense = None if known is None else known.covariance.dense()
            if dense is None:
                return None
            here = np.flatnonzero(np.isin(consensus.item_ids, fit.item_ids))
            position = aligned(np.arange(float(len(fit.scores))), fit.item_ids, consensus.item_ids)
            scores, i = fit.scores, position[here].astype(np.int64)
            gap = scores[i][:, None] - scores[i]
            se = np.sqrt(widening * dense.gap_variance(i[:, None], i))
            clear = np.zeros((n, n), dtype=bool)
            clear[np.ix_(here, here)] = gap > _STILL_CLEAR * se
            stands &= clear
        return stands

    def _widened(self, own: Likelihood, consensus: Consensus) -> Consensus:
        """Return the consensus with the prior that claims are made from."""
        prior = consensus.prior
        if prior is None:
            return consensus
        sd = wider(prior.score_sd, default_prior(link_of(own.link)).score_sd)
        return replace(consensus, prior=replace(prior, score_sd=sd))

    def _weakly(self, consensus: Consensus) -> WeakFit | None:
        """Fit again under a prior that is wider, from the fit; None where that says nothing."""
        own: object = self.aggregator
        prior = consensus.prior
        if prior is None or not isinstance(own, Likelihood):
            return None
        wide = self._widened(own, consensus)
        if wide.prior is None or wide.prior == prior:
            return None
        if self.judgments.n_judgments >= MANY_JUDGMENTS:
            return self._one_step(consensus, prior.score_precision - wide.prior.score_precision)
        fit: Consensus | Fit
        if self.integrated is not None and consensus.effects is None:
            # From the fit a few iterations lead near enough: scores move by .04 of an error more.
            sds = self.integrated.state.sds | {SCORES: wide.prior.score_sd}
            model = replace(self.integrated.problem.model, fixed=frozenset(sds))
            fit = best(Problem(model), [replace(self.integrated.state, sds=sds)], rough=True)
            known = FitPosterior(fit).result() if fit.convergence.converged else None
        else:
            fit = own.refit(self.judgments, consensus, wide)
            known = fit.quantifier.covariance(fit) if fit.quantifier and converged(fit) else None
        if known is None:
            return None
        return WeakFit(fit.scores, known.covariance, wide.prior.score_sd, known.by_prior)

    def _one_step(self, consensus: Consensus, pull: float) -> WeakFit | None:
        """Do nearly the same by one Newton step, item by item where there is no matrix."""
        known, prior = self.covariance(consensus), consensus.prior
        if known is None or prior is None:
            return None
        sd, scores = (prior.score_precision - pull) ** -0.5, consensus.scores
        dense = known.covariance.dense()
        if dense is not None:
            inverse = np.linalg.inv(np.eye(len(scores)) - pull * dense.matrix)
            matrix = np.asarray(inverse @ dense.matrix, np.float64)
            moved = scores + pull * (matrix @ scores)
            return WeakFit(moved, DenseCovariance(matrix), sd, known.by_prior)
        if not isinstance(known.covariance, SolvedCovariance):
            return None
        variances = np.minimum(known.covariance.variances, prior.score_sd**2)
        wider_by = 1.0 / (1.0 - pull * variances)
        return WeakFit(scores * wider_by, known.covariance.scaled(wider_by), sd, None)

    # ------------------------------------------------------------- rows, new items, predictions
    def row_scores(self, consensus: Consensus) -> RowScores | None:
        """Return what each judgment does to the scores; None where the fit does not know."""
        judgments = self.judgments.local
        fit = None if judgments is None else self.fit(consensus)
        if fit is None or judgments is None:
            return None
        curvature, rows = fit.curvature, rows_here(fit.problem.model.rows, judgments)
        if rows is not fit.problem.model.rows:
            curvature = fit.problem.of_rows(rows).at(fit.state)
        tape, where = curvature.tape, rows.blocks[SCORES].where
        return RowScores(
            rows, -tape.score[GAP], tape.curvature[GAP, GAP], curvature.precision[where]
        )

    def place(self, consensus: Consensus, judgments: AnyJudgments) -> Scores:
        """Place items that were judged later, with all that was fitted fixed."""
        judgments = judgments.on_one_machine("placing items")
        own: object = self.aggregator
        if not isinstance(own, Likelihood):
            raise OptionError(
                f"method '{consensus.method}' cannot place single items; aggregate all judgments "
                "again."
            )
        fixed = aligned(consensus.scores, consensus.item_ids, judgments.item_ids)
        new = np.flatnonzero(np.isnan(fixed))
        if not len(new):
            raise TooLittleDataError(
                f"{judgments.source}: every item is in the consensus already; aggregate all "
                "judgments again to move them."
            )
        scores, sd = self._placed(judgments, new, fixed, consensus)
        return Scores(judgments.item_ids[new], scores, sd, judgments.source)

    def _placed(
        self, judgments: Judgments, new: IntArray, fixed: FloatArray, consensus: Consensus
    ) -> tuple[FloatArray, FloatArray]:
        """Return scores of new items and their standard deviations, the others' scores fixed."""
        own = self.aggregator
        assert isinstance(own, Likelihood)  # noqa: S101  # others cannot place
        known = aligned(consensus.reliabilities, consensus.annotator_ids, judgments.annotator_ids)
        typical = float(np.median(consensus.reliabilities))
        rows, scores, sd = mode_rows(judgments), np.empty(len(new)), np.empty(len(new))
        theta = self._theta(np.where(np.isnan(known), typical, known))[rows.owner]
        for k, item in enumerate(new.tolist()):
            won = (rows.left == item) & np.isfinite(fixed[rows.right])
            lost = (rows.right == item) & np.isfinite(fixed[rows.left])
            mine = won | lost
            if not mine.any():
                refuse_apart(judgments, item)
            sign = np.where(won, 1.0, -1.0)[mine]
            other = np.where(won, fixed[rows.right], fixed[rows.left])[mine]
            answers = sign, other, theta[mine], rows.answers.weight[mine]
            scores[k], sd[k] = _score_against(own, consensus, *answers)
        return scores, sd

    def probabilities(self, consensus: Consensus, judgments: AnyJudgments) -> FloatArray:
        """Return the probability that each row's annotator prefers its left item."""
        judgments = judgments.on_one_machine("the probability of each judgment")
        own: object = self.aggregator
        if not isinstance(own, Likelihood) or consensus.uncertainty is None:
            raise OptionError(
                f"method '{consensus.method}' gives no probabilities of judgments; choose "
                f"{registry.DEFAULT_METHOD}."
            )
        ids, sd = consensus.item_ids, 0.0 if consensus.prior is None else consensus.prior.score_sd
        position = aligned(np.arange(float(len(ids))), ids, judgments.item_ids)
        known = np.isfinite(position)
        where = np.where(known, position, 0).astype(np.int64)
        scores = np.where(known, consensus.scores[where], 0.0)
        covariance, left, right = consensus.uncertainty.covariance, judgments.left, judgments.right
        variances = np.where(known, covariance.variances[where], sd**2)
        variance_of_gap = variances[left] + variances[right]
        if isinstance(covariance, DenseCovariance):
            both = known[left] & known[right]
            pairs = where[left[both]], where[right[both]]
            variance_of_gap[both] = covariance.gap_variance(*pairs)
        nodes, weights = self._nodes(consensus, judgments)
        gap, total = scores[left] - scores[right], np.zeros(len(left))
        for point, share in zip(GAP_POINTS, GAP_WEIGHTS, strict=True):
            moved = gap + point * np.sqrt(variance_of_gap)
            for k in range(nodes.shape[1]):
                loss = win_terms(own.family, moved, nodes[judgments.annotator, k]).loss
                total += share * weights[judgments.annotator, k] * np.exp(-loss)
        return total

    def outcomes(self, consensus: Consensus, judgments: AnyJudgments) -> FloatArray:
        """Return the probabilities of left, right and tie: of ties, their share everywhere."""
        left = self.probabilities(consensus, judgments)
        fitted = self.judgments.on_one_machine("the probability of each outcome")
        weight = np.asarray(fitted.weight)
        tied = float(weight[np.asarray(fitted.outcome) == _TIE].sum())
        share = (tied + 0.5) / (float(weight.sum()) + 1.0)  # never 0: there may be one yet
        chances = [(1.0 - share) * left, (1.0 - share) * (1.0 - left), np.full(len(left), share)]
        return np.stack(chances, axis=1)

    def _nodes(
        self, consensus: Consensus, judgments: AnyJudgments
    ) -> tuple[FloatArray, FloatArray]:
        """Return values of each annotator's parameter and their probabilities.

        Of annotators who were not fitted, those of all who were stand for theirs.
        """
        fit, ids = self.fit(consensus), judgments.annotator_ids
        assert fit is not None  # noqa: S101  # others have no probabilities
        nodes, weights = np.ones((len(consensus.reliabilities), 1)), fit.posterior.weights
        if fit.posterior.names:
            nodes = fit.posterior.nodes[:, :, 0]
        if fit.problem.model.beta is not None:
            nodes = expit(nodes)
        position = aligned(np.arange(float(len(nodes))), consensus.annotator_ids, ids)
        fitted = np.isfinite(position)
        where = np.where(fitted, position, 0).astype(np.int64)
        # Their middle and ends: quantiles, each as probable.
        anyone = np.quantile(consensus.reliabilities, _ANYONE)
        shape = (len(ids), max(nodes.shape[1], len(_ANYONE)))
        values, shares = np.full(shape, 0.5), np.zeros(shape)
        values[:, : nodes.shape[1]], shares[:, : nodes.shape[1]] = nodes[where], weights[where]
        values[~fitted, : len(_ANYONE)], shares[~fitted] = anyone, 0.0
        shares[~fitted, : len(_ANYONE)] = 1.0 / len(_ANYONE)
        return values, shares


def _score_against(
    own: Likelihood, consensus: Consensus, *answers: FloatArray
) -> tuple[float, float]:
    """Return the most probable score of one item against others, and its standard deviation.

    Of each answer: 1 if the item won and −1 if it lost, the score of the other one, the parameter
    of the annotator, and the weight.
    """
    from scipy.optimize import minimize_scalar

    sign, other, theta, weight = answers

    def loss(score: float) -> float:
        terms = win_terms(own.family, sign * (score - other), theta)
        return float(weight @ terms.loss) + own.penalty(np.array([score]), consensus)[0]

    bound = 10.0 * link_of(own.link).sd + float(np.abs(other).max())
    best = float(minimize_scalar(loss, bounds=(-bound, bound), method="bounded").x)
    root = information_roots(own.family, sign * (best - other), theta)[0]
    precision = float(weight @ np.square(root))
    precision += float(own.penalty(np.array([best]), consensus)[2][0])
    return best, max(precision, 1e-300) ** -0.5


def converged(consensus: Consensus) -> bool:
    """Tell whether a fit reached its optimum.

    Examples
    --------
    >>> import aggcal
    >>> converged(aggcal.aggregate([("ann", "a", "b"), ("bob", "a", "b")], warn=False))
    True
    """
    return consensus.convergence is not None and consensus.convergence.converged


def refuse_apart(judgments: Judgments, item: int) -> NoReturn:
    """Refuse to place an item that nothing relates to the others."""
    raise TooLittleDataError(
        f"{judgments.source}: item '{judgments.item_ids[item]}' was compared with no item of the "
        "consensus; add such a judgment or leave it out."
    )


def refuse_pieces(judgments: AnyJudgments) -> None:
    """Refuse errors that would be endless: without a prior nothing relates separate pieces."""
    pieces = len(judgments.graph.component_sizes)
    if pieces > 1:
        raise OptionError(
            f"the comparisons form {pieces:,} connected components and there is no prior, so "
            "scores of different components have no common scale; use a prior (the default)."
        )
