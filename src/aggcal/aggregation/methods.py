"""The named methods that are one likelihood: HRA, BTL, TCV, CrowdBT and CrowdTCV.

Each is a link, what its annotators are like (`families`), and a prior. It is fitted with the
annotators' parameters integrated out (`empirical`) or at the joint mode (`modes`).
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf, sqrt
from typing import Any, Literal

import numpy as np
from scipy.special import expit

from aggcal import registry
from aggcal._core.arrays import FloatArray
from aggcal._core.kernels.threads import beside
from aggcal._core.machine import one_thread
from aggcal.aggregation.annotators import Beta, Normal
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.effects import Effects
from aggcal.aggregation.empirical import Fit, Model, Problem, State, best
from aggcal.aggregation.estimate import Quantify
from aggcal.aggregation.families import RELIABILITY, Advantage, Family, Mixture, Wins
from aggcal.aggregation.links import link as link_of
from aggcal.aggregation.modes import (
    HONESTY_MARGIN,
    VANISHING,
    Mode,
    Modes,
    doubtful,
    mode_rows,
    score_penalty,
)
from aggcal.aggregation.newton import Progress
from aggcal.aggregation.priors import DEFAULT_RELIABILITY_SD, Prior, default_prior
from aggcal.aggregation.rows import SCORES
from aggcal.aggregation.start import (
    Start,
    divided,
    many_against,
    no_prior_warnings,
    not_converged,
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
)
from aggcal.aggregation.with_terms import (
    QuantifyTerms,
    fit_alike,
    fit_terms,
    no_maximum,
    penalised,
)
from aggcal.data.base import AnyJudgments
from aggcal.data.warnings import data_warnings
from aggcal.errors import AggcalWarning, OptionError, check_choice
from aggcal.registry.literals import Estimator, LinkName

PriorChoice = Prior | Literal["default", "auto"] | None

_TOLERANCE = 1e-10
"""Relative gradient norm of a mode: smaller takes longer, larger leaves scores off the optimum."""
_ALPHA, _BETA = 4.0, 1.0
"""A prior of mostly honest annotators: it predicted held-out judgments best, or nearly."""
_RANDOM_HONESTY = 0.5
"""η of one who tosses a coin."""
_MANY = 1_000_000
"""Judgments from which a thread of its own looks for what to warn of."""


class LikelihoodMethod:
    """A method of the one likelihood, fitted wherever the judgments lie."""

    link: Any  # a name of a link
    prior: PriorChoice
    tolerance: float
    seed: int
    name: str
    estimator: Estimator
    terms: Terms
    fixed: ChosenTerms | None = None
    """Terms that another fit has chosen."""
    heterogeneous = True
    """Whether annotators have a parameter each."""
    bounds = -inf, inf
    """Between which it lies."""

    @property
    @abstractmethod
    def family(self) -> Family:
        """The likelihood of wins."""

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
        integrates = self._integrates if self.heterogeneous else None
        check_terms(self.terms, judgments, integrates=integrates)
        return self._fitted(judgments, start, on_iteration)

    def refit(self, judgments: AnyJudgments, start: Start, consensus: Consensus) -> Consensus:
        """Fit other judgments with the same prior (one chosen from the data is kept)."""
        same = replace(self, prior=consensus.prior)  # type: ignore[type-var]  # all are dataclasses
        # What was decided is not decided again: that takes a quarter of a fit.
        chosen = ChosenTerms("halves") if consensus.effects is None else consensus.effects.chosen
        object.__setattr__(same, "fixed", chosen)
        return same._fitted(judgments, start, trusted=True)  # noqa: SLF001

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
        warned = list if trusted else _warned(judgments)  # the first fit has said it
        begin = start_scores(start, judgments)
        if self._integrates:
            return self._integrated(judgments, begin, warned, began, on_iteration, trusted=trusted)
        modes = Modes(mode_rows(judgments), link_of(self.link), self.tolerance, on_iteration)
        prior, mode = self._mode(modes, judgments, begin, trusted=trusted)
        said = [*warned()]
        alike = None if self.heterogeneous else self._chosen(judgments, mode.scores)
        if alike is not None and not alike.plain:
            sd, known = None if prior is None else prior.score_sd, isinstance(self.prior, Prior)
            effects = fit_alike(
                judgments, alike, mode.scores, sd, fixed=known, on_iteration=on_iteration
            )
            return self._with_terms(effects, said, began)
        said += self._doubts(judgments, modes, mode)
        said += not_converged(self.name, mode.convergence)
        scale = self._scale(modes, mode)
        if prior is not None:
            prior = Prior(scale * prior.score_sd, prior.reliability_sd / scale)
        return Consensus.of(
            judgments,
            scale * mode.scores,
            method=self.name,
            reliabilities=self._reported(mode.theta / scale),
            warnings=tuple(said),
            objective=mode.objective,
            log_likelihood=mode.log_likelihood,
            convergence=mode.convergence,
            prior=prior,
            estimator="mode",
            seconds=time.perf_counter() - began,
            quantifier=Quantify(self, judgments),
            **self._record(scale),
        )

    def penalty(
        self, scores: FloatArray, consensus: Consensus
    ) -> tuple[float, FloatArray, FloatArray]:
        """Return what the scores' prior adds to the objective, and its two derivatives."""
        prior = consensus.prior
        precision = 0.0 if prior is None else prior.score_precision
        return score_penalty(scores, precision, self.family, self._virtual)

    # ------------------------------------------------------------- what methods differ in
    _virtual = 0.0
    """Weight of CrowdBT's virtual annotator."""

    def _check(self, judgments: AnyJudgments) -> None:
        """Refuse what cannot be fitted to these judgments."""
        if self.prior is None:
            judgments.on_one_machine("a fit without a prior")

    @abstractmethod
    def _mode(
        self, modes: Modes, judgments: AnyJudgments, start: FloatArray | None, *, trusted: bool
    ) -> tuple[Prior | None, Mode]:
        """Return the joint mode, and the prior that it has."""

    @abstractmethod
    def _integrated(
        self,
        judgments: AnyJudgments,
        start: FloatArray | None,
        warned: Callable[[], list[AggcalWarning]],
        began: float,
        on_iteration: Progress | None,
        *,
        trusted: bool,
    ) -> Consensus:
        """Return the consensus of a fit with the annotators' parameters integrated out."""

    @abstractmethod
    def annotators_prior(self, consensus: Consensus, annotators: int) -> Any:
        """Return the prior of the annotators' parameters; None where they have none."""

    def _doubts(
        self,
        judgments: AnyJudgments,  # noqa: ARG002
        modes: Modes,  # noqa: ARG002
        mode: Mode,  # noqa: ARG002
    ) -> list[AggcalWarning]:
        """Warn of another optimum that fits as well, or of none."""
        return []

    def _scale(self, modes: Modes, mode: Mode) -> float:  # noqa: ARG002
        """Return what scores are multiplied by, and reliabilities divided."""
        return 1.0

    def _reported(self, theta: FloatArray) -> FloatArray:
        """Return the annotators' parameters as users see them."""
        return theta

    def _record(self, scale: float) -> dict[str, Any]:
        """Return what else a consensus records."""
        return {"unit": scale}

    def _integrated_consensus(
        self,
        judgments: AnyJudgments,
        fit: Fit,
        said: list[AggcalWarning],
        began: float,
        **record: Any,
    ) -> Consensus:
        """Return the consensus of a fit of items and annotators alone."""
        values = fit.posterior.nodes[:, :, 0]
        if fit.problem.model.beta is not None:
            values = expit(values)
        return Consensus.of(
            judgments,
            fit.scores,
            method=self.name,
            reliabilities=fit.posterior.mean(values),
            warnings=(*said, *not_converged(self.name, fit.convergence)),
            objective=fit.objective,
            log_likelihood=fit.posterior.log_evidence,
            convergence=fit.convergence,
            estimator="marginal",
            seconds=time.perf_counter() - began,
            quantifier=Quantify(self, judgments, fit),
            **record,
        )

    # ------------------------------------------------------------- terms
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
            quantifier=QuantifyTerms(self, effects.judgments, fit, effects=effects),
            effects=effects,
        )

    def _chosen(self, judgments: AnyJudgments, scores: FloatArray) -> ChosenTerms | None:
        """Return the further terms that the judgments need; None where none are looked for."""
        if self.terms.plain:
            return None
        return self.fixed or (
            chosen_terms(self.terms, judgments, scores)
            if self.heterogeneous
            else alike_terms(self.terms, judgments)
        )

    def _goes_on(self, judgments: AnyJudgments) -> bool:
        """Whether further terms are fitted in any case."""
        if self.terms.plain:
            return False
        if self.fixed is not None:
            return not self.fixed.plain
        return further_in_any_case(self.terms, judgments)

    @property
    def _integrates(self) -> bool:
        """Whether parameters are integrated out: not without a prior."""
        return self.heterogeneous and self.estimator == "marginal" and self.prior is not None


