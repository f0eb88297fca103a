"""What studies of different sizes reach: a line with its band, and where it meets the goal."""

from __future__ import annotations

from html import escape
from math import ceil, floor, log10

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.palette import AMBER, BLUE, INK, NIGHT, PALE, PAPER
from aggcal._core.records import dataclass
from aggcal.report.axes import Frame, Scale

_STYLE = (
    f"svg{{color:{INK};font:12px system-ui,sans-serif;fill:currentColor;background:{PAPER}}}"
    f".grid{{stroke:currentColor;stroke-opacity:.14;fill:none}}"
    f".band{{fill:{BLUE};fill-opacity:.16}}.line{{stroke:{BLUE};stroke-width:2;fill:none}}"
    f".dot{{fill:{BLUE}}}.goal{{stroke:{AMBER};stroke-width:2;stroke-dasharray:5 4;fill:none}}"
    f".answer{{font-weight:600}}"
    f"@media(prefers-color-scheme:dark){{svg{{color:{PALE};background:{NIGHT}}}}}"
)
_ROUND = (1, 2, 5)  # times a power of ten: what is written on the axis


@dataclass(frozen=True, eq=False)
class PowerLine:
    """What is drawn: numbers of judgments, what is reached, and between what most studies lie."""

    numbers: FloatArray
    value: FloatArray
    low: FloatArray
    high: FloatArray
    goal: float
    needed: float | None


def power_figure(line: PowerLine, measure: str, *, more: bool) -> str:
    """Draw what studies reach by their number of judgments, on a log scale.

    Examples
    --------
    >>> numbers, value = np.array([100.0, 200.0]), np.array([0.6, 0.8])
    >>> drawn = power_figure(PowerLine(numbers, value, value, value, 0.7, 140.0), "tau", more=False)
    >>> drawn.count('class="dot"'), "about 140 judgments" in drawn
    (2, True)
    """
    frame = Frame(680.0, 380.0, top=28.0, bottom=52.0)
    ends = np.concatenate([line.low, line.high, [line.goal]])
    y, x = frame.y(ends), frame.x(_log(line.numbers), pad=0.03)
    across = [x.at(float(at)) for at in _log(line.numbers)]
    up, down, middle = (
        [(at, y.at(float(value))) for at, value in zip(across, values, strict=True)]
        for values in (line.high, line.low, line.value)
    )
    band = f'<path class="band" d="M{_points([*up, *reversed(down)])}Z"/>'
    drawn = f'<path class="line" d="M{_points(middle)}"/>'
    dots = "".join(
        f'<circle class="dot" cx="{at:.1f}" cy="{height:.1f}" r="4"><title>'
        f"{number:,.0f}: {value:.3f}</title></circle>"
        for (at, height), number, value in zip(middle, line.numbers, line.value, strict=True)
    )
    what = "more judgments" if more else "judgments"
    title = f"{measure} by the number of {what}: mean, and between what 8 of 10 studies lie"
    body = frame.y_axis(y, measure) + _x_axis(frame, x, line.numbers, what)
    body += band + drawn + dots + _goal(frame, x, y, line, what)
    head, rest = frame.svg(title, body).split(">", 1)
    return f"{head}><style>{_STYLE}</style>{rest}\n"


def _goal(frame: Frame, x: Scale, y: Scale, line: PowerLine, what: str) -> str:
    """Draw the goal, and where it is reached."""
    height = y.at(line.goal)
    across = f'<path class="goal" d="M{frame.left} {height:.1f}H{frame.end}"/>'
    if line.needed is None:
        return across
    at = x.at(float(_log(np.array(line.needed))))
    anchor = "end" if at > 0.6 * frame.end else "start"
    aside = -6.0 if anchor == "end" else 6.0
    return (
        f'{across}<path class="goal" d="M{at:.1f} {height:.1f}V{frame.foot}"/>'
        f'<text class="answer" x="{at + aside:.1f}" y="{frame.foot - 8:.1f}" '
        f'text-anchor="{anchor}">about {line.needed:,.0f} {escape(what)}</text>'
    )


def _x_axis(frame: Frame, x: Scale, numbers: FloatArray, what: str) -> str:
    """Write round numbers on the log scale."""
    first, last = max(float(numbers.min()), 1.0), max(float(numbers.max()), 2.0)
    powers = range(floor(log10(first)), ceil(log10(last)) + 1)
    ticks = [m * 10.0**p for p in powers for m in _ROUND]
    inside = [t for t in ticks if first * 0.97 <= t <= last * 1.03]
    parts = []
    for tick in inside:
        at = x.at(float(_log(np.array(tick))))
        parts.append(f'<path class="grid" d="M{at:.1f} {frame.top}V{frame.foot}"/>')
        parts.append(
            f'<text x="{at:.1f}" y="{frame.foot + 18}" text-anchor="middle">{tick:,.0f}</text>'
        )
    middle = (frame.left + frame.end) / 2
    name = f'<text x="{middle}" y="{frame.height - 8}" text-anchor="middle">{escape(what)}</text>'
    return "".join(parts) + name


def _log(numbers: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.maximum(numbers, 1.0)))


def _points(points: list[tuple[float, float]]) -> str:
    return "L".join(f"{a:.1f} {b:.1f}" for a, b in points)
