"""Every drawing, as SVG that is readable in light and dark: no plotting library and no script.

A page has the style of its figures; `standalone` gives it to one that is a file of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.markup import Markup, joined, tag
from aggcal._core.palette import AMBER, BLUE, GREY, INK, NIGHT, PALE, PAPER
from aggcal._core.text import clipped
from aggcal.pages.numbers import MINUS, cut

MATRIX = range(3, 61)
"""Numbers of items of which all pairs can be read."""

STYLE = (
    "svg.figure{width:100%;height:auto;font:12px system-ui,sans-serif;fill:currentColor}"
    ".figure .grid{stroke:currentColor;stroke-opacity:.14;fill:none}"
    ".figure .zero{stroke:currentColor;stroke-dasharray:4 3;stroke-opacity:.6;fill:none}"
    f".figure .interval{{stroke:{GREY};stroke-width:2;fill:none}}.figure .dot{{fill:{GREY}}}"
    f".figure .line,.chosen .interval{{stroke:{BLUE};stroke-width:2;fill:none}}"
    f".figure .chosen .dot{{fill:{BLUE}}}.chosen text,.answer{{font-weight:600}}"
    f".figure .band{{fill:{BLUE};fill-opacity:.16}}"
    f".figure .goal{{stroke:{AMBER};stroke-width:2;stroke-dasharray:5 4;fill:none}}"
)
"""The style of figures, for a page of others or a file of their own."""
_ALONE = (
    f"svg{{color:{INK};background:{PAPER}}}"
    f"@media(prefers-color-scheme:dark){{svg{{color:{PALE};background:{NIGHT}}}}}"
)

Pair = Sequence[int]
"""Two positions, wins of the first, wins of the second, ties."""
Points = Iterable[tuple[float, float]]

# What drawings are made of ------------------------------------------------------------------------


class Scale:
    """A linear map from numbers to pixels, with room at both ends.

    Examples
    --------
    >>> scale = Scale(np.array([0.0, 10.0]), 0.0, 100.0, pad=0.0)
    >>> scale.at(5.0), scale.ticks()
    (50.0, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0])
    """

    def __init__(self, values: FloatArray, begin: float, end: float, *, pad: float = 0.04) -> None:
        low, high = float(np.min(values)), float(np.max(values))
        if not high > low:
            low, high = low - 0.5, high + 0.5
        room = pad * (high - low)
        self.low, self.high = low - room, high + room
        self._begin, self._end = begin, end

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        share = (float(value) - self.low) / (self.high - self.low)
        return self._begin + share * (self._end - self._begin)

    def ticks(self) -> list[float]:
        """Return the round numbers to write on the axis."""
        step = round_step((self.high - self.low) / 6.0)
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

    def y_axis(self, scale: Scale, name: str) -> Markup:
        """Draw the lines of the grid, their numbers, and the name."""
        parts = []
        for tick in scale.ticks():
            at = scale.at(tick)
            parts += [self.across("grid", at), label(_round(tick), self.left - 8, at + 4, "end")]
        turned = f"translate(14 {(self.top + self.foot) / 2}) rotate(-90)"
        return joined([*parts, tag("text", name, transform=turned, text_anchor="middle")])

    def x_axis(
        self,
        scale: Scale,
        name: str,
        ticks: Mapping[float, float] | None = None,
        *,
        grid: bool = False,
    ) -> Markup:
        """Draw the numbers and the name; ``ticks`` are where numbers lie, if not on the scale."""
        shown = ticks or {tick: tick for tick in scale.ticks()}
        parts = [self.upright("grid", scale.at(at)) for at in shown.values() if grid]
        parts += [label(_round(tick), scale.at(at), self.foot + 18) for tick, at in shown.items()]
        return joined([*parts, label(name, (self.left + self.end) / 2, self.height - 6)])

    def upright(self, kind: str, x: float) -> Markup:
        """Draw a line from the top to the foot."""
        return path(kind, [(x, self.top), (x, self.foot)])

    def across(self, kind: str, y: float) -> Markup:
        """Draw a line from left to right."""
        return path(kind, [(self.left, y), (self.end, y)])

    def svg(self, title: str, *body: Markup) -> Markup:
        """Return the figure, to stand in a page that has its style."""
        size = f"0 0 {self.width:g} {self.height:g}"
        space = "http://www.w3.org/2000/svg"
        return _svg("figure", title, *body, xmlns=space, viewBox=size)


def standalone(svg: str) -> str:
    """Return a figure as a file of its own, for light and dark screens.

    Examples
    --------
    >>> "<style>" in standalone(Frame(10.0, 10.0).svg("nothing"))
    True
    """
    head, rest = svg.split(">", 1)
    return f"{head}><style>{STYLE}{_ALONE}</style>{rest}\n"


def path(kind: str, points: Points, *, closed: bool = False, **more: Any) -> Markup:
    """Draw a line through points.

    Examples
    --------
    >>> path("line", [(0.0, 1.0), (2.0, 3.0)])
    '<path class="line" d="M0.0 1.0L2.0 3.0"></path>'
    """
    d = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return tag("path", class_=kind, d=f"M{d}{'z' if closed else ''}" if d else "", **more)


def label(text: str, x: float, y: float, anchor: str = "middle", **more: Any) -> Markup:
    """Write words into a figure."""
    return tag("text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, **more)


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


def _svg(kind: str, title: str, *body: Markup, **attributes: Any) -> Markup:
    return tag("svg", tag("title", title), *body, class_=kind, role="img", **attributes)


def _round(value: float) -> str:
    return f"{value:,.10g}".replace("-", MINUS)


# The figures --------------------------------------------------------------------------------------


_CELL, _LABEL, _HEAD = 14, 170, 18  # of a matrix, in the units of the drawing
_TURNS = 7  # colours of a share: lost, even, won
_GROWS, _SMALLEST = 5, 0.5  # judgments from which a square is at its full size


def matrix(names: Sequence[str], pairs: Sequence[Pair]) -> Markup:
    """Draw which share of its comparisons the row's item won against the column's.

    Examples
    --------
    >>> drawn = matrix(["a", "b", "c"], [[0, 1, 3, 0, 0], [1, 2, 1, 1, 0]])
    >>> drawn.count('class="h6"'), drawn.count('class="h3"')
    (2, 2)
    """
    squares: dict[str, list[str]] = {f"h{k}": [] for k in range(_TURNS)}
    for i, j, won, lost, tied in pairs:
        whole = won + lost + tied
        size = _SMALLEST + (1.0 - _SMALLEST) * min(1.0, whole / _GROWS)
        share = (won + 0.5 * tied) / whole if whole else 0.5
        for row, column, part in ((i, j, share), (j, i, 1.0 - share)):
            kind = f"h{min(_TURNS - 1, int(_TURNS * part))}"
            squares[kind].append(_square(row, column, size))
    side = len(names) * _CELL
    foot = _HEAD + side + 20
    drawn = [path("diagonal", [(_LABEL, _HEAD), (_LABEL + side, _HEAD + side)])]
    drawn += [tag("path", class_=kind, d="".join(d)) for kind, d in squares.items() if d]
    for k, name in enumerate(names):
        at = k * _CELL + 10
        drawn.append(label(cut(name, 26), _LABEL - 6, _HEAD + at, "end", class_="lab"))
        if k == 0 or (k + 1) % 5 == 0:
            drawn.append(label(f"{k + 1}", _LABEL + at - 4, 12, class_="tick"))
    drawn.append(label("row item lost", _LABEL - 6, foot, "end", class_="tick"))
    for k, kind in enumerate(squares):
        drawn.append(tag("rect", class_=kind, x=_LABEL + 18 * k, y=foot - 9, width=16, height=11))
    at = _LABEL + 18 * len(squares) + 6
    drawn.append(label("row item won", at, foot, "start", class_="tick"))
    extent = f"0 0 {_LABEL + max(side, 360)} {foot + 4}"
    where = {"data_cell": _CELL, "data_left": _LABEL, "data_top": _HEAD}
    title = "Share of comparisons that the row's item won"
    return _svg("matrix", title, *drawn, viewBox=extent, **where)


def _square(row: int, column: int, size: float) -> str:
    room, side = 0.5 * (_CELL - 1) * (1.0 - size), (_CELL - 1) * size
    x, y = _LABEL + column * _CELL + room, _HEAD + row * _CELL + room
    return f"M{x:g} {y:g}h{side:g}v{side:g}h-{side:g}z"


def growth(  # what studies of different sizes reach
    numbers: FloatArray,
    value: FloatArray,
    ends: tuple[FloatArray, FloatArray],
    goal: float,
    needed: float | None,
    *,
    measure: str,
    what: str,
) -> str:
    """Draw what studies reach by their number of judgments, on a log scale, as a file of its own.

    Parameters
    ----------
    numbers, value, ends
        Numbers of judgments, what is reached, and between what most studies lie.
    goal, needed
        What is to be reached, and with how many judgments it is.
    measure, what
        The names of the axes.

    Examples
    --------
    >>> numbers, value = np.array([100.0, 200.0]), np.array([0.6, 0.8])
    >>> drawn = growth(numbers, value, (value, value), 0.7, 140.0, measure="tau", what="judgments")
    >>> drawn.count('class="dot"'), "about 140 judgments" in drawn
    (2, True)
    """
    frame = Frame(680.0, 380.0, top=28.0, bottom=52.0)
    y, x = frame.y(np.concatenate([*ends, [goal]])), frame.x(_log(numbers), pad=0.03)
    across = [x.at(at) for at in _log(numbers)]
    down, up, middle = (
        [(at, y.at(one)) for at, one in zip(across, each, strict=True)] for each in (*ends, value)
    )
    dots = [
        tag(
            "circle",
            tag("title", f"{n:,.0f}: {v:.3f}"),
            class_="dot",
            cx=f"{a:.1f}",
            cy=f"{b:.1f}",
            r=4,
        )
        for (a, b), n, v in zip(middle, numbers, value, strict=True)
    ]
    height = y.at(goal)
    reached = [frame.across("goal", height)]
    if needed is not None:
        at = x.at(float(_log(np.array(needed))))
        side, aside = ("end", -6.0) if at > 0.6 * frame.end else ("start", 6.0)
        said = f"about {needed:,.0f} {what}"
        reached.append(path("goal", [(at, height), (at, frame.foot)]))
        reached.append(label(said, at + aside, frame.foot - 8, side, class_="answer"))
    title = f"{measure} by the number of {what}: mean, and between what 8 of 10 studies lie"
    return standalone(
        frame.svg(
            title,
            frame.y_axis(y, measure),
            frame.x_axis(x, what, _log_ticks(numbers), grid=True),
            path("band", [*up, *down[::-1]], closed=True),
            path("line", middle),
            tag("g", *dots, class_="chosen"),
            *reached,
        )
    )


def _log(numbers: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.maximum(numbers, 1.0)))


def _log_ticks(numbers: FloatArray) -> dict[float, float]:
    """Return round numbers, and their logarithms."""
    first, last = max(float(numbers.min()), 1.0), max(float(numbers.max()), 2.0)
    powers = range(floor(log10(first)), ceil(log10(last)) + 1)
    ticks = [m * 10.0**p for p in powers for m in (1, 2, 5)]
    return {t: float(np.log(t)) for t in ticks if first * 0.97 <= t <= last * 1.03}


@dataclass(frozen=True)
class Dot:
    """A row of `dots`: its value, and the interval of that."""

    label: str
    value: float
    low: float
    high: float
    chosen: bool = False


def dots(rows: Sequence[Dot], title: str, name: str) -> str:
    """Draw a dot and an interval for each row, as a file of its own.

    Examples
    --------
    >>> rows = [Dot("hra-g", -0.02, -0.03, -0.01, chosen=True), Dot("btl", 0.0, 0.0, 0.0)]
    >>> drawn = dots(rows, "Log-loss", "log-loss")
    >>> drawn.count('class="dot"'), "prefers-color-scheme:dark" in drawn
    (2, True)
    """
    labels = [clipped(row.label) for row in rows]
    height, left = 26.0, 24.0 + 7.2 * max(map(len, labels))  # of a row, and of the labels
    frame = Frame(left + 560.0, 84.0 + height * len(rows), left=left, top=20.0, bottom=56.0)
    ends = [end for row in rows for end in (row.value, row.low, row.high) if isfinite(end)]
    x = frame.x(np.array([0.0, *ends]), pad=0.04)
    drawn = [frame.upright("zero", x.at(0.0))]
    for k, (row, text) in enumerate(zip(rows, labels, strict=True)):
        y, said = frame.top + height * (k + 0.5), f"{text}: {row.value:.4f}"
        parts = [label(text, left - 12, y + 4, "end")]
        if isfinite(row.low) and isfinite(row.high):
            said += f" ({row.low:.4f} to {row.high:.4f})"
            parts.append(path("interval", [(x.at(row.low), y), (x.at(row.high), y)]))
        dot = tag("circle", class_="dot", cx=f"{x.at(row.value):.1f}", cy=f"{y:.1f}", r=4.5)
        told = tag("title", said.replace("-", MINUS))
        drawn.append(tag("g", told, *parts, dot, class_="chosen" if row.chosen else ""))
    return standalone(frame.svg(title, frame.x_axis(x, name, grid=True), *drawn))
