"""What was fitted beside scores and reliabilities, in sentences: why, and what it means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtri

from aggcal._core.tables import Columns
from aggcal.aggregation.effects import mean_interval
from aggcal.errors import count
from aggcal.pages.document import Column
from aggcal.pages.numbers import SHORT_NAME, cut, number_text, percent, signed, span

_ALIKE = 0.05
"""Spread between categories below which items are said to do the same in all: a twentieth of the
typical reliability's unit moves one answer in a hundred."""

HINTS = {
    "position": "estimate: how often the annotator picks the left of two equal items, of the "
    "decided answers; with few answers, closer to the average",
    "tie_readiness": "how often the annotator calls two equal items a tie",
    "leniency": "by how many points the annotator rates the same items better than others do",
    "use_of_scale": "how far apart the annotator rates the same items; 1 is typical",
    "noise": "standard deviation, in points, of the annotator's ratings of equally good items",
}
"""What the columns mean."""


def terms_of(summary: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the terms of a summary; empty where nothing but scores and reliabilities was fitted.

    Examples
    --------
    >>> terms_of({"terms": None}), terms_of({"terms": {"ties": "davidson"}})
    ({}, {'ties': 'davidson'})
    """
    return summary.get("terms") or {}


def fitted(summary: Mapping[str, Any]) -> str:
    """Return the names of what was fitted beside scores and reliabilities, to compare two runs by.

    Examples
    --------
    >>> fitted({"terms": {"ties": "davidson", "tie_readiness": {}, "context": "prompt"}})
    'ties (davidson), context (prompt)'
    >>> fitted({"terms": None})
    ''
    """
    terms = terms_of(summary)
    found = []
    if terms.get("tie_readiness") is not None:
        found.append(f"ties ({terms['ties']})")
    if terms.get("position") is not None:
        found.append("position")
    if terms.get("context"):
        found.append(f"context ({terms['context']})")
    several = [name for name in ("categories", "control") if terms.get(name)]
    found += [f"{name} ({', '.join(map(str, terms[name]))})" for name in several]
    camps = (terms.get("camps") or {}).get("stands_out")
    bridge = "bridge (camps)" if camps else "bridge"
    return ", ".join([*found, bridge] if terms.get("bridge") else found)


def level_of(summary: Mapping[str, Any]) -> float:
    """Return the level of the intervals."""
    return float((summary.get("uncertainty") or {}).get("level") or 0.95)


def reach_of(level: float) -> float:
    """Return how many standard errors an interval of this level reaches to each side.

    Examples
    --------
    >>> round(reach_of(0.95), 2)
    1.96
    """
    return float(ndtri(0.5 + 0.5 * level))


def joined(words: Sequence[str]) -> str:
    """Join words with commas and, before the last one, "and".

    Examples
    --------
    >>> joined(["a"]), joined(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def shares(logits: Any) -> Any:
    """Return how often the side with an advantage wins, of decided answers; arrays elementwise.

    Examples
    --------
    >>> float(shares(0.0)), round(float(shares(0.5)), 3)
    (0.5, 0.622)
    """
    return 1.0 / (1.0 + np.exp(-np.clip(logits, -500.0, 500.0)))


def tie_shares(readiness: Any, terms: Mapping[str, Any]) -> Any:
    """Return how often equal items are called a tie, nobody preferring a side; arrays elementwise.

    Examples
    --------
    >>> [round(float(tie_shares(0.0, {"ties": name})), 3) for name in ("davidson", "rao-kupper")]
    [0.333, 0.462]
    """
    if terms.get("ties") == "rao-kupper":
        return np.tanh(0.5 * np.exp(np.minimum(readiness, 5.0)))
    decided = 2.0 * sum(terms.get("grades") or (1.0,))
    return 1.0 / (1.0 + decided * np.exp(-np.clip(readiness, -500.0, 500.0)))


def annotator_columns(summary: Mapping[str, Any], table: Columns) -> list[Column]:
    """Return the annotators' preference for a side and their readiness to tie, in percent.

    Examples
    --------
    >>> table = {"position": np.zeros(1), "tie_readiness": np.zeros(1)}
    >>> [int(column.values[0]) for column in annotator_columns({"terms": {"ties": "davidson"}},
    ...                                                        table)]
    [50, 33]
    """
    terms, found = terms_of(summary), []
    for key, title in (("position", "Left of equals"), ("tie_readiness", "Ties")):
        ends = (table.get(f"{key}{end}") for end in ("", "_low", "_high"))
        columns = [None if each is None else np.asarray(each, dtype=np.float64) for each in ends]
        if columns[0] is None or not np.isfinite(columns[0]).any():
            continue
        of = shares if key == "position" else partial(tie_shares, terms=terms)
        value, low, high = (None if each is None else 100.0 * of(each) for each in columns)
        found.append(
            Column(
                key, title, "number", value, low, high,
                unit="%", hint=HINTS[key], style=f"num v-{key}",
            )
        )  # fmt: skip
    for key, title in (("leniency", "Leniency"), ("use_of_scale", "Use"), ("noise", "Noise")):
        if key not in table:
            continue
        ends = (table.get(f"{key}{end}") for end in ("", "_low", "_high"))
        value, low, high = (
            None if each is None else np.asarray(each, dtype=np.float64) for each in ends
        )
        found.append(
            Column(
                key, title, "number", value, low, high,
                decimals=1, hint=HINTS[key], style=f"num v-{key}",
            )
        )  # fmt: skip
    return found


def ratings_said(summary: Mapping[str, Any]) -> str:
    """Say how annotators used the scale of the ratings; empty where these were comparisons.

    Examples
    --------
    >>> print(ratings_said({"ratings": {"leniency_sd": 1.23, "lowest": 1.0, "highest": 10.0,
    ...     "best": "highest", "reliability_and_noise_differ": False, "evidence": -3.0}}))
    Leniency differs by 1.2 points (standard deviation) on a scale from 1 to 10, and the scores
    allow for it. The ratings show no difference in reliability and noise, so none is fitted.
    """
    ratings = summary.get("ratings")
    if not ratings:
        return ""
    scale = f"from {ratings['lowest']:g} to {ratings['highest']:g}"
    scale += ", of which the lowest is the best" if ratings["best"] == "lowest" else ""
    said = (
        f"Leniency differs by {ratings['leniency_sd']:.2g} points (standard deviation) on a scale "
        f"{scale}, and the scores allow for it."
    )
    if ratings["reliability_and_noise_differ"]:
        return f"{said} Annotators also differ in reliability and noise."
    if ratings["evidence"] is None:
        return f"{said} Too few ratings each tell whether reliability and noise differ."
    return f"{said} The ratings show no difference in reliability and noise, so none is fitted."


def annotators_said(summary: Mapping[str, Any]) -> str:
    """Return what annotators have in common beside their order, in a sentence or two.

    Examples
    --------
    >>> common = {"common": 0.0, "common_se": 0.1, "sd": 0.2}
    >>> annotators_said({"n_annotators": 30, "terms": {"ties": "davidson", "position": None,
    ...                                                 "tie_readiness": common}})
    'Between two equal items, they typically call a tie in 33% of cases (95% interval 29–38). \
The scores allow for it.'
    """
    terms, parts = terms_of(summary), []
    if terms.get("position"):
        mean, ends = _common(summary, "position", shares)
        parts.append(f"pick the left one {mean:.0f} times in 100 decided answers ({ends})")
    if terms.get("tie_readiness"):
        mean, ends = _common(summary, "tie_readiness", partial(tie_shares, terms=terms))
        parts.append(f"call a tie in {mean:.0f}% of cases ({ends})")
    if not parts:
        return ""
    allowed = "both" if len(parts) > 1 else "it"
    said = f"Between two equal items, they typically {' and '.join(parts)}."
    return f"{said} The scores allow for {allowed}."


def _common(summary: Mapping[str, Any], key: str, of: Any) -> tuple[float, str]:
    known, level = terms_of(summary)[key], level_of(summary)
    number = int(summary.get("n_annotators") or 2)
    low, high = mean_interval(float(known["common"]), float(known["common_se"]), number, level)
    ends = span(100.0 * of(low), 100.0 * of(high))
    return 100.0 * of(float(known["common"])), f"{100.0 * level:g}% interval {ends}"


def sentences(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return which terms were fitted and why, and what was looked for and not found.

    Examples
    --------
    >>> sentences({"terms": {"ties": "halves", "n_ties": 0, "position": None,
    ...                      "position_evidence": -3.2}})[0][1]
    'No sign of a preference for a side was found (log evidence −3.2), so none is fitted.'
    """
    if not (terms := terms_of(summary)):
        evidence = summary.get("position_evidence")
        plain = _sides(summary, {"position_evidence": evidence})
        return [("Sides", plain)] if plain else []
    parts = (
        ("Ties", _ties),
        ("Strengths", _strengths),
        ("Sides", _sides),
        ("Contexts", _contexts),
        ("Categories", _categories),
        ("Held equal", _held),
        ("Disagreement", disagreement),
    )
    said = ((label, part(summary, terms)) for label, part in parts)
    return [(label, text) for label, text in said if text]


def _ties(summary: Mapping[str, Any], terms: Mapping[str, Any]) -> str:
    number, of = int(terms.get("n_ties") or 0), int(summary.get("n_judgments") or 0)
    if not number:
        return ""
    verb = "is a tie" if number == 1 else "are ties"
    said = f"{number:,} of {count(of, 'judgment')} ({percent(number / max(of, 1))}) {verb}. "
    models = {
        "davidson": "Each annotator has a readiness to call one (Davidson's model), so those who "
        "use ties often do not look less reliable.",
        "rao-kupper": "Each annotator has a threshold below which two items are called equal "
        "(Rao and Kupper's model).",
    }
    return said + models.get(str(terms["ties"]), "Each counts as half a win for both sides.")


def _strengths(_: Mapping[str, Any], terms: Mapping[str, Any]) -> str:
    steps = len(terms.get("grades") or ())
    if steps < 2:  # noqa: PLR2004
        return ""
    return (
        f"Answers say how much better an item is, in {steps} steps. A stronger answer counts for "
        "more; how much is estimated (adjacent categories)."
    )


def _sides(summary: Mapping[str, Any], terms: Mapping[str, Any]) -> str:
    evidence = terms.get("position_evidence")
    rise = "" if evidence is None else f"log evidence {signed(float(evidence), 1)}"
    if terms.get("position"):
        mean, ends = _common(summary, "position", shares)
        return (
            f"Annotators pick the left of two equal items {mean:.0f} times in 100 ({ends}"
            f"{'; ' if rise else ''}{rise}), each with a preference of their own. It is taken out "
            "of the scores."
        )
    if evidence is None:
        return ""
    return f"No sign of a preference for a side was found ({rise}), so none is fitted."


def _contexts(_: Mapping[str, Any], terms: Mapping[str, Any]) -> str:
    known = terms.get("contexts")
    if not known:
        return ""
    name, number = cut(str(known["name"]), SHORT_NAME), int(known["number"])
    if known["fitted"]:
        return (
            f"Judgments come from {number:,} contexts ({name}). How each item does in each is "
            f"fitted (sd {number_text(float(known['sd']), 2)}), so scores are what holds across "
            "contexts, and intervals allow for others of their kind."
        )
    return (
        f"Judgments come from {number:,} contexts ({name}); intervals allow for answers in one "
        "that depend on each other."
    )


def _categories(_: Mapping[str, Any], terms: Mapping[str, Any]) -> str:
    said = []
    for name, known in (terms.get("categories") or {}).items():
        number, sd = len(known["categories"]), float(known["sd"])
        differ = "items do much the same in all of them"
        if sd >= _ALIKE:
            differ = f"items differ between them by {number_text(sd, 2)} (sd)"
        plural = "category" if number == 1 else "categories"
        said.append(f"{cut(str(name), SHORT_NAME)} ({number:,} {plural}): {differ}")
    if not said:
        return ""
    return (
        f"{'; '.join(said)}. In a category with few judgments, scores are drawn towards the "
        "overall ones."
    )


def _held(summary: Mapping[str, Any], _: Mapping[str, Any]) -> str:
    return " ".join(says for _, says, _ in effects(summary))


def effects(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return what is held equal: its name, what it does in words, and its coefficient.

    Examples
    --------
    >>> control = {"words": {"value": 0.5, "se": 0.1}}
    >>> effects({"terms": {"control": control}})
    [('words', 'One standard deviation more of words wins 62 of 100 decided answers against an \
otherwise equal item (95% interval 58–67).', '+0.50 (0.30–0.70)')]
    """
    level, found = level_of(summary), []
    for key, known in (terms_of(summary).get("control") or {}).items():
        value, reach = float(known["value"]), reach_of(level) * float(known["se"])
        low, high = value - reach, value + reach
        name, wins = cut(str(key), SHORT_NAME), 100.0 * shares(value)
        says = (
            f"One standard deviation more of {name} wins {wins:.0f} of 100 decided answers against "
            f"an otherwise equal item ({100.0 * level:g}% interval "
            f"{span(100.0 * shares(low), 100.0 * shares(high))})."
        )
        if low <= 0.0 <= high:
            says += " It may have no effect: 50 is within the interval."
        found.append((name, says, f"{signed(value, 2)} ({span(low, high, 2)})"))
    return found


def disagreement(_: Mapping[str, Any], terms: Mapping[str, Any]) -> str:
    """Say whether annotators differ along an axis or in camps, where that was asked.

    Examples
    --------
    >>> why = "there are only 5 annotators; it takes 6"
    >>> disagreement({}, {"camps": {"stands_out": False, "not_looked": why}})
    'Camps of annotators were not looked for: there are only 5 annotators; it takes 6.'
    """
    axis, camps = terms.get("axis"), terms.get("camps")
    if camps and camps["stands_out"]:
        number = {2: "Two", 3: "Three"}.get(len(camps["names"]), str(len(camps["names"])))
        shares = ", ".join(percent(float(share)) for share in camps["shares"])
        return (
            f"{number} camps of annotators ({shares}) have orders of their own, by how well they "
            "predict annotators who were held out. The common ground is midway between them."
        )
    sought = ""
    if camps:
        reason = camps.get("not_looked")
        sought = f"Camps of annotators were not looked for: {reason}. "
        sought = sought if reason else "Camps of annotators were looked for; none stand out. "
    if not axis:
        return sought.strip()
    if not axis["stands_out"]:
        return f"{sought}One axis of disagreement was looked for; none stands out."
    return (
        f"{sought}Annotators differ along one axis, which makes {percent(float(axis['share']))} of "
        "what items explain of the answers. The common ground is the order midway between its ends."
    )
