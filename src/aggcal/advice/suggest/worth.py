"""What a judgment of a pair is worth: the expected number of pairs that it puts right."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import pi

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray

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

    def worth_of(self, kept: IntArray, gained: FloatArray) -> FloatArray:
        """Return the same of some candidates, up to date."""
        self.renew(kept)
        return np.asarray(gained * self.stake[kept] / (1.0 + gained * self.variance[kept]))

    @abstractmethod
    def ask(self, k: int, gained: float) -> None:
        """Take a judgment of candidate k, with this information, into account."""

    def ask_best(
        self, gained: FloatArray, allowed: BoolArray, more_than: float, most: int, *, again: bool
    ) -> tuple[IntArray, FloatArray]:
        """Take judgments of the best candidates into account, while it is clear which is best.

        Returns which they are, and of each what it was worth and the variance of its gap: none
        where it is not clear, or must be found out one by one.

        Parameters
        ----------
        gained, allowed
            The information of a judgment of each candidate, and whether it may be asked.
        more_than
            What they must be worth more than.
        most
            How many to take at most.
        again
            Whether the same one may be asked again.
        """
        del gained, allowed, more_than, most, again
        return np.empty(0, dtype=np.int64), np.empty((0, 2))

    @abstractmethod
    def copy(self) -> Criterion:
        """Return one that goes its own way."""

    @abstractmethod
    def narrowed(self, kept: IntArray) -> Criterion:
        """Return one of some of the candidates, which is as much faster.

        What either takes into account, both do; what the candidates here are worth, `renew` tells.
        """

    @abstractmethod
    def renew(self, kept: IntArray) -> None:
        """Bring what some candidates are worth up to date."""


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
