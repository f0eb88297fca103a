"""What a study has, in numbers, and what its data alone warn of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from aggcal.advice.check.connectivity import with_joining_pairs
from aggcal.advice.check.findings import LISTED, Affects, Finding, Severity, listed
from aggcal.data.graph import ComparisonGraph
from aggcal.data.judgments import Judgments
from aggcal.data.scores import Scores
from aggcal.errors import AggcalWarning

_NOTES = {"duplicate-rows", "weights", "unanswered", "separation"}


def of_warning(warning: AggcalWarning, judgments: Judgments, graph: ComparisonGraph) -> Finding:
    """Return a warning of the data as a finding, with what makes it easier to mend."""
    severity: Severity = "note" if warning.code in _NOTES else "problem"
    finding = Finding.of_warning(warning, severity, judgments)
    if warning.code == "duplicate-rows":
        return _with_rows(finding, judgments)
    if warning.code == "disconnected":
        return with_joining_pairs(finding, judgments, graph)
    return finding


def _with_rows(finding: Finding, judgments: Judgments) -> Finding:
    """Name the duplicate rows, where all rows that were merged are duplicates."""
    if judgments.n_duplicates != judgments.n_merged:
        return finding
    at = np.flatnonzero(judgments.count > 1)
    names = judgments.annotator_ids, judgments.item_ids, judgments.item_ids
    columns = judgments.annotator[at], judgments.left[at], judgments.right[at]
    named = zip(
        *(ids[codes[:LISTED]] for ids, codes in zip(names, columns, strict=True)), strict=True
    )
    rows = [listed(row) for row in named]
    items = len(np.unique(np.concatenate(columns[1:])))
    affects = Affects(finding.affects.judgments, items, len(np.unique(columns[0])))
    extra = [int(n) - 1 for n in judgments.count[at][:LISTED]]
    details = {"rows": rows, "extra": extra, "number": len(at)}
    return replace(finding, details=details, affects=affects)


def counted(judgments: Judgments, graph: ComparisonGraph) -> dict[str, Any]:
    """Return what there is of everything."""
    return {
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


def scored(judgments: Judgments, scores: Scores | None) -> dict[str, int]:
    """Return how many items have a score, and how many of these were judged."""
    if scores is None:
        return {}
    both = set(scores.item_ids) & set(judgments.item_ids)
    return {"scored_items": len(scores), "items_in_both": len(both)}


def range_of(numbers: np.ndarray) -> dict[str, float]:
    """Return the least, the median and the greatest."""
    low, high = float(numbers.min()), float(numbers.max())
    whole = numbers.dtype.kind == "i"
    return {
        "min": int(low) if whole else low,
        "median": float(np.median(numbers)),
        "max": int(high) if whole else high,
    }