def _prior_of(fit: Fit) -> Prior:
    return Prior(fit.state.sds[SCORES], fit.state.sds[RELIABILITY])


def _no_prior(judgments: AnyJudgments, mode: Mode, *, heterogeneous: bool) -> list[AggcalWarning]:
    """Warn of what has no maximum without a prior, which is looked for on this machine."""
    rows = mode_rows(judgments.on_one_machine("a fit without a prior"))
    return no_prior_warnings(judgments, rows, mode.scores, heterogeneous=heterogeneous)


def _warned(judgments: AnyJudgments) -> Callable[[], list[AggcalWarning]]:
    """Return what waits for the warnings of the data: they are looked for beside a long fit."""
    if judgments.n_judgments > _MANY:
        return beside(lambda: data_warnings(judgments))
    warnings = data_warnings(judgments)
    return lambda: warnings


@dataclass(frozen=True)
class HRA(LikelihoodMethod):
    """Heterogeneous rank aggregation: each annotator has a reliability.

    P(u puts i above j) = F(γ_u (s_i − s_j)).

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
        the typical annotator has reliability 1.
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
    prior: PriorChoice = "default"
    tolerance: float = _TOLERANCE
    seed: int = 0
    name: str = field(default="hra", init=False, repr=False)
    estimator: Estimator = "marginal"
    terms: Terms = DEFAULT
    fixed: ChosenTerms | None = field(default=None, init=False, repr=False)

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

    @property
    def family(self) -> Family:
        """The likelihood of wins."""
        return Advantage((RELIABILITY,), Wins(link_of(self.link)))

    def _mode(
        self, modes: Modes, judgments: AnyJudgments, start: FloatArray | None, *, trusted: bool
    ) -> tuple[Prior | None, Mode]:
        if self.prior is None:
            return None, modes.likelihood_maximum_of_each(start, trusted=trusted)
        prior = default_prior(modes.link)
        if isinstance(self.prior, Prior):
            prior = self.prior
        elif self.prior == "auto":
            prior = _prior_of(self._without_terms(modes, judgments, start, trusted=trusted))
        precisions = prior.score_precision, prior.reliability_precision
        return prior, modes.reliable(*precisions, start, trusted=trusted)

    def _doubts(self, judgments: AnyJudgments, modes: Modes, mode: Mode) -> list[AggcalWarning]:
        said = []
        if self.prior is None:
            said = _no_prior(judgments, mode, heterogeneous=True)
        torn = divided(mode.objective, mode.rival)
        return [*said, *(torn or many_against(mode.theta, modes.rows.annotator_weights))]

    def _scale(self, modes: Modes, mode: Mode) -> float:
        if self.prior is None:
            return 1.0
        # The likelihood does not change along (c·s, γ/c): the scale is a convention.
        return typical_reliability(mode.theta, modes.rows.annotator_weights)

    def annotators_prior(self, consensus: Consensus, annotators: int) -> Any:
        """Return the prior of the reliabilities (without one, next to none)."""
        weak = VANISHING[-1] ** -0.5
        sd = weak if consensus.prior is None else consensus.prior.reliability_sd
        mean = 1.0 if consensus.prior is None else 1.0 / consensus.unit
        return Normal(np.full((annotators, 1), mean), np.array([sd]))

    # ------------------------------------------------------------- integrated out
    def _without_terms(
        self,
        modes: Modes,
        judgments: AnyJudgments,
        start: FloatArray | None,
        *,
        trusted: bool,
        rough: bool = False,
    ) -> Fit:
        """Fit items and reliabilities alone, the latter integrated out."""
        sds, default = {}, default_prior(modes.link)
        precision = default.score_precision
        if isinstance(self.prior, Prior):
            sds = {SCORES: self.prior.score_sd, RELIABILITY: self.prior.reliability_sd}
            precision = self.prior.score_precision
        model = Model(
            modes.rows,
            self.family,
            judgments.graph.component,
            default_sd=default.score_sd,
            fixed=frozenset(sds),
        )

        def others(fit: Fit) -> list[State]:
            reliabilities = fit.posterior.mean(fit.posterior.of(RELIABILITY))
            weights = modes.rows.annotator_weights
            if trusted or not doubtful(fit.scores, reliabilities, weights):
                return []
            # Many are reversed: perhaps it is the others who are.
            starts = -fit.scores, modes.first_voice(precision)
            return [model.first_state(scores, sds) for scores in starts]

        begin = modes.rough(precision) if start is None else start
        states = [model.first_state(begin, sds)]
        return best(Problem(model), states, others, modes.on_iteration, rough=rough)

    def _integrated(
        self,
        judgments: AnyJudgments,
        start: FloatArray | None,
        warned: Callable[[], list[AggcalWarning]],
        began: float,
        on_iteration: Progress | None,
        *,
        trusted: bool,
    ) -> Consensus:
        modes = Modes(mode_rows(judgments), link_of(self.link), self.tolerance, on_iteration)
        rough = self._goes_on(judgments)
        fit = self._without_terms(modes, judgments, start, trusted=trusted, rough=rough)
        said = [*warned(), *divided(fit.objective, fit.rival)]
        chosen, share = self._chosen(judgments, fit.scores), fit.state.reversed_share
        if chosen is not None and not chosen.plain:
            effects = fit_terms(
                judgments,
                chosen,
                lambda model: model.first_state(fit.scores, fit.state.sds, share),
                fixed=fit.problem.model.fixed,
                on_iteration=on_iteration,
            )
            return self._with_terms(effects, said, began)
        return self._integrated_consensus(
            judgments,
            fit,
            said,
            began,
            prior=_prior_of(fit),
            reversed_share=share,
            position_evidence=None if chosen is None else chosen.evidence,
        )

    # ------------------------------------------------------------- uncertainty
    def parameter_prior(self, consensus: Consensus) -> tuple[float, float]:
        """Return those of a reliability."""
        return 1.0, inf if consensus.prior is None else consensus.prior.reliability_sd


class AlikeMethod(LikelihoodMethod):
    """P(i above j) = F(s_i − s_j): every annotator is equally reliable."""

    heterogeneous = False
    estimator: Estimator = "mode"

    @property
    def family(self) -> Family:
        """The likelihood of wins."""
        return Advantage((), Wins(link_of(self.link)))

    def _mode(
        self, modes: Modes, judgments: AnyJudgments, start: FloatArray | None, *, trusted: bool
    ) -> tuple[Prior | None, Mode]:
        del trusted  # there is one optimum only
        if self.prior is None:
            return None, modes.likelihood_maximum(start)
        if isinstance(self.prior, Prior):
            return self.prior, modes.alike(self.prior.score_precision, start)
        usual = default_prior(modes.link)
        sd, mode = modes.alike_of_estimated_sd(judgments.graph.component, usual.score_sd, start)
        return Prior(sd, usual.reliability_sd), mode

    def _integrated(self, *arguments: Any, **options: Any) -> Consensus:
        raise NotImplementedError(self.name)  # there is nothing to integrate

    def _doubts(
        self,
        judgments: AnyJudgments,
        modes: Modes,  # noqa: ARG002
        mode: Mode,
    ) -> list[AggcalWarning]:
        if self.prior is not None or mode.has_maximum:
            return []
        return _no_prior(judgments, mode, heterogeneous=False)

    def annotators_prior(self, consensus: Consensus, annotators: int) -> Any:  # noqa: ARG002
        """Return none: nobody has a parameter."""
        return None

    def parameter_prior(self, consensus: Consensus) -> tuple[float, float]:
        """Return those of a reliability."""
        return 1.0, inf if consensus.prior is None else consensus.prior.reliability_sd


@dataclass(frozen=True)
class BTL(AlikeMethod):
    """Bradley–Terry–Luce: the logistic link, all annotators equally reliable.

    Parameters
    ----------
    prior, tolerance, seed
        As for `HRA`.
    terms
        What a judgment may depend on beside the items (see `Terms`): one readiness to tie and one
        preference for the left side for everyone. Unless asked for, a tie counts as half a win for
        each side, sides do not matter, and contexts are in the standard errors only.

    Examples
    --------
    With one pair, two wins to one and no prior, the odds are the wins:

    >>> import aggcal, math
    >>> rows = [("ann", "a", "b"), ("bob", "a", "b"), ("eve", "b", "a")]
    >>> scores = BTL(prior=None).fit(aggcal.read_judgments(rows)).scores
    >>> round(math.exp(scores[0] - scores[1]), 6)
    2.0
    """

    prior: PriorChoice = "default"
    tolerance: float = _TOLERANCE
    seed: int = 0
    link: LinkName = field(default=registry.LOGISTIC.name, init=False, repr=False)
    name: str = field(default=registry.BTL.name, init=False, repr=False)
    terms: Terms = DEFAULT
    fixed: ChosenTerms | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.terms.bridge != "off":
            raise OptionError(
                f"{self.name} takes all annotators to be alike, so there is no axis along which "
                f"they differ and there are no camps; choose {registry.HRA_G.name}, or leave "
                "--bridge out."
            )


@dataclass(frozen=True)
class TCV(AlikeMethod):
    """Thurstone's case V: the normal link, all annotators equally reliable.

    Examples
    --------
    >>> import aggcal
    >>> TCV().fit(aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "a")])).scores
    array([0., 0.])
    """

    prior: PriorChoice = "default"
    tolerance: float = _TOLERANCE
    seed: int = 0
    link: LinkName = field(default=registry.NORMAL.name, init=False, repr=False)
    name: str = field(default=registry.TCV.name, init=False, repr=False)
    terms: Terms = field(default=PLAIN, init=False, repr=False)


@dataclass(frozen=True)
class CrowdBT(LikelihoodMethod):
    """CrowdBT: a logistic link, and annotators who may report the opposite of what they see.

    P(u puts i above j) = η_u F(d/c) + (1 − η_u) F(−d/c), d = s_i − s_j and c = 1.

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
        standard normal prior on the scores.

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
    link: LinkName = field(default=registry.LOGISTIC.name, init=False, repr=False)
    width: float = field(default=1.0, init=False, repr=False)
    name: str = field(default=registry.CROWD_BT.name, init=False, repr=False)
    estimator: Estimator = "marginal"

    terms = PLAIN
    bounds = 0.0, 1.0

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

    @property
    def family(self) -> Mixture:
        """The likelihood of wins."""
        return Mixture(link_of(self.link), self.width)

    @property
    def _virtual(self) -> float:  # type: ignore[override]
        return self.virtual

    @property
    def _default_sd(self) -> float:
        return default_prior(link_of(self.link)).score_sd * self.width

    def _mode(
        self, modes: Modes, judgments: AnyJudgments, start: FloatArray | None, *, trusted: bool
    ) -> tuple[Prior | None, Mode]:
        sd = self.prior.score_sd if isinstance(self.prior, Prior) else self._default_sd
        prior = Prior(sd, DEFAULT_RELIABILITY_SD)
        honesty = self._honesty(judgments.n_annotators)
        mode = modes.honest(
            self.family, honesty, sd**-2, start, virtual=self.virtual, trusted=trusted
        )
        return prior, mode

    def _honesty(self, annotators: int) -> Beta:
        return Beta(self.alpha - 1.0, self.beta - 1.0, annotators)

    def annotators_prior(self, consensus: Consensus, annotators: int) -> Any:  # noqa: ARG002
        """Return the prior of η."""
        return self._honesty(annotators)

    def _reported(self, theta: FloatArray) -> FloatArray:
        # What stopped at the solver's margin goes onto the end of the interval itself.
        low, high = 2.0 * HONESTY_MARGIN, 1.0 - 2.0 * HONESTY_MARGIN
        return np.where(theta <= low, 0.0, np.where(theta >= high, 1.0, theta))

    def _record(self, scale: float) -> dict[str, Any]:  # noqa: ARG002
        return {"random_reliability": _RANDOM_HONESTY}

    # ------------------------------------------------------------- integrated out
    def _integrated(
        self,
        judgments: AnyJudgments,
        start: FloatArray | None,
        warned: Callable[[], list[AggcalWarning]],
        began: float,
        on_iteration: Progress | None,
        *,
        trusted: bool,
    ) -> Consensus:
        sds = {SCORES: self.prior.score_sd} if isinstance(self.prior, Prior) else {}
        rows, family = mode_rows(judgments), replace(self.family, logit=True)
        model = Model(
            rows,
            family,
            judgments.graph.component,
            default_sd=self._default_sd,
            fixed=frozenset(sds),
            beta=(self.alpha, self.beta),
            penalty=(lambda scores: score_penalty(scores, 0.0, family, self.virtual))
            if self.virtual
            else None,
        )
        starts = [] if start is None else [start]
        if not (trusted and starts):
            modes = Modes(rows, link_of(self.link), self.tolerance)
            sd = sds.get(SCORES, self._default_sd)
            starts += modes.starts_of_mixture(self.width, sd**-2)
        states = [model.first_state(scores, sds) for scores in starts]
        fit = best(Problem(model), states, on_iteration=on_iteration)
        prior = Prior(fit.state.sds[SCORES], DEFAULT_RELIABILITY_SD)
        record = {"random_reliability": _RANDOM_HONESTY, "prior": prior}
        return self._integrated_consensus(judgments, fit, warned(), began, **record)

    # ------------------------------------------------------------- uncertainty
    def parameter_prior(self, consensus: Consensus) -> tuple[float, float]:  # noqa: ARG002
        """Return those of the Beta prior of η."""
        total = self.alpha + self.beta
        return self.alpha / total, sqrt(self.alpha * self.beta / (total + 1.0)) / total


@dataclass(frozen=True)
class CrowdTCV(CrowdBT):
    """CrowdTCV: as `CrowdBT` with the normal link, P = η Φ(d/√2) + (1 − η) Φ(−d/√2).

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("bob", "a", "b"), ("bob", "b", "c"), ("eve", "b", "a")]
    >>> CrowdTCV(virtual=1.0).fit(aggcal.read_judgments(rows)).convergence.converged
    True
    """

    link: LinkName = field(default=registry.NORMAL.name, init=False, repr=False)
    width: float = field(default=sqrt(2.0), init=False, repr=False)
    name: str = field(default=registry.CROWD_TCV.name, init=False, repr=False)
