"""The problem that terms make of some judgments."""

from __future__ import annotations

from aggcal._core.arrays import FloatArray
from aggcal.aggregation.general.choice import Chosen
from aggcal.aggregation.general.problem import MEAN_PRIORS, Problem
from aggcal.data.base import AnyJudgments
from aggcal.data.control import coded
from aggcal.models.general.annotators import READINESS
from aggcal.models.general.plan import Plan, layout_of


def general_problem(
    judgments: AnyJudgments, chosen: Chosen, *, by_context: bool = False, answers: bool = False
) -> Problem:
    """Return the problem that the terms make of some judgments.

    ``by_context`` keeps rows of different contexts apart, also where it makes no difference;
    ``answers`` lets each answer count once, however much it weighs.
    """
    ties, control = chosen.ties != "halves", chosen.control
    ids = judgments.context_ids
    contexts = len(ids) if "context" in chosen.cells and ties and ids is not None else 0
    plan = Plan(
        chosen.names,
        ties=ties,
        sides=chosen.position,
        keys=by_context or bool(chosen.cells) or getattr(control, "context_ids", None) is not None,
        grades=chosen.graded,
        cells=chosen.cells,
        contexts=int(ties) if chosen.alike else contexts,
        axis=chosen.bridge,
        covariates=None if control is None else coded(control, judgments),
        alike=chosen.alike,
        outcomes=chosen.outcomes,
        answers=answers,
    )
    layout, component = layout_of(judgments, plan), judgments.graph.component
    return (AlikeProblem if chosen.alike else Problem)(layout, component, chosen.outcomes)


class AlikeProblem(Problem):
    """The likelihood of pooled rows: no parameters of annotators."""

    def centre(self) -> FloatArray:
        """Return the prior mean of the unknowns."""
        found = super().centre()
        found[self.layout.where_ties] = MEAN_PRIORS[READINESS][0]
        return found
