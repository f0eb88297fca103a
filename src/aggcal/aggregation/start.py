"""What aggregators share: where to start, and what to say when the end was not reached."""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.tables import aligned
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.newton import Convergence
from aggcal.aggregation.rows import Rows
from aggcal.data.base import AnyJudgments
from aggcal.data.scores import Scores
from aggcal.errors import (
    AggcalWarning,
    ConvergenceWarning,
    DividedWarning,
    FewJudgmentsWarning,
    NoMaximumWarning,
    OptionError,
    count,
    some,
)

Start = Consensus | Scores | FloatArray | None
_CLOSE_CALL = 2.0  # in log-likelihood: a larger one warns of more divided studies, wrongly at times

_MANY_AGAINST, _CLEARLY, _SEVERAL = 0.3, 0.1, 2
"""Share of annotators below minus so much of the typical reliability, and number of them, from
which the mode is not trusted: with two fifths reversed, 2 to 8% of its orders were upside down in
small studies and no other warning was given. People who guess, or fewer reversed, do not reach it.
"""
_ENOUGH_EACH = 30
"""Judgments of a typical annotator from which standard errors without a prior are usable."""
_CONTRADICT = "Use a prior (the default), or collect judgments that contradict these."


def start_scores(start: Start, judgments: AnyJudgments) -> FloatArray | None:
    """Return the scores to start from, in the order of the judgments' items."""
    if start is None:
        return None
    if isinstance(start, Consensus | Scores):
        values = start.scores if isinstance(start, Consensus) else start.values
        found = aligned(values, start.item_ids, judgments.item_ids)
        if np.isnan(found).all():
            raise OptionError(
                f"start has none of the {judgments.n_items} items of the judgments (it has "
                f"{some(start.item_ids)}); give one of the same study, or leave it out."
            )
        return np.nan_to_num(found)
    try:
        array = np.asarray(start, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(
            f"start is a {type(start).__name__}, not numbers; give an earlier consensus, Scores, "
            f"or one number for each of the {judgments.n_items} items."
        ) from None
    shaped = array.shape == (judgments.n_items,)
    if not shaped or not np.isfinite(array).all():
        wrong = "holds a missing or infinite number" if shaped else f"has the shape {array.shape}"
        raise OptionError(
            f"start {wrong}; give one finite number for each of the "
            f"{judgments.n_items} items, in the order of judgments.item_ids."
        )
    return array


def not_converged(name: str, record: Convergence) -> list[AggcalWarning]:
    """Warn of a fit that did not reach its optimum."""
    if record.converged:
        return []
    if record.gradient_norm <= record.tolerance:
        return [
            ConvergenceWarning(
                f"The prior sds of scores and reliabilities that {name} estimates did not converge "
                f"within {record.iterations} iterations.",
                "Set them with --score-sd and --reliability-sd, or look for items that always win "
                "or lose.",
                title="The estimated prior did not converge",
                why=f"{name} estimates the prior sds of scores and reliabilities; "
                f"{record.iterations} iterations were not enough.",
            )
        ]
    return [
        ConvergenceWarning(
            f"The fit ({name}) did not converge: its relative gradient is "
            f"{record.gradient_norm:.1e}, and {record.tolerance:.0e} is required.",
            "Use a stronger prior, or look for items and annotators with few judgments.",
            title="The fit did not converge",
            why=f"The relative gradient of {name} is {record.gradient_norm:.1e}; "
            f"{record.tolerance:.0e} is required.",
        )
    ]


def divided(objective: float, rival: float | None) -> list[AggcalWarning]:
    """Warn where a very different order fits nearly as well."""
    if rival is None or rival - objective >= _CLOSE_CALL:
        return []
    return [
        DividedWarning(
            "Annotators contradict each other so much that a very different order fits their "
            f"judgments nearly as well (objective {objective:.2f} against {rival:.2f}). Which end "
            "of the consensus is the top is uncertain.",
            "Find out who misread the question, or add annotators whom you trust.",
            title="Two very different orders fit the judgments about equally well",
            why=f"Annotators contradict each other (objective {objective:.2f} against "
            f"{rival:.2f}). Which end of the consensus is the top is uncertain.",
        )
    ]


def many_against(reliabilities: FloatArray, given: FloatArray) -> list[AggcalWarning]:
    """Warn where the mode takes so many annotators for reversed that it may be upside down.

    Examples
    --------
    >>> [found] = many_against(np.array([1.0, 0.8, -1.1, 1.2, -0.9]), np.full(5, 100.0))
    >>> found.title
    '2 of 5 annotators answer against the consensus'
    >>> many_against(np.array([1.0, 0.8, 1.1, 1.2, -0.9]), np.full(5, 100.0))
    []
    """
    level = -_CLEARLY * typical_reliability(reliabilities, given)
    number, all_of_them = int((reliabilities < level).sum()), len(reliabilities)
    if number < _SEVERAL or number <= _MANY_AGAINST * all_of_them:
        return []
    title = f"{number:,} of {all_of_them:,} annotators answer against the consensus"
    why = "With so many, the joint mode cannot tell which end of the consensus is the top."
    return [
        DividedWarning(
            f"{title}. {why}",
            "Use the default estimator on the processor, which estimates how many annotators are "
            "reversed, or find out who misread the question.",
            title=title,
            why=why,
        )
    ]


def typical_reliability(reliabilities: FloatArray, given: FloatArray) -> float:
    """Return the mean strength of the annotators, by how much they judged.

    One who answers the other way round counts with their strength.

    Examples
    --------
    >>> typical_reliability(np.array([2.0, -1.0]), np.array([30.0, 10.0]))
    1.75
    """
    found = float(np.abs(reliabilities) @ given / given.sum())
    return found if found > 0.0 else 1.0


def no_prior_warnings(
    judgments: AnyJudgments, rows: Rows, scores: FloatArray, *, heterogeneous: bool
) -> list[AggcalWarning]:
    """Say for whom there is no maximum of the likelihood of rows, which are wins.

    And, of annotators who have reliabilities, where standard errors are far too small.
    """
    graph, said = judgments.graph, list[AggcalWarning]()
    outside = list(graph.item_ids[graph.strong > 0])
    if outside:
        said.append(_no_score(outside))
    if not heterogeneous:
        return said
    gap = scores[rows.left] - scores[rows.right]
    begins = rows.starts[:-1]
    one_sided = np.minimum.reduceat(gap, begins) > 0.0
    one_sided |= np.maximum.reduceat(gap, begins) < 0.0
    if one_sided.any():
        who = list(judgments.annotator_ids[one_sided])
        said.append(_infinite(who))
    typical = float(np.median(judgments.judgments_per_annotator))
    if typical < _ENOUGH_EACH:
        said.append(
            FewJudgmentsWarning(
                f"Half of the annotators gave {typical:g} judgments or fewer, and no prior "
                "limits their reliabilities. Standard errors are then several times too small.",
                "Use a prior (the default).",
                title=f"Half of the annotators gave {typical:g} judgments or fewer",
                why="No prior limits their reliabilities, so standard errors are several times "
                "too small.",
            )
        )
    return said


def _no_score(outside: list[str]) -> NoMaximumWarning:
    """Warn of items whose scores run away."""
    chain = "chain of wins and losses connects them to the other items in both directions"
    return NoMaximumWarning(
        f"The maximum-likelihood estimate does not exist for {some(outside)}: no {chain}.",
        _CONTRADICT,
        title=f"{count(len(outside), 'item has', 'items have')} no maximum-likelihood score",
        why=f"No {chain}: {some(outside)}.",
        items=outside,
    )


def _infinite(who: list[str]) -> NoMaximumWarning:
    """Warn of annotators whose reliabilities run away."""
    does = f"never (or always) {'contradicts' if len(who) == 1 else 'contradict'} the consensus"
    has = count(len(who), "annotator has", "annotators have")
    return NoMaximumWarning(
        f"The maximum-likelihood reliability is infinite for {some(who)}, who {does}.",
        _CONTRADICT,
        title=f"{has} an infinite maximum-likelihood reliability",
        why=f"{some(who)} {does}.",
        annotators=who,
    )
