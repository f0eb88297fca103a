"""What a judgment of a pair is worth: the expected number of pairs that it puts right."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import pi

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray

LEAST = 1e-12  # variance that is taken for none: below it, divisions would blow up rounding


class Criterion(ABC):
    """The variance of the gap of each candidate pair and what is at stake in it."""

    variance: FloatArray
    """a'Ca."""
    stake: FloatArray
    """a'C L C a."""

    def worth(self, gained: FloatArray) -> FloatArray:
        """Return what judgments with this information are worth, one of each candidate."""
        return np.asarray(gained * self.stake / (1.0 + gained * self.variance))

    @abstractmethod
    def ask(self, k: int, gained: float) -> None:
        """Take a judgment of candidate k, with this information, into account."""

    @abstractmethod
    def narrowed(self, kept: IntArray) -> Criterion:
        """Return one of some of the candidates, which is as much faster and goes its own way."""

    @abstractmethod
    def after(self, part: Criterion) -> Criterion:
        """Return this one after all that one of some of its candidates took into account."""


def weights(gap: FloatArray, variance: FloatArray, apart: FloatArray | None) -> FloatArray:
    """Return how much the order of pairs depends on their gaps, and calibrated scores on it.

    Examples
    --------
    >>> weights(np.array([0.0, 3.0]), np.ones(2), None).round(3)
    array([0.159, 0.002])
    """
    variance = np.maximum(variance, LEAST)
    near = np.exp(-0.5 * gap * gap / variance) / (2.0 * pi * variance)
    if apart is None:
        return near
    # Items without a model score are not calibrated: nothing is at stake.
    return near * np.nan_to_num(0.5 * apart * apart)
