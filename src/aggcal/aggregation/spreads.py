r"""Priors: standard deviations of what items, contexts and annotators differ in.

A `Prior` states those of scores and reliabilities; all others, and mostly these, are estimated as a
fit goes on. `next_sd` takes a posterior under the standard deviation so far, and returns a better
one: MacKay's, or the end of updates of expectation and maximisation (EM); both end where

    σ² = (Σ x² + prior) / (count − Σ Var x / σ²).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import copysign, exp, log, pi, sqrt

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, dot, sums
from aggcal.aggregation.links import Link
from aggcal.errors import OptionError

LOG_SD = 1.0
"""Prior sd of log σ of the scores, σ over its default: spreads of a third and of three times the
default are within reach of five items; where answers never clash, it keeps σ from running away."""
DEFAULT_RELIABILITY_SD = 0.5
"""Sd of the reliabilities, about a mean of 1, before anybody has judged: about what real studies
show. Where annotators say much, theirs is estimated."""
RELIABILITY_PRIOR, PARAMETER_PRIOR = 10.0, 5.0
"""Annotators that the default sd of the reliabilities counts as, and of positions and the readiness
to tie. Without it the estimate is 0 in half of the studies with five judgments each, and intervals
of 90% cover 50% (measured)."""
REVERSED_PRIOR = (2.0, 20.0)
"""Beta prior of the share of reversed annotators: 1 in 20 where annotators have said little."""
LEAST_SD, LARGEST_SD = 0.05, 3.0
"""Smallest sd of an annotator's parameter or an effect: below it, nobody could see it. And the
largest of a parameter."""
_LONGEST = 3.0**0.5
"""Factor by which an sd moves at most in an update."""
_SMALLEST, _LARGEST = 1e-6, 1e6
"""Stated standard deviations: those outside lose the digits of a double."""
_LITTLE = 0.1
"""Share of the values that the data must determine for MacKay's update, which is fast but wrong
where they determine next to nothing; below, the end of EM's, each of which goes nowhere."""
_UNUSED = 0.5
"""Answers that a strength which nobody used counts as."""


@dataclass(frozen=True)
class Prior:
    """s_i ~ N(0, score_sd²) and γ_u ~ N(1, reliability_sd²).

    The first fixes the location of the scores. At a joint mode the second fixes their scale, and, a
    normal prior and not a log-normal one, it lets the reliability of a reversed annotator be
    negative. Where reliabilities are integrated out, the scale constraint does the former
    (``empirical``), and a mixture of both signs the latter (``annotators``).

    Examples
    --------
    >>> Prior(score_sd=1.0, reliability_sd=0.5).reliability_precision
    4.0
    """

    score_sd: float
    reliability_sd: float

    def __post_init__(self) -> None:
        for name, value in (("scores", self.score_sd), ("reliabilities", self.reliability_sd)):
            if not _SMALLEST <= value <= _LARGEST:
                raise OptionError(
                    f"the prior sd of the {name} is {value}; give a number above 0 "
                    f"(from {_SMALLEST:g} to {_LARGEST:g})."
                )

    @property
    def score_precision(self) -> float:
        """1 / score_sd²."""
        return self.score_sd**-2

    @property
    def reliability_precision(self) -> float:
        """1 / reliability_sd²."""
        return self.reliability_sd**-2


def default_prior(link: Link) -> Prior:
    """Return the default prior of a link.

    Scores have sd 1 on the logistic scale; on other links the sd that bears the same ratio to
    the spread of F, so that the same chances are likely beforehand.

    Examples
    --------
    >>> from aggcal.aggregation.links import link
    >>> default_prior(link("logistic"))
    Prior(score_sd=1.0, reliability_sd=0.5)
    >>> round(default_prior(link("normal")).score_sd, 4)
    0.5513
    """
    return Prior(round(link.sd * sqrt(3.0) / pi, 12), DEFAULT_RELIABILITY_SD)


def next_sd(
    sd: float,
    values: FloatArray,
    variances: FloatArray,
    count: Callable[[float], float],
    *,
    square: float = 0.0,
    least: float = 0.0,
) -> float:
    """Return a better estimate of the sd of values: MacKay's, or where updates of EM end.

    Parameters
    ----------
    sd
        So far.
    values, variances
        Posterior means under it, and their variances.
    count
        How many values there are, and what the prior of the sd adds to it.
    square
        What that prior adds to the sum of squares.
    least
        Degrees of freedom that are left in any case, where the prior sees to it: EM is not needed.

    Examples
    --------
    Values that are known exactly have the sd that they show:

    >>> next_sd(1.5, np.array([2.0, -2.0]), np.zeros(2), lambda _: 2.0)
    2.0
    """
    degrees_of_freedom = max(count(sd) - float(variances.sum()) / sd**2, least)
    if least or degrees_of_freedom > _LITTLE * count(sd):
        ratio = (dot(values, values) + square) / degrees_of_freedom / sd**2
        return sd * sqrt(min(max(ratio, _LONGEST**-2), _LONGEST**2))

    def excess(move: float) -> float:
        """Return by how much an update at this sd leads to a larger one.

        The judgments are taken to say the same of each value whatever the sd is.
        """
        new = sd * exp(move)
        precision = 1.0 + variances * (new**-2 - sd**-2)
        precision = np.maximum(precision, variances * new**-2)  # over what it was
        moments = float((np.square(values / precision) + variances / precision).sum())
        return moments + square - new**2 * count(new)

    end = copysign(log(_LONGEST), excess(0.0))
    if excess(end) * end < 0.0:
        from scipy.optimize import brentq

        end = brentq(excess, 0.0, end, xtol=1e-13)
    return float(sd * exp(end))


def score_count(free: int, default: float) -> Callable[[float], float]:
    """Return the count of scores: log σ over the default has a normal prior.

    Parameters
    ----------
    free
        Scores less connected components, whose means are conventions.
    default
        The default sd.
    """
    return lambda new: max(free + log(new / default) / LOG_SD**2, 0.1 * free)


def effect_count(number: int) -> Callable[[float], float]:
    """Return the count of effects, which may all be 0: their sd has a half-normal prior."""
    return lambda new: number + new**2


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


def about_mean(covariance: FloatArray) -> FloatArray:
    """Return the covariance of scores about the mean of all.

    Examples
    --------
    >>> about_mean(np.eye(2))
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    mean = covariance.mean(axis=0)
    return np.asarray(covariance - (mean - mean.mean())[:, None] - mean)


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
