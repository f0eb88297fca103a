r"""How the model's scores relate to the consensus: what the data identify, and what they do not.

    model = base(consensus) + d,    Var(d) = crowd + model noise

The base and the sum are identified; how it divides between annotators who are wrong together and
the model's own error is not, unless a standard deviation of the model, anchors, or further models
with independent errors are given. Without any of these a small share is taken to be the
annotators': as much as costs little if they are exact, and helps if they are not.

Several models are pooled first: each sees the truth, which is what the annotators agree on and what
they have wrong together. The slopes on the consensus bring the models to one unit; what their
residuals have in common is the annotators'; what each has alone is its own error, and its weight is
one over its variance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import inf, sqrt

import numpy as np
from scipy.special import chdtri

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.text import brief
from aggcal.aggregation.covariance import Covariance
from aggcal.calibration.components import deviations, n_levels, telling
from aggcal.calibration.expected import LEAST_FREE, Expected

_LEAST_SHARE = 0.05  # of a variance: 0 would take one source to be free of error
_SURE = 2.0  # standard errors of the slope: of less a further model says nothing
_FEWEST_SHARED = 5  # items that two models must share for their residuals to be compared

_TOLERATED = 0.08
"""By how much of itself the hedge may raise the expected error of the fused scores if the
annotators are exact: more helps more where they are wrong together."""

_FITTED = 2.5
"""Degrees of freedom that the base costs, between a line's 2 and a curve's."""

_STRANGERS, _RELATED, _STRANGE_SHARE = 0.06, 0.12, 0.12
"""Shares of the model's variance that the exact consensus explains. Below the first, either the
model's errors are four times the spread of what annotators see, or these miss much of the truth: an
eighth of the residual counts as theirs, which takes a tenth off the error on Reading Level. From
the second on, only what _TOLERATED allows does."""

_MEDIAN_SQUARE, _LEEWAY = 0.4549, 6.0
"""The median of the square of a normal number, and by how many parts of 1/√n its estimate may be
too low: with less, even errors of few items look uneven."""

_ROUNDS = 30
"""Rounds of the weighted moments: more change nothing."""


@dataclass(frozen=True)
class Moments:
    """Slope and variances, in the model's units.

    ``residual`` is Var(d), a twentieth of ``total`` at least; ``crowd`` and ``noise`` are the parts
    it was divided into, and ``known`` says by what (None: by the hedge, whose share is ``hedged``).
    A stated ``noise`` is as stated, and may be more than the estimate of the whole.
    """

    slope: float
    ranking: float
    """What the uncertainty of the consensus is worth in the model's units, squared, to the items
    that tell of the residual."""
    residual: float
    crowd: float
    noise: float
    known: str | None = None
    total: float = 0.0
    """Mean square of what is left of the model's scores, the ranking's uncertainty included."""
    degrees_of_freedom: int = 1
    hedged: float | None = None

    @property
    def explained(self) -> bool:
        """Whether the ranking's uncertainty alone explains what model and consensus differ by."""
        return self.residual > self.total - self.ranking

    def at_most(self, other: float = 0.0) -> float | None:
        """Return a 95% limit of what is left beyond the ranking's uncertainty and something else.

        Examples
        --------
        >>> found = moments(np.array([1.0, -1.0, 0.0, 0.0, -1.0, 1.0]), np.arange(6.0), None)
        >>> round(found.at_most(), 2), found.at_most(9.0)
        (5.63, None)
        """
        freedom = self.degrees_of_freedom
        left = self.total * freedom / float(chdtri(freedom, 0.95)) - self.ranking - other
        return left if left > 0.0 else None


