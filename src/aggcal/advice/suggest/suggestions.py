"""The suggestions: pairs to ask, each with what it is worth and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isnan
from typing import Any, Literal

import numpy as np

from aggcal._core.arrays import FloatArray, TextArray
from aggcal._core.tables import Columns, as_frame
from aggcal.aggregation.consensus import Consensus
from aggcal.errors import AggcalWarning, count

About = Literal["order", "scores"]

UNITS = {
    "order": "expected number of pairs of items that this judgment puts into the correct order",
    "scores": "expected reduction of the total squared error of the calibrated scores, in the "
    "model's units squared",
}
"""What ``information`` counts."""


@dataclass(frozen=True, eq=False)
class Suggestions:
    """Pairs to ask, the most urgent first.

    ``probability`` is the probability that the annotator who is asked, or one of typical
    reliability, puts the left item above (if the answer is no tie); NaN (None in JSON, blank in a
    table) where no comparisons link the two items yet. ``information`` is in the unit given by
    ``unit``; NaN where nobody has judged yet.
    """

    left: TextArray
    right: TextArray
    information: FloatArray
    probability: FloatArray
    reason: TextArray
    annotator: TextArray | None
    about: About
    consensus: Consensus | None = field(repr=False)
    """None where nobody has judged yet."""
    backend: str | None = None
    notices: tuple[AggcalWarning, ...] = ()

    def __len__(self) -> int:
        return len(self.left)

    @property
    def unit(self) -> str:
        """What ``information`` counts."""
        return UNITS[self.about]

    @property
    def warnings(self) -> tuple[AggcalWarning, ...]:
        """The warnings of the fit, and of what the pairs cannot do."""
        fit = () if self.consensus is None else self.consensus.warnings
        return (*fit, *self.notices)

    def pair_columns(self) -> Columns:
        """Return the table as plain columns."""
        columns: Columns = {} if self.annotator is None else {"annotator": self.annotator}
        return columns | {
            "left": self.left,
            "right": self.right,
            "information": self.information,
            "probability": self.probability,
            "reason": self.reason,
        }

    @property
    def pairs(self) -> Any:
        """Table of (annotator,) left, right, information, probability and reason."""
        return as_frame(self.pair_columns(), self.backend)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        rows = as_rows(self.pair_columns())
        for row in rows:
            for name in ("information", "probability"):
                row[name] = None if isnan(row[name]) else row[name]
        return {"about": self.about, "unit": self.unit, "pairs": rows}

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"{count(len(self), 'suggested pair')} ({counted_reasons(self.reason)})"


def as_rows(columns: Columns) -> list[dict[str, Any]]:
    """Return a table as a dict for each row, for JSON."""
    lists = [column.tolist() for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def counted_reasons(reason: TextArray) -> str:
    """Count the rows of each reason.

    Examples
    --------
    >>> counted_reasons(np.array(["new item", "uncertain", "uncertain"]))
    '1 × new item, 2 × uncertain'
    """
    reasons, numbers = np.unique(reason.astype(str), return_counts=True)
    return ", ".join(f"{k} × {reason}" for reason, k in zip(reasons, numbers, strict=True))
