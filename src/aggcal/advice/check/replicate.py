"""Fit a study, draw studies like it as it was collected, and refit each by one step.

The fit has scores, annotators with a posterior on the grid of `population`, and a habit of choosing
a side for each; further effects have the spreads of `Effects`. An act is drawn at once: a utility
for each of its items, whose differences give the answers, so that their dependence is in the draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.special import expit

from aggcal._core.arrays import FloatArray, IntArray
from aggcal.advice.check.cells import ALONE, Cells
from aggcal.advice.check.population import (
    LAPSE,
    SLOPE,
    chances,
    log_likelihood,
    log_prior,
    normalised,
)

_ROUNDS, _FEWEST_ROUNDS, _SETTLED = 16, 4, 3e-2  # of the fit; refits of draws begin there, too
_LONGEST = 0.5  # step of a score at once
_HABIT_SD = 0.5  # of the habits of choosing a side, to begin with
_LEAST_HABIT_SD = 0.05
_MOST_DENSE = 700
"""Items up to which the information on the scores is factored; of more, systems are solved by
conjugate gradients, and errors of scores drawn as if they were independent."""
_GRADIENT_STEPS, _WIDER = 40, 1.2  # of them; what such errors are multiplied by
_SLOPE = SLOPE.astype(np.float32)
_KEPT = 0.9, 0.7, 0.4, 0.0
"""Shares of the missing information that are tried: the first with which a factor exists."""


@dataclass(frozen=True)
class Effects:
    """Standard deviations of what answers depend on beside one order, in logits; 0 for nothing."""

    question: float = 0.0
    """Of what all annotators see in a question."""
    taste: float = 0.0
    """Of what each annotator sees in an item."""
    again: float = 0.0
    """Of what an annotator sees in a question, each time it is asked."""


@dataclass(frozen=True, eq=False)
class Information:
    """What is known of the scores: solves with its matrix, and errors drawn by its inverse."""

    solve: Callable[[FloatArray], FloatArray]
    errors: Callable[[int, np.random.Generator], FloatArray]
    variance: float
    """The mean over items."""

    @classmethod
    def of(
        cls, cells: Cells, curve: FloatArray, precision: float, missing: FloatArray | None = None
    ) -> Information:
        """Take the curvature of each cell, the prior's precision, and what is missing.

        Parameters
        ----------
        cells, curve
            The cells, and what each tells of its gap.
        precision
            Of the prior of the scores.
        missing
            Gradients of the cells by what is unknown of their annotators.
        """
        n, weighted = cells.items, cells.by_item * curve
        whole = weighted @ cells.by_item.T
        if n > _MOST_DENSE:
            diagonal = whole.diagonal() + precision

            def errors(number: int, random: np.random.Generator) -> FloatArray:
                sd = _WIDER * diagonal**-0.5
                return np.asarray(sd[:, None] * random.standard_normal((n, number)))

            def product(vectors: FloatArray) -> FloatArray:
                return np.asarray(whole @ vectors + precision * vectors)

            def solve(vectors: FloatArray) -> FloatArray:
                return _by_gradients(product, diagonal, vectors)

            return cls(solve, errors, float(np.mean(1.0 / diagonal)))
        dense, identity = whole.toarray(), precision * np.eye(n)
        if missing is not None:
            lost = (cells.by_item * missing) @ cells.by_who.T
            less = (lost @ lost.T).toarray()
        for share in _KEPT if missing is not None else (0.0,):
            try:
                root, _ = cho_factor(
                    dense + identity - (share * less if share else 0.0), lower=True
                )
                break
            except np.linalg.LinAlgError:
                continue
        inverse = cho_solve((root, True), np.eye(n))

        def drawn(number: int, random: np.random.Generator) -> FloatArray:
            normal = random.standard_normal((n, number))
            return np.asarray(solve_triangular(root, normal, lower=True, trans="T"))

        return cls(lambda v: np.asarray(inverse @ v), drawn, float(np.trace(inverse)) / n)


def _by_gradients(
    product: Callable[[FloatArray], FloatArray], diagonal: FloatArray, vectors: FloatArray
) -> FloatArray:
    """Solve for each column by conjugate gradients."""
    found, residual = np.zeros_like(vectors), vectors.copy()
    scale = diagonal if vectors.ndim == 1 else diagonal[:, None]
    direction = residual / scale
    size = np.sum(residual * direction, axis=0)
    for _ in range(_GRADIENT_STEPS):
        curved = product(direction)
        step = size / np.maximum(np.sum(direction * curved, axis=0), 1e-300)
        found += step * direction
        residual -= step * curved
        scaled = residual / scale
        before, size = size, np.sum(residual * scaled, axis=0)
        direction = scaled + size / np.maximum(before, 1e-300) * direction
    return found


@dataclass(frozen=True, eq=False)
class Fit:
    """Scores, habits and annotators, and what the cells say of each."""

    scores: FloatArray
    score_sd: float
    habit: FloatArray
    habit_sd: float
    log_prior: FloatArray
    posterior: FloatArray
    """Annotators by grid."""
    chance: FloatArray
    """Cells by grid."""
    slope: FloatArray
    """The derivative of ``chance`` by the logit."""
    pull: FloatArray
    """The derivative of the log posterior by the gap, in each cell."""
    curve: FloatArray
    information: Information


def fit(cells: Cells, won: FloatArray, known: Fit | None = None) -> Fit:
    """Fit a study: annotators integrated out on the grid, scores and habits at their mode.

    Parameters
    ----------
    cells, won
        The answers.
    known
        A fit of others' answers about these items: its scores and its prior are kept.
    """
    m, sided = cells.annotators, bool(cells.side.any())
    habit, habit_sd, score_sd = np.zeros(m), _HABIT_SD, 1.0
    scores = _alike(cells, won) if known is None else known.scores
    prior, weight = np.zeros(len(SLOPE)), cells.weight
    if known is not None:
        prior, habit_sd, score_sd = known.log_prior, known.habit_sd, known.score_sd
    for k in range(_ROUNDS):
        chance, slope = chances(cells, scores, habit)
        likelihood = log_likelihood(cells, chance, won)
        if known is None and k in (0, 1, 3, 6, 9):
            prior = log_prior(likelihood)
        posterior = normalised(likelihood + prior)
        mine = posterior.astype(np.float32)[cells.who]
        ups, downs = won.astype(np.float32), (cells.number - won).astype(np.float32)
        by_logit = ups[:, None] / chance - downs[:, None] / (1.0 - chance)
        by_logit *= slope
        pulls = by_logit * _SLOPE
        pull = np.einsum("cg,cg->c", pulls, mine)
        fisher = slope**2 / (chance * (1.0 - chance))
        curve = cells.number * np.einsum("cg,cg,g->c", fisher, mine, _SLOPE**2)
        moved = 0.0
        if known is None:
            information = Information.of(cells, weight * curve, score_sd**-2)
            step = information.solve(cells.by_item @ (weight * pull) - scores / score_sd**2)
            step = np.clip(step, -_LONGEST, _LONGEST)
            score_sd = max(0.1, float(np.sqrt(np.mean(scores**2) + information.variance)))
            scores, moved = scores + step, float(np.abs(step).max())
        if sided:
            firm = cells.by_who @ (cells.number * np.einsum("cg,cg->c", fisher, mine))
            push = cells.by_who @ (cells.side * np.einsum("cg,cg->c", by_logit, mine))
            firm += habit_sd**-2
            turn = np.clip((push - habit / habit_sd**2) / firm, -0.7, 0.7)
            habit = habit + turn
            if known is None:
                habit_sd = max(_LEAST_HABIT_SD, float(np.sqrt(np.mean(habit**2 + 1.0 / firm))))
            moved = max(moved, float(np.abs(turn).max()))
        if k >= _FEWEST_ROUNDS and moved < _SETTLED:
            break
    chance, slope = chances(cells, scores, habit)
    posterior = normalised(log_likelihood(cells, chance, won) + prior)
    # What is not known of an annotator is, first of all, the slope.
    about = SLOPE - (posterior @ SLOPE)[:, None]
    spread = np.sqrt(np.sum(posterior * about**2, axis=1) + 1e-12)
    mine = (posterior * about / spread[:, None])[cells.who]
    missing = weight * np.einsum("cg,cg->c", pulls, mine)
    information = (
        known.information
        if known is not None
        else (Information.of(cells, weight * curve, score_sd**-2, missing))
    )
    return Fit(
        scores,
        score_sd,
        habit,
        habit_sd,
        prior,
        posterior,
        chance,
        slope,
        pull,
        curve,
        information,
    )


def _alike(cells: Cells, won: FloatArray) -> FloatArray:
    """Return the scores of a fit to which everybody is alike: the majority's direction."""
    scores = np.zeros(cells.items)
    for _ in range(5):
        p = expit(cells.gap(scores))
        curve = cells.weight * cells.number * p * (1.0 - p)
        pull = cells.by_item @ (cells.weight * (won - cells.number * p)) - scores
        scores = scores + Information.of(cells, curve, 1.0).solve(pull)
    return scores


