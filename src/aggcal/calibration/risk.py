r"""The error of the projection as Stein's method estimates it, for a model of known sd.

For normal, independent errors e of known variance and any order found without them, the squared
error of the projection, from what the model would say without noise, is estimated without bias;
the estimate has a standard error, and may fall below 0 where the error itself cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray

ONE_SIDED = 1.645
"""Standard errors of a one-sided 95% limit."""


@dataclass(frozen=True)
class Risk:
    """Mean squared errors: of the projection, and how much larger than the model's own.

    ``at_most`` is a 95% limit of the first (None where even that falls below 0: too small to tell).
    """

    estimate: float
    at_most: float | None
    excess: float
    excess_se: float

    @property
    def hurts(self) -> bool:
        """Whether the projection's error is clearly the larger one."""
        return self.excess > ONE_SIDED * self.excess_se


def projection_risk(
    model: FloatArray,
    projected: FloatArray,
    block: IntArray,
    weight: FloatArray,
    variances: FloatArray,
) -> Risk:
    """Estimate the error of a projection.

    Parameters
    ----------
    model, projected, block, weight
        The scores, their projection, its blocks and the weights that it was made with.
    variances
        Of the model's errors.

    Examples
    --------
    A model without a trace of noise, pooled: nothing was gained, and everything lost.

    >>> y = np.arange(9.0)
    >>> found = projection_risk(y, np.full(9, 4.0), np.ones(9, int), np.ones(9), np.full(9, 0.01))
    >>> round(found.estimate, 2), found.hurts
    (6.66, True)
    """
    n, residual = len(model), model - projected
    share = weight / np.bincount(block, weight)[block]
    size, own = float(residual @ residual), float(variances.sum())
    pooled = float(variances @ share)
    risk = size - own + 2.0 * pooled
    # An unbiased estimate of the estimate's own squared error; where the truth follows the order it
    # is 2 Σ σ⁴, and it can be less by chance only.
    fourth = np.square(variances)
    steady = max(
        4.0 * float(variances @ np.square(residual)) + 4.0 * float(fourth @ share)
        - 2.0 * float(fourth.sum()),
        2.0 * float(fourth.sum()),
    )  # fmt: skip
    together = np.square(np.bincount(block, variances * share)).sum()
    variance = float(variances @ np.square(residual) + fourth @ (1.0 - 2.0 * share) + together)
    limit = (risk + ONE_SIDED * sqrt(steady)) / n
    return Risk(
        max(0.0, risk / n),
        limit if limit > 0.0 else None,
        (size - 2.0 * (own - pooled)) / n,
        2.0 * sqrt(max(0.0, variance)) / n,
    )
