"""The Thurstone family as aggregators: HRA, and with every annotator alike BTL and TCV."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Literal

import numpy as np

from aggcal import registry
from aggcal._core.arrays import FloatArray
from aggcal._core.kernels.threads import beside
from aggcal._core.machine import one_thread
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.effects import Effects
from aggcal.aggregation.estimate import Quantify
from aggcal.aggregation.families import RELIABILITY
from aggcal.aggregation.marginal import marginal_consensus
from aggcal.aggregation.no_prior import VANISHING, likelihood_maximum, no_prior_warnings
from aggcal.aggregation.rows import SCORES
from aggcal.aggregation.solve.fit import Fit, fit_thurstone
from aggcal.aggregation.solve.marginal_fits import MarginalFit
from aggcal.aggregation.solve.marginal_problem import MarginalProblem
from aggcal.aggregation.solve.prior_sd import estimate_sd
from aggcal.aggregation.start import (
    Progress,
    Start,
    divided,
    many_against,
    not_converged,
    refuse_auto,
    start_reliabilities,
    start_scores,
    typical_reliability,
)
from aggcal.aggregation.terms import (
    DEFAULT,
    PLAIN,
    ChosenTerms,
    Terms,
    alike_terms,
    check_terms,
    chosen_terms,
    further_in_any_case,
    left_out,
)
from aggcal.aggregation.with_terms import (
    QuantifyTerms,
    fit_alike,
    fit_terms,
    no_maximum,
    penalised,
)
from aggcal.aggregation.without_terms import WithoutTerms, marginal_problem
from aggcal.data.base import AnyJudgments
from aggcal.data.graph import ComparisonGraph
from aggcal.data.warnings import data_warnings
from aggcal.errors import AggcalWarning, OptionError, check_choice
from aggcal.models.links import link as link_of
from aggcal.models.objective import Objective
from aggcal.models.priors import Prior, default_prior
from aggcal.models.rows import Rows, rows_of
from aggcal.models.thurstone import likelihood
from aggcal.registry.literals import Estimator, LinkName

PriorChoice = Prior | Literal["default", "auto"] | None

_TOLERANCE = 1e-10  # relative gradient norm: larger leaves scores off their optimum
_ROUGH = 1e-5  # the same while only the spread is sought: the last fit is exact
_MANY = 1_000_000  # judgments of which a thread of its own finds out what to warn of


def _warned(judgments: AnyJudgments) -> Callable[[], list[AggcalWarning]]:
    """Return what waits for the warnings of the data: they are looked for beside a long fit."""
    if judgments.n_judgments > _MANY:
        return beside(lambda: data_warnings(judgments))
    found = data_warnings(judgments)
    return lambda: found


@dataclass(frozen=True)
class ThurstoneAggregator:
    """P(u puts i above j) = F(γ_u (s_i − s_j))."""

    link: LinkName
    prior: PriorChoice = "default"
    tolerance: float = _TOLERANCE
    seed: int = 0
    heterogeneous: bool = field(default=False, init=False, repr=False)
    name: str = field(default="alike", init=False, repr=False)
    estimator: Estimator = field(default="mode", init=False, repr=False)
    terms: Terms = field(default=PLAIN, init=False, repr=False)
    fixed: ChosenTerms | None = field(default=None, init=False, repr=False)

    @one_thread()
    def fit(
        self,
        judgments: AnyJudgments,
        /,
        *,
        start: Start = None,
        on_iteration: Progress | None = None,
    ) -> Consensus:
        """Fit the model, and warn of what the data do not determine."""
        integrates = self._integrates(judgments) if self.heterogeneous else None
        check_terms(self.terms, judgments, integrates=integrates)
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
        self._check(judgments)
        graph = judgments.graph
        warned = list if trusted else _warned(judgments)  # the first fit has said it
        begin = start_scores(start, judgments)
        if self._integrates(judgments):
            plain = self._plain(begin, on_iteration, trusted=trusted)
            further = self._goes_on(judgments)
            found = plain.begun(judgments) if further else plain.fit(rows_of(judgments), graph)
            return self._integrated(judgments, found, warned(), began, on_iteration)
        rows = rows_of(judgments)
        said = [*warned(), *self._left_out(judgments)]
        slopes = start_reliabilities(start, judgments, self.name)
        prior, fit = self._optimum(rows, graph, begin, slopes, on_iteration, trusted=trusted)
        alike = None if self.heterogeneous else self._chosen(judgments, fit.scores)
        if alike is not None and not alike.plain:
            sd, here = None if prior is None else prior.score_sd, judgments.local or judgments
            known = isinstance(self.prior, Prior)
            effects = fit_alike(here, alike, fit.scores, sd, fixed=known, on_iteration=on_iteration)
            return self._with_terms(effects, said, began)
        if prior is None:
            said += no_prior_warnings(judgments, rows, fit, graph, heterogeneous=self.heterogeneous)
        torn = divided(fit.objective, fit.rival)
        if self.heterogeneous and not torn:
            torn = many_against(fit.reliabilities, rows.given)
        said += [*torn, *not_converged(self.name, fit.convergence)]
        unit = 1.0
        if self.heterogeneous and prior is not None:
            # The likelihood does not change along (c·s, γ/c): the unit is a convention.
            unit = typical_reliability(fit.reliabilities, rows.given)
            prior = Prior(unit * prior.score_sd, prior.reliability_sd / unit)
        return Consensus.of(
            judgments,
            unit * fit.scores,
            method=self.name,
            reliabilities=fit.reliabilities / unit,
            warnings=tuple(said),
            objective=fit.objective,
            log_likelihood=fit.log_likelihood,
            convergence=fit.convergence,
            prior=prior,
            estimator="mode",
            unit=unit,
            seconds=time.perf_counter() - began,
            quantifier=Quantify(self, judgments),
        )

    def _check(self, judgments: AnyJudgments) -> None:
        """Refuse what cannot be fitted to these judgments."""
        if self.prior is None:
            judgments.on_one_machine("a fit without a prior")
        if self.prior == "auto" and self.heterogeneous and not judgments.integrates:
            refuse_auto(self.name)

    def _integrated(
        self,
        judgments: AnyJudgments,
        found: MarginalFit,
        said: list[AggcalWarning],
        began: float,
        on_iteration: Progress | None,
    ) -> Consensus:
        """Return the consensus of a fit with the reliabilities integrated out, terms added."""
        said = [*said, *divided(found.objective, found.rival)]
        chosen = self._chosen(judgments, found.scores)
        if chosen is not None and not chosen.plain:
            spreads = found.population
            sds = {SCORES: spreads.score_sd, RELIABILITY: spreads.reliability_sd}
            effects = fit_terms(
                judgments,
                chosen,
                lambda model: model.first_state(found.scores, sds, spreads.reversed_share),
                fixed=frozenset(sds) if isinstance(self.prior, Prior) else frozenset(),
                on_iteration=on_iteration,
            )
            return self._with_terms(effects, said, began)
        size, share = found.population, found.population.reversed_share
        estimated = Prior(size.score_sd, size.reliability_sd)
        rise = None if chosen is None else chosen.evidence
        record: dict[str, Any] = {"reversed_share": share, "position_evidence": rise}
        return marginal_consensus(self, judgments, found, said, began, prior=estimated, **record)

    def _with_terms(self, effects: Effects, said: list[AggcalWarning], began: float) -> Consensus:
        """Return the consensus of a fit with further terms."""
        fit, chosen, prior = effects.fit, effects.chosen, None
        said = [*chosen.unexplained(said), *not_converged(self.name, fit.convergence)]
        sd, objective = default_prior(link_of(self.link)).reliability_sd, fit.objective
        if chosen.alike:
            objective = penalised(fit)
        else:
            sd = fit.state.sds[RELIABILITY]
        if self.prior is None:
            said += no_maximum(fit)
        else:
            prior = Prior(fit.state.sds[SCORES], sd)
        posterior = fit.posterior
        reliabilities = None if chosen.alike else posterior.mean(posterior.of(RELIABILITY))
        return Consensus.of(
            effects.judgments,
            effects.scores,
            method=self.name,
            reliabilities=reliabilities,
            warnings=tuple(said),
            objective=objective,
            log_likelihood=posterior.log_evidence,
            convergence=fit.convergence,
            prior=prior,
            reversed_share=None if chosen.alike else fit.state.reversed_share,
            estimator="mode" if chosen.alike else "marginal",
            seconds=time.perf_counter() - began,
            quantifier=QuantifyTerms(self, effects.judgments, effects),
            effects=effects,
        )

    def _left_out(self, judgments: AnyJudgments) -> list[AggcalWarning]:
        """Say what a device does not fit, though the same options would elsewhere."""
        asked = self.heterogeneous and self.estimator == "marginal" and self.prior is not None
        return left_out(judgments) if asked and self.terms == DEFAULT else []

    def _chosen(self, judgments: AnyJudgments, scores: FloatArray) -> ChosenTerms | None:
        """Return the further terms that the judgments need; None where none are looked for."""
        if self.terms.plain:
            return None
        asked = self.terms, judgments.local or judgments
        return self.fixed or (
            chosen_terms(*asked, scores) if self.heterogeneous else alike_terms(*asked)
        )

    def _goes_on(self, judgments: AnyJudgments) -> bool:
        """Whether further terms are fitted in any case."""
        if self.terms.plain:
            return False
        if self.fixed is not None:
            return not self.fixed.plain
        return further_in_any_case(self.terms, judgments.local or judgments)

    def _integrates(self, judgments: AnyJudgments) -> bool:
        """Whether reliabilities are integrated out: not on a device, and not without a prior."""
        integrates = self.heterogeneous and self.estimator == "marginal"
        return integrates and self.prior is not None and judgments.integrates

    def _plain(
        self, start: FloatArray | None, on_iteration: Progress | None, *, trusted: bool
    ) -> WithoutTerms:
        given = self.prior if isinstance(self.prior, Prior) else None
        return WithoutTerms(link_of(self.link), given, start, on_iteration, trusted)

    def marginal_problem(self, rows: Rows, graph: ComparisonGraph) -> MarginalProblem:
        """Return the likelihood of these rows with the reliabilities integrated out."""
        return marginal_problem(rows, graph, link_of(self.link))

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
        weak = VANISHING[-1] if prior is None else prior.reliability_precision
        return likelihood(rows, link, precision, weak)

    def parameters(self, reliabilities: FloatArray) -> FloatArray:
        """Return the reliabilities; where annotators are alike there is one annotator only."""
        return reliabilities if self.heterogeneous else np.ones(1)

    def parameter_prior(self, consensus: Consensus) -> tuple[float, float]:
        """Return those of a reliability."""
        return 1.0, inf if consensus.prior is None else consensus.prior.reliability_sd

    def unit_weights(self, rows: Rows, consensus: Consensus) -> FloatArray | None:
        """Return what of each reliability makes up the unit; None where there is none."""
        if not self.heterogeneous:
            return None
        if consensus.prior is None:
            return np.ones(len(consensus.reliabilities))
        return np.asarray(np.sign(consensus.reliabilities) * rows.given / rows.given.sum())

    def refit(self, judgments: AnyJudgments, start: Start, consensus: Consensus) -> Consensus:
        """Fit other judgments with the same prior (one chosen from the data is kept)."""
        same = replace(self, prior=consensus.prior)
        if consensus.effects is not None:
            object.__setattr__(same, "fixed", consensus.effects.chosen)
        return same._fitted(judgments, start, trusted=True)  # noqa: SLF001

    def _optimum(
        self,
        rows: Rows,
        graph: ComparisonGraph,
        start: FloatArray | None,
        slopes: FloatArray | None,
        on_iteration: Progress | None,
        *,
        trusted: bool,
    ) -> tuple[Prior | None, Fit]:
        link, given = link_of(self.link), start

        def fitted(
            scores: float, reliabilities: float, begin: FloatArray | None, close: float = 0.0
        ) -> Fit:
            return fit_thurstone(
                rows,
                link,
                score_precision=scores,
                reliability_precision=reliabilities if self.heterogeneous else None,
                tolerance=close or self.tolerance,
                start=begin,
                start_reliabilities=slopes,
                trusted=trusted or (begin is not None and begin is not given),
                on_iteration=on_iteration,
            )

        def refit(prior: Prior, begin: FloatArray | None) -> Fit:
            return fitted(prior.score_precision, prior.reliability_precision, begin)

        if isinstance(self.prior, Prior):
            return self.prior, refit(self.prior, start)
        usual = default_prior(link)
        if self.prior is not None and not self.heterogeneous:

            def with_sd(sd: float, before: Fit | None) -> Fit:
                return fitted(sd**-2, 0.0, start if before is None else before.scores, _ROUGH)

            sigma, rough = estimate_sd(with_sd, graph.component, usual.score_sd)
            prior = Prior(sigma, usual.reliability_sd)
            return prior, refit(prior, rough.scores)
        if self.prior is not None:
            prior = usual
            if self.prior == "auto":
                found = self._plain(start, on_iteration, trusted=trusted).fit(rows, graph)
                prior = Prior(found.population.score_sd, found.population.reliability_sd)
            return prior, refit(prior, start)
        return None, likelihood_maximum(fitted, start, heterogeneous=self.heterogeneous)


@dataclass(frozen=True)
class HRA(ThurstoneAggregator):
    """Heterogeneous rank aggregation: each annotator has a reliability.

    Parameters
    ----------
    link
        ``logistic`` (the paper's HRA-G), ``normal`` (HRA-N) or ``laplace`` (HRA-E).
    prior
        ``"default"`` to estimate the standard deviations of scores and reliabilities from the data;
        a `Prior` that states them; None for the maximum-likelihood estimate, scaled to a mean
        reliability of 1. With ``estimator="mode"``, ``"default"`` is N(0, 1) for scores and
        N(1, 0.5²) for reliabilities, and ``"auto"`` estimates both.
    tolerance
        Relative gradient norm at which a fit of the mode is finished.
    seed
        Seed for all random numbers.
    estimator
        ``"marginal"`` integrates the reliabilities out and allows for reversed annotators;
        ``"mode"`` maximises over scores and reliabilities together, as the paper does. Either way
        the typical annotator has reliability 1. A graphics card always fits the mode.
    terms
        What a judgment may depend on beside items and reliabilities: ties, sides, contexts,
        categories (see `Terms`). With the logistic link and ``estimator="marginal"``; otherwise a
        tie counts as half a win for each side.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "a", "c"), ("eve", "c", "a")]
    >>> consensus = HRA(link="normal").fit(aggcal.read_judgments(rows))
    >>> consensus.convergence.converged
    True
    """

    link: LinkName = registry.LOGISTIC.name
    heterogeneous: bool = field(default=True, init=False, repr=False)
    name: str = field(default="hra", init=False, repr=False)
    estimator: Estimator = "marginal"
    terms: Terms = DEFAULT

    def __post_init__(self) -> None:
        check_choice("estimator", self.estimator, registry.ESTIMATORS)
        if self.link != registry.LOGISTIC.name:
            if self.terms not in (DEFAULT, PLAIN):
                raise OptionError(
                    f"ties, positions and contexts are fitted with the {registry.LOGISTIC.name} "
                    f"link only; choose {registry.HRA_G.name}, or leave them out."
                )
            object.__setattr__(self, "terms", PLAIN)
        letter = registry.LINKS[link_of(self.link).name].letter
        object.__setattr__(self, "name", f"hra-{letter}")
