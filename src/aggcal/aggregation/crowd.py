"""The crowd mixtures as aggregators: CrowdBT and CrowdTCV."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from math import sqrt

import numpy as np

from aggcal import registry
from aggcal._core.arrays import FloatArray
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.estimate import Quantify
from aggcal.aggregation.marginal import marginal_consensus
from aggcal.aggregation.solve.fit import (
    Fit,
    first_voice,
    fit_objective,
    fit_thurstone,
    rough_start,
    turned_starts,
)
from aggcal.aggregation.solve.marginal import fit_marginal
from aggcal.aggregation.solve.marginal_problem import MarginalProblem
from aggcal.aggregation.start import (
    Progress,
    Start,
    not_converged,
    refuse_auto,
    start_reliabilities,
    start_scores,
)
from aggcal.aggregation.thurstone import PriorChoice
from aggcal.data.base import AnyJudgments
from aggcal.data.graph import ComparisonGraph
from aggcal.data.warnings import data_warnings
from aggcal.errors import OptionError, check_choice
from aggcal.models.crowd import MARGIN, Crowd, crowd
from aggcal.models.links import link as link_of
from aggcal.models.marginal_crowd import integrated_crowd
from aggcal.models.objective import Objective
from aggcal.models.priors import DEFAULT_RELIABILITY_SD, Prior, default_prior
from aggcal.models.rows import Rows, rows_of
from aggcal.registry.literals import Estimator

_TOLERANCE = 1e-10
"""Relative gradient norm: smaller takes longer, larger leaves scores off their optimum."""
_ROUGH = 1e-4  # the same for a start, which the fit improves on
_ALPHA, _BETA = 4.0, 1.0
"""A prior of mostly honest annotators: it predicted held-out judgments best, or nearly."""
_ROW_CAP = 1.0
"""Uncertainty of a gap, in units of the default spread, up to which it is averaged over: with more,
where items were judged some twenty times, intervals of η cover too little."""
_RANDOM = 0.5  # η of one who tosses a coin


@dataclass(frozen=True)
class CrowdAggregator:
    """P(u puts i above j) = η_u F(d/c) + (1 − η_u) F(−d/c): η integrated out, or the joint mode."""

    prior: PriorChoice = "default"
    alpha: float = _ALPHA
    beta: float = _BETA
    virtual: float = 0.0
    tolerance: float = _TOLERANCE
    seed: int = 0
    link: str = field(default=registry.LOGISTIC.name, init=False, repr=False)
    width: float = field(default=1.0, init=False, repr=False)
    name: str = field(default=registry.CROWD_BT.name, init=False, repr=False)
    estimator: Estimator = "marginal"

    def __post_init__(self) -> None:
        if self.prior is None:
            raise OptionError(
                f"{self.name} needs a prior on the scores; choose --prior default, or --score-sd X."
            )
        check_choice("estimator", self.estimator, registry.ESTIMATORS)
        for name, value, least in (
            ("alpha", self.alpha, 1.0),
            ("beta", self.beta, 1.0),
            ("virtual", self.virtual, 0.0),
        ):
            if not value >= least:
                raise OptionError(f"{name} of {self.name} is {value}; give at least {least:g}.")

    def fit(
        self,
        judgments: AnyJudgments,
        /,
        *,
        start: Start = None,
        on_iteration: Progress | None = None,
    ) -> Consensus:
        """Fit from where all annotators are alike and from where they have reliabilities."""
        return self._fitted(judgments, start, on_iteration)

    def _fitted(
        self,
        judgments: AnyJudgments,
        start: Start,
        on_iteration: Progress | None = None,
        *,
        trusted: bool = False,
    ) -> Consensus:
        began = time.perf_counter()
        if self.prior == "auto" and not judgments.integrates:
            refuse_auto(self.name)
        rows, graph = rows_of(judgments), judgments.graph
        said = [] if trusted else data_warnings(judgments)  # the first fit has said it
        begin = start_scores(start, judgments)
        starts = [] if begin is None else [begin]
        if not (trusted and starts):
            starts += self._starts(rows)
        if self.estimator == "marginal" and judgments.integrates:
            found = fit_marginal(
                self.marginal_problem(rows, graph),
                lambda best: starts if best is None else [],
                score_sd=self.prior.score_sd if isinstance(self.prior, Prior) else None,
                on_iteration=on_iteration,
            )
            return marginal_consensus(
                self,
                judgments,
                found,
                said,
                began,
                random_reliability=_RANDOM,
                prior=Prior(found.population.score_sd, DEFAULT_RELIABILITY_SD),
            )
        probabilities = start_reliabilities(start, judgments, self.name)
        fit = self._mode(rows, begin, starts, probabilities, on_iteration)
        return Consensus.of(
            judgments,
            fit.scores,
            method=self.name,
            reliabilities=_closed(fit.reliabilities),
            random_reliability=_RANDOM,
            warnings=(*said, *not_converged(self.name, fit.convergence)),
            objective=fit.objective,
            log_likelihood=fit.log_likelihood,
            convergence=fit.convergence,
            prior=Prior(self._score_sd(), DEFAULT_RELIABILITY_SD),
            estimator="mode",
            seconds=time.perf_counter() - began,
            quantifier=Quantify(self, judgments),
        )

    def _mode(
        self,
        rows: Rows,
        begin: FloatArray | None,
        starts: list[FloatArray],
        probabilities: FloatArray | None,
        on_iteration: Progress | None,
    ) -> Fit:
        """Return the best of the optima that the starts lead to."""

        def fitted(scores: FloatArray) -> Fit:
            problem = self._problem(rows, self._score_sd() ** -2)
            if probabilities is not None and scores is begin:
                problem.begin_with(self.parameters(probabilities))
            return fit_objective(
                problem, scores, tolerance=self.tolerance, on_iteration=on_iteration
            )

        return min(map(fitted, starts), key=lambda found: found.objective)

    def _score_sd(self) -> float:
        if isinstance(self.prior, Prior):
            return self.prior.score_sd
        return default_prior(link_of(self.link)).score_sd * self.width

    def _starts(self, rows: Rows) -> list[FloatArray]:
        """Return where to begin: from either alone, small studies may end in a worse optimum."""
        link, precision = link_of(self.link), (self.width / self._score_sd()) ** 2
        alike = rough_start(rows, link, precision)
        apart = fit_thurstone(
            rows,
            link,
            score_precision=precision,
            reliability_precision=DEFAULT_RELIABILITY_SD**-2,
            tolerance=_ROUGH,
            start=alike,
        )
        found = [alike, apart.scores]
        turned = turned_starts(rows, link, precision)
        if turned:
            found += [-alike, -apart.scores, first_voice(rows, link, precision), *turned]
        return [self.width * scores for scores in found]

    def marginal_problem(self, rows: Rows, graph: ComparisonGraph) -> MarginalProblem:
        """Return the likelihood of these rows with η integrated out."""
        problem = self._problem(rows, 0.0)
        default_sd = default_prior(link_of(self.link)).score_sd * self.width
        return MarginalProblem(
            integrated_crowd(problem, self.alpha, self.beta),
            graph.component,
            default_sd,
            has_unit=False,
            virtual=problem if self.virtual > 0.0 else None,
            row_cap=_ROW_CAP,
        )

    @property
    def heterogeneous(self) -> bool:
        """Every annotator has a chance of their own."""
        return True

    @property
    def bounds(self) -> tuple[float, float]:
        """η is a chance."""
        return 0.0, 1.0

    def problem(self, rows: Rows, consensus: Consensus) -> Objective:
        """Return the objective of these rows."""
        if consensus.prior is None:
            raise ValueError("the crowd mixtures always have a prior")
        return self._problem(rows, consensus.prior.score_precision)

    def parameters(self, reliabilities: FloatArray) -> FloatArray:
        """Return η, kept off the ends of its interval."""
        return np.clip(reliabilities, MARGIN, 1.0 - MARGIN)

    def parameter_prior(self, consensus: Consensus) -> tuple[float, float]:  # noqa: ARG002
        """Return those of the Beta prior of η."""
        total = self.alpha + self.beta
        return self.alpha / total, sqrt(self.alpha * self.beta / (total + 1.0)) / total

    def unit_weights(self, rows: Rows, consensus: Consensus) -> FloatArray | None:  # noqa: ARG002
        """Return none: a chance of honest reports does not stretch the scores."""
        return None

    def refit(self, judgments: AnyJudgments, start: Start, consensus: Consensus) -> Consensus:
        """Fit other judgments in the same way."""
        kept = replace(self, prior=consensus.prior)
        return kept._fitted(judgments, start, trusted=True)  # noqa: SLF001

    def _problem(self, rows: Rows, precision: float) -> Crowd:
        return crowd(
            rows,
            link_of(self.link),
            precision,
            alpha=self.alpha,
            beta=self.beta,
            width=self.width,
            virtual=self.virtual,
        )


def _closed(eta: FloatArray) -> FloatArray:
    """Put what stopped at the solver's margin onto the end of the interval itself."""
    return np.where(eta <= 2 * MARGIN, 0.0, np.where(eta >= 1.0 - 2 * MARGIN, 1.0, eta))


