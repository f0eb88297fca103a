r"""Links: the chance F(x) that the better item wins, and the derivatives of its logarithm.

Each link returns, for an array x, three arrays that stay exact in both tails:

* ``loss``  = −log F(x),
* ``score`` = f(x)/F(x) ≥ 0, minus the first derivative of the loss,
* ``curvature`` = −(log F)''(x) ≥ 0, the second derivative of the loss.

All three distributions are symmetric and log-concave, so the loss is convex in x.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import pi, sqrt

import numpy as np

from aggcal import registry
from aggcal._core.arrays import FloatArray, elementwise, special_of
from aggcal.errors import check_choice

LinkTerms = tuple[FloatArray, FloatArray, FloatArray]

_FAR = 1e3  # beyond, score + x has lost its digits: a series instead
_LONG = 1 << 16  # rows from which threads are worth waking
_HALF_NORMAL_PEAK = sqrt(2.0 / pi)


@dataclass(frozen=True)
class Link:
    """A symmetric, log-concave distribution function.

    Parameters
    ----------
    name
        ``logistic``, ``normal`` or ``laplace``.
    sd
        Standard deviation of the distribution: how wide one unit of score is.
    terms
        The loss, its score and its curvature.
    probability
        F itself, the probability of the first item winning.
    """

    name: str
    sd: float
    terms: Callable[[FloatArray], LinkTerms]
    probability: Callable[[FloatArray], FloatArray]

    @cached_property
    def at_zero(self) -> tuple[float, float, float]:
        """Loss, score and curvature of a judgment between equal items."""
        loss, score, curvature = (float(term[0]) for term in self.terms(np.zeros(1)))
        return loss, score, curvature

    def __reduce__(self) -> tuple[Callable[[str], Link], tuple[str]]:
        """Send the name: functions stay where they are."""
        return link, (self.name,)

    @property
    def score_at_zero(self) -> float:
        """f(0)/F(0), the size of one judgment's gradient between equal items."""
        return self.at_zero[1]


def _logistic(x: FloatArray) -> LinkTerms:
    small = np.exp(-np.abs(x))
    below = 1.0 / (1.0 + small)
    loss = np.log1p(small) + np.maximum(-x, 0.0)
    score = np.where(x >= 0.0, small * below, below)
    return loss, score, small * below * below


def _logistic_probability(x: FloatArray) -> FloatArray:
    if x.ndim == 1 and len(x) > _LONG and isinstance(x, np.ndarray):
        return elementwise(_some_probabilities, x)[0]
    return _some_probabilities(x)


def _some_probabilities(x: FloatArray) -> FloatArray:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0.0, 1.0, small) / (1.0 + small)


def _normal(x: FloatArray) -> LinkTerms:
    negative, special = x < 0.0, special_of(x)
    # f/F: below zero by the scaled erfc (no cancellation of tiny by tiny), above directly.
    with np.errstate(over="ignore"):
        below = _HALF_NORMAL_PEAK / special.erfcx(-np.where(negative, x, 0.0) / sqrt(2.0))
    above = np.exp(-0.5 * x * x) / sqrt(2.0 * pi) / special.ndtr(np.where(negative, 0.0, x))
    score = np.where(negative, below, above)
    curvature = score * (score + x)
    far = x < -_FAR
    if far.any():
        # Here score + x loses its digits: the asymptotic series of the Mills ratio instead.
        inverse = 1.0 / np.square(x[far])
        curvature[far] = 1.0 - inverse + 6.0 * inverse * inverse
    return -special.log_ndtr(x), score, curvature


def _normal_probability(x: FloatArray) -> FloatArray:
    chance: FloatArray = special_of(x).ndtr(x)
    return chance


def _laplace(x: FloatArray) -> LinkTerms:
    size = np.abs(x)
    tail = 0.25 * np.exp(-size)
    # x < 0: F = (2 - x) e^x / 4.     x >= 0: F = 1 - (2 + x) e^-x / 4.
    reciprocal = 1.0 / (2.0 + size)
    lack = (2.0 + size) * tail
    score_above = (1.0 + size) * tail / (1.0 - lack)
    negative = x < 0.0
    loss = np.where(negative, size + np.log(4.0 * reciprocal), -np.log1p(-lack))
    score = np.where(negative, 1.0 - reciprocal, score_above)
    curvature = np.where(
        negative, reciprocal * reciprocal, size * tail / (1.0 - lack) + score_above * score_above
    )
    return loss, score, curvature


def _laplace_probability(x: FloatArray) -> FloatArray:
    size = np.abs(x)
    lack = 0.25 * (2.0 + size) * np.exp(-size)
    return np.where(x < 0.0, lack, 1.0 - lack)


_LINKS = {
    link.name: link
    for link in (
        Link(registry.LOGISTIC.name, pi / sqrt(3.0), _logistic, _logistic_probability),
        Link(registry.NORMAL.name, 1.0, _normal, _normal_probability),
        Link(registry.LAPLACE_NOISE.name, 2.0, _laplace, _laplace_probability),
    )
}


LOGISTIC = _LINKS[registry.LOGISTIC.name]
"""The link of the default method."""


def link(name: str) -> Link:
    """Look a link up by its name.

    ``logistic`` is the Bradley–Terry link, ``normal`` that of Thurstone's case V, ``laplace``
    the distribution of the difference of two unit Laplace noises (the paper's HRA-E).

    Examples
    --------
    >>> link("logistic").probability(np.array([0.0]))
    array([0.5])
    >>> link("probit")
    Traceback (most recent call last):
    aggcal.errors.OptionError: link 'probit' is unknown; choose logistic, normal, laplace.
    """
    check_choice("link", name, _LINKS)
    return _LINKS[name]
