r"""What the model's score is expected to be at each consensus score: an average of simple shapes.

A truth may rise with the consensus in a line, in proportions (an exponential, of several
strengths), in steps, in two groups, or in a curve. Fifteen items seldom tell which, and a wrong
choice costs more than an average: each shape gets the weight exp(−Cp/2) of Mallows' criterion,

    Cp = (squares that it leaves) / σ² + 2 · (degrees of freedom that it uses),

which estimates its error at these very items. Leaving items out instead would measure how well a
shape extrapolates to the first and the last, which are never left out of the scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.kernels.threads import in_turn
from aggcal._core.sorting import in_order
from aggcal._core.text import brief
from aggcal.calibration.atc import project
from aggcal.calibration.bend import BENDS, bend_of
from aggcal.calibration.smooth_base import bagged
from aggcal.calibration.within import deviations, levelled, means, n_levels

_SHARPNESS = 0.4
"""By how much a unit of Cp lowers the log weight of a shape. Smaller ones average more, larger ones
choose. Between 0.25 and Akaike's 0.5, mean errors of 1,152 simulated studies of 12 and 30 items
differed by less than 1%."""

_BENT = 3.0
"""Degrees of freedom of a bent line: level, slope, and the strength that was looked for."""

_BENT_PRIOR = 0.2
"""The weight of each of ten bent lines before the data are looked at, where the straight one has 1.
With 0.1, steep truths gain less (errors are 3% larger); with 0.3, straight ones lose 1%."""

_BAGS = 60
"""Curves that are averaged: more are smoother and take longer."""

_FEWEST = 8
"""Items that shapes are told apart from: of fewer a line is taken."""

_MANY = 5_000
"""Items whose shapes are worth waking threads for: of fewer they are fitted before these are up."""

_LEAST_FREEDOM = 0.25
"""The least share of the items that counts as free where σ² is estimated."""

Function = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Shape:
    """A fitted shape: a function, the degrees of freedom that it used, and the slope of a line."""

    at: Function
    used: float
    rises: Function | None = None

    __repr__ = brief


Fit = Callable[[FloatArray, FloatArray, int, int, IntArray | None], Shape]
"""Fits a shape to x and y, with a number of curves to average, a seed and the components."""


@dataclass(frozen=True, eq=False)
class MixedBase:
    """An increasing function of the consensus score: the average of shapes, lines first.

    ``fits`` make the shapes, ``weights`` are theirs; ``lines`` are the weights of the lines among
    themselves, which tell how steep it is.
    """

    fits: tuple[Fit, ...]
    shapes: tuple[Shape, ...]
    weights: FloatArray
    lines: FloatArray
    slope: float
    """Its mean slope over the items."""
    component: IntArray | None = None
    """Connected components of the items, None where there is one; then x and y are None, too."""
    x: FloatArray | None = None
    y: FloatArray | None = None

    __repr__ = brief

    def __call__(self, x: FloatArray) -> FloatArray:
        """Evaluate it."""
        parts = zip(self.weights.tolist(), self.shapes, strict=True)
        return np.asarray(sum(weight * shape.at(x) for weight, shape in parts if weight))

    def fitted(self, x: FloatArray) -> FloatArray:
        """Evaluate it for the very items that it was fitted to, at these places."""
        found = self(x)
        return found if self.y is None else levelled(found, self.y, self.component)

    def further(self, x: FloatArray, home: IntArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the places of further items, and their expected scores.

        Of several components, ``home`` is that of each item, and ``x`` what the item differs from
        the mean of its home's items by.
        """
        if home is None or self.component is None or self.x is None or self.y is None:
            return x, self(x)
        first = np.array([int(np.argmax(self.component == own)) for own in home], dtype=np.int64)
        place = x + means(self.x, self.component)[first]
        level = means(self.y - self(self.x), self.component)[first]
        return place, self(place) + level

    @property
    def straight(self) -> float:
        """The weight of the straight line."""
        return float(self.weights[0])

    @property
    def used(self) -> float:
        """Degrees of freedom that fitting used."""
        return float(self.weights @ np.array([shape.used for shape in self.shapes]))

    def rise(self, x: FloatArray) -> FloatArray:
        """Return how steep it is, in units of its mean slope."""
        if not self.slope > 0.0:
            return np.ones(len(x))
        return np.asarray(_steepness(self.shapes, self.lines, x) / self.slope)

    def straightened(self, x: FloatArray) -> FloatArray:
        """Return the scale of the consensus on which it is a line with its mean slope."""
        return np.asarray(self(x) / self.slope) if self.slope > 0.0 else x


def mixed_base(
    x: FloatArray, y: FloatArray, seed: int = 0, component: IntArray | None = None
) -> MixedBase:
    """Fit E[y | x], increasing in x, at these very x.

    Of several components, placed by y (see `within`), only the deviations from their means say how
    well a shape fits: that their means do is no evidence.

    Examples
    --------
    >>> x = np.linspace(0.0, 1.0, 50)
    >>> base = mixed_base(x, 2.0 * x)
    >>> base(np.array([0.5])).round(2), round(base.slope, 2)
    (array([1.]), 2.0)
    """
    levels = n_levels(component)
    fits = _FITS if len(x) - levels >= _FEWEST else _FITS[:1]
    each = in_turn if len(x) > _MANY else map

    def fitted(fit: Fit) -> Shape:
        return fit(x, y, _BAGS, seed, component)

    def missed(shape: Shape) -> float:
        return float(np.square(y - levelled(shape.at(x), y, component)).sum())

    # What takes longest, the curves, wakes threads by itself.
    shapes = (*each(fitted, fits[:CURVE]), *map(fitted, fits[CURVE:]))
    left = np.array([*each(missed, shapes)])
    used = np.array([shape.used for shape in shapes])
    prior = np.where([k in _BENT_LINES for k in range(len(fits))], _BENT_PRIOR, 1.0)
    noise = _noise(left, used + levels, len(x))
    criterion = left / noise + 2.0 * used
    log_weights = np.log(prior) - _SHARPNESS * criterion
    weights = _shares(log_weights)
    straight = np.array([shape.rises is not None for shape in shapes])
    lines = _shares(np.where(straight, log_weights, -np.inf))
    slope = float(_steepness(shapes, lines, x).mean())
    if component is None:
        return MixedBase(fits, shapes, weights, lines, slope)
    return MixedBase(fits, shapes, weights, lines, slope, component, x, y)


