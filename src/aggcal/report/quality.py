"""What is wrong with the data, what was checked and found in order, and what to ask next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from aggcal.advice.check.findings import annotators_named
from aggcal.errors import count, sentence
from aggcal.pages import figures
from aggcal.pages.document import (
    Block,
    Bullets,
    Cell,
    Chip,
    Command,
    Figure,
    Group,
    Heading,
    Line,
    Link,
    Section,
    Table,
    Term,
    Text,
)
from aggcal.pages.numbers import DASH, SHORT_NAME, cut, number_text, percent
from aggcal.report.method import files
from aggcal.report.run import Run

TITLE, LONGEST = 200, 1500
"""Where titles of findings and sentences about the data are cut: they quote ids."""
SAID = 200
"""Where texts are cut in lists."""

_EVIDENT = 4  # annotators that a finding shows; the table of annotators has all
_PASSED = 6  # checks without a finding that are listed at once
_NAMED_ANYWAY = 3  # ids that the sentence of a finding names itself
_SUGGESTED = 20  # pairs that the command asks for

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
"""Numbers beside the annotators of a finding: their heading, and how they are written."""
_LISTS = {
    "annotators": ("annotator", "annotators", "number"),
    "items": ("item", "items", "number"),
    "larger_camp": ("annotator of the larger group", "annotators of the larger group",
                    "larger_size"),
    "smaller_camp": ("annotator of the smaller group", "annotators of the smaller group",
                     "smaller_size"),
    "without_score": ("item without a score", "items without a score", "number"),
    "without_judgment": ("item that nobody judged", "items that nobody judged", "number"),
    "groups": ("group", "groups", "number"),
}  # fmt: skip
"""Lists of a finding: one of it and many, and which of its numbers says how long it is."""
_REASONS = {
    "new item": "nobody has judged one of the two yet",
    "connects components": "no comparisons link the two yet",
    "close and uncertain": "they are close, and their order is uncertain",
    "uncertain": "the score of at least one of them is uncertain",
    "few judgments": "at least one of them has few judgments",
    "affects calibrated scores": "their order affects calibrated scores",
}
"""Why a pair is worth asking, for people."""


def section(run: Run) -> Section:
    """Return the section of the report about the data."""
    found = findings(run.summary)
    problems = n_problems(run.summary)
    notes = count(len(found) - problems, "note")
    heading, about = f"{count(problems, 'problem')}, {notes}", list[Block]()
    if "check" not in run.summary:
        about = [Text("Only the warnings of the fit are listed here.", "lede")]
        heading = heading if found else "The data were not checked"
    elif not found:
        heading = "No problem found"
    cards = Group([_card(each) for each in found], "cards")
    blocks = Group([*about, cards, *_next(run)])
    return Section(
        "quality", "Data quality", heading, [Group([blocks, _aside(run)], "split")], problems
    )


def findings(summary: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the findings of the check, problems first; without a check, the fit's warnings.

    Examples
    --------
    >>> findings({"warnings": ["an item is odd"]})[0]["severity"]
    'problem'
    """
    if "check" in summary:
        return list(summary["check"]["findings"])
    warned = {"severity": "problem", "code": "", "title": "", "remedy": "", "details": {}}
    return [warned | {"why": str(each)} for each in summary["warnings"]]


def n_problems(summary: Mapping[str, Any]) -> int:
    """Return how many findings need attention."""
    return sum(each["severity"] == "problem" for each in findings(summary))


# One finding --------------------------------------------------------------------------------------


def _card(finding: Mapping[str, Any]) -> Group:
    """Return a finding with its numbers, the ids that it is about, and what to do."""
    problem, details = finding["severity"] == "problem", finding["details"]
    table = _evidence(details)
    why = str(finding["why"])
    if table:  # which names them
        why = why.replace(annotators_named(details["annotators"]), "")
    told: list[Block] = [Text(_sentence(why))] if why else []
    told += [*table, *_lists(details)]
    parts = [Group(told)]
    if finding["remedy"]:
        remedy = Text(_sentence(finding["remedy"]))
        parts.append(Group([Heading("What to do", 4, only="page"), remedy]))
    chip = Chip("bad", "Problem") if problem else Chip("none", "Note")
    title = f" {cut(str(finding['title']), TITLE)}" if finding["title"] else ""
    style = "card problem" if problem else "card"
    return Group([Group(parts, "cols")], style, (chip, title))


def _evidence(details: Mapping[str, Any]) -> list[Block]:
    """Return the numbers of the annotators that a finding is about, as a short table."""
    who = details.get("annotators")
    if not isinstance(who, list) or not who:
        return []
    columns: dict[str, list[str]] = {}
    for name, (head, kind) in _EVIDENCE.items():
        values = details.get(name)
        if isinstance(values, list) and len(values) == len(who):
            columns.setdefault(head, [_value(each, kind) for each in values[:_EVIDENT]])
    if not columns:
        return []
    names = [Link(cut(str(one), SHORT_NAME), f"annotator={one}") for one in who[:_EVIDENT]]
    rows = list(zip(names, *columns.values(), strict=True))
    more = int(details.get("number", len(who))) - len(rows)
    table = Table(("Annotator", *columns), rows)
    return [table, Text(f"and {more:,} more", "muted")] if more > 0 else [table]


def _value(value: Any, kind: str) -> str:
    if not isinstance(value, int | float) or value != value:  # noqa: PLR0124  # NaN
        return DASH
    if kind == "share":
        return percent(float(value))
    return number_text(float(value), 0 if float(value).is_integer() else 2)


