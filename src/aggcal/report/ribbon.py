"""All items at a glance, where there are too many for a row each to tell the shape."""

from __future__ import annotations

from html import escape
from itertools import pairwise

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.unmasked import distinct, median, quantiles
from aggcal.report.axes import Frame, Scale

FEWEST = 200
"""Items above which there is an overview."""

_FRAME = Frame(1240.0, 190.0, left=0.0, right=0.0, top=8.0, bottom=26.0)
_BIN, _BINS = 20, 120
"""Ranks in a bin, at least, and bins at most: smaller ones are noise, fewer hide the steps."""


def ribbon(
    score: FloatArray,
    low: FloatArray | None = None,
    high: FloatArray | None = None,
    model: FloatArray | None = None,
) -> str:
    """Draw scores by rank, their typical interval, and where the model's scores lie around them.

    Examples
    --------
    >>> falling = -np.arange(500.0)
    >>> drawn = ribbon(falling, falling - 9.0, falling + 9.0, falling + 1.0)
    >>> [drawn.count(f'class="{kind}"') for kind in ("most", "half", "interval", "line")]
    [1, 1, 1, 1]
    """
    n = len(score)
    edges = distinct(np.linspace(0, n, max(2, min(_BINS, n // _BIN) + 1)).round().astype(np.int64))
    bins = [slice(a, b) for a, b in pairwise(edges)]
    bands: list[tuple[str, FloatArray, FloatArray]] = []
    if model is not None and np.isfinite(model).any():
        quantiles = np.array([_quantiles(model[own]) for own in bins])
        bands += [("most", quantiles[:, 0], quantiles[:, 3])]
        bands += [("half", quantiles[:, 1], quantiles[:, 2])]
    if low is not None and high is not None and np.isfinite(low).any():
        ends = [np.array([_median(column[own]) for own in bins]) for column in (low, high)]
        bands.append(("interval", ends[0], ends[1]))
    flat = np.concatenate([score, *(end for _, *both in bands for end in both)])
    y = _FRAME.y(flat[np.isfinite(flat)] if np.isfinite(flat).any() else np.zeros(1))
    x = _FRAME.x(np.array([0.0, float(n)]))
    # The outermost bins reach to the ends: no band is narrower than the line.
    middle = np.array([0.5 * (own.start + own.stop) for own in bins])
    at = np.concatenate([[0.0], middle, [float(n)]])
    body = "".join(_band(kind, at, (_to_ends(a), _to_ends(b)), x, y) for kind, a, b in bands)
    body += _line(score, x, y)
    return (
        f'<svg class="ribbon" role="img">'
        f"<title>Scores of all {n:,} items by rank, with their intervals</title>"
        f"{_axes(x, y, n)}"
        f'<svg width="100%" height="{_FRAME.height:g}" preserveAspectRatio="none" '
        f'viewBox="0 0 {_FRAME.width:g} {_FRAME.height:g}">{body}</svg></svg>'
    )


def _to_ends(values: FloatArray) -> FloatArray:
    """Repeat the outermost values."""
    return np.concatenate([values[:1], values, values[-1:]])


def _quantiles(values: FloatArray) -> FloatArray:
    known = values[np.isfinite(values)]
    if not known.size:
        return np.full(4, np.nan)
    found: FloatArray = quantiles(known, (0.1, 0.25, 0.75, 0.9))
    return found


def _median(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return median(known) if known.size else np.nan


def _band(
    kind: str, at: FloatArray, ends: tuple[FloatArray, FloatArray], x: Scale, y: Scale
) -> str:
    low, high = ends
    known = np.isfinite(low) & np.isfinite(high)
    if not known.any():
        return ""
    above = [f"{x.at(a):.1f} {y.at(b):.1f}" for a, b in zip(at[known], high[known], strict=True)]
    below = [f"{x.at(a):.1f} {y.at(b):.1f}" for a, b in zip(at[known], low[known], strict=True)]
    return f'<path class="{kind}" d="M{"L".join(above)}L{"L".join(below[::-1])}z"/>'


def _line(score: FloatArray, x: Scale, y: Scale) -> str:
    """Draw the scores as steps; of very many items, as many as the drawing has room for."""
    shown = distinct(np.linspace(0, len(score) - 1, min(len(score), 1200)).round().astype(int))
    shown = shown[np.isfinite(score[shown])]
    path = [f"{x.at(float(k)):.1f} {y.at(float(score[k])):.1f}" for k in shown]
    return f'<path class="line" d="M{"L".join(path)}"/>' if path else ""


def _axes(x: Scale, y: Scale, n: int) -> str:
    """Draw the axes: in percent across, so that a narrow screen does not shrink the letters."""
    parts = []
    for tick in y.ticks():
        at = y.at(tick)
        label = escape(f"{tick:,.10g}".replace("-", "\N{MINUS SIGN}"))
        parts.append(f'<line class="grid" x1="0" x2="100%" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text x="100%" dx="8" y="{at + 4:.1f}">{label}</text>')
    inner = [tick for tick in x.ticks(whole=True) if 0.18 * n < tick < 0.86 * n]
    low = _FRAME.height - 6
    for tick in inner:
        share = 100.0 * tick / n
        parts.append(f'<text x="{share:.2f}%" y="{low}" text-anchor="middle">{tick:,.0f}</text>')
    parts.append(f'<text x="0" y="{low}">rank 1</text>')
    parts.append(f'<text x="100%" y="{low}" text-anchor="end">{n:,}</text>')
    return "".join(parts)
