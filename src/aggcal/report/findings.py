"""What is wrong with the data and what to ask next, put so that a page can show it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aggcal.errors import count
from aggcal.report.listing import cut

LONGEST = 1500
"""Where what is said of the data is cut: it quotes ids, which may be long."""
NAME, SAID = 120, 200
"""Where ids and texts are cut in lists."""

_NAMED_ANYWAY = 3  # ids that the sentence names itself
_LISTS = {
    "annotators": ("annotator", "annotators"),
    "items": ("item", "items"),
    "larger_camp": ("annotator of the larger camp", "annotators of the larger camp"),
    "smaller_camp": ("annotator of the smaller camp", "annotators of the smaller camp"),
    "without_score": ("item without a score", "items without a score"),
    "without_judgment": ("item that nobody judged", "items that nobody judged"),
}
_SIZES = {"larger_camp": "larger_size", "smaller_camp": "smaller_size"}

REASONS = {
    "new item": "nobody has judged one of the two yet",
    "connects components": "no comparisons link the two yet",
    "close and uncertain": "they are close, and their order is uncertain",
    "uncertain": "the score of at least one of them is uncertain",
    "few judgments": "at least one of them has few judgments",
    "affects calibrated scores": "their order affects calibrated scores",
}
"""Why a pair is worth asking, for people."""


def found(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the findings: how grave, what, what to do, and the lists that they name.

    Without a check these are the warnings of the fit.

    Examples
    --------
    >>> check = {"findings": [{"severity": "note", "code": "erratic", "message": "4 are erratic",
    ...                        "remedy": "ask", "details": {"annotators": ["a", "b", "c", "d"]}}]}
    >>> each = found({"check": check})[0]
    >>> each["message"], each["remedy"], each["lists"][0]["title"]
    ('4 are erratic.', 'Ask.', '4 annotators')
    """
    if "check" not in summary:
        messages = [cut(str(warning), LONGEST) for warning in summary["warnings"]]
        return [{"severity": "problem", "message": w, "remedy": "", "lists": []} for w in messages]
    return [
        {
            "severity": each["severity"],
            "code": each["code"],
            "message": _sentence(each["message"]),
            "remedy": _sentence(each["remedy"]),
            "lists": _lists(each["details"]),
        }
        for each in summary["check"]["findings"]
    ]


def precision(summary: Mapping[str, Any]) -> str | None:
    """Return how sure the order is and how many more judgments a surer one takes, in words.

    Examples
    --------
    >>> precision({"check": {"precision": {"says": "two items are in the right order"}}})
    'Two items are in the right order.'
    """
    known = (summary.get("check") or {}).get("precision")
    return None if known is None else _sentence(known["says"])


def suggestions(summary: Mapping[str, Any], texts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the pairs worth asking next, each with what its items say and why.

    Examples
    --------
    >>> pair = {"left": "a", "right": "b", "information": 0.5, "reason": "new item"}
    >>> suggestions({"suggestions": {"pairs": [pair]}}, {"a": "An essay"})[0]["why"]
    'nobody has judged one of the two yet'
    """
    return [
        {
            "left": cut(pair["left"], NAME),
            "left_says": cut(texts.get(pair["left"], ""), SAID),
            "right": cut(pair["right"], NAME),
            "right_says": cut(texts.get(pair["right"], ""), SAID),
            "why": REASONS.get(pair["reason"], pair["reason"]),
        }
        for pair in (summary.get("suggestions") or {}).get("pairs", ())
    ]


def _sentence(text: str) -> str:
    text = cut(text, LONGEST).rstrip(".")
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _lists(details: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the ids that a finding is about, where its sentence does not name them all."""
    lists = []
    for name, (one, many) in _LISTS.items():
        ids = details.get(name)
        if not isinstance(ids, list) or len(ids) <= _NAMED_ANYWAY:
            continue
        number = int(details.get(_SIZES.get(name, "number"), len(ids)))
        lists.append(
            {
                "title": count(max(number, len(ids)), one, many),
                "ids": [cut(str(each), NAME) for each in ids],
                "more": max(0, number - len(ids)),
            }
        )
    groups = details.get("groups")
    if groups and (len(groups) > 1 or len(groups[0]) > _NAMED_ANYWAY):
        lists.append(
            {
                "title": count(int(details.get("number", len(groups))), "group"),
                "ids": [cut(", ".join(map(str, group)), 4 * NAME) for group in groups],
                "more": max(0, int(details.get("number", len(groups))) - len(groups)),
            }
        )
    return lists
