"""The figures of the paper, in one style: violins, radar charts and lines, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import cos, pi, sin

import numpy as np

from aggcal.arrays import FloatArray

COLOURS = ("#8a8f98", "#bf8700", "#1f6feb", "#1a7f37", "#d1242f")
_TEXT = 'font-family="system-ui,sans-serif" font-size="11" fill="#1f2328"'


def _page(width: float, height: float, title: str, body: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'{_TEXT}><title>{escape(title)}</title><rect width="100%" height="100%" fill="#fff"/>'
        f"{body}</svg>\n"
    )


def violins(title: str, groups: Mapping[str, FloatArray]) -> str:
    """Draw the distribution of each group as a violin, with its median.

    Examples
    --------
    >>> violins("two", {"a": np.arange(9.0), "b": np.zeros(9)})[:4]
    '<svg'
    """
    width, height, left, top, bottom = 90.0 * len(groups) + 70.0, 300.0, 50.0, 30.0, 40.0
    every = np.concatenate(list(groups.values()))
    low, high = float(every.min()), float(every.max())
    room = 0.08 * (high - low) or 1.0
    low, high = low - room, high + room

    def y(value: float) -> float:
        return height - bottom - (value - low) / (high - low) * (height - top - bottom)

    parts = [f'<text x="{width / 2:g}" y="16" text-anchor="middle">{escape(title)}</text>']
    parts += [
        f'<path d="M{left} {y(tick):.1f}H{width - 10:g}" stroke="#ddd"/>'
        f'<text x="{left - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:.1f}</text>'
        for tick in np.linspace(low, high, 5)
    ]
    grid = np.linspace(low, high, 120)
    for k, (name, values) in enumerate(groups.items()):
        spread = float(values.std()) or 0.05 * (high - low)
        bandwidth = 1.06 * spread * len(values) ** -0.2
        density = np.exp(-0.5 * ((grid[:, None] - values) / bandwidth) ** 2).sum(axis=1)
        half = 36.0 * density / density.max()
        middle = left + 50.0 + 90.0 * k
        right = [f"{middle + h:.1f} {y(g):.1f}" for g, h in zip(grid, half, strict=True)]
        back = [f"{middle - h:.1f} {y(g):.1f}" for g, h in zip(grid, half, strict=True)][::-1]
        colour = COLOURS[k % len(COLOURS)]
        median = y(float(np.median(values)))
        parts.append(
            f'<path d="M{"L".join(right + back)}z" fill="{colour}" fill-opacity=".55"/>'
            f'<path d="M{middle - 14:.1f} {median:.1f}h28" stroke="#1f2328" stroke-width="1.5"/>'
            f'<text x="{middle:.1f}" y="{height - 16}" text-anchor="middle">{escape(name)}</text>'
        )
    return _page(width, height, title, "".join(parts))


def radar(
    title: str, axes: Sequence[str], series: Mapping[str, Sequence[float]], low: float = 0.0
) -> str:
    """Draw one axis for each level, clockwise from the top, from ``low`` at the centre to 1.

    Examples
    --------
    >>> radar("tau", ["0", "1", "2"], {"model": [0.5, 0.6, 0.7]})[:4]
    '<svg'
    """
    size, radius = 300.0, 105.0
    cx, cy = 150.0, 150.0

    def at(k: int, value: float) -> str:
        angle = 2.0 * pi * k / len(axes) - 0.5 * pi
        reach = radius * max(0.0, (value - low) / (1.0 - low))
        return f"{cx + reach * cos(angle):.1f} {cy + reach * sin(angle):.1f}"

    parts = [f'<text x="{cx}" y="16" text-anchor="middle">{escape(title)}</text>']
    for ring in np.linspace(low, 1.0, 5)[1:]:
        corners = "L".join(at(k, float(ring)) for k in range(len(axes)))
        parts.append(f'<path d="M{corners}z" fill="none" stroke="#ddd"/>')
    for k, name in enumerate(axes):
        angle = 2.0 * pi * k / len(axes) - 0.5 * pi
        x, y = cx + (radius + 14) * cos(angle), cy + (radius + 14) * sin(angle) + 4
        parts.append(
            f'<path d="M{cx} {cy}L{at(k, 1.0)}" stroke="#eee"/>'
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" font-size="9">'
            f"{escape(name)}</text>"
        )
    for k, (name, values) in enumerate(series.items()):
        colour = COLOURS[k % len(COLOURS)]
        corners = "L".join(at(j, v) for j, v in enumerate(values))
        parts.append(f'<path d="M{corners}z" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        parts.append(
            f'<text x="{10 + 72 * k}" y="{size - 4}" fill="{colour}">{escape(name)}</text>'
        )
    return _page(size, size, title, "".join(parts))


def lines(
    title: str,
    x: FloatArray,
    series: Mapping[str, FloatArray],
    x_name: str,
    *,
    mark: float | None = None,
) -> str:
    """Draw series over a common x; ``mark`` sets a vertical line.

    Examples
    --------
    >>> lines("error", np.arange(3.0), {"atc": np.arange(3.0)}, "inversions")[:4]
    '<svg'
    """
    width, height, left, top, bottom = 460.0, 280.0, 56.0, 30.0, 46.0
    every = np.concatenate(list(series.values()))
    every = every[np.isfinite(every)]
    low, high = float(every.min()), float(every.max())
    room = 0.06 * (high - low) or 1.0
    low, high = low - room, high + room
    begin, end = float(x.min()), float(x.max())

    def px(value: float) -> float:
        return left + (value - begin) / ((end - begin) or 1.0) * (width - left - 16)

    def py(value: float) -> float:
        return height - bottom - (value - low) / (high - low) * (height - top - bottom)

    parts = [f'<text x="{width / 2:g}" y="16" text-anchor="middle">{escape(title)}</text>']
    parts += [
        f'<path d="M{left} {py(tick):.1f}H{width - 16:g}" stroke="#ddd"/>'
        f'<text x="{left - 6}" y="{py(tick) + 4:.1f}" text-anchor="end">{tick:.3g}</text>'
        for tick in np.linspace(low, high, 5)
    ]
    parts += [
        f'<text x="{px(tick):.1f}" y="{height - bottom + 16}" text-anchor="middle">{tick:.4g}'
        "</text>"
        for tick in np.linspace(begin, end, 6)
    ]
    parts.append(
        f'<text x="{width / 2:g}" y="{height - 6}" text-anchor="middle">{escape(x_name)}</text>'
    )
    if mark is not None:
        parts.append(
            f'<path d="M{px(mark):.1f} {top}V{height - bottom}" stroke="#d1242f" '
            'stroke-dasharray="4 3"/>'
        )
    for k, (name, values) in enumerate(series.items()):
        colour = COLOURS[k % len(COLOURS)]
        known = np.isfinite(values)
        points = "L".join(
            f"{px(a):.1f} {py(b):.1f}" for a, b in zip(x[known], values[known], strict=True)
        )
        parts.append(f'<path d="M{points}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        parts.append(
            f'<text x="{left + 8}" y="{top + 12 + 14 * k}" fill="{colour}">{escape(name)}</text>'
        )
    return _page(width, height, title, "".join(parts))
