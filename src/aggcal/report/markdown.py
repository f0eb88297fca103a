"""The report in short, as Markdown: for a code host, a chat, a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from aggcal.errors import count
from aggcal.pages.markdown import fenced, inline, plain
from aggcal.report import terms
from aggcal.report.control import CAVEAT
from aggcal.report.first_screen import facts as facts_of
from aggcal.report.ground import Ground
from aggcal.report.listing import Listing
from aggcal.report.parts import parts_said
from aggcal.report.report import Report

TOP = 20
"""Rows of a table: the others are in the files."""

_NAME, _SAID, _MOST_MOVED = 80, 100, 5
_MOST_PARTS = 10  # components: more are a study in pieces
_MOST_CATEGORIES, _CATEGORY_ROWS = 12, 10  # a short report: categories.csv has all
_DETAILS = {"sure", "risk_bound", "unidentified"}
"""Statements that only the whole report has."""


def markdown(report: Report) -> str:
    r"""Return a report in short, as Markdown.

    Examples
    --------
    >>> import numpy as np
    >>> items = {"item": np.array(["a|b"], dtype=object), "consensus": np.array([0.0])}
    >>> report = Report({"version": "0", "method": "own", "n_items": 1, "n_annotators": 1,
    ...                "n_judgments": 1, "warnings": []}, items)
    >>> markdown(report).splitlines()[10]
    '| a\\|b | 0.000 |'
    """
    parts = (
        _head, _decisions, _results, _categories, _control, _ground, _changes, _annotators,
        _claims, _quality, _making,
    )  # fmt: skip
    blocks = [block for part in parts for block in part(report) if block]
    return "\n\n".join(blocks) + "\n"


def _head(report: Report) -> Iterable[str]:
    leader, rest = report.headline
    yield f"# {plain(report.title, 200)}"
    yield f"**{f'{plain(leader)} ' if leader else ''}{rest}**"
    reasons = " ".join(inline(reason, 1000) for reason in report.trust.reasons)
    yield f"{report.trust.words}: {reasons}"
    facts = (f"{label}: {inline(value, 1000)}" for label, _, value in facts_of(report))
    yield "\n".join(f"- {fact}" for fact in facts)


def _decisions(report: Report) -> Iterable[str]:
    decided = report.decided
    if decided.says:
        yield "## Decisions"
        yield "\n".join(f"- {plain(one, 2000)}" for one in decided.says)


def _results(report: Report) -> Iterable[str]:
    yield "## Results"
    listing = report.item_listing
    asked = {column.title for column in (report.rows.score, *report.rows.asked)}
    shown = {"rank", "item", "calibrated", "model", "change", *asked}
    chance = report.rows.listing.column("p_top_k")
    shown |= set() if chance is None else {chance.title}
    shown = shown if len(asked) > 1 or chance else {*shown, "consensus"}
    parts = report.rows.parts[:_MOST_PARTS]
    if parts:
        yield parts_said(calibrated=report.rows.model is not None)
    for part in parts:
        yield f"### {part.title}: {plain(part.says, 200)}"
        yield _table(listing, shown, part.rows[:TOP])
    if not parts:
        yield _table(listing, shown, range(min(TOP, listing.n_rows)))
    rest = listing.n_rows - sum(min(TOP, len(part.rows)) for part in parts or ())
    rest -= 0 if parts else TOP
    if rest > 0:
        yield f"{count(rest, 'more item')} in `items.csv`."
    level, covers = report.score_interval
    if level:
        yield f"In brackets: {level} intervals ({inline(covers, 1000)})."
    if report.rows.score.key == "consensus":
        yield "*Consensus* scores have no unit; 0 is the average."


def _categories(report: Report) -> Iterable[str]:
    views = report.by.views
    if views:
        yield "## By category"
    for view in views[:_MOST_CATEGORIES]:
        yield f"### {plain(view['column'])}: {plain(view['label'])} ({view['says']})"
        yield _rows(
            ("rank", "item", "score", "overall rank", "against overall"),
            [
                (
                    row["rank"] + (f" ({row['ranks']})" if row["ranks"] else ""),
                    plain(row["item"]),
                    row["score"] + (f" ({row['interval']})" if row["interval"] else ""),
                    row["overall"],
                    row["move"],
                )
                for row in view["rows"][:_CATEGORY_ROWS]
            ],
        )
    if views:
        yield "All categories and items are in `categories.csv`."


def _control(report: Report) -> Iterable[str]:
    control = report.control
    if not control.known:
        return
    yield "## Held equal"
    yield plain(control.says, 1000)
    yield "\n".join(f"- {plain(each['says'], 1000)}" for each in control.coefficients)
    if control.moved:
        titles = ("item", "rank, held equal", "rank as judged", "move")
        yield _rows(
            titles,
            [(plain(r["item"]), r["rank"], r["without"], r["move"]) for r in control.moved],
        )
    yield CAVEAT


def _ground(report: Report) -> Iterable[str]:
    ground = report.ground
    if not ground.looked:
        return
    yield "## Common ground"
    yield ground.says
    if not ground.found:
        return
    others = "s" if len(ground.letters) > 2 else ""  # noqa: PLR2004
    yield "\n".join(
        f"- {ground.who} {end} puts higher than the other {ground.who.lower()}{others}: "
        f"{', '.join(map(plain, names)) or 'nothing'}.{_members(ground, end)}"
        for end, names in ground.ends
    )
    yield _rows(
        (
            *("rank", "item", "common ground"),
            *(f"rank {ground.where} {letter}" for letter in ground.letters),
        ),
        [
            (
                *(r["rank"], plain(r["item"]), f"{r['score']} ({r['interval']})"),
                *(r[letter.lower()] for letter in ground.letters),
            )
            for r in ground.rows[:TOP]
        ],
    )
    yield ground.follows


def _members(ground: Ground, name: str) -> str:
    number, names, rest = ground.members(name)
    return f" {number}: {', '.join(map(plain, names))}{rest}" if number else ""


def _changes(report: Report) -> Iterable[str]:
    found = report.changes
    if found is None or report.rows.parts:  # of ranks that no component has
        return
    yield "## Largest changes"
    yield (
        "\n".join(
            f"- {plain(each['item'])}: {each['model']} → {each['calibrated']} ({each['why']})"
            for each in found["moved"][:_MOST_MOVED]
        )
        or "No score changed."
    )


def _annotators(report: Report) -> Iterable[str]:
    listing = report.annotator_listing
    if listing is None:
        return
    yield "## Annotators"
    if report.equal:
        yield f"{plain(report.summary['method'])} takes every annotator to be equally reliable."
    lines = report.verdict_lines
    yield f"Of {count(listing.n_rows, 'annotator')}, " + (
        "; ".join(f"{n:,} {words} ({means})" for words, means, n in lines) + "."
        if lines
        else "all are reliable."
    )
    yield terms.annotators_said(report.summary)
    verdict = listing.words("verdict")
    said = [] if verdict is None else verdict.values
    for words, _, n in lines:
        mine = (name for name, one in zip(listing.names.values, said, strict=True) if one == words)
        named = ", ".join(plain(name) for name in islice(mine, TOP))
        more = f" and {n - TOP:,} more, in `annotators.csv`" if n > TOP else ""
        yield f"{words.capitalize()}: {named}{more}."


def _claims(report: Report) -> Iterable[str]:
    names = list(report.summary.get("guarantees") or {})
    shown = [
        f"- **{plain(each['title'])}:** {plain(each['claim'], 1000)}"
        for name, each in zip(names, report.claims, strict=True)
        if name not in _DETAILS
    ]
    if shown:
        yield "## What can be claimed"
        yield "\n".join(shown)


def _quality(report: Report) -> Iterable[str]:
    yield "## Data quality"
    lines = []
    for each in report.findings:
        grave = f"**{plain(each['severity'].capitalize())}:** " if report.checked else ""
        said = " ".join(plain(each[part], 1000) for part in ("title", "message") if each[part])
        if each["message"] and not each["title"].endswith("."):
            said = f"{plain(each['title'], 1000)}. {plain(each['message'], 1000)}"
        remedy = f" *What to do:* {plain(each['remedy'], 1000)}" if each["remedy"] else ""
        lines.append(f"- {grave}{said}{remedy}")
    yield "\n".join(lines) or (
        "No problem was found." if report.checked else "The data were not checked."
    )
    if report.not_checked:
        yield f"Not checked: {'; '.join(plain(each, 1000) for each in report.not_checked)}."
    yield fenced(f"aggcal check {report.files}")
    if report.precision or report.suggestions:
        yield "## What to ask next"
    yield plain(report.precision, 1000) if report.precision else ""
    if report.suggestions:
        rows = [
            (
                _said(e["left"], e["left_says"]),
                _said(e["right"], e["right_says"]),
                e["wins"],
                plain(e["why"]),
            )
            for e in report.suggestions
        ]
        yield _rows(("compare", "with", "first wins", "because"), rows)
    yield fenced(f"aggcal suggest {report.files} -n {report.more_pairs}")


def _making(report: Report) -> Iterable[str]:
    summary = report.summary
    yield "## How it was made"
    how = f"By {plain(summary['method'])}"
    if report.calibrated:
        how += f", calibrated by {plain(summary['calibrator'])}"
    if summary.get("judgments"):
        how += f", from {plain(summary['judgments'])}"
        how += f" and {plain(summary['scores'])}" if summary.get("scores") else ""
    yield f"{how}, with aggcal {inline(summary['version'])}."
    for choice in ("selection", "recommendation"):
        if summary.get(choice):
            yield inline(summary[choice]["why"], 1000)
    yield "\n".join(f"- **{label}:** {plain(said, 1000)}" for label, said in report.terms)
    if report.again:
        yield fenced(report.again)
    yield (
        "All numbers are in `items.csv`, `annotators.csv` and `summary.json`; `report.html` has "
        "the charts and the glossary."
    )


def _table(listing: Listing, wanted: set[str], shown: Sequence[int] | None = None) -> str:
    stop = min(TOP, listing.n_rows) if shown is None else max(shown, default=-1) + 1
    columns = [column for column in listing.columns if column.title in wanted]
    rows = []
    every = list(zip(*(column.cells(stop) for column in columns), strict=True))
    for row in every if shown is None else (every[k] for k in shown):
        cells = []
        for column, cell in zip(columns, row, strict=True):
            if column.kind == "name":
                cells.append(_said(cell["text"], cell.get("says", "")))
            else:
                cells.append(cell["text"] + (f" ({cell['range']})" if "range" in cell else ""))
        rows.append(cells)
    return _rows([column.title for column in columns], rows)


def _said(name: str, says: str) -> str:
    return f"{plain(name)}: {plain(says, _SAID)}" if says else plain(name)


def _rows(titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
