"""The Thurstone family as aggregators: HRA, and with every annotator alike BTL and TCV."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from math import inf
from typing import Literal

import numpy as np

from aggcal.aggregators.common import (
    Progress,
    Start,
    not_converged,
    start_reliabilities,
    start_scores,
)
from aggcal.aggregators.quantify import Quantify
from aggcal.arrays import FloatArray
from aggcal.consensus import Consensus
from aggcal.engines.judgments import ShardedJudgments, graph_of, refuse, rows_of
from aggcal.engines.sharded import likelihood
from aggcal.errors import (
    AggcalWarning,
    DividedWarning,
    FewJudgmentsWarning,
    NoMaximumWarning,
    some,
)
from aggcal.graph import ComparisonGraph
from aggcal.judgments import Judgments
from aggcal.models.information import Information
from aggcal.models.links import link as link_of
from aggcal.models.objective import Objective
from aggcal.models.priors import Prior, default_prior
from aggcal.models.rows import Rows
from aggcal.quality import data_warnings
from aggcal.solve.empirical_bayes import choose_prior
from aggcal.solve.fit import Fit, fit_thurstone
from aggcal.uncertainty.rehearsal import Rehearsal, rehearse
from aggcal.uncertainty.scale import posterior_scale

PriorChoice = Prior | Literal["default", "auto"] | None

_TOLERANCE = 1e-10
_FAR_OUT = 15.0
_CLOSE_CALL = 2.0
_ENOUGH_EACH = 30
_VANISHING = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


@dataclass(frozen=True)
class ThurstoneAggregator:
    """P(u puts i above j) = F(γ_u (s_i − s_j)), fitted to the true optimum."""

    link: str
    prior: PriorChoice
    tolerance: float
    seed: int
    heterogeneous: bool
    name: str

    def fit(
        self,
        judgments: Judgments,
        /,
        *,
        start: Start = None,
        on_iteration: Progress | None = None,
    ) -> Consensus:
        """Find the optimum, and say what the data leave open."""
        return self._fitted(judgments, start, on_iteration)

    def _fitted(
        self,
        judgments: Judgments,
        start: Start,
        on_iteration: Progress | None = None,
        *,
        trusted: bool = False,
    ) -> Consensus:
        began = time.perf_counter()
        if self.prior is None and isinstance(judgments, ShardedJudgments):
            refuse("a fit without a prior")
        rows = rows_of(judgments)
        graph = graph_of(judgments)
        said = data_warnings(judgments, graph)
        begin = start_scores(start, judgments)
        slopes = start_reliabilities(start, judgments, self.name)
        prior, fit = self._optimum(rows, begin, slopes, on_iteration, trusted=trusted)
        if prior is None:
            said += self._without_prior(judgments, rows, fit, graph)
        if fit.rival is not None and fit.rival - fit.objective < _CLOSE_CALL:
            said.append(
                DividedWarning(
                    "annotators contradict each other so much that quite another order fits their "
                    f"judgments nearly as well (objective {fit.objective:.2f} against "
                    f"{fit.rival:.2f})",
                    "which way round the consensus runs is not certain: ask who misread the "
                    "question, or add annotators you trust",
                )
            )
        said += not_converged(self.name, fit.convergence)
        if prior is None and self.heterogeneous:
            said += _few_judgments(judgments)
        return Consensus.of(
            judgments,
            fit.scores,
            method=self.name,
            reliabilities=fit.reliabilities,
            warnings=tuple(said),
            objective=fit.objective,
            log_likelihood=fit.log_likelihood,
            convergence=fit.convergence,
            prior=prior,
            seconds=time.perf_counter() - began,
            quantifier=Quantify(self, judgments),
        )

    @property
    def bounds(self) -> tuple[float, float]:
        """A reliability may be anything."""
        return -inf, inf

    def problem(self, rows: Rows, consensus: Consensus) -> Objective:
        """Return the objective of these rows (without a prior, with next to none in γ)."""
        prior, link = consensus.prior, link_of(self.link)
        precision = 0.0 if prior is None else prior.score_precision
        if not self.heterogeneous:
            return likelihood(rows.pooled(), link, precision, None)
        weak = _VANISHING[-1] if prior is None else prior.reliability_precision
        return likelihood(rows, link, precision, weak)

    def parameters(self, reliabilities: FloatArray) -> FloatArray:
        """Return the reliabilities; where annotators are alike there is one annotator only."""
        return reliabilities if self.heterogeneous else np.ones(1)

    def posterior_scale(self, consensus: Consensus, information: Information) -> float:
        """Return how much larger than the optimum's the scale of the scores probably is."""
        if not self.heterogeneous or consensus.prior is None:
            return 1.0
        return posterior_scale(
            consensus.scores, consensus.reliabilities, information, consensus.prior
        )

    def rehearse(self, judgments: Judgments, consensus: Consensus, seed: int) -> Rehearsal:
        """Return what fits of simulated studies of the same design are off by."""
        if not self.heterogeneous or consensus.prior is None:
            return Rehearsal()
        return rehearse(rows_of(judgments), link_of(self.link), consensus.prior, seed)

    def chances(self, judgments: Judgments) -> FloatArray:
        """Return the chance of each row's outcome by the same model with reliabilities."""
        apart = HRA(link=self.link).fit(judgments)
        rows = rows_of(judgments)
        gap = apart.scores[rows.winner] - apart.scores[rows.loser]
        gamma = np.repeat(apart.reliabilities, np.diff(rows.starts))
        return link_of(self.link).probability(gamma * gap)

    def alike(self, judgments: Judgments, consensus: Consensus) -> Consensus:
        """Fit the same model with annotators taken to be alike."""
        plain = ThurstoneAggregator(
            self.link, consensus.prior, self.tolerance, self.seed, heterogeneous=False, name="alike"
        )
        return plain.fit(judgments)

    def refit(self, judgments: Judgments, start: Start, consensus: Consensus) -> Consensus:
        """Fit other judgments with the same prior (one chosen from the data is kept)."""
        return replace(self, prior=consensus.prior)._fitted(judgments, start, trusted=True)  # noqa: SLF001

    def _optimum(
        self,
        rows: Rows,
        start: FloatArray | None,
        slopes: FloatArray | None,
        on_iteration: Progress | None,
        *,
        trusted: bool,
    ) -> tuple[Prior | None, Fit]:
        link, given = link_of(self.link), start

        def fitted(scores: float, reliabilities: float, begin: FloatArray | None) -> Fit:
            return fit_thurstone(
                rows,
                link,
                score_precision=scores,
                reliability_precision=reliabilities if self.heterogeneous else None,
                tolerance=self.tolerance,
                start=begin,
                start_reliabilities=slopes,
                trusted=trusted or (begin is not None and begin is not given),
                on_iteration=on_iteration,
            )

        def refit(prior: Prior, begin: FloatArray | None) -> Fit:
            return fitted(prior.score_precision, prior.reliability_precision, begin)

        if isinstance(self.prior, Prior):
            return self.prior, refit(self.prior, start)
        if self.prior == "default":
            prior = default_prior(link)
            return prior, refit(prior, start)
        if self.prior == "auto":
            return choose_prior(refit, default_prior(link), seed=self.seed)

        if not self.heterogeneous:
            fit = fitted(0.0, 0.0, start)
            if _within_bounds(fit):
                return None, fit
        # Without priors the scale is free between s and γ, and there may be no maximum at all:
        # priors too weak to matter hold what the data leave free, approached step by step
        # because the bare likelihood has many optima.
        for precision in _VANISHING:
            fit = fitted(precision, precision, start)
            start = fit.scores
        scale = float(fit.reliabilities.mean())
        if self.heterogeneous and scale > 0.1 * float(np.abs(fit.reliabilities).mean()):
            fit = replace(
                fit,
                scores=fit.scores * scale,
                reliabilities=fit.reliabilities / scale,
                objective=-fit.log_likelihood,
            )
        return None, fit

    def _without_prior(
        self, judgments: Judgments, rows: Rows, fit: Fit, graph: ComparisonGraph
    ) -> list[AggcalWarning]:
        if not self.heterogeneous and _within_bounds(fit):
            return []
        found: list[AggcalWarning] = []
        outside = list(graph.item_ids[graph.strong > 0])
        remedy = "use a prior (the default), or gather judgments that contradict these"
        if outside:
            found.append(
                NoMaximumWarning(
                    f"the maximum-likelihood estimate does not exist for {some(outside)}: no chain "
                    "of wins and losses ties them to the other items both ways",
                    remedy,
                )
            )
        if self.heterogeneous:
            gap = fit.scores[rows.winner] - fit.scores[rows.loser]
            begins = rows.starts[:-1]
            one_sided = np.minimum.reduceat(gap, begins) > 0.0
            one_sided |= np.maximum.reduceat(gap, begins) < 0.0
            if one_sided.any():
                found.append(
                    NoMaximumWarning(
                        "the maximum-likelihood reliability is infinite for "
                        f"{some(judgments.annotator_ids[one_sided])}, who never (or always) "
                        "contradict the consensus",
                        remedy,
                    )
                )
        return found