def draw(
    cells: Cells, fitted: Fit, effects: Effects, number: int, random: np.random.Generator
) -> FloatArray:
    """Draw how often the lower item wins in studies like this one: cells by studies."""
    scores = fitted.scores[:, None] + fitted.information.errors(number, random)
    gap = cells.gap(scores)
    size = len(cells.low)
    if effects.question:
        gap += (effects.question * random.standard_normal((size, number)))[cells.question]
    if effects.taste:
        codes = [cells.who * cells.items + end for end in cells.ends]
        seen, entry = np.unique(np.concatenate(codes), return_inverse=True)
        low, high = np.split(entry.ravel(), 2)
        taste = effects.taste * random.standard_normal((len(seen), number))
        gap += taste[low] - taste[high]
    steps = fitted.posterior.cumsum(axis=1)
    chosen = np.stack(
        [
            (random.random((len(steps), 1)) > steps).sum(axis=1).clip(max=len(SLOPE) - 1)
            for _ in range(number)
        ],
        axis=1,
    )
    logit = _SLOPE[chosen][cells.who] * gap.astype(np.float32)
    if effects.again:
        again, entry = np.unique(cells.who * size + cells.question, return_inverse=True)
        noise = effects.again * random.standard_normal((len(again), number), dtype=np.float32)
        logit += noise[entry.ravel()]
    logit += (fitted.habit[cells.who] * cells.side).astype(np.float32)[:, None]
    lapse = LAPSE.astype(np.float32)[chosen][cells.who]
    single = cells.act == ALONE
    won = np.empty(logit.shape, dtype=np.float32)
    chance = lapse[single] / 2.0 + (1.0 - lapse[single]) * expit(logit[single])
    asked = cells.number[single]
    if (asked == 1.0).all():
        won[single] = random.random(chance.shape, dtype=np.float32) < chance
    else:
        won[single] = random.binomial(asked.astype(np.int64)[:, None], chance)
    if not single.all():
        won[~single] = _acts(cells.of_rows(~single), logit[~single], lapse[~single], random)
    return won