def _lists(details: Mapping[str, Any]) -> list[Block]:
    """Return the ids that a finding is about, where its sentence does not name them all."""
    lists: list[Block] = []
    for name, (one, many, size) in _LISTS.items():
        ids = details.get(name)
        if not isinstance(ids, list | tuple) or not ids:
            continue
        if isinstance(ids[0], list | tuple):  # groups of ids
            few = len(ids) == 1 and len(ids[0]) <= _NAMED_ANYWAY
            shown = [cut(", ".join(map(str, group)), 4 * SHORT_NAME) for group in ids]
        else:
            few = len(ids) <= _NAMED_ANYWAY
            shown = [cut(str(each), SHORT_NAME) for each in ids]
        if few:
            continue
        number = max(int(details.get(size, 0)), len(ids))
        more = [f"and {number - len(ids):,} more"] if number > len(ids) else []
        copied = Command("\n".join(shown), "Copy names")
        title = count(number, one, many)
        lists.append(Group([Bullets([*shown, *more], "ids"), copied], "fold", title, only="page"))
    return lists


# What to ask next ---------------------------------------------------------------------------------


def _next(run: Run) -> list[Block]:
    """Return how sure the order is, and the pairs worth asking next."""
    known = (run.summary.get("check") or {}).get("precision")
    pairs = (run.summary.get("suggestions") or {}).get("pairs") or []
    if known is None and not pairs:
        return []
    blocks: list[Block] = [Heading("What to ask next", 2)]
    blocks += [] if known is None else [Text(_sentence(known["says"]), "lede")]
    if pairs:
        heads = ("Compare", "with", "First wins", "because")
        rows = [_pair(each, run.texts) for each in pairs]
        said = "First wins: the probability that a typical annotator prefers the first item."
        copied = "\n".join(f"{each['left']}\t{each['right']}" for each in pairs)
        items = int(run.summary["n_items"])
        number = min(_SUGGESTED, items * (items - 1) // 2)
        blocks += [
            Table(heads, rows, "flow pairs", frozenset({2})),
            Text(said, "note", only="page"),
            Command(copied, "Copy pairs", only="page"),
            Command(f"aggcal suggest {files(run.summary)} -n {number}"),
        ]
    return [Group(blocks, "sec", id="next")]


def _pair(pair: Mapping[str, Any], texts: Mapping[str, str]) -> tuple[Cell, ...]:
    def item(name: str) -> Cell:
        link, text = Link(cut(name, SHORT_NAME), f"item={name}"), texts.get(name, "")
        return [link, cut(text, SAID)] if text else link

    wins = _value(pair.get("probability"), "share")
    why = _REASONS.get(pair["reason"], pair["reason"])
    return item(pair["left"]), item(pair["right"]), wins, why


# Beside the findings ------------------------------------------------------------------------------


def _aside(run: Run) -> Group:
    """Return what was found in order, what was not checked, and numbers about the data."""
    check = run.summary.get("check") or {}
    passed = [(Chip("good", ""), _sentence(each["says"])) for each in check.get("passed") or ()]
    blocks: list[Block] = []
    if passed:
        blocks = [Heading("Checked, nothing found", only="page")]
        blocks.append(Bullets(passed[:_PASSED], "checks", only="page"))
    if rest := passed[_PASSED:]:
        blocks.append(Group([Bullets(rest, "checks")], "fold", f"{len(rest)} more", only="page"))
    if left_out := check.get("not_checked"):
        lines: list[Line] = [(Chip("none", ""), each[:1].upper() + each[1:]) for each in left_out]
        blocks += [Heading("Not checked"), Bullets(lines, "checks")]
    command = Command(f"aggcal check {files(run.summary)}")
    return Group([*blocks, *_counts(check), *_graph(run), command], "side")


def _counts(check: Mapping[str, Any]) -> list[Block]:
    """Return how far annotators agree, and how many judgments there are of each kind."""
    counts, blocks = check.get("counts") or {}, list[Block]()
    codes = {each["code"] for each in check.get("findings") or ()}
    agreement = counts.get("agreement") or {}
    if codes & {"no-agreement", "low-agreement", "unclear-agreement"}:  # which say these numbers
        agreement = {}
    groups: dict[str, list[tuple[Line, Line]]] = {
        "Agreement": [
            (Term(label), write(float(agreement[key])))
            for label, key, write in _AGREEMENT
            if agreement.get(key) is not None
        ],
        "Coverage": [
            (
                f"Judgments per {each} (minimum, median, maximum)",
                ", ".join(f"{known[end]:,.10g}" for end in ("min", "median", "max")),
            )
            for each in ("item", "annotator")
            if (known := counts.get(f"judgments_per_{each}"))
        ],
    }
    for title, rows in groups.items():
        if rows:
            table = Table((), rows, "figures", frozenset({1}), only="page")
            blocks += [Heading(title, only="page"), table]
    return blocks


_AGREEMENT: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("Two annotators on the same pair", "two_annotators", percent),
    ("By chance", "by_chance", percent),
    ("Krippendorff's alpha", "krippendorff_alpha", partial(number_text, decimals=2)),
)


def _graph(run: Run) -> list[Block]:
    """Draw who was compared with whom, where there are few enough items to read it."""
    pairs, n = run.comparisons.get("pairs"), len(run.names)
    if not pairs or n not in figures.NETWORK:
        return []
    order = [k for part in run.parts for k in part.rows] or list(range(n))
    place = {k: at for at, k in enumerate(order)}
    within = " within each component" if run.parts else ""
    said = (
        f"Items in consensus order{within}, clockwise from the top. Thicker lines: more judgments."
    )
    drawn = figures.network(
        [run.names[k] for k in order],
        [[place[i], place[j], *results] for i, j, *results in pairs],
    )
    return [Heading("Comparisons", only="page"), Figure("network", drawn, said, only="page")]


def _sentence(text: str) -> str:
    return sentence(cut(text, LONGEST))
