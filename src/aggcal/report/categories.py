"""The order of each category beside the overall one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.records import dataclass
from aggcal._core.tables import Columns
from aggcal.errors import count
from aggcal.pages.numbers import DASH, cut, decimals_of, number_text, span
from aggcal.registry import WIN, ScaleInfo
from aggcal.report.control import move_words
from aggcal.report.scale import Axis

MOST_CATEGORIES = 60
"""Categories to choose from: a longer list is read by a program, not by people."""
MOST_ROWS, FEWEST_ROWS = 1200, 10
"""Rows of all categories together that a page holds, and of each at least: more make it heavy to
open, and ``categories.csv`` has them all."""
NAME = 120
"""Where names are cut."""
MOST_ACROSS, MOST_DOWN = 12, 100
"""Columns and rows of the table of all categories: more do not fit a screen."""


@dataclass(frozen=True, eq=False)
class Category:
    """One category: which rows of the table are its own."""

    column: str
    name: str
    own: IntArray
    judgments: float


@dataclass(frozen=True, eq=False)
class Categories:
    """The table of ``categories.csv``, as far as a page shows it.

    Examples
    --------
    >>> table = {"column": np.array(["topic"] * 2, dtype=object),
    ...          "category": np.array(["art"] * 2, dtype=object),
    ...          "item": np.array(["a", "b"], dtype=object), "score": np.array([0.5, 0.1]),
    ...          "rank": np.array([1, 2]), "n_judgments": np.array([9, 9])}
    >>> items = {"item": np.array(["b", "a"], dtype=object), "rank": np.array([1, 2])}
    >>> view = Categories(table, items).views[0]
    >>> view["label"], [row["move"] for row in view["rows"]]
    ('art', ['up 1', 'down 1'])
    """

    table: Columns
    items: Columns
    scale: ScaleInfo | None = None
    """The scale that scores are told in; None for that of the fit."""

    @cached_property
    def every(self) -> list[Category]:
        """The categories, in the order of the file."""
        if not self.table:
            return []
        pairs = list(
            zip(map(str, self.table["column"]), map(str, self.table["category"]), strict=True)
        )
        code = {pair: k for k, pair in enumerate(dict.fromkeys(pairs))}
        codes = np.array([code[pair] for pair in pairs], dtype=np.int64)
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes[order], np.arange(len(code) + 1))
        given = self.table.get("n_judgments", np.zeros(len(pairs)))
        return [
            Category(*pair, order[ends[k] : ends[k + 1]], float(given[order[ends[k]]] or 0.0))
            for pair, k in code.items()
        ]

    @property
    def shown(self) -> list[Category]:
        """Those that a page shows: of too many, the ones with the most judgments."""
        if len(self.every) <= MOST_CATEGORIES:
            return self.every
        kept = sorted(range(len(self.every)), key=lambda k: -self.every[k].judgments)
        return [self.every[k] for k in sorted(kept[:MOST_CATEGORIES])]

    @property
    def left_out(self) -> str:
        """What a page does not show, in a sentence; nothing where it shows all."""
        n, rows = len(self.every), max((len(each.own) for each in self.every), default=0)
        said = []
        if n > MOST_CATEGORIES:
            said.append(f"the {MOST_CATEGORIES} of {n:,} categories with the most judgments")
        if rows > self.limit:
            said.append(f"the first {self.limit:,} items of each category")
        return f"Shown: {' and '.join(said)}; categories.csv has all." if said else ""

    @property
    def limit(self) -> int:
        """How many rows of each category are shown."""
        return max(FEWEST_ROWS, MOST_ROWS // max(len(self.shown), 1))

    @cached_property
    def _overall(self) -> Mapping[str, float]:
        ranks = self.items.get("rank", np.full(len(self.items["item"]), np.nan))
        return dict(zip(map(str, self.items["item"]), map(float, _numbers(ranks)), strict=True))

    @cached_property
    def _values(self) -> dict[str, FloatArray]:
        own = {"score": "score", "low": "low", "high": "high"}
        if self.scale is not None:
            key = self.scale.column
            own = {"score": key, "low": f"{key}_low", "high": f"{key}_high"}
        known = {name: _numbers(self.table[key]) for name, key in own.items() if key in self.table}
        times = 100.0 if self.scale is not None and self.scale.name == WIN.name else 1.0
        scores = {name: times * column for name, column in known.items()}
        ranks = ("rank", "rank_low", "rank_high")
        return scores | {key: _numbers(self.table[key]) for key in ranks if key in self.table}

    @property
    def title(self) -> str:
        """What the scores are called."""
        return "Score" if self.scale is None else self.scale.title

    @cached_property
    def digits(self) -> int | None:
        """Decimals of the scores."""
        known = self._values
        return decimals_of(known["score"], known.get("low"), known.get("high"))

    @cached_property
    def axis(self) -> Axis:
        """The axis that all categories share."""
        return Axis.of(*(self._values.get(name) for name in ("score", "low", "high")))

    @cached_property
    def views(self) -> list[dict[str, Any]]:
        """Each category that is shown: its name, its link and its rows."""
        names = [each.name for each in self.shown]
        return [
            {
                "column": cut(each.column, NAME),
                "label": cut(each.name, NAME),
                # One name in two columns needs both in a link.
                "key": each.name if names.count(each.name) == 1 else f"{each.column}={each.name}",
                "rows": [self._row(int(k)) for k in each.own[: self.limit]],
                "n": len(each.own),
                "ranked": {"rank_low", "rank_high"} <= set(self._values),
                "says": self._says(each),
            }
            for each in self.shown
        ]

    @property
    def all_key(self) -> str:
        """The link to the table of all categories: a name that no category has."""
        key = "all"
        while any(view["key"] == key for view in self.views):
            key += " categories"
        return key

    @cached_property
    def overview(self) -> list[dict[str, Any]]:
        """The rank of each item in every category; nothing where that is too wide for a page."""
        if not 1 < len(self.shown) <= MOST_ACROSS:
            return []
        rows = [{str(self.table["item"][k]): int(k) for k in each.own} for each in self.shown]
        order = sorted(self._overall, key=lambda name: self._overall[name])[:MOST_DOWN]
        return [
            {
                "item": name,
                "short": cut(name, NAME),
                "overall": number_text(self._overall[name], 0),
                "cells": [self._cell(own.get(name), self._overall[name]) for own in rows],
            }
            for name in order
        ]

    def _cell(self, k: int | None, overall: float) -> dict[str, str]:
        """Return a rank in a category, and whether its interval excludes the overall one."""
        if k is None:
            return {"rank": DASH, "kind": ""}
        known = self._values
        kind = ""
        if "rank_low" in known and "rank_high" in known:
            better, worse = known["rank_high"][k] < overall, known["rank_low"][k] > overall
            kind = "better" if better else "worse" if worse else ""
        return {"rank": number_text(float(known["rank"][k]), 0), "kind": kind}

    def _says(self, category: Category) -> str:
        number = category.judgments
        said = (
            f"{count(int(number), 'judgment')}" if float(number).is_integer() else f"{number:,.1f}"
        )
        missing = len(self.items["item"]) - len(category.own)
        rest = f"; {count(missing, 'item')} {'was' if missing == 1 else 'were'} not compared in it"
        return said + (rest if missing > 0 else "")

    def _row(self, k: int) -> dict[str, str]:
        known, name = self._values, str(self.table["item"][k])
        rank, overall = float(known["rank"][k]), self._overall.get(name, float("nan"))
        marks = {"dot": self.axis.at(float(known["score"][k]), self.digits), "low": "", "high": ""}
        interval = ""
        if "low" in known and "high" in known and np.isfinite(known["low"][k] + known["high"][k]):
            low, high = float(known["low"][k]), float(known["high"][k])
            marks |= {
                "low": self.axis.at(low, self.digits),
                "high": self.axis.at(high, self.digits),
            }
            interval = span(low, high, self.digits)
        ranks = ""
        if "rank_low" in known and "rank_high" in known:
            first, last = float(known["rank_low"][k]), float(known["rank_high"][k])
            ranks = span(first, last) if np.isfinite(first + last) else ""
        return {
            "item": name,
            "short": cut(name, NAME),
            "rank": number_text(rank, 0),
            "ranks": ranks,
            "score": number_text(float(known["score"][k]), self.digits),
            "interval": interval,
            "overall": number_text(overall, 0),
            "move": "" if overall != overall else move_words(overall - rank),  # noqa: PLR0124
            **marks,
        }


def _numbers(column: np.ndarray) -> FloatArray:
    return np.asarray(column, dtype=np.float64)
