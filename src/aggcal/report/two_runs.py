"""Two runs side by side, as a document: the blocks and the table of the report of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from aggcal._version import __version__
from aggcal.advice.verdicts import RELIABLE, UNCLEAR, VERDICTS
from aggcal.errors import count
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
)  # fmt: skip
from aggcal.pages.markdown import TOP
from aggcal.pages.numbers import SHORT_NAME, cut, decimals_for, number_text, percent
from aggcal.report import terms
from aggcal.report.annotators import VERDICT_CHIPS, VERDICT_WORDS
from aggcal.report.comparison import Comparison
from aggcal.report.head import MOST_NAMED, leaders, trust
from aggcal.report.quality import findings
from aggcal.report.run import Run

MOST_LISTED = 50
"""Ids of a list: more are counted."""

_SETTING = 400  # characters
_MOVES = {1: "↑ up", -1: "↓ down"}
_SAME, _OPEN = "same rank", "open"
_SIGNS = {_MOVES[1]: "care", _MOVES[-1]: "care", _OPEN: "none", _SAME: "none"}


def two_runs(comparison: Comparison) -> Document:
    """Return what differs between two runs."""
    a, b = (cut(name, SHORT_NAME) for name in comparison.names)
    bold, rest = verdict(comparison)
    n = len(comparison.items)
    return Document(
        title=f"A: {a}, B: {b}",
        about=("A: ", Strong(a), " · B: ", Strong(b)),
        headline=(Strong(bold), f" {rest}") if bold else rest,
        lead=[Text(" ".join(_basis(comparison)), "lede"), Pairs(list(_facts(comparison)), "facts")],
        sections=[
            Section(
                "both",
                "Items",
                f"{count(n, 'item')} {'is' if n == 1 else 'are'} in both runs",
                _items(comparison),
            ),
            _annotators(comparison),
            Section("found", "Data quality", "Data quality", _findings(comparison)),
            Section("made", "The two runs", "The two runs", _settings(comparison)),
        ],
        foot=f"Made with aggcal {__version__}.",
        data={
            "verdict": f"{bold} {rest}".strip(),
            "runs": dict(zip("ab", comparison.names, strict=True)),
            "independent": comparison.independent,
            "same_judgments": comparison.same_judgments,
            "score": comparison.score_key,
            "n_moved": None if comparison.withheld else comparison.moved,
            "order": comparison.order,
        },
    )


# What is said of both -----------------------------------------------------------------------------


def verdict(comparison: Comparison) -> tuple[str, str]:
    """Return one sentence, its first words in bold: how many items moved, and who leads."""
    leads = _leader(comparison)
    if comparison.withheld:
        return "", f"Nothing can be claimed about moves: {comparison.withheld}; {leads}."
    changed = "changed places beyond what the judgments leave open"
    if not comparison.moved:
        return "", f"No item {changed}; {leads}."
    said = f"{comparison.moved:,} of {count(len(comparison.items), 'item')}"
    if comparison.by_chance:
        return said, f"changed places, but chance alone could explain so few; {leads}."
    return said, f"{changed}; {leads}."


def _leader(comparison: Comparison) -> str:
    """Return which items could be the best in either run; without certainty, who came first."""
    could = [[run.names[k] for k in run.could_be_first] for run in comparison.runs]
    if all(could):
        if could[0] == could[1] and len(could[0]) == 1:
            return f"{cut(could[0][0], SHORT_NAME)} is the best in both"
        return f"{_best(could[0])} in A, {_best(could[1])} in B"
    before, after = map(leaders, comparison.runs)
    if set(before) == set(after):
        return f"{_named(after)} {'leads' if len(after) == 1 else 'lead'} in both"
    return f"{_named(before)} came first in A, {_named(after)} in B"


def _best(names: list[str]) -> str:
    if len(names) == 1:
        return f"{cut(names[0], SHORT_NAME)} is the best"
    return f"any of {len(names):,} items could be the best"


def _named(names: list[str]) -> str:
    if len(names) > MOST_NAMED:
        return f"{len(names):,} tied items"
    return terms.joined([cut(name, SHORT_NAME) for name in names])


def _basis(comparison: Comparison) -> Iterator[str]:
    """Say what the probabilities are, and what they depend on."""
    if comparison.withheld:
        yield f"No move is claimed: {comparison.withheld}."
        return
    level = f"{100 * min(each.level for each in comparison.beliefs):g}%"
    if comparison.independent:
        yield (
            "You declared that no judgment is in both runs. Confidence is that of a two-sided test "
            f"of whether the rank changed; an item is called moved from {level}."
        )
    else:
        yield (
            "Confidence is the highest level at which an item's likely ranks in A and B do not "
            f"overlap; an item is called moved from {level}. This holds whether or not the runs "
            "share judgments. Low confidence does not show that an item stayed."
        )
    if comparison.same_judgments:
        yield (
            "Both runs appear to have the same judgments, so every difference comes from the "
            "settings."
        )
    if comparison.a.summary["method"] != comparison.b.summary["method"]:
        yield "The methods differ, so a move may come from the method."
    elif len({terms.fitted(each.summary) for each in comparison.runs}) > 1:
        yield "The terms of the fits differ, so a move may come from them."
    alone = len(comparison.only_a) + len(comparison.only_b)
    if alone:
        yield (
            f"Ranks are among the {count(len(comparison.items), 'item')} in both runs; their "
            f"intervals allow for any rank of the {count(alone, 'item')} in only one."
        )
    yield "Ranks are what the annotators of each run agree on, not the truth."


def _facts(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Say how alike the two orders are."""
    order = comparison.order
    taus = (number_text(order[key], 3) for key in ("tau_a", "tau_b"))
    changed, pairs = order["changed"], order["pairs"]
    yield "Kendall's tau-a · tau-b", " · ".join(taus)
    yield "Spearman", number_text(order["spearman"], 3)
    share = percent(changed / max(pairs, 1))
    yield "Pairs that changed order", f"{changed:,} of {pairs:,} ({share})"
    if "certified_in_a" in order:
        said = f"{order['certified_in_a']:,} in A · {order['certified_in_b']:,} in B"
        both = f" · {order['certified_opposite']:,} in both, in opposite orders"
        yield "Of these certified", said + both


