r"""Full conformal intervals: every anchor both tunes the scores and measures them.

An item's truth is tried at many values. At each, the item joins the anchors, the scores are tuned
to all of them, and the value is kept where the item's error is not among the largest. As the fit
treats all alike, the truth of an item exchangeable with the anchors is kept with probability
``level`` at least, whatever the distribution and however good the fit. Dividing ten anchors into
some that tune and others that measure leaves too few of both.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray
from aggcal.calibration.anchors import Anchors
from aggcal.calibration.tuning import Untuned, tune

MOST_FITTED = 400_000
"""Items times anchors up to which intervals are made so, a few seconds; with more of them, anchors
are divided, which costs little where anchors are many."""

_NEAR, _NEAR_STEPS = 4.0, 32
_FAR, _FAR_STEPS = 1e4, 24
"""The grid of values, in units of the anchors' own errors: fine near the score, and then wider by a
half each. An interval that reaches its end counts as endless."""

_HALVINGS = 8
"""How often the last step outwards is halved: what is left, a part of it is 1/2,000 of the unit."""

_AT_ONCE = 2_000_000
"""Numbers that are fitted at once, 16 MB each."""

_ROUNDING = 1e-9
"""Added where a quantile's position is rounded up, so that a whole number stays one."""


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
    position = ceil(level * (len(where) + 1) - _ROUNDING)
    if position > len(where):
        return None
    centre = untuned.values(anchors)
    errors = np.sort(np.abs(truth - centre[where]))
    # Errors of anchors that tuned may all be 0; the unit only places the grid.
    size = float(np.abs(centre).max()) + float(np.abs(truth).max())
    unit = max(float(errors[position - 1]), 1e-9 * size, 1e-300)
    near = np.linspace(0.0, _NEAR, _NEAR_STEPS + 1)
    far = np.geomspace(_NEAR, _FAR, _FAR_STEPS + 1)[1:]
    steps = unit * np.concatenate([near, far])
    ends = np.empty((2, len(centre)))
    each = max(1, _AT_ONCE // (len(where) * len(steps)))
    for start in range(0, len(centre), each):
        here = slice(start, start + each)
        kept = _tester(untuned, anchors, here, position)
        for side, sign in enumerate((-1.0, 1.0)):
            ends[side, here] = centre[here] + sign * _outermost(kept, centre[here], sign, steps)
    return None if not np.isfinite(ends).all() else (ends[0], ends[1])


def _tester(
    untuned: Untuned, anchors: Anchors, here: slice, position: int
) -> Callable[[FloatArray], BoolArray]:
    """Return what tells which values (a row for each item) are kept."""
    where, truth = anchors

    def joined(feature: FloatArray, columns: int) -> FloatArray:
        own = np.broadcast_to(feature[here][:, None, None], (len(feature[here]), columns, 1))
        known = np.broadcast_to(feature[where], (*own.shape[:2], len(where)))
        return np.concatenate([known, own], axis=-1)

    def kept(values: FloatArray) -> BoolArray:
        columns = values.shape[1]
        base = joined(untuned.base, columns)
        known = np.broadcast_to(truth, (*values.shape, len(truth)))
        told = np.concatenate([known, values[..., None]], axis=-1)
        residual = None if untuned.residual is None else joined(untuned.residual, columns)
        found = tune(base, residual, told, untuned.least)
        errors = np.abs(told - found.columns(base, 0.0 if residual is None else residual))
        smaller = (errors[..., :-1] < errors[..., -1:]).sum(axis=-1)
        return np.asarray(smaller < position)

    return kept


def _outermost(
    kept: Callable[[FloatArray], BoolArray], centre: FloatArray, sign: float, steps: FloatArray
) -> FloatArray:
    """Return how far out the last value that is kept may lie, rounded outwards."""
    inside = kept(centre[:, None] + sign * steps)
    last = np.where(inside.any(axis=1), len(steps) - 1 - inside[:, ::-1].argmax(axis=1), 0)
    endless = inside[:, -1]
    low, high = steps[last], steps[np.minimum(last + 1, len(steps) - 1)]
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        within = kept((centre + sign * middle)[:, None])[:, 0]
        low, high = np.where(within, middle, low), np.where(within, high, middle)
    return np.where(endless, np.inf, high)
