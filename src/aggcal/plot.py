"""Figures of every result as matplotlib axes, to go on working with (extra ``plot``).

Each function draws into ``ax``, or into a new figure, and returns the axes. matplotlib is imported
when the first figure is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, TextArray, sums
from aggcal._core.palette import CALIBRATED, CONSENSUS, GREY, MODEL, REVERSED
from aggcal._core.tables import as_text
from aggcal._core.text import clipped
from aggcal.advice.study import Study
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.scales import ScoreScale
from aggcal.aggregation.selection import LEVEL
from aggcal.assessment.studies import MethodComparison
from aggcal.calibration import Calibration
from aggcal.errors import OptionError, count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["calibration", "comparisons", "consensus", "methods", "reliabilities"]

_FAINT: dict[str, Any] = {"color": GREY, "alpha": 0.35, "linewidth": 0.8}
"""Lines that only guide the eye."""
MOST_LABELS = 30  # more would overlap
_MOST_WHISKERS = 300  # more run into each other: a band instead
_MOST_MOVES = 1000  # lines from a model score to a calibrated one: more hide what they show
_MOST_CELLS = 400  # more are finer than a pixel
_LONGEST_LABEL = 24  # columns of an id
_WIDTH, _HEIGHT, _TALLEST = 7.0, 4.2, 9.0  # inches: a column of a page, and a page
_LINE = 0.22  # inches for each named row


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
    found = _consensus_of(consensus)
    known, order = found.uncertainty, found.order
    columns = [found.scores] if known is None else [found.scores, known.low, known.high]
    if scale is not None:
        columns = [scale.of(column) for column in columns]
    score, *ends = (column[order] for column in columns)
    ax = _dots(ax, found.item_ids[order], score, ends, [CONSENSUS] * len(order))
    ax.set(xlabel="consensus score" if scale is None else scale.info.title)
    ax.set(title="Consensus" if known is None else f"Consensus, with intervals at {known.level:g}")
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
    found = _consensus_of(consensus)
    known, order = found.uncertainty, np.argsort(-found.reliabilities, kind="stable")
    low = None if known is None else known.reliability_low
    high = None if known is None else known.reliability_high
    ends = [] if low is None or high is None else [low[order], high[order]]
    ids, turned = found.annotator_ids[order], set(found.reversed_ids)
    colours = [REVERSED if who in turned else CONSENSUS for who in ids]
    ax = _dots(ax, ids, found.reliabilities[order], ends, colours)
    ax.axvline(found.random_reliability, linestyle="--", zorder=0, **_FAINT)
    said = f", with intervals at {known.level:g}" if ends and known is not None else ""
    ax.set(title=f"Reliability of the annotators{said}", xlabel="reliability")
    ax.set_ylabel(f"{count(len(order), 'annotator')}, most reliable first")
    return ax


def methods(result: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how far each method's held-out log-loss is from that of the reference.

    The lowest is on top, and lower is better; the chosen method has a colour.

    Parameters
    ----------
    result
        What `aggcal.compare_methods` returned.
    ax
        Axes to draw into; a new figure's if there are none.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal import plot
    >>> from matplotlib.figure import Figure
    >>> study = aggcal.simulate(items=6, annotators=5, judgments=200, seed=2)
    >>> found = aggcal.compare_methods(study.judgments, ["tcv"], folds=2)
    >>> ax = plot.methods(found, ax=Figure().subplots())
    >>> sorted(text.get_text() for text in ax.get_yticklabels())
    ['btl', 'tcv']
    """
    if not isinstance(result, MethodComparison):
        raise OptionError(
            f"{type(result).__name__} compares no methods; give what aggcal.compare_methods "
            "returns."
        )
    away = [one.differences["log_loss"] for one in result.measured]
    value, *ends = (np.array([getattr(e, end) for e in away]) for end in ("value", "low", "high"))
    colours = [CALIBRATED if one is result.choice else GREY for one in result.measured]
    ax = _dots(ax, as_text(one.label for one in result.measured), value, ends, colours)
    ax.axvline(0.0, linestyle="--", zorder=0, **_FAINT)
    ax.set(title=f"Held-out log-loss, with intervals at {LEVEL:g}")
    ax.set_xlabel(f"difference from {result.reference} (lower is better)")
    ax.set_ylabel(f"{count(len(away), 'method')}, best first")
    return ax