def _acts(
    cells: Cells, logit: FloatArray, lapse: FloatArray, random: np.random.Generator
) -> FloatArray:
    """Draw acts: utilities with Gumbel noise, whose differences are logistic."""
    act = np.unique(cells.act, return_inverse=True)[1].ravel()
    codes = [act * cells.items + end for end in cells.ends]
    slots, slot = np.unique(np.concatenate(codes), return_inverse=True)
    low, high = np.split(slot.ravel(), 2)
    noise = random.gumbel(size=(len(slots), logit.shape[1]))
    careless = random.random((int(act.max()) + 1, logit.shape[1]))[act] < lapse
    ahead = noise[low] - noise[high] + np.where(careless, 0.0, logit) > 0.0
    return np.asarray(ahead * cells.number[:, None])


@dataclass(frozen=True, eq=False)
class Residuals:
    """What is left unexplained of a study and of draws of it, each refitted in the same way."""

    left: FloatArray
    """Answers less expected ones, times their evidence: cells by studies, the first is real."""
    variance: FloatArray
    """Of each cell, by chance."""


def residuals(cells: Cells, fitted: Fit, won: FloatArray) -> Residuals:
    """Refit each study: annotators by their posterior given it, scores and habits by one step."""
    chance, slope, number = fitted.chance, fitted.slope, cells.number.astype(np.float32)
    odds, against = np.log(chance) - np.log1p(-chance), np.log1p(-chance)
    toward, away = slope / chance, slope / (1.0 - chance)
    won = won.astype(np.float32)
    left, pull, push = (np.empty(won.shape, dtype=np.float32) for _ in range(3))
    mine = fitted.posterior.astype(np.float32)[cells.who]
    mean_slope = number * np.einsum("cg,cg->c", slope, mine)
    mean_curve = number * np.einsum("cg,cg,g->c", slope, mine, SLOPE)
    starts, evidence = cells.starts, cells.evidence.astype(np.float32)
    for u in np.flatnonzero(np.diff(starts)).tolist():
        rows = slice(int(starts[u]), int(starts[u + 1]))
        y, k, e = won[rows], number[rows], evidence[rows]
        logs = (e[:, None] * y).T @ odds[rows] + (e * k) @ against[rows]
        own = normalised(logs + fitted.log_prior).T.astype(np.float32)
        signed = own * _SLOPE[:, None]
        lost = k[:, None] - y
        left[rows] = y - k[:, None] * (chance[rows] @ own)
        push[rows] = y * (toward[rows] @ own) - lost * (away[rows] @ own)
        pull[rows] = y * (toward[rows] @ signed) - lost * (away[rows] @ signed)
    gradient = cells.by_item @ (cells.weight[:, None] * pull)
    gradient -= (fitted.scores / fitted.score_sd**2)[:, None]
    moved = fitted.information.solve(gradient)
    left -= mean_curve[:, None] * (cells.by_item.T @ moved)
    if cells.side.any():
        firm = cells.by_who @ (mean_slope * cells.side**2) + fitted.habit_sd**-2
        pushed = cells.by_who @ (cells.side[:, None] * push)
        turn = (pushed - (fitted.habit / fitted.habit_sd**2)[:, None]) / firm[:, None]
        left -= (mean_slope * cells.side)[:, None] * turn[cells.who]
    variance = number * np.einsum("cg,cg->c", chance * (1.0 - chance), mine)
    unexplained: Any = evidence[:, None] * left  # in single precision
    return Residuals(unexplained, np.asarray(evidence**2 * variance, dtype=np.float64))


def without(cells: Cells, won: FloatArray, some: IntArray) -> tuple[Cells, FloatArray]:
    """Leave annotators aside."""
    kept = ~np.isin(cells.who, some)
    return cells.of_rows(kept), won[kept]
