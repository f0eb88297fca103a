r"""How the model's scores relate to the consensus: what the data identify, and what they do not.

    model = a + λ·consensus + d,    Var(d) = crowd + model noise

λ and the sum are identified; how it divides between annotators who are wrong together (σ̃², in the
model's units) and the model's own error (σ_e²) is not, unless a standard deviation of the model,
anchors, or a second model with independent errors is given. Without any of these a small share is
taken to be the annotators': as much as costs little if they are exact, and helps if they are not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtri

from aggcal._core.arrays import FloatArray, IntArray
from aggcal.aggregation.covariance import Covariance
from aggcal.calibration.within import deviations, n_levels, telling

if TYPE_CHECKING:
    from aggcal.calibration.shapes import MixedBase

LEAST_SHARE = 0.05  # of the variance: 0 would take one source to be free of error
SURE = 2.0  # standard errors of the slope: of less the second model says nothing

_TOLERATED = 0.08
"""By how much of itself the hedge may raise the expected error of the fused scores if the
annotators are exact: more helps more where they are wrong together. Simulated costs were up to half
as large again."""

_FITTED = 2.5
"""Degrees of freedom that the base costs, between a line's 2 and a curve's: they are a part of the
expected error."""

_STRANGERS, _RELATED, _STRANGE_SHARE = 0.06, 0.12, 0.12
"""Shares of the model's variance that the exact consensus explains. Below the first, either the
model's errors are four times the spread of what annotators see, or these miss much of the truth; as
neither is likelier, an eighth of the residual counts as theirs. From the second on, only what
_TOLERATED allows does. A larger share gains where annotators miss more (on Reading Level up to a
fifth) and costs more where such a poor model stands beside an exact crowd."""

_FALLING = 1.0
"""Standard errors that the model must fall with the consensus by for all of it to be kept; from
there up to none, less is. A ramp from one above 0 down to 0 doubled the error of a poor model
beside an exact crowd, which falls by chance now and then."""


MEDIAN_SQUARE, LEEWAY = 0.4549, 6.0
"""The median of the square of a normal number, and by how many parts of 1/√n its estimate may be
too low: with less, even errors of few items look uneven, and the model is kept for no reason (now
in 6% of studies of 14 items and 2% of 60). In 30 studies of 60 items whose log truth had an sd of
2.5, the median error of fused scores fell from 3.2 to 1.0 times the model's; where a model has
gross errors in a twentieth of its scores it rose from .16 to .40 times the model's."""


_LEAST_FREE = 0.25
"""The least share of the items that counts as free, however much of them a curve used."""

_ROUNDS, _SETTLED, _TINY = 50, 1e-6, 1e-6
"""Rounds of the weighted moments at most, the change that ends them, and how far one round goes
down at most."""


@dataclass(frozen=True)
class Moments:
    """Slope and variances, in the model's units.

    ``residual`` is Var(d), a twentieth of ``total`` at least; ``crowd`` and ``noise`` are the parts
    it was divided into, and ``known`` says by what (None: by the hedge, whose share is ``hedged``).
    A stated ``noise`` is as stated, and may be more than the estimate of the whole.
    """

    slope: float
    ranking: float
    """What the uncertainty of the consensus is worth in the model's units, squared: λ²·tr(C)/n, or
    where it is not a line, that of the items that tell of the residual."""
    residual: float
    crowd: float
    noise: float
    known: str | None
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
        largest = (
            self.total * self.degrees_of_freedom / float(chdtri(self.degrees_of_freedom, 0.95))
        )
        left = largest - self.ranking - other
        return left if left > 0.0 else None


