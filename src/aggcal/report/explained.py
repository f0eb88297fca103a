"""One item explained, in text and as plain data: what the row of a report opens to, and more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aggcal._core.records import dataclass
from aggcal._core.tables import cells
from aggcal._core.text import brief, wrapped
from aggcal.errors import UnknownItemError, count, did_you_mean, printable
from aggcal.report.report import Report

_SHOWN = 20
"""Opponents that a text names: the others are in the JSON."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why an item is where it is.

    ``comparisons`` has a row for each opponent; None where the judgments are not at hand.
    ``changes`` says what would change its rank.
    """

    item: str
    rank: int | None
    n_items: int
    detail: Mapping[str, Any]
    comparisons: tuple[dict[str, Any], ...] | None
    numbers: Mapping[str, Any]
    """The item's row of ``items.csv``."""
    notes: tuple[str, ...] = ()

    __repr__ = brief

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        kept = ("record", "upsets", "disagreed", "why", "changes", "text")
        found = {name: self.detail[name] for name in kept}
        if found["record"] is not None:
            keys = ("won", "lost", "tied")
            found["record"] = {key: int(found["record"][key].replace(",", "")) for key in keys}
        for name in ("upsets", "disagreed"):
            found[name] = [{k: v for k, v in one.items() if k != "short"} for one in found[name]]
        return {
            "item": self.item,
            "rank": self.rank,
            "n_items": self.n_items,
            "numbers": dict(self.numbers),
            **found,
            "comparisons": None if self.comparisons is None else list(self.comparisons),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        d = self.detail
        where = "not judged" if self.rank is None else f"rank {self.rank:,} of {self.n_items:,}"
        lines = [wrapped(f"{printable(self.item)}: {where}")]
        said = "; ".join(f"{label.lower()} {value}" for label, value in d["numbers"] if value)
        lines.append(wrapped(f"  {said}"))
        if d["record"]:
            record = d["record"]
            tied = f", {record['tied']} tied" if record["any_tied"] else ""
            lines.append(f"Record: {record['won']} won, {record['lost']} lost{tied}")
        lines += self._listed("Results against the order:", [
            f"{one['verb']} {one['short']} (rank {one['rank']}): {one['result']}"
            for one in d["upsets"]
        ])  # fmt: skip
        lines += self._listed("Who disagreed with the order:", [
            f"{one['short']}: {one['result']}" + (f" ({one['verdict']})" if one["verdict"] else "")
            for one in d["disagreed"]
        ])  # fmt: skip
        lines += self._listed("Why it moved:", [d["why"]] if d["why"] else [])
        lines += self._listed("What would change its rank:", d["changes"])
        lines += self._table()
        return "\n".join([*lines, *(wrapped(f"note: {note}") for note in self.notes)])

    def _listed(self, title: str, lines: list[str]) -> list[str]:
        return [title, *(wrapped(f"  {printable(line)}") for line in lines)] if lines else []

    def _table(self) -> list[str]:
        if self.comparisons is None:
            return []
        often = sorted(self.comparisons, key=lambda one: -one["won"] - one["lost"] - one["tied"])
        lines = [f"Comparisons: {count(len(often), 'opponent')}"]
        lines.append(f"{'rank':>8}{'won':>6}{'lost':>6}{'tied':>6}  opponent")
        lines += [
            f"{one['rank']:>8,}{one['won']:>6,}{one['lost']:>6,}{one['tied']:>6,}  "
            f"{printable(one['item'])}"
            for one in often[:_SHOWN]
        ]
        more = len(often) - _SHOWN
        return [*lines, f"  and {more:,} more (all with --json)"] if more > 0 else lines


def explained(report: Report, item: str, notes: tuple[str, ...] = ()) -> Explanation:
    """Explain one item of a report.

    Parameters
    ----------
    report
        Its comparisons should hold the pairs that met.
    item
        Its id.
    notes
        What else is to be said.
    """
    ids = [str(one) for one in report.items["item"]]
    if item not in ids:
        raise UnknownItemError(item, f"the results{did_you_mean(item, ids)}")
    k = ids.index(item)
    ranks = report.rows.ranks
    rank = None if ranks is None or np.isnan(ranks.values[k]) else int(ranks.values[k])
    pairs = report.comparisons.get("pairs")
    met = None if pairs is None or ranks is None else tuple(_opponents(pairs, k, ids, ranks.values))
    row = {name: cells(column[k : k + 1])[0] for name, column in report.items.items()}
    row.pop("item")
    of = next((len(part.rows) for part in report.rows.parts if k in part.rows), len(ids))
    return Explanation(item, rank, of, report.details.detail(k, item), met, row, notes)


def _opponents(pairs: Any, k: int, ids: list[str], ranks: Any) -> list[dict[str, Any]]:
    """Return whom an item met, the highest first, from its side."""
    found = []
    for i, j, won, lost, tied in pairs:
        if k not in (i, j):
            continue
        other, mine, theirs = (j, won, lost) if i == k else (i, lost, won)
        found.append((other, mine, theirs, tied))
    return [
        {"item": ids[at], "rank": int(ranks[at]), "won": mine, "lost": theirs, "tied": tied}
        for at, mine, theirs, tied in sorted(found)
    ]
