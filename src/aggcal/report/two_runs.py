"""Two runs side by side, as a document: the blocks and the table of the report of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aggcal._version import __version__
from aggcal.errors import count
from aggcal.io.writing.write import to_json
from aggcal.pages.document import (
    Block,
    Bullets,
    Chip,
    Column,
    Document,
    Group,
    Heading,
    Listing,
    Pairs,
    Section,
    Strong,
    Table,
    Text,
)
from aggcal.pages.html import page
from aggcal.pages.markdown import TOP, markdown
from aggcal.pages.numbers import cut, decimals_for
from aggcal.report import compared
from aggcal.report.annotators import VERDICT_CHIPS, VERDICT_WORDS
from aggcal.report.comparison import Comparison

MOST_LISTED = 50
"""Ids of a list: more are counted."""

_TITLE, _SETTING = 80, 400  # characters
_MOVES = {1: "↑ up", -1: "↓ down"}
_SAME, _OPEN = "same rank", "open"


def two_runs(comparison: Comparison) -> Document:
    """Return what differs between two runs."""
    a, b = comparison.names
    bold, rest = comparison.verdict
    n = len(comparison.items)
    both = f"{count(n, 'item')} {'is' if n == 1 else 'are'} in both runs"
    return Document(
        title=f"{cut(a, _TITLE)} and {cut(b, _TITLE)}",
        about=("A: ", Strong(cut(a, _TITLE)), " · B: ", Strong(cut(b, _TITLE))),
        headline=(Strong(bold), f" {rest}") if bold else rest,
        lead=[
            Text(" ".join(compared.basis(comparison)), "lede"),
            Pairs(compared.facts(comparison), "facts"),
        ],
        sections=[
            Section("both", "Items", both, _items(comparison)),
            Section("who", "Annotators", _people(comparison), _annotators(comparison)),
            Section("found", "Data quality", "Data quality", _findings(comparison)),
            Section("made", "The two runs", "The two runs", _settings(comparison)),
        ],
        foot=f"Made with aggcal {__version__}.",
    )


RENDERERS: dict[str, Callable[[Comparison], str]] = {
    "html": lambda comparison: page(two_runs(comparison)),
    "md": lambda comparison: markdown(two_runs(comparison)),
    "json": lambda comparison: to_json(comparison.to_dict()) + "\n",
}
"""The forms of a comparison, by the ending of its file."""


def _items(comparison: Comparison) -> list[Block]:
    blocks: list[Block] = [_listing(comparison)]
    moved = np.flatnonzero(comparison.direction)
    if len(comparison.items) > TOP and moved.size:
        a, b = comparison.ranks
        lines = [f"{comparison.items[k]}: rank {a[k]:,} → {b[k]:,}" for k in moved[:MOST_LISTED]]
        blocks += [Heading("Moved", only="text"), Bullets(lines, only="text")]
    if comparison.score_key == "consensus":
        said = (
            "Consensus scores have no unit, and the two runs need not have the same scale: "
            "compare ranks."
        )
        blocks.append(Text(said, "note"))
    alone = [
        Group([Heading(f"{title}: {len(ids):,}"), Bullets(_listed(ids), "ids")])
        for title, ids in (("New in B", comparison.only_b), ("Missing from B", comparison.only_a))
        if ids
    ]
    return [*blocks, Group(alone, "sec two")] if alone else blocks


def _listing(comparison: Comparison) -> Listing:
    """Return the table of the items of both runs, in the order of B."""
    same = np.equal(*comparison.ranks)
    scores = comparison.columns(comparison.score_key)
    assert scores is not None  # noqa: S101  # every result has a consensus
    known = not comparison.withheld
    digits, score = decimals_for(np.concatenate(scores)), comparison.score_key.capitalize()
    moves = [
        _MOVES.get(way, _SAME if stayed else _OPEN)
        for way, stayed in zip(comparison.direction.tolist(), same.tolist(), strict=True)
    ]
    # What rounds up would claim more than is known.
    confidence = np.where(same, np.nan, np.floor(100.0 * comparison.confidence + 1e-9))
    legend = [("hollow", "rank in A", ""), ("dot", "rank in B", "")]
    if known:
        levels = dict.fromkeys(f"{100 * each.level:g}%" for each in comparison.beliefs)
        legend.append(("", f"line: likely ranks ({' and '.join(levels)})", ""))
    marks = {"dot": "rank_b", "hollow": "rank_a", "legend": legend}

    def ranked(key: str, title: str, style: str, run: int) -> Column:
        low, high = comparison.beliefs[run].within if known else (None, None)
        ranks = comparison.ranks[run].astype(float)
        return Column(key, title, values=ranks, low=low, high=high, style=style, up=True)

    def scored(key: str, title: str, values: Any, style: str = "num", **more: Any) -> Column:
        return Column(key, title, values=values, decimals=digits, style=style, **more)

    columns = [
        ranked("rank_a", "Rank A", "c-ranks", 0),
        ranked("rank_b", "Rank B", "c-rank", 1),
        Column("item", "Item", "name", comparison.items, style="c-item", up=True),
        Column("chart", "", "chart", marks=marks, style="c-chart"),
        scored("a", f"{score} A", scores[0]),
        scored("b", f"{score} B", scores[1]),
        scored("change", "Change", scores[1] - scores[0], "num c-score", signed=True),
        Column("confidence", "Confidence", values=confidence, unit="%", style="num"),
        Column("moved", "Move", "word", moves, kinds=_SIGNS, style="c-move"),
    ]
    shown: dict[str, Any] = {"label": f"Only moved ({comparison.moved:,})"}
    shown |= {"rows": np.flatnonzero(comparison.direction)}
    return Listing(
        "items",
        "item",
        "Items of both runs, in the order of B",
        columns,
        "rank_b",
        filters=[shown] if comparison.moved else [],
    )


_SIGNS = {_MOVES[1]: "care", _MOVES[-1]: "care", _OPEN: "none", _SAME: "none"}


def _listed(ids: list[str]) -> list[str]:
    more = len(ids) - MOST_LISTED
    return [*map(cut, ids[:MOST_LISTED]), *([f"and {more:,} more"] if more > 0 else [])]


def _people(comparison: Comparison) -> str:
    """Return how many annotators changed, came and went."""
    gone, new = compared.people(comparison)
    changed = len(compared.annotators(comparison))
    parts = [
        f"{count(changed, 'verdict')} changed" if changed else "No verdict changed",
        f"{count(new, 'annotator')} new in B" if new else "",
        f"{count(gone, 'annotator')} not in B" if gone else "",
    ]
    return f"{'; '.join(filter(None, parts))}."


def _annotators(comparison: Comparison) -> list[Block]:
    def chip(verdict: str) -> Chip:
        return Chip(VERDICT_CHIPS.get(verdict, "none"), VERDICT_WORDS.get(verdict, verdict))

    changed = compared.annotators(comparison)
    if not changed:
        return []
    rows = [
        (cut(each["annotator"]), chip(each["a"]), chip(each["b"])) for each in changed[:MOST_LISTED]
    ]
    blocks: list[Block] = [Table(("Annotator", "Verdict in A", "Verdict in B"), rows, "flow")]
    if len(changed) > MOST_LISTED:
        blocks.append(Text(f"The gravest {MOST_LISTED} of {len(changed):,} are shown.", "note"))
    return blocks


def _findings(comparison: Comparison) -> list[Block]:
    found = compared.findings(comparison)
    if found is None:
        return [Text("The data of both runs must be checked to compare findings.", "lede")]

    def listed(key: str) -> Bullets:
        signs = {"problem": "bad"}
        return Bullets(
            [
                (Chip(signs.get(one["severity"], "none"), one["severity"]), f" {one['title']}")
                for one in found[key]
            ]
        )

    news: list[Block] = [
        Group([Heading(f"{title}: {len(found[key]):,}"), listed(key)])
        for title, key in (("New in B", "new"), ("Solved in B", "solved"))
    ]
    blocks: list[Block] = [Group(news, "two")]
    if found["both"]:
        blocks.append(Group([listed("both")], "fold", f"{len(found['both']):,} in both runs"))
    return blocks


def _settings(comparison: Comparison) -> list[Block]:
    def cell(text: str, *, differs: bool) -> str | Strong:
        return Strong(cut(text, _SETTING)) if differs else cut(text, _SETTING)

    rows = [
        (each["label"], *(cell(each[side], differs=each["differs"]) for side in "ab"))
        for each in compared.settings(comparison)
    ]
    a, b = (cut(name, _TITLE) for name in comparison.names)
    return [
        Table(("Setting", f"A: {a}", f"B: {b}"), rows, "flow"),
        Text("Settings that differ are bold.", "note"),
    ]
