"""The scale that results are told in: its ends, and how finely it is read."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.errors import OptionError
from aggcal.registry.limits import MOST_DIGITS

_ROUNDING = 1e-9
"""What a number may lie beyond a step and still count as on it: sums of decimals do."""


@dataclass(frozen=True)
class Scale:
    """The lowest and the highest score there is, and the decimals of a score; None for any.

    Examples
    --------
    >>> marks = Scale((0.0, 100.0), 1)
    >>> marks.scores(np.array([-3.0, 66.66, 104.0]))
    array([  0. ,  66.7, 100. ])
    >>> marks.low_ends(np.array([66.66])), marks.high_ends(np.array([66.61]))
    (array([66.6]), array([66.7]))
    """

    bounds: tuple[float, float] | None = None
    digits: int | None = None

    def scores(self, values: FloatArray) -> FloatArray:
        """Put scores on the scale."""
        return self._within(values if self.digits is None else np.round(values, self.digits))

    def low_ends(self, values: FloatArray) -> FloatArray:
        """Put the lower ends of intervals on the scale, rounded outwards."""
        return self._within(self._steps(values, np.floor, _ROUNDING))

    def high_ends(self, values: FloatArray) -> FloatArray:
        """Put the upper ends of intervals on the scale, rounded outwards."""
        return self._within(self._steps(values, np.ceil, -_ROUNDING))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as in ``summary.json``; nothing where any number will do."""
        told = {"bounds": None if self.bounds is None else list(self.bounds), "digits": self.digits}
        return {name: value for name, value in told.items() if value is not None}

    def _within(self, values: FloatArray) -> FloatArray:
        return values if self.bounds is None else np.clip(values, *self.bounds)

    def _steps(self, values: FloatArray, rounded: np.ufunc, slack: float) -> FloatArray:
        if self.digits is None:
            return values
        steps = 10.0**self.digits
        return np.asarray(np.round(rounded(values * steps + slack) / steps, self.digits))


def scale_of(bounds: Any, digits: Any) -> Scale:
    """Check the ends and the digits of a scale.

    Examples
    --------
    >>> scale_of((0, 100), 1)
    Scale(bounds=(0.0, 100.0), digits=1)
    >>> scale_of((100, 0), None)
    Traceback (most recent call last):
    aggcal.errors.OptionError: the bounds are 100 and 0; give the lowest score and then the ...
    """
    if digits is not None and (
        isinstance(digits, bool)
        or not isinstance(digits, int | np.integer)
        or not 0 <= digits <= MOST_DIGITS
    ):
        raise OptionError(f"digits is {digits!r}; give a whole number from 0 to {MOST_DIGITS}.")
    if bounds is None:
        return Scale(None, None if digits is None else int(digits))
    try:
        low, high = (float(end) for end in bounds)
    except (TypeError, ValueError):
        raise OptionError(
            f"the bounds are {bounds!r}; give two numbers, the lowest and the highest score, such "
            "as (0, 100)."
        ) from None
    if not (isfinite(low) and isfinite(high) and low < high):
        raise OptionError(
            f"the bounds are {low:g} and {high:g}; give the lowest score and then the highest, "
            "such as (0, 100)."
        )
    return Scale((low, high), None if digits is None else int(digits))
