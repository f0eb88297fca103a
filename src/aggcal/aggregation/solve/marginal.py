r"""Fit scores with the annotators' parameters integrated out.

The posterior of the scores is taken as normal, with mean s and covariance C; the annotators'
parameters are integrated out by quadrature (`models.marginal`). For reliabilities the likelihood
does not change along (c·s, γ/c): the unit is fixed by a constraint that the data determine,

    Σ_u w_u E ρ_u = 1,   w_u the share of the judgments that annotator u gave,

in which a reversed annotator counts with their strength. A tilt η of the prior means holds it,
μ_u = 1 + τ² η w_u, and the curvature gains vv'/Var(Σ w ρ), v = Σ_u w_u Cov_k(ρ, g_uk): what is
uncertain is so within the unit. The spread σ of the scores, τ of the reliabilities and the share π
of reversed annotators are estimated along the way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf, log

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, dot
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import each_range, even
from aggcal._core.text import brief
from aggcal.aggregation.solve.newton import Convergence
from aggcal.aggregation.solve.prior_sd import centred, next_spread, within
from aggcal.models.crowd import Crowd
from aggcal.models.marginal import CLOSE, EXACT, Beliefs, Integrated, Population
from aggcal.models.priors import DEFAULT_RELIABILITY_SD
from aggcal.models.rows import Rows

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
_RELIABILITY_RANGE = (0.05, 3.0)
_TAU_STEP = 3.0
"""Factor by which τ² moves at most in an iteration."""
_MOST_ITERATIONS = 200
_TOLERANCE = 1e-4
"""Change of scores (over σ), spreads and shares in an iteration at which they have settled: far
below their standard errors."""
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
_SETTLING = 3
"""Iterations before which nothing is concluded from how things go."""
_STALLED, _DAMPED = 0.9, 0.5
"""Where an iteration changes nearly as much as the last, variances move half of their way only:
near-separable data go round in circles otherwise."""
_AITKEN = 3
"""Iterations between two extrapolations of the spreads, which approach their ends geometrically."""
_STEADY, _FURTHEST = 0.9, 0.5
"""Largest rate that is extrapolated, and how far on a log scale."""
_PATIENT, _INNER, _MEMORY = 20, 5, 4
"""Iterations after which scores are solved for, by so many steps, before spreads are mixed, and
over how many points."""
_SURELY = 1e-5
"""Posterior probability of being reversed below which that half is left out of the sums."""
_LEAST_ROOM = 1e-12
"""Smallest variance of the typical reliability that is divided by."""
_SAME = 1e-6
_APART = 0.05
"""Difference of scores that makes another optimum of it."""

Progress = Callable[[int, float], None]


@dataclass(frozen=True, eq=False)
class Curvature:
    """The inverse posterior covariance of the scores at a point, the unit held."""

    integral: Integrated
    precision: FloatArray
    """Of the scores' prior, item by item."""
    unit: FloatArray
    """v/√Var(Σ w ρ)."""
    room: float
    """Var(Σ w ρ)."""

    def product(self, vector: FloatArray) -> FloatArray:
        """Multiply a vector by it."""
        rest = self.precision * vector + self.unit * dot(self.unit, vector)
        return self.integral.product(vector) + rest

    def diagonal(self) -> FloatArray:
        """Return its diagonal, nearly: as if nobody judged an item twice."""
        found = self.integral.held_diagonal - self.integral.loose_diagonal
        # Where the annotators' part exceeds the items' own the matrix is not definite.
        return np.maximum(found + self.precision + np.square(self.unit), self.precision)

    def exact_diagonal(self) -> FloatArray:
        """Return its diagonal."""
        return self.integral.diagonal() + self.precision + np.square(self.unit)

    def inverse(self) -> FloatArray:
        """Invert it as a matrix; where it is not definite, with the annotators' part left out."""
        whole, held = self.integral.dense()
        where = np.diag_indices(len(whole))
        whole[where] += self.precision
        held[where] += self.precision
        return definite_inverse(whole + np.outer(self.unit, self.unit), held)

    def variances_of(
        self, values: FloatArray, own: FloatArray, with_unit: FloatArray, covariance: FloatArray
    ) -> FloatArray:
        """Return Var x_u of an annotator's quantity x, the scores uncertain and the unit held.

        Parameters
        ----------
        values
            p_k (x_k − x̄): Σ_k values g_uk is how x̄_u moves with the scores.
        own
            Variance with the scores held.
        with_unit
            w_u Cov(x_u, ρ_u).
        covariance
            Of the scores: a matrix, or its diagonal.
        """
        toward = self.unit * np.sqrt(self.room)
        carried = covariance @ toward if covariance.ndim > 1 else covariance * toward
        square, along = self.integral.forms(values, covariance, carried)
        share = with_unit / self.room
        total = square - 2.0 * share * along + share**2 * dot(toward, carried)
        return np.maximum(total + own - with_unit * share, 1e-12)


