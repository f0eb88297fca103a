r"""Joint modes: scores, and every annotator's parameter at its mode, or annotators alike.

    Σ −log P(answer; s, θ_u)  +  Σ s_i²/(2σ²)  −  Σ log p(θ_u)

is minimised over s with each θ_u at its own mode (`Profile`). For annotators alike it is convex,
and their σ is estimated along the way; with a parameter for each annotator it has many optima, the
worst of which are upside down, and where they matter the search begins in several places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isfinite, log, sqrt
from typing import Any, Protocol, TypeVar

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, dot
from aggcal.aggregation.annotators import Beta, Normal, Prior
from aggcal.aggregation.families import RELIABILITY, Advantage, Family, Mixture, Wins
from aggcal.aggregation.links import Link
from aggcal.aggregation.newton import Convergence, Evaluation, Progress, anderson, minimise
from aggcal.aggregation.rows import Plan, Rows
from aggcal.aggregation.shards import annotators_of, lay_out, pooled_rows
from aggcal.aggregation.spreads import DEFAULT_RELIABILITY_SD, centred, next_sd, score_count
from aggcal.aggregation.tape import Tape
from aggcal.data.base import AnyJudgments

HONESTY_MARGIN = 1e-12
"""An honesty stops this short of 0 and 1: no judgment is then impossible."""
_BETWEEN, _ANYWHERE = (HONESTY_MARGIN, 1.0 - HONESTY_MARGIN), (-inf, inf)
_LEAST_CURVATURE = 1e-2
"""Share of the curvature between equal items that the solver scales by at least: a mixture's is
negative in places."""
_ROUGH, _ROUGH_APART, _ROUGH_SD = 1e-3, 1e-4, 1e-5
"""Relative gradient norms of fits that another one starts from: smaller takes longer."""
_SPARE = 0.5
"""Wins and losses that each item is given for a start: without, one may be infinitely far."""
_MANY_REVERSED = 0.05
"""Share of judgments by reversed annotators that makes a second start worth its time."""
_NOTHING_LEARNT = 1e-3
"""Range of scores that says as much: the fit stayed at its saddle point."""
_HOLDS_THE_UNSEEN = 1e-3
"""Precision that keeps unseen items near 0 in a start, and others where they are."""
_ANOTHER_OPTIMUM, _SAME_ORDER = 1e-2, 0.5
"""Scores that differ by more are another optimum; a correlation of two optima's scores above which
their order is the same: the mirrored one is at −1, and optima that differ in who is reliable, or in
the sds, are near 1."""
_ROUNDING = 1e-12
"""Relative difference of equal objectives: the first start then wins."""
_FEW_ANNOTATORS, _FEW_ROWS = 12, 2000
"""Up to so many, each annotator is tried the other way round: it takes milliseconds."""
_MOST_DENSE = 300
"""Up to so many items variances are exact; beyond, they are those of the diagonal."""
_SD_ROUNDS, _SD_CLOSE = 60, 1e-10
"""Fits in search of σ at most, and a change of its logarithm that counts as none."""
VANISHING = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
"""Precisions of priors that get weaker; the last is too weak to matter."""


_F = TypeVar("_F", bound="Optimum")
_S = TypeVar("_S")


class Profile:
    """The penalised likelihood as a function of the scores.

    Parameters
    ----------
    rows
        Wins of their left items (`mode_rows`).
    family
        Their likelihood.
    prior
        Of the annotators' parameters, which are then at their modes; None where there are none.
    precision
        Of the scores' normal prior about 0; 0 for none, and they are then free up to a constant.
    reliabilities
        Of annotators whose reliabilities are known, where there is no prior: 1 unless stated.
    """

    def __init__(
        self,
        rows: Rows,
        family: Family,
        prior: Prior | None,
        precision: float,
        *,
        reliabilities: FloatArray | None = None,
    ) -> None:
        self.rows, self.family, self.prior, self.precision = rows, family, prior, precision
        self.reliabilities, mixture = reliabilities, isinstance(family, Mixture)
        self.annotators = annotators_of(rows, family, _BETWEEN if mixture else _ANYWHERE)
        self._least_curvature = _LEAST_CURVATURE if mixture else 0.0
        law: Any = getattr(family, "law", family)
        self.link: Link = law.link
        self.tape: Tape
        self.diagonal: FloatArray
        """Of the curvature of fixed parameters, both at the last scores."""

    @cached_property
    def _weights(self) -> FloatArray:
        return self.rows.item_weights

    def minimise(
        self, start: FloatArray, tolerance: float, on_iteration: Progress | None = None
    ) -> tuple[FloatArray, Convergence]:
        """Return the scores that an optimum has, from a start, and how it was reached."""
        self.annotators.restart()
        shared = self.prior is not None
        return minimise(
            self, start, tolerance=tolerance, shared_scale=shared, on_iteration=on_iteration
        )

    def evaluate(self, scores: FloatArray) -> Evaluation:
        """Bring the annotators' parameters to their modes, and return value and derivatives."""
        if self.prior is None:
            self.tape = self.annotators.alike(scores, reliabilities=self.reliabilities)
        else:
            self.tape = self.annotators.maximised(scores, self.prior)
        gradient = self.tape.gradient + self.precision * scores
        _, score, curvature = self.link.at_zero
        least = self._least_curvature * curvature * self._weights
        self.diagonal = np.maximum(self.tape.diagonals()[0], least) + self.precision
        norm = float(np.max(np.abs(gradient) / (score * self._weights + self.precision)))
        value = self.tape.value + 0.5 * self.precision * dot(scores, scores)
        return Evaluation(value, gradient, self.diagonal, norm)

    def product(self, vector: FloatArray) -> FloatArray:
        """Multiply by the curvature at the last scores."""
        return self.tape.product(vector) + self.precision * vector

    def dense(self) -> FloatArray:
        """Return the curvature at the last scores as a matrix."""
        return self.tape.dense()[0] + self.precision * np.eye(self.rows.n_items)


