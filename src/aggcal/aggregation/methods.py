"""The named methods that are one likelihood: HRA, BTL, TCV, CrowdBT and CrowdTCV.

Each is a preset: a link, what its annotators are like (`families`), their prior, and the joint mode
(`modes`). One `fit` serves all: with the annotators' parameters integrated out (`empirical`) or at
that mode, and with the further terms that the judgments need (`fit_terms`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf, sqrt
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import expit

from aggcal import registry
from aggcal._core.arrays import FloatArray
from aggcal._core.machine import one_thread
from aggcal._core.tables import aligned
from aggcal.aggregation.annotators import Beta, Normal
from aggcal.aggregation.camps import Run, continued, find_camps, fit_axis, fit_by_camp
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.effects import Effects
from aggcal.aggregation.empirical import Fit, Model, Problem, State, best
from aggcal.aggregation.empirical import fit as fit_model
from aggcal.aggregation.estimate import CLOSE_CALL, Quantify
from aggcal.aggregation.families import RELIABILITY, Advantage, Mixture, Wins
from aggcal.aggregation.links import link as link_of
from aggcal.aggregation.modes import VANISHING, Mode, Modes, doubtful, mode_rows
from aggcal.aggregation.newton import Convergence, Progress
from aggcal.aggregation.raters import rated_record
from aggcal.aggregation.ratings import CLOSE, RatingsFit, Scale, fit_ratings
from aggcal.aggregation.rows import COMMON_POSITION, CONTEXT_READINESS, CONTROL, SCORES, Rows
from aggcal.aggregation.spreads import DEFAULT_RELIABILITY_SD, Prior, default_prior
from aggcal.aggregation.terms import (
    DEFAULT,
    PLAIN,
    ChosenTerms,
    Terms,
    alike_terms,
    check_terms,
    chosen_terms,
    further_in_any_case,
    model_of,
    weights_are_counts,
)
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments
from aggcal.data.ratings import Ratings
from aggcal.data.scores import Scores
from aggcal.data.warnings import data_warnings
from aggcal.errors import (
    AggcalWarning,
    ConvergenceWarning,
    DividedWarning,
    FewJudgmentsWarning,
    NoMaximumWarning,
    OptionError,
    SeparationWarning,
    check_choice,
    count,
    option,
    some,
)
from aggcal.registry.literals import Estimator, LinkName

Start = Consensus | Scores | FloatArray | None
PriorChoice = Prior | Literal["default", "auto"] | None

# Relative gradient norm of a mode: smaller takes longer, larger leaves scores off the optimum.
_TOLERANCE = 1e-10
# A prior of mostly honest annotators: it predicted held-out judgments best, or nearly.
_ALPHA, _BETA = 4.0, 1.0
_RANDOM_HONESTY = 0.5  # η of one who tosses a coin
_DIGITS = 11  # of a parameter at a mode: honesties stop 1e-12 short of 0 and 1

_MANY_AGAINST, _CLEARLY, _SEVERAL = 0.3, 0.1, 2
"""Share of annotators below minus so much of the typical reliability, and number of them, from
which the mode is not trusted: with two fifths reversed, 2 to 8% of its orders were upside down in
small studies and no other warning was given. People who guess, or fewer reversed, do not reach it.
"""
_ENOUGH_EACH = 30
"""Judgments of a typical annotator from which standard errors without a prior are usable."""
_CONTRADICT = "Use a prior (the default), or collect judgments that contradict these."
_VANISHING_SDS = (1.0, 10.0, 100.0, 1e4)
"""Sds of priors that get weaker, each fit beginning where the last one ended: the widest moves
nothing by more than a hundred-millionth of itself, and still holds what the data leave free."""
_FAR_OUT = 15.0
"""Size of a score or an effect beyond which it is taken to run away."""


class LikelihoodMethod:
    """A method of the one likelihood, fitted wherever the judgments lie."""

    # What presets state, as fields of theirs or of the class.
    link: LinkName
    prior: PriorChoice
    tolerance: float
    seed: int
    name: Any
    estimator: Estimator = "mode"
    terms: Terms = PLAIN
    width: ClassVar[float] = 1.0
    family: Any
    """The likelihood of wins."""
    bounds: ClassVar[tuple[float, float]] = -inf, inf
    """Between which an annotator's parameter lies."""
    random_reliability: ClassVar[float] = 0.0
    honesty: tuple[float, float] | None = None
    """Parameters of the Beta prior of the honesty, where the family is a mixture."""
    _mode: Callable[..., tuple[Prior | None, Mode]]
    """Returns the prior and the joint mode from `Modes`, judgments and a start, trusted or not."""

    @property
    def heterogeneous(self) -> bool:
        """Whether annotators have a parameter each."""
        return bool(self.family.names)

    @property
    def _integrates(self) -> bool:
        """Whether parameters are integrated out: not without a prior."""
        return self.heterogeneous and self.estimator == "marginal" and self.prior is not None

    @property
    def _rates(self) -> bool:
        """Whether ratings are fitted as such: by the default method, unless pairs have terms."""
        return self._integrates and self.name == registry.HRA_G.name and self.terms == DEFAULT

    @property
    def _stated(self) -> Prior:
        """The prior that was stated, else the default one."""
        if isinstance(self.prior, Prior):
            return self.prior
        sd = self.width * default_prior(link_of(self.link)).score_sd
        return Prior(sd, DEFAULT_RELIABILITY_SD)

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
        """Fit other judgments with the same prior and terms, also where the data chose them."""
        same = replace(self, prior=consensus.prior)  # type: ignore[type-var]  # all are dataclasses
        fitted = getattr(consensus.quantifier, "rated", None)
        ratings = judgments.ratings if isinstance(judgments, Judgments) else None
        if self._rates and fitted is not None and isinstance(judgments, Judgments) and ratings:
            return same._of_ratings(judgments, ratings, start, fitted)  # noqa: SLF001
        # What was decided is not decided again: that takes a quarter of a fit.
        effects = consensus.effects
        chosen = ChosenTerms("halves") if effects is None else effects.chosen
        return same._fitted(judgments, start, chosen=chosen)  # noqa: SLF001

    def _fitted(
        self,
        judgments: AnyJudgments,
        start: Start,
        on_iteration: Progress | None = None,
        *,
        chosen: ChosenTerms | None = None,
    ) -> Consensus:
        """Fit with terms that another fit has chosen, or choose them; that one has warned, too."""
        if self._rates and isinstance(judgments, Judgments) and judgments.ratings is not None:
            return self._of_ratings(judgments, judgments.ratings, start)
        began, trusted = time.perf_counter(), chosen is not None
        first: tuple[Any, ...]
        if self.prior is None:
            judgments.on_one_machine("a fit without a prior")
        said = [] if trusted else data_warnings(judgments)
        begin, effects = start_scores(start, judgments), None
        modes = Modes(mode_rows(judgments), link_of(self.link), self.tolerance, on_iteration)
        terms = self.terms if self._integrates or not self.heterogeneous else PLAIN
        if terms.plain:
            chosen = ChosenTerms("halves")
        if self._integrates:
            further = not chosen.plain if chosen else further_in_any_case(terms, judgments)
            fit = self._integrated(modes, judgments, begin, trusted=trusted, rough=further)
            said += divided(fit.objective, fit.rival) if self.honesty is None else []
            chosen = chosen or chosen_terms(terms, judgments, fit.scores)
            if not chosen.plain:
                first = fit.scores, fit.state.sds, fit.state.reversed_share
                fixed, run = fit.problem.model.fixed, _runs(on_iteration)
                effects = fit_terms(judgments, chosen, first, fixed, run)
            record = self._of_fit(judgments, fit, effects)
        else:
            prior, mode = self._mode(modes, judgments, begin, trusted=trusted)
            chosen = chosen or alike_terms(terms, judgments)
            if chosen.plain:
                record = self._of_mode(judgments, modes.rows, mode, prior)
                said += self._doubts(judgments, modes.rows, mode)
            else:
                if prior is None and chosen.cells:
                    raise OptionError(
                        "effects of contexts and scores by category need a prior; use one (the "
                        "default), or leave these effects out."
                    )
                first = mode.scores, {} if prior is None else {SCORES: prior.score_sd}
                estimated = prior is not None and not isinstance(self.prior, Prior)
                fixed, run = frozenset([] if estimated else [SCORES]), _runs(on_iteration)
                run = run if prior else _vanishing(run)
                effects = fit_terms(judgments, chosen, first, fixed, run)
                record = self._of_fit(judgments, effects.fit, effects)
                if prior is None and _ran_away(effects.fit):
                    said.append(_NO_MAXIMUM)
        return Consensus.of(
            judgments,
            method=self.name,
            random_reliability=self.random_reliability,
            warnings=(
                *chosen.unexplained(said),
                *not_converged(self.name, record["convergence"]),
            ),
            position_evidence=chosen.evidence if effects is None else None,
            seconds=time.perf_counter() - began,
            **record,
        )

    def _of_ratings(
        self,
        judgments: Judgments,
        ratings: Ratings,
        start: Start,
        like: RatingsFit | None = None,
    ) -> Consensus:
        """Fit ratings as such; ``like`` is another fit of the study, whose spreads are taken."""
        began = time.perf_counter()
        unit = (Scale.of(ratings.value) if like is None else like.scale).unit
        begin = start_scores(start, judgments)
        sd = self.prior.score_sd / unit if isinstance(self.prior, Prior) else None
        fitted = fit_ratings(
            ratings,
            judgments.n_items,
            start=None if begin is None else begin / unit,
            like=like,
            sd=sd,
        )
        fit, said = fitted.fit, [] if like is not None else data_warnings(judgments)
        # A rating says how far an item is above all others, whether or not it always wins.
        said = [warning for warning in said if not isinstance(warning, SeparationWarning)]
        said += divided(fit.objective, fitted.rival)
        record = Convergence(fit.converged, fit.rounds, fit.change, CLOSE, fit.objective)
        consensus = Consensus.of(
            judgments,
            method=self.name,
            warnings=(*said, *not_converged(self.name, record)),
            convergence=record,
            seconds=time.perf_counter() - began,
            **rated_record(fitted, self, judgments),
        )
        return replace(
            consensus,
            judgments_per_item=ratings.per_item(judgments.n_items),
            judgments_per_annotator=ratings.per_annotator(judgments.n_annotators),
        )

    def _integrated(
        self,
        modes: Modes,
        judgments: AnyJudgments,
        start: FloatArray | None,
        *,
        trusted: bool,
        rough: bool = False,
    ) -> Fit:
        """Fit items and annotators alone, the annotators' parameters integrated out."""
        family, prior, mixture = self.family, self._stated, self.honesty is not None
        sds = {SCORES: prior.score_sd} if isinstance(self.prior, Prior) else {}
        if mixture:
            family = replace(family, logit=True)
        elif sds:
            sds[RELIABILITY] = prior.reliability_sd
        model = Model(
            modes.rows,
            family,
            judgments.graph.component,
            default_sd=self.width * default_prior(modes.link).score_sd,
            fixed=frozenset(sds),
            beta=self.honesty,
        )

        def others(fit: Fit) -> list[State]:
            """Return further starts where many are reversed: perhaps it is the others who are."""
            if trusted or mixture:
                return []
            reliabilities = fit.posterior.mean(fit.posterior.of(RELIABILITY))
            if not doubtful(fit.scores, reliabilities, modes.rows.annotator_weights):
                return []
            starts = -fit.scores, modes.first_voice(prior.score_precision)
            return [model.first_state(scores, sds) for scores in starts]

        starts = [] if start is None else [start]
        if mixture and not (trusted and starts):
            starts += modes.starts_of_mixture(self.width, prior.score_precision)
        starts = starts or [modes.rough(prior.score_precision)]
        states = [model.first_state(scores, sds) for scores in starts]
        return best(Problem(model), states, others, modes.on_iteration, rough=rough)

    def _of_fit(self, judgments: AnyJudgments, fit: Fit, effects: Effects | None) -> dict[str, Any]:
        """Return what a consensus records of a posterior: that of the effects, if there are any."""
        scores = fit.scores
        if effects is not None:
            fit, scores = effects.fit, effects.scores
        sds, posterior, names = fit.state.sds, fit.posterior, fit.posterior.names
        reliability_sd = sds.get(RELIABILITY, DEFAULT_RELIABILITY_SD)
        record = {
            "scores": scores,
            "objective": fit.problem.prior(fit.state)[0] - posterior.log_evidence,
            "log_likelihood": posterior.log_evidence,
            "convergence": fit.convergence,
            "prior": None if self.prior is None else Prior(sds[SCORES], reliability_sd),
            "estimator": "mode",
            "quantifier": Quantify(self, judgments, fit, effects),
            "effects": effects,
        }
        if names:
            values = posterior.of(names[0])
            values = values if self.honesty is None else expit(values)
            record |= {"reliabilities": posterior.mean(values), "objective": fit.objective}
            record["estimator"] = "marginal"
        if RELIABILITY in names:
            record["reversed_share"] = fit.state.reversed_share
        return record

    def _of_mode(
        self, judgments: AnyJudgments, rows: Rows, mode: Mode, prior: Prior | None
    ) -> dict[str, Any]:
        """Return what a consensus records of a joint mode."""
        scale = 1.0
        if prior is not None and RELIABILITY in self.family.names:
            # The likelihood does not change along (c·s, γ/c): the scale is a convention.
            scale = typical_reliability(mode.theta, rows.annotator_weights)
            prior = Prior(scale * prior.score_sd, prior.reliability_sd / scale)
        return {
            "scores": scale * mode.scores,
            # An honesty that stopped at the solver's margin is at the end of the interval itself.
            "reliabilities": np.round(mode.theta / scale, _DIGITS),
            "objective": mode.objective,
            "log_likelihood": mode.log_likelihood,
            "convergence": mode.convergence,
            "prior": prior,
            "estimator": "mode",
            "quantifier": Quantify(self, judgments),
            "unit": scale,
        }

    def _doubts(self, judgments: AnyJudgments, rows: Rows, mode: Mode) -> list[AggcalWarning]:
        """Warn of another optimum that fits as well as a mode, or of none."""
        said = divided(mode.objective, mode.rival)
        said = said or many_against(mode.theta, rows.annotator_weights)
        if self.prior is not None:
            return said
        here = mode_rows(judgments.on_one_machine("a fit without a prior"))
        each = self.heterogeneous
        return [*no_prior_warnings(judgments, here, mode.scores, heterogeneous=each), *said]

    # What the uncertainty is made from ------------------------------------------------------------
    def annotators_prior(self, consensus: Consensus, annotators: int) -> Normal | Beta | None:
        """Return the prior of so many annotators' parameters; None where they have none."""
        prior = consensus.prior
        if self.honesty is not None:
            return Beta(self.honesty[0] - 1.0, self.honesty[1] - 1.0, annotators)
        if not self.heterogeneous:
            return None
        sd = VANISHING[-1] ** -0.5 if prior is None else prior.reliability_sd
        mean = 1.0 if prior is None else 1.0 / consensus.unit
        return Normal(np.full((annotators, 1), mean), np.array([sd]))

    def parameter_prior(self, consensus: Consensus) -> tuple[float, float]:
        """Return the mean and the standard deviation of that prior."""
        if self.honesty is not None:
            (alpha, beta), total = self.honesty, sum(self.honesty)
            return alpha / total, sqrt(alpha * beta / (total + 1.0)) / total
        return 1.0, inf if consensus.prior is None else consensus.prior.reliability_sd


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
        Taken as other methods take it: a search for camps or an axis has the same starts whatever
        it is, and nothing else of a fit is random.
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
    def family(self) -> Advantage:
        """The likelihood of wins."""
        return Advantage((RELIABILITY,), Wins(link_of(self.link)))

    def _mode(
        self, modes: Modes, judgments: AnyJudgments, start: FloatArray | None, *, trusted: bool
    ) -> tuple[Prior | None, Mode]:
        if self.prior is None:
            return None, modes.likelihood_maximum_of_each(start, trusted=trusted)
        prior = self._stated
        if self.prior == "auto":
            sds = self._integrated(modes, judgments, start, trusted=trusted).state.sds
            prior = Prior(sds[SCORES], sds[RELIABILITY])
        precisions = prior.score_precision, prior.reliability_precision
        return prior, modes.reliable(*precisions, start, trusted=trusted)


