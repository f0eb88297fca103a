"""Fit scores with the annotators' parameters integrated out.

The posterior of the scores is taken as normal, with mean s and covariance C; the annotators'
parameters are integrated out by quadrature (`models.marginal`), and the unit is held as
`marginal_problem` says. The spread σ of the scores, τ of the reliabilities and the share π of
reversed annotators are estimated along the way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf, log

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, dot
from aggcal.aggregation.newton import Convergence, conjugate_gradients
from aggcal.aggregation.solve.course import INNER, SETTLING, Course
from aggcal.aggregation.solve.marginal_fits import MarginalFit, best_of
from aggcal.aggregation.solve.marginal_problem import Curvature, MarginalProblem, State
from aggcal.aggregation.solve.population import (
    RELIABILITY_RANGE,
    moved,
)
from aggcal.aggregation.spreads import centred, next_sd
from aggcal.models.beliefs import Population
from aggcal.models.marginal import CLOSE
from aggcal.models.priors import DEFAULT_RELIABILITY_SD

MOST_DENSE = 300
"""Up to so many items every step is solved for exactly, and rows know their gaps' covariances.
Beyond, conjugate gradients and the diagonal do: coverage is the same, memory is not."""

_FIRST_REVERSED = 0.3
"""Share of reversed annotators to begin with: from .05 it stays near 0 where a third is."""
_REVERSED_PRIOR = (2.0, 20.0)
"""Beta prior of that share: 1 in 20 where annotators have said little."""
_RELIABILITY_PRIOR = 10.0
"""Annotators that the default spread of the reliabilities counts as: with five judgments each,
hundreds of annotators say little about it."""
_TAU_STEP = 3.0
"""Factor by which τ² moves at most in an iteration."""
_MOST_ITERATIONS = 200
_TOLERANCE = 1e-4
"""Change of scores (over σ), spreads and shares in an iteration at which they have settled: far
below their standard errors."""
_ROUGHLY = 2e-2
"""The same where another fit goes on from here: a lower number saves that one no iteration."""
_ENOUGH = 5_000
"""Rows from which that is done: of fewer, it saves nothing that is felt."""
_POLISHED = 1e-7
"""Relative gradient to which the scores are then solved for, the spreads held."""
_POLISHING_STEPS = 30
_LOOSE, _TIGHT = 5e-2, 1e-3
"""How exactly conjugate gradients solve for a step, on the way and when polishing: the spreads move
on the way, so that more exact steps save no iteration."""
_FIRST_STEPS, _FIRST_CLOSE = 5, 0.05
_SAMPLE = 100_000
"""Judgments that tell the unit of the first scores: from twice as many, of every so many annotators
only. It saves a pass over all, and the unit is held exactly later on."""
_SURELY = 1e-5
"""Posterior probability of being reversed below which that half is left out of the sums."""
_MIRRORED = 2
"""Rounds in which the mirrors of new optima are tried. Without them, and with optima compared by
their objectives, 6% of rankings came out upside down and no warning was given where a third or two
fifths of the annotators were reversed (960 studies, ten shapes)."""
_BEHIND, _CATCHING_UP = 1e-3, 10
"""Share by which variances of rows may be off where optima are compared, and how often they are
worked out anew: 3% too small ones were worth up to 13 of log-likelihood, more than the right one of
two optima is better by."""
_SMALLER = (0.1, 0.01)
"""Largest of the first scores of further tries where a start led nowhere: where judgments say next
to nothing, first scores that fit them put the unit out of reach."""
Progress = Callable[[int, float], None]


def fit_marginal(
    problem: MarginalProblem,
    starts: Callable[[MarginalFit | None], list[FloatArray]],
    *,
    score_sd: float | None = None,
    reliability_sd: float | None = None,
    on_iteration: Progress | None = None,
    roughly: bool = False,
) -> MarginalFit:
    """Find the posterior mean of the scores, the spreads and the share of reversed annotators.

    Parameters
    ----------
    problem
        The model and its rows.
    starts
        Scores to begin with: called with None, and then with the best fit from those, for others to
        try. The best of all is taken.
    score_sd, reliability_sd
        Spreads that are known; None to estimate them.
    on_iteration
        Called with the number of the iteration and what still moves.
    roughly
        Whether another fit goes on from here: many rows are then left once they hardly move, unless
        there is another start to compare with.
    """
    run = _Run(problem, score_sd, reliability_sd, on_iteration)
    if roughly and len(problem.rows) >= _ENOUGH:
        first = replace(run, tolerance=_ROUGHLY, found=[])
        for start in starts(None):
            first.fit(start)
        best = best_of(first.found)
        if best.convergence.converged and not starts(best):
            return best
    for start in starts(None):
        run.fit(start)
    for size in _SMALLER:
        if not best_of(run.found).convergence.converged:
            for start in starts(None):
                run.fit(size / max(float(np.abs(start).max()), 1e-300) * start)
    tried = len(run.found)
    for start in starts(best_of(run.found)):
        run.fit(start)
    run.mirror(tried)
    return best_of(run.found)


@dataclass
class _Run:
    problem: MarginalProblem
    score_sd: float | None
    reliability_sd: float | None
    on_iteration: Progress | None
    tolerance: float = _TOLERANCE
    hopeless: BoolArray | None = None
    found: list[MarginalFit] = field(default_factory=list)
    dense: bool = field(init=False)

    def __post_init__(self) -> None:
        self.dense = self.problem.rows.n_items <= MOST_DENSE

    def fit(self, start: FloatArray | State) -> None:
        """Iterate from a start until nothing moves, then solve for the scores exactly.

        A start that leads to an optimum which was found before is left there.
        """
        self.problem.integral.restart()
        self.hopeless = None
        begun = start if isinstance(start, State) else self._first(start)
        state, course = self._begun(begun), Course(self.tolerance)
        while (
            len(course.moves) < _MOST_ITERATIONS
            and not (course.settled or course.astray)
            and np.isfinite(state.scores).all()
        ):
            state = self._iterated(state, course)
            if len(course.moves) > SETTLING and any(fit.holds(state) for fit in self.found):
                return
        norm = objective = cost = inf
        beliefs = self.problem.integral.beliefs
        if np.isfinite(state.scores).all():
            state, norm = self._polished(state) if self.tolerance < _ROUGHLY else (state, 0.0)
            beliefs, curvature = self.problem.integral.beliefs, self.problem.curvature(state)
            objective = self._objective(state, curvature)
            cost = self._cost(state, curvature, objective, held_back=course.kept > 0.0)
        record = Convergence(
            course.settled and norm < _TOLERANCE,
            len(course.moves),
            norm,
            _TOLERANCE,
            (*course.objectives, objective),
            (*course.moves, norm),
        )
        self.found.append(
            MarginalFit(state, beliefs, objective, record, self.score_sd is None, cost)
        )

    def mirror(self, tried: int) -> None:
        """Try the mirrors of optima but the first few: some are only found from there."""
        for _ in range(_MIRRORED):
            tried, new = len(self.found), self.found[tried:]
            for fit in new:
                self.fit(fit.mirrored)

    def _iterated(self, state: State, course: Course) -> State:
        """Take a step, and estimate the spreads again; scores are NaN where it leads nowhere."""
        problem, moves = self.problem, course.moves
        state = self._solved(state, course.kept) if course.patient else state
        if moves:  # the start is where they were integrated out last
            problem.integrate(state, close=CLOSE, hopeless=self.hopeless)
        curvature = problem.curvature(state)
        course.objectives.append(self._objective(state, curvature))
        close = float(np.clip(moves[-1] if moves else 1.0, _LOOSE, 0.1))
        new, variances, step = self._stepped(state, curvature, close)
        if not (np.isfinite(step) and np.isfinite(state.population.score_sd)):
            return replace(state, scores=np.full_like(state.scores, np.nan))
        updated = self._updated(new, curvature, variances)
        far = max(step / updated.score_sd, abs(problem.off()), moved(state.population, updated))
        population = course.lead(state.population, updated, problem.default_sd)
        if len(moves) >= SETTLING:
            problem.integral.settled = True
        course.add(far)
        self.hopeless = self._surely_not_reversed(state.population, population)
        row_variances = course.kept * state.row_variances + (1.0 - course.kept) * variances
        if self.on_iteration is not None:
            self.on_iteration(len(moves), far)
        return replace(new, population=population, row_variances=row_variances)

    def _first(self, start: FloatArray) -> State:
        """Return where to begin with some scores."""
        n, default = self.problem.rows.n_items, self.problem.default_sd
        population = Population(
            self.score_sd or default,
            self.reliability_sd or DEFAULT_RELIABILITY_SD,
            _FIRST_REVERSED,
        )
        return State(start, population, 0.0, np.zeros((n, n) if self.dense else n))

    def _begun(self, state: State) -> State:
        """Bring the first scores into the unit, roughly: far from it the tilt goes astray."""
        if self.problem.has_unit and len(self.problem.rows) >= 2 * _SAMPLE:
            state = self._in_unit(self.problem.every(len(self.problem.rows) // _SAMPLE), state)
        return self._in_unit(self.problem, state)

    def _in_unit(self, problem: MarginalProblem, state: State) -> State:
        """Multiply the scores until a typical reliability is about 1; integrate there."""
        for _ in range(_FIRST_STEPS):
            problem.integrate(state, close=CLOSE)
            off = problem.off()
            if abs(off) < _FIRST_CLOSE:
                return state
            factor = float(np.clip(1.0 + off, 0.5, 2.0))
            state = replace(state, scores=factor * state.scores)
            problem.integral.rescale(factor)
        problem.integrate(state, close=CLOSE)
        return state

    def _surely_not_reversed(self, old: Population, new: Population) -> BoolArray:
        """Say which annotators would hardly be reversed under a new share of those who are."""
        less = min(new.reversed_share / old.reversed_share, 1.0)
        return np.asarray(less * self.problem.integral.beliefs.reversed < _SURELY)

    def _stepped(
        self, state: State, curvature: Curvature, close: float
    ) -> tuple[State, FloatArray, float]:
        """Take Newton's step; return where it leads, the variances and how far it went uncut."""
        force = self.problem.force(state, curvature)
        if self.dense:
            covariance = curvature.inverse()
            step = covariance @ force
            variances = centred(covariance, self.problem.component)
        else:
            diagonal = curvature.diagonal()
            step = conjugate_gradients(curvature.product, force, diagonal, close)
            variances = 1.0 / diagonal
        population = state.population
        far = float(np.abs(step).max())
        step *= min(1.0, population.score_sd / max(far, 1e-300))
        tilt, near = 0.0, far / population.score_sd
        if self.problem.has_unit:
            tilt = curvature.tilt(self.problem.off(), step, near)
        return replace(state, scores=state.scores + step, tilt=state.tilt + tilt), variances, far

    def _solved(self, state: State, kept: float) -> State:
        """Take a few of Newton's steps with the spreads held."""
        for _ in range(INNER):
            self.problem.integrate(state, close=CLOSE, hopeless=self.hopeless)
            state, variances, far = self._stepped(state, self.problem.curvature(state), _LOOSE)
            damped = kept * state.row_variances + (1.0 - kept) * variances
            state = replace(state, row_variances=damped)
            if far < _TOLERANCE * state.population.score_sd:
                break
        return state

    def _updated(self, state: State, curvature: Curvature, variances: FloatArray) -> Population:
        """Estimate the spreads and the share of reversed annotators again."""
        problem, old = self.problem, state.population
        m, beliefs = problem.rows.n_annotators, problem.integral.beliefs
        sigma, tau, share = old.score_sd, old.reliability_sd, old.reversed_share
        if self.score_sd is None:
            own = np.diag(variances) if self.dense else variances
            free = problem.rows.n_items - int(problem.component.max()) - 1
            sigma = next_sd(sigma, state.scores, own, free, problem.default_sd)
        if problem.has_unit and self.reliability_sd is None:
            own = beliefs.strength_variance
            unsure = curvature.variances_of(
                beliefs.weights * beliefs.strength_off, own, own * problem.shares, variances
            )
            about, prior = beliefs.strength - 1.0, _RELIABILITY_PRIOR
            degrees_of_freedom = max(prior + m - 1 - float(unsure.sum()) / tau**2, 0.5 * prior)
            square = (prior * DEFAULT_RELIABILITY_SD**2 + dot(about, about)) / degrees_of_freedom
            square = float(np.clip(square, tau**2 / _TAU_STEP, tau**2 * _TAU_STEP))
            tau = float(np.clip(np.sqrt(square), *RELIABILITY_RANGE))
        if problem.has_unit:
            a, b = _REVERSED_PRIOR
            share = float((beliefs.reversed.sum() + a - 1.0) / (m + a + b - 2.0))
        return Population(sigma, tau, share)

    def _polished(self, state: State) -> tuple[State, float]:
        """Solve for the scores and the unit exactly, the spreads held; say what force is left."""
        problem, norm = self.problem, np.inf
        size = problem.integral.link.pull_at_zero * problem.rows.degrees
        size = size + state.population.score_sd**-2
        for _ in range(_POLISHING_STEPS):
            problem.integrate(state, hopeless=self.hopeless)
            curvature = problem.curvature(state)
            force = problem.force(state, curvature)
            new = max(float(np.max(np.abs(force) / size)), abs(problem.off()))
            if new < _POLISHED or new > 0.5 * norm:
                return state, new
            norm = new
            state = self._stepped(state, curvature, _TIGHT)[0]
        problem.integrate(state, hopeless=self.hopeless)
        return state, norm

    def _cost(
        self, state: State, curvature: Curvature, objective: float, *, held_back: bool
    ) -> float:
        """Return what optima are compared by."""
        for _ in range(_CATCHING_UP if held_back else 0):
            own = curvature.inverse() if self.dense else 1.0 / curvature.diagonal()
            variances = centred(own, self.problem.component) if self.dense else own
            kept, due = (np.diag(v) if self.dense else v for v in (state.row_variances, variances))
            if float(np.mean(np.abs(kept - due))) < _BEHIND * float(np.mean(due)):
                break
            # Smaller ones than the scores have make the judgments seem likelier than they are.
            state = self._polished(replace(state, row_variances=variances))[0]
            curvature = self.problem.curvature(state)
            objective = self._objective(state, curvature)
        if self.problem.has_unit and self.reliability_sd is None:
            square = (state.population.reliability_sd / DEFAULT_RELIABILITY_SD) ** 2
            objective += 0.5 * _RELIABILITY_PRIOR * (log(square) + 1.0 / square)
        return objective

    def _objective(self, state: State, curvature: Curvature) -> float:
        """Minus the log posterior, the scores integrated out by the diagonal of their curvature."""
        problem, population = self.problem, state.population
        value = problem.integral.beliefs.log_evidence
        value -= 0.5 * dot(state.scores, state.scores) / population.score_sd**2
        value -= 0.5 * float(np.log(population.score_sd**2 * curvature.diagonal()).sum())
        if problem.has_unit:
            (a, b), share = _REVERSED_PRIOR, population.reversed_share
            value += (a - 1.0) * log(share) + (b - 1.0) * log(1.0 - share)
            # The tilt holds the unit; it says nothing about how likely the answers are.
            tilted = population.reliability_sd * state.tilt
            value += 0.5 * tilted**2 * dot(problem.shares, problem.shares)
        if problem.virtual is not None:
            value -= problem.virtual.item_penalty(state.scores)[0]
        return -value
