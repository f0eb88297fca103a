"""What may be claimed, as a table: the statement, what it is about, what it depends on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ABOUT = {"consensus": "Consensus", "truth": "Truth", "model": "Model"}
KINDS = {
    "bound": "Bound",
    "identity": "Exact",
    "confidence": "Confidence",
    "posterior": "Probability",
    "estimate": "Estimate",
    "diagnostic": "Description",
}
MEANS = {
    "bound": "holds with at least the stated probability",
    "identity": "always holds",
    "confidence": "right in the stated share of studies, whatever the true scores",
    "posterior": "a probability under the model and its prior",
    "estimate": "may be off",
    "diagnostic": "describes, promises nothing",
}
"""What each kind of claim promises."""
CHECKED, ASSUMED, FAILS = "checked", "assumed", "fails"


def claims(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return every claim, put so that a page can show it.

    Examples
    --------
    >>> condition = {"needs": "answers are independent", "holds": None, "note": ""}
    >>> said = {"title": "Ranks", "says": "Long.", "claim": "Short.", "about": "consensus",
    ...         "kind": "bound", "conditions": [condition], "holds": None, "values": {}}
    >>> found = claims({"guarantees": {"ranks": said}})[0]
    >>> found["claim"], found["more"], found["needs"]
    ('Short.', 'Long.', [('assumed', 'answers are independent', '')])
    """
    found = []
    for each in (summary.get("guarantees") or {}).values():
        claim = str(each.get("claim") or each["says"])
        more = str(each["says"])
        needs = [
            (_state(condition["holds"]), str(condition["needs"]), str(condition.get("note") or ""))
            for condition in each["conditions"]
        ]
        found.append(
            {
                "title": str(each["title"]),
                "claim": claim,
                "more": more if more != claim else "",
                "about": ABOUT.get(each["about"], str(each["about"])),
                "kind": KINDS.get(each["kind"], str(each["kind"])),
                "means": MEANS.get(each["kind"], ""),
                "withdrawn": each.get("holds") is False,
                "needs": needs or [(CHECKED, "computed from these data", "")],
            }
        )
    return found


def _state(holds: Any) -> str:
    return ASSUMED if holds is None else CHECKED if holds else FAILS
