"""Whether the residuals of different units pull together more than chance explains.

See `aggcal.advice.check.pair_effects` for what is tested, and why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, sums
from aggcal._core.compiled_scipy import gammaincc, ndtr
from aggcal._core.records import dataclass
from aggcal.advice.check.gap_variances import Variances

RATE = 0.01
"""Chance of a false alarm in a study of independent answers; less finds less."""

_MOST_SKEWED = 2.0
"""Skewness (that of an exponential) up to which a gamma curve stands for the distribution of T."""


@dataclass(frozen=True)
class Shared:
    """What answers share beyond the model.

    ``sd`` is the estimated standard deviation, in logits, of an effect that they share;
    ``inflation`` how much larger than stated it makes the variance of the scores; ``p_value`` that
    independent answers agree as much; ``groups`` how many sets of answers could be compared. Where
    nothing is found, the first two may be upper bounds and the third a lower one.
    """

    sd: float
    inflation: float
    p_value: float
    groups: int

    @property
    def found(self) -> bool:
        """Whether chance does not explain it."""
        return self.p_value < RATE


class Moments(NamedTuple):
    """Of units: a residual, and what the model expects of it."""

    pull: FloatArray
    information: FloatArray
    """By how much an effect of 1 on the gap would move it."""
    skew: FloatArray
    weighed: tuple[FloatArray, FloatArray] | None = None
    """Where weights differ: its variance, and the information times the weight in the fit."""

    def each(self, work: Callable[[FloatArray], FloatArray]) -> Moments:
        """Do something with every column."""
        weighed = None if self.weighed is None else (work(self.weighed[0]), work(self.weighed[1]))
        return Moments(work(self.pull), work(self.information), work(self.skew), weighed)

    def times(self, factor: FloatArray, weight: FloatArray) -> Moments:
        """Return them with residuals multiplied by factors, of answers of these weights."""
        information = factor * self.information
        weighed = factor * information, weight * information
        return Moments(factor * self.pull, information, factor**3 * self.skew, weighed)


def pulled_together(
    units: Moments,
    group: IntArray,
    gap_variances: Iterable[Variances],
    whole: float,
    number: FloatArray | float = 1.0,
    *,
    also: float = 0.0,
) -> Shared | None:
    """Test whether units of one group pull together.

    Parameters
    ----------
    units
        Of each of them: its residual, and the moments that are expected of it.
    group
        The group of each unit.
    gap_variances
        Variances of the gap of each group: upper bounds, if there are any, then these. They are
        tried until nothing is found.
    whole
        The variance of what all answers pull the scores by.
    number
        How many units each entry stands for.
    also
        What is to be added to the products.
    """
    groups = int(group.max(initial=-1)) + 1
    if isinstance(number, float):
        several = np.bincount(group, minlength=groups) > 1
    else:
        several = sums(group, number, groups) > 1.0
    kept = several[group]
    pull, information, skew, weighed = units.each(lambda x: x[kept])
    spread = information if weighed is None else weighed[0]
    number = number if isinstance(number, float) else number[kept]
    group, size = (np.cumsum(several) - 1)[group[kept]], int(several.sum())

    def total(x: FloatArray) -> FloatArray:
        return sums(group, number * x, size)

    def products(x: FloatArray) -> FloatArray:
        """Sum x_i x_j over all i ≠ j of each group; rounding must not leave a trace of one."""
        together, alone = np.square(total(x)), total(np.square(x))
        return np.where(np.abs(together - alone) > 1e-12 * alone, together - alone, 0.0)

    expected = products(information)
    if not expected.sum() > 0.0:
        return None
    usual = expected if weighed is None else products(spread)
    one, two, three = (total(spread**k) for k in (1, 2, 3))
    third = float(np.sum(8.0 * (one**3 - 3.0 * one * two + 2.0 * three)))
    third += 4.0 * float(products(skew).sum())
    weight = None
    if weighed is not None:
        both = total(information) * total(weighed[1]) - total(information * weighed[1])
        weight = both / np.where(expected > 0.0, expected, 1.0)
    found = Products(
        float(products(pull).sum()) + also,
        expected,
        2.0 * max(float(usual.sum()), float(products(np.square(pull)).sum())),
        third,
        weight,
    )
    return found.held_against((each.of(np.flatnonzero(several)) for each in gap_variances), whole)


class Products(NamedTuple):
    """Products of what two units of a group pull by, added up."""

    together: float
    expected: FloatArray
    """Of each group: by how much an effect of variance 1 would raise them."""
    variance: float
    third: float
    """Their central moments, if units are independent."""
    weight: FloatArray | None = None
    """Where weights differ: that of a usual product of each group."""

    def held_against(self, gap_variances: Iterable[Variances], whole: float) -> Shared:
        """Tell whether they are more than chance explains: see `pulled_together`."""
        # Wider gaps explain less: what is not found with an upper bound is not found without it.
        for mine in gap_variances:
            surplus = self.together + float(mine.as_drawn(self.weight) @ self.expected)
            p_value = _upper_tail(surplus, self.variance, self.third)
            if p_value < RATE and mine.beyond is not None:
                wide, skewed = mine.beyond(self.expected)
                p_value = _upper_tail(surplus, self.variance + wide, self.third + skewed)
            if p_value >= RATE:
                break
        effect = max(0.0, surplus) / float(self.expected.sum())
        inflation = 1.0 + effect * float(self.expected.sum()) / whole
        compared = int(np.sum(self.expected > 0.0))
        return Shared(float(np.sqrt(effect)), inflation, p_value, compared)


def _upper_tail(surplus: float, variance: float, third: float) -> float:
    """Return the chance of so much, by a gamma distribution with these central moments.

    Where a few rare answers decide, no such curve is to be trusted: Cantelli's bound holds anyway.

    Examples
    --------
    >>> round(_upper_tail(2.0, 1.0, 0.0), 3), round(_upper_tail(2.0, 1.0, 1.0), 3)
    (0.023, 0.042)
    >>> _upper_tail(2.0, 1.0, 9.0)
    0.2
    >>> _upper_tail(1.0, 0.0, 0.0)  # answers that the fit is certain of tell nothing
    1.0
    """
    if not variance > 0.0:
        return 1.0
    z, skewness = surplus / np.sqrt(variance), max(0.0, third) / variance**1.5
    if z <= 0.0:
        return 1.0
    if skewness < 1e-3:  # noqa: PLR2004  # from there on it is the normal one
        return float(ndtr(-z))
    if skewness > _MOST_SKEWED:
        return float(1.0 / (1.0 + z * z))
    shape = 4.0 / skewness**2
    return float(gammaincc(shape, shape + z * np.sqrt(shape)))
