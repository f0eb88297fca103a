"""A shared axis in percent of its width: marks need no measuring and no drawing anew."""

from __future__ import annotations

from math import ceil, floor, isfinite, isnan, log10, nan

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.records import dataclass
from aggcal.pages.numbers import number_text

PAD = 3.0
"""Percent of the width that stay free at both ends, for the dots."""
_MOST_TICKS = 6  # more numbers would touch each other on a phone
_STEPS = (1.0, 2.0, 5.0, 10.0)  # times a power of ten: what people call round


@dataclass(frozen=True)
class Axis:
    """A linear scale from numbers to percent of a width.

    Examples
    --------
    >>> axis = Axis.of(np.array([0.0, 10.0]))
    >>> axis.at(5.0), [text for _, text in axis.ticks]
    ('50.00', ['0', '2', '4', '6', '8', '10'])
    """

    low: float
    high: float

    @classmethod
    def of(cls, *columns: FloatArray | None, low: float | None = None) -> Axis:
        """Return the axis that holds every finite number of some columns."""
        flat = np.concatenate([np.zeros(0), *(c for c in columns if c is not None)])
        flat = flat[np.isfinite(flat)]
        begin, end = (float(flat.min()), float(flat.max())) if flat.size else (0.0, 1.0)
        begin = begin if low is None else min(begin, low)
        if not end > begin or not isfinite(end - begin):
            begin, end = begin - 1.0, begin + 1.0
        return cls(begin, end)

    def at(self, value: float, decimals: int | None = None) -> str:
        """Return where a number is, in percent; beyond the ends, at the end.

        ``decimals`` are those that the page's script knows of it: both must draw alike.
        """
        value = value if decimals is None or not isfinite(value) else round(value, decimals)
        share = (min(self.high, max(self.low, value)) - self.low) / (self.high - self.low)
        return f"{PAD + (100.0 - 2.0 * PAD) * share:.2f}"

    def place(self, column: FloatArray | None, k: int, decimals: int | None = None) -> str:
        """Return where the number of a row is, in percent; nothing where there is none.

        Examples
        --------
        >>> Axis(0.0, 10.0).place(np.array([5.0, np.nan]), 0), Axis(0.0, 10.0).place(None, 0)
        ('50.00', '')
        """
        value = nan if column is None else float(column[k])
        return "" if isnan(value) else self.at(value, decimals)

    @property
    def ticks(self) -> list[tuple[str, str]]:
        """Round numbers on the axis: where, and what to write."""
        rough = (self.high - self.low) / _MOST_TICKS
        power = 10.0 ** floor(log10(rough))
        step = next(m * power for m in _STEPS if m * power >= rough * (1 - 1e-9))
        decimals = max(0, -floor(log10(step) + 1e-9))
        shown = decimals if decimals <= 9 and step < 1e12 else None  # noqa: PLR2004  # an exponent
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        return [(self.at(k * step), number_text(k * step, shown)) for k in range(first, last + 1)]