@dataclass(frozen=True)
class CrowdBT(CrowdAggregator):
    """CrowdBT: a logistic link, and annotators who may report the opposite of what they see.

    Parameters
    ----------
    prior
        A `Prior`, whose ``score_sd`` is used, or ``"default"`` to estimate the spread.
    alpha, beta
        Parameters of the Beta prior of η, the probability of an honest report; each at least 1.
        The default (4, 1) predicted held-out judgments of the real datasets best, or nearly.
    virtual
        Weight of the virtual annotator of the original, who sees every item win once and lose
        once against an item of score 0.
    tolerance
        Relative gradient norm at which a fit of the mode is finished.
    seed
        Seed for all random numbers.
    estimator
        ``"marginal"`` integrates η out; ``"mode"`` maximises over scores and η together, with a
        standard normal prior on the scores. A graphics card always fits the mode.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("bob", "a", "b"), ("bob", "b", "c"), ("eve", "b", "a")]
    >>> CrowdBT().fit(aggcal.read_judgments(rows)).convergence.converged
    True
    """


@dataclass(frozen=True)
class CrowdTCV(CrowdAggregator):
    """CrowdTCV: as `CrowdBT` with the normal link, P = η Φ(d/√2) + (1 − η) Φ(−d/√2).

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("bob", "a", "b"), ("bob", "b", "c"), ("eve", "b", "a")]
    >>> CrowdTCV(virtual=1.0).fit(aggcal.read_judgments(rows)).convergence.converged
    True
    """

    link: str = field(default=registry.NORMAL.name, init=False, repr=False)
    width: float = field(default=sqrt(2.0), init=False, repr=False)
    name: str = field(default=registry.CROWD_TCV.name, init=False, repr=False)
