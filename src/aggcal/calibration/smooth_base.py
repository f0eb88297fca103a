r"""A smooth increasing curve for items that it was not fitted to.

A convex mix of a straight line and a bagged, centred isotonic curve; the weight is the one that
predicts held-out values best. The projection of Stage 2 is a step function of the same kind; this
is smoother, and strictly between the steps. Both are fitted on the scale on which y is straightest
(see `bend`). What the items' own scores are fused with is another one (see `shapes`): there no item
is left out, and extrapolation does not count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.kernels.threads import in_turn
from aggcal.calibration.atc import project
from aggcal.calibration.bend import Bend, fit_bend
from aggcal.calibration.isotonic import isotonic

_FOLDS = 10  # more are hardly better and take longer
_BAGS, _FOLD_BAGS = 60, 20  # more are smoother and take longer
_FLAT = 1e-12  # of the scatter of y: below it line and curve are one
_FEWEST = 8  # items: of fewer no curve can be told from a line
_MANY = 5_000  # items whose curves are worth waking threads for

NO_BEND = Bend()


@dataclass(frozen=True, eq=False)
class Base:
    """An increasing function.

    ``straight`` is the weight of the straight line in it, ``bend`` the scale it is straight on.
    """

    straight: float
    _line: Callable[[FloatArray], FloatArray]
    _curve: Callable[[FloatArray], FloatArray]
    bend: Bend = NO_BEND

    def __call__(self, x: FloatArray) -> FloatArray:
        """Evaluate it."""
        x = self.bend(x)
        return self.straight * self._line(x) + (1.0 - self.straight) * self._curve(x)


def fit_base(x: FloatArray, y: FloatArray, seed: int = 0) -> Base:
    """Fit E[y | x], increasing in x.

    Examples
    --------
    >>> x = np.linspace(0.0, 1.0, 50)
    >>> base = fit_base(x, 2.0 * x)
    >>> base(np.array([0.5])).round(2)
    array([1.])
    """
    if len(x) < _FEWEST:
        return Base(1.0, _line(x, y), _line(x, y))
    bend = fit_bend(x, y)
    x = bend(x)
    random = np.random.default_rng(seed)
    fold = random.permutation(len(x)) % min(_FOLDS, len(x))
    straight, curved = np.empty((2, len(x)))
    for k in range(int(fold.max()) + 1):
        out = fold == k
        straight[out] = _line(x[~out], y[~out])(x[out])
        curved[out] = bagged(x[~out], y[~out], _FOLD_BAGS, random)[0](x[out])
    apart = straight - curved
    size = float(apart @ apart)
    flat = _FLAT * float(np.square(y - y.mean()).sum())
    weight = float(apart @ (y - curved)) / size if size > flat else 1.0
    weight = min(max(weight, 0.0), 1.0)
    return Base(weight, _line(x, y), bagged(x, y, _BAGS, random)[0], bend)


def _line(x: FloatArray, y: FloatArray) -> Callable[[FloatArray], FloatArray]:
    centre, level = float(x.mean()), float(y.mean())
    scatter = float(np.square(x - centre).sum())
    slope = max(0.0, float((x - centre) @ y) / scatter) if scatter > 0.0 else 0.0
    return lambda new: level + slope * (new - centre)


def bagged(
    x: FloatArray, y: FloatArray, bags: int, random: np.random.Generator
) -> tuple[Callable[[FloatArray], FloatArray], float]:
    """Average centred isotonic curves of random halves; return it and its degrees of freedom.

    These are the sum of what each y adds to its own value.

    Examples
    --------
    >>> curve, used = bagged(np.arange(9.0), np.arange(9.0), 20, np.random.default_rng(0))
    >>> curve(np.array([4.0])).round(1), 2.0 < used < 9.0
    (array([4.]), True)
    """
    order = np.argsort(x, kind="stable")
    x, y, place = x[order], y[order], np.argsort(order)
    halves = (
        np.sort(place[random.choice(len(x), max(2, len(x) // 2), replace=False)])
        for _ in range(bags)
    )
    each = in_turn if len(x) > _MANY else map
    curves, used = [], 0.0
    for knots, values, own in each(lambda half: _centred(x[half], y[half]), halves):
        curves.append((knots, values))
        used += own

    # An average of broken lines is a broken line: its knots are theirs.
    every = np.unique(np.concatenate([knots for knots, _ in curves]))
    mean = np.mean([np.interp(every, knots, values) for knots, values in curves], axis=0)
    return lambda new: np.interp(new, every, mean), used / bags


def _centred(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Fit an isotonic curve with one knot for each block, at the block's mean; x is in order."""
    fitted, starts = _blocks(x, y)
    number = np.diff(starts)
    knots = np.add.reduceat(x, starts[:-1]) / number
    values = fitted[starts[:-1]]
    if len(knots) == 1:
        return knots, values, 1.0
    own = np.repeat(np.arange(len(knots)), number)
    right = np.clip(np.searchsorted(knots, x, side="right"), 1, len(knots) - 1)
    along = np.clip((x - knots[right - 1]) / (knots[right] - knots[right - 1]), 0.0, 1.0)
    weight = np.where(own == right, along, np.where(own == right - 1, 1.0 - along, 0.0))
    return knots, values, float((weight / number[own]).sum())


def _blocks(x: FloatArray, y: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the nearest numbers that never fall with x, which is in order, and their blocks."""
    if not (x[1:] == x[:-1]).any():
        return isotonic(y, np.ones(len(y)))
    fitted, block = project(x, y)
    return fitted, np.flatnonzero(np.concatenate([[True], block[1:] != block[:-1], [True]]))
