"""Estimate the spread of the scores from the data.

s_i ~ N(0, σ²) and log σ ~ N(0, 1), σ in units of the default spread: next to nothing where ten
items were told apart; where answers never clash, or tell nothing, it keeps σ from running away.
"""

from __future__ import annotations

from math import exp, log

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, dot, sums

LOG_SD = 1.0
"""Standard deviation of log σ beforehand: spreads of a third and of three times the default are
within reach of five items."""
_LARGEST_STEP = 3.0
"""Factor by which σ² moves at most in a round."""
_LITTLE = 0.1
"""Share of the scores that the data must determine for MacKay's update, which is fast but wrong
where they determine next to nothing; below, the end of EM's, each of which goes nowhere."""
_HALVINGS = 30
"""Of the interval in which EM's updates end: more than its rounding."""
_SMALLEST, _LARGEST = 1e-3, 1e3  # of the usual spread: beyond, rounding decides


def next_sd(
    sigma: float, scores: FloatArray, variances: FloatArray, free: int, unit: float
) -> float:
    """Return a better estimate of the spread.

    Parameters
    ----------
    sigma
        The spread so far.
    scores, variances
        Posterior means under it, and their variances.
    free
        Scores less connected components, whose means are conventions.
    unit
        The default spread.

    Examples
    --------
    Scores that are known exactly have the spread that they show:

    >>> found, scores = 1.0, 2.0 * np.random.default_rng(0).standard_normal(10_000)
    >>> for _ in range(9):
    ...     found = next_sd(found, scores, np.zeros(10_000), 9_999, 1.0)
    >>> bool(abs(found / scores.std() - 1.0) < 1e-3)
    True
    """
    square, at_most = dot(scores, scores), free + log(sigma / unit) / LOG_SD**2
    degrees_of_freedom = at_most - float(variances.sum()) / sigma**2
    if degrees_of_freedom <= _LITTLE * free:
        return within(_end_of_em(sigma, scores, variances, free, unit), unit)
    limits = sigma**2 / _LARGEST_STEP, sigma**2 * _LARGEST_STEP
    return within(float(np.sqrt(np.clip(square / degrees_of_freedom, *limits))), unit)


def _end_of_em(
    sigma: float, scores: FloatArray, variances: FloatArray, free: int, unit: float
) -> float:
    """Return where the updates of expectation and maximisation end, within a longest step.

    Each item's judgments are taken to say the same of it whatever the spread is.
    """
    told = np.maximum(1.0 / variances - sigma**-2, 0.0)

    def rises(new: float) -> bool:
        """Whether an update at this spread leads to a larger one."""
        under = 1.0 / (told + new**-2)
        moments = dot(scores, (under / variances) ** 2 * scores) + float(under.sum())
        return moments > new**2 * max(free + log(new / unit) / LOG_SD**2, 0.1 * free)

    upwards = rises(sigma)
    low, high = 0.0, 0.5 * log(_LARGEST_STEP)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if rises(sigma * exp(middle if upwards else -middle)) == upwards:
            low = middle
        else:
            high = middle
    return sigma * exp(low if upwards else -low)


def within(sigma: float, unit: float) -> float:
    """Keep a spread within what can be computed."""
    return min(max(sigma, _SMALLEST * unit), _LARGEST * unit)


def about_mean(covariance: FloatArray, *, overwrite: bool = False) -> FloatArray:
    """Return the covariance of scores about the mean of all, in place where it may be overwritten.

    Examples
    --------
    >>> about_mean(np.eye(2))
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    mean = covariance.mean(axis=0)
    found = covariance if overwrite else np.empty_like(covariance)
    np.subtract(covariance, (mean - mean.mean())[:, None], out=found)
    found -= mean
    return found


def centred(covariance: FloatArray, component: IntArray) -> FloatArray:
    """Return the covariance of scores about the mean of their connected component."""
    count = np.bincount(component).astype(np.float64)
    pieces = len(count)
    n = len(component)
    if pieces == 1:
        return about_mean(covariance)
    rows = np.zeros((pieces, n))
    np.add.at(rows, component, covariance)
    rows /= count[:, None]
    both = np.stack([sums(component, row, pieces) for row in rows]) / count
    return np.asarray(
        covariance - rows[component] - rows[component].T + both[np.ix_(component, component)]
    )
