r"""Empirical Bayes: the unknowns, and the standard deviations of all that differs.

The posterior of the unknowns x (scores, effects, prior means of annotators' parameters) is taken as
normal: its mean is found by Newton's method, its covariance is the inverse of the observed
information. With that, the standard deviations of the unknowns and of the annotators' parameters,
the share of reversed annotators and the weights of strengths of answers are estimated along the
way: one loop for every integrated model. A model whose annotators are alike has nothing to
integrate out: its likelihood is penalised.

The likelihood does not change along (c·s, γ/c). The scale constraint fixes that,

    Σ_u w_u E ρ_u = 1,   w_u the share of the judgments that annotator u gave,

in which a reversed annotator counts with their strength ρ. Its Lagrange multiplier λ shifts the
prior means, μ_u = 1 + τ² λ w_u. The left side changes by v = Σ_u w_u Cov(ρ, g_u) with the unknowns,
g_u the responses, and by Var(Σ w ρ) with λ: Newton's method in both leaves, as the Schur complement
of λ, the information of the rows and the priors plus vv'/Var(Σ w ρ). Uncertainty is on the
constraint, too. `Curvature` has v and the variance, `Curvature.multiplier_step` the step of λ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log, sqrt

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, dot
from aggcal._core.text import brief
from aggcal.aggregation.annotators import Beta, Normal, Point, Posterior
from aggcal.aggregation.families import (
    POSITION,
    READINESS,
    RELIABILITY,
    STANCE,
    Family,
    typical_readiness,
)
from aggcal.aggregation.modes import search
from aggcal.aggregation.newton import (
    Convergence,
    Progress,
    anderson,
    conjugate_gradients,
    definite_inverse,
)
from aggcal.aggregation.rows import (
    AXIS,
    COMMON_POSITION,
    CONTEXT_READINESS,
    CONTROL,
    SCORES,
    Rows,
)
from aggcal.aggregation.shards import annotators_of
from aggcal.aggregation.spreads import (
    DEFAULT_RELIABILITY_SD,
    LARGEST_SD,
    LEAST_SD,
    PARAMETER_PRIOR,
    RELIABILITY_PRIOR,
    REVERSED_PRIOR,
    centred,
    effect_count,
    grade_weights,
    next_sd,
    reversed_share,
    score_count,
)
from aggcal.aggregation.tape import Mean, Tape

MEAN_PRIORS = {POSITION: (0.0, 1.0), READINESS: (-1.0, 3.0)}
"""Prior mean and sd of the mean position (on the logit scale) and of the mean readiness: wide."""
FIRST_SDS = {
    SCORES: 1.0,
    "context": 0.5,
    CONTROL: 10.0,
    AXIS: 0.2,
    CONTEXT_READINESS: 0.5,
    RELIABILITY: DEFAULT_RELIABILITY_SD,
    POSITION: 0.5,
    READINESS: 1.0,
    STANCE: 1.0,
}
"""Standard deviations to begin with: about what real studies show, or, of coefficients, so wide
that they do not matter."""
CATEGORY_SD = 0.5
"""The same of what an item does in a category."""
_KNOWN, _KNOWN_ALIKE = frozenset({CONTROL, STANCE}), frozenset({COMMON_POSITION, CONTEXT_READINESS})
"""What is never estimated, also where annotators are alike: the stance is in units of the axis, the
others are single numbers."""
_FIRST_REVERSED = 0.3
"""Share of reversed annotators to begin with: from .05 it stays near 0 where a third is."""
_GAP_SD, _MIXTURE_GAP_SD = 2.0, 1.0
"""Largest sd of a row's gap that is averaged over, in units of the default sd of scores: quadrature
is good up to it. Of mixtures, where items were judged some twenty times, intervals of the honesty
cover too little with more."""
_FURTHEST_LOGIT = 12.0
"""Largest logit of an honesty: beyond, honest and certain are the same."""
_PINNED = 10.0
"""How stiffly the mean readiness of contexts is held at 0, for each annotator: it is then below a
hundredth. More would only make steps harder to solve for."""
_MOST_DENSE, _FEW_UNKNOWNS, _FEW_ROWS = 1200, 300, 50_000
"""Up to so many unknowns the information is inverted; up to so few only where there are no effects
beside the scores, or more than so many rows: coverage is the same, and it takes longer."""
_MOST_ITERATIONS, _MOST_STEPS = 200, 5
"""Updates of the standard deviations at most, and steps of Newton's method before each."""
_TOLERANCE = 1e-4
"""Change of unknowns (over the sd of scores), of standard deviations and of variances in an update
at which they have settled: far below their standard errors."""
_ROUGHLY = 5e-3
"""The same where another fit goes on from here: higher, that one takes more than this one saves.
"""
_NEARER = 0.2
"""Share of the last update's change up to which the unknowns are solved for before the next one:
less takes up to half as long again, and more does not converge in some near-separable studies."""
_POLISHED, _NEARBY, _POLISHING_STEPS = 1e-7, 1e-3, 30
"""Relative gradient to which the unknowns are then solved for, the standard deviations fixed."""
_SOLVED = 1e-3
"""Relative residual to which conjugate gradients solve."""
_ROUGH, _CLOSE, _NEAR = 1e-4, 1e-10, 5e-3
"""How near annotators' modes are looked for, on the way and once an update changes less than the
third: nodes are only placed by them."""
_SURELY = 1e-5
"""Probability of being reversed below which an annotator is taken to answer as asked."""
_SCALE_STEPS, _SCALE_OFF = 5, 0.05
"""How often first scores are scaled, and how far the typical reliability may be from 1 to begin
with: far from it the multiplier goes astray."""
_REACH, _LONG_REACH = 0.5, 2.0
"""How far a step of the multiplier may move anybody's reliability, reckoned by the prior: further,
their curvature has changed. And the same in further tries, where that led nowhere."""
_BACK = 0.5
"""A step back by more than this share of the last one was too long, as where ties are rare, or one
annotator answers nearly all: steps are halved."""
_KEPT, _FREELY = 0.5, 5
"""What is kept of the variances of gaps in an update, after so many: near-separable data go round
in circles otherwise."""
_LAG = 0.05
"""Share of a change of the variances that counts as a change."""
_MEMORY = 4
"""Updates that Anderson acceleration combines."""
_SMALL = 0.1
"""Sd below which a change counts as it is: one that goes to 0 does so for ever, relatively."""
_LEAST_SCORE_SD = 1e-3
"""Smallest sd of the scores over the default, inverse of the largest: beyond, rounding decides."""
_SMALLER = (0.1, 0.01)
"""Largest of the first scores of further tries where a start led nowhere: where judgments say next
to nothing, first scores that fit them put the constraint out of reach."""
_SAME = 1e-6
"""Relative difference of objectives up to which the first of two fits is taken."""