def mode_rows(judgments: AnyJudgments) -> Rows:
    """Lay out judgments as weighted wins."""
    return lay_out(judgments, Plan(wins=True))


@dataclass(frozen=True, eq=False)
class Mode:
    """Scores and annotators' parameters at an optimum."""

    scores: FloatArray
    theta: FloatArray
    """Of each annotator: their reliability, or honesty; 1 where all are alike."""
    objective: float
    log_likelihood: float
    convergence: Convergence
    rival: float | None = None
    """Objective of the best optimum with another order, where others were looked for."""

    @property
    def cost(self) -> float:
        """What optima are compared by."""
        return self.objective


@dataclass(frozen=True, eq=False)
class Modes:
    """The modes of some rows under a link: where the search begins, and where it ends."""

    rows: Rows
    link: Link
    tolerance: float
    on_iteration: Progress | None = None

    # ------------------------------------------------------------- annotators alike
    def alike(self, precision: float, start: FloatArray | None = None) -> Mode:
        """Fit scores whose prior has a precision, all annotators being alike."""
        every = self._alike(precision)
        return self._fit(every, self._by_wins() if start is None else start)

    def alike_of_estimated_sd(
        self, component: IntArray, default_sd: float, start: FloatArray | None = None
    ) -> tuple[float, Mode]:
        """Return the σ of the scores, a fixed point of `next_sd`, and the fit with it.

        Parameters
        ----------
        component
            Connected component of each item: the mean of each is a convention.
        default_sd
            Where to begin, and what log σ ~ N(0, 1) is in units of.
        start
            Scores to begin with.
        """
        every, n = self._alike(default_sd**-2), len(component)
        count = score_count(n - int(component.max()) - 1, default_sd)
        scores = self._by_wins() if start is None else start
        sigma, close, path = default_sd, _ROUGH_SD, list[tuple[FloatArray, FloatArray]]()
        for _ in range(_SD_ROUNDS):
            every.precision = sigma**-2
            scores = every.minimise(scores, close)[0]
            if n <= _MOST_DENSE:
                inverse: FloatArray = np.linalg.inv(every.dense()).astype(np.float64)
                variances = np.diag(centred(inverse, component))
            else:
                variances = 1.0 / every.diagonal
            new = next_sd(sigma, scores, variances, count)
            change = abs(log(new / sigma))
            if change < _SD_CLOSE:
                break
            path.append((np.log([sigma]), np.log([new])))
            sigma = float(np.exp(anderson(path[-2:])[0]))
            close = min(_ROUGH_SD, max(1e-2 * change, self.tolerance))
        every.precision = sigma**-2
        return sigma, self._fit(every, scores)

    def likelihood_maximum(self, start: FloatArray | None, *, exists: bool) -> Mode:
        """Fit without a prior, all annotators being alike; of weak priors if there is no maximum.

        Priors too weak to matter hold what the data leave free.
        """
        for precision in (0.0, *VANISHING) if exists else VANISHING:
            fit = self.alike(precision, start)
            if precision == 0.0 and fit.convergence.converged:
                return replace(fit, scores=fit.scores - fit.scores.mean())
            start = fit.scores if precision else start
        return fit

    # ------------------------------------------------------------- a reliability for each
    def reliable(
        self,
        precision: float,
        reliability_precision: float,
        start: FloatArray | None = None,
        *,
        trusted: bool = False,
        tolerance: float | None = None,
    ) -> Mode:
        """Fit scores and reliabilities of given precisions.

        A start that is not ``trusted`` may lead to a worse optimum: where the fit is doubtful, or
        the study small, others are looked for. From where annotators are alike the best optimum was
        reached unless they contradict each other so much that their average says little.
        """
        rows = self.rows
        prior = Normal(np.ones((rows.n_annotators, 1)), np.array([reliability_precision**-0.5]))
        family = Advantage((RELIABILITY,), Wins(self.link))
        each = Profile(rows, family, prior, precision)

        def fit(begin: FloatArray) -> Mode:
            return self._fit(each, begin, tolerance)

        def others(best: Mode) -> list[FloatArray]:
            turned = [] if trusted else self._turned(precision)
            torn = doubtful(best.scores, best.theta, rows.annotator_weights) and not trusted
            if not (turned or torn):
                return []
            again = [] if start is None else [self.rough(precision)]
            return [-best.scores, self.first_voice(precision), *turned, *again]

        begin = self.rough(precision) if start is None else start
        best, above = search([fit(begin)], fit, others, lambda mode: -mode.scores, _ROUNDING)
        return replace(best, rival=None if above is None else best.objective + above)

    def likelihood_maximum_of_each(
        self, start: FloatArray | None = None, *, trusted: bool = False
    ) -> Mode:
        """Fit scores and reliabilities without a prior, with a mean reliability of 1.

        The scale is free between them, and there may be no maximum at all: priors too weak to
        matter hold what the data leave free, approached step by step because the bare likelihood
        has many optima.
        """
        for k, precision in enumerate(VANISHING):
            fit = self.reliable(precision, precision, start, trusted=trusted or k > 0)
            start = fit.scores
        scale = float(fit.theta.mean())
        if scale <= 0.1 * float(np.abs(fit.theta).mean()):
            return fit
        return replace(
            fit,
            scores=fit.scores * scale,
            theta=fit.theta / scale,
            objective=-fit.log_likelihood,
        )

    # ------------------------------------------------------------- an honesty for each
    def honest(
        self,
        family: Mixture,
        prior: Beta,
        precision: float,
        start: FloatArray | None = None,
        *,
        trusted: bool = False,
    ) -> Mode:
        """Fit scores and honesties, from where annotators are alike and from where they are not.

        From either alone, small studies may end in a worse optimum.
        """
        each = Profile(self.rows, family, prior, precision)
        starts = [] if start is None else [start]
        if not (trusted and starts):
            starts += self.starts_of_mixture(family.width, precision)
        fits = [self._fit(each, begin) for begin in starts]
        return min(fits, key=lambda fit: fit.objective)

    def starts_of_mixture(self, width: float, precision: float) -> list[FloatArray]:
        """Return where the search for a mixture begins."""
        precision *= width**2
        alike = self.rough(precision)
        apart = self.reliable(
            precision, DEFAULT_RELIABILITY_SD**-2, alike, tolerance=_ROUGH_APART
        ).scores
        starts = [alike, apart]
        turned = self._turned(precision)
        if turned:
            starts += [-alike, -apart, self.first_voice(precision), *turned]
        return [width * scores for scores in starts]

    # ------------------------------------------------------------- where to begin
    def rough(self, precision: float, reliabilities: FloatArray | None = None) -> FloatArray:
        """Return the rough optimum with known reliabilities, which is convex: there is one only."""
        every = self._alike(precision, reliabilities)
        begin = self._by_wins() if reliabilities is None else np.zeros(self.rows.n_items)
        return every.minimise(begin, _ROUGH)[0]

    def first_voice(self, precision: float) -> FloatArray:
        """Return the rough optimum for the judgments of the most active annotator alone."""
        weights = self.rows.annotator_weights
        alone = np.zeros(len(weights))
        alone[np.argmax(weights)] = 1.0
        return self.rough(max(precision, _HOLDS_THE_UNSEEN), alone)

    def _turned(self, precision: float) -> list[FloatArray]:
        """Return the rough optima with each annotator turned round, where the study is small.

        In a small study one annotator may decide which of several optima is the best.
        """
        m = self.rows.n_annotators
        if m > _FEW_ANNOTATORS or len(self.rows) > _FEW_ROWS:
            return []
        signs = np.ones((m, m)) - 2.0 * np.eye(m)
        return [self.rough(max(precision, _HOLDS_THE_UNSEEN), each) for each in signs]

    def _by_wins(self) -> FloatArray:
        """Return scores by the share of its comparisons that each item won, others being equal."""
        won, lost = self.rows.item_wins, self.rows.item_weights - self.rows.item_wins
        _, score, curvature = self.link.at_zero
        # The score of a share near one half, over the curvature there, is a share's logit by this.
        return np.asarray(0.5 * score / curvature * np.log((won + _SPARE) / (lost + _SPARE)))

    def _alike(self, precision: float, reliabilities: FloatArray | None = None) -> Profile:
        rows = self._pooled if reliabilities is None else self.rows
        family = Advantage((), Wins(self.link))
        return Profile(rows, family, None, precision, reliabilities=reliabilities)

    @cached_property
    def _pooled(self) -> Rows:
        return pooled_rows(self.rows)

    def _fit(self, each: Profile, start: FloatArray, tolerance: float | None = None) -> Mode:
        close = self.tolerance if tolerance is None else tolerance
        scores, record = each.minimise(start, close, self.on_iteration)
        theta, of_prior = np.ones(self.rows.n_annotators), 0.0
        if each.prior is not None:
            theta = each.annotators.theta[:, 0]
            of_prior = float(each.prior.terms(each.annotators.theta)[0].sum())
        return Mode(scores, theta, record.objective, of_prior - each.tape.value, record)


