"""The problem that terms make of some judgments."""

from __future__ import annotations

from aggcal.aggregation.general.alike import alike_problem
from aggcal.aggregation.general.choice import Chosen
from aggcal.aggregation.general.problem import Problem
from aggcal.data.judgments import Judgments
from aggcal.models.general.design import design
from aggcal.models.general.rows import general_rows
from aggcal.models.general.sums import Layout


def general_problem(judgments: Judgments, chosen: Chosen, *, by_context: bool = False) -> Problem:
    """Return the problem that the terms make of some judgments.

    ``by_context`` keeps rows of different contexts apart, also where it makes no difference.
    """
    if chosen.alike:
        return alike_problem(judgments, chosen)
    ties, control = chosen.ties != "halves", chosen.control
    keys = (
        by_context
        or bool(chosen.cells)
        or (control is not None and control.context_ids is not None)
    )
    grades = chosen.graded
    rows = general_rows(judgments, ties=ties, sides=chosen.position, keys=keys, grades=grades)
    ids = judgments.context_ids
    contexts = len(ids) if "context" in chosen.cells and ties and ids is not None else 0
    held = None
    if control is not None:
        held = control.differences(judgments, rows.left, rows.right, rows.keys.get("context"))
    unknowns = design(rows, list(chosen.cells), held)
    layout = Layout(rows, unknowns, chosen.names, chosen.bridge, contexts)
    return Problem(layout, judgments.graph.component, chosen.outcomes)
