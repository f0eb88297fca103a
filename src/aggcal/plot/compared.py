"""Methods by how well they predict what was held out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aggcal._core.palette import CALIBRATED, GREY
from aggcal._core.tables import as_text
from aggcal.aggregation.selection.measures import LEVEL
from aggcal.errors import count
from aggcal.plot.parts import comparison_of
from aggcal.plot.ranked import ranked
from aggcal.plot.style import FAINT

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    found = comparison_of(result)
    away = [one.differences["log_loss"] for one in found.measured]
    values, low, high = (
        np.array([getattr(each, part) for each in away]) for part in ("value", "low", "high")
    )
    colours = [CALIBRATED if one is found.choice else GREY for one in found.measured]
    labels = as_text(one.label for one in found.measured)
    ax = ranked(ax, labels, values, (low, high), colours)
    ax.axvline(0.0, linestyle="--", zorder=0, **FAINT)
    ax.set(title=f"Held-out log-loss, with intervals at {LEVEL:g}")
    ax.set_xlabel(f"difference from {found.reference} (lower is better)")
    ax.set_ylabel(f"{count(len(labels), 'method')}, best first")
    return ax
