r"""What a score is expected to be at each consensus score: an average of increasing shapes.

A truth may rise with the consensus in a line, in proportions (an exponential), in steps, or in a
curve. Fifteen items seldom tell which, and a wrong choice costs more than an average: each shape
gets the weight exp(−Cp/2) of Mallows' criterion,

    Cp = (squares that it leaves) / σ² + 2 · (degrees of freedom that it uses),

which estimates its error at these very items. On the scale z = (exp(c x) − 1) / c a truth that
grows in proportions is a line again: such a bent line is steeper at one end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.text import brief
from aggcal.calibration.components import deviations, levelled, means, n_levels
from aggcal.calibration.project import project

BENDS = (0.0, -2.5, -2.0, -1.5, -1.0, -0.5, 0.5, 1.0, 1.5, 2.0, 2.5)
"""The c that are tried, per standard deviation of x; 0 is the straight line. With four of them the
errors of steep truths were 10 to 29% larger."""

_BENT_PRIOR = 0.2
"""The weight of a bent line before the data are looked at, where the straight one has 1: smaller
ones gain less where truths are steep, larger ones lose where they are straight."""

_SHARPNESS = 0.4
"""By how much a unit of Cp lowers the log weight of a shape: less averages more, more chooses."""

_LINE, _BENT, _CURVE = 2.0, 3.0, 0.4
"""Degrees of freedom of the line, of a bent one (its strength was looked for), and of the curve
over those of the steps, whose average it is."""

_BAGS, _MOST_IN_BAG = 40, 5_000
"""Curves that are averaged, and items that one is fitted to at most: more take longer."""

_FEWEST = 8
"""Items that shapes are told apart from: of fewer a line is taken."""

LEAST_FREE = 0.25
"""The least share of the items that counts as free where a variance is estimated."""


_FAR = 8.0
"""Standard deviations from which bent lines are straight at the latest: exponentials are finite."""


@dataclass(frozen=True, eq=False)
class Expected:
    """An increasing function of x: lines, bent or not, and a broken line.

    ``slopes`` are those of the lines times their weights, ``steepness`` times their weights among
    lines alone; ``values`` at ``knots`` are curve and steps times theirs, less the level.
    """

    x: FloatArray
    y: FloatArray
    component: IntArray | None
    level: float
    slopes: FloatArray
    steepness: FloatArray
    middles: FloatArray
    knots: FloatArray
    values: FloatArray
    used: float
    """Degrees of freedom that fitting used."""
    straight: float
    """The weight of the straight line."""

    __repr__ = brief

    def __call__(self, x: FloatArray) -> FloatArray:
        """Evaluate it."""
        z, _ = _bent(x, self.x)
        lines = self.slopes @ (z - self.middles[:, None])
        return np.asarray(self.level + lines + np.interp(x, self.knots, self.values))

    def fitted(self, x: FloatArray) -> FloatArray:
        """Evaluate it for the very items that it was fitted to, at these places."""
        return levelled(self(x), self.y, self.component)

    @property
    def log_likelihood(self) -> float:
        """How likely y is about it, for even normal errors, less what fitting it used."""
        left = float(np.square(self.y - self.fitted(self.x)).sum())
        least = max(left, 1e-24 * float(np.square(self.y).sum()), 1e-300)
        return -0.5 * len(self.y) * float(np.log(least)) - self.used

    def further(self, x: FloatArray, home: IntArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the places of further items, and their expected scores.

        Of several components, ``home`` is that of each item, and ``x`` what the item differs from
        the mean of its home's items by.
        """
        if home is None or self.component is None:
            return x, self(x)
        first = np.array([int(np.argmax(self.component == own)) for own in home], dtype=np.int64)
        place = x + means(self.x, self.component)[first]
        return place, self(place) + means(self.y - self(self.x), self.component)[first]

    def rise(self, x: FloatArray) -> FloatArray:
        """Return how steep its lines are: a step has no slope of its own."""
        return np.asarray(self.steepness @ _bent(x, self.x)[1])


