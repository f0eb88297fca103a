"""The annotators of a model, compiled where there are kernels for it."""

from __future__ import annotations

from aggcal.aggregation.annotators import Annotators
from aggcal.aggregation.families import Family
from aggcal.aggregation.rows import Rows


def annotators_of(
    rows: Rows, family: Family, bounds: tuple[float, float] = (-float("inf"), float("inf"))
) -> Annotators:
    """Return the annotators of some rows."""
    return Annotators(rows, family, bounds)