def _few_judgments(judgments: Judgments) -> list[AggcalWarning]:
    typical = float(np.median(judgments.judgments_per_annotator))
    if typical >= _ENOUGH_EACH:
        return []
    return [
        FewJudgmentsWarning(
            f"half of the annotators gave {typical:g} judgments or fewer, and no prior holds their "
            "reliabilities",
            "standard errors are then several times too small: use a prior (the default)",
        )
    ]


def _within_bounds(fit: Fit) -> bool:
    """Whether a convex fit without a prior came to rest: there is then a maximum, and this is it.

    Where there is none the scores run away until the gradient drowns in rounding, far out.
    """
    bare = fit.problem.score_precision == 0.0
    return bare and fit.convergence.converged and float(np.ptp(fit.scores)) < _FAR_OUT


@dataclass(frozen=True)
class HRA(ThurstoneAggregator):
    """Heterogeneous rank aggregation: each annotator has a reliability of their own.

    Parameters
    ----------
    link
        ``logistic`` (the paper's HRA-G), ``normal`` (HRA-N) or ``laplace`` (HRA-E).
    prior
        A `Prior`; ``"default"``; ``"auto"`` to choose its scales from the data; None for the
        pure maximum-likelihood estimate, scaled to a mean reliability of 1.
    tolerance
        Relative gradient norm at which the fit is finished.
    seed
        Of the random probes that ``prior="auto"`` uses for many items.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "a", "c"), ("eve", "c", "a")]
    >>> consensus = HRA(link="normal").fit(aggcal.read_judgments(rows))
    >>> consensus.convergence.converged
    True
    """

    link: str = "logistic"
    prior: PriorChoice = "default"
    tolerance: float = _TOLERANCE
    seed: int = 0
    heterogeneous: bool = field(default=True, init=False, repr=False)
    name: str = field(default="hra", init=False, repr=False)

    def __post_init__(self) -> None:
        suffix = {"logistic": "g", "normal": "n", "laplace": "e"}[link_of(self.link).name]
        object.__setattr__(self, "name", f"hra-{suffix}")