def calibration(result: Any, *, ax: Axes | None = None) -> Axes:
    """Draw each item's model score and the calibrated scores, in the order of the consensus.

    Items that share one value after the projection are one step; calibrators that do not pool
    items have a dot for each. The band is the interval of the calibrated scores.

    Parameters
    ----------
    result
        What `aggcal.calibrate` or `aggcal.assess` returned, or a fitted
        `aggcal.sklearn.AggregateCalibrator`.
    ax
        Axes to draw into; a new figure's if there are none.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal import plot
    >>> from matplotlib.figure import Figure
    >>> found = aggcal.calibrate({"a": 3.0, "b": 1.0, "c": 2.0}, {"a": 3, "b": 2, "c": 1})
    >>> ax = plot.calibration(found, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['model', 'calibrated (2 blocks)']
    """
    found = _calibration_of(result)
    done = found.done
    position = np.flatnonzero(done) + 1
    model, values, block = found.model[done], found.calibrated[done], found.block[done]
    ax = _axes(ax)
    if found.low is not None and found.high is not None:
        # Repeated at both ends, so that the first and the last item have their full width.
        at = np.concatenate([position[:1] - 1, position, position[-1:] + 1])
        low, high = (np.pad(end[done], 1, mode="edge") for end in (found.low, found.high))
        band = ax.fill_between(at, low, high, step="mid", label=f"interval at {found.level:g}")
        band.set(color=CALIBRATED, alpha=0.2, linewidth=0.0, zorder=2.5)
    if len(position) <= _MOST_MOVES:
        ax.vlines(position, model, values, zorder=1, **_FAINT)
    how: dict[str, Any] = {"s": _dot_size(len(position)), "linewidths": 0.0}
    ax.scatter(position, model, c=MODEL, label="model", zorder=2, **how)
    if block.all():
        _, first, size = np.unique(block, return_index=True, return_counts=True)
        said = f"calibrated ({count(len(first), 'block')})"
        ends = position[first] - 0.5, position[first + size - 1] + 0.5
        ax.hlines(values[first], *ends, colors=CALIBRATED, linewidth=2.4, label=said, zorder=3)
    else:
        ax.scatter(position, values, c=CALIBRATED, label="calibrated", zorder=3, **how)
    ax.set(title=f"Calibration by {found.method}", ylabel="score, in the model's units")
    ax.set_xlabel("place in the consensus (1 = highest)")
    ax.set_xlim(0.5, position[-1] + 0.5)
    ax.legend(frameon=False)
    return ax


