"""Compare methods by what they predict, with the files of such a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import fields
from math import isfinite
from typing import Any

import numpy as np

from aggcal._core.frames import Frame, check_frame
from aggcal._core.progress import listening
from aggcal._core.tables import Columns, as_text
from aggcal._core.text import clipped, wrapped
from aggcal.aggregation.consensus import Aggregator
from aggcal.aggregation.selection import (
    FOLDS,
    HOLD_OUT,
    LEVEL,
    MEASURES,
    SAMPLE,
    Comparison,
    Estimate,
    HoldOut,
    check_methods,
    compared,
)
from aggcal.assessment.saving import Saved
from aggcal.engines import prepare
from aggcal.errors import check_choice, count
from aggcal.pages.figures import Dot, dots
from aggcal.registry import LOCAL, limits
from aggcal.registry.literals import FittedName

_TITLES = {
    "log_loss": "log-loss",
    "decided_log_loss": "without ties",
    "accuracy": "accuracy",
    "calibration": "calibration",
}


class MethodComparison(Comparison, Saved):
    """Methods and terms by how well they predict judgments that were held out.

    ``measured`` has the methods, the lowest log-loss first, with ``values`` and ``differences``
    from plain Bradley-Terry for each measure. ``calibration`` is the slope of the answers in the
    predicted logit: 1 is calibrated, less is too extreme, more too timid. Standard errors are
    clustered by annotator or by what is held out together, whichever gives the larger one;
    intervals are at 95%.

    Examples
    --------
    >>> import aggcal
    >>> study = aggcal.simulate(items=6, annotators=5, judgments=200, seed=2)
    >>> found = aggcal.compare_methods(study.judgments, ["hra-g", "tcv"])
    >>> found.chosen, found.options
    ('btl', {'method': 'btl'})
    """

    FILES = ("comparison.csv", "comparison.svg")
    COMMAND = "compare"

    @property
    def columns(self) -> Columns:
        """A row for each method, as in ``comparison.csv``."""
        rows = self.measured
        columns: Columns = {
            "method": as_text([one.label for one in rows]),
            "level": np.array([one.candidate.level for one in rows]),
        }
        for name in MEASURES:
            for part in ("values", "differences"):
                title = name if part == "values" else f"{name}_difference"
                for kind in ("value", "se", "low", "high"):
                    column = [getattr(getattr(one, part)[name], kind) for one in rows]
                    columns[title if kind == "value" else f"{title}_{kind}"] = np.array(column)
        columns["within_one_se"] = as_text("yes" if one.near else "no" for one in rows)
        columns["chosen"] = as_text("yes" if one is self.choice else "no" for one in rows)
        return columns

    def __repr__(self) -> str:
        return wrapped(f"Comparison of {count(len(self.measured), 'method')}: {self.chosen}")

    def __str__(self) -> str:
        head = (
            f"{count(self.n_judgments, 'held-out judgment')} by "
            f"{count(self.n_annotators, 'annotator')}; {self.folds} folds of whole "
            f"{self.held_out}s ({self.n_units:,}). Differences are from {self.reference}; ± is "
            "one standard error; * is chosen."
        )
        values = self.best.values
        ties = values["log_loss"] != values["decided_log_loss"]
        losses = ("log_loss", "decided_log_loss") if ties else ("log_loss",)
        tables = (*self._table(*losses), "", *self._table("accuracy", "calibration"))
        missing = (f"{name} was left out: {why}" for name, why in self.left_out.items())
        words = self.choice.candidate.words
        how = [f"To use it: {words}"] if words else []
        rest = wrapped(*self.notes, *missing, self.why, *how)
        return "\n".join([wrapped(head), "", *tables, "", rest])

    def _table(self, *names: str) -> Iterator[str]:
        """Write a line for each method with these measures and their differences."""
        rows = [["", *(title for name in names for title in (_TITLES[name], "difference"))]]
        for one in self.measured:
            label, reference = clipped(one.label), one.label == self.reference
            label += " (reference)" * reference + " *" * (one is self.choice)
            cells = [label]
            for name in names:
                difference = "" if reference else _shown(one.differences[name], "+")
                cells += [_shown(one.values[name]), difference]
            rows.append(cells)
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for first, *rest in rows:
            cells = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
            yield "  ".join([first.ljust(widths[0]), *cells]).rstrip()

    def figure(self) -> str:
        """Return the differences in log-loss from plain Bradley-Terry, drawn as SVG."""
        gaps = [(one, one.differences["log_loss"]) for one in self.measured]
        rows = [
            Dot(one.label, gap.value, gap.low, gap.high, chosen=one is self.choice)
            for one, gap in gaps
        ]
        title = f"Held-out log-loss of each method, compared with {self.reference}"
        name = f"held-out log-loss minus that of {self.reference} ({LEVEL:.0%} intervals; "
        return dots(rows, title, f"{name}lower is better)")


def compare_methods(
    judgments: Any,
    methods: Sequence[FittedName | str | Aggregator] | None = None,
    *,
    folds: int = FOLDS,
    seed: int = 0,
    sample: int | None = SAMPLE,
    hold_out: HoldOut = "auto",
    frame: Frame | None = None,
    on_step: Callable[[str, int, int], None] | None = None,
) -> MethodComparison:
    """Compare methods and terms by how well they predict judgments that were held out.

    All are fitted to the same folds. Whole contexts are held out where they are known, else whole
    screens or rankings, else all answers of an annotator to one pair. The chosen method is the
    simplest within one standard error of the lowest log-loss.

    Parameters
    ----------
    judgments
        `Judgments`, or anything that `read_judgments` takes.
    methods
        Names of ``aggcal list methods``; with terms, such as ``"hra-g:plain"`` or
        ``"hra-g:ties+position"`` (of ties, position, context and categories); or objects with a
        ``fit(judgments)``. None for all methods that need no features, with every term that the
        judgments have the data for. Plain Bradley-Terry, ``btl``, is always compared.
    folds
        How many parts are held out in turn.
    seed
        Seed for all random numbers.
    sample
        With more judgments than this, a sample of contexts or annotators is compared; None for
        no sample.
    hold_out
        What is held out together: ``"context"``, ``"screen"`` (or ranking) or ``"question"``, all
        answers of an annotator to one pair. ``"auto"`` takes the first of these that is known;
        ``"pair"`` holds out all answers to a pair, ``"row"`` single judgments. Whole contexts tell
        how well new contexts are predicted, where effects of known ones do not show.
    frame
        See `aggregate`.
    on_step
        Called with what is being done, how many fits are done and how many there are.

    Examples
    --------
    >>> import aggcal
    >>> study = aggcal.simulate(items=6, annotators=5, judgments=200, seed=2)
    >>> found = aggcal.compare_methods(study.judgments, ["hra-g:plain"])
    >>> [one.label for one in found.measured]
    ['hra-g:plain', 'btl']
    """
    check_methods(methods)
    limits.check(folds=folds, sample=sample, seed=seed)
    check_choice("hold_out", hold_out, HOLD_OUT)
    check_frame(frame)
    how: dict[str, Any] = {"folds": folds, "seed": seed, "sample": sample, "hold_out": hold_out}
    here = prepare(judgments, LOCAL).on_one_machine("comparing methods")
    with nullcontext() if on_step is None else listening(on_step):
        found = compared(here, methods, **how)
    parts = {part.name: getattr(found, part.name) for part in fields(found)}
    return MethodComparison(**parts | {"judgments": here, "backend": frame or here.backend})


def _shown(estimate: Estimate, sign: str = "") -> str:
    """Write a number with its standard error.

    Examples
    --------
    >>> _shown(Estimate(-0.0125, 0.004, 0.0, 0.0, 9), "+")
    '−0.0125 ±0.0040'
    """
    if not isfinite(estimate.value):
        return "–"
    error = f" ±{estimate.se:.4f}" if isfinite(estimate.se) else ""
    return f"{estimate.value:{sign}.4f}{error}".replace("-", "−")