def doubtful(scores: FloatArray, reliabilities: FloatArray, weights: FloatArray) -> bool:
    """Whether another optimum may be better: many reversed annotators, or nothing learnt at all.

    Reversed is whose reliability is negative; annotators count by ``weights``.

    Examples
    --------
    >>> doubtful(np.array([1.0, -1.0]), np.array([1.0, -1.0]), np.array([1.0, 1.0]))
    True
    """
    against = float(weights[reliabilities < 0.0].sum() / weights.sum())
    return against > _MANY_REVERSED or float(np.ptp(scores)) < _NOTHING_LEARNT


class Optimum(Protocol):
    """What a fit from one of several starts came to."""

    @property
    def scores(self) -> FloatArray:
        """Of the items."""
        ...

    @property
    def cost(self) -> float:
        """What optima are compared by."""
        ...

    @property
    def convergence(self) -> Convergence:
        """How it was reached."""
        ...


def search(
    first: Sequence[_F],
    fit: Callable[[_S], _F],
    others: Callable[[_F], Iterable[_S]],
    mirrored: Callable[[_F], _S],
    close: float,
) -> tuple[_F, float | None]:
    """Fit from where the best of the first fits suggests, too, and from the mirror of the best.

    Without mirrors and other starts, 6% of rankings came out upside down and no warning was given
    where a third or two fifths of the annotators were reversed (960 studies, ten shapes).

    Parameters
    ----------
    first
        Optima.
    fit, others
        Returns the optimum that a start leads to, and further starts in view of the best optimum.
    mirrored
        Returns where it would be if those who are reversed were not, and all others were.
    close
        Relative difference of costs up to which the first of two optima is taken.

    Returns
    -------
    tuple
        The lowest optimum, and by how much the best of those with another order is above it.
    """
    further = [fit(start) for start in others(_lowest(first, close)[0])]
    fits = [*first, *further]
    if further:
        fits.append(fit(mirrored(_lowest(fits, close)[0])))
    return _lowest(fits, close)


