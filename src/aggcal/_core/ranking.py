"""A ranking as people read it: rank, item, score and interval, as text and as a table of HTML."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.markup import Markup, tag
from aggcal._core.palette import BLUE
from aggcal._core.tables import Columns
from aggcal._core.text import clipped, columns_of
from aggcal.errors import count

FIRST = 10
"""Items that are shown; the tables have all."""
_FINEST = 6  # decimals at most
_WIDE = 160  # pixels of a bar
_MINUS, _DASH = "\N{MINUS SIGN}", "\N{EN DASH}"


@dataclass(frozen=True)
class Row:
    """An item: what is written of it, and its score with the ends of its interval."""

    rank: str
    item: str
    score: str
    interval: str
    ends: tuple[float, float, float]


@dataclass(frozen=True)
class Ranking:
    """The first items of a table.

    Examples
    --------
    >>> items = {"item": np.array(["a", "b"], dtype=object), "rank": [1, 2], "rank_low": [1, 1],
    ...     "rank_high": [1, 2], "score": [1.25, -0.5], "score_low": [1, -1], "score_high": [2, 0]}
    >>> print(Ranking.of(items, "score", 0.95))
    rank     item  score  95% interval
    1        a      1.25  1.00 to 2.00
    2 (1–2)  b     −0.50  −1.00 to 0.00
    """

    rows: tuple[Row, ...]
    total: int
    level: float | None = None

    @classmethod
    def of(cls, columns: Columns, key: str, level: float | None = None) -> Ranking:
        """Return the first items of the table of results, with the scores of a column."""
        named = (key, f"{key}_low", f"{key}_high", "rank", "rank_low", "rank_high")
        read = {n: np.asarray(columns[n], dtype=np.float64) for n in named if n in columns}
        score, bare = read[key], np.full(len(read[key]), np.nan)
        there = np.flatnonzero(np.isfinite(score))
        low, high = (read.get(name, bare) for name in named[1:3])
        decimals = _decimals(score[there], (high - low)[there] / 2.0)
        rows = []
        for k in there[:FIRST].tolist():
            rank, first, last = (float(read.get(name, bare)[k]) for name in named[3:])
            written = "" if np.isnan(rank) else f"{rank:,.0f}"
            if first < last:
                written += f" ({first:,.0f}{_DASH}{last:,.0f})"
            ends = float(low[k]), float(score[k]), float(high[k])
            begins, shown, stops = (_number(value, decimals) for value in ends)
            interval = "" if np.isnan(low[k]) else f"{begins} to {stops}"
            rows.append(Row(written, clipped(columns["item"][k]), shown, interval, ends))
        level = level if any(row.interval for row in rows) else None
        return cls(tuple(rows), len(there), level)

    @property
    def heads(self) -> tuple[str, ...]:
        """What the columns are called."""
        named = "rank", "item", "score"
        return named if self.level is None else (*named, f"{100.0 * self.level:g}% interval")

    @property
    def more(self) -> str:
        """How many items are not shown; blank where all are."""
        left = self.total - len(self.rows)
        return f"… and {count(left, 'more item')}" if left else ""

    def __str__(self) -> str:
        cells = [(row.rank, row.item, row.score, row.interval) for row in self.rows]
        width = len(self.heads)
        lines = columns_of([self.heads, *(each[:width] for each in cells)], right={2})
        return "\n".join([*lines, *filter(None, (self.more,))])

    def html(self) -> Markup:
        """Write it as a table, with a bar for each interval."""
        ends = np.array([row.ends for row in self.rows])
        least, most = (float(end(ends)) for end in (np.nanmin, np.nanmax)) if len(ends) else (0, 1)
        scale = _WIDE / ((most - least) or 1.0)
        rows = (
            tag(
                "tr",
                tag("td", row.rank),
                tag("td", tag("bdi", row.item), class_="aggcal-text"),
                tag("td", f"{row.score} ({row.interval})" if row.interval else row.score),
                tag("td", _bar((end - least) * scale for end in row.ends)),
            )
            for row in self.rows
        )
        heads = "rank", "item", "score"
        shown = (tag("th", each, class_="aggcal-text" if each == "item" else "") for each in heads)
        return tag("table", tag("thead", tag("tr", *shown, tag("th"))), tag("tbody", *rows))


def _bar(ends: Iterable[float]) -> Markup:
    """Draw an interval as a line and the score as a dot."""
    low, middle, high = (round(end + 4.0, 1) for end in ends)
    line = tag("line", x1=low, x2=high, y1=6, y2=6, stroke=BLUE, stroke_width=2)
    dot = tag("circle", cx=middle, cy=6, r=3, fill=BLUE)
    parts = (line, dot) if low == low else (dot,)  # noqa: PLR0124  # NaN where there is none
    return tag("svg", *parts, width=_WIDE + 8, height=12, aria_hidden="true")


def _decimals(score: FloatArray, half: FloatArray) -> int:
    """Return how many decimals show two digits of an interval, or of the range without one."""
    known = half[half > 0.0]
    size = float(np.median(known)) if len(known) else float(np.ptp(score)) / 20 if len(score) else 0
    return int(np.clip(1.0 - np.floor(np.log10(size)), 0, _FINEST)) if 0 < size < np.inf else 0


def _number(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}".replace("-", _MINUS)
