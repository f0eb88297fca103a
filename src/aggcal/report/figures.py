"""Figures as small SVG texts: no plotting library, no script, readable in light and dark."""

from __future__ import annotations

from html import escape
from math import ceil, floor, isfinite, log10

import numpy as np

from aggcal.arrays import FloatArray, IntArray, TextArray

_WIDTH, _HEIGHT = 760.0, 340.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 16.0, 16.0, 44.0
_MOST_POINTS = 3000
_TITLED_POINTS = 1000


def calibration_figure(
    item_ids: TextArray,
    position: IntArray,
    model: FloatArray,
    calibrated: FloatArray,
    interval: tuple[FloatArray, FloatArray] | None = None,
) -> str:
    """Draw each item's model score, the calibrated line and its interval, in consensus order.

    The items must stand in consensus order, the highest first, and have both numbers; position
    is each one's place in that order, items without a score counted.

    Examples
    --------
    >>> ids = np.array(["a", "b"], dtype=object)
    >>> one, two = np.array([1.0, 2.0]), np.array([1.5, 1.5])
    >>> calibration_figure(ids, np.array([1, 2]), one, two)[:4]
    '<svg'
    """
    n = len(item_ids)
    y = _Scale(np.concatenate([model, calibrated, *(interval or ())]), _HEIGHT - _BOTTOM, _TOP)
    x = _Scale(position[[0, -1]] + np.array([-0.5, 0.5]), _LEFT, _WIDTH - _RIGHT, pad=0.0)
    shown = np.unique(np.linspace(0, n - 1, min(n, _MOST_POINTS)).round().astype(np.int64))
    radius = 3.2 if n <= 150 else 2.2 if n <= 600 else 1.4  # noqa: PLR2004  # dots that do not clog
    dots: list[str] = []
    for k in shown:
        cx, cy, to = x.at(float(position[k])), y.at(float(model[k])), y.at(float(calibrated[k]))
        if n <= _TITLED_POINTS:
            dots.append(f'<path class="move" d="M{cx:.1f} {cy:.1f}V{to:.1f}"/>')
            said = f"{item_ids[k]}: model {model[k]:.4g}, calibrated {calibrated[k]:.4g}"
            dots.append(
                f'<circle class="model" cx="{cx:.1f}" cy="{cy:.1f}" r="{radius}">'
                f"<title>{escape(said)}</title></circle>"
            )
        else:
            dots.append(f'<circle class="model" cx="{cx:.1f}" cy="{cy:.1f}" r="{radius}"/>')
    path = _steps(position, calibrated, x, y)
    band = "" if interval is None else _band(position[shown], interval, shown, x, y)
    body = band + "".join(dots) + f'<path class="calibrated" d="{path}"/>'
    return _svg(
        "Model scores (dots), calibrated scores (line) and their intervals, in consensus order",
        _y_axis(y, "score, in the model's units")
        + _x_axis(x, "consensus rank (1 = highest)", whole=True)
        + body,
    )


def _steps(position: IntArray, values: FloatArray, x: _Scale, y: _Scale) -> str:
    """Write a line of steps, one for each run of neighbours that share a value."""
    gap = (np.diff(values) != 0.0) | (np.diff(position) != 1)
    ends = np.flatnonzero(gap) + 1
    path: list[str] = []
    for begin, end in zip([0, *ends], [*ends, len(values)], strict=True):
        level = y.at(float(values[begin]))
        left, right = x.at(position[begin] - 0.5), x.at(position[end - 1] + 0.5)
        # No line across items without a score: nothing was calibrated there.
        joined = begin > 0 and position[begin] == position[begin - 1] + 1
        path.append(f"{'L' if joined else 'M'}{left:.1f} {level:.1f}H{right:.1f}")
    return "".join(path)


def _band(
    position: IntArray,
    interval: tuple[FloatArray, FloatArray],
    shown: IntArray,
    x: _Scale,
    y: _Scale,
) -> str:
    """Draw an interval behind each item, as wide as its place."""
    wide = x.at(1.5) - x.at(0.5)
    bars = []
    for place, low, high in zip(position, interval[0][shown], interval[1][shown], strict=True):
        top = y.at(float(high))
        bars.append(
            f"M{x.at(float(place)) - 0.5 * wide:.1f} {top:.1f}h{wide:.1f}"
            f"V{y.at(float(low)):.1f}h{-wide:.1f}z"
        )
    return f'<path class="interval" d="{"".join(bars)}"/>'