def expected(
    x: FloatArray, y: FloatArray, seed: int = 0, component: IntArray | None = None
) -> Expected:
    """Fit E[y | x], increasing in x.

    Of several components, placed by y (see `components`), only the deviations from their means say
    how well a shape fits: that their means do is no evidence.

    Examples
    --------
    >>> x = np.linspace(0.0, 1.0, 50)
    >>> base = expected(x, 2.0 * x)
    >>> base(np.array([0.5])).round(2), base.rise(np.array([0.5])).round(2)
    (array([1.]), array([2.]))
    """
    n, levels, level = len(x), n_levels(component), float(y.mean())
    knots, first, at = np.unique(x, return_index=True, return_inverse=True)
    z, _ = _bent(x, x)
    middles = z.mean(axis=1)
    within = np.array([deviations(each, component) for each in z])
    scatter = np.square(within).sum(axis=1)
    slopes = np.maximum(within @ y, 0.0) / np.where(scatter > 0.0, scatter, 1.0)
    steps, block = project(x, y)
    broken = np.array([_curve(x, y, knots, seed), steps[first]])
    shapes = [*(level + slopes[:, None] * (z - middles[:, None])), *broken[:, at]]
    left = np.array([np.square(y - levelled(each, y, component)).sum() for each in shapes])
    # Steps use as many degrees of freedom as there are if σ² is known; as it is not, one more.
    freedom = 1.0 + float(block.max())
    used = np.array([_LINE, *[_BENT] * (len(BENDS) - 1), 1.0 + _CURVE * freedom, freedom])
    noise = left / np.maximum(n - levels - used, max(LEAST_FREE * n, 1.0))
    # σ² is what the line or the curve leaves, whichever is less.
    least = max(min(noise[0], noise[-2]), 1e-12 * left.max(), 1e-300)
    log_weight = -_SHARPNESS * (left / least + 2.0 * used)
    log_weight[1 : len(BENDS)] += np.log(_BENT_PRIOR)
    if n - levels < _FEWEST:
        log_weight[1:] = -np.inf
    weight, lines = (np.exp(w - w.max()) for w in (log_weight, log_weight[: len(BENDS)]))
    weight /= weight.sum()
    return Expected(
        x, y, component, level,
        weight[: len(BENDS)] * slopes, lines / lines.sum() * slopes, middles,
        knots, weight[len(BENDS) :] @ (broken - level), float(weight @ used), float(weight[0]),
    )  # fmt: skip


def _bent(x: FloatArray, seen: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return x on each scale, a row each, and its slope; beyond what was seen they are straight."""
    scale, centre = float(seen.std()) or 1.0, float(seen.mean())
    low, high = (
        max(float(seen.min() - centre) / scale, -_FAR),
        min(float(seen.max() - centre) / scale, _FAR),
    )
    u = (x - centre) / scale
    inside = np.clip(u, low, high)
    strength = np.array(BENDS[1:])[:, None]
    steep = np.exp(strength * inside)
    z = np.expm1(strength * inside) / strength + (u - inside) * steep
    return np.vstack([u, z]), np.vstack([np.ones(len(u)), steep]) / scale


def _curve(x: FloatArray, y: FloatArray, knots: FloatArray, seed: int) -> FloatArray:
    """Average isotonic fits to random halves, each a broken line through its blocks' means."""
    random, n = np.random.default_rng(seed), len(x)
    size = min(n, max(2, n // 2), _MOST_IN_BAG)
    total = np.zeros(len(knots))
    for _ in range(_BAGS):
        half = random.choice(n, size, replace=False)
        fitted, block = project(x[half], y[half])
        number = np.bincount(block)[:0:-1]
        middles = np.bincount(block, x[half])[:0:-1] / number
        values = np.bincount(block, fitted)[:0:-1] / number
        total += np.interp(knots, middles, values)
    return np.asarray(total / _BAGS)
