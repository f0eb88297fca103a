"""The rows of the results: every item with its dot, its interval and its place in the top k."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from math import isnan
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.records import dataclass
from aggcal.aggregation.uncertainty.claims import IN, OPEN, OUT
from aggcal.aggregation.uncertainty.top import NEARLY
from aggcal.pages.numbers import percent
from aggcal.registry import SCALES, WIN
from aggcal.report.listing import STATIC_ROWS, Listing, Marks, Numbers, static_rows
from aggcal.report.parts import Part
from aggcal.report.scale import Axis

USUAL_TOP = 10
"""The k that a page shows first, where there are items enough."""
STOPS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 5000, 10000)
"""The k to choose from where no probabilities are known."""
_MOST_COMPONENTS = 50  # of a list to choose from: more are a study in pieces

EDGE = "edge"
STATES = {IN: "in", EDGE: OPEN, OUT: "out"}
"""What a page calls the three states of an item in the top k."""


@dataclass(frozen=True, eq=False)
class ItemRows:
    """The items' table as a chart: what each row shows, and what the script needs to redraw it.

    Examples
    --------
    >>> from aggcal.report.contents import item_listing
    >>> items = {"item": np.array(["a", "b"], dtype=object), "consensus": np.array([1.0, -1.0]),
    ...          "rank": np.array([1, 2])}
    >>> rows = ItemRows(item_listing(items))
    >>> rows.row(0)["score"], rows.row(0)["dot"], rows.score.key
    ('1.000', '97.00', 'consensus')
    """

    listing: Listing
    top: Mapping[str, Any] | None = None
    """With which probability items are among the first k; see `assessment.comparisons`."""
    claimed: Mapping[str, Any] = field(default_factory=dict)
    """Between which ranks each item is by itself; see `assessment.comparisons`."""
    decided: Mapping[str, Any] = field(default_factory=dict)
    """What was decided, as in ``summary.json``."""
    parts: Sequence[Part] = ()
    """Components that nothing compares with each other: each is ranked on its own."""

    @property
    def n(self) -> int:
        """How many items there are."""
        return self.listing.n_rows

    @cached_property
    def score(self) -> Numbers:
        """The column of the chart: calibrated scores, or the consensus where there are none."""
        scales = (self.listing.column(scale.column) for scale in SCALES.values())
        scaled = next((column for column in scales if column is not None), None)
        found = self.listing.column("calibrated") or scaled or self.listing.column("consensus")
        assert found is not None  # noqa: S101  # every result has a consensus
        return found

    @cached_property
    def model(self) -> Numbers | None:
        """The model's scores, where they are on the same scale."""
        return self.listing.column("model") if self.score.key == "calibrated" else None

    @cached_property
    def axis(self) -> Axis:
        """The axis that all rows share."""
        model = None if self.model is None else self.model.values
        cut = self.decided.get("cut")
        times = 100.0 if self.score.key == WIN.column else 1.0
        shown = None if not isinstance(cut, int | float) else np.array([times * float(cut)])
        return Axis.of(self.score.values, self.score.low, self.score.high, model, shown)

    @cached_property
    def ends(self) -> tuple[FloatArray, FloatArray] | None:
        """Best and worst rank of each item by itself; NaN for one that nobody judged.

        Of very many items they are those that all items have together.
        """
        ends: list[Any] = [self.claimed.get(name) for name in ("best", "worst")]
        if None in ends:
            columns = [self.listing.column(name) for name in ("sure_low", "sure_high")]
            ends = [None if column is None else column.values for column in columns]
        if ends[0] is None or ends[1] is None:
            return None
        best, worst = (np.full(self.n, np.nan) for _ in range(2))
        for found, known in zip((best, worst), ends, strict=True):
            found[: len(known)] = known[: self.n]
        return best, worst

    @property
    def sure(self) -> str:
        """How sure that is: each item by itself, or all of them together."""
        level = self.claimed.get("sure")
        return "all items together" if level is None else f"{100.0 * level:g}% confidence for each"

    @cached_property
    def asked_top(self) -> int | None:
        """The k that was asked for; None where there was none, or nothing is claimed of it."""
        top = self.decided.get("top")
        known = self.listing.column("p_top_k") is not None
        return top if isinstance(top, int) and known and 1 <= top < self.n else None

    @cached_property
    def has_intervals(self) -> bool:
        """Whether the chart has bars."""
        return self.score.low is not None and bool(np.isfinite(self.score.low).any())

    @cached_property
    def ranks(self) -> Numbers | None:
        """The column of the ranks."""
        return self.listing.column("rank")

    @cached_property
    def has_states(self) -> bool:
        """Whether items can be told to be in or out of the top k."""
        return self.n > 1 and not self.parts and self.ends is not None

    @cached_property
    def stops(self) -> list[int]:
        """The k to choose from."""
        if self.top is not None:
            return list(self.top["stops"])
        asked = () if self.asked_top is None else (self.asked_top,)
        return sorted({k for k in (*STOPS, *asked) if k < self.n}) or [1]

    @cached_property
    def first_stop(self) -> int:
        """Which of them the page shows first."""
        wanted = USUAL_TOP if self.n > 2 * USUAL_TOP else max(1, self.n // 3)
        top = self.decided.get("top")
        wanted = max(self.stops[0], top if isinstance(top, int) else wanted)
        return max(k for k, stop in enumerate(self.stops) if stop <= wanted)

    def probability(self, k: int, stop: int) -> float:
        """Return the probability that a row is within a stop; NaN where it is not known.

        Draws that all say the same do not make it certain.
        """
        exact = self.listing.column("p_top_k")
        if exact is not None and self.stops[stop] == self.asked_top:
            return float(exact.values[k]) / 100.0
        if self.top is None or k >= len(self.top["percent"]):
            return np.nan
        known = self.top["percent"][k]  # after how many stops have 0%
        at = 1 + stop - known[0]
        share = 0.0 if at < 1 else 1.0 if at >= len(known) else known[at] / 100.0
        return min(NEARLY, max(1.0 - NEARLY, share))

    def state(self, k: int, stop: int) -> str:
        """Return whether a row is surely in the top k of a stop, surely out, or neither."""
        if self.ends is None:
            return OUT
        (best, worst), limit = self.ends, self.stops[stop]
        return IN if worst[k] <= limit else EDGE if best[k] <= limit else OUT

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many items have each state at the first stop."""
        found = [self.state(k, self.first_stop) for k in range(min(self.n, self.listing.n_listed))]
        return {state: found.count(state) for state in STATES}

    @cached_property
    def blocks(self) -> IntArray:
        """For each row: its place in its block (0 the first), the block's size, the block's turn.

        The turn counts the blocks of several items from the top: every other one is tinted.
        """
        column, found = self.listing.column("block"), np.tile([0, 1, 0], (self.n, 1))
        if column is None:
            return found
        there = np.flatnonzero(~np.isnan(column.values))
        _, which, sizes = np.unique(column.values[there], return_inverse=True, return_counts=True)
        order, begins = np.argsort(which, kind="stable"), np.cumsum(sizes) - sizes
        place, turn = np.empty(len(there), dtype=np.int64), np.zeros(len(sizes), dtype=np.int64)
        place[order] = np.arange(len(there)) - np.repeat(begins, sizes)
        several = np.flatnonzero(sizes > 1)
        turn[several[np.argsort(order[begins[several]])]] = np.arange(1, len(several) + 1)
        shared = sizes[which] > 1
        rows = np.column_stack([place, sizes[which], turn[which]])
        found[there[shared]] = rows[shared]
        return found

    def mates(self, k: int) -> IntArray:
        """Return the rows of a row's block; an item without a model score may be among them."""
        column = self.listing.column("block")
        if column is None:
            return np.array([k])
        return np.flatnonzero(column.values == column.values[k])

    @cached_property
    def has_blocks(self) -> bool:
        """Whether some items share a score."""
        return bool((self.blocks[:, 1] > 1).any())

    @cached_property
    def won(self) -> Numbers | None:
        """Share of its comparisons that each item won."""
        return self.listing.column("win_rate")

    @cached_property
    def components(self) -> list[tuple[int, int]]:
        """The connected components to choose from, with how many items each has."""
        column = self.listing.column("component")
        if column is None:
            return []
        known = column.values[np.isfinite(column.values)].astype(np.int64)
        labels, sizes = np.unique(known, return_counts=True)
        return list(zip(labels.tolist(), sizes.tolist(), strict=True))[:_MOST_COMPONENTS]

    @cached_property
    def extra(self) -> list[Numbers]:
        """The columns that a reader has to ask for."""
        wanted = ["model", "consensus", "consensus_se", "win_rate", "component"]
        wanted += ["sure_low", "sure_high", "rank_uncontrolled", "common_ground"]
        if self.score.key == "consensus":
            wanted.remove("consensus")
        if self.model is None:
            wanted.remove("win_rate")
        if self.score.key != "calibrated":
            wanted += ["rank_upper_bound", "rank_lower_bound"]
        else:
            wanted += [scale.column for scale in SCALES.values()]
        found = (self.listing.column(key) for key in wanted)
        return [column for column in found if column is not None]

    @cached_property
    def asked(self) -> list[Numbers | Marks]:
        """The columns of decisions that no other column shows."""
        above = self.listing.column("p_above")
        wanted = ("verdict", "grade") if above is not None else ("grade",)
        words = (self.listing.words(key) for key in wanted)
        # Where there is a probability for every k, a column of its own shows it.
        chance = None if self.top is not None else self.listing.column("p_top_k")
        return [column for column in (chance, above, *words) if column is not None]

    def row(self, k: int) -> dict[str, Any]:
        """Return what a row shows, in words and in percent of the chart."""
        place, size, turn = self.blocks[k].tolist()
        change, judged = self.listing.column("change"), self.listing.column("n_judgments")
        share = self.probability(k, self.first_stop)
        return {
            "k": k,
            "rank": "" if self.ranks is None else self.ranks.text(k),
            "ranks": "" if self.ranks is None else self.ranks.interval(k),
            "name": self.listing.names.values[k],
            "state": self.state(k, self.first_stop) if self.has_states else "",
            "chance": "" if isnan(share) else percent(share),
            "score": self.score.text(k),
            "interval": self.score.interval(k),
            "same": place > 0,
            "tied": _bracket(place, size),
            "size": f"{size:,}" if size > 1 and place == 0 else "",
            "band": turn % 2 == 1,
            "change": "" if change is None else change.text(k),
            "won": "" if self.won is None else self.won.text(k),
            "judgments": "" if judged is None else judged.text(k),
            "asked": [column.text(k) for column in self.asked],
            "extra": [column.text(k) for column in self.extra],
            **self._marks(k),
        }

    def _marks(self, k: int) -> dict[str, str]:
        """Return where the marks of a row are; nothing for what is not there."""
        score, digits = self.score, self.score.digits
        return {
            "dot": self.axis.place(score.values, k, digits),
            "low": self.axis.place(score.low, k, digits),
            "high": self.axis.place(score.high, k, digits),
            "model": "" if self.model is None else self.axis.place(self.model.values, k, digits),
        }

    @property
    def static(self) -> list[dict[str, Any]]:
        """The rows of the page itself, for a reader without scripts."""
        heads = {part.rows[0]: part for part in self.parts}
        return [self.row(k) | {"part": heads.get(k)} for k in self.order[: static_rows(self.n)]]

    @cached_property
    def order(self) -> list[int]:
        """The rows as they are shown: by rank, one component after the other, then the rest."""
        first = [k for part in self.parts for k in part.rows]
        known = set(first)
        return first + [k for k in range(self.n) if k not in known] if first else [*range(self.n)]

    @property
    def settings(self) -> dict[str, Any]:
        """What the script needs to know beyond the columns."""
        return {
            "axis": [self.axis.low, self.axis.high],
            "score": self.score.key,
            "stops": self.stops,
            "percent": None if self.top is None else self.top["percent"],
            "best": self.claimed.get("best"),
            "worst": self.claimed.get("worst"),
            "top": self.asked_top,
            "static": STATIC_ROWS,
            "parts": {part.label: [part.title, part.says] for part in self.parts} or None,
        }


def _bracket(place: int, size: int) -> str:
    """Return which part of a bracket a row of a block draws."""
    if size == 1:
        return ""
    return "first" if place == 0 else "last" if place == size - 1 else "middle"