@dataclass(frozen=True, eq=False)
class Model:
    """What is fitted: rows, a family, and priors."""

    __repr__ = brief

    rows: Rows
    family: Family
    component: IntArray
    """Connected component of each item: the mean of each is a convention."""
    means: tuple[str, ...] = ()
    """Annotators' parameters whose prior mean is unknown: the unknowns after those of the rows."""
    default_sd: float = 1.0
    """Of the scores."""
    fixed: frozenset[str] = frozenset()
    """Standard deviations that are known, beside those that always are."""
    beta: tuple[float, float] | None = None
    """Prior of the honesty of a mixture."""
    located: bool = False
    """Whether the mean of the scores is held at 0, as no prior may do it."""

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return self.rows.size + len(self.means)

    def index(self, name: str) -> int:
        """Return which unknown the prior mean of a parameter is."""
        return self.rows.size + self.means.index(name)

    @property
    def alike(self) -> bool:
        """Whether annotators have no parameters."""
        return not self.family.names

    @property
    def constrained(self) -> bool:
        """Whether reliabilities could take over the scale of the scores."""
        return RELIABILITY in self.family.names

    @property
    def estimated(self) -> list[str]:
        """Name the standard deviations that are estimated: of blocks, and of parameters."""
        fixed = self.fixed | _KNOWN | (_KNOWN_ALIKE if self.alike else frozenset())
        names = [*self.rows.blocks, *(() if self.beta else self.family.names)]
        return [name for name in names if name not in fixed]

    @property
    def score_count(self) -> Callable[[float], float]:
        """Of the scores, for their sd."""
        components = int(self.component.max()) + 1
        return score_count(len(self.component) - components, self.default_sd)

    def within(self, name: str, sd: float) -> float:
        """Keep a standard deviation within what can be seen, or computed."""
        if name != SCORES:
            return min(max(sd, LEAST_SD), LARGEST_SD if name in self.family.names else np.inf)
        return min(max(sd, _LEAST_SCORE_SD * self.default_sd), self.default_sd / _LEAST_SCORE_SD)

    @cached_property
    def centre(self) -> FloatArray:
        """Prior means of the unknowns."""
        centre = np.zeros(self.size)
        if self.alike and CONTEXT_READINESS in self.rows.blocks:
            centre[self.rows.blocks[CONTEXT_READINESS].where] = MEAN_PRIORS[READINESS][0]
        for name in self.means:
            centre[self.index(name)] = MEAN_PRIORS[name][0]
        return centre

    @cached_property
    def pin(self) -> FloatArray:
        """Return p: p'x = 0 is held, the readiness of the contexts adding up to 0.

        The judgments do not tell a readiness of all contexts from the mean one of the annotators.
        Only the prior would, and it is weaker than the errors of cubature, which add up over the
        annotators: the two would drift apart.
        """
        pin = np.zeros(self.size)
        if CONTEXT_READINESS in self.rows.blocks and READINESS in self.means:
            where = self.rows.blocks[CONTEXT_READINESS].where
            pin[where] = sqrt(_PINNED * self.rows.n_annotators) / (where.stop - where.start)
        if self.located:  # about as stiffly as rows hold a score
            pin[: self.rows.n_items] = sqrt(self.rows.annotator_weights.sum()) / self.rows.n_items
        return pin

    def first_state(
        self,
        scores: FloatArray,
        sds: dict[str, float] | None = None,
        share: float = _FIRST_REVERSED,
    ) -> State:
        """Return where to begin with some scores and a share of reversed annotators.

        Everything else is at its default; the readiness to tie is what the share of ties suggests.
        """
        unknowns = self.centre.copy()
        unknowns[: len(scores)] = scores
        if READINESS in self.means:
            gap_sd, law = sqrt(2.0) * float(np.std(scores)), getattr(self.family, "law")  # noqa: B009
            typical = typical_readiness(self.rows.tied_share, law, gap_sd, FIRST_SDS[READINESS])
            unknowns[self.index(READINESS)] = typical
        names = [*self.rows.blocks, *(() if self.beta else self.family.names)]
        first = dict.fromkeys(names, CATEGORY_SD) | {
            name: sd for name, sd in FIRST_SDS.items() if name in names
        }
        first[SCORES] = self.default_sd
        if self.alike:  # single numbers, with the priors of means
            wide = {COMMON_POSITION: POSITION, CONTEXT_READINESS: READINESS}
            first |= {k: MEAN_PRIORS[name][1] for k, name in wide.items() if k in names}
        grades = (1.0,) * len(self.rows.grade_weights)
        return State(unknowns, first | (sds or {}), share, np.zeros(self.size), grades=grades)


