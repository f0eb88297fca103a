"""Two runs side by side: what moved, how sure that is, and what else differs.

Two runs of one study may share judgments. How their errors depend on each other then is not
recorded in a folder of results, so that no probability of a move can be worked out. An item is
called moved where its rank intervals in the two runs do not overlap: if it stayed, an interval at
level c misses its rank with probability 1 - c. Judgments that both runs have make their errors
alike, and moves smaller; the same data twice give none. benchmarks/moves.py measures how often
items that stayed are called moved.

Where the user declares that no judgment is in both runs, errors are independent. Then the
confidence of a move up is

    c = 2 P(rank in B < rank in A) - 1 with P = sum over k of P(rank in A = k) F_B(k - 1),

where F_B is the posterior distribution of the rank in B: never less conservative than a two-sided
test.

Ranks are among the items that both runs have. A run states ranks among all of its items: with m
items of its own, the rank among the common ones is lower by 0 to m, and the worst is assumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import bdtr

from aggcal._core.arrays import FloatArray, IntArray, ranks
from aggcal._core.text import brief
from aggcal._version import __version__
from aggcal.advice.verdicts import RELIABLE, UNCLEAR
from aggcal.errors import OptionError, TableError, count, option, some
from aggcal.metrics import kendall, spearman
from aggcal.pages.document import (
    Block,
    Bullets,
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
from aggcal.pages.markdown import TOP
from aggcal.pages.numbers import SHORT_NAME, cut, decimals_for, number_text, percent
from aggcal.report.annotators import VERDICT_WORDS
from aggcal.report.head import MOST_NAMED, trust
from aggcal.report.method import fitted, made
from aggcal.report.run import Run, findings, joined

MOST_LISTED = 50
"""Ids of a list: more are counted."""
_SELDOM = 0.2
"""Of the items that stayed, how many are called moved where the runs may share judgments, as a
share of what the level allows: benchmarks/moves.py finds at most this. A larger one would withhold
verdicts, a smaller one claim what chance explains."""
_SETTING = 400  # characters
_MOVES = {1: "↑ up", -1: "↓ down"}
_SAME, _OPEN = "same rank", "open"
_SIGNS = {_MOVES[1]: "care", _MOVES[-1]: "care", _OPEN: "none", _SAME: "none"}

# What the runs say of ranks -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RankBeliefs:
    """What a run says of the ranks of the items that both runs have.

    Parameters
    ----------
    low, high
        Rank intervals among the common items: as wide as they may be.
    stops, share
        With which probability each item is among the first k of all items of the run, for some k;
        without any columns where that is not known.
    n
        Number of items of the run.
    own
        Items that only this run has.
    """

    low: FloatArray
    high: FloatArray
    stops: IntArray
    share: FloatArray
    n: int
    own: int = 0

    @classmethod
    def of(
        cls, rows: IntArray, low: FloatArray, high: FloatArray, top: Mapping[str, Any] | None
    ) -> RankBeliefs:
        """Take some rows of a run; ``top`` as in ``comparisons.json``.

        Examples
        --------
        >>> top = {"stops": [1], "percent": [[0, 70], [0, 30]]}
        >>> found = RankBeliefs.of(np.array([1]), np.ones(2), np.full(2, 2.0), top)
        >>> found.share, found.high, found.own
        (array([[0.3]]), array([1.]), 1)
        """
        stops, share = np.zeros(0, dtype=np.int64), np.zeros((len(rows), 0))
        if top is not None and rows.size and int(rows.max()) < len(top["percent"]):
            stops = np.array(top["stops"], dtype=np.int64)
            share = np.array([_unpacked(top["percent"][k], len(stops)) for k in rows.tolist()])
        n = max(int(np.isfinite(low).sum()), len(rows))  # nobody judged the others
        own = n - len(rows)
        low, high = np.nan_to_num(low, nan=1.0)[rows], np.nan_to_num(high, nan=float(n))[rows]
        return cls(np.maximum(low - own, 1.0), np.minimum(high, n - own), stops, share, n, own)


def _unpacked(packed: list[int], stops: int) -> FloatArray:
    """Return the shares of a row of ``top``: zeros, what is listed, ones."""
    first, *rest = packed
    row = np.ones(stops)
    row[:first] = 0.0
    row[first : first + len(rest)] = np.array(rest[: max(0, stops - first)]) / 100.0
    return row


def apart(new: RankBeliefs, old: RankBeliefs) -> IntArray:
    """Return which items moved up (1) or down (-1): their rank intervals do not overlap.

    Examples
    --------
    >>> low, high = np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 4.0])
    >>> new = RankBeliefs.of(np.arange(3), low, high, None)
    >>> old = RankBeliefs.of(np.array([2, 1, 0]), low, high, None)
    >>> apart(new, old)
    array([ 1,  0, -1])
    """
    return (new.high < old.low).astype(np.int64) - (new.low > old.high).astype(np.int64)


def confidence(new: RankBeliefs, old: RankBeliefs) -> FloatArray:
    """Return how confident a move up is, two-sided, where no judgment is in both runs.

    Where only some probabilities are known it is a lower bound; without any, 0.

    Examples
    --------
    >>> top = {"stops": [1], "percent": [[0, 50], [0, 50]]}
    >>> low, high = np.ones(2), np.full(2, 2.0)
    >>> new = RankBeliefs.of(np.arange(2), low, high, top)
    >>> confidence(new, new)
    array([0., 0.])
    """
    if not len(new.stops) or not len(old.stops):
        return np.zeros(len(new.low))
    edge = np.array([*old.stops.tolist(), old.n], dtype=np.int64)
    mass = np.diff(np.hstack([old.share, np.ones((len(old.low), 1))]), axis=1, prepend=0.0)
    # An old rank in (s, t] is beaten by new ranks up to s, less what the old run's own items hide.
    below = np.concatenate([[0], edge[:-1]]) - old.own
    at = np.searchsorted(new.stops, below, side="right")
    known = np.hstack([np.zeros((len(new.low), 1)), new.share])
    reached = np.where(below >= new.n, 1.0, known[:, at])
    found: FloatArray = np.clip(2.0 * (mass * reached).sum(axis=1) - 1.0, 0.0, 1.0)
    return found


# Two runs -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two runs, the earlier first, and what differs between them.

    Parameters
    ----------
    a, b
        The two runs.
    names
        What to call them.
    independent
        Whether the user says that no judgment is in both: then more can be claimed.

    Examples
    --------
    >>> def run(*order):
    ...     rank = np.arange(1, len(order) + 1)
    ...     items = {"item": np.array(order, dtype=object), "consensus": -1.0 * rank,
    ...              "rank": rank, "rank_low": rank, "rank_high": rank, "sure_low": rank}
    ...     return Run({"method": "own", "n_items": len(order), "n_annotators": 1,
    ...                    "n_judgments": 9, "warnings": [], "converged": True}, items)
    >>> found = Comparison(run("x", "y", "z"), run("y", "x", "z"))
    >>> found.items, found.direction
    (['y', 'x', 'z'], array([ 1, -1,  0]))
    """

    a: Run
    b: Run
    names: tuple[str, str] = ("A", "B")
    independent: bool = False

    __repr__ = brief

    def __post_init__(self) -> None:
        if not self.items:
            ours, theirs = (some(map(str, each.items["item"])) for each in self.runs)
            raise TableError(
                f"the two runs have no item in common ({self.names[0]}: {ours}; {self.names[1]}: "
                f"{theirs}); compare runs of the same items."
            )
        if self.independent and self.same_judgments:
            raise OptionError(
                f"{option('independent')} does not hold: every item has the same record in both "
                "runs, so they share their judgments; leave it out."
            )

    @property
    def runs(self) -> tuple[Run, Run]:
        """Both."""
        return self.a, self.b

    @cached_property
    def _rows(self) -> tuple[dict[str, int], dict[str, int]]:
        """The row of each judged item, in both runs."""
        first, second = (
            {run.names[k]: int(k) for k in np.flatnonzero(~np.isnan(_floats(run, "consensus")))}
            for run in self.runs
        )
        return first, second

    @cached_property
    def items(self) -> list[str]:
        """The items that both runs have, in the order of B."""
        first, second = self._rows
        return [item for item in second if item in first]

    @property
    def only_a(self) -> list[str]:
        """The items that A alone has."""
        return [item for item in self._rows[0] if item not in self._rows[1]]

    @property
    def only_b(self) -> list[str]:
        """The items that B alone has."""
        return [item for item in self._rows[1] if item not in self._rows[0]]

    @cached_property
    def _positions(self) -> tuple[IntArray, IntArray]:
        """The rows of the common items, in both tables."""
        first, second = (
            np.array([rows[item] for item in self.items], dtype=np.int64) for rows in self._rows
        )
        return first, second

    def columns(self, key: str) -> tuple[FloatArray, FloatArray] | None:
        """Return a column of both tables for the common items; None unless both have it."""
        if not all(key in each.items for each in self.runs):
            return None
        a, b = self._positions
        return _floats(self.a, key)[a], _floats(self.b, key)[b]

    @cached_property
    def ranks(self) -> tuple[IntArray, IntArray]:
        """Ranks among the common items."""
        consensus = self.columns("consensus")
        assert consensus is not None  # noqa: S101  # every result has one
        return ranks(consensus[0]), ranks(consensus[1])

    @property
    def score_key(self) -> str:
        """Which scores both runs have in the same unit."""
        return "calibrated" if all(each.calibrated for each in self.runs) else "consensus"

    @cached_property
    def same_judgments(self) -> bool:
        """Whether all records agree, so that both runs very likely had the same judgments."""
        if self.only_a or self.only_b:
            return False
        records = [self.columns(key) for key in ("n_judgments", "win_rate")]
        if not all(each is not None and np.array_equal(*each) for each in records):
            return False
        given = [
            dict(zip(each.annotators["annotator"], each.annotators["n_judgments"], strict=True))
            for each in self.runs
            if "n_judgments" in each.annotators
        ]
        return len(given) == 2 and given[0] == given[1]  # noqa: PLR2004

    @cached_property
    def withheld(self) -> str:
        """Why nothing is claimed of any move; empty where something is."""
        for name, each in zip("AB", self.runs, strict=True):
            if each.summary.get("converged") is False:
                return f"the fit of {name} did not converge"
            if "rank_low" not in each.items or "rank_high" not in each.items:
                return f"{name} has no likely ranks"
        return ""

    @property
    def level(self) -> float:
        """The level from which an item is called moved."""
        return min(run.level for run in self.runs)

    @cached_property
    def beliefs(self) -> tuple[RankBeliefs, RankBeliefs]:
        """What each run says of the ranks of the common items."""
        first, second = (
            RankBeliefs.of(rows, _floats(run, "rank_low"), _floats(run, "rank_high"), _top(run))
            for run, rows in zip(self.runs, self._positions, strict=True)
        )
        return first, second

    @cached_property
    def direction(self) -> IntArray:
        """Which items moved: 1 up, -1 down, 0 where the judgments leave it open."""
        if self.withheld:
            return np.zeros(len(self.items), dtype=np.int64)
        a, b = self.beliefs
        if not self.independent:
            return apart(b, a)
        up, down = confidence(b, a) >= self.level, confidence(a, b) >= self.level
        return up.astype(np.int64) - down.astype(np.int64)

    @property
    def moved(self) -> int:
        """How many items moved."""
        return int(np.count_nonzero(self.direction))

    @property
    def by_chance(self) -> bool:
        """Whether as many could be called moved if none had."""
        rate = (1.0 - self.level) * (1.0 if self.independent else _SELDOM)
        return bool(self.moved and bdtr(self.moved - 1, len(self.items), rate) < self.level)

    @cached_property
    def order(self) -> dict[str, float]:
        """How alike the two orders are."""
        a, b = (each.astype(np.float64) for each in self.ranks)
        alone = len(a) < 2  # noqa: PLR2004
        tau_a, tau_b = (np.nan, np.nan) if alone else kendall(a, b)
        return {"tau_a": tau_a, "tau_b": tau_b, "spearman": np.nan if alone else spearman(a, b)}


