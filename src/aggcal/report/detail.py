"""What a row opens to: the item's record, who disagreed, why its score moved, all its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.records import dataclass
from aggcal._core.sorting import in_order
from aggcal._core.text import ordinal
from aggcal.errors import count
from aggcal.pages.numbers import cut, percent
from aggcal.registry import SCALES, CalibratorInfo
from aggcal.report.listing import Numbers
from aggcal.report.rows import ItemRows

NAME, TEXT = 80, 2000
"""Where names and texts are cut: a row that opens is no place to read a book."""

DECIDED = ("decided_by", "decided_change", "rank_without")
"""Columns of the items that say on whom each hangs."""
_LABELS = {
    "calibrated": "Calibrated", "model": "Model", "change": "Change", "consensus": "Consensus",
    "consensus_se": "Standard error", "rank": "Rank", "n_judgments": "Judgments",
    "win_rate": "Won", "component": "Component", "rank_uncontrolled": "Rank as judged",
    "common_ground": "Common ground", "axis": "Place on the axis",
    **{scale.column: scale.title for scale in SCALES.values()},
    "sure_low": "Sure rank: best", "sure_high": "Sure rank: worst",
    "rank_upper_bound": "Upper rank bound", "rank_lower_bound": "Lower rank bound",
    "p_above": "Probability above the cut",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Details:
    """The contents of the rows that open.

    Parameters
    ----------
    rows
        The items' table.
    comparisons
        As in ``comparisons.json``; empty where nothing is known of single judgments.
    verdicts
        The verdict on each annotator, in words.
    texts
        What items say.
    calibrator
        What the calibrator does.
    weighted
        Whether it weighs the model's scores.
    influence
        The columns ``decided_by``, ``decided_change`` and ``rank_without``, where they are known.
    """

    rows: ItemRows
    comparisons: Mapping[str, Any]
    verdicts: Mapping[str, str]
    texts: Mapping[str, str]
    calibrator: CalibratorInfo
    weighted: bool = False
    influence: Mapping[str, Any] = field(default_factory=dict)

    def detail(self, k: int, name: str) -> dict[str, Any]:
        """Return what a row opens to; ``name`` is the item's id, uncut."""
        return {
            "record": self._record(k),
            "upsets": self._upsets(k),
            "disagreed": self._disagreed(k),
            "why": self._why(k),
            "changes": self._changes(k),
            "strip": self._strip(k),
            "text": cut(self.texts.get(name, ""), TEXT),
            "numbers": self._numbers(k),
        }

    def _record(self, k: int) -> dict[str, Any] | None:
        record = self._of("record", k)
        if record is None:
            return None
        found = dict(zip(("won", "lost", "tied"), map(int, record), strict=True))
        whole = max(sum(found.values()), 1)
        met = self._of("opponents", k)
        opponents = "" if met is None else f" against {count(int(met), 'opponent')}"
        return {
            **{key: f"{value:,}" for key, value in found.items()},
            "won_share": f"{100 * found['won'] / whole:.1f}",
            "tied_share": f"{100 * found['tied'] / whole:.1f}",
            "lost_from": f"{100 * (found['won'] + found['tied']) / whole:.1f}",
            "lost_share": f"{100 * found['lost'] / whole:.1f}",
            "any_tied": found["tied"] > 0,
            "says": f"{count(sum(found.values()), 'judgment')}{opponents}",
        }

    def _of(self, part: str, k: int) -> Any:
        """Return what the comparisons hold of a row; None if they hold nothing."""
        known = self.comparisons.get(part)
        return known[k] if known is not None and k < len(known) else None

    def _upsets(self, k: int) -> list[dict[str, Any]]:
        found = []
        for other, rank, won, lost, tied in self._of("upsets", k) or ():
            found.append(
                {
                    "verb": "beat" if won > lost else "lost to",
                    "item": str(other),
                    "short": cut(str(other), NAME),
                    "rank": self._shown_rank(str(other), rank),
                    "result": f"{won:,}–{lost:,}" + (f" ({tied:,} tied)" if tied else ""),
                }
            )
        return found

    @cached_property
    def _own_ranks(self) -> dict[str, str]:
        """The ranks of items within their components, which are those that the page shows."""
        ranks, names = self.rows.ranks, self.rows.listing.names.values
        shown = (k for part in self.rows.parts for k in part.rows)
        return {} if ranks is None else {str(names[k]): ranks.text(k) for k in shown}

    def _shown_rank(self, item: str, rank: int) -> str:
        return self._own_ranks.get(item, f"{rank:,}")

    def _disagreed(self, k: int) -> list[dict[str, Any]]:
        found = []
        for who, against, of in self._of("disagreed", k) or ():
            verdict = self.verdicts.get(str(who), "")
            found.append(
                {
                    "annotator": str(who),
                    "short": cut(str(who), NAME),
                    "verdict": "" if verdict == "reliable" else verdict,
                    "result": f"{against:,} of {of:,}",
                }
            )
        return found

    @cached_property
    def _model_rank(self) -> FloatArray | None:
        """Rank of each item by the model, among those with a score."""
        if self.rows.model is None or self.rows.parts:
            return None  # no rank among all items
        values = self.rows.model.values
        known = np.flatnonzero(np.isfinite(values))
        found = np.full(len(values), np.nan)
        found[known[in_order(-values[known])[0]]] = np.arange(1.0, len(known) + 1)
        return found

    def _why(self, k: int) -> str:
        """Say why the score moved."""
        rows, ranks = self.rows, self.rows.ranks
        if rows.model is None or self._model_rank is None or ranks is None:
            return ""
        if np.isnan(ranks.values[k]):
            return "Nobody judged it."
        if np.isnan(self._model_rank[k]):
            return "It has no model score: its score lies between those of its neighbours."
        model, people = ordinal(int(self._model_rank[k])), ordinal(int(ranks.values[k]))
        said = f"The model ranks it {model}, the annotators {people}."
        if self.calibrator.pools:
            return f"{said} {self._pooled(k)}"
        return f"{said} {self.calibrator.explains}".strip()

    @cached_property
    def _means(self) -> dict[float, float]:
        """Mean model scores of blocks, each worked out for the first row that tells it."""
        return {}

    def _pooled(self, k: int) -> str:
        """Say what pooling did to a row; bounds and rounding may have moved it further."""
        rows, size = self.rows, int(self.rows.blocks[k, 1])
        column = rows.listing.column("block")
        if rows.model is None or rows.ranks is None or column is None or size == 1:
            change = rows.listing.column("change")
            if change is None or abs(change.values[k]) <= 1e-9 * (1.0 + abs(rows.score.values[k])):
                return "Its neighbours do not contradict it, so it keeps the model's score."
            return "Its neighbours do not contradict it; it was only rounded or limited as asked."
        block = float(column.values[k])
        own = rows.mates(k)
        if block not in self._means:
            self._means[block] = float(rows.model.values[own].mean())
        mean = self._means[block]
        first, last = (int(rows.ranks.values[at]) for at in (own[0], own[-1]))
        score = float(rows.score.values[k])
        shared = "one score"
        if self.weighted:
            shared = "one score, weighted by how certain the model is of each"
        elif abs(mean - score) <= 1e-6 * (1.0 + abs(mean)):
            shared = "their mean"
        return (
            f"The model's scores of ranks {first:,} to {last:,} contradict the consensus, so these "
            f"{count(size, 'item')} share {shared}: {rows.score.text(k)}."
        )

    def _changes(self, k: int) -> list[str]:
        """Say what would change the rank: so many answers, or one annotator less."""
        found = []
        for other, way, number in self._of("swaps", k) or ():
            name = cut(str(other), NAME)
            if way == "up":
                wins = count(int(number), "more win")
                found.append(f"About {wins} against '{name}' would put it above '{name}'.")
            else:
                losses = count(int(number), "more loss", "more losses")
                found.append(f"About {losses} to '{name}' would put it below '{name}'.")
        who, change, rank = (self._decided(name, k) for name in DECIDED)
        if not who or change is None or rank is None:
            return found
        now = None if self.rows.ranks is None else self.rows.ranks.values[k]
        where = " and its rank would not change" if int(rank) == now else f", to rank {int(rank):,}"
        where = "" if self.rows.parts else where
        moved = f"{'rise' if change > 0 else 'fall'} by {abs(change):.2f}{where}"
        name = cut(str(who), NAME)
        who = f"Without '{name}', the annotator who matters most here"
        return [*found, f"{who}, its consensus score would {moved}."]

    def _decided(self, name: str, k: int) -> Any:
        """Return what is known of whom a row hangs on; None for nothing."""
        column = self.influence.get(name)
        value = None if column is None else column[k]
        if value is None or name == DECIDED[0]:
            return value
        return float(value) if np.isfinite(float(value)) else None

    def _strip(self, k: int) -> dict[str, str] | None:
        """Return where the ranks are on a line from the first to the last."""
        ranks, n = self.rows.ranks, self.rows.n
        if ranks is None or self._model_rank is None or n < 2:  # noqa: PLR2004
            return None
        if np.isnan(self._model_rank[k]) or np.isnan(ranks.values[k]):
            return None

        def at(rank: float) -> str:
            return f"{3 + 94 * (rank - 1) / (n - 1):.2f}"

        found = {"model": at(self._model_rank[k]), "rank": at(ranks.values[k]), "last": f"{n:,}"}
        found |= {"low": "", "high": ""}
        if ranks.low is not None and ranks.high is not None and np.isfinite(ranks.low[k]):
            found |= {"low": at(ranks.low[k]), "high": at(ranks.high[k])}
        return found

    @cached_property
    def _labelled(self) -> list[tuple[str, Numbers]]:
        """The columns of numbers that there are, with what a row calls them."""
        columns = ((label, self.rows.listing.column(key)) for key, label in _LABELS.items())
        return [(label, column) for label, column in columns if column is not None]

    def _numbers(self, k: int) -> list[tuple[str, str]]:
        """Return every number of the row, with its name."""
        found = []
        for label, column in self._labelled:
            found.append((label, column.text(k)))
            if interval := column.interval(k):
                found.append((f"{label} interval", interval))
        probability = self.rows.probability(k, 0)
        if not np.isnan(probability) and self.rows.stops[0] == 1:
            found.append(("Probability of being first", percent(probability)))
        return found
