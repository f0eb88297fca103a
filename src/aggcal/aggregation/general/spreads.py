"""How far items, contexts, categories and annotators differ: estimated as a fit goes on."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from aggcal._core.arrays import FloatArray, dot
from aggcal._core.kernels.threads import in_turn
from aggcal.aggregation.general.problem import (
    AXIS_SD,
    FIRST_SDS,
    MEAN_PRIORS,
    TIE_CONTEXT_SD,
    Curvature,
    Problem,
    State,
)
from aggcal.aggregation.solve.prior_sd import centred, next_sd
from aggcal.models.general.annotators import RELIABILITY, STANCE
from aggcal.models.general.design import CONTROL, SCORES
from aggcal.models.general.sums import Layout, Sums

_RELIABILITY_PRIOR = 10.0
"""Annotators that the default spread of the reliabilities counts as."""
PARAMETER_PRIOR = 5.0
"""The same for positions and for the readiness to tie. Without it the estimate is 0 in half of the
studies with five judgments each, and intervals of 90% cover 50% (measured)."""
REVERSED_PRIOR = (2.0, 20.0)
"""Beta prior of the share of reversed annotators."""
_LOG_STEP = 1.1
"""Largest change of a spread in an iteration, on the log scale."""
_TAU_STEP, _TAU_RANGE = 3.0**0.5, (0.05, 3.0)
"""Factor by which the spread of the reliabilities moves at most, and what it is kept within."""
_FAR, _SAME, _LEAST_LEFT, _KNOWN = 50, 1e-6, 0.1, 1e-30
"""Updates of a spread that are foreseen at most, the relative change at which they have ended, the
least share of an annotator's precision that a wider spread leaves, and a variance as good as 0."""
_LONGEST = 1.0
"""Largest change of a mean that is foreseen: likelihoods are nearly straight beyond it."""
LEAST_SD = 0.05
"""Smallest spread of an annotator's parameter or an effect: below it, nobody could see it."""
_WEAK = 0.1
"""Spread from which the careful update is used where it is asked for: below, a spread goes to 0,
which the careful one would take for ever to do."""
_NEVER_USED = 0.5
"""Answers that a strength which nobody used counts as."""
_MANY = 20_000
"""Annotators from which their parameters are looked at in threads, each in one."""
Forms = dict[str, tuple[FloatArray, FloatArray]]
"""Of each parameter: what the scores' uncertainty adds to how unsure each annotator's is."""


def estimable(layout: Layout) -> list[str]:
    """Name the spreads that data can tell."""
    names = [name for name in layout.design.blocks if name != CONTROL]
    names += [AXIS_SD] if layout.axis else []
    names += [TIE_CONTEXT_SD] if layout.contexts else []
    if not layout.fixed_means:
        names += [name for name in layout.names if name != STANCE]
    return names


def estimated_again(
    problem: Problem,
    state: State,
    curvature: Curvature,
    covariance: FloatArray,
    free: list[str],
    *,
    forms: Forms | None = None,
    careful: bool = False,
) -> State:
    """Estimate the spreads, the share of reversed annotators and the weights of grades again.

    Parameters
    ----------
    problem, state
        What is fitted, and where.
    curvature, covariance
        There; the covariance is a matrix, or its diagonal.
    free
        Names of the spreads that are estimated.
    forms
        What `forms_of` returned, here or not far from here.
    careful
        Whether to take the short steps of expectation and maximisation, to the same end: MacKay's
        go to and fro for ever where the data hardly tell a spread.
    """
    blocks, sds, unknowns = dict(state.block_sds), state.sds.copy(), state.unknowns.copy()
    layout = problem.layout
    forms = forms_of(problem, curvature, covariance, free) if forms is None else forms

    def seen_of(name: str) -> _Seen:
        return _seen(problem, curvature, covariance, name, forms.get(name))

    of_annotators = [name for name in free if name in layout.names]
    beside = in_turn if layout.rows.n_annotators > _MANY else map
    known = dict(zip(of_annotators, beside(seen_of, of_annotators), strict=True))
    for name in free:
        if name in layout.names:
            k, seen = layout.names.index(name), known[name]
            foreseen = _FAR if name in layout.means else 1
            sds[k], moved = _annotator_sd(seen, name, float(sds[k]), foreseen)
            if name in layout.means:
                unknowns[layout.at_means + layout.means.index(name)] += moved
        else:
            blocks[name] = _block_sd(problem, state, covariance, name, careful=careful)
    share = state.reversed_share
    if problem.has_unit:
        a, b = REVERSED_PRIOR
        m = layout.rows.n_annotators
        share = float((problem.known.reversed.sum() + a - 1.0) / (m + a + b - 2.0))
    grades = _grades(problem, curvature.sums, state) if len(state.grades) > 1 else state.grades
    return State(unknowns, sds, blocks, share, state.covariance, state.tilt, grades)


