"""Model scores and what calibration makes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.palette import CALIBRATED, CONSENSUS, INK, MODEL
from aggcal.errors import count
from aggcal.plot.parts import calibration_of
from aggcal.plot.style import FAINT, axes, dot_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_MOVES = 1000  # lines: more hide what they show


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
    found = calibration_of(result)
    done = found.done
    position = np.flatnonzero(done) + 1
    model, values, block = found.model[done], found.calibrated[done], found.block[done]
    ax = axes(ax)
    if found.low is not None and found.high is not None:
        said = f"interval at {found.level:g}"
        # Repeated at both ends, so that the first and the last item have their full width.
        at = np.concatenate([position[:1] - 1, position, position[-1:] + 1])
        low, high = (np.pad(end[done], 1, mode="edge") for end in (found.low, found.high))
        band = ax.fill_between(at, low, high, step="mid", label=said)
        band.set(color=CALIBRATED, alpha=0.2, linewidth=0.0, zorder=2.5)
    if len(position) <= _MOST_MOVES:
        ax.vlines(position, model, values, zorder=1, **FAINT)
    size = dot_size(len(position))
    ax.scatter(position, model, s=size, c=MODEL, label="model", zorder=2, linewidths=0.0)
    if block.all():
        _, first, size_of = np.unique(block, return_index=True, return_counts=True)
        last = first + size_of - 1
        said = f"calibrated ({count(len(first), 'block')})"
        ends = position[first] - 0.5, position[last] + 0.5
        ax.hlines(values[first], *ends, colors=CALIBRATED, linewidth=2.4, label=said, zorder=3)
    else:
        said = "calibrated"
        ax.scatter(position, values, s=size, c=CALIBRATED, label=said, zorder=3, linewidths=0.0)
    ax.set(title=f"Calibration by {found.method}", ylabel="score, in the model's units")
    ax.set_xlabel("place in the consensus (1 = highest)")
    ax.set_xlim(0.5, position[-1] + 0.5)
    ax.legend(frameon=False)
    return ax


def distributions(result: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how the consensus, the model and the calibrated scores are distributed, as violins.

    The consensus has no unit: it is given the mean and the standard deviation of the model's
    scores, so that only its shape is to be compared. The lines are medians.

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
    >>> ax = plot.distributions(found, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_xticklabels()]
    ['consensus (scaled)', 'model', 'calibrated']
    """
    found = calibration_of(result)
    done = found.done
    model = found.model[done]
    groups = {
        "consensus (scaled)": _scaled(found.consensus[done], model),
        "model": model,
        "calibrated": found.calibrated[done],
    }
    ax = axes(ax)
    drawn = ax.violinplot(list(groups.values()), showmedians=True, showextrema=False, widths=0.8)
    bodies: Any = drawn["bodies"]
    for body, colour in zip(bodies, (CONSENSUS, MODEL, CALIBRATED), strict=True):
        body.set(facecolor=colour, alpha=0.6)
    drawn["cmedians"].set(color=INK, linewidth=1.5)
    ax.set_xticks(range(1, len(groups) + 1), list(groups))
    ax.set(title="Distribution of the scores", ylabel="score, in the model's units")
    return ax


def _scaled(values: FloatArray, like: FloatArray) -> FloatArray:
    sd = float(values.std())
    standard = (values - values.mean()) / sd if sd > 0.0 else np.zeros(len(values))
    return np.asarray(like.mean() + like.std() * standard)
