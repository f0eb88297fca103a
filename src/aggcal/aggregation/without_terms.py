"""Items and reliabilities alone, the latter integrated out: a fit, or where another begins."""

from __future__ import annotations

from dataclasses import dataclass

from aggcal._core.arrays import FloatArray
from aggcal.aggregation.modes import doubtful
from aggcal.aggregation.newton import Progress
from aggcal.aggregation.solve.fit import first_voice, rough_start
from aggcal.aggregation.solve.marginal import fit_marginal
from aggcal.aggregation.solve.marginal_fits import MarginalFit
from aggcal.aggregation.solve.marginal_problem import MarginalProblem
from aggcal.data.base import AnyJudgments
from aggcal.data.graph import ComparisonGraph
from aggcal.models.links import Link
from aggcal.models.marginal import integrated
from aggcal.models.priors import Prior, default_prior
from aggcal.models.rows import Rows, rows_of
from aggcal.models.some_rows import some_rows


def marginal_problem(rows: Rows, graph: ComparisonGraph, link: Link) -> MarginalProblem:
    """Return the likelihood of these rows with the reliabilities integrated out."""
    return MarginalProblem(integrated(rows, link), graph.component, default_prior(link).score_sd)


@dataclass(frozen=True, eq=False)
class WithoutTerms:
    """How scores and reliabilities are fitted.

    ``prior`` are spreads that are known, ``start`` are scores to begin with, and ``trusted`` says
    that they are near the best optimum.
    """

    link: Link
    prior: Prior | None
    start: FloatArray | None
    on_iteration: Progress | None
    trusted: bool

    def begun(self, judgments: AnyJudgments) -> MarginalFit:
        """Fit roughly, as a fit with further terms goes on from here; some of many rows will do."""
        some = some_rows(judgments) if self.start is None else None
        if some is not None:
            found = self.fit(some[0], judgments.graph, roughly=True)
            if found.convergence.converged and found.rival is None:
                return found.of_more(some[1])
        return self.fit(rows_of(judgments), judgments.graph, roughly=True)

    def fit(self, rows: Rows, graph: ComparisonGraph, *, roughly: bool = False) -> MarginalFit:
        """Fit rows."""
        link, given = self.link, self.prior
        precision = (given or default_prior(link)).score_precision

        def starts(best: MarginalFit | None) -> list[FloatArray]:
            if best is None:
                return [rough_start(rows, link, precision) if self.start is None else self.start]
            if self.trusted or not doubtful(best.scores, best.beliefs.reliability, rows.given):
                return []
            # Many are reversed: perhaps it is the others who are.
            return [-best.scores, first_voice(rows, link, precision)]

        return fit_marginal(
            marginal_problem(rows, graph, link),
            starts,
            score_sd=None if given is None else given.score_sd,
            reliability_sd=None if given is None else given.reliability_sd,
            on_iteration=self.on_iteration,
            roughly=roughly,
        )