def moments(
    model: FloatArray,
    consensus: FloatArray,
    covariance: Covariance | None,
    *,
    model_variance: float | None = None,
    base: Expected | None = None,
    component: IntArray | None = None,
) -> Moments:
    """Estimate by moments, which are steadier here than likelihoods.

    Parameters
    ----------
    model, consensus
        The two scores of each item.
    covariance
        Of the consensus; None counts as exact.
    model_variance
        The model's mean squared error, where it is known.
    base
        What the model's score is expected to be at each consensus score; None for a line.
    component
        Connected component of each item, None where there is one: only deviations from the means of
        components tell how model and consensus relate.

    Examples
    --------
    >>> x = np.arange(6.0)
    >>> found = moments(2.0 * x + np.array([1, -1, 0, 0, -1, 1]), x, None)
    >>> round(found.slope, 6), round(found.crowd / found.residual, 2) == round(found.hedged, 2)
    (2.0, True)
    """
    n, levels = len(model), n_levels(component)
    line, used = regressed(model, consensus, component), 2.0
    left, slope, rise = line.left, line.slope, np.full(n, line.slope)
    if base is not None and base.steepness.any():
        left, used, rise = model - base.fitted(consensus), base.used, base.rise(consensus)
        slope = float(rise.mean())
        about = deviations(base.fitted(consensus), component)
        line = replace(line, explained=float(np.square(about).mean()))
    own = np.zeros(n) if covariance is None else np.square(rise) * covariance.variances
    free = max(n - levels - used, LEAST_FREE * n, 1.0)
    total, freedom = float(left @ left) / free, max(int(n - levels - used), 1)
    told, wider = telling(component, n)
    if not told.any():
        noise = model_variance or 0.0
        return Moments(0.0, 0.0, 0.0, 0.0, noise, None if model_variance is None else "model sd")
    left, own = left[told] * np.sqrt(wider[told]), own[told] * wider[told]
    share = n / free if component is None else (n - levels - 1) / free
    residual, ranking = _divided(np.square(left) * share, own)
    found = Moments(slope, ranking, residual, 0.0, residual, None, total, freedom)
    if model_variance is not None:
        # A stated sd is taken at its word: what is left over is the crowd's.
        crowd = _shrunk(residual - model_variance, (residual + ranking) ** 2 / freedom)
        return replace(found, crowd=crowd, noise=model_variance, known="model sd")
    hedge = _hedge(found, line, n, levels)
    hedge = min(max(hedge, _outlying(left), -line.rise), 1.0) if residual > 0.0 else 0.0
    crowd = hedge * residual
    return replace(found, crowd=crowd, noise=residual - crowd, hedged=hedge)


def _divided(squares: FloatArray, ranking: FloatArray) -> tuple[float, float]:
    """Return what of squared residuals is not the ranking's, and what of them is.

    Where the scale is steep the ranking of a few items counts for more than all noise: a plain mean
    would leave nothing for the noise of the others. Items are weighted by how much they tell of it:
    s solves Σ (r² − q − s) / (s + q)² = 0, the likelihood's equation for normal residuals.
    """
    noise = float(squares.mean())
    if not noise > 0.0:
        return 0.0, float(ranking.mean())
    for _ in range(_ROUNDS):
        weight = np.square(noise / (noise + ranking))
        weight /= weight.sum()
        least = max(_LEAST_SHARE * float(weight @ squares), 1e-6 * noise)
        noise = max(float(weight @ (squares - ranking)), least)
    weight = noise / (noise + ranking)
    return noise, float(weight @ ranking / weight.sum())


def _hedge(found: Moments, line: Line, n: int, levels: int) -> float:
    """Return the share of the residual that counts as the annotators' where nothing tells it.

    If they are exact, a share h adds h² of the residual to the expected error of the fused scores,
    which is what the uncertainty of the ranking leaves, and what fitting the base costs, the levels
    of components among it.
    """
    residual = max(found.residual, 1e-300)
    ranking = found.ranking / (found.ranking + residual) * (1.0 - levels / n)
    share = sqrt(_TOLERATED * (ranking + (_FITTED + levels) / n))
    signal = max(line.explained - found.ranking, 0.0)
    related = signal / (signal + residual)
    strange = min(max((_RELATED - related) / (_RELATED - _STRANGERS), 0.0), 1.0)
    return share + strange * max(_STRANGE_SHARE - share, 0.0)


def _outlying(left: FloatArray) -> float:
    """Return the share of the squares that a few items have beyond what even errors explain.

    Errors of one size do not make it: where the truth rises far more steeply at the top than any
    curve that is fitted, the model is right about those items, and not the curve.
    """
    squares = np.square(left - np.median(left))
    even = np.median(squares) / _MEDIAN_SQUARE * (1.0 + _LEEWAY / sqrt(len(left)))
    mean = float(squares.mean())
    return 1.0 - float(even) / mean if mean > even else 0.0