@dataclass(frozen=True, eq=False)
class State:
    """Where a fit is."""

    unknowns: FloatArray
    sds: dict[str, float]
    """Standard deviations of blocks of unknowns, and of annotators' parameters."""
    reversed_share: float
    covariance: FloatArray
    """Of the unknowns, a matrix or its diagonal: what gaps are averaged over."""
    multiplier: float = 0.0
    """λ, the Lagrange multiplier of the scale constraint."""
    grades: tuple[float, ...] = (1.0,)
    """Weights of the strengths of answers."""

    __repr__ = brief


@dataclass(eq=False)
class Curvature:
    """The information of the unknowns at a state: of the rows, their priors and the constraint."""

    __repr__ = brief

    model: Model
    tape: Tape
    posterior: Posterior
    precision: FloatArray
    """Of the unknowns' prior."""
    shares: FloatArray
    """w_u."""
    constraint: FloatArray
    """v/√Var(Σ w ρ), of the scale constraint."""
    variance: float
    """Var(Σ w ρ)."""

    @property
    def excess(self) -> float:
        """How far the typical reliability Σ w E ρ is above 1: 0 on the scale constraint."""
        if not self.model.constrained:
            return 0.0
        return dot(self.shares, self.posterior.mean(self.posterior.strengths)) - 1.0

    def product(self, vector: FloatArray) -> FloatArray:
        """Multiply a vector by the information."""
        rest = self.precision * vector + self.constraint * dot(self.constraint, vector)
        return self.tape.product(vector) + rest + self.model.pin * dot(self.model.pin, vector)

    @cached_property
    def diagonals(self) -> tuple[FloatArray, FloatArray]:
        """Complete and missing information of each unknown, of the rows alone."""
        return self.tape.diagonals()

    def diagonal(self) -> FloatArray:
        """Return the diagonal, nearly: as if nobody met an unknown twice."""
        complete, missing = self.diagonals
        # Where what is missing exceeds what there is, the matrix is not definite.
        whole = complete - missing + self.precision + np.square(self.constraint)
        return np.maximum(whole, self.precision) + np.square(self.model.pin)

    def inverse(self) -> FloatArray:
        """Return the covariance of the unknowns.

        Where the information is not definite, what is missing is left out.
        """
        observed, complete = self.tape.dense()
        prior = np.diag(self.precision) + np.outer(self.model.pin, self.model.pin)
        constraint = np.outer(self.constraint, self.constraint)
        return definite_inverse(observed + prior + constraint, complete + prior)

    def variances_of(self, values: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return the variance of an annotator's quantity on the constraint, unknowns uncertain.

        Parameters
        ----------
        values
            The quantity at each node, annotators by nodes.
        covariance
            Of the unknowns: a matrix, or its diagonal.
        """
        posterior, share = self.posterior, np.zeros(len(values))
        deviation = posterior.deviation(values)
        own = posterior.mean(np.square(deviation))
        if self.model.constrained:
            strengths = posterior.deviation(posterior.strengths)
            share = self.shares * posterior.mean(deviation * strengths) / self.variance
        toward = self.constraint * sqrt(self.variance)
        carried = covariance @ toward if covariance.ndim > 1 else covariance * toward
        square, along = self.tape.forms(posterior.weights * deviation, covariance, carried)
        on_constraint = share * (share * (dot(toward, carried) - self.variance) - 2.0 * along)
        return np.asarray(np.maximum(square + own + on_constraint, 1e-12))

    def multiplier_step(self, step: FloatArray, sd: float, reach: float) -> float:
        """Return how the multiplier moves in a step of Newton's method.

        It gives back what the unknowns move the constraint by. ``sd`` is that of the reliabilities,
        and ``reach`` how far any of them may move.
        """
        if not self.model.constrained:
            return 0.0
        move = -self.excess / self.variance - dot(self.constraint, step) / sqrt(self.variance)
        most = reach / max(float(self.shares.max()) * sd**2, 1e-12)
        return float(np.clip(move, -most, most))


class Problem:
    """A model at states: its score, its curvature and its objective there."""

    def __init__(self, model: Model) -> None:
        bounds = (-_FURTHEST_LOGIT, _FURTHEST_LOGIT) if model.beta else (-np.inf, np.inf)
        self.model, rows = model, model.rows
        self.annotators = annotators_of(rows, model.family, bounds)
        self.shares: FloatArray = rows.annotator_weights / rows.annotator_weights.sum()
        """w_u."""
        effects = len(rows.blocks) > 1 and len(rows) <= _FEW_ROWS
        self.dense = model.size <= (_MOST_DENSE if effects else _FEW_UNKNOWNS)
        """Whether the information is inverted in each step."""

    def of_rows(self, rows: Rows) -> Problem:
        """Return the same of the same rows where they lie elsewhere."""
        same = copy(self)
        same.model, bounds = replace(self.model, rows=rows), self.annotators.bounds
        same.annotators = annotators_of(rows, self.model.family, bounds)
        return same

    def prior_means(self, state: State) -> FloatArray:
        """Return the prior means of the annotators' parameters, annotators by parameters."""
        model = self.model
        means = np.zeros((len(self.shares), len(model.family.names)))
        for k, name in enumerate(model.family.names):
            if name == RELIABILITY:
                means[:, k] = 1.0 + state.sds[name] ** 2 * state.multiplier * self.shares
            elif name in model.means:
                means[:, k] = state.unknowns[model.index(name)]
        return means

    def at(
        self, state: State, *, close: float = _CLOSE, upright: BoolArray | None = None
    ) -> Curvature:
        """Integrate the annotators out at a state.

        ``upright`` are annotators who are certainly not reversed, and ``close`` is how near their
        modes are looked for (see `Point`).
        """
        model, x = self.model, state.unknowns
        grades = state.grades if len(state.grades) > 1 else None
        if model.alike:
            tape = self.annotators.alike(x, grades)
            m = len(self.shares)
            evidence = np.full(m, -tape.value / m)  # of all together: who they are is forgotten
            nobody = Posterior((), np.zeros((m, 1, 0)), np.ones((m, 1)), evidence)
            return self._curvature(state, tape, nobody)
        prior: Normal | Beta
        if model.beta is not None:
            prior = Beta(*model.beta, len(self.shares), logit=True)
        else:
            sds = np.array([state.sds[name] for name in model.family.names])
            prior = Normal(self.prior_means(state), sds)
        point = Point(
            x,
            state.covariance,
            prior,
            (_MIXTURE_GAP_SD if model.beta else _GAP_SD) * model.default_sd,
            grades,
            state.reversed_share if model.constrained else None,
            upright,
            close,
        )
        tape, posterior = self.annotators.integrated(point)
        if isinstance(prior, Normal):
            tape.means = self._means(posterior, prior)
        return self._curvature(state, tape, posterior)

    def _means(self, posterior: Posterior, prior: Normal) -> list[Mean]:
        means = []
        for name in self.model.means:
            k = posterior.names.index(name)
            precision = float(prior.sds[k]) ** -2.0
            responses = precision * (posterior.of(name) - prior.means[:, k, None])
            index, information = self.model.index(name), len(responses) * precision
            means.append(Mean(index, responses, -posterior.mean(responses), information))
        return means

    def precision(self, state: State) -> FloatArray:
        """Return the prior precision of the unknowns."""
        precision = np.zeros(self.model.size)
        for name, block in self.model.rows.blocks.items():
            precision[block.where] = state.sds[name] ** -2.0
        for name in self.model.means:
            precision[self.model.index(name)] = MEAN_PRIORS[name][1] ** -2.0
        return precision

    def _curvature(self, state: State, tape: Tape, posterior: Posterior) -> Curvature:
        model, precision = self.model, self.precision(state)
        constraint, variance = np.zeros(model.size), 1.0
        if model.constrained:
            strengths = posterior.strengths
            variance = max(dot(np.square(self.shares), posterior.variance(strengths)), 1e-12)
            toward = self.shares[:, None] * posterior.weights * posterior.deviation(strengths)
            constraint = tape.weighted(toward) / sqrt(variance)
        return Curvature(model, tape, posterior, precision, self.shares, constraint, variance)

    def prior(self, state: State) -> tuple[float, FloatArray]:
        """Return minus the log prior of the unknowns, but for a constant, and its gradient."""
        off, precision = state.unknowns - self.model.centre, self.precision(state)
        return 0.5 * dot(precision, off * off), precision * off

    def score(self, state: State, here: Curvature) -> FloatArray:
        """Return the score, the gradient of the log posterior, on the constraint."""
        pin = self.model.pin
        constraint = here.constraint * (here.excess / sqrt(here.variance))
        pinned = pin * dot(pin, state.unknowns)
        return np.asarray(-here.tape.gradient - self.prior(state)[1] - constraint - pinned)

    def objective(self, state: State, here: Curvature) -> float:
        """Return minus the log evidence but for constants, by Laplace's method.

        Of the information of the unknowns the diagonal is taken.
        """
        value = here.posterior.log_evidence - self.prior(state)[0]
        value -= 0.5 * float(np.log(here.diagonal()).sum())
        for name, block in self.model.rows.blocks.items():
            value -= (block.where.stop - block.where.start) * log(state.sds[name])
        value -= sum(log(MEAN_PRIORS[name][1]) for name in self.model.means)
        if self.model.constrained:
            (a, b), share = REVERSED_PRIOR, state.reversed_share
            value += (a - 1.0) * log(share) + (b - 1.0) * log(1.0 - share)
            # The multiplier holds the scale; it says nothing about how likely the answers are.
            shifted = state.sds[RELIABILITY] * state.multiplier
            value += 0.5 * shifted**2 * dot(self.shares, self.shares)
        return -float(value)

    def rescaled(self, state: State, factor: float) -> State:
        """Return the state with everything that the reliabilities multiply made larger."""
        unknowns = state.unknowns.copy()
        for name, block in self.model.rows.blocks.items():
            if name not in (AXIS, CONTEXT_READINESS):
                unknowns[block.where] *= factor
        return replace(state, unknowns=unknowns)


@dataclass(frozen=True, eq=False)
class Fit:
    """The posterior of the unknowns, and of everything beside them."""

    problem: Problem
    state: State
    posterior: Posterior
    """Of the annotators' parameters."""
    curvature: Curvature
    objective: float
    """See `Problem.objective`."""
    convergence: Convergence
    rival: float | None = None
    """Objective of the best optimum with another order, where others were looked for."""

    __repr__ = brief

    @property
    def scores(self) -> FloatArray:
        """Posterior means of the scores."""
        return self.state.unknowns[self.problem.model.rows.blocks[SCORES].where]

    @property
    def mirrored(self) -> State:
        """Where it would be if those who are reversed were not, and all others were."""
        others = 1.0 - self.state.reversed_share
        return replace(self.problem.rescaled(self.state, -1.0), reversed_share=others)

    @property
    def cost(self) -> float:
        """What optima are compared by: the objective with the priors of estimated sds."""
        model, cost = self.problem.model, self.objective
        for name in model.estimated:
            if name in model.family.names:
                square = (self.state.sds[name] / FIRST_SDS[name]) ** 2
                cost += 0.5 * _prior_weight(name) * (log(square) + 1.0 / square)
        return cost


def fit(
    problem: Problem,
    start: State,
    on_iteration: Progress | None = None,
    *,
    tolerance: float = _TOLERANCE,
) -> Fit:
    """Fit a model from a start.

    ``on_iteration`` is called with the number of the iteration and what still moves; up to a larger
    tolerance than usual, unknowns are not solved for exactly in the end.
    """
    return _Run(problem, on_iteration, tolerance).fit(start)


def solved(problem: Problem, start: State) -> Fit:
    """Solve for the unknowns from a start near by, and again under what is then unsure of them.

    Whatever else the start says stays, such as standard deviations.
    """
    run = _Run(problem, None, reach=np.inf)  # no step of the multiplier is too long near by
    near = run.polished(start, settled=True, within=_NEARBY)
    here = near.curvature
    covariance = here.inverse() if problem.dense else 1.0 / here.diagonal()
    return run.polished(replace(near.state, covariance=covariance), settled=True, within=_NEARBY)


def best(
    problem: Problem,
    starts: Sequence[State],
    others: Callable[[Fit], Iterable[State]] = lambda _: (),
    on_iteration: Progress | None = None,
    *,
    rough: bool = False,
) -> Fit:
    """Fit from several starts, and from others that the best fit suggests; keep the best.

    Where a start leads nowhere, it is tried again with smaller scores. All end where they hardly
    move; from there the best one is fitted exactly, unless ``rough`` says that another fit goes on.
    """

    def roughly(state: State, reach: float = _REACH) -> Fit:
        return _Run(problem, on_iteration, _ROUGHLY, reach=reach).fit(state)

    fits = [*map(roughly, starts)]
    for size in _SMALLER:
        if not any(each.convergence.converged for each in fits):
            scores = [state.unknowns[problem.model.rows.blocks[SCORES].where] for state in starts]
            factors = [size / max(float(np.abs(each).max()), 1e-300) for each in scores]
            again = map(problem.rescaled, starts, factors)
            fits += [roughly(each, _LONG_REACH) for each in again]
    result, above = search(fits, roughly, others, lambda each: each.mirrored, _SAME)
    rival = None if above is None else result.objective + above
    return replace(result if rough else fit(problem, result.state, on_iteration), rival=rival)


@dataclass(eq=False)
class _Run:
    """A fit on its way: the unknowns are solved for, then the standard deviations updated."""

    problem: Problem
    on_iteration: Progress | None
    tolerance: float = _TOLERANCE
    """Change in an update at which it has settled."""
    moves: list[float] = field(default_factory=list)
    path: list[tuple[FloatArray, FloatArray]] = field(default_factory=list)
    """Standard deviations, and what an update made of them: see `_accelerated`."""
    reach: float = _REACH
    upright: BoolArray | None = None
    last_step: FloatArray | None = None
    share: float = 1.0
    """What is taken of Newton's steps."""

    def fit(self, start: State) -> Fit:
        """Iterate until nothing moves, then solve for the unknowns exactly."""
        self.problem.annotators.restart()
        state, settled = self._on_scale(start), False
        calmest = state
        while len(self.moves) < _MOST_ITERATIONS and not settled:
            state, move = self._iterate(state)
            if not np.isfinite(move):
                break
            settled = move < self.tolerance
            self.moves.append(move)
            calmest = state if move == min(self.moves) else calmest
            if self.on_iteration is not None:
                self.on_iteration(len(self.moves), move)
        # Where next to nothing is known, standard deviations may wander further and further.
        return self.polished(state if settled else calmest, settled=settled)

    def _on_scale(self, state: State) -> State:
        """Multiply the scores until a typical reliability is about 1."""
        for _ in range(_SCALE_STEPS if self.problem.model.constrained else 0):
            excess = self.problem.at(state, close=_ROUGH).excess
            if abs(excess) < _SCALE_OFF:
                break
            state = self.problem.rescaled(state, float(np.clip(1.0 + excess, 0.5, 2.0)))
        return state

    def _iterate(self, state: State) -> tuple[State, float]:
        """Solve for the unknowns, and update the rest; return how far that moved."""
        problem, last = self.problem, self.moves[-1] if self.moves else 1.0
        close = _CLOSE if last < _NEAR else _ROUGH
        for count in range(1, _MOST_STEPS + 1):
            here = problem.at(state, close=close, upright=self.upright)
            new, covariance, length = self._newton_step(state, here)
            off = max(length, abs(here.excess))
            if not np.isfinite(off):
                return state, off
            damped, lag = self._damped(state.covariance, covariance)
            if off < max(_NEARER * last, 0.5 * self.tolerance) or count == _MOST_STEPS:
                break
            state = replace(new, covariance=damped)
        updated = _updated(problem, state, new, here, covariance)
        move = max(off, _change(state, updated), _LAG * lag)
        if problem.model.constrained:
            less = min(updated.reversed_share / state.reversed_share, 1.0)
            self.upright = np.asarray(less * here.posterior.reversed < _SURELY)
        if off < min(last, 1.0):
            updated = self._accelerated(state, updated)
        else:  # the unknowns are still on their way
            self.path.clear()
        return replace(updated, covariance=damped), move

    def _damped(self, old: FloatArray, new: FloatArray) -> tuple[FloatArray, float]:
        """Return variances that keep some of the old ones, and how far off those are."""
        if old.shape != new.shape:
            return new, 1.0
        due, used = (each if each.ndim == 1 else np.diag(each) for each in (new, old))
        kept = _KEPT if len(self.moves) > _FREELY else 0.0
        return kept * old + (1.0 - kept) * new, float(np.abs(used - due).mean() / due.mean())

    def _accelerated(self, old: State, new: State) -> State:
        """Return where an update leads, with those before it: Anderson acceleration."""
        model = self.problem.model
        names = model.estimated

        def coordinates(state: State) -> FloatArray:
            share = state.reversed_share
            return np.log([*(state.sds[name] for name in names), share / (1.0 - share)])

        self.path.append((coordinates(old), coordinates(new)))
        *sds, odds = np.exp(anderson(self.path[-_MEMORY:])).tolist()
        limited = {name: model.within(name, sd) for name, sd in zip(names, sds, strict=True)}
        return replace(new, sds=new.sds | limited, reversed_share=odds / (1.0 + odds))

    def _newton_step(self, state: State, here: Curvature) -> tuple[State, FloatArray, float]:
        """Take Newton's step; return where it leads, the covariance and how far it went uncut."""
        problem, model = self.problem, self.problem.model
        score = problem.score(state, here)
        if problem.dense:
            covariance = here.inverse()
            step = covariance @ score
        else:
            diagonal = here.diagonal()
            step = conjugate_gradients(here.product, score, diagonal, _SOLVED)
            covariance = 1.0 / diagonal
        length, rows = 0.0, slice(0, model.rows.size)
        for part, unit in ((rows, state.sds[SCORES]), (slice(rows.stop, None), 1.0)):
            longest = float(np.abs(step[part]).max(initial=0.0)) / unit
            step[part] *= min(1.0, 1.0 / max(longest, 1e-300))
            length = max(length, longest)
        # A stated sd may be so large that it says nothing of how far a reliability moves.
        sd = min(state.sds.get(RELIABILITY, 1.0), LARGEST_SD)
        multiplier = here.multiplier_step(step, sd, self.reach)
        if self.last_step is not None:
            back = dot(step, self.last_step) < -_BACK * dot(self.last_step, self.last_step)
            self.share = 0.5 * self.share if back else min(2.0 * self.share, 1.0)
        step = self.last_step = self.share * step
        multiplier = state.multiplier + self.share * multiplier
        new = replace(state, unknowns=state.unknowns + step, multiplier=multiplier)
        return new, covariance, length

    def polished(self, state: State, *, settled: bool, within: float = _POLISHED) -> Fit:
        """Solve for the unknowns and the multiplier exactly, the standard deviations fixed."""
        problem, rough = self.problem, self.tolerance > _TOLERANCE
        units = np.ones(problem.model.size)
        units[: problem.model.rows.size] = state.sds[SCORES]
        least = np.inf
        for count in range(_POLISHING_STEPS + 1):
            here = problem.at(state, upright=self.upright)
            size = np.abs(problem.score(state, here)) / (here.diagonal() * units)
            norm = max(float(size.max()), abs(here.excess))
            # Once it is near, a step that brings next to nothing is rounding.
            stuck = norm < _TOLERANCE and norm > 0.5 * least
            if rough or stuck or not norm >= within or count == _POLISHING_STEPS:
                break
            least = min(norm, least)
            state = self._newton_step(state, here)[0]
        objective = problem.objective(state, here)
        settled = settled and (rough or norm < max(within, _TOLERANCE))
        record = Convergence(settled, len(self.moves), norm, self.tolerance, objective)
        return Fit(problem, state, here.posterior, here, objective, record)


def _updated(
    problem: Problem, old: State, new: State, here: Curvature, covariance: FloatArray
) -> State:
    """Estimate standard deviations, the share of reversed annotators and weights of grades again.

    ``here`` and the covariance are those of the state before the last step.
    """
    model, sds = problem.model, dict(new.sds)
    for name in model.estimated:
        if name in model.rows.blocks:
            sd = _block_sd(model, new, name, covariance)
        else:
            sd = _parameter_sd(problem, old, here, covariance, name)
        sds[name] = model.within(name, sd)
    share, grades = new.reversed_share, new.grades
    if model.constrained:
        share = reversed_share(here.posterior.reversed)
    if len(grades) > 1:
        expected = problem.annotators.expected_grades(new.unknowns, here.posterior, grades)
        grades = grade_weights(grades, model.rows.grade_weights, expected)
    return replace(new, sds=sds, reversed_share=share, grades=grades)


def _block_sd(model: Model, state: State, name: str, covariance: FloatArray) -> float:
    """Estimate the sd of a block of unknowns again."""
    where, sd = model.rows.blocks[name].where, state.sds[name]
    own = covariance[where] if covariance.ndim == 1 else covariance[where, where]
    if name == SCORES and own.ndim > 1:
        own = centred(own, model.component)
    values, variances = state.unknowns[where], own if own.ndim == 1 else np.diag(own)
    count = model.score_count if name == SCORES else effect_count(len(values))
    return next_sd(sd, values, variances, count)


def _parameter_sd(
    problem: Problem, state: State, here: Curvature, covariance: FloatArray, name: str
) -> float:
    """Estimate the sd of an annotators' parameter again, from how far each is from its mean."""
    model, posterior = problem.model, here.posterior
    values = posterior.strengths if name == RELIABILITY else posterior.of(name)
    variances, mean = here.variances_of(values, covariance), 1.0
    if name in model.means:
        # What counts is how sure the distance from the mean is, which moves with the annotators.
        k, deviation = model.index(name), posterior.deviation(values)
        mean = float(state.unknowns[k])
        if covariance.ndim > 1:
            none, along = np.zeros(model.size), np.ascontiguousarray(covariance[k])
            with_mean = here.tape.forms(posterior.weights * deviation, none, along)[1]
            of_mean = covariance[k, k]
        else:
            responses = next(each.responses for each in here.tape.means if each.index == k)
            with_mean = covariance[k] * posterior.mean(deviation * responses)
            of_mean = covariance[k]
        variances = np.maximum(variances - 2.0 * with_mean + of_mean, 1e-12)
    deviations, weight = posterior.mean(values) - mean, _prior_weight(name)
    count, square = weight + len(deviations) - 1, weight * FIRST_SDS[name] ** 2
    sd, least = state.sds[name], 0.5 * weight
    return next_sd(sd, deviations, variances, lambda _: count, square=square, least=least)


def _prior_weight(name: str) -> float:
    """Return how many annotators the default sd of a parameter counts as."""
    return RELIABILITY_PRIOR if name == RELIABILITY else PARAMETER_PRIOR


def _change(old: State, new: State) -> float:
    """Return the largest change of a standard deviation, and of shares and weights of grades."""
    sds = [abs(new.sds[name] - sd) / (sd + _SMALL) for name, sd in old.sds.items()]
    pairs = zip(old.grades, new.grades, strict=True)
    grades = [abs(log(after / before)) for before, after in pairs]
    return max(*sds, *grades, abs(new.reversed_share - old.reversed_share))
