"""Fit the general model: its unknowns, and the spreads of what annotators and items differ in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, dot
from aggcal._core.text import brief
from aggcal.aggregation.general.first import annotators_refined, told
from aggcal.aggregation.general.problem import Curvature, Problem, State
from aggcal.aggregation.general.spreads import (
    LEAST_SD,
    REVERSED_PRIOR,
    Forms,
    estimable,
    estimated_again,
    forms_of,
)
from aggcal.aggregation.newton import Convergence, conjugate_gradients
from aggcal.aggregation.solve.marginal import Progress
from aggcal.aggregation.solve.population import Path, blend
from aggcal.models.general.annotators import Known
from aggcal.models.general.design import SCORES
from aggcal.models.general.sums import Sums

MOST_DENSE = 1200
"""Up to so many unknowns every step is solved for exactly; beyond, by conjugate gradients."""
_MANY_ROWS, _FEW_UNKNOWNS = 50_000, 300
"""Rows from which on only so few are, as always without contexts and categories: coverage is the
same, and the matrix would take longer than all else."""
_MOST_ITERATIONS = 200
_TOLERANCE = 1e-4
"""Change of scores (over σ) and of spreads in an iteration at which they have settled: far below
their standard errors."""
_POLISHED = 1e-7
"""Relative gradient to which the unknowns are then solved for, the spreads held."""
_POLISHING_STEPS = 30
_CLOSE, _CLOSER = 1e-4, 1e-8
"""How near modes are looked for on the way, as nodes are only placed by them; and once a fit has
stalled: where annotators differ little, what is left of the distance would keep it going round."""
_NO_FLOATS, _CLOSEST = 1e-5, 1e-10
"""Change in an iteration below which the rounding of float32 is felt, and how near modes are looked
for then: nodes are worked out in float64."""
_LOOSE, _MEDIUM, _TIGHT = 5e-2, 1e-2, 1e-3
"""How exactly conjugate gradients solve: on the way, there of many rows at most, at the end."""
_SURELY = 1e-5
"""Posterior probability of being reversed below which that half is left out of the sums."""
_LEFT = 1.5
"""How much of the force before a step may be left for another to be taken, where too much is left
for an optimum: a step that leads too far is followed by shorter ones. Where little is left, half:
more exact than that costs passes over all rows."""
_FEW_STEPS = 4
"""Steps for which, of fewer rows, any progress is enough."""
_BACK = 0.5
"""A step back by more than this share of the last one says that the last one was too long: a lower
number would shorten steps that close in."""
_DAMPED = 0.5
"""What is kept of the rows' variances where an iteration changes nearly as much as the last."""
_STALLED, _SETTLING, _LATER = 0.9, 3, 8
_PATIENT, _INNER = 20, 5
"""Iterations after which unknowns are solved for, by so many steps, before spreads are mixed."""
_CAREFUL = 40
"""Iterations after which spreads are estimated with care: see `estimated_again`."""
_FIRST_STEPS, _FIRST_CLOSE, _TOLD_CLOSE = 5, 0.05, 0.2
"""How often the unit is looked for, and how far the typical reliability may be from 1 to begin
with: far from it the tilt goes astray; further where an earlier fit is gone on from."""
_SAMPLE, _FIRST_ROUNDS = 100_000, 8
"""Rows that tell the unit of the first scores: from twice as many, those of a sample. It saves
passes over all, and the unit is held exactly later on. So many updates of the means and spreads of
these annotators are where all begin: each costs a tenth of a pass at a million."""
_QUICKER = 10_000
"""Rows from which the last steps begin with float32, too; of many, a step more costs more."""
_MIXED = 5e-3
"""Change in an iteration below which spreads and means are mixed from then on, and modes are looked
for exactly: further off, how they went says little about where they go."""
_ALONE, _ENOUGH = 5e-2, 5_000
"""The same where scores change less than that, from so many rows: what is left are means and
spreads, which go their way slowly and alone where ties are rare. Of fewer rows they wander."""
_FAR_OFF = 0.1
"""Change in an iteration above which, of many rows, what the uncertainty of the scores adds to that
of the annotators is not worked out again: it is little, and takes a pass."""
_SMALL = 0.1
"""Spread below which a change counts as it is: one that goes to 0 does so for ever, relatively."""


