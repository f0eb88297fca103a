"""Who beat whom and how often two items met, as tables and as pictures of their own."""

from __future__ import annotations

from functools import partial
from typing import IO, Any

import numpy as np

from aggcal._core.arrays import FloatArray, TextArray
from aggcal.aggregation.consensus import Consensus
from aggcal.assessment.comparisons import met_pairs
from aggcal.assessment.file_names import MATRIX_FILES
from aggcal.data.base import AnyJudgments
from aggcal.errors import OptionError
from aggcal.io.writing.cells import csv_cell, spreadsheet_cell
from aggcal.io.writing.write import Writer
from aggcal.report import matrix

MOST_ITEMS = 1000
"""Items of a matrix: a table of more has more than a million cells."""
MOST_DRAWN = 200
"""Items up to which the matrices are drawn: squares of more are finer than a pixel."""


def check_matrices(judgments: AnyJudgments) -> None:
    """Refuse matrices of judgments that are elsewhere, or about too many items."""
    if judgments.local is None:
        raise OptionError(
            "the judgments are not on this machine, so there are no matrices; leave --matrices out."
        )
    if judgments.n_items > MOST_ITEMS:
        raise OptionError(
            f"--matrices is for at most {MOST_ITEMS:,} items, and there are "
            f"{judgments.n_items:,}; leave it out."
        )


class Matrices:
    """Win rates and numbers of battles of all pairs, items in the order of the consensus.

    Examples
    --------
    >>> import aggcal
    >>> judgments = aggcal.read_judgments([("ann", "a", "b"), ("bob", "a", "b"), ("cas", "b", "a")])
    >>> found = Matrices(judgments, aggcal.aggregate(judgments, warn=False))
    >>> found.battles.tolist(), found.win_rates.round(2).tolist()
    ([[0, 3], [3, 0]], [[nan, 0.67], [0.33, nan]])
    """

    def __init__(self, judgments: AnyJudgments, consensus: Consensus) -> None:
        check_matrices(judgments)
        n = len(consensus.item_ids)
        self.item_ids: TextArray = consensus.item_ids[consensus.order]
        self.pairs = met_pairs(judgments.on_one_machine("the matrices"), consensus)
        self.battles = np.zeros((n, n), dtype=np.int64)
        won = np.zeros((n, n))
        for i, j, ahead, behind, tied in self.pairs:
            self.battles[i, j] = self.battles[j, i] = ahead + behind + tied
            won[i, j], won[j, i] = ahead + 0.5 * tied, behind + 0.5 * tied
        met = np.where(self.battles > 0, self.battles, np.nan)
        self.win_rates: FloatArray = won / met
        """Share of its comparisons with the column's item that the row's item won; a tie counts one
        half, NaN where the two never met."""

    def files(self, *, spreadsheet_safe: bool = False) -> dict[str, Writer]:
        """Return what writes each file; pictures only of as many items as can be seen."""
        names = [str(item) for item in self.item_ids]
        cell = spreadsheet_cell if spreadsheet_safe else csv_cell
        tables: tuple[np.ndarray, ...] = (self.win_rates, self.battles)
        written: dict[str, Writer] = {
            file: partial(_table, names, table, cell)
            for file, table in zip(MATRIX_FILES[:2], tables, strict=True)
        }
        if len(names) > MOST_DRAWN:
            return written
        drawn = (matrix.shares(names, self.pairs), matrix.counts(names, self.pairs))
        for file, picture in zip(MATRIX_FILES[2:], drawn, strict=True):
            written[file] = partial(_text, matrix.alone(picture))
        return written


def _table(names: list[str], table: np.ndarray, cell: Any, file: IO[str]) -> None:
    file.write(",".join(map(cell, ["item", *names])) + "\n")
    for name, row in zip(names, table.tolist(), strict=True):
        values = ("" if value != value else repr(value) for value in row)  # noqa: PLR0124
        file.write(",".join([cell(name), *values]) + "\n")


def _text(text: str, file: IO[str]) -> None:
    file.write(text)
