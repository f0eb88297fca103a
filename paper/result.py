"""What an experiment hands over: its numbers beside the paper's, and what else the page shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from aggcal._core.markup import Markup
from aggcal._core.tables import Columns
from aggcal.pages.document import Block, Group, Heading, Table, Text
from paper.published import printed

METRICS = ("tau_a", "tau_b", "spearman", "wasserstein", "ks", "kl", "mse")
"""The metrics of the tables, in the order in which they are shown."""

REFITTED = "another fit: to the optimum, with priors"

_DIGITS = 3  # of most printed numbers
_THIRD_DIGIT = 0.001  # one unit: the authors' cells are not all rounded alike


@dataclass(frozen=True)
class Cell:
    """One number of one table.

    ``kind`` is ``recipe`` (as the authors ran it) or ``fitted`` (the same model to its optimum),
    ``printed`` the paper's number, if it has one. ``comparable`` is false where ours is another
    quantity than the printed one, or has another input: agreement would then be chance. ``note``
    says why a number differs.
    """

    experiment: str
    method: str
    kind: str
    metric: str
    vector: str
    ours: float
    printed: str = ""
    note: str = ""
    comparable: bool = True

    @property
    def published(self) -> float | None:
        """The printed number."""
        return float(self.printed) if self.printed else None

    @property
    def tolerance(self) -> float:
        """How far a reproduction may be off.

        A number of two digits stands for everything that rounds to it. One of three digits may be
        one unit off in the last: the authors' cells are not all rounded alike.
        """
        digits = len(self.printed.partition(".")[2])
        return _THIRD_DIGIT if digits >= _DIGITS else 0.5 / 10**digits if self.printed else 0.0

    @property
    def status(self) -> str:
        """``reproduced``, ``differs``, ``not comparable``, or ``new`` where the paper has none.

        Examples
        --------
        >>> Cell("dots", "btl", "recipe", "tau_b", "consensus", 0.9172, "0.917").status
        'reproduced'
        """
        if self.published is None:
            return "new"
        if not self.comparable:
            return "not comparable"
        # Printed and computed numbers are decimal and binary: a hair more than the tolerance.
        off = abs(self.ours - self.published)
        return "reproduced" if off <= self.tolerance * (1.0 + 1e-9) else "differs"


@dataclass
class Result:
    """The outcome of one experiment; experiments fill it as they go."""

    cells: list[Cell] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    """What the page says and shows beside the cells."""
    figures: dict[str, Markup] = field(default_factory=dict)
    """For each file name without its ending, an SVG."""
    pictures: dict[str, bytes] = field(default_factory=dict)
    """For each file name without its ending, a PNG."""
    tables: dict[str, Columns] = field(default_factory=dict)
    """For each file name without its ending, a table: ``consensus/<experiment>-<method>-<kind>``
    has items and scores."""

    def compare(
        self,
        row: tuple[str, str, str],
        vectors: Mapping[str, Mapping[str, float]],
        metrics: Sequence[str],
        remark: Callable[[str, str], tuple[str, bool]],
    ) -> None:
        """Set the metrics of some vectors beside the paper's.

        Parameters
        ----------
        row
            Experiment, method and kind.
        vectors
            For each vector, its metrics.
        metrics
            Those to take from them.
        remark
            For a metric and a vector: a note, and whether the numbers are comparable.
        """
        experiment, method, kind = row
        self.cells += [
            Cell(
                *(experiment, method, kind, metric, vector, values[metric]),
                printed(experiment, method, metric, vector),
                *remark(metric, vector),
            )
            for vector, values in vectors.items()
            for metric in metrics
        ]

    def show(
        self, title: str, about: str, heads: Sequence[str], rows: Iterable[Sequence[str | float]]
    ) -> None:
        """Show a table on the page: names and counts as they are, numbers written for people."""
        written = [[v if isinstance(v, str) else number(v) for v in row] for row in rows]
        right = frozenset(range(1, len(heads)))
        shown: list[Block] = [
            Heading(title),
            Text(about, "lede"),
            wide_table(heads, written, right),
        ]
        self.blocks.append(Group(shown, "sec"))


def wide_table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[int]) -> Group:
    """Return a table that scrolls where the page is too narrow; ``right`` are its numbers."""
    return Group([Table(heads, rows, "grid ranks", right, whole=True)], "across")


def number(value: float) -> str:
    """Write a number for people.

    Examples
    --------
    >>> number(0.3745), number(29.0), number(4225.3)
    ('0.374', '29.00', '4,225')
    """
    size = abs(value)
    return f"{value:,.{3 if size < 10.0 else 2 if size < 100.0 else 0}f}"  # noqa: PLR2004


def cell_columns(cells: Iterable[Cell]) -> Columns:
    """Return cells as a table.

    Examples
    --------
    >>> one = Cell("rq3", "atc", "recipe", "mse", "calibrated", 1.0004, "1.000")
    >>> cell_columns([one])["status"]
    array(['reproduced'], dtype=object)
    """
    every = list(cells)
    names = ("experiment", "method", "metric", "vector", "kind")
    numbers = ("published", "ours", "tolerance")
    kinds = dict.fromkeys(names, object) | dict.fromkeys(numbers, float)
    kinds |= {"status": object, "note": object}
    return {name: np.array([getattr(c, name) for c in every], kind) for name, kind in kinds.items()}
