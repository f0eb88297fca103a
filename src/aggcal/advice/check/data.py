"""What the rows and the scores of a study show without a model of its annotators."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from aggcal._core.arrays import FloatArray, sums
from aggcal._core.tables import aligned
from aggcal.advice.check.findings import (
    LISTED,
    Affects,
    Finding,
    Passed,
    Severity,
    annotators_named,
    listed,
    rounded,
)
from aggcal.advice.verdicts import FEW
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.groups import several
from aggcal.calibration.draws import Knowledge, agreement
from aggcal.calibration.says import (
    ENOUGH_TO_TELL,
    alike_warnings,
    direction_warnings,
    rank_correlation,
    unmatched_warnings,
)
from aggcal.data.graph import ComparisonGraph
from aggcal.data.judgments import Judgments
from aggcal.data.scores import Scores
from aggcal.data.warnings import data_warnings, weight_warnings
from aggcal.errors import AggcalWarning, count, option, some
from aggcal.registry import BTL

_NOTES = {"duplicate-rows", "weights", "unanswered", "separation"}
"""Warnings of the data that are notes; all others are problems."""
_PAIRS_NAMED = 5  # pairs to ask: more make a sentence that nobody reads
_SHARE = 0.25  # of the typical time: a higher one names the merely quick
_AT_ONCE = 0.5  # seconds in which nobody has read two items
_ENOUGH = 3  # times: of fewer there is no typical one
_FEWEST_TO_COMPARE = 3  # items: of two every correlation is 1 or -1


class OfData(NamedTuple):
    """What is to be said of rows alone."""

    findings: list[Finding]
    passed: list[Passed]
    counts: dict[str, Any]


def of_data(judgments: Judgments) -> OfData:
    """Look at the rows and at the comparisons that they make.

    Examples
    --------
    >>> import aggcal
    >>> found = of_data(aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "a")]))
    >>> [each.code for each in found.findings], found.counts["components"]
    (['few-judgments'], 1)
    >>> found.passed[-1].says
    'Every item won and lost at least once.'
    """
    graph = judgments.graph
    said = [*data_warnings(judgments), *weight_warnings(judgments)]
    findings = [_of_warning(each, judgments, graph) for each in said]
    findings += [*one_way(judgments, graph), *few_judgments(judgments), *too_fast(judgments)]
    counts = {
        "rows": judgments.n_rows,
        "judgments": judgments.n_judgments,
        "items": judgments.n_items,
        "annotators": judgments.n_annotators,
        "ties": judgments.tallies.n_ties,
        "duplicate_rows": judgments.n_duplicates,
        "not_fitted": judgments.unfitted.counts,
        "components": len(graph.component_sizes),
        "strong_components": len(graph.strong_sizes),
        "never_win": len(graph.never_win),
        "never_lose": len(graph.never_lose),
        "judgments_per_item": range_of(judgments.judgments_per_item),
        "judgments_per_annotator": range_of(judgments.judgments_per_annotator),
    }
    return OfData(findings, _passed(judgments, graph), counts)


def range_of(numbers: np.ndarray) -> dict[str, float]:
    """Return the least, the median and the greatest."""
    low, high = float(numbers.min()), float(numbers.max())
    whole = numbers.dtype.kind == "i"
    return {
        "min": int(low) if whole else low,
        "median": float(np.median(numbers)),
        "max": int(high) if whole else high,
    }


def _passed(judgments: Judgments, graph: ComparisonGraph) -> list[Passed]:
    """List what is in order with the rows and the comparisons themselves."""
    unfitted = judgments.unfitted.counts
    selves = unfitted.pop("self-pair", 0)
    fewest = int(judgments.judgments_per_annotator.min())
    # A tie, or a strength between 0 and 1, is part of a win and of a loss.
    outcome = judgments.outcome
    tied = " (ties included)" if ((outcome > 0.0) & (outcome < 1.0)).any() else ""
    things = f"{count(judgments.n_items, 'item')} and {count(judgments.n_annotators, 'annotator')}"
    spelled = judgments.spelling is None or not judgments.spelling.normalize
    tests = (
        ("alike-ids", spelled, f"No two of the {things} look like spellings of the same name."),
        ("self-pairs", not selves, "No item was compared with itself."),
        ("unanswered", not unfitted, "No answer is missing, skipped or failed."),
        ("duplicate-rows", not judgments.n_duplicates, "There are no duplicate rows."),
        ("few-judgments", fewest >= FEW, f"Every annotator gave {fewest:,} or more judgments."),
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
    found = [Passed(code, says) for code, passes, says in tests if passes]
    if (times := _typical_time(judgments)) is not None:
        typical, limit = times
        says = f"typical time is under {limit:.1f} seconds (median {typical:.1f} seconds)"
        found.append(Passed("too-fast", f"No annotator's {says}."))
    return found


# ------------------------------------------------------------------------------- comparisons
def _of_warning(warning: AggcalWarning, judgments: Judgments, graph: ComparisonGraph) -> Finding:
    """Return a warning of the data as a finding, with what makes it easier to mend."""
    severity: Severity = "note" if warning.code in _NOTES else "problem"
    finding = Finding.of_warning(warning, severity, judgments)
    if warning.code == "duplicate-rows":
        return _with_rows(finding, judgments)
    return _joined(finding, judgments, graph) if warning.code == "disconnected" else finding


def _with_rows(finding: Finding, judgments: Judgments) -> Finding:
    """Name the duplicate rows, where all rows that were merged are duplicates."""
    if judgments.n_duplicates != judgments.n_merged:
        return finding
    at = np.flatnonzero(judgments.count > 1)
    columns = judgments.annotator[at], judgments.left[at], judgments.right[at]
    named = zip(
        judgments.annotator_ids[columns[0][:LISTED]],
        judgments.item_ids[columns[1][:LISTED]],
        judgments.item_ids[columns[2][:LISTED]],
        strict=True,
    )
    items = len(np.unique(np.concatenate(columns[1:])))
    affects = Affects(finding.affects.judgments, items, len(np.unique(columns[0])))
    extra = [int(n) - 1 for n in judgments.count[at][:LISTED]]
    details = {"rows": [listed(row) for row in named], "extra": extra, "number": len(at)}
    return replace(finding, details=details, affects=affects)


def _joined(finding: Finding, judgments: Judgments, graph: ComparisonGraph) -> Finding:
    """Add which comparisons would join the components, one for each smaller one.

    Each joins the most judged item of a component to the item of the largest one that won the most
    similar share of its own comparisons: a pair of near equals tells most.
    """
    wins = sums(judgments.left, judgments.count * judgments.outcome, judgments.n_items)
    wins += sums(judgments.right, judgments.count * (1.0 - judgments.outcome), judgments.n_items)
    given, sizes = judgments.judgments_per_item, graph.component_sizes
    share, ids = wins / np.maximum(given, 1), judgments.item_ids
    home = np.flatnonzero(graph.component == 0)
    # From the most judged on: of equally near items it is the best known that is named.
    home = home[np.argsort(-given[home], kind="stable")]
    pairs = []
    for piece in range(1, min(len(sizes), _PAIRS_NAMED + 1)):
        inside = np.flatnonzero(graph.component == piece)
        item = inside[np.argmax(given[inside])]
        near = home[np.argmin(np.abs(share[home] - share[item]))]
        pairs.append([str(ids[item]), str(ids[near])])
    named = ", ".join(f"'{a}' with '{b}'" for a, b in pairs)
    rest = len(sizes) - 1 - len(pairs)
    more = f", and so on for {count(rest, 'more component')}" if rest else ""
    details = {
        "pieces": len(sizes),
        "sizes": [int(size) for size in sizes[:LISTED]],
        "joining_pairs": pairs,
    }
    remedy = f"Have several annotators compare {named}{more}."
    return replace(finding, remedy=remedy, details=finding.details | details)


def one_way(judgments: Judgments, graph: ComparisonGraph) -> list[Finding]:
    """Report groups of items that never lose to the rest: their distance has no upper bound.

    Items that never win or lose at all are reported separately (`aggcal.data.warnings`).

    Examples
    --------
    >>> import aggcal
    >>> cycle = lambda x, y, z: [("ann", x, y), ("ann", y, z), ("ann", z, x)]
    >>> rows = [*cycle("a", "b", "c"), *cycle("d", "e", "f"), ("ann", "a", "d")]
    >>> judgments = aggcal.read_judgments(rows)
    >>> [f.code for f in one_way(judgments, ComparisonGraph(judgments))]
    ['one-way']
    """
    alone = set(graph.never_win) | set(graph.never_lose)
    sizes, pieces = graph.strong_sizes, len(graph.component_sizes)
    outside = np.flatnonzero(graph.strong > 0)
    which = [k for k in outside.tolist() if judgments.item_ids[k] not in alone]
    if len(sizes) <= pieces or not which or pieces > 1:
        return []
    names = [str(judgments.item_ids[k]) for k in which]
    far = f"({option('prior', 'none')} would put them infinitely far apart)"
    why = f"Only the prior limits how far apart they are {far}"
    return [
        Finding(
            "note",
            "one-way",
            f"{count(len(names), 'item')} ({some(names)}) won, or lost, every comparison with "
            f"a group of other items. {why}.",
            "Have them compared again with items just above and just below them.",
            {"strong_components": len(sizes), "items": listed(names), "number": len(names)},
            title=f"{count(len(names), 'item')} won or lost every comparison with a group of "
            "others",
            why=f"{why}: {some(names)}.",
            affects=Affects.by_items(judgments, which),
        )
    ]


# ------------------------------------------------------------------------------- annotators
def few_judgments(judgments: Judgments) -> list[Finding]:
    """Report annotators with fewer than `aggcal.advice.verdicts.FEW` judgments."""
    least = np.flatnonzero(judgments.judgments_per_annotator < FEW)
    if not len(least):
        return []
    few = judgments.annotator_ids[least]
    share = len(few) / judgments.n_annotators
    return [
        Finding(
            "note",
            "few-judgments",
            f"Fewer than {FEW} judgments say little about an annotator's reliability, so the prior "
            f"decides it ({some(few)}).",
            f"Ask {'this annotator' if len(few) == 1 else 'them'} for more, or use "
            f"{option('method', BTL.name)} if nearly all annotators are like this.",
            {"annotators": listed(few), "number": len(few), "fewer_than": FEW},
            title=f"{count(len(few), 'annotator')} of {judgments.n_annotators:,} ({share:.0%}) "
            f"gave fewer than {FEW} judgments",
            why=f"So few say little about a reliability; the prior decides it ({some(few)}).",
            affects=Affects.by_annotators(judgments, least.tolist()),
        )
    ]


def _typical_time(judgments: Judgments) -> tuple[float, float] | None:
    """Return the median time in seconds and the limit below which an annotator is too fast.

    None where there are no times, too few of them, or ones that nobody can take.
    """
    seconds = judgments.seconds
    if seconds is None or np.isfinite(seconds).sum() < _ENOUGH:
        return None
    typical = float(np.nanmedian(seconds))
    return None if typical < _AT_ONCE else (typical, max(_SHARE * typical, _AT_ONCE))


def too_fast(judgments: Judgments) -> list[Finding]:
    """Report annotators who take less than a quarter of the usual time, or half a second.

    Examples
    --------
    >>> import aggcal
    >>> from dataclasses import replace
    >>> judgments = aggcal.read_judgments([(u, "a", "b") for u in ("ann", "bob", "eve")])
    >>> timed = replace(judgments, seconds=np.array([8.0, 9.0, 1.0]))
    >>> too_fast(timed)[0].details["annotators"]
    ['eve']
    """
    seconds = judgments.seconds
    if seconds is None or np.isfinite(seconds).sum() < _ENOUGH:
        return []
    typical, times = float(np.nanmedian(seconds)), _typical_time(judgments)
    if times is None:
        title = f"The median time of a judgment is {typical:.2g} seconds"
        why = "That is too short to read two items. The times may be in another unit."
        return [
            Finding(
                "note",
                "impossible-times",
                f"{title}, which is too short to read two items. The times may be in another unit.",
                "Give the times in seconds.",
                {"usual_seconds": round(typical, 4)},
                title=title,
                why=why,
            )
        ]
    fast = np.flatnonzero(np.nan_to_num(seconds, nan=np.inf) < times[1])
    if not len(fast):
        return []
    fast = fast[np.argsort(seconds[fast], kind="stable")]
    ids = judgments.annotator_ids[fast]
    return [
        Finding(
            "note",
            "too-fast",
            f"'{ids[0]}' typically took {seconds[fast[0]]:.1f} seconds; the median annotator takes "
            f"{typical:.1f}.{annotators_named(ids)}",
            "Ask whether they looked at both items. Leave them out only if other findings name "
            "them too.",
            {
                "annotators": listed(ids),
                "number": len(fast),
                "seconds": rounded(seconds[fast]),
                "usual_seconds": round(typical, 4),
            },
            title=f"{count(len(fast), 'annotator')} of {judgments.n_annotators:,} typically "
            f"answered in under {times[1]:.1f} seconds",
            affects=Affects.by_annotators(judgments, fast.tolist()),
        )
    ]


# ------------------------------------------------------------------------------- scores
def unmatched(judgments: Judgments, scores: Scores) -> list[Finding]:
    """Report items that are in only one of the two tables.

    Examples
    --------
    >>> import aggcal
    >>> judgments = aggcal.read_judgments([("ann", "a", "b")])
    >>> [f.code for f in unmatched(judgments, aggcal.read_scores([("x", 1.0)]))]
    ['no-common-item']
    """
    judged, scored = set(judgments.item_ids), set(scores.item_ids)
    warnings = alike_warnings(judgments.item_ids, scores.item_ids)
    alike = [Finding.of_warning(warning) for warning in warnings]
    if not judged & scored:
        return [
            *alike,
            Finding(
                "problem",
                "no-common-item",
                f"The judged items ({some(judgments.item_ids)}) and the scored items "
                f"({some(scores.item_ids)}) have no id in common.",
                "Use the same ids in both tables.",
                {"judged": listed(judgments.item_ids), "scored": listed(scores.item_ids)},
                title="No item is in both tables",
                affects=Affects(items=len(judged | scored)),
            ),
        ]
    unscored, unjudged = sorted(judged - scored), sorted(scored - judged)
    details = {"without_score": listed(unscored), "without_judgment": listed(unjudged)}
    return alike + [
        replace(finding, details=details)
        for finding in map(Finding.of_warning, unmatched_warnings(unscored, unjudged))
    ]


def opposite(
    consensus: Consensus, model: FloatArray, scored: int
) -> tuple[list[Finding], list[Passed]]:
    """Report scores that fall where the consensus rises, or that are all the same.

    ``model`` has the score of each item of the consensus, NaN where there is none; ``scored`` items
    have one in all.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", a, b) for a in "abcdef" for b in "abcdef" if a < b]
    >>> consensus = aggcal.aggregate(rows, warn=False)
    >>> [f.code for f in opposite(consensus, np.arange(6.0), 6)[0]]
    ['direction']
    """
    both = np.flatnonzero(np.isfinite(model))
    number, model, passed = len(both), model[both], []
    if number == scored == len(consensus.scores):
        says = f"All {number:,} items are both judged and scored."
        passed.append(Passed("unmatched-items", says))
    if number > 1 and np.ptp(model) == 0.0:
        constant = Finding(
            "problem",
            "constant-scores",
            f"The model gives all {number:,} judged items the score {float(model[0]):g}. "
            "Calibration leaves such scores as they are, whatever the annotators say.",
            "Check that the right column was read as the score.",
            {"score": float(model[0])},
            title="The model gives every item the same score",
            affects=Affects(items=number),
        )
        return [constant], passed
    if number >= ENOUGH_TO_TELL:
        component = None if consensus.component is None else several(consensus.component[both])
        together = rank_correlation(consensus.scores[both], model, component)
        says = "The model's scores do not run against the consensus (rank correlation "
        passed.append(Passed("direction", f"{says}{together:.2f})."))
    said = direction_warnings(consensus.scores[both], model)
    return [Finding.of_warning(warning) for warning in said], passed


def same_source(consensus: Consensus, scores: Scores, seed: int = 0) -> list[Finding]:
    """Report scores that agree with the consensus more than its uncertainty allows.

    Scores made without these judgments agree at best with what the annotators would settle on in
    the end, from which the consensus differs by chance; scores made from them share its errors. The
    exact consensus is drawn 1,000 times. The note is given where the scores have a third fewer
    pairs the other way round than any of these draws.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal.simulation import simulate
    >>> study = simulate(items=30, annotators=10, judgments=200, seed=1)
    >>> consensus = aggcal.aggregate(study.judgments, warn=False)
    >>> made = aggcal.Scores(consensus.item_ids, np.exp(consensus.scores))
    >>> [f.code for f in same_source(consensus, made)]
    ['model-from-judgments']
    >>> same_source(consensus, aggcal.read_scores(study.scores))
    []
    """
    known = consensus.uncertainty
    model = aligned(scores.values, scores.item_ids, consensus.item_ids)
    both = np.flatnonzero(np.isfinite(model))
    if known is None or len(both) < _FEWEST_TO_COMPARE:
        return []
    covariance = known.covariance if len(both) == len(known.scores) else known.covariance.of(both)
    freedom = known.degrees_of_freedom
    drawn = Knowledge(known.scores[both], covariance, model[both], degrees_of_freedom=freedom)
    near = agreement(drawn, seed)
    if not near.plain:
        return []
    return [
        Finding(
            "note",
            "model-from-judgments",
            "The model's scores agree with the consensus more closely than independent scores "
            "could, given its uncertainty. They may have been made from these judgments; "
            "calibration assumes independent errors.",
            "Calibrate scores that were made without these judgments.",
            {"pairs": near.pairs, "reversed": near.against, "expected_at_least": near.least},
            title="The model's scores may have been made from these judgments",
            affects=Affects(items=len(both)),
        )
    ]
