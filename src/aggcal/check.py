"""What is wrong with this data, and what to do about it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from aggcal.calibrators.matching import unmatched_warnings
from aggcal.errors import AggcalWarning, count, some
from aggcal.graph import ComparisonGraph
from aggcal.judgments import Judgments
from aggcal.quality import data_warnings
from aggcal.scores import Scores

FEW = 10
"""An annotator with fewer judgments tells little about their own reliability."""

Severity = Literal["problem", "note"]


@dataclass(frozen=True)
class Finding:
    """One thing that was found: how grave, what, and what to do."""

    severity: Severity
    code: str
    message: str
    remedy: str


@dataclass(frozen=True)
class Check:
    """The counts of a data set and what was found in it."""

    counts: dict[str, Any]
    findings: tuple[Finding, ...]

    @property
    def problems(self) -> int:
        """How many findings need attention."""
        return sum(f.severity == "problem" for f in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"counts": self.counts, "findings": [asdict(f) for f in self.findings]}

    def __str__(self) -> str:
        lines = [f"{name.replace('_', ' '):28} {_shown(v)}" for name, v in self.counts.items()]
        for finding in self.findings:
            lines += [
                "",
                f"{finding.severity}: {finding.message}.",
                f"  what to do: {finding.remedy}.",
            ]
        if not self.findings:
            lines += ["", "nothing stands out."]
        return "\n".join(lines)


_NOTES = {"repeated-rows", "unanswered", "separation"}


def check(judgments: Judgments, scores: Scores | None = None) -> Check:
    """Look a data set over before anything is fitted.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("ann", "c", "d"), ("bob", "b", "a"), ("bob", "d", "c")]
    >>> found = check(aggcal.read_judgments(rows))
    >>> [finding.code for finding in found.findings]
    ['disconnected', 'few-judgments']
    """
    graph = ComparisonGraph(judgments)
    findings = [_finding(w) for w in data_warnings(judgments, graph)]
    findings += _few(judgments)
    if scores is not None:
        findings += _mismatch(judgments, scores)
    findings.sort(key=lambda f: f.severity != "problem")
    per_annotator, per_item = judgments.judgments_per_annotator, judgments.judgments_per_item
    decided = judgments.outcome != 0.5  # noqa: PLR2004  # a tie
    counts: dict[str, Any] = {
        "rows": judgments.n_rows,
        "judgments": judgments.n_judgments,
        "items": judgments.n_items,
        "annotators": judgments.n_annotators,
        "ties": int(judgments.count[~decided].sum()),
        "repeated_rows": judgments.n_repeated,
        "not_fitted": judgments.unfitted.counts,
        "components": len(graph.component_sizes),
        "strong_components": len(graph.strong_sizes),
        "never_win": len(graph.never_win),
        "never_lose": len(graph.never_lose),
        "judgments_per_item": _spread(per_item),
        "judgments_per_annotator": _spread(per_annotator),
    }
    if scores is not None:
        counts["scored_items"] = len(scores)
        counts["items_in_both"] = len(set(scores.item_ids) & set(judgments.item_ids))
    return Check(counts, tuple(findings))


def _finding(warning: AggcalWarning) -> Finding:
    severity: Severity = "note" if warning.code in _NOTES else "problem"
    return Finding(severity, warning.code, warning.what, warning.remedy)


def _few(judgments: Judgments) -> list[Finding]:
    given = judgments.judgments_per_annotator
    few = judgments.annotator_ids[given < FEW]
    if not len(few):
        return []
    share = len(few) / judgments.n_annotators
    return [
        Finding(
            "note",
            "few-judgments",
            f"{count(len(few), 'annotator')} of {judgments.n_annotators:,} ({share:.0%}) gave "
            f"fewer than {FEW} judgments ({some(few)})",
            "their reliability is mostly the prior's: ask them for more, or use --method btl if "
            "nearly all are like this",
        )
    ]


def _mismatch(judgments: Judgments, scores: Scores) -> list[Finding]:
    judged, scored = set(judgments.item_ids), set(scores.item_ids)
    if not judged & scored:
        return [
            Finding(
                "problem",
                "no-common-item",
                f"no item is in both tables (judged: {some(judgments.item_ids)}; scored: "
                f"{some(scores.item_ids)})",
                "use the same ids in both",
            )
        ]
    said = unmatched_warnings(sorted(judged - scored), sorted(scored - judged))
    return [_finding(warning) for warning in said]


def _spread(numbers: np.ndarray) -> dict[str, float]:
    return {
        "min": int(numbers.min()),
        "median": float(np.median(numbers)),
        "max": int(numbers.max()),
    }


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {number:,g}" for name, number in value.items()) or "none"
    return f"{value:,}"
