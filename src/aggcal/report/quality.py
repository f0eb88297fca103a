"""What is wrong with the data, what was checked and found in order, and what to ask next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aggcal.advice.check.findings import annotators_named
from aggcal.errors import count, sentence
from aggcal.pages.document import (
    Block,
    Bullets,
    Cell,
    Chip,
    Command,
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
from aggcal.report.run import Run, findings

TITLE, LONGEST = 200, 1500
"""Where titles of findings and sentences about the data are cut: they quote ids."""
SAID = 200
"""Where texts are cut in lists."""

_EVIDENT = 4  # annotators that a finding shows; the table of annotators has all
_COLUMNS = 3  # numbers beside each
_PASSED = 6  # checks without a finding that are listed at once
_NAMED_ANYWAY = 3  # ids that the sentence of a finding names itself
_SUGGESTED = 20  # pairs that the command asks for

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
    problems = sum(each["severity"] == "problem" for each in found)
    heading = f"{count(problems, 'problem')}, {count(len(found) - problems, 'note')}"
    about = list[Block]()
    if not run.checked:
        about = [Text("Only the warnings of the fit are listed here.", "lede")]
        heading = heading if found else "The data were not checked"
    elif not found:
        heading = "No problem found"
    cards = Group([_card(each) for each in found], "cards")
    blocks = Group([*about, cards, *_next(run)])
    return Section(
        "quality", "Data quality", heading, [Group([blocks, _aside(run)], "split")], problems
    )


# One finding --------------------------------------------------------------------------------------


def _card(finding: Mapping[str, Any]) -> Group:
    """Return a finding with its numbers, the ids that it is about, and what to do."""
    problem, details = finding["severity"] == "problem", finding["details"]
    table, why = _evidence(details), str(finding["why"])
    if table:  # which names them
        why = why.replace(annotators_named(details["annotators"]), "")
    told: list[Block] = [Text(_sentence(why))] if why else []
    parts = [Group([*told, *table, *_lists(details)])]
    if finding["remedy"]:
        remedy = Text(_sentence(finding["remedy"]))
        parts.append(Group([Heading("What to do", 4, only="page"), remedy]))
    chip = Chip("bad", "Problem") if problem else Chip("none", "Note")
    title = f" {cut(str(finding['title']), TITLE)}" if finding["title"] else ""
    style = "card problem" if problem else "card"
    return Group([Group(parts, "cols")], style, (chip, title))


def _evidence(details: Mapping[str, Any]) -> list[Block]:
    """Return the numbers of the annotators that a finding is about, as a short table.

    Whatever the details hold for each of them is a column, headed by its name.
    """
    who = details.get("annotators")
    if not isinstance(who, list) or not who:
        return []
    columns = {
        _named(name): [_value(each, name) for each in values[:_EVIDENT]]
        for name, values in details.items()
        if isinstance(values, list) and len(values) == len(who) and _are_numbers(values)
    }
    heads = list(columns)[:_COLUMNS]
    if not heads:
        return []
    names = [Link(cut(str(one), SHORT_NAME), f"annotator={one}") for one in who[:_EVIDENT]]
    rows = list(zip(names, *(columns[head] for head in heads), strict=True))
    more = int(details.get("number", len(who))) - len(rows)
    table = Table(("Annotator", *heads), rows, numbers=frozenset(range(1, len(heads) + 1)))
    return [table, Text(f"and {more:,} more", "muted")] if more > 0 else [table]


def _named(key: str) -> str:
    """Return what a number of the details is called.

    Examples
    --------
    >>> _named("chose_left")
    'Chose left'
    """
    return cut(key.replace("_", " ").capitalize(), SHORT_NAME)


def _are_numbers(values: list[Any]) -> bool:
    return all(isinstance(each, int | float) and not isinstance(each, bool) for each in values)


def _value(value: Any, name: str) -> str:
    if not isinstance(value, int | float) or value != value:  # noqa: PLR0124  # NaN
        return DASH
    if 0.0 <= value <= 1.0 and (isinstance(value, float) or "share" in name):
        return percent(float(value))
    return number_text(float(value), 0 if float(value).is_integer() else 2)


def _lists(details: Mapping[str, Any]) -> list[Block]:
    """Return the ids that a finding is about, where its sentence does not name them all."""
    lists: list[Block] = []
    for key, ids in details.items():
        if not isinstance(ids, list | tuple) or not ids or not isinstance(ids[0], str | list):
            continue
        grouped = isinstance(ids[0], list)
        if len(ids[0] if grouped and len(ids) == 1 else ids) <= _NAMED_ANYWAY:
            continue
        named = [", ".join(map(str, each)) if grouped else str(each) for each in ids]
        shown = [cut(each, 4 * SHORT_NAME if grouped else SHORT_NAME) for each in named]
        whole = details.get("number")
        number = max(whole, len(ids)) if isinstance(whole, int) else len(ids)
        more = [f"and {number - len(ids):,} more"] if number > len(ids) else []
        copied = Command("\n".join(shown), "Copy names")
        title = f"{_named(key)}: {number:,}"
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
    blocks += [] if known is None else [Text(_precision(known), "lede")]
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


def _precision(known: Mapping[str, Any]) -> str:
    """Say how precise the study is; no target is named that nobody set.

    Examples
    --------
    >>> _precision({"right_order": 0.824, "standard_error": 0.31, "more": 512, "says": "."})
    '82% of pairs are expected to be in the right order; the typical standard error of a consensus \
score is 0.31. With about 510 more judgments, 90% would be.'
    """
    several = known.get("components", 1) > 1
    if known.get("wanted_error") is not None or several or "standard_error" not in known:
        return _sentence(known["says"])
    said = (
        f"{int(100.0 * float(known['right_order']))}% of pairs are expected to be in the right "
        "order; the typical standard error of a consensus score is "
        f"{number_text(float(known['standard_error']), 2)}."
    )
    more = float(known.get("more") or 0)
    rounded = f"{float(f'{more:.2g}'):,.0f}"
    return f"{said} With about {rounded} more judgments, 90% would be." if more else said


def _pair(pair: Mapping[str, Any], texts: Mapping[str, str]) -> tuple[Cell, ...]:
    def item(name: str) -> Cell:
        link, text = Link(cut(name, SHORT_NAME), f"item={name}"), texts.get(name, "")
        return [link, cut(text, SAID)] if text else link

    chance = pair.get("probability")
    wins = percent(float(chance)) if isinstance(chance, int | float) else DASH
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
    return Group([*blocks, *_counts(check), command], "side")


def _counts(check: Mapping[str, Any]) -> list[Block]:
    """Return how far annotators agree, and how many judgments there are of each kind."""
    counts = check.get("counts") or {}
    agreement = counts.get("agreement") or {}
    rows: list[tuple[Line, Line]] = [
        (Term(label) if key == "krippendorff_alpha" else label, write(float(agreement[key])))
        for key, label, write in (
            ("two_annotators", "Two annotators agree on a pair", percent),
            ("by_chance", "By chance", percent),
            ("krippendorff_alpha", "Krippendorff's alpha", lambda value: number_text(value, 2)),
        )
        if agreement.get(key) is not None
    ]
    rows += [
        (
            f"Judgments per {each} (minimum, median, maximum)",
            ", ".join(f"{known[end]:,.10g}" for end in ("min", "median", "max")),
        )
        for each in ("item", "annotator")
        if (known := counts.get(f"judgments_per_{each}"))
    ]
    title = "Answers as given" if agreement else "Coverage"
    table = Table((), rows, "figures", frozenset({1}), only="page")
    return [Heading(title, only="page"), table] if rows else []


def _sentence(text: str) -> str:
    return sentence(cut(text, LONGEST))