def _top(run: Run) -> Mapping[str, Any] | None:
    """Return the probabilities of the first k, of rows that nobody sorted since."""
    listed = [str(item) for item in run.comparisons.get("items") or ()]
    return run.comparisons.get("top") if listed == run.names[: len(listed)] else None


def _floats(run: Run, key: str) -> FloatArray:
    return np.asarray(run.items[key], dtype=np.float64)


# As a document ------------------------------------------------------------------------------------


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
            Section("differences", "Differences", "What else differs", _differences(comparison)),
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
    before, after = (run.leaders for run in comparison.runs)
    if set(before) == set(after):
        return f"{_named(after)} {'leads' if len(after) == 1 else 'lead'} in both"
    return f"{_named(before)} came first in A, {_named(after)} in B"


def _best(names: list[str]) -> str:
    if len(names) == 1:
        return f"{cut(names[0], SHORT_NAME)} is the best"
    return f"the best is one of {len(names):,}"


def _named(names: list[str]) -> str:
    if len(names) > MOST_NAMED:
        return f"{len(names):,} items with the same score"
    return joined([cut(name, SHORT_NAME) for name in names])


def _basis(comparison: Comparison) -> Iterator[str]:
    """Say what is called moved, and what that depends on."""
    if comparison.withheld:
        yield f"No move is claimed: {comparison.withheld}."
        return
    level = f"{100 * comparison.level:g}%"
    if comparison.independent:
        yield (
            "You declared that no judgment is in both runs: an item is called moved where a "
            f"two-sided test of its rank reaches {level} confidence."
        )
    else:
        yield (
            f"An item is called moved where its likely ranks ({level}) in A and B do not overlap, "
            "which holds whether or not the runs share judgments. “Open” does not mean that it "
            "stayed."
        )
    if comparison.same_judgments:
        yield "Both runs appear to have the same judgments, so all differences are of settings."
    if comparison.a.summary["method"] != comparison.b.summary["method"]:
        yield "The methods differ, so a move may come from the method."
    elif len(set(map(fitted, comparison.runs))) > 1:
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
    yield "Kendall's tau-a · tau-b", " · ".join(taus)
    yield "Spearman", number_text(order["spearman"], 3)
    yield "Pairs that changed order", percent(0.5 * (1.0 - order["tau_a"]))


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
    legend = [("hollow", "rank in A", ""), ("dot", "rank in B", "")]
    if known:
        levels = dict.fromkeys(f"{100 * each.level:g}%" for each in comparison.runs)
        legend.append(("", f"line: likely ranks ({' and '.join(levels)})", ""))
    marks = {"dot": "rank_b", "hollow": "rank_a", "legend": legend}

    def ranked(key: str, title: str, style: str, run: int) -> Column:
        of, ranks = comparison.beliefs[run] if known else None, comparison.ranks[run]
        low, high = (None, None) if of is None else (of.low, of.high)
        shown = ranks.astype(float)
        return Column(key, title, values=shown, low=low, high=high, style=style, up=True)

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


