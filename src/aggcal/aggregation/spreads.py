r"""Standard deviations of what items, contexts and annotators differ in.

They are estimated as a fit goes on. Each function takes a posterior under the standard deviations
so far, and returns a better one: the end of updates of expectation and maximisation (EM), or
MacKay's, which goes to the same end in fewer steps,

    σ² ← (Σ x² + prior) / (degrees of freedom − Σ Var x / σ² + prior).
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, sqrt

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, dot, sums

LOG_SD = 1.0
"""Prior sd of log σ of the scores, σ over its default: spreads of a third and of three times the
default are within reach of five items; where answers never clash, it keeps σ from running away."""
FIRST_RELIABILITY_SD = 0.5
"""Sd of the reliabilities before anybody has judged: about what real studies show."""
RELIABILITY_PRIOR, PARAMETER_PRIOR = 10.0, 5.0
"""Annotators that the default sd of the reliabilities counts as, and of positions and the readiness
to tie. Without it the estimate is 0 in half of the studies with five judgments each, and intervals
of 90% cover 50% (measured)."""
REVERSED_PRIOR = (2.0, 20.0)
"""Beta prior of the share of reversed annotators: 1 in 20 where annotators have said little."""
LEAST_SD = 0.05
"""Smallest sd of an annotator's parameter or an effect: below it, nobody could see it."""
_LARGEST_SD = 3.0
"""Largest sd of an annotator's parameter."""
_LEAST_SCORE_SD, _LARGEST_SCORE_SD = 1e-3, 1e3
"""Of the default: beyond, rounding decides."""
_STEP = 3.0
"""Factor by which σ² moves at most in an update."""
_EFFECT_STEP, _WIDEST = 9.0, 1.0
"""The same of effects, which often go to 0, and the sd of the prior of their sd."""
_LITTLE = 0.1
"""Share of the scores that the data must determine for MacKay's update, which is fast but wrong
where they determine next to nothing; below, the end of EM's, each of which goes nowhere."""
_BISECTIONS = 50
_UNUSED = 0.5
"""Answers that a strength which nobody used counts as."""


def next_sd(
    sigma: float, scores: FloatArray, variances: FloatArray, free: int, default: float
) -> float:
    """Return a better estimate of the sd of the scores: s_i ~ N(0, σ²), log σ/default ~ N(0, 1).

    Parameters
    ----------
    sigma
        The sd so far.
    scores, variances
        Posterior means under it, and their variances.
    free
        Scores less connected components, whose means are conventions.
    default
        The default sd.

    Examples
    --------
    Scores that are known exactly have the sd that they show:

    >>> sd, scores = 1.0, 2.0 * np.random.default_rng(0).standard_normal(10_000)
    >>> for _ in range(9):
    ...     sd = next_sd(sd, scores, np.zeros(10_000), 9_999, 1.0)
    >>> bool(abs(sd / scores.std() - 1.0) < 1e-3)
    True
    """
    square, at_most = dot(scores, scores), free + log(sigma / default) / LOG_SD**2
    degrees_of_freedom = at_most - float(variances.sum()) / sigma**2
    if degrees_of_freedom <= _LITTLE * free:

        def count(new: float) -> float:
            return max(free + log(new / default) / LOG_SD**2, 0.1 * free)

        return within(_end_of_em(sigma, scores, variances, count, _STEP), default)
    limits = sigma**2 / _STEP, sigma**2 * _STEP
    return within(float(np.sqrt(np.clip(square / degrees_of_freedom, *limits))), default)


def _end_of_em(
    sd: float,
    values: FloatArray,
    variances: FloatArray,
    count: Callable[[float], float],
    step: float,
) -> float:
    """Return where the updates of expectation and maximisation end, within a longest step.

    An update is σ² ← Σ (x² + Var x) / count(σ), the number of values and what the prior of σ adds
    to it. The judgments are taken to say the same of each value whatever the sd is.
    """

    def rises(new: float) -> bool:
        """Whether an update at this sd leads to a larger one."""
        precision = 1.0 + variances * (new**-2 - sd**-2)
        precision = np.maximum(precision, variances * new**-2)  # over what it was
        moments = float((np.square(values / precision) + variances / precision).sum())
        return moments > new**2 * count(new)

    upwards = rises(sd)
    low, high = 0.0, 0.5 * log(step)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if rises(sd * exp(middle if upwards else -middle)) == upwards:
            low = middle
        else:
            high = middle
    return sd * exp(low if upwards else -low)


