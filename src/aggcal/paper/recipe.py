r"""Stage 1 as the paper's authors ran it, for reproduction only.

Alternating gradient steps of fixed size and number, without a test of convergence; on uneven
designs they do not converge at all. The same models are fitted properly elsewhere. What is
minimised is

    −Σ log P(row) − virtual Σ_i [log F(s_i) + log F(−s_i)] + ridge/2 |s|² + slope_ridge/2 |γ|²,

the second term being the "virtual annotator", who sees each item win and lose once against an item
of score 0.
"""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, sums
from aggcal._core.records import dataclass
from aggcal.models.links import Link


@dataclass(frozen=True, eq=False)
class Wins:
    """Rows as the authors read them: nothing merged, nothing left out."""

    annotator: IntArray
    winner: IntArray
    loser: IntArray
    n_items: int

    @property
    def n_annotators(self) -> int:
        """How many annotators there are."""
        return int(self.annotator.max()) + 1


@dataclass(frozen=True)
class Recipe:
    """The settings that the authors published for a data set."""

    virtual: float
    ridge: float = 0.0
    slope_ridge: float = 0.0
    step: float = 0.005
    slope_rate: float = 1.0
    steps: int = 600


def alternating_steps(
    wins: Wins, link: Link, recipe: Recipe, *, forget_slope_ridge: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Algorithm 1: steps in s, then in γ at the new s; s is centred only for the next round.

    Parameters
    ----------
    wins, link
        The data and F.
    recipe
        The settings of the recipe.
    forget_slope_ridge
        As in the authors' HRA-E, whose gradient in γ lacks its penalty.

    Returns
    -------
    tuple
        The last scores before centring, and γ.

    Examples
    --------
    >>> from aggcal.models.links import link
    >>> zero, one = np.zeros(9, dtype=np.int64), np.ones(9, dtype=np.int64)
    >>> wins = Wins(zero, one, zero, 2)
    >>> s, _ = alternating_steps(wins, link("logistic"), Recipe(virtual=10.0))
    >>> bool(s[1] > s[0])
    True
    """
    scores, slopes = np.ones(wins.n_items), np.ones(wins.n_annotators)
    last = scores
    for _ in range(recipe.steps):
        pull = slopes[wins.annotator] * _pull(wins, link, scores, slopes)
        gradient = _scatter(wins, -pull) + _virtual_gradient(link, scores, recipe.virtual)
        last = scores - recipe.step * (gradient + recipe.ridge * scores)
        gap = last[wins.winner] - last[wins.loser]
        pull = _pull(wins, link, last, slopes)
        slope_gradient: FloatArray = -sums(wins.annotator, gap * pull, wins.n_annotators)
        if not forget_slope_ridge:
            slope_gradient += recipe.slope_ridge * slopes
        slopes = slopes - recipe.step * recipe.slope_rate * slope_gradient
        scores = last - last.mean()
    return last, slopes


def homogeneous_optimum(
    wins: Wins, link: Link, recipe: Recipe, *, width: float = 1.0
) -> FloatArray:
    """Fit γ ≡ 1 to the optimum, as the authors' L-BFGS did.

    Examples
    --------
    >>> from aggcal.models.links import link
    >>> wins = Wins(*np.array([[0, 0], [1, 1], [0, 0]]), 2)
    >>> homogeneous_optimum(wins, link("logistic"), Recipe(virtual=1.0)).round(4)
    array([-0.7563,  0.7563])
    """
    ones = np.ones(wins.n_annotators)
    start = np.zeros(wins.n_items)
    return _best_scores(wins, link, recipe, ones, width=width, start=start, most=5_000)


def crowd_alternations(
    wins: Wins,
    link: Link,
    recipe: Recipe,
    *,
    width: float = 1.0,
    rounds: int = 15,
    slack_gradient: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """CrowdBT and CrowdTCV: s by L-BFGS, then each η by a bounded search, a number of times.

    ``slope_ridge`` is the ridge on η. ``slack_gradient``: the authors' CrowdTCV lacks 1/√2 in its
    gradient of s, which solves the problem with the penalties of s divided by √2.

    Examples
    --------
    >>> from aggcal.models.links import link
    >>> wins = Wins(*np.array([[0, 0, 1], [1, 1, 0], [0, 0, 1]]), 2)
    >>> scores, honest = crowd_alternations(wins, link("logistic"), Recipe(virtual=1.0))
    >>> honest.round(2)
    array([1., 0.])
    """
    if slack_gradient:
        root = sqrt(2.0)
        recipe = replace(recipe, virtual=recipe.virtual / root, ridge=recipe.ridge / root)
    honest = np.ones(wins.n_annotators)
    scores = np.zeros(wins.n_items)
    for _ in range(rounds):
        scores = _best_scores(wins, link, recipe, honest, width=width, start=scores, most=500)
        gap = (scores[wins.winner] - scores[wins.loser]) / width
        ahead, behind = link.probability(gap), link.probability(-gap)
        honest = _best_probabilities(wins, ahead, behind, recipe.slope_ridge)
    return scores, honest


def _pull(wins: Wins, link: Link, scores: FloatArray, slopes: FloatArray) -> FloatArray:
    gap = scores[wins.winner] - scores[wins.loser]
    return link.terms(slopes[wins.annotator] * gap)[1]


def _scatter(wins: Wins, values: FloatArray) -> FloatArray:
    n = wins.n_items
    return sums(wins.winner, values, n) - sums(wins.loser, values, n)


def _virtual_gradient(link: Link, scores: FloatArray, weight: float) -> FloatArray:
    return weight * (link.terms(-scores)[1] - link.terms(scores)[1])


def _best_scores(
    wins: Wins,
    link: Link,
    recipe: Recipe,
    honest: FloatArray,
    *,
    width: float,
    start: FloatArray,
    most: int,
) -> FloatArray:
    from scipy.optimize import minimize

    eta = honest[wins.annotator]

    def objective(scores: FloatArray) -> tuple[float, FloatArray]:
        x = (scores[wins.winner] - scores[wins.loser]) / width
        ahead, behind = link.probability(x), link.probability(-x)
        probability = eta * ahead + (1.0 - eta) * behind
        density = ahead * link.terms(x)[1] / width
        up, down = link.terms(scores), link.terms(-scores)
        value = -float(np.log(probability).sum()) + recipe.virtual * float((up[0] + down[0]).sum())
        gradient = _scatter(wins, -(2.0 * eta - 1.0) * density / probability)
        gradient += recipe.virtual * (down[1] - up[1])
        value += 0.5 * recipe.ridge * float(scores @ scores)
        return value, gradient + recipe.ridge * scores

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