def comparisons(judgments: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how often items were compared, as a matrix.

    The items stand by the share of their judgments that they won, from the top left. Of many items
    a cell is a group of neighbours.

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
    known: Any = Study.of(judgments).needed("judgments", "give the judgments themselves")
    rows = known.on_one_machine("a plot of the comparisons")
    n = rows.n_items
    won = sums(rows.left, rows.count * rows.outcome, n)
    won += sums(rows.right, rows.count * (1.0 - rows.outcome), n)
    order = np.argsort(-won / rows.judgments_per_item, kind="stable")
    position = np.empty(n, dtype=np.int64)
    position[order] = np.arange(n)
    left, right = position[rows.left], position[rows.right]
    pairs = len(np.unique(np.minimum(left, right) * n + np.maximum(left, right)))
    cells = min(n, _MOST_CELLS)
    counts = np.zeros((cells, cells))
    np.add.at(counts, (left * cells // n, right * cells // n), rows.count)
    counts += counts.T
    ax = _axes(ax, square=True)
    _matrix(ax, counts, rows.item_ids[order])
    ax.set_title(f"Comparisons: {count(pairs, 'pair')} of {count(n, 'item')}")
    return ax


def _matrix(ax: Axes, counts: FloatArray, ids: TextArray) -> None:
    """Draw how often each item of a row met each of a column, on a scale of logarithms."""
    from matplotlib.colors import LogNorm

    n, top = len(ids), float(counts.max())
    # The scale begins below one judgment, for which the palest blue would be too pale.
    norm = LogNorm(vmin=0.3, vmax=max(2.0, top))
    # What was never compared stays blank: on a scale of logarithms there is no zero.
    picture = ax.imshow(
        np.ma.masked_equal(counts, 0.0), norm=norm, cmap="Blues",
        extent=(-0.5, n - 0.5, n - 0.5, -0.5), interpolation="nearest",
    )  # fmt: skip
    _label(ax.yaxis, ids)
    _label(ax.xaxis, ids, rotation=90)
    each = "pair" if len(counts) == n else "cell"
    bar = ax.figure.colorbar(picture, ax=ax, label=f"judgments of the {each}", shrink=0.7)
    ticks = [b * 10**e for e in range(int(np.log10(top)) + 1) for b in (1, 2, 5)]
    bar.set_ticks([t for t in ticks if t <= top], labels=[f"{t:,}" for t in ticks if t <= top])
    bar.minorticks_off()


def _dots(
    ax: Axes | None,
    ids: TextArray,
    values: FloatArray,
    ends: list[FloatArray],
    colours: list[str],
) -> Axes:
    """Draw a dot for each id, the first on top, and a line from end to end of its interval."""
    n, at = len(ids), np.arange(len(ids))
    ax = _axes(ax, lines=min(n, MOST_LABELS))
    if ends:
        low, high = ends
        if n <= _MOST_WHISKERS:
            width = 1.5 if n <= MOST_LABELS else 0.8
            ax.hlines(at, low, high, colors=colours, linewidth=width, alpha=0.6)
        else:  # so many lines would run together and hide the dots
            ax.fill_betweenx(at, low, high, color=CONSENSUS, alpha=0.25, linewidth=0.0)
    ax.scatter(values, at, s=_dot_size(n), c=colours, zorder=3, linewidths=0.0)
    _label(ax.yaxis, ids)
    ax.set_ylim(n - 0.5, -0.5)
    return ax


def _axes(ax: Axes | None, *, lines: int = 0, square: bool = False) -> Axes:
    """Return the axes to draw into; new ones have room for so many labels above each other."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise OptionError("plots need matplotlib; pip install 'aggcal[plot]'") from None
    if ax is None:
        height = _WIDTH if square else min(_TALLEST, max(_HEIGHT, 1.2 + _LINE * lines))
        ax = plt.subplots(figsize=(_WIDTH, height), layout="constrained")[1]
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _dot_size(n: int) -> float:
    """Return the area of each of n dots in points: all are large up to 40, then smaller."""
    return float(np.clip(30.0 * np.sqrt(40.0 / max(n, 1)), 3.0, 30.0))


def _label(axis: Any, ids: TextArray, **options: Any) -> None:
    """Write ids along an axis, all where they are few, else some evenly spaced; long ones cut."""
    n = len(ids)
    shown: IntArray = np.linspace(0, n - 1, min(n, MOST_LABELS)).round().astype(np.int64)
    # A dollar sign in an id is no formula.
    texts = [clipped(ids[k], _LONGEST_LABEL) for k in shown]
    axis.set_ticks(shown, texts, parse_math=False, fontsize="small", **options)


def _consensus_of(result: Any) -> Consensus:
    remedy = "give what aggcal.aggregate or aggcal.assess returns"
    found: Consensus = Study.of(result).needed("consensus", remedy)
    return found


def _calibration_of(result: Any) -> Calibration:
    study = Study.of(result)
    if study.calibration is None and study.consensus is not None:
        raise OptionError("nothing was calibrated; give aggcal.assess the model's scores too.")
    remedy = "give what aggcal.calibrate or aggcal.assess returns"
    found: Calibration = study.needed("calibration", remedy)
    return found