# What else differs --------------------------------------------------------------------------------


def _differences(comparison: Comparison) -> list[Block]:
    """Return what differs of settings, findings and verdicts, each as a table of A and B."""
    a, b = (cut(name, SHORT_NAME) for name in comparison.names)
    heads = (f"A: {a}", f"B: {b}")
    parts = {"Settings": _settings, "Findings": _findings, "Verdicts on annotators": _verdicts}
    blocks: list[Block] = []
    for title, of in parts.items():
        first, second = (of(run) for run in comparison.runs)
        changed = [
            key
            for key in {**second, **first}
            if first.get(key) != second.get(key) and _comparable(first.get(key), second.get(key))
        ]
        rows = [
            (cut(key), *(cut(each.get(key) or "–", _SETTING) for each in (first, second)))
            for key in changed[:MOST_LISTED]
        ]
        inside: list[Block] = [Heading(f"{title}: {len(changed):,}" if rows else title, 2)]
        inside.append(Table(("", *heads), rows, "flow") if rows else Text("No difference."))
        if len(changed) > len(rows):
            inside.append(Text(f"The first {len(rows)} are shown.", "note"))
        blocks.append(Group(inside, "sec"))
    return blocks


def _settings(run: Run) -> dict[str, str]:
    """Return how a run was made, in words."""
    sizes = {
        name: f"{run.summary.get(f'n_{name}')}" for name in ("items", "annotators", "judgments")
    }
    known = {str(label): str(said) for label, said in made(run)}
    return {"Title": run.title, "Trust": trust(run).words, **sizes, **known}


def _findings(run: Run) -> dict[str, str]:
    """Return the titles of what a check found, with how serious each is."""
    return {str(one["title"] or one["why"]): str(one["severity"]) for one in findings(run.summary)}


def _verdicts(run: Run) -> dict[str, str]:
    """Return the verdicts on annotators; without reliabilities, some say nothing."""
    who = map(str, run.annotators.get("annotator", ()))
    silent = {UNCLEAR, RELIABLE} if run.equal else set()
    found = zip(who, run.verdicts, strict=True)
    return {one: _ANY if word in silent else VERDICT_WORDS.get(word, word) for one, word in found}


_ANY = ""
"""The verdict of a method that has none: it differs from no other."""


def _comparable(a: str | None, b: str | None) -> bool:
    return _ANY not in (a, b)