def log_likelihood(base: MixedBase, x: FloatArray, y: FloatArray) -> float:
    """Return how likely y is about a base, for even normal errors, less what fitting it used.

    Examples
    --------
    >>> x = np.linspace(0.0, 1.0, 50)
    >>> y = x + 0.1 * np.cos(40.0 * x)
    >>> log_likelihood(mixed_base(x, y), x, y) > log_likelihood(mixed_base(x, x), x, y + x)
    True
    """
    left, size = float(np.square(y - base.fitted(x)).sum()), float(np.square(y).sum())
    return -0.5 * len(y) * float(np.log(max(left, 1e-24 * size, 1e-300))) - base.used


def _noise(left: FloatArray, used: FloatArray, n: int) -> float:
    """Return σ²: what the straight line or the curve leaves, whichever is less."""
    free = np.maximum(n - used, max(_LEAST_FREEDOM * n, 1.0))
    own = [0] if len(left) == 1 else [0, CURVE]
    return max(float((left / free)[own].min()), 1e-12 * float(left.max()), 1e-300)


def _shares(log_weights: FloatArray) -> FloatArray:
    weights = np.exp(log_weights - log_weights.max())
    return np.asarray(weights / weights.sum())


def _steepness(shapes: tuple[Shape, ...], lines: FloatArray, x: FloatArray) -> FloatArray:
    total = np.zeros(len(x))
    for weight, shape in zip(lines.tolist(), shapes, strict=True):
        if weight and shape.rises is not None:
            total += weight * shape.rises(x)
    return total


# ------------------------------------------------------------------------------- shapes


def _line(
    x: FloatArray,
    y: FloatArray,
    bags: int,
    seed: int,
    component: IntArray | None = None,
    *,
    strength: float = 0.0,
) -> Shape:
    """Fit the line that does not fall, on a scale that is bent."""
    del bags, seed
    bend = bend_of(x, strength)
    z = bend(x)
    centre, level = float(z.mean()), float(y.mean())
    within = z - centre if component is None else deviations(z, component)
    scatter = float(np.square(within).sum())
    slope = max(0.0, float(within @ y) / scatter) if scatter > 0.0 else 0.0
    return Shape(
        lambda new: np.asarray(level + slope * (bend(new) - centre)),
        _BENT if strength else 2.0,
        lambda new: np.asarray(slope * bend.rise(new)),
    )


def _curve(
    x: FloatArray, y: FloatArray, bags: int, seed: int, component: IntArray | None = None
) -> Shape:
    """Average centred isotonic curves of random halves."""
    del component
    curve, used = bagged(x, y, bags, np.random.default_rng(seed))
    return Shape(curve, used)


def _steps(
    x: FloatArray, y: FloatArray, bags: int, seed: int, component: IntArray | None = None
) -> Shape:
    """Fit steps: the projection, and a line between its steps.

    It uses as many degrees of freedom as it has steps if σ² is known; as it is not, one more.
    """
    del bags, seed, component
    fitted, block = project(x, y)
    used = 1.0 + float(block.max())
    order = in_order(x)[0]
    knots, values = x[order], fitted[order]
    return Shape(lambda new: np.asarray(np.interp(new, knots, values)), used)


def _groups(
    x: FloatArray, y: FloatArray, bags: int, seed: int, component: IntArray | None = None
) -> Shape:
    """Fit two levels, the higher one above a border.

    The border is looked for between any two items, which uses about log n degrees of freedom. With
    one alone, poor models of 60 items (errors three times the spread of the truth) were divided
    into groups that were not there, which raised the error by a third.
    """
    del bags, seed, component
    used = 2.0 + float(np.log(len(x)))
    order = in_order(x)[0]
    n, total, level = len(x), np.cumsum(y[order]), float(y.mean())
    below = np.arange(1, n)
    low, high = total[:-1] / below, (total[-1] - total[:-1]) / (n - below)
    apart = np.maximum(high - low, 0.0) * (np.diff(x[order]) > 0.0)
    gained = below * (n - below) * np.square(apart)
    k = int(gained.argmax())
    if not gained[k] > 0.0:
        return Shape(lambda new: np.full(len(new), level), used)
    border = 0.5 * float(x[order[k]] + x[order[k + 1]])
    return Shape(lambda new: np.where(new > border, high[k], low[k]), used)


_FITS: tuple[Fit, ...] = (
    _line, *(partial(_line, strength=strength) for strength in BENDS), _curve, _steps, _groups,
)  # fmt: skip
_BENT_LINES = range(1, 1 + len(BENDS))
CURVE, STEPS, GROUPS = range(1 + len(BENDS), len(_FITS))
