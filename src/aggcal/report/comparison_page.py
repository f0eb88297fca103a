"""Render the comparison of two runs: one HTML page, Markdown or JSON."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan
from typing import Any

import numpy as np

from aggcal._core.arrays import IntArray
from aggcal._version import __version__
from aggcal.errors import count
from aggcal.io.writing.write import to_json
from aggcal.pages.numbers import DASH, decimals_for, number_text, percent, signed, span
from aggcal.report import compared
from aggcal.report.annotators import KINDS
from aggcal.report.axes import STYLE
from aggcal.report.comparison import Comparison
from aggcal.report.contents import VERDICT_WORDS
from aggcal.report.markdown import inline, plain
from aggcal.report.page import file, grid_lines, page
from aggcal.report.scale import Axis

MOST_ROWS = 1000
"""Rows of the page: more make it slow, and whoever needs them all takes JSON."""
MOST_LISTED = 50
"""Ids of a list: more are counted."""
TOP = 20
"""Rows of the table in Markdown."""


def html(comparison: Comparison) -> str:
    """Return a comparison of two runs as one self-contained HTML page."""
    table = Rows(comparison)
    return page(
        "comparison.html",
        style=STYLE + file("report.css") + file("compare.css") + _lines(table.axis),
        script=file("theme.js") + file("compare.js"),
        names=comparison.names,
        verdict=comparison.verdict,
        basis=compared.basis(comparison),
        facts=compared.facts(comparison),
        n=len(comparison.items),
        moved=comparison.moved,
        rows=table.rows,
        axis=table.axis,
        level=table.level,
        score=comparison.score_key.capitalize(),
        only_a=comparison.only_a,
        only_b=comparison.only_b,
        most=MOST_LISTED,
        people=_people(comparison),
        annotators=_annotators(comparison),
        findings=compared.findings(comparison),
        settings=compared.settings(comparison),
        version=__version__,
    )


def _lines(axis: Axis) -> str:
    return grid_lines(".res td.c-chart", [at for at, _ in axis.ticks])


class Rows:
    """The rows of the table: every item that moved, and the highest others."""

    def __init__(self, comparison: Comparison) -> None:
        self._of = comparison
        self.axis = Axis(1.0, float(max(2, len(comparison.items))))
        scores = comparison.columns(comparison.score_key)
        assert scores is not None  # noqa: S101  # every result has a consensus
        self._scores = scores
        self._digits = decimals_for(np.concatenate(scores))
        known = not comparison.withheld
        self._ends = [each.within for each in comparison.beliefs] if known else None

    @property
    def level(self) -> str:
        """The level of the rank intervals, in words; of both runs where they differ."""
        if self._ends is None:
            return ""
        levels = dict.fromkeys(f"{100 * each.level:g}%" for each in self._of.beliefs)
        return " and ".join(levels)

    @property
    def shown(self) -> IntArray:
        """Which items the table has."""
        n = len(self._of.items)
        if n <= MOST_ROWS:
            return np.arange(n)
        moved = np.flatnonzero(self._of.direction)[:MOST_ROWS]
        others = np.setdiff1d(np.arange(n), moved)[: MOST_ROWS - len(moved)]
        return np.sort(np.concatenate([moved, others]))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What each row shows."""
        return [self.row(k) for k in self.shown.tolist()]

    def row(self, k: int) -> dict[str, Any]:
        """Return what a row shows, in words and in percent of the chart."""
        of, (a, b) = self._of, self._of.ranks
        before, after = (float(each[k]) for each in self._scores)
        return {
            "name": of.items[k],
            "a": f"{a[k]:,}",
            "b": f"{b[k]:,}",
            "same": a[k] == b[k],
            "moved": ("", "up", "down")[int(of.direction[k])],
            "score_a": number_text(before, self._digits),
            "score_b": number_text(after, self._digits),
            "change": signed(after - before, self._digits),
            "confidence": self.confidence(k),
            "marks": [self._marks(side, k) for side in (0, 1)],
            "ranges": self._ranges(k),
            "sort": {
                "a": _sortable(before),
                "b": _sortable(after),
                "change": _sortable(after - before),
                "confidence": _sortable(float(of.confidence[k])),
                "move": int(a[k] - b[k]),
            },
        }

    def confidence(self, k: int) -> str:
        """Return how confident a row's move is, in words; a dash where the rank is the same."""
        of, (a, b) = self._of, self._of.ranks
        found = float(of.confidence[k])
        if isnan(found) or a[k] == b[k]:
            return DASH
        # What rounds up would claim more than is known.
        return percent(np.floor(100.0 * found + 1e-9) / 100.0)

    def _marks(self, side: int, k: int) -> dict[str, str]:
        found = {"dot": self.axis.at(float(self._of.ranks[side][k])), "low": "", "high": ""}
        if self._ends is not None:
            low, high = self._ends[side]
            found |= {"low": self.axis.at(float(low[k])), "high": self.axis.at(float(high[k]))}
        return found

    def _ranges(self, k: int) -> str:
        if self._ends is None:
            return ""
        first, second = (span(float(low[k]), float(high[k])) for low, high in self._ends)
        return f"intervals: A {first}, B {second}"