def _lowest(fits: Sequence[_F], close: float) -> tuple[_F, float | None]:
    # A start that is far off may lead nowhere: that is no optimum to compare with.
    fits = [each for each in fits if each.convergence.converged] or fits
    costs = [each.cost if isfinite(each.cost) else inf for each in fits]
    least = min(costs)
    best, cost = next(
        pair for pair in zip(fits, costs, strict=True) if pair[1] <= least + close * abs(least)
    )
    pairs = zip(fits, costs, strict=True)
    apart = [other - cost for each, other in pairs if another_order(each.scores, best.scores)]
    return best, min(apart, default=None)


def another_order(scores: FloatArray, best: FloatArray) -> bool:
    """Whether two optima put the items in quite different orders.

    Examples
    --------
    >>> another_order(np.array([1.0, 0.0, -1.0]), np.array([2.0, 0.5, -2.5]))
    False
    >>> another_order(np.array([1.0, 0.0, -1.0]), np.array([-1.0, 0.0, 1.0]))
    True
    """
    if np.max(np.abs(scores - best)) <= _ANOTHER_OPTIMUM:
        return False
    x, y = scores - scores.mean(), best - best.mean()
    return dot(x, y) <= _SAME_ORDER * sqrt(dot(x, x) * dot(y, y))