@dataclass(frozen=True, eq=False)
class MarginalProblem:
    """What is fitted: a likelihood with the annotators integrated out, and the scores' prior."""

    integral: Integrated
    component: IntArray
    """Connected component of each item: the mean of each is a convention."""
    default_sd: float
    """The default spread of the scores."""
    has_unit: bool = True
    """Whether the annotators' parameters could take over the scale of the scores."""
    virtual: Crowd | None = None
    """A mixture whose virtual annotator adds to the scores' prior."""
    row_cap: float = 2.0
    """Largest sd of a row's gap that is averaged over, in units of the default spread."""

    @property
    def rows(self) -> Rows:
        """The judgments."""
        return self.integral.rows

    @property
    def shares(self) -> FloatArray:
        """w_u."""
        return self.integral.shares

    def sample(self) -> MarginalProblem:
        """Return the same problem for every so many annotators."""
        rows = self.rows.every(len(self.rows) // _SAMPLE)
        return replace(self, integral=Integrated(rows, self.integral.link))

    def integrate(
        self, state: State, *, close: float = EXACT, hopeless: BoolArray | None = None
    ) -> None:
        """Integrate the annotators out at a state."""
        means = 1.0 + state.population.reliability_sd**2 * state.tilt * self.shares
        row_sd = _row_deviations(self.rows, state.row_variances, self.row_cap * self.default_sd)
        self.integral.evaluate(state.scores, row_sd, state.population, means, hopeless, close=close)

    def curvature(self, state: State) -> Curvature:
        """Return the curvature where the annotators were last integrated out."""
        found, n = self.integral.beliefs, self.rows.n_items
        precision = np.full(n, state.population.score_sd**-2)
        if self.virtual is not None:
            precision += self.virtual.item_penalty(state.scores)[2]
        if not self.has_unit:
            return Curvature(self.integral, precision, np.zeros(n), 1.0)
        room = max(dot(self.shares**2, found.strength_variance), _LEAST_ROOM)
        return Curvature(self.integral, precision, self.integral.unit_pull / np.sqrt(room), room)

    def off(self) -> float:
        """Return how far the typical reliability is above 1."""
        return dot(self.shares, self.integral.beliefs.strength) - 1.0 if self.has_unit else 0.0

    def force(self, state: State, curvature: Curvature) -> FloatArray:
        """Return the force on the scores, that of the unit included."""
        prior = state.scores / state.population.score_sd**2
        if self.virtual is not None:
            prior = prior + self.virtual.item_penalty(state.scores)[1]
        unit = curvature.unit * (self.off() / np.sqrt(curvature.room))
        return np.asarray(self.integral.gradient - prior - unit)


@dataclass(frozen=True, eq=False)
class State:
    """Where a fit stands."""

    scores: FloatArray
    population: Population
    tilt: float
    row_variances: FloatArray
    """What the sd of rows' gaps is made of: a covariance matrix or its diagonal."""

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class MarginalFit:
    """The posterior of the scores and of everything beside them."""

    state: State
    beliefs: Beliefs
    objective: float
    convergence: Convergence
    estimated: bool
    """Whether the spread of the scores was."""
    rival: float | None = None
    """Objective of the best other optimum, where others were looked for and found."""

    __repr__ = brief

    @property
    def scores(self) -> FloatArray:
        """Posterior means."""
        return self.state.scores

    @property
    def population(self) -> Population:
        """The spreads and the share of reversed annotators."""
        return self.state.population


def fit_marginal(
    problem: MarginalProblem,
    starts: Callable[[MarginalFit | None], list[FloatArray]],
    *,
    score_sd: float | None = None,
    reliability_sd: float | None = None,
    on_iteration: Progress | None = None,
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
    """
    run = _Run(problem, score_sd, reliability_sd, on_iteration)
    fits = [run.fit(start) for start in starts(None)]
    # A start that is far off may lead nowhere: that is no optimum to compare with.
    tried = (run.fit(start) for start in starts(_best(fits)))
    return _best([*fits, *(fit for fit in tried if np.isfinite(fit.objective))])


def _best(fits: list[MarginalFit]) -> MarginalFit:
    """Keep the lowest optimum, and remember the best of those that are not the same one."""
    least = min(fit.objective for fit in fits)
    best = next(fit for fit in fits if fit.objective <= least + _SAME * abs(least))
    apart = [f.objective for f in fits if np.max(np.abs(f.scores - best.scores)) > _APART]
    return replace(best, rival=min(apart, default=None))


@dataclass
class _Run:
    problem: MarginalProblem
    score_sd: float | None
    reliability_sd: float | None
    on_iteration: Progress | None
    hopeless: BoolArray | None = None
    dense: bool = field(init=False)

    def __post_init__(self) -> None:
        self.dense = self.problem.rows.n_items <= MOST_DENSE

    def fit(self, start: FloatArray) -> MarginalFit:
        """Iterate from a start until nothing moves, then solve for the scores exactly."""
        self.problem.integral.restart()
        self.hopeless = None
        state = self._begun(start)
        moves: list[float] = []
        objectives: list[float] = []
        path: list[tuple[FloatArray, FloatArray]] = []
        kept, settled = 0.0, False
        while len(moves) < _MOST_ITERATIONS and not settled and np.isfinite(state.scores).all():
            # Weakly determined spreads spiral: solve for the scores before each update, then mix.
            patient = len(moves) >= _PATIENT
            if len(moves) == _PATIENT:
                path.clear()
            state = self._solved(state) if patient else state
            if moves:  # the start is where they were integrated out last
                self.problem.integrate(state, close=CLOSE, hopeless=self.hopeless)
            curvature = self.problem.curvature(state)
            objectives.append(self._objective(state, curvature))
            close = float(np.clip(moves[-1] if moves else 1.0, _LOOSE, 0.1))
            new, variances, far = self._stepped(state, curvature, close)
            if not (np.isfinite(far) and np.isfinite(state.population.score_sd)):
                state = replace(state, scores=np.full_like(state.scores, np.nan))
                break
            population = self._updated(new, curvature, variances)
            off = abs(self.problem.off())
            moved = max(far / population.score_sd, off, _moved(state.population, population))
            path.append((_coordinates(state.population), _coordinates(population)))
            if patient:
                population = _mixed(path, self.problem.default_sd)
            elif len(path) > _AITKEN:
                population = _extrapolated(path, self.problem.default_sd)
                path.clear()
            if len(moves) >= _SETTLING:
                self.problem.integral.settled = True
                kept = _DAMPED if patient or moved > _STALLED * moves[-1] else kept
                settled = moved < _TOLERANCE
            self.hopeless = self._surely_not_reversed(state.population, population)
            row_variances = kept * state.row_variances + (1.0 - kept) * variances
            state = replace(new, population=population, row_variances=row_variances)
            moves.append(moved)
            if self.on_iteration is not None:
                self.on_iteration(len(moves), moved)
        if np.isfinite(state.scores).all():
            state, norm = self._polished(state)
            objective = self._objective(state, self.problem.curvature(state))
        else:
            norm = objective = inf
        record = Convergence(
            settled and norm < _TOLERANCE,
            len(moves),
            norm,
            _TOLERANCE,
            (*objectives, objective),
            (*moves, norm),
        )
        return MarginalFit(
            state, self.problem.integral.beliefs, objective, record, self.score_sd is None
        )

    def _begun(self, start: FloatArray) -> State:
        """Bring the first scores into the unit, roughly: far from it the tilt goes astray."""
        n, default = self.problem.rows.n_items, self.problem.default_sd
        population = Population(
            self.score_sd or default,
            self.reliability_sd or DEFAULT_RELIABILITY_SD,
            _FIRST_REVERSED,
        )
        state = State(start, population, 0.0, np.zeros((n, n) if self.dense else n))
        if self.problem.has_unit and len(self.problem.rows) >= 2 * _SAMPLE:
            state = self._in_unit(self.problem.sample(), state)
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
        # Newton's step of the constraint: the tilt gives back what the scores move the unit by.
        tilt = -self.problem.off() / curvature.room
        tilt -= dot(curvature.unit, step) / np.sqrt(curvature.room)
        most = 0.5 / (population.reliability_sd**2 * float(self.problem.shares.max()))
        tilt = float(np.clip(tilt, -most, most)) if self.problem.has_unit else 0.0
        return replace(state, scores=state.scores + step, tilt=state.tilt + tilt), variances, far

    def _solved(self, state: State) -> State:
        """Take a few of Newton's steps with the spreads held."""
        for _ in range(_INNER):
            self.problem.integrate(state, close=CLOSE, hopeless=self.hopeless)
            state, variances, far = self._stepped(state, self.problem.curvature(state), _LOOSE)
            mixed = _DAMPED * state.row_variances + (1.0 - _DAMPED) * variances
            state = replace(state, row_variances=mixed)
            if far < _TOLERANCE * state.population.score_sd:
                break
        return state

    def _updated(self, state: State, curvature: Curvature, variances: FloatArray) -> Population:
        """Estimate the spreads and the share of reversed annotators again."""
        problem, old = self.problem, state.population
        m, beliefs = problem.rows.n_annotators, problem.integral.beliefs
        sigma, tau, share = old.score_sd, old.reliability_sd, old.reversed_share
        if self.score_sd is None:
            trace = float(np.trace(variances) if self.dense else variances.sum())
            free = problem.rows.n_items - int(problem.component.max()) - 1
            sigma = next_spread(sigma, state.scores, trace, free, problem.default_sd)
        if problem.has_unit and self.reliability_sd is None:
            own = beliefs.strength_variance
            unsure = curvature.variances_of(
                beliefs.weights * beliefs.strength_off, own, own * problem.shares, variances
            )
            about, prior = beliefs.strength - 1.0, _RELIABILITY_PRIOR
            told = max(prior + m - 1 - float(unsure.sum()) / tau**2, 0.5 * prior)
            square = (prior * DEFAULT_RELIABILITY_SD**2 + dot(about, about)) / told
            square = float(np.clip(square, tau**2 / _TAU_STEP, tau**2 * _TAU_STEP))
            tau = float(np.clip(np.sqrt(square), *_RELIABILITY_RANGE))
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


def _row_deviations(rows: Rows, variances: FloatArray, cap: float) -> np.ndarray:
    """Return the sd of each row's gap, from a covariance matrix or its diagonal."""
    kernels = library()
    if variances.ndim == 1 and kernels is not None and rows.winner.dtype == np.int32:
        found = np.empty(len(rows), dtype=np.float32)
        columns = [np.ascontiguousarray(c) for c in (rows.winner, rows.loser, variances)]

        def work(begin: int, end: int) -> None:
            kernels.aggcal_row_sd(begin, end, *at(*columns), cap, *at(found))

        each_range(work, even(len(rows)))
        return found
    diagonal = np.diag(variances) if variances.ndim > 1 else variances
    total = diagonal[rows.winner] + diagonal[rows.loser]
    if variances.ndim > 1:
        total = total - 2.0 * variances[rows.winner, rows.loser]
    return np.minimum(np.sqrt(np.maximum(total, 0.0)), cap)


def definite_inverse(matrix: FloatArray, instead: FloatArray) -> FloatArray:
    """Invert a symmetric matrix, or another where it is not positive definite.

    Examples
    --------
    >>> definite_inverse(np.diag([-1.0, 1.0]), np.diag([2.0, 4.0]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    from scipy.linalg.lapack import dpotrf, dpotri

    if not np.isfinite(matrix).all():
        return np.full(matrix.shape, np.nan)
    for candidate in (matrix, instead):
        factor, failed = dpotrf(candidate, lower=True)
        if failed:
            continue
        # A third of the work of solving for the columns of the identity; one triangle is filled.
        half = np.tril(dpotri(factor, lower=True, overwrite_c=True)[0])
        return np.asarray(half + np.tril(half, -1).T)
    values, vectors = np.linalg.eigh(instead)
    return np.asarray((vectors / np.maximum(np.abs(values), 1e-8 * values[-1])) @ vectors.T)


def conjugate_gradients(
    product: Callable[[FloatArray], FloatArray],
    target: FloatArray,
    diagonal: FloatArray,
    close: float,
) -> FloatArray:
    """Solve a symmetric system by conjugate gradients, as far as it is positive definite.

    Examples
    --------
    >>> stiff = np.array([2.0, 4.0])
    >>> conjugate_gradients(lambda v: stiff * v, np.array([1.0, 1.0]), np.ones(2), 1e-9)
    array([0.5 , 0.25])
    """
    found, residual = np.zeros_like(target), target.copy()
    direction = scaled = residual / diagonal
    size = first = dot(residual, scaled)
    for _ in range(10 * len(target)):
        if size <= close**2 * first:
            break
        flow = product(direction)
        bend = dot(direction, flow)
        if bend <= 0.0:
            return found if found.any() else direction
        found = found + (size / bend) * direction
        residual = residual - (size / bend) * flow
        scaled = residual / diagonal
        new = dot(residual, scaled)
        direction, size = scaled + (new / size) * direction, new
    return found


def _coordinates(population: Population) -> FloatArray:
    share = population.reversed_share
    return np.log([population.score_sd, population.reliability_sd, share / (1.0 - share)])


def _extrapolated(path: list[tuple[FloatArray, FloatArray]], default_sd: float) -> Population:
    """Go where the last three points lead, coordinate by coordinate, as far as they are steady."""
    last = path[-1][1]
    first, second = path[-2][1] - path[-3][1], last - path[-2][1]
    rate = np.divide(second, first, out=np.zeros_like(first), where=first != 0.0)
    rate = np.where((rate > 0.0) & (rate < _STEADY), rate, 0.0)
    ahead = np.clip(rate / (1.0 - rate) * second, -_FURTHEST, _FURTHEST)
    return _population(last + ahead, default_sd)


def _mixed(path: list[tuple[FloatArray, FloatArray]], default_sd: float) -> Population:
    """Anderson's mixing: the combination of the last points whose updates cancel best."""
    points = np.array([point for point, _ in path[-_MEMORY:]])
    images = np.array([image for _, image in path[-_MEMORY:]])
    last = images[-1]
    if len(points) > 1:
        steps = images - points
        weights = np.linalg.lstsq(np.diff(steps, axis=0).T, steps[-1], rcond=1e-3)[0]
        last = last - np.clip(weights @ np.diff(images, axis=0), -_FURTHEST, _FURTHEST)
    return _population(last, default_sd)


def _population(coordinates: FloatArray, default_sd: float) -> Population:
    sigma, tau, odds = np.exp(coordinates).tolist()
    tau = float(np.clip(tau, *_RELIABILITY_RANGE))
    return Population(within(sigma, default_sd), tau, odds / (1.0 + odds))


def _moved(old: Population, new: Population) -> float:
    return max(
        abs(log(new.score_sd / old.score_sd)),
        abs(log(new.reliability_sd / old.reliability_sd)),
        abs(new.reversed_share - old.reversed_share),
    )