def _shrunk(difference: float, noise_variance: float) -> float:
    """Return a difference of variances, less what chance may explain of it, and never below 0."""
    if difference <= 0.0:
        return 0.0
    return difference * max(0.0, 1.0 - noise_variance / difference**2)


@dataclass(frozen=True, eq=False)
class Line:
    """A regression on the consensus.

    Its slope, never below 0; what is left; the mean square that it explains; and by how many
    standard errors it rises.
    """

    slope: float
    left: FloatArray
    explained: float
    rise: float


def regressed(y: FloatArray, x: FloatArray, component: IntArray | None = None) -> Line:
    """Fit the line of y on x that does not fall, of one slope in all components."""
    centred, level = deviations(x, component), deviations(y, component)
    scatter = float(centred @ centred)
    own = float(centred @ level) / scatter if scatter > 0.0 else 0.0
    slope = max(0.0, own)
    left = np.asarray(level - slope * centred)
    error = float(left @ left) / max(len(x) - 2 - n_levels(component), 1)
    se = sqrt(error / scatter) if scatter > 0.0 else 0.0
    rise = own / se if se > 0.0 else inf if own > 0.0 else 0.0
    return Line(slope, left, slope**2 * scatter / len(x), rise)


# Several models -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pooled:
    """A mean of models in the units of the first.

    ``noise`` is the variance of its error for each item, ``crowd`` that of what annotators have
    wrong together, ``errors`` the variance of each model's own error in the units of the first (NaN
    where a model was not used, because it does not clearly rise with the consensus).
    """

    model: FloatArray
    noise: FloatArray
    crowd: float
    errors: FloatArray

    __repr__ = brief


def pool(
    models: tuple[FloatArray, ...],
    consensus: FloatArray,
    wide: float,
    first_variance: float | None = None,
    component: IntArray | None = None,
) -> Pooled | None:
    """Pool models; None where none of the further ones rises clearly with the consensus.

    Parameters
    ----------
    models
        The scores of each model, NaN where it has none; the first has all.
    consensus, wide
        The consensus, and the mean variance of its estimate.
    first_variance
        The variance of the first model's error, where it is known.
    component
        Connected component of each item; None where there is one.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> x, shared = random.standard_normal((2, 400))
    >>> first, second = (x + shared / 2 + sd * random.standard_normal(400) for sd in (2.0, 1.0))
    >>> found = pool((first, 100.0 + 10.0 * second), x, 0.0)
    >>> found.errors.round(0), float(found.noise[0]) < 1.0
    (array([4., 1.]), True)
    """
    left, values = np.full((2, len(models), len(consensus)), np.nan)
    own, used, slope = np.full(len(models), np.nan), [], 0.0
    for k, model in enumerate(models):
        both = np.isfinite(model)
        part = None if component is None else component[both]
        line = regressed(model[both], consensus[both], part)
        if k == 0:
            slope = line.slope
        elif line.rise <= _SURE:
            continue
        if slope <= 0.0:
            return None
        used.append(k)
        # In the units of the first, at the level of the items that both have.
        unit = slope / line.slope
        left[k, both] = line.left * unit
        values[k, both] = models[0][both].mean() + (model[both] - model[both].mean()) * unit
        own[k] = np.nansum(np.square(left[k])) / max(int(both.sum()) - 2 - n_levels(part), 1)
    ranking, shared, weights = slope**2 * wide, list[float](), list[float]()
    for j, k in combinations(used, 2):
        here = np.isfinite(left[j] * left[k])
        freedom = int(here.sum()) - 2
        freedom -= 0 if component is None else n_levels(component[here])
        if freedom + 2 >= _FEWEST_SHARED:
            common = float(left[j, here] @ left[k, here]) / freedom - ranking
            size = float(np.nanmean(np.square(left[j])) * np.nanmean(np.square(left[k])))
            shared.append(_shrunk(common, size / freedom))
            weights.append(freedom / max(size, 1e-300))
    if not shared:
        return None
    crowd = float(np.average(shared, weights=weights))
    errors = np.maximum(own - ranking - crowd, _LEAST_SHARE * own)
    if first_variance is not None:
        errors[0] = first_variance
    precision = np.where(np.isfinite(values), 1.0 / errors[:, None], 0.0)
    mean = (precision * np.nan_to_num(values)).sum(axis=0) / precision.sum(axis=0)
    return Pooled(mean, 1.0 / precision.sum(axis=0), crowd, errors)