def _block_sd(
    problem: Problem, state: State, covariance: FloatArray, name: str, *, careful: bool
) -> float:
    """Return a better estimate of the spread of scores, or of effects."""
    layout, sd = problem.layout, state.block_sds[name]
    own_places = {TIE_CONTEXT_SD: layout.where_ties, AXIS_SD: layout.where_axis}
    where = own_places[name] if name in own_places else layout.design.blocks[name].where
    values = state.unknowns[where]
    own = covariance[where] if covariance.ndim == 1 else covariance[where, where]
    if name == SCORES:
        variances = own if own.ndim == 1 else np.diag(centred(own, problem.component))
        free = len(values) - int(problem.component.max()) - 1
        return next_sd(sd, values, variances, free, 1.0)
    variances = own if own.ndim == 1 else np.diag(own)
    return effect_sd(sd, values, variances, widest=1.0, careful=careful)


class _Seen(NamedTuple):
    """What is known of a parameter of each annotator."""

    about: FloatArray
    """Posterior means less the prior mean."""
    own: FloatArray
    """Posterior variances with the unknowns held."""
    unsure: FloatArray
    """And with them uncertain."""
    prior: tuple[float, float] | None
    """How far the prior mean is above its own prior's, and the sd of that; None: it is known."""

    def under(self, old: float, new: float) -> tuple[_Seen, float]:
        """Return the same under another spread, and how far the prior mean then moves.

        Posteriors are taken as normal, and the prior mean is the one that is then most probable.
        """
        # Who has judged very much may be known to rounding.
        precision = 1.0 / np.maximum(self.own, _KNOWN)
        changed = np.maximum(precision + (new**-2 - old**-2), _LEAST_LEFT * precision)
        by, moved = precision / changed, 0.0
        about, own = by * self.about, by * self.own
        if self.prior is not None:
            (off, wide), left = self.prior, np.maximum(1.0 - own / new**2, 0.0)
            ratio = (new / wide) ** 2
            moved = (float(about.sum()) - ratio * off) / (float(left.sum()) + ratio)
            about = about - moved * left
        return _Seen(about, own, own + by**2 * (self.unsure - self.own), self.prior), moved


def _values(problem: Problem, name: str) -> FloatArray:
    """Return a parameter at each node, that of the reliability being the strength."""
    known = problem.known
    return known.strengths if name == RELIABILITY else known.of(name)


def forms_of(
    problem: Problem, curvature: Curvature, covariance: FloatArray, free: list[str]
) -> Forms:
    """Return the forms of `UnitHeld.variances_of`, by one sweep over rows.

    They are of the annotators' parameters whose spreads are estimated, where unknowns are many.
    """
    known, names = problem.known, [name for name in problem.layout.names if name in free]
    if covariance.ndim > 1 or not names:
        return {}
    values = np.stack([known.weights * known.off(_values(problem, name)) for name in names])
    found = curvature.sums.forms_of(values, covariance, curvature.carried(covariance))
    return dict(zip(names, found, strict=True))


