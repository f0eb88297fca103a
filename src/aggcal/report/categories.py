"""The order of each category beside the overall one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal.errors import count
from aggcal.pages.document import (
    Block,
    Cell,
    Column,
    Group,
    Heading,
    Link,
    Listing,
    Only,
    Strong,
    Table,
    Text,
)
from aggcal.pages.numbers import DASH, cut, decimals_of, number_text
from aggcal.registry import WIN
from aggcal.report.held_equal import move_words
from aggcal.report.run import Run, known_scale
from aggcal.report.terms import level_of

MOST_CATEGORIES = 60
"""Categories to choose from: a longer list is read by a program, not by people."""
MOST_ROWS, FEWEST_ROWS = 1200, 10
"""Rows of all categories together that a page holds, and of each at least: more make it heavy to
open, and ``categories.csv`` has them all."""
MOST_ACROSS, MOST_DOWN = 12, 100
"""Columns and rows of the table of all categories: more do not fit a screen."""
_IN_SHORT = 12  # categories that Markdown shows, too
_HEAD = 24  # where names are cut in the heads of columns


@dataclass(frozen=True, eq=False)
class Category:
    """One category: which rows of ``categories.csv`` are its own."""

    column: str
    name: str
    rows: IntArray


def blocks(run: Run) -> list[Block]:
    """Return the orders of all categories; nothing without any.

    Examples
    --------
    >>> table = {"column": np.array(["topic"] * 2, dtype=object),
    ...          "category": np.array(["art"] * 2, dtype=object),
    ...          "item": np.array(["a", "b"], dtype=object), "score": np.array([0.5, 0.1]),
    ...          "rank": np.array([1, 2]), "n_judgments": np.array([9, 9])}
    >>> items = {"item": np.array(["b", "a"], dtype=object), "rank": np.array([1, 2])}
    >>> order = blocks(Run({}, items, categories=table))[0].blocks[1]
    >>> order.id, order.blocks[1].column("move").values
    ('by=art', ['up 1', 'down 1'])
    """
    if not run.categories:
        return []
    return [Group(_Orders(run).blocks, "sec", id="by-view")]


class _Orders:
    """The rows of ``categories.csv``, put together by category."""

    def __init__(self, run: Run) -> None:
        self._run, self._table = run, run.categories
        self._scale = known_scale(self._table)
        key = "score" if self._scale is None else self._scale.column
        times = 100.0 if self._scale is not None and self._scale.name == WIN.name else 1.0
        score, low, high = (
            None if (column := self._numbers(name)) is None else times * column
            for name in (
                key,
                *(("low", "high") if key == "score" else (f"{key}_low", f"{key}_high")),
            )
        )
        assert score is not None  # noqa: S101  # the reader refuses a table without
        self._score, self._low, self._high = score, low, high
        ranks = np.asarray(run.items.get("rank", ()), dtype=np.float64).tolist()
        self._overall = dict(zip(run.names, ranks, strict=False))

    def _numbers(self, name: str) -> FloatArray | None:
        column = self._table.get(name)
        return None if column is None else np.asarray(column, dtype=np.float64)

    @cached_property
    def every(self) -> list[Category]:
        """The categories, in the order of the file."""
        pairs = list(
            zip(map(str, self._table["column"]), map(str, self._table["category"]), strict=True)
        )
        code = {pair: k for k, pair in enumerate(dict.fromkeys(pairs))}
        codes = np.array([code[pair] for pair in pairs], dtype=np.int64)
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes[order], np.arange(len(code) + 1))
        return [Category(*pair, order[ends[k] : ends[k + 1]]) for pair, k in code.items()]

    @cached_property
    def shown(self) -> list[Category]:
        """Those that a page shows: of too many, the ones with the most judgments."""
        if len(self.every) <= MOST_CATEGORIES:
            return self.every
        kept = sorted(range(len(self.every)), key=lambda k: -self._judgments(self.every[k]))
        return [self.every[k] for k in sorted(kept[:MOST_CATEGORIES])]

    def _judgments(self, category: Category) -> float:
        given = self._table.get("n_judgments")
        return 0.0 if given is None else float(given[category.rows[0]] or 0.0)

    @property
    def limit(self) -> int:
        """How many rows of each category are shown."""
        return max(FEWEST_ROWS, MOST_ROWS // max(len(self.shown), 1))

    @property
    def blocks(self) -> list[Block]:
        """A heading, the table of all categories, and each category's own table."""
        found: list[Block] = [Heading("By category", 2)]
        if 1 < len(self.shown) <= MOST_ACROSS:
            found.append(self._across())
        found += [self._order(k, each) for k, each in enumerate(self.shown)]
        limits = []
        if len(self.every) > MOST_CATEGORIES:
            limits.append(
                f"the {MOST_CATEGORIES} of {len(self.every):,} categories with the most judgments"
            )
        if max(len(each.rows) for each in self.every) > self.limit:
            limits.append(f"the first {self.limit:,} items of each category")
        if limits:
            found.append(Text(f"Shown: {' and '.join(limits)}; categories.csv has all.", "note"))
        return found

    def key(self, category: Category) -> str:
        """Return the link to a category: one name in two columns needs both."""
        names = [each.name for each in self.shown]
        alone = names.count(category.name) == 1
        return category.name if alone else f"{category.column}={category.name}"

    # All categories beside each other ------------------------------------------------------------

    def _across(self) -> Group:
        """Return the rank of each item in every category."""
        rows = [{str(self._table["item"][k]): int(k) for k in each.rows} for each in self.shown]
        order = sorted(self._overall, key=lambda name: self._overall[name])[:MOST_DOWN]
        links = [Link(cut(each.name, _HEAD), f"by={self.key(each)}") for each in self.shown]
        body = [
            (
                Link(cut(name), f"item={name}"),
                Strong(number_text(self._overall[name], 0)),
                *(self._cell(own.get(name), self._overall[name]) for own in rows),
            )
            for name in order
        ]
        said = (
            "An arrow marks a rank whose interval excludes the overall rank: the item does better "
            "(↑) or worse (↓) in that category."
        )
        key = "all"
        while key in map(self.key, self.shown):
            key += " categories"
        numbers = frozenset(range(1, len(links) + 2))
        table = Table(("Item", "Overall", *links), body, "grid ranks", numbers)
        return Group(
            [Text(said, "lede"), Group([table], "across")],
            "fold", "All categories", f"by={key}", only="page",
        )  # fmt: skip

    def _cell(self, k: int | None, overall: float) -> Cell:
        """Return a rank in a category, and whether its interval excludes the overall one."""
        if k is None:
            return DASH
        rank = number_text(float(self._table["rank"][k]), 0)
        low, high = self._table.get("rank_low"), self._table.get("rank_high")
        if low is None or high is None or low[k] <= overall <= high[k]:
            return rank
        return Strong(f"{rank} {'↑' if high[k] < overall else '↓'}")

    # One category --------------------------------------------------------------------------------

    def _order(self, number: int, category: Category) -> Group:
        """Return the order of a category, beside the overall ranks."""
        own = category.rows[: self.limit]
        ids = [str(each) for each in self._table["item"][own]]
        table = Listing(
            f"by-{number}",
            "item",
            f"Items in the order of {cut(category.name)}",
            self._columns(own, ids),
            "rank",
            style="res by-table",
            file="categories.csv",
            tools=False,
        )
        found: list[Block] = [Text(self._said(category), "lede"), table]
        if len(category.rows) > len(own):
            said = f"The first {len(own):,} of {len(category.rows):,} items; all are in "
            found.append(Text(f"{said}categories.csv.", "note"))
        title = f"{cut(category.column)}: {cut(category.name)}"
        only: Only = "page" if number >= _IN_SHORT else ""
        return Group(found, "fold", title, f"by={self.key(category)}", only=only)

    def _columns(self, own: IntArray, ids: list[str]) -> list[Column]:
        def of(column: FloatArray | None) -> FloatArray | None:
            return None if column is None else column[own]

        ranks, low, high = (of(self._numbers(f"rank{end}")) for end in ("", "_low", "_high"))
        assert ranks is not None  # noqa: S101  # the reader refuses a table without
        overall = np.array([self._overall.get(name, np.nan) for name in ids])
        moved = [
            "" if np.isnan(was) else move_words(was - now)
            for was, now in zip(overall, ranks, strict=True)
        ]
        drawn = [each for each in (self._score, self._low, self._high) if each is not None]
        every = np.concatenate(drawn)
        every = every[np.isfinite(every)]
        legend = [["dot", "score in this category", ""]]
        if self._low is not None:
            level = f"{100.0 * level_of(self._run.summary):g}%"
            legend.append(["line", f"{level} interval", "interval"])
        # All categories share an axis.
        ends = [float(every.min()), float(every.max())] if every.size else None
        marks = {"dot": "score", "legend": legend, "ends": ends}
        digits = decimals_of(self._score, self._low, self._high)
        return [
            Column("rank", "Rank", values=ranks, style="c-rank", up=True),
            *(
                [
                    Column(
                        "ranks", "Likely ranks", "interval", ranks, low, high,
                        word="likely ranks", style="c-ranks",
                    )
                ]
                if low is not None
                else []
            ),
            Column("item", "Item", "name", ids, style="c-item", up=True, to="item"),
            Column("chart", "", "chart", marks=marks, style="c-chart"),
            Column(
                "score",
                "Score" if self._scale is None else self._scale.title,
                "number",
                self._score[own], of(self._low), of(self._high),
                decimals=digits,
                style="num c-score",
            ),
            Column("overall", "Overall rank", values=overall, style="num c-n"),
            Column("move", "Against overall", "word", moved, style="num c-against"),
        ]  # fmt: skip

    def _said(self, category: Category) -> str:
        """Say how much was judged in a category."""
        number = self._judgments(category)
        whole = float(number).is_integer()
        said = count(int(number), "judgment") if whole else f"{number:,.1f}"
        missing = len(self._run.names) - len(category.rows)
        if missing > 0:
            verb = "was" if missing == 1 else "were"
            said += f"; {count(missing, 'item')} {verb} not compared in it"
        return f"{said}. An item with few judgments here is drawn towards its overall score."