@dataclass(frozen=True)
class BTL(ThurstoneAggregator):
    """Bradley–Terry–Luce: the logistic link, every annotator alike.

    Examples
    --------
    With one pair, two wins to one and no prior, the odds are the wins:

    >>> import aggcal, math
    >>> rows = [("ann", "a", "b"), ("bob", "a", "b"), ("eve", "b", "a")]
    >>> scores = BTL(prior=None).fit(aggcal.read_judgments(rows)).scores
    >>> round(math.exp(scores[0] - scores[1]), 6)
    2.0
    """

    link: str = field(default="logistic", init=False, repr=False)
    prior: PriorChoice = "default"
    tolerance: float = _TOLERANCE
    seed: int = 0
    heterogeneous: bool = field(default=False, init=False, repr=False)
    name: str = field(default="btl", init=False, repr=False)


@dataclass(frozen=True)
class TCV(ThurstoneAggregator):
    """Thurstone's case V: the normal link, every annotator alike.

    Examples
    --------
    >>> import aggcal
    >>> TCV().fit(aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "a")])).scores
    array([0., 0.])
    """

    link: str = field(default="normal", init=False, repr=False)
    prior: PriorChoice = "default"
    tolerance: float = _TOLERANCE
    seed: int = 0
    heterogeneous: bool = field(default=False, init=False, repr=False)
    name: str = field(default="tcv", init=False, repr=False)