def _seen(
    problem: Problem,
    curvature: Curvature,
    covariance: FloatArray,
    name: str,
    forms: tuple[FloatArray, FloatArray] | None,
) -> _Seen:
    known, k = problem.known, problem.layout.names.index(name)
    values = _values(problem, name)
    off = known.off(values)
    with_unit = np.zeros(len(off))
    if problem.has_unit:
        with_unit = problem.shares * known.mean(off * known.off(known.strengths))
    own = known.mean(off**2)
    unsure = curvature.variances_of(known.weights * off, own, with_unit, covariance, forms)
    about = known.mean(values) - (1.0 if name == RELIABILITY else problem.means[:, k])
    if name in problem.layout.means:
        # What counts is how sure the distance from the mean is, which moves with the annotators.
        at = problem.layout.at_means + problem.layout.means.index(name)
        weighed = known.weights * off
        if covariance.ndim > 1:
            with_mean = curvature.sums.forms(weighed, covariance, covariance[at].copy())[1]
            variance = covariance[at, at]
        else:
            # The mean alone: no rows are needed.
            pulls = curvature.sums.mean_pulls[:, :, problem.layout.means.index(name)]
            with_mean = covariance[at] * (weighed * pulls).sum(axis=1)
            variance = covariance[at]
        unsure = np.maximum(unsure - 2.0 * with_mean + variance, 1e-12)
    prior = None
    if name in problem.layout.means:
        centre, wide = MEAN_PRIORS[name]
        prior = float(problem.means[0, k]) - centre, wide
    return _Seen(about, own, unsure, prior)


def _annotator_sd(seen: _Seen, name: str, sd: float, rounds: int) -> tuple[float, float]:
    """Return a better estimate of how far annotators differ in a parameter.

    And how far their mean moves with it, where more than one round is foreseen.
    """
    weight = _RELIABILITY_PRIOR if name == RELIABILITY else PARAMETER_PRIOR
    low, high = np.clip(sd / _TAU_STEP, *_TAU_RANGE), np.clip(sd * _TAU_STEP, *_TAU_RANGE)
    found, there, m = sd, seen, len(seen.about)
    first = moved = 0.0
    if rounds > 1:
        there, first = seen.under(sd, sd)
    for _ in range(rounds):
        square, trace = dot(there.about, there.about), float(there.unsure.sum())
        room = max(weight + m - 1 - trace / found**2, 0.5 * weight)
        new = float(np.clip(sqrt((weight * FIRST_SDS[name] ** 2 + square) / room), low, high))
        near, found = abs(new - found) < _SAME * found, new
        if near:
            break
        if rounds > 1:
            there, moved = seen.under(sd, found)
    return found, float(np.clip(moved - first, -_LONGEST, _LONGEST))


def effect_sd(
    sd: float, about: FloatArray, variances: FloatArray, *, widest: float, careful: bool
) -> float:
    """Return a better estimate of a spread that may be 0, under a half-normal prior.

    ``about`` and ``variances`` are the posterior under the spread so far. The update is MacKay's;
    as that takes for ever to reach 0, it is cut short where what the data alone say is most
    probable with no spread at all.
    """
    square, count, trace = dot(about, about), len(about), float(variances.sum())
    room, scale = max(count - trace / sd**2, 1e-3 * count), widest**2
    if careful and sd > _WEAK:
        room, square = float(count), square + trace
    new = sqrt(0.5 * scale * (sqrt(room**2 + 4.0 * square / scale) - room))
    low, high = sd * np.exp(-_LOG_STEP), sd * np.exp(_LOG_STEP)
    if new < sd and _vanishes(sd, about, variances):
        new = low
    return float(np.clip(new, max(low, LEAST_SD), max(high, LEAST_SD)))


def _vanishes(sd: float, about: FloatArray, variances: FloatArray) -> bool:
    """Whether the data alone are most probable with no spread: their slope at 0 and up to it."""
    known = np.maximum(1.0 / variances - sd**-2.0, 0.0)
    pull = np.square(about / variances)
    for square in sd**2 * np.array([0.0, 0.1, 0.3, 1.0]):
        shrunk = 1.0 + square * known
        if float((pull / shrunk**2 - known / shrunk).sum()) > 0.0:
            return False
    return True


def _grades(problem: Problem, sums: Sums, state: State) -> FloatArray:
    """Return better weights of the grades: what was answered, over what was expected."""
    expected = sums.expected_grades(state.unknowns, state.grades)
    seen = problem.layout.rows.levels.sum(axis=1) + _NEVER_USED
    ratio = seen / (expected + _NEVER_USED)
    return np.asarray(state.grades * ratio / ratio[0])