# Items --------------------------------------------------------------------------------------------


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


def _listed(ids: list[str]) -> list[str]:
    more = len(ids) - MOST_LISTED
    return [*map(cut, ids[:MOST_LISTED]), *([f"and {more:,} more"] if more > 0 else [])]


# Annotators, findings and settings ----------------------------------------------------------------


def _annotators(comparison: Comparison) -> Section:
    """Return whose verdict changed, the gravest of B first."""
    first, second = (
        dict(zip(map(str, run.annotators.get("annotator", ())), run.verdicts, strict=True))
        for run in comparison.runs
    )
    grave = {verdict: k for k, verdict in enumerate(VERDICTS)}
    # These two come from reliabilities, which not every method has.
    alike = {UNCLEAR, RELIABLE} if any(run.equal for run in comparison.runs) else set()
    changed = [
        who
        for who in second
        if who in first and first[who] != second[who] and not {first[who], second[who]} <= alike
    ]
    changed.sort(key=lambda who: grave.get(second[who], len(grave)))
    new, gone = len(second.keys() - first), len(first.keys() - second)
    parts = [
        f"{count(len(changed), 'verdict')} changed" if changed else "No verdict changed",
        *([f"{count(new, 'annotator')} new in B"] if new else []),
        *([f"{count(gone, 'annotator')} not in B"] if gone else []),
    ]
    blocks: list[Block] = []
    if changed:
        rows = [(cut(who), _chip(first[who]), _chip(second[who])) for who in changed[:MOST_LISTED]]
        blocks.append(Table(("Annotator", "Verdict in A", "Verdict in B"), rows, "flow"))
    if len(changed) > MOST_LISTED:
        blocks.append(Text(f"The gravest {MOST_LISTED} of {len(changed):,} are shown.", "note"))
    return Section("who", "Annotators", "; ".join(parts), blocks)


def _chip(verdict: str) -> Chip:
    return Chip(VERDICT_CHIPS.get(verdict, "none"), VERDICT_WORDS.get(verdict, verdict))


def _findings(comparison: Comparison) -> list[Block]:
    """Return which findings are new in B, gone, or in both."""
    if not all(run.checked for run in comparison.runs):
        return [Text("The data of both runs must be checked to compare findings.", "lede")]
    first, second = (
        {str(one["code"]): one for one in findings(run.summary)} for run in comparison.runs
    )

    def listed(codes: Iterator[str], of: Mapping[str, Any]) -> Bullets:
        told = (of[code] for code in codes)
        kinds = {"problem": "bad"}
        return Bullets(
            [
                (Chip(kinds.get(one["severity"], "none"), one["severity"]), f" {one['title']}")
                for one in told
            ]
        )

    new = listed((code for code in second if code not in first), second)
    solved = listed((code for code in first if code not in second), first)
    both = listed((code for code in second if code in first), second)
    changed = [
        Group([Heading(f"{title}: {len(some.lines):,}"), some])
        for title, some in (("New in B", new), ("Solved in B", solved))
        if some.lines
    ]
    nothing = Text("No finding is new or solved.", "lede")
    blocks: list[Block] = [Group(changed, "two") if changed else nothing]
    if both.lines:
        blocks.append(Group([both], "fold", f"{len(both.lines):,} in both runs"))
    return blocks


def _settings(comparison: Comparison) -> list[Block]:
    """Return what the two runs are; settings that differ stand out."""
    first, second = map(_made, comparison.runs)
    rows = []
    for label in first:
        a, b = (cut(each[label], _SETTING) for each in (first, second))
        if a or b:
            cells = [Strong(each or "–") if a != b else each for each in (a, b)]
            rows.append((label, *cells))
    a, b = (cut(name, SHORT_NAME) for name in comparison.names)
    return [
        Table(("Setting", f"A: {a}", f"B: {b}"), rows, "flow"),
        Text("Settings that differ are bold.", "note"),
    ]


def _made(run: Run) -> dict[str, str]:
    """Return how a run was made, in words."""
    s, settings = run.summary, run.summary.get("settings") or {}
    known = s.get("uncertainty")

    def shown(value: Any) -> str:
        return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)

    return {
        "Title": run.title,
        "Trust": trust(run).words,
        **{name.capitalize(): shown(s.get(f"n_{name}")) for name in _NUMBERS},
        "Judgments from": shown(s.get("judgments")),
        "Scores from": shown(s.get("scores")),
        "Criterion": ", ".join(map(str, s.get("criteria") or ())),
        "Method": shown(s.get("method")),
        "Terms": terms.fitted(s),
        "Calibration": str(s.get("calibrator") or "none"),
        "Intervals": f"level {known['level']:g}, {known['kind']}" if known else "not computed",
        **{name.capitalize(): str(settings.get(name) or "") for name in ("prior", "estimator")},
        "Seed": "" if settings.get("seed") is None else str(settings["seed"]),
        "Software": f"aggcal {s.get('version', '')}",
    }


_NUMBERS = ("items", "annotators", "judgments")
