"""The checks that ran on this data and found nothing, each with its numbers.

A check is listed only if it could have found something: data without sides, times or repeated
questions are not called free of what only these show.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.advice.check.agreement import ENOUGH_PAIRS, Agreement
from aggcal.advice.check.camp_signs import FEWEST_ANNOTATORS
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.copies import LEAST_SHARED, Copies
from aggcal.advice.check.cycles import FEWEST_TRIPLES, Cycles
from aggcal.advice.check.findings import Passed
from aggcal.advice.check.position import Sides
from aggcal.advice.check.presentation import BothOrders
from aggcal.advice.check.speed import typical_time
from aggcal.advice.verdicts import FEW
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.groups import several
from aggcal.calibration.says import ENOUGH_TO_TELL, rank_correlation
from aggcal.data.graph import ComparisonGraph
from aggcal.data.judgments import Judgments
from aggcal.errors import count

_PIECE = 1 << 20
"""Rows that are looked at together: one that is a tie is most often among the first."""


def of_data(judgments: Judgments, graph: ComparisonGraph) -> list[Passed]:
    """List what is in order with the rows and the comparisons themselves.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("bob", "b", "a")]
    >>> judgments = aggcal.read_judgments(rows)
    >>> of_data(judgments, ComparisonGraph(judgments))[-1].says
    'Every item won and lost at least once.'
    """
    unfitted = judgments.unfitted.counts
    selves = unfitted.pop("self-pair", 0)
    fewest = int(judgments.judgments_per_annotator.min())
    # A tie, or a strength between 0 and 1, is part of a win and of a loss.
    tied = " (ties included)" if _any_tied(judgments.outcome) else ""
    tests = (
        (
            "alike-ids",
            judgments.spelling is None or not judgments.spelling.normalize,
            f"No two of the {_things(judgments)} look like spellings of the same name.",
        ),
        ("self-pairs", not selves, "No item was compared with itself."),
        ("unanswered", not unfitted, "No answer is missing, skipped or failed."),
        ("duplicate-rows", not judgments.n_duplicates, "There are no duplicate rows."),
        (
            "few-judgments",
            fewest >= FEW,
            f"Every annotator gave {fewest:,} or more judgments.",
        ),
        (
            "disconnected",
            len(graph.component_sizes) == 1,
            f"All {judgments.n_items:,} items are connected by comparisons.",
        ),
        (
            "one-way",
            len(graph.strong_sizes) == 1,
            f"Wins link every item to every other, directly or through others{tied}.",
        ),
        (
            "separation",
            not graph.never_win and not graph.never_lose,
            f"Every item won and lost at least once{tied}.",
        ),
    )
    return [*(Passed(code, says) for code, passes, says in tests if passes), *_times(judgments)]


def _any_tied(outcome: FloatArray) -> bool:
    pieces = (outcome[k : k + _PIECE] for k in range(0, len(outcome), _PIECE))
    return any(bool(((piece > 0.0) & (piece < 1.0)).any()) for piece in pieces)


def _things(judgments: Judgments) -> str:
    return f"{count(judgments.n_items, 'item')} and {count(judgments.n_annotators, 'annotator')}"


def _times(judgments: Judgments) -> list[Passed]:
    found = typical_time(judgments)
    if found is None:
        return []
    typical, limit = found
    return [
        Passed(
            "too-fast",
            f"No annotator's typical time is under {limit:.1f} seconds (median "
            f"{typical:.1f} seconds).",
        )
    ]


def of_fit(consensus: Consensus) -> list[Passed]:
    """Say that the fit converged, where it says so itself."""
    record = consensus.convergence
    if record is None or not record.converged:
        return []
    return [Passed("not-converged", f"The fit ({consensus.method}) converged.")]


def of_scores(consensus: Consensus, model: FloatArray, scored: int) -> list[Passed]:
    """List what is in order between the scores and the judgments.

    ``model`` has the score of each item of the consensus, NaN where there is none; ``scored`` items
    have one in all.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", a, b) for a in "abcdef" for b in "abcdef" if a > b]
    >>> for each in of_scores(aggcal.aggregate(rows, warn=False), np.arange(6.0), 6):
    ...     print(each.says)
    All 6 items are both judged and scored.
    The model's scores do not run against the consensus (rank correlation 1.00).
    """
    both = np.flatnonzero(np.isfinite(model))
    found = []
    if len(both) == scored == len(model):
        found.append(
            Passed("unmatched-items", f"All {len(both):,} items are both judged and scored.")
        )
    if len(both) >= ENOUGH_TO_TELL:
        model = model[both]
        if np.ptp(model) == 0.0:
            return found  # no direction to speak of
        component = None if consensus.component is None else several(consensus.component[both])
        together = rank_correlation(consensus.scores[both], model, component)
        found.append(
            Passed(
                "direction",
                "The model's scores do not run against the consensus (rank correlation "
                f"{together:.2f}).",
            )
        )
    return found


def of_sides(found: Sides, orders: BothOrders) -> list[Passed]:
    """List what is in order with the sides on which items were shown."""
    decided = float(found.decided.sum())
    passed = []
    active = int(np.sum(found.decided >= FEW))
    if active and not len(found.biased):
        says = f"None of {_active(active)} was found to favour one side of the screen."
        passed.append(Passed("position-bias", says))
    if decided and np.isfinite(found.study_error):
        passed.append(
            Passed(
                "side-preferred",
                "Over the whole study the left item has no clear advantage: it won "
                f"{float(found.lefts.sum()) / decided:.0%} of {decided:,.0f} decided judgments "
                f"({found.study_advantage:+.2f} logits, standard error {found.study_error:.2f}).",
            )
        )
    if orders.pairs and not orders.found:
        passed.append(
            Passed(
                "order-decides",
                f"Of {count(orders.pairs, 'pair')} that an annotator judged in both orders, the "
                f"answer to {len(orders.changed):,} changed, without a clear preference for one "
                "side.",
            )
        )
    return passed


def of_copies(found: Copies) -> list[Passed]:
    """Say that nobody copied, where anybody could be compared."""
    if not found.compared or len(found.one):
        return []
    couples = count(found.compared, "couple")
    return [
        Passed(
            "copies",
            f"No two annotators agree suspiciously often ({couples} with {LEAST_SHARED} or more "
            "shared pairs compared).",
        )
    ]


def of_camps(fitted: Fitted) -> list[Passed]:
    """Say that the annotators share one consensus, where there are enough of them to differ."""
    active = int(np.sum(fitted.judgments.judgments_per_annotator >= FEW))
    if active < FEWEST_ANNOTATORS:
        return []
    m = fitted.judgments.n_annotators
    return [Passed("divided", f"No opposing groups were found among the {m:,} annotators.")]


def of_cycles(found: Cycles) -> list[Passed]:
    """Say how many cycles there are, where that is no more than expected."""
    if found.triads < FEWEST_TRIPLES:
        return []
    return [
        Passed(
            "circular",
            f"{found.share:.1%} of {found.triads:,} triples of items are cycles, about as many as "
            f"expected ({found.expected:.1%}).",
        )
    ]


def of_annotators(fitted: Fitted, found: Sequence[str]) -> list[Passed]:
    """Say what the annotators are not, each compared with all the others.

    Parameters
    ----------
    fitted
        The study and its fit.
    found
        Codes of what was found of them.
    """
    active = int(np.sum(fitted.judgments.judgments_per_annotator >= FEW))
    if not active:
        return []
    passed, who = [], f"None of {_active(active)} was found to"
    if not {"reversed-annotators", "contradicting", "perhaps-reversed"} & set(found):
        passed.append(Passed("reversed-annotators", f"{who} answer the opposite of the others."))
    if not {"guessing", "perhaps-guessing"} & set(found):
        passed.append(Passed("guessing", f"{who} be guessing."))
    return passed


def _active(number: int) -> str:
    return f"{count(number, 'annotator')} with {FEW} or more judgments"


def of_repeats(again: int, both_ways: int) -> list[Passed]:
    """Say how often annotators contradicted themselves, where they were asked again."""
    if not again:
        return []
    return [
        Passed(
            "self-contradiction",
            f"Annotators gave both answers to {both_ways:,} of {count(again, 'pair')} judged "
            "again, nobody more often than expected.",
        )
    ]


def of_agreement(found: Agreement | None) -> list[Passed]:
    """Say how well annotators agree, where enough pairs have several."""
    if found is None or found.pairs < ENOUGH_PAIRS or not np.isfinite(found.alpha):
        return []
    return [
        Passed(
            "low-agreement",
            f"Two annotators agree on {found.agree:.0%} of shared pairs; chance gives "
            f"{found.by_chance:.0%} (Krippendorff's alpha {found.alpha:.2f}, "
            f"{count(found.pairs, 'pair')}).",
        )
    ]
