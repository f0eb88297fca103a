"""What is wrong with the data and what to ask next, put so that a page can show it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aggcal.advice.check.findings import annotators_named
from aggcal.errors import count
from aggcal.pages.numbers import DASH, cut, number_text, percent
from aggcal.report.templates import number

TITLE = 200
"""Where the title of a finding is cut."""
LONGEST = 1500
"""Where what is said of the data is cut: it quotes ids, which may be long."""
NAME, SAID = 120, 200
"""Where ids and texts are cut in lists."""

_NAMED_ANYWAY = 3  # ids that the sentence names itself
_LISTS = {
    "annotators": ("annotator", "annotators"),
    "items": ("item", "items"),
    "larger_camp": ("annotator of the larger group", "annotators of the larger group"),
    "smaller_camp": ("annotator of the smaller group", "annotators of the smaller group"),
    "without_score": ("item without a score", "items without a score"),
    "without_judgment": ("item that nobody judged", "items that nobody judged"),
}
_SIZES = {"larger_camp": "larger_size", "smaller_camp": "smaller_size"}

_EVIDENCE = {
    "agreement_with_others": ("Agrees", "share"),
    "expected_agreement": ("Expected", "share"),
    "chose_left": ("Chose left", "number"),
    "decided": ("Decided", "number"),
    "decided_judgments": ("Judgments", "number"),
    "judgments": ("Judgments", "number"),
    "tossed": ("Like a coin", "share"),
    "seconds": ("Seconds", "number"),
}
"""Lists that stand beside the annotators of a finding: their heading, and how they are written."""
_EVIDENT = 4  # annotators that a card shows; the table of annotators has all

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
    >>> each["title"], each["remedy"], each["lists"][0]["title"]
    ('4 are erratic.', 'Ask.', '4 annotators')
    """
    if "check" not in summary:
        messages = [cut(str(warning), LONGEST) for warning in summary["warnings"]]
        return [
            {
                "severity": "problem",
                "code": "",
                "title": _sentence(message),
                "message": "",
                "remedy": "",
                "lists": [],
                "evidence": None,
            }
            for message in messages
        ]
    return [
        {
            "severity": each["severity"],
            "code": each["code"],
            "title": cut(str(each["title"]), TITLE)
            if each.get("title")
            else _sentence(each["message"]),
            "message": _sentence(_unnamed(each)) if each.get("title") else "",
            "remedy": _sentence(each["remedy"]),
            "lists": _lists(each["details"]),
            "evidence": evidence(each["details"]),
        }
        for each in summary["check"]["findings"]
    ]


def _unnamed(finding: Mapping[str, Any]) -> str:
    """Return what a finding says, without the names that the table below it lists."""
    # Results of earlier versions have no "why".
    message, details = str(finding.get("why", finding["message"])), finding["details"]
    if evidence(details) is None:
        return message
    return message.replace(annotators_named(details["annotators"]), "")


def evidence(details: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the numbers behind a finding about annotators, as a short table; None without any.

    Examples
    --------
    >>> found = evidence({"annotators": ["u"], "agreement_with_others": [0.31], "number": 1})
    >>> found["heads"], found["rows"]
    (['Agrees'], [['u', ['31%']]])
    """
    who = details.get("annotators")
    if not isinstance(who, list) or not who:
        return None
    columns = {}
    for name, (head, kind) in _EVIDENCE.items():
        values = details.get(name)
        if isinstance(values, list) and len(values) == len(who) and head not in columns:
            columns[head] = [_value(value, kind) for value in values]
    if not columns:
        return None
    return {
        "heads": list(columns),
        "rows": [
            [cut(str(one), NAME), [column[k] for column in columns.values()]]
            for k, one in enumerate(who[:_EVIDENT])
        ],
        "more": max(0, int(details.get("number", len(who))) - min(len(who), _EVIDENT)),
    }


def _value(value: Any, kind: str) -> str:
    if not isinstance(value, int | float) or value != value:  # noqa: PLR0124  # NaN
        return DASH
    if kind == "share":
        return percent(float(value))
    return number_text(float(value), 0 if float(value).is_integer() else 2)


def passed(summary: Mapping[str, Any]) -> list[str]:
    """Return what was checked and found in order, in sentences.

    Examples
    --------
    >>> passed({"check": {"passed": [{"code": "connected", "says": "all items are connected"}]}})
    ['All items are connected.']
    """
    known = (summary.get("check") or {}).get("passed") or ()
    return [_sentence(str(each["says"])) for each in known]


def facts(summary: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return numbers about the data: agreement, and how many judgments there were of each.

    Examples
    --------
    >>> found = facts({"check": {"counts": {"judgments_per_item": {"min": 1, "median": 2.5,
    ...                                                              "max": 9}}}})
    >>> found
    [('Coverage', [('Judgments per item (minimum, median, maximum)', '1, 2.5, 9')])]
    """
    counts = (summary.get("check") or {}).get("counts") or {}
    groups = []
    codes = {each["code"] for each in (summary.get("check") or {}).get("findings") or ()}
    told = codes & {"no-agreement", "low-agreement", "unclear-agreement"}  # with these numbers
    if (agreement := counts.get("agreement")) and not told:
        names = {
            "two_annotators": "Two annotators on the same pair",
            "by_chance": "By chance",
        }
        said = [
            (text, percent(float(agreement[key])))
            for key, text in names.items()
            if agreement.get(key) is not None
        ]
        if agreement.get("krippendorff_alpha") is not None:
            alpha = number_text(float(agreement["krippendorff_alpha"]), 2)
            said.append(("Krippendorff's alpha", alpha))
        groups.append(("Agreement", said))
    covered = []
    for key, text in (("judgments_per_item", "item"), ("judgments_per_annotator", "annotator")):
        known = counts.get(key)
        if known:
            ends = (number(known[end]) for end in ("min", "median", "max"))
            covered.append((f"Judgments per {text} (minimum, median, maximum)", ", ".join(ends)))
    if covered:
        groups.append(("Coverage", covered))
    return groups


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
            "wins": _value(pair.get("probability"), "share"),
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
