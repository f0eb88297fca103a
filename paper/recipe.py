r"""Stage 1 as the paper's authors ran it, for reproduction only.

Alternating gradient steps of fixed size and number, without a test of convergence; on uneven
designs they do not converge at all. The same models are fitted properly elsewhere. What is
minimised is

    −Σ log P(row) − virtual Σ_i [log F(s_i) + log F(−s_i)] + ridge/2 |s|² + slope_ridge/2 |γ|²,

the second term being the "virtual annotator", who sees each item win and lose once against an item
of score 0. For CrowdBT and CrowdTCV, γ is the probability η of reporting what was seen.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, TextArray, sums
from aggcal.aggregation.links import Link, link
from paper.published import HRA, METHODS


@dataclass(frozen=True, eq=False)
class Wins:
    """Rows as the authors read them: in their order, nothing merged, nothing left out."""

    annotator: IntArray
    winner: IntArray
    loser: IntArray
    n_items: int

    @property
    def n_annotators(self) -> int:
        """How many annotators there are."""
        return int(self.annotator.max()) + 1


def read_wins(path: Path, ids: TextArray, annotator: str) -> Wins:
    """Read rows; ``annotator`` is the column that counts as one."""
    position = {item: k for k, item in enumerate(ids)}
    annotators: dict[str, int] = {}
    with path.open(encoding="utf-8", newline="") as file:
        codes = [
            (
                annotators.setdefault(row[annotator], len(annotators)),
                position[row["winner"]],
                position[row["loser"]],
            )
            for row in csv.DictReader(file)
        ]
    who, winner, loser = np.array([*zip(*codes, strict=True)], dtype=np.int64)
    return Wins(who, winner, loser, len(ids))


@dataclass(frozen=True)
class Recipe:
    """The settings that the authors published for a data set, or that gave their numbers.

    ``width`` divides the gaps of the homogeneous methods and of the crowd methods, which take
    ``rounds``; HRA takes ``steps``, of size ``step`` in s and ``step * slope_rate`` in γ.
    """

    virtual: float
    ridge: float = 0.0
    slope_ridge: float = 0.0
    step: float = 0.005
    slope_rate: float = 1.0
    steps: int = 600
    width: float = 1.0
    rounds: int = 15


_ROOT = sqrt(2.0)
_HRA_OF_DOTS = Recipe(10.0, ridge=1.1, slope_ridge=1.1, step=1e-3, slope_rate=0.05, steps=10)
_CROWD_OF_DOTS = Recipe(1.0, ridge=1.0, slope_ridge=1.0, rounds=10)

# Two of the authors' gradients lack a factor 1/√2: the same as penalties of s divided by √2.
READING_LEVEL = dict.fromkeys(METHODS, Recipe(10.0)) | {
    "crowd-tcv": Recipe(10.0 / _ROOT, width=_ROOT)
}
STABLE = Recipe(10.0, step=5e-4, steps=6000)
"""Of Reading Level: a tenth of the authors' step, ten times as often; with it HRA converges."""
DOTS = {
    "hra-g": _HRA_OF_DOTS,
    # The gradient in γ of the authors' HRA-E lacks its penalty.
    "hra-e": replace(_HRA_OF_DOTS, slope_ridge=0.0),
    "hra-n": _HRA_OF_DOTS,
    "crowd-bt": _CROWD_OF_DOTS,
    "crowd-tcv": replace(_CROWD_OF_DOTS, width=_ROOT),
    "btl": _HRA_OF_DOTS,
    "tcv": Recipe(1.0 / _ROOT, ridge=1.0 / _ROOT, width=_ROOT),
}

_LINKS = {
    "hra-g": "logistic",
    "hra-e": "laplace",
    "hra-n": "normal",
    "crowd-bt": "logistic",
    "crowd-tcv": "normal",
    "btl": "logistic",
    "tcv": "normal",
}


def recipe_scores(method: str, wins: Wins, recipe: Recipe) -> FloatArray:
    """Return the scores of a method as the authors ran it."""
    noise = link(_LINKS[method])
    if method in HRA:
        return alternating_steps(wins, noise, recipe)[0]
    if method.startswith("crowd"):
        return crowd_alternations(wins, noise, recipe)[0]
    return homogeneous_optimum(wins, noise, recipe)