def within(sigma: float, default: float) -> float:
    """Keep the sd of scores within what can be computed."""
    return min(max(sigma, _LEAST_SCORE_SD * default), _LARGEST_SCORE_SD * default)


def effect_sd(sd: float, values: FloatArray, variances: FloatArray) -> float:
    """Return a better estimate of the sd of effects, which may be 0, under a half-normal prior.

    Parameters
    ----------
    sd
        So far.
    values, variances
        The posterior under it.
    """
    new = _end_of_em(
        sd, values, variances, lambda new: len(values) + new**2 / _WIDEST**2, _EFFECT_STEP
    )
    return max(new, LEAST_SD)


def annotator_sd(
    deviations: FloatArray, variances: FloatArray, sd: float, default: float, weight: float
) -> float:
    """Return a better estimate of the sd of an annotators' parameter.

    Parameters
    ----------
    deviations, variances
        Of the annotators from the prior mean, under the sd so far: posterior means and variances.
    sd
        That.
    default, weight
        The sd before anybody has judged, and how many annotators it counts as.
    """
    square, trace = dot(deviations, deviations), float(variances.sum())
    degrees_of_freedom = max(weight + len(deviations) - 1 - trace / sd**2, 0.5 * weight)
    new = sqrt((weight * default**2 + square) / degrees_of_freedom)
    low, high = sd / sqrt(_STEP), sd * sqrt(_STEP)
    return float(np.clip(new, max(low, LEAST_SD), min(high, _LARGEST_SD)))


def reversed_share(probabilities: FloatArray) -> float:
    """Return the share of annotators who answer the other way round, from how probably each does.

    Examples
    --------
    >>> round(reversed_share(np.zeros(0)), 3), round(reversed_share(np.ones(10)), 3)
    (0.05, 0.367)
    """
    a, b = REVERSED_PRIOR
    return float((probabilities.sum() + a - 1.0) / (len(probabilities) + a + b - 2.0))


def grade_weights(
    weights: tuple[float, ...], answered: FloatArray, expected: FloatArray
) -> tuple[float, ...]:
    """Return better weights of the strengths of answers, the first one 1.

    Each is multiplied by the number of such answers over what was expected.

    Examples
    --------
    >>> grade_weights((1.0, 1.0), np.array([10.0, 20.0]), np.array([15.0, 15.0]))[1]
    1.9523809523809523
    """
    ratio = (answered + _UNUSED) / (expected + _UNUSED)
    return tuple((np.array(weights) * ratio / ratio[0]).tolist())


def about_mean(covariance: FloatArray, *, overwrite: bool = False) -> FloatArray:
    """Return the covariance of scores about the mean of all, in place where it may be overwritten.

    Examples
    --------
    >>> about_mean(np.eye(2))
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    mean = covariance.mean(axis=0)
    centred = covariance if overwrite else np.empty_like(covariance)
    np.subtract(covariance, (mean - mean.mean())[:, None], out=centred)
    centred -= mean
    return centred


def centred(covariance: FloatArray, component: IntArray) -> FloatArray:
    """Return the covariance of scores about the mean of their connected component."""
    count = np.bincount(component).astype(np.float64)
    components = len(count)
    if components == 1:
        return about_mean(covariance)
    rows = np.zeros((components, len(component)))
    np.add.at(rows, component, covariance)
    rows /= count[:, None]
    both = np.stack([sums(component, row, components) for row in rows]) / count
    return np.asarray(
        covariance - rows[component] - rows[component].T + both[np.ix_(component, component)]
    )
