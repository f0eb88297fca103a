"""Histograms of annotators: no plotting library, no script, readable in light and dark."""

from __future__ import annotations

from math import ceil, floor

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray
from aggcal.report.axes import Frame, round_step

_RELIABILITY, _STANCE = Frame(760.0, 340.0), Frame(760.0, 220.0)


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
    return _histogram(
        _RELIABILITY,
        reliability,
        round_step((high - low) / 24.0),
        (low, high),
        line=random,
        title="How many annotators have which reliability",
        below=f"reliability ({random:g} = random)",
        turned=turned,
    )


def stance_figure(stances: FloatArray, middle: float) -> str:
    """Draw how many annotators stand where on the axis; a line is where the common ground is taken.

    Examples
    --------
    >>> stance_figure(np.array([-1.0, 1.0, 1.1]), 0.0).count("<rect")
    2
    """
    low, high = float(stances.min()), float(stances.max())
    return _histogram(
        _STANCE,
        stances,
        round_step(max(high - low, 1e-9) / 16.0),
        (low, high),
        line=middle,
        title="How many annotators stand where between the ends A and B",
        below="nearer to A  ←  stance  →  nearer to B",
    )


def _histogram(
    frame: Frame,
    values: FloatArray,
    width: float,
    ends: tuple[float, float],
    *,
    line: float,
    title: str,
    below: str,
    turned: BoolArray | None = None,
) -> str:
    """Draw how many values are in each bin of a width; those that are turned stand at the foot."""
    edges = width * np.arange(floor(ends[0] / width), ceil(ends[1] / width + 1e-9) + 1)
    counts, _ = np.histogram(values, edges)
    against = np.zeros_like(counts)
    if turned is not None:
        against, _ = np.histogram(values[turned], edges)
    x = frame.x(edges[[0, -1]])
    y = frame.y(np.array([0.0, float(counts.max())]), pad=0.0)
    bars = []
    for number, odd, begin, end in zip(counts, against, edges[:-1], edges[1:], strict=True):
        for kind, foot, top in (("reversed", 0, odd), ("bar", odd, number)):
            if top == foot:
                continue
            said = f"{top - foot} {'reversed ' if kind == 'reversed' else ''}annotators"
            bars.append(
                f'<rect class="{kind}" x="{x.at(begin) + 0.5:.1f}" y="{y.at(float(top)):.1f}" '
                f'width="{x.at(end) - x.at(begin) - 1:.1f}" '
                f'height="{y.at(float(foot)) - y.at(float(top)):.1f}">'
                f"<title>{said} from {begin:.3g} to {end:.3g}</title></rect>"
            )
    zero = f'<path class="zero" d="M{x.at(line):.1f} {frame.top}V{frame.foot}"/>'
    axes = frame.y_axis(y, "annotators", whole=True) + frame.x_axis(x, below)
    return frame.svg(title, axes + "".join(bars) + zero)
