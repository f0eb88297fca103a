"""What is known of one item: its row opens to it, and ``aggcal explain`` prints it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.tables import as_text, cells
from aggcal._core.text import ordinal
from aggcal.aggregation.ranks import NEARLY
from aggcal.errors import count
from aggcal.pages.document import (
    Block,
    Bullets,
    Column,
    Document,
    Figure,
    Group,
    Heading,
    Link,
    Pairs,
    Part,
    Section,
    Strong,
    Table,
    Text,
)
from aggcal.pages.numbers import LONGEST_NAME, SHORT_NAME, cell_text, cut, percent
from aggcal.report.annotators import VERDICT_WORDS
from aggcal.report.run import Run

TEXT = 2000
"""Where texts are cut: a row that opens is no place to read a book."""
_SHOWN = 20
"""Opponents that a table names: the others are in the JSON."""


def item(run: Run, name: str, notes: Sequence[str] = ()) -> Document:
    """Return why an item is where it is.

    Parameters
    ----------
    run
        Its comparisons should hold the pairs that met.
    name
        The id of the item.
    notes
        What else is to be said.

    Examples
    --------
    >>> table = {"item": np.array(["b", "a"], dtype=object), "consensus": np.array([0.5, -0.5]),
    ...          "rank": np.array([1, 2])}
    >>> run = Run({"method": "own"}, table, comparisons={"pairs": [[0, 1, 3, 1, 0]]})
    >>> print(str(item(run, "a")).splitlines()[2])
    **a: rank 2 of 2**
    >>> item(run, "a").data["comparisons"]
    [{'item': 'b', 'rank': 1, 'won': 1, 'lost': 3, 'tied': 0}]
    """
    from aggcal.report.results import columns  # whose rows open to what is here

    k = run.row_of(name)
    details = Details(run, columns(run))
    rank = None if details.ranks is None or np.isnan(details.ranks[k]) else int(details.ranks[k])
    of = next((len(part.rows) for part in run.parts if k in part.rows), len(run.names))
    met = details.opponents(k)
    said = "not judged" if rank is None else f"rank {rank:,} of {of:,}"
    numbers = {key: cells(column[k : k + 1])[0] for key, column in run.items.items()}
    record = details.of("record", k)
    return Document(
        title=name,
        about=run.title if "n_items" in run.summary else "",
        headline=(Strong(cut(name)), f": {said}"),
        lead=[details.numbers(k), *(Text(note, "note") for note in notes)],
        sections=[Section("item", "Why", "Why", [*details.stories(k), *_opponents(met)])],
        data={
            "item": name,
            "rank": rank,
            "n_items": of,
            "numbers": {key: _plain(each) for key, each in numbers.items() if key != "item"},
            "record": record and dict(zip(("won", "lost", "tied"), map(int, record), strict=True)),
            **{part: details.of(part, k) for part in ("upsets", "disagreed")},
            "why": details.why(k),
            "changes": details.changes(k),
            "comparisons": met,
            "notes": list(notes),
        },
    )


def _plain(value: Any) -> Any:
    """Return a value of a table; ranks and counts, which files give as floats, as whole numbers."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _opponents(met: list[dict[str, Any]] | None) -> list[Block]:
    if met is None:
        return []
    often = sorted(met, key=lambda one: -one["won"] - one["lost"] - one["tied"])
    keys = ("rank", "won", "lost", "tied")
    rows = [
        (cut(one["item"], SHORT_NAME), *(f"{one[key]:,}" for key in keys)) for one in often[:_SHOWN]
    ]
    heads = ("Opponent", "Rank", "Won", "Lost", "Tied")
    blocks: list[Block] = [Heading(f"Comparisons: {count(len(often), 'opponent')}")]
    if rows:
        blocks.append(Table(heads, rows, numbers=frozenset({1, 2, 3, 4})))
    if len(often) > _SHOWN:
        blocks.append(Text(f"and {len(often) - _SHOWN:,} more (all with --json)", "muted"))
    return blocks


