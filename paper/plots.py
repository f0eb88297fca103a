"""The figures of the paper, in one style: violins, radar charts and lines, as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import cos, pi, sin

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.markup import Markup, joined
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
from aggcal.pages.figures import Frame, Points, label, path

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


def violins(title: str, groups: Mapping[str, FloatArray], y_name: str) -> Markup:
    """Draw the distribution of each group as a violin, with its median.

    Examples
    --------
    >>> violins("two", {"a": np.arange(9.0), "b": np.zeros(9)}, "score")[:4]
    '<svg'
    """
    frame = Frame(90.0 * len(groups) + 80.0, 300.0, top=30.0, bottom=30.0)
    y = frame.y(np.concatenate(list(groups.values())), pad=0.08)
    parts = [frame.y_axis(y, y_name)]
    grid = np.linspace(y.low, y.high, 120)
    for k, (name, values) in enumerate(groups.items()):
        sd = float(values.std()) or 0.05 * (y.high - y.low)
        bandwidth = 1.06 * sd * len(values) ** -0.2
        density = np.exp(-0.5 * ((grid[:, None] - values) / bandwidth) ** 2).sum(axis=1)
        half = 38.0 * density / density.max()
        middle = frame.left + 45.0 + 90.0 * k
        right = [(middle + h, y.at(g)) for g, h in zip(grid, half, strict=True)]
        left = [(middle - h, y.at(g)) for g, h in zip(grid, half, strict=True)]
        median = y.at(float(np.median(values)))
        parts += [
            path("", right + left[::-1], closed=True, fill=_colour(name, k), fill_opacity=0.6),
            _curve([(middle - 14, median), (middle + 14, median)], "currentColor"),
            label(name, middle, frame.height - 10),
        ]
    return _titled(frame, title, parts)


def radar(
    title: str, axes: Sequence[str], series: Mapping[str, Sequence[float]], low: float = 0.5
) -> Markup:
    """Draw one axis for each level, clockwise from the top, from ``low`` at the centre to 1.

    Examples
    --------
    >>> radar("tau", ["0", "1", "2"], {"model": [0.5, 0.6, 0.7]})[:4]
    '<svg'
    """
    frame = Frame(300.0, 320.0)
    radius, cx, cy = 105.0, 150.0, 155.0

    def at(k: int, reach: float) -> tuple[float, float]:
        angle = 2.0 * pi * k / len(axes) - 0.5 * pi
        return cx + reach * cos(angle), cy + reach * sin(angle)

    def around(values: Iterable[float]) -> list[tuple[float, float]]:
        shares = (max(0.0, (value - low) / (1.0 - low)) for value in values)
        return [at(k, radius * share) for k, share in enumerate(shares)]

    rings = np.linspace(low, 1.0, 6)[1:].tolist()
    parts = [path("grid", around([ring] * len(axes)), closed=True) for ring in rings]
    for k, name in enumerate(axes):
        x, y = at(k, radius + 14.0)
        parts += [path("grid", [(cx, cy), at(k, radius)]), label(name, x, y + 4.0, font_size=10)]
    parts += [
        _curve(around(values), _colour(name, k), closed=True)
        for k, (name, values) in enumerate(series.items())
    ]
    for ring in rings[::2]:
        height = cy - radius * (ring - low) / (1.0 - low)
        parts.append(label(f"{ring:g}", cx + 3, height + 9, "start", font_size=8, opacity=0.75))
    return _titled(frame, title, [*parts, _legend(series, 12.0, frame.height - 8.0)])


def lines(
    title: str,
    x: FloatArray,
    series: Mapping[str, FloatArray],
    names: tuple[str, str],
    *,
    mark: float | None = None,
) -> Markup:
    """Draw series over a common x; ``names`` are those of the axes, ``mark`` a vertical line.

    Examples
    --------
    >>> lines("error", np.arange(3.0), {"atc": np.arange(3.0)}, ("inversions", "MSE"))[:4]
    '<svg'
    """
    frame = Frame(480.0, 320.0, top=46.0)
    every = np.concatenate(list(series.values()))
    along, up = frame.x(x), frame.y(every[np.isfinite(every)], pad=0.06)
    parts = [frame.y_axis(up, names[1]), frame.x_axis(along, names[0])]
    if mark is not None:
        ends = [(along.at(mark), frame.top), (along.at(mark), frame.foot)]
        parts.append(path("", ends, stroke=RED, stroke_dasharray="4 3", fill="none"))
    for k, (name, values) in enumerate(series.items()):
        known = np.isfinite(values)
        points = zip(x[known].tolist(), values[known].tolist(), strict=True)
        parts.append(_curve([(along.at(a), up.at(b)) for a, b in points], _colour(name, k)))
    return _titled(frame, title, [*parts, _legend(series, frame.left, 36.0)])


def _titled(frame: Frame, title: str, parts: Iterable[Markup]) -> Markup:
    return frame.svg(title, label(title, frame.width / 2, 16, font_weight=600), *parts)


def _colour(name: str, k: int) -> str:
    return _COLOUR_OF.get(name, _COLOURS[k % len(_COLOURS)])


def _curve(points: Points, colour: str, *, closed: bool = False) -> Markup:
    return path("", points, closed=closed, fill="none", stroke=colour, stroke_width=1.8)


def _legend(names: Iterable[str], x: float, y: float) -> Markup:
    """Name the curves; a short line in its colour before each name, which stays readable."""
    parts = []
    for k, name in enumerate(names):
        line = [(x, y - 4.0), (x + 12.0, y - 4.0)]
        parts += [
            path("", line, stroke=_colour(name, k), stroke_width=2.5),
            label(name, x + 16.0, y, "start", font_size=11),
        ]
        x += 30.0 + _LETTER * len(name)
    return joined(parts)