def alternating_steps(wins: Wins, noise: Link, recipe: Recipe) -> tuple[FloatArray, FloatArray]:
    """Algorithm 1: steps in s, then in γ at the new s; s is centred only for the next round.

    Returns
    -------
    tuple
        The last scores before centring, and γ.

    Examples
    --------
    >>> wins = Wins(*np.array([[0, 0], [1, 1], [0, 0]]), 2)
    >>> s, _ = alternating_steps(wins, link("logistic"), Recipe(virtual=10.0))
    >>> bool(s[1] > s[0])
    True
    """
    scores, slopes = np.ones(wins.n_items), np.ones(wins.n_annotators)
    last = scores
    for _ in range(recipe.steps):
        slope = slopes[wins.annotator]
        pull = slope * noise.terms(slope * _gaps(wins, scores))[1]
        gradient = _scatter(wins, -pull) + _virtual(noise, scores, recipe.virtual)[1]
        last = scores - recipe.step * (gradient + recipe.ridge * scores)
        gap = _gaps(wins, last)
        pull = gap * noise.terms(slope * gap)[1]
        slope_gradient: FloatArray = -sums(wins.annotator, pull, wins.n_annotators)
        slope_gradient += recipe.slope_ridge * slopes
        slopes = slopes - recipe.step * recipe.slope_rate * slope_gradient
        scores = last - last.mean()
    return last, slopes


def homogeneous_optimum(wins: Wins, noise: Link, recipe: Recipe) -> FloatArray:
    """Fit γ ≡ 1 to the optimum, as the authors' L-BFGS did.

    Examples
    --------
    >>> wins = Wins(*np.array([[0, 0], [1, 1], [0, 0]]), 2)
    >>> homogeneous_optimum(wins, link("logistic"), Recipe(virtual=1.0)).round(4)
    array([-0.7563,  0.7563])
    """
    start, honest = np.zeros(wins.n_items), np.ones(wins.n_annotators)
    return _best_scores(wins, noise, recipe, honest, start, most=5_000)


def crowd_alternations(wins: Wins, noise: Link, recipe: Recipe) -> tuple[FloatArray, FloatArray]:
    """CrowdBT and CrowdTCV: s by L-BFGS, then each η by a bounded search, a number of times.

    Examples
    --------
    >>> wins = Wins(*np.array([[0, 0, 1], [1, 1, 0], [0, 0, 1]]), 2)
    >>> scores, honest = crowd_alternations(wins, link("logistic"), Recipe(virtual=1.0))
    >>> honest.round(2)
    array([1., 0.])
    """
    scores, honest = np.zeros(wins.n_items), np.ones(wins.n_annotators)
    for _ in range(recipe.rounds):
        scores = _best_scores(wins, noise, recipe, honest, scores, most=500)
        gap = _gaps(wins, scores) / recipe.width
        ahead, behind = noise.probability(gap), noise.probability(-gap)
        honest = _best_probabilities(wins, ahead, behind, recipe.slope_ridge)
    return scores, honest


def _gaps(wins: Wins, scores: FloatArray) -> FloatArray:
    return np.asarray(scores[wins.winner] - scores[wins.loser])


def _scatter(wins: Wins, values: FloatArray) -> FloatArray:
    n = wins.n_items
    return sums(wins.winner, values, n) - sums(wins.loser, values, n)


def _virtual(noise: Link, scores: FloatArray, weight: float) -> tuple[float, FloatArray]:
    """Return what the virtual annotator adds to the objective, and to its gradient."""
    (up, won, _), (down, lost, _) = noise.terms(scores), noise.terms(-scores)
    return weight * float((up + down).sum()), weight * (lost - won)


def _best_scores(
    wins: Wins, noise: Link, recipe: Recipe, honest: FloatArray, start: FloatArray, *, most: int
) -> FloatArray:
    from scipy.optimize import minimize

    eta = honest[wins.annotator]

    def objective(scores: FloatArray) -> tuple[float, FloatArray]:
        x = _gaps(wins, scores) / recipe.width
        ahead, behind = noise.probability(x), noise.probability(-x)
        probability = eta * ahead + (1.0 - eta) * behind
        density = ahead * noise.terms(x)[1] / recipe.width
        virtual, pull = _virtual(noise, scores, recipe.virtual)
        value = virtual - float(np.log(probability).sum())
        value += 0.5 * recipe.ridge * float(scores @ scores)
        gradient = _scatter(wins, -(2.0 * eta - 1.0) * density / probability)
        return value, gradient + pull + recipe.ridge * scores

    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": most, "maxfun": 10 * most, "ftol": 1e-15, "gtol": 1e-9},
    )
    return np.asarray(found.x)


def _best_probabilities(
    wins: Wins, ahead: FloatArray, behind: FloatArray, ridge: float
) -> FloatArray:
    """Maximise Σ log(η F + (1 − η) F̄) − ridge/2 η² in each η in [0, 1]: concave, by halving."""
    m, apart = wins.n_annotators, ahead - behind
    low, high = np.zeros(m), np.ones(m)
    for _ in range(60):
        middle = 0.5 * (low + high)
        eta = middle[wins.annotator]
        probability = np.maximum(eta * ahead + (1.0 - eta) * behind, 1e-300)
        slope = np.bincount(wins.annotator, apart / probability, m) - ridge * middle
        low, high = np.where(slope > 0.0, middle, low), np.where(slope > 0.0, high, middle)
    return 0.5 * (low + high)
