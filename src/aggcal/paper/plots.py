"""The figures of the paper, in one style: violins, radar charts and lines, as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import cos, pi, sin

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.palette import (
    AMBER,
    BLUE,
    CALIBRATED,
    CONSENSUS,
    GREEN,
    GREY,
    MODEL,
    RED,
    TRUTH,
)
from aggcal.pages.figures import Frame

_COLOURS = (GREY, AMBER, BLUE, GREEN, RED)
_COLOUR_OF = {
    "truth": TRUTH,
    "model": MODEL,
    "consensus": CONSENSUS,
    "calibrated": CALIBRATED,
    "by rank": BLUE,
    "by rate": GREEN,
    "a constant": AMBER,
}

_LETTER = 6.3
"""The width of a letter of the legend, about."""


def violins(title: str, groups: Mapping[str, FloatArray], y_name: str) -> str:
    """Draw the distribution of each group as a violin, with its median.

    Examples
    --------
    >>> violins("two", {"a": np.arange(9.0), "b": np.zeros(9)}, "score")[:4]
    '<svg'
    """
    frame = Frame(90.0 * len(groups) + 80.0, 300.0, top=30.0, bottom=30.0)
    y = frame.y(np.concatenate(list(groups.values())), pad=0.08)
    parts = [_title(frame, title), frame.y_axis(y, y_name)]
    grid = np.linspace(y.low, y.high, 120)
    for k, (name, values) in enumerate(groups.items()):
        sd = float(values.std()) or 0.05 * (y.high - y.low)
        bandwidth = 1.06 * sd * len(values) ** -0.2
        density = np.exp(-0.5 * ((grid[:, None] - values) / bandwidth) ** 2).sum(axis=1)
        half = 38.0 * density / density.max()
        middle = frame.left + 45.0 + 90.0 * k
        right = [f"{middle + h:.1f} {y.at(g):.1f}" for g, h in zip(grid, half, strict=True)]
        back = [f"{middle - h:.1f} {y.at(g):.1f}" for g, h in zip(grid, half, strict=True)][::-1]
        median = y.at(float(np.median(values)))
        parts.append(
            f'<path d="M{"L".join(right + back)}z" fill="{_colour(name, k)}" fill-opacity=".6"/>'
            f'<path d="M{middle - 14:.1f} {median:.1f}h28" stroke="currentColor" '
            'stroke-width="1.5"/>'
            f'<text x="{middle:.1f}" y="{frame.height - 10}" text-anchor="middle">'
            f"{escape(name)}</text>"
        )
    return frame.svg(title, "".join(parts))


def radar(
    title: str, axes: Sequence[str], series: Mapping[str, Sequence[float]], low: float = 0.5
) -> str:
    """Draw one axis for each level, clockwise from the top, from ``low`` at the centre to 1.

    Examples
    --------
    >>> radar("tau", ["0", "1", "2"], {"model": [0.5, 0.6, 0.7]})[:4]
    '<svg'
    """
    frame = Frame(300.0, 320.0)
    radius, cx, cy = 105.0, 150.0, 155.0

    def at(k: int, value: float) -> str:
        angle = 2.0 * pi * k / len(axes) - 0.5 * pi
        reach = radius * max(0.0, (value - low) / (1.0 - low))
        return f"{cx + reach * cos(angle):.1f} {cy + reach * sin(angle):.1f}"

    parts = [_title(frame, title)]
    rings = np.linspace(low, 1.0, 6)[1:]
    for ring in rings:
        corners = "L".join(at(k, float(ring)) for k in range(len(axes)))
        parts.append(f'<path class="grid" d="M{corners}z"/>')
    for k, name in enumerate(axes):
        angle = 2.0 * pi * k / len(axes) - 0.5 * pi
        x, y = cx + (radius + 14) * cos(angle), cy + (radius + 14) * sin(angle) + 4
        parts.append(
            f'<path class="grid" d="M{cx} {cy}L{at(k, 1.0)}"/>'
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" font-size="10">'
            f"{escape(name)}</text>"
        )
    for k, (name, values) in enumerate(series.items()):
        corners = "L".join(at(j, v) for j, v in enumerate(values))
        parts.append(_curve(f"M{corners}z", _colour(name, k)))
    for ring in rings[::2]:
        height = cy - radius * (ring - low) / (1.0 - low)
        parts.append(
            f'<text x="{cx + 3}" y="{height + 9:.1f}" font-size="8" opacity=".75">{ring:g}</text>'
        )
    return frame.svg(title, "".join(parts) + _legend(series, 12.0, frame.height - 8.0))


def lines(
    title: str,
    x: FloatArray,
    series: Mapping[str, FloatArray],
    names: tuple[str, str],
    *,
    mark: float | None = None,
) -> str:
    """Draw series over a common x; ``names`` are those of the axes, ``mark`` a vertical line.

    Examples
    --------
    >>> lines("error", np.arange(3.0), {"atc": np.arange(3.0)}, ("inversions", "MSE"))[:4]
    '<svg'
    """
    frame = Frame(480.0, 320.0, top=46.0)
    every = np.concatenate(list(series.values()))
    along, up = frame.x(x), frame.y(every[np.isfinite(every)], pad=0.06)
    parts = [_title(frame, title), frame.y_axis(up, names[1]), frame.x_axis(along, names[0])]
    if mark is not None:
        parts.append(
            f'<path d="M{along.at(mark):.1f} {frame.top}V{frame.foot}" stroke="{RED}" '
            'stroke-dasharray="4 3" fill="none"/>'
        )
    for k, (name, values) in enumerate(series.items()):
        known = np.isfinite(values)
        points = "L".join(
            f"{along.at(a):.1f} {up.at(b):.1f}"
            for a, b in zip(x[known], values[known], strict=True)
        )
        parts.append(_curve(f"M{points}", _colour(name, k)))
    return frame.svg(title, "".join(parts) + _legend(series, frame.left, 36.0))


def _title(frame: Frame, title: str) -> str:
    return (
        f'<text x="{frame.width / 2:g}" y="16" text-anchor="middle" font-weight="600">'
        f"{escape(title, quote=False)}</text>"
    )


def _colour(name: str, k: int) -> str:
    return _COLOUR_OF.get(name, _COLOURS[k % len(_COLOURS)])


def _curve(path: str, colour: str) -> str:
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.8"/>'


def _legend(names: Iterable[str], x: float, y: float) -> str:
    """Name the curves; a short line in its colour before each name, which stays readable."""
    parts = []
    for k, name in enumerate(names):
        parts.append(
            f'<path d="M{x:g} {y - 4:g}h12" stroke="{_colour(name, k)}" stroke-width="2.5"/>'
            f'<text x="{x + 16:g}" y="{y:g}" font-size="11">{escape(name)}</text>'
        )
        x += 30.0 + _LETTER * len(name)
    return "".join(parts)
