"""What telling annotators apart is worth: how much they differ, and how two fits compare."""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.unmasked import median
from aggcal.aggregation.uncertainty.summary import Uncertainty
from aggcal.aggregation.uncertainty.t_distribution import quantile

_FLAT = 1e-9  # share of the largest eigenvalue below which a direction is not identified
_SURE = 0.01
"""Chance of claiming that annotators who are all alike differ."""


def known_sd(reliabilities: FloatArray, known: Uncertainty) -> float | None:
    """Return how much annotators differ, by the intervals of their reliabilities if there are any.

    Examples
    --------
    >>> import aggcal
    >>> judgments = aggcal.read_judgments([("ann", "a", "b"), ("bob", "a", "b")])
    >>> consensus = aggcal.aggregate(judgments, warn=False)
    >>> known_sd(consensus.reliabilities, consensus.uncertainty) is None
    True
    """
    low, high = known.reliability_low, known.reliability_high
    if low is None or high is None:
        return None
    return sd_beyond_noise(reliabilities, low, high, known.level, known.degrees_of_freedom)


def sd_beyond_noise(
    reliabilities: FloatArray,
    low: FloatArray,
    high: FloatArray,
    level: float,
    degrees_of_freedom: float,
) -> float | None:
    """Return the coefficient of variation of the true reliabilities, as far as one can tell.

    Estimates differ even where annotators do not. Their sampling variance, from the intervals,
    is taken off; None if what is left may be chance.

    Parameters
    ----------
    reliabilities
        The estimates.
    low, high, level, degrees_of_freedom
        Their intervals, the probability that those cover, and their degrees of freedom.

    Examples
    --------
    >>> close, far = np.array([0.9, 1.0, 1.1]), np.array([0.2, 1.0, 1.8])
    >>> sd_beyond_noise(close, close - 0.4, close + 0.4, 0.95, np.inf) is None
    True
    >>> round(sd_beyond_noise(far, far - 0.4, far + 0.4, 0.95, np.inf), 2)
    0.77
    """
    from aggcal._core.compiled_scipy import chdtrc

    mean = float(reliabilities.mean())
    error = (high - low) / (2.0 * quantile(0.5 * (1.0 + level), degrees_of_freedom))
    known = np.isfinite(error) & (error > 0.0)
    if mean <= 0.0 or known.sum() < 2:  # noqa: PLR2004  # one does not differ
        return None
    weight = np.square(error[known]) ** -1
    gamma = reliabilities[known]
    middle = float(weight @ gamma / weight.sum())
    beyond = float(weight @ np.square(gamma - middle))
    if float(chdtrc(len(gamma) - 1, beyond)) > _SURE:
        return None
    left = float(np.var(gamma, ddof=1) - np.mean(1.0 / weight))
    return left**0.5 / mean if left > 0.0 else None


def relative_variances(
    scores: FloatArray, covariance: FloatArray, other_scores: FloatArray, other: FloatArray
) -> dict[str, float]:
    """Compare another fit's variances with this one's, direction by direction.

    The scales of the two differ, so the other is rescaled to this one, and the directions of
    location and scale, which are conventions, are left out.

    Examples
    --------
    >>> scores, eye = np.array([-1.0, 0.0, 0.3, 0.7]), np.eye(4)
    >>> round(relative_variances(scores, eye, scores, 2.0 * eye)["median_ratio"], 6)
    2.0
    """
    size = float(other_scores @ other_scores)
    stretch = float(scores @ other_scores) / size if size > 0.0 else 1.0
    _, sizes, directions = np.linalg.svd(np.vstack([np.ones(len(scores)), scores]))
    fixed = int(np.sum(sizes > sizes.max() * np.finfo(np.float64).eps * max(2, len(scores))))
    free = directions[fixed:].T
    if free.shape[1] == 0:
        return {}
    mine, theirs = (free.T @ part @ free for part in (covariance, stretch**2 * other))
    # Items of different components have no common location: more directions than one are free.
    values, vectors = np.linalg.eigh(mine)
    known = values > max(_FLAT * float(values[-1]), 0.0)
    if not known.any():
        return {}
    # In the directions and units in which mine is 1, which rounding cannot make indefinite.
    unit = vectors[:, known] / np.sqrt(values[known])
    ratios = np.linalg.eigvalsh(unit.T @ theirs @ unit)
    return {
        "median_ratio": median(ratios),
        "share_worse": float(np.mean(ratios > 1.0)),
    }
