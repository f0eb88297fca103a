"""The general model where all annotators are alike: there is nothing to integrate out."""

from __future__ import annotations

import numpy as np

from aggcal.models.general.annotators import Integration, Known, Point
from aggcal.models.general.outcomes import Outcomes
from aggcal.models.general.rows import GeneralRows


class NoParameters(Integration):
    """`Integration` over no parameters: one node for everyone, and the likelihood itself.

    Gaps are taken as they are, not averaged over: the optimum is the penalised likelihood's.
    """

    def __init__(self, rows: GeneralRows, outcomes: Outcomes) -> None:
        self.rows, self.names, self.outcomes = rows, (), outcomes
        self.column = {}
        self.points, self.point_weights = np.zeros((1, 0)), np.ones(1)
        self.signs = (1.0,)
        self.modes = None

    def evaluate(self, point: Point) -> Known:
        """Add up the likelihood at a point; `found` is then what moves the rows."""
        rows = self.rows
        ready = np.full(len(rows), -np.inf) if point.offset is None else point.offset
        terms = self.outcomes(point.gaps, ready, rows.answers, self._grades(point))
        m = rows.n_annotators
        known = self.known(np.zeros((m, 1, 0)), np.ones((m, 1)), -float(terms.loss.sum()))
        self.found = self._row_sums(point, known, [terms])
        return known
