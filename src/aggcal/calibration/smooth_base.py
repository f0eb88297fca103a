r"""The base: what the model's score is expected to be at a given consensus score.

A convex mix of a straight line and a bagged, centred isotonic curve; the weight is the one that
predicts held-out model scores best, which needs no truth. The projection of Stage 2 is a step
function of the same kind; the base is smoother, and strictly between the steps. Both are fitted on
the scale of the consensus on which the model is straightest (see `bend`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.calibration.atc import project
from aggcal.calibration.bend import Bend, fit_bend

_FOLDS = 10  # more are hardly better and take longer
_BAGS, _FOLD_BAGS, _DRAW_BAGS = 60, 20, 6  # more are smoother and take longer
_FLAT = 1e-12  # of the scatter of y: below it line and curve are one
_FEWEST = 8  # items: of fewer no curve can be told from a line

NO_BEND = Bend()


@dataclass(frozen=True, eq=False)
class Base:
    """An increasing function of the consensus score.

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
        curved[out] = _bagged(x[~out], y[~out], _FOLD_BAGS, random)(x[out])
    apart = straight - curved
    size = float(apart @ apart)
    flat = _FLAT * float(np.square(y - y.mean()).sum())
    weight = float(apart @ (y - curved)) / size if size > flat else 1.0
    weight = min(max(weight, 0.0), 1.0)
    return Base(weight, _line(x, y), _bagged(x, y, _BAGS, random), bend)


def refit_base(x: FloatArray, y: FloatArray, like: Base, seed: int = 0) -> Base:
    """Fit E[y | x] with weight and scale of the line held, and fewer curves: for draws of x.

    Examples
    --------
    >>> x = np.linspace(0.0, 1.0, 50)
    >>> refit_base(x, 2.0 * x, fit_base(x, 2.0 * x))(np.array([0.5])).round(1)
    array([1.])
    """
    x = like.bend(x)
    line = _line(x, y)
    if len(x) < _FEWEST or like.straight >= 1.0:
        return Base(1.0, line, line, like.bend)
    curve = _bagged(x, y, _DRAW_BAGS, np.random.default_rng(seed))
    return Base(like.straight, line, curve, like.bend)


def _line(x: FloatArray, y: FloatArray) -> Callable[[FloatArray], FloatArray]:
    centre, level = float(x.mean()), float(y.mean())
    scatter = float(np.square(x - centre).sum())
    slope = max(0.0, float((x - centre) @ y) / scatter) if scatter > 0.0 else 0.0
    return lambda new: level + slope * (new - centre)


def _bagged(
    x: FloatArray, y: FloatArray, bags: int, random: np.random.Generator
) -> Callable[[FloatArray], FloatArray]:
    """Average centred isotonic curves of random halves."""
    curves = []
    for _ in range(bags):
        half = random.choice(len(x), max(2, len(x) // 2), replace=False)
        curves.append(_centred(x[half], y[half]))

    # An average of broken lines is a broken line: its knots are theirs.
    every = np.unique(np.concatenate([knots for knots, _ in curves]))
    mean = np.mean([np.interp(every, knots, values) for knots, values in curves], axis=0)
    return lambda new: np.interp(new, every, mean)


def _centred(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Fit an isotonic curve with one knot for each block, at the block's mean."""
    fitted, block = project(x, y)
    number = np.bincount(block)
    kept = np.flatnonzero(number)[::-1]
    knots = (np.bincount(block, x)[kept]) / number[kept]
    values = (np.bincount(block, fitted)[kept]) / number[kept]
    return knots, values
