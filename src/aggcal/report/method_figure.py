"""How far methods are from the reference in held-out log-loss: a dot and an interval each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from math import isfinite

import numpy as np

from aggcal._core.palette import BLUE, GREY, INK, NIGHT, PALE, PAPER
from aggcal._core.records import dataclass
from aggcal._core.text import clipped
from aggcal.report.axes import Frame

_ROW, _LETTER = 26.0, 7.2
"""Height of a row and width of a letter: smaller ones would touch."""
_STYLE = (
    f"svg{{color:{INK};font:12px system-ui,sans-serif;fill:currentColor;background:{PAPER}}}"
    f".grid{{stroke:currentColor;stroke-opacity:.14;fill:none}}"
    f".zero{{stroke:currentColor;stroke-dasharray:4 3;stroke-opacity:.6;fill:none}}"
    f".interval{{stroke:{GREY};stroke-width:2;fill:none}}.dot{{fill:{GREY}}}"
    f".chosen .interval{{stroke:{BLUE}}}.chosen .dot{{fill:{BLUE}}}.chosen text{{font-weight:600}}"
    f"@media(prefers-color-scheme:dark){{svg{{color:{PALE};background:{NIGHT}}}}}"
)


@dataclass(frozen=True)
class Dot:
    """A method in the figure: its difference from the reference, and the interval of that."""

    label: str
    value: float
    low: float
    high: float
    chosen: bool = False


def method_figure(dots: Sequence[Dot], reference: str, level: float) -> str:
    """Draw methods from the best to the worst, as a file of its own for light and dark screens.

    Examples
    --------
    >>> dots = [Dot("hra-g", -0.02, -0.03, -0.01, chosen=True), Dot("btl", 0.0, 0.0, 0.0)]
    >>> drawn = method_figure(dots, "btl", 0.95)
    >>> drawn.count('class="dot"'), "prefers-color-scheme:dark" in drawn
    (2, True)
    """
    labels = [clipped(dot.label) for dot in dots]
    left = 24.0 + _LETTER * max(map(len, labels))
    frame = Frame(left + 560.0, 84.0 + _ROW * len(dots), left=left, top=20.0, bottom=56.0)
    ends = [end for dot in dots for end in (dot.value, dot.low, dot.high) if isfinite(end)]
    x = frame.x(np.array([0.0, *ends]), pad=0.04)
    foot = frame.foot
    grid = "".join(
        f'<path class="grid" d="M{x.at(tick):.1f} {frame.top}V{foot}"/>' for tick in x.ticks()
    )
    rows = "".join(
        _row(dot, label, x.at, left, frame.top + _ROW * (k + 0.5))
        for k, (dot, label) in enumerate(zip(dots, labels, strict=True))
    )
    zero = f'<path class="zero" d="M{x.at(0.0):.1f} {frame.top}V{foot}"/>'
    name = f"held-out log-loss minus that of {reference} ({level:.0%} intervals; lower is better)"
    title = f"Held-out log-loss of each method, compared with {reference}"
    axis = frame.x_axis(x, name).replace(">-", ">−")
    head, rest = frame.svg(title, grid + zero + rows + axis).split(">", 1)
    return f"{head}><style>{_STYLE}</style>{rest}\n"


def _row(dot: Dot, label: str, at: Callable[[float], float], left: float, y: float) -> str:
    """Draw one method: its name, its interval, its dot."""
    kind = ' class="chosen"' if dot.chosen else ""
    name = f'<text x="{left - 12:.1f}" y="{y + 4:.1f}" text-anchor="end">{escape(label)}</text>'
    whole = isfinite(dot.low) and isfinite(dot.high)
    line = f'<path class="interval" d="M{at(dot.low):.1f} {y:.1f}H{at(dot.high):.1f}"/>'
    said = f"{dot.value:.4f}" + (f" ({dot.low:.4f} to {dot.high:.4f})" if whole else "")
    said = said.replace("-", "−")
    circle = f'<circle class="dot" cx="{at(dot.value):.1f}" cy="{y:.1f}" r="4.5"/>'
    drawn = f"{name}{line}{circle}" if whole else f"{name}{circle}"
    return f"<g{kind}><title>{escape(label)}: {said}</title>{drawn}</g>"
