"""The crowd mixtures as aggregators: CrowdBT and CrowdTCV."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from math import sqrt

import numpy as np

from aggcal.aggregators.common import (
    Progress,
    Start,
    not_converged,
    start_reliabilities,
    start_scores,
)
from aggcal.aggregators.quantify import Quantify
from aggcal.aggregators.thurstone import PriorChoice
from aggcal.arrays import FloatArray
from aggcal.consensus import Consensus
from aggcal.engines.judgments import graph_of, rows_of
from aggcal.engines.sharded import crowd
from aggcal.errors import OptionError
from aggcal.judgments import Judgments
from aggcal.models.crowd import MARGIN
from aggcal.models.information import Information
from aggcal.models.links import link as link_of
from aggcal.models.objective import Objective
from aggcal.models.priors import Prior, default_prior
from aggcal.models.rows import Rows
from aggcal.quality import data_warnings
from aggcal.solve.fit import Fit, doubtful, fit_objective, rough_start
from aggcal.uncertainty.rehearsal import Rehearsal

_TOLERANCE = 1e-10
_ALPHA, _BETA = 4.0, 1.0
_RANDOM = 0.5


@dataclass(frozen=True)
class CrowdAggregator:
    """P(u puts i above j) = η_u F(d/c) + (1 − η_u) F(−d/c), fitted to the true optimum."""

    prior: PriorChoice
    alpha: float
    beta: float
    virtual: float
    tolerance: float
    seed: int
    link: str
    width: float
    name: str

    def __post_init__(self) -> None:
        if self.prior == "auto" or self.prior is None:
            raise OptionError(
                f"{self.name} has no automatic prior and needs one on the scores; choose the "
                "default, or Prior(score_sd, ...), whose score_sd is used."
            )
        for name, value, least in (
            ("alpha", self.alpha, 1.0),
            ("beta", self.beta, 1.0),
            ("virtual", self.virtual, 0.0),
        ):
            if not value >= least:
                raise OptionError(f"{name} of {self.name} is {value}; give at least {least:g}.")

    def fit(
        self,
        judgments: Judgments,
        /,
        *,
        start: Start = None,
        on_iteration: Progress | None = None,
    ) -> Consensus:
        """Find the optimum from the rough one of the homogeneous model."""
        began = time.perf_counter()
        rows, link = rows_of(judgments), link_of(self.link)
        said = data_warnings(judgments, graph_of(judgments))
        usual = default_prior(link)
        score_sd = (
            self.prior.score_sd if isinstance(self.prior, Prior) else usual.score_sd * self.width
        )

        def fitted(begin: FloatArray | None, chances: FloatArray | None) -> Fit:
            problem = self._problem(rows, score_sd**-2)
            if begin is None:
                begin = rough_start(rows, link, (self.width / score_sd) ** 2) * self.width
            if chances is not None:
                problem.begin_with(self.parameters(chances))
            return fit_objective(
                problem, begin, tolerance=self.tolerance, on_iteration=on_iteration
            )

        chances = start_reliabilities(start, judgments, self.name)
        fit = fitted(start_scores(start, judgments), chances)
        if start is not None and doubtful(fit, rows, _RANDOM):
            # The start may have been that of the mirrored order.
            fit = min(fit, fitted(None, None), key=lambda found: found.objective)
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
            prior=Prior(score_sd, usual.reliability_sd),
            seconds=time.perf_counter() - began,
            quantifier=Quantify(self, judgments),
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

    def posterior_scale(self, consensus: Consensus, information: Information) -> float:  # noqa: ARG002
        """Return 1: a chance of honest reports does not stretch the scores."""
        return 1.0

    def rehearse(self, judgments: Judgments, consensus: Consensus, seed: int) -> Rehearsal:  # noqa: ARG002
        """Return no correction: η has no prior mean to draw from that would be like people."""
        return Rehearsal()

    def refit(self, judgments: Judgments, start: Start, consensus: Consensus) -> Consensus:
        """Fit other judgments in the same way."""
        return replace(self, prior=consensus.prior).fit(judgments, start=start)

    def _problem(self, rows: Rows, precision: float) -> Objective:
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
        A `Prior`, whose ``score_sd`` is used, or ``"default"``.
    alpha, beta
        Of the Beta prior of η, the chance of an honest report; each at least 1. The default
        (4, 1) predicted held-out judgments of the real datasets best, or nearly.
    virtual
        Weight of the virtual annotator of the original, who sees every item win once and lose
        once against an item of score 0.
    tolerance
        Relative gradient norm at which the fit is finished.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("bob", "a", "b"), ("bob", "b", "c"), ("eve", "b", "a")]
    >>> CrowdBT().fit(aggcal.read_judgments(rows)).convergence.converged
    True
    """

    prior: PriorChoice = "default"
    alpha: float = _ALPHA
    beta: float = _BETA
    virtual: float = 0.0
    tolerance: float = _TOLERANCE
    seed: int = 0
    link: str = field(default="logistic", init=False, repr=False)
    width: float = field(default=1.0, init=False, repr=False)
    name: str = field(default="crowd-bt", init=False, repr=False)


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

    prior: PriorChoice = "default"
    alpha: float = _ALPHA
    beta: float = _BETA
    virtual: float = 0.0
    tolerance: float = _TOLERANCE
    seed: int = 0
    link: str = field(default="normal", init=False, repr=False)
    width: float = field(default=sqrt(2.0), init=False, repr=False)
    name: str = field(default="crowd-tcv", init=False, repr=False)