def moments(
    model: FloatArray,
    consensus: FloatArray,
    covariance: Covariance | None,
    *,
    model_variance: float | None = None,
    second: FloatArray | None = None,
    base: MixedBase | None = None,
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
    second
        Scores of a second model whose errors are independent of the first's; NaN where it has
        none.
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
    variances = np.zeros(n) if covariance is None else covariance.variances
    if base is not None and base.slope > 0.0:
        expected, used = base.fitted(consensus), base.used
        explained = np.square(deviations(expected, component)).mean()
        line = Line(base.slope, model - expected, float(explained), line.rise)
        variances = np.square(base.rise(consensus)) * variances
        consensus = base.straightened(consensus)
    slope, left = line.slope, line.left
    wide = float(variances.sum()) / (n - levels)
    free = max(n - levels - used, _LEAST_FREE * n, 1.0)
    total = float(left @ left) / free
    if component is None:
        residual, ranking = _divided(np.square(left) * (n / free), slope**2 * variances)
    else:
        told, wider = telling(component)
        if not told.any():
            return _untold(model_variance)
        single, share = wider[told], (n - levels - 1) / free
        left = left[told] * np.sqrt(single)
        line = replace(line, left=left)
        residual, ranking = _divided(np.square(left) * share, slope**2 * single * variances[told])
    degrees_of_freedom = max(int(n - levels - used), 1)
    alone = Moments(slope, ranking, residual, 0.0, residual, None, total, degrees_of_freedom)
    # What is left over is a difference of estimates: it is shrunk by as much as may be chance.
    noise_variance = (residual + ranking) ** 2 / degrees_of_freedom
    if model_variance is not None:
        # A stated sd is taken at its word: what is left over is the crowd's.
        crowd = shrunk(residual - model_variance, noise_variance)
        return replace(alone, crowd=crowd, noise=model_variance, known="model sd")
    if second is not None:
        common = _common(line, (model, consensus, second), wide, component)
        if common is not None:
            most = (1.0 - LEAST_SHARE) * residual
            crowd = min(shrunk(common, 0.5 * noise_variance), most)
            return replace(alone, crowd=crowd, noise=residual - crowd, known="second model")
    share = _hedge(alone, line, n, levels)
    crowd = share * residual
    return replace(alone, crowd=crowd, noise=residual - crowd, hedged=share)


def _untold(model_variance: float | None) -> Moments:
    """Return what single items tell: nothing."""
    stated = model_variance is not None
    noise = model_variance if model_variance is not None else 0.0
    return Moments(0.0, 0.0, 0.0, 0.0, noise, "model sd" if stated else None, hedged=None)


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
        before, least = noise, LEAST_SHARE * float(weight @ squares)
        noise = max(float(weight @ (squares - ranking)), least, _TINY * before)
        if abs(noise - before) <= _SETTLED * before:
            break
    weight = noise / (noise + ranking)
    return noise, float(weight @ ranking / weight.sum())


def _common(
    line: Line,
    scores: tuple[FloatArray, FloatArray, FloatArray],
    wide: float,
    component: IntArray | None,
) -> float | None:
    """Return the variance that two models share beyond the consensus, in the first's units.

    None where the second does not clearly rise with the consensus: a model that knows nothing of
    the items tells nothing of the first.
    """
    model, consensus, second = scores
    both = np.isfinite(second)
    part = None if component is None else component[both]
    other = regressed(second[both], consensus[both], part)
    if other.rise <= SURE:
        return None
    mine = regressed(model[both], consensus[both], part).left
    shared = float(mine @ other.left) / max(int(both.sum()) - 2 - n_levels(part), 1)
    # On another scale the second model's slope tells how much of a unit is one of ours.
    return (shared - line.slope * other.slope * wide) * line.slope / other.slope


def _hedge(found: Moments, line: Line, n: int, levels: int) -> float:
    """Return the share of the residual that counts as the annotators' where nothing tells it.

    If they are exact, a share h adds h² of the residual to the expected error of the fused scores,
    which is what the uncertainty of the ranking leaves, and what fitting the base costs, the levels
    of components among it.
    """
    if found.residual <= 0.0:
        return 0.0
    ranking = found.ranking * found.residual / (found.ranking + found.residual)
    expected = ranking * (1.0 - levels / n) + (_FITTED + levels) / n * found.residual
    share = sqrt(_TOLERATED * expected / found.residual)
    signal = max(line.explained - found.ranking, 0.0)
    related = signal / (signal + found.residual)
    strange = min(max((_RELATED - related) / (_RELATED - _STRANGERS), 0.0), 1.0)
    share += strange * max(_STRANGE_SHARE - share, 0.0)
    share = max(share, _outlying(line.left))
    return min(max(share, -line.rise / _FALLING), 1.0)


def _outlying(left: FloatArray) -> float:
    """Return the share of the squares that a few items have beyond what even errors explain.

    Errors of one size do not make it: where the truth rises far more steeply at the top than any
    curve that is fitted, the model is right about those items, and not the curve.
    """
    squares = np.square(left - np.median(left))
    even = np.median(squares) / MEDIAN_SQUARE * (1.0 + LEEWAY / sqrt(len(left)))
    mean = float(squares.mean())
    return 1.0 - even / mean if mean > even else 0.0


def shrunk(difference: float, noise_variance: float) -> float:
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