def _sortable(value: float) -> str:
    return "" if isnan(value) else f"{value:.6g}"


def _people(comparison: Comparison) -> str:
    """Return how many annotators changed, came and went."""
    gone, new = compared.people(comparison)
    changed = len(compared.annotators(comparison))
    parts = [
        f"{count(changed, 'verdict')} changed" if changed else "No verdict changed",
        f"{count(new, 'annotator')} new in B" if new else "",
        f"{count(gone, 'annotator')} not in B" if gone else "",
    ]
    return f"{'; '.join(part for part in parts if part)}."


def _annotators(comparison: Comparison) -> list[dict[str, str]]:
    found = []
    for each in compared.annotators(comparison):
        a, b = (VERDICT_WORDS.get(each[side], each[side]) for side in "ab")
        kinds = {"kind_a": KINDS.get(a, "none"), "kind_b": KINDS.get(b, "none")}
        found.append({"annotator": each["annotator"], "a": a, "b": b, **kinds})
    return found


def markdown(comparison: Comparison) -> str:
    """Return a comparison in short, as Markdown."""
    bold, rest = comparison.verdict
    table = Rows(comparison)
    blocks = [
        f"# {plain(comparison.names[0])} and {inline(comparison.names[1])}",
        f"**{inline(f'{bold} {rest}'.strip(), 1000)}**",
        " ".join(compared.basis(comparison)),
        "\n".join(f"- {label}: {value}" for label, value in compared.facts(comparison)),
        "\n".join(
            [
                f"| Rank A | Rank B | Item | {comparison.score_key} A | B | Confidence | Move |",
                "|--:|--:|:--|--:|--:|--:|:--|",
                *(_line(table.row(k)) for k in _first(comparison)),
            ]
        ),
    ]
    rest_of = len(comparison.items) - len(_first(comparison))
    if rest_of:
        blocks.append(f"{count(rest_of, 'more item')} in the two `items.csv`.")
    for title, ids in (("New in B", comparison.only_b), ("Missing from B", comparison.only_a)):
        if ids:
            named = ", ".join(inline(item) for item in ids[:TOP])
            more = f" and {len(ids) - TOP:,} more" if len(ids) > TOP else ""
            blocks.append(f"{title}: {named}{more}.")
    blocks += [
        f"{inline(each['annotator'])}: {each['a']} in A, {each['b']} in B."
        for each in _annotators(comparison)[:TOP]
    ]
    found = compared.findings(comparison) or {}
    for title, key in (("New findings", "new"), ("Solved findings", "solved")):
        if found.get(key):
            said = "\n".join(f"- {inline(one['title'], 400)}" for one in found[key])
            blocks.append(f"{title}:\n\n{said}")
    return "\n\n".join(blocks) + "\n"


def _first(comparison: Comparison) -> list[int]:
    """Return the rows for Markdown: those that moved before the others, in the order of B."""
    still = comparison.direction == 0
    return sorted(np.argsort(still, kind="stable")[:TOP].tolist())


def _line(row: dict[str, Any]) -> str:
    move = row["moved"] or ("same rank" if row["same"] else "open")
    cells = (row["a"], row["b"], inline(row["name"]), row["score_a"], row["score_b"])
    return f"| {' | '.join(cells)} | {row['confidence']} | {move} |"


def json(comparison: Comparison) -> str:
    """Return everything about a comparison as JSON."""
    return to_json(comparison.to_dict()) + "\n"


RENDERERS: dict[str, Callable[[Comparison], str]] = {"html": html, "md": markdown, "json": json}
"""The forms of a comparison, by the ending of its file."""
