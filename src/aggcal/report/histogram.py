"""The histogram of reliabilities: no plotting library, no script, readable in light and dark."""

from __future__ import annotations

from math import ceil, floor

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray
from aggcal.report.axes import Frame, round_step

_FRAME = Frame(760.0, 340.0)


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
