"""Figures as small SVG texts: no plotting library, no script, readable in light and dark."""

from __future__ import annotations

from html import escape
from math import ceil, floor

import numpy as np

from aggcal.arrays import FloatArray, IntArray, TextArray
from aggcal.report.axes import Frame, Scale, round_step

_FRAME = Frame(760.0, 340.0)
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
    y = _FRAME.y(np.concatenate([model, calibrated, *(interval or ())]))
    x = _FRAME.x(position[[0, -1]] + np.array([-0.5, 0.5]))
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
    return _FRAME.svg(
        "Model scores (dots), calibrated scores (line) and their intervals, in consensus order",
        _FRAME.y_axis(y, "score, in the model's units")
        + _FRAME.x_axis(x, "consensus rank (1 = highest)", whole=True)
        + body,
    )


def _steps(position: IntArray, values: FloatArray, x: Scale, y: Scale) -> str:
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
    x: Scale,
    y: Scale,
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
    width = round_step((high - low) / 24.0)
    marks = range(floor(low / width), ceil(high / width + 1e-9) + 1)
    edges = np.array([k * width for k in marks])
    counts, _ = np.histogram(reliability, edges)
    x = _FRAME.x(edges[[0, -1]])
    y = _FRAME.y(np.array([0.0, float(counts.max())]), pad=0.0)
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
    zero = f'<path class="zero" d="M{x.at(random):.1f} {_FRAME.top}V{_FRAME.foot}"/>'
    return _FRAME.svg(
        "How many annotators have which reliability",
        _FRAME.y_axis(y, "annotators", whole=True)
        + _FRAME.x_axis(x, f"reliability ({random:g} = random, below = reversed)")
        + "".join(bars)
        + zero,
    )
