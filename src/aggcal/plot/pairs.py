"""Pairs of items: which were compared, and how sure their order is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, sums
from aggcal._core.palette import CALIBRATED
from aggcal.data.judgments import Judgments
from aggcal.errors import OptionError, count
from aggcal.plot.parts import consensus_of, judgments_of
from aggcal.plot.style import axes, dot_size, label, short, thinned

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NODES = 30  # more make a knot of the graph
_MOST_CELLS = 400  # more are finer than a pixel
_MOST_CHANCES = 25  # items: the numbers of more could not be read
_WIDEST = 5.0  # points of the thickest line
_UPRIGHT = 0.1  # so near the vertical a label is centred


def comparisons(judgments: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how often items were compared: a graph if they are few, else a matrix.

    The items stand by the share of their judgments that they won, in the graph clockwise from the
    top, in the matrix from the top left. Each separate piece of a graph has a colour of its own.
    In a matrix of many items a cell is a group of neighbours.

    Parameters
    ----------
    judgments
        `aggcal.Judgments`, or anything that `aggcal.read_judgments` takes; or any result that
        knows its judgments, as for `aggcal.check`.
    ax
        Axes to draw into; a new figure's if there are none.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal import plot
    >>> from matplotlib.figure import Figure
    >>> judgments = aggcal.read_judgments([("ann", "a", "b"), ("ann", "b", "c"), ("bob", "b", "a")])
    >>> plot.comparisons(judgments, ax=Figure().subplots()).get_title()
    'Comparisons: 2 pairs of 3 items'
    """
    judgments = judgments_of(judgments).on_one_machine("a plot of the comparisons")
    n = judgments.n_items
    won = sums(judgments.left, judgments.count * judgments.outcome, n)
    won += sums(judgments.right, judgments.count * (1.0 - judgments.outcome), n)
    order = np.argsort(-won / judgments.judgments_per_item, kind="stable")
    position = np.empty(n, dtype=np.int64)
    position[order] = np.arange(n)
    left, right = position[judgments.left], position[judgments.right]
    first, second = np.minimum(left, right), np.maximum(left, right)
    pairs, which = np.unique(first * n + second, return_inverse=True)
    times = sums(which, judgments.count, len(pairs))
    ax = axes(ax, square=True)
    draw = _graph if n <= _MOST_NODES else _matrix
    draw(ax, judgments, order, np.stack([pairs // n, pairs % n], axis=1), times)
    said = f"{count(len(pairs), 'pair')} of {count(n, 'item')}"
    ax.set_title(f"Comparisons: {said}")
    return ax


def _graph(
    ax: Axes,
    judgments: Judgments,
    order: IntArray,
    ends: IntArray,
    times: FloatArray,
) -> None:
    from matplotlib.collections import LineCollection

    n = len(order)
    angle = 2.0 * np.pi * np.arange(n) / n
    at = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    widths = np.maximum(0.4, _WIDEST * times / times.max())
    edges = LineCollection(at[ends].tolist(), linewidths=widths.tolist())
    edges.set(color=CALIBRATED, alpha=0.4, zorder=1)
    ax.add_collection(edges)
    pieces = judgments.graph.component[order]
    # Ten colours, then from the first again: pieces only have to differ from their neighbours.
    colours = [f"C{piece % 10}" for piece in pieces]
    ax.scatter(at[:, 0], at[:, 1], s=4.0 * dot_size(n), c=colours, zorder=2)
    for (x, y), item in zip(at.tolist(), judgments.item_ids[order], strict=True):
        # Outside the circle, and away from it.
        side = "center" if abs(x) < _UPRIGHT else "left" if x > 0.0 else "right"
        ax.text(1.07 * x, 1.07 * y, short(item), ha=side, va="center", parse_math=False)
    ax.set(xlim=(-1.5, 1.5), ylim=(-1.3, 1.3), aspect="equal")
    ax.set_axis_off()


def _matrix(
    ax: Axes,
    judgments: Judgments,
    order: IntArray,
    ends: IntArray,
    times: FloatArray,
) -> None:
    from matplotlib.colors import LogNorm

    n = len(order)
    cells = min(n, _MOST_CELLS)
    row, column = (ends * cells // n).T
    counts = np.zeros((cells, cells))
    np.add.at(counts, (row, column), times)
    np.add.at(counts, (column, row), times)
    # What was never compared stays blank: on a scale of logarithms there is no zero.
    shown = np.ma.masked_equal(counts, 0.0)
    box = (-0.5, n - 0.5, n - 0.5, -0.5)
    top = float(counts.max())
    # The scale begins below one judgment, for which the palest blue would be too pale.
    norm = LogNorm(vmin=0.3, vmax=max(2.0, top))
    picture = ax.imshow(shown, norm=norm, cmap="Blues", extent=box, interpolation="nearest")
    label(ax.yaxis, judgments.item_ids[order])
    label(ax.xaxis, judgments.item_ids[order], rotation=90)
    each = "pair" if cells == n else "cell"
    ticks = [b * 10**e for e in range(int(np.log10(top)) + 1) for b in (1, 2, 5)]
    bar = ax.figure.colorbar(picture, ax=ax, label=f"judgments of the {each}", shrink=0.7)
    bar.set_ticks([t for t in ticks if t <= top], labels=[f"{t:,}" for t in ticks if t <= top])
    bar.minorticks_off()


def order_probabilities(
    consensus: Any, *, most: int = _MOST_CHANCES, ax: Axes | None = None
) -> Axes:
    """Draw the probability that the item of each row is above that of each column.

    It is about the consensus, as in `aggcal.Consensus.order_probability`, not about the truth.
    What nothing compares, not even through other items, stays blank.

    Parameters
    ----------
    consensus
        What `aggcal.aggregate` or `aggcal.assess` returned, or any result made of it.
    most
        How many items to show; of more, some are taken evenly from the highest to the lowest.
        Of thousands the covariance is not held as a whole, and each pair shown takes a moment.
    ax
        Axes to draw into; a new figure's if there are none.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal import plot
    >>> from matplotlib.figure import Figure
    >>> found = aggcal.aggregate([("ann", "a", "b"), ("bob", "a", "b")], warn=False)
    >>> ax = plot.order_probabilities(found, ax=Figure().subplots())
    >>> ax.images[0].get_array().round(2).tolist()
    [[0.5, 0.78], [0.22, 0.5]]
    """
    consensus = consensus_of(consensus)
    known = consensus.uncertainty
    if known is None:
        raise OptionError(
            f"method '{consensus.method}' has no uncertainty to tell this from; "
            "see Consensus.quantify."
        )
    if most < 1:
        raise OptionError(f"most is {most}; give the number of items to show, from 1 on.")
    n = len(consensus.item_ids)
    chosen = consensus.order[thinned(n, most)]
    above, below = np.triu_indices(len(chosen), 1)
    probability = np.full((len(chosen), len(chosen)), 0.5)
    # One half is worked out, and the other follows: a pair may cost a linear system.
    probability[above, below] = known.order_probability(chosen[above], chosen[below])
    probability[below, above] = 1.0 - probability[above, below]
    ax = axes(ax, square=True)
    picture = ax.imshow(probability, cmap="RdBu", vmin=0.0, vmax=1.0, interpolation="nearest")
    label(ax.yaxis, consensus.item_ids[chosen])
    label(ax.xaxis, consensus.item_ids[chosen], rotation=90)
    of = "" if len(chosen) == n else f" ({len(chosen)} of {n:,} items)"
    ax.set_title(f"Probability that the row is above the column{of}")
    ax.figure.colorbar(picture, ax=ax, shrink=0.7)
    return ax
