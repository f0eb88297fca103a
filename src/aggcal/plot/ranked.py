"""Items by their consensus and annotators by their reliability, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aggcal._core.arrays import FloatArray, TextArray
from aggcal._core.palette import CONSENSUS, REVERSED
from aggcal.aggregation.scales import ScoreScale
from aggcal.errors import count
from aggcal.plot.parts import consensus_of
from aggcal.plot.style import FAINT, MOST_LABELS, axes, dot_size, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_WHISKERS = 300  # more run into each other: a band instead


def consensus(consensus: Any, *, scale: ScoreScale | None = None, ax: Axes | None = None) -> Axes:
    """Draw each item's consensus score and its interval, the highest on top.

    Parameters
    ----------
    consensus
        What `aggcal.aggregate` or `aggcal.assess` returned, or any result made of it.
    scale
        A scale to draw it in, such as the ``scale`` of ``Assessment.with_scale``.
    ax
        Axes to draw into; a new figure's if there are none.

    Notes
    -----
    The intervals are those of ``consensus.uncertainty``, about what the annotators agree on, not
    about the truth. Without uncertainty there are only dots; the intervals of many items are one
    band.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal import plot
    >>> from matplotlib.figure import Figure
    >>> found = aggcal.aggregate([("ann", "a", "b"), ("bob", "a", "c")], warn=False)
    >>> ax = plot.consensus(found, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['a', 'b', 'c']
    """
    consensus = consensus_of(consensus)
    known, order = consensus.uncertainty, consensus.order
    scores = consensus.scores if scale is None else scale.of(consensus.scores)
    ends = None
    title = "Consensus"
    if known is not None:
        ends = known.low[order], known.high[order]
        if scale is not None:
            ends = scale.of(ends[0]), scale.of(ends[1])
        title = f"Consensus, with intervals at {known.level:g}"
    colours = [CONSENSUS] * len(order)
    ax = ranked(ax, consensus.item_ids[order], scores[order], ends, colours)
    ax.set(title=title, xlabel="consensus score" if scale is None else scale.info.title)
    ax.set_ylabel(f"{count(len(order), 'item')}, highest first")
    return ax


def reliabilities(consensus: Any, *, ax: Axes | None = None) -> Axes:
    """Draw each annotator's reliability and its interval, the most reliable on top.

    The dashed line is where answers are random; annotators whose whole interval is below it, in
    red, answer the other way round.

    Parameters
    ----------
    consensus
        What `aggcal.aggregate` or `aggcal.assess` returned, or any result made of it.
    ax
        Axes to draw into; a new figure's if there are none.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal import plot
    >>> from matplotlib.figure import Figure
    >>> found = aggcal.aggregate([("ann", "a", "b"), ("bob", "a", "b")], warn=False)
    >>> plot.reliabilities(found, ax=Figure().subplots()).get_xlabel()
    'reliability'
    """
    consensus = consensus_of(consensus)
    known, values = consensus.uncertainty, consensus.reliabilities
    order = np.argsort(-values, kind="stable")
    ends = None
    title = "Reliability of the annotators"
    if (
        known is not None
        and known.reliability_low is not None
        and known.reliability_high is not None
    ):
        ends = known.reliability_low[order], known.reliability_high[order]
        title += f", with intervals at {known.level:g}"
    bottom = consensus.random_reliability
    turned = set(consensus.reversed_ids)
    colours = [REVERSED if u in turned else CONSENSUS for u in consensus.annotator_ids[order]]
    ax = ranked(ax, consensus.annotator_ids[order], values[order], ends, colours)
    ax.axvline(bottom, linestyle="--", zorder=0, **FAINT)
    ax.set(title=title, xlabel="reliability")
    ax.set_ylabel(f"{count(len(order), 'annotator')}, most reliable first")
    return ax


def ranked(
    ax: Axes | None,
    ids: TextArray,
    values: FloatArray,
    ends: tuple[FloatArray, FloatArray] | None,
    colours: list[str],
) -> Axes:
    """Draw a dot for each id, the first on top, and a line from end to end of its interval."""
    n = len(ids)
    ax = axes(ax, lines=min(n, MOST_LABELS))
    positions = np.arange(n)
    if ends is not None:
        if n <= _MOST_WHISKERS:
            width = 1.5 if n <= MOST_LABELS else 0.8
            ax.hlines(positions, *ends, colors=colours, linewidth=width, alpha=0.6)
        else:
            # So many lines would run together and hide the dots.
            ax.fill_betweenx(positions, *ends, color=CONSENSUS, alpha=0.25, linewidth=0.0)
    ax.scatter(values, positions, s=dot_size(n), c=colours, zorder=3, linewidths=0.0)
    label(ax.yaxis, ids)
    ax.set_ylim(n - 0.5, -0.5)
    return ax
