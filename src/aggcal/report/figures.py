"""Figures as small SVG texts: no plotting library, no script, readable in light and dark."""

from __future__ import annotations

from html import escape
from math import ceil, floor

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, TextArray
from aggcal.report.axes import Frame, Scale, round_step
from aggcal.report.listing import cut

_FRAME = Frame(760.0, 340.0)
_MOST_POINTS = 3000  # more make the page slow and show no more
_TITLED_POINTS = 1000  # titles of more would be half of the page's size
_LONGEST_TITLE = 80  # characters


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
    y = _FRAME.y(_finite(np.concatenate([model, calibrated, *(interval or ())])))
    x = _FRAME.x(position[[0, -1]] + np.array([-0.5, 0.5]))
    shown = np.unique(np.linspace(0, n - 1, min(n, _MOST_POINTS)).round().astype(np.int64))
    radius = 3.2 if n <= 150 else 2.2 if n <= 600 else 1.4  # noqa: PLR2004  # dots that do not clog
    dots: list[str] = []
    moves: list[str] = []
    for k in shown:
        cx, cy, to = x.at(float(position[k])), y.at(float(model[k])), y.at(float(calibrated[k]))
        if n <= _TITLED_POINTS:
            moves.append(f"M{cx:.1f} {cy:.1f}V{to:.1f}")
            name = cut(str(item_ids[k]), _LONGEST_TITLE)
            said = f"{name}: model {model[k]:.4g}, calibrated {calibrated[k]:.4g}"
            dots.append(
                f'<circle class="model" cx="{cx:.1f}" cy="{cy:.1f}" r="{radius}">'
                f"<title>{escape(said)}</title></circle>"
            )
        else:
            dots.append(f'<circle class="model" cx="{cx:.1f}" cy="{cy:.1f}" r="{radius}"/>')
    # As many steps as there are items draw no finer line than those shown do.
    many = np.count_nonzero(np.diff(calibrated)) > _MOST_POINTS
    path = _line(position, calibrated, shown, x, y) if many else _steps(position, calibrated, x, y)
    band = "" if interval is None else _band(position[shown], interval, shown, x, y)
    lines = f'<path class="move" d="{"".join(moves)}"/>' if moves else ""
    body = band + lines + "".join(dots) + f'<path class="calibrated" d="{path}"/>'
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


def _line(position: IntArray, values: FloatArray, shown: IntArray, x: Scale, y: Scale) -> str:
    """Write a line through some of the items."""
    points = (f"{x.at(float(position[k])):.1f} {y.at(float(values[k])):.1f}" for k in shown)
    return "M" + "L".join(points)


def _finite(values: FloatArray) -> FloatArray:
    """Return the numbers that an axis can hold."""
    return values[np.isfinite(values)]


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
    # An interval without end reaches the end of the axis.
    ends = (np.clip(end[shown], y.low, y.high) for end in interval)
    for at, low, high in zip(position, *ends, strict=True):
        if np.isnan(low) or np.isnan(high):
            continue
        top = y.at(float(high))
        bars.append(
            f"M{x.at(float(at)) - 0.5 * wide:.1f} {top:.1f}h{wide:.1f}"
            f"V{y.at(float(low)):.1f}h{-wide:.1f}z"
        )
    return f'<path class="interval" d="{"".join(bars)}"/>'


def rank_figure(rank: FloatArray, low: FloatArray, high: FloatArray) -> str:
    """Draw for each item the places that it may have, about the one that it got.

    Examples
    --------
    >>> rank_figure(np.array([1.0, 2.0]), np.array([1.0, 1.0]), np.array([2.0, 2.0]))[:4]
    '<svg'
    """
    known = np.flatnonzero(np.isfinite(rank) & np.isfinite(low) & np.isfinite(high))
    ends = np.array([0.5, float(max(rank[known].max(), high[known].max())) + 0.5])
    x = _FRAME.x(ends)
    y = _FRAME.y(-ends[::-1], pad=0.0)  # the first place is at the top
    few = np.linspace(0, len(known) - 1, min(len(known), _MOST_POINTS))
    bars, dots = [], []
    for k in known[np.unique(few.round().astype(np.int64))]:
        at = x.at(float(rank[k]))
        bars.append(f"M{at:.1f} {y.at(0.5 - low[k]):.1f}V{y.at(-0.5 - high[k]):.1f}")
        dots.append(f"M{at:.1f} {y.at(0.5 - rank[k]):.1f}V{y.at(-0.5 - rank[k]):.1f}")
    wide = max(1.0, min(12.0, 0.7 * (x.at(2.0) - x.at(1.0))))
    return _FRAME.svg(
        "For each item, in consensus order: the places that it may have, and the one it got",
        _FRAME.y_axis(y, "places it may have", whole=True)
        + _FRAME.x_axis(x, "consensus rank (1 = highest)", whole=True)
        + f'<path class="span" stroke-width="{wide:.1f}" d="{"".join(bars)}"/>'
        + f'<path class="place" stroke-width="{wide:.1f}" d="{"".join(dots)}"/>',
    )


def reliability_figure(
    reliability: FloatArray, random: float = 0.0, turned: BoolArray | None = None
) -> str:
    """Draw how the annotators' reliabilities are spread; those with the verdict reversed stand out.

    Examples
    --------
    >>> turned = np.array([False, False, True])
    >>> drawn = reliability_figure(np.array([0.5, 1.0, -0.2]), turned=turned)
    >>> drawn.count('class="reversed"')
    1
    """
    low, high = min(0.0, float(reliability.min())), max(1.0, float(reliability.max()))
    width = round_step((high - low) / 24.0)
    marks = range(floor(low / width), ceil(high / width + 1e-9) + 1)
    edges = np.array([k * width for k in marks])
    counts, _ = np.histogram(reliability, edges)
    against = np.zeros_like(counts)
    if turned is not None:
        against, _ = np.histogram(reliability[turned], edges)
    x = _FRAME.x(edges[[0, -1]])
    y = _FRAME.y(np.array([0.0, float(counts.max())]), pad=0.0)
    bars = []
    for all_, odd, begin, end in zip(counts, against, edges[:-1], edges[1:], strict=True):
        # The reversed at the foot, the others above them.
        for kind, low_end, high_end in (("reversed", 0, odd), ("bar", odd, all_)):
            if high_end == low_end:
                continue
            top = y.at(float(high_end))
            said = f"{high_end - low_end} {'reversed ' if kind == 'reversed' else ''}annotators"
            bars.append(
                f'<rect class="{kind}" x="{x.at(begin) + 0.5:.1f}" y="{top:.1f}" '
                f'width="{x.at(end) - x.at(begin) - 1:.1f}" '
                f'height="{y.at(float(low_end)) - top:.1f}">'
                f"<title>{said} from {begin:.3g} to {end:.3g}</title></rect>"
            )
    zero = f'<path class="zero" d="M{x.at(random):.1f} {_FRAME.top}V{_FRAME.foot}"/>'
    return _FRAME.svg(
        "How many annotators have which reliability",
        _FRAME.y_axis(y, "annotators", whole=True)
        + _FRAME.x_axis(x, f"reliability ({random:g} = random)")
        + "".join(bars)
        + zero,
    )
