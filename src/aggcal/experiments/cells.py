"""A number of the paper beside ours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from aggcal.tables import Columns

ROUNDING = {
    "tau_a": 0.001,
    "tau_b": 0.001,
    "spearman": 0.001,
    "wasserstein": 0.001,
    "ks": 0.001,
    "mse": 0.001,
}
"""How far a number printed to three digits may be off by rounding, and one digit more."""


@dataclass(frozen=True)
class Cell:
    """One number of one table.

    ``kind`` is ``recipe`` (as the authors ran it), ``fitted`` (the same model to its optimum) or
    ``authors`` (from the authors' own Stage 1 files). ``note`` says why a number differs.
    """

    experiment: str
    method: str
    metric: str
    vector: str
    kind: str
    published: float | None
    ours: float
    tolerance: float
    note: str = ""

    @property
    def status(self) -> str:
        """``reproduced``, ``differs``, or ``new`` where the paper has no number."""
        if self.published is None:
            return "new"
        return "reproduced" if abs(self.ours - self.published) <= self.tolerance else "differs"


def cell_columns(cells: Iterable[Cell]) -> Columns:
    """Return cells as a table.

    Examples
    --------
    >>> one = Cell("rq3", "atc", "mse", "calibrated", "recipe", 1.0, 1.0004, 0.001)
    >>> cell_columns([one])["status"]
    array(['reproduced'], dtype=object)
    """
    every = list(cells)
    text = ("experiment", "method", "metric", "vector", "kind", "status", "note")
    columns: Columns = {}
    for name in ("experiment", "method", "metric", "vector", "kind"):
        columns[name] = np.array([getattr(c, name) for c in every], dtype=object)
    columns["published"] = np.array([np.nan if c.published is None else c.published for c in every])
    columns["ours"] = np.array([c.ours for c in every])
    columns["tolerance"] = np.array([c.tolerance for c in every])
    for name in text[5:]:
        columns[name] = np.array([getattr(c, name) for c in every], dtype=object)
    return columns
