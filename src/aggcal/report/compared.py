"""What a comparison of two runs says, piece by piece: leaders, pairs, settings, who changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray
from aggcal.advice.verdicts import VERDICTS
from aggcal.errors import count, cut
from aggcal.pages.numbers import number_text, percent
from aggcal.report import terms
from aggcal.report.head import leaders, trust
from aggcal.report.quality import findings as findings_of
from aggcal.report.run import Run

if TYPE_CHECKING:
    from aggcal.report.comparison import Comparison

_NAME = 80  # characters of an id in a heading: longer ones would fill it
_MOST_NAMED = 3  # leaders that a heading names


def leader(comparison: Comparison) -> str:
    """Return which items could be the best in either run; without certainty, who came first."""
    could = [[run.names[k] for k in run.could_be_first] for run in comparison.runs]
    if all(could):
        if could[0] == could[1] and len(could[0]) == 1:
            return f"{cut(could[0][0], _NAME)} is the best in both"
        return f"{_best(could[0])} in A, {_best(could[1])} in B"
    before, after = map(leaders, comparison.runs)
    if set(before) == set(after):
        verb = "leads" if len(after) == 1 else "lead"
        return f"{_named(after)} {verb} in both"
    return f"{_named(before)} came first in A, {_named(after)} in B"


def _best(names: list[str]) -> str:
    if len(names) == 1:
        return f"{cut(names[0], _NAME)} is the best"
    return f"any of {len(names):,} items could be the best"


def _named(names: list[str]) -> str:
    if len(names) > _MOST_NAMED:
        return f"{len(names):,} tied items"
    shown = [cut(name, _NAME) for name in names]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def changed_pairs(a: FloatArray, b: FloatArray, tau_a: float) -> int:
    """Return how many pairs two rankings order in opposite ways, from their tau-a.

    Examples
    --------
    >>> changed_pairs(np.array([1.0, 2.0, 3.0]), np.array([2.0, 1.0, 3.0]), 1 / 3)
    1
    """
    pairs = len(a) * (len(a) - 1) / 2.0
    if not pairs:
        return 0
    tied = [_tied(np.unique(each, return_counts=True)[1]) for each in (a, b)]
    both = _tied(np.unique(np.column_stack([a, b]), axis=0, return_counts=True)[1])
    return round((pairs - sum(tied) + both - tau_a * pairs) / 2.0)


def _tied(sizes: Any) -> float:
    return float(np.sum(sizes * (sizes - 1.0) / 2.0))


def certified_matrix(masks: list[str]) -> BoolArray:
    """Return which item is certified above which, from ``certified`` of ``comparisons.json``.

    Examples
    --------
    >>> certified_matrix(["0", "1", "1"]).astype(int).tolist()
    [[0, 1, 1], [0, 0, 0], [0, 0, 0]]
    """
    found = np.zeros((len(masks), len(masks)), dtype=np.bool_)
    for k, bits in enumerate(masks):
        found[:, k] = [int(bits, 16) >> i & 1 for i in range(len(masks))]
    return found


def certified_changes(
    a: FloatArray, b: FloatArray, in_a: BoolArray, in_b: BoolArray
) -> dict[str, int]:
    """Return how many of the pairs that changed order are certified in A, in B and in both.

    Examples
    --------
    >>> above = np.array([[False, True], [False, False]])
    >>> certified_changes(np.array([1.0, 2.0]), np.array([2.0, 1.0]), above, above.T)
    {'certified_in_a': 1, 'certified_in_b': 1, 'certified_opposite': 1}
    """
    changed = np.triu(np.sign(a[:, None] - a) * np.sign(b[:, None] - b) < 0)
    first, second = in_a | in_a.T, in_b | in_b.T
    return {
        "certified_in_a": int((changed & first).sum()),
        "certified_in_b": int((changed & second).sum()),
        "certified_opposite": int((changed & first & second).sum()),
    }


def basis(comparison: Comparison) -> list[str]:
    """Return what the probabilities are, and what they depend on, in sentences."""
    if comparison.withheld:
        return [f"No move is claimed: {comparison.withheld}."]
    said = []
    level = percent(min(each.level for each in comparison.beliefs))
    if comparison.independent:
        said.append(
            "You declared that no judgment is in both runs. Confidence is that of a two-sided test "
            f"of whether the rank changed; an item is called moved from {level}."
        )
    else:
        said.append(
            "Confidence is the highest level at which an item's likely ranks in A and B do not "
            f"overlap; an item is called moved from {level}. This holds whether or not the runs "
            "share judgments. Low confidence does not show that an item stayed."
        )
    if comparison.same_judgments:
        said.append(
            "Both runs appear to have the same judgments, so every difference comes from the "
            "settings."
        )
    if comparison.a.summary["method"] != comparison.b.summary["method"]:
        said.append("The methods differ, so a move may come from the method.")
    elif len({terms.fitted(each.summary) for each in comparison.runs}) > 1:
        said.append("The terms of the fits differ, so a move may come from them.")
    alone = len(comparison.only_a) + len(comparison.only_b)
    if alone:
        said.append(
            f"Ranks are among the {count(len(comparison.items), 'item')} in both runs; their "
            f"intervals allow for any rank of the {count(alone, 'item')} in only one."
        )
    said.append("Ranks are what the annotators of each run agree on, not the truth.")
    return said


def settings(comparison: Comparison) -> list[dict[str, Any]]:
    """Return what the two runs are: a label, both values, and whether they differ."""
    found = []
    for label, value in _SETTINGS.items():
        a, b = (value(each) for each in comparison.runs)
        if a or b:
            found.append({"label": label, "a": a or "–", "b": b or "–", "differs": a != b})
    return found


def _setting(name: str) -> Any:
    def value(run: Run) -> str:
        found = (run.summary.get("settings") or {}).get(name)
        return "" if found is None else str(found)

    return value


def _plain(name: str) -> Any:
    def value(run: Run) -> str:
        found = run.summary.get(name)
        return f"{found:,}" if isinstance(found, int) else str(found or "")

    return value


def _intervals(run: Run) -> str:
    known = run.summary.get("uncertainty")
    return f"level {known['level']:g}, {known['kind']}" if known else "not computed"


_SETTINGS: Mapping[str, Any] = {
    "Title": lambda run: run.title,
    "Trust": lambda run: trust(run).words,
    "Items": _plain("n_items"),
    "Annotators": _plain("n_annotators"),
    "Judgments": _plain("n_judgments"),
    "Judgments from": _plain("judgments"),
    "Scores from": _plain("scores"),
    "Criterion": lambda run: ", ".join(map(str, run.summary.get("criteria") or ())),
    "Method": _plain("method"),
    "Terms": lambda run: terms.fitted(run.summary),
    "Calibration": lambda run: str(run.summary.get("calibrator") or "none"),
    "Intervals": _intervals,
    "Prior": _setting("prior"),
    "Estimator": _setting("estimator"),
    "Seed": _setting("seed"),
    "Software": lambda run: f"aggcal {run.summary.get('version', '')}",
}
"""What is said of each run, and how."""


def annotators(comparison: Comparison) -> list[dict[str, str]]:
    """Return the annotators of both runs whose verdict changed, the gravest of B first."""
    first, second = (_verdicts(each) for each in comparison.runs)
    grave = {verdict: k for k, verdict in enumerate(VERDICTS)}
    found = [
        {"annotator": who, "a": first[who], "b": verdict}
        for who, verdict in second.items()
        if who in first and first[who] != verdict
    ]
    return sorted(found, key=lambda each: grave.get(each["b"], len(grave)))


def _verdicts(run: Run) -> dict[str, str]:
    return dict(zip(map(str, run.annotators.get("annotator", ())), run.verdicts, strict=True))


def people(comparison: Comparison) -> tuple[int, int]:
    """Return how many annotators only A has, and only B."""
    first, second = (set(_verdicts(each)) for each in comparison.runs)
    return len(first - second), len(second - first)


def findings(comparison: Comparison) -> dict[str, list[dict[str, Any]]] | None:
    """Return which findings are new in B, gone, or in both; None unless both were checked."""
    if not all(each.checked for each in comparison.runs):
        return None
    first, second = (
        {str(one["code"]): _finding(one) for one in findings_of(each.summary)}
        for each in comparison.runs
    )
    return {
        "new": [one for code, one in second.items() if code not in first],
        "solved": [one for code, one in first.items() if code not in second],
        "both": [one for code, one in second.items() if code in first],
    }


def _finding(one: Mapping[str, Any]) -> dict[str, Any]:
    return {"code": one["code"], "severity": one["severity"], "title": one["title"]}


def facts(comparison: Comparison) -> list[tuple[str, str]]:
    """Return how alike the two orders are, in words."""
    order = comparison.order
    share = order["changed"] / max(order["pairs"], 1)
    found = [
        ("Kendall's tau-a · tau-b", " · ".join(number_text(order[key], 3) for key in ("tau_a", "tau_b"))),
        ("Spearman", number_text(order["spearman"], 3)),
        (
            "Pairs that changed order",
            f"{order['changed']:,} of {order['pairs']:,} ({percent(share)})",
        ),
    ]
    if "certified_in_a" in order:
        said = f"{order['certified_in_a']:,} in A · {order['certified_in_b']:,} in B"
        both = f" · {order['certified_opposite']:,} in both, in opposite orders"
        found.append(("Of these certified", said + both))
    return found


def to_dict(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as plain data."""
    scores = comparison.columns(comparison.score_key)
    assert scores is not None  # noqa: S101  # every result has a consensus
    intervals = (
        [each.within for each in comparison.beliefs] if not comparison.withheld else [None, None]
    )
    rows = []
    for k, item in enumerate(comparison.items):
        row: dict[str, Any] = {"item": item}
        for name, rank, score, ends in zip("ab", comparison.ranks, scores, intervals, strict=True):
            row |= {f"rank_{name}": int(rank[k]), f"score_{name}": float(score[k])}
            if ends is not None:
                row |= {f"rank_low_{name}": int(ends[0][k]), f"rank_high_{name}": int(ends[1][k])}
        row |= {
            "change": float(scores[1][k] - scores[0][k]),
            "moved": ("", "up", "down")[int(comparison.direction[k])],
            "confidence": float(comparison.confidence[k]),
        }
        rows.append(row)
    return {
        "verdict": " ".join(comparison.verdict).strip(),
        "basis": basis(comparison),
        "runs": dict(zip("ab", comparison.names, strict=True)),
        "settings": settings(comparison),
        "independent": comparison.independent,
        "same_judgments": comparison.same_judgments,
        "score": comparison.score_key,
        "order": comparison.order,
        "n_moved": None if comparison.withheld else comparison.moved,
        "items": rows,
        "only_in_a": comparison.only_a,
        "only_in_b": comparison.only_b,
        "annotators": annotators(comparison),
        "findings": findings(comparison),
    }
