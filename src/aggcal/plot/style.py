"""What every figure shares: colours, sizes, labels that do not clog, and the axes themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aggcal._core.arrays import IntArray, TextArray
from aggcal._core.palette import GREY
from aggcal._core.text import clipped
from aggcal.errors import OptionError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FAINT: dict[str, Any] = {"color": GREY, "alpha": 0.35, "linewidth": 0.8}
"""Lines that only guide the eye."""

MOST_LABELS = 30  # more would overlap
_WIDTH, _HEIGHT, _TALLEST = 7.0, 4.2, 9.0  # inches: a column of a page, and a page
_LINE = 0.22  # inches for each named row
_LONGEST_LABEL = 24  # columns of an id
_DOT, _SMALLEST_DOT = 30.0, 3.0  # points squared
_ROOMY = 40  # dots up to which all are drawn large


def axes(ax: Axes | None, *, lines: int = 0, square: bool = False) -> Axes:
    """Return the axes to draw into, new ones where none are given.

    Parameters
    ----------
    ax
        Axes of the user's own, left at their size.
    lines
        Labels that stand one above the other: they make a new figure taller.
    square
        Whether both directions show the same items.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise OptionError("plots need matplotlib; pip install 'aggcal[plot]'") from None
    if ax is None:
        height = _WIDTH if square else min(_TALLEST, max(_HEIGHT, 1.2 + _LINE * lines))
        ax = plt.subplots(figsize=(_WIDTH, height), layout="constrained")[1]
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def short(item: object) -> str:
    """Return an id as figures write it.

    Examples
    --------
    >>> short("a" * 99)
    'aaaaaaaaaaaaaaaaaaaaaaa…'
    """
    return clipped(item, _LONGEST_LABEL)


def dot_size(n: int) -> float:
    """Return the area of each of n dots: the more there are, the smaller.

    Examples
    --------
    >>> dot_size(10), dot_size(10_000)
    (30.0, 3.0)
    """
    return float(np.clip(_DOT * np.sqrt(_ROOMY / max(n, 1)), _SMALLEST_DOT, _DOT))


def thinned(n: int, most: int) -> IntArray:
    """Return at most so many of n positions, evenly spaced, the first and the last among them.

    Examples
    --------
    >>> thinned(3, 9), thinned(1000, 3)
    (array([0, 1, 2]), array([  0, 500, 999]))
    """
    return np.linspace(0, n - 1, min(n, most)).round().astype(np.int64)


def label(axis: Any, ids: TextArray, positions: IntArray | None = None, **options: Any) -> None:
    """Write ids along an axis, all of them where they are few, else some, each cut if long.

    Parameters
    ----------
    axis
        ``ax.xaxis`` or ``ax.yaxis``.
    ids
        The id at each place.
    places
        Where the labels stand; 0, 1, … if it is not said.
    **options
        Of the texts.
    """
    shown = thinned(len(ids), MOST_LABELS)
    at = shown if positions is None else positions[shown]
    # A dollar sign in an id is no formula.
    texts = [short(ids[k]) for k in shown]
    axis.set_ticks(at, texts, parse_math=False, fontsize="small", **options)
