r"""How the model's scores relate to the consensus: what the data identify, and what they do not.

    model = a + λ·consensus + d,    Var(d) = crowd + model noise

λ and the sum are identified; how it divides between annotators who are wrong together (σ̃², in the
model's units) and the model's own error (σ_e²) is not, unless a standard deviation of the model,
anchors, or a second model with independent errors is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.aggregation.uncertainty import Covariance

_LEAST_SHARE = 0.05  # of the variance: 0 would take one source to be free of error
_SURE = 2.0  # standard errors of the slope: of less the second model says nothing


@dataclass(frozen=True)
class Moments:
    """Slope and variances, in the model's units.

    ``residual`` is Var(d), a twentieth of ``total`` at least; ``crowd`` and ``noise`` are the parts
    it was divided into, and ``known`` says by what (None: all of it counts as the model's noise).
    A stated ``noise`` is as stated, and may be more than the estimate of the whole.
    """

    slope: float
    ranking: float
    """λ²·tr(C)/n: what the uncertainty of the consensus is worth in the model's units, squared."""
    residual: float
    crowd: float
    noise: float
    known: str | None
    total: float = 0.0
    """Mean square of what is left of the model's scores, the ranking's uncertainty included."""
    degrees_of_freedom: int = 1

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
        from scipy.special import chdtri

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

    Examples
    --------
    >>> x = np.arange(6.0)
    >>> found = moments(2.0 * x + np.array([1, -1, 0, 0, -1, 1]), x, None)
    >>> round(found.slope, 6), found.residual == found.noise
    (2.0, True)
    """
    n = len(model)
    slope, left = _regressed(model, consensus)
    wide = 0.0 if covariance is None else float(covariance.variances.mean())
    degrees_of_freedom = max(n - 2, 1)
    total = float(left @ left) / degrees_of_freedom
    residual = max(total - slope**2 * wide, _LEAST_SHARE * total)
    crowd, noise, known = 0.0, residual, None
    # What is left over is a difference of estimates: it is shrunk by as much as may be chance.
    noise_variance = (residual + slope**2 * wide) ** 2 / degrees_of_freedom
    if model_variance is not None:
        # A stated sd is taken at its word: what is left over is the crowd's.
        crowd, known = _shrunk(residual - model_variance, noise_variance), "model sd"
        noise = model_variance
    elif second is not None:
        both = np.isfinite(second)
        other_slope, other_left = _regressed(second[both], consensus[both])
        mine = _regressed(model[both], consensus[both])[1]
        shared = float(mine @ other_left) / max(int(both.sum()) - 2, 1)
        # On another scale the second model's slope tells how much of a unit is one of ours.
        scatter = float(np.square(consensus[both] - consensus[both].mean()).sum())
        se = sqrt(float(other_left @ other_left) / max(int(both.sum()) - 2, 1) / (scatter or 1.0))
        if other_slope <= _SURE * se:
            # A second model that knows nothing of the items tells nothing of the first.
            return Moments(
                slope, slope**2 * wide, residual, 0.0, residual, None, total, degrees_of_freedom
            )
        common = (shared - slope * other_slope * wide) * slope / other_slope
        crowd = min(_shrunk(common, 0.5 * noise_variance), (1.0 - _LEAST_SHARE) * residual)
        noise, known = residual - crowd, "second model"
    return Moments(slope, slope**2 * wide, residual, crowd, noise, known, total, degrees_of_freedom)


def _shrunk(difference: float, noise_variance: float) -> float:
    if difference <= 0.0:
        return 0.0
    return difference * max(0.0, 1.0 - noise_variance / difference**2)


def _regressed(y: FloatArray, x: FloatArray) -> tuple[float, FloatArray]:
    """Return the slope of y on x, never below 0, and what is left of y."""
    centred, level = x - x.mean(), y - y.mean()
    scatter = float(centred @ centred)
    slope = max(0.0, float(centred @ level) / scatter) if scatter > 0.0 else 0.0
    return slope, np.asarray(level - slope * centred)