def reliability_figure(reliability: FloatArray, random: float = 0.0) -> str:
    """Draw how the annotators' reliabilities are spread; those below random stand out.

    Examples
    --------
    >>> reliability_figure(np.array([0.5, 1.0, -0.2]))[:4]
    '<svg'
    """
    low, high = min(0.0, float(reliability.min())), max(1.0, float(reliability.max()))
    width = _step((high - low) / 24.0)
    marks = range(floor(low / width), ceil(high / width + 1e-9) + 1)
    edges = np.array([k * width for k in marks])
    counts, _ = np.histogram(reliability, edges)
    x = _Scale(edges[[0, -1]], _LEFT, _WIDTH - _RIGHT, pad=0.0)
    y = _Scale(np.array([0.0, float(counts.max())]), _HEIGHT - _BOTTOM, _TOP, pad=0.0)
    bars = []
    for number, begin, end in zip(counts, edges[:-1], edges[1:], strict=True):
        if number:
            kind = "reversed" if end <= random + width * 1e-6 else "bar"
            top = y.at(float(number))
            bars.append(
                f'<rect class="{kind}" x="{x.at(begin) + 0.5:.1f}" y="{top:.1f}" '
                f'width="{x.at(end) - x.at(begin) - 1:.1f}" height="{y.at(0.0) - top:.1f}">'
                f"<title>{number} annotators from {begin:.3g} to {end:.3g}</title></rect>"
            )
    zero = f'<path class="zero" d="M{x.at(random):.1f} {_TOP}V{_HEIGHT - _BOTTOM}"/>'
    return _svg(
        "How many annotators have which reliability",
        _y_axis(y, "annotators", whole=True)
        + _x_axis(x, f"reliability ({random:g} = random, below = reversed)")
        + "".join(bars)
        + zero,
    )


class _Scale:
    """A linear map from numbers to pixels, with room at both ends."""

    def __init__(self, values: FloatArray, begin: float, end: float, *, pad: float = 0.04) -> None:
        low, high = float(np.min(values)), float(np.max(values))
        if not high > low:
            low, high = low - 0.5, high + 0.5
        room = pad * (high - low)
        self.low, self.high = low - room, high + room
        self._begin, self._end = begin, end

    def at(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self._begin + share * (self._end - self._begin)

    def ticks(self, *, whole: bool = False) -> list[float]:
        step = _step((self.high - self.low) / 6.0)
        if whole:
            step = max(1.0, step)
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        return [k * step for k in range(first, last + 1)]


def _step(rough: float) -> float:
    """Return the nearest step of 1, 2 or 5 times a power of ten that is not below ``rough``."""
    if not (isfinite(rough) and rough > 0.0):
        return 1.0
    power = 10.0 ** floor(log10(rough))
    return next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= rough * (1 - 1e-9))


def _label(value: float) -> str:
    return f"{value:,.10g}"


def _y_axis(scale: _Scale, name: str, *, whole: bool = False) -> str:
    parts = []
    for tick in scale.ticks(whole=whole):
        at = scale.at(tick)
        parts.append(
            f'<path class="grid" d="M{_LEFT} {at:.1f}H{_WIDTH - _RIGHT}"/>'
            f'<text x="{_LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{_label(tick)}</text>'
        )
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    parts.append(
        f'<text transform="translate(14 {middle}) rotate(-90)" text-anchor="middle">{name}</text>'
    )
    return "".join(parts)


def _x_axis(scale: _Scale, name: str, *, whole: bool = False) -> str:
    ticks = scale.ticks(whole=whole)
    if whole:
        ticks = [1.0, *(t for t in ticks if t > 1.0)]
    parts = [
        f'<text x="{scale.at(tick):.1f}" y="{_HEIGHT - _BOTTOM + 18}" '
        f'text-anchor="middle">{_label(tick)}</text>'
        for tick in ticks
    ]
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{_HEIGHT - 6}" text-anchor="middle">{name}</text>')
    return "".join(parts)


STYLE = """
svg.figure{width:100%;height:auto;font:12px system-ui,sans-serif;fill:currentColor}
svg.figure .grid{stroke:currentColor;stroke-opacity:.14;fill:none}
svg.figure .model{fill:#8a8f98;fill-opacity:.75}
svg.figure .move{stroke:#8a8f98;stroke-opacity:.35;fill:none}
svg.figure .calibrated{stroke:#1f6feb;stroke-width:2.4;fill:none;stroke-linejoin:round}
svg.figure .interval{fill:#1f6feb;fill-opacity:.16;stroke:none}
svg.figure .bar{fill:#1f6feb;fill-opacity:.75}
svg.figure .reversed{fill:#d1242f}
svg.figure .zero{stroke:currentColor;stroke-dasharray:4 3;stroke-opacity:.5;fill:none}
"""
"""The style that the figures need, for the page or for a file of their own."""


def _svg(title: str, body: str) -> str:
    return (
        f'<svg class="figure" xmlns="http://www.w3.org/2000/svg" role="img" '
        f'viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}"><title>{title}</title>{body}</svg>'
    )


def standalone(svg: str) -> str:
    """Return a figure as a file of its own: with its style and a white ground.

    Examples
    --------
    >>> "<style>" in standalone(reliability_figure(np.array([1.0])))
    True
    """
    head, rest = svg.split(">", 1)
    ground = f'<rect width="{_WIDTH:g}" height="{_HEIGHT:g}" fill="#fff"/>'
    return f"{head}><style>{STYLE}svg{{color:#1f2328}}</style>{ground}{rest}\n"
