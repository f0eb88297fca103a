"""What every figure shares: scales, axes with round numbers, the SVG around them, the style."""

from __future__ import annotations

from html import escape
from math import ceil, floor, isfinite, log10

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.palette import CALIBRATED, INK, PAPER, REVERSED
from aggcal._core.records import dataclass

STYLE = f"""
svg.figure{{width:100%;height:auto;font:12px system-ui,sans-serif;fill:currentColor}}
svg.figure .grid{{stroke:currentColor;stroke-opacity:.14;fill:none}}
svg.figure .bar{{fill:{CALIBRATED};fill-opacity:.75}}
svg.figure .reversed{{fill:{REVERSED}}}
svg.figure .zero{{stroke:currentColor;stroke-dasharray:4 3;stroke-opacity:.5;fill:none}}
"""
"""The style that the figures need, for the page or for a file of their own."""


class Scale:
    """A linear map from numbers to pixels, with room at both ends."""

    def __init__(self, values: FloatArray, begin: float, end: float, *, pad: float = 0.04) -> None:
        low, high = float(np.min(values)), float(np.max(values))
        if not high > low:
            low, high = low - 0.5, high + 0.5
        room = pad * (high - low)
        self.low, self.high = low - room, high + room
        self._begin, self._end = begin, end

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        share = (value - self.low) / (self.high - self.low)
        return self._begin + share * (self._end - self._begin)

    def ticks(self, *, whole: bool = False) -> list[float]:
        """Return the round numbers to write on the axis."""
        step = round_step((self.high - self.low) / 6.0)
        if whole:
            step = max(1.0, step)
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        return [k * step for k in range(first, last + 1)]


@dataclass(frozen=True)
class Frame:
    """The size of a figure and the room that its axes take."""

    width: float
    height: float
    left: float = 64.0
    right: float = 16.0
    top: float = 16.0
    bottom: float = 44.0

    @property
    def foot(self) -> float:
        """Where the x axis is."""
        return self.height - self.bottom

    @property
    def end(self) -> float:
        """Where the lines of the grid end."""
        return self.width - self.right

    def x(self, values: FloatArray, *, pad: float = 0.0) -> Scale:
        """Return a scale from left to right that holds the values."""
        return Scale(values, self.left, self.end, pad=pad)

    def y(self, values: FloatArray, *, pad: float = 0.04) -> Scale:
        """Return a scale from the foot to the top that holds the values."""
        return Scale(values, self.foot, self.top, pad=pad)

    def y_axis(self, scale: Scale, name: str, *, whole: bool = False) -> str:
        """Draw the lines of the grid, their numbers, and the name."""
        parts = []
        for tick in scale.ticks(whole=whole):
            at = scale.at(tick)
            said = _label(abs(tick) if whole else tick)  # ranks count down from the top
            parts.append(
                f'<path class="grid" d="M{self.left} {at:.1f}H{self.end}"/>'
                f'<text x="{self.left - 8}" y="{at + 4:.1f}" text-anchor="end">{said}</text>'
            )
        middle = (self.top + self.foot) / 2
        parts.append(
            f'<text transform="translate(14 {middle}) rotate(-90)" text-anchor="middle">'
            f"{escape(name, quote=False)}</text>"
        )
        return "".join(parts)

    def x_axis(self, scale: Scale, name: str, *, whole: bool = False) -> str:
        """Draw the numbers and the name; whole numbers begin at 1, as ranks do."""
        ticks = scale.ticks(whole=whole)
        if whole:
            ticks = [1.0, *(t for t in ticks if t > 1.0)]
        parts = [
            f'<text x="{scale.at(tick):.1f}" y="{self.foot + 18}" '
            f'text-anchor="middle">{_label(tick)}</text>'
            for tick in ticks
        ]
        middle = (self.left + self.end) / 2
        parts.append(
            f'<text x="{middle}" y="{self.height - 6}" text-anchor="middle">'
            f"{escape(name, quote=False)}</text>"
        )
        return "".join(parts)

    def svg(self, title: str, body: str) -> str:
        """Return the figure, to stand in a page that has the `STYLE`."""
        return (
            f'<svg class="figure" xmlns="http://www.w3.org/2000/svg" role="img" '
            f'viewBox="0 0 {self.width:g} {self.height:g}">'
            f"<title>{escape(title, quote=False)}</title>{body}</svg>"
        )


def round_step(rough: float) -> float:
    """Return the nearest step of 1, 2 or 5 times a power of ten that is not below ``rough``.

    Examples
    --------
    >>> round_step(0.03)
    0.05
    """
    if not (isfinite(rough) and rough > 0.0):
        return 1.0
    power = 10.0 ** floor(log10(rough))
    return next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= rough * (1 - 1e-9))


def _label(value: float) -> str:
    text = f"{value:,.10g}"
    return f"\u2212{text[1:]}" if text.startswith("-") else text


def standalone(svg: str) -> str:
    """Return a figure as a file of its own: with its style and a white ground.

    Examples
    --------
    >>> "<style>" in standalone(Frame(10.0, 10.0).svg("nothing", ""))
    True
    """
    head, rest = svg.split(">", 1)
    ground = f'<rect width="100%" height="100%" fill="{PAPER}"/>'
    return f"{head}><style>{STYLE}svg{{color:{INK}}}</style>{ground}{rest}\n"
