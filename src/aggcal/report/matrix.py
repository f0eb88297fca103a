"""Who beat whom: a matrix of all pairs, for studies small enough to read one."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from aggcal.pages.numbers import cut

FEWEST, MOST = 3, 60
"""Items for which there is a matrix: fewer need none, more cannot be read."""

_CELL, _LABEL, _HEAD = 14, 170, 18  # in the units of the drawing
_LONGEST = 26  # characters of a label
_TURNS = 7  # colours of a share: lost, even, won
_GROWS = 5  # judgments from which a square is at its full size
_SMALLEST = 0.5
_SHADES = 6

Pair = Sequence[int]
"""Two positions, wins of the first, wins of the second, ties."""


def shares(names: Sequence[str], pairs: Sequence[Pair]) -> str:
    """Draw which share of its comparisons the row's item won against the column's.

    Examples
    --------
    >>> drawn = shares(["a", "b", "c"], [[0, 1, 3, 0, 0], [1, 2, 1, 1, 0]])
    >>> drawn.count('class="h6"'), drawn.count('class="h3"')
    (1, 1)
    """
    cells: dict[str, list[str]] = {f"h{k}": [] for k in range(_TURNS)}
    for i, j, won, lost, tied in pairs:
        whole = won + lost + tied
        size = _SMALLEST + (1.0 - _SMALLEST) * min(1.0, whole / _GROWS)
        share = (won + 0.5 * tied) / whole if whole else 0.5
        for row, column, part in ((i, j, share), (j, i, 1.0 - share)):
            cells[f"h{min(_TURNS - 1, int(_TURNS * part))}"].append(_square(row, column, size))
    return _drawn(names, cells, "Share of comparisons that the row's item won")


def counts(names: Sequence[str], pairs: Sequence[Pair]) -> str:
    """Draw how often two items were compared.

    Examples
    --------
    >>> counts(["a", "b", "c"], [[0, 1, 3, 0, 0], [1, 2, 1, 1, 0]]).count('class="s5"')
    1
    """
    most = max((sum(pair[2:]) for pair in pairs), default=1)
    cells: dict[str, list[str]] = {f"s{k}": [] for k in range(_SHADES)}
    for i, j, *results in pairs:
        shade = f"s{min(_SHADES - 1, int(_SHADES * sum(results) / max(most, 1)))}"
        cells[shade] += [_square(i, j, 1.0), _square(j, i, 1.0)]
    return _drawn(names, cells, f"How often two items were compared; the darkest: {most:,} times")


def _square(row: int, column: int, size: float) -> str:
    room = 0.5 * (_CELL - 1) * (1.0 - size)
    x, y, side = _LABEL + column * _CELL + room, _HEAD + row * _CELL + room, (_CELL - 1) * size
    return f"M{x:.1f} {y:.1f}h{side:.1f}v{side:.1f}h-{side:.1f}z"


def _drawn(names: Sequence[str], cells: dict[str, list[str]], title: str) -> str:
    n = len(names)
    labels = [
        f'<text class="lab" x="{_LABEL - 6}" y="{_HEAD + k * _CELL + 10}" text-anchor="end">'
        f"{escape(cut(name, _LONGEST), quote=False)}</text>"
        for k, name in enumerate(names)
    ]
    ticks = [
        f'<text class="tick" x="{_LABEL + k * _CELL + 6}" y="12" text-anchor="middle">'
        f"{k + 1}</text>"
        for k in range(n)
        if k == 0 or (k + 1) % 5 == 0
    ]
    paths = [f'<path class="{kind}" d="{"".join(d)}"/>' for kind, d in cells.items() if d]
    end = n * _CELL
    diagonal = f'<path class="diagonal" d="M{_LABEL} {_HEAD}l{end} {end}"/>'
    return (
        f'<svg class="matrix" role="img" viewBox="0 0 {_LABEL + end} {_HEAD + end}" '
        f'data-cell="{_CELL}" data-left="{_LABEL}" data-top="{_HEAD}">'
        f"<title>{escape(title, quote=False)}</title>{diagonal}{''.join(paths)}"
        f"{''.join(ticks)}{''.join(labels)}</svg>"
    )
