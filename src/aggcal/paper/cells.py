"""A number of the paper beside ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from aggcal._core.records import dataclass
from aggcal._core.tables import Columns
from aggcal.paper.published import Printed, printed

METRICS = ("tau_a", "tau_b", "spearman", "wasserstein", "ks", "kl", "mse")
"""The metrics of the tables, in the order in which they are shown."""

REFITTED = "another fit: to the optimum, with priors"


@dataclass(frozen=True)
class Cell:
    """One number of one table.

    ``kind`` is ``recipe`` (as the authors ran it) or ``fitted`` (the same model to its optimum).
    ``comparable`` is false where ours is another quantity than the printed one, or has another
    input: agreement would then be chance. ``note`` says why a number differs.
    """

    experiment: str
    method: str
    metric: str
    vector: str
    kind: str
    published: float | None
    ours: float
    tolerance: float = 0.0
    note: str = ""
    comparable: bool = True

    @property
    def status(self) -> str:
        """``reproduced``, ``differs``, ``not comparable``, or ``new`` where the paper has none."""
        if self.published is None:
            return "new"
        if not self.comparable:
            return "not comparable"
        # Printed and computed numbers are decimal and binary: a hair more than the tolerance.
        return (
            "reproduced"
            if abs(self.ours - self.published) <= self.tolerance * (1.0 + 1e-9)
            else "differs"
        )


Remark = Callable[[str, str], tuple[str, bool]]
"""For a metric and a vector: a note, and whether the numbers are comparable."""


def table_cells(
    place: tuple[str, str, str],
    rows: Mapping[str, Mapping[str, float]],
    table: Mapping[str, str],
    *,
    vectors: Sequence[str],
    remark: Remark,
    metrics: Sequence[str] = METRICS,
) -> list[Cell]:
    """Set the metrics of some vectors beside one printed row.

    Parameters
    ----------
    place
        Experiment, method and kind.
    rows
        For each vector, its metrics.
    table
        For each metric, the printed numbers.
    vectors
        Which vector each of the printed numbers is for.
    remark
        What to say of a cell.
    metrics
        Those to take from the rows.

    Examples
    --------
    >>> place, ours = ("dots", "btl", "recipe"), {"consensus": {"tau_b": 0.9172}}
    >>> [one] = table_cells(place, ours, {"tau_b": "0.917"}, vectors=["consensus"],
    ...                     remark=lambda metric, vector: ("", True), metrics=["tau_b"])
    >>> one.status
    'reproduced'
    """
    experiment, method, kind = place
    cells = []
    for vector, found in rows.items():
        for metric in metrics:
            beside = (
                dict(zip(vectors, printed(table[metric]), strict=True)) if metric in table else {}
            )
            theirs = beside.get(vector, Printed(None, 0.0))
            note, comparable = remark(metric, vector)
            cells.append(
                Cell(
                    experiment,
                    method,
                    metric,
                    vector,
                    kind,
                    theirs.value,
                    found[metric],
                    theirs.tolerance,
                    note,
                    comparable,
                )
            )
    return cells


def cell_columns(cells: Iterable[Cell]) -> Columns:
    """Return cells as a table.

    Examples
    --------
    >>> one = Cell("rq3", "atc", "mse", "calibrated", "recipe", 1.0, 1.0004, 0.001)
    >>> cell_columns([one])["status"]
    array(['reproduced'], dtype=object)
    """
    every = list(cells)

    def text(name: str) -> np.ndarray:
        return np.array([getattr(c, name) for c in every], dtype=object)

    columns: Columns = {
        name: text(name) for name in ("experiment", "method", "metric", "vector", "kind")
    }
    columns["published"] = np.array([np.nan if c.published is None else c.published for c in every])
    columns["ours"] = np.array([c.ours for c in every])
    columns["tolerance"] = np.array([c.tolerance for c in every])
    return columns | {name: text(name) for name in ("status", "note")}
