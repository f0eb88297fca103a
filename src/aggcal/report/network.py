"""Who was compared with whom: the comparison graph of a small study."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import cos, pi, sin

from aggcal.pages.numbers import cut
from aggcal.report.matrix import Pair

FEWEST, MOST = 3, 30
"""Items for which there is a graph: of more, the lines hide each other."""

_RADIUS, _LONGEST, _LETTER = 150.0, 20, 7.0  # of the circle; characters of a name; room for one
_THIN, _THICK = 0.6, 5.0  # lines of one judgment, and of the most


def network(names: Sequence[str], pairs: Sequence[Pair]) -> str:
    """Draw the items on a circle, in consensus order, and a line for every pair that was compared.

    The thicker the line, the more judgments.

    Examples
    --------
    >>> network(["a", "b", "c"], [[0, 1, 3, 0, 0], [1, 2, 1, 1, 0]]).count("<line")
    2
    """
    n = len(names)
    turn = [2.0 * pi * k / n - 0.5 * pi for k in range(n)]
    at = [(_RADIUS * cos(t), _RADIUS * sin(t)) for t in turn]
    most = max((sum(pair[2:]) for pair in pairs), default=1)
    lines = []
    for i, j, *results in pairs:
        width = _THIN + (_THICK - _THIN) * sum(results) / max(most, 1)
        lines.append(
            f'<line x1="{at[i][0]:.1f}" y1="{at[i][1]:.1f}" x2="{at[j][0]:.1f}" '
            f'y2="{at[j][1]:.1f}" stroke-width="{width:.1f}"/>'
        )
    nodes = []
    for name, t, (x, y) in zip(names, turn, at, strict=True):
        side = "middle" if abs(cos(t)) < 0.1 else "start" if cos(t) > 0 else "end"  # noqa: PLR2004
        label = escape(cut(name, _LONGEST), quote=False)
        nodes.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5"/><text x="{x + 11 * cos(t):.1f}" '
            f'y="{y + 11 * sin(t) + 4:.1f}" text-anchor="{side}">{label}</text>'
        )
    longest = max((len(cut(name, _LONGEST)) for name in names), default=1)
    wide, high = _RADIUS + 16.0 + _LETTER * longest, _RADIUS + 24.0
    return (
        f'<svg class="network" role="img" viewBox="{-wide:g} {-high:g} {2 * wide:g} {2 * high:g}">'
        f"<title>Which items were compared; thicker lines: more judgments</title>"
        f"{''.join(lines)}{''.join(nodes)}</svg>"
    )