@dataclass(frozen=True, eq=False)
class GeneralFit:
    """The posterior of the unknowns and of everything beside them."""

    state: State
    known: Known
    objective: float
    convergence: Convergence
    free: frozenset[str]
    """Spreads that were estimated."""

    __repr__ = brief


def fit_general(
    problem: Problem,
    start: State,
    *,
    held: frozenset[str] = frozenset(),
    on_iteration: Progress | None = None,
    reversed_before: FloatArray | None = None,
    told: bool = False,
) -> GeneralFit:
    """Find the posterior means of the unknowns, and the spreads.

    Parameters
    ----------
    problem
        The model and its rows.
    start
        Where to begin.
    held
        Names of spreads that are known.
    on_iteration
        Called with the number of the iteration and what still moves.
    reversed_before
        How probably each annotator is reversed by a fit that this one goes on from: of many rows
        those who are surely not are not looked at again.
    told
        Whether a sample of annotators told the means and spreads to begin with.
    """
    run = _Run(problem, held, on_iteration, told)
    if reversed_before is not None:
        run.hopeless = np.asarray(reversed_before < _SURELY)
    return run.fit(start)


@dataclass
class _Run:
    problem: Problem
    held: frozenset[str]
    on_iteration: Progress | None
    told: bool = False
    hopeless: BoolArray | None = None
    moves: list[float] = field(default_factory=list)
    objectives: list[float] = field(default_factory=list)
    path: Path = field(default_factory=list)
    close: float = _CLOSE
    before: FloatArray | None = None
    """The last step of the means."""
    forms: Forms | None = None
    caution: FloatArray | float = 1.0
    """The share of Newton's step that each mean takes."""

    def __post_init__(self) -> None:
        layout = self.problem.layout
        cells = len(layout.design.blocks) > 1 and len(layout.rows) <= _MANY_ROWS
        self.dense = layout.size <= (MOST_DENSE if cells else _FEW_UNKNOWNS)
        self.middling = _QUICKER <= len(layout.rows) < 2 * _SAMPLE
        self.large = self.problem.has_unit and len(layout.rows) >= 2 * _SAMPLE

    def fit(self, state: State) -> GeneralFit:
        """Iterate until nothing moves, then solve for the unknowns exactly."""
        self.problem.integration.restart()
        (state, sums), settled, kept = self._begun(state), False, 0.0
        calmest = state
        while len(self.moves) < _MOST_ITERATIONS and not settled:
            if self._patient:
                state = self._solved(state)
            if self.moves:  # the start is where they were integrated out last
                sums = self.problem.integrate(state, close=self.close, hopeless=self.hopeless)
            new, far = self._iterated(state, sums, kept)
            if not np.isfinite(far):
                break
            if len(self.moves) >= _SETTLING:
                if far > _STALLED * self.moves[-1] and len(self.moves) >= _LATER:
                    kept, self.close = _DAMPED, _CLOSER
                settled = far < _TOLERANCE and self.moves[-1] < 10.0 * _TOLERANCE
            self.moves.append(far)
            if far < _MIXED:
                self.close, self.problem.roughly = _CLOSEST if far < _NO_FLOATS else _CLOSER, False
            if len(self.moves) == _PATIENT:
                self.path.clear()
            state = new
            calmest = state if far == min(self.moves) else calmest
            if self.on_iteration is not None:
                self.on_iteration(len(self.moves), far)
        self.problem.roughly = False
        # Where next to nothing is known, spreads wander further and further.
        state, curvature, norm = self._polished(state if settled else calmest)
        objective = self._objective(state, curvature)
        record = Convergence(
            settled and norm < _TOLERANCE,
            len(self.moves),
            norm,
            _TOLERANCE,
            (*self.objectives, objective),
            (*self.moves, norm),
        )
        return GeneralFit(state, self.problem.known, objective, record, frozenset(self._free()))

    @property
    def _patient(self) -> bool:
        """Whether unknowns are solved for before each update: weakly determined spreads spiral."""
        return len(self.moves) >= _PATIENT

    def _solved(self, state: State) -> State:
        """Take a few of Newton's steps with the spreads held."""
        for _ in range(_INNER):
            sums = self.problem.integrate(state, close=self.close, hopeless=self.hopeless)
            curvature = self.problem.curvature(state, sums)
            old = state.covariance
            state, covariance, far = self._stepped(state, curvature, _LOOSE)
            damped = _DAMPED * old + (1.0 - _DAMPED) * covariance
            state = replace(state, covariance=damped)
            if far < _TOLERANCE:
                break
        return state

    def _begun(self, state: State) -> tuple[State, Sums]:
        """Bring the first scores into the unit, roughly, and integrate there."""
        self.problem.roughly = self.large
        if self.large and not self.told:
            some = self.problem.sample(len(self.problem.layout.rows) // _SAMPLE)
            some.roughly = True
            # What holds the unit of all would tilt a few out of theirs.
            first = replace(state, covariance=np.zeros_like(state.covariance), tilt=0.0)
            first, _ = _in_unit(some, first)
            for _ in range(0 if self.held else _FIRST_ROUNDS):
                first, _ = annotators_refined(some, first)
            state = self.problem.with_annotators(state, told(some, first))
        close = _TOLD_CLOSE if self.told else _FIRST_CLOSE
        return _in_unit(self.problem, state, self.hopeless, close)

    def _iterated(self, state: State, sums: Sums, kept: float) -> tuple[State, float]:
        problem = self.problem
        curvature = problem.curvature(state, sums)
        self.objectives.append(self._objective(state, curvature))
        least = _MEDIUM if self.large else _TIGHT
        close = float(np.clip(self.moves[-1] if self.moves else 1.0, least, _LOOSE))
        new, covariance, step = self._stepped(state, curvature, close)
        careful = len(self.moves) >= _CAREFUL
        free = self._free()
        if not (self.large and self.moves and self.moves[-1] > _FAR_OFF):
            self.forms = forms_of(problem, curvature, covariance, free)
        updated = estimated_again(
            problem, new, curvature, covariance, free, forms=self.forms, careful=careful
        )
        far = max(step, abs(problem.off()), _moved(state, updated))
        if not np.isfinite(far):
            return state, far
        updated = self._led(state, updated, far)
        old = state.covariance
        if old.shape == covariance.shape:
            covariance = kept * old + (1.0 - kept) * covariance
        if problem.has_unit:
            less = min(updated.reversed_share / state.reversed_share, 1.0)
            self.hopeless = np.asarray(less * problem.known.reversed < _SURELY)
        return replace(updated, covariance=covariance), far

    def _led(self, old: State, new: State, far: float) -> State:
        """Return where an update leads, with those before it, once they say where they go.

        The means follow the spreads until unknowns are solved for under them.
        """
        limit = _MIXED
        layout = self.problem.layout
        if len(layout.rows) >= _ENOUGH and _scores_moved(old, new, layout.at_means) < _MIXED:
            limit = _ALONE
        if not (self._patient or self.path or far < limit):
            return new
        free, at = self._free(), len(new.unknowns)
        if not self._patient:
            at = self.problem.layout.at_means
        of_old, of_new = (
            np.concatenate([each.unknowns[at:], _coordinates(each, free)]) for each in (old, new)
        )
        self.path.append((of_old, of_new))
        unknowns, found = new.unknowns.copy(), blend(self.path)
        means = len(unknowns) - at
        unknowns[at:] = found[:means]
        return _with(replace(new, unknowns=unknowns), free, found[means:])

    def _stepped(
        self, state: State, curvature: Curvature, close: float
    ) -> tuple[State, FloatArray, float]:
        """Take Newton's step; return where it leads, the variances and how far it went uncut."""
        problem = self.problem
        force = problem.force(state, curvature)
        if self.dense:
            covariance = curvature.inverse()
            step = covariance @ force
        else:
            step = conjugate_gradients(curvature.product, force, curvature.solver(), close)
            covariance = 1.0 / curvature.diagonal()
        means = slice(problem.layout.at_means, None)
        far = 0.0
        for part, unit in ((slice(means.start), state.block_sds[SCORES]), (means, 1.0)):
            length = float(np.abs(step[part]).max(initial=0.0)) / unit
            if self.large:  # of many, a few lead the others nowhere
                np.clip(step[part], -unit, unit, out=step[part])
            else:
                step[part] *= min(1.0, 1.0 / max(length, 1e-300))
            far = max(far, length)
        self._hold_back(step[means])
        tilt = curvature.tilt(problem.off(), step, far) if problem.has_unit else 0.0
        new = replace(state, unknowns=state.unknowns + step, tilt=state.tilt + tilt)
        return new, covariance, far

    def _hold_back(self, step: FloatArray) -> None:
        """Shorten, in place, steps of means that turn back: rare ties made Newton's overshoot."""
        if self.before is not None and len(self.before) == len(step):
            back = (step * self.before < 0.0) & (np.abs(step) > _BACK * np.abs(self.before))
            self.caution = np.where(back, 0.5 * self.caution, np.minimum(2.0 * self.caution, 1.0))
            step *= self.caution
        self.before = step.copy()

    def _free(self) -> list[str]:
        """Name the spreads that are estimated."""
        return [name for name in estimable(self.problem.layout) if name not in self.held]

    def _polished(self, state: State) -> tuple[State, Curvature, float]:
        """Solve for the unknowns and the unit exactly, the spreads held; integrate there."""
        problem, norm = self.problem, np.inf
        for count in range(_POLISHING_STEPS + 1):
            quick = self.middling and norm > _NO_FLOATS and count < _FEW_STEPS
            close = _CLOSER if quick else _CLOSEST
            sums = problem.integrate(state, close=close, hopeless=self.hopeless)
            curvature = problem.curvature(state, sums)
            force = problem.force(state, curvature)
            size = curvature.diagonal()
            new = max(float(np.max(np.abs(force) / size)), abs(problem.off()))
            little = 0.5 if self.large or count > _FEW_STEPS else 1.0
            most = little if new < _TOLERANCE else _LEFT
            there = new < _POLISHED or not new <= most * norm or count == _POLISHING_STEPS
            if there and not quick:
                break
            norm = new
            state = self._stepped(state, curvature, _TIGHT)[0]
        return state, curvature, new

    def _objective(self, state: State, curvature: Curvature) -> float:
        """Minus the log posterior, the unknowns integrated out by their diagonal curvature."""
        problem = self.problem
        off = state.unknowns - problem.centre()
        value = problem.known.log_evidence - 0.5 * dot(curvature.precision, off * off)
        value -= 0.5 * float(np.log(curvature.diagonal() / curvature.precision).sum())
        if problem.has_unit:
            a, b = REVERSED_PRIOR
            share = state.reversed_share
            value += (a - 1.0) * np.log(share) + (b - 1.0) * np.log1p(-share)
            value += 0.5 * (state.sds[0] * state.tilt) ** 2 * dot(problem.shares, problem.shares)
        return -float(value)


def _in_unit(
    problem: Problem,
    state: State,
    hopeless: BoolArray | None = None,
    near: float = _FIRST_CLOSE,
) -> tuple[State, Sums]:
    """Multiply the scores until a typical reliability is about 1; integrate there."""
    for _ in range(_FIRST_STEPS):
        sums = problem.integrate(state, close=_CLOSE, hopeless=hopeless)
        off = problem.off()
        if abs(off) < near:
            return state, sums
        state = problem.rescaled(state, float(np.clip(1.0 + off, 0.5, 2.0)))
    return state, problem.integrate(state, close=_CLOSE, hopeless=hopeless)


def _scores_moved(old: State, new: State, number: int) -> float:
    """Return the largest change of the first unknowns, over the spread of the scores."""
    change = np.abs(new.unknowns[:number] - old.unknowns[:number]).max(initial=0.0)
    return float(change) / old.block_sds[SCORES]


def _moved(old: State, new: State) -> float:
    """Return the largest change of a spread, relative unless it is small, and of the share."""
    pairs = [(old.block_sds[name], sd) for name, sd in new.block_sds.items()]
    pairs += zip(old.sds.tolist(), new.sds.tolist(), strict=True)
    change = max(abs(after - before) / (before + _SMALL) for before, after in pairs)
    grades = float(np.abs(np.log(new.grades / old.grades)).max())
    return max(change, grades, abs(new.reversed_share - old.reversed_share))


def _coordinates(state: State, free: list[str]) -> FloatArray:
    """Return the logarithms of the spreads that are estimated, and the logit of the share."""
    share = state.reversed_share
    blocks = [sd for name, sd in state.block_sds.items() if name in free]
    return np.log([*blocks, *state.sds, share / (1.0 - share)])


def _with(state: State, free: list[str], coordinates: FloatArray) -> State:
    """Return a state with the spreads of these coordinates."""
    values = np.exp(coordinates)
    named = [name for name in state.block_sds if name in free]
    blocks = state.block_sds | dict(zip(named, values[: len(named)].tolist(), strict=True))
    sds = np.maximum(values[len(named) : -1], LEAST_SD)
    share = float(values[-1] / (1.0 + values[-1]))
    return replace(state, block_sds=blocks, sds=sds, reversed_share=share)