class AlikeMethod(LikelihoodMethod):
    """P(i above j) = F(s_i − s_j): every annotator is equally reliable."""

    @property
    def family(self) -> Advantage:
        """The likelihood of wins."""
        return Advantage((), Wins(link_of(self.link)))

    def _mode(
        self, modes: Modes, judgments: AnyJudgments, start: FloatArray | None, *, trusted: bool
    ) -> tuple[Prior | None, Mode]:
        del trusted  # there is one optimum only
        if self.prior is None:
            return None, modes.likelihood_maximum(start, exists=has_maximum(judgments))
        if isinstance(self.prior, Prior):
            return self.prior, modes.alike(self.prior.score_precision, start)
        usual = self._stated
        sd, mode = modes.alike_of_estimated_sd(judgments.graph.component, usual.score_sd, start)
        return replace(usual, score_sd=sd), mode


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
    terms: Terms = DEFAULT

    link = registry.LOGISTIC.name
    name = registry.BTL.name

    def __post_init__(self) -> None:
        if self.terms.bridge != "off":
            raise OptionError(
                f"{self.name} takes all annotators to be alike, so there is no axis along which "
                f"they differ and there are no camps; choose {registry.HRA_G.name}, or leave "
                f"{option('bridge')} out."
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

    link = registry.NORMAL.name
    name = registry.TCV.name


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
    tolerance
        Relative gradient norm at which a fit of the mode is finished.
    seed
        Taken as other methods take it: nothing of a fit is random.
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
    tolerance: float = _TOLERANCE
    seed: int = 0
    estimator: Estimator = "marginal"

    link = registry.LOGISTIC.name
    name = registry.CROWD_BT.name
    bounds = 0.0, 1.0
    random_reliability = _RANDOM_HONESTY

    def __post_init__(self) -> None:
        if self.prior is None:
            raise OptionError(
                f"{self.name} needs a prior on the scores; choose {option('prior', 'default')}, or "
                f"{option('score-sd', 'X')}."
            )
        check_choice("estimator", self.estimator, registry.ESTIMATORS)
        for name in ("alpha", "beta"):
            if not (value := getattr(self, name)) >= 1.0:
                raise OptionError(f"{name} of {self.name} is {value}; give at least 1.")
        object.__setattr__(self, "honesty", (self.alpha, self.beta))

    @property
    def family(self) -> Mixture:
        """The likelihood of wins."""
        return Mixture(link_of(self.link), self.width)

    def _mode(
        self, modes: Modes, judgments: AnyJudgments, start: FloatArray | None, *, trusted: bool
    ) -> tuple[Prior | None, Mode]:
        prior = replace(self._stated, reliability_sd=DEFAULT_RELIABILITY_SD)
        honesty = Beta(self.alpha - 1.0, self.beta - 1.0, judgments.n_annotators)
        precision = prior.score_precision
        return prior, modes.honest(self.family, honesty, precision, start, trusted=trusted)


@dataclass(frozen=True)
class CrowdTCV(CrowdBT):
    """CrowdTCV: as `CrowdBT` with the normal link, P = η Φ(d/√2) + (1 − η) Φ(−d/√2).

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("bob", "a", "b"), ("bob", "b", "c"), ("eve", "b", "a")]
    >>> CrowdTCV(alpha=2.0).fit(aggcal.read_judgments(rows)).convergence.converged
    True
    """

    link = registry.NORMAL.name
    width = sqrt(2.0)
    name = registry.CROWD_TCV.name


def start_scores(start: Start, judgments: AnyJudgments) -> FloatArray | None:
    """Return the scores to start from, in the order of the judgments' items."""
    if start is None:
        return None
    if isinstance(start, Consensus | Scores):
        values = start.scores if isinstance(start, Consensus) else start.values
        found = aligned(values, start.item_ids, judgments.item_ids)
        if np.isnan(found).all():
            raise OptionError(
                f"start has none of the {judgments.n_items} items of the judgments (it has "
                f"{some(start.item_ids)}); give one of the same study, or leave it out."
            )
        return np.nan_to_num(found)
    try:
        array = np.asarray(start, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(
            f"start is a {type(start).__name__}, not numbers; give an earlier consensus, Scores, "
            f"or one number for each of the {judgments.n_items} items."
        ) from None
    shaped = array.shape == (judgments.n_items,)
    if not shaped or not np.isfinite(array).all():
        wrong = "holds a missing or infinite number" if shaped else f"has the shape {array.shape}"
        raise OptionError(
            f"start {wrong}; give one finite number for each of the "
            f"{judgments.n_items} items, in the order of judgments.item_ids."
        )
    return array


# Terms beside items and reliabilities -----------------------------------------------------------


def fit_terms(
    judgments: AnyJudgments,
    chosen: ChosenTerms,
    first: tuple[Any, ...],
    fixed: frozenset[str],
    run: Run,
) -> Effects:
    """Fit judgments with further terms.

    What is controlled for, camps and an axis are added to a fit without them.

    Parameters
    ----------
    judgments, chosen
        What was judged, and the terms.
    first
        What `Model.first_state` begins with: scores, standard deviations and so on.
    fixed
        Names of standard deviations that are known.
    run
        Fits a model from a state.
    """
    simpler = replace(chosen, bridge=False, camps="", control=None)
    model = model_of(judgments, simpler, fixed=fixed)
    result, uncontrolled, camps, by_camp = run(model, model.first_state(*first)), None, None, None
    if chosen.control is not None:
        uncontrolled, simpler = result.scores, replace(simpler, control=chosen.control)
        model = model_of(judgments, simpler, fixed=fixed)
        result = run(model, continued(model, result))
    if chosen.camps:
        local = judgments.on_one_machine("looking for camps")
        rows = model_of(local, simpler, answers=not weights_are_counts(local)).rows
        camps = find_camps(rows, result)
        if len(camps.scores):
            by_camp = fit_by_camp(local, simpler, camps, result, run)
            camps = by_camp.described(camps)
        chosen = replace(chosen, bridge=chosen.camps == "auto" and by_camp is None)
    if chosen.bridge:
        result = fit_axis(model_of(judgments, chosen, fixed=fixed), result, run)
    # Refits keep what was decided, and do not look for camps again.
    return Effects(judgments, replace(chosen, camps=""), result, uncontrolled, camps, by_camp)


def _runs(on_iteration: Progress | None) -> Run:
    return lambda model, state: fit_model(Problem(model), state, on_iteration)


def _vanishing(run: Run) -> Run:
    """Return what approaches the maximum of the likelihood by priors that get weaker."""

    def fit(model: Model, state: State) -> Fit:
        for sd in _VANISHING_SDS:
            wide = {SCORES, COMMON_POSITION, CONTEXT_READINESS, CONTROL} & {*state.sds}
            result = run(model, replace(state, sds=state.sds | dict.fromkeys(wide, sd)))
            state = result.state
            if _ran_away(result):
                break
        return result

    return fit


def _ran_away(result: Fit) -> bool:
    return float(np.abs(result.state.unknowns).max(initial=0.0)) > _FAR_OUT


# What to warn of --------------------------------------------------------------------------------


_NO_MAXIMUM = NoMaximumWarning(
    "There is no maximum-likelihood estimate",
    "Scores or effects grow without bound, because the judgments never contradict them.",
    _CONTRADICT,
)


def not_converged(name: str, record: Convergence) -> list[AggcalWarning]:
    """Warn of a fit that did not reach its optimum."""
    if record.converged:
        return []
    if record.gradient_norm <= record.tolerance:
        why = (
            f"The prior sds of scores and reliabilities that {name} estimates did not converge "
            f"within {record.iterations} iterations."
        )
        sds = f"{option('score-sd')} and {option('reliability-sd')}"
        to_do = f"Set them with {sds}, or look for items that always win or lose."
        return [ConvergenceWarning("The estimated prior did not converge", why, to_do)]
    why = (
        f"The relative gradient of {name} is {record.gradient_norm:.1e}; "
        f"{record.tolerance:.0e} is required."
    )
    to_do = "Use a stronger prior, or look for items and annotators with few judgments."
    return [ConvergenceWarning("The fit did not converge", why, to_do)]


def divided(objective: float, rival: float | None) -> list[AggcalWarning]:
    """Warn where a very different order fits nearly as well."""
    if rival is None or rival - objective >= CLOSE_CALL:
        return []
    why = (
        f"Annotators contradict each other (objective {objective:.2f} against {rival:.2f}). Which "
        "end of the consensus is the top is uncertain."
    )
    to_do = "Find out who misread the question, or add annotators whom you trust."
    title = "Two very different orders fit the judgments about equally well"
    return [DividedWarning(title, why, to_do)]


def many_against(reliabilities: FloatArray, given: FloatArray) -> list[AggcalWarning]:
    """Warn where the mode takes so many annotators for reversed that it may be upside down.

    Examples
    --------
    >>> [found] = many_against(np.array([1.0, 0.8, -1.1, 1.2, -0.9]), np.full(5, 100.0))
    >>> found.title
    '2 of 5 annotators answer against the consensus'
    >>> many_against(np.array([1.0, 0.8, 1.1, 1.2, -0.9]), np.full(5, 100.0))
    []
    """
    level = -_CLEARLY * typical_reliability(reliabilities, given)
    number, all_of_them = int((reliabilities < level).sum()), len(reliabilities)
    if number < _SEVERAL or number <= _MANY_AGAINST * all_of_them:
        return []
    return [
        DividedWarning(
            f"{number:,} of {all_of_them:,} annotators answer against the consensus",
            "With so many, the joint mode cannot tell which end of the consensus is the top.",
            "Use the default estimator on the processor, which estimates how many annotators are "
            "reversed, or find out who misread the question.",
        )
    ]


def typical_reliability(reliabilities: FloatArray, given: FloatArray) -> float:
    """Return the mean strength of the annotators, by how much they judged.

    One who answers the other way round counts with their strength.

    Examples
    --------
    >>> typical_reliability(np.array([2.0, -1.0]), np.array([30.0, 10.0]))
    1.75
    """
    found = float(np.abs(reliabilities) @ given / given.sum())
    return found if found > 0.0 else 1.0


def has_maximum(judgments: AnyJudgments) -> bool:
    """Whether the likelihood of annotators who are alike has a maximum (Ford, 1957).

    In each connected piece of the graph a chain of wins leads from each item to each other.
    """
    return len(judgments.graph.strong_sizes) == len(judgments.graph.component_sizes)


def no_prior_warnings(
    judgments: AnyJudgments, rows: Rows, scores: FloatArray, *, heterogeneous: bool
) -> list[AggcalWarning]:
    """Say for whom there is no maximum of the likelihood of rows, which are wins.

    And, of annotators who have reliabilities, where standard errors are far too small.
    """
    graph, said = judgments.graph, list[AggcalWarning]()
    if not has_maximum(judgments):
        outside = list(graph.item_ids[graph.strong > 0])
        has = count(len(outside), "item has", "items have")
        chain = "chain of wins and losses connects them to the other items in both directions"
        why = f"No {chain}: {some(outside)}."
        title = f"{has} no maximum-likelihood score"
        said.append(NoMaximumWarning(title, why, _CONTRADICT, items=outside))
    if not heterogeneous:
        return said
    gap, begins = scores[rows.left] - scores[rows.right], rows.starts[:-1]
    one_sided = np.minimum.reduceat(gap, begins) > 0.0
    one_sided |= np.maximum.reduceat(gap, begins) < 0.0
    if one_sided.any():
        who = list(judgments.annotator_ids[one_sided])
        has = count(len(who), "annotator has", "annotators have")
        title = f"{has} an infinite maximum-likelihood reliability"
        contradicts = "contradicts" if len(who) == 1 else "contradict"
        why = f"It is infinite for {some(who)}, who never (or always) {contradicts} the consensus."
        said.append(NoMaximumWarning(title, why, _CONTRADICT, annotators=who))
    typical = float(np.median(judgments.judgments_per_annotator))
    if typical < _ENOUGH_EACH:
        title = f"Half of the annotators gave {typical:g} judgments or fewer"
        why = "No prior limits their reliabilities, so standard errors are several times too small."
        said.append(FewJudgmentsWarning(title, why, "Use a prior (the default)."))
    return said
