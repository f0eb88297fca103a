r"""What anchors, items whose truth is known, tell of scores: level, scale, and errors.

    truth ≈ centre + slope (base − centre) + weight · residual + shift

The base is a score that was made without anchors, the residual is what the model says beyond it. A
few anchors tell the level best and the scale worst, so each is moved only as far as they are clear
about it: what chance may explain of the shift is taken off, and a slope within two standard errors
of 1 is 1.

Full conformal intervals let every anchor tune and measure. An item's truth is tried at many values.
At each, the item joins the anchors, the scores are tuned to all of them, and the value is kept
where the item's error is not among the largest. As the fit treats all alike, the truth of an item
exchangeable with the anchors is kept with probability ``level`` at least, whatever the
distribution and however good the fit. Split conformal intervals divide the anchors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, inf, sqrt
from typing import TypeAlias

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray
from aggcal._core.text import brief
from aggcal.calibration.inputs import Anchors

MOST_FITTED = 400_000
"""Items times anchors up to which every anchor tunes and measures, a few seconds; with more of
them, anchors are divided, which costs little where anchors are many."""

_PSEUDO_ANCHORS = 6.0
"""Anchors that a weight of 0 counts as: more make few anchors matter less. Between 3
and 15, errors on real and simulated data differed by 3% at most."""

_SURE_SHIFT, _SURE_SLOPE = 2.0, 4.0
"""Squared standard errors that are taken off the square of a shift, and of what a slope differs
from 1 by. Fewer let noise move scores that have no common error; more leave some of a true one."""

_BEYOND, _FADED = 0.25, 2.0 / 3.0
"""The share of the anchors' range by which their slope is taken to hold beyond it, and that of the
wider range after which nothing of it is left: in populations most anchors are small, and what they
show of the scale says nothing of the giants."""

_OTHER_UNIT = 1.0
"""What a slope must exceed 1 by to be a change of unit, which holds everywhere, and no correction
of a scale. Corrections of less than a factor of 2 are common, and doubtful beyond the anchors."""

_PARAMETERS, _FEWEST_FOR_SLOPE = 3, 5
"""Level, slope and weight, and the anchors that a slope is estimated from at least."""

_SCARCE = 3.0
"""The factor of a variance estimated from two degrees of freedom or fewer, whose reciprocal has no
mean: a larger one ignores slopes that six anchors show."""

_EXACT, _TINY = 1e-12, 1e-100
"""Shares and sums below these are rounding: they keep divisions from failing where a residual or a
base is the same for all anchors."""

_STEPS = np.concatenate([np.linspace(0.0, 4.0, 33), np.geomspace(4.0, 1e4, 25)[1:]])
"""The grid of values that are tried, in units of the anchors' own errors: fine near the score, and
then wider by a half each. An interval that reaches its end counts as endless."""

_HALVINGS = 8  # of the last step outwards: what is left, a part of it is 1/2,000 of the unit
_AT_ONCE = 2_000_000  # numbers that are fitted at once, 16 MB each

Numbers: TypeAlias = FloatArray | float


# Tuning -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Tuned:
    """What a fit to anchors found; for one fit numbers, for several columns of them."""

    weight: FloatArray
    slope: FloatArray
    centre: FloatArray
    shift: FloatArray
    low: FloatArray
    high: FloatArray

    __repr__ = brief

    def __call__(self, base: FloatArray, residual: Numbers = 0.0) -> FloatArray:
        """Return the tuned scores of items.

        Beyond ``low`` and ``high`` the slope fades: a scale that anchors show among many small
        scores says nothing of a few large ones.
        """
        within = np.clip(base, self.low, self.high)
        beyond = np.abs(base - within) / (_FADED * (self.high - self.low) + _TINY)
        bent = (self.slope - 1.0) * (within - self.centre) * np.maximum(1.0 - beyond, 0.0)
        return np.asarray(base + bent + self.weight * residual + self.shift)


@dataclass(frozen=True, eq=False)
class Untuned:
    """Scores of all items before anchors are looked at.

    Parameters
    ----------
    base
        What is kept in any case.
    residual
        What the model says beyond it, of which anchors tell the share to keep; None where anchors
        only tell the level, so that the order of the scores stays.
    least
        The least share, below 0 where the base has some of the model in it that can be taken out.
    """

    base: FloatArray
    residual: FloatArray | None = None
    least: float = 0.0

    __repr__ = brief

    def tuned(self, anchors: Anchors) -> Tuned:
        """Fit to anchors.

        Examples
        --------
        >>> base = np.arange(20.0)
        >>> found = Untuned(base, np.zeros(20)).tuned((np.arange(20), 0.5 * base + 3.0))
        >>> round(float(found.slope), 6), found(np.array([10.0])).round(6)
        (0.5, array([8.]))
        """
        where, truth = anchors
        residual = None if self.residual is None else self.residual[where]
        return tune(self.base[where], residual, truth, self.least)

    def values(self, anchors: Anchors | None) -> FloatArray:
        """Return the scores of all items, tuned to anchors where there are any."""
        if anchors is None:
            return self.base
        return self.tuned(anchors)(self.base, 0.0 if self.residual is None else self.residual)


def tune(
    base: FloatArray, residual: FloatArray | None, truth: FloatArray, least: float = 0.0
) -> Tuned:
    """Fit truths of anchors, which are along the last axis; other axes are fits of their own.

    Parameters
    ----------
    base, residual, truth
        Of each anchor. Without residuals only the level is fitted.
    least
        The least weight.
    """
    error = truth - base
    none = np.zeros(error.shape[:-1])
    if residual is None:
        return Tuned(none, none + 1.0, none, shrunk_mean(error), none, none)
    n = base.shape[-1]
    x, r, y = (part - part.mean(axis=-1, keepdims=True) for part in (base, residual, error))
    xx, xr, xy = (_product(x, other) + _TINY for other in (x, r, y))
    pseudo = _PSEUDO_ANCHORS / n * _product(r, r) + _EXACT * xx
    own, wanted = _product(r, r) + pseudo, _product(r, y)
    bent = none
    if n >= _FEWEST_FOR_SLOPE:
        size = np.maximum(xx * own - np.square(xr), _EXACT * xx * own)
        bent, weight = (xy * own - xr * wanted) / size, (xx * wanted - xr * xy) / size
        left = y - bent[..., None] * x - weight[..., None] * r
        freedom = n - _PARAMETERS
        variance = _product(left, left) / freedom * own / size
        variance = variance * (freedom / (freedom - 2) if freedom > 2 else _SCARCE)  # noqa: PLR2004
        # Take off what chance may explain, and never turn the scores round.
        surely = np.maximum(0.0, 1.0 - _SURE_SLOPE * variance / (np.square(bent) + _TINY))
        bent = np.maximum(bent * surely, -1.0)
    weight = np.clip((wanted - bent * xr) / own, least, 1.0 + np.maximum(bent, 0.0))
    left = error - bent[..., None] * x - weight[..., None] * residual
    ends = base.min(axis=-1), base.max(axis=-1)
    beyond = np.where(bent > _OTHER_UNIT, np.inf, _BEYOND * (ends[1] - ends[0]))
    centre, shift = base.mean(axis=-1), shrunk_mean(left)
    return Tuned(weight, 1.0 + bent, centre, shift, ends[0] - beyond, ends[1] + beyond)


def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray((a * b).sum(axis=-1))


def shrunk_mean(values: FloatArray) -> FloatArray:
    """Return the mean along the last axis, shrunk towards 0 by as much of it as may be chance.

    Examples
    --------
    >>> float(shrunk_mean(np.array([-1.0, 1.2]))), float(shrunk_mean(np.full(9, 2.0)))
    (0.0, 2.0)
    """
    n, mean = values.shape[-1], values.mean(axis=-1)
    if n < 2:  # noqa: PLR2004
        return np.zeros_like(mean)
    noise_variance = _SURE_SHIFT * values.var(axis=-1, ddof=1) / n
    square = np.maximum(np.square(mean), np.finfo(np.float64).tiny)
    return np.asarray(mean * np.maximum(0.0, 1.0 - noise_variance / square))


# Measuring ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gain:
    """What calibration gained on the anchors: the mean drop of the squared error, and its se.

    Anchors drawn at random make it an unbiased estimate for all items (the gain identity,
    ‖model − truth‖² − ‖calibrated − truth‖² = ‖r‖² − 2⟨r, truth − calibrated⟩ + …, item by item).
    """

    mean: float
    se: float
    n: int
    how: str = ""
    """How anchors that also tuned the scores were kept from measuring themselves."""


def gain_on_anchors(
    model: FloatArray, calibrated: FloatArray, truth: FloatArray, how: str = ""
) -> Gain:
    """Compare the squared errors of model and calibrated scores on anchors.

    Examples
    --------
    >>> found = gain_on_anchors(np.array([2.0, 4.0]), np.array([1.0, 3.0]), np.array([1.0, 3.0]))
    >>> found.mean, found.se
    (1.0, 0.0)
    """
    drop = np.square(model - truth) - np.square(calibrated - truth)
    n = len(drop)
    se = float(drop.std(ddof=1)) / sqrt(n) if n > 1 else inf
    return Gain(float(drop.mean()), se, n, how)


@dataclass(frozen=True, eq=False)
class Measured:
    """Centres of conformal intervals, and the errors that those of anchors had."""

    centre: FloatArray
    errors: FloatArray

    __repr__ = brief

    def above(self, cut: float) -> FloatArray:
        """Return with which probability the truth of each item is above a cut.

        An error that is exchangeable with k others falls into each of the k + 1 gaps between them
        with the same probability; half of that of the gap with the cut counts as above it.

        Examples
        --------
        >>> Measured(np.array([0.0, 9.0]), np.array([-1.0, 0.0, 1.0])).above(0.5)
        array([0.375, 0.875])
        """
        errors = np.sort(self.errors)
        higher = len(errors) - np.searchsorted(errors, cut - self.centre, side="right")
        return np.asarray((higher + 0.5) / (len(errors) + 1))


def conformal_radius(errors: FloatArray, level: float) -> float:
    """Return half the width of a split-conformal interval.

    With k anchors exchangeable with a new item, an interval of this radius holds the new item's
    truth with probability ``level`` at least, whatever the distribution; infinite where k is too
    small for the level.

    Examples
    --------
    >>> conformal_radius(np.arange(1.0, 20.0), 0.9), conformal_radius(np.arange(5.0), 0.9)
    (18.0, inf)
    """
    position = _position(len(errors), level)
    return inf if position > len(errors) else float(np.sort(np.abs(errors))[position - 1])


def _position(number: int, level: float) -> int:
    """Return which of the sorted errors is the quantile."""
    return max(ceil(level * (number + 1) - 1e-9), 1)


def fewest_anchors(level: float) -> int:
    """Return how many anchors a finite conformal interval needs.

    Examples
    --------
    >>> fewest_anchors(0.95), fewest_anchors(0.9)
    (19, 9)
    """
    return ceil(level / (1.0 - level) - 1e-9)


def split(number: int, level: float, seed: int) -> tuple[IntArray, IntArray]:
    """Divide anchors into those that tune and those that measure; the latter come first.

    Examples
    --------
    >>> tune, measure = split(30, 0.95, 0)
    >>> len(tune), len(measure)
    (11, 19)
    """
    order = np.random.default_rng(seed).permutation(number)
    measuring = min(number, max(fewest_anchors(level), number // 2))
    return order[measuring:], order[:measuring]


def full_conformal(
    untuned: Untuned, anchors: Anchors, level: float
) -> tuple[FloatArray, FloatArray] | None:
    """Return the ends of an interval for each item; None where no interval is finite.

    Examples
    --------
    >>> base = np.linspace(0.0, 10.0, 40)
    >>> where = np.arange(0, 40, 2)
    >>> low, high = full_conformal(Untuned(base), (where, base[where] + 3.0 + np.cos(where)), 0.9)
    >>> bool(((low < base + 2.5) & (base + 3.5 < high)).all()), float((high - low).max()) < 3.0
    (True, True)
    """
    where, truth = anchors
    position = _position(len(where), level)
    if position > len(where):
        return None
    centre = untuned.values(anchors)
    errors = np.sort(np.abs(truth - centre[where]))
    # Errors of anchors that tuned may all be 0; the unit only places the grid.
    size = float(np.abs(centre).max()) + float(np.abs(truth).max())
    steps = max(float(errors[position - 1]), 1e-9 * size, 1e-300) * _STEPS
    ends = np.empty((2, len(centre)))
    each = max(1, _AT_ONCE // (len(where) * len(steps)))
    for start in range(0, len(centre), each):
        here = slice(start, start + each)
        kept = _tester(untuned, anchors, here, position)
        for side, sign in enumerate((-1.0, 1.0)):
            ends[side, here] = centre[here] + sign * _outermost(kept, centre[here], sign, steps)
    return (ends[0], ends[1]) if np.isfinite(ends).all() else None


def _tester(
    untuned: Untuned, anchors: Anchors, here: slice, position: int
) -> Callable[[FloatArray], BoolArray]:
    """Return what tells which values (a row for each item) are kept."""
    where, truth = anchors

    def joined(known: FloatArray, own: FloatArray, shape: tuple[int, ...]) -> FloatArray:
        every = np.broadcast_to(known, (*shape, len(where)))
        return np.concatenate([every, np.broadcast_to(own, shape)[..., None]], axis=-1)

    def kept(values: FloatArray) -> BoolArray:
        base, residual = (
            None if each is None else joined(each[where], each[here, None], values.shape)
            for each in (untuned.base, untuned.residual)
        )
        assert base is not None  # noqa: S101  # it always is there
        told = joined(truth, values, values.shape)
        found = tune(base, residual, told, untuned.least)
        column = Tuned(*(part[..., None] for part in vars(found).values()))
        errors = np.abs(told - column(base, 0.0 if residual is None else residual))
        return np.asarray((errors[..., :-1] < errors[..., -1:]).sum(axis=-1) < position)

    return kept


def _outermost(
    kept: Callable[[FloatArray], BoolArray], centre: FloatArray, sign: float, steps: FloatArray
) -> FloatArray:
    """Return how far out the last value that is kept may lie, rounded outwards."""
    inside = kept(centre[:, None] + sign * steps)
    last = np.where(inside.any(axis=1), len(steps) - 1 - inside[:, ::-1].argmax(axis=1), 0)
    low, high = steps[last], steps[np.minimum(last + 1, len(steps) - 1)]
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        within = kept((centre + sign * middle)[:, None])[:, 0]
        low, high = np.where(within, middle, low), np.where(within, high, middle)
    return np.where(inside[:, -1], np.inf, high)