class Details:
    """What the rows of the results open to.

    Parameters
    ----------
    run
        The results.
    shown
        The columns of their table.
    """

    def __init__(self, run: Run, shown: Sequence[Column]) -> None:
        self._run = run
        self._columns = {column.key: column for column in shown if column.kind == "number"}
        self.ranks = run.number("rank")

    def blocks(self, k: int) -> list[Block]:
        """Return what the row of an item opens to."""
        name = self._run.names[k]
        whole = [Text(cut(name, TEXT), "quote")] if len(name) > LONGEST_NAME else []
        return [*self.stories(k), self.numbers(k), *whole]

    def stories(self, k: int) -> list[Block]:
        """Return what is known of an item beside its numbers, each under a heading."""
        told: dict[str, list[Block]] = {
            "Record": self._record(k),
            "Results against the order": self._upsets(k),
            "Who disagreed with the order": self._disagreed(k),
            "Why it moved": [Text(why)] if (why := self.why(k)) else [],
            "What would change its rank": [Text(each) for each in self.changes(k)],
            "Text": self._text(k),
        }
        return [Group([Heading(title), *blocks]) for title, blocks in told.items() if blocks]

    def numbers(self, k: int) -> Pairs:
        """Return every number of an item, with its name."""
        pairs = [(column.title, cell_text(column, k)) for column in self._columns.values()]
        if first := self._first(k):
            pairs.append(("Probability of being first", first))
        return Pairs(pairs)

    def opponents(self, k: int) -> list[dict[str, Any]] | None:
        """Return whom an item met, the highest first, from its side; None where it is unknown."""
        pairs = self._run.comparisons.get("pairs")
        if pairs is None or self.ranks is None:
            return None
        met = [
            (j, won, lost, tied) if i == k else (i, lost, won, tied)
            for i, j, won, lost, tied in pairs
            if k in (i, j)
        ]
        return [
            {
                "item": self._run.names[other],
                "rank": int(self.ranks[other]),
                "won": won,
                "lost": lost,
                "tied": tied,
            }
            for other, won, lost, tied in sorted(met)
        ]

    def of(self, part: str, k: int) -> Any:
        """Return what the comparisons hold of a row; None if they hold nothing."""
        known = self._run.comparisons.get(part)
        return known[k] if known is not None and k < len(known) else None

    def _record(self, k: int) -> list[Block]:
        if (record := self.of("record", k)) is None:
            return []
        won, lost, tied = map(int, record)
        whole, met = won + lost + tied, self.of("opponents", k)
        said: list[Part] = [Strong(f"{won:,}"), " won · ", Strong(f"{lost:,}"), " lost"]
        if tied:
            said += [" · ", Strong(f"{tied:,}"), " tied"]
        against = "" if met is None else f" against {count(int(met), 'opponent')}"
        return [
            Text(tuple(said)),
            Text(f"{count(whole, 'judgment')}{against}", "muted"),
        ]

    def _upsets(self, k: int) -> list[Block]:
        lines = []
        for other, rank, won, lost, tied in self.of("upsets", k) or ():
            name = str(other)
            link = Link(cut(name, SHORT_NAME), f"item={name}")
            shown = self._ranks_within.get(name, f"{rank:,}")
            result = f"{won:,}–{lost:,}" + (f" ({tied:,} tied)" if tied else "")
            verb = "beat" if won > lost else "lost to"
            lines.append((f"{verb} ", link, f" (rank {shown}): {result}"))
        return [Bullets(lines)] if lines else []

    @cached_property
    def _ranks_within(self) -> dict[str, str]:
        """The ranks of items within their components, which are those that a page shows."""
        run, ranks = self._run, self.ranks
        shown = (k for part in run.parts for k in part.rows)
        return {} if ranks is None else {run.names[k]: f"{ranks[k]:,.0f}" for k in shown}

    def _disagreed(self, k: int) -> list[Block]:
        lines = []
        for who, against, of in self.of("disagreed", k) or ():
            name = str(who)
            verdict = self._verdicts.get(name, "reliable")
            called = "" if verdict == "reliable" else f" ({verdict})"
            link = Link(cut(name, SHORT_NAME), f"annotator={name}")
            lines.append((link, f"{called}: {against:,} of {of:,}"))
        return [Bullets(lines)] if lines else []

    @cached_property
    def _verdicts(self) -> dict[str, str]:
        run = self._run
        called = (VERDICT_WORDS.get(verdict, verdict) for verdict in run.verdicts)
        return dict(zip(as_text(run.annotators.get("annotator", ())).tolist(), called, strict=True))

    @cached_property
    def _model_rank(self) -> FloatArray | None:
        """Rank of each item by the user's scores, among those with one."""
        values = self._run.number("model") if self._run.score == "calibrated" else None
        if values is None or self._run.parts:
            return None  # no rank among all items
        known = np.flatnonzero(np.isfinite(values))
        found = np.full(len(values), np.nan)
        found[known[np.argsort(-values[known], kind="stable")]] = np.arange(1.0, len(known) + 1)
        return found

    def why(self, k: int) -> str:
        """Say why calibration moved the score."""
        if self._model_rank is None or self.ranks is None:
            return ""
        if np.isnan(self.ranks[k]):
            return "Nobody judged it."
        if np.isnan(self._model_rank[k]):
            return "It came without a score: its score lies between those of its neighbours."
        own, people = ordinal(int(self._model_rank[k])), ordinal(int(self.ranks[k]))
        said = f"By {self._run.scored} it is {own}, by the annotators {people}."
        calibrator = self._run.calibrator
        return f"{said} {self._pooled(k) if calibrator.pools else calibrator.explains}".strip()

    def _pooled(self, k: int) -> str:
        """Say what pooling did to a row; bounds and rounding may have moved it further."""
        score, model = self._columns["calibrated"], self._columns["model"].values
        block = self._run.number("block")
        own = np.array([k]) if block is None else np.flatnonzero(block == block[k])
        value = float(score.values[k])
        if len(own) < 2:  # noqa: PLR2004
            if abs(value - model[k]) <= 1e-9 * (1.0 + abs(value)):
                return "Its neighbours do not contradict it, so it keeps its score."
            return "Its neighbours do not contradict it; it was only rounded or limited as asked."
        mean = float(model[own].mean())
        shared = "one score"
        if self._run.summary.get("weighted"):
            shared = "one score, weighted by how certain each is"
        elif abs(mean - value) <= 1e-6 * (1.0 + abs(mean)):
            shared = "their mean"
        ranks = self.ranks if self.ranks is not None else np.zeros(0)
        first, last = (f"{ranks[at]:,.0f}" for at in (own[0], own[-1]))
        return (
            f"The scores of ranks {first} to {last} contradict the consensus, so these "
            f"{count(len(own), 'item')} share {shared}: {cell_text(score, k, interval=False)}."
        )

    def changes(self, k: int) -> list[str]:
        """Say what would change the rank: so many answers, or one annotator less."""
        found = []
        for other, way, number in self.of("swaps", k) or ():
            name = cut(str(other), SHORT_NAME)
            if way == "up":
                wins = count(int(number), "more win")
                found.append(f"About {wins} against '{name}' would put it above '{name}'.")
            else:
                losses = count(int(number), "more loss", "more losses")
                found.append(f"About {losses} to '{name}' would put it below '{name}'.")
        return [*found, *self._influence(k)]

    def _influence(self, k: int) -> list[str]:
        """Say what would happen without the annotator who matters most."""
        run = self._run
        change, rank = run.number("decided_change"), run.number("rank_without")
        if "decided_by" not in run.items or change is None or rank is None:
            return []
        who = run.items["decided_by"][k]
        if not who or not np.isfinite(change[k] + rank[k]):
            return []
        same = self.ranks is not None and rank[k] == self.ranks[k]
        where = " and its rank would not change" if same else f", to rank {rank[k]:,.0f}"
        moved = f"{'rise' if change[k] > 0 else 'fall'} by {abs(change[k]):.2f}"
        without = f"Without '{cut(str(who), SHORT_NAME)}', the annotator who matters most here"
        return [f"{without}, its consensus score would {moved}{'' if run.parts else where}."]

    def _text(self, k: int) -> list[Block]:
        """Return what an item looks like and says."""
        name = self._run.names[k]
        picture, text = self._run.pictures.get(name), self._run.texts.get(name)
        found: list[Block] = [Figure(cut(name), picture=picture)] if picture else []
        return [*found, *([Text(cut(text, TEXT), "quote")] if text else [])]

    def _first(self, k: int) -> str:
        """Return the probability that an item is first; nothing where it is not known."""
        top = self._run.comparisons.get("top")
        if top is None or top["stops"][0] != 1 or k >= len(top["percent"]):
            return ""
        after, *shares = top["percent"][k]  # after how many stops with 0%
        share = 0.0 if after > 0 else shares[0] / 100.0 if shares else 1.0
        return percent(min(NEARLY, max(1.0 - NEARLY, share)))
